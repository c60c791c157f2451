/* vmath.h -- elementary functions over arrays; y may be x. */
#ifndef AT_KERNELS_VMATH_H
#define AT_KERNELS_VMATH_H
#include "kernels/real.h"
#include <stddef.h>

void vexp(ptrdiff_t n, const REAL *x, REAL *y);     /* y = exp(x) */
void vlog(ptrdiff_t n, const REAL *x, REAL *y);     /* y = log(x), natural */
void vtanh(ptrdiff_t n, const REAL *x, REAL *y);    /* y = tanh(x) */
void vnormal(ptrdiff_t n, const REAL *x, REAL *y);  /* y = (1 + erf(x / sqrt 2)) / 2 */
void vsigmoid(ptrdiff_t n, const REAL *x, REAL *y); /* y = 1 / (1 + exp(-x)) */

#endif
