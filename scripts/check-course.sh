#!/bin/sh
# check-course.sh GRADE WORKSHEETS -- a course in a box: does the archive of the students work, does it hold neither solutions
# nor wrong answers nor keys, and does the autograder grade, in the folders that Gradescope documents?
set -eu
cd "$(dirname "$0")/.."
grade=$1 worksheets=$2 solutions=$PWD/course/exercises/solutions
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
export LC_ALL=C

fail() { echo "check-course: $*" >&2; exit 1; }
not_run() { printf '\n**** NOT RUN: %s\n\n' "$1" >&2; }

printf 'ada@example.org\nbob\nM\303\274ller, Zo\303\253\n' >"$work/ids"
out=$work/out
# Twice, with the key of the first time.
for _ in 1 2; do
    sh scripts/course.sh "$grade" "$worksheets" "$out" "$work/ids" 3:8,6,8 '' '2026-12-01 23:59' >"$work/said" 2>&1 || fail "$(cat "$work/said")"
    cat "$out/students/bob/worksheet.html" "$out/students/bob/ticket.txt" "$out/private/course.key" >>"$work/drawn"
done
[ "$(wc -c <"$out/private/course.key")" -eq 64 ] || fail "the key has not 64 digits"
half=$(($(wc -c <"$work/drawn") / 2))
head -c $half "$work/drawn" >"$work/first"
tail -c $half "$work/drawn" | cmp -s - "$work/first" || fail "made again, the course is another one"
[ -z "$(find "$out/private/course.key" -perm /077)$(find "$out/private" -maxdepth 0 -perm /077)" ] || fail "the key can be read by others"
for wrong in ',0' 12 3:x; do
    ! sh scripts/course.sh "$grade" "$worksheets" "$work/none" "$work/ids" "$wrong" >/dev/null 2>&1 || fail "ONLY=$wrong is taken"
done
! sh scripts/course.sh "$grade" "$worksheets" "$work/none" "$work/ids" 3 '' tomorrow >/dev/null 2>&1 || fail "DUE=tomorrow is taken"
[ ! -e "$work/none" ] || fail "what is refused is written"

# A key of one's own is kept beside the course, and goes with it: another one is refused.
printf 'the key of a course' >"$work/key"
printf 'the key of another course' >"$work/another"
# An exercise is assigned with its letter, too.
sh scripts/course.sh "$grade" "$worksheets" "$work/letters" "$work/ids" e3,E8:5 >"$work/said" 2>&1 || fail "$(cat "$work/said")"
[ -s "$work/letters/students/bob/ticket.txt" ] || fail "ONLY=E8:5 gives no tickets"
own() { sh scripts/course.sh "$grade" "$worksheets" "$work/own" "$work/ids" 3 "$@" >"$work/said" 2>&1; }
own "$work/key" && cmp -s "$work/key" "$work/own/private/course.key" || fail "a key of one's own is not kept: $(cat "$work/said")"
cp "$work/own/students/bob/worksheet.html" "$work/first"
! own "$work/another" && grep -q 'is another key' "$work/said" || fail "another key is taken for the same course"
own && cmp -s "$work/first" "$work/own/students/bob/worksheet.html" || fail "the key of one's own is not used again"

# ---- the archive of the students: what is not in it ----------------------------------------------

mkdir "$work/student"
tar xzf "$out/attic-exercises.tar.gz" -C "$work/student"
cd "$work/student/attic-exercises"
found=$(find . -name '.git*' -o -name solutions -o -name 'wrong*' -o -name 'mutants*' -o -name 'attacks*' -o -name 'e[0-9].c' -o -name 'e10.c' \
    -o -name 'test_*' -o -name '*.key' -o -name '*ticket*' -o -name 'plant.awk' -o -type l)
