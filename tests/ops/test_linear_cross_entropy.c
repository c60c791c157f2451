/* test_linear_cross_entropy.c -- the loss of logits that are never held, against at_affine and at_cross_entropy. */
#include "tensors.h"
#include "kernels/parallel.h"

#include <math.h>

enum { TILE = 384 }; /* classes */

START_TEST(the_gradient_is_prediction_minus_truth_through_the_layer)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int flip = 0; flip < 2; flip++) {
            at_tensor *x = at_variable(t, at_shape_of(1), (double[]){2});
            at_shape w = flip ? at_shape_of(3, 1) : at_shape_of(1, 3);
            at_tensor *W = at_variable(t, w, (double[]){0, log(2) / 2, 0});
            at_tensor *b = at_variable(t, at_shape_of(3), (double[]){0, 0, log(5)});
            at_tensor *c = at_ints(t, at_shape_of(), (int32_t[]){1}); /* of p = 1/8, 2/8, 5/8 */
            at_tensor *loss =
                at_linear_cross_entropy(t, x, W, flip, b, c, (at_cross_entropy_args){0});
            ck_assert(loss->shape.ndim == 0 && at_backward(t, loss));
            assert_close(at_item(loss), log(4), close_to(t));
            const double dz[] = {1 / 8.0, 2 / 8.0 - 1, 5 / 8.0};
            for (int k = 0; k < 3; k++) {
                assert_close(at_grad_element(b, k), dz[k], close_to(t));
                assert_close(at_grad_element(W, k), 2 * dz[k], close_to(t));
            }
            assert_close(at_grad_element(x, 0), log(2) / 2 * (2 / 8.0 - 1), close_to(t));
        }
}
END_TEST

/* x, W and b, twice, with the same numbers; the loss of the first by one op, of the second by two. */
typedef struct {
    at_tensor *x[2], *W[2], *b[2], *loss[2], *target;
} two_ways;

static two_ways make_both(at_tape *t, int rows, int K, int N, bool flip)
{
    two_ways y;
    y.x[0] = at_random(t, at_shape_of(rows, K), at_normal(1));
    y.W[0] = at_random(t, flip ? at_shape_of(N, K) : at_shape_of(K, N), at_normal(1));
    y.b[0] = at_random(t, at_shape_of(N), at_normal(1));
    for (int i = 1; i >= 0; i--) {
        y.x[i] = variable_like(t, y.x[0]);
        y.W[i] = variable_like(t, y.W[0]);
        y.b[i] = variable_like(t, y.b[0]);
    }
    y.target = at_ints(t, at_shape_of(rows), NULL);
    for (int i = 0; i < rows; i++) at_set(y.target, (i * 37 + 3) % N, i);
    return y;
}

static void lose_both(at_tape *t, two_ways *y, bool flip, at_cross_entropy_args args)
{
    at_tensor *z = flip ? at_add(t, at_matmul_t(t, y->x[1], false, y->W[1], true), y->b[1])
                        : at_affine(t, y->x[1], y->W[1], y->b[1]);
    y->loss[0] = at_linear_cross_entropy(t, y->x[0], y->W[0], flip, y->b[0], y->target, args);
    y->loss[1] = at_cross_entropy(t, z, y->target, args);
}

static void assert_same(const at_tensor *x, const at_tensor *y, bool grad, double tol)
{
    for (ptrdiff_t i = 0; i < at_count(y->shape); i++) {
        const double a = grad ? at_grad_element(x, i) : at_element(x, i);
        const double b = grad ? at_grad_element(y, i) : at_element(y, i);
        if (isfinite(b))
            assert_close(a, b, tol);
        else
            ck_assert(isnan(b) ? isnan(a) : a == b);
    }
}

static void compare_both(at_tape *t, two_ways y, double tol)
{
    at_tensor *dy = at_random(t, y.loss[1]->shape, at_normal(1));
    assert_same(y.loss[0], y.loss[1], false, tol);
    for (int i = 0; i < 2; i++) ck_assert(at_backward_from(t, y.loss[i], dy));
    assert_same(y.x[0], y.x[1], true, tol);
    assert_same(y.W[0], y.W[1], true, tol);
    assert_same(y.b[0], y.b[1], true, tol);
}

