/* test_races.c -- what gives other values when it runs again is told from what is rounded. */
#include "gradcheck/gradcheck.h"

#include <math.h>
#include <string.h>

#include "kernels/rng.h"
#include "test.h"

enum { N = 16, CHECKS = 300 };

/* y = tanh(x) in float; in a share of the runs something is not as it should be. */
typedef struct {
    double wrong_forward, wrong_backward; /* shares */
    bool any_order;                       /* sums are added up in another order each time */
    uint64_t seed, runs;
    uint64_t last_right; /* from this run on forward gives other values; 0: it doesn't */
} spoilt;

static bool happens(spoilt *s, double share)
{
    return at_random_unit((at_stream){s->seed, 0}, s->runs++) < share;
}

static void tanh_of(const float *x, float *y, void *ctx)
{
    spoilt *s = ctx;
    for (int i = 0; i < N; i++) y[i] = tanhf(x[i]);
    if (happens(s, s->wrong_forward)) y[5] *= 2;
    if (s->last_right && s->runs > s->last_right) y[7] += 1;
}

static void tanh_back(const float *x, const float *dy, float *dx, void *ctx)
{
    spoilt *s = ctx;
    for (int i = 0; i < N; i++) dx[i] = dy[i] * (1 - tanhf(x[i]) * tanhf(x[i]));
    if (happens(s, s->wrong_backward)) dx[3] *= 2;
}

/* y_0 = sum x_i^2 and its gradient, the terms in the order in which threads are done */
static void sum_of(const float *x, float *y, void *ctx)
{
    spoilt *s = ctx;
    int first = s->any_order ? (int)(N * at_random_unit((at_stream){s->seed, 0}, s->runs++)) : 0;
    y[0] = 0;
    for (int i = 0; i < N; i++) y[0] += x[(first + i) % N] * x[(first + i) % N];
}

static void sum_back(const float *x, const float *dy, float *dx, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < N; i++) dx[i] = 2 * x[i] * dy[0];
}

static void draw(uint64_t seed, float *x)
{
    for (int i = 0; i < N; i++) x[i] = (float)at_random_normal((at_stream){seed, 9}, (uint64_t)i);
}

static at_gradcheck_report check(spoilt s, at_gradcheck_options options)
{
    float x[N];
    draw(s.seed, x);
    return at_gradcheck_fn_f32(tanh_of, tanh_back, N, N, x, &s, options);
}

static int races_found(spoilt s, at_gradcheck_options options)
{
    int found = 0;
    for (s.seed = 1; s.seed <= CHECKS; s.seed++) {
        at_gradcheck_report r = check(s, options);
        ck_assert_msg(r.verdict == ATTIC_RACE || r.differ == 0, "%s: %s",
                      at_verdict_text(r.verdict), r.reason);
        found += r.verdict == ATTIC_RACE;
    }
    return found;
}

/* 0.95^96 = 0.7 % of the checks miss it.  More than 9 of 300 do in one of 5,000 such tests. */
START_TEST(a_backward_that_is_wrong_in_5_percent_of_its_runs_is_a_race)
{
    ck_assert_int_ge(races_found((spoilt){.wrong_backward = 0.05}, (at_gradcheck_options){0}),
                     CHECKS - 9);
}
END_TEST

START_TEST(a_forward_that_is_wrong_in_5_percent_of_its_runs_is_a_race)
{
    at_gradcheck_options along = {.directions = 1};
    ck_assert_int_ge(races_found((spoilt){.wrong_forward = 0.05}, along), CHECKS - 9);
}
END_TEST

START_TEST(a_race_is_told_by_how_often_and_where)
{
    at_gradcheck_report r =
        check((spoilt){.wrong_backward = 0.1, .seed = 3}, (at_gradcheck_options){0});
    ck_assert_int_eq(r.verdict, ATTIC_RACE);
    ck_assert_str_eq(r.where, "x[3]");
    ck_assert_ptr_nonnull(strstr(r.reason, "backward gives other values when it runs again, in "));
    ck_assert_ptr_nonnull(strstr(r.reason, " of 88 pairs of runs: "));
    ck_assert(r.differ > 4 && r.differ < 40);
    double ratio = r.analytic / r.numeric;
    ck_assert(ratio == 2 || ratio == 0.5);
}
END_TEST

START_TEST(what_is_the_same_each_time_is_no_race)
{
    at_gradcheck_report r = check((spoilt){.seed = 4}, (at_gradcheck_options){.directions = 3});
    ck_assert_int_eq(r.verdict, ATTIC_PASS);
    ck_assert_int_eq(r.pairs, 2 * 8 * 11 + 2);
    ck_assert_int_eq(r.differ, 0);
}
END_TEST

/* Running 96 times and no more: a mistake that comes after that is there at the end. */
START_TEST(what_changes_during_the_check_is_noticed_at_its_end)
{
    at_gradcheck_report r =
        check((spoilt){.seed = 5, .last_right = 600}, (at_gradcheck_options){0});
    ck_assert_int_eq(r.verdict, ATTIC_RACE);
    ck_assert_str_eq(r.where, "y[7]");
    ck_assert_ptr_nonnull(strstr(r.reason, "forward gives other values at the end of the check"));
}
END_TEST

START_TEST(a_sum_in_another_order_each_time_is_rounded_otherwise_and_right)
{
    spoilt s = {.any_order = true, .seed = 6};
    float x[N];
    draw(s.seed, x);
    at_gradcheck_report r =
        at_gradcheck_fn_f32(sum_of, sum_back, N, 1, x, &s, (at_gradcheck_options){0});
    ck_assert_msg(r.verdict == ATTIC_PASS, "%s: %s", at_verdict_text(r.verdict), r.reason);
    ck_assert(r.differ > 20 && r.ulps >= 1 && r.ulps < 20);
    s.any_order = false;
    r = at_gradcheck_fn_f32(sum_of, sum_back, N, 1, x, &s, (at_gradcheck_options){0});
    ck_assert_int_eq(r.differ, 0);
    ck_assert(r.ulps == 0);
}
END_TEST

START_TEST(how_often_it_runs_can_be_chosen)
{
    spoilt rare = {.wrong_backward = 0.05};
    int few = races_found(rare, (at_gradcheck_options){.runs = 2, .directions = 1});
    ck_assert_msg(few > CHECKS / 4 && few < 3 * CHECKS / 4, "%d", few);
    at_gradcheck_report r = check(rare, (at_gradcheck_options){.runs = -1});
    ck_assert_int_eq(r.verdict, ATTIC_NOT_RUN);
    ck_assert_str_eq(r.reason, "runs is -1, but must be 0 to 1000");
}
END_TEST

SUITE(gradcheck_races, a_backward_that_is_wrong_in_5_percent_of_its_runs_is_a_race,
      a_forward_that_is_wrong_in_5_percent_of_its_runs_is_a_race,
      a_race_is_told_by_how_often_and_where, what_is_the_same_each_time_is_no_race,
      what_changes_during_the_check_is_noticed_at_its_end,
      a_sum_in_another_order_each_time_is_rounded_otherwise_and_right,
      how_often_it_runs_can_be_chosen)
