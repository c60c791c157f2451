// expect dS: wrong
#include "exercise.h"

void masked_dropout_backward(int T, int N, const double *keep, const double *P, const double *z,
                             const double *dA, double *dS)
{
    /* two mistakes: no delta, and dropout without 1/(1-p) */
    for (int k = 0; k < T * N; k++) dS[k] = keep[k] > 0 && z[k] > 0 ? P[k] * dA[k] : 0;
}
