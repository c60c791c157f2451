/* test_rng.c -- random numbers: the published answers, and the statistics of ours.
 *
 * The streams are fixed, so a statistic is one number, the same each time; the bounds are five
 * standard deviations, which a good generator misses once in a million streams. */
#include "test.h"
#include "kernels/rng.h"

#include <math.h>
#include <string.h>

START_TEST(philox_gives_the_published_answers)
{
    /* Random123, tests/kat_vectors, the three lines "philox4x32 10": counter, key, answer */
    static const struct {
        uint32_t counter[4], key[2], answer[4];
    } known[] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                 {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                  {0xffffffff, 0xffffffff},
                  {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                 {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, /* the digits of pi */
                  {0xa4093822, 0x299f31d0},
                  {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
    for (int i = 0; i < 3; i++) {
        uint32_t out[4];
        at_philox4x32(known[i].counter, known[i].key, out);
        ck_assert_mem_eq(out, known[i].answer, sizeof out);
    }
}
END_TEST

START_TEST(seed_draw_and_index_lie_in_key_and_counter_as_documented)
{
    /* the same pi digits, as seed, draw and the block of index 4 block + word */
    at_stream s = {.seed = 0x299f31d0a4093822, .draw = 0x0370734413198a2e};
    uint64_t block = 0x05a308d3243f6a88; /* its top bits must leave room for "times four" */
    const uint32_t counter[4] = {0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344};
    const uint32_t key[2] = {0xa4093822, 0x299f31d0};
    uint32_t out[4];
    at_philox4x32(counter, key, out);
    for (uint64_t word = 0; word < 4; word++)
        ck_assert_uint_eq(at_random_u32(s, 4 * block + word), out[word]);
}
END_TEST

START_TEST(many_at_once_are_the_same_as_one_by_one)
{
    at_stream s = {42, 7};
    for (uint64_t first = 0; first < 9; first++)
        for (ptrdiff_t n = 0; n < 14; n++) {
            uint32_t out[15];
            memset(out, 0xab, sizeof out);
            at_random_u32s(s, first, n, out);
            for (ptrdiff_t i = 0; i < n; i++)
                ck_assert_uint_eq(out[i], at_random_u32(s, first + (uint64_t)i));
            ck_assert_uint_eq(out[n], 0xabababab);
        }
}
END_TEST

START_TEST(very_many_at_once_are_too_where_the_number_of_the_block_needs_33_bits)
{
    static uint32_t out[1000];
    at_stream s = {(uint64_t)5 << 40 | 6, (uint64_t)7 << 40 | 8};
    for (uint64_t k = 0; k < 2; k++) {
        uint64_t first = (k << 34) - 403 * k;
        at_random_u32s(s, first, 1000, out);
        for (uint64_t i = 0; i < 1000; i++) ck_assert_uint_eq(out[i], at_random_u32(s, first + i));
    }
}
END_TEST

START_TEST(an_index_beyond_32_bits_is_not_cut_off)
{
    at_stream s = {1, 1};
    uint32_t out[6];
    at_random_u32s(s, (uint64_t)1 << 34, 6, out);
    for (uint64_t i = 0; i < 6; i++) {
        ck_assert_uint_eq(out[i], at_random_u32(s, ((uint64_t)1 << 34) + i));
        ck_assert_uint_ne(out[i], at_random_u32(s, i));
    }
}
END_TEST

START_TEST(asking_in_another_order_changes_nothing)
{
    at_stream s = {3, 4};
    double forwards[64], backwards[64];
    for (int i = 0; i < 64; i++) forwards[i] = at_random_normal(s, (uint64_t)i);
    for (int i = 63; i >= 0; i--) backwards[i] = at_random_normal(s, (uint64_t)i);
    ck_assert_mem_eq(forwards, backwards, sizeof forwards);
}
END_TEST

START_TEST(a_unit_is_words_2i_and_2i_plus_1_as_an_odd_multiple_of_2_to_the_minus_53)
{
    at_stream s = {5, 6};
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t bits = (uint64_t)at_random_u32(s, 2 * i + 1) << 32 | at_random_u32(s, 2 * i);
        double u = at_random_unit(s, i);
        ck_assert(u > 0 && u < 1);
        ck_assert_uint_eq((uint64_t)(u * 0x1p53), bits >> 12 << 1 | 1);
    }
}
END_TEST

START_TEST(normals_come_in_pairs_from_the_pair_of_units)
{
    at_stream s = {8, 9};
    for (uint64_t i = 0; i < 1000; i += 2) {
        double u = at_random_unit(s, i), v = at_random_unit(s, i + 1);
        double even = at_random_normal(s, i), odd = at_random_normal(s, i + 1);
        assert_close(even * even + odd * odd, -2 * log(u), 1e-13);
        assert_close(atan2(odd, even), v < 0.5 ? 2 * M_PI * v : 2 * M_PI * (v - 1), 1e-13);
    }
}
END_TEST

enum { SAMPLES = 100000 };

/* |sum of n independent numbers of mean 0 and variance v| is below 5 sqrt(n v) */
static void assert_centred(double sum, double n, double v)
{
    ck_assert_double_le(fabs(sum), 5 * sqrt(n * v));
}

START_TEST(units_have_mean_1_half_and_variance_1_twelfth)
{
    at_stream s = {10, 0};
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < SAMPLES; i++) {
        double u = at_random_unit(s, i) - 0.5;
        sum += u, squares += u * u - 1.0 / 12;
    }
    assert_centred(sum, SAMPLES, 1.0 / 12);
    assert_centred(squares, SAMPLES, 1.0 / 180);
}
END_TEST

START_TEST(normals_have_the_moments_0_1_0_3)
{
    at_stream s = {11, 0};
    double first = 0, second = 0, third = 0, fourth = 0;
    for (uint64_t i = 0; i < SAMPLES; i++) {
        double x = at_random_normal(s, i);
        first += x, second += x * x - 1, third += x * x * x, fourth += x * x * x * x - 3;
    }
    assert_centred(first, SAMPLES, 1);
    assert_centred(second, SAMPLES, 2);
    assert_centred(third, SAMPLES, 15);
    assert_centred(fourth, SAMPLES, 96);
}
END_TEST

START_TEST(every_bit_is_set_half_the_time)
{
    at_stream s = {12, 0};
    for (int bit = 0; bit < 32; bit++) {
        double sum = 0;
        for (uint64_t i = 0; i < 10000; i++) sum += (at_random_u32(s, i) >> bit & 1) - 0.5;
        assert_centred(sum, 10000, 0.25);
    }
}
END_TEST

/* sum over i of the product of two centred uniforms */
static double units_together(at_stream s, at_stream t, uint64_t lag)
{
    double sum = 0;
    for (uint64_t i = 0; i < SAMPLES; i++)
        sum += (at_random_unit(s, i) - 0.5) * (at_random_unit(t, i + lag) - 0.5);
    return sum;
}

START_TEST(neighbours_draws_and_seeds_are_uncorrelated)
{
    const double variance = 1.0 / 144;
    at_stream s = {13, 0}, next_draw = {13, 1}, next_seed = {14, 0}, far_draw = {13, 1ull << 32};
    for (uint64_t lag = 1; lag <= 4; lag++)
        assert_centred(units_together(s, s, lag), SAMPLES, variance);
    assert_centred(units_together(s, next_draw, 0), SAMPLES, variance);
    assert_centred(units_together(s, far_draw, 0), SAMPLES, variance);
    assert_centred(units_together(s, next_seed, 0), SAMPLES, variance);
}
END_TEST

START_TEST(the_two_normals_of_a_pair_are_uncorrelated_and_so_are_their_squares)
{
    at_stream s = {15, 0};
    double product = 0, squares = 0;
    for (uint64_t i = 0; i < SAMPLES; i += 2) {
        double x = at_random_normal(s, i), y = at_random_normal(s, i + 1);
        product += x * y, squares += (x * x - 1) * (y * y - 1);
    }
    assert_centred(product, SAMPLES / 2, 1);
    assert_centred(squares, SAMPLES / 2, 4);
}
END_TEST

START_TEST(the_share_below_p_is_p)
{
    /* what dropout asks: u32 >= p 2^32 */
    at_stream s = {16, 0};
    for (int tenth = 1; tenth < 10; tenth++) {
        double p = tenth / 10.0, dropped = 0;
        for (uint64_t i = 0; i < SAMPLES; i++) dropped += at_random_u32(s, i) < p * 0x1p32;
        assert_centred(dropped - SAMPLES * p, SAMPLES, p * (1 - p));
    }
}
END_TEST

SUITE(kernels_rng, philox_gives_the_published_answers,
      seed_draw_and_index_lie_in_key_and_counter_as_documented,
      many_at_once_are_the_same_as_one_by_one,
      very_many_at_once_are_too_where_the_number_of_the_block_needs_33_bits,
      an_index_beyond_32_bits_is_not_cut_off, asking_in_another_order_changes_nothing,
      a_unit_is_words_2i_and_2i_plus_1_as_an_odd_multiple_of_2_to_the_minus_53,
      normals_come_in_pairs_from_the_pair_of_units, units_have_mean_1_half_and_variance_1_twelfth,
      normals_have_the_moments_0_1_0_3, every_bit_is_set_half_the_time,
      neighbours_draws_and_seeds_are_uncorrelated,
      the_two_normals_of_a_pair_are_uncorrelated_and_so_are_their_squares, the_share_below_p_is_p)
