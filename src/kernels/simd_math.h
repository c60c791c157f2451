/* simd_math.h -- elementary functions of one vector (simd.h), every lane on its own.
 *
 * Each is a polynomial, on an interval where few terms suffice, and an exact identity that brings
 * every x there.  No branches and no tables.  exp and log are within 1.1 units in the last place of
 * the true values, Phi within 1.5 (below 0: of 1/2), tanh and sigmoid within 2.6: the tests go
 * through float in steps and sample double.  Infinities, NaN, signed zeros and denormals come out
 * as they should.
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
 *             and as 2 s = f - s f,  log(1 + f) = f - s (f - R):  f is exact, the rest is small.
 *
 *   Phi       the normal distribution function, (1 + erf(x / sqrt 2)) / 2, with a = |x|
 *             Phi(-a) = 2^t,  t = a P(a) - 1,       Phi(a) = 1 - Phi(-a)
 *             log Phi is as smooth as a parabola, so few terms suffice.  P is the minimax
 *             polynomial of Phi (Remez's exchange) up to a = 5.2 (double: 8.2); beyond,
 *             Phi(-a) is less than half a unit of 1, and 2^t only goes to 0 sooner.
 *
 * ln 2 comes in two parts, the first with so few bits that n times it is exact.  Rounding to a
 * whole number is the addition of 1.5 2^23 (double: 2^52) and of the exponent's bias, 127 (1023):
 * there the spacing of numbers is 1, so that the hardware rounds the sum; its low bits are the
 * exponent of 2^n, and subtracting gives n back as a REAL.  A fused multiply-add changes none of
 * this, -ffast-math all.
 *
 * With ATTIC_PLAIN_KERNELS every function here is the one of elementary.h, lane by lane. */
#ifndef AT_KERNELS_SIMD_MATH_H
#define AT_KERNELS_SIMD_MATH_H
#include "kernels/real.h"
#include "kernels/simd.h"

#ifdef __FAST_MATH__
#error "-ffast-math removes NaN, infinities and the rounding that these functions are made of"
#endif

#ifdef AT_DUAL

VEC_INLINE vec vec_exp(vec x)
{
    return exp(x);
}

VEC_INLINE vec vec_exp_weight(vec x)
{
    return exp(x);
}

VEC_INLINE vec vec_log(vec x)
{
    return log(x);
}

VEC_INLINE vec vec_tanh(vec x)
{
    return tanh(x);
}

VEC_INLINE vec vec_normal(vec x)
{
    return 0.5 * erfc(-0.70710678118654752440 * x);
}

VEC_INLINE vec vec_sigmoid(vec x)
{
    const vec e = exp(-fabs(x));
    return OVER(VALUE(x) > 0 ? 1 : e, 1 + e); /* at 0 as |x| is */
}

VEC_INLINE vec vec_gate(vec x, vec *ds)
{
    const vec s = vec_sigmoid(x);
    *ds = s * vec_sigmoid(-x);
    return s;
}

#else

VEC_INLINE vec vec_abs(vec x)
{
    return (vec)((vec_bits)x & ~(vec_bits)vec_of(-(REAL)0.0));
}

#ifdef ATTIC_PLAIN_KERNELS

VEC_INLINE vec vec_exp(vec x)
{
    for (int l = 0; l < VEC_LANES; l++) x[l] = exp(x[l]);
    return x;
}

VEC_INLINE vec vec_exp_weight(vec x)
{
    return vec_exp(x);
}

VEC_INLINE vec vec_log(vec x)
{
    for (int l = 0; l < VEC_LANES; l++) x[l] = x[l] < 0 ? (REAL)NAN : log(x[l]);
    return x;
}

VEC_INLINE vec vec_tanh(vec x)
{
    for (int l = 0; l < VEC_LANES; l++) x[l] = tanh(x[l]);
    return x;
}

VEC_INLINE vec vec_normal(vec x)
{
    const REAL root = (REAL)0.70710678118654752440;
    for (int l = 0; l < VEC_LANES; l++) x[l] = (REAL)0.5 * erfc(-root * x[l]);
    return x;
}

#else

#define VEC_DOUBLE (sizeof(REAL) == 8)
#define VEC_FRACTION (VEC_DOUBLE ? 52 : 23) /* bits of the fraction */
#define VEC_BIAS (VEC_DOUBLE ? 1023 : 127)
#define VEC_BIG ((REAL)1.5 / REAL_EPS + VEC_BIAS) /* numbers around it are the whole ones */
#define VEC_INVERSE_LN2 (REAL)1.44269504088896340736
#define VEC_LN2_HIGH (VEC_DOUBLE ? (REAL)0x1.62e42fefa38p-1 : (REAL)0x1.62e4p-1)
#define VEC_LN2_LOW (VEC_DOUBLE ? (REAL)0x1.ef35793c76730p-45 : (REAL)1.42860682030941723e-6)

/* c_0 x^(n-1) + ... + c_(n-1), n even: even and odd powers apart, so that two chains of
 * multiplications run side by side. */
