// expect dS: wrong, dropout forgotten
#include "exercise.h"

void masked_dropout_backward(int T, int N, const double *keep, const double *P, const double *z,
                             const double *dA, double *dS)
{
    (void)z;
    for (int i = 0; i < T; i++) {
        double delta = 0;
        for (int j = 0; j < N; j++)
            if (keep[i * N + j] != 0) delta += P[i * N + j] * dA[i * N + j];
        for (int j = 0; j < N; j++)
            dS[i * N + j] = keep[i * N + j] != 0 ? P[i * N + j] * (dA[i * N + j] - delta) : 0;
    }
}
