/* test_gather.c -- elements picked along an axis, by their indices or by their size, and added back. */
#include "tensors.h"

#include <math.h>

#define D(...) ((double[]){__VA_ARGS__})
#define I(...) ((int32_t[]){__VA_ARGS__})
static const double inf = (double)INFINITY, nan_ = (double)NAN;

/* ------------------------------------------------------------------ gather --------------------- */

START_TEST(every_index_fetches_an_element_and_returns_its_gradient)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 3), D(1, 2, 3, 4, 5, 6));
        at_tensor *y = at_gather(t, x, at_ints(t, at_shape_of(2, 2), I(2, 0, 1, 1)), 1);
        assert_values(y, D(3, 1, 5, 5), 0);
        ck_assert(pull(t, y, D(1, 10, 100, 1000)));
        assert_grads(x, D(10, 0, 1, 0, 1100, 0), 0);
        y = at_gather(t, x, at_ints(t, at_shape_of(1, 3), I(1, 0, 1)), -2);
        assert_values(y, D(4, 2, 6), 0);
        ck_assert(pull(t, y, D(1, 2, 3))); /* added to what was there */
        assert_grads(x, D(10, 2, 1, 1, 1100, 3), 0);
    }
}
END_TEST

/* x [outer,N,inner], by the definition */
START_TEST(every_axis_follows_the_definition)
{
    const at_shape s = at_shape_of(7, 5, 6);
    for (at_tape *t = NULL; next_tape(&t);)
        for (int a = 0; a < 3; a++) {
            at_tensor *x = at_random(t, s, at_normal(1));
            at_shape of = s;
            of.dim[a] = 9;
            at_tensor *index = at_ints(t, of, NULL);
            for (int i = 0; i < at_count(of); i++) ((int32_t *)index->data)[i] = i * 7 % s.dim[a];
            at_tensor *y = at_gather(t, x, index, a);
            for (int i = 0; i < at_count(of); i++) {
                at_shape at = at_index_of(of, i);
                at.dim[a] = i * 7 % s.dim[a];
                assert_close(at_element(y, i), at_get(x, at.dim[0], at.dim[1], at.dim[2]), 0);
            }
        }
}
END_TEST

START_TEST(indices_written_later_are_not_believed)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(3), D(1, 2, 3));
    at_tensor *index = at_ints(t, at_shape_of(3), I(2, 1, 0)), *y = at_gather(t, x, index, 0);
    at_set(index, 3, 0);
    at_set(index, -1, 1);
    ck_assert(at_replay(t));
    assert_values(y, D(nan_, nan_, 1), 0);
    ck_assert(pull(t, y, D(1, 1, 5)));
    assert_grads(x, D(5, 0, 0), 0);
    at_close(t);
}
END_TEST

START_TEST(sizes_of_0_are_legal)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_variable(t, at_shape_of(2, 3), NULL);
    at_tensor *y = at_gather(t, x, at_ints(t, at_shape_of(2, 0), NULL), 1);
    ck_assert_str_eq(at_text(y), "[2,0]");
    ck_assert(pull(t, y, NULL));
    assert_grads(x, D(0, 0, 0, 0, 0, 0), 0);
    at_tensor *huge = at_variable(t, at_shape_of(1 << 30, 1 << 30, 0), NULL);
    y = at_gather(t, huge, at_ints(t, at_shape_of(5, 1 << 30, 0), NULL), 0);
    ck_assert(pull(t, y, NULL));
    y = at_topk(t, huge, 2, 1, NULL);
    ck_assert_str_eq(at_text(y), "[1073741824,2,0]");
    ck_assert_str_eq(at_text(at_topk(t, x, 0, 0, NULL)), "[0,3]");
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ scatter_add ---------------- */

