/* test_sdpa_tiled.c -- the fused path against the plain one, on random options and shapes. */
#include "ops/sdpa_draw.h"

#include "test.h"

START_TEST(fused_equals_plain)
{
    for (int seed = 0; seed < 1500; seed++) {
        sdpa_expect_plain(seed, false, ATTIC_F64, ATTIC_FUSED);
        sdpa_expect_plain(seed, false, ATTIC_F32, ATTIC_FUSED);
    }
}
END_TEST

START_TEST(fused_equals_plain_over_many_tiles)
{
    for (int seed = 0; seed < 30; seed++) {
        sdpa_expect_plain(seed, true, ATTIC_F64, ATTIC_FUSED);
        sdpa_expect_plain(seed, true, ATTIC_F32, ATTIC_FUSED);
    }
}
END_TEST

SUITE(ops_sdpa_tiled, fused_equals_plain, fused_equals_plain_over_many_tiles)
