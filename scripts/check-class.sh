#!/bin/sh
# check-class.sh GRADE COMPILE RUNNERS [STUDENTS [SECONDS]] -- a class is graded: so many made-up students (5), each with a
# file of all exercises, solutions, wrong submissions of wrong.txt and files with blanks in turn, in at most so many
# seconds.  And what students hand in besides: late, again, nothing, under names that nobody can read.
set -eu
cd "$(dirname "$0")/.."
grade=$1 compile=$2 runners=$3 students=${4:-5} most=${5:-600} folder=$PWD/course/exercises
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C TZ=UTC

fail() { echo "check-class: $*" >&2; exit 1; }

# class OPTION...: the class in $work/class; the table is $work/out/grades.csv
class() {
    "$grade" --compile "$compile" --runners "$runners" --class "$work/class" --out "$work/out" "$@" >"$work/said" 2>&1 ||
        { cat "$work/said"; fail "grading a class ends with an error"; }
}

# has LINE: it is in the table
has() { grep -qxF -e "$1" "$work/out/grades.csv" || { cat "$work/out/grades.csv"; fail "no line is: $1"; }; }

# ---- what is assigned --------------------------------------------------------------------------

# make knows the list before it compiles anything: as if a source of all runners were newer, two are made.
unset MAKEFLAGS MFLAGS
makes() { ${MAKE:-make} -n -W course/exercises/runner.c "$@" >"$work/said" 2>&1; }
makes exercises ONLY=E1,e3:5 || { cat "$work/said"; fail "make refuses ONLY=E1,e3:5"; }
[ "$(grep -c 'DEXERCISE=' "$work/said")" -eq 2 ] && grep -q 'DEXERCISE=1 ' "$work/said" && grep -q 'DEXERCISE=3 ' "$work/said" ||
    fail "ONLY=E1,e3:5 does not make the runners of E1 and E3"
makes exercises ONLY= && [ "$(grep -c 'DEXERCISE=' "$work/said")" -eq 11 ] || fail "without ONLY, not all eleven runners are made"
for target in grade-all grade-class exercises course; do
    for list in E12 1,x3 'E1, E3' 1,E03; do
        if makes $target ONLY="$list"; then fail "make $target takes ONLY=$list"; fi
        ! grep -q 'DEXERCISE=' "$work/said" && grep -q "ONLY=$list.* allowed" "$work/said" || { cat "$work/said"; fail "make $target ONLY=$list"; }
    done
done

# ---- what students hand in -----------------------------------------------------------------------

mkdir "$work/wrong"
awk -v to="$work/wrong" -f course/exercises/plant.awk course/exercises/wrong.txt

# hand_in FILE SUBMISSION TIME
hand_in() {
    mkdir -p "$(dirname "$work/class/$1")"
    cp "$2" "$work/class/$1"
    touch -d "$3" "$work/class/$1"
}
right=$folder/solutions stub=$folder in_time='2026-03-01 10:00' later='2026-03-01 11:00' late='2026-03-02 00:00'
hand_in ada/e1_used_twice.c "$right"/e1.c "$in_time"
hand_in ada/e3.c "$right"/e3.c "2026-03-01 23:59"
hand_in bob/e1.c "$stub"/e1_used_twice.c "$in_time"    # again, and better
hand_in bob/again/e1.c "$right"/e1.c "$later"
hand_in bob/e3.c "$right"/e3.c "$late"
hand_in cyd/e1.c "$right"/e1.c "$in_time"              # again, too late: the first one counts
hand_in cyd/e1-1.c "$stub"/e1_used_twice.c "$late"
hand_in cyd/notes.txt "$right"/e1.c "$in_time"
hand_in cyd/box/answers.csv "$right"/e1.c "$in_time"   # of the worksheet
hand_in cyd/e2.c "$right"/e2.c "$in_time"              # not assigned
hand_in dan/e1.c /dev/null "$in_time"
hand_in dan/.DS_Store /dev/null "$in_time"
ln -s "$right"/e3.c "$work/class/dan/e3.c"
touch -h -d "$in_time" "$work/class/dan/e3.c"
mkdir "$work/class/eve" "$work/class/$(printf 'x\377')" "$work/class/=1+1" "$work/class/a
b"
hand_in "Müller, Zoë/E1.c" "$right"/e1.c "$in_time"
hand_in fay/e3.c "$right"/e3.c "$in_time"
mkdir "$work/class/kim"
hand_in loose.c "$right"/e3.c "$in_time"
printf '\357\273\277# the class\nid\nada\r\nbob\n\n  cyd \ndan\neve\ngus\nMüller, Zoë\n=2+2\n' >"$work/ids"

