// expect dQ: wrong, P without lse
// expect dK: wrong, P without lse
// expect dV: wrong, P without lse
#include "exercise.h"

void online_softmax(int N, int Dv, int tile, const double *S, const double *V, double *O,
                    double *lse)
{
    double m = -INFINITY, l = 0;
    for (int d = 0; d < Dv; d++) O[d] = 0;

    for (int from = 0; from < N; from += tile) {
        int to = from + tile < N ? from + tile : N;
        double larger = m;
        for (int j = from; j < to; j++) larger = fmax(larger, S[j]);
        if (larger == -INFINITY) continue;
        double factor = exp(m - larger); /* exp(-INFINITY) = 0: nothing was read before */
        l *= factor;
        for (int d = 0; d < Dv; d++) O[d] *= factor;
        for (int j = from; j < to; j++) {
            double e = exp(S[j] - larger);
            l += e;
            for (int d = 0; d < Dv; d++) O[d] += e * V[j * Dv + d];
        }
        m = larger;
    }
    for (int d = 0; d < Dv; d++) O[d] = l > 0 ? O[d] / l : 0;
    *lse = m + log(l);
}

void attention_backward_recomputed(int T, int N, int D, int Dv, double c, const double *Q,
                                   const double *K, const double *V, const double *lse,
                                   const double *dO, const double *delta, double *dQ, double *dK,
                                   double *dV)
{
    for (int i = 0; i < T; i++)
        for (int j = 0; j < N; j++) {
            (void)lse;
            double R = 0, dP = 0;
            for (int d = 0; d < D; d++) R += Q[i * D + d] * K[j * D + d];
            for (int d = 0; d < Dv; d++) dP += dO[i * Dv + d] * V[j * Dv + d];
            double P = exp(c * R), dR = c * P * (dP - delta[i]);
            for (int d = 0; d < Dv; d++) dV[j * Dv + d] += P * dO[i * Dv + d];
            for (int d = 0; d < D; d++) {
                dQ[i * D + d] += dR * K[j * D + d];
                dK[j * D + d] += dR * Q[i * D + d];
            }
        }
}
