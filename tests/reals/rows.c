/* rows.c -- what is done to rows (kernels/rows.h), in plain loops, for a type that has no vectors. */
#include "kernels/rows.h"

#include "kernels/real.h"

REAL row_sum(ptrdiff_t n, const REAL *x)
{
    REAL sum = 0;
    for (ptrdiff_t j = 0; j < n; j++) sum += x[j];
    return sum;
}

REAL row_dot(ptrdiff_t n, const REAL *x, const REAL *y)
{
    REAL sum = 0;
    for (ptrdiff_t j = 0; j < n; j++) sum += x[j] * y[j];
    return sum;
}

REAL row_max(ptrdiff_t n, const REAL *x)
{
    REAL max = -(REAL)INFINITY;
    for (ptrdiff_t j = 0; j < n; j++) {
        if (isnan(VALUE(x[j]))) return x[j];
        if (VALUE(x[j]) > VALUE(max)) max = x[j];
    }
    return max;
}

REAL row_exp_sum(ptrdiff_t n, const REAL *x, REAL m, REAL *y)
{
    REAL sum = 0;
    for (ptrdiff_t j = 0; j < n; j++) {
        REAL e = exp(x[j] - m);
        if (y) y[j] = e;
        sum += e;
    }
    return sum;
}

void row_scale(ptrdiff_t n, REAL a, const REAL *x, REAL *y)
{
    for (ptrdiff_t j = 0; j < n; j++) y[j] = a * x[j];
}

void vexp(ptrdiff_t n, const REAL *x, REAL *y)
{
    for (ptrdiff_t j = 0; j < n; j++) y[j] = exp(x[j]);
}
