/* vecmath.h -- elementary functions of one vector (vector.h), every lane on its own.
 *
 * Each is a polynomial, on an interval where few terms suffice, and an exact identity that brings
 * every x there.  No branches and no tables.  Against the true values exp and log are within 1.1
 * units in the last place, erf within 2, tanh and sigmoid within 2.6: the tests go through float in
 * steps and sample double.  Infinities, NaN, signed zeros and denormal numbers come out as they
 * should.
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
 *   erf       |x| < 1:   erf(x) = x + x ((c - 1) + x^2 P(x^2)),  c = 2/sqrt(pi): a small correction
 *             |x| >= 1:  erf(|x|) = 1 - exp(-x^2) G(|x| - 1)
 *             P and G are the polynomials with the smallest largest error in erf, found by Remez's
 *             exchange: P on 0 <= x^2 <= 1, and G, for exp(x^2) erfc(|x|), up to |x| = 4 (float) or
 *             6 (double), past which erf rounds to 1.
 *
 * ln 2 comes in two parts, the first with so few bits that n times it is exact.  Rounding to a whole
 * number is the addition of 1.5 2^23 (double: 2^52), where the spacing of numbers is 1: the sum is
 * rounded by the hardware, its low bits are the integer, and subtracting gives it back as a REAL.
 * A fused multiply-add changes none of this, -ffast-math all.
 *
 * With ATTIC_PLAIN_KERNELS every function here is that of libm, lane by lane. */
#ifndef AT_KERNELS_VECMATH_H
#define AT_KERNELS_VECMATH_H
#include "kernels/vector.h"

#ifdef __FAST_MATH__
#error "-ffast-math removes NaN, infinities and the rounding that these functions are made of"
#endif

#define VECMATH_FUNCTIONS
#define AT_KERNELS "kernels/vecmath.h"
#include "kernels/each_real.h"
#undef VECMATH_FUNCTIONS

#elif defined(VECMATH_FUNCTIONS)

#ifdef ATTIC_PLAIN_KERNELS

VEC_INLINE KERNEL(vec) KERNEL(vec_exp)(KERNEL(vec) x)
{
    for (int l = 0; l < VEC_LANES; l++) x[l] = exp(x[l]);
    return x;
}

VEC_INLINE KERNEL(vec) KERNEL(vec_exp_weight)(KERNEL(vec) x)
{
    return KERNEL(vec_exp)(x);
}

VEC_INLINE KERNEL(vec) KERNEL(vec_log)(KERNEL(vec) x)
{
    for (int l = 0; l < VEC_LANES; l++) x[l] = x[l] < 0 ? (REAL)NAN : log(x[l]);
    return x;
}

VEC_INLINE KERNEL(vec) KERNEL(vec_tanh)(KERNEL(vec) x)
{
    for (int l = 0; l < VEC_LANES; l++) x[l] = tanh(x[l]);
    return x;
}

VEC_INLINE KERNEL(vec) KERNEL(vec_erf_exp)(KERNEL(vec) x, KERNEL(vec) * e)
{
    *e = KERNEL(vec_exp)(-(x * x));
    for (int l = 0; l < VEC_LANES; l++) x[l] = erf(x[l]);
    return x;
}

VEC_INLINE KERNEL(vec) KERNEL(vec_sigmoid)(KERNEL(vec) x)
{
    for (int l = 0; l < VEC_LANES; l++) {
        REAL e = exp(-fabs(x[l]));
        x[l] = (x[l] < 0 ? e : 1) / (1 + e);
    }
    return x;
}

VEC_INLINE KERNEL(vec) KERNEL(vec_gate)(KERNEL(vec) x, KERNEL(vec) * ds)
{
    KERNEL(vec) s = KERNEL(vec_sigmoid)(x);
    *ds = s * (1 - s);
    return s;
}

#else

#define VEC_DOUBLE (sizeof(REAL) == 8)
#define VEC_FRACTION (VEC_DOUBLE ? 52 : 23) /* bits of the fraction */
#define VEC_BIAS (VEC_DOUBLE ? 1023 : 127)
#define VEC_BIG ((REAL)1.5 / REAL_EPS) /* numbers around it are the whole ones */
#define VEC_INVERSE_LN2 (REAL)1.44269504088896340736
#define VEC_LN2_HIGH (VEC_DOUBLE ? (REAL)0x1.62e42fefa38p-1 : (REAL)0x1.62e4p-1)
#define VEC_LN2_LOW (VEC_DOUBLE ? (REAL)0x1.ef35793c76730p-45 : (REAL)1.42860682030941723e-6)

/* c_0 x^(n-1) + ... + c_(n-1), n even: even and odd powers apart, so that two chains of
 * multiplications run side by side. */
