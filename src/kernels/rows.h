/* rows.h -- kernels on rows of contiguous elements; y may be x, except in copies of rows.
 *
 * The order of every sum is fixed by n alone, so a row gives the same bits wherever it is
 * computed. */
#ifndef AT_KERNELS_ROWS_H
#define AT_KERNELS_ROWS_H
#include "kernels/real.h"
#include <stddef.h>

REAL row_sum(ptrdiff_t n, const REAL *x);                /* sum_j x_j, 0 if n = 0 */
REAL row_dot(ptrdiff_t n, const REAL *x, const REAL *y); /* sum_j x_j y_j */
/* sum_j (x_j - mu)^2 */
REAL row_spread(ptrdiff_t n, const REAL *x, REAL mu);
REAL row_max(ptrdiff_t n, const REAL *x); /* max_j x_j, -inf if n = 0; NaN if any is */

/* y_j = exp(x_j - m); returns sum_j y_j.  The heart of every softmax.  y may be NULL: only the sum.
 * m must not be below the maximum by more than 88; an exp that would be denormal is 0. */
REAL row_exp_sum(ptrdiff_t n, const REAL *x, REAL m, REAL *y);

void row_axpy(ptrdiff_t n, REAL a, const REAL *x, REAL *y);  /* y_j += a x_j */
void row_scale(ptrdiff_t n, REAL a, const REAL *x, REAL *y); /* y_j = a x_j */

void vexp(ptrdiff_t n, const REAL *x, REAL *y);     /* y_j = exp(x_j) */
void vlog(ptrdiff_t n, const REAL *x, REAL *y);     /* y_j = log(x_j), natural */
void vtanh(ptrdiff_t n, const REAL *x, REAL *y);    /* y_j = tanh(x_j) */
void vnormal(ptrdiff_t n, const REAL *x, REAL *y);  /* y_j = (1 + erf(x_j / sqrt 2)) / 2 */
void vsigmoid(ptrdiff_t n, const REAL *x, REAL *y); /* y_j = 1 / (1 + exp(-x_j)) */

/* y_r = x_r,  or  y_r += x_r        r = 0 .. rows-1
 *
 * Row r begins at r*y_step and r*x_step: concatenation, slices, and the gradients of both.  Large
 * copies use all threads.  x and y must not overlap; only to itself can x be added.  at_copy_rows
 * copies any type: n and the steps count bytes; in add_rows they count elements. */
void at_copy_rows(ptrdiff_t rows, ptrdiff_t n, const void *x, ptrdiff_t x_step, void *y,
                  ptrdiff_t y_step);
AT_EACH_REAL(void, add_rows,
             (ptrdiff_t rows, ptrdiff_t n, const void *x, ptrdiff_t x_step, void *y,
              ptrdiff_t y_step));

#endif
