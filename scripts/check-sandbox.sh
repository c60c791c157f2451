#!/bin/sh
# check-sandbox.sh GRADE COMPILE RUNNERS -- does the sandbox of the grader hold?  Each attack of tests/sandbox/attacks.txt is a
# submission that is right only if it gets through.  It must not, neither where the grader was started as root nor where it
# was not; and without the sandbox it must, else it shows nothing (but for three, which are stopped everywhere).
set -eu
cd "$(dirname "$0")/.."
compile=$2 runners=$3 root=$PWD
work=$(mktemp -d /tmp/attic-sandbox-XXXXXX)
trap 'rm -rf "$work"' EXIT
chmod 777 "$work"
export LC_ALL=C
canary=$work/canary results=$work/results.json key=$work/key
solution=$root/course/exercises/solutions/e1.c
echo 'the key of a course' >"$key" # which any user can read: what keeps it away is the sandbox
cp "$1" "$work/grade" # where an ordinary user can read it

fail() { echo "check-sandbox: $*" >&2; exit 1; }

awk -v to="$work" -v solution="$solution" -v relative="../../..$solution" -v results="$results" -v key="$key" -v canary="$canary" '
function finish() {
    if (!file) return
    if (text !~ /static void attack\(/) text = text "static void attack(void) {}\n"
    if (text !~ /#define WHOLE/)
        text = text \
            "void scale_backward(int n, double c, const double *dy, double *dx)\n" \
            "{\n    static int tried;\n    if (!tried++) attack();\n    for (int i = 0; i < n; i++) dx[i] += worked ? c * dy[i] : 0;\n}\n" \
            "void add_backward(int n, const double *dy, double *da, double *db)\n" \
            "{\n    for (int i = 0; i < n; i++) {\n        double x = worked ? dy[i] : 0;\n" \
            "        da[i] += x;\n        db[i] += x;\n    }\n}\n"
    else
        sub(/static void attack.*\n/, "", text)
    printf "%s", text >file
    close(file)
    file = ""
}
/^#( |$)/ { next }
/^== / {
    finish()
    name = $2
    sub(/:$/, "", name)
    file = to "/e1_" name ".c"
    text = "#include \"exercise.h\"\n#include <stdio.h>\nstatic int worked __attribute__((unused));\n"
    next
}
{ gsub(/@SOLUTION@/, solution); gsub(/@RELATIVE@/, relative); gsub(/@RESULTS@/, results); gsub(/@KEY@/, key); gsub(/@CANARY@/, canary)
  text = text $0 "\n" }
END { finish() }' tests/sandbox/attacks.txt

# grade USER... -- FILE SANDBOX: "right" if the attack got through, else "wrong"; what was printed is in $work/said
grade() {
    rm -f "$canary" "$results" && : >"$results" && chmod 666 "$results"
    status=0
    # shellcheck disable=SC2086
    timeout 120 $as "$work/grade" --compile "$compile" --runners "$runners" --seed 4711 --seconds 4 --key "$key" --id ada --sandbox "$2" "$1" \
        >"$work/said" 2>&1 || status=$?
    [ $status -le 1 ] || { cat "$work/said"; fail "$1: status $status"; }
    got=wrong
    [ $status -eq 1 ] || got=right
}

# attack USER: all of them
attack() {
    grade course/exercises/solutions/e1.c require
    [ $got = right ] || { cat "$work/said"; fail "the solution is not right in the sandbox"; }
    for file in "$work"/e1_*.c; do
        name=${file##*/e1_}
        name=${name%.c}
        grade "$file" off
        through=$got
        [ "$name" = detached ] && sleep 3 && [ -e "$canary" ] && through=right
        case $name in
        bomb | output | seed) expected=wrong ;; # limits, and a command line without the seed, are always there
        ptrace | memory) expected=${as:+$through} expected=${expected:-right} ;; # the kernel may forbid it to all but root
        *) expected=right ;;
        esac
        [ $through = $expected ] || { cat "$work/said"; fail "$name: without the sandbox it is $through"; }
        grade "$file" require
        [ "$name" = detached ] && sleep 3
        [ $got = wrong ] && [ ! -e "$canary" ] && [ ! -s "$results" ] && [ "$(wc -c <"$work/said")" -lt 20000 ] ||
            { head -c 3000 "$work/said"; fail "$name gets through"; }
    done
    # shellcheck disable=SC2086
    $as "$work/grade" --compile "$compile" --runners "$runners" --table "$solution" | sed -n '$s/.*each had/  in/p'
}

as=''
if [ "$(id -u)" -eq 0 ]; then
    attack
    as='setpriv --reuid=65534 --regid=65534 --clear-groups'
fi
attack
echo "  $(ls "$work"/e1_*.c | wc -l) attacks, none gets through"
