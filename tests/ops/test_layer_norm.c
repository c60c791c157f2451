/* test_layer_norm.c -- rows with mean 0 and variance 1, scaled and shifted. */
#include "tensors.h"

#include <math.h>

#include "golden/rows.inc"

START_TEST(value_and_gradients_equal_the_golden_numbers)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 3, 5), golden_x);
        at_tensor *gamma = at_variable(t, at_shape_of(5), golden_gamma);
        at_tensor *beta = at_variable(t, at_shape_of(5), golden_beta);
        at_tensor *y = at_layer_norm(t, x, gamma, beta, 0.01);
        assert_values(y, layer_norm_y, close_to(t));
        ck_assert(pull(t, y, golden_dy));
        assert_grads(x, layer_norm_dx, close_to(t));
        assert_grads(gamma, layer_norm_dgamma, close_to(t));
        assert_grads(beta, layer_norm_dbeta, close_to(t));
    }
}
END_TEST

START_TEST(without_gamma_and_beta_it_equals_the_golden_numbers)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 3, 5), golden_x);
        at_tensor *y = at_layer_norm(t, x, NULL, NULL, 0.01);
        assert_values(y, layer_norm_plain_y, close_to(t));
        ck_assert(pull(t, y, golden_dy));
        assert_grads(x, layer_norm_plain_dx, close_to(t));
    }
}
END_TEST

START_TEST(either_of_gamma_and_beta_may_be_absent_or_constant)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_const(t, at_shape_of(2, 3, 5), golden_x);
        at_tensor *gamma = at_variable(t, at_shape_of(5), golden_gamma);
        at_tensor *beta = at_variable(t, at_shape_of(5), golden_beta);
        ck_assert(pull(t, at_layer_norm(t, x, gamma, NULL, 0.01), golden_dy));
        assert_grads(gamma, layer_norm_dgamma, close_to(t));
        ck_assert(pull(t, at_layer_norm(t, x, NULL, beta, 0.01), golden_dy));
        assert_grads(beta, layer_norm_dbeta, close_to(t));
        at_tensor *v = at_variable(t, x->shape, golden_x), *c = at_detach(t, gamma);
        ck_assert(pull(t, at_layer_norm(t, v, c, c, 0.01), golden_dy));
        assert_grads(v, layer_norm_dx, close_to(t));
    }
}
END_TEST

START_TEST(a_row_by_hand)
{
    /* 1, 3, 5, 7: mean 4, variance 5 */
    const double h = 1 / sqrt(5);
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *y =
            at_layer_norm(t, at_const(t, at_shape_of(4), (double[]){1, 3, 5, 7}), NULL, NULL, 0);
        assert_values(y, ((double[]){-3 * h, -h, h, 3 * h}), close_to(t));
    }
}
END_TEST

START_TEST(shift_and_stretch_of_a_row_are_not_felt)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    double moved[30];
    for (int i = 0; i < 30; i++) moved[i] = 3 * golden_x[i] - 8;
    at_tensor *a = at_layer_norm(t, at_const(t, at_shape_of(6, 5), golden_x), NULL, NULL, 0);
    at_tensor *b = at_layer_norm(t, at_const(t, at_shape_of(6, 5), moved), NULL, NULL, 0);
    assert_all_close(30, (double *)a->data, (double *)b->data, 1e-13);
    at_close(t);
}
END_TEST

START_TEST(a_large_mean_costs_no_more_than_the_digits_it_takes)
{
    enum { N = 1024 }; /* alternately 10000 and 10001, which f32 holds exactly */
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(N), NULL);
    for (int j = 0; j < N; j++) at_set(x, 10000 + j % 2, j);
    at_tensor *y = at_layer_norm(t, x, NULL, NULL, 0);
    for (int j = 0; j < N; j++) assert_close(at_get(y, j), j % 2 ? 1 : -1, 1e-6);
    at_close(t);
}
END_TEST

