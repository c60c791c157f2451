#!/bin/sh
# check-single.sh FOLDER libattic.a JOBS EXAMPLES TABLE.o... -- attic.h, attic.c and the other pairs in FOLDER (make
# single): gcc and clang compile them, for Windows and WebAssembly as well, without a warning to what the library
# has, as three objects in any order or as one file.  The gradient checks (TABLE.o...), some examples, the program
# of docs/training.md and one in C99 and C++ do with them what they should; one example prints, and draws, every
# bit that it does with the library (in EXAMPLES); and so do the commands that README.md and docs/training.md give,
# word for word.
set -eu
cd "$(dirname "$0")/.."
single=$PWD/$1 library=$2 jobs=$3 built=$4
shift 4
for tool in cc gcc g++ clang clang++; do
    command -v $tool >/dev/null || { echo "There is no $tool; on Debian: apt-get install g++ clang" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strict='-Wall -Wextra -Werror'
mingw=x86_64-w64-mingw32-gcc wasm='clang --target=wasm32-wasi'

# as_written PAGE PROGRAM: a folder with these files, the page's first program and two texts, and the page's
# commands, from the one that names attic.c on, or that one alone if it is within a paragraph
as_written() {
    folder=$work/$(basename "$1" .md)
    mkdir "$folder"
    cp "$single"/*.[ch] "$folder"
    cp README.md "$folder/book.txt"
    cp docs/design.md "$folder/another.txt"
    awk '/^```c$/ { inside = 1; next } /^```/ && inside { exit } inside' "$1" | sed 's/2000/3/g' >"$folder/$2"
    # shellcheck disable=SC2016
    sed -n -e 's/.*`\(cc [^`]* attic\.c [^`]*\)`.*/\1/p' -e '/^    cc .* attic\.c /,/^$/s/^    //p' "$1" >"$folder/commands"
    grep -q " $2 " "$folder/commands" || { echo "$1 says no more how $2 and attic.c are compiled" >&2; exit 1; }
}
as_written README.md main.c
as_written docs/training.md train.c
grep -qxF " *     $(cat "$work/README/commands")" "$single/attic.c" ||
    { echo "attic.c says otherwise than README.md how it is compiled" >&2; exit 1; }

parts='attic attic_train attic_plot'
printf '#include "%s.c"\n' $parts >"$work/all.c"

# NAME FILES COMPILER...: the files, or all.c, become NAME/FILE.o; NAME commands: those in its folder.  The longest first.
cat >"$work/jobs" <<END
training commands
README commands
here parts gcc -O3 -march=native --param=avoid-fma-max-bits=0 -Wconversion
one all gcc -O3 -march=native --param=avoid-fma-max-bits=0
clang-here parts clang -O1 -march=native -Wconversion
clang-any parts clang -O1 -Wconversion
wasm parts $wasm -O1
mingw parts $mingw -O1
strict parts gcc -O1 -std=c11 -DATTIC_DEBUG -DATTIC_PLAIN_KERNELS -Wconversion
f32 parts gcc -O1 -DATTIC_ONLY_F32 -Wconversion
END
cat >"$work/job" <<'END'
work=$1 single=$2 name=$3 files=$4 began=$(date +%s)
shift 4
mkdir -p "$work/$name"
cd "$work/$name"
case $files in
commands) sh -eu commands >said 2>&1 || { cat commands said; exit 1; }; set -- "$(head -1 commands)" ;;
all) "$@" -Wall -Wextra -Werror -I"$single" -c ../all.c ;;
parts) for c in attic attic_train attic_plot; do "$@" -Wall -Wextra -Werror -c "$single/$c.c"; done ;;
esac
printf "  %3d s  %s\n" $(($(date +%s) - began)) "$*, $files"
END
xargs -P "$jobs" -L 1 sh -eu "$work/job" "$work" "$single" <"$work/jobs"
(cd "$work/README" && ./a.out) | grep -q '^step 199  loss 0\.' || { echo "README.md: main.c does not learn" >&2; exit 1; }

