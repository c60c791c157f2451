#!/bin/sh
# run.sh [WORDS...] -- plants the mistakes of mutants.txt in a copy of the sources, one at a time: does
# anybody notice?  With arguments, only those whose description contains one of them.
#
# run.sh --check -- only looks whether each can be planted: is its text in its file, and once?  And is the
# mistake that it names in the table of mistakes?
#
# Three look for it: the gradient table; in attention, what it says of itself while it computes these
# gradients (the identities of at_check_attention); and what neither can see, being no matter of a gradient, must be
# caught by the suite of tests that the mutant says.  If the mutant says which mistake it is, the test that compares
# at_sdpa with course/steps.c must also give its gradients this name.  What the gradient table finds, both its
# witnesses must find, exact derivatives and differences, or the mutant says `alone`.  A mutant that is caught has passed.
# Exit status: 0 all were caught, 1 some were not, 2 could not run.
set -u
cd "$(dirname "$0")/../.." || exit 2
MAKE=${MAKE:-make} CC=${CC:-cc} JOBS=${JOBS:-2}
table=tests/mutation/mutants.txt
mistakes=course/mistakes.c
home=$PWD/build/mutation
at_most=
command -v timeout >/dev/null 2>&1 && at_most='timeout 120'

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

# plant N FROM TO: copies the file FROM to TO with mutant N in it, or says why not
plant() {
    field "$1" - >"$3.old"
    field "$1" + >"$3.new"
    awk '
    function slurp(file,    text, line, lines) {
        while ((getline line < file) > 0) text = text (lines++ ? "\n" : "") line
        close(file)
        return text
    }
    BEGIN {
        old = slurp(ARGV[1]); new = slurp(ARGV[2]); text = slurp(ARGV[3])
        at = index(text, old)
        rest = substr(text, at + length(old))
        if (old == "" || !at) { print "its text is not in the file"; exit 1 }
        if (index(rest, old)) { print "its text is in the file more than once"; exit 1 }
        printf "%s%s%s\n", substr(text, 1, at - 1), new, rest > ARGV[4]
    }' "$3.old" "$3.new" "$2" "$3.planted" && mv "$3.planted" "$3"
}

# build COPY TARGET...: little optimisation, for compiling is most of the work
build() {
    copy=$1
    shift
    (cd "$copy" && $MAKE -s CC="$CC" CFLAGS=-O1 MODE=release PLAIN= B=out "$@") >"$copy/log" 2>&1
}

gradients=out/tests/gradients/table tests=out/tests/run

# by_gradients COPY: prints the first case that is not as expected; fails if all are
by_gradients() {
    said=$(cd "$1" && $at_most $gradients --first 2>&1)
    status=$?
    [ $status -ne 0 ] || return 1
    case $said in
    *'<-- not as expected'*) echo "$said" | awk '/<-- not/ {
        sub(/ +[0-9]+( +[-+.0-9a-z]+)( +[-+.0-9a-z]+)( +[-+.0-9a-z]+)( +[-+.0-9a-z]+) +[A-Z-]+ +<-- not as expected/, "")
        $1 = $1; print; exit }' ;;
    *) echo "the table breaks off: exit status $status" ;;
    esac
}

# by_identities COPY: prints the first identity that does not hold; fails if all do
by_identities() {
    said=$(cd "$1" && $at_most $gradients --first --identities 2>&1) && return 1
    echo "$said" | awk '/<-- not/ { sub(/ +sdpa \(op .*backward is wrong/, ""); sub(/: the sides .*/, "")
        $1 = $1; print; exit }'
}

# by_tests COPY SUITE: prints the first test that fails; fails if none does
by_tests() {
    build "$1" $tests || return 1
    said=$(cd "$1" && CK_RUN_SUITE=$2 $at_most $tests 2>&1) && return 1
    echo "$said" | awk -F: -v suite="$2" '/:[FE]:/ { print suite ": " $4; found = 1; exit }
        END { exit !found }'
}

