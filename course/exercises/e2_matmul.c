/* E2 -- the backward of a matrix product.
 *
 *     C = A B        C_ij = sum_k A_ik B_kj        A [M,K]   B [K,N]   C [M,N]
 *
 * A_ik is read by every element of row i of C: by C_i0, C_i1, ... C_i,N-1.  Its gradient is the
 * sum over these:
 *
 *     dA_ik = sum_j dC_ij ∂C_ij/∂A_ik
 *
 * What is ∂C_ij/∂A_ik?  Which elements of C read B_kj, and what is dB_kj?  When you have both,
 * write them as products of matrices, with a transpose where one is needed: the shapes leave only
 * one way, which is a good check, and not a proof.
 *
 * M, K and N are different.  Write three nested loops, in any order you like. */
#include "exercise.h"

/* dA [M,K] += ...,  dB [K,N] += ... */
void matmul_backward(int M, int K, int N, const double *A, const double *B, const double *dC,
                     double *dA, double *dB)
{
    for (int i = 0; i < M; i++)
        for (int k = 0; k < K; k++) dA[i * K + k] += BLANK(1); /* a sum over j */

    for (int k = 0; k < K; k++)
        for (int j = 0; j < N; j++) dB[k * N + j] += BLANK(2); /* a sum over i */
    (void)A, (void)B, (void)dC;
}
