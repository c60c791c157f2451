/* test_sample.c -- drawing symbols: the extremes are certain, the middle has the right odds. */
#include "train/sample.h"

#include <math.h>

#include "tensors.h"

static const double odds_1_2_5[] = {0, 0.6931471805599453, 1.6094379124341003}; /* log of 1, 2, 5 */

/* How often each of three symbols is drawn in 20000 tries. */
static void draw_many(at_sample_args args, double share[3])
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *logits = at_const(t, at_shape_of(3), odds_1_2_5);
    share[0] = share[1] = share[2] = 0;
    for (uint64_t i = 0; i < 20000; i++)
        share[at_sample(logits, 0, 3, args, (at_stream){7, 0}, i)] += 1 / 20000.0;
    at_close(t);
}

START_TEST(temperature_0_takes_the_most_likely)
{
    double share[3];
    draw_many((at_sample_args){.temperature = 0}, share);
    assert_close(share[2], 1, 1e-9);
}
END_TEST

START_TEST(temperature_1_draws_by_the_softmax)
{
    double share[3];
    draw_many((at_sample_args){.temperature = 1}, share);
    assert_close(share[0], 1 / 8.0, 0.01);
    assert_close(share[1], 2 / 8.0, 0.01);
    assert_close(share[2], 5 / 8.0, 0.01);
}
END_TEST

START_TEST(temperature_2_takes_the_square_root_of_the_odds)
{
    double share[3], total = 1 + sqrt(2) + sqrt(5);
    draw_many((at_sample_args){.temperature = 2}, share);
    assert_close(share[0], 1 / total, 0.015);
    assert_close(share[2], sqrt(5) / total, 0.015);
}
END_TEST

START_TEST(top_k_drops_the_unlikely_and_keeps_the_odds_of_the_rest)
{
    double share[3];
    draw_many((at_sample_args){.temperature = 1, .top_k = 2}, share);
    assert_close(share[0], 0, 0);
    assert_close(share[1], 2 / 7.0, 0.015);
}
END_TEST

START_TEST(top_p_keeps_the_fewest_that_reach_p)
{
    double share[3];
    draw_many((at_sample_args){.temperature = 1, .top_p = 0.6}, share); /* 5/8 suffices */
    assert_close(share[2], 1, 1e-9);
    draw_many((at_sample_args){.temperature = 1, .top_p = 0.7}, share);
    assert_close(share[0], 0, 0);
    assert_close(share[1], 2 / 7.0, 0.015);
}
END_TEST

START_TEST(equal_logits_are_all_reachable)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *logits = at_const(t, at_shape_of(4), NULL);
    int seen[4] = {0};
    for (uint64_t i = 0; i < 200; i++)
        seen[at_sample(logits, 0, 4, (at_sample_args){.temperature = 1}, (at_stream){3, 0}, i)]++;
    for (int i = 0; i < 4; i++) ck_assert_int_gt(seen[i], 20);
    at_close(t);
}
END_TEST

static const at_sample_args plainly = {.temperature = 1};

static void refuse_sample(const double *logits, at_sample_args args, const char *message)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(3), logits);
    ck_assert_int_eq(at_sample(x, 0, 3, args, (at_stream){0}, 0), -1);
    assert_error(t, message);
    at_close(t);
}

START_TEST(logits_without_a_distribution_are_refused)
{
    const double inf = (double)INFINITY;
    const at_sample_args surely = {.temperature = 0};
    refuse_sample((double[]){1, (double)NAN, 2}, plainly, "sample: logit 1 is NaN");
    refuse_sample((double[]){-inf, -inf, -inf}, surely,
                  "sample: the largest logit, 0, is -inf: there is no distribution");
    refuse_sample((double[]){1, 2, inf}, plainly,
                  "sample: the largest logit, 2, is inf: there is no distribution");
}
END_TEST

START_TEST(options_that_make_no_sense_are_refused)
{
    refuse_sample(NULL, (at_sample_args){.temperature = -1},
                  "sample: temperature is -1, but must be finite and >= 0");
    refuse_sample(NULL, (at_sample_args){.temperature = (double)NAN},
                  "sample: temperature is nan, but must be finite and >= 0");
    refuse_sample(NULL, (at_sample_args){.temperature = 1, .top_p = -0.5},
                  "sample: top_p is -0.5, but must be in 0..1 (0 means off)");
    refuse_sample(NULL, (at_sample_args){.temperature = 1, .top_p = (double)NAN},
                  "sample: top_p is nan, but must be in 0..1 (0 means off)");
    refuse_sample(NULL, (at_sample_args){.temperature = 1, .top_p = 1.5},
                  "sample: top_p is 1.5, but must be in 0..1 (0 means off)");
    refuse_sample(NULL, (at_sample_args){.temperature = 1, .top_k = -1},
                  "sample: top_k is -1, but must be >= 0 (0 means off)");
}
END_TEST

