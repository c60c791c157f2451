// expect dA: wrong, transpose
#include "exercise.h"

/* B is read as if it were [N,K] */
void matmul_backward(int M, int K, int N, const double *A, const double *B, const double *dC,
                     double *dA, double *dB)
{
    for (int j = 0; j < N; j++)
        for (int i = 0; i < M; i++)
            for (int k = 0; k < K; k++) {
                dA[i * K + k] += dC[i * N + j] * B[j * K + k];
                dB[k * N + j] += A[i * K + k] * dC[i * N + j];
            }
}
