/* test_gradients.c -- the gradients of a file are taken for what they are, in every layout and dtype,
 * and what the file does not tell is asked. */
#include "gradients.h"

#include <math.h>
#include <string.h>

#include "course/given.h"
#include "test.h"

static const steps_problem small = {.H = 4, .G = 2, .T = 5, .N = 7, .D = 3, .Dv = 2};
static const steps_problem square = {.H = 2, .G = 2, .T = 6, .N = 6, .D = 3, .Dv = 3};
static const gradients_choice no_choice = {.layout = LAYOUT_ASK};
static gradients_report r;

static void judge(const given *g, gradients_choice choice, gradients_kind kind)
{
    static const char *const names[] = {"right", "wrong", "asked", "refused"};
    ck_assert(gradients_judge(&g->file, &choice, &r));
    ck_assert_msg(r.kind == kind, "%s, not %s: %s %s", names[r.kind], names[kind], r.message,
                  r.of[GRADIENTS_DQ].v.arithmetic);
}

/* Puts a mistake into one element of the batch. */
static void break_one(given *g, int b, mistake m)
{
    ck_assert(mistakes_backward(g->a[b], m));
    given_write(g);
}

static void assert_named(int k, mistake m)
{
    ck_assert_msg(r.of[k].v.named.has[m], "%s is not named \"%s\": %s",
                  steps_texts[gradients_names[k]].name, mistakes_texts[m].name, r.of[k].v.where);
}

/* ------------------------------------------------------------------ shapes --------------------- */

START_TEST(two_three_and_four_axes_are_heads_and_batches)
{
    static const steps_problem one = {.H = 1, .G = 1, .T = 5, .N = 7, .D = 3, .Dv = 2};
    for (int axes = 2; axes <= 4; axes++) {
        given *g = given_open(1, axes == 4 ? 2 : 1, axes == 2 ? &one : &small);
        g->axes = axes;
        given_write(g);
        judge(g, no_choice, GRADIENTS_RIGHT);
        ck_assert_int_eq(r.T, 5);
        ck_assert_int_eq(r.H, axes == 2 ? 1 : 4);
        ck_assert_int_eq(r.B, axes == 4 ? 2 : 1);
        given_close(g);
    }
}
END_TEST

START_TEST(queries_may_stand_before_heads)
{
    given *g = given_open(2, 2, &small);
    g->layout = LAYOUT_BTHD;
    given_write(g);
    judge(g, no_choice, GRADIENTS_RIGHT); /* 5 queries as heads do not share 7 keys */
    ck_assert_int_eq(r.H, 4);
    break_one(g, 0, MISTAKE_NO_DELTA);
    judge(g, no_choice, GRADIENTS_WRONG);
    assert_named(GRADIENTS_DQ, MISTAKE_NO_DELTA);
    given_close(g);
}
END_TEST

START_TEST(where_two_layouts_fit_it_asks)
{
    given *g = given_open(3, 2, &square);
    given_write(g);
    judge(g, no_choice, GRADIENTS_ASKED);
    ck_assert_msg(strstr(r.message, "2 heads and 6 queries (--layout=bhtd)") &&
                      strstr(r.message, "6 heads and 2 queries (--layout=bthd)"),
                  "%s", r.message);
    judge(g, (gradients_choice){.layout = LAYOUT_BHTD}, GRADIENTS_RIGHT);
    judge(g, (gradients_choice){.layout = LAYOUT_BTHD}, GRADIENTS_WRONG);
    given_number(g, "kv_heads", 2);
    judge(g, no_choice, GRADIENTS_RIGHT);
    given_close(g);
}
END_TEST

START_TEST(shapes_that_do_not_fit_are_refused)
{
    given *g = given_open(4, 1, &small);
    const double values[64] = {0};
    g->axes = 3;
    given_write(g);
    g->file.of[5].x = at_const(g->t, at_shape_of(4, 3, 5), values); /* dQ */
    judge(g, no_choice, GRADIENTS_REFUSED);
    ck_assert_msg(strstr(r.message, "dQ is [4,3,5], which does not fit Q [4,5,3]"), "%s",
                  r.message);
    given_write(g);
    given_add(g, "mask", at_shape_of(7, 5), values);
    judge(g, no_choice, GRADIENTS_REFUSED);
    ck_assert_msg(strstr(r.message, "mask is [7,5]"), "%s", r.message);
    given_close(g);
}
END_TEST

