/* test_sdpa_composed.c -- attention from single ops against the plain path, on random options and shapes. */
#include "ops/sdpa_draw.h"

#include "test.h"

START_TEST(composed_equals_plain)
{
    for (int seed = 0; seed < 600; seed++) {
        sdpa_expect_plain(seed, false, ATTIC_F64, ATTIC_COMPOSED);
        sdpa_expect_plain(seed, false, ATTIC_F32, ATTIC_COMPOSED);
    }
}
END_TEST

START_TEST(composed_equals_plain_for_long_rows)
{
    for (int seed = 0; seed < 3; seed++) sdpa_expect_plain(seed, true, ATTIC_F64, ATTIC_COMPOSED);
}
END_TEST

SUITE(ops_sdpa_composed, composed_equals_plain, composed_equals_plain_for_long_rows)
