/* test_permute.c -- axes in another order. */
#include "tensors.h"

#include "golden/products.inc"

START_TEST(a_transpose_turns_rows_into_columns)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 3), (double[]){1, 2, 3, 4, 5, 6});
        at_tensor *y = at_transpose(t, x, 0, 1);
        ck_assert_str_eq(at_text(y), "[3,2]");
        assert_values(y, ((double[]){1, 4, 2, 5, 3, 6}), 0);
        ck_assert(pull(t, y, (double[]){1, 2, 3, 4, 5, 6}));
        assert_grads(x, ((double[]){1, 3, 5, 2, 4, 6}), 0);
        ck_assert(pull(t, y, (double[]){1, 1, 1, 1, 1, 1}));
        assert_grads(x, ((double[]){2, 4, 6, 3, 5, 7}), 0); /* added to what was there */
    }
}
END_TEST

START_TEST(heads_come_before_positions)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    double v[] = {1, 2, 10, 20, 3, 4, 30, 40}; /* [B=1,T=2,H=2,D=2] */
    at_tensor *y = at_permute(t, at_const(t, at_shape_of(1, 2, 2, 2), v), at_shape_of(0, 2, 1, 3));
    assert_values(y, ((double[]){1, 2, 3, 4, 10, 20, 30, 40}), 0);
    at_close(t);
}
END_TEST

START_TEST(it_equals_the_golden_numbers)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 3, 2, 2), permute_x);
        at_tensor *y = at_permute(t, x, at_shape_of(2, 0, -1, 1));
        assert_values(y, permute_y, close_to(t));
        ck_assert(pull(t, y, permute_dy));
        assert_grads(x, permute_dx, close_to(t));
    }
}
END_TEST

/* ------------------------------------------------------------------ every order ---------------- */

/* y[j] = x[i] with i_order[k] = j_k, for the element of y at position `at`; the position of x's. */
static ptrdiff_t source_of(at_shape x, at_shape order, ptrdiff_t at)
{
    int index[AT_MAX_DIMS] = {0};
    for (int k = order.ndim - 1; k >= 0; k--) {
        int d = order.dim[k];
        index[d] = (int)(at % x.dim[d]);
        at /= x.dim[d];
    }
    ptrdiff_t from = 0;
    for (int d = 0; d < x.ndim; d++) from = from * x.dim[d] + index[d];
    return from;
}

static void check_by_definition(at_tape *t, at_tensor *x, at_shape order)
{
    at_tensor *y = at_permute(t, x, order);
    ck_assert_msg(y, "%s", at_error(t));
    for (ptrdiff_t i = 0; i < at_count(x->shape); i++)
        ck_assert(at_element(y, i) == at_element(x, source_of(x->shape, order, i)));
    if (!x->wants_grad) return;
    at_tensor *dy = at_random(t, y->shape, at_normal(1));
    for (int twice = 0; twice < 2; twice++) ck_assert(at_backward_from(t, y, dy));
    for (ptrdiff_t i = 0; i < at_count(x->shape); i++)
        ck_assert(at_grad_element(x, source_of(x->shape, order, i)) == 2 * at_element(dy, i));
}

/* The next order of the same axes, in the order of the alphabet; false after the last. */
static bool next_order(at_shape *o)
{
    int i = o->ndim - 2, j = o->ndim - 1;
    while (i >= 0 && o->dim[i] > o->dim[i + 1]) i--;
    if (i < 0) return false;
    while (o->dim[j] < o->dim[i]) j--;
    int swap = o->dim[i];
    o->dim[i] = o->dim[j], o->dim[j] = swap;
    for (int k = i + 1, l = o->ndim - 1; k < l; k++, l--)
        swap = o->dim[k], o->dim[k] = o->dim[l], o->dim[l] = swap;
    return true;
}

START_TEST(every_order_follows_the_definition)
{
    const at_shape shapes[] = {at_shape_of(2, 3, 4, 5), at_shape_of(17, 2, 1, 19),
                               at_shape_of(1, 2, 2, 1, 3)};
    for (at_tape *t = NULL; next_tape(&t);)
        for (int s = 0; s < 3; s++) {
            at_shape order = {shapes[s].ndim, {0, 1, 2, 3, 4}};
            at_mark step = at_mark_here(t);
            do {
                at_tensor *x = variable_like(t, at_random(t, shapes[s], at_normal(1)));
                check_by_definition(t, x, order);
                at_rewind(t, step);
            } while (next_order(&order));
        }
}
END_TEST