START_TEST(what_is_missing_unknown_or_not_finite_is_refused)
{
    given *g = given_open(5, 1, &small);
    given_write(g);
    given_number(g, "attn_mask", 1);
    judge(g, no_choice, GRADIENTS_REFUSED);
    ck_assert_msg(strstr(r.message, "\"attn_mask\" is none of"), "%s", r.message);
    given_write(g);
    g->file.of[3].name = "scale"; /* dO */
    judge(g, no_choice, GRADIENTS_REFUSED);
    ck_assert_str_eq(r.message, "there is no dO");
    given_write(g);
    g->file.n = 5;
    judge(g, no_choice, GRADIENTS_REFUSED);
    ck_assert_str_eq(r.message, "there is none of dQ, dK and dV to judge");
    g->a[0]->at[STEPS_K][4] = (double)NAN;
    given_write(g);
    judge(g, no_choice, GRADIENTS_REFUSED);
    ck_assert_str_eq(r.message, "K: element 4 is nan");
    given_close(g);
}
END_TEST

/* ------------------------------------------------------------------ masks ---------------------- */

START_TEST(a_causal_mask_that_is_not_square_has_two_corners)
{
    given *g = given_open(6, 1, &small);
    for (int shift = 0; shift <= 2; shift += 2) {
        given_causal(g, shift);
        given_write(g);
        given_number(g, "causal", 1);
        judge(g, no_choice, GRADIENTS_ASKED);
        ck_assert_msg(strstr(r.message, "up to i +2"), "%s", r.message);
        judge(g, (gradients_choice){.corner = CORNER_TOP_LEFT},
              shift ? GRADIENTS_WRONG : GRADIENTS_RIGHT);
        judge(g, (gradients_choice){.corner = CORNER_BOTTOM_RIGHT},
              shift ? GRADIENTS_RIGHT : GRADIENTS_WRONG);
    }
    given_close(g);
}
END_TEST

START_TEST(one_in_a_mask_is_attended_to_and_reals_are_added)
{
    given *g = given_open(7, 2, &small);
    given_causal(g, 1);
    given_write(g);
    given_mask(g);
    judge(g, no_choice, GRADIENTS_RIGHT);
    double added[35];
    for (int e = 0; e < 35; e++) added[e] = g->a[0]->at[STEPS_KEEP][e] != 0 ? 0 : -(double)INFINITY;
    g->file.n--;
    given_add(g, "mask", at_shape_of(5, 7), added);
    judge(g, no_choice, GRADIENTS_RIGHT);
    added[0] = 0.5;
    g->file.n--;
    given_add(g, "mask", at_shape_of(5, 7), added);
    judge(g, no_choice, GRADIENTS_WRONG);
    for (int e = 0; e < 35; e++) added[e] = g->a[0]->at[STEPS_KEEP][e];
    g->file.n--;
    given_add(g, "mask", at_shape_of(5, 7), added);
    judge(g, no_choice, GRADIENTS_ASKED);
    given_close(g);
}
END_TEST

START_TEST(a_mask_may_differ_between_heads)
{
    steps_problem with_bias = small;
    with_bias.bias_H = 4, with_bias.bias_T = 5, with_bias.bias_N = 7;
    given *g = given_open(8, 1, &with_bias);
    for (int e = 0; e < 140; e++)
        g->a[0]->at[STEPS_BIAS][e] = e % 7 == e / 35 ? -(double)INFINITY : e % 3;
    steps_forward(g->a[0], STEPS_R);
    steps_backward(g->a[0]);
    given_write(g);
    given_add(g, "mask", at_shape_of(1, 4, 5, 7), g->a[0]->at[STEPS_BIAS]);
    judge(g, no_choice, GRADIENTS_RIGHT);
    break_one(g, 0, MISTAKE_NO_SCALE_DK);
    given_add(g, "mask", at_shape_of(1, 4, 5, 7), g->a[0]->at[STEPS_BIAS]);
    judge(g, no_choice, GRADIENTS_WRONG);
    assert_named(GRADIENTS_DK, MISTAKE_NO_SCALE_DK);
    given_close(g);
}
END_TEST

