#!/bin/sh
# lint-values.sh FILE... -- VALUE(x) of a kernel's number is compared, and nothing else is done with it: what computes with
# it, casts it or hands it on drops a derivative.  The lines that do so all the same are those of tests/prove/values.txt.
#
# dual.h and gemm_dual.c are not looked at: they are what dual numbers are, and the field (make prove) has its own text
# for them.
set -eu
cd "$(dirname "$0")/.."

awk -v strings=1 -f scripts/code.awk "$@" | awk -v list=tests/prove/values.txt '
function trim(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }
# behind the parenthesis that closes the first of s; "" if it closes on another line
function behind(s,    i, c, depth) {
    for (i = 1; i <= length(s); i++) {
        c = substr(s, i, 1)
        depth += (c == "(") - (c == ")")
        if (depth == 0) return trim(substr(s, i + 1))
    }
    return ""
}
# Is a VALUE between these two texts compared?
function compared(before, after,    left, right) {
    before = trim(before)
    while (before ~ /(^|[^A-Za-z0-9_])fabs\($/) {
        before = trim(substr(before, 1, length(before) - 5))
        after = trim(substr(after, 2))
    }
    if (before ~ /(^|[^A-Za-z0-9_])is(finite|nan|inf)\($/) return 1
    if (before ~ /[=<>(] *-$/) before = trim(substr(before, 1, length(before) - 1))
    left = before ~ /([=!<>]=|[^<]<|[^->]>)$/
    right = after ~ /^([=!<>]=|<[^<]|>[^>])/
    return (left || right) && before !~ /[-+*\/%[)]$/ && after !~ /^[-+*\/%\]]/
}
function only_compared(code,    from, before) {
    for (from = 1; match(substr(code, from), /(^|[^A-Za-z0-9_])VALUE\(/); from = RSTART) {
        RSTART += from - 1 + RLENGTH
        before = substr(code, 1, RSTART - 7)
        if (!compared(before, behind(substr(code, RSTART - 1)))) return 0
    }
    return 1
}
BEGIN {
    while ((getline text <list) > 0) {
        number++
        if (text ~ /^#/ || text ~ /^[ \t]*$/) continue
        if (text !~ /^ /) { reason = text; file = "" }
        else if (text ~ /^    [^ ]/) file = trim(text)
        else if (reason == "" || file == "") { print list ":" number ": a line without a reason or a file"; bad = 1 }
        else place[file, trim(text)] = number
    }
}
{
    split($0, at, ":")
    code = trim(substr($0, length(at[1] at[2]) + 3))
    if (only_compared(code)) next
    if ((at[1], code) in place) { met[at[1], code] = 1; next }
    print at[1] ":" at[2] ": VALUE is for comparing only: " code
    bad = 1
}
END {
    for (entry in place)
        if (!(entry in met)) { print list ":" place[entry] ": no such line computes with a VALUE"; bad = 1 }
    exit bad
}' >&2
