/* test_where.c -- a choice reads what it takes and nothing else. */
#include "tensors.h"

#include <math.h>

#include "golden/broadcast.inc"

#define D(...) ((double[]){__VA_ARGS__})
static const double nan_ = (double)NAN, inf = (double)INFINITY;

START_TEST(broadcast_values_and_gradients_equal_the_golden_numbers)
{
    enum { WHERE = 4 };
    ck_assert_str_eq(golden_broadcast[WHERE].name, "where");
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *cond = at_bools(t, at_shape_of(4), (bool[]){1, 0, 0, 1});
        at_tensor *a = at_variable(t, at_shape_of(2, 1, 4), golden_a);
        at_tensor *b = at_variable(t, at_shape_of(3, 1), golden_b), *y = at_where(t, cond, a, b);
        assert_values(y, golden_broadcast[WHERE].y, close_to(t));
        ck_assert(pull(t, y, golden_dy));
        assert_grads(a, golden_broadcast[WHERE].da, close_to(t));
        assert_grads(b, golden_broadcast[WHERE].db, close_to(t));
    }
}
END_TEST

START_TEST(what_is_not_chosen_reaches_neither_the_output_nor_a_gradient)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *cond = at_bools(t, at_shape_of(4), (bool[]){1, 0, 1, 0});
        at_tensor *a = at_variable(t, at_shape_of(4), D(1, nan_, 3, inf));
        at_tensor *b = at_variable(t, at_shape_of(4), D(nan_, 20, -inf, 40));
        at_tensor *y = at_where(t, cond, a, b);
        assert_values(y, D(1, 20, 3, 40), 0);
        ck_assert(pull(t, y, D(nan_, 5, 6, inf)));
        assert_grads(a, D(nan_, 0, 6, 0), 0);
        assert_grads(b, D(0, 5, 0, inf), 0);
    }
}
END_TEST

START_TEST(a_nan_cotangent_stays_out_of_a_sum_it_has_no_part_in)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *cond = at_bools(t, at_shape_of(3), (bool[]){1, 0, 1});
    at_tensor *a = at_variable(t, at_shape_of(), D(7)), *b = at_variable(t, at_shape_of(3), NULL);
    ck_assert(pull(t, at_where(t, cond, a, b), D(1, nan_, 2)));
    assert_grads(a, D(3), 0);
    assert_grads(b, D(0, nan_, 0), 0);
    at_close(t);
}
END_TEST

/* Guarding only after log leaves 0 times 1/0 in its backward; where.c says what to do instead. */
START_TEST(a_safe_argument_before_the_op_keeps_the_gradient_clean)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(2), D(0, 4)), *x2 = variable_like(t, x);
    at_tensor *positive = at_bools(t, at_shape_of(2), (bool[]){0, 1});
    at_tensor *zero = at_const(t, at_shape_of(), NULL), *one = at_const(t, at_shape_of(), D(1));

    ck_assert(pull(t, at_where(t, positive, at_log(t, x), zero), D(1, 1)));
    assert_grads(x, D(nan_, 0.25), 0);
    ck_assert(pull(t, at_log(t, at_where(t, positive, x2, one)), D(1, 1)));
    assert_grads(x2, D(0, 0.25), 0);
    at_close(t);
}
END_TEST

START_TEST(one_tensor_on_both_sides_gets_the_whole_gradient)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *cond = at_bools(t, at_shape_of(3), (bool[]){1, 0, 1});
    at_tensor *x = at_variable(t, at_shape_of(3), D(1, 2, 3));
    ck_assert(pull(t, at_where(t, cond, x, x), D(4, 5, 6)));
    assert_grads(x, D(4, 5, 6), 0);
    at_close(t);
}
END_TEST

START_TEST(the_condition_alone_may_make_the_shape)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *cond = at_bools(t, at_shape_of(2, 2), (bool[]){1, 0, 0, 1});
    at_tensor *a = at_variable(t, at_shape_of(), D(1)),
              *b = at_variable(t, at_shape_of(1, 1), D(9));
    at_tensor *y = at_where(t, cond, a, b);
    assert_values(y, D(1, 9, 9, 1), 0);
    ck_assert(pull(t, y, D(1, 10, 100, 1000)));
    assert_grads(a, D(1001), 0);
    assert_grads(b, D(110), 0);
    at_close(t);
}
END_TEST

START_TEST(mistakes_are_named)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *cond = at_bools(t, at_shape_of(2, 3), NULL), *x = at_const(t, at_shape_of(3), NULL);
    at_where(t, x, x, x);
    assert_error(t, "where: cond [3] has dtype f64 but must be bool");
    at_clear_error(t);
    at_where(t, cond, x, cond);
    assert_error(t, "where: b [2,3] has dtype bool but must be f64");
    at_clear_error(t);
    at_where(t, cond, x, at_const(t, at_shape_of(4), NULL));
    assert_error(t, "where: a is [3] but b is [4]: dims 3 and 4 differ and neither is 1");
    at_clear_error(t);
    at_where(t, cond, at_const(t, at_shape_of(4, 1), NULL), x);
    assert_error(t, "where: cond is [2,3] but a and b together are [4,3]: dims 2 and 4 differ and "
                    "neither is 1");
    at_close(t);
}
END_TEST

SUITE(ops_where, broadcast_values_and_gradients_equal_the_golden_numbers,
      what_is_not_chosen_reaches_neither_the_output_nor_a_gradient,
      a_nan_cotangent_stays_out_of_a_sum_it_has_no_part_in,
      a_safe_argument_before_the_op_keeps_the_gradient_clean,
      one_tensor_on_both_sides_gets_the_whole_gradient, the_condition_alone_may_make_the_shape,
      mistakes_are_named)
