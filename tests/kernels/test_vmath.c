/* test_vmath.c -- the elementary functions against libm in long double.
 *
 * Errors are counted in units in the last place of the true value: 0.5 is a perfectly rounded
 * result.  For float the bit patterns run through all of the type in equal steps, so that every
 * exponent, both zeros, denormal numbers, infinities and NaN take part; for double, where that is
 * out of reach, through 2^15 numbers in each of six ranges. */
#include "kernels/real.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernels/rng.h"
#include "kernels/simd_math.h"
#include "kernels/rows.h"
#include "test.h"

typedef long double vmath_truth(long double x);

vmath_truth true_normal; /* one function for both types: its address is compared */

static long double true_sigmoid(long double x)
{
    return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
}

/* What libm itself may add where long double is no wider than double, be it by the ABI or, under
 * Valgrind, by its emulation. */
static double vmath_slack(void)
{
    volatile long double one = 1, tiny = ldexpl(1, -60);
    return one + tiny > one ? 0 : 2;
}

AT_EACH_REAL(void, one_is_right,
             (const char *name, double x, double y, vmath_truth *truth, double low, double high,
              double units));
AT_EACH_REAL(void, gate_is_right, (double at));
AT_EACH_REAL(void, tail_is_right, (double at, double tol));
AT_EACH_REAL(void, special_values, (void));
AT_EACH_REAL(void, same_at_every_place, (void));
AT_EACH_REAL(void, writes_exactly, (int n));

typedef void vmath_function(ptrdiff_t n, const REAL *x, REAL *y);

static vmath_function *const vmath_all[] = {AT_REAL(vexp), AT_REAL(vlog), AT_REAL(vtanh),
                                            AT_REAL(vnormal), AT_REAL(vsigmoid)};

/* |y - true| in units in the last place of true; those of Phi, which is 1 - Phi(-x), never in
 * smaller ones than of 1/2 */
static double units_off(REAL y, long double truth, vmath_truth *f)
{
    const int digits = sizeof(REAL) == 4 ? FLT_MANT_DIG : DBL_MANT_DIG;
    const int smallest = sizeof(REAL) == 4 ? FLT_MIN_EXP : DBL_MIN_EXP;
    REAL rounded = (REAL)truth;
    if (y == rounded || (isnan(y) && isnan(rounded))) return 0;
    if (!isfinite(y) || !isfinite(rounded)) return (double)INFINITY;
    int exponent = truth == 0 ? smallest : ilogbl(truth) + 1;
    if (exponent < smallest) exponent = smallest;
    if (f == true_normal && exponent < 0) exponent = 0;
    return (double)(fabsl((long double)y - truth) / ldexpl(1, exponent - digits));
}

void AT_REAL(one_is_right)(const char *name, double x, double y, vmath_truth *truth, double low,
                           double high, double units)
{
    long double t = truth((long double)x);
    double off = units_off((REAL)y, t, truth);
    if (!(off <= units + vmath_slack()))
        ck_abort_msg("%s(%.17g) is %.17g, off by %.2f units", name, x, y, off);
    if (y < low || y > high || (!isnan(y) && !signbit(y) != !signbit((REAL)t)))
        ck_abort_msg("%s(%.17g) is %.17g: out of range or of the wrong sign", name, x, y);
}

void AT_REAL(gate_is_right)(double at)
{
    const REAL x = (REAL)at;
    vec ds, s = vec_gate(vec_of(x), &ds);
    long double t = true_sigmoid((long double)x), slope = t * true_sigmoid(-(long double)x);
    if (fabs(x) > 80) slope = 0; /* there it is only known to be small */
    assert_close(s[0], t, 2 * (double)REAL_EPS * (double)t + 2e-38);
    assert_close(ds[0], slope, 4 * (double)REAL_EPS * (double)slope + (slope > 0 ? 0 : 1e-34));
}

/* Phi far below 0, relative to itself */
void AT_REAL(tail_is_right)(double at, double tol)
{
    const REAL x = (REAL)at;
    double t = (double)true_normal((long double)x);
    assert_close(vec_normal(vec_of(x))[0], t, tol * t);
}

