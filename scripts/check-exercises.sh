#!/bin/sh
# check-exercises.sh GRADE COMPILE RUNNERS -- the exercises, their solutions and the wrong submissions of
# course/exercises/wrong.txt are graded as they expect: "// expect dS: wrong, no delta" in the first lines; what
# they do not name is expected to be exact.  The exercises themselves have blanks and are not written, the solutions
# are exact; none has warnings.  Three seeds each, or SEEDS; three for what does not come to its end, which may wait
# for a time limit.
#
# Then the same without sanitizers, for those whose verdict needs none; the status and results.json of
# grade-all; what is wrong in a command line.  CC is the compiler.
#
# What HINT=4 shows is what skeleton.awk makes of the solutions; WRITE=1 writes it, and checks nothing else.
set -eu
cd "$(dirname "$0")/.."
grade=$1 compile=$2 runners=$3 folder=course/exercises
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C

fail() { echo "check-exercises: $*" >&2; exit 1; }

# ends STATUS WORDS ARGUMENT...: grade ends with that status, and says the words
ends() {
    status=$1 words=$2 got=0
    shift 2
    "$grade" --compile "$compile" --runners "$runners" "$@" >"$work/output" 2>&1 || got=$?
    [ "$got" -eq "$status" ] && grep -q -e "$words" "$work/output" && return
    cat "$work/output"
    fail "grade $*: status $got, not $status with \"$words\""
}

# expected SEEDS SECONDS COMPILE RUNNERS FILE...: all verdicts are as expected.  Three run side by side: some wait for a
# time limit.
expected() {
    seeds=$1 seconds=$2 compiler=$3 from=$4 jobs='' bad=0
    shift 4
    printf '%s\n' "$@" | awk -v to="$work/part" '{ print >(to NR % 3) }'
    for part in 0 1 2; do
        # shellcheck disable=SC2046
        "$grade" --compile "$compiler" --runners "$from" --seed "${SEED:-1}" --seeds "$seeds" --seconds "$seconds" --expect --sandbox "$sandbox" \
            $(cat "$work/part$part") >"$work/said$part" 2>&1 &
        jobs="$jobs $!"
    done
    for job in $jobs; do wait "$job" || bad=1; done
    cat "$work/said0" "$work/said1" "$work/said2"
    [ $bad -eq 0 ] || fail "these verdicts are not as expected"
}

{
    echo "/* skeletons.c -- the loops of the solutions, for HINT=4: made by skeleton.awk. */"
    echo '#include "grading.h"'
    printf '\n// clang-format off\nconst skeleton skeletons[] = {\n'
    for n in 0 1 2 3 4 5 6 7 8 9 10; do
        awk -v n=$n -f $folder/skeleton.awk $folder/e${n}_*.c $folder/solutions/e$n.c
    done
    printf '{0},\n};\n'
} >"$work/skeletons.c"
[ -z "${WRITE:-}" ] || { cp "$work/skeletons.c" $folder; exit; }
cmp "$work/skeletons.c" $folder/skeletons.c || fail "skeletons.c is not of these solutions: WRITE=1 writes it"

sandbox=on wrong=$work/wrong
mkdir "$wrong"
awk -v to="$wrong" -f $folder/plant.awk $folder/wrong.txt

