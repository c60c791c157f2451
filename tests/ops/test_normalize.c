/* test_normalize.c -- rows of length 1. */
#include "tensors.h"

#include <float.h>
#include <math.h>

#define D(...) ((double[]){__VA_ARGS__})
static const double inf = (double)INFINITY, nan_ = (double)NAN;

/* 3, 4: |x| = 5; dy = 1, 0: dx = (dy - y 0.6) / 5.  The second row is shorter than eps. */
START_TEST(two_rows_by_hand)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 2), D(3, 4, 0.25, 0));
        at_tensor *y = at_normalize(t, x, 0.5);
        assert_values(y, D(0.6, 0.8, 0.5, 0), close_to(t));
        ck_assert(pull(t, y, D(1, 0, 7, 2)));
        assert_grads(x, D(0.128, -0.096, 14, 4), 10 * close_to(t));
        ck_assert(pull(t, at_normalize(t, x, 0.5), D(1, 0, 7, 2))); /* added to what was there */
        assert_grads(x, D(0.256, -0.192, 28, 8), 20 * close_to(t));
    }
}
END_TEST

START_TEST(every_row_has_length_1_and_a_gradient_across_it)
{
    enum { ROWS = 40, N = 67 };
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = variable_like(t, at_random(t, at_shape_of(ROWS, N), at_normal(3)));
        at_tensor *y = at_normalize(t, x, 0);
        ck_assert(at_backward_from(t, y, at_random(t, y->shape, at_normal(1))));
        for (int i = 0; i < ROWS; i++) {
            double square = 0, length = 0, dot = 0;
            for (int j = 0; j < N; j++) {
                length += at_get(x, i, j) * at_get(x, i, j);
                square += at_get(y, i, j) * at_get(y, i, j);
                dot += at_get(y, i, j) * at_grad_element(x, i * N + j);
            }
            assert_close(square, 1, 10 * close_to(t));
            assert_close(dot, 0, 10 * close_to(t));
            assert_close(at_get(y, i, 5), at_get(x, i, 5) / sqrt(length), close_to(t));
        }
    }
}
END_TEST

/* |x| = eps is not shorter than eps: the gradient is that of a row that is longer. */
START_TEST(a_row_as_long_as_eps_is_long_enough)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2), D(3, 4));
        ck_assert(pull(t, at_normalize(t, x, 5), D(1, 0)));
        assert_grads(x, D(0.128, -0.096), close_to(t));
    }
}
END_TEST

START_TEST(a_row_of_zeros_gives_0_and_dy_over_eps)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2), NULL);
        at_tensor *y = at_normalize(t, x, 1e-3);
        assert_values(y, D(0, 0), 0);
        ck_assert(pull(t, y, D(1, 2)));
        assert_grads(x, D(1000, 2000), 1e-3);
        assert_values(at_normalize(t, x, 0), D(nan_, nan_), 0);
    }
}
END_TEST

START_TEST(squares_neither_overflow_nor_vanish_in_f32)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_variable(t, at_shape_of(2, 2), D(3e37, 4e37, 3e-30, -4e-30));
    at_tensor *y = at_normalize(t, x, 1e-35);
    assert_values(y, D(0.6, 0.8, 0.6, -0.8), close_to(t));
    ck_assert(pull(t, y, D(1e30, 0, 1e-20, 0)));
    assert_grads(x, D(0.128e-7, -0.096e-7, 0.128e10, 0.096e10), 1e4);
    assert_close(at_grad_element(x, 0), 0.128e-7, 1e-13);
    at_close(t);
}
END_TEST

START_TEST(a_length_that_is_not_finite_gives_0)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        const double most = at_real(t) == ATTIC_F32 ? (double)FLT_MAX : DBL_MAX;
        at_tensor *x = at_variable(t, at_shape_of(3, 2), D(most, most, inf, 1, nan_, 1));
        at_tensor *y = at_normalize(t, x, 1e-12);
        assert_values(y, D(0, 0, nan_, 0, nan_, nan_), 0);
        ck_assert(pull(t, y, D(1, 2, 0, 0, 0, 0)));
        ck_assert(at_grad_element(x, 0) == 0 && at_grad_element(x, 1) == 0);
    }
}
END_TEST

START_TEST(sizes_of_0_and_1_are_legal)
{
    const at_shape shapes[] = {at_shape_of(3, 0), at_shape_of(0, 3), at_shape_of(2, 1)};
    for (at_tape *t = NULL; next_tape(&t);)
        for (int s = 0; s < 3; s++) {
            at_tensor *x = at_variable(t, shapes[s], D(-3, 5));
            at_tensor *y = at_normalize(t, x, 1e-12);
            ck_assert(y && pull(t, y, D(1, 2)));
            if (s == 2) assert_values(y, D(-1, 1), 0);
            if (s == 2) assert_grads(x, D(0, 0), 0);
        }
}
END_TEST

START_TEST(the_bits_do_not_depend_on_the_number_of_threads)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *v = at_random(t, at_shape_of(1100, 70), at_normal(2)), *y[2], *dx[2];
        for (int k = 0; k < 2; k++) {
            at_threads(k ? 3 : 1);
            at_tensor *x = variable_like(t, v);
            y[k] = at_normalize(t, x, 1e-12);
            ck_assert(at_backward_from(t, y[k], v));
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
    at_tensor *x = at_const(t, at_shape_of(2, 3), NULL);
    at_normalize(t, x, -1);
    assert_error(t, "normalize: eps is -1 but must be finite and >= 0");
    at_clear_error(t);
    at_normalize(t, x, 1e-50);
    assert_error(t, "normalize: 1 / eps is 1e+50, but must be a finite f32");
    at_clear_error(t);
    at_normalize(t, at_const(t, at_shape_of(), NULL), 1e-12);
    assert_error(t, "normalize: x is []; it needs an axis");
    at_clear_error(t);
    at_normalize(t, at_ints(t, at_shape_of(3), NULL), 1e-12);
    assert_error(t, "normalize: x [3] has dtype i32 but must be f32");
    at_close(t);
}
END_TEST

SUITE(ops_normalize, two_rows_by_hand, every_row_has_length_1_and_a_gradient_across_it,
      a_row_as_long_as_eps_is_long_enough, a_row_of_zeros_gives_0_and_dy_over_eps,
      squares_neither_overflow_nor_vanish_in_f32, a_length_that_is_not_finite_gives_0,
      sizes_of_0_and_1_are_legal, the_bits_do_not_depend_on_the_number_of_threads,
      wrong_arguments_are_named)
