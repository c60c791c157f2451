/* trace.c -- one small attention, printed step by step, forward and then backward.
 *
 *     trace                                   3 queries, 4 keys, of size 2
 *     trace --causal --dropout 0.25           see --help
 *     trace --queries 2 --keys 3 --mask 110/011
 *     trace --self --dim 1 --values 1,2,3     Q = K = V: three tokens of size 1
 *
 * The steps have the numbers of attention/attention.h, forward 1 to 8, then backward 8 to 1; one
 * that is off says so.  Every step shows its formula, its shapes, the whole matrix, and one cell
 * worked out with the numbers put in.  In the backward, each gradient stands beside its numerical
 * value: how much the loss changes when that one element is moved a little (five-point differences,
 * everything after it computed again; the step width is chosen for each element).  What disagrees
 * is marked DIFFERS, and the exit status is 1.  The arithmetic is written out here, in loops that
 * read like the formulas; at_sdpa, which does all of it in one op, is compared at the end. */
#include "attic.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"

enum { MAX = 8 };
typedef struct {
    double at[MAX][MAX];
} matrix;

/* ------------------------------------------------------------------ the attention -------------- */

/* Everything one attention computes, in the order in which it is computed: R, X, S, P, A, O.
 * MASKED is S with -inf where it is masked. */
enum { SCORES, SCALED, MASKED, PROBS, WEIGHTS, OUTPUT, N_STAGES };
typedef struct {
    matrix Q, K, V;         /* [T,D] [N,D] [N,D] */
    matrix stage[N_STAGES]; /* [T,N], the output [T,D] */
} attention;

static int T = 3, N = 4, D = 2, causal, self, seed = 1;
static double scale, dropout, c; /* c: the scale in use */
static const char *mask = "", *values = "";
static matrix keep, z,
    dO; /* 1 = attend; dropout factors; the upstream gradient (cotangent), given */

static void softmax_row(const double *S, const double *kept, double *P)
{
    double max = -(double)INFINITY, sum = 0;
    for (int j = 0; j < N; j++) max = fmax(max, S[j]);
    for (int j = 0; j < N; j++) sum += kept[j] ? exp(S[j] - max) : 0;
    for (int j = 0; j < N; j++) P[j] = kept[j] ? exp(S[j] - max) / sum : 0;
}

/* Computes the stages from `first` on; the earlier ones stand. */
static void forward_from(attention *a, int first)
{
    matrix *to = a->stage;
    for (int i = 0; i < T; i++) {
        for (int j = 0; j < N && first <= SCORES; j++) {
            to[SCORES].at[i][j] = 0;
            for (int d = 0; d < D; d++) to[SCORES].at[i][j] += a->Q.at[i][d] * a->K.at[j][d];
        }
        for (int j = 0; j < N && first <= SCALED; j++)
            to[SCALED].at[i][j] = c * to[SCORES].at[i][j];
        for (int j = 0; j < N && first <= MASKED; j++)
            to[MASKED].at[i][j] = keep.at[i][j] ? to[SCALED].at[i][j] : -(double)INFINITY;
        if (first <= PROBS) softmax_row(to[MASKED].at[i], keep.at[i], to[PROBS].at[i]);
        for (int j = 0; j < N && first <= WEIGHTS; j++)
            to[WEIGHTS].at[i][j] = z.at[i][j] * to[PROBS].at[i][j];
        for (int d = 0; d < D; d++) {
            to[OUTPUT].at[i][d] = 0;
            for (int j = 0; j < N; j++) to[OUTPUT].at[i][d] += to[WEIGHTS].at[i][j] * a->V.at[j][d];
        }
    }
}

/* ------------------------------------------------------------------ its backward --------------- */

typedef struct {
    matrix dV, dA, dP, dS, dR, dQ, dK; /* dS = dU = dX: softcap and bias are off */
    double delta[MAX];
} gradients;

