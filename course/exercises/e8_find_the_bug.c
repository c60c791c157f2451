/* E8 -- find the bug: ten backwards of attention with one mistake in each.
 *
 * The forward, with a mask and with dropout, and the right backward:
 *
 *     S = c Q K^T,   P = softmax(S) over the keys kept,   A = z P,   O = A V,   L = sum dO O
 *
 *     dV = A^T dO        dP = z (dO V^T) where keep is 1        delta_i = sum_j P_ij dP_ij
 *     dS = P (dP - delta)        dR = c dS        dQ = dR K        dK = dR^T Q
 *
 * (z (dO V^T) and P (dP - delta) are products of elements.  Where keep is 0, P, A, dP and dS are 0;
 * a row may keep nothing.)  The planted ones are compiled into the program that runs your file; you
 * see what they return, not their source.
 *
 * A check is a function that gets everything that forward and backward have computed, and returns
 * how far something is off that holds for the right backward: 0, but for rounding.  Below 1e-6 it
 * is green, above it is red; of a negative value, the absolute value counts.  (fmax(worst, x - y)
 * never sees an x below y: take fabs(x - y), or apart(x, y).)
 *
 * Write checks; the verdict says which of them are red for which backward.  When you know which
 * mistake it is, write it into found[], with the name of a check that shows it.
 *
 * Some ideas:
 *
 *     identities        sum_j dS_ij = 0;   sum_j P_ij dP_ij = dO_i . O_i
 *     one step          dV against A^T dO, dQ against dR K, from what this backward gives as A or dR
 *     differences       change x->Q[e] by h, run_again(x), loss_of(x)
 *     linearity         twice the dO gives twice the gradients
 *
 * No check sees everything: which mistakes leave sum_j dS_ij = 0 as it is?  A check of one step says
 * where the mistake is.  A check does not learn which backward it is given; look() does, and can print
 * the numbers.  Print for one number, or only what is not right: of what is printed, the
 * first 100 lines are shown.  T, N, D and Dv are at most 6. */
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
        for (int j = 0; j < x->N; j++) sum += BLANK(1);
        worst = fmax(worst, apart(sum, 0));
    }
    return worst;
}

/* dV = A^T dO */
static double step_of_dV(attention *x)
{
    double worst = 0;
    for (int j = 0; j < x->N; j++)
        for (int d = 0; d < x->Dv; d++)
            worst = fmax(worst, apart(x->dV[j * x->Dv + d], BLANK(2))); /* some lines */
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
        double above = loss_of(x), below = BLANK(3); /* some lines */
        x->Q[e] = Q;
        worst = fmax(worst, apart(dQ[e], (above - below) / (2 * h)));
    }
    return worst;
}

const check checks[] = {{"rows of dS", rows_of_dS},
                        {"step of dV", step_of_dV},
                        {"differences of Q", differences_of_Q},
                        /* and your own */
                        {NULL, NULL}};

/* Called with -1 and the right backward, and with 0 to 9 and the planted ones: print what you want to
 * see, for example with if (number == 3) printf("delta[0] = %g\n", x->delta[0]); */
void look(int number, const attention *x)
{
    (void)number, (void)x;
}

/* The names of the mistakes are in exercise.h. */
const finding found[PLANTED] = {
    {NOT_FOUND, ""}, /* backward 0: for example {NO_DELTA, "rows of dS"} */
    {NOT_FOUND, ""}, /* backward 1 */
    {NOT_FOUND, ""}, /* backward 2 */
    {NOT_FOUND, ""}, /* backward 3 */
    {NOT_FOUND, ""}, /* backward 4 */
    {NOT_FOUND, ""}, /* backward 5 */
    {NOT_FOUND, ""}, /* backward 6 */
    {NOT_FOUND, ""}, /* backward 7 */
    {NOT_FOUND, ""}, /* backward 8 */
    {NOT_FOUND, ""}, /* backward 9 */
};
