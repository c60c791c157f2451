/* gemm_dual.c -- the matrix product of dual numbers (dual.h): three products of doubles.
 *
 *   A = V + e T,  B = W + e U:      A B = V W + e (V U + T W)
 *
 *   alpha = s + e t:          alpha A B = s V W + e (s V U + s T W + t V W)
 *
 * In memory value and tangent take turns.  So each of V, T, W, U is a matrix of doubles, whose
 * strides are twice the strides of the dual numbers, and is read where it is.  The values of C have
 * the bits of a product of doubles, whatever the tangents are, infinite ones and NaN included. */
#include "kernels/gemm.h"

#include "kernels/real.h"

#ifdef AT_DUAL
void at_gemm_f64(int batch, int M, int N, int K, double alpha, const double *A, at_strides a,
                 const double *B, at_strides b, double beta, double *C, at_strides c,
                 at_workspace w);

static at_strides in_doubles(at_strides x)
{
    const ptrdiff_t two = sizeof(REAL) / sizeof(double);
    return (at_strides){two * x.row, two * x.col, two * x.batch};
}

void gemm(int batch, int M, int N, int K, REAL alpha, const REAL *A, at_strides a, const REAL *B,
          at_strides b, REAL beta, REAL *C, at_strides c, at_workspace w)
{
    const double *V = (const double *)A, *T = V + 1, *W = (const double *)B, *U = W + 1;
    double *value = (double *)C, *tangent = value + 1, s = VALUE(alpha), t = TANGENT(alpha);
    a = in_doubles(a), b = in_doubles(b), c = in_doubles(c);
    at_gemm_f64(batch, M, N, K, s, V, a, W, b, VALUE(beta), value, c, w);
    at_gemm_f64(batch, M, N, K, s, V, a, U, b, VALUE(beta), tangent, c, w);
    at_gemm_f64(batch, M, N, K, s, T, a, W, b, 1, tangent, c, w);
    if (t != 0) at_gemm_f64(batch, M, N, K, t, V, a, W, b, 1, tangent, c, w);
}
#endif