static gradients backward(const attention *a)
{
    gradients g = {0};
    const matrix *P = &a->stage[PROBS], *A = &a->stage[WEIGHTS];
    for (int i = 0; i < T; i++) {
        for (int j = 0; j < N; j++)
            for (int d = 0; d < D; d++) {
                g.dV.at[j][d] += A->at[i][j] * dO.at[i][d];
                g.dA.at[i][j] += dO.at[i][d] * a->V.at[j][d];
            }
        for (int j = 0; j < N; j++) g.dP.at[i][j] = z.at[i][j] * g.dA.at[i][j];
        for (int j = 0; j < N; j++) g.delta[i] += P->at[i][j] * g.dP.at[i][j];
        for (int j = 0; j < N; j++) g.dS.at[i][j] = P->at[i][j] * (g.dP.at[i][j] - g.delta[i]);
        for (int j = 0; j < N; j++) g.dR.at[i][j] = c * g.dS.at[i][j];
        for (int j = 0; j < N; j++)
            for (int d = 0; d < D; d++) {
                g.dQ.at[i][d] += g.dR.at[i][j] * a->K.at[j][d];
                g.dK.at[j][d] += g.dR.at[i][j] * a->Q.at[i][d];
            }
    }
    return g;
}

/* ------------------------------------------------------------------ numerical gradients -------- */

static double loss(const attention *a)
{
    double sum = 0;
    for (int i = 0; i < T; i++)
        for (int d = 0; d < D; d++) sum += dO.at[i][d] * a->stage[OUTPUT].at[i][d];
    return sum;
}

/* Elements of an attention that move together, as offsets into it, and the first stage after
 * them. */
typedef struct {
    size_t at[3];
    int n, next;
} place;

/* The loss after they are moved by h and what follows is computed again. */
static double loss_moved(attention a, const place *p, double h)
{
    for (int k = 0; k < p->n; k++) *(double *)((char *)&a + p->at[k]) += h;
    forward_from(&a, p->next);
    return loss(&a);
}

/* d(loss)/d(element) = (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h + O(h^4) */
static double slope(const attention *a, const place *p, double h)
{
    double near = loss_moved(*a, p, h) - loss_moved(*a, p, -h);
    double far = loss_moved(*a, p, 2 * h) - loss_moved(*a, p, -2 * h);
    return (8 * near - far) / (12 * h);
}

/* By how much the loss may be rounded: 1e-16 of the terms that it is a sum of. */
static double rounding(const attention *a)
{
    double sum = 0;
    for (int i = 0; i < T; i++)
        for (int j = 0; j < N; j++)
            for (int d = 0; d < D; d++)
                sum += fabs(dO.at[i][d] * a->stage[WEIGHTS].at[i][j] * a->V.at[j][d]);
    return DBL_EPSILON * sum;
}

/* The slope is wrong by O(h^4) for a large h, and by rounding / h for a small one.  How large is
 * large depends on the element: the loss as a function of a score that is multiplied by 100 is bent
 * 100 times as soon.  So h is halved 31 times, and the slope is taken that agrees best with the one
 * before and the one after it (autograd/gradcheck.c does the same); *unsure is what is left of
 * their disagreement. */
static double differentiate(const attention *a, const place *p, double *unsure)
{
    enum { STEPS = 32 };
    double x = *(const double *)((const char *)a + p->at[0]);
    double largest_step = exp2(ceil(log2(fmax(1, fabs(x)))) - 5), n[STEPS], best = (double)NAN;
    for (int j = 0; j < STEPS; j++) n[j] = slope(a, p, ldexp(largest_step, -j));
    *unsure = (double)INFINITY;
    for (int j = 1; j + 1 < STEPS; j++) {
        double apart = fmax(fabs(n[j - 1] - n[j]), fabs(n[j] - n[j + 1]));
        double u = 4 * apart + rounding(a) / ldexp(largest_step, -j);
        if (u < *unsure) *unsure = u, best = n[j];
    }
    return best;
}

typedef struct {
    matrix n, unsure; /* the true number lies within n +- unsure */
} differences;

static size_t offset(const attention *a, const double *x)
{
    return (size_t)((const char *)x - (const char *)a);
}

static differences numerical(const attention *a, const matrix *what, int rows, int cols, int next)
{
    differences g = {0};
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) {
            const place p = {{offset(a, &what->at[i][j])}, 1, next};
            g.n.at[i][j] = differentiate(a, &p, &g.unsure.at[i][j]);
        }
    return g;
}

