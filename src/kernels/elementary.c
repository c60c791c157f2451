/* elementary.c -- exp, log, pow, sin, cos, tanh, erfc and others, with the same bits on every
 * machine; see elementary.h.
 *
 * Every function is a few sums, products and quotients of doubles in a fixed order, without fused
 * multiply-adds.  What must not be lost to rounding is kept as the sum of two doubles, hi + lo,
 * with |lo| at most half a unit in the last place of hi.  Of a + b and a b the second double is
 * exactly what the first one lacks:
 *
 *     s = fl(a + b),  v = fl(s - a):   a + b = s + ((a - (s - v)) + (b - v))           (Knuth)
 *     a = a1 + a2, 26 bits each:       a b = p + (((a1 b1 - p) + a1 b2 + a2 b1) + a2 b2)  (Dekker)
 *
 * Series are Taylor's, so that every coefficient can be seen to be right.  Their length follows
 * from the largest argument: what is left out is below 2^-58 of the result. */
#include "kernels/elementary.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/arithmetic.h"

#define INFINITE ((double)INFINITY)
#define NOT_A_NUMBER ((double)NAN)

typedef struct {
    double hi, lo;
} two;

/* ------------------------------------------------------------------ sums of two doubles -------- */

static two two_sum(double a, double b)
{
    double s = a + b, v = s - a;
    return (two){s, (a - (s - v)) + (b - v)};
}

/* The same, where |a| >= |b| or a is 0. */
static two two_sorted(double a, double b)
{
    double s = a + b;
    return (two){s, b - (s - a)};
}

static two two_product(double a, double b)
{
    const double split = 0x1p27 + 1;
    double p = a * b, a1 = split * a, b1 = split * b;
    a1 -= a1 - a;
    b1 -= b1 - b;
    double a2 = a - a1, b2 = b - b1;
    return (two){p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2};
}

static two two_add(two a, two b)
{
    two s = two_sum(a.hi, b.hi), t = two_sum(a.lo, b.lo);
    s = two_sorted(s.hi, s.lo + t.hi);
    return two_sorted(s.hi, s.lo + t.lo);
}

