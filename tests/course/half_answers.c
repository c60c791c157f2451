/* half_answers.c -- backwards in halves; see half_answers.h. */
#include "course/half_answers.h"

#include <math.h>
#include <string.h>

enum { SIZE = 32 };

static double rounded(double x, int digits)
{
    int exponent = 0;
    const double m = frexp(x, &exponent);
    return ldexp(rint(ldexp(m, digits)), exponent - digits);
}

static double dot_of(int n, const double *x, const double *y)
{
    double sum = 0;
    for (int d = 0; d < n; d++) sum += x[d] * y[d];
    return sum;
}

/* The row's P from scores that are rounded, or not */
static void half_softmax(const steps *a, int digits, bool composed, int h, int i, double P[SIZE])
{
    double l = 0;
    for (int j = 0; j < a->p.N; j++) {
        double S = *steps_cell(a, STEPS_R, h, i, j);
        S = composed ? rounded(a->c * rounded(S, digits), digits) : a->c * S;
        P[j] = steps_attends(a, h, i, j) ? exp(S) : 0;
        l += P[j];
    }
    for (int j = 0; j < a->p.N; j++) {
        if (l > 0) P[j] /= l;
        if (composed) P[j] = rounded(P[j], digits);
    }
}

static void half_row(steps *a, int digits, bool composed, int h, int i)
{
    const int g = a->reads[h], D = a->p.D, Dv = a->p.Dv;
    const double *Q = steps_cell(a, STEPS_Q, h, i, 0), *dO = steps_cell(a, STEPS_DO, h, i, 0);
    double P[SIZE], dP[SIZE], delta = 0, *O = steps_cell(a, STEPS_O, h, i, 0);
    half_softmax(a, digits, composed, h, i, P);
    memset(O, 0, (size_t)Dv * sizeof *O);
    for (int j = 0; j < a->p.N; j++)
        for (int d = 0; d < Dv; d++)
            O[d] += rounded(P[j], digits) * *steps_cell(a, STEPS_V, g, j, d);
    for (int d = 0; d < Dv; d++) O[d] = rounded(O[d], digits);
    for (int j = 0; j < a->p.N; j++) {
        dP[j] = dot_of(Dv, dO, steps_cell(a, STEPS_V, g, j, 0));
        if (composed) dP[j] = rounded(dP[j], digits);
        if (composed) delta += P[j] * dP[j];
    }
    if (!composed) delta = dot_of(Dv, dO, O);
    for (int j = 0; j < a->p.N; j++) {
        double dR = rounded(P[j] * (dP[j] - delta), digits);
        dR = composed ? rounded(a->c * dR, digits) : a->c * dR;
        const double *K = steps_cell(a, STEPS_K, g, j, 0);
        double *dQ = steps_cell(a, STEPS_DQ, h, i, 0), *dK = steps_cell(a, STEPS_DK, g, j, 0);
        double *dV = steps_cell(a, STEPS_DV, g, j, 0);
        for (int d = 0; d < D; d++) dQ[d] += dR * K[d], dK[d] += dR * Q[d];
        for (int d = 0; d < Dv; d++) dV[d] += rounded(P[j], digits) * dO[d];
    }
}

void half_answer(steps *to, int digits, bool composed)
{
    static const steps_name sums[] = {STEPS_DQ, STEPS_DK, STEPS_DV};
    for (int k = 0; k < 3; k++)
        memset(to->at[sums[k]], 0, (size_t)steps_size(to, sums[k]) * sizeof(double));
    for (int h = 0; h < to->p.H; h++)
        for (int i = 0; i < to->p.T; i++) half_row(to, digits, composed, h, i);
    for (int k = 0; k < 3; k++)
        for (ptrdiff_t e = 0; e < steps_size(to, sums[k]); e++)
            to->at[sums[k]][e] = rounded(to->at[sums[k]][e], digits);
}
