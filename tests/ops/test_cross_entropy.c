/* test_cross_entropy.c -- the loss of a prediction, and its gradient: prediction minus truth. */
#include "tensors.h"

#include <math.h>

#include "golden/rows.inc"

static const int32_t target[] = {4, 0, 2, 2, 3, 1}; /* as in golden/rows.py */

static at_tensor *loss_of(at_tape *t, at_tensor *x, at_cross_entropy_args args)
{
    return at_cross_entropy(t, x, at_ints(t, at_shape_of(2, 3), target), args);
}

static void check_golden(at_cross_entropy_args args, const double *y, const double *dx)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 3, 5), golden_x);
        at_tensor *loss = loss_of(t, x, args);
        assert_values(loss, y, 8 * close_to(t));
        ck_assert(pull(t, loss, (double[]){1.5}));
        assert_grads(x, dx, close_to(t));
    }
}

START_TEST(mean_sum_and_ignored_targets_equal_the_golden_numbers)
{
    check_golden((at_cross_entropy_args){0}, ce_mean_y, ce_mean_dx);
    check_golden((at_cross_entropy_args){.reduction = ATTIC_SUM}, ce_sum_y, ce_sum_dx);
    check_golden((at_cross_entropy_args){.ignore = true, .ignore_index = 2}, ce_ignore2_y,
                 ce_ignore2_dx);
}
END_TEST

START_TEST(knowing_nothing_costs_log_n_and_knowing_all_costs_0)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *c = at_ints(t, at_shape_of(1), (int32_t[]){2});
    at_tensor *even = at_const(t, at_shape_of(1, 4), (double[]){5, 5, 5, 5});
    at_tensor *sure = at_const(t, at_shape_of(1, 4), (double[]){0, 0, 10000, 0});
    assert_close(at_item(at_cross_entropy(t, even, c, (at_cross_entropy_args){0})), log(4), 1e-15);
    assert_close(at_item(at_cross_entropy(t, sure, c, (at_cross_entropy_args){0})), 0, 0);
    at_close(t);
}
END_TEST

START_TEST(the_gradient_is_prediction_minus_truth)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(3), (double[]){log(1), log(2), log(5)});
        at_tensor *c = at_ints(t, at_shape_of(), (int32_t[]){1});
        ck_assert(at_backward(t, at_cross_entropy(t, x, c, (at_cross_entropy_args){0})));
        assert_grads(x, ((double[]){1 / 8.0, 2 / 8.0 - 1, 5 / 8.0}), close_to(t));
    }
}
END_TEST

START_TEST(it_equals_log_softmax_picked_by_hand)
{
    enum { ROWS = 50, N = 700 }; /* chunks of 256, several blocks */
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_random(t, at_shape_of(ROWS, N), at_normal(4));
        at_tensor *c = at_ints(t, at_shape_of(ROWS), NULL), *y = at_log_softmax(t, x);
        double sum = 0;
        for (int i = 0; i < ROWS; i++) {
            at_set(c, (i * 37) % N, i);
            sum -= at_get(y, i, (i * 37) % N);
        }
        at_tensor *loss = at_cross_entropy(t, x, c, (at_cross_entropy_args){0});
        assert_close(at_item(loss), sum / ROWS, 10 * close_to(t));
    }
}
END_TEST

START_TEST(large_logits_keep_their_digits)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(1, 3), (double[]){10000, 9999, -10000});
        at_tensor *c = at_ints(t, at_shape_of(1), (int32_t[]){1});
        at_tensor *loss = at_cross_entropy(t, x, c, (at_cross_entropy_args){0});
        assert_close(at_item(loss), 1 + log1p(exp(-1)), close_to(t));
        ck_assert(at_backward(t, loss));
        double p = 1 / (1 + exp(-1));
        assert_grads(x, ((double[]){p, -p, 0}), close_to(t));
    }
}
END_TEST

