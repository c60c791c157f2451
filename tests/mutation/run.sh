#!/bin/sh
# run.sh [--part=I/N] [WORDS...] -- plants the mistakes of mutants.txt in a copy of the sources, one at a time: does
# anybody notice?  With words, only those whose description or file contains one of them; with a part, the I-th, the
# (I+N)-th ... of them.
#
# run.sh --report FILE... -- prints the tables of results that were written before, of one run or of all its parts.
# run.sh --keep FILE... -- puts such results into results.tsv, which has the last one of each mutant; RESUME=1 runs those
#     that it does not have as caught.
# run.sh --check -- only looks whether each can be planted (plant.awk).
#
# Three look for it: the proof (make prove); the gradient table, with the exact derivative, with differences, and with
# second derivatives and values; in attention, what it says of itself while it computes these gradients (the identities
# of at_check_attention).  What none of them sees, being no matter of a gradient, must be caught by the suite of tests
# that the mutant says.  Each is asked until the first that is not as expected; a program that the mistake has not
# changed is not run.  A mistake in the class of the proof (src/attic_prove.hpp) must be noticed by the functions of its
# own that it must refuse: prove --failures.
#
# If the mutant says which mistake it is, the test that compares at_sdpa with course/steps.c must also give its gradients
# this name.  What the gradient table finds, both its witnesses must find, exact derivative and differences, or the mutant
# says `alone`.  What the proof doesn't find has a reason, `unproven`, unless its program is the same; and what it finds
# has none.  A mutant that is caught has passed.  What needs more than two minutes has shown nothing: it is no catch, unless the mutant says `loops`.
# Large cases take most of the time of the proof and of the table: what tests must catch is asked of the table's small ones
# alone, and of the proof's if it has a reason why the proof doesn't find it, unless ALL=1 is set.
#
# Results are written to build/mutation/results.tsv, those of a part to build/mutation/results-I-N.tsv: for each witness
# found, not, late (more than two minutes), or - where it wasn't asked.  In a report the last result of a mutant counts.
# Exit status: 0 all were caught, 1 some were not, or timed out, 2 could not run.
set -u
cd "$(dirname "$0")/../.." || exit 2
MAKE=${MAKE:-make} CC=${CC:-cc} JOBS=${JOBS:-2}
table=tests/mutation/mutants.txt kept=tests/mutation/results.tsv class=src/attic_prove.hpp
at_most=
late=124 # what timeout exits with
command -v timeout >/dev/null 2>&1 && at_most="timeout ${SECONDS_EACH:-120}"

fail() {
    echo "mutation: $*" >&2
    exit 2
}

# report FILE...: how many each witness found, and which together; why the proof did not.  Fails if one was not caught.
report() {
    awk -F '\t' -v class=$class '
    $1 == "verdict" { for (i = 4; i <= 9; i++) name[i] = $i; next }
    { last_of[$2] = $0 }
    function count(    i, together, last) {
        verdicts[$1]++
        if ($3 == class) { of_class++; class_found += $4 == "found" }
        if ($3 == class || $1 != "caught") return
        n++
        together = ""
        for (i = 4; i <= 9; i++)
            if ($i == "found") { found[i]++; together = together (together == "" ? "" : ", ") name[i]; last = i }
        if (together == "") together = "in a loop"
        else if (together == name[last]) alone[last]++
        by[together]++
        if ($4 != "found") why[$10 == "" ? "does not end" : $10]++
    }
    END {
        for (title in last_of) { $0 = last_of[title]; count() }
        if (n) printf "\n%-52s %6s %6s\n", "caught by", "", "alone"
        for (i = 4; i <= 9 && n; i++) printf "%-52s %6d %6d\n", name[i], found[i], alone[i]
        sort = "sort -k1,1nr"
        if (n) print "\ntogether"
        fflush()
        for (k in by) printf "%6d  %s\n", by[k], k | sort
        close(sort)
        if (n > found[4]) print "\nnot found by the proof"
        fflush()
        for (k in why) printf "%6d  %s\n", why[k], k | sort
        close(sort)
        if (of_class) printf "\nmistakes in the class of the proof: %d of %d noticed\n", class_found, of_class
        printf "\n%d passed, %d failed, %d timed out and not counted\n", verdicts["caught"], verdicts["FAILED"], verdicts["late"]
        exit verdicts["FAILED"] + verdicts["late"] > 0
    }' "$@"
}