/* The same for the one matrix that is Q, K and V. */
static differences numerical_all(const attention *a)
{
    differences g = {0};
    for (int i = 0; i < T; i++)
        for (int j = 0; j < D; j++) {
            const place p = {
                {offset(a, &a->Q.at[i][j]), offset(a, &a->K.at[i][j]), offset(a, &a->V.at[i][j])},
                3,
                SCORES};
            g.n.at[i][j] = differentiate(a, &p, &g.unsure.at[i][j]);
        }
    return g;
}

/* ------------------------------------------------------------------ printing ------------------- */

static void title(const char *text)
{
    printf("\n\n%s\n", text);
    for (size_t i = 0; i < strlen(text); i++) printf("-");
    printf("\n");
}

/* not -0.0000 */
static double shown(double x)
{
    return fabs(x) < 5e-5 ? 0 : x;
}

static void print_number(double x)
{
    double size = fabs(x);
    if (isinf(x))
        printf("%9s", x < 0 ? "-inf" : "inf");
    else
        printf(size < 100 ? "%9.4f" : size < 1e4 ? "%9.2f" : "%9.1e", shown(x));
}

/* rows and columns are named q0 q1 ..., k0 k1 ... or d0 d1 ... */
static void print_header(int cols, char col)
{
    for (int j = 0; j < cols; j++) printf("%8c%d", col, j);
}

static void print_matrix(const matrix *m, int rows, char row, int cols, char col)
{
    printf("\n      ");
    print_header(cols, col);
    for (int i = 0; i < rows; i++) {
        printf("\n    %c%d", row, i);
        for (int j = 0; j < cols; j++) print_number(m->at[i][j]);
    }
    printf("\n");
}

static int compared, differ; /* elements, over all steps */

static double largest(const matrix *m)
{
    double most = 0;
    for (int i = 0; i < MAX; i++)
        for (int j = 0; j < MAX; j++)
            if (isfinite(m->at[i][j])) most = fmax(most, fabs(m->at[i][j]));
    return most;
}

/* Elements must agree to 7 digits, tiny ones relative to the largest; or as far as the numerical
 * one is known. */
static void print_differences(const matrix *m, const differences *g, int rows, char row, int cols,
                              char col)
{
    double worst = 0, most = largest(m);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) {
            double a = m->at[i][j], n = g->n.at[i][j], unsure = g->unsure.at[i][j];
            double off = fabs(a - n), size = fmax(fmax(fabs(a), fabs(n)), most / 1000);
            compared++;
            worst = fmax(worst, off);
            if (off <= 1e-7 * size + unsure) continue;
            differ++;
            printf("    DIFFERS at [%c%d,%c%d]: %.10g by the formula, %.10g +- %.0e numerically\n",
                   row, i, col, j, a, n, unsure);
        }
    printf("    largest difference %.1e, of elements up to %.4g\n", worst, most);
    if (most > 0 && largest(&g->unsure) > most / 1000)
        printf("    (so small that the loss, which is rounded, shows them only to %.0e)\n",
               largest(&g->unsure));
}

/* The matrix by its formula, beside the same by moving each element. */
static void print_beside(const matrix *m, const differences *g, int rows, char row, int cols,
                         char col)
{
    printf("\n    by the formula%*s   numerically\n      ", 9 * cols - 12, "");
    print_header(cols, col);
    printf("      ");
    print_header(cols, col);
    for (int i = 0; i < rows; i++) {
        printf("\n    %c%d", row, i);
        for (int j = 0; j < cols; j++) print_number(m->at[i][j]);
        printf("      ");
        for (int j = 0; j < cols; j++) print_number(g->n.at[i][j]);
    }
    printf("\n");
    print_differences(m, g, rows, row, cols, col);
}

/* " a0*b0 + a1*b1 + ... = sum" with the numbers put in */
static void print_dot(int n, const double *a, int a_step, const double *b, int b_step)
{
    double sum = 0;
    for (int k = 0; k < n; k++) {
        printf("%s%.4g*%.4g", k ? " + " : "", a[k * a_step], b[k * b_step]);
        sum += a[k * a_step] * b[k * b_step];
    }
    printf(" = %.4f\n", shown(sum));
}

/* ------------------------------------------------------------------ the forward, printed -------- */

/* The cell that is worked out: the last one that is kept. */
static int wi, wj;

