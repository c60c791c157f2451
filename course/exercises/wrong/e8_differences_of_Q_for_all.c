// expect backward 0: wrong, is green for this backward
// expect backward 2: wrong, is green for this backward
// expect backward 3: wrong, is green for this backward
#include "exercise.h"

/* How far apart are two numbers, for numbers of any size? */
static double apart(double x, double y)
{
    double far = fabs(x - y) / (1 + fabs(x) + fabs(y));
    return far >= 0 ? far : INFINITY; /* of NaN, fmax(worst, NaN) would say nothing */
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

const check checks[] = {{"differences of Q", differences_of_Q}, {NULL, NULL}};

void look(int number, const attention *x)
{
    (void)number, (void)x;
}

const finding found[PLANTED] = {
    {DK_NOT_TRANSPOSED, "differences of Q"},
    {DELTA_OF_ONES, "differences of Q"},
    {NO_SCALE_IN_DK, "differences of Q"},
    {DV_FROM_P, "differences of Q"},
    {DROPOUT_UNSCALED, "differences of Q"},
    {DELTA_ROW_BEFORE, "differences of Q"},
    {SIGN, "differences of Q"},
    {DQ_LAST, "differences of Q"},
    {DIAGONAL, "differences of Q"},
    {KEY_FEWER, "differences of Q"},
};
