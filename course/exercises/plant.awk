# plant.awk -- awk -v to=FOLDER -f plant.awk wrong.txt: writes the wrong submissions of wrong.txt into a folder.  The
# first lines of each file are what it expects, the rest is the solution with the changes made in it.

# A whole file at a time: no source has the character 1.
function slurp(path,    separator, text) {
    separator = RS
    RS = "\001"
    getline text <path
    close(path)
    RS = separator
    return text
}
function complain(why) {
    print FILENAME ": " title ": " why >"/dev/stderr"
    bad = 1
}
# Where what begins with `first` and ends with `last` stands; its length is in found.
function find(all, first, last,    at, rest, end) {
    at = index(all, first)
    rest = substr(all, at + length(first))
    if (!olds || !at) complain("its text is not in the solution: " first)
    else if (index(rest, first)) complain("its text is in the solution more than once: " first)
    end = ranged ? index(rest, last) : 1
    if (at && !end) complain("its text does not end in the solution: " last)
    found = length(first) + (ranged ? end - 1 + length(last) : 0)
    return at
}
function change(    at) {
    if (!olds && !news) return
    at = find(all, old, last)
    all = substr(all, 1, at - 1) new substr(all, at + found)
    old = new = last = olds = news = ranged = lasts = ""
}
function end_submission() {
    if (title == "") return
    change()
    printf "%s%s", head, all >(to "/" name ".c")
    close(to "/" name ".c")
    n++
}
function value() { return substr($0, index($0, $1) + length($1) + 1) }
/^#/ || /^[ \t]*$/ { next }
/^[^ \t]/ {
    end_submission()
    title = name = $0
    gsub(/ /, "_", name)
    head = ""
    all = slurp("course/exercises/solutions/" $1 ".c")
    if (all == "") complain("there is no solution")
    next
}
$1 == "expect" { head = head "// " substr($0, index($0, $1)) "\n"; next }
$1 == "-" && news { change() }
$1 == "-" && value() == "..." { ranged = 1; next }
$1 == "-" && ranged { last = last (lasts++ ? "\n" : "") value(); next }
$1 == "-" { old = old (olds++ ? "\n" : "") value(); next }
$1 == "+" { new = new (news++ ? "\n" : "") value(); next }
{ complain("what does this line say? " $0) }
END { end_submission(); exit bad }
