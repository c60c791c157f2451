/* vmath.c -- elementary functions over arrays.
 *
 * Each is its textbook series, on an interval where few terms suffice, and an exact identity that
 * brings every x there.  No branches and no tables, so that a compiler turns the loops into vectors.
 * Against the true values exp and log are within 1.1 units in the last place, erf within 2, tanh and
 * sigmoid within 2.6: the tests go through float in steps and sample double.  Infinities, NaN,
 * signed zeros and denormal numbers come out as they should.
 *
 *   exp       x = n ln 2 + r,  n whole,  |r| <= ln 2 / 2
 *             exp(x) = 2^n exp(r),   exp(r) = 1 + r + r^2/2! + r^3/3! + ...
 *
 *   sigmoid   e = exp(-|x|)
 *             1 / (1 + exp(-x)) = 1 / (1 + e) for x >= 0,  e / (1 + e) for x < 0
 *
 *   tanh      E = exp(-2|x|) - 1,  with 2^n and r of -2|x|:  E = 2^n (exp(r) - 1) + (2^n - 1)
 *             tanh(|x|) = -E / (2 + E)
 *             The series without its 1 gives exp(r) - 1 to full accuracy near 0.
 *
 *   log       x = 2^e (1 + f),  1/sqrt(2) <= 1 + f < sqrt(2)
 *             log(x) = e ln 2 + log(1 + f)
 *             s = f / (2 + f):  log(1 + f) = 2 atanh(s) = 2 s + s R,  R = 2 s^2/3 + 2 s^4/5 + ...
 *             and because 2 s = f - s f,  log(1 + f) = f - s (f - R):  f is exact, the rest is small.
 *
 *   erf       |x| < 1:   erf(x) = c x (1 - x^2/(1! 3) + x^4/(2! 5) - x^6/(3! 7) + ...),  c = 2/sqrt(pi)
 *                               = x + x ((c - 1) + c (-x^2/(1! 3) + ...)): again a small correction
 *             |x| >= 1:  erf(|x|) = 1 - exp(-x^2) g(t),  t = (|x| - 2) / (|x| + 2)
 *             g(t) = exp(x^2) erfc(|x|) is nearly a straight line in t; below is the polynomial
 *             through it at the Chebyshev points of 1 <= |x| <= 4 (float) or 6 (double), past which
 *             erf rounds to 1.
 *
 * ln 2 comes in two parts, the first with so few bits that n times it is exact.  Rounding to a whole
 * number is the addition of 1.5 2^23 (double: 2^52), where the spacing of numbers is 1: the sum is
 * rounded by the hardware, its low bits are the integer, and subtracting gives it back as a REAL.
 * A fused multiply-add changes none of this, -ffast-math all. */
#include "kernels/vmath.h"

#ifdef __FAST_MATH__
#error "-ffast-math removes NaN, infinities and the rounding that these functions are made of"
#endif

#ifndef REAL

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { VMATH_CHUNK = 32 };

/* A function that was not inlined cannot become part of a vector loop. */
#define VMATH_INLINE static inline __attribute__((always_inline))

#define AT_KERNELS "kernels/vmath.c"
#include "kernels/each_real.h"

#else

/* The bits of a REAL, and how many of them are its fraction. */
typedef __typeof__(_Generic((REAL)0, float : (uint32_t)0, double : (uint64_t)0)) KERNEL(bits);
#define VMATH_DOUBLE (sizeof(REAL) == 8)
#define VMATH_FRACTION (VMATH_DOUBLE ? 52 : 23)
#define VMATH_BIAS (VMATH_DOUBLE ? 1023 : 127)
#define VMATH_BIG ((REAL)1.5 / REAL_EPS) /* numbers around it are the whole ones */

VMATH_INLINE KERNEL(bits) KERNEL(bits_of)(REAL x)
{
    KERNEL(bits) b;
    memcpy(&b, &x, sizeof b);
    return b;
}

