#!/bin/sh
# check-bits.sh MAKE [NAME...] -- does every build compute the bits of its arithmetic?  tests/bits/expected has the
# hash of each (docs/bits.md says what it is of); all builds of the list below are compared with it, or those that
# are named.  Where a hash differs, the first step and op that differ are named, beside the first build of the same
# arithmetic that is right.
#
# What a machine lacks is not checked, and the end says so; of builds that are named it is an error.
#
# A build has a folder of its own, build/bits/NAME, but those without CFLAGS, which are other checks' as well.
set -eu
cd "$(dirname "$0")/.."
make=$1
shift
expected=tests/bits/expected
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WINEDEBUG=-all

# NAME ARITHMETIC "what must be there" "what is given to make"
builds() {
    arm='AR=aarch64-linux-gnu-ar CC=aarch64-linux-gnu-gcc ARCH=armv8-a'
    arm_run="RUN='qemu-aarch64 -L /usr/aarch64-linux-gnu'"
    headers="CPPFLAGS='-idirafter /usr/include/$(gcc -print-multiarch)'"
    cat <<END
gcc           fused    has_fma              CC=gcc
clang         fused    has_fma,clang        CC=clang
gcc-avx2      fused    has_fma              CC=gcc ARCH=x86-64-v3 CFLAGS=-O1
gcc-avx2-O0   fused    has_fma              CC=gcc ARCH=x86-64-v3 CFLAGS='-O0 -Wno-frame-larger-than'
clang-avx2    fused    has_fma,clang        CC=clang ARCH=x86-64-v3 CFLAGS=-O2
clang-O0      fused    has_fma,clang        CC=clang CFLAGS='-O0 -Wno-frame-larger-than'
musl-fused    fused    has_fma,musl-gcc     CC=musl-gcc
arm           fused    aarch64-linux-gnu-gcc,qemu-aarch64 $arm $arm_run
portable      portable gcc                  CC=gcc ARITHMETIC=portable
sse2          portable gcc                  CC=gcc ARCH=
sse2-O0       portable gcc                  CC=gcc ARCH= CFLAGS='-O0 -Wno-frame-larger-than'
clang-sse2    portable clang                CC=clang ARCH= CFLAGS=-O1
clang-portable portable clang               CC=clang ARITHMETIC=portable
avx2-portable portable has_avx2             CC=gcc ARCH=x86-64-v3 ARITHMETIC=portable CFLAGS=-O2
i386          portable has_m32              CC='gcc -m32' ARCH= $headers
musl          portable musl-gcc             CC=musl-gcc ARCH=
windows       portable x86_64-w64-mingw32-gcc,wine CC=x86_64-w64-mingw32-gcc ARCH=x86-64 LDFLAGS=-static RUN=wine
wasm          portable has_wasm,node        CC='clang --target=wasm32-wasi' AR=llvm-ar ARCH= CFLAGS=-msimd128 RUN='node --no-warnings scripts/wasi.mjs'
wasm-O1       portable has_wasm,node        CC='clang --target=wasm32-wasi' AR=llvm-ar ARCH= CFLAGS=-O1 RUN='node --no-warnings scripts/wasi.mjs'
arm-portable  portable aarch64-linux-gnu-gcc,qemu-aarch64 $arm ARITHMETIC=portable $arm_run
END
}

links() { echo 'int main(void) { return 0; }' | "$@" -x c -o /dev/null - 2>/dev/null; }
has_fma() { gcc -march=native -dM -E -x c /dev/null | grep __FMA__ >/dev/null; }
has_avx2() { gcc -march=native -dM -E -x c /dev/null | grep __AVX2__ >/dev/null; }
has_m32() { links gcc -m32; }
has_wasm() { links clang --target=wasm32-wasi; }
# lacks LIST: the first thing of a list, with commas between, that is not there
lacks() {
    for thing in $(echo "$1" | tr , ' '); do
        case $thing in
        has_*) $thing || { echo "$thing" | sed 's/has_fma/FMA/; s/has_avx2/AVX2/; s/has_m32/gcc -m32/; s/has_wasm/wasi-libc/'; return; } ;;
        *) command -v "$thing" >/dev/null || { echo "$thing"; return; } ;;
        esac
    done
}

# bits NAME ARGS...: what the program of this build prints
bits() {
    line=$(grep "^$1 " "$work/builds" | tr -s ' ' | cut -d' ' -f4-) folder=
    case $line in *CFLAGS=*) folder="B=build/bits/$1" ;; esac
    shift
    eval "$make --no-print-directory -s $line $folder" bits "ARGS='--out $work/run $*'" 2>"$work/errors" | tr -d '\r' | grep -v '^  [A-Z]'
}

# first_difference NAME OTHER: names what differs first
first_difference() {
    bits "$1" --lines >"$work/here"
    bits "$2" --lines >"$work/there"
    diff "$work/there" "$work/here" | sed -n 's/^> //p' | sed 1q >"$work/first"
    echo "the first difference from $2: $(cat "$work/first")"
    case $(cat "$work/first") in
    *" step "*) at=$(sed 's/.* step \([0-9]*\) .*/--step \1/' "$work/first") ;;
    "row "*) at=$(sed 's/^row \([0-9]*\) .*/--case \1/' "$work/first") ;;
    *) return ;;
    esac
    # shellcheck disable=SC2086
    bits "$1" $at >"$work/here"
    # shellcheck disable=SC2086
    bits "$2" $at >"$work/there"
    diff "$work/there" "$work/here" | sed -n 's/^> /its first op that differs: /p' | sed 1q
}

builds >"$work/builds"
checked=0 absent='' failed=0 named=$#
names=${*:-$(cut -d' ' -f1 "$work/builds")}
for name in $names; do
    # shellcheck disable=SC2046 # the first three words
    set -- $(grep "^$name " "$work/builds" | tr -s ' ' | cut -d' ' -f1-3)
    [ $# -gt 0 ] || { echo "there is no build $name; there are: $(cut -d' ' -f1 "$work/builds" | tr '\n' ' ')" >&2; exit 2; }
    lacking=$(lacks "$3")
    if [ -n "$lacking" ]; then
        absent="$absent $name ($lacking)"
        continue
    fi
    began=$(date +%s)
    said=$(bits "$name" | tail -1)
    wanted=$(sed -n "s/^$2 //p" $expected) first=first_$2
    printf '%-14s %s  %4d s\n' "$name" "${said#*, }" $(($(date +%s) - began))
    checked=$((checked + 1))
    case $said in
    *", $2 arithmetic: $wanted") eval ": \${$first:=$name}" ;;
    *)
        echo "$name: must be the $2 arithmetic, $wanted" >&2
        cat "$work/errors" >&2
        eval "other=\${$first:-}"
        [ -z "$other" ] || first_difference "$name" "$other" >&2
        failed=1
        ;;
    esac
done
# With any number of threads.
for threads in 1 2 3 16; do
    name=$(cut -d' ' -f1 "$work/builds" | sed 1q)
    [ -z "$(lacks has_fma)" ] || name=sse2
    said=$(bits "$name" --threads $threads | tail -1)
    printf '%-14s %s  %d threads\n' "$name" "${said#*, }" $threads
    grep -qx "$(echo "${said#*, }" | sed 's/ arithmetic://')" $expected || failed=1
done
[ $failed -eq 0 ] || exit 1
echo "$checked builds have the bits of their arithmetic${absent:+; NOT CHECKED, as there is no ...:$absent}"
[ -z "$absent" ] || [ "$named" -eq 0 ]
