#!/bin/sh
# lint-numbers.sh -- the numbers of the documentation that can be counted are those that are counted.
set -eu
cd "$(dirname "$0")/.."
bad=0

# The front door: what does not serve the first ten minutes stands in docs/.
words=$(wc -w <README.md)
[ "$words" -le 2200 ] || { echo "README.md has $words words, of 2200" >&2; bad=1; }

# says FILE TEXT: the file has this text, with any white space
says() {
    tr -s '[:space:]' ' ' <"$1" | grep -qF "$2" || { echo "$1 should say \"$2\"" >&2; bad=1; }
}
# "1,300" of 1298
in_hundreds() { echo $((($1 + 50) / 100 * 100)) | sed 's/\([0-9]\)\([0-9]\{3\}\)$/\1,\2/'; }
# programs LANGUAGES FILE: how many blocks of these the file has
programs() { grep -cE "^\`\`\`($1)\$" "$2"; }
in_words() { echo zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen |
    cut -d ' ' -f $(($1 + 1)); }

mutants=tests/mutation/mutants.txt
number=$(in_hundreds "$(grep -c '^[^#[:space:]]' $mutants)")
says README.md "plants some $number mistakes"
says docs/testing.md "some $number mutants"
says docs/testing.md "the wrong gradients of $(grep -c '^ *names ' $mutants) are also given"
tests="some $(in_hundreds "$(cat tests/*/test_*.c | grep -c '^START_TEST')") tests"
says README.md "$tests"
says docs/testing.md "$tests"

says README.md "[attention in $(wc -l <examples/00_attention_in_100_lines.c | tr -d ' ') lines]"
says README.md "[a tape in $(wc -l <examples/00_tape_in_80_lines.c | tr -d ' ') lines]"
says README.md "[$(in_words "$(ls course/exercises/e[0-9]*_*.c | wc -l)") exercises]"
says README.md "$(in_words "$(programs 'c|cpp|python' docs/cookbook.md)") short programs"
says README.md "some $(in_hundreds "$(grep -c '^| `' docs/pytorch.md)") names"

# The fastest peer's time / attic's: the least and the largest of all machines and compilers.
range=$(grep -E '^\| (square|linear), against the fastest peer' docs/notes/tuning.md | grep -oE '[0-9]+\.[0-9]+x' | sort -n)
says docs/performance.md "$(echo "$range" | sed 's/x$//; 1!d') to $(echo "$range" | sed 's/x$//; $!d') times as fast"
sh scripts/board.sh none check || bad=1

# The table that follows from a formula is what the formula gives.
table=$(awk '/^<!-- table: formula -->$/ { in_it = 1; next } /^<!-- end -->$/ { in_it = 0 } in_it' docs/machines.md)
[ "$table" = "$(awk -f mpi/machines.awk)" ] || { echo "docs/machines.md has another table than mpi/machines.awk" >&2; bad=1; }
exit $bad
