// expect dS: wrong, delta from dA
#include "exercise.h"

void masked_dropout_backward(int T, int N, const double *keep, const double *P, const double *z,
                             const double *dA, double *dS)
{
    for (int i = 0; i < T; i++) {
        double delta = 0;
        for (int j = i * N; j < (i + 1) * N; j++)
            if (keep[j] == 1) delta += P[j] * dA[j];
        for (int j = i * N; j < (i + 1) * N; j++)
            dS[j] = keep[j] == 1 ? P[j] * (z[j] * dA[j] - delta) : 0;
    }
}
