/* test_norm.c -- the norms against their formulas. */
#include "tensors.h"

#include <math.h>

/* The rows (1, 2, 6) and (-1, 0, 1). */
static at_tensor *two_rows(at_tape *t)
{
    return at_const(t, at_shape_of(2, 3), (double[]){1, 2, 6, -1, 0, 1});
}

START_TEST(a_layer_norm_subtracts_the_mean_and_divides_by_the_deviation)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_norm norm = at_norm_make(t, "n", 3, ATTIC_LAYER_NORM, true, 0.5);
        at_init_fill(norm.g, at_values((double[]){1, 2, 3}), at_draw(t));
        at_init_fill(norm.b, at_values((double[]){0, 10, 20}), at_draw(t));
        double a = sqrt(14.0 / 3 + 0.5), c = sqrt(2.0 / 3 + 0.5); /* means 3 and 0 */
        double y[] = {-2 / a, -2 / a + 10, 9 / a + 20, -1 / c, 10, 3 / c + 20};
        assert_values(at_norm_apply(t, norm, two_rows(t)), y, 20 * close_to(t));
    }
}
END_TEST

START_TEST(an_rms_norm_divides_by_the_root_of_the_mean_square)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_norm norm = at_norm_make(t, "n", 3, ATTIC_RMS, true, 0.5);
        at_init_fill(norm.g, at_values((double[]){1, 2, 3}), at_draw(t));
        double a = sqrt(41.0 / 3 + 0.5), c = sqrt(2.0 / 3 + 0.5);
        double y[] = {1 / a, 4 / a, 18 / a, -1 / c, 0, 3 / c};
        assert_values(at_norm_apply(t, norm, two_rows(t)), y, 4 * close_to(t));
    }
}
END_TEST

START_TEST(parameters_are_ones_and_zeros_and_eps_is_1e_5)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_norm norm = at_norm_make(t, "n", 2, ATTIC_LAYER_NORM, true, 0);
    at_norm plain = at_norm_make(t, "plain", 2, ATTIC_LAYER_NORM, false, 0);
    at_norm rms = at_norm_make(t, "rms", 2, ATTIC_RMS, true, 1e-6);
    ck_assert_str_eq(at_text(norm.g), "\"n.g\" [2]");
    ck_assert_str_eq(at_text(norm.b), "\"n.b\" [2]");
    ck_assert(at_element(norm.g, 1) == 1 && at_element(norm.b, 1) == 0);
    ck_assert(!plain.b && !rms.b && norm.eps == 1e-5 && rms.eps == 1e-6);
    ck_assert_int_eq(at_param_count(t), 4);
    at_close(t);
}
END_TEST

START_TEST(norms_that_do_not_exist_are_refused)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert_ptr_null(at_norm_make(t, "n", 2, (at_norm_kind)2, true, 0).g);
    assert_error(t, "norm: kind 2 is neither ATTIC_LAYER_NORM nor ATTIC_RMS");
    at_clear_error(t);
    ck_assert_ptr_null(at_norm_make(t, "n", 2, ATTIC_RMS, true, -1).g);
    assert_error(t, "norm: eps is -1 but must be finite and >= 0");
    at_clear_error(t);
    ck_assert_ptr_null(at_norm_make(t, "n", 2, ATTIC_RMS, true, 1e-60).g);
    assert_error(t, "norm: 1 / eps is 1e+60, but must be a finite f32");
    at_clear_error(t);
    ck_assert_ptr_null(at_norm_apply(t, (at_norm){0}, two_rows(t)));
    assert_error(t, "norm: the norm's g is NULL");
    ck_assert_int_eq(at_param_count(t), 0);
    at_close(t);
}
END_TEST

SUITE(nn_norm, a_layer_norm_subtracts_the_mean_and_divides_by_the_deviation,
      an_rms_norm_divides_by_the_root_of_the_mean_square,
      parameters_are_ones_and_zeros_and_eps_is_1e_5, norms_that_do_not_exist_are_refused)
