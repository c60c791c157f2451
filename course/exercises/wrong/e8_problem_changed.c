// expect backward 0: not written
// expect backward 2: not written
// expect backward 3: not written
// expect backward 4: not written
// expect backward 5: not written
// expect backward 6: not written
// expect backward 7: not written
// expect backward 9: not written
// expect backward 1: not written
#include "exercise.h"

/* How far apart are two numbers, for numbers of any size? */
static double apart(double x, double y)
{
    double far = fabs(x - y) / (1 + fabs(x) + fabs(y));
    return far >= 0 ? far : INFINITY; /* of NaN, fmax(worst, NaN) would say nothing */
}

/* without dO there is no gradient; dO is left at 0, and each check begins with the problem as it was */
static double without_dO(attention *x)
{
    double worst = 0;
    for (int e = 0; e < x->T * x->Dv; e++) x->dO[e] = 0;
    run_again(x);
    for (int e = 0; e < x->T * x->D; e++) worst = fmax(worst, apart(x->dQ[e], 0));
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

const check checks[] = {{"without dO", without_dO}, {"step of dS", step_of_dS}, {NULL, NULL}};

void look(int number, const attention *x)
{
    (void)number, (void)x;
}

const finding found[PLANTED] = {
    {NOT_FOUND, ""}, {NOT_FOUND, ""}, {NOT_FOUND, ""}, {NOT_FOUND, ""},          {NOT_FOUND, ""},
    {NOT_FOUND, ""}, {NOT_FOUND, ""}, {NOT_FOUND, ""}, {DIAGONAL, "step of dS"}, {NOT_FOUND, ""},
};
