/* test_affine.c -- Y = X W + b, against the product and the sum that it is made of. */
#include "tensors.h"
#include "kernels/parallel.h"

#include <math.h>

START_TEST(a_row_is_multiplied_and_shifted)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *X = at_variable(t, at_shape_of(2), (double[]){1, 2});
        at_tensor *W = at_variable(t, at_shape_of(2, 3), (double[]){1, 2, 3, 4, 5, 6});
        at_tensor *b = at_variable(t, at_shape_of(3), (double[]){10, 20, 30});
        at_tensor *Y = at_affine(t, X, W, b); /* [2] [2,3] [3] -> [3] */
        ck_assert(at_same_shape(Y->shape, at_shape_of(3)));
        assert_values(Y, ((double[]){1 + 8 + 10, 2 + 10 + 20, 3 + 12 + 30}), 0);
        ck_assert(pull(t, Y, (double[]){1, 0, -1}));
        assert_grads(X, ((double[]){1 - 3, 4 - 6}), 0);
        assert_grads(W, ((double[]){1, 0, -1, 2, 0, -2}), 0);
        assert_grads(b, ((double[]){1, 0, -1}), 0);
    }
}
END_TEST

/* X [rows,K]: Y, dX, dW and db are those of matmul and add. */
static void compare_with_two_ops(at_tape *t, at_shape x, int N)
{
    int K = at_last(x);
    at_tensor *X[2], *W[2], *b[2], *Y[2];
    X[0] = at_random(t, x, at_normal(1)), W[0] = at_random(t, at_shape_of(K, N), at_normal(1));
    b[0] = at_random(t, at_shape_of(N), at_normal(1));
    for (int i = 1; i >= 0; i--)
        X[i] = variable_like(t, X[0]), W[i] = variable_like(t, W[0]), b[i] = variable_like(t, b[0]);
    Y[0] = at_affine(t, X[0], W[0], b[0]);
    Y[1] = at_add(t, at_matmul(t, X[1], W[1]), b[1]);
    at_tensor *dY = at_random(t, Y[1]->shape, at_normal(1));
    for (int i = 0; i < 2; i++) ck_assert(at_backward_from(t, Y[i], dY));
    double tol = close_to(t) * (10 + at_rows(x) / 10);
    ck_assert(at_same_shape(Y[0]->shape, Y[1]->shape));
    for (ptrdiff_t i = 0; i < at_count(Y[0]->shape); i++)
        assert_close(at_element(Y[0], i), at_element(Y[1], i), tol);
    for (ptrdiff_t i = 0; i < at_count(x); i++)
        assert_close(at_grad_element(X[0], i), at_grad_element(X[1], i), tol);
    for (ptrdiff_t i = 0; i < at_count(W[0]->shape); i++)
        assert_close(at_grad_element(W[0], i), at_grad_element(W[1], i), tol);
    for (int j = 0; j < N; j++)
        assert_close(at_grad_element(b[0], j), at_grad_element(b[1], j), tol);
}

START_TEST(it_is_a_product_and_a_sum)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        compare_with_two_ops(t, at_shape_of(1, 1), 1);
        compare_with_two_ops(t, at_shape_of(2, 3, 5), 7);
        compare_with_two_ops(t, at_shape_of(33, 20), 70);
        compare_with_two_ops(t, at_shape_of(2, 1025, 3), 65); /* strips, and shares of rows */
    }
}
END_TEST

START_TEST(without_a_bias_it_is_the_product)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *X = at_random(t, at_shape_of(5, 4), at_normal(1));
        at_tensor *W = at_random(t, at_shape_of(4, 6), at_normal(1));
        ck_assert(equal_bits(at_affine(t, X, W, NULL), at_matmul(t, X, W)));
    }
}
END_TEST

START_TEST(what_has_a_gradient_already_is_added_to)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(1, 1), (double[]){3});
        at_tensor *b = at_reshape(t, x, at_shape_of(1));
        at_tensor *y = at_affine(t, at_affine(t, x, x, b), x, b); /* x^3 + x^2 + x */
        ck_assert(pull(t, y, (double[]){1}));
        assert_values(y, ((double[]){27 + 9 + 3}), 0);
        assert_grads(x, ((double[]){3 * 9 + 2 * 3 + 1}), 0);
    }
}
END_TEST

START_TEST(a_million_small_numbers_are_summed_without_loss)
{
    enum { ROWS = 1 << 20 };
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *b = at_variable(t, at_shape_of(1), NULL);
    at_tensor *Y = at_affine(t, at_const(t, at_shape_of(ROWS, 1), NULL),
                             at_random(t, at_shape_of(1, 1), at_ones()), b);
    ck_assert(at_backward_from(t, Y, at_random(t, Y->shape, at_fill(0.1))));
    assert_close(at_grad_element(b, 0), (double)(float)(ROWS * (double)0.1F), 0);
    at_close(t);
}
END_TEST

