/* test_masked_fill.c -- some cells become a constant. */
#include "tensors.h"

#include <math.h>

#define D(...) ((double[]){__VA_ARGS__})
static const double nan_ = (double)NAN, inf = (double)INFINITY;

START_TEST(one_fills_and_nothing_else_changes)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 3), D(1, 2, 3, 4, 5, 6));
        at_tensor *where = at_bools(t, at_shape_of(2, 3), (bool[]){0, 1, 1, 0, 0, 1});
        at_tensor *y = at_masked_fill(t, x, where, -7);
        assert_values(y, D(1, -7, -7, 4, 5, -7), 0);
        ck_assert(pull(t, y, D(1, 2, 3, 4, 5, 6)));
        assert_grads(x, D(1, 0, 0, 4, 5, 0), 0);
    }
}
END_TEST

START_TEST(any_value_can_be_filled_in)
{
    const double values[] = {0, 1e30, -1e9, -inf, inf, nan_};
    for (at_tape *t = NULL; next_tape(&t);)
        for (int i = 0; i < 6; i++) {
            at_tensor *x = at_const(t, at_shape_of(2), D(1, 2));
            at_tensor *where = at_bools(t, at_shape_of(2), (bool[]){1, 0});
            at_tensor *y = at_masked_fill(t, x, where, values[i]);
            assert_values(y, D(at_real(t) == ATTIC_F32 ? (double)(float)values[i] : values[i], 2),
                          0);
        }
}
END_TEST

START_TEST(a_filled_cell_is_not_read_and_its_gradient_is_exactly_0)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(3), D(nan_, inf, 3));
        at_tensor *where = at_bools(t, at_shape_of(3), (bool[]){1, 1, 0});
        at_tensor *y = at_masked_fill(t, x, where, -inf);
        assert_values(y, D(-inf, -inf, 3), 0);
        ck_assert(pull(t, y, D(nan_, inf, 5)));
        assert_grads(x, D(0, 0, 5), 0);
    }
}
END_TEST

/* [B,1,T,N] over heads, [B,1,1,N] for padding, [T,N] for all */
START_TEST(a_mask_broadcasts_over_heads_batches_and_queries)
{
    const at_shape masks[] = {at_shape_of(2, 1, 2, 3), at_shape_of(2, 1, 1, 3), at_shape_of(2, 3),
                              at_shape_of(3), at_shape_of()};
    at_tape *t = at_open(ATTIC_F32, 1);
    for (int m = 0; m < 5; m++) {
        at_tensor *x = at_random(t, at_shape_of(2, 2, 2, 3), at_uniform(1));
        at_tensor *where = at_bools(t, masks[m], NULL);
        for (ptrdiff_t i = 0; i < at_count(masks[m]); i++)
            ((unsigned char *)where->data)[i] = i % 3 != 1;
        at_tensor *y = at_masked_fill(t, x, where, 9);
        ptrdiff_t stride[AT_MAX_DIMS];
        at_broadcast_strides(masks[m], x->shape, stride);
        for (int i = 0; i < 24; i++) {
            ptrdiff_t at = i / 12 * stride[0] + i / 6 % 2 * stride[1] + i / 3 % 2 * stride[2] +
                           i % 3 * stride[3];
            ck_assert(at_element(y, i) == (at % 3 != 1 ? 9 : at_element(x, i)));
        }
    }
    at_close(t);
}
END_TEST

START_TEST(minus_infinity_before_softmax_gives_weights_of_exactly_0)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(2, 3), D(0.9, 0.2, 0.5, 1, 1, nan_));
    at_tensor *where = at_bools(t, at_shape_of(2, 3), (bool[]){0, 1, 1, 0, 0, 1});
    at_tensor *y = at_softmax(t, at_masked_fill(t, x, where, -inf));
    assert_values(y, D(1, 0, 0, 0.5, 0.5, 0), 1e-15);
    ck_assert(pull(t, y, D(1, 2, 3, 4, 6, 8)));
    assert_grads(x, D(0, 0, 0, -0.5, 0.5, 0), 1e-15);
    at_close(t);
}
END_TEST

START_TEST(an_infinity_filled_in_is_no_anomaly_but_a_nan_is)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(2), NULL),
              *where = at_bools(t, at_shape_of(1), (bool[]){1});
    at_anomaly(t, true);
    ck_assert(at_masked_fill(t, x, where, -inf));
    ck_assert_ptr_null(at_masked_fill(t, x, where, nan_));
    assert_error(t, "anomaly: forward of masked_fill (op 1) made nan at [0] of its output [2] from "
                    "finite inputs");
    at_close(t);
}
END_TEST

START_TEST(mistakes_are_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_name(at_const(t, at_shape_of(2, 3), NULL), "S");
    at_masked_fill(t, x, at_bools(t, at_shape_of(2, 2), NULL), 0);
    assert_error(t, "masked_fill: where is [2,2], which does not broadcast to x \"S\" [2,3]");
    at_clear_error(t);
    at_masked_fill(t, x, at_bools(t, at_shape_of(4, 2, 3), NULL), 0); /* x can't grow */
    assert_error(t, "masked_fill: where is [4,2,3], which does not broadcast to x \"S\" [2,3]");
    at_clear_error(t);
    at_masked_fill(t, x, x, 0);
    assert_error(t, "masked_fill: where \"S\" [2,3] has dtype f32 but must be bool");
    at_clear_error(t);
    at_masked_fill(t, x, NULL, 0);
    assert_error(t, "masked_fill: where is NULL");
    at_clear_error(t);
    at_masked_fill(t, x, at_bools(t, at_shape_of(), NULL), -1e300);
    assert_error(t, "masked_fill: value is -1e+300, but must be a finite f32");
    at_close(t);
}
END_TEST

SUITE(ops_masked_fill, one_fills_and_nothing_else_changes, any_value_can_be_filled_in,
      a_filled_cell_is_not_read_and_its_gradient_is_exactly_0,
      a_mask_broadcasts_over_heads_batches_and_queries,
      minus_infinity_before_softmax_gives_weights_of_exactly_0,
      an_infinity_filled_in_is_no_anomaly_but_a_nan_is, mistakes_are_named)
