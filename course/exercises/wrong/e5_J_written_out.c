#include "exercise.h"

void attention_row_backward(int N, int D, int Dv, double c, const double *Q, const double *K,
                            const double *V, const double *P, const double *dO, double *dP,
                            double *dS, double *dQ, double *dK, double *dV)
{
    /* right: the Jacobian multiplied out, the loops in another order */
    for (int k = 0; k < N; k++) {
        dS[k] = 0;
        for (int j = 0; j < N; j++) {
            dP[j] = 0;
            for (int d = Dv - 1; d >= 0; d--) dP[j] += V[j * Dv + d] * dO[d];
            dS[k] += dP[j] * P[j] * ((j == k ? 1 : 0) - P[k]);
        }
        for (int d = 0; d < D; d++) dQ[d] += c * dS[k] * K[k * D + d];
        for (int d = 0; d < D; d++) dK[k * D + d] += c * dS[k] * Q[d];
        for (int d = 0; d < Dv; d++) dV[k * Dv + d] += P[k] * dO[d];
    }
}
