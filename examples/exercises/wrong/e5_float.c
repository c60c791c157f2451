// expect dQ: close
// expect dK: close
// expect dV: close
#include "exercise.h"

void attention_row_backward(int N, int D, int Dv, double c, const double *Q, const double *K,
                            const double *V, const double *P, const double *dO, double *dQ,
                            double *dK, double *dV)
{
    float dP[64], delta = 0;
    for (int j = 0; j < N; j++) {
        dP[j] = 0;
        for (int d = 0; d < Dv; d++) dP[j] += (float)dO[d] * (float)V[j * Dv + d];
        for (int d = 0; d < Dv; d++) dV[j * Dv + d] += (float)P[j] * (float)dO[d];
        delta += (float)P[j] * dP[j];
    }
    for (int j = 0; j < N; j++) {
        float dR = (float)c * (float)P[j] * (dP[j] - delta);
        for (int d = 0; d < D; d++) dQ[d] += dR * (float)K[j * D + d];
        for (int d = 0; d < D; d++) dK[j * D + d] += dR * (float)Q[d];
    }
}