VEC_INLINE vec vec_polynomial(int n, const REAL *c, vec x)
{
    vec z = x * x, odd = vec_of(c[0]), even = vec_of(c[1]);
    for (int i = 2; i < n; i += 2) {
        odd = vec_mul_add(odd, z, vec_of(c[i]));
        even = vec_mul_add(even, z, vec_of(c[i + 1]));
    }
    return vec_mul_add(odd, x, even);
}

/* 2^n of big = n + VEC_BIG, if that is a normal number: the last bits of big, n + VEC_BIAS, become
 * the exponent, all above them is shifted out.  One less gives 0. */
VEC_INLINE vec vec_2_to(vec big)
{
    return (vec)((vec_bits)big << VEC_FRACTION);
}

/* The whole number nearest to x times `by`, plus VEC_BIG. */
VEC_INLINE vec vec_to_whole(vec x, REAL by)
{
    return vec_mul_add(x, vec_of(by), vec_of(VEC_BIG));
}

/* r = x - n ln 2 */
VEC_INLINE vec vec_without_ln2(vec x, vec n)
{
    vec r = vec_mul_add(n, vec_of(-VEC_LN2_HIGH), x);
    return vec_mul_add(n, vec_of(-VEC_LN2_LOW), r);
}

/* exp(r) - 1 = r + r^2 (1/2! + r/3! + ...) */
VEC_INLINE vec vec_expm1_series(vec r)
{
    static const REAL c[] = {
        (REAL)(1 / 6227020800.0), (REAL)(1 / 479001600.0), (REAL)(1 / 39916800.0),
        (REAL)(1 / 3628800.0),    (REAL)(1 / 362880.0),    (REAL)(1 / 40320.0),
        (REAL)(1 / 5040.0),       (REAL)(1 / 720.0),       (REAL)(1 / 120.0),
        (REAL)(1 / 24.0),         (REAL)(1 / 6.0),         (REAL)(1 / 2.0)};
    const int terms = VEC_DOUBLE ? 12 : 6;
    return vec_mul_add(vec_polynomial(terms, c + 12 - terms, r), r * r, r);
}

/* Beyond the bounds the result is 0 or infinity anyway.  2^n is applied in two halves, for n goes
 * below the smallest normal exponent and above the largest. */
VEC_INLINE vec vec_exp(vec x)
{
    const vec low = vec_of(VEC_DOUBLE ? -746 : -104);
    const vec high = vec_of(VEC_DOUBLE ? 710 : 89);
    x = vec_pick(x < low, low, x); /* NaN stays NaN */
    x = vec_pick(x > high, high, x);
    vec n = vec_to_whole(x, VEC_INVERSE_LN2) - VEC_BIG;
    vec big_half = vec_to_whole(n, (REAL)0.5), rest = n - (big_half - VEC_BIG);
    vec y = vec_expm1_series(vec_without_ln2(x, n));
    vec power = vec_2_to(big_half);
    return vec_mul_add(y, power, power) * vec_2_to(rest + VEC_BIG);
}

/* exp(x) for x <= 0: the weight of a score that is x above the maximum.  What would be a denormal
 * number is 0, and so is exp(-inf); NaN stays NaN.  (Up to x = 88 it is exp all the same.) */
VEC_INLINE vec vec_exp_weight(vec x)
{
    const vec low = vec_of(VEC_DOUBLE ? (REAL)-708.39 : (REAL)-87.33);
    vec big = vec_to_whole(x, VEC_INVERSE_LN2);
    vec y = vec_expm1_series(vec_without_ln2(x, big - VEC_BIG));
    vec power = vec_2_to(big);
    return vec_pick(x < low, vec_of(0), vec_mul_add(y, power, power));
}

/* sigmoid(x) as a factor, and its derivative: never below 1e-38 (double: 1e-307), which saves what
 * vec_sigmoid does for denormal numbers.  ds = s (1 - s), without a subtraction. */
VEC_INLINE vec vec_gate(vec x, vec *ds)
{
    const vec last = vec_of(VEC_DOUBLE ? 708 : 87);
    x = vec_pick(x > last, last, x); /* NaN stays NaN */
    x = vec_pick(x < -last, -last, x);
    vec big = vec_to_whole(x, -VEC_INVERSE_LN2);
    vec y = vec_expm1_series(vec_without_ln2(-x, big - VEC_BIG));
    vec power = vec_2_to(big);
    vec e = vec_mul_add(y, power, power), s = 1 / (1 + e); /* e = exp(-x) */
    *ds = e * s * s;
    return s;
}

VEC_INLINE vec vec_tanh(vec x)
{
    const vec last = vec_of(20); /* 1 - tanh(20) is below half a unit */
    vec a = vec_abs(x);
    a = vec_pick(a > last, last, a);
    vec big = vec_to_whole(a, -2 * VEC_INVERSE_LN2);
    vec r = vec_without_ln2(-2 * a, big - VEC_BIG);
    vec power = vec_2_to(big);
    vec E = vec_mul_add(power, vec_expm1_series(r), power - 1);
    return (vec)((vec_bits)vec_abs(-E / (2 + E)) | ((vec_bits)x & (vec_bits)vec_of(-(REAL)0.0)));
}

