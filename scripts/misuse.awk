# misuse.awk -- writes C that calls every public function with arguments that nobody should give it.
#
#     awk -f scripts/code.awk HEADER... | \
#         awk -f scripts/misuse.awk tests/misuse/pickers.h tests/misuse/test_calls.c tests/misuse/bases.txt -
#
# For    AT_API at_tensor *at_scale(at_tape *t, at_tensor *x, double c);    it writes
#
#     static void call_at_scale(void)
#     {
#         at_tape *a1 = any_at_tape_p("t", tape());
#         at_tensor *a2 = any_at_tensor_p("x", real());
#         double a3 = any_double("c", 1);
#         called();
#         returned(at_scale(a1, a2, a3));
#     }
#
# and a table of all such calls.  any_...("name", base) gives the base, an argument that is fine, or one of the absurd
# ones: pickers.h has one for each type of arguments that is no struct.  Those of structs are written here, field by
# field.  What base an argument has says bases.txt.  A type without picker, or a pointer without base, is an error.

function fail(text) {
    print "misuse.awk: " text > "/dev/stderr"
    failed = 1
}
function trim(s) {
    gsub(/[ \t]+/, " ", s)
    sub(/^ /, "", s)
    sub(/ $/, "", s)
    return s
}
# Splits at commas that stand in no brackets.
function split_list(s, part,    i, c, depth, n) {
    n = 1
    part[1] = ""
    for (i = 1; i <= length(s); i++) {
        c = substr(s, i, 1)
        if (c ~ /[({]/) depth++
        if (c ~ /[)}]/) depth--
        if (c == "," && !depth) part[++n] = ""
        else part[n] = part[n] c
    }
    for (i = 1; i <= n; i++) part[i] = trim(part[i])
    return n
}
# A declarator: its type in of_type, without const, a star for [], "fn" for a pointer to a function; its name in of_name.
function parse(s) {
    of_array = 0
    if (match(s, /\(\*[A-Za-z0-9_]+\)/)) {
        of_name = substr(s, RSTART + 2, RLENGTH - 3)
        of_type = "fn"
        return
    }
    gsub(/ *\*/, "* ", s)
    if (sub(/ *\[[^]]*\]$/, "", s)) of_array = 1
    match(s, /[A-Za-z0-9_]+$/)
    of_name = substr(s, RSTART)
    of_type = " " substr(s, 1, RSTART - 1)
    gsub(/ (const|struct) /, " ", of_type)
    gsub(/\* *const/, "*", of_type)
    gsub(/ /, "", of_type)
    sub(/^unsignedchar/, "uchar", of_type)
}
function remember_struct(name, body,    i, k, n, statement, part, base) {
    gsub(/enum \{[^}]*\}/, "at_enum", body)
    n = split(body, statement, ";")
    for (i = 1; i <= n; i++) {
        if (trim(statement[i]) == "") continue
        split_list(statement[i], part)
        for (k = 1; k in part; k++) {
            if (k == 1 && match(part[1], /^(const )?(unsigned )?[A-Za-z0-9_]+ /)) base = substr(part[1], 1, RLENGTH)
            parse(k == 1 ? part[1] : base part[k])
            fields[name] = fields[name] " " of_name
            field_type[name, of_name] = of_type
            field_array[name, of_name] = of_array
        }
        for (k in part) delete part[k]
    }
    if (!(name in fields)) fields[name] = ""
}
function remember(d,    name) { # one declaration of file scope
    d = trim(d)
    while (match(d, /__attribute__ \(\(|__attribute__\(\(/)) {
        name = substr(d, RSTART + RLENGTH)
        d = substr(d, 1, RSTART - 1) substr(name, index(name, "))") + 2)
    }
    gsub(/AT_(BEGIN|END)_C|AT_PRINTF\([^)]*\)/, "", d)
    d = trim(d)
    if (d ~ /^AT_API / || d ~ /^static inline /) {
        sub(/^AT_API |^static inline /, "", d)
        prototype[++functions] = d
    } else if (d ~ /^typedef enum/) {
        sub(/.*\} */, "", d)
        is_enum[d]
    } else if (d ~ /^(typedef )?struct[^{(]*\{/) {
        name = d
        if (d ~ /^typedef/) sub(/.*\} */, "", name)
        else {
            sub(/^struct /, "", name)
            sub(/ *\{.*/, "", name)
        }
        sub(/^[^{]*\{/, "", d)
        sub(/\}[^}]*$/, "", d)
        remember_struct(name, d)
    } else if (d ~ /^typedef / && d ~ /\)$/) {
        match(d, /[A-Za-z0-9_]+\(/)
        is_function[substr(d, RSTART, RLENGTH - 1)]
    }
}
# What bases.txt says: for a parameter of this function or a field of this struct, else for this name, else for this type.
function look(table, who, name, type) {
    if ((who, name) in table) return table[who, name]
    if (("*", name) in table) return table["*", name]
    if (("*", type) in table) return table["*", type]
    return ""
}
function used(who, name, type) {
    if ((who, name) in base_of) was_used[who, name]
    else if (("*", name) in base_of) was_used["*", name]
    else if (("*", type) in base_of) was_used["*", type]
}
# The name of the function that picks an argument of this type; writes it first if it is a struct.
function picker(type, who, name,    id, star, special) {
    special = look(pick_of, who, name, type)
    if (special != "" && special != ".") return special
    if (type in is_enum) return "any_at_enum"
    id = star = type
    gsub(/\*/, "_p", id)
    if (type == "fn" || (sub(/\*$/, "", star) && star in is_function)) return "any_fn"
    if (("any_" id) in has_picker) return "any_" id
    sub(/\**$/, "", star)
    if (star in fields && gsub(/\*/, "*", type) <= 1) {
        if (!(("any_" star) in has_picker)) write_struct(star)
        if (type ~ /\*$/) write_pointer(star)
        return "any_" id
    }
    fail(who ": the type " type " of " name " has no picker any_" id " in tests/misuse/pickers.h")
    return "any_" id
}
# What gives a variable one of its values.
function statement(variable, pick, name, type) {
    if (pick ~ /^any_(at_enum|fn|count|negative)$/) return "    " pick "(\"" name "\", " variable ");\n"
    return "    " variable " = " (type ~ /\*\*$/ ? "(void *)" : "") pick "(\"" name "\", " variable ");\n"
}
function write_struct(name,    i, k, n, part, text, field, pick, base) {
    if (name in written) return
    written[name]
    text = "static " name " any_" name "(const char *name, " name " x)\n{\n    if (is_chosen()) return say(name, \"{0}\"), (" \
        name "){0};\n    const int filled_before = fill_here(name);\n    const char *outer = enter(name);\n"
    n = split(fields[name], part, " ")
    for (i = 1; i <= n; i++) {
        field = part[i]
        pick = look(pick_of, name, field, field_type[name, field])
        used(name, field, field_type[name, field])
        if (pick == "same" || field_array[name, field] && field_type[name, field] == "char") continue
        pick = picker(field_type[name, field], name, field)
        text = text statement("x." field (field_array[name, field] ? "[0]" : ""), pick, field, field_type[name, field])
    }
    text = text "    leave(outer, filled_before);\n    return x;\n}\n"
    printf "%s", text
}
function write_pointer(name) {
    if (("*", name) in written) return
    written["*", name]
    printf "%s", "static " name " *any_" name "_p(const char *name, const " name " *base)\n{\n    static " name \
        " copy;\n    if (is_chosen()) return say(name, \"NULL\"), NULL;\n    if (!base) return NULL;\n" \
        "    copy = any_" name "(name, *base);\n    return &copy;\n}\n"
}
function write_call(d,    i, n, part, name, text, list, result, pick, base, type, whole) {
    match(d, /[A-Za-z0-9_]+ *\(/)
    name = substr(d, RSTART, RLENGTH - 1)
    result = trim(substr(d, 1, RSTART - 1))
    list = substr(d, RSTART + RLENGTH)
    sub(/\) *$/, "", list)
    n = list == "void" ? 0 : split_list(list, part)
    list = ""
    for (i = 1; i <= n; i++) {
        if (part[i] == "...") {
            list = list ", " base_of[name, "..."]
            was_used[name, "..."]
            continue
        }
        whole = part[i]
        parse(part[i])
        type = of_type (of_array ? "*" : "")
        parameter = of_name
        base = look(base_of, name, parameter, type)
        used(name, parameter, type)
        if (base == "" && type in fields) base = "(" type "){0}"
        if (base == "" && type !~ /\*|fn/) base = "1"
        if (base == "") fail(name ": " parameter " has no base in tests/misuse/bases.txt")
        pick = picker(type, name, parameter)
        whole = type == "fn" || type ~ /\*$/ && star_less(type) in is_function ? "__typeof__(" base ") *a" i : declare(whole, "a" i)
        text = text "    " whole " = " base ";\n" (pick == "same" ? "" : statement("a" i, pick, parameter, type))
        list = list (list == "" ? "" : ", ") "a" i
    }
    printf "static void call_%s(void)\n{\n%s    called();\n    %s%s(%s)%s;\n}\n", name, text, \
        use_of(result), name, list, use_of(result) ~ /\($/ ? ")" : ""
    table = table "    {\"" name "\", call_" name ", " ((name, "fails") in pick_of ? "true" : "false") "},\n"
    was_used[name, "fails"]
}
function star_less(type) {
    sub(/\*$/, "", type)
    return type
}
# The parameter as a variable of this name: an array is a pointer.
function declare(parameter, name) {
    if (sub(/[A-Za-z0-9_]+ *\[[^]]*\]$/, "", parameter)) return parameter "*" name
    sub(/[A-Za-z0-9_]+$/, "", parameter)
    return parameter name
}
function use_of(type) {
    gsub(/const | /, "", type)
    if (type == "void") return ""
    gsub(/\*/, "_p", type)
    return ("used_" type) in has_picker ? "used_" type "(" : "(void)"
}
FILENAME ~ /\.[ch]$/ {
    for (line = $0; match(line, /(any|used)_[A-Za-z0-9_]+/); line = substr(line, RSTART + RLENGTH))
        has_picker[substr(line, RSTART, RLENGTH)]
    next
}
FILENAME ~ /bases/ {
    if ($0 ~ /^ *(#|$)/) next
    pick_of[$1, $2] = $3
    line = $0
    sub(/^ *[^ ]+ +[^ ]+ +[^ ]+ */, "", line)
    base_of[$1, $2] = line
    next
}
{
    line = substr($0, index($0, ":") + 1)
    line = substr(line, index(line, ":") + 1)
    continued = in_directive && before ~ /\\$/
    before = line
    in_directive = continued || line ~ /^ *#/
    if (line ~ /^ *#/) {
        if (line ~ /^ *#ifdef __cplusplus/) cplusplus = 1
        if (line ~ /^ *#(else|endif)/) cplusplus = 0
    }
    if (in_directive || cplusplus) next
    for (i = 1; i <= length(line); i++) {
        c = substr(line, i, 1)
        if (c == "{") depth++
        if (c == "}") depth--
        if (c == ";" && !depth) {
            remember(text)
            text = ""
        } else if (c == "}" && !depth && trim(text) ~ /^(AT_(BEGIN|END)_C )?static inline/) {
            text = trim(text)
            sub(/\{.*/, "", text)
            remember(text)
            text = ""
        } else text = text c
    }
    text = text " "
}
END {
    for (f = 1; f <= functions; f++) write_call(prototype[f])
    print "static const misused every_call[] = {\n" table "};"
    for (row in base_of) if (!(row in was_used)) {
        split(row, column, SUBSEP)
        fail("tests/misuse/bases.txt: nothing is called " column[1] " " column[2])
    }
    exit failed
}
