/* test_softmax.c -- rows of scores become distributions, along any axis. */
#include "tensors.h"

#include <math.h>

#include "golden/rows.inc"

static at_tensor *golden_input(at_tape *t)
{
    return at_variable(t, at_shape_of(2, 3, 5), golden_x);
}

START_TEST(along_every_axis_it_equals_the_golden_numbers)
{
    const double *y[] = {softmax0_y, softmax1_y, softmax2_y};
    const double *dx[] = {softmax0_dx, softmax1_dx, softmax2_dx};
    for (at_tape *t = NULL; next_tape(&t);)
        for (int axis = 0; axis < 3; axis++) {
            at_tensor *x = golden_input(t), *p = at_softmax_over(t, x, axis);
            assert_values(p, y[axis], close_to(t));
            ck_assert(pull(t, p, golden_dy));
            assert_grads(x, dx[axis], close_to(t));
        }
}
END_TEST

START_TEST(two_equal_scores_share_and_a_log_counts_as_a_weight)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_const(t, at_shape_of(2, 2), (double[]){7, 7, log(1), log(3)});
    assert_values(at_softmax(t, x), ((double[]){0.5, 0.5, 0.25, 0.75}), 1e-15);
    at_close(t);
}
END_TEST

START_TEST(the_last_axis_is_minus_1_and_the_first_minus_3)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    assert_values(at_softmax_over(t, golden_input(t), -1), softmax2_y, 1e-14);
    assert_values(at_softmax_over(t, golden_input(t), -3), softmax0_y, 1e-14);
    at_close(t);
}
END_TEST

/* Rows of x [outer, N, inner] along axis 1 are those of the transpose along its last axis. */
static void check_axis_against_rows(at_tape *t, int outer, int N, int inner)
{
    at_tensor *x = at_random(t, at_shape_of(outer, N, inner), at_normal(3));
    at_tensor *xt = at_blank(t, ATTIC_REAL, at_shape_of(outer, inner, N));
    for (int o = 0; o < outer; o++)
        for (int j = 0; j < N; j++)
            for (int i = 0; i < inner; i++) at_set(xt, at_get(x, o, j, i), o, i, j);
    at_tensor *y = at_softmax_over(t, x, 1), *yt = at_softmax(t, xt);
    for (int o = 0; o < outer; o++)
        for (int j = 0; j < N; j++)
            for (int i = 0; i < inner; i++)
                assert_close(at_get(y, o, j, i), at_get(yt, o, i, j), close_to(t));
}

START_TEST(strips_of_columns_agree_with_rows)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        check_axis_against_rows(t, 2, 7, 63);
        check_axis_against_rows(t, 1, 300, 65); /* two strips, several blocks */
        check_axis_against_rows(t, 3, 1, 130);
    }
}
END_TEST

START_TEST(every_row_sums_to_1_and_no_weight_is_negative)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *y = at_softmax(t, at_random(t, at_shape_of(2, 4, 1000), at_normal(10)));
        for (int r = 0; r < 8; r++) {
            double sum = 0;
            for (int j = 0; j < 1000; j++) {
                ck_assert(at_element(y, r * 1000 + j) >= 0);
                sum += at_element(y, r * 1000 + j);
            }
            assert_close(sum, 1, 1e-6);
        }
    }
}
END_TEST

START_TEST(a_common_shift_of_the_scores_changes_nothing)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *a = at_const(t, at_shape_of(3), (double[]){1, 2, 4});
    at_tensor *b = at_const(t, at_shape_of(3), (double[]){100001, 100002, 100004});
    at_tensor *p = at_softmax(t, a), *q = at_softmax(t, b);
    ck_assert_mem_eq(p->data, q->data, 3 * sizeof(float));
    at_close(t);
}
END_TEST

/* For axis -1 and, as a column between two others, axis 0. */
static void check_edge_row(const double row[3], const double expected[3])
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *y = at_softmax(t, at_const(t, at_shape_of(3), row));
        assert_values(y, expected, close_to(t));
        double columns[9];
        for (int j = 0; j < 3; j++)
            columns[3 * j] = columns[3 * j + 2] = j, columns[3 * j + 1] = row[j];
        y = at_softmax_over(t, at_const(t, at_shape_of(3, 3), columns), 0);
        for (int j = 0; j < 3; j++) {
            assert_close(at_get(y, j, 1), expected[j], close_to(t));
            ck_assert(isfinite(at_get(y, j, 0)) && isfinite(at_get(y, j, 2)));
        }
    }
}

START_TEST(masked_scores_get_0_and_the_others_share)
{
    check_edge_row((double[]){0, -(double)INFINITY, 0}, (double[]){0.5, 0, 0.5});
    check_edge_row((double[]){-(double)INFINITY, -(double)INFINITY, -1e30}, (double[]){0, 0, 1});
}
END_TEST