# exported FILE...: the names that a linker sees
exported() { nm -g "$@" | awk 'NF == 3 && $2 != "U" { print $3 }' | sort; }
exported "$library" >"$work/library"
for name in here one; do
    exported "$work/$name"/*.o | diff "$work/library" - ||
        { echo "< are in libattic.a only, > in the single files only, $name" >&2; exit 1; }
done

gcc "$@" "$work/here"/*.o -lm -pthread -o "$work/table"
"$work/table" --small >"$work/said" || { cat "$work/said"; exit 1; }
tail -1 "$work/said"

# The example trains, computes with dual numbers, and draws.
same=18_curvature
for name in here one; do
    gcc -I"$single" -Iexamples "examples/$same.c" examples/common/options.c "$work/$name"/*.o -lm -pthread \
        -o "$work/$name/$same"
done
for program in "$built" "$work/here" "$work/one"; do
    mkdir -p "$work/drawn"
    (cd "$work/drawn" && "$(cd "$OLDPWD" && cd "$program" && pwd)/$same" drawn.svg) >"$work/drawn/said" 2>/dev/null
    cat "$work/drawn"/* | cksum
done >"$work/bits"
[ "$(sort -u "$work/bits" | wc -l)" -eq 1 ] ||
    { echo "$same prints or draws otherwise: of the library, of three objects, of one file:" >&2; cat "$work/bits" >&2; exit 1; }

# examples_with NAME RUN SUFFIX COMPILER...: with the objects in NAME they print what they should
examples='01_training_loop 03_attention_by_hand 11_cat_and_rat'
examples_with() {
    name=$1 run=$2 suffix=$3
    shift 3
    for example in $examples; do
        "$@" -I"$single" -Iexamples "examples/$example.c" examples/common/options.c "$work/$name"/*.o -lm \
            -o "$work/$example$suffix"
    done
    RUN=$run ONLY=$examples sh scripts/check-examples.sh "$work"
}
examples_with clang-any "" "" clang -O1 -pthread
(examples=01_training_loop && examples_with f32 "" "" gcc -O1 -pthread)
# shellcheck disable=SC2086
examples_with wasm "node --no-warnings scripts/wasi.mjs" "" $wasm -O1 -Wl,-z,stack-size=1048576 -Wl,--stack-first

# shellcheck disable=SC2046
sh scripts/check-headers.sh gcc "$single" $(cd src && ls -d ./*/*.h | sed 's|^\.|src|')
ar rcs "$work/here/all.a" "$work/here"/*.o
INCLUDE='' sh scripts/check-readme.sh docs/training.md "gcc -I$single" "$work/here/all.a"

cat >"$work/user.c" <<'END'
#include "attic_plot.h"
#include "attic_op.h"
#include "attic_train.h"

int main(void)
{
    static at_sdpa_args defaults;
    static at_model_config config;
    const double values[] = {3, 4};
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(1, 2), values);
    at_sdpa_args args = defaults;
    args.causal = true;
    at_tensor *y = at_sum(t, at_mul(t, x, at_sdpa(t, x, x, x, args))); /* a lone key: y = sum of x^2 */
    bool good = at_backward(t, y) && at_item(y) == 25 && at_grad_element(x, 1) == 8;
    config.vocab = config.context = config.dim = 4;
    config.layers = config.heads = 1;
    good = good && at_model_params(at_model_make(t, config)) > 0;
    good = good && at_subplot_of(x, NULL, at_shape_of()).cols == 2 && at_bytes(x) == sizeof values && at_ok(t);
    at_close(t);
    return good ? 0 : 1;
}
END
cp "$work/user.c" "$work/user.cpp"
for user in 'gcc -std=c99 -Wconversion user.c:here' 'clang -std=c99 -Wconversion user.c:clang-any' \
    'g++ -std=c++17 user.cpp:here' 'g++ -std=c++17 user.cpp:strict' \
    'clang++ -std=c++17 user.cpp:clang-any' 'clang++ -std=c++17 user.cpp:clang-here'; do
    # shellcheck disable=SC2086
    (cd "$work" && ${user%:*} $strict -pedantic -I"$single" "${user#*:}"/*.o -lm -pthread -o user && ./user)
    echo "  ${user%:*} with ${user#*:}"
done
for order in 'attic attic_plot attic_train' 'attic_train attic attic_plot' 'attic_plot attic_train attic' \
    'attic attic_train attic_plot' 'attic_train attic_plot attic' 'attic_plot attic attic_train'; do
    # shellcheck disable=SC2046,SC2086
    (cd "$work/here" && gcc -I"$single" $(printf '%s.o ' $order) -x c ../user.c -lm -pthread -o user && ./user)
done

# What ATTIC_ONLY_F32 left out is an error that says so; all else works.
cat >"$work/f32.c" <<'END'
#include <string.h>

#include "attic.h"

static at_tensor *square(at_tape *t, at_tensor **in, void *ctx)
{
    return ctx ? NULL : at_mul(t, in[0], in[0]);
}

static int says_so(at_tape *t)
{
    int said = !at_ok(t) && strstr(at_error(t), "ATTIC_ONLY_F32") != NULL;
    at_clear_error(t);
    return said;
}

int main(void)
{
    at_tape *t = at_open(ATTIC_F32, 1), *f64 = at_open(ATTIC_F64, 1), *dual = at_open(ATTIC_DUAL, 1);
    int said = says_so(f64) && says_so(dual);
    said = said && !at_exp(f64, at_const(f64, at_shape_of(2), NULL)) && !at_ok(f64);

    const double values[] = {3, 4};
    at_tensor *x = at_variable(t, at_shape_of(2), values), *v = at_const(t, at_shape_of(2), values), *Jv, *Hv;
    said = said && !at_jvp(t, square, &x, &v, 1, NULL, &Jv) && says_so(t);
    at_tensor *y = at_sum(t, square(t, &x, NULL));
    said = said && !at_hvp(t, y, &x, &v, 1, &x, 1, &Hv) && says_so(t);
    at_gradcheck_report r = at_gradcheck(t, square, &x, 1, NULL, (at_gradcheck_options){0});
    said = said && r.verdict == ATTIC_NOT_RUN && strstr(r.reason, "ATTIC_ONLY_F32") && says_so(t);

    bool good = said && at_backward(t, y) && at_item(y) == 25 && at_grad_element(x, 1) == 8;
    at_close(t), at_close(f64), at_close(dual);
    return good ? 0 : 1;
}
END
# shellcheck disable=SC2086
gcc $strict -I"$single" "$work/f32.c" "$work/f32"/*.o -lm -pthread -o "$work/f32/user" && "$work/f32/user"

# After windows.h, which takes many names.  -static: no library has to lie beside the program.
windows="$mingw -O1 -static -pthread"
# shellcheck disable=SC2086
$windows -std=c99 $strict -pedantic -include windows.h -I"$single" "$work/user.c" "$work/mingw"/*.o -lm -o "$work/user.exe"
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
    echo "  NOT RUN, as there is no Wine: the examples and user.c with mingw"
fi
