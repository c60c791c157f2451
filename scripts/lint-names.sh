#!/bin/sh
# lint-names.sh HEADER.h... PAGE.md... -- what the documentation names is there.
#
#     at_add, ATTIC_F32, AT_IN         declared in a public header, a function with AT_API; at_keep_*: some are
#     `.causal`, `.rank = 8`           a field of some public struct
#     at_sdpa_args.causal              a field of this one
#     (at_sdpa_args){.causal = true}   likewise
#     ATTIC_THREADS, AT_ONCE           or a variable of the environment that is read, a macro of a build, of src/
#     `make test`, `make run-trace`    a target of the Makefile, an example
#
# Nothing is looked up in programs between fences, which make check-readme compiles, and in the text of a link to a
# source file, where check-links.sh finds it.
set -eu
cd "$(dirname "$0")/.."
headers=$(printf '%s\n' "$@" | grep '\.h$')
pages=$(printf '%s\n' "$@" | grep '\.md$')

# Lines "known NAME", "target NAME" and "code LINE OF A HEADER", and then the pages.
{
    grep -rhoE 'getenv\("ATTIC_[A-Z_]+|-DATTIC_[A-Z_]+' src tests bench examples python Makefile make | sed 's/.*ATTIC_/known ATTIC_/'
    sed -n 's/^ *#define \(AT_[A-Z_0-9]*\).*/known \1/p' src/*/*.h
    sed -n 's/^\([a-z0-9-]*\):.*/target \1/p' Makefile make/*.mk
    (cd examples && printf 'target run-%s\n' *.c *.cpp | sed 's/\.c[p]*$//')
    # shellcheck disable=SC2086
    awk -f scripts/code.awk $headers | sed 's/^[^:]*:[0-9]*:/code /'
} | awk '
# ---- the headers: each brace is that of a struct, of an enum, or of something else ----