[ -z "$found" ] || fail "in the archive: $found"
[ -s docs/attic.html ] || fail "the page is not in the archive"
! grep -q 'solutions/\|wrong\.txt\|lecturer\|make page' docs/*.md README.md || fail "its texts speak of what is not there"
# Its links lead to what is there, and `make help` lists what works there.
mkdir scripts
cp "$OLDPWD/scripts/check-links.sh" scripts
sh scripts/check-links.sh README.md docs/*.md >"$work/said" 2>&1 || fail "links in the archive: $(cat "$work/said")"
rm -r scripts
for word in docs/path.md docs/attic.html run-trace; do grep -q "$word" README.md || fail "its README does not name $word"; done
for row in '| E3 | `e3_softmax.c` | softmax | 8 |' '| E8 | `e8_find_the_bug.c` | find the bug, with `TICKET=`, from `ticket.txt` | ' '| E6 | `e6_delta.c` | delta without dP | 4 |' '2026-12-01 23:59' 'for practice'; do
    grep -qF -e "$row" README.md || fail "its README does not say what is assigned: $row"
done
! grep -q '^| E7' README.md || fail "its README has E7, which is not assigned"
$MAKE -s help >"$work/said"
[ "$(sed -n 's/^  \([a-z%-]*\)  .*/\1/p' "$work/said" | sort | tr '\n' ' ')" = 'clean exercise-% help run-% run-trace ' ] ||
    fail "make help, in the archive: $(cat "$work/said")"

# Lines of solutions and wrong answers that neither the files with blanks nor hints show: 32 characters and more, without
# white space.
cd "$OLDPWD"
lines() { sed 's/[ \t]//g' | awk 'length >= 32' | sort -u; }
{
    cat "$solutions"/*.c
    sed -n 's/^ *+ //p' course/exercises/wrong.txt
} | lines >"$work/theirs"
{
    cat course/exercises/e[0-9]*_*.c course/exercises/exercise.h
    sed -n 's/\\n"[^"]*$//; s/^ *"//p' course/exercises/skeletons.c course/exercises/attention.c
} | tr -d ' \t\n' >"$work/shown"
while read -r line; do
    grep -qF -e "$line" "$work/shown" || printf '%s\n' "$line"
done <"$work/theirs" >"$work/distinct"
[ "$(wc -l <"$work/distinct")" -gt 200 ] || fail "there are not even 200 lines to look for"
cat "$out/private/course.key" >>"$work/distinct"
sed -n 's/^[0-9]* //p' "$out/private/bob.E8.txt" | tr '\n' ' ' >>"$work/distinct"
# All text, without white space: of the page what is compressed in it, too.
find "$work/student" -type f -exec cat {} + >"$work/all"
if command -v node >/dev/null; then
    node -e '
        const { readFileSync, writeFileSync } = require("node:fs"), { gunzipSync } = require("node:zlib")
        const page = readFileSync(process.argv[1], "latin1"), parts = []
        for (const [text] of page.matchAll(/[A-Za-z0-9+/=]{200,}/g)) {
            try { parts.push(gunzipSync(Buffer.from(text, "base64"))) } catch { continue }
        }
        if (!parts.some((part) => part.subarray(1, 4).toString() === "asm")) throw Error("there is no WebAssembly in it")
        writeFileSync(process.argv[2], Buffer.concat(parts))' "$work/student/attic-exercises/docs/attic.html" "$work/parts" || fail "the page cannot be taken apart"
    cat "$work/parts" >>"$work/all"
else
    not_run "there is no node: what is compressed in the page was not looked at"
fi
tr -d ' \t\n' <"$work/all" >"$work/squeezed"
found=$(grep -aoFf "$work/distinct" "$work/squeezed" | sort -u | head -5 || true)
[ -z "$found" ] || fail "lines of solutions or wrong answers are in the archive: $found"
# The same search finds them where they are.
tr -d ' \t\n' <"$solutions/e6.c" | grep -aqFf "$work/distinct" || fail "a solution would not be found"

# ---- the archive: does it work? ------------------------------------------------------------------

cd "$work/student/attic-exercises"
$MAKE -s exercise-3 >"$work/said" 2>&1 && grep -q 'not written: BLANK' "$work/said" || fail "$(tail -5 "$work/said")"
$MAKE -s exercise-3 FILE="$solutions/e3.c" 2>&1 | grep -q 'All right' || fail "its grader does not know what is right"
$MAKE -s run-trace 2>&1 | grep -q 'agree with their numerical values' || fail "make run-trace does not work there"
! grep -q 'No such file' "$work/said" || fail "it misses files: $(grep 'No such file' "$work/said")"
ticket=$(cat "$out/students/bob/ticket.txt")
$MAKE -s exercise-8 TICKET="$ticket" >"$work/said" 2>&1
grep -q 'found\[9\] names no mistake' "$work/said" || fail "E8 with a ticket is not graded"
grep -q "^  The mistakes of ticket $ticket$" "$work/said" || fail "E8 with a ticket does not name it: $(head -3 "$work/said")"
$MAKE -s exercise-8 2>&1 | grep -q '^  The published mistakes; with TICKET=' || fail "E8 without a ticket does not say so"
for half in ID=bob KEY="$out/private/course.key" TICKET="$ticket"; do
    ! $MAKE -s exercise-8-answers "$half" >"$work/said" 2>&1 || fail "exercise-8-answers with $half alone: $(cat "$work/said")"
done
cd "$OLDPWD"

# ---- submissions from Moodle ---------------------------------------------------------------------

# The lines of docs/lecturer.md, on names and files as Moodle makes them
sed -n '/^unzip -q submissions/,/^done$/p' docs/lecturer.md >"$work/moodle.sh"
[ "$(wc -l <"$work/moodle.sh")" -eq 7 ] || fail "the lines for Moodle in docs/lecturer.md are not seven"
if command -v zip >/dev/null && command -v unzip >/dev/null; then
    mkdir "$work/m"
    cd "$work/m"
    for folder in 'Lovelace Ada_12345_assignsubmission_file_' 'Hopper Grace_2345_assignsubmission_file_' 'Noether Emmy_45_assignsubmission_file_' \
        'Eve_7_assignsubmission_file_'; do
        mkdir "$folder"
        echo "// $folder" >"$folder/e3_softmax.c"
    done
    echo '1906,dS q0 k1,0' >'Hopper Grace_2345_assignsubmission_file_/answers.csv'
    touch -d '2026-11-30 12:00' ./Lovelace*/e3_softmax.c
    zip -qr submissions.zip ./*_
    rm -r ./*_
    printf '\357\273\277Identifier,"Full name","ID number","Email address",Status,Grade\r\n' >grading.csv
    printf '"Participant 12345","Lovelace, Ada",1815,ada@example.org,"Submitted for grading",\r\n' >>grading.csv
    printf '"Participant 2345","Grace Hopper",1906,grace@example.org,"Submitted for grading",\r\n' >>grading.csv
    printf '"Teilnehmer/in45",Emmy Noether,1882,,"Submitted for grading",\r\n"Participant 7",Eve,,eve@example.org,"No submission",\r\n' >>grading.csv
    printf '# the class\r\n\r\nada@example.org\r\n1906\r\n1882\r\nthere@example.org\r\n' >ids.txt
    sh "$work/moodle.sh" >"$work/said" 2>&1 || fail "the lines for Moodle: $(cat "$work/said")"
    [ "$(find class -type f | sort | tr '\n' ' ')" = \
        'class/1882/e3_softmax.c class/1906/answers.csv class/1906/e3_softmax.c class/ada@example.org/e3_softmax.c ' ] ||
        fail "from Moodle: $(find class -type f)"
    grep -q 'not in ids.txt: .*Eve' "$work/said" && [ "$(wc -l <"$work/said")" -eq 1 ] || fail "who is not in ids.txt: $(cat "$work/said")"
    [ "$(date -r class/ada*/e3_softmax.c +%F)" = 2026-11-30 ] || fail "the time of a submission is lost"
    cd "$OLDPWD"
