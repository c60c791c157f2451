/* test_identities.c -- attention checks its own backward: the identities hold, and can fail. */
#include "attention/operands.h"

#include <math.h>
#include <string.h>

#include "attention/sdpa_run.h"
#include "tensors.h"

/* ------------------------------------------------------------------ they hold ------------------ */

/* Problem `seed` forward and backward, with checks or without. */
static sdpa_run run_problem(at_tape *t, const sdpa_problem *p, at_sdpa_path path, bool checked)
{
    at_check_attention(t, checked);
    return sdpa_run_on(t, p, path);
}

static void expect_identities(int seed, sdpa_size size, at_sdpa_path path)
{
    sdpa_problem p = sdpa_draw(seed, size);
    for (at_tape *t = NULL; next_tape(&t);) run_problem(t, &p, path, true);
}

START_TEST(the_identities_hold_for_every_option)
{
    for (int seed = 0; seed < sdpa_some(280); seed++)
        for (int path = ATTIC_FUSED; path <= ATTIC_PLAIN; path++)
            expect_identities(seed, SDPA_SMALL, path);
}
END_TEST

START_TEST(the_identities_hold_over_many_tiles)
{
    for (int seed = 200; seed < 200 + sdpa_some(18); seed++)
        for (int path = ATTIC_FUSED; path <= ATTIC_PLAIN; path++)
            expect_identities(seed, SDPA_TILES, path);
    for (int seed = 200; seed < 200 + sdpa_some(2); seed++)
        expect_identities(seed, SDPA_LARGE, ATTIC_FUSED);
}
END_TEST

/* Self-attention of `rows` rows of four numbers made by f, with a cotangent c times as large. */
static void expect_on(double (*f)(int i), int rows, double c, at_sdpa_args a)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_check_attention(t, true);
        at_tensor *x[4];
        for (int k = 0; k < 4; k++) {
            x[k] = at_variable(t, at_shape_of(rows, 4), NULL);
            for (int i = 0; i < 4 * rows; i++)
                at_store(x[k]->dtype, x[k]->data, i, (k == 3 ? c : 1) * f(4 * rows * k + i));
        }
        at_backward_from(t, at_sdpa(t, x[0], x[1], x[2], a), x[3]);
        ck_assert_msg(at_ok(t), "%s", at_error(t));
    }
}

static double all_alike(int i)
{
    (void)i;
    return 1;
}
static double nearly_alike(int i)
{
    return 100 + sin(i);
}
static double opposite(int i)
{
    return i % 2 ? -1 : 1;
}
static double enormous(int i)
{
    return 40 * sin(i);
}
static double tiny(int i)
{
    return 1e-12 * sin(i);
}
static double a_few_large(int i)
{
    return i % 13 ? 1e-3 * cos(i) : 60;
}

/* Where nearly everything cancels, what is left is rounding errors, and these must not be judged by it. */
START_TEST(cancellation_breaks_nothing)
{
    double (*const f[])(int) = {all_alike, nearly_alike, opposite, enormous, tiny, a_few_large};
    for (int k = 0; k < 6; k++)
        for (int path = ATTIC_FUSED; path <= ATTIC_PLAIN; path++) {
            expect_on(f[k], 40, 1, (at_sdpa_args){.path = path});
            expect_on(f[k], 300, 1, (at_sdpa_args){.path = path, .causal = true, .scale = 1});
            expect_on(f[k], 40, 1e-30, (at_sdpa_args){.path = path, .softcap = 2});
            expect_on(f[k], 40, 1e30, (at_sdpa_args){.path = path, .dropout = 0.4});
            expect_on(f[k], 9, 1e-41, (at_sdpa_args){.path = path});
        }
}
END_TEST

/* ------------------------------------------------------------------ they do no harm ------------ */

static at_tensor *times(at_tape *t, at_tensor *x, double size)
{
    for (int i = 0; i < at_count(x->shape); i++)
        at_store(x->dtype, x->data, i, size * at_element(x, i));
    return variable_like(t, x);
}