/* k chooses among all args. */
static at_cross_entropy_args args_of(at_tape *t, int k, int N)
{
    at_cross_entropy_args args = {.reduction = (at_reduction)(k % 3),
                                  .label_smoothing = k / 3 % 2 ? 0.3 : 0,
                                  .ignore = k / 6 % 2,
                                  .ignore_index = 3};
    if (k / 12 == 0) return args;
    args.weights = at_const(t, at_shape_of(N), NULL);
    for (int j = 0; j < N; j++) at_set(args.weights, j % 3 == 1 ? 0 : 0.5 + j % 4, j);
    return args;
}

START_TEST(it_is_a_layer_and_a_loss_with_all_options)
{
    static const struct {
        int rows, K, N;
    } of[] = {{5, 3, 7}, {2, 20, 2 * TILE + 1}, {257, 9, 40}, {515, 16, TILE + 30}};
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 0; k < 4 * 24; k++) {
            const int size = k / 24, rows = of[size].rows, N = of[size].N;
            two_ways y = make_both(t, rows, of[size].K, N, k & 1);
            lose_both(t, &y, k & 1, args_of(t, k % 24, N));
            compare_both(t, y, close_to(t) * (rows + 20));
        }
}
END_TEST

START_TEST(with_one_tile_of_classes_its_bits_are_those_of_two_ops)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 0; k < 24; k++) {
            two_ways y = make_both(t, 515, 20, TILE, false);
            lose_both(t, &y, false, args_of(t, k, TILE));
            at_tensor *dy = at_random(t, y.loss[1]->shape, at_normal(1));
            for (int i = 0; i < 2; i++) ck_assert(at_backward_from(t, y.loss[i], dy));
            ck_assert(equal_bits(y.loss[0], y.loss[1]));
            ck_assert(equal_bits(at_grad_copy(t, y.x[0]), at_grad_copy(t, y.x[1])));
            ck_assert(equal_bits(at_grad_copy(t, y.W[0]), at_grad_copy(t, y.W[1])));
        }
}
END_TEST

START_TEST(what_the_memory_of_a_gradient_held_is_overwritten_or_added_to)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int flip = 0; flip < 2; flip++) {
            two_ways y = make_both(t, 300, 3, TILE + 6, flip);
            memset(y.x[0]->grad_memory, 0xFF, at_bytes(y.x[0])); /* NaN */
            memset(y.W[0]->grad_memory, 0xFF, at_bytes(y.W[0]));
            memset(y.b[0]->grad_memory, 0xFF, at_bytes(y.b[0]));
            for (int twice = 0; twice < 2; twice++) {
                lose_both(t, &y, flip, (at_cross_entropy_args){.reduction = ATTIC_SUM});
                compare_both(t, y, close_to(t) * 2000);
            }
        }
}
END_TEST

START_TEST(the_bits_do_not_depend_on_the_number_of_threads)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        two_ways y = make_both(t, 300, 40, 3 * TILE + 7, false);
        for (int k = 0; k < 2; k++) {
            at_threads(k ? 3 : 1);
            at_cross_entropy_args args = {.label_smoothing = 0.1};
            y.loss[k] = at_linear_cross_entropy(t, y.x[k], y.W[k], false, y.b[k], y.target, args);
            ck_assert(at_backward(t, y.loss[k]));
        }
        ck_assert(equal_bits(y.loss[0], y.loss[1]));
        ck_assert(equal_bits(at_grad_copy(t, y.x[0]), at_grad_copy(t, y.x[1])));
        ck_assert(equal_bits(at_grad_copy(t, y.W[0]), at_grad_copy(t, y.W[1])));
        ck_assert(equal_bits(at_grad_copy(t, y.b[0]), at_grad_copy(t, y.b[1])));
    }
    at_threads(0);
}
END_TEST

START_TEST(second_derivatives_are_those_of_two_ops)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int flip = 0; flip < 2; flip++) {
            const int N = TILE + 5;
            two_ways y = make_both(t, 260, 3, N, flip);
            lose_both(t, &y, flip, args_of(t, 12 + 3, N));
            at_tensor *v[] = {at_random(t, y.x[0]->shape, at_normal(1)),
                              at_random(t, y.W[0]->shape, at_normal(1))};
            at_tensor *Hv[2][3];
            for (int i = 0; i < 2; i++) {
                at_tensor *wrt[] = {y.x[i], y.W[i], y.b[i]};
                ck_assert(at_hvp(t, y.loss[i], wrt, v, 2, wrt, 3, Hv[i]));
            }
            for (int k = 0; k < 3; k++) assert_same(Hv[0][k], Hv[1][k], false, 20 * close_to(t));
        }
}
END_TEST

