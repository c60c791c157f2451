/* test_dropout.c -- cells drop at random, but always the same ones. */
#include "tensors.h"

#include <math.h>

#define D(...) ((double[]){__VA_ARGS__})

static at_tensor *many_ones(at_tape *t, int n)
{
    at_tensor *x = at_variable(t, at_shape_of(n), NULL);
    at_init_fill(x, at_ones(), (at_stream){0, 0});
    return x;
}

START_TEST(a_cell_is_kept_iff_its_random_number_is_at_least_p_2_to_the_32)
{
    enum { N = 3000 };
    const double ps[] = {0.1, 0.5, 1 / 3.0, 0.9};
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 0; k < 4; k++) {
            double p = ps[k], kept = 1 / (1 - p);
            at_tensor *x = many_ones(t, N), *y = at_dropout(t, x, p);
            at_stream s = {at_seed(t), (uint64_t)k}; /* the first four draws of this tape */
            for (int i = 0; i < N; i++) {
                bool keep = at_random_u32(s, (uint64_t)i) >= p * 0x1p32;
                assert_close(at_element(y, i), keep ? kept : 0, keep ? close_to(t) * kept : 0);
            }
        }
}
END_TEST

/* u < p 2^32 drops: the cell whose u is exactly p 2^32 stays, one step of p further it goes. */
START_TEST(the_threshold_itself_is_kept)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    for (uint64_t draw = 0; draw < 20; draw += 2) {
        uint32_t u = at_random_u32((at_stream){1, draw}, 0);
        at_tensor *x = many_ones(t, 1), *y = at_dropout(t, x, u * 0x1p-32);
        ck_assert(at_element(y, 0) > 0);
        u = at_random_u32((at_stream){1, draw + 1}, 0);
        ck_assert(at_element(at_dropout(t, x, (u + 1.0) * 0x1p-32), 0) == 0);
    }
    at_close(t);
}
END_TEST

/* The largest and smallest thresholds there are. */
START_TEST(p_next_to_0_keeps_all_and_p_next_to_1_drops_all)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = many_ones(t, 1000);
    at_tensor *all = at_dropout(t, x, 1e-300), *none = at_dropout(t, x, nextafter(1, 0));
    for (int i = 0; i < 1000; i++) {
        ck_assert(at_element(all, i) == 1);
        ck_assert(at_element(none, i) == 0);
    }
    at_close(t);
}
END_TEST

START_TEST(the_share_that_drops_is_p_and_the_mean_stays)
{
    enum { N = 200000 };
    at_tape *t = at_open(ATTIC_F64, 3);
    for (double p = 0.1; p < 0.95; p += 0.2) {
        at_tensor *y = at_dropout(t, many_ones(t, N), p);
        double dropped = 0, mean = 0;
        for (int i = 0; i < N; i++) dropped += at_element(y, i) == 0, mean += at_element(y, i);
        double sigma = sqrt(p * (1 - p) / N);
        assert_close(dropped / N, p, 4 * sigma);
        assert_close(mean / N, 1, 4 * sigma / (1 - p));
    }
    at_close(t);
}
END_TEST

START_TEST(neighbours_drop_independently)
{
    enum { N = 200000 };
    at_tape *t = at_open(ATTIC_F64, 4);
    at_tensor *y = at_dropout(t, many_ones(t, N), 0.5);
    double both = 0;
    for (int i = 1; i < N; i++) both += at_element(y, i) == 0 && at_element(y, i - 1) == 0;
    assert_close(both / N, 0.25, 5 * sqrt(0.25 * 0.75 / N));
    at_close(t);
}
END_TEST

START_TEST(the_gradient_drops_what_the_forward_dropped)
{
    enum { N = 2000 };
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = many_ones(t, N), *y = at_dropout(t, x, 0.3);
        at_tensor *dy = at_random(t, y->shape, at_fill(3));
        ck_assert(at_backward_from(t, y, dy));
        for (int i = 0; i < N; i++)
            assert_close(at_grad_element(x, i), 3 * at_element(y, i), 10 * close_to(t));
    }
}
END_TEST

START_TEST(a_dropped_cell_is_not_read)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_variable(t, at_shape_of(64), NULL);
    at_init_fill(x, at_fill((double)NAN), (at_stream){0, 0});
    at_tensor *y = at_dropout(t, x, 0.5);
    ck_assert(at_backward_from(t, y, x));
    int dropped = 0;
    for (int i = 0; i < 64; i++) {
        if (isnan(at_element(y, i))) continue;
        ck_assert(at_element(y, i) == 0 && at_grad_element(x, i) == 0);
        dropped++;
    }
    ck_assert_int_gt(dropped, 16);
    at_close(t);
}
END_TEST

START_TEST(f32_and_f64_drop_the_same_cells)
{
    at_tape *t32 = at_open(ATTIC_F32, 11), *t64 = at_open(ATTIC_F64, 11);
    at_tensor *y32 = at_dropout(t32, many_ones(t32, 5000), 0.37);
    at_tensor *y64 = at_dropout(t64, many_ones(t64, 5000), 0.37);
    for (int i = 0; i < 5000; i++)
        ck_assert((at_element(y32, i) == 0) == (at_element(y64, i) == 0));
    at_close(t32);
    at_close(t64);
}
END_TEST

