#!/bin/sh
# check-links.sh FILE.md... -- does every link of the documentation lead to what it names?
#
#     [text](path)            the file exists
#     [text](path#heading)    and, if it is a Markdown file, has that heading; a bare #heading is one of
#                             the same file
#     [`f` in ops/x.c](../src/ops/x.c)     [`y = a * b;`](../src/ops/x.c)
#                             the text in backquotes of a link to a source file is in that file: a
#                             name as a whole word, other code with any white space
#
# A file that the text names is the file that the link leads to.  Line numbers (#L12) are refused, as the
# next change makes them wrong.  Every picture of docs/images is shown by one of the files, and below a picture,
# or several in lines one after the other, stands a caption, in italics, that says what is to be seen.
set -eu
cd "$(dirname "$0")/.."

awk '
function complain(why) {
    print FILENAME ":" FNR ": " target ": " why >"/dev/stderr"
    bad = 1
}
function exists(path) {
    if (!(path in known)) known[path] = system("test -e \"" path "\"") == 0
    return known[path]
}
function squeezed(s) { gsub(/[ \t\n]/, "", s); return s }

# The text of a source file.  AT_REAL(name) is the name, for float or for double.
function read_source(path,    s, name) {
    if (path in source) return
    while ((getline s <path) > 0) {
        while (match(s, /AT_REAL\([A-Za-z0-9_]+\)/)) {
            name = substr(s, RSTART, RLENGTH - 1)
            sub(/.*\(/, "", name)
            s = substr(s, 1, RSTART - 1) name substr(s, RSTART + RLENGTH)
        }
        source[path] = source[path] s "\n"
    }
    close(path)
    squeezed_source[path] = squeezed(source[path])
}
# Headings, as GitHub makes anchors of them, and anchors that were set by hand: <a id="name">.
function read_headings(path,    s, code) {
    if ((path, "") in heading) return
    heading[path, ""] = 1
    while ((getline s <path) > 0) {
        if (s ~ /^```/) code = !code
        while (!code && match(s, /<a id="[^"]*">/)) {
            heading[path, substr(s, RSTART + 7, RLENGTH - 9)] = 1
            s = substr(s, RSTART + RLENGTH)
        }
        if (code || s !~ /^#+ /) continue
        s = tolower(s)
        sub(/^#+ /, "", s)
        gsub(/[^a-z0-9 _-]/, "", s)
        gsub(/ /, "-", s)
        heading[path, s] = 1
    }
    close(path)
}
# "attention.c" and "attention/attention.c" name src/attention/attention.c
function names(word, path) {
    return substr("/" path, length(path) + 1 - length(word)) == "/" word
}
function check_text(text, path,    part, word, n, i) {
    n = split(text, part, "`")
    read_source(path)
    for (i = 2; i <= n; i += 2) {
        if (part[i] ~ /^[a-zA-Z0-9_\/.]+\.[ch]$/) continue
        if (part[i] ~ /^[A-Za-z_][A-Za-z0-9_]*$/ \
                ? source[path] !~ "(^|[^A-Za-z0-9_])" part[i] "[^A-Za-z0-9_]" \
                : !index(squeezed_source[path], squeezed(part[i])))
            complain("`" part[i] "` is not there")
    }
    n = split(text, word, /[ `,]+/)
    for (i = 1; i <= n; i++)
        if (word[i] ~ /^[a-zA-Z0-9_\/]+\.[ch]$/ && !names(word[i], path)) complain("is not " word[i])
}
function check(text,    path, anchor) {
    sub(/ .*/, "", target)
    count++
    if (target ~ /^[a-z]+:/) return
    path = anchor = target
    sub(/#.*/, "", path)
    sub(/^[^#]*#?/, "", anchor)
    if (anchor ~ /^L[0-9]/) complain("no line numbers: name what is there")
    path = path == "" ? FILENAME : folder path
    while (sub(/[^\/.]+\/\.\.\//, "", path)) continue
    if (!exists(path)) complain("there is no such file")
    else if (path ~ /\.[ch]$/) check_text(text, path)
    else if (path ~ /\.md$/ && anchor != "") {
        read_headings(path)
        if (!((path, anchor) in heading)) complain("there is no such heading")
    }
}
# What stands between the last "[" that is still open and the end.
function inner(s,    i, depth, c) {
    for (i = length(s); i > 0; i--) {
        c = substr(s, i, 1)
        if (c == "]") depth++
        if (c == "[" && depth-- == 0) return substr(s, i + 1)
    }
    return ""
}
FNR == 1 { folder = FILENAME; sub(/[^\/]*$/, "", folder); rest = ""; fenced = 0 }
/^```/ { fenced = !fenced }
shown && /^$/ { shown = 2 }
shown && !/^$/ && (shown == 2 || !/^!\[/) {
    if (!/^\*[^*]/) complain("this picture has no caption")
    shown = 0
}
/^!\[/ && !fenced { target = $0; shown = 1 }
fenced || /^$/ { rest = ""; next }
{
    rest = rest " " $0 # a link may go on in the next line
    while (match(rest, /\]\([^()]+\)/)) {
        target = substr(rest, RSTART + 2, RLENGTH - 3)
        before = substr(rest, 1, RSTART - 1)
        rest = substr(rest, RSTART + RLENGTH)
        check(inner(before))
    }
}
END { print count + 0 " links"; exit bad }' "$@"

for picture in docs/images/*; do
    grep -q "^!\[[^]]*\]([^()]*${picture#docs/})" "$@" || { echo "$picture: no text shows it" >&2; exit 1; }
done