static void print_inputs(const attention *a)
{
    title("Given");
    if (self) {
        printf("Q = K = V [%d,%d]: each token is query, key and value", T, D);
        print_matrix(&a->Q, T, 't', D, 'd');
        return;
    }
    printf("Q [%d,%d]: a query in each row", T, D);
    print_matrix(&a->Q, T, 'q', D, 'd');
    printf("K [%d,%d]: a key in each row", N, D);
    print_matrix(&a->K, N, 'k', D, 'd');
    printf("V [%d,%d]: the value of each key", N, D);
    print_matrix(&a->V, N, 'k', D, 'd');
}

static void print_scores(const attention *a)
{
    const matrix *R = &a->stage[SCORES], *X = &a->stage[SCALED];
    title("1 scores: R = Q K^T");
    printf("[%d,%d] [%d,%d]^T -> [%d,%d]     R_ij = sum_d Q_id K_jd", T, D, N, D, T, N);
    print_matrix(R, T, 'q', N, 'k');
    printf("    R[q%d,k%d] = ", wi, wj);
    print_dot(D, a->Q.at[wi], 1, a->K.at[wj], 1);
    if (self)
        printf("    symmetric, as Q = K; the weights need not be: each row has a sum of its own\n");

    title("2 scale: X = c R");
    printf("[%d,%d]     c = %.4g%s", T, N, c, scale == 0 ? " = 1/sqrt(D)" : "");
    print_matrix(X, T, 'q', N, 'k');
    printf("    X[q%d,k%d] = %.4g * %.4f = %.4f\n", wi, wj, c, R->at[wi][wj], X->at[wi][wj]);

    title("3 softcap: off");
    printf("U = X\n");
    title("4 bias: off");
    printf("S = U\n");
}

static void print_mask(const attention *a)
{
    bool off = !*mask && !causal;
    title(off ? "5 mask: off" : "5 mask: S where row i attends to key j; the rest is not read");
    printf("[%d,%d]     ", T, N);
    if (off) printf("every query attends to every key");
    if (*mask) printf("as given, 1 = attend: %s%s", mask, causal ? "; and " : "");
    if (causal) printf("causal: query i attends to key j when j <= i + N - T");
    if (causal && N != T) printf(" = i %c %d", N > T ? '+' : '-', abs(N - T));
    if (!off) printf(".  Masked is shown as -inf");
    print_matrix(&a->stage[MASKED], T, 'q', N, 'k');
}

static bool some_row_is_empty(void)
{
    for (int i = 0; i < T; i++) {
        int kept = 0;
        for (int j = 0; j < N; j++) kept += keep.at[i][j] != 0;
        if (!kept) return true;
    }
    return false;
}

static void print_softmax(const attention *a)
{
    const double *S = a->stage[MASKED].at[wi], *P = a->stage[PROBS].at[wi];
    double max = -(double)INFINITY, sum = 0;
    title("6 softmax: P_ij = exp(S_ij - m_i) / sum_k exp(S_ik - m_i),  m_i = max_k S_ik");
    printf("[%d,%d]     each row is a probability distribution over the keys that it attends to", T,
           N);
    if (some_row_is_empty())
        printf(";\n          a row that attends to none has no distribution: 0");
    print_matrix(&a->stage[PROBS], T, 'q', N, 'k');
    for (int j = 0; j < N; j++) max = fmax(max, S[j]);
    printf("    P[q%d,k%d] = exp(%.4f - %.4f) / (", wi, wj, S[wj], max);
    for (int j = 0; j < N; j++) {
        printf("%s%.4f", j ? " + " : "", exp(S[j] - max));
        sum += exp(S[j] - max);
    }
    printf(") = %.4f / %.4f = %.4f\n", exp(S[wj] - max), sum, P[wj]);
}

static void print_output(const attention *a)
{
    title(dropout > 0 ? "7 dropout: A = z P" : "7 dropout: off");
    if (dropout > 0) {
        printf("[%d,%d]     z is 0 with probability %g, else 1/(1 - %g) = %.4f; drawn:", T, N,
               dropout, dropout, 1 / (1 - dropout));
        print_matrix(&z, T, 'q', N, 'k');
        printf("    A");
    } else {
        printf("[%d,%d]     z = 1, A = P", T, N);
    }
    print_matrix(&a->stage[WEIGHTS], T, 'q', N, 'k');
    printf("    A[q%d,k%d] = %.4f * %.4f = %.4f\n", wi, wj, z.at[wi][wj],
           a->stage[PROBS].at[wi][wj], a->stage[WEIGHTS].at[wi][wj]);

    title("8 values: O = A V");
    printf("[%d,%d] [%d,%d] -> [%d,%d]     %s", T, N, N, D, T, D,
           dropout > 0 ? "each output is a sum of values, weighted by A, whose rows sum to 1 only\n"
                         "          on average"
                       : "each output is a mixture of the values");
    print_matrix(&a->stage[OUTPUT], T, 'q', D, 'd');
    printf("    O[q%d,d0] = ", wi);
    print_dot(N, a->stage[WEIGHTS].at[wi], 1, &a->V.at[0][0], MAX);
}

