/* test_paths.c -- the three paths of attention agree, on random options and shapes.
 *
 * Each problem runs six times: fused, plain and composed, in f64 and in f32, from the same numbers and with
 * the same drops.  Outputs and gradients of all must be those of the plain path in f64, and in f32 those of
 * the plain path in f32. */
#include "attention/sdpa_run.h"

#include <stdlib.h>

#include "test.h"

static const char *const path_name[] = {"", "fused", "plain", "composed"};

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
    at_tape *t[2][1 + ATTIC_COMPOSED];
    sdpa_run r[2][1 + ATTIC_COMPOSED];
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++)
        for (int f64 = 0; f64 < 2; f64++) {
            t[f64][path] = at_open(f64 ? ATTIC_F64 : ATTIC_F32, (uint64_t)p.seed);
            r[f64][path] = sdpa_run_on(t[f64][path], &p, path);
        }
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        expect_close(&p, path_name[path], ATTIC_F32, &r[0][path], &r[1][ATTIC_PLAIN]);
        if (path == ATTIC_PLAIN) continue;
        expect_close(&p, path_name[path], ATTIC_F64, &r[1][path], &r[1][ATTIC_PLAIN]);
        expect_close(&p, path_name[path], ATTIC_F32, &r[0][path], &r[0][ATTIC_PLAIN]);
    }
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++)
        at_close(t[0][path]), at_close(t[1][path]);
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

/* O of one problem whose bits differ from path to path, with what the call and its tape say. */
static void compute_O(at_sdpa_path of_tape, at_sdpa_path of_call, float O[4 * 300])
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert_int_eq(at_attention_path(t, of_tape), ATTIC_TAPE_PATH);
    ck_assert_int_eq(at_attention_path(t, of_tape), of_tape);
    at_tensor *x = at_param(t, "x", at_shape_of(300, 4), at_normal(3));
    at_tensor *y = at_sdpa(t, x, x, x, (at_sdpa_args){.path = of_call});
    memcpy(O, y->data, 4 * 300 * sizeof *O);
    at_close(t);
}

START_TEST(a_tape_chooses_the_path_of_calls_that_choose_none)
{
    static float want[1 + ATTIC_COMPOSED][4 * 300], got[4 * 300];
    for (at_sdpa_path path = ATTIC_TAPE_PATH; path <= ATTIC_COMPOSED; path++)
        compute_O(ATTIC_TAPE_PATH, path, want[path]);
    ck_assert_mem_eq(want[ATTIC_TAPE_PATH], want[ATTIC_FUSED], sizeof got);
    ck_assert_mem_ne(want[ATTIC_FUSED], want[ATTIC_PLAIN], sizeof got);
    ck_assert_mem_ne(want[ATTIC_FUSED], want[ATTIC_COMPOSED], sizeof got);
    ck_assert_mem_ne(want[ATTIC_PLAIN], want[ATTIC_COMPOSED], sizeof got);
    for (at_sdpa_path tape = ATTIC_TAPE_PATH; tape <= ATTIC_COMPOSED; tape++)
        for (at_sdpa_path call = ATTIC_TAPE_PATH; call <= ATTIC_COMPOSED; call++) {
            compute_O(tape, call, got);
            ck_assert_mem_eq(got, want[call ? call : tape], sizeof got);
        }
}
END_TEST

START_TEST(a_tape_refuses_a_path_that_is_none_and_keeps_its_own)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_attention_path(t, ATTIC_COMPOSED);
    ck_assert_int_eq(at_attention_path(t, (at_sdpa_path)4), ATTIC_COMPOSED);
    ck_assert_str_eq(at_error(t), "sdpa: there is no path 4");
    at_clear_error(t);
    ck_assert_int_eq(at_attention_path(t, ATTIC_PLAIN), ATTIC_COMPOSED);
    at_tensor *x = at_const(t, at_shape_of(2, 2), NULL), *dot;
    ck_assert_ptr_nonnull(at_sdpa_jvp(t, x, x, x, x, x, x, (at_sdpa_args){0}, &dot));
    ck_assert_int_eq(at_attention_path(NULL, ATTIC_PLAIN), ATTIC_TAPE_PATH);
    at_close(t);
}
END_TEST

SUITE(attention_paths, paths_agree_on_small_problems, paths_agree_across_the_borders_of_tiles,
      paths_agree_on_large_problems, a_tape_chooses_the_path_of_calls_that_choose_none,
      a_tape_refuses_a_path_that_is_none_and_keeps_its_own)