# keep FILE...: into results.tsv, in the order of mutants.txt, what these files say, and what it says of other mutants
keep() {
    awk -F '\t' '
    FILENAME == ARGV[1] { if (/^[^# \t]/) title[++n] = $0; next }
    $1 == "verdict" { header = $0; next }
    { of[$2] = $0 }
    END { print header; for (k = 1; k <= n; k++) if (title[k] in of) print of[title[k]] }' \
        $table $kept "$@" >$kept.new && mv $kept.new $kept && report $kept
}

part=1 parts=1 suffix=
case ${1-} in
--check) exec awk -f tests/mutation/plant.awk $table >&2 ;;
--report)
    shift
    [ $# -gt 0 ] || fail "--report: of which files?"
    report "$@"
    exit
    ;;
--keep)
    shift
    [ $# -gt 0 ] || fail "--keep: of which files?"
    keep "$@"
    exit
    ;;
--part=[1-9]*/[1-9]*)
    part=${1#--part=} parts=${1#*/}
    part=${part%/*} suffix=-$part-$parts
    shift
    ;;
-*) fail "usage: run.sh [--part=I/N] [WORDS...], run.sh --report|--keep FILE..., run.sh --check" ;;
esac
home=$PWD/build/mutation/work$suffix results=$PWD/build/mutation/results$suffix.tsv

# field N KEY: what stands behind KEY in mutant N; its description for the KEY title
field() {
    awk -v wanted="$1" -v key="$2" '
    /^#/ || /^[ \t]*$/ { next }
    /^[^ \t]/ { n++; if (n == wanted && key == "title") print; next }
    n == wanted && $1 == key { print substr($0, index($0, key) + length(key) + 1) }' $table
}

# plant N TO: writes the file of mutant N to TO, with the mistake in it, or says why not
plant() { awk -v wanted="$1" -v to="$2" -f tests/mutation/plant.awk $table; }

# build COPY TARGET...: little optimisation, for compiling is most of the work
build() {
    copy=$1
    shift
    (cd "$copy" && $MAKE -s CC="$CC" CFLAGS=-O1 MODE=release PLAIN= B=out "$@") >"$copy/log" 2>&1
}

gradients=out/tests/gradients/table prover=out/tests/prove/prove failures=out/tests/prove/failures tests=out/tests/run

# changed COPY PROGRAM: is it another program than without a mistake?
changed() { ! cmp -s "$1/$2" "$home/clean/$2"; }

# by_proof COPY PROGRAM [--small]: prints the first question whose answer is not expected; 0: there is one, 1: there is
# none, $late
by_proof() {
    said=$(cd "$1" && $at_most "$2" --first --jobs=1 ${3:+"$3"} 2>&1)
    status=$?
    [ $status -ne 0 ] || return 1
    [ $status -ne $late ] || return $late
    echo "$said" | awk '
        / <-- expected: / {
            says = substr($0, index($0, " <-- expected: ") + 15)
            sub(/^[a-z]+; /, "", says)
            sub(/; constants taken .*| \(degree .*/, "", says)
            sub(/ +(holds.*|refused|undefined)(: .*)? +<-- expected: .*/, "")
            $0 = $0 ": " says
            $1 = $1
        }
        / <-- expected: |^prove: / || says { print; found = 1; exit }
        END { if (!found) print "the proof breaks off" }'
}

# by_gradients COPY [--small]: prints the first case that is not as expected; 0, 1, $late as above
by_gradients() {
    changed "$1" $gradients || return 1
    said=$(cd "$1" && $at_most $gradients --first ${2:+"$2"} 2>&1)
    status=$?
    [ $status -ne 0 ] || return 1
    [ $status -ne $late ] || return $late
    case $said in
    *'<-- not as expected'*) echo "$said" | awk '/<-- not/ {
        sub(/ +[0-9]+( +[-+.0-9a-z]+)( +[-+.0-9a-z]+)( +[-+.0-9a-z]+)( +[-+.0-9a-z]+) +[A-Z-]+ +<-- not as expected/, "")
        $1 = $1; print; exit }' ;;
    *) echo "the table breaks off: exit status $status" ;;
    esac
}

