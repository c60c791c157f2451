/* test_concat.c -- tensors one after the other along an axis, or along a new one. */
#include "tensors.h"

#include <limits.h>

#include "golden/products.inc"

#define LIST_OF(...) ((at_tensor *[]){__VA_ARGS__})

START_TEST(tables_are_joined_below_or_beside_each_other)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *a = at_const(t, at_shape_of(2, 2), (double[]){1, 2, 3, 4});
        at_tensor *b = at_const(t, at_shape_of(1, 2), (double[]){5, 6});
        at_tensor *c = at_const(t, at_shape_of(2, 1), (double[]){7, 8});
        assert_values(at_concat(t, LIST_OF(a, b), 2, 0), ((double[]){1, 2, 3, 4, 5, 6}), 0);
        assert_values(at_concat(t, LIST_OF(a, c), 2, -1), ((double[]){1, 2, 7, 3, 4, 8}), 0);
        assert_values(at_stack(t, LIST_OF(a, a), 2, 0), ((double[]){1, 2, 3, 4, 1, 2, 3, 4}), 0);
        assert_values(at_stack(t, LIST_OF(a, a), 2, -1), ((double[]){1, 1, 2, 2, 3, 3, 4, 4}), 0);
    }
}
END_TEST

START_TEST(each_gets_its_part_of_the_gradient)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *a = at_variable(t, at_shape_of(2, 2), (double[]){1, 2, 3, 4});
        at_tensor *c = at_variable(t, at_shape_of(2, 1), (double[]){7, 8});
        at_tensor *y = at_concat(t, LIST_OF(a, c), 2, 1);
        ck_assert(pull(t, y, (double[]){1, 2, 3, 4, 5, 6}));
        assert_grads(a, ((double[]){1, 2, 4, 5}), 0);
        assert_grads(c, ((double[]){3, 6}), 0);
        ck_assert(pull(t, y, (double[]){1, 1, 1, 1, 1, 1}));
        assert_grads(a, ((double[]){2, 3, 5, 6}), 0); /* added to what was there */
    }
}
END_TEST

START_TEST(a_tensor_given_twice_gets_the_sum)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2), (double[]){1, 2});
        ck_assert(pull(t, at_concat(t, LIST_OF(x, x), 2, 0), (double[]){1, 2, 30, 40}));
        assert_grads(x, ((double[]){31, 42}), 0);
        at_zero_grads(t);
        ck_assert(pull(t, at_stack(t, LIST_OF(x, x), 2, 1), (double[]){1, 2, 30, 40}));
        assert_grads(x, ((double[]){3, 70}), 0);
    }
}
END_TEST

START_TEST(they_equal_the_golden_numbers)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *a = at_variable(t, at_shape_of(2, 2, 2), concat_a);
        at_tensor *b = at_variable(t, at_shape_of(2, 1, 2), concat_b);
        at_tensor *y = at_concat(t, LIST_OF(a, b, a), 3, 1);
        assert_values(y, concat_y, close_to(t));
        ck_assert(pull(t, y, concat_dy));
        assert_grads(a, concat_da, close_to(t));
        assert_grads(b, concat_db, close_to(t));

        at_tensor *c = at_variable(t, at_shape_of(2, 3), stack_a);
        at_tensor *d = at_variable(t, at_shape_of(2, 3), stack_b);
        at_tensor *z = at_stack(t, LIST_OF(c, d, c), 3, 1);
        assert_values(z, stack_y, close_to(t));
        ck_assert(pull(t, z, stack_dy));
        assert_grads(c, stack_da, close_to(t));
        assert_grads(d, stack_db, close_to(t));
    }
}
END_TEST

START_TEST(the_new_axis_can_be_any)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(2, 3), NULL), *all[5] = {x, x, x, x, x};
    ck_assert_str_eq(at_text(at_stack(t, all, 5, 0)), "[5,2,3]");
    ck_assert_str_eq(at_text(at_stack(t, all, 5, 1)), "[2,5,3]");
    ck_assert_str_eq(at_text(at_stack(t, all, 5, 2)), "[2,3,5]");
    ck_assert_str_eq(at_text(at_stack(t, all, 5, -1)), "[2,3,5]");
    ck_assert_str_eq(at_text(at_stack(t, all, 5, -3)), "[5,2,3]");
    ck_assert_str_eq(at_text(at_stack(t, all, 1, 0)), "[1,2,3]");
    at_close(t);
}
END_TEST

