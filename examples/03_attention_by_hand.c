/* 03_attention_by_hand.c -- attention is six small ops in sequence.
 *
 *     O = dropout(softmax(mask(c Q K^T))) V        c = 1/sqrt(D)
 *
 * Three tokens of size 2.  The steps of attention/attention.h are recorded one by one, and each
 * prints what it makes; softcap and bias are off, so that six ops are left.  Then backward runs
 * once, and the gradient that arrived at each op is printed, last op first.  At the end at_sdpa
 * does the same in one op, and both agree.
 *
 * Things to look for:
 *   - row 0 attends to key 0 alone, so its weights are 1, 0, 0, whatever its scores are;
 *   - dropout sets some weights to 0 and doubles the others, so rows no longer sum to 1;
 *   - each row of dS sums to 0: adding a constant to all scores of a row changes no weight;
 *   - the gradient of a masked score is exactly 0.
 *
 * Read on: ops/softmax.c and attention/reference.c for the formulas; then 04_three_paths.c. */
#include "attic.h"

#include <math.h>

#include "common/options.h"

static void show(const char *what, const at_tensor *x)
{
    printf("\n%s\n", what);
    at_print(x, stdout);
}

static void show_grad(const char *what, const at_tensor *x)
{
    printf("\n%s\n", what);
    at_print_grad(x, stdout);
}

/* the largest |a - b|, of values or of gradients */
static double difference(const at_tensor *a, const at_tensor *b, bool of_gradients)
{
    double worst = 0;
    for (ptrdiff_t i = 0; a && b && i < at_count(a->shape); i++) {
        double off = of_gradients ? fabs(at_grad_element(a, i) - at_grad_element(b, i))
                                  : fabs(at_element(a, i) - at_element(b, i));
        if (off > worst || isnan(off)) worst = off;
    }
    return worst;
}

static double sum_of_row(const at_tensor *x, int i, bool of_gradients)
{
    double sum = 0;
    for (int j = 0; j < 3; j++)
        sum += of_gradients ? at_grad_element(x, 3 * i + j) : at_element(x, 3 * i + j);
    return sum;
}

/* True if rows of P sum to 1, rows of dS to 0, and dS is 0 where masked. */
static bool print_seen(const at_tensor *P, const at_tensor *A, const at_tensor *S)
{
    double P_off = 0, A_off = 0, dS_off = 0, masked_dS = 0;
    for (int i = 0; i < 3; i++) {
        P_off = fmax(P_off, fabs(sum_of_row(P, i, false) - 1));
        A_off = fmax(A_off, fabs(sum_of_row(A, i, false) - 1));
        dS_off = fmax(dS_off, fabs(sum_of_row(S, i, true)));
        for (int j = i + 1; j < 3; j++)
            masked_dS = fmax(masked_dS, fabs(at_grad_element(S, 3 * i + j)));
    }
    printf(
        "\nSeen: every row of P sums to 1: %s; a row of A, after dropout, is off by up to %.2g.\n"
        "Every row of dS sums to 0: %s; dS is 0 where masked: %s.\n",
        P_off < 1e-14 ? "yes" : "NO", A_off, dS_off < 1e-14 ? "yes" : "NO",
        masked_dS == 0 ? "yes" : "NO");
    return P_off < 1e-14 && dS_off < 1e-14 && masked_dS == 0;
}

/* The same in one op, on a tape with the same seed: are O and the gradients of Q, K, V the same? */
static bool one_op_agrees(const double *const values[3], at_tensor *const by_hand[3],
                          const at_tensor *O, const at_tensor *dO)
{
    at_tape *t = at_open(ATTIC_F64, 3);
    at_tensor *x[3]; /* Q, K, V */
    for (int i = 0; i < 3; i++) x[i] = at_variable(t, at_shape_of(3, 2), values[i]);
    at_tensor *y = at_sdpa(t, x[0], x[1], x[2], (at_sdpa_args){.causal = true, .dropout = 0.5});
    at_backward_from(t, y, at_const(t, at_shape_of(3, 2), dO ? dO->data : NULL));
    bool ok = at_ok(t);
    if (!ok) fprintf(stderr, "attic: %s\n", at_error(t));
    double off[4] = {difference(O, y, false)};
    for (int i = 0; i < 3; i++) off[i + 1] = difference(by_hand[i], x[i], true);
    printf("at_sdpa, the same in one op: the largest difference is %.0e in O, %.0e in dQ,\n"
           "%.0e in dK, %.0e in dV.\n",
           off[0], off[1], off[2], off[3]);
    for (int i = 0; i < 4; i++) ok = ok && off[i] < 1e-14;
    at_close(t);
    return ok;
}