VMATH_INLINE REAL KERNEL(of_bits)(KERNEL(bits) b)
{
    REAL x;
    memcpy(&x, &b, sizeof x);
    return x;
}

/* The nearest whole number, for |x| < 2^21. */
VMATH_INLINE REAL KERNEL(whole)(REAL x)
{
    REAL big = x + VMATH_BIG;
    return big - VMATH_BIG;
}

/* 2^n for whole n that give a normal number */
VMATH_INLINE REAL KERNEL(power_of_2)(REAL n)
{
    return KERNEL(of_bits)((KERNEL(bits_of)(n + VMATH_BIG) + VMATH_BIAS) << VMATH_FRACTION);
}

#define LN2_HIGH (VMATH_DOUBLE ? (REAL)0x1.62e42fefa38p-1 : (REAL)0x1.62e4p-1)
#define LN2_LOW (VMATH_DOUBLE ? (REAL)0x1.ef35793c76730p-45 : (REAL)1.42860682030941723e-6)

/* x = n ln 2 + r; returns r */
VMATH_INLINE REAL KERNEL(reduce_by_ln2)(REAL x, REAL *n)
{
    *n = KERNEL(whole)(x * (REAL)1.44269504088896340736);
    REAL r = x - *n * LN2_HIGH;
    return r - *n * LN2_LOW;
}

/* exp(r) - 1 = r + r^2/2! + r^3/3! + ... */
VMATH_INLINE REAL KERNEL(expm1_series)(REAL r)
{
    REAL p = 0;
    if (VMATH_DOUBLE) {
        p = (REAL)(1 / 6227020800.0);
        p = p * r + (REAL)(1 / 479001600.0);
        p = p * r + (REAL)(1 / 39916800.0);
        p = p * r + (REAL)(1 / 3628800.0);
        p = p * r + (REAL)(1 / 362880.0);
        p = p * r + (REAL)(1 / 40320.0);
    }
    p = p * r + (REAL)(1 / 5040.0);
    p = p * r + (REAL)(1 / 720.0);
    p = p * r + (REAL)(1 / 120.0);
    p = p * r + (REAL)(1 / 24.0);
    p = p * r + (REAL)(1 / 6.0);
    p = p * r + (REAL)(1 / 2.0);
    return p * (r * r) + r;
}

/* Beyond the bounds the result is 0 or infinity anyway.  Two factors make 2^n, since n reaches from
 * below the smallest normal exponent to above the largest. */
VMATH_INLINE REAL KERNEL(exp_of)(REAL x)
{
    const REAL low = VMATH_DOUBLE ? -746 : -104, high = VMATH_DOUBLE ? 710 : 89;
    REAL n;
    x = x < low ? low : x; /* NaN stays NaN */
    x = x > high ? high : x;
    REAL r = KERNEL(reduce_by_ln2)(x, &n);
    REAL y = 1 + KERNEL(expm1_series)(r), half = KERNEL(whole)(n * (REAL)0.5);
    return y * KERNEL(power_of_2)(half) * KERNEL(power_of_2)(n - half);
}