# What is undefined without a crash is seen by sanitizers alone, if the compiler has them.
submissions=$(ls "$wrong"/*.c)
case $compile in *-fsanitize*) ;; *)
    submissions=$(grep -L 'expect program: \(undefined\|an array\)' "$wrong"/*.c) ;;
esac
echo "  as compiled for everybody:"
# Most come to an end, on a busy machine late.
# shellcheck disable=SC2046,SC2086
expected "${SEEDS:-3}" 60 "$compile" "$runners" $folder/e[0-9]*_*.c $folder/solutions/*.c \
    $(grep -L 'expect program:' $submissions)
# shellcheck disable=SC2046,SC2086
expected 3 4 "$compile" "$runners" $(grep -l 'expect program:' $submissions | grep -v two_processes)

echo "  a second process, which the sandbox does not allow:"
sandbox=off
expected 3 4 "$compile" "$runners" "$wrong"/*_two_processes.c
sandbox=on

echo "  without sanitizers:"
plain="$CC -std=gnu11 -O0 -g -Werror=return-type"
mkdir "$work/include"
cp $folder/exercise.h "$work/include"
for n in 2 3 7; do $plain -I$folder -Icourse -DEXERCISE=$n -c -o "$work/runner$n.o" $folder/runner.c; done
# shellcheck disable=SC2046
expected 3 4 "$plain" "$work" $folder/solutions/e[237].c \
    $(grep -lE 'expect program: (wrote|read) outside|expect program: crashed' "$wrong"/e[237]_*.c)

echo "  E8 with tickets: the ten that are planted are others, and those named by --answers:"
printf 'the key of a course' >"$work/key"
"$grade" --answers | sed 1d >"$work/ten"
for id in ada bob 'Zoë Müller' 4 5 6 7 8; do
    "$grade" --answers --key "$work/key" --id "$id" >"$work/answers"
    sed 1d "$work/answers" | cmp -s - "$work/ten" && fail "two tickets, one list"
    sed 1d "$work/answers" >"$work/ten"
    awk 'BEGIN { shown["DV"] = "step of dV"; shown["DROPOUT"] = shown["KEY"] = "step of dP"; shown["DQ"] = "step of dQ"
                 shown["DK"] = shown["NO_SCALE_IN_DK"] = "step of dK"; shown["NO_SCALE"] = shown["SCALE"] = "differences of Q"
                 shown["NO_DELTA"] = shown["DELTA_OF_ONES"] = shown["DELTA_MEAN"] = shown["DELTA_FROM_A"] = "delta from O" }
         FNR == NR { if (sub(/:/, "", $2)) is[$1] = $2; next }
         /^    \{[A-Z_]*, "/ { b = is[n++]; short = b; sub(/_.*/, "", short)
                          by = b in shown ? shown[b] : short in shown && b !~ /^DELTA/ ? shown[short] : "step of dS"
                          $0 = "    {" b ", \"" by "\"}," }
         { print }' "$work/answers" $folder/solutions/e8.c >"$work/e8_ticket.c"
    ticket=$(sed -n 's/^ticket //p' "$work/answers")
    ends 0 'All right' --ticket "$ticket" --seed 1 --seeds "${SEEDS:-3}" "$work/e8_ticket.c"
    ends 0 'All right' --key "$work/key" --id "$id" "$work/e8_ticket.c"
    ends 1 'backward [0-9] *wrong: it is not' "$work/e8_ticket.c"
done
ends 1 'backward [0-9] *wrong: it is not' --ticket "$ticket" $folder/solutions/e8.c
ends 2 'sixteen digits' --ticket 123 $folder/solutions/e8.c
ends 2 'belong together' --key "$work/key" $folder/solutions/e8.c
printf short >"$work/short"
ends 2 'at least 16 bytes' --key "$work/short" --id ada $folder/solutions/e8.c