/* ------------------------------------------------------------------ the backward, printed ------- */

static void print_values_gradient(const attention *a, const gradients *g)
{
    differences n = numerical(a, &a->V, N, D, OUTPUT);
    title("Backward. Given: dO = d(loss)/dO");
    printf(
        "[%d,%d]     the upstream gradient (cotangent); of loss = sum_id dO_id O_id it is exactly "
        "this",
        T, D);
    print_matrix(&dO, T, 'q', D, 'd');
    printf("\n    dX is short for d(loss)/dX, for every X.  The steps follow in reverse order.\n");

    title("8 values: dV = A^T dO");
    printf("[%d,%d]^T [%d,%d] -> [%d,%d]     dV_j is a sum over the queries that read value j\n", T,
           N, T, D, N, D);
    print_beside(&g->dV, &n, N, 'k', D, 'd');
    printf("    dV[k%d,d0] = ", wj);
    print_dot(T, &a->stage[WEIGHTS].at[0][wj], MAX, &dO.at[0][0], MAX);

    n = numerical(a, &a->stage[WEIGHTS], T, N, OUTPUT);
    title("8 values: dA = dO V^T");
    printf("[%d,%d] [%d,%d]^T -> [%d,%d]     where dA_ij > 0, more of value j in output i raises "
           "the loss\n",
           T, D, N, D, T, N);
    print_beside(&g->dA, &n, T, 'q', N, 'k');
    printf("    dA[q%d,k%d] = ", wi, wj);
    print_dot(D, dO.at[wi], 1, a->V.at[wj], 1);
}

static void print_dropout_gradient(const attention *a, const gradients *g)
{
    differences n = numerical(a, &a->stage[PROBS], T, N, WEIGHTS);
    title(dropout > 0 ? "7 dropout: dP = z dA" : "7 dropout: off");
    printf("[%d,%d]     %s\n", T, N,
           dropout > 0 ? "the same factors z as in the forward" : "z = 1, dP = dA");
    print_beside(&g->dP, &n, T, 'q', N, 'k');
    printf("    dP[q%d,k%d] = %.4f * %.4f = %.4f\n", wi, wj, z.at[wi][wj], g->dA.at[wi][wj],
           g->dP.at[wi][wj]);
}

/* J_jk = d/dS_ik P_ij of the worked row */
static void print_jacobian(const attention *a)
{
    const double *P = a->stage[PROBS].at[wi];
    matrix J;
    for (int j = 0; j < N; j++)
        for (int k = 0; k < N; k++) J.at[j][k] = P[j] * ((j == k) - P[k]);
    title("6 softmax: the Jacobian of a row, d/dS_k P_j = P_j (1[j=k] - P_k)");
    printf("[%d,%d], here for row q%d; every row and every column sums to 0", N, N, wi);
    print_matrix(&J, N, 'k', N, 'k');
    printf("    J[k%d,k%d] = %.4f * (1 - %.4f) = %.4f\n", wj, wj, P[wj], P[wj], J.at[wj][wj]);
}

