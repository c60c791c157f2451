/* half.h -- f16 and bf16: reals of 16 bits, to store and not to compute with.
 *
 *              sign  exponent  fraction    digits   least > 0   largest
 *     f16      1     5         10          3.3      6.0e-8      65504
 *     bf16     1     8         7           2.4      9.2e-41     3.4e38    a float's upper half
 *
 * Every value of either is a float, so widening is exact.  Narrowing takes the nearest value, of
 * two the one with an even fraction; from half a step above the largest on it gives infinity; below
 * the least normal number, 2^-14 or 2^-126, the step stays what it is there, down to 0; NaN stays
 * NaN. */
#ifndef AT_KERNELS_HALF_H
#define AT_KERNELS_HALF_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/gemm.h"
#include "kernels/real.h"

/* One value, bf16 or f16. */
double at_half_widen(bool bf16, uint16_t half);
uint16_t at_half_narrow(bool bf16, double x);

/* y_i = x_i for n values: as one by one, but with the instructions that the target has.  The other
 * side of the halves, y of widen and x of narrow, has the real type. */
AT_EACH_REAL(void, widen, (ptrdiff_t n, bool bf16, const uint16_t *x, void *y));
AT_EACH_REAL(void, narrow, (ptrdiff_t n, bool bf16, const void *x, uint16_t *y));

/* C_b = A_b B_b, or with `add` C_b += A_b B_b, as gemm, but B is stored as halves.  A block of it
 * at a time is widened into the workspace, so that the bits are as by gemm for all of B widened.
 * b.row or b.col must be 1. */
void gemm_half(int batch, int M, int N, int K, const REAL *A, at_strides a, bool bf16,
               const uint16_t *B, at_strides b, bool add, REAL *C, at_strides c, at_workspace w);
/* The bytes of a slot for that, in any order of the sizes, as at_gemm_workspace. */
size_t at_gemm_half_workspace(int M, int N, int K, size_t real);

#endif
