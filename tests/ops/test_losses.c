/* test_losses.c -- how far a prediction is from its target: mse, huber, bce, kl. */
#include "tensors.h"

#include <math.h>

#include "golden/rows.inc"

#define D(...) ((double[]){__VA_ARGS__})
static const double inf = (double)INFINITY, nan_ = (double)NAN;

/* The losses, with huber's delta of 1, and the same by their definitions. */
typedef enum { MSE, HUBER, BCE, KL, KL_LOG, LOSSES } which_loss;

static at_tensor *loss_of(at_tape *t, which_loss w, at_tensor *x, at_tensor *z, at_reduction r)
{
    switch (w) {
    case MSE: return at_mse(t, x, z, r);
    case HUBER: return at_huber(t, x, z, 1, r);
    case BCE: return at_bce(t, x, z, (at_bce_args){.reduction = r});
    default: return at_kl(t, x, z, w == KL_LOG, r);
    }
}

static double plain_loss(which_loss w, double x, double z)
{
    const double d = fabs(x - z), s = 1 / (1 + exp(-x));
    switch (w) {
    case MSE: return d * d;
    case HUBER: return d <= 1 ? d * d / 2 : d - 0.5;
    case BCE: return -z * log(s) - (1 - z) * log(1 - s);
    case KL: return z * (log(z) - x);
    default: return exp(z) * (z - x);
    }
}

START_TEST(every_loss_follows_its_definition)
{
    enum { N = 1100 }; /* three chunks */
    for (at_tape *t = NULL; next_tape(&t);)
        for (which_loss w = MSE; w < LOSSES; w++) {
            at_tensor *x = at_random(t, at_shape_of(2, N / 2), at_normal(2));
            at_tensor *z = at_sigmoid(t, at_random(t, x->shape, at_normal(2)));
            at_tensor *l = loss_of(t, w, x, z, ATTIC_NONE);
            double sum = 0;
            ck_assert_str_eq(at_text(l), "[2,550]");
            for (int i = 0; i < N; i++) {
                const double right = plain_loss(w, at_element(x, i), at_element(z, i));
                assert_close(at_element(l, i), right, 20 * close_to(t) * fmax(1, fabs(right)));
                sum += right;
            }
            assert_close(at_item(loss_of(t, w, x, z, ATTIC_SUM)), sum, N * 20 * close_to(t));
            assert_close(at_item(loss_of(t, w, x, z, ATTIC_MEAN)), sum / N, 20 * close_to(t));
        }
}
END_TEST

START_TEST(both_sides_of_an_error_receive_its_gradient)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(3), D(1, 5, -4));
        at_tensor *z = at_variable(t, at_shape_of(3), D(3, 5, -4.5));
        at_tensor *l = at_mse(t, x, z, ATTIC_NONE);
        assert_values(l, D(4, 0, 0.25), 0);
        ck_assert(pull(t, l, D(1, 1, 10)));
        assert_grads(x, D(-4, 0, 10), 0);
        assert_grads(z, D(4, 0, -10), 0);
        at_zero_grads(t);
        ck_assert(pull(t, at_huber(t, x, z, 0.5, ATTIC_NONE), D(1, 1, 10)));
        assert_grads(x, D(-0.5, 0, 5), 0);
        assert_grads(z, D(0.5, 0, -5), 0);
    }
}
END_TEST

START_TEST(huber_is_a_parabola_up_to_delta_and_a_line_beyond)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(6), D(0, 1, 2, -2, 3, -1000));
    at_tensor *l = at_huber(t, x, at_const(t, x->shape, NULL), 2, ATTIC_NONE);
    assert_values(l, D(0, 0.5, 2, 2, 4, 1998), 0);
    ck_assert(pull(t, l, D(1, 1, 1, 1, 1, 1)));
    assert_grads(x, D(0, 1, 2, -2, 2, -2), 0);
    at_close(t);
}
END_TEST

START_TEST(a_sure_and_right_logit_costs_little_and_a_wrong_one_itself)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(5), D(30, -30, 1000, -1000, 0));
        at_tensor *l = at_bce(t, x, at_const(t, x->shape, D(1, 0, 0, 1, 0.5)),
                              (at_bce_args){.reduction = ATTIC_NONE});
        ck_assert(fabs(at_element(l, 0) / exp(-30) - 1) < 1e-6); /* not 0 */
        ck_assert(fabs(at_element(l, 1) / exp(-30) - 1) < 1e-6);
        assert_close(at_element(l, 2), 1000, 0);
        assert_close(at_element(l, 3), 1000, 0);
        assert_close(at_element(l, 4), log(2), close_to(t));
        ck_assert(pull(t, l, D(1, 1, 1, 1, 1)));
        assert_grads(x, D(0, 0, 1, -1, 0), 1e-6);
    }
}
END_TEST

