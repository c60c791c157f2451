/* test_extremes.c -- attention where floating point ends: scores up to the largest finite number, and
 * rows in which one key takes all. */
#include <float.h>
#include <math.h>

#include "gradcheck/gradcheck.h"
#include "tensors.h"

typedef struct {
    at_tensor *Q, *K, *V, *O;
} extreme;

/* Uniform numbers in -size .. size. */
static at_tensor *extreme_leaf(at_tape *t, int rows, int D, double size)
{
    at_tensor *x = at_random(t, at_shape_of(rows, D), at_uniform(1));
    for (int i = 0; i < rows * D; i++) at_store(x->dtype, x->data, i, size * at_element(x, i) / D);
    return variable_like(t, x);
}

/* Forward and backward on one path, scores up to `size`. */
static extreme extreme_run(at_tape *t, int D, double size, at_sdpa_args args)
{
    extreme x = {extreme_leaf(t, 20, D, sqrt(size)), extreme_leaf(t, 140, D, sqrt(size)),
                 extreme_leaf(t, 140, 3, 1), NULL};
    x.O = at_sdpa(t, x.Q, x.K, x.V, args);
    at_backward_from(t, x.O, at_random(t, x.O->shape, at_uniform(1)));
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    return x;
}

static void extreme_must_be_finite(const extreme *x, double size)
{
    const at_tensor *leaf[] = {x->Q, x->K, x->V};
    for (int i = 0; i < at_count(x->O->shape); i++) /* an average of values below 1/3 */
        ck_assert_msg(fabs(at_element(x->O, i)) < 0.5, "scores up to %g: O is %g", size,
                      at_element(x->O, i));
    for (int l = 0; l < 3; l++)
        for (int i = 0; i < at_count(leaf[l]->shape); i++)
            ck_assert_msg(isfinite(at_grad_element(leaf[l], i)),
                          "scores up to %g: the gradient of %c is %g", size, "QKV"[l],
                          at_grad_element(leaf[l], i));
}

static void extreme_scores(at_dtype real, at_sdpa_args args)
{
    const double most = real == ATTIC_F32 ? (double)FLT_MAX : DBL_MAX;
    for (int step = 0; step <= 16; step++)
        for (int D = 1; D <= 5; D += 4) {
            const double size = step < 16 ? 1e6 * pow(most / 1e6, step / 16.0) : most;
            at_tape *t = at_open(real, 1);
            extreme x = extreme_run(t, D, size, args);
            extreme_must_be_finite(&x, size);
            at_close(t);
        }
}

START_TEST(finite_scores_never_give_NaN)
{
    const at_sdpa_args args[] = {{.scale = 1},
                                 {.scale = -1},
                                 {.scale = 0.7, .dropout = 0.3},
                                 {.scale = 1, .window_left = 9, .align = ATTIC_ALIGN_BOTTOM_RIGHT},
                                 {.scale = 1, .softcap = 1e5}};
    for (size_t a = 0; a < sizeof args / sizeof *args; a++)
        for (at_sdpa_path path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
            at_sdpa_args with = args[a];
            with.path = path;
            extreme_scores(ATTIC_F32, with);
            extreme_scores(ATTIC_F64, with);
        }
}
END_TEST

/* The largest |x_i - y_i|; infinite where only one is a number. */
static double extreme_off(const at_tensor *x, const at_tensor *y, bool grad)
{
    double off = 0;
    for (int i = 0; i < at_count(x->shape); i++) {
        double a = grad ? at_grad_element(x, i) : at_element(x, i);
        double b = grad ? at_grad_element(y, i) : at_element(y, i);
        if (a == b || (isnan(a) && isnan(b))) continue;
        off = isfinite(a - b) ? fmax(off, fabs(a - b)) : (double)INFINITY;
    }
    return off;
}

/* With D = 1 a score is one product, and rounded in the same way by both. */
START_TEST(of_extreme_and_of_infinite_scores_the_fused_path_makes_what_the_plain_one_makes)
{
    const double sizes[] = {1e4, 1e9, 1e10, 1e19, 1e30, 1e38, 1e42, 1e55};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        at_tape *t = at_open(ATTIC_F32, 1), *u = at_open(ATTIC_F32, 1);
        extreme x = extreme_run(t, 1, sizes[s], (at_sdpa_args){.scale = 0.3});
        extreme y = extreme_run(u, 1, sizes[s], (at_sdpa_args){.scale = 0.3, .path = ATTIC_PLAIN});
        double off = extreme_off(x.O, y.O, false);
        off = fmax(off, extreme_off(x.V, y.V, true));
        off = fmax(off, extreme_off(x.Q, y.Q, true) / sqrt(sizes[s])); /* as K is large, so is dQ */
        off = fmax(off, extreme_off(x.K, y.K, true) / sqrt(sizes[s]));
        ck_assert_msg(off < 1e-5, "scores up to %g: off by %g", sizes[s], off);
        at_close(t);
        at_close(u);
    }
}
END_TEST