# by_identities COPY: prints the first identity that does not hold; 0, 1, $late as above
by_identities() {
    changed "$1" $gradients || return 1
    said=$(cd "$1" && $at_most $gradients --first --identities 2>&1)
    status=$?
    [ $status -ne 0 ] || return 1
    [ $status -ne $late ] || return $late
    echo "$said" | awk '/<-- not/ { sub(/ +sdpa \(op .*backward is wrong/, ""); sub(/: the sides .*/, "")
        $1 = $1; print; exit }'
}

# by_mpi COPY: the same of the processes of tests/mpi, by the MPI that there is
by_mpi() {
    build "$1" mpi-built || return 1
    # shellcheck disable=SC2086
    said=$(cd "$1" && $at_most sh tests/mpi/run.sh $(echo out/mpi-*/training) none none "bits end" 2>&1)
    status=$?
    [ $status -ne 0 ] || return 1
    [ $status -ne $late ] || return $late
    echo "$said" | awk '/^    / { sub(/^ */, "mpi: "); print; exit }'
}

# by_tests COPY SUITE: prints the first test that fails; 0, 1, $late as above
by_tests() {
    [ "$2" != mpi ] || { by_mpi "$1"; return; }
    build "$1" $tests || return 1
    said=$(cd "$1" && CK_RUN_SUITE=$2 $at_most $tests 2>&1)
    status=$?
    [ $status -ne 0 ] || return 1
    [ $status -ne $late ] || return $late
    echo "$said" | awk -F: -v suite="$2" '/:[FE]:/ { print suite ": " $4; found = 1; exit }
        END { exit !found }'
}

# by_name COPY MISTAKE: prints what of attention is wrong by this mistake; fails if at_sdpa is not wrong by it
by_name() {
    build "$1" $tests || return 1
    said=$(cd "$1" && CK_RUN_SUITE=course_steps $at_most $tests 2>&1) && return 1
    echo "$said" | grep -oE '[A-Za-z]+: "[^"]*"' | grep -F ": \"$2\""
}

# ask WHO FUNCTION ARGUMENT...: prints who caught it and where; $answer: found, not, late
ask() {
    who=$1
    shift
    where=$("$@")
    case $? in
    0)
        printf '%-11s %s\n' "$who" "$where"
        answer=found nobody=
        ;;
    "$late") answer=late timed_out="$timed_out $who" ;;
    *) answer=not ;;
    esac
}

# attack_class N COPY: the same for a mistake in the class of the proof
attack_class() {
    build "$2" $failures || { echo "NOT PLANTED: it does not compile"; return 1; }
    ask prove by_proof "$2" $failures
    proof=$answer
    [ "$nobody" ] || return 0
    [ "$timed_out" ] && return $late
    echo "NOT CAUGHT by prove --failures"
    return 1
}

