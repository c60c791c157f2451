// expect program: read outside
#include "exercise.h"

void matmul_backward(int M, int K, int N, const double *A, const double *B, const double *dC,
                     double *dA, double *dB)
{
    for (int i = 0; i < M; i++)
        for (int k = 0; k < K; k++)
            for (int j = 0; j < N; j++) {
                dA[i * K + k] += dC[i * N + j - 1] * B[k * N + j];
                dB[k * N + j] += A[i * K + k] * dC[i * N + j - 1];
            }
}
