/* test_simd.c -- a register of numbers: what is read, written and picked, lane by lane. */
#include "kernels/simd.h"

#include <stdlib.h>

#include "kernels/real.h"
#include "test.h"

AT_EACH_REAL(void, first_lanes, (void));
AT_EACH_REAL(void, all_lanes, (void));
AT_EACH_REAL(void, picks, (void));

/* Blocks of exactly n numbers: a sanitizer sees what lies beyond. */
void AT_REAL(first_lanes)(void)
{
    for (int n = 0; n <= VEC_LANES; n++) {
        REAL *p = malloc((size_t)(n + 1) * sizeof *p), *q = malloc((size_t)(n + 1) * sizeof *q);
        for (int i = 0; i < n; i++) p[i] = (REAL)(i + 1);
        q[n] = 77;
        vec v = vec_load_first(n, p);
        vec_store_first(n, q, v + 1);
        vec_mask first = vec_first(n);
        for (int l = 0; l < VEC_LANES; l++) {
            ck_assert(v[l] == (l < n ? (REAL)(l + 1) : 0));
            ck_assert(first[l] == (l < n ? -1 : 0));
        }
        for (int i = 0; i < n; i++) ck_assert(q[i] == (REAL)(i + 2));
        ck_assert(q[n] == 77);
        ck_assert(vec_sum(v) == (REAL)(n * (n + 1)) / 2);
        free(p);
        free(q);
    }
}

void AT_REAL(all_lanes)(void)
{
    REAL x[2 * VEC_LANES], y[2 * VEC_LANES];
    for (int by = 0; by < VEC_LANES; by++) {
        for (int i = 0; i < 2 * VEC_LANES; i++) x[i] = (REAL)i, y[i] = 77;
        vec_store(y + by, vec_load(x + by));
        for (int i = 0; i < 2 * VEC_LANES; i++)
            ck_assert(y[i] == (i >= by && i < by + VEC_LANES ? x[i] : 77));
    }
}

void AT_REAL(picks)(void)
{
    vec a = vec_of(-(REAL)0.0), b = vec_of(2);
    for (int l = 0; l < VEC_LANES; l++) ck_assert(signbit(a[l]) && b[l] == 2);
    vec v = vec_pick(vec_first(VEC_LANES - 1), a, b);
    for (int l = 0; l < VEC_LANES; l++) ck_assert(v[l] == (l < VEC_LANES - 1 ? 0 : 2));
    b[0] = (REAL)NAN;
    v = vec_pick(b != b, a, b);
    for (int l = 0; l < VEC_LANES; l++) ck_assert(v[l] == (l == 0 ? 0 : 2));
}

#ifdef AT_ONCE

START_TEST(the_first_lanes_are_read_and_written_and_no_more)
{
    at_first_lanes_f32();
    at_first_lanes_f64();
}
END_TEST

START_TEST(all_lanes_are_read_and_written_at_any_address)
{
    at_all_lanes_f32();
    at_all_lanes_f64();
}
END_TEST

START_TEST(a_lane_is_picked_by_its_own_condition)
{
    at_picks_f32();
    at_picks_f64();
}
END_TEST

SUITE(kernels_simd, the_first_lanes_are_read_and_written_and_no_more,
      all_lanes_are_read_and_written_at_any_address, a_lane_is_picked_by_its_own_condition)

#endif
