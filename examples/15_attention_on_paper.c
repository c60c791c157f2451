/* 15_attention_on_paper.c -- one attention, forward and backward, that can be checked with a pencil.
 *
 * Two queries, three keys, scale 1.  The scores are logarithms of small integers, so that the
 * weights P have one digit, and all but the scores and dQ are decimals of two digits:
 *
 *     Q = (1,0) (0,1)    K = (ln 7, 0) (ln 2, ln 3) (0, ln 6)    V = (1,4) (5,1) (0,2)
 *
 * The loss is sum dO O with dO = (1,1) (0,1).  Forward: P says how much of each value a query reads.
 * Backward: dP says how the loss would change with each weight, delta is the mean of a row of dP
 * under P, and dS = P (dP - delta) says how the loss changes if the score of a key rises: where it
 * is positive, the loss wants that key read less.  Each row of dS sums to 0, for the weights of a row
 * sum to 1: what one key gains, others lose.
 *
 * at_sdpa computes all of it in one op; the numbers beside it are worked out here, from the formulas.
 * With paths given it draws, in common/paper.c: the triangle of the values of query 0; its Jacobian;
 * P, dP and dS; the eight steps as a strip.
 *
 * Read on: attention/reference.c, where these formulas are derived. */
#include "attic.h"

#include <math.h>

#include "common/options.h"
#include "common/paper.h"

enum { T = PAPER_T, N = PAPER_N, D = PAPER_D };

/* What is left when formula and op are compared: 0 but for rounding. */
static double apart(const at_tensor *x, const double *by_hand)
{
    double most = 0;
    for (int i = 0; i < at_count(x->shape); i++)
        most = fmax(most, fabs(at_grad_element(x, i) - by_hand[i]));
    return most;
}

static void print_rows(const char *name, int rows, int columns, const double *x)
{
    printf("%-6s", name);
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++) printf("%8.4g", x[i * columns + j]);
        printf("%s", i + 1 < rows ? "   |" : "\n");
    }
}

static void print_matrices(const paper *a)
{
    printf(
        "Which key should a query read less?  A pencil can check all of it.  The rows of a\n"
        "matrix stand side by side: of P, O, dP, delta, dS, dQ for each query, of dK, dV for\n"
        "each key.  Look at the largest dS of a query: lowering that score lowers the loss.\n\n");
    printf(
        "Q = (1,0) (0,1)   K = (ln 7,0) (ln 2,ln 3) (0,ln 6)   V = (1,4) (5,1) (0,2)\n"
        "scale 1, so S = Q K^T is ln 7  ln 2  0 | 0  ln 3  ln 6, and exp(S) is 7 2 1 | 1 3 6\n\n");
    print_rows("P", T, N, a->P);
    print_rows("O", T, D, a->O);
    printf("\nBackward, from dO = (1,1) (0,1)\n\n");
    print_rows("dP", T, N, a->dP);
    print_rows("delta", T, 1, a->delta);
    print_rows("dS", T, N, a->dS);
    print_rows("dQ", T, D, a->dQ);
    print_rows("dK", N, D, a->dK);
    print_rows("dV", N, D, a->dV);
}

static bool draw(int n, char **path, const paper *a)
{
    bool (*const picture[])(const char *, const paper *) = {paper_triangle, paper_jacobian,
                                                            paper_matrices, paper_steps};
    bool drawn = true;
    for (int i = 0; i < n; i++) drawn = picture[i](path[i], a) && drawn;
    return drawn;
}

/* Does at_sdpa give the same gradients? */
static bool op_agrees(const paper *a)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *q = at_variable(t, at_shape_of(T, D), a->Q);
    at_tensor *k = at_variable(t, at_shape_of(N, D), a->K);
    at_tensor *v = at_variable(t, at_shape_of(N, D), a->V);
    at_tensor *o = at_sdpa(t, q, k, v, (at_sdpa_args){.scale = 1});
    at_backward_from(t, o, at_const(t, at_shape_of(T, D), a->dO));
    bool agree =
        at_ok(t) && apart(q, a->dQ) < 1e-14 && apart(k, a->dK) < 1e-14 && apart(v, a->dV) < 1e-14;
    if (!at_ok(t)) fprintf(stderr, "attic: %s\n", at_error(t));
    at_close(t);
    return agree;
}

static void print_seen(double dS[T][N])
{
    int most[T] = {0};
    double sum = 0;
    for (int i = 0; i < T; i++) {
        double row = 0;
        for (int j = 0; j < N; j++) {
            row += dS[i][j];
            if (dS[i][j] > dS[i][most[i]]) most[i] = j;
        }
        sum = fmax(sum, fabs(row));
    }
    printf("\nSeen: query 0 should read less of key %d (dS = %.2f), query 1 less of key %d\n"
           "(%.2f); each row of dS sums to 0: %s.\n",
           most[0], dS[0][most[0]], most[1], dS[1][most[1]], sum < 1e-14 ? "yes" : "NO");
}

int main(int argc, char **argv)
{
    int first =
        parse_options(argc, argv,
                      "usage: 15_attention_on_paper [triangle.svg [jacobian.svg "
                      "[matrices.svg [steps.svg]]]]\n"
                      "One attention, forward and backward, that can be checked with a pencil.\n",
                      NULL, 4);
    const double Q[T][D] = {{1, 0}, {0, 1}}, dO[T][D] = {{1, 1}, {0, 1}};
    const double K[N][D] = {{log(7), 0}, {log(2), log(3)}, {0, log(6)}};
    const double V[N][D] = {{1, 4}, {5, 1}, {0, 2}};
    double S[T][N], P[T][N], O[T][D] = {{0}}, dP[T][N], delta[T] = {0}, dS[T][N];
    double dQ[T][D] = {{0}}, dK[N][D] = {{0}}, dV[N][D] = {{0}};

    for (int i = 0; i < T; i++) {
        double sum = 0;
        for (int j = 0; j < N; j++) {
            S[i][j] = Q[i][0] * K[j][0] + Q[i][1] * K[j][1];
            sum += P[i][j] = exp(S[i][j]);
        }
        for (int j = 0; j < N; j++) {
            P[i][j] /= sum;
            dP[i][j] = dO[i][0] * V[j][0] + dO[i][1] * V[j][1];
            delta[i] += P[i][j] * dP[i][j];
            for (int d = 0; d < D; d++) O[i][d] += P[i][j] * V[j][d];
        }
        for (int j = 0; j < N; j++) {
            dS[i][j] = P[i][j] * (dP[i][j] - delta[i]);
            for (int d = 0; d < D; d++) {
                dV[j][d] += P[i][j] * dO[i][d];
                dQ[i][d] += dS[i][j] * K[j][d];
                dK[j][d] += dS[i][j] * Q[i][d];
            }
        }
    }
    const paper numbers = {.Q = Q[0],
                           .K = K[0],
                           .V = V[0],
                           .dO = dO[0],
                           .S = S[0],
                           .P = P[0],
                           .O = O[0],
                           .dP = dP[0],
                           .delta = delta,
                           .dS = dS[0],
                           .dQ = dQ[0],
                           .dK = dK[0],
                           .dV = dV[0]};
    print_matrices(&numbers);
    bool agree = op_agrees(&numbers);
    print_seen(dS);
    printf("at_sdpa gives the same dQ, dK and dV, to 14 digits: %s\n", agree ? "yes" : "NO");
    bool drawn = draw(argc - first, argv + first, &numbers);
    return finish(!(agree && drawn));
}