START_TEST(an_ignored_row_is_not_even_read)
{
    const double x[] = {0, 0, (double)NAN, (double)INFINITY}, zero[] = {-0.5, 0.5, 0, 0};
    at_cross_entropy_args args = {.ignore = true, .ignore_index = -100};
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *logits = at_variable(t, at_shape_of(2, 2), x);
        at_tensor *c = at_ints(t, at_shape_of(2), (int32_t[]){0, -100});
        at_tensor *loss = at_cross_entropy(t, logits, c, args);
        assert_close(at_item(loss), log(2), close_to(t));
        memset(logits->grad_memory, 0xFF, at_bytes(logits)); /* nor is what the gradient was */
        ck_assert(at_backward(t, loss));
        assert_grads(logits, zero, close_to(t));
    }
}
END_TEST

START_TEST(all_ignored_gives_0_and_gradients_of_0)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int sum = 0; sum < 2; sum++) {
            at_cross_entropy_args args = {
                .reduction = sum ? ATTIC_SUM : ATTIC_MEAN, .ignore = true, .ignore_index = 7};
            at_tensor *x = at_variable(t, at_shape_of(2, 2), golden_x);
            at_tensor *c = at_ints(t, at_shape_of(2), (int32_t[]){7, 7});
            at_tensor *loss = at_cross_entropy(t, x, c, args);
            ck_assert(at_item(loss) == 0 && at_backward(t, loss));
            assert_grads(x, ((double[]){0, 0, 0, 0}), 0);
        }
}
END_TEST

START_TEST(no_rows_give_0_and_no_classes_can_only_be_ignored)
{
    at_cross_entropy_args ignore = {.ignore = true, .ignore_index = 0};
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(0, 3), NULL);
        at_tensor *loss =
            at_cross_entropy(t, x, at_ints(t, at_shape_of(0), NULL), (at_cross_entropy_args){0});
        ck_assert(at_item(loss) == 0 && at_backward(t, loss));
        x = at_variable(t, at_shape_of(2, 0), NULL);
        loss = at_cross_entropy(t, x, at_ints(t, at_shape_of(2), NULL), ignore);
        ck_assert(at_item(loss) == 0 && at_backward(t, loss));
    }
}
END_TEST

START_TEST(a_row_that_allows_nothing_costs_infinity_and_has_gradient_0)
{
    const double low = -(double)INFINITY;
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 2), (double[]){low, low, 0, 0});
        at_tensor *c = at_ints(t, at_shape_of(2), (int32_t[]){1, 1});
        at_tensor *loss = at_cross_entropy(t, x, c, (at_cross_entropy_args){0});
        ck_assert(isinf(at_item(loss)) && at_item(loss) > 0);
        ck_assert(at_backward(t, loss));
        assert_grads(x, ((double[]){0, 0, 0.25, -0.25}), close_to(t));
    }
}
END_TEST

START_TEST(nan_and_plus_infinity_surface)
{
    const double bad[] = {(double)NAN, (double)INFINITY};
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 0; k < 2; k++) {
            at_tensor *x = at_variable(t, at_shape_of(1, 2), (double[]){0, bad[k]});
            at_tensor *c = at_ints(t, at_shape_of(1), (int32_t[]){0});
            at_tensor *loss = at_cross_entropy(t, x, c, (at_cross_entropy_args){0});
            ck_assert(isnan(at_item(loss)) && at_backward(t, loss));
            ck_assert(isnan(at_grad_element(x, 0)) && isnan(at_grad_element(x, 1)));
        }
}
END_TEST

START_TEST(gradients_of_two_uses_add_up)
{
    double twice[30];
    for (int i = 0; i < 30; i++) twice[i] = ce_mean_dx[i] + ce_ignore2_dx[i];
    at_cross_entropy_args ignore = {.ignore = true, .ignore_index = 2};
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 3, 5), golden_x);
        ck_assert(pull(t, loss_of(t, x, (at_cross_entropy_args){0}), (double[]){1.5}));
        ck_assert(pull(t, loss_of(t, x, ignore), (double[]){1.5}));
        assert_grads(x, twice, 2 * close_to(t));
    }
}
END_TEST

