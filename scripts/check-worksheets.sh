#!/bin/sh
# check-worksheets.sh WORKSHEETS -- sheets are drawn from a key, another one for each student, and what comes back is graded,
# whatever is in it.
set -eu
worksheets=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C

fail() { echo "check-worksheets: $*" >&2; exit 1; }
sheets() { "$worksheets" --key "$work/key" --ids "$work/ids" --out "$work/out" "$@" >"$work/said" 2>&1 || fail "$(cat "$work/said")"; }
# The same, where answers are lost: that is an error, and the tables are written all the same.
lost() {
    rm -f "$work/out/private/worksheets.csv"
    ! "$worksheets" --key "$work/key" --ids "$work/ids" --out "$work/out" "$@" >"$work/said" 2>&1 || fail "lost answers are no error: $(cat "$work/said")"
}
not_run() { printf '\n**** NOT RUN: %s\n\n' "$1" >&2; }
has() { grep -qF -e "$2" "$work/out/private/$1" || { cat "$work/out/private/$1"; fail "no line of $1 has: $2"; }; }

printf 'the key of a course' >"$work/key"
# What is missing is named.
! "$worksheets" --key '' --ids "$work/ids" >"$work/said" 2>&1 && grep -q 'KEY= .*is missing' "$work/said" || fail "without a key: $(cat "$work/said")"
! "$worksheets" --key "$work/key" --ids '' >"$work/said" 2>&1 && grep -q 'IDS= .*is missing' "$work/said" || fail "without ids: $(cat "$work/said")"
# A line of ids.txt that is no id is said, and nothing is drawn: of others, and of rows of a table.
for line in '<b>&co' '=1+1' '../ada' '"Lovelace","Ada","12345","ada@example.org"' 'Lovelace,Ada,12345' 'Lovelace;12345' "$(printf '%0121d' 0)"; do
    printf 'ada\n%s\nbob\n' "$line" >"$work/ids"
    ! "$worksheets" --key "$work/key" --ids "$work/ids" --out "$work/out" >"$work/said" 2>&1 || fail "an id: $line"
    grep -qF -e ": $line" "$work/said" && grep -q '1 of 3 lines .* a line is one id alone' "$work/said" || fail "$(cat "$work/said")"
    [ ! -e "$work/out" ] || fail "with a line that is no id, sheets are drawn: $line"
done
# A mark of UTF-8, comments, empty lines and the name of the column are no ids.
printf '\357\273\277# the class\n\nID\nbob\r\n  ada \nM\303\274ller, Zo\303\253\n  # Eve left\nx<i>&\nid\n' >"$work/ids"
longest=$(printf '%0120d' 0 | tr 0 W)
echo "$longest" >>"$work/ids"
sheets
for id in ada bob 'Müller, Zoë'; do
    for page in "$work/out/students/$id/worksheet.html" "$work/out/private/$id.html"; do
        grep -q "For $id<" "$page" || fail "$page does not say whose it is"
        ! grep -Eqi '<script|https?:|src=|@import|url\(' "$page" || fail "$page needs something else"
    done
    ! grep -q '>What a wrong number says<' "$work/out/students/$id/worksheet.html" || fail "a sheet has its answers"
done
[ "$(ls "$work/out/students" | tr '\n' ' ')" = "Müller, Zoë $longest ada bob id x<i>& " ] || fail "sheets of others: $(ls "$work/out/students")"
! cmp -s "$work/out/students/ada/worksheet.html" "$work/out/students/bob/worksheet.html" || fail "two students have one sheet"

# Made again, sheets are the same, and a list that somebody has filled in stays.
cp "$work/out/students/bob/worksheet.html" "$work/first"
echo '"bob",P q0 k0,1/3' >"$work/out/students/bob/answers.csv"
sheets
cmp -s "$work/first" "$work/out/students/bob/worksheet.html" || fail "made again, a sheet is another one"
[ "$(cat "$work/out/students/bob/answers.csv")" = '"bob",P q0 k0,1/3' ] || fail "made again, a list that was filled in is empty"

grep -q 'For x&#60;i&#62;&#38;<' "$work/out/students/x<i>&/worksheet.html" || fail "an id is taken for HTML"

# A sheet has room for who it is and for working, and says how a line of answers.csv looks.
for text in '>Name<' '>Date<' '>Signature<' '<h2>Working' '&#34;ada&#34;,dS q0 k1,3/20<'; do
    grep -qF -e "$text" "$work/out/students/ada/worksheet.html" || fail "a sheet has no $text"
    ! grep -qF -e "$text" "$work/out/private/ada.html" || fail "a key has $text"
done
grep -q '<thead>.*>dS<.*>q0 k0<.*>q1 k2<.*</thead>' "$work/out/private/ada.html" || fail "a key has no names of its columns"

