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
 * tangent below 1e-127 loses digits, and below 1e-142 it is 0.
 *
 * What else is needed is here: the functions of <math.h> that ops call.  Each has the value that it
 * has for a double.  Where its derivative is infinite a tangent of 0 stays 0.  A tangent that is
 * NaN or infinite spoils the value in the next product: record.c looks for such. */
#ifndef AT_KERNELS_DUAL_H
#define AT_KERNELS_DUAL_H
#include <math.h>

#define AT_DUAL_UNIT 0x1p-600 /* a tangent of 1, as it is kept */

/* f(x) of f(v) and f'(v) */
static inline double _Complex dual_chain(double _Complex x, double f, double df)
{
    const double t = __imag__ x;
    return __builtin_complex(f, t == 0 ? 0 : df * t);
}

/* At 0 it is -x, as for x < 0: formulas with max(x, 0) beside |x| rely on it. */
static inline double _Complex dual_fabs(double _Complex x)
{
    const double v = __real__ x;
    return dual_chain(x, fabs(v), v > 0 ? 1 : -1);
}

/* exp(-inf) is 0, and stays 0 whatever the tangent is: that of a masked score may be any. */
static inline double _Complex dual_exp(double _Complex x)
{
    const double y = exp(__real__ x);
    return y == 0 ? 0 : dual_chain(x, y, y);
}

static inline double _Complex dual_log(double _Complex x)
{
    const double v = __real__ x;
    return dual_chain(x, v < 0 ? (double)NAN : log(v), 1 / v);
}

static inline double _Complex dual_log1p(double _Complex x)
{
    return dual_chain(x, log1p(__real__ x), 1 / (1 + __real__ x));
}

static inline double _Complex dual_sqrt(double _Complex x)
{
    const double y = sqrt(__real__ x);
    return dual_chain(x, y, 0.5 / y);
}

/* The exponent is a constant. */
static inline double _Complex dual_pow(double _Complex x, double _Complex p)
{
    const double v = __real__ x, q = __real__ p;
    return dual_chain(x, pow(v, q), q * pow(v, q - 1));
}

static inline double _Complex dual_sin(double _Complex x)
{
    return dual_chain(x, sin(__real__ x), cos(__real__ x));
}

static inline double _Complex dual_cos(double _Complex x)
{
    return dual_chain(x, cos(__real__ x), -sin(__real__ x));
}

/* 1 - y^2 would lose its digits where y is almost 1. */
static inline double _Complex dual_tanh(double _Complex x)
{
    const double e = exp(-fabs(__real__ x)), c = 2 * e / (1 + e * e); /* 1 / cosh */
    return dual_chain(x, tanh(__real__ x), c * c);
}

static inline double _Complex dual_erfc(double _Complex x)
{
    const double v = __real__ x;
    return dual_chain(x, erfc(v), -M_2_SQRTPI * exp(-v * v));
}

/* x / y: C's quotient is wrong for a value of 0 with a tangent */
static inline double _Complex dual_over(double _Complex x, double _Complex y)
{
    const double w = __real__ y, q = __real__ x / w, t = __imag__ x, u = __imag__ y;
    return __builtin_complex(q, t == 0 && u == 0 ? 0 : (t - q * u) / w);
}

#define AT_DUAL_OR_DOUBLE(f, x) _Generic((x), double _Complex : dual_##f, default : f)(x)
#define fabs(x) AT_DUAL_OR_DOUBLE(fabs, x)
#define exp(x) AT_DUAL_OR_DOUBLE(exp, x)
#define log(x) AT_DUAL_OR_DOUBLE(log, x)
#define log1p(x) AT_DUAL_OR_DOUBLE(log1p, x)
#define sqrt(x) AT_DUAL_OR_DOUBLE(sqrt, x)
#define sin(x) AT_DUAL_OR_DOUBLE(sin, x)
#define cos(x) AT_DUAL_OR_DOUBLE(cos, x)
#define tanh(x) AT_DUAL_OR_DOUBLE(tanh, x)
#define erfc(x) AT_DUAL_OR_DOUBLE(erfc, x)
#define pow(x, p) _Generic((x), double _Complex : dual_pow, default : pow)(x, p)

#endif
