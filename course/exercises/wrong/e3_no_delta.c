// expect dS: wrong, no delta
#include "exercise.h"

void upstream(int N, double *dP)
{
    for (int j = 0; j < N; j++) dP[j] = j % 2 ? 0.5 : j - 1.25;
}

void softmax_jacobian(int N, const double *P, double *J)
{
    for (int j = 0; j < N; j++)
        for (int k = 0; k < N; k++) J[j * N + k] = j == k ? P[j] * (1 - P[j]) : -P[j] * P[k];
}

void softmax_backward_slow(int N, const double *J, const double *dP, double *dS)
{
    for (int k = 0; k < N; k++) {
        double sum = 0;
        for (int j = 0; j < N; j++) sum += dP[j] * J[j * N + k];
        dS[k] = sum;
    }
}

void softmax_backward(int N, const double *P, const double *dP, double *dS)
{
    double delta = 0;
    (void)delta;
    for (int k = 0; k < N; k++) dS[k] = P[k] * dP[k];
}