START_TEST(logits_of_50257_classes_are_never_held)
{
    enum { ROWS = 256, K = 2, N = 50257 };
    at_threads(1);
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_param(t, "x", at_shape_of(ROWS, K), at_normal(1));
    at_tensor *W = at_param(t, "W", at_shape_of(N, K), at_normal(1));
    at_tensor *c = at_ints(t, at_shape_of(ROWS), NULL);
    const double gradients = (double)(at_bytes(x) + at_bytes(W));
    const at_memory before = at_memory_of(t);
    at_backward(t, at_linear_cross_entropy(t, x, W, true, NULL, c, (at_cross_entropy_args){0}));
    const at_memory after = at_memory_of(t);
    const double step = (double)(after.step_peak - before.step);
    const double kept = (double)(after.permanent - before.permanent) - gradients;
    ck_assert(at_ok(t));
    ck_assert_double_lt(step, ROWS * 64); /* the logits: 50 MiB, and their gradient as much again */
    ck_assert_double_lt(kept, 1 << 20);
    at_close(t);
    at_threads(0);
}
END_TEST

START_TEST(a_larger_logit_in_a_later_tile_corrects_the_sum_and_a_smaller_one_does_not)
{
    enum { N = 2 * TILE + 100 };
    for (at_tape *t = NULL; next_tape(&t);)
        for (int down = 0; down < 2; down++) {
            at_tensor *x = at_const(t, at_shape_of(1, 0), NULL);
            at_tensor *W = at_const(t, at_shape_of(0, N), NULL),
                      *b = at_variable(t, at_shape_of(N), NULL);
            for (int j = 0; j < N; j++) at_set(b, j, down ? N - 1 - j : j);
            const int least = down ? N - 1 : 0, most = N - 1 - least;
            at_tensor *c = at_ints(t, at_shape_of(1), (int32_t[]){least});
            at_tensor *loss =
                at_linear_cross_entropy(t, x, W, false, b, c, (at_cross_entropy_args){0});
            const double sum = 1 / (1 - exp(-1)); /* of exp(b_j - (N - 1)) */
            assert_close(at_item(loss), N - 1 + log(sum), 10 * close_to(t));
            ck_assert(at_backward(t, loss));
            assert_close(at_grad_element(b, most), 1 / sum, close_to(t));
            assert_close(at_grad_element(b, least), -1, close_to(t));
        }
}
END_TEST

/* In all classes from .. to-1 of one row the bias is `value`. */
static void compare_with(int from, int to, double value, int k)
{
    enum { N = 2 * TILE + 9 };
    for (at_tape *t = NULL; next_tape(&t);) {
        two_ways y = make_both(t, 2, 1, N, false);
        for (int i = 0; i < 2; i++)
            for (int j = from; j < to; j++) at_set(y.b[i], value, j);
        lose_both(t, &y, false, args_of(t, k, N));
        compare_both(t, y, 40 * close_to(t));
    }
}

START_TEST(infinities_and_nan_do_what_they_do_to_two_ops)
{
    const double low = -(double)INFINITY;
    for (int k = 0; k < 24; k++) {
        compare_with(5, TILE, low, k);
        compare_with(0, TILE, low, k); /* a first tile without any probability */
        compare_with(TILE, 2 * TILE, low, k);
        compare_with(0, 2 * TILE + 9, low, k);
        compare_with(7, 8, (double)NAN, k);
        compare_with(2 * TILE, 2 * TILE + 1, (double)NAN, k);
        compare_with(7, 8, (double)INFINITY, k);
        compare_with(TILE + 7, TILE + 8, (double)INFINITY, k);
    }
}
END_TEST

START_TEST(smoothing_large_logits_keeps_their_digits)
{
    for (int k = 0; k < 24; k++) compare_with(0, 2 * TILE + 9, 1e6, k);
}
END_TEST

