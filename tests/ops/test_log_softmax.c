/* test_log_softmax.c -- logarithms of probabilities, also where these would be 0. */
#include "tensors.h"

#include <math.h>

#include "golden/rows.inc"

START_TEST(along_every_axis_it_equals_the_golden_numbers)
{
    const double *y[] = {log_softmax0_y, log_softmax1_y, log_softmax2_y};
    const double *dx[] = {log_softmax0_dx, log_softmax1_dx, log_softmax2_dx};
    for (at_tape *t = NULL; next_tape(&t);)
        for (int axis = 0; axis < 3; axis++) {
            at_tensor *x = at_variable(t, at_shape_of(2, 3, 5), golden_x);
            at_tensor *log_p = at_log_softmax_over(t, x, axis);
            assert_values(log_p, y[axis], close_to(t));
            ck_assert(pull(t, log_p, golden_dy));
            assert_grads(x, dx[axis], close_to(t));
        }
}
END_TEST

START_TEST(equal_scores_give_minus_log_n)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *y = at_log_softmax(t, at_const(t, at_shape_of(4), (double[]){3, 3, 3, 3}));
    for (int i = 0; i < 4; i++) assert_close(at_get(y, i), -log(4), 1e-15);
    at_close(t);
}
END_TEST

START_TEST(it_is_exact_where_log_of_softmax_is_minus_infinity)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *y = at_log_softmax(t, at_const(t, at_shape_of(2), (double[]){0, -10000}));
        assert_values(y, ((double[]){0, -10000}), 0);
    }
}
END_TEST

START_TEST(long_rows_agree_with_their_transpose)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *v = at_random(t, at_shape_of(1, 600), at_normal(3)); /* chunks of 256 */
        at_tensor *dy = at_random(t, v->shape, at_normal(1));
        at_tensor *row = variable_like(t, v), *column = variable_like(t, v);
        at_tensor *y = at_log_softmax(t, row);
        ck_assert(at_backward_from(t, y, dy));
        column->shape = dy->shape = at_shape_of(600, 1); /* one of each: the same memory */
        at_tensor *z = at_log_softmax_over(t, column, 0);
        ck_assert(at_backward_from(t, z, dy));
        for (int j = 0; j < 600; j++) {
            assert_close(at_element(y, j), at_element(z, j), 10 * close_to(t));
            assert_close(at_grad_element(row, j), at_grad_element(column, j), 10 * close_to(t));
        }
    }
}
END_TEST

START_TEST(strips_of_columns_agree_with_rows)
{
    enum { N = 40, W = 130 };
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_random(t, at_shape_of(N, W), at_normal(3));
        at_tensor *xt = at_blank(t, ATTIC_REAL, at_shape_of(W, N));
        for (int j = 0; j < N; j++)
            for (int i = 0; i < W; i++) at_set(xt, at_get(x, j, i), i, j);
        at_tensor *y = at_log_softmax_over(t, x, 0), *yt = at_log_softmax(t, xt);
        for (int j = 0; j < N; j++)
            for (int i = 0; i < W; i++)
                assert_close(at_get(y, j, i), at_get(yt, i, j), 10 * close_to(t));
    }
}
END_TEST

/* For axis -1 and, as a column between two others, axis 0. */
static void check_edge_row(const double row[3], const double expected[3])
{
    for (at_tape *t = NULL; next_tape(&t);) {
        assert_values(at_log_softmax(t, at_const(t, at_shape_of(3), row)), expected, close_to(t));
        double columns[9] = {0};
        for (int j = 0; j < 3; j++) columns[3 * j + 1] = row[j];
        at_tensor *y = at_log_softmax_over(t, at_const(t, at_shape_of(3, 3), columns), 0);
        for (int j = 0; j < 3; j++) {
            assert_close(at_get(y, j, 1), expected[j], close_to(t));
            ck_assert(isfinite(at_get(y, j, 0)) && isfinite(at_get(y, j, 2)));
        }
    }
}

START_TEST(masked_scores_have_log_probability_minus_infinity)
{
    const double half = log(0.5), low = -(double)INFINITY, nan = (double)NAN;
    check_edge_row((double[]){0, low, 0}, (double[]){half, low, half});
    check_edge_row((double[]){low, low, low}, (double[]){low, low, low});
    check_edge_row((double[]){low, nan, 0}, (double[]){nan, nan, nan});
    check_edge_row((double[]){0, (double)INFINITY, 0}, (double[]){nan, nan, nan});
}
END_TEST