/* All reductions, without and with weights of positive answers and of elements, as in golden/rows.py. */
START_TEST(weighted_bce_equals_the_golden_numbers)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        const double *y = bce_y, *dx = bce_dx, *dq = bce_dq;
        for (int k = 0; k < 12; k++, dx += 30, dq += 30) {
            at_bce_args args = {.reduction = (at_reduction)(k % 3)};
            if (k / 6) args.positive = at_const(t, at_shape_of(5), golden_weights);
            if (k / 3 % 2) args.weights = at_const(t, at_shape_of(2, 3, 1), golden_element_weights);
            at_tensor *x = at_variable(t, at_shape_of(2, 3, 5), golden_x);
            at_tensor *q = at_variable(t, at_shape_of(2, 3, 5), golden_probabilities);
            at_tensor *l = at_bce(t, x, q, args);
            assert_values(l, y, 60 * close_to(t));
            ck_assert(pull(t, l, args.reduction == ATTIC_NONE ? golden_dy : D(1.5)));
            assert_grads(x, dx, 20 * close_to(t));
            assert_grads(q, dq, 20 * close_to(t));
            y += at_count(l->shape);
        }
    }
}
END_TEST

START_TEST(weights_of_1_change_nothing_and_a_sure_weighted_logit_keeps_its_digits)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(6), D(30, -30, 1000, -1000, 88, 0));
        at_tensor *z = at_const(t, x->shape, D(1, 0, 0, 1, 1, 0.5));
        at_tensor *p = at_const(t, at_shape_of(), D(3));
        at_bce_args args = {.reduction = ATTIC_NONE, .positive = p};
        at_tensor *l = at_bce(t, x, z, args);
        ck_assert(fabs(at_element(l, 0) / (3 * exp(-30)) - 1) < 1e-6); /* not 0 */
        ck_assert(fabs(at_element(l, 1) / exp(-30) - 1) < 1e-6);
        ck_assert(at_element(l, 2) == 1000 && at_element(l, 3) == 3000);
        ck_assert(at_element(l, 4) > 0 && at_element(l, 4) < 1e-37);
        assert_close(at_element(l, 5), 2 * log(2), 2 * close_to(t));
        ck_assert(pull(t, l, D(1, 1, 1, 1, 1, 1)));
        assert_grads(x, D(0, 0, 1, -3, 0, -0.5), 1e-6);
        args.positive = args.weights = at_const(t, at_shape_of(), D(1));
        at_tensor *plain = at_bce(t, x, z, (at_bce_args){.reduction = ATTIC_NONE});
        for (int i = 0; i < 6; i++)
            assert_close(at_element(at_bce(t, x, z, args), i), at_element(plain, i), close_to(t));
    }
}
END_TEST

START_TEST(a_distribution_diverges_from_itself_by_0)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_log_softmax(t, at_random(t, at_shape_of(3, 7), at_normal(2)));
        assert_close(at_item(at_kl(t, x, at_exp(t, x), false, ATTIC_SUM)), 0, close_to(t));
        assert_close(at_item(at_kl(t, x, x, true, ATTIC_SUM)), 0, 0);
    }
}
END_TEST

/* log-probabilities of -inf, -1, 0 against a target that is sure of the third */
static void check_sure_target(at_tape *t, const double *target, bool log_target)
{
    const double loss[] = {0, 0, 0}, dx[] = {0, 0, -1}, dz[] = {0, 0, 1}, dl[] = {1, 1, 1};
    at_tensor *x = at_variable(t, at_shape_of(3), D(-inf, -1, 0));
    at_tensor *z = at_variable(t, at_shape_of(3), target);
    at_tensor *l = at_kl(t, x, z, log_target, ATTIC_NONE);
    assert_values(l, loss, 0);
    ck_assert(pull(t, l, dl));
    assert_grads(x, dx, 0);
    assert_grads(z, dz, 0);
}

START_TEST(what_has_probability_0_adds_nothing_to_a_divergence)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        check_sure_target(t, D(0, 0, 1), false);
        check_sure_target(t, D(-inf, -inf, 0), true);
    }
}
END_TEST

START_TEST(a_nan_surfaces_in_every_loss)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (which_loss w = MSE; w < LOSSES; w++)
            for (int k = 0; k < 2; k++) {
                at_tensor *x = at_variable(t, at_shape_of(2), D(k ? nan_ : 0.25, 0.5));
                at_tensor *z = at_variable(t, at_shape_of(2), D(k ? 0.25 : nan_, 0.5));
                at_tensor *l = loss_of(t, w, x, z, ATTIC_NONE);
                ck_assert(isnan(at_element(l, 0)) && isfinite(at_element(l, 1)));
                ck_assert(isnan(at_item(at_mean(t, l))));
            }
}
END_TEST

