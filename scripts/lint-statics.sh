#!/bin/sh
# lint-statics.sh FILE... -- a static name, function or variable, occurs in one file only, so that
# all files could be one (make single).  And no header has a variable that is not const: private headers are in each
# of the single files, where a variable would be another one.
#
# Relies on the format: a declaration at file scope starts in column one.
set -eu
cd "$(dirname "$0")/.."

awk -f scripts/code.awk "$@" | awk '
function last_name(s) {
    gsub(/\[[^]]*\]/, "", s)
    sub(/[^A-Za-z0-9_]+$/, "", s)
    sub(/.*[^A-Za-z0-9_]/, "", s)
    return s
}
function found(name) {
    if (name == "" || (name in home && home[name] == file)) return
    if (name in home) {
        print where "static " name " is also in " home[name] ":" home_line[name]
        bad = 1
    }
    home[name] = file
    home_line[name] = line
}
function declared(s,    i, n, part) {
    if (match(s, /\(\*[^)]*/)  && index(s, "(") == RSTART) {
        found(last_name(substr(s, RSTART, RLENGTH))) # a pointer to a function
    } else if (index(s, "(")) {
        found(last_name(substr(s, 1, index(s, "(") - 1)))
    } else {
        n = split(s, part, ",")
        for (i = 1; i <= n; i++) found(last_name(part[i]))
    }
}
{
    split($0, at, ":")
    file = at[1]
    code = substr($0, length(at[1] at[2]) + 3)
    bare = code
    gsub(/__attribute__ *\(\([^)]*\)*\) */, "", bare)
    if (file ~ /h$/ && (bare ~ /_Thread_local|^ *static [^(]*[;=[]/ || bare ~ /^ *static [^(]*\(\*/) &&
        bare !~ /^ *static (const [^*]*|[^;=]*\*( ?const | ?const$)[^*]*|inline .*)[[;=(]/) {
        print file ":" at[2] ": a header has a variable that is not const"
        bad = 1
    }
    if (code ~ /^static /) {
        text = ""
        line = at[2]
        where = file ":" line ": "
        open = 1
    } else if (of_a_struct && code ~ /^}/) {
        text = substr(code, 2)
        of_a_struct = 0
        open = 1
    } else if (open) {
        text = text " "
    }
    if (!open) next
    if (code !~ /^}/) text = text code
    gsub(/__attribute__ *\(\([^)]*\)*\)/, "", text)
    if (match(text, /[={;]/)) {
        head = substr(text, 1, RSTART - 1)
        open = 0
        if (substr(text, RSTART, 1) == "{" && head ~ /^static +(const +)?(struct|union|enum)[ A-Za-z0-9_]*$/)
            of_a_struct = 1
        else
            declared(head)
    }
}
END { exit bad }'