/* Values and a cotangent so small that products of them are denormal, or 0; sometimes one of the two is large. */
static void expect_on_tiny(at_dtype real, int seed, at_sdpa_path path)
{
    const double smallest = real == ATTIC_F32 ? 1e-45 : 5e-324, dropout[] = {0, 0.9, 0.999};
    const int T = 1 + seed % 50, S = 1 + seed / 3 % 200, D = 1 + seed % 7, Dv = 1 + seed % 40;
    at_tape *t = at_open(real, (uint64_t)seed);
    at_check_attention(t, true);
    at_sdpa_args a = {.path = path,
                      .dropout = dropout[seed % 3],
                      .temperature = seed % 2 ? 0.05 : 1,
                      .softcap = seed % 5 ? 0 : 3};
    double product = pow(smallest, 1 - seed % 11 / 30.0),
           part = pow(product, seed % 13 / 10.0 - 0.1);
    at_tensor *Q = times(t, at_random(t, at_shape_of(T, D), at_normal(1)), seed % 4 ? 1 : 20);
    at_tensor *K = times(t, at_random(t, at_shape_of(S, D), at_normal(1)), seed % 4 ? 1 : 1e3);
    at_tensor *V = times(t, at_random(t, at_shape_of(S, Dv), at_normal(1)), part);
    at_tensor *dO = times(t, at_random(t, at_shape_of(T, Dv), at_normal(1)), product / part);
    at_backward_from(t, at_sdpa(t, Q, K, V, a), dO);
    ck_assert_msg(at_ok(t), "seed %d: %s", seed, at_error(t));
    at_close(t);
}

START_TEST(what_is_lost_to_denormal_numbers_breaks_nothing)
{
    for (int seed = 0; seed < sdpa_some(300); seed++)
        for (int path = ATTIC_FUSED; path <= ATTIC_PLAIN; path++) {
            expect_on_tiny(ATTIC_F32, seed, path);
            expect_on_tiny(ATTIC_F64, seed, path);
        }
}
END_TEST

START_TEST(a_check_changes_no_bits)
{
    for (int seed = 0; seed < sdpa_some(60); seed++) {
        sdpa_problem p = sdpa_draw(seed, seed < 8 ? SDPA_TILES : SDPA_SMALL);
        if (p.same) continue; /* its gradients are added up in another order */
        for (int path = ATTIC_FUSED; path <= ATTIC_PLAIN; path++) {
            at_tape *t = at_open(ATTIC_F32, 1), *u = at_open(ATTIC_F32, 1);
            sdpa_run x = run_problem(t, &p, path, true), y = run_problem(u, &p, path, false);
            const char *where;
            double off = sdpa_difference(&x, &y, &where);
            ck_assert_msg(off == 0, "%s: %s differs by %g", sdpa_problem_text(&p), where, off);
            at_close(t);
            at_close(u);
        }
    }
}
END_TEST

/* The gradients of x, which is Q, K, V and bias of one attention and Q of a second, and of w, K of the first of
 * two attentions and V of the second; of the second of two backwards, so that they have begun. */
static void gradients_that_have_begun(at_tape *t, at_sdpa_path path, bool checks,
                                      at_tensor *grad[2])
{
    at_check_attention(t, checks);
    at_tensor *x = at_variable(t, at_shape_of(3, 3), NULL);
    at_tensor *w = at_variable(t, at_shape_of(300, 3), NULL);
    at_init_fill(x, at_normal(1), (at_stream){3, 0});
    at_init_fill(w, at_normal(1), (at_stream){3, 1});
    for (int times = 0; times < 2; times++) {
        at_tensor *y = at_sdpa(t, x, x, x, (at_sdpa_args){.path = path, .bias = x});
        at_tensor *z = at_sdpa(t, x, y, y, (at_sdpa_args){.path = path});
        at_tensor *k = at_sdpa(t, y, w, at_scale(t, w, 2), (at_sdpa_args){.path = path});
        at_tensor *v = at_sdpa(t, z, at_scale(t, w, 2), w, (at_sdpa_args){.path = path});
        at_backward(t, at_sum(t, at_square(t, at_add(t, at_add(t, y, z), at_add(t, k, v)))));
    }
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    grad[0] = at_grad_copy(t, x);
    grad[1] = at_grad_copy(t, w);
}

