/* test_elementary.c -- exp, log, pow, sin ...: less than one unit from the true value, as libm has it
 * in long double, and the same bits on every machine: a hash of their results is written here. */
#include "kernels/elementary.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernels/rng.h"
#include "test.h"

typedef struct {
    const char *name;
    double (*f)(double x);
    long double (*truth)(long double x);
    double from, to; /* of x */
    uint64_t hash;   /* of 10,000 results */
} elementary;

static const elementary functions[] = {
    {"exp", at_f64_exp, expl, -746, 710, 0x8675bceca1c171a3u},
    {"exp2", at_f64_exp2, exp2l, -1075, 1024, 0xe5180567369ca36eu},
    {"log", at_f64_log, logl, 0, 1e308, 0x2d85c1c95dfb4319u},
    {"log1p", at_f64_log1p, log1pl, -1, 1e308, 0x489abe4ac0c9c91du},
    {"log10", at_f64_log10, log10l, 0, 1e308, 0x4b79319e8d32bb6bu},
    {"sin", at_f64_sin, sinl, -1e22, 1e22, 0x272566373f9796f9u},
    {"cos", at_f64_cos, cosl, -1e22, 1e22, 0x34939ec553a477c6u},
    {"tanh", at_f64_tanh, tanhl, -30, 30, 0x07a5adbcf683c11cu},
    {"erfc", at_f64_erfc, erfcl, -7, 27.3, 0xcb69a92ec44c23a5u}};
enum { FUNCTIONS = sizeof functions / sizeof *functions, POINTS = 10000 };

/* Point i between from and to: every other one near 0, of any exponent.  By IEEE arithmetic alone, so
 * that it is the same everywhere. */
static double point(const elementary *e, int i)
{
    const double u = at_random_unit((at_stream){.seed = 28, .draw = 1}, (uint64_t)i);
    const int exponent = i / 2 % 64;
    if (i % 2) return e->from + u * (e->to - e->from);
    const bool negative = e->from < 0 && i % 4;
    return ldexp(negative ? e->from * u : e->to * u,
                 negative || e->to < 1e300 ? -exponent : -16 * exponent);
}

/* |y - truth| in units in the last place of the truth */
static double units_from(double y, long double truth)
{
    if (y == (double)truth || (isnan(y) && isnan(truth))) return 0;
    if (!isfinite(y) || !isfinite((double)truth)) return (double)INFINITY;
    const int exponent = ilogbl(truth) - 52;
    return (double)ldexpl(fabsl((long double)y - truth), exponent < -1074 ? 1074 : -exponent);
}

/* libm's long double is no better than double everywhere. */
static bool is_wide(void)
{
    volatile long double one = 1, tiny = ldexpl(1, -60);
    return one + tiny > one;
}

START_TEST(every_result_is_less_than_one_unit_off)
{
    for (int k = 0; k < FUNCTIONS && is_wide(); k++) {
        const elementary *e = &functions[k];
        double worst = 0, at = 0;
        for (int i = 0; i < 10 * POINTS; i++) {
            const double x = point(e, i), units = units_from(e->f(x), e->truth((long double)x));
            if (units > worst) worst = units, at = x;
        }
        ck_assert_msg(worst < 0.8, "%s(%.17g) is %.3f units off", e->name, at, worst);
    }
}
END_TEST

typedef struct {
    const char *name;
    float (*f)(float x);
    double (*truth)(double x); /* less than one unit of a double off, as tested above */
    float from, to;            /* of x */
    uint64_t hash;             /* of 10,000 results */
} elementary_f32;

static const elementary_f32 functions_f32[] = {
    {"exp", at_f32_exp, at_f64_exp, -104, 89, 0x005cdfd3d147f065u},
    {"log", at_f32_log, at_f64_log, 0, 3e38F, 0x118d88559147f065u},
    {"log1p", at_f32_log1p, at_f64_log1p, -1, 3e38F, 0x70d2d4613147f065u},
    {"sin", at_f32_sin, at_f64_sin, -1e7F, 1e7F, 0x124eda889147f065u},
    {"cos", at_f32_cos, at_f64_cos, -1e7F, 1e7F, 0x345bf1d61147f065u},
    {"tanh", at_f32_tanh, at_f64_tanh, -10, 10, 0x307841373147f065u},
    {"erfc", at_f32_erfc, at_f64_erfc, -4, 10.1F, 0xb10ebdc5f147f065u}};
