/* test_rms_norm.c -- rows with a mean square of 1, scaled. */
#include "tensors.h"

#include <math.h>

#include "golden/rows.inc"

START_TEST(value_and_gradients_equal_the_golden_numbers)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 3, 5), golden_x);
        at_tensor *gamma = at_variable(t, at_shape_of(5), golden_gamma);
        at_tensor *y = at_rms_norm(t, x, gamma, 0.01);
        assert_values(y, rms_norm_y, close_to(t));
        ck_assert(pull(t, y, golden_dy));
        assert_grads(x, rms_norm_dx, close_to(t));
        assert_grads(gamma, rms_norm_dgamma, close_to(t));
    }
}
END_TEST

START_TEST(without_gamma_it_equals_the_golden_numbers)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 3, 5), golden_x);
        at_tensor *y = at_rms_norm(t, x, NULL, 0.01);
        assert_values(y, rms_norm_plain_y, close_to(t));
        ck_assert(pull(t, y, golden_dy));
        assert_grads(x, rms_norm_plain_dx, close_to(t));
    }
}
END_TEST

START_TEST(x_or_gamma_may_be_constant)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 3, 5), golden_x), *cx = at_detach(t, x);
        at_tensor *gamma = at_variable(t, at_shape_of(5), golden_gamma), *cg = at_detach(t, gamma);
        ck_assert(pull(t, at_rms_norm(t, cx, gamma, 0.01), golden_dy));
        ck_assert(pull(t, at_rms_norm(t, x, cg, 0.01), golden_dy));
        assert_grads(x, rms_norm_dx, close_to(t));
        assert_grads(gamma, rms_norm_dgamma, close_to(t));
    }
}
END_TEST

START_TEST(a_row_by_hand)
{
    /* 3, 4: mean square 12.5 */
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *y = at_rms_norm(t, at_const(t, at_shape_of(2), (double[]){3, 4}), NULL, 0);
        assert_values(y, ((double[]){3 / sqrt(12.5), 4 / sqrt(12.5)}), close_to(t));
    }
}
END_TEST

START_TEST(stretching_a_row_is_not_felt_and_its_gradient_is_orthogonal_to_it)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(5), golden_x);
        at_tensor *y = at_rms_norm(t, x, NULL, 0);
        ck_assert(pull(t, y, golden_dy));
        double dot = 0, scaled[5];
        for (int j = 0; j < 5; j++) dot += at_get(x, j) * at_grad_element(x, j);
        for (int j = 0; j < 5; j++) scaled[j] = at_get(x, j) * 1000;
        assert_close(dot, 0, 2 * close_to(t));
        at_tensor *z = at_rms_norm(t, at_const(t, at_shape_of(5), scaled), NULL, 0);
        for (int j = 0; j < 5; j++) assert_close(at_get(y, j), at_get(z, j), close_to(t));
    }
}
END_TEST

START_TEST(a_row_of_zeros_gives_0)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2), NULL);
        at_tensor *y = at_rms_norm(t, x, NULL, 1e-6);
        assert_values(y, ((double[]){0, 0}), 0);
        ck_assert(pull(t, y, (double[]){1, 2}));
        assert_grads(x, ((double[]){1000, 2000}), 1e-3); /* 1 / sqrt(eps) */
    }
}
END_TEST

START_TEST(sizes_of_0_and_1_are_legal)
{
    const at_shape shapes[] = {at_shape_of(3, 0), at_shape_of(0, 3), at_shape_of(2, 1)};
    for (at_tape *t = NULL; next_tape(&t);)
        for (int s = 0; s < 3; s++) {
            at_tensor *x = at_variable(t, shapes[s], golden_x);
            at_tensor *g = at_variable(t, at_shape_of(at_last(shapes[s])), golden_gamma);
            at_tensor *y = at_rms_norm(t, x, g, 0);
            ck_assert(y && pull(t, y, (double[]){1, 2}));
            if (s < 2) assert_grads(g, ((double[]){0, 0, 0}), 0);
            if (s == 2) assert_grads(x, ((double[]){0, 0}), close_to(t)); /* y = sign(x) gamma */
        }
}
END_TEST