START_TEST(every_element_is_added_where_its_index_says)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 3), D(1, 2, 3, 4, 5, 6));
        at_tensor *src = at_variable(t, at_shape_of(2, 2), D(10, 20, 30, 40));
        at_tensor *index = at_ints(t, at_shape_of(2, 2), I(2, 0, 1, 1));
        at_tensor *y = at_scatter_add(t, x, index, src, 1);
        assert_values(y, D(21, 2, 13, 4, 75, 6), 0);
        ck_assert(pull(t, y, D(1, 2, 3, 4, 5, 6)));
        assert_grads(x, D(1, 2, 3, 4, 5, 6), 0);
        assert_grads(src, D(3, 1, 5, 5), 0);
        at_tensor *row = at_slice(t, src, 0, 0, 1);
        y = at_scatter_add(
            t, x, at_ints(t, at_shape_of(1, 3), I(1, 0, 1)),
            at_concat(t, (at_tensor *[]){row, at_const(t, at_shape_of(1, 1), NULL)}, 2, 1), -2);
        assert_values(y, D(1, 22, 3, 14, 5, 6), 0);
        ck_assert(pull(t, y, D(1, 1, 1, 7, 1, 1))); /* added to what was there */
        assert_grads(x, D(2, 3, 4, 11, 6, 7), 0);
        assert_grads(src, D(10, 2, 5, 5), 0);
    }
}
END_TEST

/* <scatter_add(0, src), v> = <src, gather(v)>, and each gives the gradient of the other. */
START_TEST(it_is_the_transpose_of_gather)
{
    const at_shape s = at_shape_of(7, 5, 6);
    for (at_tape *t = NULL; next_tape(&t);)
        for (int a = 0; a < 3; a++) {
            at_shape of = s;
            of.dim[a] = 9;
            at_tensor *v = variable_like(t, at_random(t, s, at_normal(1)));
            at_tensor *src = variable_like(t, at_random(t, of, at_normal(1)));
            at_tensor *index = at_ints(t, of, NULL);
            for (int i = 0; i < at_count(of); i++) ((int32_t *)index->data)[i] = i * 7 % s.dim[a];
            at_tensor *zero = at_const(t, s, NULL), *y = at_scatter_add(t, zero, index, src, a);
            at_tensor *picked = at_gather(t, v, index, a);
            const double left = at_item(at_sum(t, at_mul(t, y, v)));
            assert_close(left, at_item(at_sum(t, at_mul(t, src, picked))), 40 * close_to(t));
            ck_assert(at_backward_from(t, y, at_detach(t, v)));
            ck_assert(at_backward_from(t, picked, at_detach(t, src)));
            ck_assert_mem_eq(src->grad, picked->data, at_bytes(src));
            ck_assert_mem_eq(v->grad, y->data, at_bytes(v));
        }
}
END_TEST

START_TEST(a_tensor_may_be_added_to_itself)
{
    for (int reuse = 0; reuse < 2; reuse++)
        for (at_tape *t = NULL; next_tape(&t);) {
            at_reuse_memory(t, reuse);
            at_tensor *x = at_variable(t, at_shape_of(3), D(1, 2, 3)), *z = at_scale(t, x, 2);
            at_tensor *y = at_scatter_add(t, z, at_ints(t, at_shape_of(3), I(2, 2, 0)), z, 0);
            assert_values(y, D(8, 4, 12), 0);
            ck_assert(pull(t, at_scale(t, y, 1), D(1, 10, 100)));
            assert_grads(x, D(202, 220, 202), 0); /* 2 dy_j + 2 dy_(index_j) */
        }
}
END_TEST

START_TEST(a_line_with_an_index_that_is_none_is_nan)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(2, 2), D(1, 2, 3, 4));
    at_tensor *src = at_variable(t, at_shape_of(2, 3), D(1, 2, 3, 4, 5, 6));
    at_tensor *index = at_ints(t, at_shape_of(2, 3), I(0, 1, 1, 1, 0, 0));
    at_tensor *y = at_scatter_add(t, x, index, src, 1);
    at_set(index, 2, 1, 0);
    at_set(index, -1, 1, 1);
    ck_assert(at_replay(t));
    assert_values(y, D(2, 7, nan_, nan_), 0);
    ck_assert(pull(t, y, D(1, 10, 100, 1000)));
    assert_grads(x, D(1, 10, 100, 1000), 0);
    assert_grads(src, D(1, 10, 10, 0, 0, 100), 0);
    at_set(index, 0, 1, 0);
    at_set(index, 0, 1, 1);
    ck_assert(at_replay(t)); /* and well again */
    assert_values(y, D(2, 7, 18, 4), 0);
    at_close(t);
}
END_TEST