enum { FUNCTIONS_F32 = sizeof functions_f32 / sizeof *functions_f32 };

static float point_f32(const elementary_f32 *e, int i)
{
    const float u = (float)at_random_unit((at_stream){.seed = 28, .draw = 3}, (uint64_t)i);
    const int exponent = i / 2 % 64;
    if (i % 2) return e->from + u * (e->to - e->from);
    const bool negative = e->from < 0 && i % 4;
    return ldexpf(negative ? e->from * u : e->to * u,
                  negative || e->to < 1e30F ? -exponent : -4 * exponent);
}

/* |y - truth| in units in the last place of a float */
static double float_units_from(float y, double truth)
{
    if (y == (float)truth || (isnan(y) && isnan(truth))) return 0;
    if (!isfinite(y) || !isfinite((float)truth)) return (double)INFINITY;
    const int exponent = ilogb(truth) - 23;
    return ldexp(fabs((double)y - truth), exponent < -149 ? 149 : -exponent);
}

START_TEST(every_float_is_half_a_unit_off_and_a_hundredth_at_most)
{
    for (int k = 0; k < FUNCTIONS_F32; k++) {
        const elementary_f32 *e = &functions_f32[k];
        double worst = 0, at = 0;
        for (int i = 0; i < 10 * POINTS; i++) {
            const float x = point_f32(e, i);
            const double units = float_units_from(e->f(x), e->truth((double)x));
            if (units > worst) worst = units, at = (double)x;
        }
        ck_assert_msg(worst < 0.51, "%s(%.9g) is %.3f units off", e->name, at, worst);
    }
}
END_TEST

START_TEST(floats_have_the_special_values_that_doubles_have)
{
    const float x[] = {0,   -0.0F,    1,         -1,   FLT_MAX, -FLT_MAX, FLT_TRUE_MIN,
                       NAN, INFINITY, -INFINITY, 0.5F, -2,      0x1p20F,  -1e30F};
    enum { N = sizeof x / sizeof *x };
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < FUNCTIONS_F32; k++) {
            const elementary_f32 *e = &functions_f32[k];
            const float y = e->f(x[i]);
            const double truth = e->truth((double)x[i]);
            const bool zero = truth == 0 && (y != 0 || !signbit(y) != !signbit(truth));
            ck_assert_msg(!zero && float_units_from(y, truth) < 1, "%s(%g) is %g, not %g", e->name,
                          (double)x[i], (double)y, truth);
        }
        for (int j = 0; j < N; j++) {
            const float y = at_f32_pow(x[i], x[j]);
            const double truth = at_f64_pow((double)x[i], (double)x[j]);
            ck_assert_msg(float_units_from(y, truth) < 1, "pow(%g, %g) is %g, not %g", (double)x[i],
                          (double)x[j], (double)y, truth);
        }
    }
}
END_TEST

/* Powers of x near 1 with large y, and of any x with moderate ones. */
static void power_at(int i, double *x, double *y)
{
    const at_stream s = {.seed = 28, .draw = 2};
    const double u = at_random_unit(s, 2 * (uint64_t)i), v = at_random_unit(s, 2 * (uint64_t)i + 1);
    *x = i % 2 ? 1 + 0.01 * (u - 0.5) : ldexp(u, i / 2 % 200 - 100);
    *y = i % 2 ? 7e4 * (2 * v - 1) : 20 * v - 10;
}

START_TEST(a_power_is_less_than_one_unit_off)
{
    double x, y, worst = 0, at[2] = {0};
    for (int i = 0; i < 10 * POINTS && is_wide(); i++) {
        power_at(i, &x, &y);
        const double units = units_from(at_f64_pow(x, y), powl((long double)x, (long double)y));
        if (units > worst) worst = units, at[0] = x, at[1] = y;
    }
    ck_assert_msg(worst < 0.8, "pow(%.17g, %.17g) is %.3f units off", at[0], at[1], worst);
    worst = 0;
    for (int i = 0; i < 10 * POINTS; i++) {
        power_at(i, &x, &y);
        const float a = (float)x, b = (float)y;
        const double units = float_units_from(at_f32_pow(a, b), at_f64_pow((double)a, (double)b));
        if (units > worst) worst = units, at[0] = (double)a, at[1] = (double)b;
    }
    ck_assert_msg(worst < 0.52, "pow(%.9g, %.9g) of floats is %.3f units off", at[0], at[1], worst);
}
END_TEST

