/* test_cumsum.c -- running sums along an axis. */
#include "tensors.h"

#include <math.h>

#define D(...) ((double[]){__VA_ARGS__})

START_TEST(sums_run_along_either_axis_and_gradients_run_back)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 3), D(1, 2, 3, 4, 5, 6));
        at_tensor *y = at_cumsum(t, x, 1);
        assert_values(y, D(1, 3, 6, 4, 9, 15), 0);
        ck_assert(pull(t, y, D(1, 10, 100, 2, 0, 5)));
        assert_grads(x, D(111, 110, 100, 7, 5, 5), 0);
        y = at_cumsum(t, x, -2);
        assert_values(y, D(1, 2, 3, 5, 7, 9), 0);
        ck_assert(pull(t, y, D(1, 1, 1, 2, 2, 2))); /* added to what was there */
        assert_grads(x, D(114, 113, 103, 9, 7, 7), 0);
    }
}
END_TEST

START_TEST(every_axis_is_the_sum_of_what_came_before)
{
    const at_shape s = at_shape_of(3, 40, 5);
    for (at_tape *t = NULL; next_tape(&t);)
        for (int a = 0; a < 3; a++) {
            at_tensor *x = at_random(t, s, at_normal(1)), *y = at_cumsum(t, x, a);
            for (int j = 0; j < s.dim[a]; j++) {
                at_tensor *sum = at_sum_over(t, at_slice(t, x, a, 0, j + 1), at_axes(a), true);
                at_tensor *at_j = at_slice(t, y, a, j, j + 1);
                for (int i = 0; i < at_count(sum->shape); i++)
                    assert_close(at_element(at_j, i), at_element(sum, i), 10 * close_to(t));
            }
        }
}
END_TEST

START_TEST(a_million_floats_keep_their_digits)
{
    enum { N = 1000000 };
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *y = at_cumsum(t, at_random(t, at_shape_of(N), at_fill(0.1)), 0);
    const double right = N * (double)0.1f;
    ck_assert(fabs(at_element(y, N - 1) / right - 1) < 1e-7);
    at_close(t);
}
END_TEST

START_TEST(a_nan_spoils_the_sums_behind_it_alone)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_const(t, at_shape_of(4), D(1, 2, (double)NAN, 3));
    assert_values(at_cumsum(t, x, 0), D(1, 3, (double)NAN, (double)NAN), 0);
    at_close(t);
}
END_TEST

START_TEST(sizes_of_0_are_legal_and_a_missing_axis_is_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert(pull(t, at_cumsum(t, at_variable(t, at_shape_of(3, 0), NULL), 1), NULL));
    ck_assert(
        pull(t, at_cumsum(t, at_variable(t, at_shape_of(1 << 30, 1 << 30, 0), NULL), 0), NULL));
    at_cumsum(t, at_const(t, at_shape_of(), NULL), 0);
    assert_error(t, "cumsum: there is no axis 0 in x []");
    at_clear_error(t);
    at_cumsum(t, at_ints(t, at_shape_of(2), NULL), 0);
    assert_error(t, "cumsum: x [2] has dtype i32 but must be f32");
    at_close(t);
}
END_TEST

SUITE(ops_cumsum, sums_run_along_either_axis_and_gradients_run_back,
      every_axis_is_the_sum_of_what_came_before, a_million_floats_keep_their_digits,
      a_nan_spoils_the_sums_behind_it_alone, sizes_of_0_are_legal_and_a_missing_axis_is_named)
