#!/bin/sh
# board.sh PROGRAM [write|again|check|smoke] -- the board (docs/board.md): runs recipes, keeps what they came to, prints
# the tables.
#
# A recipe is bench/recipes/TRACK_NAME.txt, a file of options of bench/board.c.  What the runs came to is kept in
# bench/board.tsv, a line for each recipe and seed; a run that has its line is not repeated.  From the environment:
# ONLY="text_record names_*", the recipes; SEEDS=10, how many; THREADS=2.
#
#     write    puts the tables into docs/board.md
#     again    runs what is asked for even if it has its line, and replaces that
#     check    runs nothing: are the tables of docs/board.md those of bench/board.tsv?
#     smoke    two steps of each recipe: does it still run?
#
# CPU seconds are those of training alone, without the text and without the evaluation at the end.  They are only worth
# comparing if nothing else ran beside: `again` on a quiet machine measures them anew; losses do not depend on that.
set -eu
cd "$(dirname "$0")/.."
program=$1 how=${2:-} kept=bench/board.tsv page=docs/board.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

options() { sed 's/#.*//' "bench/recipes/$1.txt" | tr '\n' ' '; }
# shellcheck disable=SC2086
recipes() { (cd bench/recipes && for r in ${ONLY:-*}; do ls ${r%.txt}.txt 2>/dev/null; done | sed 's/\.txt$//'); }
[ "$(recipes)" ] || { echo "board: no recipe in bench/recipes is named like \"$ONLY\"" >&2; exit 1; }

if [ "$how" = smoke ]; then
    for recipe in $(recipes); do
        # shellcheck disable=SC2046
        said=$($program $(options "$recipe") --steps 2 --threads 1)
        echo "$said" | grep -qE '^1	2	[0-9]+\.[0-9]+	[0-9.]+	[0-9]+	1$' ||
            { echo "board: $recipe says \"$said\"" >&2; exit 1; }
    done
    exit 0
fi

[ -f $kept ] || printf 'recipe\tseed\tsteps\tloss\tseconds\tparameters\tthreads\n' >$kept
seed=0 # in turn, so that recipes that are compared run side by side
while [ $((seed += 1)) -le "${SEEDS:-10}" ]; do
    for recipe in $([ "$how" = check ] || recipes); do
        [ "$how" = again ] || ! grep -q "^$recipe	$seed	" $kept || continue
        # shellcheck disable=SC2046
        line=$($program $(options "$recipe") --seed $seed --threads "${THREADS:-2}")
        grep -v "^$recipe	$seed	" $kept >"$work/kept"
        printf '%s\t%s\n' "$recipe" "$line" >>"$work/kept"
        cp "$work/kept" $kept
        printf '%s\t%s\n' "$recipe" "$line"
    done
done

# table TRACK BASELINE: a line for each recipe of the track, the cheapest that reaches the target first, then the others
table() {
    for recipe in bench/recipes/"$1"_*.txt; do
        printf 'what\t%s\t%s\n' "$(basename "$recipe" .txt)" "$(sed -n '1s/^# //p' "$recipe")"
    done | LC_ALL=C awk -F '\t' -v baseline="$2" '
    $1 == "what" { what[$2] = $3; next }
    ($1 in what) {
        n[$1]++; steps[$1] = $3; sum[$1] += $4; square[$1] += $4 * $4; seconds[$1] += $5; size[$1] = $6
    }
    END {
        if (!n[baseline]) exit # nothing to compare with
        target = sum[baseline] / n[baseline]
        for (r in n) {
            mean = sum[r] / n[r]
            spread = n[r] > 1 ? sprintf(" ± %.4f", sqrt((square[r] - n[r] * mean * mean) / (n[r] - 1))) : ""
            share = seconds[r] / n[r] / (seconds[baseline] / n[baseline])
            reached = r == baseline ? "the target" : mean > target ? "no" : n[r] < 10 || n[baseline] < 10 ? "so far" : "yes"
            printf "%d %.5f\t| `%s` | %s | %d | %d | %.4f%s | %s | %#.3g | %.2f | %d |\n", reached == "no", \
                reached == "no" ? mean : share, r, what[r], steps[r], n[r], mean, spread, reached, \
                seconds[r] / n[r], share, size[r]
        }
    }' - $kept | sort -n -k1,1 -k2,2 | cut -f 2
}

{
    printf '<!-- board: text -->\n'
    head='| recipe | what | steps | seeds | held-out loss | reached | core-s | of the baseline | parameters |'
    rule='|---|---|--:|--:|--:|---|--:|--:|--:|'
    printf '%s\n%s\n' "$head" "$rule"
    table text text_adamw
    printf '<!-- end -->\n<!-- board: names -->\n%s\n%s\n' "$head" "$rule"
    table names names_adam
    printf '<!-- end -->\n'
} >"$work/tables"
if [ "$how" = write ] || [ "$how" = check ]; then
    awk -v tables="$work/tables" '
    BEGIN { while ((getline line <tables) > 0) { if (line ~ /^<!-- board/) k = line; text[k] = text[k] line "\n" } }
    /^<!-- board/ { printf "%s", text[$0]; skip = 1 }
    !skip { print }
    /^<!-- end -->/ { skip = 0 }' $page >"$work/page"
    if [ "$how" = write ]; then
        cp "$work/page" $page
    else
        cmp -s $page "$work/page" || { echo "$page has other figures than $kept: make speedrun WRITE=1" >&2; exit 1; }
    fi
else
    grep '^|' "$work/tables"
fi
