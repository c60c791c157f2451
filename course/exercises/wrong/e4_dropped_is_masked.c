// expect dS: wrong, delta dropped, too
#include "exercise.h"

void masked_dropout_backward(int T, int N, const double *keep, const double *P, const double *z,
                             const double *dA, double *dS)
{
    for (int i = 0; i < T; i++, keep += N, P += N, z += N, dA += N, dS += N) {
        double delta = 0;
        for (int j = 0; j < N; j++) delta += keep[j] > 0 ? P[j] * z[j] * dA[j] : 0;
        for (int j = 0; j < N; j++) dS[j] = keep[j] > 0 ? z[j] * P[j] * (dA[j] - delta) : 0;
    }
}
