// expect dA: wrong, overwritten
// expect dB: wrong, overwritten
#include "exercise.h"

void matmul_backward(int M, int K, int N, const double *A, const double *B, const double *dC,
                     double *dA, double *dB)
{
    for (int i = 0; i < M; i++)
        for (int k = 0; k < K; k++) {
            double sum = 0;
            for (int j = 0; j < N; j++) sum += dC[i * N + j] * B[k * N + j];
            dA[i * K + k] = sum;
        }
    for (int k = 0; k < K; k++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int i = 0; i < M; i++) sum += A[i * K + k] * dC[i * N + j];
            dB[k * N + j] = sum;
        }
}