static void print_softmax_gradient(const attention *a, const gradients *g)
{
    const double *P = a->stage[PROBS].at[wi];
    title("6 softmax: delta_i = sum_j P_ij dP_ij = dO_i . O_i");
    printf("[%d]     the Jacobian times dP needs one scalar per row, and the output contains "
           "it already\n\n",
           T);
    for (int i = 0; i < T; i++) {
        double other = 0;
        for (int d = 0; d < D; d++) other += a->stage[OUTPUT].at[i][d] * dO.at[i][d];
        printf("    delta[q%d] = %8.4f      dO . O = %8.4f\n", i, shown(g->delta[i]), shown(other));
        if (fabs(other - g->delta[i]) <= 1e-12 * largest(&g->dP)) continue;
        differ++;
        printf("    DIFFERS: both should be the same\n");
    }
    printf("    delta[q%d] = ", wi);
    print_dot(N, P, 1, g->dP.at[wi], 1);

    differences n = numerical(a, &a->stage[SCALED], T, N, MASKED);
    title("6 softmax: dS_ij = P_ij (dP_ij - delta_i)");
    printf("[%d,%d]     every row sums to 0\n", T, N);
    print_beside(&g->dS, &n, T, 'q', N, 'k');
    printf("    dS[q%d,k%d] = %.4f * (%.4f - %.4f) = %.4f\n", wi, wj, P[wj], g->dP.at[wi][wj],
           g->delta[wi], g->dS.at[wi][wj]);
}

static void print_scores_gradient(const attention *a, const gradients *g)
{
    title(*mask || causal ? "5 mask: dS_ij = 0 where masked" : "5 mask: off");
    printf(*mask || causal ? "P_ij is 0 there, a constant\n" : "nothing is masked\n");
    title("4 bias: off");
    printf("dU = dS\n");
    title("3 softcap: off");
    printf("dX = dU\n");

    differences n = numerical(a, &a->stage[SCORES], T, N, SCALED);
    title("2 scale: dR = c dX");
    printf("[%d,%d]\n", T, N);
    print_beside(&g->dR, &n, T, 'q', N, 'k');
    printf("    dR[q%d,k%d] = %.4g * %.4f = %.4f\n", wi, wj, c, g->dS.at[wi][wj], g->dR.at[wi][wj]);

    n = numerical(a, &a->Q, T, D, SCORES);
    title("1 scores: dQ = dR K");
    printf("[%d,%d] [%d,%d] -> [%d,%d]     dQ_i is a sum of keys\n", T, N, N, D, T, D);
    print_beside(&g->dQ, &n, T, 'q', D, 'd');
    printf("    dQ[q%d,d0] = ", wi);
    print_dot(N, g->dR.at[wi], 1, &a->K.at[0][0], MAX);

    n = numerical(a, &a->K, N, D, SCORES);
    title("1 scores: dK = dR^T Q");
    printf("[%d,%d]^T [%d,%d] -> [%d,%d]     dK_j is a sum of queries\n", T, N, T, D, N, D);
    print_beside(&g->dK, &n, N, 'k', D, 'd');
    printf("    dK[k%d,d0] = ", wj);
    print_dot(T, &g->dR.at[0][wj], MAX, &a->Q.at[0][0], MAX);
}

/* The gradient of the one matrix is the sum over its three uses. */
static matrix sum_of_uses(const gradients *g)
{
    matrix sum = {0};
    for (int i = 0; i < T; i++)
        for (int d = 0; d < D; d++) sum.at[i][d] = g->dQ.at[i][d] + g->dK.at[i][d] + g->dV.at[i][d];
    return sum;
}

static void print_sum(const attention *a, const gradients *g)
{
    matrix sum = sum_of_uses(g);
    differences n = numerical_all(a);
    title("Q = K = V: dQ + dK + dV");
    printf("[%d,%d]     the gradient of a tensor that is used three times; numerically, all three "
           "move\n",
           T, D);
    print_beside(&sum, &n, T, 't', D, 'd');
    printf("    sum[t%d,d0] = %.4f + %.4f + %.4f = %.4f\n", wj, g->dQ.at[wj][0], g->dK.at[wj][0],
           g->dV.at[wj][0], sum.at[wj][0]);
}

/* ------------------------------------------------------------------ the same in one op --------- */

static at_tensor *as_variable(at_tape *t, const matrix *m, int rows, int cols)
{
    at_tensor *x = at_variable(t, at_shape_of(rows, cols), NULL);
    for (int i = 0; x && i < rows; i++)
        for (int j = 0; j < cols; j++) at_set(x, m->at[i][j], i, j);
    return x;
}

/* The largest difference of the op's elements from m, relative to the terms they are sums of.  A
 * score may be rounded by 1e-16 of it, and the softmax takes its exponential. */