static two two_times(two a, two b)
{
    two p = two_product(a.hi, b.hi);
    return two_sorted(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

static two two_over(two a, two b)
{
    double q = a.hi / b.hi;
    two p = two_product(q, b.hi);
    double left = ((a.hi - p.hi) - p.lo) + (a.lo - q * b.lo);
    return two_sorted(q, left / b.hi);
}

/* c[0] + c[1] x + c[2] x^2 + ..., n coefficients; the even and the odd ones do not wait for each
 * other. */
static inline __attribute__((always_inline)) double series(double x, const double *c, int n)
{
    const double z = x * x;
    double even = c[(n - 1) / 2 * 2], odd = c[n / 2 * 2 - 1];
    for (int i = (n - 1) / 2 * 2 - 2; i >= 0; i -= 2) even = c[i] + z * even;
    for (int i = n / 2 * 2 - 3; i > 0; i -= 2) odd = c[i] + z * odd;
    return even + x * odd;
}

/* ------------------------------------------------------------------ exp ------------------------ */

/* ln 2 = LN2_1 + LN2_2 + LN2_3; the first has 33 bits, so that its product with k is exact. */
#define LN2_1 0x1.62e42ffp-1
#define LN2_2 -0x1.718432a1b0e26p-35
#define LN2_3 -0x1.9ff0342542fc3p-90
#define ONE_OVER_LN2 0x1.71547652b82fep+0

/* 2^k, a normal number */
static double power_of_2(int k)
{
    const uint64_t bits = (uint64_t)(1023 + k) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* 2^k (y.hi + y.lo) */
static double scaled(two y, int k)
{
    const double sum = y.hi + y.lo;
    return k < -1020 || k > 1020 ? ldexp(sum, k) : sum * power_of_2(k);
}

/* exp(r) - 1 = r + r^2/2 + r^3 (1/3! + r/4! + ...) for |r.hi| <= ln(2)/2; the last term is
 * r^14/14! */
static two exp_minus_1(two r)
{
    static const double c[] = {1. / 6,        1. / 24,        1. / 120,        1. / 720,
                               1. / 5040,     1. / 40320,     1. / 362880,     1. / 3628800,
                               1. / 39916800, 1. / 479001600, 1. / 6227020800, 1. / 87178291200};
    const two half_square = two_product(r.hi, 0.5 * r.hi);
    const double x = r.hi, rest = x * x * x * series(x, c, 12);
    two s = two_sum(x, half_square.hi);
    return two_sorted(s.hi, s.lo + (rest + (half_square.lo + (r.lo + r.lo * x))));
}

/* exp(x) = 2^k y, for |x.hi| <= 800 */
static two exp_of(two x, int *k)
{
    const double n = rint(x.hi * ONE_OVER_LN2);
    two r = two_sum(x.hi - n * LN2_1, -n * LN2_2);
    r = two_sorted(r.hi, r.lo + (x.lo - n * LN2_3));
    *k = (int)n;
    const two e = exp_minus_1(r), y = two_sorted(1, e.hi);
    return two_sorted(y.hi, y.lo + e.lo);
}

/* exp(x.hi + x.lo), for any x */
static double exp_rounded(two x)
{
    int k;
    if (!(x.hi <= 800)) return x.hi + x.hi; /* inf or NaN; 2^1154 would be beyond ldexp as well */
    if (x.hi < -800) return 0;
    const two y = exp_of(x, &k);
    return scaled(y, k);
}

double at_f64_exp(double x)
{
    if (x > 800) return INFINITE;
    return exp_rounded((two){x, 0});
}

double at_f64_exp2(double x)
{
    if (!(fabs(x) <= 1100)) return x > 0 ? INFINITE : x < 0 ? 0 : x;
    const double k = rint(x);
    const two ln2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56}, r = {x - k, 0};
    const two e = exp_minus_1(two_times(r, ln2)), y = two_sorted(1, e.hi);
    return scaled((two){y.hi, y.lo + e.lo}, (int)k);
}

/* tanh(x) = E / (E + 2) with E = exp(2 x) - 1 = (2^k - 1) + 2^k e */
double at_f64_tanh(double x)
{
    const double a = fabs(x);
    if (!(a >= 0x1p-28)) return x; /* x - x^3/3 ...; NaN */
    if (a > 22) return x < 0 ? -1 : 1;
    const double n = rint(2 * a * ONE_OVER_LN2), power = ldexp(1, (int)n);
    two r = two_sum(2 * a - n * LN2_1, -n * LN2_2);
    two e = exp_minus_1(two_sorted(r.hi, r.lo - n * LN2_3));
    e = two_add((two){power - 1, 0}, (two){power * e.hi, power * e.lo});
    e = two_over(e, two_add(e, (two){2, 0}));
    return x < 0 ? -(e.hi + e.lo) : e.hi + e.lo;
}

/* ------------------------------------------------------------------ log ------------------------ */

/* x = 2^k m with sqrt(1/2) <= m < sqrt(2), for a normal x: the power of two to divide by, and k */
static double power_below(double x, int *k)
{
    uint64_t bits;
    double power;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t root = 0x3fe6a09e667f3bcdu; /* sqrt(1/2) */
    const int64_t n = (int64_t)(bits - root) >> 52;
    *k = (int)n;
    bits = (uint64_t)(1023 - n) << 52; /* 2^-k */
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* log(1 + f) = 2 atanh(s) = 2 s (1 + z/3 + z^2/5 + ...) with s = f / (2 + f), z = s^2, for
 * sqrt(1/2) <= 1 + f <= sqrt(2): |s| < 0.172.  The last term is z^13/27. */
static two log_near_1(two f, bool precisely)
{
    static const double c[] = {1. / 3,  1. / 5,  1. / 7,  1. / 9,  1. / 11, 1. / 13, 1. / 15,
                               1. / 17, 1. / 19, 1. / 21, 1. / 23, 1. / 25, 1. / 27};
    const two s = two_over(f, two_sorted(2, f.hi)); /* up to f.lo^2 */
    if (!precisely) {
        const double z = s.hi * s.hi;
        return two_sorted(2 * s.hi, 2 * (s.lo + s.hi * z * series(z, c, 13)));
    }
    const two third = {1. / 3, 0x1.5555555555555p-56}, fifth = {1. / 5, -0x1.999999999999ap-57};
    const two z = two_times(s, s);
    two sum = two_add(fifth, (two){z.hi * series(z.hi, c + 2, 11), 0});
    sum = two_add(third, two_times(z, sum));
    sum = two_add(s, two_times(s, two_times(z, sum)));
    return (two){2 * sum.hi, 2 * sum.lo};
}

/* log(x + low) for a finite x > 0, with |low| at most half a unit of x; precisely: with 2^-65 of
 * it, which pow needs, in place of 2^-59 */
static two log_of(double x, double low, bool precisely)
{
    int k, before = 0;
    if (x < 0x1p-1000) x *= 0x1p60, low *= 0x1p60, before = -60;
    if (x > 0x1p1000) x *= 0x1p-60, low *= 0x1p-60, before = 60;
    const double power = power_below(x, &k);
    const two f = log_near_1(two_sum(x * power - 1, low * power), precisely);
    const double n = k + before;
    return two_add(two_sum(n * LN2_1, n * LN2_2), f);
}

/* NaN where there is no logarithm, -inf of 0, inf of inf; else 1: it is to be computed */
static double log_at_ends(double x)
{
    return x > 0 && x < INFINITE ? 1 : x == 0 ? -INFINITE : x < 0 ? NOT_A_NUMBER : x;
}

double at_f64_log(double x)
{
    const double end = log_at_ends(x);
    if (end != 1) return end;
    const two y = log_of(x, 0, false);
    return y.hi + y.lo;
}

double at_f64_log10(double x)
{
    const double end = log_at_ends(x);
    if (end != 1) return end;
    const two y =
        two_times(log_of(x, 0, false), (two){0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57});
    return y.hi + y.lo;
}

double at_f64_log1p(double x)
{
    if (fabs(x) < 0x1p-54) return x;
    const two sum = two_sum(1, x);
    const double end = log_at_ends(sum.hi);
    if (end != 1) return end;
    const bool near = x > -0.29 && x < 0.41;
    const two y = near ? log_near_1((two){x, 0}, false) : log_of(sum.hi, sum.lo, false);
    return y.hi + y.lo;
}

/* ------------------------------------------------------------------ pow ------------------------ */

/* 0: y is no whole number, 1: odd, 2: even */
static int parity(double y)
{
    if (rint(y) != y) return 0;
    return rint(0.5 * y) == 0.5 * y ? 2 : 1;
}

/* |x|^y for |x| of 0 or inf, or |y| so large that there is nothing between: 0, 1 or inf */
static double pow_at_ends(double x, double y)
{
    return x == 1 ? 1 : (x > 1) == (y > 0) ? INFINITE : 0;
}

double at_f64_pow(double x, double y)
{
    if (y == 0 || x == 1) return 1;
    if (x != x || y != y) return x + y;
    const double a = fabs(x);
    const int whole = parity(y);
    const bool infinite = a == INFINITE || fabs(y) == INFINITE;
    if (x < 0 && !whole && !infinite) return NOT_A_NUMBER;
    double z;
    if (a == 0 || infinite || fabs(y) > 0x1p65) {
        z = pow_at_ends(a, y);
    } else {
        const two l = log_of(a, 0, true);
        two p = two_product(l.hi, y);
        p.lo += l.lo * y;
        z = p.hi > 800 ? INFINITE : exp_rounded(two_sorted(p.hi, p.lo));
    }
    return signbit(x) && whole == 1 ? -z : z;
}

/* ------------------------------------------------------------------ sin, cos ------------------- */

/* 2/pi in binary, behind the point: 1280 bits */
static const uint32_t two_over_pi[40] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
    0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
    0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
    0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b,
    0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab, 0xf0cfbc20, 0x9af4361d};

/* 32 bits of it, from bit `from` on, which may be before the point */
static uint32_t bits_of_two_over_pi(int from)
{
    const int word = (from + 64) / 32 - 2, shift = (from + 64) % 32;
    const uint64_t high = word < 0 ? 0 : two_over_pi[word],
                   low = word + 1 < 0 ? 0 : two_over_pi[word + 1];
    return (uint32_t)((high << 32 | low) << shift >> 32);
}

/* x = (n + r) pi/2 for a large finite x > 0: r in [-1/2, 1/2], n modulo 4 (Payne and Hanek).
 *
 * x = M 2^e with a whole number M below 2^53.  Bits of 2/pi from the point on, before number e - 2,
 * give multiples of 4 in the product x 2/pi: they are left out.  Of the 192 bits after them comes
 * W, and the product is M W 2^-190 modulo 4, up to M 2^-190. */
static two quarter_turns(double x, int *n)
{
    int e;
    const uint64_t M = (uint64_t)(0x1p53 * frexp(x, &e));
    e -= 53;
    const uint32_t m[2] = {(uint32_t)M, (uint32_t)(M >> 32)};
    uint32_t product[6] = {0}; /* the lowest 32 bits first */
    for (int i = 0; i < 2; i++) {
        uint64_t carry = 0;
        for (int j = 0; i + j < 6; j++) {
            carry += (uint64_t)m[i] * bits_of_two_over_pi(e - 2 + 32 * (5 - j)) + product[i + j];
            product[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    /* Two bits before the point.  From one half on, the next quarter is nearer. */
    const bool up = product[5] >> 29 & 1;
    *n = (int)(product[5] >> 30) + up;
    product[5] &= 0x3fffffff;
    if (up) { /* r - 1, of which the sign is taken out */
        uint64_t carry = 1;
        for (int i = 0; i < 6; i++, carry >>= 32)
            product[i] = (uint32_t)(carry += (uint32_t)~product[i]);
        product[5] &= 0x3fffffff;
    }
    two r = {0, 0};
    double unit = 0x1p-30;
    for (int i = 5; i >= 0; i--, unit *= 0x1p-32) r = two_add(r, (two){unit * product[i], 0});
    return up ? (two){-r.hi, -r.lo} : r;
}

/* |x| = n pi/2 + r with |r| <= pi/4, n modulo 4 */
static two reduced(double x, int *n)
{
    const double a = fabs(x);
    if (a < 0.785) return *n = 0, (two){a, 0};
    if (a < 0x1p19) {
        const double k = rint(a * 0x1.45f306dc9c883p-1); /* 2/pi */
        *n = (int)((int64_t)k & 3);
        two r = two_sum(a - k * 0x1.921fb544p+0, -k * 0x1.0b4611a6p-34); /* 33 bits each: exact */
        const two third = two_product(k, -0x1.3198a2e037073p-69);
        return two_add(r, (two){third.hi, third.lo - k * 0x1.129024e088a68p-123});
    }
    const two pi_half = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
    return two_times(quarter_turns(a, n), pi_half);
}

/* sin r = r - r^3/3! + ...; the last term is r^17/17! */
static double sin_near_0(two r)
{
    static const double c[] = {
        -1. / 6,        1. / 120,        -1. / 5040,          1. / 362880,
        -1. / 39916800, 1. / 6227020800, -1. / 1307674368000, 1. / 355687428096000};
    const double x = r.hi, z = x * x;
    return x + (x * z * series(z, c, 8) + (r.lo - 0.5 * z * r.lo));
}

/* cos r = 1 - r^2/2 + r^4/4! - ...; the last term is r^16/16! */
static double cos_near_0(two r)
{
    static const double c[] = {1. / 24,        -1. / 720,         1. / 40320,         -1. / 3628800,
                               1. / 479001600, -1. / 87178291200, 1. / 20922789888000};
    const double x = r.hi, z = x * x;
    const two half_square = two_product(x, 0.5 * x), y = two_sorted(1, -half_square.hi);
    return y.hi + (y.lo + (z * z * series(z, c, 7) - (half_square.lo + x * r.lo)));
}

/* sin(x + quarters pi/2) */
static double sine(double x, bool negative, int quarters)
{
    if (!(fabs(x) < INFINITE)) return NOT_A_NUMBER;
    int n;
    const two r = reduced(x, &n);
    n += quarters;
    const double y = n & 1 ? cos_near_0(r) : sin_near_0(r);
    return negative != (n >> 1 & 1) ? -y : y;
}

double at_f64_sin(double x)
{
    return sine(x, signbit(x), 0);
}

double at_f64_cos(double x)
{
    return sine(x, false, 1);
}

/* ------------------------------------------------------------------ erfc ----------------------- */

/* erf(x) = 2/sqrt(pi) x (1 - z/3 + z^2/(2! 5) - ...) with z = x^2, for |x| < 0.5; the last term
 * is z^12/(12! 25) */
static two erf_near_0(double x)
{
    static const double c[] = {-1. / 3,       1. / 10,       -1. / 42,        1. / 216,
                               -1. / 1320,    1. / 9360,     -1. / 75600,     1. / 685440,
                               -1. / 6894720, 1. / 76204800, -1. / 918086400, 1. / 11975040000};
    const double z = x * x;
    two y = two_product(x, 0x1.20dd750429b6dp+0);
    y.lo += x * 0x1.1ae3a914fed80p-56;
    return two_sorted(y.hi, y.lo + y.hi * z * series(z, c, 12));
}

/* erfc(a) = exp(-a^2) P(t) / (1 + 2 a) with t = (a - 4) / (a + 4), for 0 <= a <= 28.  P is a
 * polynomial that was fitted at Chebyshev's points with 60 digits: it is off by 2e-18 at most. */
static two erfc_of(double a, int *k)
{
    static const double c[] = {
        0x1.3ba5916e9fd7fp+0,   -0x1.1df1ad154a28fp-3,  0x1.f7f5df66fd6a7p-7,
        0x1.16ecefcfa540ep-4,   -0x1.9ddb23c3e8874p-4,  0x1.7fee004e112c3p-4,
        -0x1.0fb06dfe56142p-4,  0x1.3079edf6aa5a8p-5,   -0x1.096238828c1cbp-6,
        0x1.49c6727af5d87p-8,   -0x1.8d4a9c3d62797p-11, -0x1.a1df1e2a70512p-13,
        0x1.3be068698b9ccp-13,  -0x1.9959f4cc5a01cp-16, -0x1.788ca4d342b82p-17,
        0x1.7f2d5af276b00p-18,  0x1.3b713b970cad2p-22,  -0x1.bb2bbabb02ec5p-21,
        0x1.40eafd5947706p-24,  0x1.d8b4353ca5555p-24,  -0x1.353a87be1712dp-26,
        -0x1.e432644b5660ap-27, 0x1.00cd8e2f991c3p-29,  0x1.5b62d008c2d94p-30,
    };
    const two t = two_over(two_sum(a, -4), two_sum(a, 4)), square = two_product(a, a);
    double q = c[23], slope = 0; /* P = c[0] + t q; the slope of q */
    for (int i = 22; i > 0; i--) slope = q + t.hi * slope, q = c[i] + t.hi * q;
    two p = two_product(t.hi, q);
    p = two_add((two){c[0], -0x1.9ec6b05d1f8fep-55}, (two){p.hi, p.lo + t.lo * (q + t.hi * slope)});
    p = two_over(p, two_sum(1, 2 * a));
    return two_times(p, exp_of((two){-square.hi, -square.lo}, k));
}

double at_f64_erfc(double x)
{
    if (x != x) return x;
    const double a = fabs(x);
    int k = 0;
    two y = {0, 0};
    if (a < 0.5) {
        y = erf_near_0(x);
        y = two_add((two){1, 0}, (two){-y.hi, -y.lo});
        return y.hi + y.lo;
    }
    if (a < 28) y = erfc_of(a, &k);
    if (x >= 0) return scaled(y, k);
    const double power = ldexp(1, k);
    y = two_add((two){2, 0}, (two){-power * y.hi, -power * y.lo});
    return y.hi + y.lo;
}

/* ------------------------------------------------------------------ of floats ------------------ */

/* Doubles have 29 bits more than a float: one of them is enough for each step, and what is off by
 * 2^-31 of itself is the float next to it or the one after.  Here multiply-adds are those of the
 * arithmetic. */
#ifdef AT_MUL_ADD_IS_ONE
#define MUL_ADD(a, b, c) __builtin_fma(a, b, c)
#else
#define MUL_ADD(a, b, c) ((a) * (b) + (c))
#endif

/* c0 + c1 x + c2 x^2 + c3 x^3, and two terms more; z = x^2 */
#define CUBIC(x, z, c0, c1, c2, c3) MUL_ADD(MUL_ADD(c3, x, c2), z, MUL_ADD(c1, x, c0))
#define QUINTIC(x, z, c0, c1, c2, c3, c4, c5)                                                      \
    MUL_ADD(CUBIC(x, z, c2, c3, c4, c5), z, MUL_ADD(c1, x, c0))

/* exp(x) for |x| <= 104; the last term is r^8/8! */
static double short_exp(double x)
{
    const double big = 0x1.8p52, k = (x * ONE_OVER_LN2 + big) - big;
    const double r = MUL_ADD(k, -0x1.62e42fefa39efp-1, x), z = r * r;
    const double rest = QUINTIC(r, z, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040, 1. / 40320);
    return power_of_2((int)k) * (MUL_ADD(z, MUL_ADD(r, rest, 0.5), r) + 1);
}

/* 1/c and log c for 64 numbers c from 0.7 to 1.4: where x = 2^k m and m is in part i, c[i] is in
 * its middle, or 1.  1/c has so few bits that its product with a float is exact. */
#define PARTS_FROM 0x3fe6600000000000u
static const double parts[64][2] = {{0x1.6c1p+0, -0x1.689983bca6126p-2},
                                    {0x1.681p+0, -0x1.5d495dcacd6f1p-2},
                                    {0x1.643p+0, -0x1.5234e0670a525p-2},
                                    {0x1.606p+0, -0x1.472fdbe4fd3f2p-2},
                                    {0x1.5cap+0, -0x1.3c3b2736b3f61p-2},
                                    {0x1.58fp+0, -0x1.31579e142ddbp-2},
                                    {0x1.555p+0, -0x1.268620f34d63dp-2},
                                    {0x1.51dp+0, -0x1.1bf816355eb94p-2},
                                    {0x1.4e6p+0, -0x1.117ee81dfe4c4p-2},
                                    {0x1.4bp+0, -0x1.071b85fcd590dp-2},
                                    {0x1.47bp+0, -0x1.f99dc6c23b409p-3},
                                    {0x1.447p+0, -0x1.e533effde1014p-3},
                                    {0x1.414p+0, -0x1.d0fb7f2255e51p-3},
                                    {0x1.3e2p+0, -0x1.bcf6736f7d6c7p-3},
                                    {0x1.3b1p+0, -0x1.a926d3a4ad563p-3},
                                    {0x1.381p+0, -0x1.958eadae5fd89p-3},
                                    {0x1.352p+0, -0x1.8230164c1a332p-3},
                                    {0x1.324p+0, -0x1.6f0d28ae56b4cp-3},
                                    {0x1.2f7p+0, -0x1.5c28060c46b76p-3},
                                    {0x1.2cap+0, -0x1.4915d832fb562p-3},
                                    {0x1.29ep+0, -0x1.3643cad0588f1p-3},
                                    {0x1.273p+0, -0x1.23b412580b40dp-3},
                                    {0x1.249p+0, -0x1.1168e8127e327p-3},
                                    {0x1.22p+0, -0x1.fec9131dbeabbp-4},
                                    {0x1.1f7p+0, -0x1.da6e7637c46a1p-4},
                                    {0x1.1cfp+0, -0x1.b6a688d9b5b17p-4},
                                    {0x1.1a8p+0, -0x1.9375e55595edep-4},
                                    {0x1.181p+0, -0x1.6ff7309f8c003p-4},
                                    {0x1.15bp+0, -0x1.4d1515b987ce3p-4},
                                    {0x1.136p+0, -0x1.2ad449eff2316p-4},
                                    {0x1.111p+0, -0x1.08498b51e39b1p-4},
                                    {0x1.0edp+0, -0x1.cccb3cd79b2f5p-5},
                                    {0x1.0c9p+0, -0x1.88729e70ee637p-5},
                                    {0x1.0a7p+0, -0x1.475ee9a0b0b6fp-5},
                                    {0x1.084p+0, -0x1.03d5d85e73eefp-5},
                                    {0x1.062p+0, -0x1.83624fba83bd7p-6},
                                    {0x1.041p+0, -0x1.01f5658735842p-6},
                                    {0x1.02p+0, -0x1.fe02a6b106789p-8},
                                    {0x1p+0, 0},
                                    {0x1.f82p-1, 0x1.fbea8b13c03d9p-7},
                                    {0x1.f08p-1, 0x1.f7a9b16782856p-6},
                                    {0x1.e92p-1, 0x1.766d923c20ff8p-5},
                                    {0x1.e1ep-1, 0x1.f0c30c1116351p-5},
                                    {0x1.daep-1, 0x1.345179b63dd42p-4},
                                    {0x1.d42p-1, 0x1.6ef528c056a2cp-4},
                                    {0x1.cd8p-1, 0x1.a956d3ecade63p-4},
                                    {0x1.c72p-1, 0x1.e2507702af03bp-4},
                                    {0x1.c0ep-1, 0x1.0d79e7cd48e5ap-3},
                                    {0x1.bacp-1, 0x1.299d30c606ea7p-3},
                                    {0x1.b4ep-1, 0x1.44f8b726f8efbp-3},
                                    {0x1.af2p-1, 0x1.601b076e7a8a9p-3},
                                    {0x1.a98p-1, 0x1.7b0091651528cp-3},
                                    {0x1.a42p-1, 0x1.9509aa0044f8fp-3},
                                    {0x1.9ecp-1, 0x1.af6895610dbaep-3},
                                    {0x1.99ap-1, 0x1.c8df7cb9a8f77p-3},
                                    {0x1.948p-1, 0x1.e2a877a6b2c12p-3},
                                    {0x1.8fap-1, 0x1.fb7d86eee3b9p-3},
                                    {0x1.8acp-1, 0x1.0a504e97bb40cp-2},
                                    {0x1.862p-1, 0x1.1661caecb9ba4p-2},
                                    {0x1.818p-1, 0x1.22981fbef797bp-2},
                                    {0x1.7dp-1, 0x1.2e9e2bce12286p-2},
                                    {0x1.78ap-1, 0x1.3a71c56bb48c6p-2},
                                    {0x1.746p-1, 0x1.4610bc29c5e18p-2},
                                    {0x1.702p-1, 0x1.51d1d9310456cp-2}};

/* log(x) for a finite x > 0: log x = k log 2 + log c + log(1 + r), |r| < 1/64; the last term is
 * r^6/6. */
static double short_log(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t above = bits - PARTS_FROM;
    const double *c = parts[above >> 46 & 63], k = (double)((int64_t)above >> 52);
    bits -= above & (uint64_t)0xfff << 52;
    memcpy(&x, &bits, sizeof bits);
    const double r = MUL_ADD(x, c[0], -1), z = r * r;
    const double rest = MUL_ADD(z, -1. / 6, MUL_ADD(r, 1. / 5, -1. / 4));
    const double sum = MUL_ADD(z, rest, MUL_ADD(r, 1. / 3, -1. / 2));
    return MUL_ADD(k, 0x1.62e42fefa39efp-1, c[1]) + MUL_ADD(z, sum, r);
}

float at_f32_exp(float x)
{
    if (!(fabsf(x) <= 104)) return x > 0 ? (float)INFINITY : x < 0 ? 0 : x;
    return (float)short_exp((double)x);
}

float at_f32_log(float x)
{
    if (x > 0 && x < (float)INFINITY) return (float)short_log((double)x);
    return (float)log_at_ends((double)x);
}

float at_f32_log1p(float x)
{
    const double v = (double)x;
    if (fabsf(x) < 0x1p-13f) return (float)(v + v * v * (-1. / 2 + v * (1. / 3 - v * (1. / 4))));
    if (x > -1 && x < (float)INFINITY) return (float)short_log(1 + v);
    return (float)log_at_ends(1 + v);
}

float at_f32_pow(float x, float y)
{
    if (!(x > 0 && x < (float)INFINITY && fabsf(y) < (float)INFINITY))
        return (float)at_f64_pow((double)x, (double)y);
    const double l = (double)y * short_log((double)x);
    return (float)(fabs(l) <= 104 ? short_exp(l) : l > 0 ? INFINITE : 0);
}

/* sin(x + quarters pi/2); the last terms are r^11/11! and r^10/10! */
static double short_sine(double x, int quarters)
{
    if (!(fabs(x) < 0x1p19)) return sine(x, quarters == 0 && signbit(x), quarters);
    const double big = 0x1.8p52, k = (x * 0x1.45f306dc9c883p-1 + big) - big;
    const double near = x - k * 0x1.921fb544p+0;
    const double r = (near - k * 0x1.0b4611a6p-34) - k * 0x1.3198a2e037073p-69, z = r * r,
                 w = z * z;
    const int n = (int)k + quarters;
    const double even = QUINTIC(z, w, 1, -1. / 2, 1. / 24, -1. / 720, 1. / 40320, -1. / 3628800);
    const double odd = QUINTIC(z, w, 1, -1. / 6, 1. / 120, -1. / 5040, 1. / 362880, -1. / 39916800);
    const double y = n & 1 ? even : r * odd;
    return n & 2 ? -y : y;
}

float at_f32_sin(float x)
{
    return (float)short_sine((double)x, 0);
}

float at_f32_cos(float x)
{
    return (float)short_sine((double)x, 1);
}