VEC_INLINE KERNEL(vec) KERNEL(vec_polynomial)(int n, const REAL *c, KERNEL(vec) x)
{
    KERNEL(vec) z = x * x, odd = KERNEL(vec_of)(c[0]), even = KERNEL(vec_of)(c[1]);
    for (int i = 2; i < n; i += 2) {
        odd = odd * z + c[i];
        even = even * z + c[i + 1];
    }
    return odd * x + even;
}

/* 2^n, where big = n + VEC_BIG, as long as that is a normal number: n is added to the exponent of 1 */
VEC_INLINE KERNEL(vec) KERNEL(vec_2_to)(KERNEL(vec) big)
{
    KERNEL(vec_bits)
    n = (KERNEL(vec_bits))big << VEC_FRACTION; /* all above n's bits is pushed out */
    return (KERNEL(vec))(n + (KERNEL(vec_bits))KERNEL(vec_of)(1));
}

/* r = x - n ln 2 */
VEC_INLINE KERNEL(vec) KERNEL(vec_without_ln2)(KERNEL(vec) x, KERNEL(vec) n)
{
    KERNEL(vec) r = x - n * VEC_LN2_HIGH;
    return r - n * VEC_LN2_LOW;
}

/* exp(r) - 1 = r + r^2 (1/2! + r/3! + ...) */
VEC_INLINE KERNEL(vec) KERNEL(vec_expm1_series)(KERNEL(vec) r)
{
    static const REAL c[] = {
        (REAL)(1 / 6227020800.0), (REAL)(1 / 479001600.0), (REAL)(1 / 39916800.0),
        (REAL)(1 / 3628800.0),    (REAL)(1 / 362880.0),    (REAL)(1 / 40320.0),
        (REAL)(1 / 5040.0),       (REAL)(1 / 720.0),       (REAL)(1 / 120.0),
        (REAL)(1 / 24.0),         (REAL)(1 / 6.0),         (REAL)(1 / 2.0)};
    const int terms = VEC_DOUBLE ? 12 : 6;
    return KERNEL(vec_polynomial)(terms, c + 12 - terms, r) * (r * r) + r;
}

/* Beyond the bounds the result is 0 or infinity anyway.  2^n is applied in two halves, since n reaches
 * from below the smallest normal exponent to above the largest. */
VEC_INLINE KERNEL(vec) KERNEL(vec_exp)(KERNEL(vec) x)
{
    const KERNEL(vec) low = KERNEL(vec_of)(VEC_DOUBLE ? -746 : -104);
    const KERNEL(vec) high = KERNEL(vec_of)(VEC_DOUBLE ? 710 : 89);
    x = KERNEL(vec_pick)(x < low, low, x); /* NaN stays NaN */
    x = KERNEL(vec_pick)(x > high, high, x);
    KERNEL(vec) n = x * VEC_INVERSE_LN2 + VEC_BIG - VEC_BIG;
    KERNEL(vec) big_half = n * (REAL)0.5 + VEC_BIG, rest = n - (big_half - VEC_BIG);
    KERNEL(vec) y = 1 + KERNEL(vec_expm1_series)(KERNEL(vec_without_ln2)(x, n));
    return y * KERNEL(vec_2_to)(big_half) * KERNEL(vec_2_to)(rest + VEC_BIG);
}

/* exp(x) for x <= 0: the weight of a score that is x above the maximum.  What would be a denormal
 * number is 0, and so is exp(-inf); NaN stays NaN.  (Up to x = 88 it is exp all the same.) */
VEC_INLINE KERNEL(vec) KERNEL(vec_exp_weight)(KERNEL(vec) x)
{
    const KERNEL(vec) low = KERNEL(vec_of)(VEC_DOUBLE ? (REAL)-708.39 : (REAL)-87.33);
    KERNEL(vec) big = x * VEC_INVERSE_LN2 + VEC_BIG;
    KERNEL(vec) y = 1 + KERNEL(vec_expm1_series)(KERNEL(vec_without_ln2)(x, big - VEC_BIG));
    return KERNEL(vec_pick)(x < low, KERNEL(vec_of)(0), y * KERNEL(vec_2_to)(big));
}

VEC_INLINE KERNEL(vec) KERNEL(vec_abs)(KERNEL(vec) x)
{
    return (KERNEL(vec))((KERNEL(vec_bits))x & ~(KERNEL(vec_bits))KERNEL(vec_of)(-(REAL)0.0));
}

/* |a| with the sign of x */
VEC_INLINE KERNEL(vec) KERNEL(vec_with_sign)(KERNEL(vec) a, KERNEL(vec) x)
{
    KERNEL(vec_bits) sign = (KERNEL(vec_bits))KERNEL(vec_of)(-(REAL)0.0);
    return (KERNEL(vec))(((KERNEL(vec_bits))a & ~sign) | ((KERNEL(vec_bits))x & sign));
}

