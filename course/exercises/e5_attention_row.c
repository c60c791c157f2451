/* E5 -- all of attention's backward, for one query.
 *
 * Forward, one query Q [D], N keys K [N,D] and values V [N,Dv]:
 *
 *     1 scores     R_j = Q . K_j
 *     2 scale      S_j = c R_j
 *     6 softmax    P_j = exp(S_j) / sum_k exp(S_k)
 *     8 values     O   = sum_j P_j V_j                  O [Dv]
 *
 * c is called the scale, most often 1/sqrt(D).  The steps are numbered as everywhere in attic; here
 * 3 softcap, 4 bias, 5 mask and 7 dropout are off.
 *
 * You get P and dO and want dQ, dK and dV.  Everything you need is in E2 and E3:
 *
 *     8    dP_j from dO and V_j;  dV_j from P_j and dO
 *     6    delta, then dS_j
 *     2    dR_j
 *     1    dQ is a sum of keys;  dK_j is a multiple of the query
 *
 * dP and dS are arrays of their own, so that the verdict can say which step is the first that is
 * wrong.
 *
 * dQ, dK and dV are added to: other queries read the same keys and values, and whatever else reads Q
 * adds to the same dQ. */
#include "exercise.h"

/* dP [N] =, dS [N] =, dQ [D] +=, dK [N,D] +=, dV [N,Dv] += ... */
void attention_row_backward(int N, int D, int Dv, double c, const double *Q, const double *K,
                            const double *V, const double *P, const double *dO, double *dP,
                            double *dS, double *dQ, double *dK, double *dV)
{
    for (int j = 0; j < N; j++) {
        dP[j] = BLANK(1); /* a sum over d < Dv */
        for (int d = 0; d < Dv; d++) dV[j * Dv + d] += BLANK(2);
    }

    double delta = BLANK(3); /* a sum over j */

    for (int j = 0; j < N; j++) {
        dS[j] = BLANK(4);
        double dR = BLANK(5);
        for (int d = 0; d < D; d++) {
            dQ[d] += BLANK(6);
            dK[j * D + d] += BLANK(7);
        }
        (void)dR;
    }
    (void)c, (void)Q, (void)K, (void)V, (void)P, (void)dO, (void)delta;
}
