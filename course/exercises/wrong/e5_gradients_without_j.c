// expect dK: wrong, sum_j dR_j = 0
// expect dV: wrong, "dV without j"
#include "exercise.h"

void attention_row_backward(int N, int D, int Dv, double c, const double *Q, const double *K,
                            const double *V, const double *P, const double *dO, double *dP,
                            double *dS, double *dQ, double *dK, double *dV)
{
    double delta = 0;

    for (int j = 0; j < N; j++) {
        dP[j] = 0;
        for (int d = 0; d < Dv; d++) {
            dP[j] += dO[d] * V[j * Dv + d];
            dV[d] += P[j] * dO[d];
        }
    }

    for (int j = 0; j < N; j++) delta += P[j] * dP[j];

    for (int j = 0; j < N; j++) {
        dS[j] = P[j] * (dP[j] - delta);
        double dR = c * dS[j];
        for (int d = 0; d < D; d++) {
            dQ[d] += dR * K[j * D + d];
            dK[d] += dR * Q[d];
        }
    }
}