START_TEST(a_check_changes_no_bit_of_gradients_that_have_begun)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_PLAIN; path++)
        for (at_dtype real = ATTIC_F32; real <= ATTIC_F64; real++) {
            at_tape *t = at_open(real, 1), *u = at_open(real, 1);
            at_tensor *with[2], *without[2];
            gradients_that_have_begun(t, path, true, with);
            gradients_that_have_begun(u, path, false, without);
            for (int i = 0; i < 2; i++)
                ck_assert_mem_eq(with[i]->data, without[i]->data, at_bytes(with[i]));
            at_close(t);
            at_close(u);
        }
}
END_TEST

/* A gradient that is a hundred times what the call adds to it is no error, and hides none. */
START_TEST(what_a_gradient_held_before_is_not_held_against_the_call)
{
    for (int spoilt = 0; spoilt < 2; spoilt++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        at_check_attention(t, true);
        at_tensor *x[3];
        for (int i = 0; i < 3; i++) {
            x[i] = at_variable(t, at_shape_of(2, 40, 8), NULL);
            at_init_fill(x[i], at_normal(1), (at_stream){5, (uint64_t)i});
            at_backward(t, at_sum(t, at_scale(t, x[i], 100)));
        }
        at_tensor *O = at_sdpa(t, x[0], x[1], x[2], (at_sdpa_args){.causal = true});
        if (spoilt) at_store(O->dtype, O->data, 30, at_element(O, 30) + 10);
        at_backward(t, at_sum(t, at_square(t, O)));
        ck_assert_msg(at_ok(t) == !spoilt, "%s", at_error(t));
        at_close(t);
    }
}
END_TEST

START_TEST(a_check_takes_no_more_memory_than_promised)
{
    size_t taken[2];
    for (int on = 0; on < 2; on++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        at_check_attention(t, on);
        at_tensor *x = at_random(t, at_shape_of(2, 4, 256, 64), at_normal(1));
        at_sdpa(t, x, x, x, (at_sdpa_args){.causal = true});
        taken[on] = at_memory_of(t).step;
        at_close(t);
    }
    size_t rows = 2 * 4 * 256;
    ck_assert_uint_le(taken[1] - taken[0], rows * (3 * 64 * sizeof(float) + 64) + 4096);
}
END_TEST

/* ------------------------------------------------------------------ they can fail -------------- */

/* What a backward by hand adds to numbers that are right, all of it in batch 1 but for the NaN. */
typedef struct {
    double dQ, dK, dK2, dV, NaN;
} mistake;

static mistake made;

/* Two query heads read one key/value head: Q = (1,2) twice, K = (2,1) (0,0), V = 3 3, and so O = 3, with dO = 1.
 *
 *     <Q,dQ> = 2 (1 2 + 2 4) = 20 = 2 8 + 1 4 = <K,dK>        <V,dV> = 3 1 + 3 1 = 6 = 2 (3 1) = <O,dO>
 *     dK = (8,4) (-8,-4) */
static void backward_by_hand(at_node *n)
{
    double *dQ = at_sdpa_grad(n, 0), *dK = at_sdpa_grad(n, 1), *dV = at_sdpa_grad(n, 2);
    for (int b = 0; b < 2; b++) {
        for (int h = 2 * b; h < 2 * b + 2; h++) dQ[2 * h] = 2, dQ[2 * h + 1] = 4;
        dK[4 * b] = 8, dK[4 * b + 1] = 4;
        dK[4 * b + 2] = -8, dK[4 * b + 3] = -4;
        dV[2 * b] = dV[2 * b + 1] = 1;
    }
    dQ[7] += made.dQ, dK[4] += made.dK, dK[7] += made.dK2, dV[2] += made.dV;
    dQ[1] += made.NaN;
}

static void backward_checked(at_node *n)
{
    at_sdpa_checked_f64(n, backward_by_hand);
}