# A sheet and its key, with the longest id, are a page each, whatever the paper is.
if command -v chromium >/dev/null; then
    for paper in A4 letter; do
        for page in "students/$longest/worksheet" "private/$longest"; do
            sed "s/<style>/<style>@page { size: $paper }/" "$work/out/$page.html" >"$work/print.html"
            rm -f "$work/print.pdf"
            chromium --headless --no-sandbox --no-pdf-header-footer --print-to-pdf="$work/print.pdf" "$work/print.html" >"$work/said" 2>&1 ||
                fail "$(cat "$work/said")"
            [ "$(grep -ac '/Type */Page *$' "$work/print.pdf")" -eq 1 ] || fail "$page is not one page of $paper"
        done
    done
else
    not_run "there is no chromium: it was not looked at whether sheets are a page each"
fi

# The numbers of the key, in the order of the cells: those behind "Forward", up to the mistakes.
numbers() {
    sed -n '/>Forward</,/>What a wrong/s/<td>/\n&/gp' "$1" | sed -n 's/^<td>\([^<][^<]*\)<.*/\1/p' | sed 's/\xe2\x88\x92/-/'
}
mistaken() { # MATRIX NAME: what this mistake gives in its first cell
    sed -n "/col\">$1</,/<\/table>/s/.*row\">$2<\/th><td>\([^<]*\)<.*/\1/p" "$work/out/private/ada.html" | sed 's/\xe2\x88\x92/-/'
}
numbers "$work/out/private/ada.html" >"$work/numbers"
[ "$(wc -l <"$work/numbers")" -eq 30 ] || fail "a key has not thirty answers"
tail -n +2 "$work/out/students/ada/answers.csv" | paste -d '' - "$work/numbers" >"$work/ada.csv"

sheets "$work/ada.csv"
has worksheets.csv '"ada","submitted",30,30'
has worksheets.csv '"bob","nothing submitted",0,30'
cp "$work/out/private/worksheets.csv" "$work/first"
sheets "$work/ada.csv"
cmp -s "$work/first" "$work/out/private/worksheets.csv" || fail "graded again, it is another grade"

# A mistake, no number, nothing, a fraction; a cell twice, one that is none; a stranger, and a line that is none.
sed -e "/dS q0 k0/s/,[^,]*$/,$(mistaken dS 'no delta')/" -e "/dV k0 d0/s/,[^,]*$/,$(mistaken dV 'dV of the last query')/" \
    -e '/dP q1 k2/s/,[^,]*$/,1 or 2/' -e '/P q0 k2/s/,[^,]*$/,/' "$work/ada.csv" >"$work/ada2.csv"
{
    cat "$work/ada2.csv"
    grep '"ada",O q0 d0' "$work/ada.csv" | sed 's/$/0/'
    printf 'ada,dT q0 k0,1\r\neve,P q0 k0,1\nnonsense\n"Müller, Zoë",P q0 k0,"1/1000"\n'
} >"$work/all.csv"
lost "$work/all.csv"
has worksheets_cells.csv ',0,"no delta: '
has worksheets_cells.csv ',0,"dV of the last query: '
has worksheets_cells.csv '"ada",dP q1 k2,"1 or 2",'
has worksheets_cells.csv ',0,"not a number"'
has worksheets_cells.csv '"ada",P q0 k2,,'
has worksheets_cells.csv '"Müller, Zoë",P q0 k0,0.001,'
has worksheets.csv '"Müller, Zoë","submitted",0,30'
grep -Eq '^"ada","submitted; answered again: 1; lines of no cell: 1",2[0-9],30$' "$work/out/private/worksheets.csv" || fail "$(cat "$work/out/private/worksheets.csv")"
grep -q 'belong to no student of .*: 2$' "$work/said" && grep -q 'unknown id: eve' "$work/said" || fail "a stranger is not mentioned"

# A number in all cells gets the points of those that are so, and no more: nothing follows from it.
for x in 1 0; do
    sed "s/,[^,]*$/,$x/" "$work/ada.csv" >"$work/same.csv"
    sheets "$work/same.csv"
    has worksheets.csv "\"ada\",\"submitted\",$(grep -cx $x "$work/numbers" || true),30"
done
has worksheets_cells.csv 'follows from a row with no right number: does not count'