START_TEST(a_score_that_is_NaN_makes_its_row_NaN_and_no_other)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        extreme x = extreme_run(t, 1, 1e10, (at_sdpa_args){.scale = 1});
        at_set(x.Q, (double)NAN, 7, 0);
        at_replay(t);
        for (int i = 0; i < 20; i++) ck_assert_int_eq(isnan(at_get(x.O, i, 1)), i == 7);
    }
}
END_TEST

/* Q_i K_j is 0 for all keys but those of one value: there P is 1, and no gradient reaches a score. */
static at_tape *saturated(at_dtype real, int Dv, at_sdpa_args args, extreme *x)
{
    at_tape *t = at_open(real, 1);
    *x = (extreme){at_variable(t, at_shape_of(3, 1), (double[]){1e4, 1e4, 1e4}),
                   at_variable(t, at_shape_of(2, 1), (double[]){1, 0}),
                   variable_like(t, at_random(t, at_shape_of(2, Dv), at_normal(1))), NULL};
    x->O = at_sdpa(t, x->Q, x->K, x->V, args);
    at_backward_from(t, x->O, at_random(t, x->O->shape, at_normal(1)));
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    return t;
}

START_TEST(no_gradient_reaches_the_scores_of_a_saturated_row)
{
    const int values[] = {1, 2, 5, 16, 17, 64, 100, 400, 800};
    for (size_t v = 0; v < sizeof values / sizeof *values; v++)
        for (at_dtype real = ATTIC_F32; real <= ATTIC_F64; real++)
            for (at_sdpa_path path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
                extreme x;
                at_tape *t = saturated(real, values[v], (at_sdpa_args){.path = path}, &x);
                for (int i = 0; i < 3; i++) ck_assert(at_grad_element(x.Q, i) == 0);
                for (int j = 0; j < 2; j++) ck_assert(at_grad_element(x.K, j) == 0);
                at_close(t);
            }
}
END_TEST

/* With dropout O_i = z V_j is rounded before delta is summed, dP = z (dO_i.V_j) after: each of the two is
 * within (Dv + 1) eps of sum_n |dO_in O_in|, and so is dS within twice that. */
START_TEST(with_dropout_a_saturated_row_gives_rounding_errors_of_known_size)
{
    const int values[] = {1, 5, 16, 64, 100, 400};
    for (size_t v = 0; v < sizeof values / sizeof *values; v++)
        for (int seed = 0; seed < 8; seed++) {
            extreme x;
            const int Dv = values[v];
            at_tape *t = saturated(ATTIC_F32, Dv, (at_sdpa_args){.dropout = 0.1 * (1 + seed)}, &x);
            for (int i = 0; i < 3; i++) {
                double terms = 0;
                for (int n = 0; n < Dv; n++)
                    terms += fabs(at_get(x.O, i, n) * at_grad_element(x.O, i * Dv + n));
                double dS = at_grad_element(x.Q, i); /* dQ_i = dS_i0 K_0 */
                ck_assert_double_le(fabs(dS), 2 * (Dv + 1) * (double)FLT_EPSILON * terms);
            }
            at_close(t);
        }
}
END_TEST

static at_tensor *with_one_bias(at_tape *t, at_tensor **in, void *ctx)
{
    at_tensor *Q = ctx;
    return at_sdpa(t, Q, Q, Q, (at_sdpa_args){.bias = in[0], .path = ATTIC_PLAIN});
}

/* A constant that is added to all scores changes no weight. */
START_TEST(a_gradient_of_rounding_alone_is_vacuous_and_not_wrong)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        at_tape *t = at_open(ATTIC_F64, seed);
        at_tensor *b = at_variable(t, at_shape_of(1), (double[]){0.3});
        at_tensor *Q = at_random(t, at_shape_of(4, 1), at_normal(1));
        at_gradcheck_report r =
            at_gradcheck(t, with_one_bias, &b, 1, Q, (at_gradcheck_options){.seed = seed});
        ck_assert_msg(r.verdict == ATTIC_VACUOUS, "seed %d: %s: %s", (int)seed,
                      at_verdict_text(r.verdict), r.reason);
        at_close(t);
    }
}
END_TEST

SUITE(attention_extremes, finite_scores_never_give_NaN,
      of_extreme_and_of_infinite_scores_the_fused_path_makes_what_the_plain_one_makes,
      a_score_that_is_NaN_makes_its_row_NaN_and_no_other,
      no_gradient_reaches_the_scores_of_a_saturated_row,
      with_dropout_a_saturated_row_gives_rounding_errors_of_known_size,
      a_gradient_of_rounding_alone_is_vacuous_and_not_wrong)
