/* test_half.c -- f16 and bf16: every pattern of 16 bits, rounding against a plain twin, products. */
#include "kernels/half.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/parallel.h"
#include "kernels/random.h"
#include "kernels/rng.h"
#include "kernels/real.h"
#include "test.h"

AT_EACH_REAL(void, half_rows, (bool bf16));
AT_EACH_REAL(void, half_product, (int M, int N, int K, bool transposed, bool bf16, bool add));

/* All 65,536 patterns, in rows of every length up to 17: widened, and narrowed again. */
void AT_REAL(half_rows)(bool bf16)
{
    enum { ALL = 1 << 16, MOST = 17 };
    static uint16_t x[ALL], back[MOST];
    static REAL y[MOST];
    const int quiet = bf16 ? 0x40 : 0x200, infinity = bf16 ? 0x7f80 : 0x7c00;
    for (int i = 0; i < ALL; i++) x[i] = (uint16_t)i;
    for (int i = 0, n; i < ALL; i += n) {
        n = 1 + i % MOST;
        if (n > ALL - i) n = ALL - i;
        widen(n, bf16, x + i, y);
        narrow(n, bf16, y, back);
        for (int k = 0; k < n; k++) {
            const bool nan = (x[i + k] & 0x7fff) > infinity;
            const double value = at_half_widen(bf16, x[i + k]);
            if ((nan ? !isnan(y[k]) : (double)y[k] != value) ||
                back[k] != (nan ? x[i + k] | quiet : x[i + k]) ||
                at_half_narrow(bf16, value) != back[k])
                ck_abort_msg("%04x becomes %g, then %04x", x[i + k], (double)y[k], back[k]);
        }
    }
}

/* gemm_half gives the bits of gemm for all of B widened: with rows or columns of B contiguous. */
void AT_REAL(half_product)(int M, int N, int K, bool transposed, bool bf16, bool add)
{
    enum { BATCH = 2, SLOTS = 2 };
    const ptrdiff_t a = (ptrdiff_t)M * K, b = (ptrdiff_t)K * N, c = (ptrdiff_t)M * N;
    const size_t inner = at_gemm_half_workspace(M, N, K, sizeof(REAL));
    const size_t whole = at_gemm_workspace(M, N, K, AT_GEMM_COLUMNS, sizeof(REAL));
    const size_t size = inner > whole ? inner : whole;
    REAL *A = malloc((size_t)(BATCH * (a + b + 2 * c) + 1) * sizeof *A), *B = A + BATCH * a,
         *C = B + BATCH * b, *D = C + BATCH * c;
    uint16_t *half = malloc((size_t)(BATCH * b + 1) * sizeof *half);
    at_workspace w = {aligned_alloc(64, SLOTS * size), size, SLOTS};
    const at_stream s = {7, (uint64_t)(M + N + K)};
    for (ptrdiff_t i = 0; i < BATCH * a; i++) A[i] = (REAL)at_random_unit(s, (uint64_t)i) - 1;
    for (ptrdiff_t i = 0; i < BATCH * b; i++)
        half[i] = at_half_narrow(bf16, at_random_unit(s, (uint64_t)i + 100000) - 0.5);
    for (ptrdiff_t i = 0; i < BATCH * c; i++) C[i] = D[i] = (REAL)i;
    widen(BATCH * b, bf16, half, B);
    at_strides as = {K, 1, a}, cs = {N, 1, c}, bs = {N, 1, b};
    if (transposed) bs = (at_strides){1, K, b};
    gemm(BATCH, M, N, K, 1, A, as, B, bs, add, C, cs, w);
    gemm_half(BATCH, M, N, K, A, as, bf16, half, bs, add, D, cs, w);
    for (ptrdiff_t i = 0; i < BATCH * c; i++)
#ifdef ATTIC_PLAIN_KERNELS /* sums of blocks are added up there */
        assert_close(D[i], C[i], 1e-5 * (double)(c + K));
#else
        if (D[i] != C[i])
            ck_abort_msg("%d x %d x %d: %g, not %g", M, N, K, (double)D[i], (double)C[i]);
#endif
    free(A);
    free(half);
    free(w.p);
}

#ifdef AT_ONCE

START_TEST(every_pattern_of_16_bits_is_kept)
{
    at_half_rows_f32(false);
    at_half_rows_f32(true);
    at_half_rows_f64(false);
    at_half_rows_f64(true);
}
END_TEST

START_TEST(some_values_are_known)
{
    ck_assert(at_half_widen(false, 0x3c00) == 1);
    ck_assert(at_half_widen(false, 0xc000) == -2);
    ck_assert(at_half_widen(false, 0x7bff) == 65504);
    ck_assert(at_half_widen(false, 0x0400) == 0x1p-14);
    ck_assert(at_half_widen(false, 0x0001) == 0x1p-24);
    ck_assert(at_half_widen(true, 0x3f80) == 1);
    ck_assert(at_half_widen(true, 0x7f7f) == 0x1.fep127);
    ck_assert(at_half_widen(true, 0x0001) == 0x1p-133);
    ck_assert(at_half_widen(false, 0x7c00) == (double)INFINITY);
    ck_assert(at_half_widen(true, 0xff80) == (double)-INFINITY);
    ck_assert(signbit(at_half_widen(false, 0x8000)) && at_half_widen(false, 0x8000) == 0);
}
END_TEST

