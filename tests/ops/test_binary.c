/* test_binary.c -- a + b, a - b, a b, a / b, min(a, b), max(a, b). */
#include "tensors.h"

#include <math.h>

#include "golden/broadcast.inc"

typedef at_tensor *binary_function(at_tape *, at_tensor *, at_tensor *);
static binary_function *const functions[] = {at_add, at_sub, at_mul, at_div};

#define D(...) ((double[]){__VA_ARGS__})

START_TEST(broadcast_values_and_gradients_equal_the_golden_numbers)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 0; k < 4; k++) {
            at_tensor *a = at_variable(t, at_shape_of(2, 1, 4), golden_a);
            at_tensor *b = at_variable(t, at_shape_of(3, 1), golden_b);
            at_tensor *y = functions[k](t, a, b);
            assert_values(y, golden_broadcast[k].y, close_to(t));
            ck_assert(pull(t, y, golden_dy));
            assert_grads(a, golden_broadcast[k].da, close_to(t));
            assert_grads(b, golden_broadcast[k].db, close_to(t));
        }
}
END_TEST

START_TEST(small_numbers_by_hand)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *a = at_variable(t, at_shape_of(2), D(6, -3)),
              *b = at_variable(t, at_shape_of(2), D(2, 4));
    assert_values(at_add(t, a, b), D(8, 1), 0);
    assert_values(at_sub(t, a, b), D(4, -7), 0);
    assert_values(at_mul(t, a, b), D(12, -12), 0);
    at_tensor *y = at_div(t, a, b);
    assert_values(y, D(3, -0.75), 0);
    ck_assert(pull(t, y, D(1, 16)));
    assert_grads(a, D(0.5, 4), 0);
    assert_grads(b, D(-1.5, 3), 0); /* -dy a / b^2 = -6/4, 16 3/16 */
    at_close(t);
}
END_TEST

START_TEST(the_smaller_or_larger_one_gets_the_gradient_and_equal_ones_half_of_it)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int largest = 0; largest < 2; largest++) {
            at_tensor *a = at_variable(t, at_shape_of(2, 2), D(1, 5, 3, -(double)INFINITY));
            at_tensor *b = at_variable(t, at_shape_of(2), D(3, -2));
            at_tensor *y = largest ? at_maximum(t, a, b) : at_minimum(t, a, b);
            const double most[] = {3, 5, 3, -2}, least[] = {1, -2, 3, -(double)INFINITY};
            assert_values(y, largest ? most : least, 0);
            ck_assert(pull(t, y, D(1, 2, 4, 8)));
            assert_grads(a, largest ? D(0, 2, 2, 0) : D(1, 0, 2, 8), 0);
            assert_grads(b, largest ? D(3, 8) : D(2, 2), 0);
        }
}
END_TEST

START_TEST(a_nan_on_either_side_is_the_smaller_and_the_larger_one)
{
    const double n = (double)NAN;
    for (at_tape *t = NULL; next_tape(&t);)
        for (int largest = 0; largest < 2; largest++) {
            at_tensor *a = at_variable(t, at_shape_of(3), D(n, 1, n));
            at_tensor *b = at_variable(t, at_shape_of(3), D(1, n, n));
            at_tensor *y = largest ? at_maximum(t, a, b) : at_minimum(t, a, b);
            assert_values(y, D(n, n, n), 0);
            ck_assert(pull(t, y, D(1, 2, 4)));
            assert_grads(a, D(1, 2, 4), 0);
            assert_grads(b, D(1, 2, 4), 0);
        }
}
END_TEST

START_TEST(an_operand_given_twice_receives_both_shares)
{
    const double dx[4][2] = {{2, 2}, {0, 0}, {6, -10}, {0, 0}}; /* of x+x, x-x, x x, x/x */
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 0; k < 4; k++) {
            at_tensor *x = at_variable(t, at_shape_of(2), D(3, -5));
            ck_assert(pull(t, functions[k](t, x, x), D(1, 1)));
            assert_grads(x, dx[k], close_to(t));
        }
}
END_TEST

START_TEST(only_who_wants_a_gradient_gets_one)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_variable(t, at_shape_of(3), D(1, 2, 3)),
              *c = at_const(t, at_shape_of(), D(2));
    ck_assert(pull(t, at_mul(t, c, x), D(1, 1, 1)));
    assert_grads(x, D(2, 2, 2), 0);
    ck_assert_ptr_null(c->grad);
    ck_assert(!at_add(t, c, c)->wants_grad);
    at_close(t);
}
END_TEST

START_TEST(division_by_0_is_what_ieee_says)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *a = at_const(t, at_shape_of(3), D(1, -1, 0)), *b = at_const(t, at_shape_of(), D(0));
    assert_values(at_div(t, a, b), D((double)INFINITY, -(double)INFINITY, (double)NAN), 0);
    at_close(t);
}
END_TEST

START_TEST(shapes_that_do_not_fit_are_named_with_their_dims)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *a = at_name(at_const(t, at_shape_of(2, 3), NULL), "wq");
    at_add(t, a, at_const(t, at_shape_of(5, 2, 4), NULL));
    assert_error(t,
                 "add: a is \"wq\" [2,3] but b is [5,2,4]: dims 3 and 4 differ and neither is 1");
    at_clear_error(t);
    at_div(t, at_const(t, at_shape_of(3, 2), NULL), a);
    assert_error(t, "div: a is [3,2] but b is \"wq\" [2,3]: dims 2 and 3 differ and neither is 1");
    at_clear_error(t);
    at_sub(t, at_const(t, at_shape_of(4, 0), NULL), at_const(t, at_shape_of(5, 1), NULL));
    assert_error(t, "sub: a is [4,0] but b is [5,1]: dims 4 and 5 differ and neither is 1");
    at_close(t);
}
END_TEST

START_TEST(operands_that_are_not_real_or_not_there_are_named)
{
    at_tape *t = at_open(ATTIC_F32, 1), *other = at_open(ATTIC_F32, 1);
    at_tensor *a = at_const(t, at_shape_of(2), NULL);
    at_mul(t, a, NULL);
    assert_error(t, "mul: b is NULL");
    at_clear_error(t);
    at_mul(t, at_ints(t, at_shape_of(2), NULL), a);
    assert_error(t, "mul: a [2] has dtype i32 but must be f32");
    at_clear_error(t);
    at_sub(t, a, at_const(other, at_shape_of(2), NULL));
    assert_error(t, "sub: b belongs to another tape");
    at_close(other);
    at_close(t);
}
END_TEST

SUITE(ops_binary, broadcast_values_and_gradients_equal_the_golden_numbers, small_numbers_by_hand,
      the_smaller_or_larger_one_gets_the_gradient_and_equal_ones_half_of_it,
      a_nan_on_either_side_is_the_smaller_and_the_larger_one,
      an_operand_given_twice_receives_both_shares, only_who_wants_a_gradient_gets_one,
      division_by_0_is_what_ieee_says, shapes_that_do_not_fit_are_named_with_their_dims,
      operands_that_are_not_real_or_not_there_are_named)
