/* test_reduce.c -- sums, means and maxima over every choice of axes. */
#include "tensors.h"

#include <math.h>
#include <stdlib.h>

#include "golden/products.inc"

typedef at_tensor *reduction(at_tape *, at_tensor *, at_shape, bool);

/* ------------------------------------------------------------------ numbers by hand ------------ */

START_TEST(a_table_that_one_can_add_up)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_const(t, at_shape_of(2, 3), (double[]){1, 5, 3, 4, 2, 6});
        assert_values(at_sum(t, x), ((double[]){21}), 0);
        assert_values(at_mean(t, x), ((double[]){3.5}), 0);
        assert_values(at_max(t, x), ((double[]){6}), 0);
        assert_values(at_sum_over(t, x, at_axes(0), false), ((double[]){5, 7, 9}), 0);
        assert_values(at_mean_over(t, x, at_axes(1), false), ((double[]){3, 4}), 0);
        assert_values(at_max_over(t, x, at_axes(0), false), ((double[]){4, 5, 6}), 0);
        assert_values(at_max_over(t, x, at_axes(-1), false), ((double[]){5, 6}), 0);
        assert_values(at_max_over(t, x, at_axes(), false), ((double[]){1, 5, 3, 4, 2, 6}), 0);
    }
}
END_TEST

START_TEST(each_number_gets_its_share)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 3), (double[]){1, 5, 3, 4, 2, 6});
        ck_assert(pull(t, at_sum_over(t, x, at_axes(0), false), (double[]){1, 2, 3}));
        assert_grads(x, ((double[]){1, 2, 3, 1, 2, 3}), 0);
        ck_assert(pull(t, at_mean_over(t, x, at_axes(1), false), (double[]){3, 30}));
        assert_grads(x, ((double[]){2, 3, 4, 11, 12, 13}), 0); /* added to what was there */
        at_zero_grads(t);
        ck_assert(pull(t, at_max_over(t, x, at_axes(1), false), (double[]){7, 8}));
        assert_grads(x, ((double[]){0, 7, 0, 0, 0, 8}), 0);
    }
}
END_TEST

START_TEST(equal_maxima_share_equally)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 4), (double[]){3, 1, 3, 3, 2, 0, 2, 1});
        ck_assert(pull(t, at_max_over(t, x, at_axes(1), false), (double[]){6, 10}));
        assert_grads(x, ((double[]){2, 0, 2, 2, 5, 0, 5, 0}), 0);
        at_zero_grads(t);
        ck_assert(pull(t, at_max(t, x), (double[]){6}));
        assert_grads(x, ((double[]){2, 0, 2, 2, 0, 0, 0, 0}), 0);
    }
}
END_TEST

START_TEST(columns_of_equal_maxima_share_equally)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(3, 2), (double[]){4, 1, 4, 2, 0, 2});
        ck_assert(pull(t, at_max_over(t, x, at_axes(0), false), (double[]){2, 6}));
        assert_grads(x, ((double[]){1, 0, 1, 3, 0, 3}), 0);
    }
}
END_TEST

START_TEST(a_nan_is_the_maximum_and_takes_the_gradient)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int axis = 0; axis < 2; axis++) {
            double v[] = {1, (double)NAN, 9, (double)NAN}, g[] = {0, 0.5, 0, 0.5};
            at_tensor *x = at_variable(t, axis ? at_shape_of(1, 4) : at_shape_of(4, 1), v);
            at_tensor *y = at_max_over(t, x, at_axes(axis), false);
            assert_values(y, ((double[]){(double)NAN}), 0);
            ck_assert(pull(t, y, (double[]){1}));
            assert_grads(x, g, 0);
        }
}
END_TEST

START_TEST(a_row_of_minus_infinity_shares_too)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(2), (double[]){-(double)INFINITY, -(double)INFINITY});
    at_tensor *y = at_max(t, x);
    assert_values(y, ((double[]){-(double)INFINITY}), 0);
    ck_assert(at_backward(t, y));
    assert_grads(x, ((double[]){0.5, 0.5}), 0);
    at_close(t);
}
END_TEST

