// expect checks: wrong, what does it read where keep is 0
// expect backward 4: wrong, red for the right backward
// expect backward 9: wrong, red for the right backward
#include "exercise.h"

/* How far apart are two numbers, for numbers of any size? */
static double apart(double x, double y)
{
    double far = fabs(x - y) / (1 + fabs(x) + fabs(y));
    return far >= 0 ? far : INFINITY; /* of NaN, fmax(worst, NaN) would say nothing */
}

/* sum_j dS_ij = 0 */
static double rows_of_dS(attention *x)
{
    double worst = 0;
    for (int i = 0; i < x->T; i++) {
        double sum = 0;
        for (int j = 0; j < x->N; j++) sum += x->dS[i * x->N + j];
        worst = fmax(worst, apart(sum, 0));
    }
    return worst;
}

/* dV = A^T dO */
static double step_of_dV(attention *x)
{
    double worst = 0;
    for (int j = 0; j < x->N; j++)
        for (int d = 0; d < x->Dv; d++) {
            double sum = 0;
            for (int i = 0; i < x->T; i++) sum += x->A[i * x->N + j] * x->dO[i * x->Dv + d];
            worst = fmax(worst, apart(x->dV[j * x->Dv + d], sum));
        }
    return worst;
}

/* dQ_e = (L(Q_e + h) - L(Q_e - h)) / 2h */
static double differences_of_Q(attention *x)
{
    const double h = 1e-4;
    double worst = 0, dQ[36]; /* run_again writes x->dQ again: what it held at Q must be kept */
    for (int e = 0; e < x->T * x->D; e++) dQ[e] = x->dQ[e];
    for (int e = 0; e < x->T * x->D; e++) {
        const double Q = x->Q[e];
        x->Q[e] = Q + h;
        run_again(x);
        double above = loss_of(x);
        x->Q[e] = Q - h;
        run_again(x);
        double below = loss_of(x);
        x->Q[e] = Q;
        worst = fmax(worst, apart(dQ[e], (above - below) / (2 * h)));
    }
    return worst;
}

/* dP = z (dO V^T) */
static double step_of_dP(attention *x)
{
    double worst = 0;
    for (int i = 0; i < x->T; i++)
        for (int j = 0; j < x->N; j++) {
            double sum = 0;
            for (int d = 0; d < x->Dv; d++) sum += x->dO[i * x->Dv + d] * x->V[j * x->Dv + d];
            const int e = i * x->N + j;
            worst = fmax(worst, apart(x->dP[e], x->z[e] * sum));
        }
    return worst;
}

/* delta_i = dO_i . O_i */
static double delta_from_O(attention *x)
{
    double worst = 0;
    for (int i = 0; i < x->T; i++) {
        double sum = 0;
        for (int d = 0; d < x->Dv; d++) sum += x->dO[i * x->Dv + d] * x->O[i * x->Dv + d];
        worst = fmax(worst, apart(x->delta[i], sum));
    }
    return worst;
}

/* dS = P (dP - delta) */
static double step_of_dS(attention *x)
{
    double worst = 0;
    for (int e = 0; e < x->T * x->N; e++)
        worst = fmax(worst, apart(x->dS[e], x->P[e] * (x->dP[e] - x->delta[e / x->N])));
    return worst;
}

/* dQ = dR K */
static double step_of_dQ(attention *x)
{
    double worst = 0;
    for (int i = 0; i < x->T; i++)
        for (int d = 0; d < x->D; d++) {
            double sum = 0;
            for (int j = 0; j < x->N; j++) sum += x->dR[i * x->N + j] * x->K[j * x->D + d];
            worst = fmax(worst, apart(x->dQ[i * x->D + d], sum));
        }
    return worst;
}

/* dK = dR^T Q */
static double step_of_dK(attention *x)
{
    double worst = 0;
    for (int j = 0; j < x->N; j++)
        for (int d = 0; d < x->D; d++) {
            double sum = 0;
            for (int i = 0; i < x->T; i++) sum += x->dR[i * x->N + j] * x->Q[i * x->D + d];
            worst = fmax(worst, apart(x->dK[j * x->D + d], sum));
        }
    return worst;
}

const check checks[] = {{"rows of dS", rows_of_dS},
                        {"step of dV", step_of_dV},
                        {"differences of Q", differences_of_Q},
                        {"step of dP", step_of_dP},
                        {"delta from O", delta_from_O},
                        {"step of dS", step_of_dS},
                        {"step of dQ", step_of_dQ},
                        {"step of dK", step_of_dK},
                        {NULL, NULL}};

void look(int number, const attention *x)
{
    (void)number, (void)x;
}

const finding found[PLANTED] = {
    {DK_NOT_TRANSPOSED, "step of dK"},
    {DELTA_OF_ONES, "delta from O"},
    {NO_SCALE_IN_DK, "step of dK"},
    {DV_FROM_P, "step of dV"},
    {DROPOUT_UNSCALED, "step of dP"},
    {DELTA_ROW_BEFORE, "step of dS"},
    {SIGN, "step of dS"},
    {DQ_LAST, "step of dQ"},
    {DIAGONAL, "step of dS"},
    {KEY_FEWER, "step of dP"},
};