static void print_op_difference(const char *name, const at_tensor *x, bool gradient,
                                const matrix *m, double terms, double score)
{
    double worst = 0;
    for (int i = 0; i < x->shape.dim[0]; i++)
        for (int j = 0; j < x->shape.dim[1]; j++) {
            int at = i * x->shape.dim[1] + j;
            double off =
                fabs((gradient ? at_grad_element(x, at) : at_element(x, at)) - m->at[i][j]);
            worst = isnan(off) ? (double)INFINITY : fmax(worst, off);
        }
    if (worst > 0) worst /= terms;
    bool agrees = worst <= 1e-13 * (10 + score);
    printf(" %s %.1e%s", name, worst, agrees ? "" : " DIFFERS");
    differ += !agrees;
}

/* The dropout factors that at_sdpa will draw on a tape with this seed, read off its weights. */
static void draw_dropout(void)
{
    at_tape *t = at_open(ATTIC_F64, (uint64_t)seed);
    matrix zero = {0};
    at_tensor *A = NULL, *x = as_variable(t, &zero, T, D), *y = as_variable(t, &zero, N, D);
    at_sdpa(t, x, y, y, (at_sdpa_args){.dropout = dropout, .weights = &A}); /* A = z / N */
    for (int i = 0; at_ok(t) && i < T; i++)
        for (int j = 0; j < N; j++) z.at[i][j] = at_get(A, i, j) > 0 ? 1 / (1 - dropout) : 0;
    at_close(t);
}

static bool print_op(const attention *a, const gradients *g)
{
    at_tape *t = at_open(ATTIC_F64, (uint64_t)seed);
    at_tensor *Q = as_variable(t, &a->Q, T, D), *given = as_variable(t, &dO, T, D);
    at_tensor *K = self ? Q : as_variable(t, &a->K, N, D);
    at_tensor *V = self ? Q : as_variable(t, &a->V, N, D);
    at_tensor *kept = at_bools(t, at_shape_of(T, N), NULL);
    for (int i = 0; kept && i < T; i++)
        for (int j = 0; j < N; j++) at_set(kept, keep.at[i][j], i, j);
    at_sdpa_args args = {.scale = scale, .keep = kept, .dropout = dropout};
    at_tensor *O = at_sdpa(t, Q, K, V, args);
    title(self ? "The same in one op: at_sdpa(Q, Q, Q), and at_backward_from(O, dO)"
               : "The same in one op: at_sdpa(Q, K, V), and at_backward_from(O, dO)");
    bool ok = at_backward_from(t, O, given);
    if (ok) {
        double A = largest(&a->stage[WEIGHTS]), dS = fabs(c) * largest(&g->dP);
        double score = largest(&a->stage[SCALED]), dV = A * largest(&dO);
        double dQ = dS * largest(&a->K), dK = dS * largest(&a->Q);
        matrix sum = sum_of_uses(g);
        printf("largest difference, relative to the terms that are summed:");
        print_op_difference("O", O, false, &a->stage[OUTPUT], A * largest(&a->V), score);
        if (!self) print_op_difference("dQ", Q, true, &g->dQ, dQ, score);
        if (!self) print_op_difference("dK", K, true, &g->dK, dK, score);
        if (!self) print_op_difference("dV", V, true, &g->dV, dV, score);
        if (self) print_op_difference("dQ + dK + dV", Q, true, &sum, dQ + dK + dV, score);
        printf("\n");
    } else {
        fprintf(stderr, "attic: %s\n", at_error(t));
    }
    at_close(t);
    return ok;
}

/* ------------------------------------------------------------------ set up --------------------- */

/* Small numbers, multiples of 1/2 from -2 to 2. */
static matrix draw_matrix(at_stream dice, int *next)
{
    matrix m;
    for (int i = 0; i < MAX; i++)
        for (int j = 0; j < MAX; j++)
            m.at[i][j] = floor(at_random_unit(dice, (uint64_t)(*next)++) * 9) / 2 - 2;
    return m;
}

/* "110/011": a row of keys per query; one row alone holds for every query. */
static bool read_mask(void)
{
    const char *p = mask;
    for (int i = 0; i < T; i++) {
        if (i > 0 && !*p)
            memcpy(keep.at[i], keep.at[i - 1], sizeof keep.at[i]);
        else {
            p += i > 0 && *p == '/';
            for (int j = 0; j < N; j++, p++) {
                if (*p != '0' && *p != '1') return false;
                keep.at[i][j] = *p == '1';
            }
        }
    }
    return !*p;
}

