/* head.c -- one head of attention, forward and backward, which E10 is given: token i reads tokens 0 to i.
 * The formulas are those of E6. */
#include "exercise.h"

static double dot(int n, const double *x, const double *y)
{
    double sum = 0;
    for (int d = 0; d < n; d++) sum += x[d] * y[d];
    return sum;
}

void head_forward(int T, int D, int Dv, double c, const double *Q, const double *K, const double *V,
                  double *P, double *O)
{
    for (int i = 0; i < T; i++) {
        double sum = 0;
        for (int j = 0; j < T; j++) {
            P[i * T + j] = j <= i ? exp(c * dot(D, Q + i * D, K + j * D)) : 0;
            sum += P[i * T + j];
        }
        for (int j = 0; j < T; j++) P[i * T + j] /= sum;
        for (int d = 0; d < Dv; d++) {
            O[i * Dv + d] = 0;
            for (int j = 0; j <= i; j++) O[i * Dv + d] += P[i * T + j] * V[j * Dv + d];
        }
    }
}

void head_backward(int T, int D, int Dv, double c, const double *Q, const double *K,
                   const double *V, const double *P, const double *dO, double *dQ, double *dK,
                   double *dV)
{
    for (int e = 0; e < T * D; e++) dQ[e] = dK[e] = 0;
    for (int e = 0; e < T * Dv; e++) dV[e] = 0;
    for (int i = 0; i < T; i++) {
        double delta = 0;
        for (int j = 0; j <= i; j++) delta += P[i * T + j] * dot(Dv, dO + i * Dv, V + j * Dv);
        for (int j = 0; j <= i; j++) {
            double dP = dot(Dv, dO + i * Dv, V + j * Dv), dR = c * P[i * T + j] * (dP - delta);
            for (int d = 0; d < Dv; d++) dV[j * Dv + d] += P[i * T + j] * dO[i * Dv + d];
            for (int d = 0; d < D; d++) {
                dQ[i * D + d] += dR * K[j * D + d];
                dK[j * D + d] += dR * Q[i * D + d];
            }
        }
    }
}
