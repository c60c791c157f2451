#!/bin/sh
# check-performance.sh -- does performance.sh fill the tables of a page with the results of benchmarks?
#
# The results are made up, in the format of bench/common/results.h: 1 bench, 2 group, 3 name, 4 who, 5 unit, 6 threads;
# 14 the median, 17 percent of the peak, 20 the ratio to attic.  Their numbers are such that a reader can check each cell.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/results"

# row BENCH GROUP NAME WHO UNIT THREADS MEDIAN PERCENT RATIO
row() {
    printf '%s\t%s\t%s\t%s\t%s\t%s\t9\t1\t1\t1\t1\t1\t.\t%s\t.\t.\t%s\t.\t.\t%s\t.\n' "$@"
}

{
    echo '# processor: Abacus, 2 usable'
    echo '# date: 2001-02-03 04:05 UTC'
    echo '# load: 0.1'
    echo '# peer: torch PyTorch 2'
    row sdpa forward small attic ns 1 999.4 50 1
    row sdpa forward small torch ns 1 1500 40 1.5
    row sdpa forward small torch-compile ns 1 1200 40 1.2
    row sdpa forward large attic ns 1 2000000 20 1
    row sdpa forward large torch ns 1 1000000 40 0.5
    row sdpa forward large torch-compile ns 1 1800000 40 0.9
    row sdpa backward small attic ns 1 99960 80 1
    row sdpa backward small blis ns 1 399840 20 4
    row sdpa forward small attic ns 2 600 30 1
} >"$work/results/sdpa.tsv"
{
    echo '# date: 2001-02-03 05:06 UTC'
    row memory bytes 'T = 8' attic bytes 1 2048 0 1
    row memory share 'T = 8' attic '% of all' 1 12.4 0 1
} >"$work/results/memory.tsv"

cat >"$work/page" <<'EOT'
# A page

<!-- table: machine -->
| | |
|---|---|
| processor | that of last time |
<!-- end -->

Words before <!-- table: rows sdpa --> in a line are no mark.

<!-- table: rows sdpa 1 time percent torch best 2 time -->
| row | time | % | torch | best | two threads |
|---|--:|--:|--:|--:|--:|
| gone | | | | | |
<!-- end -->

<!-- table: names sdpa 1 time blis -->
| name | forward | BLIS | backward | BLIS |
|---|--:|--:|--:|--:|
<!-- end -->

<!-- table: groups sdpa 1 percent torch best -->
| group | % | torch | best |
|---|--:|--:|--:|
<!-- end -->

<!-- table: rows memory 1 value -->
| row | value |
|---|--:|
<!-- end -->

| a table | without marks |
|---|---|
| is | left |
EOT

# Means are geometric: of 1.5 and 0.5 it is 0.87, of 1.2 and 0.5 0.77, of 50 % and 20 % 32 %.
cat >"$work/expected" <<'EOT'
# A page

<!-- table: machine -->
| | |
|---|---|
| date | 2001-02-03 |
| processor | Abacus, 2 usable |
| library | PyTorch 2 |
<!-- end -->

Words before <!-- table: rows sdpa --> in a line are no mark.

<!-- table: rows sdpa 1 time percent torch best 2 time -->
| row | time | % | torch | best | two threads |
|---|--:|--:|--:|--:|--:|
| forward, small | 999 ns | 50 % | 1.50x | 1.20x | 600 ns |
| forward, large | 2.00 ms | 20 % | 0.50x | 0.50x | - |
| backward, small | 100 us | 80 % | - | - | - |
<!-- end -->

<!-- table: names sdpa 1 time blis -->
| name | forward | BLIS | backward | BLIS |
|---|--:|--:|--:|--:|
| small | 999 ns | - | 100 us | 4.00x |
| large | 2.00 ms | - | - | - |
<!-- end -->

<!-- table: groups sdpa 1 percent torch best -->
| group | % | torch | best |
|---|--:|--:|--:|
| forward | 32 % | 0.87x | 0.77x |
| backward | 80 % | - | - |
<!-- end -->

<!-- table: rows memory 1 value -->
| row | value |
|---|--:|
| bytes, T = 8 | 2 KiB |
| share, T = 8 | 12 % |
<!-- end -->

| a table | without marks |
|---|---|
| is | left |
EOT

cp "$work/page" "$work/new"
sh scripts/performance.sh "$work/results" "$work/new"
diff "$work/expected" "$work/new" || { echo "performance.sh: the page is not as expected" >&2; exit 1; }
sh scripts/performance.sh "$work/results" "$work/new"
diff "$work/expected" "$work/new" || { echo "performance.sh: a second time changes the page" >&2; exit 1; }

# Without results of one benchmark the page stays as it is.
rm "$work/results/memory.tsv"
if sh scripts/performance.sh "$work/results" "$work/new" 2>"$work/said"; then
    echo "performance.sh: results are missing, and nothing is said" >&2
    exit 1
fi
grep -q 'no results for "<!-- table: rows memory 1 value -->": make bench BENCH=memory' "$work/said" || { cat "$work/said" >&2; exit 1; }
diff "$work/expected" "$work/new" || { echo "performance.sh: a page without results was changed" >&2; exit 1; }
