// expect dS: not written
#include "exercise.h"

void masked_dropout_backward(int T, int N, const double *keep, const double *P, const double *z,
                             const double *dA, double *dS)
{
    for (int i = 0; i < T; i++) {
        double delta = 0;
        for (int j = 0; j < N; j++)
            if (keep[i * N + j] == 1) delta += P[i * N + j] * (z[i * N + j] * dA[i * N + j]);
        for (int j = 0; j < N; j++) {
            if (keep[i * N + j] == 0) continue;
            dS[i * N + j] = P[i * N + j] * (z[i * N + j] * dA[i * N + j] - delta);
        }
    }
}
