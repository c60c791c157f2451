/* test_sdpa_tiled.c -- the fused path against the plain one, on random options and shapes. */
#include "ops/sdpa_draw.h"

#include "test.h"

/* Fails unless both paths give the same outputs and gradients. */
static void compare_paths(int seed, bool large, at_dtype real, at_sdpa_path path, double tol)
{
    sdpa_problem p = sdpa_draw(seed, large);
    at_tape *t = at_open(real, (uint64_t)seed), *u = at_open(real, (uint64_t)seed);
    sdpa_run x = sdpa_inputs(t, &p), y = sdpa_inputs(u, &p);
    const char *where;
    ck_assert_msg(sdpa_go(t, &p, &x, path, true), "%s: %s", sdpa_problem_text(&p), at_error(t));
    ck_assert_msg(sdpa_go(u, &p, &y, ATTIC_PLAIN, true), "%s", at_error(u));
    double off = sdpa_difference(&x, &y, &where);
    ck_assert_msg(off <= tol, "%s: %s is off by %.2g", sdpa_problem_text(&p), where, off);
    at_close(t);
    at_close(u);
}

START_TEST(fused_equals_plain)
{
    for (int seed = 0; seed < 1500; seed++) {
        compare_paths(seed, false, ATTIC_F64, ATTIC_FUSED, 1e-11);
        compare_paths(seed, false, ATTIC_F32, ATTIC_FUSED, 2e-5);
    }
}
END_TEST

START_TEST(fused_equals_plain_over_many_tiles)
{
    for (int seed = 0; seed < 30; seed++) {
        compare_paths(seed, true, ATTIC_F64, ATTIC_FUSED, 1e-11);
        compare_paths(seed, true, ATTIC_F32, ATTIC_FUSED, 2e-5);
    }
}
END_TEST

SUITE(ops_sdpa_tiled, fused_equals_plain, fused_equals_plain_over_many_tiles)