# attack N COPY: prints who caught mutant N, and where; fails if nobody did, with $late if one timed out
attack() {
    path=$(field "$1" in) suite=$(field "$1" by) name=$(field "$1" names) nobody=1 timed_out=
    reason=$(field "$1" unproven)
    same='' small='' small_questions='' proof=- exact=- differences=- values=- identities=- tested=-
    [ "$suite" ] && [ -z "${ALL-}" ] && small=--small
    [ "$reason" ] && small_questions=$small
    [ -f "$path" ] || { echo "NOT PLANTED: there is no $path"; return 1; }
    said=$(plant "$1" "$2/$path") || { echo "NOT PLANTED: $said"; return 1; }
    [ "$path" != $class ] || { attack_class "$1" "$2"; return; }
    build "$2" $gradients || { echo "NOT PLANTED: it does not compile"; return 1; }
    if ! build "$2" $prover; then
        ask prove echo "its kernels do not compile for the field"
    elif changed "$2" $prover; then
        ask prove by_proof "$2" $prover $small_questions
    else
        answer=not same=1
    fi
    proof=$answer
    ask gradcheck by_gradients "$2" $small
    exact=$answer differences=$answer values=not
    case $answer$where in
    found*', says e alone') differences=not ;;
    found*', say differences alone') exact=not ;;
    found*', second derivatives' | found*', values') exact=not differences=not values=found ;;
    esac
    case $path in
    src/attention/*)
        ask identities by_identities "$2"
        identities=$answer
        ;;
    esac
    if [ "$nobody" ] && [ "$suite" ]; then
        ask tests by_tests "$2" "$suite"
        tested=$answer
    fi
    if [ "$name" ]; then
        what=$(by_name "$2" "$name") || { echo "NOT NAMED: no answer of at_sdpa has the mistake \"$name\""; return 1; }
        echo "names       $(echo "$what" | tr '\n' ' ')"
    fi
    loops=$(field "$1" loops)
    if [ "$nobody" ] && [ "$timed_out" ]; then
        [ "$loops" ] && { echo "loops      $timed_out"; return 0; }
        echo "TIMED OUT, not counted:$timed_out"
        return $late
    fi
    [ "$nobody" ] && { echo "NOT CAUGHT by the proof or the gradient table${suite:+ or $suite}"; return 1; }
    [ $exact = $differences ] || [ "$(field "$1" alone)" ] || { echo "FOUND BY ONE WITNESS of the gradient check"; return 1; }
    [ $proof = found ] && [ "$reason" ] && { echo "FOUND BY THE PROOF, and yet unproven: $reason"; return 1; }
    [ "$same" ] && reason="not in its program"
    [ $proof = found ] || [ "$reason$loops" ] || { echo "NOT FOUND BY THE PROOF, and no reason why (unproven)"; return 1; }
    return 0
}

# restore PATH COPY: takes the mistake out again.  The source and all that was built have the dates that they had, so
# that only what is planted next has to be compiled.
restore() {
    cp -p "$home/clean/$1" "$2/$1"
    rm -rf "$2/out"
    cp -Rp "$home/clean/out" "$2/out"
}

# worker I: every JOBS-th mutant
worker() {
    k=0
    for n in $chosen; do
        k=$((k + 1))
        [ $((k % JOBS)) -eq $(($1 % JOBS)) ] || continue
        attack "$n" "$home/$1" >"$home/$1.said"
        case $? in 0) verdict=caught ;; "$late") verdict=late ;; *) verdict=FAILED ;; esac
        title=$(field "$n" title)
        restore "$path" "$home/$1"
        printf '%-6s  %s\n%s\n' $verdict "$title" "$(sed 's/^/        /' "$home/$1.said")"
        printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' $verdict "$title" "$path" "$proof" "$exact" "$differences" \
            "$values" "$identities" "$tested" "$reason" >>"$results"
    done
}

# count_to N: 1 2 ... N
count_to() { awk -v n="$1" 'BEGIN { for (i = 1; i <= n; i++) print i }'; }

number=$(awk '/^[^# \t]/ { n++ } END { print n + 0 }' $table)
k=0 chosen=
for n in $(count_to "$number"); do
    title="$(field "$n" title) $(field "$n" in)" match=
    for words; do case $title in *"$words"*) match=1 ;; esac; done
    [ $# -gt 0 ] && [ -z "$match" ] && continue
    [ "${RESUME-}" ] && grep -qF "caught	${title%" "*}	" $kept && continue
    k=$((k + 1))
    [ $((k % parts)) -eq $((part % parts)) ] && chosen="$chosen $n"
done
[ "$chosen" ] || fail "no such mutant"

rm -rf "$home"
mkdir -p "$home/clean" || fail "cannot write to $home"

cp -R Makefile make src mpi tests examples course bench scripts "$home/clean"
build "$home/clean" $gradients $prover $failures $tests || { cat "$home/clean/log"; fail "the sources do not build"; }
for program in $gradients "$gradients --identities" $prover $failures; do
    # shellcheck disable=SC2086
    (cd "$home/clean" && $at_most $program --first) >"$home/clean/log" 2>&1 ||
        fail "without any mutant this fails, or takes too long: $program"
done
for i in $(count_to "$JOBS"); do cp -Rp "$home/clean" "$home/$i"; done
printf 'verdict\tmutant\tfile\tproof\texact derivative\tdifferences\tsecond derivatives and values\tidentities\ttests\treason\n' >"$results"

for i in $(count_to "$JOBS"); do worker "$i" & done
wait
report "$results"