START_TEST(one_tensor_may_be_both_inputs)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(5), golden_gamma);
        at_tensor *a = at_variable(t, at_shape_of(5), golden_gamma);
        at_tensor *b = at_variable(t, at_shape_of(5), golden_gamma);
        ck_assert(pull(t, at_rms_norm(t, x, x, 0.1), golden_dy));
        ck_assert(pull(t, at_rms_norm(t, a, b, 0.1), golden_dy));
        for (int j = 0; j < 5; j++)
            assert_close(at_grad_element(x, j), at_grad_element(a, j) + at_grad_element(b, j),
                         2 * close_to(t));
    }
}
END_TEST

START_TEST(gradients_of_two_uses_add_up)
{
    double dx[30], dgamma[5];
    for (int i = 0; i < 30; i++) dx[i] = 2 * rms_norm_dx[i];
    for (int i = 0; i < 5; i++) dgamma[i] = 2 * rms_norm_dgamma[i];
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 3, 5), golden_x);
        at_tensor *gamma = at_variable(t, at_shape_of(5), golden_gamma);
        for (int k = 0; k < 2; k++) ck_assert(pull(t, at_rms_norm(t, x, gamma, 0.01), golden_dy));
        assert_grads(x, dx, 2 * close_to(t));
        assert_grads(gamma, dgamma, 2 * close_to(t));
    }
}
END_TEST

START_TEST(sums_over_many_rows_are_right_at_any_number_of_threads)
{
    enum { ROWS = 1100, N = 70 };
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *v = at_random(t, at_shape_of(ROWS, N), at_normal(2));
        at_tensor *dy = at_random(t, v->shape, at_normal(1)), *g[2], *dx[2];
        for (int k = 0; k < 2; k++) {
            at_threads(k ? 3 : 1);
            at_tensor *x = variable_like(t, v), *gamma = at_variable(t, at_shape_of(N), NULL);
            ck_assert(at_backward_from(t, at_rms_norm(t, x, gamma, 1e-5), dy));
            g[k] = at_grad_copy(t, gamma), dx[k] = at_grad_copy(t, x);
        }
        ck_assert_mem_eq(g[0]->data, g[1]->data, at_bytes(g[0]));
        ck_assert_mem_eq(dx[0]->data, dx[1]->data, at_bytes(v));
        at_tensor *h = at_rms_norm(t, v, NULL, 1e-5);
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int i = 0; i < ROWS; i++) sum += at_get(h, i, j) * at_get(dy, i, j);
            assert_close(at_get(g[0], j), sum, 50 * close_to(t));
        }
    }
    at_threads(0);
}
END_TEST

START_TEST(wrong_arguments_are_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(2, 3), NULL);
    at_rms_norm(t, x, at_const(t, at_shape_of(1, 3), NULL), 1e-5);
    assert_error(t, "rms_norm: x is [2,3] but gamma is [1,3]: it must be [3]");
    at_clear_error(t);
    at_rms_norm(t, x, NULL, (double)NAN);
    assert_error(t, "rms_norm: eps is nan but must be finite and >= 0");
    at_clear_error(t);
    at_rms_norm(t, x, NULL, 1e-50);
    assert_error(t, "rms_norm: 1 / eps is 1e+50, but must be a finite f32");
    at_clear_error(t);
    at_rms_norm(t, at_const(t, at_shape_of(), NULL), NULL, 1e-5);
    assert_error(t, "rms_norm: x is []; it needs an axis");
    at_close(t);
}
END_TEST

SUITE(ops_rms_norm, value_and_gradients_equal_the_golden_numbers,
      without_gamma_it_equals_the_golden_numbers, x_or_gamma_may_be_constant, a_row_by_hand,
      stretching_a_row_is_not_felt_and_its_gradient_is_orthogonal_to_it, a_row_of_zeros_gives_0,
      sizes_of_0_and_1_are_legal, one_tensor_may_be_both_inputs, gradients_of_two_uses_add_up,
      sums_over_many_rows_are_right_at_any_number_of_threads, wrong_arguments_are_named)