static uint64_t hash_of(uint64_t h, double y)
{
    uint64_t bits;
    memcpy(&bits, &y, sizeof bits);
    return (h ^ bits) * 1099511628211u;
}

START_TEST(the_bits_are_those_of_every_machine)
{
    const uint64_t start = 14695981039346656037u;
    char got[20], expected[20];
    for (int k = 0; k < FUNCTIONS; k++) {
        const elementary *e = &functions[k];
        uint64_t h = start;
        for (int i = 0; i < POINTS; i++) h = hash_of(h, e->f(point(e, i)));
        snprintf(got, sizeof got, "%016llx", (unsigned long long)h);
        snprintf(expected, sizeof expected, "%016llx", (unsigned long long)e->hash);
        ck_assert_msg(h == e->hash, "%s: %s, not %s", e->name, got, expected);
    }
    for (int k = 0; k < FUNCTIONS_F32; k++) {
        const elementary_f32 *e = &functions_f32[k];
        uint64_t h = start;
        for (int i = 0; i < POINTS; i++) h = hash_of(h, (double)e->f(point_f32(e, i)));
        snprintf(got, sizeof got, "%016llx", (unsigned long long)h);
        ck_assert_msg(h == e->hash, "%s of floats: %s", e->name, got);
    }
    uint64_t h = start;
    double x, y;
    for (int i = 0; i < POINTS; i++) power_at(i, &x, &y), h = hash_of(h, at_f64_pow(x, y));
    ck_assert_msg(h == 0x1cd5d4dd19fcd065u, "pow: %016llx", (unsigned long long)h);
    h = start;
    for (int i = 0; i < POINTS; i++)
        power_at(i, &x, &y), h = hash_of(h, (double)at_f32_pow((float)x, (float)y));
    ck_assert_msg(h == 0x15c7ed4ff147f065u, "pow of floats: %016llx", (unsigned long long)h);
}
END_TEST

/* The same value, and the same sign of a zero; any NaN is as good as another. */
static bool is_same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

START_TEST(ends_and_special_values_are_those_of_the_standard)
{
    const double x[] = {0.0,
                        -0.0,
                        1,
                        -1,
                        DBL_MAX,
                        -DBL_MAX,
                        DBL_TRUE_MIN,
                        (double)NAN,
                        (double)INFINITY,
                        -(double)INFINITY,
                        0.5,
                        -0.5,
                        2,
                        -2,
                        3,
                        -3,
                        0x1p53 + 2,
                        -(0x1p53 + 2),
                        1e300,
                        -1e-300,
                        0x1.fp-1023};
    enum { N = sizeof x / sizeof *x };
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < FUNCTIONS; k++) {
            const elementary *e = &functions[k];
            const double y = e->f(x[i]), truth = (double)e->truth((long double)x[i]);
            if (isnan(truth) || isinf(truth) || truth == 0)
                ck_assert_msg(is_same(y, truth), "%s(%g) is %g, not %g", e->name, x[i], y, truth);
            else if (is_wide())
                ck_assert_msg(units_from(y, e->truth((long double)x[i])) < 1, "%s(%g) is %g",
                              e->name, x[i], y);
        }
        for (int j = 0; j < N; j++) {
            const double y = at_f64_pow(x[i], x[j]), truth = pow(x[i], x[j]);
            const bool close = isfinite(truth) && truth != 0 && fabs(y / truth - 1) < 1e-15;
            ck_assert_msg(is_same(y, truth) || close, "pow(%g, %g) is %g, not %g", x[i], x[j], y,
                          truth);
        }
    }
}
END_TEST

START_TEST(powers_of_ten_and_of_two_are_exact)
{
    double ten = 1;
    for (int k = 0; k <= 22; k++, ten *= 10) {
        ck_assert(at_f64_pow(10, k) == ten);
        ck_assert(at_f64_log10(ten) == k);
    }
    for (int k = -1074; k < 1024; k++) ck_assert(at_f64_exp2(k) == ldexp(1, k));
}
END_TEST

SUITE(kernels_elementary, every_result_is_less_than_one_unit_off,
      every_float_is_half_a_unit_off_and_a_hundredth_at_most,
      floats_have_the_special_values_that_doubles_have, a_power_is_less_than_one_unit_off,
      the_bits_are_those_of_every_machine, ends_and_special_values_are_those_of_the_standard,
      powers_of_ten_and_of_two_are_exact)
