#!/bin/sh
# bench.sh BENCH_MPI [PAGE] -- a step of three models on 1 and on 2 processes, which share the cores; on PAGE, between
# the lines "table: mpi" and "end", the table of it, and between "table: formula" and "end" that of machines.awk.
#
# Each is measured three times, in turn, and the median counts.  What else runs on the machine is measured as well:
# the load average is part of the table, and above 0.5 nothing is written.
set -eu
[ $# -ge 1 ] || { echo "usage: bench.sh BENCH_MPI [PAGE]" >&2; exit 2; }
bench=$1 page=${2-} MPIRUN=${MPIRUN:-mpirun}
cd "$(dirname "$0")/.."
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
options=
case $($MPIRUN --version 2>&1) in *"Open MPI"* | *OpenRTE*) options="--oversubscribe --bind-to none" ;; esac
cores=$(getconf _NPROCESSORS_ONLN)
load=$(cut -d ' ' -f 1 /proc/loadavg)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

k=0
for model in "--layers 4 --dim 128 --rows 4" "--layers 6 --dim 256 --rows 2" "--layers 8 --dim 512 --heads 8 --rows 1"; do
    k=$((k + 1))
    for round in 1 2 3; do
        for processes in 1 2; do
            # shellcheck disable=SC2086
            ATTIC_THREADS=$((cores > processes ? cores / processes : 1)) \
                $MPIRUN $options -n $processes "$bench" $model --micros 8 ${ARGS-} | sed "s/^/$k\t$round\t/" >>"$work/results"
        done
    done
done
cat "$work/results"

# model, processes -> the medians
{
    echo "| parameters | tokens in a step | one process | two processes | as fast | exchange |"
    echo "|--:|--:|--:|--:|--:|--:|"
    sort -t "$(printf '\t')" -k1,1n -k3,3n -k7,7n "$work/results" | awk -F '\t' '
        { seen[$1, $3]++; if (seen[$1, $3] == 2) { ms[$1, $3] = $7; swaps[$1, $3] = $8 } params[$1] = $5; tokens[$1] = $6 }
        END { for (k = 1; (k, 1) in ms; k++)
            printf "| %.1f M | %d | %.0f ms | %.0f ms | %.2f times | %.1f %% |\n", params[k] / 1e6, tokens[k], ms[k, 1],
                ms[k, 2], ms[k, 1] / ms[k, 2], 100 * swaps[k, 2] / ms[k, 2] }'
    echo
    echo "($(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -1), $cores cores; $($MPIRUN --version 2>&1 | head -1); $(date +%Y-%m-%d), load average before $load)"
} >"$work/mpi"
awk -f mpi/machines.awk >"$work/formula"
[ "$page" ] || { cat "$work/mpi"; exit; }
awk -v load="$load" 'BEGIN { exit load > 0.5 }' || { cat "$work/mpi"; echo "The load average is $load: nothing is written to $page" >&2; exit 1; }
awk -v work="$work" '
/^<!-- table: (mpi|formula) -->$/ { print; while ((getline line <(work "/" $3)) > 0) print line; skip = 1; next }
/^<!-- end -->$/ { skip = 0 }
!skip' "$page" >"$work/page"
cp "$work/page" "$page"