START_TEST(masked_classes_without_weight_leave_a_smooth_loss_as_it_is)
{
    enum { N = 2 * TILE + 9 };
    static const double mask[] = {-1e9, -1e20, -3e38};
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 0; k < 3; k++) {
            two_ways y = make_both(t, 4, 1, N, false);
            at_tensor *w = at_const(t, at_shape_of(N), NULL);
            for (int j = TILE; j < N; j++) at_set(w, 1 + j % 3, j);
            for (int j = 0; j < TILE; j++) at_set(y.b[0], mask[k], j), at_set(y.b[1], mask[k], j);
            for (int i = 0; i < 4; i++) at_set(y.target, TILE + 100 * i, i);
            lose_both(t, &y, false, (at_cross_entropy_args){.label_smoothing = 0.1, .weights = w});
            ck_assert(isfinite(at_item(y.loss[1])));
            compare_both(t, y, 40 * close_to(t));
        }
}
END_TEST

START_TEST(an_ignored_row_is_not_read)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_const(t, at_shape_of(2, 1), (double[]){0, (double)NAN});
        at_tensor *W = at_const(t, at_shape_of(1, 2), (double[]){1, 2});
        at_tensor *c = at_ints(t, at_shape_of(2), (int32_t[]){0, -1});
        at_cross_entropy_args args = {.ignore = true, .ignore_index = -1};
        assert_close(at_item(at_linear_cross_entropy(t, x, W, false, NULL, c, args)), log(2),
                     close_to(t));
    }
}
END_TEST

START_TEST(a_target_written_out_of_range_before_a_replay_counts_as_nan)
{
    const int32_t wild[] = {3, -1, INT32_MAX, INT32_MIN};
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 0; k < 8; k++) {
            at_tensor *x = at_variable(t, at_shape_of(2, 1), (double[]){1, 2});
            at_tensor *W = at_const(t, at_shape_of(1, 3), (double[]){1, 2, 3});
            at_tensor *c = at_ints(t, at_shape_of(2), (int32_t[]){0, 2});
            at_cross_entropy_args args = args_of(t, k / 4 * 12, 3);
            at_tensor *loss = at_linear_cross_entropy(t, x, W, false, NULL, c, args);
            at_set(c, wild[k % 4], 1);
            ck_assert(at_replay(t) && isnan(at_item(loss)));
            ck_assert(at_backward(t, loss) && isnan(at_grad_element(x, 1)));
            at_set(c, 1, 1); /* and all is well again */
            at_zero_grads(t);
            ck_assert(at_replay(t) && isfinite(at_item(loss)) && at_backward(t, loss));
            ck_assert(isfinite(at_grad_element(x, 1)));
        }
}
END_TEST

START_TEST(no_rows_give_0_and_no_classes_can_only_be_ignored)
{
    at_cross_entropy_args ignore = {.ignore = true, .ignore_index = 0};
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(0, 3), NULL);
        at_tensor *W = at_variable(t, at_shape_of(3, 1), (double[]){1, 2, 3});
        at_tensor *none = at_ints(t, at_shape_of(0), NULL), *two = at_ints(t, at_shape_of(2), NULL);
        at_tensor *loss =
            at_linear_cross_entropy(t, x, W, false, NULL, none, (at_cross_entropy_args){0});
        ck_assert(at_item(loss) == 0 && at_backward(t, loss));
        for (int i = 0; i < 3; i++) ck_assert(at_grad_element(W, i) == 0);
        x = at_variable(t, at_shape_of(2, 1), (double[]){1, 2});
        W = at_variable(t, at_shape_of(0, 1), NULL);
        memset(x->grad_memory, 0xFF, at_bytes(x));
        loss = at_linear_cross_entropy(t, x, W, true, NULL, two, ignore);
        ck_assert(at_item(loss) == 0 && at_backward(t, loss));
        ck_assert(at_grad_element(x, 0) == 0 && at_grad_element(x, 1) == 0);
    }
}
END_TEST

static void check_refused(at_shape x, at_shape w, bool flip, int b, at_shape target,
                          const char *message)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *X = at_const(t, x, NULL), *W = at_const(t, w, NULL);
    at_tensor *bias = b ? at_const(t, at_shape_of(b), NULL) : NULL, *c = at_ints(t, target, NULL);
    ck_assert_ptr_null(at_linear_cross_entropy(t, X, W, flip, bias, c, (at_cross_entropy_args){0}));
    assert_error(t, message);
    at_close(t);
}

