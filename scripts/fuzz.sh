#!/bin/sh
# fuzz.sh PROGRAM SECONDS JOBS -- runs the fuzzer tests/fuzz/files.c on each kind of file for so many seconds of a core,
# all at the same time: with fewer cores (JOBS) than kinds it takes longer, and no core waits.  The seeds are the golden files of the tests; what was found in earlier runs is kept beside PROGRAM and used
# again.  An input that crashes, leaks, hangs or needs too much memory is kept, too, and the exit status is 1.
set -eu
program=$1 seconds=$2 jobs=$3
work=$(dirname "$program")/corpus
mkdir -p "$work"
"$program" --seeds "$work"

one='
name=$1 program=$2 seconds=$3 work=$4
ln -sf "$(basename "$program")" "$(dirname "$program")/$name"
if "$(dirname "$program")/$name" -max_total_time="$seconds" -max_len=16384 -rss_limit_mb=1024 -timeout=10 \
    -artifact_prefix="$work/$name-" -print_final_stats=1 "$work/$name" >"$work/$name.log" 2>&1; then
    awk -v name="$name" "/number_of_executed_units/ { runs = \$2 } / cov: / { for (i = 1; i < NF; i++) if (\$i == \"cov:\") cov = \$(i + 1) }
        END { printf \"  %-12s %9d inputs, %d places of the code reached\n\", name, runs, cov; exit runs < 1000 }" "$work/$name.log"
else
    grep -m 1 -A 14 "ERROR: \|not so: " "$work/$name.log"
    grep "Test unit written" "$work/$name.log"
    echo "  $name fails; to see it again: $(dirname "$program")/$name FILE, with the file that is named above"
    exit 1
fi'
set -- npy safetensors npz inflate gpt2 llama2 tokenizer config arrays
[ $# -le "$jobs" ] || seconds=$(((seconds * $# + jobs - 1) / jobs))
printf '%s\n' "$@" | xargs -P $# -I NAME sh -c "$one" sh NAME "$program" "$seconds" "$work"
