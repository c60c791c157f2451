# skeleton.awk -- awk -v n=6 -f skeleton.awk e6_delta.c solutions/e6.c: what HINT=4 shows of an exercise, for
# skeletons.c.  For each function with blanks: the blanks, and the solution with its loops and their bounds, in which of
# every expression only the first operand is left.
#
#     dR = c * p * (dP - delta[i]);      dR = c * ____;
#     sum = fmax(sum, S[j]);             sum = fmax(sum, ____);
#
# Functions of the solution that the exercise has not, and which a function calls, stand before it.

# Without comments; `comment` is one that goes on.
function code(s,    at) {
    if (comment) {
        if (!(at = index(s, "*/"))) return ""
        comment = 0
        s = substr(s, at + 2)
    }
    while (at = index(s, "/*")) {
        if (!match(substr(s, at), /\*\//)) {
            comment = 1
            return substr(s, 1, at - 1)
        }
        s = substr(s, 1, at - 1) substr(s, at + RSTART + 1)
    }
    return s
}
function trim(s) { gsub(/^ +| +$/, "", s); return s }
# Where the bracket closes that opens at `from`; 0: it does not.
function closes(s, from,    k, depth) {
    for (k = from; k <= length(s); k++) {
        if (substr(s, k, 1) ~ /[([{]/) depth++
        if (substr(s, k, 1) ~ /[])}]/ && --depth == 0) return k
    }
    return 0
}
# Where `what` stands first in no bracket, but not at the begin; 0: nowhere.  It matches one character, next to blanks.
function outside(s, what,    k) {
    for (k = 1; k <= length(s); k++) {
        if (substr(s, k, 1) ~ /[([{]/) {
            if (!(k = closes(s, k))) return 0
        } else if (k > 1 && substr(s, k, 1) ~ what) return k
    }
    return 0
}
# What is left of an expression.
function left(s,    at, colon) {
    s = trim(s)
    if (s ~ /^-?([0-9][0-9.e-]*|INFINITY)$/) return s
    if (at = outside(s, "[?]")) {
        colon = outside(s, ":")
        return substr(s, 1, at) " " left(substr(s, at + 1, colon - at - 1)) " : " left(substr(s, colon + 1))
    }
    if (at = outside(s, " ")) return substr(s, 1, at + index(substr(s, at + 1), " ")) "____"
    if (match(s, /^[a-z_0-9A-Z>.-]+\(/) && closes(s, RLENGTH) == length(s)) return call(s)
    return "____"
}
function call(s,    open, inner, comma) {
    open = index(s, "(")
    inner = substr(s, open + 1, length(s) - open - 1)
    comma = outside(inner, ",")
    return substr(s, 1, open) (comma ? substr(inner, 1, comma) " ____" : left(inner)) ")"
}
# "double a = x * y, b[3]": each declarator, or one assignment
function statement(s,    at, comma, rest) {
    if (s ~ /^return /) return "return " left(substr(s, 8))
    at = outside(s, "=")
    if (!at) return s ~ /^[a-z_0-9A-Z>.-]+\(/ ? call(s) : s
    rest = substr(s, at + 1)
    comma = outside(rest, ",")
    if (!comma) return substr(s, 1, at) " " left(rest)
    return substr(s, 1, at) " " left(substr(rest, 1, comma - 1)) ", " statement(trim(substr(rest, comma + 1)))
}
# One line: what it loops over stays.
function line(s,    said, end, at) {
    match(s, /^ */)
    said = substr(s, 1, RLENGTH)
    s = substr(s, RLENGTH + 1)
    while (match(s, /^(for|if|while|else) ?/)) {
        end = substr(s, RLENGTH + 1, 1) == "(" ? closes(s, RLENGTH + 1) : RLENGTH
        said = said substr(s, 1, end) (end < length(s) ? " " : "")
        s = trim(substr(s, end + 1))
    }
    for (; at = outside(s, ";"); s = substr(s, at + 1)) said = said statement(trim(substr(s, 1, at - 1))) ";"
    return said s
}
function is_open(s,    bare) {
    bare = s
    gsub(/[^()]/, "", bare)
    while (gsub(/\(\)/, "", bare)) continue
    return bare != "" || s ~ /[-=+*\/,?:]$/
}

FNR == 1 { second = NR > 1; name = ""; comment = 0 }
{ text = code($0); sub(/ +$/, "", text) }
/^[a-z].*\(/ && text !~ /;$/ {
    name = text
    sub(/\(.*/, "", name)
    sub(/.*[ *]/, "", name)
    inside = 0
}
name == "" || text == "" { next }
text == "{" { inside = 1; next }
text == "}" { name = ""; next }
!inside {
    if (second) signature[name] = signature[name] text "\n"
    next
}
!second {
    rest = text
    while (match(rest, /BLANK\([0-9]+\)/)) {
        blank = substr(rest, RSTART + 6, RLENGTH - 7)
        if (!(name in blanks)) order[++functions] = name
        blanks[name] = blanks[name] (blanks[name] == "" ? "" : " | ") "1u << " blank
        rest = substr(rest, RSTART + RLENGTH)
    }
    given[name] = 1
    next
}
{
    held = held (held == "" ? text : " " trim(text))
    if (is_open(held)) next
    body[name] = body[name] line(held) "\n"
    whole[name] = whole[name] held "\n"
    held = ""
}
END {
    for (k = 1; k <= functions; k++) {
        name = order[k]
        shown = ""
        for (other in body)
            if (!(other in given) && index(whole[name], other "("))
                helpers[++count] = other
        for (i = 1; i <= count; i++) # by name: the order of "in" is the awk's
            for (j = i + 1; j <= count; j++)
                if (helpers[j] < helpers[i]) { other = helpers[i]; helpers[i] = helpers[j]; helpers[j] = other }
        for (i = 1; i <= count; i++) shown = shown signature[helpers[i]] "{\n" body[helpers[i]] "}\n\n"
        count = 0
        shown = shown signature[name] "{\n" body[name] "}\n"
        gsub(/\\/, "\\\\", shown)
        gsub(/"/, "\\\"", shown)
        gsub(/\n/, "\\n\"\n \"", shown)
        sub(/\n "$/, "", shown)
        printf "{%d, %s,\n \"%s},\n", n, blanks[name], shown
    }
}
