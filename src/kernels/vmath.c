/* vmath.c -- elementary functions over arrays. */
#include "kernels/vmath.h"

#ifndef REAL
#define AT_KERNELS "kernels/vmath.c"
#include "kernels/each_real.h"
#else

void AT_FOR_REAL(vexp)(ptrdiff_t n, const REAL *x, REAL *y)
{
    for (ptrdiff_t i = 0; i < n; i++) y[i] = exp(x[i]);
}

void AT_FOR_REAL(vlog)(ptrdiff_t n, const REAL *x, REAL *y)
{
    for (ptrdiff_t i = 0; i < n; i++) y[i] = log(x[i]);
}

void AT_FOR_REAL(vtanh)(ptrdiff_t n, const REAL *x, REAL *y)
{
    for (ptrdiff_t i = 0; i < n; i++) y[i] = tanh(x[i]);
}

void AT_FOR_REAL(verf)(ptrdiff_t n, const REAL *x, REAL *y)
{
    for (ptrdiff_t i = 0; i < n; i++) y[i] = erf(x[i]);
}

void AT_FOR_REAL(vsigmoid)(ptrdiff_t n, const REAL *x, REAL *y)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        REAL e = exp(-fabs(x[i]));
        y[i] = (x[i] < 0 ? e : 1) / (1 + e);
    }
}

#endif
