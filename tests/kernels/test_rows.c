/* test_rows.c -- the row helpers against long double, and the order they promise. */
#include "kernels/real.h"

#include <stdbool.h>
#include <string.h>

#include "kernels/rng.h"
#include "kernels/rows.h"
#include "test.h"

enum { ROW_MOST = 5000 };

/* A sum that keeps what rounding takes (W. Kahan 1965): a long double may be no longer than a double, as
 * under Valgrind. */
typedef struct {
    long double value, lost;
} exact_sum;

static void exact_add(exact_sum *s, long double x)
{
    const long double y = x - s->lost, value = s->value + y;
    s->lost = (value - s->value) - y;
    s->value = value;
}

AT_EACH_REAL(void, sums, (int n));
AT_EACH_REAL(void, same_bits_anywhere, (void));
AT_EACH_REAL(void, maximum_at, (int n, int at));
AT_EACH_REAL(void, nan_at, (int n, int at));
AT_EACH_REAL(void, exponentials, (int n));
AT_EACH_REAL(void, tiny_weights, (double smallest));
AT_EACH_REAL(void, nothing, (void));
AT_EACH_REAL(void, masked, (void));
AT_EACH_REAL(void, axpy_and_scale, (int n));

static void random_row(int n, uint64_t draw, REAL *x)
{
    for (int i = 0; i < n; i++)
        x[i] = (REAL)(2 * at_random_unit((at_stream){21, draw}, (uint64_t)i) - 1);
}

void AT_REAL(sums)(int n)
{
    REAL x[ROW_MOST], y[ROW_MOST];
    random_row(n, 1, x), random_row(n, 2, y);
    long double sizes = 0, products = 0, mu = 0.25L;
    exact_sum sum = {0}, dot = {0}, spread = {0};
    for (int i = 0; i < n; i++) {
        long double a = (long double)x[i], b = (long double)y[i];
        sizes += fabsl(a), products += fabsl(a * b);
        exact_add(&sum, a), exact_add(&dot, a * b), exact_add(&spread, (a - mu) * (a - mu));
    }
    assert_close(row_sum(n, x), sum.value, 3 * (double)REAL_EPS * (double)sizes);
    assert_close(row_dot(n, x, y), dot.value, 3 * (double)REAL_EPS * (double)products);
    assert_close(row_spread(n, x, (REAL)mu), spread.value,
                 3 * (double)REAL_EPS * (double)spread.value);
}

void AT_REAL(same_bits_anywhere)(void)
{
    REAL row[200], moved[220];
    random_row(200, 3, row);
    REAL sum = row_sum(200, row), dot = row_dot(200, row, row);
    for (int by = 0; by < 20; by++) {
        memcpy(moved + by, row, sizeof row);
        ck_assert(row_sum(200, moved + by) == sum);
        ck_assert(row_dot(200, moved + by, row) == dot);
    }
}

void AT_REAL(maximum_at)(int n, int at)
{
    REAL x[100];
    random_row(n, 4, x);
    x[at] = 3;
    ck_assert(row_max(n, x) == 3);
    for (int i = 0; i < n; i++) x[i] = -5;
    x[at] = -4;
    ck_assert(row_max(n, x) == -4);
}

void AT_REAL(nan_at)(int n, int at)
{
    REAL x[100];
    random_row(n, 5, x);
    x[at] = (REAL)NAN;
    ck_assert(isnan(row_max(n, x)));
    x[n / 2] = at == n / 2 ? x[at] : (REAL)INFINITY;
    ck_assert(isnan(row_max(n, x)));
}

void AT_REAL(exponentials)(int n)
{
    REAL x[200] = {0}, y[200], m = (REAL)0.9;
    random_row(n, 6, x);
    REAL sum = row_exp_sum(n, x, m, y);
    long double expected = 0;
    for (int i = 0; i < n; i++) {
        long double e = expl((long double)x[i] - (long double)m);
        assert_close(y[i], e, 4 * (double)REAL_EPS);
        expected += e;
    }
    assert_close(sum, expected, 4 * (double)REAL_EPS * (double)expected);
    ck_assert(row_exp_sum(n, x, m, NULL) == sum);
    ck_assert(row_exp_sum(n, x, m, x) == sum);
    ck_assert_mem_eq(x, y, (size_t)n * sizeof(REAL));
}

void AT_REAL(tiny_weights)(double smallest)
{
    const REAL last = log((REAL)smallest);
    const REAL x[] = {last + 1, last - 1, 2 * last, -(REAL)INFINITY, (REAL)NAN};
    REAL y[5];
    row_exp_sum(5, x, 0, y);
    ck_assert((double)y[0] > smallest && (double)y[0] < 3 * smallest);
#ifndef ATTIC_PLAIN_KERNELS
    ck_assert(y[1] == 0);
#endif
    ck_assert(y[2] == 0 && y[3] == 0 && isnan(y[4]));
}

