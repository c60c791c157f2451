/* test_scale.c -- c x and x + c. */
#include "tensors.h"

#include <math.h>

START_TEST(every_element_is_multiplied_and_so_is_its_gradient)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(3), (double[]){1, -2, 0.5});
        at_tensor *y = at_scale(t, x, -3);
        assert_values(y, ((double[]){-3, 6, -1.5}), 0);
        ck_assert(pull(t, y, (double[]){1, 10, 100}));
        assert_grads(x, ((double[]){-3, -30, -300}), 0);
    }
}
END_TEST

START_TEST(a_constant_is_added_and_the_gradient_passes)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(3), (double[]){1, -2, 0.5});
        at_tensor *y = at_add_scalar(t, x, 0.25);
        assert_values(y, ((double[]){1.25, -1.75, 0.75}), 0);
        ck_assert(pull(t, y, (double[]){1, 10, 100}));
        assert_grads(x, ((double[]){1, 10, 100}), 0);
    }
}
END_TEST

START_TEST(shares_of_two_uses_add_up)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(), (double[]){7});
    at_backward(t, at_add(t, at_scale(t, x, 2), at_add_scalar(t, at_scale(t, x, 40), 1)));
    assert_grads(x, ((double[]){42}), 0);
    at_close(t);
}
END_TEST

START_TEST(gradients_of_a_leaf_accumulate_over_backwards)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(), (double[]){7}), *y = at_scale(t, x, 2);
    at_backward(t, y);
    at_backward(t, y);
    assert_grads(x, ((double[]){4}), 0);
    at_close(t);
}
END_TEST

START_TEST(a_long_array_is_scaled_to_its_last_element)
{
    enum { N = 100003 };
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_random(t, at_shape_of(N), at_normal(1)), *y = at_scale(t, x, 0.5);
        for (int i = 0; i < N; i++) ck_assert(at_element(y, i) == at_element(x, i) / 2);
    }
}
END_TEST

START_TEST(nothing_scaled_is_nothing)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_variable(t, at_shape_of(2, 0), NULL);
    ck_assert(pull(t, at_add_scalar(t, at_scale(t, x, 2), 1), NULL));
    ck_assert(at_ok(t));
    at_close(t);
}
END_TEST

START_TEST(a_replay_sees_new_values)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_variable(t, at_shape_of(), (double[]){1}), *y = at_scale(t, x, 3);
    at_set(x, 5);
    ck_assert(at_replay(t));
    assert_values(y, ((double[]){15}), 0);
    at_close(t);
}
END_TEST

START_TEST(mistakes_are_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert_ptr_null(at_scale(t, NULL, 2));
    assert_error(t, "scale: x is NULL");
    at_clear_error(t);
    at_add_scalar(t, at_ints(t, at_shape_of(2), NULL), 2);
    assert_error(t, "add_scalar: x [2] has dtype i32 but must be f32");
    at_clear_error(t);
    at_scale(t, at_const(t, at_shape_of(2), NULL), 1e300);
    assert_error(t, "scale: c is 1e+300, but must be a finite f32");
    at_clear_error(t);
    at_add_scalar(t, at_const(t, at_shape_of(2), NULL), -1e39);
    assert_error(t, "add_scalar: c is -1e+39, but must be a finite f32");
    at_close(t);
}
END_TEST

SUITE(ops_scale, every_element_is_multiplied_and_so_is_its_gradient,
      a_constant_is_added_and_the_gradient_passes, shares_of_two_uses_add_up,
      gradients_of_a_leaf_accumulate_over_backwards, a_long_array_is_scaled_to_its_last_element,
      nothing_scaled_is_nothing, a_replay_sees_new_values, mistakes_are_named)