function declare(name) { if (name ~ /^(at_|AT_|ATTIC_)/) known[name] = 1 }
function give_fields(type, names,    name, n) {
    is_struct[type] = 1
    for (n = split(names, name, " "); n > 0; n--) field_of[type, name[n]] = field[name[n]] = 1
}
function read_word(word, follows) {
    if (word ~ /^(struct|union|enum)$/) opens = word
    else if (word ~ /^(AT_API|static|typedef)$/) public = 1
    else if (kind[depth] == "enum") declare(word)
    else if (kind[depth] == "struct" && (parens ? before == "(*" : follows ~ /^[;,:]$/ || follows == "["))
        fields[depth] = fields[depth] word " "
    else if (depth == 0) {
        if (opens == "struct") tag = word
        if (follows != "(" || public) declare(word)
        if (ended != "" && follows == ";") give_fields(word, ended)
    }
}
function read_sign(sign) {
    if (sign == "{") {
        kind[++depth] = opens == "union" ? "struct" : opens
        fields[depth] = opens = ""
    } else if (sign == "}" && kind[depth] == "struct") {
        ended = fields[depth--]
        fields[depth] = fields[depth] ended # a union without a name
        if (depth == 0 && tag != "") give_fields(tag, ended)
    } else if (sign == "}") {
        if (kind[depth--] == "" && depth == 0) public = 0 # an inline function ends
    } else if (sign == "(") parens++
    else if (sign == ")") parens--
    else if (sign == ";") {
        opens = ""
        if (depth == 0) public = 0
        if (depth == 0) ended = tag = ""
    }
}
function read_code(s,    token) {
    while (match(s, /[A-Za-z_][A-Za-z0-9_]*|[^A-Za-z0-9_ \t]/)) {
        token = substr(s, RSTART, RLENGTH)
        s = substr(s, RSTART + RLENGTH)
        if (token ~ /^[A-Za-z_]/) {
            match(s, /[^ \t]/)
            read_word(token, substr(s, RSTART, 1))
            before = ""
        } else {
            read_sign(token)
            before = token == "*" && before == "(" ? "(*" : token
        }
    }
}
$1 == "known" && NR == FNR { known[$2] = 1; next }
$1 == "target" && NR == FNR { target[$2] = 1; next }
NR == FNR {
    sub(/^code /, "")
    continued = goes_on # a macro of several lines
    goes_on = /\\$/
    if ($1 == "#define") { split($2, macro, "("); declare(macro[1]) }
    else if (!continued && !/^#/) read_code($0)
    next
}

# ---- the pages, a paragraph at a time ----

function complain(word, why,    above) {
    above = substr(paragraph, 1, index(paragraph, word))
    print page ":" first + gsub(/\n/, "", above) ": " word " is " why >"/dev/stderr"
    bad = 1
}
function begins_one(prefix,    name) {
    for (name in known)
        if (index(name, prefix) == 1) return 1
    return 0
}
function check_name(name,    dot, type) {
    count++
    if (name ~ /\*$/) {
        if (!begins_one(substr(name, 1, length(name) - 1))) complain(name, "the beginning of no public name")
        return
    }
    if (dot = index(name, ".")) {
        type = substr(name, 1, dot - 1)
        if (type in is_struct && !((type, substr(name, dot + 1)) in field_of)) complain(name, "no field of this struct")
        name = type
    }
    if (!(name in known)) complain(name, "not declared in a public header")
}
function check_names(s) {
    s = " " s
    while (match(s, /[^A-Za-z0-9_.\/](at_|AT_|ATTIC_)[A-Za-z0-9_]+([.][a-z][a-z0-9_]*|[*])?/)) {
        check_name(substr(s, RSTART + 1, RLENGTH - 1))
        s = substr(s, RSTART + RLENGTH)
    }
}
# The fields in a piece of code.  One that follows no (struct){ counts where the code begins with a field.
function check_fields(code,    type, name, any) {
    gsub(/"[^"]*"/, "\"\"", code)
    any = code ~ /^[.]/
    code = " " code
    while (match(code, /[(]at_[a-z0-9_]+[)][{]|[}]|[{, \n][.][a-z][a-z0-9_]*/)) {
        name = substr(code, RSTART + 2, RLENGTH - 2)
        code = substr(code, RSTART + RLENGTH - (name ~ /[)][{]$/))
        if (name == "") type = ""
        else if (sub(/[)][{]$/, "", name)) type = "a" name
        else if (type != "" || any && name !~ /^(npy|npz|safetensors|pth?)$/) {
            count++
            if (type != "" && !((type, name) in field_of)) complain("." name, "no field of " type)
            else if (!(name in field)) complain("." name, "no field of a public struct")
        }
    }
}
function check_targets(code,    word, n, i) {
    n = split(code, word, " ")
    for (i = 2; i <= n && word[i] ~ /^[a-z][a-z0-9_-]*$/; i++) {
        count++
        if (!(word[i] in target) && word[i] !~ /^exercise-[0-9]+$/) complain(word[i], "no target of the Makefile")
    }
}
function check_paragraph(    s, code, n, i) {
    if (paragraph ~ /^    /) check_fields(paragraph)
    s = paragraph
    while (match(s, /\[[^][]*\]\([^()]*\.[ch]\)/)) s = substr(s, 1, RSTART - 1) substr(s, RSTART + RLENGTH)
    check_names(s)
    n = split(s, code, "`")
    for (i = 2; i <= n; i += 2)
        if (code[i] ~ /^make /) check_targets(code[i])
        else check_fields(code[i])
}
function end_paragraph() {
    if (paragraph != "") check_paragraph()
    paragraph = ""
}
FNR == 1 { end_paragraph(); page = FILENAME; fenced = 0 }
/^```/ { end_paragraph(); fenced = !fenced; next }
fenced || /^$/ { end_paragraph(); next }
{ if (paragraph == "") first = FNR; paragraph = paragraph $0 "\n" }
END { end_paragraph(); print count + 0 " names"; exit bad }' - $pages