# As the sheet prints a minus, with blanks, with a decimal comma, and as a German Excel saves a table.
printf 'id;cell;value\nada;P q0 k0;0,25\n"M\303\274ller, Zo\303\253";O q0 d0;-1,5\n' >"$work/german.csv"
printf '"ada",P q0 k1, 3 / 20 \nada,O q0 d0,\342\210\2221.5\nada,O q0 d1,"0,8"\nbob, P q0 k0, "-1,5/3"\n' >"$work/typed.csv"
sheets "$work/german.csv" "$work/typed.csv"
for cell in '"ada",P q0 k0,0.25' '"ada",P q0 k1,0.15' '"ada",O q0 d0,-1.5' '"ada",O q0 d1,0.8' '"bob",P q0 k0,-0.5' '"Müller, Zoë",O q0 d0,-1.5'; do
    has worksheets_cells.csv "$cell,"
done
! grep -q 'no line like\|unknown id\|belong to no' "$work/said" || fail "$(cat "$work/said")"

# In the folder of bob, ada cannot be answered for; elsewhere everybody can.
mkdir "$work/bob"
cp "$work/ada.csv" "$work/bob/answers.csv"
mkdir -p "$work/cyd/answers.csv" "$work/dan"
ln -s "$work/ada.csv" "$work/dan/answers.csv" # neither stops the others
lost "$work"/*/answers.csv
has worksheets.csv '"ada","nothing submitted",0,30'
grep -q 'the id of another folder: ada' "$work/said" || fail "somebody answers for others"
[ "$(grep -c 'no file that can be read' "$work/said")" -eq 2 ] || fail "a folder or a link is read"

# So it is in a folder within it, whatever that is called.
mkdir -p "$work/bob/ada/x"
mv "$work/bob/answers.csv" "$work/bob/ada/x"
lost "$work"/bob/*/*/answers.csv
has worksheets.csv '"ada","nothing submitted",0,30'

# A list in Latin-1 is of nobody.
mkdir "$work/Müller, Zoë"
printf '"M\374ller, Zo\353",P q0 k0,0.5\n' >"$work/Müller, Zoë/answers.csv"
lost "$work"/M*/answers.csv
grep -qF "$work/Müller, Zoë/answers.csv: unknown id: M" "$work/said" || fail "a list in Latin-1: $(cat "$work/said")"

# A pattern that finds nothing, and files none of which can be read, are an error, and nothing is written.
rm "$work/out/private/worksheets.csv"
for files in "$work/ada.csv $work/*/none.csv" "$work/cyd/answers.csv $work/dan/answers.csv"; do
    # shellcheck disable=SC2086
    ! "$worksheets" --key "$work/key" --ids "$work/ids" --out "$work/out" $files >/dev/null 2>"$work/said" || fail "taken as answers: $files"
    grep -q 'nothing was written' "$work/said" && [ ! -e "$work/out/private/worksheets.csv" ] || fail "without answers a table is written: $(cat "$work/said")"
done

# With the table of the exercises: a line for each student, and who is missing in one of the two is said.
printf 'id,state,points,of,E1,E1 state\n"M\303\274ller, Zo\303\253","submitted",4.5,5,4.5,"5 of 5; late"\n"? =1+1","unreadable id",0,5,0,""\n"ada","submitted; other files: 1",5,5,5,"5 of 5"\n' \
    >"$work/grades.csv"
sheets --grades "$work/grades.csv" "$work/ada.csv"
cat >"$work/joined" <<END
id,exercises,of exercises,exercises state,worksheet,of worksheet,worksheet state
"Müller, Zoë",4.5,5,"submitted",0,30,"nothing submitted"
"$longest",,,"not in grades.csv",0,30,"nothing submitted"
"ada",5,5,"submitted; other files: 1",30,30,"submitted"
"bob",,,"not in grades.csv",0,30,"nothing submitted"
"id",,,"not in grades.csv",0,30,"nothing submitted"
"x<i>&",,,"not in grades.csv",0,30,"nothing submitted"
"? =1+1",0,5,"unreadable id",,,"unknown id"
END
diff "$work/joined" "$work/out/private/points.csv" && grep -q 'in one of the two tables alone: 5$' "$work/said" || fail "exercises and worksheets are not joined: $(cat "$work/said")"
printf 'id,state,points,of\nada,ok,five,5\n' >"$work/no_grades"
sed 1d "$work/grades.csv" >"$work/no_header"
for arguments in "--grades $work/no_header $work/ada.csv" "--grades $work/no_grades $work/ada.csv" "--grades $work/none $work/ada.csv" "--grades $work/grades.csv"; do
    # shellcheck disable=SC2086
    ! "$worksheets" --key "$work/key" --ids "$work/ids" --out "$work/out" $arguments >/dev/null 2>&1 || fail "$arguments is taken"
done

printf 'the key of another course' >"$work/key"
sheets "$work/ada.csv"
! grep -q '"ada","submitted",30,30' "$work/out/private/worksheets.csv" || fail "another key has the same sheets"
echo "  sheets are drawn, answers graded"