class --only E1,e3:8 --ids "$work/ids" --due '2026-03-01 23:59'
has 'id,state,points,of,E1,E1 state,E3,E3 state'
! grep -q '^"id"' "$work/out/grades.csv" || fail "the name of the column is a student"
has '"ada","submitted",13,13,5,"5 of 5",8,"4 of 4"'
has '"bob","submitted",13,13,5,"5 of 5; resubmitted: again/e1.c counts",8,"4 of 4; late"'
has '"cyd","submitted; other files: 1",5,13,5,"5 of 5; resubmitted: e1.c counts",0,"missing"'
has '"dan","submitted",0,13,0,"0 of 5; is empty",0,"0 of 4; is a link"'
has '"eve","nothing submitted",0,13,0,"missing",0,"missing"'
has '"gus","nothing submitted",0,13,0,"missing",0,"missing"'
has '"fay","unknown id",8,13,0,"missing",8,"4 of 4"'
has '"kim","unknown id; nothing submitted",0,13,0,"missing",0,"missing"'
has '"Müller, Zoë","submitted",5,13,5,"5 of 5",0,"missing"'
[ "$(grep -c '^"? .*,"unreadable id",0,13,0,"",0,""$' "$work/out/grades.csv")" -eq 4 ] || fail "four ids cannot be read"
[ "$(wc -l <"$work/out/grades.csv")" -eq 14 ] || fail "the table has not a line for each of thirteen students"
[ "$(find "$work/out/results" -name '*.json' | wc -l)" -eq 9 ] || fail "nine students have a results.json"
says() { grep -qxF -e "$1" "$work/said" || { cat "$work/said"; fail "it does not say: $1"; }; }
says '1 file is in no folder of a student, and is not graded: loose.c'
says 'Müller, Zoë    5 of 13 points   missing: E3'
says 'ada           13 of 13 points   ok'
says 'bob           13 of 13 points   late: E3'
says 'cyd            5 of 13 points   missing: E3; other files: 1'
says 'dan            0 of 13 points   failed: E1, E3'
says 'fay            8 of 13 points   unknown id; missing: E1'
says 'gus            0 of 13 points   nothing submitted'
says 'kim            0 of 13 points   unknown id; nothing submitted'
says '=1+1           0 of 13 points   unreadable id'
grep -q 'seed [0-9]*; sandbox:' "$work/out/results/ada.json" || fail "results do not say how they can be repeated"

# What a student reads: each quantity with its points, in lines of 100 columns, whatever the compiler or the program says.
reads() { grep -q -e "$2" "$work/out/results/$1.txt" || { cat "$work/out/results/$1.txt"; fail "$1.txt does not say: $2"; }; }
[ "$(find "$work/out/results" -name '*.txt' | wc -l)" -eq 9 ] || fail "nine students have a text"
for line in '^bob$' '^seed [0-9]*; sandbox: ' '^E3 softmax: 8 of 8 points; 4 of 4; late$' '^  dS           2 of 2         exact$' '^All together: 13 of 13 points$'; do
    reads bob "$line"
done
reads cyd '; other files: notes.txt$'
reads cyd '^E3 softmax: 0 of 8 points; missing$'
reads cyd '^All together: 5 of 13 points$'
printf 'int x\033%0200d;\n' 0 >"$work/class/kim/e1.c"
sed 's/"rows of dS"/"rows \\303(\\33[31m"/' "$right"/e8.c >"$work/class/kim/e8.c"
cp "$work/wrong/e3_no_delta.c" "$work/class/kim/e3.c"
cp "$work/wrong/e10_path_K_lost.c" "$work/class/kim/e10.c"
class --only 1,3,8,10:20
reads kim 'not reached; the program: does not compile'
reads kim '0 of 1.18 '
reads kim 'wrong: "no delta"'
! grep -Eq '[[:cntrl:]]' "$work/out/results/kim.txt" || fail "a text moves the cursor"
! tr -d '\200-\277' <"$work/out/results/kim.txt" | grep -E '.{101}' || fail "a line of a text has more than 100 columns"
rm "$work/class/kim"/*

# Points have at most two decimals and add up: 20 for 17 quantities, of which somebody has 14, or all.
hand_in liv/e10.c "$work/wrong/e10_sample_middle.c" "$in_time"
hand_in liv/e6.c "$right"/e6.c "$in_time"
hand_in mia/e10.c "$right"/e10.c "$in_time"
class --only 6:12345.67,10:20
has '"liv","submitted",12362.13,12365.67,12345.67,"4 of 4",16.46,"14 of 17"'
has '"mia","submitted",20,12365.67,0,"missing",20,"17 of 17"'
grep -q '^liv  *12362\.13 of 12365\.67 points   ok$' "$work/said" || fail "printed points are not those of the table"
for of in score max_score; do
    grep -o "\"$of\": [0-9.e+]*" "$work/out/results/liv.json" | sed 's/.*: //' >"$work/parts"
    ! grep -Ev '^[0-9]+(\.[0-9]{1,2})?$' "$work/parts" || fail "a $of has more than two decimals"
    awk '{ sum += $1 } END { printf "%.4f ", sum }' "$work/parts"
done >"$work/sums"
[ "$(cat "$work/sums")" = '12362.1300 12365.6700 ' ] || fail "the parts of results.json add up to $(cat "$work/sums")"
rm -r "$work/class/liv" "$work/class/mia"

# Results of who has left since then are named, not deleted; those of who is here are not named.
class --only 1
says "grade: $work/out/results has older results, of no student of this run: gus, liv, mia"
[ -s "$work/out/results/liv.json" ] && [ -s "$work/out/results/mia.txt" ] || fail "results of an earlier run are deleted"
rm "$work/out/results"/gus.* "$work/out/results"/liv.* "$work/out/results"/mia.*
class --only 1
! grep -q 'older results' "$work/said" || fail "results of this run are called older: $(cat "$work/said")"

# Without a key E8 is as published, which is said where it is assigned.
! grep -q '^E8 is graded by the published' "$work/said" || fail "E8 is mentioned, and not assigned"
class --only 8
grep -q '^E8 is graded by the published' "$work/said" || fail "without a key, nothing is said of E8"
printf 'the key of a course' >"$work/key"
class --only 8 --key "$work/key"
! grep -q '^E8 is graded by the published' "$work/said" || fail "with a key, E8 is called published"

# A long id is cut between characters, and the columns stay; of many files in no folder five are named.
wide=$(printf '\303\274%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42)
mkdir "$work/class/$wide"
for name in 1 2 3 4 5 6; do echo >"$work/class/$name"; done
class --only 1
says '7 files are in no folder of a student, and are not graded: 1, 2, 3, 4, 5 and 2 more'
says 'üüüüüüüüüüüüüüüüüüü...üüüüüüüüüüüüüüüüüü   0 of 5 points   nothing submitted'
says 'ada                                        5 of 5 points   ok'
rm -r "$work/class/$wide" "$work/class"/[1-6]

# Times from a list, of a file and of a student, in other zones; without a due date nothing is late.
printf 'bob,2026-03-01T20:00:00.5-04:00\nada,2026-03-01T23:58Z\nada/e3.c,2026-03-02T01:00+01:00\nfay,2026-03-02 00:00:01\n' >"$work/times"
class --only 3 --due 2026-03-02T00:00Z --times "$work/times"
has '"bob","submitted",4,4,4,"4 of 4"'
has '"ada","submitted",4,4,4,"4 of 4"'
has '"fay","submitted",4,4,4,"4 of 4; late"'
class --only 3
has '"fay","submitted",4,4,4,"4 of 4"'

# The same as programs for tables write it: a header, quotes, semicolons; an id with a comma, in quotes or not.
{
    printf 'Student,Time\r\n"bob","2026-03-01T20:00:00.5-04:00"\r\n"ada","2026-03-01T23:58Z"\n"ada/e3.c";"2026-03-02T01:00+01:00"\n'
    printf 'fay;2026-03-02 00:00:01\n"Müller, Zoë","2026-03-02 00:00:01"\nMüller, Zoë/E1.c,2026-03-01 22:10\n'
} >"$work/times"
class --only 1,3 --due 2026-03-02T00:00Z --times "$work/times"
says "$work/times: its first line is a header: Student,Time"
has '"bob","submitted",9,9,5,"5 of 5; resubmitted: again/e1.c counts",4,"4 of 4"'
has '"ada","submitted",9,9,5,"5 of 5",4,"4 of 4"'
has '"fay","submitted",4,9,0,"missing",4,"4 of 4; late"'
has '"Müller, Zoë","submitted",5,9,5,"5 of 5",0,"missing"'
printf 'ada,2026-03-01 10:00\nStudent,Time\n' >"$work/header_later"
printf '"ada","1.3.2026 10:00"\n' >"$work/no_time"

# One time for all files of a student: of two files of an exercise the newer one counts, whatever their names are.
hand_in hal/z/e1.c "$stub"/e1_used_twice.c "$in_time"
hand_in hal/a/e1.c "$right"/e1.c "$later"
printf 'hal,2026-03-01 20:00\n' >"$work/times"
class --only 1 --times "$work/times"
has '"hal","submitted",5,5,5,"5 of 5; resubmitted: a/e1.c counts"'
rm -r "$work/class/hal"

# A line of times about no student and no file is said, and is an error; the table is written all the same.
printf 'Bob,2026-03-01 10:00\nada/e9.c,2026-03-01 10:00\ncyd/e2.c,2026-03-01 10:00\ngus,2026-03-01 10:00\n' >"$work/times"
rm -r "$work/out"
if "$grade" --compile "$compile" --runners "$runners" --class "$work/class" --out "$work/out" --ids "$work/ids" --only 3 \
    --times "$work/times" >/dev/null 2>"$work/said"; then fail "lines of times about nobody are no error"; fi
has '"fay","unknown id",4,4,4,"4 of 4"'
grep -q 'called so: Bob,' "$work/said" && grep -q 'called so: ada/e9.c,' "$work/said" && [ "$(wc -l <"$work/said")" -eq 2 ] ||
    fail "lines of times about nobody: $(cat "$work/said")"
for wrong in --due=tomorrow --due=2026-13-01T10:00 --due=2026-03-01T10:00+x --times="$work/ids" --times="$work/header_later" --times="$work/no_time" --ids="$work/none" --class="$work/none" \
    --ticket=0b308e8eb133a4c6; do
    "$grade" --class "$work/class" --out "$work/out" --runners "$runners" "$wrong" >/dev/null 2>&1 && fail "$wrong is taken"
done
rm -rf "$work/class"

# ---- a whole class -------------------------------------------------------------------------------

e=0
while [ $e -le 10 ]; do
    set -- "$stub"/e${e}_*.c "$right/e$e.c" "$work/wrong"/e${e}_*.c
    n=1
    while [ $n -le "$students" ]; do
        file=$1 # every third is right, the others follow each other
        [ $(((n + e) % 3)) -gt 0 ] || file=$right/e$e.c
        shift
        [ $# -gt 0 ] || set -- "$stub"/e${e}_*.c "$work/wrong"/e${e}_*.c
        hand_in "$(printf 's%03d' $n)/e$e.c" "$file" "$in_time"
        n=$((n + 1))
    done
    e=$((e + 1))
done
began=$(date +%s)
class --seed 1
took=$(($(date +%s) - began))
[ "$(grep -c '"submitted"' "$work/out/grades.csv")" -eq "$students" ] || fail "not all students are graded"
awk -F, 'NR > 1 && $3 < 10 { bad = 1 } END { exit bad }' "$work/out/grades.csv" || fail "a third of all files is right, and somebody has less than 10 points"
[ $took -le "$most" ] || fail "$students students took $took s, more than $most"
echo "  $students students with eleven files each: graded in $took s"