START_TEST(keepdims_leaves_axes_of_size_1)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(2, 3, 4), NULL);
    ck_assert_str_eq(at_text(at_sum_over(t, x, at_axes(0, -1), true)), "[1,3,1]");
    ck_assert_str_eq(at_text(at_sum_over(t, x, at_axes(0, -1), false)), "[3]");
    ck_assert_str_eq(at_text(at_max_over(t, x, at_axes(), true)), "[2,3,4]");
    ck_assert_str_eq(at_text(at_mean(t, x)), "[]");
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ golden numbers ------------- */

START_TEST(they_equal_the_golden_numbers)
{
    const struct {
        reduction *f;
        at_shape axes;
        const double *x, *y, *dy, *dx;
    } cases[] = {{at_sum_over, at_axes(0, 2), sum02_x, sum02_y, sum02_dy, sum02_dx},
                 {at_mean_over, at_axes(1), mean1_x, mean1_y, mean1_dy, mean1_dx},
                 {at_max_over, at_axes(2, 0), max02_x, max02_y, max02_dy, max02_dx}};
    for (at_tape *t = NULL; next_tape(&t);)
        for (int i = 0; i < 3; i++) {
            at_tensor *x = at_variable(t, at_shape_of(2, 3, 4), cases[i].x);
            at_tensor *y = cases[i].f(t, x, cases[i].axes, false);
            assert_values(y, cases[i].y, close_to(t));
            ck_assert(pull(t, y, cases[i].dy));
            assert_grads(x, cases[i].dx, close_to(t));
        }
}
END_TEST

/* ------------------------------------------------------------------ every choice of axes ------- */

/* Where element i of x goes among the outputs, for a set of axes given as bits. */
static ptrdiff_t output_of(at_shape x, unsigned axes, ptrdiff_t i)
{
    ptrdiff_t at = 0, step = 1;
    for (int d = x.ndim - 1; d >= 0; i /= x.dim[d--])
        if (!(axes >> d & 1)) {
            at += i % x.dim[d] * step;
            step *= x.dim[d];
        }
    return at;
}

/* The largest difference between x (or its gradient) and the numbers. */
static double farthest(const at_tensor *x, bool grad, const double *numbers)
{
    double most = 0;
    for (ptrdiff_t i = 0; i < at_count(x->shape); i++) {
        double off = fabs((grad ? at_grad_element(x, i) : at_element(x, i)) - numbers[i]);
        if (!(off <= most)) most = off;
    }
    return most;
}

static double *zeros(ptrdiff_t n)
{
    return calloc((size_t)n, sizeof(double));
}

/* By the definition: all numbers of x that go to an output, for each of them. */
static void check_by_definition(at_tape *t, at_tensor *v, unsigned bits, double tol)
{
    at_shape axes = {0};
    for (int d = 0; d < v->shape.ndim; d++)
        if (bits >> d & 1) axes.dim[axes.ndim++] = d;
    at_tensor *x[3] = {variable_like(t, v), variable_like(t, v), variable_like(t, v)};
    at_tensor *y[3] = {at_sum_over(t, x[0], axes, false), at_mean_over(t, x[1], axes, false),
                       at_max_over(t, x[2], axes, false)};
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    at_tensor *dy = at_random(t, y[0]->shape, at_normal(1));
    for (int k = 0; k < 3; k++) ck_assert(at_backward_from(t, y[k], dy));

    ptrdiff_t n = at_count(v->shape), m = at_count(dy->shape);
    double terms = (double)n / (double)m;
    double *sum = zeros(m), *mean = zeros(m), *max = zeros(m),
           *dx[3] = {zeros(n), zeros(n), zeros(n)};
    for (ptrdiff_t o = 0; o < m; o++) max[o] = -(double)INFINITY;
    for (ptrdiff_t i = 0; i < n; i++) {
        ptrdiff_t o = output_of(v->shape, bits, i);
        sum[o] += at_element(v, i);
        mean[o] += at_element(v, i) / terms;
        max[o] = fmax(max[o], at_element(v, i));
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        ptrdiff_t o = output_of(v->shape, bits, i);
        dx[0][i] = at_element(dy, o);
        dx[1][i] = at_element(dy, o) / terms;
        dx[2][i] = at_element(v, i) == max[o] ? at_element(dy, o) : 0;
    }
    assert_close(farthest(y[0], false, sum), 0, tol * terms);
    assert_close(farthest(y[1], false, mean), 0, tol);
    assert_close(farthest(y[2], false, max), 0, 0);
    for (int k = 0; k < 3; k++) assert_close(farthest(x[k], true, dx[k]), 0, k == 1 ? tol : 0);
    free(sum), free(mean), free(max), free(dx[0]), free(dx[1]), free(dx[2]);
}

