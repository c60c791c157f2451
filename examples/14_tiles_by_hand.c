/* 14_tiles_by_hand.c -- from three weights to attention in tiles, forward and backward, with all
 * intermediate values.
 *
 * 1  A MIXTURE.  One query, three keys.  Their scores are ln 7, ln 2 and ln 1, so the weights are
 *    0.7, 0.2 and 0.1, and the output is that mixture of the three values: a point inside the
 *    triangle they span.  The lower the temperature, the closer to a corner.
 *
 * 2  THE GRADIENT OF A SCORE is dS_j = P_j dO.(V_j - O): each value is compared with the mixture of
 *    all, and the gradient is positive where the value lies further along dO.  With dropout the same
 *    holds for z_j V_j: sum_j P_j dP_j is still dO.O, for the dropped weights made this O.
 *
 * 3  FORWARD IN TILES.  Two queries, four keys, two keys at a time.  Only m, l and O' are kept from
 *    tile to tile; when a larger score turns up, l and O' are multiplied by exp(m - m').  For q0 this
 *    happens, for q1 not.
 *
 * 4  BACKWARD IN TILES.  m, l and delta are three scalars per row.  With them every cell of every
 *    tile can be computed on its own: P again, dS from it, its terms of dQ, dK, dV.
 *
 * 5  THE SAME IN ONE OP, and what must come out equal whatever the inputs are.
 *
 * Steps 2 to 5 of attention/attention.h (scale, softcap, bias, mask) are off, so that
 * R = X = U = S.
 *
 * With paths given it draws the mixture, and the tiles of 3 and 4 (common/tiles.c).
 * docs/attention_backward.md explains all of it. */
#include "attic.h"
#include "attic_plot.h"

#include <math.h>
#include <string.h>

#include "common/options.h"
#include "common/tiles.h"

/* KEYS of 1 and 2, N of 3 to 5 */
enum { KEYS = 3, T = TILES_T, TILE = TILES_KEYS, N = TILES * TILE, D = TILES_D };

static double dot(const double *x, const double *y)
{
    return x[0] * y[0] + x[1] * y[1];
}

static void show_pairs(const char *name, int rows, double X[][D])
{
    for (int i = 0; i < rows; i++) printf("    %s%d  %8.4f %8.4f\n", name, i, X[i][0], X[i][1]);
}

static void show_points(const char *name, int rows, double X[][D])
{
    printf("    %-2s =", name);
    for (int i = 0; i < rows; i++) printf(" (%g,%g)", X[i][0], X[i][1]);
    printf("\n");
}

/* ------------------------------------------------------------------ 1, 2: one query ------------ */

/* ln 7, ln 2, ln 1 */
static const double score[KEYS] = {1.945910149055313, 0.693147180559945, 0};
static const double value[KEYS][D] = {{1, 4}, {5, 1}, {0, 2}};

/* P = softmax(score / tau), O = sum_j z_j P_j V_j */
static void mix(double tau, const double *z, double P[KEYS], double O[D])
{
    double l = 0;
    for (int j = 0; j < KEYS; j++) l += P[j] = exp(score[j] / tau);
    O[0] = O[1] = 0;
    for (int j = 0; j < KEYS; j++) {
        P[j] /= l;
        for (int d = 0; d < D; d++) O[d] += z[j] * P[j] * value[j][d];
    }
}

static void print_mixture(void)
{
    const double tau[] = {100, 4, 2, 1, 0.5, 0.25}, z[KEYS] = {1, 1, 1};
    printf("How can attention be computed without the whole row of weights?  Worked out in\n"
           "pieces, every number printed.  Look at \"factor\" in 3, and at delta in 4: one\n"
           "number for each row.\n\n");
    printf("1  A mixture of V_0 = (1,4), V_1 = (5,1), V_2 = (0,2); scores ln 7, ln 2, ln 1\n\n"
           "    P0, P1, P2: the weights, softmax of the scores / temperature; O: what is read\n\n");
    printf("    temperature      P0      P1      P2          O\n");
    for (int i = 0; i < 6; i++) {
        double P[KEYS], O[D];
        mix(tau[i], z, P, O);
        printf("    %11g  %6.4f  %6.4f  %6.4f   (%6.4f, %6.4f)\n", tau[i], P[0], P[1], P[2], O[0],
               O[1]);
    }
}

