// expect backward 8: wrong, is green for this backward
// expect backward 0: not written
// expect backward 2: not written
// expect backward 3: not written
// expect backward 4: not written
// expect backward 5: not written
// expect backward 6: not written
// expect backward 7: not written
// expect backward 9: not written
#include "exercise.h"

/* How far apart are two numbers, for numbers of any size? */
static double apart(double x, double y)
{
    double far = fabs(x - y) / (1 + fabs(x) + fabs(y));
    return far >= 0 ? far : INFINITY; /* of NaN, fmax(worst, NaN) would say nothing */
}

/* twice the dO gives twice the dS */
static double linear(attention *x)
{
    double worst = 0, dS[36];
    for (int e = 0; e < x->T * x->N; e++) dS[e] = x->dS[e];
    for (int e = 0; e < x->T * x->Dv; e++) x->dO[e] *= 2;
    run_again(x);
    for (int e = 0; e < x->T * x->N; e++) worst = fmax(worst, apart(x->dS[e], 2 * dS[e]));
    return worst;
}

const check checks[] = {{"linear", linear}, {NULL, NULL}};

void look(int number, const attention *x)
{
    (void)number, (void)x;
}

const finding found[PLANTED] = {
    {NOT_FOUND, ""},      {DELTA_OF_ONES, "linear"}, {NOT_FOUND, ""}, {NOT_FOUND, ""},
    {NOT_FOUND, ""},      {NOT_FOUND, ""},           {NOT_FOUND, ""}, {NOT_FOUND, ""},
    {DIAGONAL, "linear"}, {NOT_FOUND, ""},
};
