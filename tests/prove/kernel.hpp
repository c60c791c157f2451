// kernel.hpp -- elements of a finite field in place of kernels/dual.h: the kernels of the library, compiled as they are.
//
// VALUE(x) can be compared, and no more; a number has no conversion, so nothing that drops a derivative compiles.
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
#include "attic_prove.hpp"

using at_dual = attic_prove::number;
static inline attic_prove::order value_of(at_dual x) { return order_of(x); }
static inline attic_prove::order value_of(double x) { return x; }
static inline attic_prove::order tangent_of(at_dual x) { return x.tangent != 0; }
#define VALUE(x) value_of(x)
#define TANGENT(x) tangent_of(x)
static inline double mul_add(double a, double b, double c) { return a * b + c; }
static inline at_dual mul_add(at_dual a, at_dual b, at_dual c) { return a * b + c; }
#define dual_over(x, y) (at_dual(x) / at_dual(y))
static inline at_dual dual_shared(at_dual y, at_dual s, at_dual n)
{
    const at_dual mean = s / n;
    return mean.is_nan() ? mean : at_dual::of(y.value, mean.tangent);
}
