/* test_convert.c -- arrays of one dtype to another, beside their elements one by one. */
#include "tensor/layout.h"

#include <math.h>
#include <string.h>

#include "test.h"

enum { ELEMENTS = 5 };

START_TEST(an_array_is_converted_as_its_elements_one_by_one)
{
    const double value[ELEMENTS] = {0, 1, 0.1, 3.75, 100};
    for (int from = ATTIC_F32; from <= ATTIC_DUAL; from++)
        for (int to = ATTIC_F32; to <= ATTIC_DUAL; to++) {
            double x[2 * ELEMENTS], whole[2 * ELEMENTS] = {0}, single[2 * ELEMENTS] = {0};
            for (int i = 0; i < ELEMENTS; i++) at_store(from, x, i, value[i]);
            at_convert(to, whole, from, x, ELEMENTS);
            for (int i = 0; i < ELEMENTS; i++) at_store(to, single, i, at_fetch(from, x, i));
            ck_assert_mem_eq(whole, single, sizeof whole);
        }
}
END_TEST

START_TEST(a_dual_number_gets_the_tangent_0)
{
    const float x[] = {7, -8};
    double y[] = {1, 2, 3, 4, 5};
    at_convert(ATTIC_DUAL, y, ATTIC_F32, x, 2);
    ck_assert(y[0] == 7 && y[1] == 0 && y[2] == -8 && y[3] == 0 && y[4] == 5);
}
END_TEST

START_TEST(without_an_array_there_are_nans_and_nothing_is_written)
{
    double y[] = {1, 2};
    at_convert(ATTIC_F64, y, ATTIC_F32, NULL, 1);
    ck_assert(isnan(y[0]) && y[1] == 2);
    at_convert(ATTIC_F32, NULL, ATTIC_F64, y, 2);
    at_convert(ATTIC_F32, NULL, ATTIC_F64, NULL, 0);
}
END_TEST

START_TEST(what_i32_cannot_hold_is_the_end_of_its_range)
{
    const double inf = (double)INFINITY, value[] = {2e9, 3e9, inf, -3e9, -inf, (double)NAN, -1.9};
    const int32_t i32[] = {2000000000, INT32_MAX, INT32_MAX, INT32_MIN, INT32_MIN, INT32_MIN, -1};
    for (int i = 0; i < 7; i++) {
        int32_t x;
        at_store(ATTIC_I32, &x, 0, value[i]);
        ck_assert_int_eq(x, i32[i]);
    }
}
END_TEST

SUITE(tensor_convert, an_array_is_converted_as_its_elements_one_by_one,
      what_i32_cannot_hold_is_the_end_of_its_range, a_dual_number_gets_the_tangent_0,
      without_an_array_there_are_nans_and_nothing_is_written)
