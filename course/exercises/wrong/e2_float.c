// expect dA: close
// expect dB: close
#include "exercise.h"

/* right, in single precision */
void matmul_backward(int M, int K, int N, const double *A, const double *B, const double *dC,
                     double *dA, double *dB)
{
    for (int i = 0; i < M; i++)
        for (int k = 0; k < K; k++) {
            float sum = 0;
            for (int j = 0; j < N; j++) sum += (float)dC[i * N + j] * (float)B[k * N + j];
            dA[i * K + k] += sum;
        }
    for (int j = 0; j < N; j++)
        for (int k = 0; k < K; k++) {
            float sum = 0;
            for (int i = M - 1; i >= 0; i--) sum += (float)dC[i * N + j] * (float)A[i * K + k];
            dB[k * N + j] += sum;
        }
}