static void print_score_gradients(const char *what, const double *z)
{
    const double dO[D] = {1, 0};
    double P[KEYS], O[D], sum = 0, delta = 0;
    mix(1, z, P, O);
    for (int j = 0; j < KEYS; j++) delta += P[j] * z[j] * dot(dO, value[j]);
    printf("\n    %s: O = (%.4f, %.4f), dO.O = %.4f, sum_j P_j dP_j = %.4f\n\n", what, O[0], O[1],
           dot(dO, O), delta);
    printf("    key       z       P       A      dA      dP   dP - delta       dS\n");
    for (int j = 0; j < KEYS; j++) {
        double dA = dot(dO, value[j]), dP = z[j] * dA, dS = P[j] * (dP - delta);
        printf("    %3d  %6.1f  %6.4f  %6.4f  %6.2f  %6.2f   %10.4f  %7.4f\n", j, z[j], P[j],
               z[j] * P[j], dA, dP, dP - delta, dS);
        sum += dS;
    }
    printf("    sum of dS %43s %7.4f\n", "", fabs(sum) < 1e-15 ? 0 : sum);
}

/* The triangle of the values, and the outputs from high to low temperature. */
static bool draw_mixture(const char *path)
{
    enum { STEPS = 200 };
    const double z[KEYS] = {1, 1, 1};
    double Vx[KEYS + 1], Vy[KEYS + 1], x[STEPS], y[STEPS], P[KEYS], O[D];
    for (int j = 0; j <= KEYS; j++) Vx[j] = value[j % KEYS][0], Vy[j] = value[j % KEYS][1];
    for (int i = 0; i < STEPS; i++) {
        mix(0.05 * pow(2000, 1 - i / (STEPS - 1.0)), z, P, O);
        x[i] = O[0], y[i] = O[1];
    }
    mix(1, z, P, O);
    const at_series lines[] = {{.name = "values V₀, V₁, V₂", .x = Vx, .y = Vy, .n = KEYS + 1},
                               {.name = "O, tau from 100 to 0.05", .x = x, .y = y, .n = STEPS},
                               {.name = "0.7 V₀ + 0.2 V₁ + 0.1 V₂", .x = O, .y = O + 1, .n = 1}};
    const at_chart chart = {.title = "Whatever the scores are, the output is inside the triangle",
                            .x_label = "first element",
                            .y_label = "second element",
                            .series = lines,
                            .n_series = 3};
    FILE *f = fopen(path, "w");
    bool drawn = f && at_svg_chart(f, &chart);
    return written(f, path, drawn);
}

/* ------------------------------------------------------------------ 3, 4: tiles ---------------- */

static double Q[T][D] = {{1, 0}, {0, 1}};
static double K[N][D] = {{1, 0}, {0, 2}, {2, 1}, {1, -1}};
static double V[N][D] = {{2, 0}, {0, 2}, {1, 1}, {-1, 2}};
static double dO[T][D] = {{1, 0}, {1, -1}};
static double O[T][D], dQ[T][D], dK[N][D], dV[N][D];
static double m[T], l[T], delta[T];
static double factor[T]; /* of the tile that was read last */
static tiles seen;       /* what there was at each tile, for the picture */

/* Row i reads keys j0 .. j0+TILE-1. */
static void online_row(int i, int j0)
{
    double S[TILE], top = m[i];
    for (int k = 0; k < TILE; k++) top = fmax(top, S[k] = dot(Q[i], K[j0 + k]));
    factor[i] = exp(m[i] - top);
    m[i] = top;
    l[i] *= factor[i];
    for (int d = 0; d < D; d++) O[i][d] *= factor[i];
    for (int k = 0; k < TILE; k++) {
        double e = exp(S[k] - m[i]);
        l[i] += e;
        for (int d = 0; d < D; d++) O[i][d] += e * V[j0 + k][d];
    }
    int s = j0 / TILE;
    const double state[] = {m[i], l[i], O[i][0], O[i][1]};
    memcpy(seen.S[s][i], S, sizeof S);
    memcpy(seen.state[s][i], state, sizeof state);
    seen.factor[s][i] = factor[i];
    printf("    q%d  %8.4f %8.4f   %8.4f %8.4f %8.4f   %8.4f %8.4f\n", i, S[0], S[1], factor[i],
           m[i], l[i], O[i][0], O[i][1]);
}

