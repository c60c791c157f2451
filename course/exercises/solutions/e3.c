/* J_jk = P_j ([j = k] - P_k), so dS_k = sum_j dP_j P_j [j = k] - sum_j dP_j P_j P_k
 *                                     = P_k (dP_k - delta),     delta = sum_j P_j dP_j. */
#include "exercise.h"

void upstream(int N, double *dP)
{
    for (int j = 0; j < N; j++) dP[j] = sin(3 * j + 1);
}

void softmax_jacobian(int N, const double *P, double *J)
{
    for (int j = 0; j < N; j++)
        for (int k = 0; k < N; k++) J[j * N + k] = P[j] * ((j == k) - P[k]);
}

void softmax_backward_slow(int N, const double *J, const double *dP, double *dS)
{
    for (int k = 0; k < N; k++) {
        dS[k] = 0;
        for (int j = 0; j < N; j++) dS[k] += dP[j] * J[j * N + k];
    }
}

void softmax_backward(int N, const double *P, const double *dP, double *dS)
{
    double delta = 0;
    for (int j = 0; j < N; j++) delta += P[j] * dP[j];
    for (int k = 0; k < N; k++) dS[k] = P[k] * (dP[k] - delta);
}