START_TEST(shapes_that_do_not_fit_are_named)
{
    check_refused(at_shape_of(2, 3), at_shape_of(3), false, 0, at_shape_of(2),
                  "linear_cross_entropy: W is [3] but must have 2 dims");
    check_refused(at_shape_of(2, 3), at_shape_of(5, 3), false, 0, at_shape_of(2),
                  "linear_cross_entropy: x is [2,3] but W is [5,3]: x must end in 5");
    check_refused(at_shape_of(2, 3), at_shape_of(3, 5), true, 0, at_shape_of(2),
                  "linear_cross_entropy: x is [2,3] but W is [3,5] transposed: x must end in 5");
    check_refused(at_shape_of(), at_shape_of(3, 5), false, 0, at_shape_of(),
                  "linear_cross_entropy: x is [] but W is [3,5]: x must end in 3");
    check_refused(at_shape_of(2, 3), at_shape_of(3, 5), false, 4, at_shape_of(2),
                  "linear_cross_entropy: W is [3,5] but b is [4]: it must be [5]");
    check_refused(
        at_shape_of(2, 3), at_shape_of(3, 5), false, 0, at_shape_of(3),
        "linear_cross_entropy: x is [2,3] but target is [3]: one target per row must be [2]");
}
END_TEST

static void check_args(at_cross_entropy_args args, const double *weights, int32_t last,
                       const char *message)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(2, 3), NULL), *W = at_const(t, at_shape_of(3, 2), NULL);
    at_tensor *c = at_ints(t, at_shape_of(2), (int32_t[]){0, last});
    if (weights) args.weights = at_const(t, at_shape_of(2), weights);
    ck_assert_ptr_null(at_linear_cross_entropy(t, x, W, false, NULL, c, args));
    assert_error(t, message);
    at_close(t);
}

START_TEST(args_that_make_no_sense_are_named_as_by_cross_entropy)
{
    const at_cross_entropy_args none = {0};
    check_args((at_cross_entropy_args){.label_smoothing = -1}, NULL, 0,
               "linear_cross_entropy: label_smoothing is -1, but must be in 0..1");
    check_args((at_cross_entropy_args){.reduction = (at_reduction)7}, NULL, 0,
               "linear_cross_entropy: there is no reduction 7");
    check_args(none, (double[]){1, -2}, 0,
               "linear_cross_entropy: weights [2] is -2 at [1], but must be finite and >= 0");
    check_args(none, NULL, 2,
               "linear_cross_entropy: target [1] is 2 but W is [3,2]: there are 2 classes");
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(2, 3), NULL), *W = at_const(t, at_shape_of(3, 2), NULL);
    at_linear_cross_entropy(t, x, W, false, NULL, at_const(t, at_shape_of(2), NULL), none);
    assert_error(t, "linear_cross_entropy: target [2] has dtype f32 but must be i32");
    at_close(t);
    t = at_open(ATTIC_F32, 1);
    x = at_const(t, at_shape_of(2, 3), NULL), W = at_const(t, at_shape_of(3, 2), NULL);
    at_cross_entropy_args three = {.weights = at_const(t, at_shape_of(3), NULL)};
    at_linear_cross_entropy(t, x, W, false, NULL, at_ints(t, at_shape_of(2), NULL), three);
    assert_error(
        t, "linear_cross_entropy: W is [3,2] but weights is [3]: one weight for each class must "
           "be [2]");
    at_close(t);
}
END_TEST

SUITE(ops_linear_cross_entropy, the_gradient_is_prediction_minus_truth_through_the_layer,
      it_is_a_layer_and_a_loss_with_all_options,
      with_one_tile_of_classes_its_bits_are_those_of_two_ops,
      what_the_memory_of_a_gradient_held_is_overwritten_or_added_to,
      the_bits_do_not_depend_on_the_number_of_threads, second_derivatives_are_those_of_two_ops,
      logits_of_50257_classes_are_never_held,
      a_larger_logit_in_a_later_tile_corrects_the_sum_and_a_smaller_one_does_not,
      infinities_and_nan_do_what_they_do_to_two_ops, smoothing_large_logits_keeps_their_digits,
      masked_classes_without_weight_leave_a_smooth_loss_as_it_is, an_ignored_row_is_not_read,
      a_target_written_out_of_range_before_a_replay_counts_as_nan,
      no_rows_give_0_and_no_classes_can_only_be_ignored, shapes_that_do_not_fit_are_named,
      args_that_make_no_sense_are_named_as_by_cross_entropy)