VEC_INLINE KERNEL(vec) KERNEL(vec_sigmoid)(KERNEL(vec) x)
{
    KERNEL(vec) e = KERNEL(vec_exp)(-KERNEL(vec_abs)(x));
    return KERNEL(vec_pick)(x < 0, e, KERNEL(vec_of)(1)) / (1 + e);
}

/* sigmoid(x) as a factor, and its derivative: never below 1e-38 (double: 1e-307), which saves what
 * vec_sigmoid does for denormal numbers.  ds = s (1 - s), without a subtraction. */
VEC_INLINE KERNEL(vec) KERNEL(vec_gate)(KERNEL(vec) x, KERNEL(vec) * ds)
{
    const KERNEL(vec) last = KERNEL(vec_of)(VEC_DOUBLE ? 708 : 87);
    x = KERNEL(vec_pick)(x > last, last, x); /* NaN stays NaN */
    x = KERNEL(vec_pick)(x < -last, -last, x);
    KERNEL(vec) big = x * -VEC_INVERSE_LN2 + VEC_BIG;
    KERNEL(vec) y = 1 + KERNEL(vec_expm1_series)(KERNEL(vec_without_ln2)(-x, big - VEC_BIG));
    KERNEL(vec) e = y * KERNEL(vec_2_to)(big), s = 1 / (1 + e); /* e = exp(-x) */
    *ds = e * s * s;
    return s;
}

VEC_INLINE KERNEL(vec) KERNEL(vec_tanh)(KERNEL(vec) x)
{
    const KERNEL(vec) last = KERNEL(vec_of)(20); /* 1 - tanh(20) is below half a unit */
    KERNEL(vec) a = KERNEL(vec_abs)(x);
    a = KERNEL(vec_pick)(a > last, last, a);
    KERNEL(vec) big = a * (-2 * VEC_INVERSE_LN2) + VEC_BIG;
    KERNEL(vec) r = KERNEL(vec_without_ln2)(-2 * a, big - VEC_BIG);
    KERNEL(vec) power = KERNEL(vec_2_to)(big);
    KERNEL(vec) E = power * KERNEL(vec_expm1_series)(r) + (power - 1);
    return KERNEL(vec_with_sign)(-E / (2 + E), x);
}

VEC_INLINE KERNEL(vec) KERNEL(vec_log)(KERNEL(vec) x)
{
    static const REAL c[] = {(REAL)(2 / 21.0), (REAL)(2 / 19.0), (REAL)(2 / 17.0), (REAL)(2 / 15.0),
                             (REAL)(2 / 13.0), (REAL)(2 / 11.0), (REAL)(2 / 9.0),  (REAL)(2 / 7.0),
                             (REAL)(2 / 5.0),  (REAL)(2 / 3.0)};
    const int terms = VEC_DOUBLE ? 10 : 4;
    const KERNEL(vec) zero = {0}, inf = KERNEL(vec_of)((REAL)INFINITY);
    const KERNEL(vec) smallest = KERNEL(vec_of)(VEC_DOUBLE ? (REAL)DBL_MIN : (REAL)FLT_MIN);
    const KERNEL(vec_bits) root = (KERNEL(vec_bits))KERNEL(vec_of)((REAL)0.70710678118654752440);
    const KERNEL(vec_bits) one = (KERNEL(vec_bits))KERNEL(vec_of)(1);
    const KERNEL(vec_bits) fraction = (((KERNEL(vec_bits)){0} + 1) << VEC_FRACTION) - 1;

    /* a denormal number gains 2^(its fraction + 2) */
    const int gain = VEC_FRACTION + 2;
    KERNEL(vec) scale = KERNEL(vec_of)(4 / REAL_EPS);
    KERNEL(vec) normal = KERNEL(vec_pick)(x < smallest, x * scale, x);
    KERNEL(vec) gained = KERNEL(vec_pick)(x < smallest, KERNEL(vec_of)(gain), zero);

    /* adding one - root carries into the exponent just where the fraction passes sqrt(2) */
    KERNEL(vec_bits) b = (KERNEL(vec_bits))normal + (one - root);
    KERNEL(vec_bits) big = (KERNEL(vec_bits))KERNEL(vec_of)(VEC_BIG) + (b >> VEC_FRACTION);
    KERNEL(vec) e = (KERNEL(vec))big - (VEC_BIG + VEC_BIAS) - gained;
    KERNEL(vec) f = (KERNEL(vec))((b & fraction) + root) - 1;

    KERNEL(vec) s = f / (2 + f), z = s * s;
    KERNEL(vec) R = KERNEL(vec_polynomial)(terms, c + 10 - terms, z) * z;
    KERNEL(vec) y = e * VEC_LN2_HIGH + (f - (s * (f - R) - e * VEC_LN2_LOW));

    y = KERNEL(vec_pick)(x == inf, inf, y);
    y = KERNEL(vec_pick)(x == 0, -inf, y);
    return KERNEL(vec_pick)(x >= 0, y, KERNEL(vec_of)((REAL)NAN));
}