static void expect_verdict(mistake m, const char *verdict)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_check_attention(t, true);
    at_tensor *Q = at_variable(t, at_shape_of(2, 2, 1, 2), (double[]){1, 2, 1, 2, 1, 2, 1, 2});
    at_tensor *K = at_variable(t, at_shape_of(2, 1, 2, 2), (double[]){2, 1, 0, 0, 2, 1, 0, 0});
    at_tensor *V = at_variable(t, at_shape_of(2, 1, 2, 1), (double[]){3, 3, 3, 3});
    at_tensor *O = at_sdpa(t, Q, K, V, (at_sdpa_args){0});
    at_op by_hand = *O->node->op;
    by_hand.backward[1] = backward_checked;
    O->node->op = &by_hand;
    made = m;
    at_backward(t, at_sum(t, O));
    assert_error(t, verdict);
    at_close(t);
}

START_TEST(what_is_right_is_believed)
{
    expect_verdict((mistake){0}, "");
    expect_verdict((mistake){.dQ = 1e-15, .dK2 = -1e-15}, ""); /* rounding */
}
END_TEST

START_TEST(a_broken_identity_is_named_with_its_heads_and_both_sides)
{
    expect_verdict((mistake){.dQ = 0.5},
                   "sdpa (op 0): backward is wrong: <Q,dQ> = <K,dK> does not hold in heads 0 to 1 "
                   "of batch 1: the sides are 21 and 20, and may differ by 6.0e-13");
    expect_verdict((mistake){.dK = -1},
                   "sdpa (op 0): backward is wrong: <Q,dQ> = <K,dK> does not hold in heads 0 to 1 "
                   "of batch 1: the sides are 20 and 18, and may differ by 6.0e-13");
    expect_verdict((mistake){.dV = 1},
                   "sdpa (op 0): backward is wrong: <V,dV> = <O,dO> does not hold in heads 0 to 1 "
                   "of batch 1: the sides are 9 and 6, and may differ by 8.5e-14");
    expect_verdict(
        (mistake){.dK2 = -0.5},
        "sdpa (op 0): backward is wrong: sum_j dK_j = 0 does not hold in heads 0 to 1 of "
        "batch 1: the sides are -0.5 and 0, and may differ by 2.7e-13");
}
END_TEST

START_TEST(a_head_with_a_NaN_is_not_judged_but_the_others_are)
{
    expect_verdict((mistake){.NaN = (double)NAN}, "");
    expect_verdict((mistake){.NaN = (double)NAN, .dV = 1},
                   "sdpa (op 0): backward is wrong: <V,dV> = <O,dO> does not hold in heads 0 to 1 "
                   "of batch 1: the sides are 9 and 6, and may differ by 8.5e-14");
}
END_TEST

/* One head, its forward spoilt behind the back of its backward: an O that is not the one of A. */
static const char *verdict_on_another_O(at_tape *t, at_sdpa_path path, bool masked_NaNs)
{
    const double nan = masked_NaNs ? (double)NAN : 0;
    at_check_attention(t, true);
    at_tensor *Q = at_variable(t, at_shape_of(3, 2), (double[]){nan, nan, 1, -1, 2, 0});
    at_tensor *K = at_variable(t, at_shape_of(3, 2), (double[]){1, 2, 3, 1, nan, nan});
    at_tensor *V = at_variable(t, at_shape_of(3, 1), (double[]){1, 2, nan}), *A;
    at_sdpa_args a = {.path = path, .softcap = 1, .dropout = 0.1, .weights = &A};
    a.keep = at_bools(t, at_shape_of(3, 3), (bool[]){0, 0, 0, 1, 1, 0, 1, 1, 0});
    at_tensor *O = at_sdpa(t, Q, K, V, a);
    at_store(O->dtype, O->data, 1, at_get(O, 1, 0) + 1);
    at_backward_from(t, O, at_const(t, at_shape_of(3, 1), (double[]){nan, 1, 1}));
    return at_error(t);
}