START_TEST(a_target_written_out_of_range_before_a_replay_counts_as_nan)
{
    const int32_t wild[] = {3, -1, INT32_MAX, INT32_MIN};
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 0; k < 4; k++) {
            at_tensor *x = at_variable(t, at_shape_of(2, 3), golden_x);
            at_tensor *c = at_ints(t, at_shape_of(2), (int32_t[]){0, 2});
            at_tensor *loss = at_cross_entropy(t, x, c, (at_cross_entropy_args){0});
            at_set(c, wild[k], 1);
            ck_assert(at_replay(t) && isnan(at_item(loss)));
            ck_assert(at_backward(t, loss) && isnan(at_grad_element(x, 3)));
            ck_assert(isfinite(at_grad_element(x, 0)));
            at_set(c, 1, 1); /* and all is well again */
            at_zero_grads(t);
            ck_assert(at_replay(t) && isfinite(at_item(loss)) && at_backward(t, loss));
            ck_assert(isfinite(at_grad_element(x, 3)));
        }
}
END_TEST

START_TEST(the_bits_do_not_depend_on_the_number_of_threads)
{
    enum { ROWS = 700, N = 65 };
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *v = at_random(t, at_shape_of(ROWS, N), at_normal(2)), *loss[2], *dx[2];
        at_tensor *c = at_ints(t, at_shape_of(ROWS), NULL);
        for (int i = 0; i < ROWS; i++) at_set(c, i % N, i);
        for (int k = 0; k < 2; k++) {
            at_threads(k ? 3 : 1);
            at_tensor *x = variable_like(t, v);
            loss[k] = at_cross_entropy(t, x, c, (at_cross_entropy_args){0});
            ck_assert(at_backward(t, loss[k]));
            dx[k] = at_grad_copy(t, x);
        }
        ck_assert(at_item(loss[0]) == at_item(loss[1]));
        ck_assert_mem_eq(dx[0]->data, dx[1]->data, at_bytes(v));
    }
    at_threads(0);
}
END_TEST

/* -sum_j q_ij log p_ij of every row, with q = (1 - e) truth + e/N, by the definition */
static void plain_cross_entropy(at_tape *t, at_tensor *x, at_tensor *truth, double e, double *loss)
{
    const int N = at_last(x->shape);
    at_tensor *y = at_log_softmax(t, x);
    for (int i = 0; i < at_rows(x->shape); i++) {
        loss[i] = 0;
        for (int j = 0; j < N; j++) {
            const double q = (1 - e) * at_element(truth, i * N + j) + e / N;
            loss[i] -= q * at_element(y, i * N + j);
        }
    }
}

START_TEST(labels_probabilities_and_smoothing_follow_one_definition)
{
    enum { ROWS = 6, N = 300 };
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 0; k < 6; k++) {
            const double e = k / 2 * 0.5;
            at_cross_entropy_args none = {.reduction = ATTIC_NONE, .label_smoothing = e};
            at_cross_entropy_args sum = {.reduction = ATTIC_SUM, .label_smoothing = e};
            at_tensor *x = at_random(t, at_shape_of(2, 3, N), at_normal(3));
            at_tensor *c = at_ints(t, at_shape_of(2, 3), target), *truth = at_one_hot(t, c, N);
            at_tensor *soft = at_softmax(t, at_random(t, x->shape, at_normal(3)));
            double right[ROWS], all = 0;
            plain_cross_entropy(t, x, k % 2 ? soft : truth, e, right);
            for (int i = 0; i < ROWS; i++) all += right[i];
            at_tensor *l = at_cross_entropy(t, x, k % 2 ? soft : c, none);
            ck_assert_str_eq(at_text(l), "[2,3]");
            assert_values(l, right, 20 * close_to(t));
            l = at_cross_entropy(t, x, k % 2 ? soft : c, sum);
            assert_values(l, &all, 100 * close_to(t));
            sum.reduction = ATTIC_MEAN, all /= ROWS;
            assert_values(at_cross_entropy(t, x, k % 2 ? soft : c, sum), &all, 20 * close_to(t));
        }
}
END_TEST

