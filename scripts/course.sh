#!/bin/sh
# course.sh GRADE WORKSHEETS OUT IDS [ONLY [KEY [DUE]]] -- a course in a box, in the folder OUT:
#
#     attic-exercises.tar.gz    for all students: the exercises and their grader, without solutions
#     students/ID/              for one: worksheet.html, answers.csv, and ticket.txt if E8 is assigned
#     private/                  for you: course.key, the keys of the worksheets, the answers of E8, and
#     private/gradescope/       an autograder, also as gradescope.zip, and its Dockerfile
#
# The key is made the first time, or is a copy of KEY, and is used again after that: another KEY is refused.
set -eu
cd "$(dirname "$0")/.."
grade=$1 worksheets=$2 out=$3 ids=$4 only=${5:-} key=${6:-} due=${7:-}
kept=$out/private/course.key
[ -r "$ids" ] || { echo "course: there is no list of ids: IDS=$ids" >&2; exit 2; }
assigned=$("$grade" --list ${only:+--only "$only"} ${due:+--due "$due"})
if [ -n "$key" ] && [ -s "$kept" ] && ! cmp -s "$key" "$kept"; then
    echo "course: $kept is another key than KEY=$key: leave out KEY, or take another OUT" >&2
    exit 2
fi
umask 022
mkdir -p "$out/students"
(umask 077 && mkdir -p "$out/private")

# ---- the key, what is drawn from it --------------------------------------------------------------

if [ -z "$key" ]; then
    key=$kept
    [ -s "$key" ] || (umask 077 && od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >"$key")
fi
"$worksheets" --key "$key" --ids "$ids" --out "$out"
[ -s "$kept" ] || (umask 077 && cat "$key" >"$kept")
case ",$only," in
,, | *,8[,:]* | *,[Ee]8[,:]*)
    for folder in "$out"/students/*/; do
        folder=${folder%/} id=${folder##*/}
        id=${id%/}
        "$grade" --answers --key "$key" --id "$id" >"$out/private/$id.E8.txt"
        sed -n 's/^ticket //p' "$out/private/$id.E8.txt" >"$folder/ticket.txt"
    done ;;
esac

# ---- what all students get -----------------------------------------------------------------------

name=attic-exercises
box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT
mkdir -p "$box/$name/make" "$box/$name/docs/images" "$box/$name/course/exercises" "$box/$name/examples"
cp LICENSE "$box/$name"
cp -R src "$box/$name"
cp -R examples/common "$box/$name/examples"
cp course/*.[ch] "$box/$name/course"
cp course/exercises/*.[ch] "$box/$name/course/exercises"
{
    sed '/^## In the browser/,$d' course/box/README.md
    printf '## What is assigned\n\n| | file | about | points |\n|---|---|---|---|\n%s\n\n' "$assigned"
    [ -z "$due" ] || printf 'Hand in until %s.\n\n' "$due"
    [ -z "$only" ] || printf 'The other exercises are for practice: nobody grades them.\n\n'
    sed -n '/^## In the browser/,$p' course/box/README.md
} >"$box/$name/README.md"
# `make help` lists what students do, not what takes more than is there.
{
    printf '# Exercises; README.md says what to do.\n\n'
    sed '1,/^$/d' Makefile
} >"$box/$name/Makefile"
cp make/*.mk "$box/$name/make"
for part in Makefile make/*.mk; do
    sed -E '/^(exercise-%|run-trace|run-%|clean|help):/!s/^([a-z0-9%-]+:.*) ## .*/\1/' "$box/$name/$part" >"$box/part"
    cp "$box/part" "$box/$name/$part"
done
# What students need of the text: not where solutions are, nor how they are graded.
sed '/^Solutions are in/,$d' docs/exercises.md >"$box/$name/docs/exercises.md"
sed 's/ (`make page` is for those who change it\.)//' docs/path.md >"$box/$name/docs/path.md"
cp docs/attention.md docs/attention_backward.md docs/attention_block.md "$box/$name/docs"
# names START: links of these texts that begin so
names() { grep -oh "]($1[^)]*)" "$box/$name/docs"/*.md | sed 's/..\(.*\)./docs\/\1/' | sort -u; }
names images/ | xargs -I '{}' cp '{}' "$box/$name/docs/images"
names ../examples/ | xargs -I '{}' cp '{}' "$box/$name/examples"
[ ! -f docs/attic.html ] || cp docs/attic.html "$box/$name/docs"
# Of a link to what is not there, the text stays.
for text in "$box/$name/docs"/*.md; do
    awk -v folder="${text%/*}" '
    { rest = rest $0 "\n" }
    END {
        while (match(rest, /\[[^][]*\]\([^() ]*\)/)) {
            link = substr(rest, RSTART, RLENGTH)
            printf "%s", substr(rest, 1, RSTART - 1)
            rest = substr(rest, RSTART + RLENGTH)
            path = link
            sub(/.*\]\(/, "", path)
            sub(/[#)].*/, "", path)
            if (path !~ /^[a-z]+:/ && system("test -e \"" folder "/" path "\"") != 0)
                link = substr(link, 2, index(link, "](") - 2)
            printf "%s", link
        }
        printf "%s", rest
    }' "$text" >"$box/part"
    cp "$box/part" "$text"
done
tar cf - -C "$box" "$name" | gzip -9 >"$out/$name.tar.gz"

# ---- the autograder ------------------------------------------------------------------------------

to=$out/private/gradescope
mkdir -p "$to"
cp course/box/setup.sh course/box/run_autograder course/box/Dockerfile "$out/$name.tar.gz" "$to"
cp "$key" "$to/course.key"
echo "only='$only'" >"$to/settings.sh"
ls "$out/students" >"$to/ids.txt"
chmod 755 "$to/setup.sh" "$to/run_autograder"
rm -f "$out/private/gradescope.zip"
if command -v zip >/dev/null; then
    (cd "$to" && zip -q ../gradescope.zip ./*)
elif command -v python3 >/dev/null; then
    (cd "$to" && python3 -m zipfile -c ../gradescope.zip ./*)
else
    echo "there is neither zip nor python3: pack the files of $to yourself, for Gradescope"
fi
echo "$out: attic-exercises.tar.gz for all, students/ID for each; private is yours alone"