START_TEST(every_choice_of_axes_follows_the_definition)
{
    const at_shape shapes[] = {at_shape_of(2, 3, 4, 5), at_shape_of(3, 1, 2, 1, 3),
                               at_shape_of(2, 2, 3, 2, 2), at_shape_of(3, 20), at_shape_of(20, 3)};
    for (at_tape *t = NULL; next_tape(&t);)
        for (int s = 0; s < 5; s++)
            for (unsigned bits = 0; bits < 1u << shapes[s].ndim; bits++)
                check_by_definition(t, at_random(t, shapes[s], at_normal(1)), bits, close_to(t));
}
END_TEST

START_TEST(long_rows_and_many_columns_follow_the_definition)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    const at_shape shapes[] = {at_shape_of(3, 9001), at_shape_of(70, 600), at_shape_of(300, 5, 3),
                               at_shape_of(2, 40, 2, 33)};
    at_mark step = at_mark_here(t);
    for (int s = 0; s < 4; s++)
        for (unsigned bits = 0; bits < 1u << shapes[s].ndim; bits++) {
            check_by_definition(t, at_random(t, shapes[s], at_normal(1)), bits, 1e-14);
            at_rewind(t, step);
        }
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ accuracy, size 0, threads -- */

START_TEST(a_sum_of_a_million_floats_keeps_six_digits)
{
    const at_shape shapes[] = {at_shape_of(1 << 20), at_shape_of(1 << 19, 2),
                               at_shape_of(1 << 14, 64), at_shape_of(64, 1, 1 << 14)};
    at_tape *t = at_open(ATTIC_F32, 1);
    for (int s = 0; s < 4; s++) {
        at_mark step = at_mark_here(t);
        at_tensor *x = at_random(t, shapes[s], at_fill(0.1)),
                  *y = at_sum_over(t, x, at_axes(0), false);
        double n = shapes[s].dim[0], exact = n * (double)0.1f;
        for (ptrdiff_t o = 0; o < at_count(y->shape); o++)
            assert_close(at_element(y, o) / exact, 1, 1e-6);
        assert_close(at_item(at_sum(t, x)) / ((double)0.1f * (1 << 20)), 1, 1e-6);
        at_rewind(t, step);
    }
    at_close(t);
}
END_TEST

START_TEST(the_sum_of_nothing_is_0_and_its_mean_nan)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 0), NULL);
        assert_values(at_sum(t, x), ((double[]){0}), 0);
        assert_values(at_sum_over(t, x, at_axes(1), false), ((double[]){0, 0}), 0);
        assert_values(at_mean_over(t, x, at_axes(1), false), ((double[]){(double)NAN, (double)NAN}),
                      0);
        ck_assert_int_eq(at_count(at_max_over(t, x, at_axes(0), false)->shape), 0);
        at_tensor *none = at_const(t, at_shape_of(0, 0), NULL);
        ck_assert_str_eq(at_text(at_max_over(t, none, at_axes(1), false)), "[0]");
        ck_assert(pull(t, at_mean_over(t, x, at_axes(1), true), (double[]){1, 1}));
    }
}
END_TEST

START_TEST(an_empty_tensor_may_have_huge_other_dims)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(1 << 30, 0, 1 << 30, 1 << 30, 2), NULL);
    assert_values(at_sum_over(t, x, at_axes(0, 1, 2, 3), false), ((double[]){0, 0}), 0);
    ck_assert_int_eq(at_count(at_sum_over(t, x, at_axes(0, 2), false)->shape), 0);
    ck_assert_ptr_null(at_sum_over(t, x, at_axes(1), false));
    assert_error(t, "sum: a result of shape [1073741824,1073741824,1073741824,2] is not possible");
    at_close(t);
}
END_TEST

