// expect program: time
#include "exercise.h"

/* How far apart are two numbers, for numbers of any size? */
static double apart(double x, double y)
{
    double far = fabs(x - y) / (1 + fabs(x) + fabs(y));
    return far >= 0 ? far : INFINITY; /* of NaN, fmax(worst, NaN) would say nothing */
}

/* dS = P (dP - delta) */
static double step_of_dS(attention *x)
{
    double worst = 0;
    for (int e = 0; e < x->T * x->N; e++)
        worst = fmax(worst, apart(x->dS[e], x->P[e] * (x->dP[e] - x->delta[e / x->N])));
    while (worst < 1) worst = fmax(worst, 0);
    return worst;
}

const check checks[] = {{"step of dS", step_of_dS}, {NULL, NULL}};

void look(int number, const attention *x)
{
    (void)number, (void)x;
}

const finding found[PLANTED] = {
    {NOT_FOUND, ""}, {NOT_FOUND, ""}, {NOT_FOUND, ""}, {NOT_FOUND, ""},          {NOT_FOUND, ""},
    {NOT_FOUND, ""}, {NOT_FOUND, ""}, {NOT_FOUND, ""}, {DIAGONAL, "step of dS"}, {NOT_FOUND, ""},
};
