// expect dQ: wrong, sign
// expect dK: wrong, sign
#include "exercise.h"

void attention_deltas(int T, int Dv, const double *O, const double *dO, double *delta)
{
    for (int i = 0; i < T; i++) {
        delta[i] = 0;
        for (int d = 0; d < Dv; d++) delta[i] += dO[i * Dv + d] * O[i * Dv + d];
    }
}

void attention_backward(int T, int N, int D, int Dv, double c, const double *Q, const double *K,
                        const double *V, const double *P, const double *dO, const double *delta,
                        double *dQ, double *dK, double *dV)
{
    for (int i = 0; i < T; i++)
        for (int j = 0; j < N; j++) {
            double dP = 0;
            for (int d = 0; d < Dv; d++) dP += dO[i * Dv + d] * V[j * Dv + d];
            double dR = c * P[i * N + j] * (delta[i] - dP);
            for (int d = 0; d < Dv; d++) dV[j * Dv + d] += P[i * N + j] * dO[i * Dv + d];
            for (int d = 0; d < D; d++) {
                dQ[i * D + d] += dR * K[j * D + d];
                dK[j * D + d] += dR * Q[i * D + d];
            }
        }
}