static void print_given(const at_tensor *Q, const at_tensor *K, const at_tensor *V)
{
    printf("What does each step of attention compute, and what comes back through it?  Three\n"
           "tokens of size 2, causal, with dropout 1/2.  A row of a matrix belongs to one\n"
           "query; in K, V, dK and dV to one key.  Look at the zeros of P, and at dS in the\n"
           "same places.  (-0. is 0.)\n");
    show("Q, a query for each token", Q);
    show("K, a key for each token", K);
    show("V, a value for each token", V);
}

int main(int argc, char **argv)
{
    parse_options(argc, argv,
                  "usage: 03_attention_by_hand\n"
                  "Attention is six small ops in sequence.\n",
                  NULL, 0);
    const double q[] = {1, 0, 0, 2, 1, 1}, k[] = {1, 1, 0, 1, 2, 0}, v[] = {1, 0, 0, 1, 2, 2};
    const bool future[] = {0, 1, 1, 0, 0, 1, 0, 0, 0}; /* 1 = hide: key j > row i */

    at_tape *t = at_open(ATTIC_F64, 3);
    at_tensor *Q = at_variable(t, at_shape_of(3, 2), q); /* [T,D] */
    at_tensor *K = at_variable(t, at_shape_of(3, 2), k); /* [N,D] */
    at_tensor *V = at_variable(t, at_shape_of(3, 2), v); /* [N,Dv] */

    at_tensor *R = at_matmul_t(t, Q, false, K, true); /* [T,D] [N,D]^T -> [T,N] */
    at_tensor *X = at_scale(t, R, 1 / sqrt(2));       /* D = 2 */
    at_tensor *S = X;                                 /* no softcap: U = X, no bias: S = U */
    at_tensor *hide = at_bools(t, at_shape_of(3, 3), future);
    at_tensor *masked = at_masked_fill(t, S, hide, -(double)INFINITY);
    at_tensor *P = at_softmax(t, masked);
    at_tensor *A = at_dropout(t, P, 0.5);
    at_tensor *O = at_matmul(t, A, V); /* [T,N] [N,Dv] -> [T,Dv] */

    /* The factors of the dropout are what it makes of ones.  It is a pure function of (seed, draw):
     * on another tape with the same seed, where it is the first draw too, it drops the same
     * cells. */
    at_tape *coins = at_open(ATTIC_F64, 3);
    const double ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    at_tensor *z = at_dropout(coins, at_const(coins, at_shape_of(3, 3), ones), 0.5);

    print_given(Q, K, V);
    show("1 scores: R = Q K^T, how well does query i match key j?", R);
    show("2 scale: X = R / sqrt(2), keeps the softmax from saturating as D grows", X);
    printf("\n3 softcap: off\n\n4 bias: off\n");
    show("5 mask: S where j <= i; the rest is not read (here: -inf)", masked);
    show("6 softmax: P_ij = exp(S_ij) / sum_k exp(S_ik)", P);
    show("7 dropout: z, 0 or 2, with probability 1/2 each", z);
    show("7 dropout: A = z P, each weight is 0 or doubled", A);
    show("8 values: O = A V, the values, weighted by A", O);

    at_tensor *dO = at_const(t, at_shape_of(3, 2), (double[]){1, 0, 1, 1, 1, -1});
    at_backward_from(t, O, dO);
    printf("\n---------------- backward, from dO = d(loss)/dO ----------------\n");
    show("dO, given: the upstream gradient (cotangent)", dO);
    show_grad("8 values: dV = A^T dO", V);
    show_grad("8 values: dA = dO V^T, masked cells too", A);
    show_grad("7 dropout: dP = z dA, 0 or doubled by the same z", P);
    show_grad("6 softmax: dS_ij = P_ij (dP_ij - delta_i), delta_i = sum_j P_ij dP_ij", masked);
    show_grad("5 mask: dS, where masked 0", S);
    printf("\n4 bias: off\n\n3 softcap: off\n");
    show_grad("2 scale: dR = dX / sqrt(2), dX = dU = dS", R);
    show_grad("1 scores: dQ = dR K", Q);
    show_grad("1 scores: dK = dR^T Q", K);

    bool as_seen = print_seen(P, A, S);
    bool agrees = one_op_agrees((const double *[]){q, k, v}, (at_tensor *[]){Q, K, V}, O, dO);
    if (!at_ok(t)) fprintf(stderr, "attic: %s\n", at_error(t));
    int failed = !at_ok(t) || !at_ok(coins) || !agrees || !as_seen;
    at_close(coins);
    at_close(t);
    return finish(failed);
}