void AT_REAL(special_values)(void)
{
    const REAL inf = (REAL)INFINITY, nan = (REAL)NAN, one = 1;
    const REAL x[] = {0, -(REAL)0.0, inf, -inf, nan, 1, -1};
    const REAL expected[5][7] = {{1, 1, inf, 0, nan},
                                 {-inf, -inf, inf, nan, nan, 0, nan},
                                 {0, -(REAL)0.0, 1, -1, nan},
                                 {one / 2, one / 2, 1, 0, nan},
                                 {one / 2, one / 2, 1, 0, nan}};
    for (int f = 0; f < 5; f++) {
        REAL y[7];
        vmath_all[f](7, x, y);
        int n = f == 1 ? 7 : 5;
        assert_all_close(n, y, expected[f], 0);
        for (int i = 0; i < n; i++)
            if (!isnan(y[i])) ck_assert_int_eq(!signbit(y[i]), !signbit(expected[f][i]));
    }
}

void AT_REAL(same_at_every_place)(void)
{
    REAL x[100], whole[100], piece[100];
    for (int i = 0; i < 100; i++) x[i] = (REAL)(0.37 * i + 0.01);
    for (int f = 0; f < 5; f++) {
        vmath_all[f](100, x, whole);
        for (int first = 0; first < 40; first++)
            for (int n = 1; n < 60; n += 7) {
                memcpy(piece, x, sizeof x);
                vmath_all[f](n, piece + first, piece + first);
                ck_assert_mem_eq(piece + first, whole + first, (size_t)n * sizeof(REAL));
            }
    }
}

void AT_REAL(writes_exactly)(int n)
{
    REAL x[101], y[102];
    for (int i = 0; i < 101; i++) x[i] = 1;
    for (int f = 0; f < 5; f++) {
        for (int i = 0; i < 102; i++) y[i] = 77;
        vmath_all[f](n, x, y + 1);
        ck_assert(y[0] == 77 && y[n + 1] == 77);
        for (int i = 1; i <= n; i++) ck_assert(y[i] != 77);
    }
}

#ifdef AT_ONCE

long double true_normal(long double x)
{
    return erfcl(-x * 0.707106781186547524400844362104849039L) / 2;
}

void at_vexp_f64(ptrdiff_t n, const double *x, double *y);
void at_vlog_f64(ptrdiff_t n, const double *x, double *y);
void at_vtanh_f64(ptrdiff_t n, const double *x, double *y);
void at_vnormal_f64(ptrdiff_t n, const double *x, double *y);
void at_vsigmoid_f64(ptrdiff_t n, const double *x, double *y);

enum { VMATH_BATCH = 4096 };

/* the k-th double of a sample: even k in (-range, range), odd k of any magnitude below it */
static double vmath_sample(double range, uint64_t k)
{
    at_stream s = {99, (uint64_t)ilogb(range)};
    double x = range * (2 * at_random_unit(s, 2 * k) - 1);
    return k % 2 ? x * exp2(-300 * at_random_unit(s, 2 * k + 1)) : x;
}

static void all_floats_are_right(const char *name, void (*f)(ptrdiff_t, const float *, float *),
                                 vmath_truth *truth, float low, float high, double units)
{
    const uint64_t step = 4099; /* prime: a million of the four thousand million floats */
    for (uint64_t bits = 0; bits >> 32 == 0;) {
        float x[VMATH_BATCH], y[VMATH_BATCH];
        int n = 0;
        for (; n < VMATH_BATCH && bits >> 32 == 0; n++, bits += step)
            memcpy(&x[n], &(uint32_t){(uint32_t)bits}, sizeof x[n]);
        f(n, x, y);
        for (int i = 0; i < n; i++)
            at_one_is_right_f32(name, (double)x[i], (double)y[i], truth, (double)low, (double)high,
                                units);
    }
}

static void doubles_are_right(const char *name, void (*f)(ptrdiff_t, const double *, double *),
                              vmath_truth *truth, double low, double high, double units)
{
    static const double ranges[] = {1, 2, 7, 30, 750, 1e300};
    for (int r = 0; r < 6; r++)
        for (uint64_t k = 0; k < 1 << 15; k += VMATH_BATCH) {
            double x[VMATH_BATCH], y[VMATH_BATCH];
            for (int i = 0; i < VMATH_BATCH; i++) x[i] = vmath_sample(ranges[r], k + (uint64_t)i);
            f(VMATH_BATCH, x, y);
            for (int i = 0; i < VMATH_BATCH; i++)
                at_one_is_right_f64(name, x[i], y[i], truth, low, high, units);
        }
}

