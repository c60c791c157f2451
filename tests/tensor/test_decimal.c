/* test_decimal.c -- numbers become the digits that tell them apart. */
#include "tensor/decimal.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

static void check_decimal(at_dtype real, double x, int min, int max, const char *digits,
                          int exponent)
{
    at_decimal d = at_decimal_of(real, x, min, max);
    ck_assert_str_eq(d.digit, digits);
    ck_assert_int_eq(d.n, (int)strlen(digits));
    ck_assert_int_eq(d.exponent, exponent);
    ck_assert_int_eq(d.negative, signbit(x) != 0);
}

START_TEST(the_fewest_digits_that_read_back)
{
    check_decimal(ATTIC_F64, 0.1, 1, 17, "1", -1);
    check_decimal(ATTIC_F32, (double)0.1f, 1, 17, "1", -1);
    check_decimal(ATTIC_F64, (double)0.1f, 1, 17, "10000000149011612", -1);
    check_decimal(ATTIC_F64, -1.0 / 3, 1, 17, "3333333333333333", -1);
    check_decimal(ATTIC_F64, 5e-324, 1, 17, "5", -324);
    check_decimal(ATTIC_F64, 0.0, 1, 17, "0", 0);
    check_decimal(ATTIC_F64, -0.0, 3, 17, "0", 0);
    check_decimal(ATTIC_F64, 99.96, 1, 3, "100", 2); /* rounded: 100, not 99.9 */
    check_decimal(ATTIC_F64, 2.5, 1, 1, "2", 0);     /* half to even */
    check_decimal(ATTIC_F64, 2.0, 3, 17, "200", 0);
}
END_TEST

/* Below 2^-44 doubles lie twice as close as above it: ...801e-14 is nearer, but reads back as the
 * number below, and ...802e-14 as 2^-44. */
START_TEST(at_a_power_of_two_the_farther_decimal_may_be_the_one)
{
    check_decimal(ATTIC_F64, 0x1p-44, 1, 17, "5684341886080802", -14);
    ck_assert(strtod("5.684341886080801e-14", NULL) != 0x1p-44);
    for (int k = -1022; k < 1024; k++) {
        at_decimal d = at_decimal_of(ATTIC_F64, ldexp(1, k), 1, 17);
        char text[64];
        snprintf(text, sizeof text, "%c.%se%d", d.digit[0], d.digit + 1, d.exponent);
        ck_assert(strtod(text, NULL) == ldexp(1, k));
    }
}
END_TEST

START_TEST(texts_of_numbers)
{
    ck_assert_str_eq(at_fixed_text(0.125, 2), "0.12");
    ck_assert_str_eq(at_fixed_text(-0.001, 2), "0.00"); /* not -0.00 */
    ck_assert_str_eq(at_fixed_text(-0.0, 0), "0");
    ck_assert_str_eq(at_fixed_text(-1.5, 1), "-1.5");
    ck_assert_str_eq(at_fixed_text(1e300, 2), "1.0000000000000001e+300");
    ck_assert_str_eq(at_short_text(0.25, 3), "0.25");
    ck_assert_str_eq(at_short_text(1.5e-7, 3), "1.5e-07");
    ck_assert_str_eq(at_short_text(copysign((double)NAN, -1), 3), "nan");
    ck_assert_str_eq(at_short_text(-(double)INFINITY, 3), "-inf");
}
END_TEST

START_TEST(a_comma_in_the_locale_does_not_show)
{
    use_decimal_comma();
    ck_assert_str_eq(at_fixed_text(0.125, 2), "0.12");
    ck_assert_str_eq(at_short_text(1.5e-7, 3), "1.5e-07");
    check_decimal(ATTIC_F64, 1.25, 1, 17, "125", 0);
    setlocale(LC_NUMERIC, "C");
}
END_TEST

SUITE(tensor_decimal, the_fewest_digits_that_read_back,
      at_a_power_of_two_the_farther_decimal_may_be_the_one, texts_of_numbers,
      a_comma_in_the_locale_does_not_show)
