/* gemm.c -- the product of elements of a field, as the plain twin of gemm.c computes it: compiled with tests/prove/kernel.hpp
 * in place of gemm_dual.c. */
#include "kernels/gemm.h"

#include "kernels/real.h"

void gemm(int batch, int M, int N, int K, REAL alpha, const REAL *A, at_strides a, const REAL *B,
          at_strides b, REAL beta, REAL *C, at_strides c, at_workspace w)
{
    gemm_plain(batch, M, N, K, alpha, A, a, B, b, beta, C, c, w);
}
