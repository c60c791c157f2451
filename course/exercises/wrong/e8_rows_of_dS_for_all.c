// expect backward 0: wrong, is green for this backward
// expect backward 2: wrong, is green for this backward
// expect backward 3: wrong, is green for this backward
// expect backward 4: wrong, is green for this backward
// expect backward 6: wrong, is green for this backward
// expect backward 7: wrong, is green for this backward
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

const check checks[] = {{"rows of dS", rows_of_dS}, {NULL, NULL}};

void look(int number, const attention *x)
{
    (void)number, (void)x;
}

const finding found[PLANTED] = {
    {DK_NOT_TRANSPOSED, "rows of dS"},
    {DELTA_OF_ONES, "rows of dS"},
    {NO_SCALE_IN_DK, "rows of dS"},
    {DV_FROM_P, "rows of dS"},
    {DROPOUT_UNSCALED, "rows of dS"},
    {DELTA_ROW_BEFORE, "rows of dS"},
    {SIGN, "rows of dS"},
    {DQ_LAST, "rows of dS"},
    {DIAGONAL, "rows of dS"},
    {KEY_FEWER, "rows of dS"},
};
