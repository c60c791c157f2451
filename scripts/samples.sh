#!/bin/sh
# samples.sh GRADE COMPILE RUNNERS -- the grades of the sample answers of docs/lecturer.md, which shows them: of E6 and E10
# the solution, and the two samples of course/exercises/wrong.txt.
set -eu
cd "$(dirname "$0")/.."
grade=$1 compile=$2 runners=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk -v to="$work" -f course/exercises/plant.awk course/exercises/wrong.txt
for e in 6 10; do
    cp course/exercises/solutions/e$e.c "$work/e${e}_sample_full.c"
    for level in full middle beginning; do
        "$grade" --compile "$compile" --runners "$runners" --only $e --seed 1 --table "$work/e${e}_sample_$level.c" >"$work/said" || [ $? -eq 1 ]
        sed '$d' "$work/said"
    done
done