START_TEST(exp_is_right_to_1_unit_over_all_of_float)
{
    all_floats_are_right("exp", at_vexp_f32, expl, 0, INFINITY, 1.1);
}
END_TEST

START_TEST(log_is_right_to_1_unit_over_all_of_float)
{
    all_floats_are_right("log", at_vlog_f32, logl, -INFINITY, INFINITY, 1.1);
}
END_TEST

START_TEST(tanh_is_right_to_3_units_over_all_of_float)
{
    all_floats_are_right("tanh", at_vtanh_f32, tanhl, -1, 1, 2.6);
}
END_TEST

START_TEST(the_normal_distribution_is_right_over_all_of_float)
{
    all_floats_are_right("Phi", at_vnormal_f32, true_normal, 0, 1, 1.5);
}
END_TEST

START_TEST(sigmoid_is_right_to_3_units_over_all_of_float)
{
    all_floats_are_right("sigmoid", at_vsigmoid_f32, true_sigmoid, 0, 1, 2.6);
}
END_TEST

START_TEST(doubles_are_right_to_the_same_units)
{
    doubles_are_right("exp", at_vexp_f64, expl, 0, (double)INFINITY, 1.1);
    doubles_are_right("log", at_vlog_f64, logl, -(double)INFINITY, (double)INFINITY, 1.1);
    doubles_are_right("tanh", at_vtanh_f64, tanhl, -1, 1, 2.6);
    doubles_are_right("Phi", at_vnormal_f64, true_normal, 0, 1, 1.5);
    doubles_are_right("sigmoid", at_vsigmoid_f64, true_sigmoid, 0, 1, 2.6);
}
END_TEST

START_TEST(a_gate_is_a_sigmoid_and_its_derivative)
{
    for (int k = -2000; k <= 2000; k++) at_gate_is_right_f32((double)k / 10);
    for (int k = -2000; k <= 2000; k++) at_gate_is_right_f64((double)k / 10);
}
END_TEST

START_TEST(the_normal_distribution_is_close_to_itself_far_below_0)
{
    for (int k = 0; k < 4000; k++) at_tail_is_right_f32((double)-k / 1000, 1e-3);
    for (int k = 0; k < 4000; k++) at_tail_is_right_f64((double)-k / 1000, 1e-12);
}
END_TEST

START_TEST(special_values_come_out_exactly)
{
    at_special_values_f32();
    at_special_values_f64();
}
END_TEST

START_TEST(exp_is_right_where_the_result_is_denormal_or_nearly_overflows)
{
    const double x[] = {-745.13, -740, -720, -708.5, -708.3, 709.78, 709.5};
    double y[7];
    at_vexp_f64(7, x, y);
    for (int i = 0; i < 7; i++)
        at_one_is_right_f64("exp", x[i], y[i], expl, 0, (double)INFINITY, 1.1);
    at_vexp_f64(1, &(double){709.79}, y);
    assert_close(y[0], (double)INFINITY, 0);
    at_vexp_f64(1, &(double){-745.14}, y);
    assert_close(y[0], 0, 0);
}
END_TEST

START_TEST(the_result_does_not_depend_on_place_or_count_or_on_being_in_place)
{
    at_same_at_every_place_f32();
    at_same_at_every_place_f64();
}
END_TEST

START_TEST(exactly_n_numbers_are_written)
{
    for (int n = 0; n < 100; n++) at_writes_exactly_f32(n), at_writes_exactly_f64(n);
    at_vexp_f32(0, NULL, NULL);
    at_vexp_f64(0, NULL, NULL);
}
END_TEST

SUITE(kernels_vmath, exp_is_right_to_1_unit_over_all_of_float,
      log_is_right_to_1_unit_over_all_of_float, tanh_is_right_to_3_units_over_all_of_float,
      the_normal_distribution_is_right_over_all_of_float,
      sigmoid_is_right_to_3_units_over_all_of_float, doubles_are_right_to_the_same_units,
      a_gate_is_a_sigmoid_and_its_derivative,
      the_normal_distribution_is_close_to_itself_far_below_0, special_values_come_out_exactly,
      exp_is_right_where_the_result_is_denormal_or_nearly_overflows,
      the_result_does_not_depend_on_place_or_count_or_on_being_in_place,
      exactly_n_numbers_are_written)

#endif
