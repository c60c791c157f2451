/* 03_attention_by_hand.c -- attention is six small ops in a row.
 *
 *     O = dropout(softmax(mask(Q K^T / sqrt(D)))) V
 *
 * Three tokens with two numbers each.  We record the six ops one by one, print what each of them
 * makes, then run backward once and print the gradient that arrived at each, last op first.  At the
 * end at_sdpa does the same in one op, and both agree.
 *
 * Things to look for:
 *   - row 0 may only look at key 0, so its weights are 1, 0, 0, whatever its scores are;
 *   - dropout sets some weights to 0 and doubles the others, so rows no longer sum to 1;
 *   - each row of dS sums to 0: pushing all scores of a row up alike changes no weight;
 *   - the gradient of a masked score is exactly 0: the future cannot be blamed.
 *
 * Read on: ops/softmax.c and ops/sdpa.c for the formulas; then 04_three_paths.c. */
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
    for (ptrdiff_t i = 0; a && b && i < at_count(a->shape); i++)
        worst = fmax(worst, of_gradients ? fabs(at_grad_element(a, i) - at_grad_element(b, i))
                                         : fabs(at_element(a, i) - at_element(b, i)));
    return worst;
}

int main(int argc, char **argv)
{
    parse_options(argc, argv, "usage: 03_attention_by_hand\n", NULL, 0);
    const double q[] = {1, 0, 0, 2, 1, 1}, k[] = {1, 1, 0, 1, 2, 0}, v[] = {1, 0, 0, 1, 2, 2};
    const bool future[] = {0, 1, 1, 0, 0, 1, 0, 0, 0}; /* 1 = hide: key j > row i */

    at_tape *t = at_open(ATTIC_F64, 3);
    at_tensor *Q = at_variable(t, at_shape_of(3, 2), q); /* [T,D] */
    at_tensor *K = at_variable(t, at_shape_of(3, 2), k); /* [S,D] */
    at_tensor *V = at_variable(t, at_shape_of(3, 2), v); /* [S,Dv] */

    at_tensor *s = at_matmul_t(t, Q, false, K, true); /* [T,D] [S,D]^T -> [T,S] */
    at_tensor *S = at_scale(t, s, 1 / sqrt(2));       /* D = 2 */
    at_tensor *hide = at_bools(t, at_shape_of(3, 3), future);
    at_tensor *M = at_masked_fill(t, S, hide, -(double)INFINITY);
    at_tensor *P = at_softmax(t, M);
    at_tensor *A = at_dropout(t, P, 0.5);
    at_tensor *O = at_matmul(t, A, V); /* [T,S] [S,Dv] -> [T,Dv] */

    show("1. scores  s = Q K^T: how well does query i match key j?", s);
    show("2. scale   S = s / sqrt(2): keeps the softmax from saturating as D grows", S);
    show("3. mask    M = S where j <= i, else -inf", M);
    show("4. softmax P: every row sums to 1", P);
    show("5. dropout A: each weight is 0 or doubled", A);
    show("6. output  O = A V: a mixture of the values", O);

    at_tensor *dO = at_const(t, at_shape_of(3, 2), (double[]){1, 0, 1, 1, 1, -1});
    at_backward_from(t, O, dO);
    printf("\n---------------- and back, from dO = d(loss)/dO ----------------\n");
    show("dO, given", dO);
    show_grad("6. dV = A^T dO", V);
    show_grad("6. dA = dO V^T", A);
    show_grad("5. dP = dA, 0 or doubled: the same cells as before", P);
    show_grad("4. dM = P (dP - sum_j dP P): what softmax passes on", M);
    show_grad("3. dS = dM, 0 where masked", S);
    show_grad("2. ds = dS / sqrt(2)", s);
    show_grad("1. dQ = ds K", Q);
    show_grad("1. dK = ds^T Q", K);

    /* The same in one op.  A dropout is a pure function of (seed, draw): a second tape with the same
     * seed, where it is the first draw too, drops the same cells. */
    at_tape *u = at_open(ATTIC_F64, 3);
    at_tensor *Q2 = at_variable(u, at_shape_of(3, 2), q);
    at_tensor *K2 = at_variable(u, at_shape_of(3, 2), k);
    at_tensor *V2 = at_variable(u, at_shape_of(3, 2), v);
    at_tensor *O2 = at_sdpa(u, Q2, K2, V2, (at_sdpa_args){.causal = true, .dropout = 0.5});
    at_backward_from(u, O2, at_const(u, at_shape_of(3, 2), (double[]){1, 0, 1, 1, 1, -1}));
    printf("\nat_sdpa in one op: the largest difference is %.0e in O, %.0e in dQ, %.0e in dK, %.0e "
           "in dV\n",
           difference(O, O2, false), difference(Q, Q2, true), difference(K, K2, true),
           difference(V, V2, true));

    if (!at_ok(t)) fprintf(stderr, "attic: %s\n", at_error(t));
    if (!at_ok(u)) fprintf(stderr, "attic: %s\n", at_error(u));
    int failed = !at_ok(t) || !at_ok(u) || !(difference(O, O2, false) < 1e-14);
    at_close(u);
    at_close(t);
    return finish(failed);
}