START_TEST(the_bits_do_not_depend_on_the_number_of_threads)
{
    reduction *const f[] = {at_sum_over, at_mean_over, at_max_over};
    const at_shape axes[] = {at_axes(0), at_axes(1), at_axes(0, 1)};
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *some[] = {at_random(t, at_shape_of(400, 1000), at_uniform(1)),
                             at_random(t, at_shape_of(50000, 7), at_uniform(1))};
        for (int c = 0; c < 18; c++) {
            at_tensor *v = some[c % 2], *y[2], *dx[2];
            for (int k = 0; k < 2; k++) {
                at_threads(k ? 3 : 1);
                at_tensor *x = variable_like(t, v);
                y[k] = f[c / 2 % 3](t, x, axes[c / 6], false);
                ck_assert(at_backward_from(t, y[k], y[0]));
                dx[k] = at_grad_copy(t, x);
            }
            ck_assert_mem_eq(y[0]->data, y[1]->data, at_bytes(y[0]));
            ck_assert_mem_eq(dx[0]->data, dx[1]->data, at_bytes(v));
        }
    }
    at_threads(0);
}
END_TEST

START_TEST(one_output_of_many_numbers_can_be_replayed)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(1000, 1000), NULL), *y = at_max(t, x);
    at_set(x, 5, 999, 998);
    at_set(x, 5, 3, 4);
    ck_assert(at_replay(t));
    ck_assert_double_eq(at_item(y), 5);
    ck_assert(at_backward(t, y));
    assert_close(at_grad_element(x, 999998), 0.5, 0);
    assert_close(at_grad_element(x, 3004), 0.5, 0);
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ minimum, variance, expand -- */

START_TEST(a_minimum_is_the_maximum_upside_down)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 4), (double[]){3, 1, 1, 3, 2, 0, 2, 0});
        at_tensor *y = at_min_over(t, x, at_axes(1), false);
        assert_values(y, ((double[]){1, 0}), 0);
        ck_assert(pull(t, y, (double[]){6, 10}));
        assert_grads(x, ((double[]){0, 3, 3, 0, 0, 5, 0, 5}), 0);
        assert_values(at_min(t, x), ((double[]){0}), 0);
        x = at_random(t, at_shape_of(30, 20, 50), at_normal(1));
        for (int a = 0; a < 3; a++) {
            at_tensor *least = at_min_over(t, x, at_axes(a), true);
            ck_assert(equal_bits(least, at_neg(t, at_max_over(t, at_neg(t, x), at_axes(a), true))));
        }
    }
}
END_TEST

START_TEST(a_nan_is_the_minimum_too)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(3), (double[]){1, (double)NAN, -5}),
              *y = at_min(t, x);
    ck_assert(isnan(at_item(y)) && at_backward(t, y));
    assert_grads(x, ((double[]){0, 1, 0}), 0);
    at_close(t);
}
END_TEST

START_TEST(a_variance_that_one_can_work_out)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x =
            at_variable(t, at_shape_of(2, 3), (double[]){1, 2, 6, 5, 5, 5}); /* means 3, 5 */
        assert_values(at_var_over(t, x, at_axes(1), false, 0), ((double[]){14 / 3.0, 0}),
                      close_to(t));
        at_tensor *y = at_var_over(t, x, at_axes(1), true, 1);
        ck_assert_str_eq(at_text(y), "[2,1]");
        assert_values(y, ((double[]){7, 0}), close_to(t));
        ck_assert(pull(t, y, (double[]){10, 10}));
        assert_grads(x, ((double[]){-20, -10, 30, 0, 0, 0}), 20 * close_to(t));
        assert_values(at_var(t, x, 0), ((double[]){20 / 6.0}), close_to(t));
    }
}
END_TEST

START_TEST(a_variance_does_not_care_where_the_numbers_lie)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(4), (double[]){1e6 + 1, 1e6 + 2, 1e6 + 3, 1e6 + 4});
    assert_close(at_item(at_var(t, x, 1)), 5 / 3.0, 1e-6);
    at_close(t);
}
END_TEST

START_TEST(too_few_numbers_have_no_variance)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *one = at_variable(t, at_shape_of(1), (double[]){3});
        ck_assert(isnan(at_item(at_var(t, one, 1))));
        ck_assert(isnan(at_item(at_var(t, at_const(t, at_shape_of(0), NULL), 0))));
        at_tensor *two = at_const(t, at_shape_of(2), (double[]){3, 4});
        ck_assert(isinf(at_item(at_var(t, two, 3))));
        ck_assert(at_item(at_var(t, one, 0)) == 0);
    }
}
END_TEST