VEC_INLINE vec vec_log(vec x)
{
    static const REAL c[] = {(REAL)(2 / 21.0), (REAL)(2 / 19.0), (REAL)(2 / 17.0), (REAL)(2 / 15.0),
                             (REAL)(2 / 13.0), (REAL)(2 / 11.0), (REAL)(2 / 9.0),  (REAL)(2 / 7.0),
                             (REAL)(2 / 5.0),  (REAL)(2 / 3.0)};
    const int terms = VEC_DOUBLE ? 10 : 4;
    const vec zero = {0}, inf = vec_of((REAL)INFINITY);
    const vec smallest = vec_of(VEC_DOUBLE ? (REAL)DBL_MIN : (REAL)FLT_MIN);
    const vec_bits root = (vec_bits)vec_of((REAL)0.70710678118654752440);
    const vec_bits one = (vec_bits)vec_of(1);
    const vec_bits fraction = (((vec_bits){0} + 1) << VEC_FRACTION) - 1;

    /* a denormal number gains 2^(its fraction + 2) */
    const int gain = VEC_FRACTION + 2;
    vec scale = vec_of(4 / REAL_EPS);
    vec normal = vec_pick(x < smallest, x * scale, x);
    vec gained = vec_pick(x < smallest, vec_of(gain), zero);

    /* adding one - root carries into the exponent just where the fraction passes sqrt(2) */
    vec_bits b = (vec_bits)normal + (one - root);
    vec_bits big = (vec_bits)vec_of(VEC_BIG) + (b >> VEC_FRACTION);
    vec e = (vec)big - (VEC_BIG + VEC_BIAS) - gained;
    vec f = (vec)((b & fraction) + root) - 1;

    vec s = f / (2 + f), z = s * s;
    vec f_minus_R = vec_mul_add(-vec_polynomial(terms, c + 10 - terms, z), z, f);
    vec low = vec_mul_add(s, f_minus_R, -VEC_LN2_LOW * e);
    vec y = vec_mul_add(e, vec_of(VEC_LN2_HIGH), f - low);

    y = vec_pick(x == inf, inf, y);
    y = vec_pick(x == 0, -inf, y);
    return vec_pick(x >= 0, y, vec_of((REAL)NAN));
}

/* P(a) = (log2 Phi(-a) + 1) / a for a >= 0 */
VEC_INLINE vec vec_log_normal(vec a)
{
    static const REAL of_float[] = {
        (REAL)-2.838173774e-6, (REAL)3.941667585e-5, (REAL)-0.0001863640458, (REAL)-0.0001364988717,
        (REAL)0.007062860919,  (REAL)-0.05249580218, (REAL)-0.4592083164,    (REAL)-1.151105192};
    static const REAL of_double[] = {
        (REAL)0.0000000000000000e-18,  (REAL)-3.1841350173088217e-18, (REAL)1.7980922418746094e-16,
        (REAL)-4.5538351371244647e-15, (REAL)6.6823126383515803e-14,  (REAL)-5.9402360831228788e-13,
        (REAL)2.6013896542957899e-12,  (REAL)8.1551274050809383e-12,  (REAL)-2.3612732948401335e-10,
        (REAL)2.1027212356368428e-9,   (REAL)-1.1763492881705201e-8,  (REAL)4.3817956150305852e-8,
        (REAL)-8.9947434357488658e-8,  (REAL)-7.4837130025602847e-8,  (REAL)1.3053191028529879e-6,
        (REAL)-4.0838968592358425e-6,  (REAL)-2.3508251646065546e-6,  (REAL)7.5259419727398527e-5,
        (REAL)-0.00030589133837884797, (REAL)5.3352600793402312e-5,   (REAL)0.0068991288049604317,
        (REAL)-0.052421193319105684,   (REAL)-0.45922409426374472,    (REAL)-1.1511040990721551};
    return VEC_DOUBLE ? vec_polynomial(24, of_double, a) : vec_polynomial(8, of_float, a);
}

/* At `last` t is so low that vec_2_to gives 0. */
VEC_INLINE vec vec_normal(vec x)
{
    const REAL ln2 = (REAL)0.69314718055994530942;
    const vec last = vec_of(VEC_DOUBLE ? (REAL)10.651 : (REAL)9.9555);
    vec a = vec_abs(x);
    a = vec_pick(a > last, last, a); /* NaN stays NaN */
    vec t = vec_mul_add(a, vec_log_normal(a), vec_of(-1)), big = t + VEC_BIG,
        r = t - (big - VEC_BIG);
    vec power = vec_2_to(big), q = vec_mul_add(vec_expm1_series(r * ln2), power, power);
    return vec_pick(x < 0, q, 1 - q);
}

#endif

VEC_INLINE vec vec_sigmoid(vec x)
{
    vec e = vec_exp(-vec_abs(x));
    return vec_pick(x < 0, e, vec_of(1)) / (1 + e);
}

#ifdef ATTIC_PLAIN_KERNELS
VEC_INLINE vec vec_gate(vec x, vec *ds)
{
    vec s = vec_sigmoid(x);
    *ds = s * vec_sigmoid(-x);
    return s;
}
#endif
#endif /* AT_DUAL */

#endif