static void forward_in_tiles(void)
{
    printf("\n3  Forward in tiles: two keys at a time, and of the keys so far only m, l and O'\n\n"
           "    S = Q K^T: the scores; m: the largest so far; l: sum of exp(S - m) so far;\n"
           "    O': sum of exp(S - m) V so far; factor: exp(m before - m), by which l and O'\n"
           "    from before are multiplied; before the first tile m = -inf, l = 0 and O' = 0\n\n");
    printf("    2 scale: off, 3 softcap: off, 4 bias: off, 5 mask: off, 7 dropout: off\n\n");
    show_points("Q", T, Q);
    show_points("K", N, K);
    show_points("V", N, V);
    for (int i = 0; i < T; i++) m[i] = -(double)INFINITY;
    for (int j0 = 0; j0 < N; j0 += TILE) {
        printf("\n    k%d, k%d                S     factor        m        l                  O'\n",
               j0, j0 + 1);
        for (int i = 0; i < T; i++) online_row(i, j0);
    }
    printf("\n    O = O' / l\n");
    for (int i = 0; i < T; i++)
        for (int d = 0; d < D; d++) O[i][d] /= l[i];
    show_pairs("q", T, O);
}

/* Cell (i,j), from m, l and delta of its row.  Returns dS. */
static double backward_cell(int i, int j)
{
    double P = exp(dot(Q[i], K[j]) - m[i]) / l[i];
    double dP = dot(dO[i], V[j]), dS = P * (dP - delta[i]);
    for (int d = 0; d < D; d++) {
        dV[j][d] += P * dO[i][d];
        dQ[i][d] += dS * K[j][d];
        dK[j][d] += dS * Q[i][d];
    }
    seen.P[j / TILE][i][j % TILE] = P;
    seen.dS[j / TILE][i][j % TILE] = dS;
    printf("    q%d k%d  %8.4f %8.4f %8.4f\n", i, j, P, dP, dS);
    return dS;
}

static void backward_in_tiles(double sum_dS[T])
{
    printf("\n4  Backward in tiles: delta = dO.O, then every cell by itself\n\n"
           "    P = exp(S - m) / l, dP = dO.V, dS = P (dP - delta)\n\n");
    printf("    7 dropout: off, 5 mask: off, 4 bias: off, 3 softcap: off, 2 scale: off\n\n");
    show_points("dO", T, dO);
    for (int i = 0; i < T; i++) {
        delta[i] = dot(dO[i], O[i]);
        printf("    q%d   m %.4f   l %.4f   delta %7.4f\n", i, m[i], l[i], delta[i]);
    }
    for (int j0 = 0; j0 < N; j0 += TILE) {
        printf("\n                  P       dP       dS\n");
        for (int i = 0; i < T; i++)
            for (int j = j0; j < j0 + TILE; j++) sum_dS[i] += backward_cell(i, j);
        int s = j0 / TILE;
        memcpy(seen.dQ[s], dQ, sizeof dQ);
        memcpy(seen.dK[s], dK + j0, sizeof seen.dK[s]);
        memcpy(seen.dV[s], dV + j0, sizeof seen.dV[s]);
    }
    printf("\n    dQ = dR K, dR = dS\n");
    show_pairs("q", T, dQ);
    printf("    dK = dR^T Q\n");
    show_pairs("k", N, dK);
    printf("    dV = A^T dO, A = P\n");
    show_pairs("k", N, dV);
}

static bool draw_tiles(const char *path)
{
    for (int i = 0; i < T; i++) seen.kept[i][0] = m[i], seen.kept[i][1] = l[i];
    memcpy(seen.O, O, sizeof O);
    memcpy(seen.dO, dO, sizeof dO);
    memcpy(seen.delta, delta, sizeof delta);
    return tiles_draw(path, &seen);
}

/* ------------------------------------------------------------------ 5: one op ------------------ */

