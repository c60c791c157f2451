// expect delta: close
// expect dQ: close
// expect dK: close
// expect dV: close
#include "exercise.h"

void attention_deltas(int T, int Dv, const double *O, const double *dO, double *delta)
{
    for (int i = 0; i < T; i++) {
        float sum = 0;
        for (int d = 0; d < Dv; d++) sum += (float)dO[i * Dv + d] * (float)O[i * Dv + d];
        delta[i] = sum;
    }
}

/* right, in single precision */
void attention_backward(int T, int N, int D, int Dv, double c, const double *Q, const double *K,
                        const double *V, const double *P, const double *dO, const double *delta,
                        double *dQ, double *dK, double *dV)
{
    for (int i = 0; i < T; i++)
        for (int j = 0; j < N; j++) {
            float dP = 0, p = (float)P[i * N + j];
            for (int d = 0; d < Dv; d++) dP += (float)dO[i * Dv + d] * (float)V[j * Dv + d];
            float dR = (float)c * p * (dP - (float)delta[i]);
            for (int d = 0; d < Dv; d++) dV[j * Dv + d] += p * (float)dO[i * Dv + d];
            for (int d = 0; d < D; d++) {
                dQ[i * D + d] += dR * (float)K[j * D + d];
                dK[j * D + d] += dR * (float)Q[i * D + d];
            }
        }
}
