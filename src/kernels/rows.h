/* rows.h -- what is done to one row of n contiguous numbers.
 *
 * The order of every sum is fixed by n alone, so a row gives the same bits wherever it is computed. */
#ifndef AT_KERNELS_ROWS_H
#define AT_KERNELS_ROWS_H
#include "kernels/real.h"
#include <stddef.h>

REAL row_sum(ptrdiff_t n, const REAL *x);                /* sum_j x_j, 0 if n = 0 */
REAL row_dot(ptrdiff_t n, const REAL *x, const REAL *y); /* sum_j x_j y_j */
/* sum_j (x_j - mu)^2 */
REAL row_spread(ptrdiff_t n, const REAL *x, REAL mu);
REAL row_max(ptrdiff_t n, const REAL *x); /* max_j x_j, -inf if n = 0; NaN if any is */

/* y_j = exp(x_j - m); returns sum_j y_j.  The heart of every softmax.  y may be x, or NULL: only the
 * sum.  m must not be below the maximum by more than 88; an exp that would be a denormal number is 0. */
REAL row_exp_sum(ptrdiff_t n, const REAL *x, REAL m, REAL *y);

void row_axpy(ptrdiff_t n, REAL a, const REAL *x, REAL *y);  /* y_j += a x_j */
void row_scale(ptrdiff_t n, REAL a, const REAL *x, REAL *y); /* y_j = a x_j, y may be x */

#endif