START_TEST(a_fully_masked_row_is_all_0)
{
    check_edge_row((double[]){-(double)INFINITY, -(double)INFINITY, -(double)INFINITY},
                   (double[]){0, 0, 0});
}
END_TEST

START_TEST(nan_and_plus_infinity_surface)
{
    const double nan = (double)NAN;
    check_edge_row((double[]){0, nan, 0}, (double[]){nan, nan, nan});
    check_edge_row((double[]){-(double)INFINITY, -(double)INFINITY, nan},
                   (double[]){nan, nan, nan});
    check_edge_row((double[]){nan, 5, -(double)INFINITY}, (double[]){nan, nan, nan});
    check_edge_row((double[]){0, (double)INFINITY, 0}, (double[]){nan, nan, nan});
}
END_TEST

START_TEST(a_fully_masked_row_gets_gradient_0)
{
    const double x[] = {1, -(double)INFINITY, 2, -(double)INFINITY},
                 dy[] = {3, 4, 5, 6}; /* column 1 is masked */
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *a = at_variable(t, at_shape_of(2, 2), x);
        ck_assert(pull(t, at_softmax_over(t, a, 0), dy));
        ck_assert(at_grad_element(a, 1) == 0 && at_grad_element(a, 3) == 0);
        ck_assert(at_grad_element(a, 0) < 0 && at_grad_element(a, 2) > 0);

        at_tensor *b =
            at_variable(t, at_shape_of(2), (double[]){-(double)INFINITY, -(double)INFINITY});
        ck_assert(pull(t, at_softmax(t, b), dy));
        assert_grads(b, ((double[]){0, 0}), 0);
    }
}
END_TEST

START_TEST(gradients_of_two_uses_add_up)
{
    double twice[30];
    for (int i = 0; i < 30; i++) twice[i] = softmax1_dx[i] + softmax2_dx[i];
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = golden_input(t);
        at_tensor *p = at_softmax_over(t, x, 1), *q = at_softmax_over(t, x, 2);
        ck_assert(pull(t, p, golden_dy) && pull(t, q, golden_dy));
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
                at_tensor *y = at_softmax_over(t, x, axis);
                ck_assert(y && at_same_shape(y->shape, shapes[s]));
                ck_assert(at_backward_from(t, y, at_const(t, y->shape, (double[]){7})));
                assert_values(y, ((double[]){1}), 0);
                assert_grads(x, ((double[]){0}), 0);
            }
}
END_TEST

START_TEST(the_bits_do_not_depend_on_the_number_of_threads)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int axis = 0; axis < 3; axis++) {
            at_tensor *v = at_random(t, at_shape_of(20, 33, 70), at_normal(2));
            at_tensor *dy = at_random(t, v->shape, at_normal(1)), *y[2], *dx[2];
            for (int k = 0; k < 2; k++) {
                at_threads(k ? 3 : 1);
                at_tensor *x = variable_like(t, v);
                y[k] = at_softmax_over(t, x, axis);
                ck_assert(at_backward_from(t, y[k], dy));
                dx[k] = at_grad_copy(t, x);
            }
            ck_assert_mem_eq(y[0]->data, y[1]->data, at_bytes(v));
            ck_assert_mem_eq(dx[0]->data, dx[1]->data, at_bytes(v));
        }
    at_threads(0);
}
END_TEST

START_TEST(wrong_arguments_are_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_softmax(t, at_const(t, at_shape_of(), NULL));
    assert_error(t, "softmax: there is no axis -1 in x []");
    at_clear_error(t);
    at_softmax_over(t, at_name(at_const(t, at_shape_of(2, 3), NULL), "s"), 2);
    assert_error(t, "softmax: there is no axis 2 in x \"s\" [2,3]");
    at_clear_error(t);
    at_softmax(t, at_ints(t, at_shape_of(3), NULL));
    assert_error(t, "softmax: x [3] has dtype i32 but must be f32");
    at_clear_error(t);
    at_softmax(t, NULL);
    assert_error(t, "softmax: x is NULL");
    at_close(t);
}
END_TEST

SUITE(ops_softmax, along_every_axis_it_equals_the_golden_numbers,
      two_equal_scores_share_and_a_log_counts_as_a_weight,
      the_last_axis_is_minus_1_and_the_first_minus_3, strips_of_columns_agree_with_rows,
      every_row_sums_to_1_and_no_weight_is_negative, a_common_shift_of_the_scores_changes_nothing,
      masked_scores_get_0_and_the_others_share, a_fully_masked_row_is_all_0,
      nan_and_plus_infinity_surface, a_fully_masked_row_gets_gradient_0,
      gradients_of_two_uses_add_up, sizes_of_0_and_1_are_legal,
      the_bits_do_not_depend_on_the_number_of_threads, wrong_arguments_are_named)
