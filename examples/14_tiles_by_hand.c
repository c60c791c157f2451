/* 14_tiles_by_hand.c -- from three weights to attention in tiles, forward and backward, every number.
 *
 * 1  A MIXTURE.  One query, three keys.  Their scores are log 7, log 2 and log 1, so the weights are 0.7, 0.2
 *    and 0.1, and the output is that mixture of the three values: a point inside the triangle they span.
 *    The colder the softmax, the closer to a corner.
 *
 * 2  WHO IS TO BLAME.  The gradient of score j is P_j dO.(V_j - O): a key is compared with the mixture of
 *    all, and pushed up or down by how much further along dO its value lies.  With dropout the same holds
 *    for z_j V_j: sum_j P_j dP_j is still dO.O, for the dropped weights made this O.
 *
 * 3  FORWARD IN TILES.  Two queries, four keys, met two at a time.  Only m, l and O' are kept from tile to
 *    tile; when a larger score turns up, l and O' shrink by exp(m - m').  For q0 this happens, for q1 not.
 *
 * 4  BACKWARD IN TILES.  m, l and delta are three numbers per row.  With them every cell of every tile can
 *    be done on its own: P made again, dS from it, its share of dQ, dK, dV.
 *
 * 5  THE SAME IN ONE OP, and what must come out equal whatever the numbers are.
 *
 * With a path as its argument it draws the mixture there.  docs/attention.md tells the whole story. */
#include "attic.h"
#include "attic_plot.h"

#include <math.h>

#include "common/options.h"

enum { N = 3, T = 2, S = 4, D = 2, TILE = 2 };

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

static const double score[N] = {1.945910149055313, 0.693147180559945, 0}; /* log 7, log 2, log 1 */
static const double value[N][D] = {{1, 4}, {5, 1}, {0, 0}};

/* P = softmax(score / tau), O = sum_j z_j P_j V_j */
static void mix(double tau, const double *z, double P[N], double O[D])
{
    double l = 0;
    for (int j = 0; j < N; j++) l += P[j] = exp(score[j] / tau);
    O[0] = O[1] = 0;
    for (int j = 0; j < N; j++) {
        P[j] /= l;
        for (int d = 0; d < D; d++) O[d] += z[j] * P[j] * value[j][d];
    }
}

static void tell_mixture(void)
{
    const double tau[] = {100, 4, 2, 1, 0.5, 0.25}, z[N] = {1, 1, 1};
    printf("1  A mixture of V0 = (1,4), V1 = (5,1), V2 = (0,0); scores log 7, log 2, log 1\n\n");
    printf("    temperature      P0      P1      P2          O\n");
    for (int i = 0; i < 6; i++) {
        double P[N], O[D];
        mix(tau[i], z, P, O);
        printf("    %11g  %6.4f  %6.4f  %6.4f   (%6.4f, %6.4f)\n", tau[i], P[0], P[1], P[2], O[0],
               O[1]);
    }
}

static void tell_blame(const char *what, const double *z)
{
    const double dO[D] = {1, 0};
    double P[N], O[D], sum = 0, delta = 0;
    mix(1, z, P, O);
    for (int j = 0; j < N; j++) delta += P[j] * z[j] * dot(dO, value[j]);
    printf("\n    %s: O = (%.4f, %.4f), dO.O = %.4f, sum_j P_j dP_j = %.4f\n\n", what, O[0], O[1],
           dot(dO, O), delta);
    printf("    key       z       P       A      dA      dP   dP - delta       dS\n");
    for (int j = 0; j < N; j++) {
        double dA = dot(dO, value[j]), dP = z[j] * dA, dS = P[j] * (dP - delta);
        printf("    %3d  %6.1f  %6.4f  %6.4f  %6.2f  %6.2f   %10.4f  %7.4f\n", j, z[j], P[j],
               z[j] * P[j], dA, dP, dP - delta, dS);
        sum += dS;
    }
    printf("    sum of dS %43s %7.4f\n", "", fabs(sum) < 1e-15 ? 0 : sum);
}