START_TEST(masks_and_ids_can_be_joined)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *i = at_ints(t, at_shape_of(2), (int32_t[]){7, 8});
    at_tensor *b = at_bools(t, at_shape_of(2), (bool[]){1, 0});
    at_tensor *y = at_concat(t, LIST_OF(i, i), 2, 0), *m = at_stack(t, LIST_OF(b, b), 2, 1);
    ck_assert_int_eq(y->dtype, ATTIC_I32);
    assert_values(y, ((double[]){7, 8, 7, 8}), 0);
    ck_assert_int_eq(m->dtype, ATTIC_BOOL);
    assert_values(m, ((double[]){1, 1, 0, 0}), 0);
    at_close(t);
}
END_TEST

START_TEST(sizes_of_0_are_legal)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *e = at_variable(t, at_shape_of(2, 0), NULL);
    at_tensor *x = at_variable(t, at_shape_of(2, 2), (double[]){1, 2, 3, 4});
    at_tensor *y = at_concat(t, LIST_OF(e, x, e), 3, 1);
    assert_values(y, ((double[]){1, 2, 3, 4}), 0);
    ck_assert(pull(t, y, (double[]){1, 2, 3, 4}));
    assert_grads(x, ((double[]){1, 2, 3, 4}), 0);
    at_tensor *huge = at_variable(t, at_shape_of(1 << 30, 1 << 30, 1 << 30, 0), NULL);
    ck_assert(pull(t, at_concat(t, LIST_OF(huge, huge), 2, -1), NULL));
    at_close(t);
}
END_TEST

static void assert_refused(bool stack, at_shape a, at_shape b, int axis, const char *text)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x[] = {at_const(t, a, NULL), at_name(at_const(t, b, NULL), "y")};
    ck_assert_ptr_null((stack ? at_stack : at_concat)(t, x, 2, axis));
    assert_error(t, text);
    at_close(t);
}

START_TEST(shapes_that_do_not_fit_are_named)
{
    assert_refused(
        false, at_shape_of(2, 3), at_shape_of(2, 4), 0,
        "concat: x[0] is [2,3] but x[1] is \"y\" [2,4]: they may differ in axis 0 alone");
    assert_refused(false, at_shape_of(2, 3), at_shape_of(2), 1,
                   "concat: x[0] is [2,3] but x[1] is \"y\" [2]: they may differ in axis 1 alone");
    assert_refused(false, at_shape_of(2, 3), at_shape_of(2, 3), 2,
                   "concat: there is no axis 2 in x[0] [2,3]");
    assert_refused(false, at_shape_of(), at_shape_of(), 0, "concat: there is no axis 0 in x[0] []");
    assert_refused(true, at_shape_of(2, 3), at_shape_of(2, 4), 0,
                   "stack: x[0] is [2,3] but x[1] is \"y\" [2,4]: they must be equal");
    assert_refused(true, at_shape_of(2), at_shape_of(2), 2,
                   "stack: x[0] is [2], so the new axis must be in -2..1, and 2 is not");
    assert_refused(true, at_shape_of(1, 1, 1, 1, 1, 1, 1, 1), at_shape_of(1, 1, 1, 1, 1, 1, 1, 1),
                   0, "stack: x[0] is [1,1,1,1,1,1,1,1] and there can be no dim more");
    assert_refused(false, at_shape_of(0, INT_MAX), at_shape_of(0, 1), 1,
                   "concat: axis 1 would have 2147483648, more than an int");
}
END_TEST

START_TEST(wrong_tensors_are_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(2), NULL), *i = at_ints(t, at_shape_of(2), NULL);
    at_concat(t, LIST_OF(x, x, i), 3, 0);
    assert_error(t, "concat: x[0] is f32 but x[2] is i32");
    at_clear_error(t);
    at_stack(t, LIST_OF(x, NULL), 2, 0);
    assert_error(t, "stack: x[1] is NULL");
    at_clear_error(t);
    at_concat(t, LIST_OF(x), 0, 0);
    assert_error(t, "concat: 0 tensors were given, there must be at least one");
    at_clear_error(t);
    at_stack(t, NULL, 2, 0);
    assert_error(t, "stack: the list of tensors is NULL");
    at_close(t);
}
END_TEST

SUITE(ops_concat, tables_are_joined_below_or_beside_each_other, each_gets_its_part_of_the_gradient,
      a_tensor_given_twice_gets_the_sum, they_equal_the_golden_numbers, the_new_axis_can_be_any,
      masks_and_ids_can_be_joined, sizes_of_0_are_legal, shapes_that_do_not_fit_are_named,
      wrong_tensors_are_named)