START_TEST(there_must_be_as_many_logits_as_are_drawn_from)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(3), NULL);
    const ptrdiff_t first[] = {-1, 1, PTRDIFF_MAX};
    const int n[] = {3, 3, 1};
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(at_sample(x, first[i], n[i], plainly, (at_stream){0}, 0), -1);
        ck_assert(strstr(at_error(t), "sample: logits is [3], which has no ") == at_error(t));
        at_clear_error(t);
    }
    const char *empty = "sample: to draw one of 0 elements of logits [3,0] is not possible";
    at_tensor *y = at_const(t, at_shape_of(3, 0), NULL);
    ck_assert_int_eq(at_sample(y, 0, 0, plainly, (at_stream){0}, 0), -1);
    assert_error(t, empty);
    at_clear_error(t);
    ck_assert_int_eq(at_sample_row(y, 0, plainly, (at_stream){0}, 0), -1);
    assert_error(t, empty);
    at_close(t);
}
END_TEST

START_TEST(a_row_is_counted_from_either_end)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const double values[] = {0, 1, 2, 9, 3, 4, 5, 7, 6, 5, 8, 3}; /* the largest: 2 0 1 1 */
    at_tensor *x = at_const(t, at_shape_of(2, 2, 3), values);
    const int largest[] = {2, 0, 1, 1};
    for (int row = 0; row < 4; row++) {
        const at_sample_args first = {.temperature = 0};
        ck_assert_int_eq(at_sample_row(x, row, first, (at_stream){0}, 0), largest[row]);
        ck_assert_int_eq(at_sample_row(x, row - 4, first, (at_stream){0}, 0), largest[row]);
        for (uint64_t i = 0; i < 20; i++)
            ck_assert_int_eq(at_sample_row(x, row, plainly, (at_stream){1, 2}, i),
                             at_sample(x, 3 * row, 3, plainly, (at_stream){1, 2}, i));
    }
    const ptrdiff_t none[] = {4, -5, PTRDIFF_MAX, PTRDIFF_MIN};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(at_sample_row(x, none[i], plainly, (at_stream){0}, 0), -1);
        ck_assert(strstr(at_error(t), "sample: logits is [2,2,3], which has no row ") ==
                  at_error(t));
        at_clear_error(t);
    }
    ck_assert_int_eq(
        at_sample_row(at_const(t, at_shape_of(0, 3), NULL), -1, plainly, (at_stream){0}, 0), -1);
    assert_error(t, "sample: logits is [0,3], which has no row -1");
    ck_assert_int_eq(at_sample_row(x, 0, plainly, (at_stream){0}, 0), -1); /* after an error */
    ck_assert_int_eq(at_sample_row(NULL, 0, plainly, (at_stream){0}, 0), -1);
    at_close(t);
}
END_TEST

START_TEST(after_an_error_nothing_is_drawn)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(3), NULL);
    ck_assert_int_eq(at_sample(at_exp(t, NULL), 0, 3, plainly, (at_stream){0}, 0), -1);
    ck_assert_int_eq(at_sample(x, 0, 3, plainly, (at_stream){0}, 0), -1);
    at_close(t);
}
END_TEST

START_TEST(logits_that_a_backward_reused_are_refused)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_reuse_memory(t, true);
    at_tensor *x = at_variable(t, at_shape_of(3), NULL), *y = at_exp(t, x);
    at_backward(t, at_sum(t, y));
    ck_assert_int_eq(at_sample(y, 0, 3, plainly, (at_stream){0}, 0), -1);
    assert_error(
        t, "sample: the memory of logits [3] was reused by a backward (at_reuse_memory is on)");
    at_close(t);
}
END_TEST

SUITE(train_sample, temperature_0_takes_the_most_likely, temperature_1_draws_by_the_softmax,
      temperature_2_takes_the_square_root_of_the_odds,
      top_k_drops_the_unlikely_and_keeps_the_odds_of_the_rest, top_p_keeps_the_fewest_that_reach_p,
      equal_logits_are_all_reachable, logits_without_a_distribution_are_refused,
      options_that_make_no_sense_are_refused, there_must_be_as_many_logits_as_are_drawn_from,
      a_row_is_counted_from_either_end, after_an_error_nothing_is_drawn,
      logits_that_a_backward_reused_are_refused)