else
    not_run "there is no zip and unzip: the lines for Moodle were not run"
fi

# ---- the autograder ------------------------------------------------------------------------------

if command -v python3 >/dev/null; then
    python3 -m zipfile -l "$out/private/gradescope.zip" >"$work/said"
    grep -q '^run_autograder' "$work/said" || fail "run_autograder is not at the root of gradescope.zip"
fi
if command -v shellcheck >/dev/null; then
    shellcheck -S warning course/box/setup.sh course/box/run_autograder scripts/course.sh scripts/check-course.sh scripts/check-class.sh || fail "shellcheck"
else
    not_run "there is no shellcheck"
fi

# Who is not root, or may not mount, has no other root folder: then what is in the folder / of a container is not tried.
root=$work/root
mkdir -p "$root/autograder/source" "$root/autograder/submission" "$root/autograder/results" "$root/usr" "$root/etc" "$root/dev" "$root/proc"
mkdir -m 1777 "$root/tmp"
for link in bin lib lib64 sbin; do [ ! -L /$link ] || cp -P /$link "$root/$link"; done
if [ "$(id -u)" -ne 0 ] || ! unshare --mount true 2>/dev/null || [ ! -L /bin ]; then
    not_run "the autograder takes root, mounts, and a system with /bin in /usr"
    exit 0
