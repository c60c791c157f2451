/* test_compare.c -- exact, close or wrong, and by how much. */
#include "tensor/compare.h"
#include "tensor/decimal.h"

#include <locale.h>
#include <math.h>

#include "autograd/tape.h"
#include "ops/ops.h"
#include "test.h"

static at_comparison compare_rows(at_dtype real, const double *a, const double *b)
{
    at_tape *t = at_open(real, 1);
    at_comparison c = at_compare(at_const(t, at_shape_of(3), a), at_const(t, at_shape_of(3), b));
    at_close(t);
    return c;
}

START_TEST(the_same_values_are_exact)
{
    const double a[] = {1, (double)NAN, -(double)INFINITY};
    at_comparison c = compare_rows(ATTIC_F64, a, a);
    ck_assert_int_eq(c.similarity, ATTIC_EXACT);
    ck_assert_str_eq(c.text, "exact");
}
END_TEST

START_TEST(rounding_is_close_in_f32_and_wrong_in_f64)
{
    const double a[] = {1, 2, 3.0001}, b[] = {1, 2, 3};
    at_comparison c = compare_rows(ATTIC_F32, a, b);
    ck_assert_int_eq(c.similarity, ATTIC_CLOSE);
    ck_assert_str_eq(c.text, "close: off by 3.3e-05 of its size at most");
    c = compare_rows(ATTIC_F64, a, b);
    ck_assert_int_eq(c.similarity, ATTIC_DIFFERENT);
    ck_assert_str_eq(c.text, "wrong: 3.0001 instead of 3 at [2]; 1 of 3 differ");
}
END_TEST

START_TEST(a_common_factor_is_named)
{
    const double a[] = {-2, 1, 0}, b[] = {2, -1, 0};
    at_comparison c = compare_rows(ATTIC_F64, a, b);
    ck_assert_str_eq(c.text, "wrong: -2 instead of 2 at [0]; 2 of 3 differ, by a factor -1");
    ck_assert_int_eq(c.differing, 2);
    assert_close(c.error, 2, 0);
}
END_TEST

START_TEST(a_nan_where_a_number_should_be_is_wrong)
{
    const double a[] = {1, (double)NAN, 1}, b[] = {1, 2, 3};
    at_comparison c = compare_rows(ATTIC_F64, a, b);
    ck_assert_str_eq(c.text, "wrong: nan instead of 2 at [1]; 2 of 3 differ");
    ck_assert(isinf(c.error));
}
END_TEST

START_TEST(tiny_elements_need_not_be_right_to_all_their_digits)
{
    const double a[] = {1, 1e-15, 1}, b[] = {1, 2e-15, 1};
    ck_assert_int_eq(compare_rows(ATTIC_F64, a, b).similarity, ATTIC_CLOSE);
}
END_TEST

START_TEST(bits_tell_what_values_do_not)
{
    ck_assert(at_same_bits((double)NAN, (double)NAN));
    ck_assert(!at_same_bits(0.0, -0.0));
    ck_assert(at_same_bits(0.1 + 0.2, 0.30000000000000004));
}
END_TEST

START_TEST(other_shapes_are_wrong)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_const(t, at_shape_of(3), NULL), *y = at_const(t, at_shape_of(3, 1), NULL);
    ck_assert_str_eq(at_compare(x, y).text, "wrong: [3] instead of [3,1]");
    ck_assert_str_eq(at_compare(NULL, y).text, "wrong: NULL instead of [3,1]");
    ck_assert_int_eq(at_compare(x, y).similarity, ATTIC_DIFFERENT);
    at_close(t);
}
END_TEST

START_TEST(a_decimal_comma_does_not_show)
{
    const double a[] = {1.5, 3, 4.5}, b[] = {1, 2, 3};
    use_decimal_comma();
    ck_assert_str_eq(compare_rows(ATTIC_F64, a, b).text,
                     "wrong: 1.5 instead of 1 at [0]; 3 of 3 differ, by a factor 1.5");
    setlocale(LC_NUMERIC, "C");
}
END_TEST

START_TEST(what_a_backward_reused_is_no_number_and_different_from_everything)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_reuse_memory(t, true);
    at_tensor *x = at_variable(t, at_shape_of(2), (double[]){1, 2}), *y = at_exp(t, x);
    at_tensor *again = at_reshape(t, y, at_shape_of(2)), *d = at_detach(t, y);
    ck_assert(at_backward(t, at_sum(t, again)));
    ck_assert(isnan(at_element(y, 0)) && isnan(at_element(again, 0)) && isnan(at_element(d, 0)));
    ck_assert(isnan(at_element(NULL, 0)) && isnan(at_grad_element(NULL, 0)));
    const char *text = "wrong: the memory of [2] was reused by a backward";
    ck_assert_str_eq(at_compare(x, y).text, text);
    ck_assert_str_eq(at_compare(d, x).text, text);
    ck_assert_int_eq(at_compare(again, again).similarity, ATTIC_DIFFERENT);
    at_close(t);
}
END_TEST

SUITE(tensor_compare, the_same_values_are_exact, rounding_is_close_in_f32_and_wrong_in_f64,
      a_common_factor_is_named, a_nan_where_a_number_should_be_is_wrong,
      tiny_elements_need_not_be_right_to_all_their_digits, bits_tell_what_values_do_not,
      other_shapes_are_wrong, what_a_backward_reused_is_no_number_and_different_from_everything,
      a_decimal_comma_does_not_show)
