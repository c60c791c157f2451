/* rows.c -- what is done to one row of n contiguous numbers. */
#include "kernels/rows.h"

#ifndef REAL
#define AT_KERNELS "kernels/rows.c"
#include "kernels/each_real.h"
#else

REAL AT_FOR_REAL(row_sum)(ptrdiff_t n, const REAL *x)
{
    REAL sum = 0;
    for (ptrdiff_t j = 0; j < n; j++) sum += x[j];
    return sum;
}

REAL AT_FOR_REAL(row_dot)(ptrdiff_t n, const REAL *x, const REAL *y)
{
    REAL sum = 0;
    for (ptrdiff_t j = 0; j < n; j++) sum += x[j] * y[j];
    return sum;
}

REAL AT_FOR_REAL(row_max)(ptrdiff_t n, const REAL *x)
{
    REAL m = -(REAL)INFINITY;
    for (ptrdiff_t j = 0; j < n; j++)
        if (x[j] > m || x[j] != x[j]) m = x[j];
    return m;
}

REAL AT_FOR_REAL(row_exp_sum)(ptrdiff_t n, const REAL *x, REAL m, REAL *y)
{
    REAL sum = 0;
    for (ptrdiff_t j = 0; j < n; j++) sum += y[j] = exp(x[j] - m);
    return sum;
}

void AT_FOR_REAL(row_axpy)(ptrdiff_t n, REAL a, const REAL *x, REAL *y)
{
    for (ptrdiff_t j = 0; j < n; j++) y[j] += a * x[j];
}

void AT_FOR_REAL(row_scale)(ptrdiff_t n, REAL a, const REAL *x, REAL *y)
{
    for (ptrdiff_t j = 0; j < n; j++) y[j] = a * x[j];
}

#endif
