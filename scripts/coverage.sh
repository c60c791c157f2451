#!/bin/sh
# coverage.sh BUILD SOURCE... -- how many lines of each source ran, from what gcov counted.  A line of a file
# that is compiled for several types has run if it did so for either.
set -eu
build=$1
shift

for source; do
    for object in "$build/${source%.c}.o" "$build/${source%.c}.f64.o" "$build/${source%.c}.dual.o"; do
        [ -f "${object%.o}.gcno" ] && ${GCOV:-gcov} -t -o "$object" "$source" 2>/dev/null
    done
done | awk -F: '
$2 + 0 == 0 && $3 == "Source" { file = $4 }
file ~ /^src\/.*\.c$/ && $2 + 0 > 0 && $1 !~ /-/ {
    line = file ":" $2 + 0
    if (!(line in counted)) { counted[line] = 1; lines[file]++ }
    if ($1 !~ /#|=/ && !(line in reached)) { reached[line] = 1; ran[file]++ }
}
END {
    printf "%-34s %7s %7s %8s\n", "file", "lines", "ran", "ran %"
    sorted = "sort"
    for (file in lines) {
        printf "%-34s %7d %7d %7.1f%%\n", file, lines[file], ran[file], 100 * ran[file] / lines[file] | sorted
        all += lines[file]
        all_ran += ran[file]
    }
    close(sorted)
    printf "%-34s %7d %7d %7.1f%%\n", "total", all, all_ran, all ? 100 * all_ran / all : 100
}'