void AT_REAL(axpy_and_scale)(int n)
{
    REAL x[101], y[101];
    for (int i = 0; i < 101; i++) x[i] = (REAL)i, y[i] = 10;
    row_axpy(n, 2, x, y);
    for (int i = 0; i < 101; i++) ck_assert(y[i] == (i < n ? 10 + 2 * (REAL)i : 10));
    row_scale(n, 3, x, y);
    for (int i = 0; i < 101; i++) ck_assert(y[i] == (i < n ? 3 * (REAL)i : 10));
    row_scale(n, 3, x, x);
    for (int i = 0; i < 101; i++) ck_assert(x[i] == (i < n ? 3 : 1) * (REAL)i);
}

void AT_REAL(nothing)(void)
{
    ck_assert(row_max(0, NULL) == -(REAL)INFINITY);
    ck_assert(row_sum(0, NULL) == 0);
    ck_assert(row_dot(0, NULL, NULL) == 0);
    ck_assert(row_spread(0, NULL, 1) == 0);
    ck_assert(row_exp_sum(0, NULL, 1, NULL) == 0);
    row_axpy(0, 1, NULL, NULL), row_scale(0, 1, NULL, NULL);
}

void AT_REAL(masked)(void)
{
    const REAL inf = (REAL)INFINITY, x[] = {1, -inf, 1}, all[] = {-inf, -inf, -inf};
    REAL y[3];
    assert_close(row_exp_sum(3, x, 1, y), 2, 0);
    assert_all_close(3, y, ((REAL[]){1, 0, 1}), 0);
    ck_assert(row_max(3, all) == -inf);
    ck_assert(row_max(2, (const REAL[]){-inf, inf}) == inf);
}

#ifdef AT_ONCE

START_TEST(sums_and_dots_of_every_length_are_right)
{
    for (int n = 0; n < ROW_MOST; n += 1 + n / 70) at_sums_f32(n), at_sums_f64(n);
}
END_TEST

START_TEST(a_sum_of_a_million_floats_keeps_six_digits)
{
    static float x[1 << 20];
    for (int i = 0; i < 1 << 20; i++) x[i] = 0.1f;
    assert_close(row_sum(1 << 20, x) / (0.1f * (1 << 20)), 1, 1e-6);
    assert_close(row_dot(1 << 20, x, x) / (0.1f * 0.1f * (1 << 20)), 1, 1e-6);
}
END_TEST

START_TEST(a_row_has_the_same_bits_wherever_it_lies)
{
    at_same_bits_anywhere_f32();
    at_same_bits_anywhere_f64();
}
END_TEST

START_TEST(the_maximum_is_found_at_every_place_of_every_length)
{
    for (int n = 1; n < 100; n++)
        for (int at = 0; at < n; at++) at_maximum_at_f32(n, at), at_maximum_at_f64(n, at);
}
END_TEST

START_TEST(a_NaN_at_any_place_is_the_maximum)
{
    for (int n = 1; n < 100; n++)
        for (int at = 0; at < n; at++) at_nan_at_f32(n, at), at_nan_at_f64(n, at);
}
END_TEST

START_TEST(nothing_sums_to_zero_and_its_maximum_is_minus_infinity)
{
    at_nothing_f32(), at_nothing_f64();
}
END_TEST

START_TEST(exponentials_and_their_sum_are_right_also_in_place)
{
    for (int n = 0; n < 200; n += 1 + n / 20) at_exponentials_f32(n), at_exponentials_f64(n);
}
END_TEST

START_TEST(a_masked_score_gets_weight_zero)
{
    at_masked_f32(), at_masked_f64();
}
END_TEST

START_TEST(a_weight_too_small_for_a_normal_number_is_zero_and_NaN_stays)
{
    at_tiny_weights_f32((double)FLT_MIN);
    at_tiny_weights_f64(DBL_MIN);
}
END_TEST

START_TEST(axpy_adds_and_scale_overwrites_exactly_n)
{
    for (int n = 0; n < 100; n++) at_axpy_and_scale_f32(n), at_axpy_and_scale_f64(n);
}
END_TEST

SUITE(kernels_rows, sums_and_dots_of_every_length_are_right,
      a_sum_of_a_million_floats_keeps_six_digits, a_row_has_the_same_bits_wherever_it_lies,
      the_maximum_is_found_at_every_place_of_every_length, a_NaN_at_any_place_is_the_maximum,
      nothing_sums_to_zero_and_its_maximum_is_minus_infinity,
      exponentials_and_their_sum_are_right_also_in_place, a_masked_score_gets_weight_zero,
      a_weight_too_small_for_a_normal_number_is_zero_and_NaN_stays,
      axpy_adds_and_scale_overwrites_exactly_n)

#endif