START_TEST(sides_around_a_square_and_a_band_follow_the_definition)
{
    const int side[] = {15, 16, 17, 63, 64, 65, 130};
    at_tape *t = at_open(ATTIC_F32, 1);
    for (int i = 0; i < 49; i++) {
        at_shape s = at_shape_of(side[i / 7], side[i % 7]);
        at_mark step = at_mark_here(t);
        check_by_definition(t, variable_like(t, at_random(t, s, at_normal(1))), at_shape_of(1, 0));
        at_rewind(t, step);
    }
    at_close(t);
}
END_TEST

START_TEST(masks_and_ids_can_be_permuted)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 0; k < 2; k++) {
            at_tensor *x = at_blank(t, k ? ATTIC_I32 : ATTIC_BOOL, at_shape_of(3, 20, 18));
            for (ptrdiff_t i = 0; i < at_count(x->shape); i++)
                at_store(x->dtype, x->data, i, k ? (double)i : i % 3 == 0);
            check_by_definition(t, x, at_shape_of(2, 1, 0));
            check_by_definition(t, x, at_shape_of(1, 0, 2));
            ck_assert_int_eq(at_transpose(t, x, 0, 1)->dtype, x->dtype);
        }
}
END_TEST

START_TEST(twice_a_transpose_is_where_it_began)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_random(t, at_shape_of(3, 4, 5), at_normal(1));
    at_tensor *y = at_transpose(t, at_transpose(t, x, 0, -1), 0, 2);
    ck_assert_mem_eq(x->data, y->data, at_bytes(x));
    at_close(t);
}
END_TEST

START_TEST(sizes_of_0_and_1_are_legal)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_variable(t, at_shape_of(0, 1 << 30, 1 << 30, 1 << 30), NULL);
    at_tensor *y = at_permute(t, x, at_shape_of(3, 1, 0, 2));
    ck_assert(y && pull(t, y, NULL));
    ck_assert_int_eq(y->shape.dim[2], 0);
    at_tensor *s = at_variable(t, at_shape_of(), (double[]){7}), *p = at_permute(t, s, at_axes());
    assert_values(p, ((double[]){7}), 0);
    ck_assert(pull(t, p, (double[]){3}));
    assert_grads(s, ((double[]){3}), 0);
    at_close(t);
}
END_TEST

START_TEST(the_bits_do_not_depend_on_the_number_of_threads)
{
    const at_shape orders[] = {at_shape_of(0, 2, 1), at_shape_of(1, 0, 2), at_shape_of(2, 1, 0)};
    for (at_tape *t = NULL; next_tape(&t);)
        for (int i = 0; i < 3; i++) {
            at_tensor *x = at_random(t, at_shape_of(30, 50, 70), at_normal(1)), *y[2];
            for (int k = 0; k < 2; k++) {
                at_threads(k ? 3 : 1);
                y[k] = at_permute(t, x, orders[i]);
            }
            ck_assert_mem_eq(y[0]->data, y[1]->data, at_bytes(x));
        }
    at_threads(0);
}
END_TEST

START_TEST(wrong_axes_are_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_name(at_const(t, at_shape_of(2, 3, 4), NULL), "k");
    ck_assert_ptr_null(at_permute(t, x, at_shape_of(1, 0)));
    assert_error(t, "permute: x is \"k\" [2,3,4] with 3 axes but the order [1,0] lists 2");
    at_clear_error(t);
    ck_assert_ptr_null(at_permute(t, x, at_shape_of(0, 1, 3)));
    assert_error(t, "permute: there is no axis 3 in x \"k\" [2,3,4]");
    at_clear_error(t);
    ck_assert_ptr_null(at_permute(t, x, at_shape_of(0, -1, 2)));
    assert_error(t, "permute: the order [0,-1,2] lists axis 2 of x \"k\" [2,3,4] twice");
    at_clear_error(t);
    ck_assert_ptr_null(at_transpose(t, x, 1, -4));
    assert_error(t, "transpose: there is no axis -4 in x \"k\" [2,3,4]");
    at_clear_error(t);
    ck_assert_ptr_null(at_transpose(t, NULL, 0, 1));
    assert_error(t, "transpose: x is NULL");
    at_close(t);
}
END_TEST

SUITE(ops_permute, a_transpose_turns_rows_into_columns, heads_come_before_positions,
      it_equals_the_golden_numbers, every_order_follows_the_definition,
      sides_around_a_square_and_a_band_follow_the_definition, masks_and_ids_can_be_permuted,
      twice_a_transpose_is_where_it_began, sizes_of_0_and_1_are_legal,
      the_bits_do_not_depend_on_the_number_of_threads, wrong_axes_are_named)
