/* copy.h -- moving rows from one place to another.
 *
 *     y_r = x_r,  or  y_r += x_r        r = 0 .. rows-1
 *
 * Each row is n things that lie together on both sides; row r begins at r*y_step and r*x_step.
 * Joining tensors, cutting pieces out of them, and the gradients of both, are such moves.  Large
 * ones use all threads.  x and y must not overlap; only to itself can x be added. */
#ifndef AT_KERNELS_COPY_H
#define AT_KERNELS_COPY_H
#include "kernels/real.h"
#include <stddef.h>

/* Of any type: n and the steps count bytes. */
void at_copy_rows(ptrdiff_t rows, ptrdiff_t n, const void *x, ptrdiff_t x_step, void *y,
                  ptrdiff_t y_step);
/* n and the steps count numbers. */
void add_rows(ptrdiff_t rows, ptrdiff_t n, const REAL *x, ptrdiff_t x_step, REAL *y,
              ptrdiff_t y_step);
/* y_j += x_j, of values of one type */
AT_EACH_REAL(void, add_values, (ptrdiff_t n, const void *x, void *y));

#endif
