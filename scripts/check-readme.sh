#!/bin/sh
# check-readme.sh FILE CC LIBRARY [write] -- every command and every program of a Markdown file is run.
#
# A block marked sh is run by a shell that stops at the first error.  A block marked c or cpp is compiled and
# run, one marked python is run by $PYTHON, which finds attic.py and the libattic.so beside LIBRARY; if the next
# block is marked text, it is what the program has to print.  For programs that stand
# in a file of their own, a line <!-- output of COMMAND --> before a text block says what prints it.
# A line <!-- run with FILES, after SCRIPT --> before a program says what its arguments are, and how sed changes it,
# say to fewer steps.  Programs run in an empty folder.  With INCLUDE in the environment, which
# replaces -Isrc, programs alone are run.
# With `write` programs alone are run, too, and the text blocks of the page are filled with what is printed now.  A
# block that names no language stays as it is: figures of one machine belong there.
set -eu
cd "$(dirname "$0")/.."
file=$1 cc=$2 library=$3 write=${4:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case $cc in
*clang*) cxx=${CXX:-clang++} ;;
*) cxx=${CXX:-g++} ;;
esac

# block-1.c, block-2.text, ... ; block-N.command holds the command of a text block that has one
awk -v dir="$work" '
/^<!-- output of .* -->$/ { command = substr($0, 16, length($0) - 19) }
/^<!-- run with .*, after .* -->$/ { changes = substr($0, 15, length($0) - 18) }
/^```/ && inside { inside = 0; close(out); next }
/^```(c|cpp|python|sh|text)$/ {
    inside = 1
    out = dir "/block-" ++n "." substr($0, 4)
    printf "" >out
    if (changes != "") {
        files = script = changes
        sub(/, after .*/, "", files)
        sub(/.*, after /, "", script)
        print script >(dir "/block-" n ".sed")
        print files >(dir "/block-" n ".files")
    }
    changes = ""
    if (command != "") print command >(dir "/block-" n ".command")
    command = ""
    next
}
/^```/ { inside = 1; out = "/dev/null"; next }
inside { print >out }
END { print n + 0 >(dir "/count") }' "$file"

count=$(cat "$work/count") run=0 outputs=0
n=1
while [ "$n" -le "$count" ]; do
    block=$work/block-$n
    [ -f "$block.text" ] || rm -f "$work/output"
    if [ -f "$block.sh" ] && [ "${INCLUDE+set}$write" ]; then
        : # the commands are those of the repository, and print nothing that the page shows
    elif [ -f "$block.sh" ]; then
        echo "$file: running: $(tr '\n' ';' <"$block.sh")"
        sh -eu "$block.sh" >"$work/log" 2>&1 || { cat "$work/log"; echo "$file: this failed:" && cat "$block.sh"; exit 1; }
        run=$((run + 1))
    elif [ -f "$block.c" ]; then
        files= root=$PWD
        if [ -f "$block.sed" ]; then
            sed -f "$block.sed" "$block.c" >"$work/changed.c"
            cmp -s "$block.c" "$work/changed.c" && { echo "$file: sed changes nothing in block $n"; exit 1; }
            mv "$work/changed.c" "$block.c"
            for name in $(cat "$block.files"); do files="$files $root/$name"; done
        fi
        # shellcheck disable=SC2086
        $cc ${INCLUDE--Isrc} -o "$work/program" "$block.c" "$library" -lm -pthread
        mkdir -p "$work/empty"
        # shellcheck disable=SC2086
        (cd "$work/empty" && "$work/program" $files) >"$work/output" 2>"$work/errors" ||
            { cat "$work/errors"; echo "$file: the program of block $n fails"; exit 1; }
        run=$((run + 1))
    elif [ -f "$block.cpp" ]; then
        # shellcheck disable=SC2086
        $cxx -std=c++17 ${INCLUDE--Isrc} -o "$work/program" "$block.cpp" "$library" -lm -pthread
        "$work/program" >"$work/output"
        run=$((run + 1))
    elif [ -f "$block.python" ]; then
        mkdir -p "$work/empty"
        built=$PWD/$(dirname "$library") files=$PWD/python
        (cd "$work/empty" && ATTIC_LIBRARY=$built/libattic.so PYTHONPATH=$files PYTHONDONTWRITEBYTECODE=1 \
            ${PYTHON:-python3} "$block.python") >"$work/output"
        run=$((run + 1))
    elif [ -f "$block.text" ]; then
        [ ! -f "$block.command" ] || sh -eu "$block.command" >"$work/output"
        [ -f "$work/output" ] || { echo "$file: block $n is text that no program prints"; exit 1; }
        mv "$work/output" "$block.new"
        outputs=$((outputs + 1))
    fi
    n=$((n + 1))
done

# The page with what is printed now: written, or compared with what it says.
awk -v dir="$work" '
inside && !/^```/ { if (!new) print; next }
inside { inside = 0; print; next }
{ print }
/^```/ { inside = 1; new = 0 }
/^```(c|cpp|python|sh|text)$/ {
    new = /text/
    file = dir "/block-" ++n ".new"
    while (new && (getline line <file) > 0) print line
}' "$file" >"$work/written"
if [ "$write" = write ]; then
    cp "$work/written" "$file"
else
    diff "$file" "$work/written" || {
        echo "$file: < is what it says, > what is printed; make check-readme WRITE=1 fills that in" >&2
        exit 1
    }
fi
echo "$file: $run programs and commands run, $outputs outputs $([ "$write" = write ] && echo written || echo compared)"
