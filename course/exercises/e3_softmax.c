/* E3 -- the backward of softmax: with its Jacobian, then without.
 *
 *     P_j = exp(S_j) / sum_k exp(S_k)          one row of N scores
 *
 * Every P_j depends on every S_k, so there are N x N derivatives, the Jacobian:
 *
 *     J_jk = ∂P_j/∂S_k
 *
 * The loss L is a number that is computed from P.  dP_j = ∂L/∂P_j is given, dS_k = ∂L/∂S_k is what
 * the backward of softmax computes.  dP is called the upstream gradient of softmax: it comes from
 * what was computed after P.
 *
 * Differentiate the quotient, once for k = j and once for k != j, and write the results with P
 * alone: no exp is left.  Then, by the chain rule, dS_k = sum_j dP_j J_jk.  (This J is symmetric,
 * so that J_kj in place of J_jk gives the same here; of most functions it would not.)
 *
 * A check must be able to fail.  upstream() chooses the dP with which somebody checks your
 * softmax_backward; it is filled with ones here, as beginners like to.  Leave it so at first, and
 * read what the verdict says of it.  (What is the sum of P?  So what is dS for dP = 1, 1, ... 1?
 * How many wrong formulas give that, too?)
 *
 * At last put your J into dS_k = sum_j dP_j J_jk, on paper, and simplify: N x N products become
 * one sum that is the same for all k.  It is called delta. */
#include "exercise.h"

/* dP [N] = numbers with which a check sees mistakes */
void upstream(int N, double *dP)
{
    for (int j = 0; j < N; j++) dP[j] = 1; /* 1: choose better ones */
}

/* J [N,N] = ... */
void softmax_jacobian(int N, const double *P, double *J)
{
    for (int j = 0; j < N; j++)
        for (int k = 0; k < N; k++) J[j * N + k] = BLANK(2);
    (void)P;
}

/* dS [N] = sum_j dP_j J_jk, with the J of your softmax_jacobian */
void softmax_backward_slow(int N, const double *J, const double *dP, double *dS)
{
    for (int k = 0; k < N; k++) dS[k] = BLANK(3);
    (void)J, (void)dP;
}

/* dS [N] = the same from P and dP, with two loops over N and no loop within a loop */
void softmax_backward(int N, const double *P, const double *dP, double *dS)
{
    double delta = BLANK(4);
    for (int k = 0; k < N; k++) dS[k] = BLANK(5);
    (void)P, (void)dP, (void)delta;
}