/* All reductions, without and with smoothing, as in golden/rows.py; dq only of probabilities. */
static void check_weights(bool soft, bool ignore, const double *all_y, const double *all_dx,
                          const double *all_dq)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        const double *y = all_y, *dx = all_dx, *dq = all_dq;
        for (int k = 0; k < 6; k++, dx += 30) {
            at_cross_entropy_args args = {.reduction = (at_reduction)(k % 3),
                                          .label_smoothing = k / 3 * 0.2,
                                          .ignore = ignore,
                                          .ignore_index = ignore ? 2 : 0,
                                          .weights = at_const(t, at_shape_of(5), golden_weights)};
            at_tensor *x = at_variable(t, at_shape_of(2, 3, 5), golden_x);
            at_tensor *q = at_variable(t, at_shape_of(2, 3, 5), golden_probabilities);
            at_tensor *l = soft ? at_cross_entropy(t, x, q, args) : loss_of(t, x, args);
            assert_values(l, y, 20 * close_to(t));
            ck_assert(pull(t, l, k % 3 == 2 ? golden_dloss : (double[]){1.5}));
            assert_grads(x, dx, 10 * close_to(t));
            if (soft) assert_grads(q, dq + 30 * k, 20 * close_to(t));
            y += at_count(l->shape);
        }
    }
}

START_TEST(weights_of_classes_equal_the_golden_numbers)
{
    check_weights(false, false, ce_weights_y, ce_weights_dx, NULL);
    check_weights(false, true, ce_weights_ignore2_y, ce_weights_ignore2_dx, NULL);
    check_weights(true, false, ce_weights_soft_y, ce_weights_soft_dx, ce_weights_soft_dq);
}
END_TEST

START_TEST(a_class_of_weight_0_adds_nothing_whatever_its_logit)
{
    const double low = -(double)INFINITY;
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 0; k < 4; k++) {
            at_tensor *w = at_const(t, at_shape_of(3), (double[]){0, 2, 0});
            at_cross_entropy_args args = {.weights = w, .label_smoothing = k / 2 * 0.3};
            at_tensor *x = at_variable(t, at_shape_of(2, 3), (double[]){low, 0, 0, 5, low, 0});
            at_tensor *c = at_ints(t, at_shape_of(2), (int32_t[]){1, 0});
            at_tensor *q = at_const(t, at_shape_of(2, 3), (double[]){0.5, 0.5, 0, 1, 0, 0});
            at_set(x, 0, 1, 1);
            at_tensor *l = at_cross_entropy(t, x, k % 2 ? q : c, args);
            ck_assert(isfinite(at_item(l)) && at_backward(t, l));
            for (int i = 0; i < 6; i++) ck_assert(isfinite(at_grad_element(x, i)));
        }
}
END_TEST

START_TEST(the_mean_of_targets_that_weigh_nothing_is_0)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 0; k < 2; k++) {
            at_tensor *w = at_const(t, at_shape_of(2), (double[]){0, 1});
            at_cross_entropy_args args = {.weights = w, .label_smoothing = k * 0.5};
            at_tensor *x = at_variable(t, at_shape_of(2, 2), golden_x);
            at_tensor *c = at_ints(t, at_shape_of(2), (int32_t[]){0, 0});
            at_tensor *l = at_cross_entropy(t, x, c, args);
            ck_assert(at_item(l) == 0 && at_backward(t, l));
            assert_grads(x, ((double[]){0, 0, 0, 0}), 0);
            at_set(c, 9, 1); /* out of range, before a replay */
            ck_assert(at_replay(t) && isnan(at_item(l)));
        }
}
END_TEST

START_TEST(each_row_receives_the_gradient_of_its_own_loss)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        const double bit = log(2), dx[] = {0.5, -0.5, 0, 0, -1, 1};
        at_cross_entropy_args args = {.reduction = ATTIC_NONE, .ignore = true, .ignore_index = -1};
        at_tensor *x = at_variable(t, at_shape_of(3, 2), (double[6]){0});
        at_tensor *c = at_ints(t, at_shape_of(3), (int32_t[]){1, -1, 0});
        at_tensor *l = at_cross_entropy(t, x, c, args);
        assert_values(l, ((double[]){bit, 0, bit}), close_to(t));
        ck_assert(pull(t, l, (double[]){1, 7, 2}));
        assert_grads(x, dx, close_to(t));
    }
}
END_TEST

