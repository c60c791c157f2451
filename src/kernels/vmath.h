/* vmath.h -- elementary functions over arrays; y may be x. */
#ifndef AT_KERNELS_VMATH_H
#define AT_KERNELS_VMATH_H
#include <stddef.h>

void at_vexp_f32(ptrdiff_t n, const float *x, float *y); /* y = exp(x) */
void at_vexp_f64(ptrdiff_t n, const double *x, double *y);
void at_vlog_f32(ptrdiff_t n, const float *x, float *y); /* y = log(x), natural */
void at_vlog_f64(ptrdiff_t n, const double *x, double *y);
void at_vtanh_f32(ptrdiff_t n, const float *x, float *y); /* y = tanh(x) */
void at_vtanh_f64(ptrdiff_t n, const double *x, double *y);
void at_vnormal_f32(ptrdiff_t n, const float *x, float *y); /* y = (1 + erf(x / sqrt 2)) / 2 */
void at_vnormal_f64(ptrdiff_t n, const double *x, double *y);
void at_vsigmoid_f32(ptrdiff_t n, const float *x, float *y); /* y = 1 / (1 + exp(-x)) */
void at_vsigmoid_f64(ptrdiff_t n, const double *x, double *y);

#endif
