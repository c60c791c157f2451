#!/bin/sh
# coverage.sh BUILD SOURCE... -- how many lines of each source ran, from what gcov counted.
set -eu
build=$1
shift

for source; do
    object=$build/${source%.c}.o
    [ -f "${object%.o}.gcno" ] && ${GCOV:-gcov} -n -o "$object" "$source" 2>/dev/null
done | awk '
/^File / { file = $2; gsub("\047", "", file) }
/^Lines executed:/ && file ~ /^src\/.*\.c$/ {
    split($0, of, /[:% ]+/) # Lines executed:97.30% of 148
    lines[file] = of[5]
    ran[file] = of[3] * of[5] / 100
    file = ""
}
END {
    printf "%-34s %7s %7s %8s\n", "file", "lines", "ran", "ran %"
    sorted = "sort"
    for (file in lines) {
        printf "%-34s %7d %7.0f %7.1f%%\n", file, lines[file], ran[file], lines[file] ? 100 * ran[file] / lines[file] : 100 | sorted
        all += lines[file]
        all_ran += ran[file]
    }
    close(sorted)
    printf "%-34s %7d %7.0f %7.1f%%\n", "total", all, all_ran, all ? 100 * all_ran / all : 100
}'
