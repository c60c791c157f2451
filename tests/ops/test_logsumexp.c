/* test_logsumexp.c -- the logarithm of a sum of exponentials. */
#include "tensors.h"

#include <math.h>

#define D(...) ((double[]){__VA_ARGS__})
static const double inf = (double)INFINITY, nan_ = (double)NAN;

START_TEST(logarithms_of_1_2_and_5_give_that_of_8)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(3), D(log(1), log(2), log(5)));
        at_tensor *y = at_logsumexp(t, x, 0, false);
        ck_assert_str_eq(at_text(y), "[]");
        assert_values(y, D(log(8)), close_to(t));
        ck_assert(pull(t, y, D(8)));
        assert_grads(x, D(1, 2, 5), 8 * close_to(t));
    }
}
END_TEST

START_TEST(every_axis_follows_the_definition)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int a = -3; a < 3; a++) {
            at_tensor *x = at_random(t, at_shape_of(4, 5, 6), at_normal(1));
            at_tensor *y = at_logsumexp(t, x, a, a < 0);
            at_tensor *right = at_log(t, at_sum_over(t, at_exp(t, x), at_axes(a), a < 0));
            ck_assert(at_same_shape(y->shape, right->shape));
            for (int i = 0; i < at_count(y->shape); i++)
                assert_close(at_element(y, i), at_element(right, i), 10 * close_to(t));
        }
}
END_TEST

START_TEST(large_numbers_neither_overflow_nor_lose_their_digits)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 2), D(10000, 9999, -10000, -9999));
        at_tensor *y = at_logsumexp(t, x, 1, true);
        assert_values(y, D(10000 + log1p(exp(-1)), -9999 + log1p(exp(-1))), 1000 * close_to(t));
        ck_assert(pull(t, y, D(1, 1)));
        const double p = 1 / (1 + exp(-1));
        assert_grads(x, D(p, 1 - p, 1 - p, p), close_to(t));
    }
}
END_TEST

START_TEST(nothing_but_minus_infinity_gives_that_with_gradients_of_0)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 2), D(-inf, -inf, -inf, 3));
        at_tensor *y = at_logsumexp(t, x, 1, false);
        assert_values(y, D(-inf, 3), 0);
        ck_assert(pull(t, y, D(7, 7)));
        assert_grads(x, D(0, 0, 0, 7), 0);
        x = at_variable(t, at_shape_of(2, 0), NULL);
        y = at_logsumexp(t, x, 1, false);
        assert_values(y, D(-inf, -inf), 0);
        ck_assert(pull(t, y, D(1, 1)));
    }
}
END_TEST

START_TEST(infinity_and_nan_surface)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 2), D(inf, 0, nan_, 0));
        at_tensor *y = at_logsumexp(t, x, 1, false);
        assert_values(y, D(inf, nan_), 0);
        ck_assert(pull(t, y, D(1, 1)));
        assert_grads(x, D(nan_, 0, nan_, nan_), 0);
    }
}
END_TEST

START_TEST(the_bits_do_not_depend_on_the_number_of_threads)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *v = at_random(t, at_shape_of(700, 65), at_normal(2)), *y[2], *dx[2];
        for (int k = 0; k < 2; k++) {
            at_threads(k ? 3 : 1);
            at_tensor *x = variable_like(t, v);
            y[k] = at_logsumexp(t, x, 1, false);
            ck_assert(at_backward(t, at_sum(t, at_square(t, y[k]))));
            dx[k] = at_grad_copy(t, x);
        }
        ck_assert(equal_bits(y[0], y[1]) && equal_bits(dx[0], dx[1]));
    }
    at_threads(0);
}
END_TEST

START_TEST(wrong_arguments_are_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert_ptr_null(at_logsumexp(t, at_const(t, at_shape_of(2), NULL), 1, false));
    assert_error(t, "logsumexp: there is no axis 1 in x [2]");
    at_clear_error(t);
    ck_assert_ptr_null(at_logsumexp(t, NULL, 0, false));
    assert_error(t, "logsumexp: x is NULL");
    at_close(t);
}
END_TEST

SUITE(ops_logsumexp, logarithms_of_1_2_and_5_give_that_of_8, every_axis_follows_the_definition,
      large_numbers_neither_overflow_nor_lose_their_digits,
      nothing_but_minus_infinity_gives_that_with_gradients_of_0, infinity_and_nan_surface,
      the_bits_do_not_depend_on_the_number_of_threads, wrong_arguments_are_named)
