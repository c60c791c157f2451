/* dual.h -- numbers of two parts: a value v and a tangent t, how v changes along some direction.
 *
 *     x = v + t e,    e^2 = 0:    x y = v w + (v u + t w) e        y = w + u e
 *                                 f(x) = f(v) + f'(v) t e
 *
 * So what is computed with dual numbers gives its derivative along that direction as well, exactly:
 * there is no step.  (Clifford 1873; Wengert 1964 for programs.)
 *
 * C adds, multiplies and divides numbers of two parts already: they are its complex numbers, but
 * for i^2 = -1 in place of e^2 = 0.  With a tangent kept as 2^-600 t the product of two tangents,
 * below 2^-1074, is 0:
 *
 *     (v + 2^-600 t i) (w + 2^-600 u i) = v w - 2^-1200 t u + 2^-600 (v u + t w) i
 *
 * for |t|, |u| < 2^62, and up to 1e38 it is off the value by less than 1e-284.  At the other end, a
 * tangent below 1e-127 loses digits, and below 1e-143 it is 0.
 *
 * What else is needed is here: the functions of <math.h> that ops call.  Each has the value that it
 * has for a double.  Where its derivative is infinite a tangent of 0 stays 0.  A tangent that is
 * NaN or infinite spoils the value in the next product: record.c looks for such. */
#ifndef AT_KERNELS_DUAL_H
#define AT_KERNELS_DUAL_H
#include <math.h>

#include "kernels/elementary.h"

/* gcc 12 makes one multiply-add of the two products of a complex product where it vectorises it, in
 * spite of -ffp-contract=off. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-vectorize")
#endif

typedef double _Complex at_dual;
#define VALUE(x) __real__(x)
#define TANGENT(x) __imag__(x)

static inline at_dual dual_of(double value, double tangent)
{
    return __builtin_complex(value, tangent);
}

/* f(x) of f(v) and f'(v) */
static inline at_dual dual_chain(at_dual x, double f, double df)
{
    const double t = TANGENT(x);
    return dual_of(f, t == 0 ? 0 : df * t);
}

/* At 0 it is -x, as for x < 0: formulas with max(x, 0) beside |x| rely on it. */
static inline at_dual dual_fabs(at_dual x)
{
    const double v = VALUE(x);
    return dual_chain(x, fabs(v), v > 0 ? 1 : -1);
}

/* exp(-inf) is 0, and stays 0 whatever the tangent is: a masked score may have any tangent. */
static inline at_dual dual_exp(at_dual x)
{
    const double y = at_f64_exp(VALUE(x));
    return y == 0 ? 0 : dual_chain(x, y, y);
}

static inline at_dual dual_log(at_dual x)
{
    const double v = VALUE(x);
    return dual_chain(x, v < 0 ? (double)NAN : at_f64_log(v), 1 / v);
}

static inline at_dual dual_log1p(at_dual x)
{
    return dual_chain(x, at_f64_log1p(VALUE(x)), 1 / (1 + VALUE(x)));
}

static inline at_dual dual_sqrt(at_dual x)
{
    const double y = sqrt(VALUE(x));
    return dual_chain(x, y, 0.5 / y);
}

/* The exponent is a constant. */
static inline at_dual dual_pow(at_dual x, at_dual p)
{
    const double v = VALUE(x), q = VALUE(p);
    return dual_chain(x, at_f64_pow(v, q), q * at_f64_pow(v, q - 1));
}

static inline at_dual dual_sin(at_dual x)
{
    return dual_chain(x, at_f64_sin(VALUE(x)), at_f64_cos(VALUE(x)));
}

static inline at_dual dual_cos(at_dual x)
{
    return dual_chain(x, at_f64_cos(VALUE(x)), -at_f64_sin(VALUE(x)));
}

/* 1 - y^2 would lose its digits where y is almost 1. */
static inline at_dual dual_tanh(at_dual x)
{
    const double e = at_f64_exp(-fabs(VALUE(x))), c = 2 * e / (1 + e * e); /* 1 / cosh */
    return dual_chain(x, at_f64_tanh(VALUE(x)), c * c);
}

static inline at_dual dual_erfc(at_dual x)
{
    const double v = VALUE(x);
    return dual_chain(x, at_f64_erfc(v), -M_2_SQRTPI * at_f64_exp(-v * v));
}

/* x / y.  C's quotient is wrong for a value of 0 with a tangent, and rounded otherwise with each
 * compiler. */
static inline at_dual dual_over(at_dual x, at_dual y)
{
    const double w = VALUE(y), q = VALUE(x) / w, t = TANGENT(x), u = TANGENT(y);
    return dual_of(q, t == 0 && u == 0 ? 0 : (t - q * u) / w);
}

/* y, one of n equal values, with the mean of their tangents; s is the sum of all n. */
static inline at_dual dual_shared(at_dual y, at_dual s, at_dual n)
{
    return dual_of(VALUE(y), TANGENT(s) / VALUE(n));
}

#define mul_add(a, b, c) ((a) * (b) + (c))
#define AT_DUAL_OR_DOUBLE(f, x, other) _Generic((x), at_dual : dual_##f, default : other##f)
#define fabs(x) AT_DUAL_OR_DOUBLE(fabs, x, __builtin_)(x)
#define sqrt(x) AT_DUAL_OR_DOUBLE(sqrt, x, __builtin_)(x)
#define exp(x) AT_DUAL_OR_DOUBLE(exp, x, at_f64_)(x)
#define log(x) AT_DUAL_OR_DOUBLE(log, x, at_f64_)(x)
#define log1p(x) AT_DUAL_OR_DOUBLE(log1p, x, at_f64_)(x)
#define pow(x, y) AT_DUAL_OR_DOUBLE(pow, x, at_f64_)(x, y)
#define sin(x) AT_DUAL_OR_DOUBLE(sin, x, at_f64_)(x)
#define cos(x) AT_DUAL_OR_DOUBLE(cos, x, at_f64_)(x)
#define tanh(x) AT_DUAL_OR_DOUBLE(tanh, x, at_f64_)(x)
#define erfc(x) AT_DUAL_OR_DOUBLE(erfc, x, at_f64_)(x)

#endif
