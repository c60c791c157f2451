#!/bin/sh
# lint-reals.sh CC FILE... -- an op would work for a number of two parts, a value and a tangent, as well: compiled
# with double _Complex for REAL, nothing in it converts one to double, compares it but through VALUE, or takes its
# absolute value without a sign.
set -eu
cd "$(dirname "$0")/.."
cc=$1 bad=0
shift
for file; do
    $cc -std=gnu11 -Isrc -DAT_COMPLEX -Wconversion -Wno-sign-conversion -Wno-unused-function -Werror \
        -fsyntax-only "$file" || bad=1
    awk -v file="$file" '
    /^#ifdef AT_ONCE/ { exit }
    { sub(/\/\*.*/, "") }
    /\(double\)[^(]/ { print file ":" FNR ": a cast to double drops what a tangent holds; use WIDE or VALUE"; bad = 1 }
    /[!=]= -?\(REAL\)/ { print file ":" FNR ": compare VALUE(x)"; bad = 1 }
    END { exit bad }' "$file" || bad=1
done
exit $bad
