/* test_slice.c -- a piece of a tensor along an axis. */
#include "tensors.h"

#include <limits.h>

#include "golden/products.inc"

START_TEST(a_range_is_cut_out_along_either_axis)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 3), (double[]){1, 2, 3, 4, 5, 6});
        at_tensor *y = at_slice(t, x, 1, 1, 3);
        ck_assert_str_eq(at_text(y), "[2,2]");
        assert_values(y, ((double[]){2, 3, 5, 6}), 0);
        assert_values(at_slice(t, x, 0, 1, 2), ((double[]){4, 5, 6}), 0);
        ck_assert(pull(t, y, (double[]){1, 2, 3, 4}));
        assert_grads(x, ((double[]){0, 1, 2, 0, 3, 4}), 0);
    }
}
END_TEST

START_TEST(pieces_that_overlap_add_up)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(4), (double[]){1, 2, 3, 4});
        at_tensor *y = at_add(t, at_slice(t, x, 0, 0, 3), at_slice(t, x, 0, 1, 4));
        ck_assert(pull(t, y, (double[]){1, 10, 100}));
        assert_grads(x, ((double[]){1, 11, 110, 100}), 0);
    }
}
END_TEST

START_TEST(it_equals_the_golden_numbers)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 5, 2), slice_x);
        at_tensor *y = at_slice(t, x, 1, 1, -1);
        assert_values(y, slice_y, close_to(t));
        ck_assert(pull(t, y, slice_dy));
        assert_grads(x, slice_dx, close_to(t));
    }
}
END_TEST

START_TEST(negative_indices_count_from_the_end)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(4), (double[]){1, 2, 3, 4});
    assert_values(at_slice(t, x, -1, -1, 4), ((double[]){4}), 0);
    assert_values(at_slice(t, x, 0, -4, -2), ((double[]){1, 2}), 0);
    assert_values(at_slice(t, x, 0, 1, -1), ((double[]){2, 3}), 0);
    at_close(t);
}
END_TEST

START_TEST(pieces_joined_again_are_the_whole)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_random(t, at_shape_of(3, 7, 5), at_normal(1));
    for (int axis = 0; axis < 3; axis++) {
        int N = x->shape.dim[axis];
        at_tensor *two[] = {at_slice(t, x, axis, 0, 2), at_slice(t, x, axis, 2, N)};
        ck_assert_mem_eq(at_concat(t, two, 2, axis)->data, x->data, at_bytes(x));
    }
    at_close(t);
}
END_TEST

START_TEST(masks_and_ids_can_be_cut)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *i = at_slice(t, at_ints(t, at_shape_of(3), (int32_t[]){7, 8, 9}), 0, 1, 3);
    at_tensor *b = at_slice(t, at_bools(t, at_shape_of(2, 2), (bool[]){1, 0, 1, 1}), 1, 0, 1);
    ck_assert_int_eq(i->dtype, ATTIC_I32);
    assert_values(i, ((double[]){8, 9}), 0);
    ck_assert_int_eq(b->dtype, ATTIC_BOOL);
    assert_values(b, ((double[]){1, 1}), 0);
    at_close(t);
}
END_TEST

START_TEST(an_empty_piece_is_legal)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_variable(t, at_shape_of(2, 3), NULL), *y = at_slice(t, x, 1, 3, 3);
    ck_assert_str_eq(at_text(y), "[2,0]");
    ck_assert(pull(t, y, NULL));
    assert_grads(x, ((double[6]){0}), 0);
    at_tensor *huge = at_variable(t, at_shape_of(1 << 30, 1 << 30, 1 << 30, 0), NULL);
    ck_assert(pull(t, at_slice(t, huge, 1, 5, 7), NULL));
    at_close(t);
}
END_TEST

static void assert_refused(int axis, int from, int to, const char *text)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_name(at_const(t, at_shape_of(4, 5), NULL), "v");
    ck_assert_ptr_null(at_slice(t, x, axis, from, to));
    assert_error(t, text);
    at_close(t);
}

START_TEST(ranges_that_are_not_there_are_named)
{
    assert_refused(1, 3, 7, "slice: x is \"v\" [4,5]: 3..7 is outside of axis 1 of size 5");
    assert_refused(0, -5, 2, "slice: x is \"v\" [4,5]: -5..2 is outside of axis 0 of size 4");
    assert_refused(
        0, INT_MIN, INT_MAX,
        "slice: x is \"v\" [4,5]: -2147483648..2147483647 is outside of axis 0 of size 4");
    assert_refused(-1, 3, 2, "slice: x is \"v\" [4,5]: 3..2 of axis -1 ends before it begins");
    assert_refused(-1, -1, -2, "slice: x is \"v\" [4,5]: -1..-2 of axis -1 ends before it begins");
    assert_refused(2, 0, 1, "slice: there is no axis 2 in x \"v\" [4,5]");
}
END_TEST

SUITE(ops_slice, a_range_is_cut_out_along_either_axis, pieces_that_overlap_add_up,
      it_equals_the_golden_numbers, negative_indices_count_from_the_end,
      pieces_joined_again_are_the_whole, masks_and_ids_can_be_cut, an_empty_piece_is_legal,
      ranges_that_are_not_there_are_named)
