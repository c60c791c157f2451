#!/bin/sh
# performance.sh RESULTS PAGE.md -- fill the tables of a page with the results of the benchmarks.
#
# RESULTS is the folder of the files that the benchmarks write, build/.../results.  A table of the page
# stands between two marks; its heading and rule stay, the lines below them are written anew:
#
#     <!-- table: rows train 1 time percent torch 2 time torch -->
#     | training step | 1 thread | % of peak | PyTorch | 2 threads | PyTorch |
#     |---|--:|--:|--:|--:|--:|
#     <!-- end -->
#
# The first word says what a line of the table is, the second which benchmark it is about:
#
#     rows      a row of the benchmark
#     names     all rows with one name: the columns are repeated for every group of rows
#     groups    a group of rows: geometric means
#     machine   a fact about the machine and the run
#
# The columns are `time`, the median; `percent`, of the peak, the median; `value`, where a row is not a time;
# or a peer, for its time / attic's; `best`, that of torch or of torch-compile, whichever takes less.
# `1` and `2` say how many threads the columns after them are about.
# If a benchmark of the page has no results, the page stays as it is.
set -eu
results=$1 page=$2
new=$(mktemp)
trap 'rm -f "$new"' EXIT

# A row: 1 bench, 2 group, 3 name, 4 who, 5 unit, 6 threads; medians: 14 value, 17 percent, 20 ratio
LC_ALL=C awk -F '\t' '
function time_text(ns,    u) {
    for (u = 1; ns >= 999.5 && u < 4; u++) ns /= 1000
    return sprintf(ns < 9.995 ? "%.2f %s" : ns < 99.95 ? "%.1f %s" : "%.0f %s", ns, unit[u])
}
function keep(what, value, text) {
    cell[$1, $2, $3, $6, what] = text
    sum[$1, $2, $6, what] += log(value)
    n[$1, $2, $6, what]++
}
# The smaller of two ratios: the row of torch-compile comes after that of torch.
function keep_best(    key) {
    key = $1 SUBSEP $2 SUBSEP $3 SUBSEP $6
    if (!(key in best)) keep("best", best[key] = $20, sprintf("%.2fx", $20))
    else if ($20 < best[key]) {
        sum[$1, $2, $6, "best"] += log($20 / best[key])
        cell[key, "best"] = sprintf("%.2fx", best[key] = $20)
    }
}
# The lines that a form has, in the order in which they came: line[form, bench, 1 .. lines[form, bench]]
function add(form, group, name) {
    if ((form, $1, group, name) in known) return
    known[form, $1, group, name] = ++lines[form, $1]
    line[form, $1, lines[form, $1]] = group SUBSEP name
}
function columns(group, name,    text, key, i, threads) {
    for (i = 5; i < words; i++) {
        if (word[i] ~ /^[0-9]+$/) { threads = word[i]; continue }
        key = word[4] SUBSEP group SUBSEP threads SUBSEP word[i]
        if (name != "") key = word[4] SUBSEP group SUBSEP name SUBSEP threads SUBSEP word[i]
        if (name == "" && key in n)
            cell[key] = sprintf(word[i] == "percent" ? "%.0f %%" : "%.2fx", exp(sum[key] / n[key]))
        text = text " | " (key in cell ? cell[key] : "-")
    }
    return text
}
function print_table(form, bench,    i, k, part, text) {
    for (i = 1; i <= lines[form, bench]; i++) {
        split(line[form, bench, i], part, SUBSEP)
        text = part[1] (part[1] != "" && part[2] != "" ? ", " : "") part[2]
        if (form != "names") text = text columns(part[1], part[2])
        for (k = 1; form == "names" && k <= lines["groups", bench]; k++) {
            split(line["groups", bench, k], group, SUBSEP)
            text = text columns(group[1], part[2])
        }
        print "| " text " |"
    }
}
BEGIN { split("ns us ms s", unit, " ") }
FILENAME ~ /\.tsv$/ && /^# (processor|caches|compiler|flags|peer|date): / {
    key = substr($0, 3, index($0, ":") - 3)
    text = key " | " substr($0, index($0, ":") + 2)
    sub(/^peer [|] [a-z-]+/, "library |", text)
    if (key == "date") text = substr(text, 1, length("date | 2026-11-22"))
    if (key ~ /peer|date/ ? !seen[text]++ : !seen[key]++) fact[++facts] = text
}
FILENAME ~ /\.tsv$/ && !/^#/ {
    add("rows", $2, $3); add("names", "", $3); add("groups", $2, "")
    if ($4 ~ /^torch/) keep_best()
    if ($4 != "attic") keep($4, $20, sprintf("%.2fx", $20))
    else if ($5 == "bytes") keep("value", 1, sprintf("%.0f KiB", $14 / 1024))
    else if ($5 != "ns") keep("value", 1, sprintf($5 ~ /^%/ ? "%.0f %%" : "%.0f", $14))
    else { keep("time", $14, time_text($14)); if ($17 > 0) keep("percent", $17, sprintf("%.0f %%", $17)) }
}
FILENAME ~ /\.tsv$/ { next }

/^<!-- end -->$/ && words {
    for (i = 1; word[3] == "machine" && i <= facts; i++) print "| " fact[i] " |"
    print_table(word[3], word[4])
    words = 0
}
!words || /^\|/ && ++head <= 2
/^<!-- table: .* -->$/ {
    words = split($0, word, " ")
    head = 0
    if (word[3] == "machine" ? !facts : !((word[3], word[4]) in lines)) {
        print "no results for \"" $0 "\": make bench BENCH=" word[4] >"/dev/stderr"
        failed = 1
    }
}
END { exit failed }' "$results"/*.tsv "$page" >"$new"
cat "$new" >"$page"