/* ------------------------------------------------------------------ verdicts ------------------- */

START_TEST(a_mistake_in_one_element_of_the_batch_is_named_there)
{
    given *g = given_open(9, 3, &small);
    break_one(g, 1, MISTAKE_NO_DELTA);
    judge(g, no_choice, GRADIENTS_WRONG);
    assert_named(GRADIENTS_DQ, MISTAKE_NO_DELTA);
    assert_named(GRADIENTS_DK, MISTAKE_NO_DELTA);
    ck_assert_int_eq(r.of[GRADIENTS_DQ].batch, 1);
    ck_assert_int_eq(r.of[GRADIENTS_DQ].wrong, 1);
    ck_assert_int_eq(r.of[GRADIENTS_DV].wrong, 0);
    ck_assert_msg(strstr(r.look, "dV is right, so P and dO are"), "%s", r.look);
    ck_assert(r.all.has[MISTAKE_NO_DELTA]);
    ck_assert_msg(strstr(r.of[GRADIENTS_DQ].v.arithmetic, ", you have "), "%s",
                  r.of[GRADIENTS_DQ].v.arithmetic);
    given_close(g);
}
END_TEST

START_TEST(many_heads_are_judged_in_groups)
{
    const steps_problem p = {.H = 4, .G = 2, .T = 9, .N = 9, .D = 3, .Dv = 2};
    given *g = given_open(10, 2, &p);
    given_write(g);
    double *dK = (double *)g->file.of[6].x->data; /* [2,2,9,3] */
    dK[((ptrdiff_t)1 * 2 + 1) * 27 + 5] += 0.25;
    judge(g, (gradients_choice){.layout = LAYOUT_BHTD, .named = 200}, GRADIENTS_WRONG);
    ck_assert_int_eq(r.heads, 2);
    ck_assert_int_eq(r.parts, 4);
    ck_assert_int_eq(r.of[GRADIENTS_DK].batch, 1);
    ck_assert_int_eq(r.of[GRADIENTS_DK].head, 2);
    ck_assert_str_eq(r.of[GRADIENTS_DK].v.where, "only in row k1, column d2 (the last)");
    judge(g, (gradients_choice){.layout = LAYOUT_BHTD, .named = 100}, GRADIENTS_WRONG);
    ck_assert(!r.named);
    given_close(g);
}
END_TEST

START_TEST(halves_are_judged_by_their_own_unit)
{
    static const struct {
        int digits;
        const char *dtype;
    } half[] = {{8, "bf16"}, {11, "f16"}, {24, "f32"}, {53, "f64"}};
    for (int k = 0; k < 4; k++) {
        given *g = given_open(11, 2, &small);
        given_round(g, half[k].digits);
        given_write(g);
        judge(g, no_choice, GRADIENTS_RIGHT);
        ck_assert_str_eq(r.dtype, half[k].dtype);
        assert_close(r.unit, exp2(-half[k].digits), 0);
        ((double *)g->file.of[5].x->data)[0] += 1e-5; /* then it is no half */
        judge(g, no_choice, GRADIENTS_WRONG);
        ck_assert_str_eq(r.dtype, "f64");
        given_close(g);
    }
}
END_TEST

/* 1/8 and 2 would fit into bf16, and so would a wrong 2.1. */
START_TEST(small_numbers_are_not_taken_for_halves)
{
    given *g = given_open(12, 1, &small);
    given_write(g);
    for (int k = 5; k < 8; k++)
        for (ptrdiff_t e = 0; e < at_count(g->file.of[k].x->shape); e++)
            ((double *)g->file.of[k].x->data)[e] = (double)(e % 5) / 8;
    judge(g, no_choice, GRADIENTS_WRONG);
    ck_assert_str_eq(r.dtype, "f64");
    given_close(g);
}
END_TEST