/* The triangle of the values, and the outputs from hot to cold. */
static bool draw_mixture(const char *path)
{
    enum { STEPS = 200 };
    const double z[N] = {1, 1, 1};
    double Vx[N + 1], Vy[N + 1], x[STEPS], y[STEPS], P[N], O[D];
    for (int j = 0; j <= N; j++) Vx[j] = value[j % N][0], Vy[j] = value[j % N][1];
    for (int i = 0; i < STEPS; i++) {
        mix(0.05 * pow(2000, 1 - i / (STEPS - 1.0)), z, P, O);
        x[i] = O[0], y[i] = O[1];
    }
    mix(1, z, P, O);
    const at_series lines[] = {{.name = "values V0, V1, V2", .x = Vx, .y = Vy, .n = N + 1},
                               {.name = "O, hot to cold", .x = x, .y = y, .n = STEPS},
                               {.name = "0.7 V0 + 0.2 V1 + 0.1 V2", .x = O, .y = O + 1, .n = 1}};
    const at_chart chart = {.title = "Wherever the scores are, the output is inside the triangle",
                            .x_label = "first number",
                            .y_label = "second",
                            .series = lines,
                            .n_series = 3};
    FILE *f = fopen(path, "w");
    bool drawn = f && at_svg_chart(f, &chart);
    return written(f, path, drawn);
}

/* ------------------------------------------------------------------ 3, 4: tiles ---------------- */

static double Q[T][D] = {{1, 0}, {0, 1}};
static double K[S][D] = {{1, 0}, {0, 2}, {2, 1}, {1, -1}};
static double V[S][D] = {{2, 0}, {0, 2}, {1, 1}, {-1, 2}};
static double dO[T][D] = {{1, 0}, {1, -1}};
static double O[T][D], dQ[T][D], dK[S][D], dV[S][D];
static double m[T], l[T], delta[T];

/* Row i meets keys j0 .. j0+TILE-1. */
static void online_row(int i, int j0)
{
    double s[TILE], top = m[i];
    for (int k = 0; k < TILE; k++) top = fmax(top, s[k] = dot(Q[i], K[j0 + k]));
    double shrink = exp(m[i] - top);
    m[i] = top;
    l[i] *= shrink;
    for (int d = 0; d < D; d++) O[i][d] *= shrink;
    for (int k = 0; k < TILE; k++) {
        double e = exp(s[k] - m[i]);
        l[i] += e;
        for (int d = 0; d < D; d++) O[i][d] += e * V[j0 + k][d];
    }
    printf("    q%d  %8.4f %8.4f   %8.4f %8.4f %8.4f   %8.4f %8.4f\n", i, s[0], s[1], shrink, m[i],
           l[i], O[i][0], O[i][1]);
}

static void forward_in_tiles(void)
{
    printf("\n3  Forward in tiles: s = Q K^T (scale 1), then m, l and O' so far; no dropout: z = "
           "1\n\n");
    show_points("Q", T, Q);
    show_points("K", S, K);
    show_points("V", S, V);
    for (int i = 0; i < T; i++) m[i] = -(double)INFINITY;
    for (int j0 = 0; j0 < S; j0 += TILE) {
        printf("\n    k%d, k%d                s     shrink        m        l                  O'\n",
               j0, j0 + 1);
        for (int i = 0; i < T; i++) online_row(i, j0);
    }
    printf("\n    O = O' / l\n");
    for (int i = 0; i < T; i++)
        for (int d = 0; d < D; d++) O[i][d] /= l[i];
    show_pairs("q", T, O);
}

/* Cell (i,j), knowing of the rest of its row only m, l and delta.  Returns dS. */
static double backward_cell(int i, int j)
{
    double P = exp(dot(Q[i], K[j]) - m[i]) / l[i];
    double dP = dot(dO[i], V[j]), dS = P * (dP - delta[i]);
    for (int d = 0; d < D; d++) {
        dV[j][d] += P * dO[i][d];
        dQ[i][d] += dS * K[j][d];
        dK[j][d] += dS * Q[i][d];
    }
    printf("    q%d k%d  %8.4f %8.4f %8.4f\n", i, j, P, dP, dS);
    return dS;
}

