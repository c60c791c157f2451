#!/bin/sh
# check-unsupported.sh MAKE CC -- on a processor that lacks what a build needs, its examples say so and end,
# and the library leaves an error on the tape.
#
# QEMU emulates the processors: builds for x86-64-v3 and v4 (AVX2, AVX-512) run on a Nehalem, which has
# neither, and a Haswell, which has AVX2.
set -eu
cd "$(dirname "$0")/.."
make=$1 CC=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

case $($CC -dumpmachine) in
x86_64*) ;;
*) echo "nothing to check: this compiler is not for x86-64"; exit 0 ;;
esac
command -v qemu-x86_64 >/dev/null ||
    { echo "This needs QEMU's user mode emulation: apt-get install qemu-user" >&2; exit 1; }

# A program that asks right after at_open, built for any processor.
cat >"$work/user.c" <<'END'
#include "attic.h"
#include <stdio.h>

int main(void)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    if (at_ok(t)) {
        at_tensor *X = at_variable(t, at_shape_of(2, 2), (double[]){1, 2, 3, 4});
        at_backward(t, at_mean(t, at_sdpa(t, X, X, X, (at_sdpa_args){.causal = true})));
    }
    printf("%s\n", at_ok(t) ? "computed" : at_error(t));
    at_close(t);
    return 0;
}
END

# expect WHAT COMMAND...: among what the command prints
expect() {
    what=$1
    shift
    "$@" >"$work/output" 2>&1 || true
    grep -q "$what" "$work/output" || { cat "$work/output"; echo "not printed by $*: $what" >&2; exit 1; }
}

for arch in x86-64-v3 x86-64-v4; do
    $make -s CC="$CC" ARCH=$arch lib "build/${CC##*/}-$arch-release/examples/01_training_loop" >"$work/log" 2>&1 ||
        { cat "$work/log"; exit 1; }
    built=build/${CC##*/}-$arch-release
    example=$built/examples/01_training_loop
    $CC -std=gnu11 -Isrc -o "$work/user" "$work/user.c" $built/libattic.a -lm -pthread
    $CC -std=gnu11 -Isrc -o "$work/user-shared" "$work/user.c" -L$built -lattic -lm -pthread

    lacks="this build is for a processor with avx, .*avx2, fma"
    expect "attic: $lacks" qemu-x86_64 -cpu Nehalem $example
    status=0
    qemu-x86_64 -cpu Nehalem $example >/dev/null 2>&1 || status=$?
    [ $status -eq 3 ] || { echo "$example should have ended with status 3, not $status" >&2; exit 1; }
    expect "$lacks" qemu-x86_64 -cpu Nehalem "$work/user"
    expect "$lacks" env LD_LIBRARY_PATH=$built qemu-x86_64 -cpu Nehalem "$work/user-shared"
    if [ $arch = x86-64-v3 ]; then
        expect computed qemu-x86_64 -cpu Haswell "$work/user"
    else
        expect "this build is for a processor with avx512f, " qemu-x86_64 -cpu Haswell "$work/user"
    fi
    echo "$CC, ARCH=$arch: an unsupported processor is reported"
done
