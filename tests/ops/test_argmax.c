/* test_argmax.c -- the first index of the maximum. */
#include "tensors.h"

#include <math.h>

START_TEST(it_finds_the_first_of_equal_maxima)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_const(t, at_shape_of(2, 4), (double[]){1, 7, 7, 0, -3, -1, -2, -1});
        assert_values(at_argmax(t, x, 1, false), ((double[]){1, 1}), 0);
        assert_values(at_argmax(t, x, 0, false), ((double[]){0, 0, 0, 0}), 0);
    }
}
END_TEST

START_TEST(a_nan_counts_as_the_maximum)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        double v[] = {1, (double)NAN, 7, (double)NAN};
        assert_values(at_argmax(t, at_const(t, at_shape_of(4), v), 0, false), ((double[]){1}), 0);
        assert_values(at_argmax(t, at_const(t, at_shape_of(2, 2), v), 0, false), ((double[]){1, 0}),
                      0);
        assert_values(at_argmax(t, at_const(t, at_shape_of(2, 2), v), 1, false), ((double[]){1, 1}),
                      0);
    }
}
END_TEST

START_TEST(a_row_of_minus_infinity_has_its_maximum_at_0)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_random(t, at_shape_of(2, 100), at_fill(-(double)INFINITY));
    assert_values(at_argmax(t, x, 1, false), ((double[]){0, 0}), 0);
    at_close(t);
}
END_TEST

START_TEST(the_result_is_whole_numbers_without_gradient)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(2, 3, 4), NULL), *y = at_argmax(t, x, -2, false);
    ck_assert_int_eq(y->dtype, ATTIC_I32);
    ck_assert(!y->wants_grad);
    ck_assert_str_eq(at_text(y), "[2,4]");
    ck_assert_str_eq(at_text(at_argmax(t, x, -2, true)), "[2,1,4]");
    ck_assert_str_eq(at_text(at_argmax(t, at_const(t, at_shape_of(5), NULL), 0, false)), "[]");
    at_close(t);
}
END_TEST

/* The index of the largest of x_0, x_step, ... x_(N-1)step by the definition. */
static int first_largest(const at_tensor *x, ptrdiff_t from, int N, ptrdiff_t step)
{
    int best = 0;
    for (int j = 1; j < N; j++) {
        double v = at_element(x, from + j * step), m = at_element(x, from + best * step);
        if (v > m || (isnan(v) && !isnan(m))) best = j;
    }
    return best;
}

/* Numbers with many equal ones, and a NaN here and there. */
static at_tensor *dice(at_tape *t, at_shape s, int sides)
{
    at_tensor *x = at_random(t, s, at_uniform(sides));
    for (ptrdiff_t i = 0; i < at_count(s); i++) {
        double v = floor(at_element(x, i));
        at_store(x->dtype, x->data, i, i % 97 == 13 ? (double)NAN : v);
    }
    return x;
}

START_TEST(every_axis_follows_the_definition)
{
    const at_shape shapes[] = {at_shape_of(7, 5, 3), at_shape_of(3, 300, 2), at_shape_of(2, 3, 200),
                               at_shape_of(300, 4), at_shape_of(4, 300)};
    for (at_tape *t = NULL; next_tape(&t);)
        for (int s = 0; s < 5; s++)
            for (int a = 0; a < shapes[s].ndim; a++) {
                at_tensor *x = dice(t, shapes[s], s % 2 ? 3 : 1000), *y = at_argmax(t, x, a, true);
                int N = shapes[s].dim[a];
                ptrdiff_t inner = at_count_between(shapes[s], a + 1, shapes[s].ndim);
                for (ptrdiff_t i = 0; i < at_count(y->shape); i++) {
                    ptrdiff_t from = i / inner * N * inner + i % inner;
                    assert_close(at_element(y, i), first_largest(x, from, N, inner), 0);
                }
            }
}
END_TEST

START_TEST(sizes_of_0_and_1_are_legal)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    assert_values(at_argmax(t, at_const(t, at_shape_of(3, 1), NULL), 1, false),
                  ((double[]){0, 0, 0}), 0);
    ck_assert_str_eq(at_text(at_argmax(t, at_const(t, at_shape_of(0, 3), NULL), 1, false)), "[0]");
    at_tensor *huge = at_const(t, at_shape_of(1 << 30, 1 << 30, 0, 1 << 30, 3), NULL);
    ck_assert_int_eq(at_count(at_argmax(t, huge, 4, false)->shape), 0);
    at_close(t);
}
END_TEST

START_TEST(wrong_arguments_are_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert_ptr_null(at_argmax(t, at_const(t, at_shape_of(2, 0), NULL), 1, false));
    assert_error(t, "argmax: x is [2,0]: there is no maximum along axis 1 of size 0");
    at_clear_error(t);
    ck_assert_ptr_null(at_argmax(t, at_const(t, at_shape_of(2, 3), NULL), -3, false));
    assert_error(t, "argmax: there is no axis -3 in x [2,3]");
    at_clear_error(t);
    ck_assert_ptr_null(at_argmax(t, at_bools(t, at_shape_of(2), NULL), 0, false));
    assert_error(t, "argmax: x [2] has dtype bool but must be f32");
    at_clear_error(t);
    ck_assert_ptr_null(at_argmax(t, NULL, 0, false));
    assert_error(t, "argmax: x is NULL");
    at_close(t);
}
END_TEST

SUITE(ops_argmax, it_finds_the_first_of_equal_maxima, a_nan_counts_as_the_maximum,
      a_row_of_minus_infinity_has_its_maximum_at_0, the_result_is_whole_numbers_without_gradient,
      every_axis_follows_the_definition, sizes_of_0_and_1_are_legal, wrong_arguments_are_named)