START_TEST(a_constant_row_gives_beta)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(3), (double[]){0.1, 0.1, 0.1});
        at_tensor *beta = at_const(t, at_shape_of(3), (double[]){1, 2, 3});
        at_tensor *y = at_layer_norm(t, x, beta, beta, 1e-5);
        assert_values(y, ((double[]){1, 2, 3}), 1e-5);
        ck_assert(pull(t, y, (double[]){1, 1, 1}) && isfinite(at_grad_element(x, 0)));
    }
}
END_TEST

START_TEST(one_column_gives_beta_and_gradient_0)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 1), (double[]){3, 4});
        at_tensor *beta = at_variable(t, at_shape_of(1), (double[]){7});
        at_tensor *y = at_layer_norm(t, x, beta, beta, 1e-5);
        assert_values(y, ((double[]){7, 7}), 0);
        ck_assert(pull(t, y, (double[]){5, 6}));
        assert_grads(x, ((double[]){0, 0}), 0);
        assert_grads(beta, ((double[]){11}), 0);
    }
}
END_TEST

START_TEST(no_columns_and_no_rows_are_legal)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 0; k < 2; k++) {
            at_tensor *x = at_variable(t, k ? at_shape_of(0, 3) : at_shape_of(3, 0), NULL);
            at_tensor *g = at_variable(t, at_shape_of(at_last(x->shape)), golden_x);
            at_tensor *y = at_layer_norm(t, x, g, g, 1e-5);
            ck_assert(y && pull(t, y, NULL));
            assert_grads(g, ((double[]){0, 0, 0}), 0);
        }
}
END_TEST

START_TEST(nan_stays_in_its_row)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(2, 2), (double[]){1, (double)NAN, 1, 3});
    at_tensor *y = at_layer_norm(t, x, NULL, NULL, 0);
    ck_assert(isnan(at_get(y, 0, 0)) && isnan(at_get(y, 0, 1)));
    assert_close(at_get(y, 1, 0), -1, 1e-6);
    at_close(t);
}
END_TEST

START_TEST(one_tensor_may_be_all_three_inputs)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *v[3], *x = at_variable(t, at_shape_of(5), golden_gamma);
        for (int k = 0; k < 3; k++) v[k] = at_variable(t, at_shape_of(5), golden_gamma);
        ck_assert(pull(t, at_layer_norm(t, x, x, x, 0.1), golden_dy));
        ck_assert(pull(t, at_layer_norm(t, v[0], v[1], v[2], 0.1), golden_dy));
        for (int j = 0; j < 5; j++) {
            double sum = 0;
            for (int k = 0; k < 3; k++) sum += at_grad_element(v[k], j);
            assert_close(at_grad_element(x, j), sum, 4 * close_to(t));
        }
    }
}
END_TEST

START_TEST(gradients_of_two_uses_add_up)
{
    double dx[30], dgamma[5];
    for (int i = 0; i < 30; i++) dx[i] = 2 * layer_norm_dx[i];
    for (int i = 0; i < 5; i++) dgamma[i] = 2 * layer_norm_dgamma[i];
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 3, 5), golden_x);
        at_tensor *gamma = at_variable(t, at_shape_of(5), golden_gamma);
        for (int k = 0; k < 2; k++)
            ck_assert(pull(t, at_layer_norm(t, x, gamma, NULL, 0.01), golden_dy));
        assert_grads(x, dx, 2 * close_to(t));
        assert_grads(gamma, dgamma, 2 * close_to(t));
    }
}
END_TEST

