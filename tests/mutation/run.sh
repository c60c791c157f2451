#!/bin/sh
# run.sh [WORDS...] -- plants the mistakes of mutants.txt in a copy of the sources, one at a time: does
# anybody notice?  With arguments, only those whose description contains one of them.
#
# run.sh --check -- only looks whether each can be planted (plant.awk).
#
# Three look for it: the gradient table; in attention, what it says of itself while it computes these
# gradients (the identities of at_check_attention); and what neither can see, being no matter of a gradient, must be
# caught by the suite of tests that the mutant says.  If the mutant says which mistake it is, the test that compares
# at_sdpa with course/steps.c must also give its gradients this name.  What the gradient table finds, both its
# witnesses must find, exact derivatives and differences, or the mutant says `alone`.  A mutant that is caught has passed.
# What needs more than two minutes has shown nothing: it is no catch, unless the mutant says `loops`.
# Exit status: 0 all were caught, 1 some were not, or timed out, 2 could not run.
set -u
cd "$(dirname "$0")/../.." || exit 2
MAKE=${MAKE:-make} CC=${CC:-cc} JOBS=${JOBS:-2}
table=tests/mutation/mutants.txt
home=$PWD/build/mutation
at_most=
late=124 # what timeout exits with
command -v timeout >/dev/null 2>&1 && at_most="timeout ${SECONDS_EACH:-120}"
[ "${1-}" != --check ] || exec awk -f tests/mutation/plant.awk $table >&2

fail() {
    echo "mutation: $*" >&2
    exit 2
}

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

gradients=out/tests/gradients/table tests=out/tests/run

# by_gradients COPY: prints the first case that is not as expected; 0: there is one, 1: there is none, $late
by_gradients() {
    said=$(cd "$1" && $at_most $gradients --first 2>&1)
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
    said=$(cd "$1" && $at_most $gradients --first --identities 2>&1)
    status=$?
    [ $status -ne 0 ] || return 1
    [ $status -ne $late ] || return $late
    echo "$said" | awk '/<-- not/ { sub(/ +sdpa \(op .*backward is wrong/, ""); sub(/: the sides .*/, "")
        $1 = $1; print; exit }'
}

# by_tests COPY SUITE: prints the first test that fails; 0, 1, $late as above
by_tests() {
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

# ask WHO FUNCTION ARGUMENT...: prints who caught it and where, and notes that somebody did; or that he was too late
ask() {
    who=$1
    shift
    where=$("$@")
    case $? in
    0) printf '%-11s %s\n' "$who" "$where" && nobody= ;;
    $late) timed_out="$timed_out $who" ;;
    esac
}

# attack N COPY: prints who caught mutant N, and where; fails if nobody did, with $late if one timed out
attack() {
    path=$(field "$1" in) suite=$(field "$1" by) name=$(field "$1" names) nobody=1 timed_out=
    [ -f "$path" ] || { echo "NOT PLANTED: there is no $path"; return 1; }
    reason=$(plant "$1" "$2/$path") || { echo "NOT PLANTED: $reason"; return 1; }
    build "$2" $gradients || { echo "NOT PLANTED: it does not compile"; return 1; }
    ask gradcheck by_gradients "$2"
    case $where in
    *', says e alone' | *', say differences alone')
        [ "$(field "$1" alone)" ] || { echo "FOUND BY ONE WITNESS of the gradient check"; return 1; } ;;
    esac
    case $path in
    src/attention/*) ask identities by_identities "$2" ;;
    esac
    [ "$nobody" ] && [ "$suite" ] && ask tests by_tests "$2" "$suite"
    if [ "$name" ]; then
        what=$(by_name "$2" "$name") || { echo "NOT NAMED: no answer of at_sdpa has the mistake \"$name\""; return 1; }
        echo "names       $(echo "$what" | tr '\n' ' ')"
    fi
    [ "$nobody" ] || return 0
    [ "$timed_out" ] && [ "$(field "$1" loops)" ] && { echo "loops      $timed_out"; return 0; }
    [ "$timed_out" ] && { echo "TIMED OUT, not counted:$timed_out"; return $late; }
    echo "NOT CAUGHT by the gradient table${suite:+ or $suite}"
    return 1
}

# restore PATH COPY: takes the mistake out again.  A source keeps its date and its object, so that only
# what is planted next has to be compiled; a header makes everything that reads it newer.
restore() {
    case $1 in
    *.c)
        cp -p "$1" "$2/$1"
        for o in o f64.o dual.o; do # a file of kernels has three
            [ ! -f "$home/objects/${1%.c}.$o" ] || cp "$home/objects/${1%.c}.$o" "$2/out/${1%.c}.$o"
        done
        ;;
    *) cp "$1" "$2/$1" ;;
    esac
}

# worker I: every JOBS-th mutant
worker() {
    k=0
    for n in $chosen; do
        k=$((k + 1))
        [ $((k % JOBS)) -eq "$1" ] || continue
        by=$(attack "$n" "$home/$1")
        case $? in 0) verdict=caught ;; $late) verdict=late ;; *) verdict=FAILED ;; esac
        restore "$(field "$n" in)" "$home/$1"
        printf '%-6s  %s\n' $verdict "$(field "$n" title)"
        echo "$by" | sed 's/^/        /'
        echo "$verdict" $(echo "$by" | cut -d' ' -f1 | grep -v names) >>"$home/$1.verdicts"
    done
    if build "$home/$1" $gradients; then
        by_gradients "$home/$1"
        [ $? -ne 1 ] || return
    fi
    echo "FAILED: what was planted has not been taken out again"
    echo FAILED >>"$home/$1.verdicts"
}

number=$(awk '/^[^# \t]/ { n++ } END { print n + 0 }' $table)
chosen=
for n in $(awk -v n="$number" 'BEGIN { for (i = 1; i <= n; i++) print i }'); do
    title=$(field "$n" title) match=
    for words; do case $title in *"$words"*) match=1 ;; esac; done
    [ $# -gt 0 ] && [ -z "$match" ] || chosen="$chosen $n"
done
[ "$chosen" ] || fail "no such mutant"

rm -rf "$home"
mkdir -p "$home/0" || fail "cannot write to $home"

cp -R Makefile make src tests examples course bench scripts "$home/0"
build "$home/0" $gradients $tests || { cat "$home/0/log"; fail "the sources do not build"; }
by_gradients "$home/0"
[ $? -eq 1 ] || fail "the gradient table fails, or takes too long, without any mutant"
by_identities "$home/0"
[ $? -eq 1 ] || fail "the identities fail, or take too long, without any mutant"
for i in $(awk -v n="$JOBS" 'BEGIN { for (i = 1; i < n; i++) print i }'); do cp -Rp "$home/0" "$home/$i"; done
mkdir "$home/objects" && cp -Rp "$home/0/out/src" "$home/objects/" || fail "cannot write to $home"

for i in $(awk -v n="$JOBS" 'BEGIN { for (i = 0; i < n; i++) print i }'); do worker "$i" & done
wait

cat "$home"/*.verdicts | awk '
/^FAILED/ { failed++; next }
/^late/ { late++; next }
{ passed++; $1 = ""; by[$0]++ }
END {
    printf "%d passed, %d failed, %d timed out and not counted", passed, failed, late
    printf "; caught by gradcheck %d, by gradcheck and the identities %d, by the identities alone %d, by tests %d, in a loop %d\n",
        by[" gradcheck"], by[" gradcheck identities"], by[" identities"], by[" tests"], by[" loops"]
    exit failed + late > 0
}'
