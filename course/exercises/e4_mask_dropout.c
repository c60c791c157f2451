/* E4 -- a mask before the softmax, dropout after it.
 *
 * Forward, for each query i of T and each key j of N:
 *
 *     5 mask       row i attends to the keys with keep_ij = 1
 *     6 softmax    P_ij = exp(S_ij) / sum over the keys kept;  P_ij = 0 where keep_ij = 0
 *     7 dropout    A_ij = z_ij P_ij         z_ij is 0 with probability p, else 1/(1 - p)
 *
 * You get dA and want dS.  Go back step by step:
 *
 *     7    dP_ij from dA_ij: the same z as in the forward, not new ones
 *     6    dS_ij from dP_ij, as in E3, with a delta for each row
 *     5    S_ij was not read where keep_ij = 0: what is dS_ij there?
 *
 * "Not read" is meant: dA_ij may be NaN where keep_ij = 0, and nothing of that may reach dS.  (0
 * times NaN is NaN.)  And a dropped cell is no masked cell: where z_ij = 0, P_ij is still in the
 * denominator of its row.  Is dS_ij zero there? */
#include "exercise.h"

/* dS [T,N] = ...      keep, P, z, dA [T,N] */
void masked_dropout_backward(int T, int N, const double *keep, const double *P, const double *z,
                             const double *dA, double *dS)
{
    for (int i = 0; i < T; i++) {
        double delta = 0;
        for (int j = 0; j < N; j++) delta += BLANK(1);
        for (int j = 0; j < N; j++) dS[i * N + j] = BLANK(2);
        (void)delta;
    }
    (void)keep, (void)P, (void)z, (void)dA;
}