START_TEST(the_shape_does_not_matter_only_the_position)
{
    at_tape *a = at_open(ATTIC_F32, 2), *b = at_open(ATTIC_F32, 2);
    at_tensor *x = at_random(a, at_shape_of(3, 1, 700), at_ones());
    at_tensor *flat = at_random(b, at_shape_of(2100), at_ones());
    at_tensor *y = at_dropout(a, x, 0.5), *z = at_dropout(b, flat, 0.5);
    ck_assert_mem_eq(y->data, z->data, at_bytes(y));
    at_close(a);
    at_close(b);
}
END_TEST

START_TEST(a_replay_drops_the_same_and_a_new_call_does_not)
{
    at_tape *t = at_open(ATTIC_F32, 2);
    at_tensor *x = many_ones(t, 1000), *y = at_dropout(t, x, 0.5), *other = at_dropout(t, x, 0.5);
    at_tensor *before = at_blank(t, ATTIC_REAL, y->shape);
    memcpy(before->data, y->data, at_bytes(y));
    ck_assert(memcmp(y->data, other->data, at_bytes(y)) != 0);
    at_train(t, false); /* the mode is frozen in what was recorded */
    ck_assert(at_replay(t));
    ck_assert_mem_eq(y->data, before->data, at_bytes(y));
    at_close(t);
}
END_TEST

START_TEST(long_arrays_have_the_same_bits_at_any_number_of_threads)
{
    enum { N = 100003 };
    at_tensor *y[2], *x[2];
    at_tape *t[2];
    for (int k = 0; k < 2; k++) {
        at_threads(k ? 3 : 1);
        t[k] = at_open(ATTIC_F32, 5);
        x[k] = many_ones(t[k], N);
        y[k] = at_dropout(t[k], x[k], 0.2);
        ck_assert(at_backward_from(t[k], y[k], y[k]));
    }
    ck_assert_mem_eq(y[0]->data, y[1]->data, at_bytes(y[0]));
    ck_assert_mem_eq(x[0]->grad, x[1]->grad, at_bytes(x[0]));
    at_close(t[0]);
    at_close(t[1]);
    at_threads(0);
}
END_TEST

START_TEST(outside_of_training_it_is_the_identity_with_a_gradient_of_its_own)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(3), D(1, 2, 3));
        at_train(t, false);
        at_tensor *y = at_dropout(t, x, 0.9);
        assert_values(y, D(1, 2, 3), 0);
        ck_assert_ptr_ne(y, x);
        ck_assert_ptr_eq(y->data, x->data);
        at_tensor *sum = at_add(t, y, at_scale(t, x, 10));
        ck_assert(pull(t, sum, D(1, 1, 1)));
        assert_grads(y, D(1, 1, 1), 0);
        assert_grads(x, D(11, 11, 11), 0);
    }
}
END_TEST

/* So evaluating between two steps does not change the second. */
START_TEST(what_is_off_draws_nothing)
{
    at_tensor *y[2];
    at_tape *t[2];
    for (int k = 0; k < 2; k++) {
        t[k] = at_open(ATTIC_F32, 6);
        at_tensor *x = many_ones(t[k], 500);
        if (k == 1) {
            at_train(t[k], false);
            at_dropout(t[k], x, 0.5);
            at_train(t[k], true);
            at_dropout(t[k], x, 0);
        }
        y[k] = at_dropout(t[k], x, 0.5);
    }
    ck_assert_mem_eq(y[0]->data, y[1]->data, at_bytes(y[0]));
    at_close(t[0]);
    at_close(t[1]);
}
END_TEST

START_TEST(p_outside_of_0_to_1_is_an_error_even_when_off)
{
    const struct {
        double p;
        const char *text;
    } wrong[] = {{1, "dropout: p is 1 but must be at least 0 and less than 1"},
                 {-0.1, "dropout: p is -0.1 but must be at least 0 and less than 1"},
                 {(double)INFINITY, "dropout: p is inf but must be at least 0 and less than 1"},
                 {(double)NAN, "dropout: p is nan but must be at least 0 and less than 1"}};
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = many_ones(t, 3);
    for (int k = 0; k < 8; k++) {
        at_train(t, k < 4);
        ck_assert_ptr_null(at_dropout(t, x, wrong[k % 4].p));
        assert_error(t, wrong[k % 4].text);
        at_clear_error(t);
    }
    at_dropout(t, NULL, 0.5);
    assert_error(t, "dropout: x is NULL");
    at_close(t);
}
END_TEST

SUITE(ops_dropout, a_cell_is_kept_iff_its_random_number_is_at_least_p_2_to_the_32,
      the_threshold_itself_is_kept, p_next_to_0_keeps_all_and_p_next_to_1_drops_all,
      the_share_that_drops_is_p_and_the_mean_stays, neighbours_drop_independently,
      the_gradient_drops_what_the_forward_dropped, a_dropped_cell_is_not_read,
      f32_and_f64_drop_the_same_cells, the_shape_does_not_matter_only_the_position,
      a_replay_drops_the_same_and_a_new_call_does_not,
      long_arrays_have_the_same_bits_at_any_number_of_threads,
      outside_of_training_it_is_the_identity_with_a_gradient_of_its_own, what_is_off_draws_nothing,
      p_outside_of_0_to_1_is_an_error_even_when_off)