/* (erf(a) / a - c) / a^2 for a < 1, with z = a^2 */
VEC_INLINE KERNEL(vec) KERNEL(vec_erf_near)(KERNEL(vec) z)
{
    static const REAL of_float[] = {(REAL)7.933111381e-5, (REAL)-8.035033223e-4,
                                    (REAL)5.191292068e-3, (REAL)-2.685548436e-2,
                                    (REAL)0.1128362989,   (REAL)-0.3761263072};
    static const REAL of_double[] = {
        (REAL)5.970905758300315e-11,   (REAL)-1.138132808839502e-9,   (REAL)1.4662076233695216e-8,
        (REAL)-1.6350673330349753e-7,  (REAL)1.6461036574626424e-6,   (REAL)-1.4925597673901496e-5,
        (REAL)1.205533122003599660e-4, (REAL)-8.54832698410148951e-4, (REAL)5.22397762488202948e-3,
        (REAL)-2.68661706450844875e-2, (REAL)0.112837916709549299,    (REAL)-0.376126389031837496};
    return VEC_DOUBLE ? KERNEL(vec_polynomial)(12, of_double, z)
                      : KERNEL(vec_polynomial)(6, of_float, z);
}

/* exp(a^2) erfc(a) for a >= 1, with u = a - 1 */
VEC_INLINE KERNEL(vec) KERNEL(vec_erf_far)(KERNEL(vec) u)
{
    static const REAL of_float[] = {
        (REAL)-3.888830503e-4, (REAL)3.282947190e-3, (REAL)-1.313402227e-2, (REAL)3.560879988e-2,
        (REAL)-7.863516495e-2, (REAL)0.1542864817,   (REAL)-0.2732075633,   (REAL)0.4275835401};
    static const REAL of_double[] = {(REAL)-6.283435356647777e-12,   (REAL)1.956729683413960e-10,
                                     (REAL)-2.863583163028375e-9,    (REAL)2.639816716752889e-8,
                                     (REAL)-1.740024435057671e-7,    (REAL)8.867925430283532e-7,
                                     (REAL)-3.709358400219191e-6,    (REAL)1.339933500440944942e-5,
                                     (REAL)-4.364035064215725918e-5, (REAL)1.323546360567034421e-4,
                                     (REAL)-3.810742287859117826e-4, (REAL)1.049818916971906089e-3,
                                     (REAL)-2.768893188882766201e-3, (REAL)6.970095119188813686e-3,
                                     (REAL)-1.666186004961612394e-2, (REAL)3.757229508076642284e-2,
                                     (REAL)-7.922696885574098725e-2, (REAL)0.1543715613685529085,
                                     (REAL)-0.273212014783847303,    (REAL)0.4275835761558068767};
    return VEC_DOUBLE ? KERNEL(vec_polynomial)(20, of_double, u)
                      : KERNEL(vec_polynomial)(8, of_float, u);
}

/* erf(x), and e = exp(-x^2) on the way */
VEC_INLINE KERNEL(vec) KERNEL(vec_erf_exp)(KERNEL(vec) x, KERNEL(vec) * e)
{
    const REAL c_1 = (REAL)0.12837916709551257390; /* 2/sqrt(pi) - 1 */
    const KERNEL(vec) last = KERNEL(vec_of)(VEC_DOUBLE ? 6 : 4);
    KERNEL(vec) a = KERNEL(vec_abs)(x), z = a * a;
    *e = KERNEL(vec_exp_weight)(-z);
    KERNEL(vec) near = a + a * (c_1 + z * KERNEL(vec_erf_near)(z));
    KERNEL(vec) b = KERNEL(vec_pick)(a > last, last, a);
    KERNEL(vec) far = 1 - *e * KERNEL(vec_erf_far)(b - 1);
    return KERNEL(vec_with_sign)(KERNEL(vec_pick)(a < 1, near, far), x);
}

#undef VEC_DOUBLE
#undef VEC_FRACTION
#undef VEC_BIAS
#undef VEC_BIG
#undef VEC_INVERSE_LN2
#undef VEC_LN2_HIGH
#undef VEC_LN2_LOW
#endif /* ATTIC_PLAIN_KERNELS */

VEC_INLINE KERNEL(vec) KERNEL(vec_erf)(KERNEL(vec) x)
{
    KERNEL(vec) e;
    return KERNEL(vec_erf_exp)(x, &e);
}

#endif
