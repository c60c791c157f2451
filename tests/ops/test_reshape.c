/* test_reshape.c -- the same numbers under another shape. */
#include "tensors.h"

START_TEST(the_numbers_keep_their_order)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        double v[] = {1, 2, 3, 4, 5, 6}, dy[] = {6, 5, 4, 3, 2, 1};
        at_tensor *x = at_variable(t, at_shape_of(2, 3), v);
        at_tensor *y = at_reshape(t, x, at_shape_of(3, 1, 2));
        ck_assert_str_eq(at_text(y), "[3,1,2]");
        assert_values(y, v, 0);
        ck_assert(pull(t, y, dy));
        assert_grads(x, dy, 0);
    }
}
END_TEST

START_TEST(one_size_can_be_left_open)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(2, 3, 4), NULL);
    ck_assert_str_eq(at_text(at_reshape(t, x, at_shape_of(-1))), "[24]");
    ck_assert_str_eq(at_text(at_reshape(t, x, at_shape_of(6, -1))), "[6,4]");
    ck_assert_str_eq(at_text(at_reshape(t, x, at_shape_of(2, 3, 4, -1))), "[2,3,4,1]");
    ck_assert_str_eq(at_text(at_reshape(t, at_const(t, at_shape_of(), NULL), at_shape_of(-1))),
                     "[1]");
    ck_assert_str_eq(
        at_text(at_reshape(t, at_const(t, at_shape_of(0, 3), NULL), at_shape_of(-1, 5))), "[0,5]");
    at_close(t);
}
END_TEST

START_TEST(the_data_is_shared_and_the_gradients_are_not)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(2), (double[]){3, 5});
    at_tensor *y = at_reshape(t, x, at_shape_of(2, 1));
    ck_assert_ptr_eq(x->data, y->data);
    ck_assert(at_backward(t, at_sum(t, at_mul(t, at_reshape(t, y, at_shape_of(2)), x)))); /* x.x */
    assert_grads(x, ((double[]){6, 10}), 0);
    assert_grads(y, ((double[]){3, 5}), 0);
    at_close(t);
}
END_TEST

START_TEST(a_gradient_is_added_to_what_was_there)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2), (double[]){3, 5});
        for (int i = 0; i < 3; i++)
            ck_assert(pull(t, at_reshape(t, x, at_shape_of(1, 2)), (double[]){1, 2}));
        assert_grads(x, ((double[]){3, 6}), 0);
    }
}
END_TEST

START_TEST(masks_and_ids_can_be_reshaped)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *mask = at_bools(t, at_shape_of(4), (bool[]){1, 0, 0, 1});
    at_tensor *y = at_reshape(t, mask, at_shape_of(2, 2));
    ck_assert_int_eq(y->dtype, ATTIC_BOOL);
    ck_assert(!y->wants_grad);
    assert_values(y, ((double[]){1, 0, 0, 1}), 0);
    at_close(t);
}
END_TEST

START_TEST(a_write_is_seen_through_the_reshape)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(2), (double[]){3, 5});
    at_tensor *y = at_square(t, at_reshape(t, x, at_shape_of(2, 1)));
    at_set(x, 4, 0);
    ck_assert(!at_backward(t, at_sum(t, y)));
    assert_error(t, "backward: input 0 of square [2,1] was written after it was recorded; run the "
                    "forward again (at_replay)");
    at_close(t);
}
END_TEST

START_TEST(empty_tensors_can_be_reshaped)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_variable(t, at_shape_of(0, 3), NULL);
    at_tensor *y = at_reshape(t, x, at_shape_of(5, 0, 1 << 30, 1 << 30, 1 << 30));
    ck_assert(y && at_backward_from(t, y, at_const(t, y->shape, NULL)));
    at_close(t);
}
END_TEST

static void assert_refused(at_shape shape, const char *text)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert_ptr_null(at_reshape(t, at_name(at_const(t, at_shape_of(2, 3), NULL), "q"), shape));
    assert_error(t, text);
    at_close(t);
}

START_TEST(shapes_that_do_not_fit_are_named)
{
    assert_refused(at_shape_of(4, 2), "reshape: x is \"q\" [2,3] with 6 elements but [4,2] has 8");
    assert_refused(at_shape_of(-1, 2, -1),
                   "reshape: x is \"q\" [2,3] but [-1,2,-1] leaves more than one size open");
    assert_refused(at_shape_of(-1, 4),
                   "reshape: x is \"q\" [2,3]: no size for -1 gives [-1,4] its 6 elements");
    assert_refused(at_shape_of(-1, 0),
                   "reshape: x is \"q\" [2,3]: no size for -1 gives [-1,0] its 6 elements");
    assert_refused(at_shape_of(-2, -3), "reshape: x is \"q\" [2,3] but [-2,-3] is no shape");
    assert_refused(at_shape_of(-1, -6),
                   "reshape: x is \"q\" [2,3]: no size for -1 gives [-1,-6] its 6 elements");
    assert_refused((at_shape){.ndim = 9}, "reshape: 9 dims were asked for, at most 8 are possible");
}
END_TEST

START_TEST(an_open_size_beside_a_zero_is_refused)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert_ptr_null(at_reshape(t, at_const(t, at_shape_of(0), NULL), at_shape_of(0, -1)));
    assert_error(t, "reshape: x is [0]: no size for -1 gives [0,-1] its 0 elements");
    at_clear_error(t);
    ck_assert_ptr_null(at_reshape(t, NULL, at_shape_of(1)));
    assert_error(t, "reshape: x is NULL");
    at_close(t);
}
END_TEST

SUITE(ops_reshape, the_numbers_keep_their_order, one_size_can_be_left_open,
      the_data_is_shared_and_the_gradients_are_not, a_gradient_is_added_to_what_was_there,
      masks_and_ids_can_be_reshaped, a_write_is_seen_through_the_reshape,
      empty_tensors_can_be_reshaped, shapes_that_do_not_fit_are_named,
      an_open_size_beside_a_zero_is_refused)
