#!/bin/sh
# lines.sh -- lines per part of src/, beside the goal.
set -eu
cd "$(dirname "$0")/.."

part() {
    name=$1 goal=$2
    shift 2
    lines=$(find "$@" -name '*.[ch]' -exec cat {} + 2>/dev/null | wc -l)
    printf '  %-18s %6d lines   goal %5d%s\n' "$name" "$lines" "$goal" \
        "$([ "$lines" -le "$goal" ] || echo "   over by $((lines - goal))")"
}
part kernels 3000 src/kernels
part 'tensor + autograd' 3900 src/tensor src/autograd
part ops 3600 src/ops
part attention 3500 src/attention
part nn 1500 src/nn
part 'io + plot' 3000 src/io src/plot