# by_name COPY MISTAKE: prints what of attention is wrong by this mistake; fails if at_sdpa is not wrong by it
by_name() {
    build "$1" $tests || return 1
    said=$(cd "$1" && CK_RUN_SUITE=course_steps $at_most $tests 2>&1) && return 1
    echo "$said" | grep -oE '[A-Za-z]+: "[^"]*"' | grep -F ": \"$2\""
}

# attack N COPY: prints who caught mutant N, and where; fails if nobody did
attack() {
    path=$(field "$1" in) suite=$(field "$1" by) name=$(field "$1" names) nobody=1
    [ -f "$path" ] || { echo "NOT PLANTED: there is no $path"; return 1; }
    reason=$(plant "$1" "$path" "$2/$path") || { echo "NOT PLANTED: $reason"; return 1; }
    build "$2" $gradients || { echo "NOT PLANTED: it does not compile"; return 1; }
    where=$(by_gradients "$2") && echo "gradcheck   $where" && nobody=
    case $where in
    *', says e alone' | *', say differences alone')
        [ "$(field "$1" alone)" ] || { echo "FOUND BY ONE WITNESS of the gradient check"; return 1; } ;;
    esac
    case $path in
    src/attention/*) where=$(by_identities "$2") && echo "identities  $where" && nobody= ;;
    esac
    [ "$nobody" ] && [ "$suite" ] && where=$(by_tests "$2" "$suite") && echo "tests       $where" && nobody=
    if [ "$name" ]; then
        what=$(by_name "$2" "$name") || { echo "NOT NAMED: no answer of at_sdpa has the mistake \"$name\""; return 1; }
        echo "names       $(echo "$what" | tr '\n' ' ')"
    fi
    [ "$nobody" ] || return 0
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
        if by=$(attack "$n" "$home/$1"); then verdict=caught; else verdict=FAILED; fi
        restore "$(field "$n" in)" "$home/$1"
        printf '%-6s  %s\n' $verdict "$(field "$n" title)"
        echo "$by" | sed 's/^/        /'
        echo "$verdict" $(echo "$by" | cut -d' ' -f1 | grep -v names) >>"$home/$1.verdicts"
    done
    build "$home/$1" $gradients && ! by_gradients "$home/$1" && return
    echo "FAILED: what was planted has not been taken out again"
    echo FAILED >>"$home/$1.verdicts"
}

if [ "${1-}" = --check ]; then
    check=1 home=$home-check
    shift
fi
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

if [ "${check-}" ]; then
    status=0
    for n in $chosen; do
        path=$(field "$n" in)
        name=$(field "$n" names)
        [ -z "$name" ] || grep -qF "{\"$name\"," $mistakes || {
            echo "$table: $(field "$n" title): no mistake is called \"$name\" ($mistakes)" >&2
            status=1
        }
        reason=$(plant "$n" "$path" "$home/planted") && continue
        echo "$table: $(field "$n" title): $reason ($path)" >&2
        status=1
    done
    exit $status
fi
cp -R Makefile make src tests examples course bench scripts "$home/0"
build "$home/0" $gradients $tests || { cat "$home/0/log"; fail "the sources do not build"; }
by_gradients "$home/0" && fail "the gradient table fails without any mutant"
by_identities "$home/0" && fail "the identities fail without any mutant"
for i in $(awk -v n="$JOBS" 'BEGIN { for (i = 1; i < n; i++) print i }'); do cp -Rp "$home/0" "$home/$i"; done
mkdir "$home/objects" && cp -Rp "$home/0/out/src" "$home/objects/" || fail "cannot write to $home"

for i in $(awk -v n="$JOBS" 'BEGIN { for (i = 0; i < n; i++) print i }'); do worker "$i" & done
wait

cat "$home"/*.verdicts | awk '
/^FAILED/ { failed++; next }
{ passed++; $1 = ""; by[$0]++ }
END {
    printf "%d passed, %d failed", passed, failed
    printf "; caught by gradcheck %d, by gradcheck and the identities %d, by the identities alone %d, by tests %d\n",
        by[" gradcheck"], by[" gradcheck identities"], by[" identities"], by[" tests"]
    exit failed > 0
}'
