/* test_fused.c -- what the fused path promises beyond its numbers (test_paths.c): bits, memory. */
#include "attention/sdpa_run.h"

#include <math.h>

#include "test.h"

/* Runs problem `seed` with n threads. */
static sdpa_run run_threaded(at_tape *t, int seed, sdpa_size size, int n)
{
    sdpa_problem p = sdpa_draw(seed, size);
    at_threads(n);
    sdpa_run r = sdpa_run_on(t, &p, ATTIC_FUSED);
    at_threads(0);
    return r;
}

static void expect_equal_bits(int seed, sdpa_size size)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    sdpa_run alone = run_threaded(t, seed, size, 1);
    for (int n = 2; n <= 4; n++) {
        at_tape *u = at_open(ATTIC_F32, 1);
        const char *where;
        sdpa_run many = run_threaded(u, seed, size, n);
        double off = sdpa_difference(&many, &alone, &where);
        ck_assert_msg(off == 0, "problem %d of size %d, %d threads: %s differs by %g", seed,
                      (int)size, n, where, off);
        at_close(u);
    }
    at_close(t);
}

START_TEST(bits_are_equal_at_any_number_of_threads)
{
    for (int seed = 100; seed < 100 + sdpa_some(20); seed++) expect_equal_bits(seed, SDPA_TILES);
    for (int seed = 100; seed < 100 + sdpa_some(2); seed++) expect_equal_bits(seed, SDPA_LARGE);
}
END_TEST

/* dbias of one number that every cell of every head reads. */
static double bias_for_all(int n, at_shape shape)
{
    at_threads(n);
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_random(t, shape, at_normal(1)), *bias = at_variable(t, at_shape_of(1), NULL);
    at_tensor *A, *w = at_random(t, at_shape_of(shape.dim[2]), at_normal(1));
    at_sdpa(t, x, x, x, (at_sdpa_args){.bias = bias, .causal = true, .weights = &A});
    at_backward(t, at_sum(t, at_square(t, at_mul(t, A, w))));
    double d = at_grad_element(bias, 0);
    at_close(t);
    at_threads(0);
    return d;
}

START_TEST(what_all_heads_share_is_summed_in_one_order)
{
    const at_shape shape[] = {
        {4, {64, 1, 40, 2}}, {4, {1, 64, 40, 2}}, {4, {4, 8, 40, 2}}, {4, {1, 1, 1100, 2}}};
    for (int s = 0; s < 4; s++) {
        double alone = bias_for_all(1, shape[s]);
        for (int i = 0; i < 6; i++) ck_assert(bias_for_all(4, shape[s]) == alone);
    }
}
END_TEST

START_TEST(memory_grows_with_the_rows_and_not_with_their_square)
{
    enum { T = 8192, D = 4 };
    at_threads(2); /* each has scratch memory of its own */
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_random(t, at_shape_of(T, D), at_normal(1));
    at_tensor *Q = at_variable(t, at_shape_of(T, D), NULL);
    size_t before = at_memory_of(t).step + at_memory_of(t).permanent;
    at_tensor *O = at_sdpa(t, Q, x, x, (at_sdpa_args){.causal = true, .dropout = 0.1});
    at_backward(t, at_sum(t, O));
    size_t after = at_memory_of(t).step + at_memory_of(t).permanent;
    /* O, dO; three numbers of each row; scratch */
    ck_assert_uint_lt(after - before, (2 * D + 3) * T * sizeof(float) + (1 << 20));
    at_close(t);
    at_threads(0);
}
END_TEST

/* The window leaves little to compute; nothing of the memory depends on it. */
START_TEST(one_long_head_takes_little_memory_on_any_number_of_threads)
{
    enum { T = 16384, D = 64 };
    const size_t O = T * D * sizeof(float), MiB = 1 << 20;
    const int threads[] = {1, 2, 5, 64};
    for (int i = 0; i < 4; i++) {
        at_threads(threads[i]);
        at_tape *t = at_open(ATTIC_F32, 1);
        at_tensor *x[3], *dO = at_random(t, at_shape_of(T, D), at_normal(1));
        for (int k = 0; k < 3; k++)
            x[k] = at_param(t, (const char *[]){"Q", "K", "V"}[k], at_shape_of(T, D), at_normal(1));
        size_t before = handed_out(t);
        at_tensor *y =
            at_sdpa(t, x[0], x[1], x[2], (at_sdpa_args){.causal = true, .window_left = 9});
        ck_assert_uint_le(handed_out(t) - before, O + MiB);
        at_backward_from(t, y, dO);
        ck_assert_msg(at_ok(t), "%s", at_error(t));
        ck_assert_uint_le(handed_out(t) - before, 3 * O + 13 * MiB); /* dQ, dK, dV; and the rest */
        at_close(t);
    }
    at_threads(0);
}
END_TEST

START_TEST(rows_far_from_every_key_cost_nothing_and_give_nothing)
{
    enum { N = 600 };
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_random(t, at_shape_of(N, 2), at_normal(1)), *lse;
    at_tensor *Q = at_variable(t, at_shape_of(N, 2), NULL);
    at_sdpa_args a = {.causal = true, .align = ATTIC_ALIGN_OFFSET, .offset = -500, .lse = &lse};
    at_tensor *O = at_sdpa(t, Q, x, x, a);
    at_backward(t, at_sum(t, O));
    for (int i = 0; i < 500; i++) {
        ck_assert(at_get(O, i, 0) == 0 && at_grad_element(Q, 2 * i) == 0);
        ck_assert(at_get(lse, i) == -(double)INFINITY);
    }
    assert_close(at_get(O, 500, 1), at_get(x, 0, 1), 1e-15);
    assert_close(at_get(lse, 599), log(100), 1e-13); /* Q = 0: a hundred scores of 0 */
    at_close(t);
}
END_TEST

SUITE(attention_fused, bits_are_equal_at_any_number_of_threads,
      what_all_heads_share_is_summed_in_one_order,
      memory_grows_with_the_rows_and_not_with_their_square,
      one_long_head_takes_little_memory_on_any_number_of_threads,
      rows_far_from_every_key_cost_nothing_and_give_nothing)