START_TEST(a_fully_masked_row_gets_gradient_0)
{
    const double low = -(double)INFINITY, dy[] = {3, 4, 5, 6};
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *a = at_variable(t, at_shape_of(2, 2), (double[]){1, low, 2, low});
        ck_assert(pull(t, at_log_softmax_over(t, a, 0), dy)); /* column 1 is masked */
        ck_assert(at_grad_element(a, 1) == 0 && at_grad_element(a, 3) == 0);
        ck_assert(at_grad_element(a, 0) != 0 && at_grad_element(a, 2) != 0);

        at_tensor *b = at_variable(t, at_shape_of(2), (double[]){low, low});
        ck_assert(pull(t, at_log_softmax(t, b), dy));
        assert_grads(b, ((double[]){0, 0}), 0);
    }
}
END_TEST

START_TEST(a_masked_score_among_others_passes_on_only_its_own_cotangent)
{
    /* p = 0, 0, 1/2, 1/2 and sum dy = 10:  dx = dy - 10 p */
    const double low = -(double)INFINITY, row[] = {low, low, 0, 0}, dy[] = {1, 2, 3, 4};
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 0; k < 2; k++) {
            at_tensor *x = at_variable(t, k ? at_shape_of(4) : at_shape_of(4, 1), row);
            ck_assert(pull(t, at_log_softmax_over(t, x, 0), dy));
            assert_grads(x, ((double[]){1, 2, -2, -1}), close_to(t));
        }
}
END_TEST

START_TEST(gradients_of_two_uses_add_up)
{
    double twice[30];
    for (int i = 0; i < 30; i++) twice[i] = log_softmax1_dx[i] + log_softmax2_dx[i];
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 3, 5), golden_x);
        ck_assert(pull(t, at_log_softmax_over(t, x, 1), golden_dy));
        ck_assert(pull(t, at_log_softmax_over(t, x, 2), golden_dy));
        assert_grads(x, twice, 2 * close_to(t));
    }
}
END_TEST

START_TEST(sizes_of_0_and_1_are_legal)
{
    const at_shape shapes[] = {at_shape_of(0), at_shape_of(3, 0), at_shape_of(0, 3),
                               at_shape_of(2, 0, 3), at_shape_of(1)};
    for (at_tape *t = NULL; next_tape(&t);)
        for (int s = 0; s < 5; s++)
            for (int axis = 0; axis < shapes[s].ndim; axis++) {
                at_tensor *x = at_variable(t, shapes[s], (double[]){5});
                at_tensor *y = at_log_softmax_over(t, x, axis);
                ck_assert(y && pull(t, y, (double[]){7}));
                assert_values(y, ((double[]){0}), 0);
                assert_grads(x, ((double[]){0}), 0);
            }
}
END_TEST

START_TEST(wrong_arguments_are_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_log_softmax(t, at_const(t, at_shape_of(), NULL));
    assert_error(t, "log_softmax: there is no axis -1 in x []");
    at_clear_error(t);
    at_log_softmax_over(t, at_const(t, at_shape_of(2, 3), NULL), -3);
    assert_error(t, "log_softmax: there is no axis -3 in x [2,3]");
    at_clear_error(t);
    at_log_softmax(t, at_bools(t, at_shape_of(3), NULL));
    assert_error(t, "log_softmax: x [3] has dtype bool but must be f32");
    at_close(t);
}
END_TEST

SUITE(ops_log_softmax, along_every_axis_it_equals_the_golden_numbers, equal_scores_give_minus_log_n,
      it_is_exact_where_log_of_softmax_is_minus_infinity, long_rows_agree_with_their_transpose,
      strips_of_columns_agree_with_rows, masked_scores_have_log_probability_minus_infinity,
      a_fully_masked_row_gets_gradient_0,
      a_masked_score_among_others_passes_on_only_its_own_cotangent, gradients_of_two_uses_add_up,
      sizes_of_0_and_1_are_legal, wrong_arguments_are_named)