VMATH_INLINE REAL KERNEL(sigmoid_of)(REAL x)
{
    REAL e = KERNEL(exp_of)(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}

VMATH_INLINE REAL KERNEL(tanh_of)(REAL x)
{
    REAL a = fabs(x), n;
    a = a > 20 ? 20 : a; /* 1 - tanh(20) is below half a unit in the last place */
    REAL r = KERNEL(reduce_by_ln2)(-2 * a, &n), power = KERNEL(power_of_2)(n);
    REAL E = power * KERNEL(expm1_series)(r) + (power - 1);
    return copysign(-E / (2 + E), x);
}

VMATH_INLINE REAL KERNEL(log_of)(REAL x)
{
    const REAL scale = VMATH_DOUBLE ? (REAL)0x1p54 : (REAL)0x1p25, inf = (REAL)INFINITY;
    const REAL smallest = VMATH_DOUBLE ? (REAL)DBL_MIN : (REAL)FLT_MIN;
    const KERNEL(bits) root = KERNEL(bits_of)((REAL)0.70710678118654752440),
                       one = KERNEL(bits_of)(1);
    REAL scaled = x < smallest ? x * scale : x, taken = x < smallest ? VMATH_DOUBLE ? 54 : 25 : 0;

    /* adding one - root carries into the exponent just where the fraction passes sqrt(2) */
    KERNEL(bits) b = KERNEL(bits_of)(scaled) + (one - root), e_bits = b >> VMATH_FRACTION;
    REAL m = KERNEL(of_bits)((b & (((KERNEL(bits))1 << VMATH_FRACTION) - 1)) + root);
    REAL e =
        KERNEL(of_bits)(KERNEL(bits_of)(VMATH_BIG) + e_bits) - (VMATH_BIG + VMATH_BIAS) - taken;

    REAL f = m - 1, s = f / (2 + f), z = s * s, R = 0;
    if (VMATH_DOUBLE) {
        R = (REAL)(2 / 21.0);
        R = R * z + (REAL)(2 / 19.0);
        R = R * z + (REAL)(2 / 17.0);
        R = R * z + (REAL)(2 / 15.0);
        R = R * z + (REAL)(2 / 13.0);
        R = R * z + (REAL)(2 / 11.0);
    }
    R = R * z + (REAL)(2 / 9.0);
    R = R * z + (REAL)(2 / 7.0);
    R = R * z + (REAL)(2 / 5.0);
    R = R * z + (REAL)(2 / 3.0);
    REAL y = e * LN2_HIGH + (f - (s * (f - R * z) - e * LN2_LOW));

    y = x == inf ? inf : y;
    y = x == 0 ? -inf : y;
    return x >= 0 ? y : (REAL)NAN;
}

/* -z/(1! 3) + z^2/(2! 5) - z^3/(3! 7) + ... */
VMATH_INLINE REAL KERNEL(erf_series)(REAL z)
{
    REAL p = 0;
    if (VMATH_DOUBLE) {
        p = (REAL)(1 / (6402373705728000.0 * 37));
        p = p * z - (REAL)(1 / (355687428096000.0 * 35));
        p = p * z + (REAL)(1 / (20922789888000.0 * 33));
        p = p * z - (REAL)(1 / (1307674368000.0 * 31));
        p = p * z + (REAL)(1 / (87178291200.0 * 29));
        p = p * z - (REAL)(1 / (6227020800.0 * 27));
        p = p * z + (REAL)(1 / (479001600.0 * 25));
    }
    p = p * z - (REAL)(1 / (39916800.0 * 23));
    p = p * z + (REAL)(1 / (3628800.0 * 21));
    p = p * z - (REAL)(1 / (362880.0 * 19));
    p = p * z + (REAL)(1 / (40320.0 * 17));
    p = p * z - (REAL)(1 / (5040.0 * 15));
    p = p * z + (REAL)(1 / (720.0 * 13));
    p = p * z - (REAL)(1 / (120.0 * 11));
    p = p * z + (REAL)(1 / (24.0 * 9));
    p = p * z - (REAL)(1 / (6.0 * 7));
    p = p * z + (REAL)(1 / (2.0 * 5));
    p = p * z - (REAL)(1 / 3.0);
    return p * z;
}

/* exp(x^2) erfc(x) for x >= 1, t = (x - 2) / (x + 2) */
VMATH_INLINE REAL KERNEL(erfc_without_exp)(REAL t)
{
    REAL p;
    if (VMATH_DOUBLE) {
        p = (REAL)-1.13525714772736264e-6;
        p = p * t + (REAL)1.27256766184022802e-6;
        p = p * t + (REAL)4.01174964732506693e-6;
        p = p * t + (REAL)1.30585771222780165e-6;
        p = p * t - (REAL)1.39982837727849769e-5;
        p = p * t - (REAL)2.7562209161129353e-5;
        p = p * t + (REAL)2.75271755572272473e-5;
        p = p * t + (REAL)1.74359474002051576e-4;
        p = p * t + (REAL)4.3555586865754816e-5;
        p = p * t - (REAL)9.81976941103864265e-4;
        p = p * t - (REAL)8.47143252991950048e-4;
        p = p * t + (REAL)6.99746173697157874e-3;
        p = p * t + (REAL)3.73289240439783377e-3;
        p = p * t - (REAL)7.8978581015706104e-2;
        p = p * t + (REAL)0.241658194242465846;
        p = p * t - (REAL)0.427185847413958486;
        return p * t + (REAL)0.255395676310505745;
    }
    p = (REAL)-9.441596341e-4;
    p = p * t - (REAL)8.365899736e-4;
    p = p * t + (REAL)6.994855414e-3;
    p = p * t + (REAL)3.732141351e-3;
    p = p * t - (REAL)7.897852327e-2;
    p = p * t + (REAL)0.2416582111;
    p = p * t - (REAL)0.4271858476;
    return p * t + (REAL)0.2553956763;
}

VMATH_INLINE REAL KERNEL(erf_of)(REAL x)
{
    const REAL c = (REAL)1.12837916709551257390, c_1 = (REAL)0.12837916709551257390;
    REAL a = fabs(x), last = VMATH_DOUBLE ? 6 : 4;
    a = a > last ? last : a;
    REAL z = a * a, near = a + a * (c_1 + c * KERNEL(erf_series)(z));
    REAL far = 1 - KERNEL(exp_of)(-z) * KERNEL(erfc_without_exp)((a - 2) / (a + 2));
    return copysign(a < 1 ? near : far, x);
}

/* y = f(x) for up to CHUNK numbers, in memory of our own: x and y may be the same, but t is not. */
VMATH_INLINE void KERNEL(chunk)(ptrdiff_t n, const REAL *x, REAL *y, REAL (*f)(REAL))
{
    REAL t[VMATH_CHUNK] = {0};
    for (ptrdiff_t j = 0; j < n; j++) t[j] = x[j];
    for (int j = 0; j < VMATH_CHUNK; j++) t[j] = f(t[j]);
    for (ptrdiff_t j = 0; j < n; j++) y[j] = t[j];
}

/* A chunk has a fixed length, also the last: so the loop over f is a vector loop without a remainder,
 * and what becomes of a number does not depend on where it stands. */
VMATH_INLINE void KERNEL(for_each)(ptrdiff_t n, const REAL *x, REAL *y, REAL (*f)(REAL))
{
    ptrdiff_t i = 0;
    for (; i + VMATH_CHUNK <= n; i += VMATH_CHUNK) KERNEL(chunk)(VMATH_CHUNK, x + i, y + i, f);
    if (i < n) KERNEL(chunk)(n - i, x + i, y + i, f);
}

void AT_FOR_REAL(vexp)(ptrdiff_t n, const REAL *x, REAL *y)
{
    KERNEL(for_each)(n, x, y, KERNEL(exp_of));
}

void AT_FOR_REAL(vlog)(ptrdiff_t n, const REAL *x, REAL *y)
{
    KERNEL(for_each)(n, x, y, KERNEL(log_of));
}

void AT_FOR_REAL(vtanh)(ptrdiff_t n, const REAL *x, REAL *y)
{
    KERNEL(for_each)(n, x, y, KERNEL(tanh_of));
}

void AT_FOR_REAL(verf)(ptrdiff_t n, const REAL *x, REAL *y)
{
    KERNEL(for_each)(n, x, y, KERNEL(erf_of));
}

void AT_FOR_REAL(vsigmoid)(ptrdiff_t n, const REAL *x, REAL *y)
{
    KERNEL(for_each)(n, x, y, KERNEL(sigmoid_of));
}

#undef VMATH_DOUBLE
#undef VMATH_FRACTION
#undef VMATH_BIAS
#undef VMATH_BIG
#undef LN2_HIGH
#undef LN2_LOW
#endif
