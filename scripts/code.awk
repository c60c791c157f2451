# code.awk -- C without its comments: prints file:line:code, for the other scripts to search.
# With -v strings=1 the text of strings stays, else they become "".

FNR == 1 { inside = 0 }
{
    code = ""
    line = $0
    while (line != "") {
        if (inside) {
            end = index(line, "*/")
            if (!end) break
            line = substr(line, end + 2)
            inside = 0
            code = code " "
        } else if (match(line, /^("([^"\\]|\\.)*"|'([^'\\]|\\.)*')/)) {
            quote = substr(line, 1, 1)
            code = code (strings ? substr(line, 1, RLENGTH) : quote quote)
            line = substr(line, RLENGTH + 1)
        } else if (substr(line, 1, 2) == "/*") {
            inside = 1
            line = substr(line, 3)
        } else if (substr(line, 1, 2) == "//") {
            break
        } else {
            code = code substr(line, 1, 1)
            line = substr(line, 2)
        }
    }
    sub(/[ \t]+$/, "", code)
    if (code != "") print FILENAME ":" FNR ":" code
}