/* "1,2,3,4": the rows of one matrix, D elements each. */
static bool read_values(matrix *m)
{
    int n = 0;
    for (const char *p = values; *p; n++) {
        char *end;
        double v = strtod(p, &end);
        if (end == p || (*end && *end != ',') || !isfinite(v) || n == MAX * D) return false;
        m->at[n / D][n % D] = v;
        p = *end ? end + 1 : end;
    }
    T = n / D;
    return n % D == 0;
}

static void set_up(attention *a)
{
    int next = 0;
    at_stream dice = {(uint64_t)seed, 1000};
    a->Q = draw_matrix(dice, &next);
    a->K = draw_matrix(dice, &next);
    a->V = draw_matrix(dice, &next);
    dO = draw_matrix(dice, &next);
    if (*values && !read_values(&a->Q)) {
        fprintf(stderr,
                "trace: --values must be numbers with commas between them, rows of %d, at most %d "
                "rows\n",
                D, MAX);
        exit(2);
    }
    if (*values || self) {
        self = 1;
        N = T;
        a->K = a->V = a->Q;
    }
    c = scale == 0 ? 1 / sqrt(D) : scale;
    for (int i = 0; i < T; i++)
        for (int j = 0; j < N; j++) keep.at[i][j] = 1;
    if (*mask && !read_mask()) {
        fprintf(stderr,
                "trace: --mask must be %d digits 0 or 1 for each query, such as 110/011, or one "
                "row for all\n",
                N);
        exit(2);
    }
    for (int i = 0; i < T; i++)
        for (int j = 0; j < N; j++) keep.at[i][j] *= !causal || j <= i + N - T;
    draw_dropout();
    wi = -1;
    for (int i = 0; i < T; i++)
        for (int j = 0; j < N; j++)
            if (keep.at[i][j]) wi = i, wj = j;
    if (wi < 0) {
        fprintf(stderr, "trace: the mask hides every key from every query\n");
        exit(2);
    }
}

int main(int argc, char **argv)
{
    const option table[] = {
        {"queries", &T, NULL, NULL, 1, MAX, "number of queries, T"},
        {"keys", &N, NULL, NULL, 1, MAX, "number of keys, N"},
        {"dim", &D, NULL, NULL, 1, MAX, "size of each query, key and value, D"},
        {"self", &self, NULL, NULL, 0, 0, "Q = K = V, one matrix"},
        {"values", NULL, NULL, &values, 0, 0, "its elements, row by row: 1,2,3; implies --self"},
        {"mask", NULL, NULL, &mask, 0, 0, "keys each query attends to, 1 = attend: 110/011"},
        {"causal", &causal, NULL, NULL, 0, 0,
         "hide the future; the last query attends to all keys"},
        {"scale", NULL, &scale, NULL, -100, 100, "factor on the scores; 0: 1/sqrt(D)"},
        {"dropout", NULL, &dropout, NULL, 0, 0.99, "probability that a weight is dropped"},
        {"seed", &seed, NULL, NULL, 0, 2147483647, "of the inputs and of the dropout"},
        {0}};
    parse_options(
        argc, argv,
        "usage: trace [options]\nOne small attention, step by step, forward and backward.\n", table,
        0);
    attention a = {0};
    set_up(&a);
    forward_from(&a, SCORES);
    gradients g = backward(&a);

    printf("O = dropout(softmax(mask(softcap(c Q K^T) + bias))) V, softcap and bias off.\n"
           "T = %d queries, N = %d keys, D = %d, seed %d.\n",
           T, N, D, seed);
    printf("One cell is worked out in every step: query q%d, key k%d.\n", wi, wj);
    print_inputs(&a);
    print_scores(&a);
    print_mask(&a);
    print_softmax(&a);
    print_output(&a);
    print_values_gradient(&a, &g);
    print_dropout_gradient(&a, &g);
    print_jacobian(&a);
    print_softmax_gradient(&a, &g);
    print_scores_gradient(&a, &g);
    if (self) print_sum(&a, &g);
    bool ok = print_op(&a, &g);
    printf("%d elements were compared with their numerical values\n", compared);
    if (differ) fprintf(stderr, "trace: %d times DIFFERS above, where nothing should\n", differ);
    return finish(!ok || differ);
}
