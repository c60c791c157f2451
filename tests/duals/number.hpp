// number.hpp -- dual numbers as a class, in place of kernels/dual.h: the witness of the witness.
//
// The kernels are compiled with it as C++.  It has no conversion to double, so no cast can drop a tangent; and its
// arithmetic is that of dual numbers as one reads it, not that of complex ones.  Its bytes are those of an at_dual.
#define AT_KERNELS_DUAL_H
#define restrict __restrict
extern "C" {
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
}
#include <cmath>

struct at_dual {
    double value, tangent;

    at_dual() = default;
    constexpr at_dual(double v, double t = 0) : value(v), tangent(t) {}

    friend at_dual operator+(at_dual x, at_dual y) { return {x.value + y.value, x.tangent + y.tangent}; }
    friend at_dual operator-(at_dual x, at_dual y) { return {x.value - y.value, x.tangent - y.tangent}; }
    friend at_dual operator-(at_dual x) { return {-x.value, -x.tangent}; }
    friend at_dual operator*(at_dual x, at_dual y)
    {
        return {x.value * y.value, x.value * y.tangent + x.tangent * y.value};
    }
    friend at_dual operator/(at_dual x, at_dual y)
    {
        const double q = x.value / y.value;
        return {q, (x.tangent - q * y.tangent) / y.value};
    }
    at_dual &operator+=(at_dual y) { return *this = *this + y; }
    at_dual &operator-=(at_dual y) { return *this = *this - y; }
    at_dual &operator*=(at_dual y) { return *this = *this * y; }
    at_dual &operator/=(at_dual y) { return *this = *this / y; }
};

static inline double value_of(at_dual x) { return x.value; }
static inline double value_of(double x) { return x; }
#define VALUE(x) value_of(x)
#define TANGENT(x) ((x).tangent)

static inline at_dual dual_of(double v, double t) { return {v, t}; }

// f(x) = f(v) + f'(v) t; where f' is infinite, a tangent of 0 stays 0
static inline at_dual chain(at_dual x, double f, double df) { return {f, x.tangent == 0 ? 0 : df * x.tangent}; }

static inline at_dual fabs(at_dual x) { return x.value > 0 ? x : -x; }
static inline at_dual exp(at_dual x)
{
    const double y = std::exp(x.value);
    return y == 0 ? at_dual(0) : chain(x, y, y);
}
static inline at_dual log(at_dual x) { return chain(x, x.value < 0 ? NAN : std::log(x.value), 1 / x.value); }
static inline at_dual log1p(at_dual x) { return chain(x, std::log1p(x.value), 1 / (1 + x.value)); }
static inline at_dual sqrt(at_dual x) { return chain(x, std::sqrt(x.value), 0.5 / std::sqrt(x.value)); }
static inline at_dual sin(at_dual x) { return chain(x, std::sin(x.value), std::cos(x.value)); }
static inline at_dual cos(at_dual x) { return chain(x, std::cos(x.value), -std::sin(x.value)); }
static inline at_dual tanh(at_dual x)
{
    const double c = std::cosh(x.value);
    return chain(x, std::tanh(x.value), 1 / c / c);
}
static inline at_dual erfc(at_dual x)
{
    return chain(x, std::erfc(x.value), -M_2_SQRTPI * std::exp(-x.value * x.value));
}
static inline at_dual pow(at_dual x, at_dual p)
{
    return chain(x, std::pow(x.value, p.value), p.value * std::pow(x.value, p.value - 1));
}
static inline double mul_add(double a, double b, double c) { return a * b + c; }
static inline at_dual mul_add(at_dual a, at_dual b, at_dual c) { return a * b + c; }
#define dual_over(x, y) (at_dual(x) / at_dual(y))
static inline at_dual dual_shared(at_dual y, at_dual s, at_dual n) { return {y.value, s.tangent / n.value}; }
