/* test_paths.c -- the three paths of attention agree, on random options and shapes.
 *
 * Each problem runs six times: fused, plain and composed, in f64 and in f32, from the same numbers and with
 * the same drops.  Outputs and gradients of all must be those of the plain path in f64, and in f32 those of
 * the plain path in f32. */
#include "attention/sdpa_run.h"

#include <stdlib.h>

#include "test.h"

enum { PATHS = 3 };
static const char *const path_name[PATHS] = {"fused", "plain", "composed"};

static void expect_close(const sdpa_problem *p, const char *name, at_dtype real, const sdpa_run *x,
                         const sdpa_run *y)
{
    const char *where;
    double off = sdpa_difference(x, y, &where), tol = real == ATTIC_F64 ? 1e-11 : 2e-5;
    ck_assert_msg(off <= tol, "%s path in %s, %s: %s is off by %.2g", name, at_dtype_text(real),
                  sdpa_problem_text(p), where, off);
}

static void expect_agreement(sdpa_problem p)
{
    at_tape *t[2][PATHS];
    sdpa_run r[2][PATHS];
    for (int path = 0; path < PATHS; path++)
        for (int f64 = 0; f64 < 2; f64++) {
            t[f64][path] = at_open(f64 ? ATTIC_F64 : ATTIC_F32, (uint64_t)p.seed);
            r[f64][path] = sdpa_run_on(t[f64][path], &p, path);
        }
    for (int path = 0; path < PATHS; path++) {
        expect_close(&p, path_name[path], ATTIC_F32, &r[0][path], &r[1][ATTIC_PLAIN]);
        if (path == ATTIC_PLAIN) continue;
        expect_close(&p, path_name[path], ATTIC_F64, &r[1][path], &r[1][ATTIC_PLAIN]);
        expect_close(&p, path_name[path], ATTIC_F32, &r[0][path], &r[0][ATTIC_PLAIN]);
    }
    for (int path = 0; path < PATHS; path++) at_close(t[0][path]), at_close(t[1][path]);
}

static void expect_agreement_on(int problems, sdpa_size size)
{
    sdpa_pairs *pairs = calloc(1, sizeof *pairs);
    for (int i = 0, seed = 0; i < problems; i++)
        expect_agreement(sdpa_draw_new(&seed, size, pairs));
    free(pairs);
}

START_TEST(paths_agree_on_small_problems)
{
    expect_agreement_on(sdpa_some(SDPA_SMALL_ONES), SDPA_SMALL);
}
END_TEST

START_TEST(paths_agree_across_the_borders_of_tiles)
{
    expect_agreement_on(sdpa_some(SDPA_TILED_ONES), SDPA_TILES);
}
END_TEST

START_TEST(paths_agree_on_large_problems)
{
    expect_agreement_on(sdpa_some(SDPA_LARGE_ONES), SDPA_LARGE);
}
END_TEST

SUITE(attention_paths, paths_agree_on_small_problems, paths_agree_across_the_borders_of_tiles,
      paths_agree_on_large_problems)
