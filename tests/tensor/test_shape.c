/* test_shape.c -- counting, broadcasting, and sizes that do not fit. */
#include "tensor/layout.h"

#include <limits.h>

#include "test.h"

static const char *broadcast_text(at_shape a, at_shape b)
{
    at_shape out;
    return at_broadcast(a, b, &out) ? at_shape_text(out) : "no";
}

START_TEST(a_shape_counts_its_arguments)
{
    ck_assert_int_eq(at_shape_of().ndim, 0);
    ck_assert_int_eq(at_shape_of(7).ndim, 1);
    ck_assert_str_eq(at_shape_text(at_shape_of(2, 3, 4)), "[2,3,4]");
    ck_assert_str_eq(at_shape_text(at_shape_of()), "[]");
}
END_TEST

START_TEST(a_scalar_has_one_element_and_one_row)
{
    ck_assert_int_eq(at_count(at_shape_of()), 1);
    ck_assert_int_eq(at_rows(at_shape_of()), 1);
    ck_assert_int_eq(at_last(at_shape_of()), 1);
}
END_TEST

START_TEST(rows_times_last_is_count)
{
    at_shape s = at_shape_of(2, 3, 4);
    ck_assert_int_eq(at_rows(s), 6);
    ck_assert_int_eq(at_last(s), 4);
    ck_assert_int_eq(at_count(s), 24);
    ck_assert_int_eq(at_count_between(s, 1, 2), 3);
    ck_assert_int_eq(at_count_between(s, 1, 1), 1);
}
END_TEST

START_TEST(a_size_of_zero_empties_the_tensor)
{
    at_shape s = at_shape_of(INT_MAX, 0, INT_MAX, INT_MAX);
    ck_assert(at_shape_valid(s));
    ck_assert_int_eq(at_count(s), 0);
}
END_TEST

START_TEST(products_that_overflow_are_not_shapes)
{
    ck_assert(!at_shape_valid(at_shape_of(INT_MAX, INT_MAX, INT_MAX)));
    ck_assert(!at_shape_valid(at_shape_of(1 << 30, 1 << 30)));
    ck_assert(!at_shape_valid(
        at_shape_of(1 << 16, 1 << 16, 1 << 16, 1 << 16))); /* 2^64: 0 if it wrapped */
    ck_assert(!at_shape_valid(at_shape_of(2, -1)));
    ck_assert(!at_shape_valid((at_shape){.ndim = AT_MAX_DIMS + 1}));
    ck_assert(!at_shape_valid((at_shape){.ndim = -1}));
    ck_assert(at_shape_valid(at_shape_of(1 << 20, 1 << 20)));
}
END_TEST

START_TEST(axes_count_from_either_end)
{
    at_shape s = at_shape_of(2, 3, 4);
    ck_assert_int_eq(at_axis_of(s, 0), 0);
    ck_assert_int_eq(at_axis_of(s, -1), 2);
    ck_assert_int_eq(at_axis_of(s, -3), 0);
    ck_assert_int_eq(at_axis_of(s, 3), -1);
    ck_assert_int_eq(at_axis_of(s, -4), -1);
}
END_TEST

START_TEST(broadcasting_is_numpys)
{
    ck_assert_str_eq(broadcast_text(at_shape_of(2, 3), at_shape_of(3)), "[2,3]");
    ck_assert_str_eq(broadcast_text(at_shape_of(2, 1), at_shape_of(1, 3)), "[2,3]");
    ck_assert_str_eq(broadcast_text(at_shape_of(), at_shape_of(4)), "[4]");
    ck_assert_str_eq(broadcast_text(at_shape_of(5, 1), at_shape_of(0)), "[5,0]");
    ck_assert_str_eq(broadcast_text(at_shape_of(2, 3), at_shape_of(2)), "no");
    ck_assert(at_broadcasts_to(at_shape_of(3), at_shape_of(2, 3)));
    ck_assert(!at_broadcasts_to(at_shape_of(2, 3), at_shape_of(3)));
    ck_assert(!at_broadcasts_to(at_shape_of(2, 3), at_shape_of(1, 3)));
}
END_TEST

START_TEST(repeated_axes_have_stride_zero)
{
    ptrdiff_t stride[AT_MAX_DIMS];
    at_broadcast_strides(at_shape_of(3, 1, 5), at_shape_of(2, 3, 4, 5), stride);
    ck_assert_int_eq(stride[0], 0);
    ck_assert_int_eq(stride[1], 5);
    ck_assert_int_eq(stride[2], 0);
    ck_assert_int_eq(stride[3], 1);
}
END_TEST

START_TEST(texts_survive_a_few_more_texts)
{
    const char *first = at_shape_text(at_shape_of(1));
    for (int i = 0; i < 15; i++) at_shape_text(at_shape_of(i));
    ck_assert_str_eq(first, "[1]");
}
END_TEST

SUITE(tensor_shape, a_shape_counts_its_arguments, a_scalar_has_one_element_and_one_row,
      rows_times_last_is_count, a_size_of_zero_empties_the_tensor,
      products_that_overflow_are_not_shapes, axes_count_from_either_end, broadcasting_is_numpys,
      repeated_axes_have_stride_zero, texts_survive_a_few_more_texts)
