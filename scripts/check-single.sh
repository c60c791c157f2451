#!/bin/sh
# check-single.sh FOLDER libattic.a JOBS TABLE.o... -- attic.h and attic.c in FOLDER (make single): gcc and clang
# compile them, for Windows and WebAssembly as well, without a warning to what the library has; the gradient
# checks (TABLE.o...), two examples, the program of docs/training.md and one in C99 and C++ do with them what they
# should; and so do the commands that README.md and docs/training.md give, word for word.
set -eu
cd "$(dirname "$0")/.."
single=$PWD/$1 library=$2 jobs=$3
shift 3
for tool in cc gcc g++ clang clang++; do
    command -v $tool >/dev/null || { echo "There is no $tool; on Debian: apt-get install g++ clang" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strict='-Wall -Wextra -Werror'
mingw=x86_64-w64-mingw32-gcc wasm='clang --target=wasm32-wasi'

# as_written PAGE PROGRAM: a folder with the two files, the page's first program and two texts, and the page's
# commands, from the one that names attic.c on, or that one alone if it is within a paragraph
as_written() {
    folder=$work/$(basename "$1" .md)
    mkdir "$folder"
    cp "$single/attic.h" "$single/attic.c" "$folder"
    cp README.md "$folder/book.txt"
    cp docs/design.md "$folder/another.txt"
    awk '/^```c$/ { inside = 1; next } /^```/ && inside { exit } inside' "$1" | sed 's/2000/3/g' >"$folder/$2"
    # shellcheck disable=SC2016
    sed -n -e 's/.*`\(cc [^`]* attic\.c [^`]*\)`.*/\1/p' -e '/^    cc .* attic\.c /,/^$/s/^    //p' "$1" >"$folder/commands"
    grep -q " $2 " "$folder/commands" || { echo "$1 says no more how $2 and attic.c are compiled" >&2; exit 1; }
}
as_written README.md main.c
as_written docs/training.md gpt.c
grep -qxF " *     $(cat "$work/README/commands")" "$single/attic.c" ||
    { echo "attic.c says otherwise than README.md how it is compiled" >&2; exit 1; }

# COMMAND...: in its folder; NAME COMPILER...: attic.c becomes NAME.o.  The longest first.
cat >"$work/jobs" <<END
training sh -eu commands
README sh -eu commands
here gcc -O3 -march=native -Wconversion
clang-here clang -O1 -march=native -Wconversion
clang-any clang -O1 -Wconversion
wasm $wasm -O1
mingw $mingw -O1
strict gcc -O1 -std=c11 -DATTIC_DEBUG -DATTIC_PLAIN_KERNELS -Wconversion
END
# shellcheck disable=SC2016
xargs -P "$jobs" -L 1 sh -c 'work=$0 single=$1 name=$2 began=$(date +%s)
    shift 2
    if [ -d "$work/$name" ]; then
        cd "$work/$name"
        "$@" >said 2>&1 || { cat commands said; exit 1; }
        set -- "$(head -1 commands)"
    else
        "$@" -Wall -Wextra -Werror -c "$single/attic.c" -o "$work/$name.o" || exit 1
    fi
    printf "  %3d s  %s\n" $(($(date +%s) - began)) "$*"' "$work" "$single" <"$work/jobs"
(cd "$work/README" && ./a.out) | grep -q '^step 199  loss 0\.' || { echo "README.md: main.c does not learn" >&2; exit 1; }

# exported FILE: the names that a linker sees
exported() { nm -g "$1" | awk 'NF == 3 && $2 != "U" { print $3 }' | sort; }
exported "$library" >"$work/library"
exported "$work/here.o" | diff "$work/library" - ||
    { echo "< are in libattic.a only, > in attic.c only" >&2; exit 1; }

gcc "$@" "$work/here.o" -lm -pthread -o "$work/table"
"$work/table" >"$work/said" || { cat "$work/said"; exit 1; }
tail -1 "$work/said"

# examples_with NAME RUN SUFFIX COMPILER...: with NAME.o they print what they should
examples='01_training_loop 03_attention_by_hand'
examples_with() {
    object=$work/$1.o run=$2 suffix=$3
    shift 3
    for example in $examples; do
        "$@" -I"$single" -Iexamples "examples/$example.c" examples/common/options.c "$object" -lm \
            -o "$work/$example$suffix"
    done
    RUN=$run ONLY=$examples sh scripts/check-examples.sh "$work"
}
examples_with clang-any "" "" clang -O1 -pthread
# shellcheck disable=SC2086
examples_with wasm "node --no-warnings scripts/wasi.mjs" "" $wasm -O1 -Wl,-z,stack-size=1048576 -Wl,--stack-first

INCLUDE='' sh scripts/check-readme.sh docs/training.md "gcc -I$single" "$work/here.o"

cat >"$work/user.c" <<'END'
#include "attic.h"

int main(void)
{
    static at_sdpa_args defaults;
    const double values[] = {3, 4};
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(1, 2), values);
    at_sdpa_args args = defaults;
    args.causal = true;
    at_tensor *y = at_sum(t, at_mul(t, x, at_sdpa(t, x, x, x, args))); /* a lone key: y = sum of x^2 */
    bool good = at_backward(t, y) && at_item(y) == 25 && at_grad_element(x, 1) == 8;
    at_close(t);
    return good ? 0 : 1;
}
END
cp "$work/user.c" "$work/user.cpp"
for user in 'gcc -std=c99 -Wconversion user.c:here' 'clang -std=c99 -Wconversion user.c:clang-any' \
    'g++ -std=c++17 user.cpp:here' 'g++ -std=c++17 user.cpp:strict' \
    'clang++ -std=c++17 user.cpp:clang-any' 'clang++ -std=c++17 user.cpp:clang-here'; do
    # shellcheck disable=SC2086
    (cd "$work" && ${user%:*} $strict -pedantic -I"$single" "${user#*:}.o" -lm -pthread -o user && ./user)
    echo "  ${user%:*} with ${user#*:}.o"
done

# After windows.h, which takes many names.  -static: no library has to lie beside the program.
windows="$mingw -O1 -static -pthread"
# shellcheck disable=SC2086
$windows -std=c99 $strict -pedantic -include windows.h -I"$single" "$work/user.c" "$work/mingw.o" -lm -o "$work/user.exe"
for wine in wine64 wine /usr/lib/wine/wine64 ""; do ! command -v "$wine" >/dev/null || break; done
if [ -n "$wine" ]; then
    export WINEPREFIX="$PWD/build/wine" WINEDEBUG=-all
    cat >"$work/wine.sh" <<'END'
wine=$1 program=$2 status=0
shift 2
"$wine" "$program.exe" "$@" >"$program.said" || status=$?
tr -d '\r' <"$program.said"
exit $status
END
    sh "$work/wine.sh" "$wine" "$work/user"
    # shellcheck disable=SC2086
    examples_with mingw "sh $work/wine.sh $wine" .exe $windows
else
    echo "  NOT RUN, as there is no Wine: the examples and user.c with mingw.o"
fi
