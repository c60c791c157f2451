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

START_TEST(steps_go_forth_and_back)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 5), (double[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
        at_tensor *y = at_slice_step(t, x, 1, 0, 2, 3);
        assert_values(y, ((double[]){0, 2, 4, 5, 7, 9}), 0);
        ck_assert(pull(t, y, (double[]){1, 2, 3, 4, 5, 6}));
        assert_grads(x, ((double[]){1, 0, 2, 0, 3, 4, 0, 5, 0, 6}), 0);
        y = at_slice_step(t, x, -1, -2, -3, 2);
        assert_values(y, ((double[]){3, 0, 8, 5}), 0);
        ck_assert(pull(t, y, (double[]){10, 20, 30, 40})); /* added to what was there */
        assert_grads(x, ((double[]){21, 0, 2, 10, 3, 44, 0, 5, 30, 6}), 0);
        assert_values(at_slice_step(t, x, 0, -1, -1, 2), ((double[]){5, 6, 7, 8, 9, 0, 1, 2, 3, 4}),
                      0);
        assert_values(at_slice_step(t, x, 1, 4, 99, 1), ((double[]){4, 9}), 0);
        ck_assert_str_eq(at_text(at_slice_step(t, x, 0, 99, 1, 0)), "[0,5]");
    }
}
END_TEST

START_TEST(ids_and_masks_can_be_reversed)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *i = at_ints(t, at_shape_of(3), (int32_t[]){7, 8, 9});
    assert_values(at_slice_step(t, i, 0, -1, -1, 3), ((double[]){9, 8, 7}), 0);
    at_tensor *b = at_bools(t, at_shape_of(3), (bool[]){1, 0, 0});
    assert_values(at_slice_step(t, b, 0, -1, -1, 3), ((double[]){0, 0, 1}), 0);
    at_close(t);
}
END_TEST

START_TEST(parts_are_slices_one_after_the_other)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 4), (double[]){1, 2, 3, 4, 5, 6, 7, 8}),
                  *part[3];
        ck_assert(at_split_along(t, x, 1, part, 2, NULL));
        assert_values(part[0], ((double[]){1, 2, 5, 6}), 0);
        assert_values(part[1], ((double[]){3, 4, 7, 8}), 0);
        ck_assert(at_split_along(t, x, -1, part, 3, (int[]){1, 0, 3}));
        assert_values(part[0], ((double[]){1, 5}), 0);
        ck_assert_str_eq(at_text(part[1]), "[2,0]");
        assert_values(part[2], ((double[]){2, 3, 4, 6, 7, 8}), 0);
        ck_assert(pull(t, part[2], (double[]){1, 2, 3, 4, 5, 6}));
        assert_grads(x, ((double[]){0, 1, 2, 3, 0, 4, 5, 6}), 0);
    }
}
END_TEST

START_TEST(the_bits_do_not_depend_on_the_number_of_threads)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *v = at_random(t, at_shape_of(300, 60, 7), at_normal(1)), *y[2], *dx[2];
        for (int k = 0; k < 2; k++) {
            at_threads(k ? 3 : 1);
            at_tensor *x = variable_like(t, v);
            y[k] = at_slice_step(t, at_slice_step(t, x, 0, -1, -1, 300), 1, 0, 3, 20);
            ck_assert(at_backward(t, at_sum(t, at_square(t, y[k]))));
            dx[k] = at_grad_copy(t, x);
        }
        ck_assert(equal_bits(y[0], y[1]) && equal_bits(dx[0], dx[1]));
        ck_assert(at_get(y[1], 2, 4, 5) == at_get(v, 297, 12, 5));
    }
    at_threads(0);
}
END_TEST

START_TEST(steps_and_parts_that_are_not_there_are_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(4, 5), NULL), *part[2] = {x, x};
    at_slice_step(t, x, 1, 0, 2, 4);
    assert_error(t, "slice_step: x is [4,5]: from = 0, step = 2, n = 4 leaves axis 1 of size 5");
    at_clear_error(t);
    at_slice_step(t, x, 1, 2, -1, 4);
    assert_error(t, "slice_step: x is [4,5]: from = 2, step = -1, n = 4 leaves axis 1 of size 5");
    at_clear_error(t);
    at_slice_step(t, x, 0, 4, 1, 1);
    assert_error(t, "slice_step: x is [4,5]: from = 4, step = 1, n = 1 leaves axis 0 of size 4");
    at_clear_error(t);
    ck_assert_ptr_null(at_slice_step(t, x, 0, 3, INT_MIN, INT_MAX)); /* no overflow */
    at_clear_error(t);
    at_slice_step(t, x, 0, 0, 0, 1);
    assert_error(t, "slice_step: step is 0 and n is 1, but step != 0 and n >= 0 must hold");
    at_clear_error(t);
    ck_assert(!at_split_along(t, x, 1, part, 2, NULL));
    assert_error(t, "split_along: x is [4,5]: axis 1 of size 5 has no 2 equal parts");
    ck_assert(!part[0] && !part[1]);
    at_clear_error(t);
    at_split_along(t, x, 1, part, 2, (int[]){2, 2});
    assert_error(t, "split_along: x is [4,5]: the sizes add up to 4, but axis 1 has 5");
    at_clear_error(t);
    at_split_along(t, x, 1, part, 2, (int[]){6, -1});
    assert_error(t, "split_along: size 1 is -1, but must be >= 0");
    at_clear_error(t);
    at_split_along(t, x, 1, part, 0, NULL);
    assert_error(t, "split_along: there must be at least one part");
    at_clear_error(t);
    at_split_along(t, x, 1, NULL, 1, NULL);
    assert_error(t, "split_along: part is NULL");
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
      steps_go_forth_and_back, ids_and_masks_can_be_reversed, parts_are_slices_one_after_the_other,
      the_bits_do_not_depend_on_the_number_of_threads, steps_and_parts_that_are_not_there_are_named,
      ranges_that_are_not_there_are_named)