START_TEST(what_is_expanded_receives_the_sum_of_its_copies)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 1), (double[]){3, 4});
        at_tensor *y = at_expand(t, x, at_shape_of(2, 2, 3));
        assert_values(y, ((double[]){3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4}), 0);
        ck_assert(pull(t, y, (double[]){1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60}));
        assert_grads(x, ((double[]){66, 165}), 0);
        ck_assert(pull(t, at_expand(t, x, at_shape_of(2, 1)), (double[]){1, 1}));
        assert_grads(x, ((double[]){67, 166}), 0);
        ck_assert(pull(t, at_expand(t, x, at_shape_of(0, 2, 1)), NULL));
    }
}
END_TEST

/* ------------------------------------------------------------------ errors --------------------- */

START_TEST(wrong_axes_are_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_name(at_const(t, at_shape_of(2, 3), NULL), "x1");
    ck_assert_ptr_null(at_sum_over(t, x, at_axes(0, 2), false));
    assert_error(t, "sum: there is no axis 2 in x \"x1\" [2,3]");
    at_clear_error(t);
    ck_assert_ptr_null(at_mean_over(t, x, at_axes(1, -1), false));
    assert_error(t, "mean: the axes [1,-1] list axis 1 of x \"x1\" [2,3] twice");
    at_clear_error(t);
    ck_assert_ptr_null(at_max_over(t, x, (at_shape){.ndim = 9}, false));
    assert_error(t, "max: 9 axes were given, at most 8 are possible");
    at_close(t);
}
END_TEST

START_TEST(wrong_tensors_are_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(2, 3), NULL);
    at_var(t, x, -1);
    assert_error(t, "var: correction is -1, but must be >= 0");
    at_clear_error(t);
    at_min(t, at_const(t, at_shape_of(0), NULL));
    assert_error(t, "min: x is [0]: there is no minimum over no elements");
    at_clear_error(t);
    at_expand(t, x, at_shape_of(3, 2));
    assert_error(t, "expand: x is [2,3], which does not broadcast to [3,2]");
    at_clear_error(t);
    at_expand(t, x, at_shape_of(-1, 2, 3));
    assert_error(t, "expand: x is [2,3], which does not broadcast to [-1,2,3]");
    at_clear_error(t);
    ck_assert_ptr_null(at_mean(t, NULL));
    assert_error(t, "mean: x is NULL");
    at_clear_error(t);
    ck_assert_ptr_null(at_sum(t, at_ints(t, at_shape_of(2), NULL)));
    assert_error(t, "sum: x [2] has dtype i32 but must be f32");
    at_clear_error(t);
    ck_assert_ptr_null(at_max_over(t, at_const(t, at_shape_of(2, 0), NULL), at_axes(1), true));
    assert_error(t, "max: x is [2,0]: there is no maximum over no elements");
    at_close(t);
}
END_TEST

SUITE(ops_reduce, a_table_that_one_can_add_up, each_number_gets_its_share,
      equal_maxima_share_equally, columns_of_equal_maxima_share_equally,
      a_nan_is_the_maximum_and_takes_the_gradient, a_row_of_minus_infinity_shares_too,
      keepdims_leaves_axes_of_size_1, they_equal_the_golden_numbers,
      every_choice_of_axes_follows_the_definition, long_rows_and_many_columns_follow_the_definition,
      a_sum_of_a_million_floats_keeps_six_digits, the_sum_of_nothing_is_0_and_its_mean_nan,
      an_empty_tensor_may_have_huge_other_dims, the_bits_do_not_depend_on_the_number_of_threads,
      one_output_of_many_numbers_can_be_replayed, a_minimum_is_the_maximum_upside_down,
      a_nan_is_the_minimum_too, a_variance_that_one_can_work_out,
      a_variance_does_not_care_where_the_numbers_lie, too_few_numbers_have_no_variance,
      what_is_expanded_receives_the_sum_of_its_copies, wrong_axes_are_named,
      wrong_tensors_are_named)