static void backward_in_tiles(double sum_dS[T])
{
    printf("\n4  Backward in tiles: delta = dO.O, then every cell by itself\n\n");
    show_points("dO", T, dO);
    for (int i = 0; i < T; i++) {
        delta[i] = dot(dO[i], O[i]);
        printf("    q%d   m %.4f   l %.4f   delta %7.4f\n", i, m[i], l[i], delta[i]);
    }
    for (int j0 = 0; j0 < S; j0 += TILE) {
        printf("\n                  P       dP       dS\n");
        for (int i = 0; i < T; i++)
            for (int j = j0; j < j0 + TILE; j++) sum_dS[i] += backward_cell(i, j);
    }
    printf("\n    dQ = dS K\n");
    show_pairs("q", T, dQ);
    printf("    dK = dS^T Q\n");
    show_pairs("k", S, dK);
    printf("    dV = P^T dO\n");
    show_pairs("k", S, dV);
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

static bool tell_one_op(void)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *q = at_variable(t, at_shape_of(T, D), &Q[0][0]);
    at_tensor *k = at_variable(t, at_shape_of(S, D), &K[0][0]);
    at_tensor *v = at_variable(t, at_shape_of(S, D), &V[0][0]);
    at_tensor *o = at_sdpa(t, q, k, v, (at_sdpa_args){.scale = 1});
    at_backward_from(t, o, at_const(t, at_shape_of(T, D), &dO[0][0]));
    bool ok = at_ok(t);
    if (!ok) fprintf(stderr, "attic: %s\n", at_error(t));
    double worst = ok ? fmax(fmax(difference(o, false, T, O), difference(q, true, T, dQ)),
                             fmax(difference(k, true, S, dK), difference(v, true, S, dV)))
                      : (double)INFINITY;
    printf("\n5  at_sdpa says the same, to the last digits: %s\n", worst < 1e-14 ? "yes" : "no");
    at_close(t);
    return worst < 1e-14;
}

static bool tell_identities(const double sum_dS[T])
{
    double of_keys[D] = {0}, none = 0;
    for (int j = 0; j < S; j++)
        for (int d = 0; d < D; d++) of_keys[d] += dK[j][d];
    for (int i = 0; i < 2; i++) none = fmax(none, fmax(fabs(sum_dS[i]), fabs(of_keys[i])));
    double QdQ = product(T, Q, dQ), KdK = product(S, K, dK);
    double VdV = product(S, V, dV), OdO = product(T, O, dO);
    printf("    <Q,dQ> = %.4f   <K,dK> = %.4f\n", QdQ, KdK);
    printf("    <V,dV> = %.4f   <O,dO> = %.4f\n", VdV, OdO);
    printf("    sum_j dS_ij = 0 for every row, sum_j dK_j = 0: %s\n", none < 1e-14 ? "yes" : "no");
    return none < 1e-14 && fabs(QdQ - KdK) < 1e-14 && fabs(VdV - OdO) < 1e-14;
}

int main(int argc, char **argv)
{
    int first = parse_options(argc, argv, "usage: 14_tiles_by_hand [picture.svg]\n", NULL, 1);
    const double all[N] = {1, 1, 1}, dropped[N] = {2, 0, 2};
    double sum_dS[T] = {0};
    tell_mixture();
    printf("\n2  Who is to blame: dO = (1,0); V and scores as in 1\n");
    tell_blame("no dropout", all);
    tell_blame("key 1 dropped, the others doubled", dropped);
    forward_in_tiles();
    backward_in_tiles(sum_dS);
    bool same = tell_one_op(), equal = tell_identities(sum_dS);
    bool drawn = argc <= first || draw_mixture(argv[first]);
    return finish(!same || !equal || !drawn);
}
