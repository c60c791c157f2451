#!/bin/sh
# check-links.sh write|check FILE.md... -- do the links lead somewhere, and those into code to what they say?
#
# A link into code quotes what it shows, and has the numbers of the lines where that stands:
#
#     [the rows](../src/ops/sdpa.c#L337-L357 "static void KERNEL(plain_row_backward)")
#     [delta](../src/ops/sdpa.c#L60 "delta_i = sum_j P_ij dP_ij")
#     [softmax](../src/ops/sdpa.c#L34-L50 "6   Row i of P ... delta_i = sum_j P_ij dP_ij")
#
#     what begins at the left margin    to the next line that is "}": a function
#     "a ... b"                         from a to the next line with b
#     anything else                     its line
#
# The quotation must occur in one line of the file only.  With `write` the numbers are set right, and the
# file too, if the quotation has moved to another file of that folder; with `check` a difference is an
# error.  So is a link to a file or to a heading of the same file that does not exist, and a picture of
# docs/images that none of the files shows.
set -eu
cd "$(dirname "$0")/.."
mode=$1
shift

for file; do
    awk -v mode="$mode" '
    function complain(why) {
        print FILENAME ":" FNR ": " target ": " why >"/dev/stderr"
        bad = 1
    }
    function load(path,    s, n) {
        if (path in lines) return lines[path] > 0
        while ((getline s <path) > 0) text[path, ++n] = s
        close(path)
        lines[path] = n + 0
        return n > 0
    }
    # the one line of a file that has the quotation; 0 if none, -1 if several
    function find(path, quoted,    i, at) {
        for (i = 1; i <= lines[path]; i++)
            if (index(text[path, i], quoted)) {
                if (at) return -1
                at = i
            }
        return at + 0
    }
    function last_line(path, first, quoted, last,    i) {
        for (i = first; i <= lines[path]; i++) {
            if (last != "" ? index(text[path, i], last) : text[path, i] == "}") return i
            if (last == "" && index(text[path, first], quoted) != 1) return first
        }
        return 0
    }
    # another file in that folder which has the quotation
    function moved(path, quoted,    list, name, found) {
        list = path
        sub(/[^\/]*$/, "*.[ch]", list)
        list = "ls " list
        while ((list | getline name) > 0)
            if (load(name) && find(name, quoted) > 0) found = found == "" ? name : "several"
        close(list)
        return found == "several" ? "" : found
    }
    # the target as it should be, given the quotation
    function code_target(path, base, quoted,    first, last, at, to, other) {
        first = quoted
        if ((at = index(quoted, " ... "))) {
            first = substr(quoted, 1, at - 1)
            last = substr(quoted, at + 5)
        }
        at = find(path, first)
        if (at == 0 && (other = moved(path, first)) != "") {
            sub(/[^\/]*$/, "", base)
            path = other
            at = find(path, first)
            sub(/.*\//, "", other)
            base = base other
        }
        if (at <= 0) return complain(at ? "\"" first "\" stands in several lines" : "\"" first "\" is not there") target
        to = last_line(path, at, first, last)
        if (!to) return complain("\"" last "\" does not follow") target
        return base "#L" at (to > at ? "-L" to : "")
    }
    # headings as GitHub makes anchors of them
    function read_headings(path,    s) {
        while ((getline s <path) > 0)
            if (s ~ /^#+ /) {
                s = tolower(s)
                sub(/^#+ /, "", s)
                gsub(/[^a-z0-9 _-]/, "", s)
                gsub(/ /, "-", s)
                heading["#" s] = 1
            }
        close(path)
    }
    function checked(title,    path, base, should) {
        if (target ~ /^[a-z]+:/) return target
        if (target ~ /^#/) {
            if (!(target in heading)) complain("there is no such heading")
            return target
        }
        base = target
        sub(/#.*/, "", base)
        path = FILENAME
        sub(/[^\/]*$/, "", path)
        path = path base
        while (path ~ /[^\/]+\/\.\.\//) sub(/[^\/]+\/\.\.\//, "", path)
        if (title == "") {
            if (target ~ /#L[0-9]/) complain("quote what stands there")
            else if (system("test -e \"" path "\"")) complain("there is no such file")
            return target
        }
        load(path)
        should = code_target(path, base, title)
        if (mode == "check" && should != target) complain("should be " should)
        return should
    }
    BEGIN { read_headings(ARGV[1]) }
    {
        line = ""
        rest = $0
        while (match(rest, /\]\([^) ]+( "[^"]*")?\)/)) {
            link = substr(rest, RSTART + 2, RLENGTH - 3)
            line = line substr(rest, 1, RSTART + 1)
            rest = substr(rest, RSTART + RLENGTH - 1)
            at = index(link, " \"")
            target = at ? substr(link, 1, at - 1) : link
            title = at ? substr(link, at + 2, length(link) - at - 2) : ""
            count++
            line = line checked(title) (at ? substr(link, at) : "")
        }
        out = out line rest "\n"
    }
    END {
        if (bad) exit 1
        if (mode == "write") printf "%s", out >FILENAME
        print FILENAME ": " count + 0 " links"
    }' "$file" || failed=1
done
for picture in docs/images/*; do
    grep -q "](.*${picture#docs/})" "$@" || { echo "$picture: no link leads to it" >&2; exit 1; }
done
[ -z "${failed:-}" ] || { echo "make check-links WRITE=1 sets line numbers right" >&2; exit 1; }
