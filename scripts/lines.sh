#!/bin/sh
# lines.sh -- lines per part of src/, beside what we aim for.  A compass, not a wall.
set -eu
cd "$(dirname "$0")/.."

part() {
    name=$1 aim=$2
    shift 2
    lines=$(find "$@" -name '*.[ch]' -exec cat {} + 2>/dev/null | wc -l)
    printf '  %-18s %6d lines   aim %5d%s\n' "$name" "$lines" "$aim" \
        "$([ "$lines" -le "$aim" ] || echo "   over by $((lines - aim))")"
}
part kernels 1800 src/kernels
part 'tensor + autograd' 1200 src/tensor src/autograd
part ops 2500 src/ops
part 'nn + io' 2000 src/nn src/io