START_TEST(a_smooth_label_leaves_some_probability_to_the_others)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_cross_entropy_args args = {.label_smoothing = 0.4};
        at_tensor *x = at_variable(t, at_shape_of(4), (double[]){log(1), log(2), log(5), log(2)});
        ck_assert(at_backward(
            t, at_cross_entropy(t, x, at_ints(t, at_shape_of(), (int32_t[]){2}), args)));
        assert_grads(x, ((double[]){0.1 - 0.1, 0.2 - 0.1, 0.5 - 0.7, 0.2 - 0.1}), close_to(t));
        x = at_variable(t, at_shape_of(2), (double[]){0, -(double)INFINITY}); /* what can't be */
        at_tensor *l = at_cross_entropy(t, x, at_ints(t, at_shape_of(), (int32_t[]){0}), args);
        ck_assert(isinf(at_item(l)) && at_item(l) > 0);
    }
}
END_TEST

START_TEST(smoothing_large_logits_keeps_their_digits)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_cross_entropy_args args = {.label_smoothing = 0.5};
        at_tensor *x = at_const(t, at_shape_of(2), (double[]){10001, 10000});
        at_tensor *l = at_cross_entropy(t, x, at_ints(t, at_shape_of(), (int32_t[]){0}), args);
        assert_close(at_item(l), log1p(exp(-1)) + 0.25, close_to(t));
    }
}
END_TEST

START_TEST(a_target_of_probabilities_receives_minus_the_log_probabilities)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        const double low = -(double)INFINITY;
        at_tensor *x = at_variable(t, at_shape_of(1, 3), (double[]){log(1), log(3), low});
        at_tensor *q = at_variable(t, at_shape_of(1, 3), (double[]){0.5, 0.5, 0});
        at_tensor *l = at_cross_entropy(t, x, q, (at_cross_entropy_args){0});
        assert_values(l, ((double[]){(log(4) + log(4 / 3.0)) / 2}), close_to(t));
        ck_assert(at_backward(t, l));
        assert_grads(x, ((double[]){-0.25, 0.25, 0}), close_to(t));
        assert_grads(q, ((double[]){log(4), log(4 / 3.0), -low}), close_to(t));
        x = at_variable(t, at_shape_of(0, 3), NULL);
        ck_assert(at_item(at_cross_entropy(t, x, x, (at_cross_entropy_args){0})) == 0);
    }
}
END_TEST

START_TEST(options_that_make_no_sense_are_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(2, 3), NULL), *c = at_ints(t, at_shape_of(2), NULL);
    at_cross_entropy(t, x, c, (at_cross_entropy_args){.label_smoothing = 1.5});
    assert_error(t, "cross_entropy: label_smoothing is 1.5, but must be in 0..1");
    at_clear_error(t);
    at_cross_entropy(t, x, c, (at_cross_entropy_args){.label_smoothing = (double)NAN});
    assert_error(t, "cross_entropy: label_smoothing is nan, but must be in 0..1");
    at_clear_error(t);
    at_cross_entropy(t, x, c, (at_cross_entropy_args){.reduction = (at_reduction)7});
    assert_error(t, "cross_entropy: there is no reduction 7");
    at_clear_error(t);
    at_cross_entropy(t, x, x, (at_cross_entropy_args){.ignore = true, .ignore_index = -1});
    assert_error(
        t, "cross_entropy: ignore_index is -1 but target [2,3] is real: it holds probabilities, no "
           "class indices (at_ints makes those)");
    at_clear_error(t);
    at_cross_entropy(t, x, at_const(t, at_shape_of(2), NULL), (at_cross_entropy_args){0});
    assert_error(
        t,
        "cross_entropy: logits is [2,3] but target is [2]: a real target holds probabilities and "
        "needs the shape of logits; at_ints makes a target of class indices");
    at_clear_error(t);
    at_cross_entropy(t, x, c, (at_cross_entropy_args){.weights = at_const(t, c->shape, NULL)});
    assert_error(t, "cross_entropy: logits is [2,3] but weights is [2]: one weight for each class "
                    "must be [3]");
    at_clear_error(t);
    at_tensor *w = at_variable(t, at_shape_of(3), NULL);
    at_cross_entropy(t, x, c, (at_cross_entropy_args){.weights = w});
    assert_error(t, "cross_entropy: weights [3] wants a gradient, but weights of classes are "
                    "constants: at_detach makes one");
    at_clear_error(t);
    w = at_const(t, at_shape_of(3), (double[]){1, 1, -0.5});
    at_cross_entropy(t, x, x, (at_cross_entropy_args){.weights = w});
    assert_error(t, "cross_entropy: weights [3] is -0.5 at [2], but must be finite and >= 0");
    at_close(t);
}
END_TEST

