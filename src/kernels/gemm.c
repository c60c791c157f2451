/* gemm.c -- the matrix product that every other product here is made of. */
#include "kernels/gemm.h"

#ifndef REAL
#define AT_KERNELS "kernels/gemm.c"
#include "kernels/each_real.h"
#else

void AT_FOR_REAL(gemm)(int batch, int M, int N, int K, REAL alpha, const REAL *A, at_strides a,
                       const REAL *B, at_strides b, REAL beta, REAL *C, at_strides c)
{
    for (ptrdiff_t n = 0; n < batch; n++)
        for (ptrdiff_t i = 0; i < M; i++)
            for (ptrdiff_t j = 0; j < N; j++) {
                REAL sum = 0, *to = C + n * c.batch + i * c.row + j * c.col;
                for (ptrdiff_t k = 0; k < K; k++)
                    sum += A[n * a.batch + i * a.row + k * a.col] *
                           B[n * b.batch + k * b.row + j * b.col];
                REAL kept = n > 0 && c.batch == 0 ? 1 : beta;
                *to = alpha * sum + (kept == 0 ? 0 : kept * *to);
            }
}

#endif
