// expect dP: not written, BLANK(1) still stands
// expect dS: not written, BLANK(1), BLANK(3) and BLANK(4) still stand
// expect dQ: not written, BLANK(1), BLANK(3), BLANK(4), BLANK(5) and BLANK(6)
// expect dK: not written, BLANK(7)
// expect dV: exact
#include "exercise.h"

void attention_row_backward(int N, int D, int Dv, double c, const double *Q, const double *K,
                            const double *V, const double *P, const double *dO, double *dP,
                            double *dS, double *dQ, double *dK, double *dV)
{
    double delta = BLANK(3);

    for (int j = 0; j < N; j++) {
        dP[j] = BLANK(1);
        for (int d = 0; d < Dv; d++) {
            dV[j * Dv + d] += P[j] * dO[d];
        }
    }

    for (int j = 0; j < N; j++) delta += P[j] * dP[j];

    for (int j = 0; j < N; j++) {
        dS[j] = BLANK(4) * (dP[j] - delta);
        double dR = BLANK(5) * dS[j];
        for (int d = 0; d < D; d++) {
            dQ[d] += BLANK(6);
            dK[j * D + d] += BLANK(7);
        }
        (void)dR;
    }
    (void)c, (void)Q, (void)K, (void)V;
}