static void check_refused(at_shape logits, at_shape targets, int32_t value, const char *text)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *c = at_ints(t, targets, NULL);
    if (targets.ndim == 2) at_set(c, value, 1, 2);
    at_tensor *x = at_const(t, logits, NULL);
    at_cross_entropy_args args = {.ignore = true, .ignore_index = -1};
    ck_assert_ptr_null(at_cross_entropy(t, x, c, args));
    assert_error(t, text);
    at_close(t);
}

START_TEST(a_target_out_of_range_is_named_with_its_position)
{
    at_shape x = at_shape_of(2, 3, 5), c = at_shape_of(2, 3);
    check_refused(x, c, 5,
                  "cross_entropy: target [1,2] is 5 but logits is [2,3,5]: there are 5 classes");
    check_refused(x, c, -2,
                  "cross_entropy: target [1,2] is -2 but logits is [2,3,5]: there are 5 classes");
}
END_TEST

START_TEST(wrong_arguments_are_named)
{
    check_refused(at_shape_of(), at_shape_of(), 0,
                  "cross_entropy: logits is []; its last axis must be the classes");
    check_refused(at_shape_of(2, 3, 5), at_shape_of(3), 0,
                  "cross_entropy: logits is [2,3,5] but target is [3]: one target per row must be "
                  "[2,3]");
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(2, 3), NULL);
    at_cross_entropy(t, x, at_bools(t, at_shape_of(2), NULL), (at_cross_entropy_args){0});
    assert_error(t, "cross_entropy: target [2] has dtype bool but must be i32");
    at_close(t);
}
END_TEST

SUITE(ops_cross_entropy, mean_sum_and_ignored_targets_equal_the_golden_numbers,
      knowing_nothing_costs_log_n_and_knowing_all_costs_0, the_gradient_is_prediction_minus_truth,
      it_equals_log_softmax_picked_by_hand, large_logits_keep_their_digits,
      an_ignored_row_is_not_even_read, all_ignored_gives_0_and_gradients_of_0,
      no_rows_give_0_and_no_classes_can_only_be_ignored,
      a_row_that_allows_nothing_costs_infinity_and_has_gradient_0, nan_and_plus_infinity_surface,
      gradients_of_two_uses_add_up, a_target_written_out_of_range_before_a_replay_counts_as_nan,
      the_bits_do_not_depend_on_the_number_of_threads,
      a_target_out_of_range_is_named_with_its_position, wrong_arguments_are_named,
      labels_probabilities_and_smoothing_follow_one_definition,
      weights_of_classes_equal_the_golden_numbers,
      a_class_of_weight_0_adds_nothing_whatever_its_logit,
      the_mean_of_targets_that_weigh_nothing_is_0, each_row_receives_the_gradient_of_its_own_loss,
      a_smooth_label_leaves_some_probability_to_the_others,
      smoothing_large_logits_keeps_their_digits,
      a_target_of_probabilities_receives_minus_the_log_probabilities,
      options_that_make_no_sense_are_named)
