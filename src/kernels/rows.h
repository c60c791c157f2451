/* rows.h -- what is done to one row of n contiguous numbers.
 *
 * The order of every sum is fixed by n alone, so a row gives the same bits wherever it is computed. */
#ifndef AT_KERNELS_ROWS_H
#define AT_KERNELS_ROWS_H
#include <stddef.h>

float at_row_sum_f32(ptrdiff_t n, const float *x); /* sum_j x_j, 0 if n = 0 */
double at_row_sum_f64(ptrdiff_t n, const double *x);
float at_row_dot_f32(ptrdiff_t n, const float *x, const float *y); /* sum_j x_j y_j */
double at_row_dot_f64(ptrdiff_t n, const double *x, const double *y);
/* sum_j (x_j - mu)^2 */
float at_row_spread_f32(ptrdiff_t n, const float *x, float mu);
double at_row_spread_f64(ptrdiff_t n, const double *x, double mu);
float at_row_max_f32(ptrdiff_t n, const float *x); /* max_j x_j, -inf if n = 0; NaN if any is */
double at_row_max_f64(ptrdiff_t n, const double *x);

/* y_j = exp(x_j - m); returns sum_j y_j.  The heart of every softmax.  y may be x, or NULL: only the
 * sum.  m must not be below the maximum by more than 88; an exp that would be a denormal number is 0. */
float at_row_exp_sum_f32(ptrdiff_t n, const float *x, float m, float *y);
double at_row_exp_sum_f64(ptrdiff_t n, const double *x, double m, double *y);

void at_row_axpy_f32(ptrdiff_t n, float a, const float *x, float *y); /* y_j += a x_j */
void at_row_axpy_f64(ptrdiff_t n, double a, const double *x, double *y);
void at_row_scale_f32(ptrdiff_t n, float a, const float *x, float *y); /* y_j = a x_j, y may be x */
void at_row_scale_f64(ptrdiff_t n, double a, const double *x, double *y);

#endif
