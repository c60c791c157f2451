/* test_toeplitz.c -- one number for each diagonal. */
#include "tensors.h"

#include <math.h>

START_TEST(diagonals_hold_one_number_each)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_const(t, at_shape_of(6), (double[]){1, 2, 3, 4, 5, 6});
        assert_values(at_toeplitz(t, x, 3, 4), ((double[]){3, 4, 5, 6, 2, 3, 4, 5, 1, 2, 3, 4}), 0);
        assert_values(at_toeplitz(t, x, 5, 2), ((double[]){5, 6, 4, 5, 3, 4, 2, 3, 1, 2}), 0);
        assert_values(at_toeplitz(t, x, 1, 6), ((double[]){1, 2, 3, 4, 5, 6}), 0);
        assert_values(at_toeplitz(t, x, 6, 1), ((double[]){6, 5, 4, 3, 2, 1}), 0);
    }
}
END_TEST

START_TEST(a_gradient_is_summed_down_its_diagonal)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 4), NULL);
        at_tensor *y = at_toeplitz(t, x, 2, 3);
        ck_assert(at_same_shape(y->shape, at_shape_of(2, 2, 3)));
        ck_assert(pull(t, y, (double[]){1, 2, 4, 10, 20, 40, 0, 0, 0, 7, 8, 9}));
        assert_grads(x, ((double[]){10, 21, 42, 4, 7, 8, 9, 0}), 0);
    }
}
END_TEST

START_TEST(gradients_of_two_uses_add_up)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(3), NULL);
        at_tensor *y = at_add(t, at_toeplitz(t, x, 2, 2), at_toeplitz(t, x, 2, 2));
        ck_assert(pull(t, y, (double[]){1, 2, 4, 8}));
        assert_grads(x, ((double[]){8, 18, 4}), 0);
    }
}
END_TEST

/* Element by element, in the plainest way: y, and dx for a cotangent dy. */
static void check_plainly(at_tape *t, int M, int T, int S)
{
    const int N = T + S - 1;
    at_tensor *x = variable_like(t, at_random(t, at_shape_of(M, N), at_normal(1)));
    at_tensor *y = at_toeplitz(t, x, T, S);
    at_tensor *dy = at_random(t, at_shape_of(M, T, S), at_normal(1));
    at_tensor *dx = at_const(t, x->shape, NULL);
    ck_assert(at_backward_from(t, y, dy));
    for (int m = 0; m < M; m++)
        for (int i = 0; i < T; i++)
            for (int j = 0; j < S; j++) {
                ptrdiff_t cell = ((ptrdiff_t)m * T + i) * S + j, k = m * N + T - 1 - i + j;
                ck_assert(at_element(y, cell) == at_element(x, k));
                at_store(dx->dtype, dx->data, k, at_element(dx, k) + at_element(dy, cell));
            }
    for (int k = 0; k < M * N; k++)
        assert_close(at_grad_element(x, k), at_element(dx, k),
                     at_real(t) == ATTIC_F32 ? 5e-5 : 1e-13);
}

START_TEST(any_size_agrees_with_the_plainest_loop)
{
    for (at_tape *t = NULL; next_tape(&t);) { /* several strips, several blocks */
        check_plainly(t, 3, 300, 5);
        check_plainly(t, 2, 5, 700);
        check_plainly(t, 2, 257, 256); /* 512 diagonals: two strips and nothing more */
        check_plainly(t, 1, 129, 129); /* 257: one strip and one diagonal */
    }
}
END_TEST

START_TEST(long_diagonals_lose_no_digits)
{
    enum { T = 3000 };
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *diagonal = at_variable(t, at_shape_of(2 * T - 1), NULL);
    at_tensor *square = at_toeplitz(t, diagonal, T, T), *dy = at_const(t, square->shape, NULL);
    for (int i = 0; i < T; i++) at_set(dy, i ? 1e-8 : 1, i, i);
    ck_assert(
        at_backward_from(t, square, dy)); /* 1 + 1e-8 + 1e-8 + ...: each alone would be lost */
    assert_close(at_grad_element(diagonal, T - 1), 1 + (T - 1) * 1e-8, 1e-7);
    ck_assert_double_gt(at_grad_element(diagonal, T - 1), 1 + 2e-5);
    at_close(t);
}
END_TEST

START_TEST(any_number_of_threads_gives_the_same_bits)
{
    void *bits[2];
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_random(t, at_shape_of(3, 899), at_normal(1));
    at_tensor *dy = at_random(t, at_shape_of(3, 400, 500), at_normal(1));
    for (int k = 0; k < 2; k++) {
        at_threads(k ? 4 : 1);
        at_tensor *v = variable_like(t, x);
        ck_assert(at_backward_from(t, at_toeplitz(t, v, 400, 500), dy));
        bits[k] = v->grad;
    }
    ck_assert_mem_eq(bits[0], bits[1], at_bytes(x));
    at_threads(0);
    at_close(t);
}
END_TEST

START_TEST(empty_matrices_are_legal)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    const int size[][2] = {{0, 0}, {0, 3}, {3, 0}, {0, 1}};
    for (int k = 0; k < 4; k++) {
        int T = size[k][0], S = size[k][1], N = T + S > 0 ? T + S - 1 : 0;
        at_tensor *x = at_variable(t, at_shape_of(2, N), NULL), *y = at_toeplitz(t, x, T, S);
        ck_assert_msg(y && at_same_shape(y->shape, at_shape_of(2, T, S)), "%s", at_error(t));
        ck_assert(at_backward_from(t, y, at_const(t, y->shape, NULL)));
        for (int i = 0; i < 2 * N; i++) ck_assert(at_grad_element(x, i) == 0);
    }
    ck_assert(at_toeplitz(t, at_variable(t, at_shape_of(0, 4), NULL), 2, 3));
    at_close(t);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    struct {
        at_shape x;
        int T, S;
        const char *text;
    } c[] = {
        {{2, {2, 5}},
         3,
         4,
         "toeplitz: x is [2,5], but must be [...,6]: one number for each diagonal of 3 x 4"},
        {{0, {0}},
         1,
         1,
         "toeplitz: x is [], but must be [...,1]: one number for each diagonal of 1 x 1"},
        {{1, {1}}, -1, 3, "toeplitz: a matrix of -1 x 3, but neither can be negative"},
        {{1, {1}}, 3, -1, "toeplitz: a matrix of 3 x -1, but neither can be negative"},
        {{8, {1, 1, 1, 1, 1, 1, 1, 1}},
         1,
         1,
         "toeplitz: x is [1,1,1,1,1,1,1,1] and there can be no dim more"},
        {{1, {1}},
         2147483647,
         2147483647,
         "toeplitz: x is [1], but must be [...,4294967293]: one number for each diagonal of "
         "2147483647 x 2147483647"},
    };
    for (size_t k = 0; k < sizeof c / sizeof *c; k++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        ck_assert(!at_toeplitz(t, at_const(t, c[k].x, NULL), c[k].T, c[k].S));
        assert_error(t, c[k].text);
        at_close(t);
    }
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert(!at_toeplitz(t, at_ints(t, at_shape_of(1), NULL), 1, 1));
    assert_error(t, "toeplitz: x [1] has dtype i32 but must be f32");
    at_close(t);
}
END_TEST

SUITE(ops_toeplitz, diagonals_hold_one_number_each, a_gradient_is_summed_down_its_diagonal,
      gradients_of_two_uses_add_up, any_size_agrees_with_the_plainest_loop,
      long_diagonals_lose_no_digits, any_number_of_threads_gives_the_same_bits,
      empty_matrices_are_legal, what_does_not_fit_is_refused)