START_TEST(a_nan_that_is_added_stays_where_its_index_says)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(3), D(1, 2, 3));
    at_tensor *src = at_const(t, at_shape_of(2), D(nan_, inf));
    at_tensor *y = at_scatter_add(t, x, at_ints(t, at_shape_of(2), I(0, 2)), src, 0);
    assert_values(y, D(nan_, 2, inf), 0);
    at_close(t);
}
END_TEST

START_TEST(nothing_may_be_added_and_to_nothing)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_variable(t, at_shape_of(2, 3), D(1, 2, 3, 4, 5, 6));
    at_tensor *none = at_variable(t, at_shape_of(2, 0), NULL);
    at_tensor *y = at_scatter_add(t, x, at_ints(t, at_shape_of(2, 0), NULL), none, 1);
    assert_values(y, D(1, 2, 3, 4, 5, 6), 0);
    ck_assert(pull(t, y, D(1, 2, 3, 4, 5, 6)));
    assert_grads(x, D(1, 2, 3, 4, 5, 6), 0);
    at_tensor *huge = at_variable(t, at_shape_of(1 << 30, 1 << 30, 0), NULL);
    at_tensor *index = at_ints(t, at_shape_of(5, 1 << 30, 0), NULL);
    at_tensor *src = at_variable(t, at_shape_of(5, 1 << 30, 0), NULL);
    ck_assert(pull(t, at_scatter_add(t, huge, index, src, 0), NULL));
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ topk ----------------------- */

START_TEST(the_largest_come_in_order_of_equals_the_first)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 4), D(3, 7, 3, 7, -1, -2, nan_, inf)), *index;
        at_tensor *y = at_topk(t, x, 3, -1, &index);
        assert_values(y, D(7, 7, 3, nan_, inf, -1), 0);
        assert_values(index, D(1, 3, 0, 2, 3, 0), 0);
        ck_assert(index->dtype == ATTIC_I32 && !index->wants_grad);
        ck_assert(pull(t, y, D(1, 2, 3, 4, 5, 6)));
        assert_grads(x, D(3, 1, 0, 2, 6, 0, 4, 5), 0);
        assert_values(at_topk(t, x, 1, 0, NULL), D(3, 7, nan_, inf), 0);
    }
}
END_TEST

/* Does element a of a row come before element b? */
static bool comes_before(const at_tensor *x, ptrdiff_t start, int a, int b)
{
    const double u = at_element(x, start + a), v = at_element(x, start + b);
    if (isnan(u) || isnan(v)) return isnan(u) && (!isnan(v) || a < b);
    return u > v || (u == v && a < b);
}

/* Of how many others of its row of N does x_start+i come behind? */
static int place_of(const at_tensor *x, ptrdiff_t start, int N, int i)
{
    int place = 0;
    for (int j = 0; j < N; j++) place += j != i && comes_before(x, start, j, i);
    return place;
}

START_TEST(every_row_follows_the_definition)
{
    enum { ROWS = 9, N = 60 };
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 1; k <= N; k += k < 4 ? 1 : 28) {
            at_tensor *x = at_random(t, at_shape_of(ROWS, N), at_uniform(20)), *index;
            for (int i = 0; i < ROWS * N; i++)
                at_store(x->dtype, x->data, i, i % 31 == 4 ? nan_ : floor(at_element(x, i)));
            at_tensor *columns = at_transpose(t, x, 0, 1), *across;
            at_topk(t, x, k, 1, &index);
            at_topk(t, columns, k, 0, &across);
            for (int r = 0; r < ROWS; r++)
                for (int j = 0; j < k; j++) {
                    const int i = (int)at_get(index, r, j);
                    ck_assert_int_eq(place_of(x, r * N, N, i), j);
                    ck_assert_int_eq((int)at_get(across, j, r), i);
                }
        }
}
END_TEST

START_TEST(a_replay_finds_the_largest_anew)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(3), D(1, 2, 3)), *index;
    at_tensor *y = at_topk(t, x, 2, 0, &index);
    at_set(x, 9, 0);
    ck_assert(at_replay(t));
    assert_values(y, D(9, 3), 0);
    assert_values(index, D(0, 2), 0);
    at_close(t);
}
END_TEST