START_TEST(mistakes_in_halves_are_named)
{
    static const mistake m[] = {MISTAKE_NO_DELTA, MISTAKE_SIGN, MISTAKE_NO_P, MISTAKE_GROUP_LAST};
    static const int in[] = {GRADIENTS_DQ, GRADIENTS_DQ, GRADIENTS_DQ, GRADIENTS_DV};
    for (int k = 0; k < 8; k++) {
        given *g = given_open(13, 1, &small);
        ck_assert(mistakes_backward(g->a[0], m[k / 2]));
        given_round(g, k % 2 ? 8 : 11);
        given_write(g);
        judge(g, no_choice, GRADIENTS_WRONG);
        assert_named(in[k / 2], m[k / 2]);
        given_close(g);
    }
}
END_TEST

START_TEST(right_gradients_of_another_setting_are_recognised)
{
    given *g = given_open(14, 1, &square);
    const gradients_choice bhtd = {.layout = LAYOUT_BHTD};
    given_causal(g, 0);
    given_write(g);
    judge(g, bhtd, GRADIENTS_WRONG);
    ck_assert_str_eq(r.instead, "with a causal mask");
    ck_assert_msg(strncmp(r.look, "O is wrong, too", 15) == 0, "%s", r.look);
    given_number(g, "scale", 0.75);
    judge(g, bhtd, GRADIENTS_WRONG);
    ck_assert_str_eq(r.instead, "with a causal mask and with a scale of 1/sqrt(D)");
    break_one(g, 0, MISTAKE_NO_DELTA);
    judge(g, bhtd, GRADIENTS_WRONG);
    ck_assert_str_eq(r.instead, "");
    given_close(g);
}
END_TEST

START_TEST(products_in_tf32_are_recognised)
{
    given *g = given_open(16, 1, &small);
    for (int k = GRADIENTS_DQ; k <= GRADIENTS_DV; k++)
        for (ptrdiff_t e = 0; e < steps_size(g->a[0], gradients_names[k]); e++)
            g->a[0]->at[gradients_names[k]][e] *= 1 + 3e-4 * (double)(e % 3 - 1);
    given_write(g);
    judge(g, no_choice, GRADIENTS_WRONG);
    ck_assert_msg(strstr(r.look, "the digits of TF32 and f16"), "%s", r.look);
    break_one(g, 0, MISTAKE_NO_DELTA);
    judge(g, no_choice, GRADIENTS_WRONG);
    ck_assert_msg(!strstr(r.look, "digits"), "%s", r.look);
    given_close(g);
}
END_TEST

START_TEST(nan_is_located)
{
    given *g = given_open(15, 1, &small);
    steps_cell(g->a[0], STEPS_DQ, 2, 3, 0)[1] = (double)NAN;
    given_write(g);
    judge(g, no_choice, GRADIENTS_WRONG);
    ck_assert_int_eq(r.of[GRADIENTS_DQ].v.kind, VERDICT_NOT_WRITTEN);
    ck_assert_str_eq(r.of[GRADIENTS_DQ].v.where, "only in head h2, row q3, column d1");
    given_close(g);
}
END_TEST

SUITE(course_gradients, two_three_and_four_axes_are_heads_and_batches,
      queries_may_stand_before_heads, where_two_layouts_fit_it_asks,
      shapes_that_do_not_fit_are_refused, what_is_missing_unknown_or_not_finite_is_refused,
      a_causal_mask_that_is_not_square_has_two_corners,
      one_in_a_mask_is_attended_to_and_reals_are_added, a_mask_may_differ_between_heads,
      a_mistake_in_one_element_of_the_batch_is_named_there, many_heads_are_judged_in_groups,
      halves_are_judged_by_their_own_unit, small_numbers_are_not_taken_for_halves,
      mistakes_in_halves_are_named, right_gradients_of_another_setting_are_recognised,
      products_in_tf32_are_recognised, nan_is_located)