START_TEST(the_mean_of_no_losses_is_nan_and_their_sum_0)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    for (which_loss w = MSE; w < LOSSES; w++) {
        at_tensor *x = at_variable(t, at_shape_of(0, 3), NULL);
        ck_assert(isnan(at_item(loss_of(t, w, x, x, ATTIC_MEAN))));
        ck_assert(at_item(loss_of(t, w, x, x, ATTIC_SUM)) == 0);
        ck_assert(pull(t, loss_of(t, w, x, x, ATTIC_NONE), NULL));
    }
    at_close(t);
}
END_TEST

START_TEST(the_bits_do_not_depend_on_the_number_of_threads)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (which_loss w = MSE; w < LOSSES; w++) {
            at_tensor *v = at_random(t, at_shape_of(70001), at_normal(2)), *l[2], *dx[2], *dz[2];
            at_tensor *u = at_sigmoid(t, v);
            for (int k = 0; k < 2; k++) {
                at_threads(k ? 3 : 1);
                at_tensor *x = variable_like(t, v), *z = variable_like(t, u);
                l[k] = loss_of(t, w, x, z, ATTIC_MEAN);
                ck_assert(at_backward(t, l[k]));
                dx[k] = at_grad_copy(t, x), dz[k] = at_grad_copy(t, z);
            }
            ck_assert(equal_bits(l[0], l[1]) && equal_bits(dx[0], dx[1]) &&
                      equal_bits(dz[0], dz[1]));
        }
    at_threads(0);
}
END_TEST

START_TEST(wrong_arguments_are_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_name(at_const(t, at_shape_of(2), NULL), "y");
    at_tensor *column = at_const(t, at_shape_of(2, 1), NULL);
    ck_assert_ptr_null(at_mse(t, x, column, ATTIC_MEAN));
    assert_error(t, "mse: x is \"y\" [2] but target is [2,1]");
    at_clear_error(t);
    at_huber(t, x, x, 0, ATTIC_MEAN);
    assert_error(t, "huber: delta is 0, but must be > 0");
    at_clear_error(t);
    at_huber(t, x, x, 1e300, ATTIC_MEAN);
    assert_error(t, "huber: delta is 1e+300, but must be a finite f32");
    at_clear_error(t);
    at_bce(t, x, at_ints(t, at_shape_of(2), NULL), (at_bce_args){0});
    assert_error(t, "bce: target [2] has dtype i32 but must be f32");
    at_clear_error(t);
    at_bce(t, x, x, (at_bce_args){.positive = at_const(t, at_shape_of(3), NULL)});
    assert_error(t, "bce: x is \"y\" [2] but positive is [3], which does not broadcast to it");
    at_clear_error(t);
    at_bce(t, x, x, (at_bce_args){.weights = column});
    assert_error(t, "bce: x is \"y\" [2] but weights is [2,1], which does not broadcast to it");
    at_clear_error(t);
    at_bce(t, x, x, (at_bce_args){.weights = at_variable(t, at_shape_of(2), NULL)});
    assert_error(t, "bce: weights [2] wants a gradient, but weights are constants: at_detach makes "
                    "one");
    at_clear_error(t);
    at_bce(t, x, x, (at_bce_args){.reduction = (at_reduction)3, .weights = x});
    assert_error(t, "bce: there is no reduction 3");
    at_clear_error(t);
    at_kl(t, x, NULL, false, ATTIC_MEAN);
    assert_error(t, "kl: target is NULL");
    at_clear_error(t);
    at_mse(t, x, x, (at_reduction)3);
    assert_error(t, "mse: there is no reduction 3");
    at_close(t);
}
END_TEST

SUITE(ops_losses, every_loss_follows_its_definition, both_sides_of_an_error_receive_its_gradient,
      huber_is_a_parabola_up_to_delta_and_a_line_beyond,
      a_sure_and_right_logit_costs_little_and_a_wrong_one_itself,
      weighted_bce_equals_the_golden_numbers,
      weights_of_1_change_nothing_and_a_sure_weighted_logit_keeps_its_digits,
      a_distribution_diverges_from_itself_by_0, what_has_probability_0_adds_nothing_to_a_divergence,
      a_nan_surfaces_in_every_loss, the_mean_of_no_losses_is_nan_and_their_sum_0,
      the_bits_do_not_depend_on_the_number_of_threads, wrong_arguments_are_named)