START_TEST(the_bits_do_not_depend_on_the_number_of_threads)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *v = at_random(t, at_shape_of(40, 50, 30), at_normal(1)), *y[2], *dx[2];
        for (int k = 0; k < 2; k++) {
            at_threads(k ? 3 : 1);
            at_tensor *x = variable_like(t, v), *index;
            y[k] = at_topk(t, x, 20, 1, &index);
            y[k] = at_add(t, y[k], at_gather(t, at_cumsum(t, x, 1), index, 1));
            y[k] = at_scatter_add(t, at_square(t, x), index, y[k], 1);
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
    at_tensor *x = at_const(t, at_shape_of(2, 3), NULL), *index = x;
    at_gather(t, x, at_ints(t, at_shape_of(2, 2), I(0, 1, 2, 3)), 1);
    assert_error(t, "gather: index is 3 at [1,1] but x is [2,3]: axis 1 has size 3");
    at_clear_error(t);
    at_gather(t, x, at_ints(t, at_shape_of(1, 3), I(0, -1, 0)), 0);
    assert_error(t, "gather: index is -1 at [0,1] but x is [2,3]: axis 0 has size 2");
    at_clear_error(t);
    at_gather(t, x, at_ints(t, at_shape_of(3, 3), NULL), 1);
    assert_error(t, "gather: x is [2,3] but index is [3,3]: they may differ along axis 1 alone");
    at_clear_error(t);
    at_gather(t, x, at_ints(t, at_shape_of(2), NULL), 1);
    assert_error(t, "gather: x is [2,3] but index is [2]: they may differ along axis 1 alone");
    at_clear_error(t);
    at_gather(t, x, x, 2);
    assert_error(t, "gather: index [2,3] has dtype f32 but must be i32");
    at_clear_error(t);
    at_scatter_add(t, x, at_ints(t, at_shape_of(2, 2), I(0, 1, 2, 3)), x, 1);
    assert_error(t, "scatter_add: index is 3 at [1,1] but x is [2,3]: axis 1 has size 3");
    at_clear_error(t);
    at_scatter_add(t, x, at_ints(t, at_shape_of(3, 3), NULL), x, 1);
    assert_error(t,
                 "scatter_add: x is [2,3] but index is [3,3]: they may differ along axis 1 alone");
    at_clear_error(t);
    at_scatter_add(t, x, at_ints(t, at_shape_of(2, 2), NULL), x, 1);
    assert_error(t, "scatter_add: src is [2,3] but index is [2,2]: each element needs an index");
    at_clear_error(t);
    at_scatter_add(t, x, at_ints(t, at_shape_of(2, 2), NULL), NULL, 1);
    assert_error(t, "scatter_add: src is NULL");
    at_clear_error(t);
    at_scatter_add(t, x, at_ints(t, at_shape_of(2, 2), NULL), x, -3);
    assert_error(t, "scatter_add: there is no axis -3 in x [2,3]");
    at_clear_error(t);
    ck_assert_ptr_null(at_topk(t, x, 4, 1, &index));
    assert_error(t, "topk: k is 4 but x is [2,3]: axis 1 has size 3");
    ck_assert_ptr_null(index);
    at_clear_error(t);
    at_topk(t, x, -1, 0, NULL);
    assert_error(t, "topk: k is -1 but x is [2,3]: axis 0 has size 2");
    at_clear_error(t);
    at_topk(t, x, 1, 2, NULL);
    assert_error(t, "topk: there is no axis 2 in x [2,3]");
    at_close(t);
}
END_TEST

SUITE(ops_gather, every_index_fetches_an_element_and_returns_its_gradient,
      every_axis_follows_the_definition, indices_written_later_are_not_believed,
      sizes_of_0_are_legal, every_element_is_added_where_its_index_says,
      it_is_the_transpose_of_gather, a_tensor_may_be_added_to_itself,
      a_line_with_an_index_that_is_none_is_nan, a_nan_that_is_added_stays_where_its_index_says,
      nothing_may_be_added_and_to_nothing, the_largest_come_in_order_of_equals_the_first,
      every_row_follows_the_definition, a_replay_finds_the_largest_anew,
      the_bits_do_not_depend_on_the_number_of_threads, wrong_arguments_are_named)