echo "  command lines, a table, results.json:"
printf '// expect dS: wrong, sign\n' | cat - $folder/solutions/e3.c >"$work/e3_false_expectation.c"
ends 1 'dS is exact' --expect "$work/e3_false_expectation.c"
printf '// expect dT: exact\n' | cat - $folder/solutions/e3.c >"$work/e3_no_such_quantity.c"
ends 1 'dT is no quantity' --expect "$work/e3_no_such_quantity.c"
sed 's/wrong, no delta/wrong, delta/' "$wrong/e3_no_delta.c" >"$work/e3_another_name.c"
ends 1 'dS is wrong: "no delta"' --expect "$work/e3_another_name.c"
printf 'e3 none\n    - no such line\n    + none\n' >"$work/none.txt"
awk -v to="$work" -f $folder/plant.awk "$work/none.txt" 2>/dev/null && fail "a text that is in no solution was planted"
ends 0 '^11 of 11 files are all right' --table --results "$work/right.json" $folder/solutions/*.c
ends 1 '^0 of 11 files are all right' --table --results "$work/stubs.json" $folder/e[0-9]*_*.c
ends 1 'there is no file' --table $folder/solutions/e[0-6].c
ends 0 '^2 of 2 files are all right, 10 of 10 points' --only 1,3:5 --table --results "$work/two.json" $folder/solutions/*.c
[ "$(grep -c '"score": 1.25, "max_score": 1.25' "$work/two.json")" -eq 4 ] && [ "$(grep -c '"max_score"' "$work/two.json")" -eq 9 ] ||
    fail "what is not assigned is in results.json, or E3 is not worth 5 points"
ends 1 '^0 of 2 files are all right, 0 of 9 points' --only 1,3 --table $folder/solutions/e2.c
ends 0 '^2 of 2 files are all right, 10 of 10 points' --only e1,E3:5 --table $folder/solutions/*.c
for list in 11 1,1 1: 1:x 1:0.333 3x '1,' '' E11 E 1,E1 EE1 ' E1'; do ends 2 'a list like 0,1,3:20' --only "$list" $folder/solutions/e1.c; done
# A table shows the first clause of a verdict, and the point of a number does not end it.
ends 1 'shown a mistake,' --seed 3 --ticket 0b308e8eb133a4c6 --table $folder/solutions/e8.c
# In a table what cannot be graded stops nothing, and all rows have the same columns.
mkdir "$work/odd"
ln -s "$PWD/$folder/solutions/e1.c" "$work/odd/e1_link.c"
printf ' \n' >"$work/odd/e2_empty.c"
mkdir "$work/odd/e3_folder.c"
yes 'int x;' | head -c 1100000 >"$work/odd/e4_large.c"
cp $folder/solutions/e5.c "$work/odd/e5_first.c"
cp $folder/solutions/e5.c "$work/odd/e5_second.c"
cp $folder/solutions/e6.c "$work/odd/e99.c"
for words in '^1 of 11 files are all right' 'e1_link.c .*is a link' 'e2_empty.c .*is empty' 'e3_folder.c .*is no file' \
    'e4_large.c .*larger than a megabyte' 'e5_second.c .*another file of E5: not graded' 'e99.c .*is no exercise' 'e6_delta .*no file'; do
    ends 1 "$words" --table --results "$work/odd.json" "$work"/odd/*.c
done
long=$(printf '\303\274%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30)
cp $folder/solutions/e10.c "$work/odd/e10_$long.c"
cp $folder/solutions/e8.c "$work/odd"
"$grade" --compile "$compile" --runners "$runners" --table "$work"/odd/*.c >"$work/rows" 2>&1 || true
# In characters: bytes that go on with one are taken out.
tr -d '\200-\277' <"$work/rows" | awk '/ [0-9]+ of [0-9]+  / { n++; wrong += substr($0, 33, 12) !~ /^ [ 1][0-9] of [0-9][0-9 ]   $/ || substr($0, 45, 1) == " " }
    END { exit n != 11 || wrong }' || { cat "$work/rows"; fail "the rows of a table do not have the same columns"; }
iconv -f UTF-8 -t UTF-8 "$work/rows" >/dev/null || fail "a long name is cut within a character"
[ "$(grep -c '"max_score"' "$work/odd.json")" -eq 60 ] || fail "a quantity is not in results.json once"
sed 's/"rows of dS"/"rows \\303(\\33[31m"/' $folder/solutions/e8.c >"$work/e8_bytes.c"
ends 0 'All right' --results "$work/bytes.json" "$work/e8_bytes.c"
ends 1 'dQ           not written: BLANK(1), BLANK(3), BLANK(4), BLANK(5) and BLANK(6) still stand' $folder/e5_attention_row.c
ends 2 'no file is named'
ends 2 'which exercise is' README.md
for name in e99_none.c e03_none.c e_none.c; do ends 2 'which exercise is' $name; done # and not E9, E0 or E3
ends 2 'cannot read .*e3_none.c' e3_none.c
ends 2 'there is no option --nonsense' --nonsense
ends 0 'All right' --exercise 3 $folder/solutions/e3.c
ends 1 'Hint 2 for dS' --hint 2 --seed 5 "$wrong"/e3_no_delta.c
ends 1 'dS\[[0-9]\] = P\[[0-9]\] \* (dP' "$wrong"/e3_no_delta.c
ends 1 '\] = sum_j dP\[j\] J\[j,k' "$wrong"/e3_last_term_with_J.c
ends 1 'Hint 1 for dQ' --hint 1 --of dQ $folder/e7_without_the_matrix.c
ends 1 'dQ\[i \* D + d\] += dR \* ____;' --hint 4 --of dQ $folder/e6_delta.c
ends 1 'static void add_product' --hint 4 --of Q $folder/e10_block.c
ends 1 'Hint 4 for split' --hint 4 $folder/e10_block.c
[ "$(grep -c 'Hint 4 for' "$work/output")" -eq 1 ] || fail "more than one hint was given"
ends 1 'Wk\[____\]' --hint 3 --of dX "$wrong"/e10_path_K_lost.c
ends 1 'the terms of dY, Q' --seed 1 "$wrong"/e10_path_K_lost.c
ends 1 'heads_h[0-9]\[t[0-9],d[0-9]\] = merged\[t[0-9],h[0-9]d[0-9]\] = [-0-9.]*, you' --seed 1 "$wrong"/e10_split_in_memory.c
ends 1 '[0-9]* of [0-9]* elements were written, as if Q were \[T,D\]' --seed 1 "$wrong"/e10_D_for_H_D_in_the_forward.c
ends 1 '[0-9]* of [0-9]* elements are not 0, as if K were \[T,D\]' --seed 1 "$wrong"/e10_D_for_H_D_in_the_forward.c
ends 1 ' nothing$' --seed 1 "$wrong"/e10_columns_for_rows.c
! grep -E '.{101}' "$work/output" || fail "a line has more than 100 columns"
ends 2 'E10 has no quantity "dx"; it has split, merge, Q,' --hint 1 --of dx $folder/e10_block.c
ends 1 'Hint 4 for upstream: it has no loops to show' --hint 4 $folder/e3_softmax.c
ends 1 'first quantity that is wrong is' --hint 1 "$wrong"/e8_rows_of_dS_for_all.c
ends 1 'No hint for dP: first, the program must come to its end' --hint 1 "$wrong"/e5_aborts.c
ends 1 'No hint for scale dx: first, the program must compile' --hint 1 "$wrong"/e1_semicolon_missing.c
ends 1 '^    | \.\.\. [0-9]* more lines' "$wrong"/e5_prints_without_end.c
ends 1 '"step of dP" ([0-9.]*), "step of dS" (' "$wrong"/e8_two_red_checks.c
# The sanitizers know the line; clang needs llvm-symbolizer to say it of a crash.
case $compile in *-fsanitize*)
    line=$(grep -n 'Dv % zero' "$wrong"/e5_divides_by_zero.c | cut -d: -f1)
    ends 1 "(e5_divides_by_zero.c:$line)" "$wrong"/e5_divides_by_zero.c
    ends 1 'V\[[0-9]*\], but V has [0-9]* elements, 0 to [0-9]*; or was it O' --seed 1 "$wrong"/e10_reads_before_O.c
    if ! $CC --version | grep -q clang; then
        line=$(grep -n 'O - 2' "$wrong"/e10_reads_before_O.c | cut -d: -f1)
        ends 1 "(e10_reads_before_O.c:[0-9]*, called in line $line)" --seed 1 "$wrong"/e10_reads_before_O.c
        line=$(grep -n 'dA\[' "$wrong"/e2_writes_past_the_end.c | cut -d: -f1)
        ends 1 "(e2_writes_past_the_end.c:$line)" "$wrong"/e2_writes_past_the_end.c
        ends 1 '(e1_calls_itself.c:[0-9]*, called in line [0-9]*)' "$wrong"/e1_calls_itself.c
    fi ;;
esac
ends 1 'seed 5: N = ' --seed 5 "$wrong"/e3_no_delta.c
for _ in 1 2 3; do
    ends 1 'does not compile' "$wrong"/e1_semicolon_missing.c
    head -n 1 "$work/output" >>"$work/seeds"
done
[ "$(sort -u "$work/seeds" | wc -l)" -gt 1 ] || fail "three runs drew the same seed"
[ "$(grep -c '"score": 1, "max_score": 1' "$work/right.json")" -eq 60 ] || fail "results.json lacks a score of 1"
[ "$(grep -c '"score": 0, "max_score": 1' "$work/stubs.json")" -eq 60 ] || fail "results.json lacks a score of 0"
if command -v python3 >/dev/null; then
    for f in stubs two odd bytes; do python3 -m json.tool "$work/$f.json" >/dev/null || fail "$f.json is no JSON"; done
fi
echo "  all as expected"