START_TEST(sizes_of_0_are_legal)
{
    const double two[] = {1, 2};
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *b = at_variable(t, at_shape_of(2), two);
        at_tensor *X = at_variable(t, at_shape_of(3, 0), NULL);
        at_tensor *Y = at_affine(t, X, at_variable(t, at_shape_of(0, 2), NULL), b);
        assert_values(Y, ((double[]){1, 2, 1, 2, 1, 2}), 0);
        ck_assert(pull(t, Y, (double[]){1, 2, 3, 4, 5, 6}));
        assert_grads(b, ((double[]){9, 12}), 0);

        X = at_variable(t, at_shape_of(0, 1), NULL);
        at_tensor *W = at_variable(t, at_shape_of(1, 2), two);
        at_zero_grads(t);
        Y = at_affine(t, X, W, b);
        ck_assert(Y && at_count(Y->shape) == 0 && pull(t, Y, NULL));
        assert_grads(W, ((double[]){0, 0}), 0);
        assert_grads(b, ((double[]){0, 0}), 0);

        X = at_variable(t, at_shape_of(2, 1), two);
        Y = at_affine(t, X, at_variable(t, at_shape_of(1, 0), NULL), NULL);
        ck_assert(Y && pull(t, Y, NULL));
        assert_grads(X, ((double[]){0, 0}), 0);

        X = at_variable(t, at_shape_of(1 << 30, 1 << 30, 0), NULL); /* [...,0] [0,0] */
        ck_assert(at_affine(t, X, at_variable(t, at_shape_of(0, 0), NULL), NULL));
    }
}
END_TEST

START_TEST(a_NaN_stays_in_its_row_and_in_its_column)
{
    const double NaN = (double)NAN;
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *X = at_const(t, at_shape_of(2, 1), (double[]){NaN, 1});
        at_tensor *W = at_const(t, at_shape_of(1, 2), (double[]){1, 2});
        at_tensor *b = at_const(t, at_shape_of(2), (double[]){0, NaN});
        assert_values(at_affine(t, X, W, b), ((double[]){NaN, NaN, 1, NaN}), 0);
    }
}
END_TEST

START_TEST(the_bits_do_not_depend_on_the_number_of_threads)
{
    float first[65 + 3 * 65];
    for (int threads = 1; threads <= 8; threads++) {
        at_threads(threads);
        at_tape *t = at_open(ATTIC_F32, 1);
        at_tensor *b = at_param(t, "b", at_shape_of(65), at_normal(1));
        at_tensor *W = at_param(t, "W", at_shape_of(3, 65), at_normal(1));
        at_tensor *Y = at_affine(t, at_random(t, at_shape_of(5000, 3), at_normal(1)), W, b);
        ck_assert(at_backward_from(t, Y, at_random(t, Y->shape, at_normal(1))));
        if (threads == 1)
            memcpy(first, b->grad, at_bytes(b)), memcpy(first + 65, W->grad, at_bytes(W));
        ck_assert_mem_eq(first, b->grad, at_bytes(b));
        ck_assert_mem_eq(first + 65, W->grad, at_bytes(W));
        at_close(t);
    }
    at_threads(0);
}
END_TEST

START_TEST(shapes_that_do_not_fit_are_named)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *X = at_const(t, at_shape_of(2, 3), NULL),
                  *W = at_const(t, at_shape_of(4, 5), NULL);
        at_affine(t, X, W, NULL);
        assert_error(t, "affine: X is [2,3] but W is [4,5]: X must end in 4");
        at_clear_error(t);
        at_affine(t, at_const(t, at_shape_of(), NULL), W, NULL);
        assert_error(t, "affine: X is [] but W is [4,5]: X must end in 4");
        at_clear_error(t);
        at_affine(t, X, at_const(t, at_shape_of(3), NULL), NULL);
        assert_error(t, "affine: W is [3] but must have 2 dims");
        at_clear_error(t);
        at_affine(t, at_const(t, at_shape_of(2, 4), NULL), W, at_const(t, at_shape_of(1, 5), NULL));
        assert_error(t, "affine: W is [4,5] but b is [1,5]: it must be [5]");
        at_clear_error(t);
        at_affine(t, at_const(t, at_shape_of(1 << 16, 1 << 16, 0), NULL),
                  at_const(t, at_shape_of(0, 1), NULL), NULL);
        assert_error(t, "affine: X is [65536,65536,0]: 4294967296 rows are too many");
        at_clear_error(t);
        at_affine(t, NULL, W, NULL);
        assert_error(t, "affine: X is NULL");
    }
}
END_TEST

SUITE(ops_affine, a_row_is_multiplied_and_shifted, it_is_a_product_and_a_sum,
      without_a_bias_it_is_the_product, what_has_a_gradient_already_is_added_to,
      a_million_small_numbers_are_summed_without_loss, sizes_of_0_are_legal,
      a_NaN_stays_in_its_row_and_in_its_column, the_bits_do_not_depend_on_the_number_of_threads,
      shapes_that_do_not_fit_are_named)
