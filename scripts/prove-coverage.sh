#!/bin/sh
# prove-coverage.sh JOBS PROGRAM OBJECT... -- is each branch of a kernel taken both ways in some question of `make prove`?
#
# gcov counts.  What it counts is each way out of each condition: of `if`, of a loop, of ?:, of each part of && and ||; and
# each case of a switch.  These are the ways of the text, as nothing is optimised: --param=logical-op-non-short-circuit=0
# keeps the parts of && and || apart, -fno-exceptions adds no way to throw, and without always_inline a function is there
# once.  A loop has two ways, another turn and the end; whether it is ever entered and left at once is not asked.  A
# function that is never called is reported, too.  What is in a header, and so compiled into several objects, is one text:
# each way must be taken in one of them.  The class of the proof itself is not counted.
#
# The compiler itself makes a minimum of a < b ? a : b, and no branch.
#
# tests/prove/branches.txt lists the lines that have ways which no question takes, how many, and why.  A line that has
# another number of them, or is not there, is an error as well.
set -eu
jobs=$1 program=$2
shift 2
list=tests/prove/branches.txt

for object; do rm -f "${object%.o}.gcda"; done
"$program" --first --jobs="$jobs" >"$program.log" || {
    grep -F -e '<--' "$program.log" || cat "$program.log"
    exit 1
}
for object; do ${GCOV:-gcov} -b -c -r -t "$object" 2>>"$program.log"; done >"$program.gcov"
awk -v list="$list" '
function without_blanks(s) { gsub(/[ \t]+/, " ", s); sub(/^ /, "", s); sub(/ $/, "", s); return s }

# What is indented is a file; what is indented more, a number of ways and the text of a line of that file.  A file without
# lines: all of it.
BEGIN {
    while ((getline row <list) > 0) {
        if (row ~ /^    [^ ]/) listed[of = without_blanks(row)] = "all"
        if (row !~ /^        [0-9]/) continue
        row = without_blanks(row)
        delete listed[of]
        listed[of ": " substr(row, index(row, " ") + 1)] = row + 0
    }
}
/^ *-: *0:Source:/ {
    file = $0
    sub(/.*:Source:/, "", file)
    wanted = file ~ /^src\/.*\.[ch]$/
}
!wanted { next }
/^function / { begins = 1; calls = $4 }
/^branch / {
    way = line "\t" ++n
    if (n > ways[line]) ways[line] = n
    if ($3 == "taken" && $4 > 0) taken[way]
}
/^ *[0-9#=*-]+: *[0-9]+:/ {
    number = $0
    sub(/^[^:]*: */, "", number)
    sub(/:.*/, "", number)
    line = file "\t" number
    if (!(line in text)) {
        lines[++all] = line
        text[line] = $0
        sub(/^[^:]*:[^:]*:/, "", text[line])
        text[line] = without_blanks(text[line])
    }
    if (begins) called[line] += calls
    begins = n = 0
}
END {
    for (i = 1; i <= all; i++) {
        line = lines[i]
        split(line, at, "\t")
        untaken = line in called && !called[line]
        for (k = 1; k <= ways[line]; k++) untaken += !((line "\t" k) in taken)
        total += ways[line]
        if (!untaken) continue
        key = at[1] in listed ? at[1] : at[1] ": " text[line]
        if (!(key in number_of)) where[++keys] = key
        number_of[key] += untaken
        missing += untaken
        place[key] = place[key] " " at[2]
    }
    for (i = 1; i <= keys; i++) {
        key = where[i]
        known = key in listed ? listed[key] : 0
        if (known == "all" || known == number_of[key]) continue
        failed++
        print key "\n    never taken, in line" place[key] ": " number_of[key] " ways" (known ? "; listed: " known : "")
    }
    for (key in listed) {
        entries++
        if (key in number_of) continue
        failed++
        print key "\n    listed, but not there, or all of its ways are taken"
    }
    printf "%d ways out of branches of kernels; %d are never taken, in %d lines and files of %s\n", total, missing, entries, list
    exit failed > 0 || !total
}' "$program.gcov"
