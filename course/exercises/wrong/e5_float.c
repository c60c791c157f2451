// expect dS: close
// expect dQ: close
// expect dK: close
// expect dV: close
#include "exercise.h"

void attention_row_backward(int N, int D, int Dv, double c, const double *Q, const double *K,
                            const double *V, const double *P, const double *dO, double *dP,
                            double *dS, double *dQ, double *dK, double *dV)
{
    float delta = 0;
    for (int j = 0; j < N; j++) {
        float sum = 0;
        for (int d = 0; d < Dv; d++) sum += (float)dO[d] * (float)V[j * Dv + d];
        dP[j] = sum;
        for (int d = 0; d < Dv; d++) dV[j * Dv + d] += (float)P[j] * (float)dO[d];
        delta += (float)P[j] * sum;
    }
    for (int j = 0; j < N; j++) {
        float dR = (float)P[j] * ((float)dP[j] - delta);
        dS[j] = dR;
        dR *= (float)c;
        for (int d = 0; d < D; d++) dQ[d] += dR * (float)K[j * D + d];
        for (int d = 0; d < D; d++) dK[j * D + d] += dR * (float)Q[d];
    }
}