START_TEST(what_lies_half_way_goes_to_the_even_neighbour_and_at_the_end_to_infinity)
{
    ck_assert_uint_eq(at_half_narrow(false, 1 + 0x1p-11), 0x3c00);
    ck_assert_uint_eq(at_half_narrow(false, 1 + 3 * 0x1p-11), 0x3c02);
    ck_assert_uint_eq(at_half_narrow(false, 1 + 0x1p-11 + 0x1p-40), 0x3c01); /* no float between */
    ck_assert_uint_eq(at_half_narrow(false, 65519.99), 0x7bff);
    ck_assert_uint_eq(at_half_narrow(false, 65520), 0x7c00);
    ck_assert_uint_eq(at_half_narrow(false, 0x1p-25), 0);
    ck_assert_uint_eq(at_half_narrow(false, -0x1.00001p-25), 0x8001);
    ck_assert_uint_eq(at_half_narrow(true, 1 + 0x1p-8), 0x3f80);
    ck_assert_uint_eq(at_half_narrow(true, 0x1.fefp127), 0x7f7f);
    ck_assert_uint_eq(at_half_narrow(true, 0x1.ffp127), 0x7f80);
    ck_assert_uint_eq(at_half_narrow(true, 0x1p-134), 0);
}
END_TEST

/* The nearest of all values, found by looking at each pair of neighbours: the plain twin. */
static unsigned nearest(bool bf16, double size)
{
    unsigned low = 0, high = bf16 ? 0x7f80 : 0x7c00;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (at_half_widen(bf16, (uint16_t)middle) <= size)
            low = middle;
        else
            high = middle;
    }
    const double below = at_half_widen(bf16, (uint16_t)low);
    double above = at_half_widen(bf16, (uint16_t)high);
    if (isinf(above)) above = bf16 ? 0x1p128 : 65536; /* as if the exponents went on */
    const double middle = below + (above - below) / 2;
    return size > middle || (size == middle && low % 2 == 1) ? high : low;
}

START_TEST(rounding_is_to_the_nearest_value_around_every_kind_of_tie)
{
    const at_stream s = {1, 2};
    for (int i = 0; i < 200000; i++) {
        const bool bf16 = i % 2;
        const uint64_t r = (uint64_t)i * 3;
        uint16_t at = (uint16_t)(at_random_unit(s, r) * (bf16 ? 0x7f80 : 0x7c00));
        double low = at_half_widen(bf16, at), high = at_half_widen(bf16, (uint16_t)(at + 1));
        if (isinf(high)) high = bf16 ? 0x1p128 : 65536;
        double x = low + (high - low) / 2; /* a tie, or a little beside it, or anything */
        if (i % 3 == 1) x = nextafter(x, at_random_unit(s, r + 1) < 0.5 ? 0 : (double)INFINITY);
        if (i % 3 == 2) x = low + (high - low) * at_random_unit(s, r + 1);
        const unsigned expected = nearest(bf16, x);
        if (at_half_narrow(bf16, x) != expected || at_half_narrow(bf16, -x) != (expected | 0x8000))
            ck_abort_msg("%a should become %04x", x, expected);
    }
}
END_TEST

START_TEST(rows_of_floats_are_rounded_as_single_values_are)
{
    enum { N = 1000 };
    static float x[N];
    static uint16_t y[N];
    const at_stream s = {3, 4};
    for (int bf16 = 0; bf16 < 2; bf16++)
        for (int round = 0; round < 100; round++) {
            for (int i = 0; i < N; i++) {
                uint32_t bits = at_random_u32(s, (uint64_t)(round * N + i));
                if (i % 2) bits &= bf16 ? 0xffff8000 : 0xfffff000;           /* often a tie */
                if (!bf16 && i % 3) bits = (bits & 0x8fffffff) | 0x38000000; /* often in range */
                memcpy(x + i, &bits, sizeof bits);
            }
            at_narrow_f32(N, bf16, x, y);
            for (int i = 0; i < N; i++)
                if (y[i] != at_half_narrow(bf16, (double)x[i]))
                    ck_abort_msg("%a: %04x, not %04x", (double)x[i], y[i],
                                 at_half_narrow(bf16, (double)x[i]));
        }
}
END_TEST

START_TEST(a_product_with_halves_has_the_bits_of_the_widened_product)
{
    static const int sizes[][3] = {{1, 1, 1},  {1, 300, 700}, {3, 129, 257}, {40, 37, 19},
                                   {70, 5, 3}, {300, 20, 30}, {2, 4, 0},     {0, 3, 3}};
    at_threads(2);
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 8; k++) {
            const int *n = sizes[i];
            at_half_product_f32(n[0], n[1], n[2], k & 1, k & 2, k & 4);
            at_half_product_f64(n[0], n[1], n[2], k & 1, k & 2, k & 4);
        }
    at_threads(0);
}
END_TEST

SUITE(kernels_half, every_pattern_of_16_bits_is_kept, some_values_are_known,
      what_lies_half_way_goes_to_the_even_neighbour_and_at_the_end_to_infinity,
      rounding_is_to_the_nearest_value_around_every_kind_of_tie,
      rows_of_floats_are_rounded_as_single_values_are,
      a_product_with_halves_has_the_bits_of_the_widened_product)

#endif
