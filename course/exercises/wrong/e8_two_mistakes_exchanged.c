// expect backward 0: wrong, it is not "no scale in dK"
// expect backward 2: wrong, it is not "dK without the transpose"
// expect backward 1: not written
// expect backward 3: not written
// expect backward 4: not written
// expect backward 5: not written
// expect backward 6: not written
// expect backward 7: not written
// expect backward 8: not written
// expect backward 9: not written
#include "exercise.h"

/* How far apart are two numbers, for numbers of any size? */
static double apart(double x, double y)
{
    double far = fabs(x - y) / (1 + fabs(x) + fabs(y));
    return far >= 0 ? far : INFINITY; /* of NaN, fmax(worst, NaN) would say nothing */
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

const check checks[] = {{"step of dK", step_of_dK}, {NULL, NULL}};

void look(int number, const attention *x)
{
    (void)number, (void)x;
}

const finding found[PLANTED] = {
    {NO_SCALE_IN_DK, "step of dK"},
    {NOT_FOUND, ""},
    {DK_NOT_TRANSPOSED, "step of dK"},
    {NOT_FOUND, ""},
    {NOT_FOUND, ""},
    {NOT_FOUND, ""},
    {NOT_FOUND, ""},
    {NOT_FOUND, ""},
    {NOT_FOUND, ""},
    {NOT_FOUND, ""},
};
