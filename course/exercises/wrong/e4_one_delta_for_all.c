// expect dS: wrong
#include "exercise.h"

void masked_dropout_backward(int T, int N, const double *keep, const double *P, const double *z,
                             const double *dA, double *dS)
{
    double delta = 0; /* never set back to 0 */
    for (int i = 0; i < T; i++) {
        for (int j = 0; j < N; j++)
            if (keep[i * N + j] == 1) delta += P[i * N + j] * (z[i * N + j] * dA[i * N + j]);
        for (int j = 0; j < N; j++)
            dS[i * N + j] =
                keep[i * N + j] == 1 ? P[i * N + j] * (z[i * N + j] * dA[i * N + j] - delta) : 0;
    }
}