/* Eight query heads on four, two batches, several tiles: O is spoilt in one head. */
static void spoil_head(at_sdpa_path path, int b, int h)
{
    enum { B = 2, H = 8, T = 150, D = 4 };
    char start[120];
    at_tape *t = at_open(ATTIC_F32, 1);
    at_check_attention(t, true);
    at_tensor *Q = at_random(t, at_shape_of(B, H, T, D), at_normal(1));
    at_tensor *K = at_random(t, at_shape_of(B, H / 2, T, D), at_normal(1));
    at_tensor *V = variable_like(t, K);
    at_tensor *O = at_sdpa(t, Q, K, V, (at_sdpa_args){.path = path, .causal = true});
    ptrdiff_t spoilt = ((ptrdiff_t)(b * H + h) * T + 100) * D + 2;
    at_store(O->dtype, O->data, spoilt, at_element(O, spoilt) + 1);
    at_backward_from(t, O, at_random(t, O->shape, at_normal(1)));
    snprintf(start, sizeof start,
             "sdpa (op 0): backward is wrong: <V,dV> = <O,dO> does not hold in heads %d to %d of "
             "batch %d: ",
             h / 2 * 2, h / 2 * 2 + 1, b);
    ck_assert_msg(strncmp(at_error(t), start, strlen(start)) == 0, "it says '%s'", at_error(t));
    at_close(t);
}

START_TEST(the_head_that_is_wrong_is_the_one_that_is_named)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_PLAIN; path++)
        for (int head = 0; head < 16; head++) spoil_head(path, head / 8, head % 8);
}
END_TEST

/* Does a step of training go well?  O is spoilt if asked for. */
static bool trains(at_tape *t, at_tensor *x, bool spoil)
{
    at_mark step = at_mark_here(t);
    at_tensor *O = at_sdpa(t, x, x, x, (at_sdpa_args){.causal = true});
    if (spoil) at_store(O->dtype, O->data, 0, 7);
    at_backward(t, at_mean(t, at_square(t, O)));
    at_sgd(t, 0.1);
    at_rewind(t, step);
    return at_ok(t);
}

START_TEST(said_once_every_step_of_training_is_checked)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_check_attention(t, true);
    at_tensor *x = at_param(t, "x", at_shape_of(9, 4), at_normal(1));
    for (int step = 0; step < 5; step++) ck_assert_msg(trains(t, x, false), "%s", at_error(t));
    ck_assert(!trains(t, x, true));
    at_close(t);
}
END_TEST

START_TEST(masked_NaNs_do_not_blind_a_check)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_PLAIN; path++)
        for (at_tape *t = NULL; next_tape(&t);) {
            const char *verdict = verdict_on_another_O(t, path, true);
            const char *start = "sdpa (op 0): backward is wrong: <V,dV> = <O,dO> does not hold in "
                                "head 0 of batch 0: ";
            ck_assert_msg(strncmp(verdict, start, strlen(start)) == 0, "it says '%s'", verdict);
        }
}
END_TEST

START_TEST(the_setting_is_frozen_when_attention_is_recorded)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(2, 2), (double[]){1, 2, 3, 4});
    at_tensor *O = at_sdpa(t, x, x, x, (at_sdpa_args){0});
    ck_assert(!at_check_attention(t, true));
    at_store(O->dtype, O->data, 0, 7);
    ck_assert(at_backward(t, at_sum(t, O)));

    O = at_sdpa(t, x, x, x, (at_sdpa_args){0});
    ck_assert(at_check_attention(t, false));
    ck_assert(!at_check_attention(NULL, true));
    at_store(O->dtype, O->data, 0, 7);
    ck_assert(!at_backward(t, at_sum(t, O)));
    at_close(t);
}
END_TEST

SUITE(attention_identities, the_identities_hold_for_every_option,
      the_identities_hold_over_many_tiles, cancellation_breaks_nothing,
      what_is_lost_to_denormal_numbers_breaks_nothing, a_check_changes_no_bits,
      a_check_changes_no_bit_of_gradients_that_have_begun,
      what_a_gradient_held_before_is_not_held_against_the_call,
      a_check_takes_no_more_memory_than_promised, what_is_right_is_believed,
      a_broken_identity_is_named_with_its_heads_and_both_sides,
      the_head_that_is_wrong_is_the_one_that_is_named, said_once_every_step_of_training_is_checked,
      a_head_with_a_NaN_is_not_judged_but_the_others_are, masked_NaNs_do_not_blind_a_check,
      the_setting_is_frozen_when_attention_is_recorded)
