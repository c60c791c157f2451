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
# tests/prove/branches.txt lists the lines that have ways which no question takes, with the reasons.  A listed line that
# is not there, or whose ways are all taken, is an error as well; so is a listed file.
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

BEGIN { # what is indented is a file and the text of one of its lines, or a file alone: all of it
    while ((getline row <list) > 0)
        if (row ~ /^ /) listed[without_blanks(row)]
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
        never = line in called && !called[line]
        missing = 0
        for (k = 1; k <= ways[line]; k++) missing += !((line "\t" k) in taken)
        total += ways[line]
        untaken += missing
        if (!missing && !never) continue
        reason = at[1] in listed ? at[1] : at[1] " " text[line]
        if (reason in listed) {
            used[reason]
            continue
        }
        failed++
        printf "%s:%d: %s: %s\n", at[1], at[2],
            never ? "never called" : missing " of " ways[line] " ways never taken", text[line]
    }
    for (e in listed)
        if (!(e in used)) {
            failed++
            print list ": is not there, or all of its ways are taken: " e
        } else
            reasons++
    if (!total) failed = 1
    printf "%d ways out of branches of kernels: %d taken, %d not; %d entries of %s say why\n",
        total, total - untaken, untaken, reasons, list
    if (failed) print failed " lines are wrong"
    exit failed > 0
}' "$program.gcov"
