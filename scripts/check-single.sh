#!/bin/sh
# check-single.sh FOLDER libattic.a JOBS TABLE.o... -- attic.h and attic.c in FOLDER (make single): gcc and clang
# compile them without a warning to what the library has, and the gradient checks (TABLE.o...), two examples, the
# program of docs/training.md and one in C++ do with them what they should.
set -eu
cd "$(dirname "$0")/.."
single=$1 library=$2 jobs=$3
shift 3
for tool in gcc g++ clang clang++; do
    command -v $tool >/dev/null || { echo "There is no $tool; on Debian: apt-get install g++ clang" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strict='-Wall -Wextra -Werror'

# NAME COMPILER...: attic.c becomes NAME.o
cat >"$work/compilers" <<END
here gcc -O3 -march=native
any gcc -O1
strict gcc -O1 -std=c11 -DATTIC_DEBUG -DATTIC_PLAIN_KERNELS
clang-here clang -O1 -march=native
clang-any clang -O1
END
# shellcheck disable=SC2016
xargs -P "$jobs" -L 1 sh -c 'work=$0 single=$1 name=$2 began=$(date +%s)
    shift 2
    "$@" -Wall -Wextra -Werror -c "$single/attic.c" -o "$work/$name.o" || exit 1
    printf "  %3d s  %s\n" $(($(date +%s) - began)) "$*"' "$work" "$single" <"$work/compilers"

# exported FILE: the names that a linker sees
exported() { nm -g "$1" | awk 'NF == 3 && $2 != "U" { print $3 }' | sort; }
exported "$library" >"$work/library"
exported "$work/here.o" | diff "$work/library" - ||
    { echo "< are in libattic.a only, > in attic.c only" >&2; exit 1; }

gcc "$@" "$work/here.o" -lm -pthread -o "$work/table"
"$work/table" >"$work/said" || { cat "$work/said"; exit 1; }
tail -1 "$work/said"

examples='01_training_loop 03_attention_by_hand'
for example in $examples; do
    clang -O1 -I"$single" -Iexamples "examples/$example.c" examples/common/options.c "$work/clang-any.o" \
        -lm -pthread -o "$work/$example"
done
ONLY="$examples" sh scripts/check-examples.sh "$work"

INCLUDE='' sh scripts/check-readme.sh docs/training.md "gcc -I$single" "$work/here.o"

cat >"$work/user.cpp" <<'END'
#include "attic.h"

int main()
{
    const double values[] = {3, 4};
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(1, 2), values);
    at_sdpa_args args = {};
    args.causal = true;
    at_tensor *y = at_sum(t, at_mul(t, x, at_sdpa(t, x, x, x, args))); // a lone key: y = sum of x^2
    bool good = at_backward(t, y) && at_item(y) == 25 && at_grad_element(x, 1) == 8;
    at_close(t);
    return good ? 0 : 1;
}
END
for pair in g++:here g++:strict clang++:any clang++:clang-here; do
    ${pair%:*} -std=c++17 $strict -pedantic -I"$single" "$work/user.cpp" "$work/${pair#*:}.o" -lm -pthread \
        -o "$work/user"
    "$work/user"
    echo "  ${pair%:*} with ${pair#*:}.o"
done
