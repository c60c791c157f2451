# plant.awk -- reads mutants.txt: is the text of each mutant in its file, and once, and the mistake that it names in
# the table of mistakes, and its reason one of those in the head of mutants.txt?  With -v wanted=N -v to=FILE: of mutant N
# alone, and its file with the mistake in it is written to FILE.

# A whole file at a time: no source has the character 1.
function slurp(path,    separator) {
    if (!(path in text)) {
        separator = RS
        RS = "\001"
        text[path] = ""
        getline text[path] <path
        close(path)
        RS = separator
    }
    return text[path]
}
function complain(why) {
    print (wanted ? why : FILENAME ": " title ": " why) " (" path ")"
    bad = 1
}
function plant(    all, at, rest) {
    all = slurp(path)
    at = index(all, old)
    rest = substr(all, at + length(old))
    if (old == "" || !at) complain("its text is not in the file")
    else if (index(rest, old)) complain("its text is in the file more than once")
    else if (to) printf "%s%s%s", substr(all, 1, at - 1), new, rest >to
    if (reason && !(reason in reasons)) complain("the head of the file has no reason \"" reason "\"")
    if (mistake && !index(slurp("course/mistakes.c"), "{\"" mistake "\","))
        complain("no mistake of course/mistakes.c is called \"" mistake "\"")
}
function end_mutant() {
    if (n && (!wanted || n == wanted)) plant()
    old = new = path = mistake = reason = olds = news = ""
}
function value() { return substr($0, index($0, $1) + length($1) + 1) }
/^#     [a-zA-Z0-9 ]+: / { reasons[substr($0, 7, index($0, ":") - 7)] = 1 }
/^#/ || /^[ \t]*$/ { next }
/^[^ \t]/ { end_mutant(); n++; title = $0; next }
$1 == "in" { path = value() }
$1 == "names" { mistake = value() }
$1 == "unproven" { reason = value() }
$1 == "-" { old = old (olds++ ? "\n" : "") value() }
$1 == "+" { new = new (news++ ? "\n" : "") value() }
END { end_mutant(); exit bad }
