// expect upstream: exact
// expect J: exact
// expect dS with J: exact
// expect dS: not written, BLANK(4) and BLANK(5) still stand
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
    double delta = BLANK(4);
    for (int j = 0; j < N; j++) delta += P[j] * dP[j];
    for (int k = 0; k < N; k++) dS[k] = BLANK(5) * (dP[k] - delta);
}