fi
# inside COMMAND...: in the folder /autograder of a system that has what ours has
inside() {
    # shellcheck disable=SC2016
    unshare --mount sh -c 'root=$1
        shift
        for folder in usr etc dev proc; do mount --rbind /$folder "$root/$folder"; done
        exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" sh -c "cd /autograder && $*"' \
        sh "$root" "$@" >"$work/said" 2>&1 || { tail -20 "$work/said"; fail "in /autograder: $*"; }
}
if command -v unzip >/dev/null; then
    unzip -q "$out/private/gradescope.zip" -d "$root/autograder/source"
else
    (cd "$root/autograder/source" && python3 -m zipfile -e "$out/private/gradescope.zip" .)
fi
inside sh source/setup.sh
[ -z "$(find "$root/autograder/source" -maxdepth 1 -perm /007)" ] || fail "a submission may look into /autograder/source"
cp "$root/autograder/source/run_autograder" "$root/autograder"
chmod 755 "$root/autograder/run_autograder"
# submit FILE...: as this student; results are in $json
json=$root/autograder/results/results.json
submit() {
    rm -rf "$root"/autograder/submission/* "$json"
    [ $# -eq 0 ] || cp -RP "$@" "$root/autograder/submission"
    inside ./run_autograder
    [ -s "$json" ] || fail "there is no results.json"
    ! command -v python3 >/dev/null || python3 -m json.tool "$json" >/dev/null || fail "results.json is no JSON"
}
scores() { grep -c "\"score\": $1, " "$json" || true; }
echo '{"id": 1, "assignment": {"title": "6"}, "users": [{"email": "ada@example.org", "id": 2, "name": "Ada"}, {"email": "bob"}]}' \
    >"$root/autograder/submission_metadata.json"
submit "$solutions/e3.c" "$solutions/e1.c" course/exercises/e6_delta.c
[ "$(scores 2)" -eq 4 ] && [ "$(scores 0)" -eq 15 ] && grep -q 'user nobody' "$json" || { cat "$json"; fail "E3 is not worth four times 2"; }
mkdir -p "$work/deep/a b"
cp "$solutions/e3.c" "$work/deep/a b/E3.c"
submit "$work/deep" "$solutions/e1.c"
[ "$(scores 2)" -eq 4 ] && [ "$(scores 0)" -eq 15 ] || { cat "$json"; fail "a file in a folder is not graded"; }
submit
[ "$(scores 0)" -eq 19 ] || { cat "$json"; fail "nothing submitted is not graded"; }
ln -s /autograder/source/course.key "$work/e3.c"
submit "$work/e3.c" "$solutions/e8.c"
grep -q 'is a link' "$json" && grep -q 'it is not \|green for this backward' "$json" && [ "$(scores 1)" -lt 5 ] || { cat "$json"; fail "what is published answers E8"; }
grep -q "ticket of E8: $(cat "$out/students/ada@example.org/ticket.txt")" "$json" || fail "E8 is not graded by the ticket of who submitted it"
# Of a group, the first one who is in the list of ids, whatever the case: eve and a part of an id are not.
echo '{"users": [{"email": "eve@example.org"}, {"email": "ada"}, {"email": "BOB"}, {"email": "ADA@example.org"}]}' >"$root/autograder/submission_metadata.json"
submit "$solutions/e8.c"
grep -q "ticket of E8: $(cat "$out/students/bob/ticket.txt")" "$json" || fail "the first of a group who has a ticket is not found"
echo '{"users": [{"email": "ADA@Example.ORG"}]}' >"$root/autograder/submission_metadata.json"
submit "$solutions/e8.c"
grep -q "ticket of E8: $(cat "$out/students/ada@example.org/ticket.txt")" "$json" || fail "the case of an address matters"
! grep -q 'nobody who submitted' "$work/said" || fail "ada is not in the list of ids"
echo '{"users": [{"email": "eve"}]}' >"$root/autograder/submission_metadata.json"
submit "$solutions/e8.c"
grep -q 'nobody who submitted this is in the list of ids: eve' "$work/said" || fail "a stranger is not mentioned: $(cat "$work/said")"
mv "$root/autograder/source/attic-exercises" "$root/autograder/source/away"
submit "$solutions/e3.c"
grep -q 'tell your lecturer' "$json" || fail "a grader that fails says nothing"
echo "  the archive works and holds no answers; the autograder grades in /autograder"