/* dgamma, dbeta of many rows against sums in double, and at 1 and 3 threads bit for bit */
START_TEST(sums_over_many_rows_are_right_at_any_number_of_threads)
{
    enum { ROWS = 1100, N = 70 };
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *v = at_random(t, at_shape_of(ROWS, N), at_normal(2));
        at_tensor *dy = at_random(t, v->shape, at_normal(1)), *g[2], *b[2], *dx[2], *y = NULL;
        for (int k = 0; k < 2; k++) {
            at_threads(k ? 3 : 1);
            at_tensor *x = variable_like(t, v);
            at_tensor *gamma = at_variable(t, at_shape_of(N), NULL);
            at_tensor *beta = at_variable(t, at_shape_of(N), NULL);
            y = at_layer_norm(t, x, gamma, beta, 1e-5);
            ck_assert(at_backward_from(t, y, dy));
            g[k] = at_grad_copy(t, gamma), b[k] = at_grad_copy(t, beta), dx[k] = at_grad_copy(t, x);
        }
        ck_assert_mem_eq(g[0]->data, g[1]->data, at_bytes(g[0]));
        ck_assert_mem_eq(b[0]->data, b[1]->data, at_bytes(b[0]));
        ck_assert_mem_eq(dx[0]->data, dx[1]->data, at_bytes(v));
        y = at_layer_norm(t, v, NULL, NULL, 1e-5);
        for (int j = 0; j < N; j++) {
            double sum_g = 0, sum_b = 0;
            for (int i = 0; i < ROWS; i++) sum_g += at_get(y, i, j) * at_get(dy, i, j);
            for (int i = 0; i < ROWS; i++) sum_b += at_get(dy, i, j);
            assert_close(at_get(g[0], j), sum_g, 50 * close_to(t));
            assert_close(at_get(b[0], j), sum_b, 50 * close_to(t));
        }
    }
    at_threads(0);
}
END_TEST

START_TEST(wrong_arguments_are_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(2, 3), NULL), *two = at_const(t, at_shape_of(2), NULL);
    at_tensor *three = at_const(t, at_shape_of(3), NULL);
    at_layer_norm(t, x, two, NULL, 1e-5);
    assert_error(t, "layer_norm: x is [2,3] but gamma is [2]: it must be [3]");
    at_clear_error(t);
    at_layer_norm(t, x, three, at_name(x, "b"), 1e-5);
    assert_error(t, "layer_norm: x is \"b\" [2,3] but beta is \"b\" [2,3]: it must be [3]");
    at_clear_error(t);
    at_layer_norm(t, x, three, three, -1);
    assert_error(t, "layer_norm: eps is -1 but must be finite and >= 0");
    at_clear_error(t);
    at_layer_norm(t, x, three, three, 1e-50);
    assert_error(t, "layer_norm: 1 / eps is 1e+50, but must be a finite f32");
    at_clear_error(t);
    at_layer_norm(t, x, three, three, 1e50);
    assert_error(t, "layer_norm: eps is 1e+50, but must be a finite f32");
    at_clear_error(t);
    at_layer_norm(t, at_const(t, at_shape_of(), NULL), NULL, NULL, 1e-5);
    assert_error(t, "layer_norm: x is []; it needs an axis");
    at_clear_error(t);
    at_layer_norm(t, x, at_ints(t, at_shape_of(3), NULL), NULL, 1e-5);
    assert_error(t, "layer_norm: gamma [3] has dtype i32 but must be f32");
    at_close(t);
}
END_TEST

SUITE(ops_layer_norm, value_and_gradients_equal_the_golden_numbers,
      without_gamma_and_beta_it_equals_the_golden_numbers,
      either_of_gamma_and_beta_may_be_absent_or_constant, a_row_by_hand,
      shift_and_stretch_of_a_row_are_not_felt, a_large_mean_costs_no_more_than_the_digits_it_takes,
      a_constant_row_gives_beta, one_column_gives_beta_and_gradient_0,
      no_columns_and_no_rows_are_legal, nan_stays_in_its_row, one_tensor_may_be_all_three_inputs,
      gradients_of_two_uses_add_up, sums_over_many_rows_are_right_at_any_number_of_threads,
      wrong_arguments_are_named)
