# trace-lines.awk -v of="X Q P dX" FILE -- these matrices of what trace --block printed, one in each line: rows
# between bars, numbers without zeros at their ends, as 4.3 + 1.9 ln 3 where the trace says so.
function short(x) { if (x ~ /\./) sub(/\.?0+$/, "", x); return x == "" || x == "-" ? 0 : x }
/^[A-Za-z_ ]+ \[[0-9,]+\]/ { name = $0; sub(/ \[.*/, "", name); head = ""; sides = 1; exact = 0 }
/^head / { head = "_" $2; sides = 1 }
/ numerically$/ { sides = 2 }
/^    exactly$/ { exact = 1; row[name] = "" }
name != "" && /^ +[thcg][0-9d]+ .*[0-9]$/ && !/=/ && !/^ +[thcg][0-9d]+ +[thcg][0-9d]+/ {
    line = ""
    if (exact) {
        n = split($0, part, /  +/) # an empty part, the name of the row, its elements
        for (i = 3; i <= n; i++) line = line (i > 3 ? ", " : "") part[i]
    } else
        for (i = 2; i <= 1 + (NF - 1) / sides; i++) line = line (i > 2 ? " " : "") short($i)
    key = name head
    if (!(key in row)) keys[name] = keys[name] " " key
    row[key] = row[key] (row[key] == "" ? "" : " | ") line
}
END {
    n = split(of, asked, " ")
    for (i = 1; i <= n; i++) {
        m = split(keys[asked[i]], found, " ")
        for (k = 1; k <= m; k++) printf "%-9s%s\n", found[k], row[found[k]]
    }
}
