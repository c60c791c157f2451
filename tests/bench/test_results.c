/* test_results.c -- what the benchmarks say is what they measured. */
#include "common/results.h"

#include <stdio.h>
#include <unistd.h>

#include "scratch.h"
#include "test.h"

START_TEST(quartiles_lie_between_the_numbers)
{
    double v[5] = {50, 10, 40, 20, 30};
    quartiles q = quartiles_of(v, 5);
    assert_close(q.q1, 20, 0);
    assert_close(q.median, 30, 0);
    assert_close(q.q3, 40, 0);
    q = quartiles_of(v, 4); /* 10 20 30 40: a quarter of the way from 10 to 40 is 17.5 */
    assert_close(q.q1, 17.5, 0);
    assert_close(q.median, 25, 0);
    assert_close(q.q3, 32.5, 0);
    q = quartiles_of(v, 1);
    assert_close(q.q1, 10, 0);
    assert_close(q.q3, 10, 0);
}
END_TEST

static result row(const char *group, const char *who, int threads, double percent, double ratio)
{
    result w = {.bench = "sdpa",
                .name = "(1, 4, 64, 16)",
                .unit = "ns",
                .threads = threads,
                .rounds = 31,
                .x = 64,
                .flop = 1e6,
                .bytes = 2e6,
                .floor = 5,
                .peak = 200,
                .value = {90, 100, 110},
                .percent = {percent, percent, percent},
                .ratio = {ratio, ratio, ratio}};
    snprintf(w.group, sizeof w.group, "%s", group);
    snprintf(w.who, sizeof w.who, "%s", who);
    return w;
}

START_TEST(rows_are_read_as_they_were_written)
{
    const char *path = scratch_file("results");
    results r = {NULL, 0};
    result w = row("causal forward", "torch", 2, 12.5, 1.75), v;
    FILE *f = fopen(path, "w");
    fprintf(f, "# command: bench_sdpa\n");
    results_print(f, &w);
    fclose(f);
    ck_assert(results_read(&r, path));
    ck_assert_int_eq(r.n, 1);
    v = r.row[0];
    ck_assert_str_eq(v.group, "causal forward");
    ck_assert_str_eq(v.name, "(1, 4, 64, 16)");
    ck_assert_str_eq(v.who, "torch");
    ck_assert_int_eq(v.threads, 2);
    assert_close(v.flop, 1e6, 0);
    assert_close(v.value.q1, 90, 0);
    assert_close(v.percent.median, 12.5, 0);
    assert_close(v.ratio.q3, 1.75, 0);
    results_free(&r);
    remove(path);
}
END_TEST

START_TEST(a_line_that_is_no_row_is_noticed)
{
    const char *path = scratch_file("results");
    results r = {NULL, 0};
    FILE *f = fopen(path, "w");
    fprintf(f, "sdpa\tcausal\t3\n");
    fclose(f);
    ck_assert(!results_read(&r, path));
    ck_assert(!results_read(&r, "/no/such/file"));
    results_free(&r);
    remove(path);
}
END_TEST

START_TEST(means_are_geometric_and_of_the_rows_asked_for)
{
    results r = {NULL, 0};
    quartiles percent, ratio;
    results_add(&r, row("full", "attic", 1, 20, 1));
    results_add(&r, row("full", "attic", 1, 80, 1));
    results_add(&r, row("causal", "attic", 1, 10, 1));
    results_add(&r, row("full", "torch", 1, 10, 2));
    results_add(&r, row("full", "torch", 1, 10, 8));
    results_add(&r, row("full", "attic", 2, 5, 1));
    ck_assert_int_eq(results_mean(&r, "full", "attic", 1, &percent, &ratio), 2);
    assert_close(percent.median, 40, 1e-12); /* sqrt(20 80) */
    ck_assert_int_eq(results_mean(&r, "full", "torch", 1, &percent, &ratio), 2);
    assert_close(ratio.q3, 4, 1e-12); /* sqrt(2 8) */
    ck_assert_int_eq(results_mean(&r, "causal", "torch", 1, &percent, &ratio), 0);
    results_free(&r);
}
END_TEST

START_TEST(a_list_holds_whole_names)
{
    ck_assert(is_listed("blis", "openblas,blis,onednn"));
    ck_assert(is_listed("onednn", "openblas,blis,onednn"));
    ck_assert(!is_listed("blas", "openblas,blis,onednn"));
    ck_assert(!is_listed("open", "openblas"));
    ck_assert(!is_listed("anything", ""));
}
END_TEST

SUITE(bench_results, quartiles_lie_between_the_numbers, rows_are_read_as_they_were_written,
      a_line_that_is_no_row_is_noticed, means_are_geometric_and_of_the_rows_asked_for,
      a_list_holds_whole_names)