static double difference(const at_tensor *x, bool gradient, int rows, double X[][D])
{
    double worst = 0;
    for (int i = 0; i < rows * D; i++) {
        double v = gradient ? at_grad_element(x, i) : at_element(x, i);
        double off = fabs(v - X[i / D][i % D]);
        worst = isnan(off) ? (double)INFINITY : fmax(worst, off);
    }
    return worst;
}

static double product(int rows, double X[][D], double Y[][D])
{
    double sum = 0;
    for (int i = 0; i < rows; i++) sum += dot(X[i], Y[i]);
    return sum;
}

static bool print_one_op(void)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *q = at_variable(t, at_shape_of(T, D), &Q[0][0]);
    at_tensor *k = at_variable(t, at_shape_of(N, D), &K[0][0]);
    at_tensor *v = at_variable(t, at_shape_of(N, D), &V[0][0]);
    at_tensor *o = at_sdpa(t, q, k, v, (at_sdpa_args){.scale = 1});
    at_backward_from(t, o, at_const(t, at_shape_of(T, D), &dO[0][0]));
    bool ok = at_ok(t);
    if (!ok) fprintf(stderr, "attic: %s\n", at_error(t));
    double worst = ok ? fmax(fmax(difference(o, false, T, O), difference(q, true, T, dQ)),
                             fmax(difference(k, true, N, dK), difference(v, true, N, dV)))
                      : (double)INFINITY;
    printf("\n5  at_sdpa says the same, to the last digits: %s\n\n", worst < 1e-14 ? "yes" : "NO");
    at_close(t);
    return worst < 1e-14;
}

static bool print_identities(const double sum_dS[T])
{
    double of_keys[D] = {0}, none = 0;
    for (int j = 0; j < N; j++)
        for (int d = 0; d < D; d++) of_keys[d] += dK[j][d];
    for (int i = 0; i < 2; i++) none = fmax(none, fmax(fabs(sum_dS[i]), fabs(of_keys[i])));
    double QdQ = product(T, Q, dQ), KdK = product(N, K, dK);
    double VdV = product(N, V, dV), OdO = product(T, O, dO);
    printf("    <X,Y>: the sum of X Y over all elements, equal in pairs for every right backward\n"
           "    <Q,dQ> = %.4f   <K,dK> = %.4f\n",
           QdQ, KdK);
    printf("    <V,dV> = %.4f   <O,dO> = %.4f\n", VdV, OdO);
    printf("    sum_j dS_ij = 0 for every row, sum_j dK_j = 0: %s\n", none < 1e-14 ? "yes" : "NO");
    return none < 1e-14 && fabs(QdQ - KdK) < 1e-14 && fabs(VdV - OdO) < 1e-14;
}

int main(int argc, char **argv)
{
    int first =
        parse_options(argc, argv,
                      "usage: 14_tiles_by_hand [mixture.svg [tiles.svg]]\n"
                      "From three weights to attention in tiles, with all intermediate values.\n",
                      NULL, 2);
    const double all[KEYS] = {1, 1, 1}, dropped[KEYS] = {2, 0, 2};
    double sum_dS[T] = {0};
    print_mixture();
    printf("\n2  The gradients of the scores: dO = (1,0); V and scores as in 1\n\n"
           "    z: dropout; A = z P: the weights used; dA = dO.V, dP = z dA; delta = dO.O;\n"
           "    dS = P (dP - delta)\n");
    print_score_gradients("no dropout", all);
    print_score_gradients("key 1 dropped, the others doubled", dropped);
    forward_in_tiles();
    backward_in_tiles(sum_dS);
    bool same = print_one_op(), equal = print_identities(sum_dS);
    printf(
        "\nSeen: tiles and the whole agree: %s.  In the second tile of 3, l and O' of q0 were\n"
        "multiplied by %.4f, those of q1 by %.4f; kept are m, l and delta, three numbers a row.\n",
        same && equal ? "yes" : "NO", factor[0], factor[1]);
    bool drawn = argc <= first || draw_mixture(argv[first]);
    drawn = (argc <= first + 1 || draw_tiles(argv[first + 1])) && drawn;
    return finish(!same || !equal || !drawn);
}
