/* 06_why_scale.c -- why attention divides its scores by sqrt(d).
 *
 * Let the elements of q and k be independent, with mean 0 and variance 1.  Then for one pair
 *
 *     q.k = sum_d q_d k_d
 *     E[q.k]   = sum_d E[q_d] E[k_d]                         = 0
 *     Var[q.k] = sum_d (E[q_d^2] E[k_d^2] - E[q_d k_d]^2)    = d      (1 * 1 - 0 for each d)
 *
 * so the standard deviation of scores is sqrt(d): 22.6 for d = 512.  A softmax of scores that far
 * apart is nearly a maximum: one weight is 1, the others are 0, and no gradient passes it.  Its
 * Jacobian is J = diag(P) - P P^T, and for P = (1, 0, ..., 0) that is 0.  Dividing by sqrt(d)
 * brings the scores back to variance 1, whatever d is.
 *
 * The first table measures this: 64 queries, 64 keys, 32 heads, drawn at random, for every d with
 * and without the scale.  |J| and |dS| are Frobenius norms of one row's Jacobian and gradient,
 * averaged, for a random upstream gradient (cotangent) dO with variance 1 and values V with
 * variance 1/d, so that dP has the same size for every d.  (dS is read off as the gradient of a
 * bias of zeros.)
 *
 * Norms do not show what is lost.  For d = 16 |J| and |dS| are LARGER without the scale, as a
 * softmax in which a few keys share the weight reacts more than one in which 64 do; at d = 64 |dS|
 * is still the same.  And |dQ|, the last column, grows: dQ = c sum_j dS_ij K_j, and while dS
 * shrinks, the keys it is multiplied with have length sqrt(d), and c is 1 instead of 1/sqrt(d).
 * But these gradients come from ever fewer rows, those whose two largest scores happen to be close:
 * "graded", the share of rows that receive a gradient, |dS| > 0.01, falls to less than half.  With
 * a path given, that is drawn.
 *
 * The second table shows where the assumption fails: let keys equal queries (as in self-attention
 * with Wq = Wk).  A token's score with itself is then q.q, with mean d and not 0, and even after
 * the scale it is sqrt(d) above the others: from d = 64 on every token attends to itself.
 *
 * A calculation by hand: scores of 80 with d = 64 become 80 / sqrt(64) = 10.
 *
 * With a second path given, the weights of eight queries on eight keys are drawn for every d: above
 * without the scale, where they become 0 and 1, below with it. */
#include "attic.h"
#include "attic_plot.h"

#include <math.h>

#include "common/options.h"

enum { H = 32, N = 64 };

typedef struct {
    double mean, sd;             /* of q.k */
    double least, most, entropy; /* weights: mean over rows of the smallest, the largest; in nats */
    double J, dS, graded, K, dQ; /* norms, mean over rows; graded: share of rows with |dS| > 0.01 */
} study;

/* |diag(P) - P P^T|, from the sums of P^2 and P^3 */
static double jacobian_norm(const at_tensor *P, ptrdiff_t row)
{
    double p2 = 0, p3 = 0;
    for (int j = 0; j < N; j++) {
        double p = at_element(P, row * N + j);
        p2 += p * p;
        p3 += p * p * p;
    }
    return sqrt(fmax(0, p2 - 2 * p3 + p2 * p2));
}

static double row_norm(const at_tensor *x, bool gradient, ptrdiff_t row)
{
    double sum = 0;
    int n = at_last(x->shape);
    for (int j = 0; j < n; j++) {
        double v = gradient ? at_grad_element(x, row * n + j) : at_element(x, row * n + j);
        sum += v * v;
    }
    return sqrt(sum);
}

static void measure_scores(study *s, const at_tensor *X, double c)
{
    ptrdiff_t n = at_count(X->shape);
    for (ptrdiff_t i = 0; i < n; i++) s->mean += at_element(X, i) / c / (double)n;
    for (ptrdiff_t i = 0; i < n; i++) s->sd += pow(at_element(X, i) / c - s->mean, 2) / (double)n;
    s->sd = sqrt(s->sd);
}

static void measure_weights(study *s, const at_tensor *P, ptrdiff_t row)
{
    double least = 1, most = 0;
    for (int j = 0; j < N; j++) {
        double p = at_element(P, row * N + j);
        least = fmin(least, p);
        most = fmax(most, p);
        if (p > 0) s->entropy -= p * log(p) / (H * N);
    }
    s->least += least / (H * N);
    s->most += most / (H * N);
    s->J += jacobian_norm(P, row) / (H * N);
}

static study attend(int d, double c)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    study s = {0};
    at_tensor *Q = at_param(t, "Q", at_shape_of(1, H, N, d), at_normal(1));
    at_tensor *K = at_param(t, "K", at_shape_of(1, H, N, d), at_normal(1));
    at_tensor *V = at_random(t, at_shape_of(1, H, N, d), at_normal(1 / sqrt(d)));
    at_tensor *zero = at_param(t, "bias", at_shape_of(1, H, N, N), at_zeros());
    at_tensor *X = NULL, *P = NULL;
    at_tensor *O =
        at_sdpa(t, Q, K, V, (at_sdpa_args){.scale = c, .bias = zero, .scores = &X, .probs = &P});
    at_backward_from(t, O, at_random(t, at_shape_of(1, H, N, d), at_normal(1)));
    if (at_ok(t)) measure_scores(&s, X, c);
    for (ptrdiff_t row = 0; at_ok(t) && row < H * N; row++) {
        measure_weights(&s, P, row);
        double dS = row_norm(zero, true, row);
        s.dS += dS / (H * N);
        s.graded += (dS > 0.01) / (double)(H * N);
        s.K += row_norm(K, false, row) / (H * N);
        s.dQ += row_norm(Q, true, row) / (H * N);
    }
    if (!at_ok(t)) fprintf(stderr, "attic: %s\n", at_error(t));
    at_close(t);
    return s;
}

/* Keys that equal the queries: the mean scaled score with itself, and with others, and its
 * weight. */
static void attend_to_itself(int d)
{
    at_tape *t = at_open(ATTIC_F64, 2);
    double own = 0, other = 0, weight = 0;
    at_tensor *Q = at_random(t, at_shape_of(1, H, N, d), at_normal(1)), *X = NULL, *P = NULL;
    at_sdpa(t, Q, Q, Q, (at_sdpa_args){.scores = &X, .probs = &P});
    for (int h = 0; at_ok(t) && h < H; h++)
        for (int i = 0; i < N; i++) {
            own += at_get(X, 0, h, i, i) / (H * N);
            weight += at_get(P, 0, h, i, i) / (H * N);
            for (int j = 0; j < N; j++)
                if (j != i) other += at_get(X, 0, h, i, j) / (H * N * (N - 1));
        }
    printf("%5d %14.2f %14.2f %14.2f %14.3f\n", d, own, sqrt(d), fabs(other) < 0.005 ? 0 : other,
           weight);
    at_close(t);
}

/* ---- eight queries and eight keys ----------------------------------------------------------- */

enum { FEW = 8, DIMS = 5 };
static const int dims[DIMS] = {1, 16, 64, 256, 512};

typedef struct {
    double P[2][DIMS][FEW][FEW]; /* without the scale, with it */
} draws;

static bool draw_few(draws *w)
{
    at_tape *t = at_open(ATTIC_F64, 3);
    for (int i = 0; i < DIMS; i++) {
        at_tensor *Q = at_random(t, at_shape_of(1, FEW, dims[i]), at_normal(1));
        at_tensor *K = at_random(t, at_shape_of(1, FEW, dims[i]), at_normal(1));
        for (int scaled = 0; scaled < 2; scaled++) {
            at_tensor *P = NULL;
            at_sdpa(t, Q, K, K, (at_sdpa_args){.scale = scaled ? 0 : 1, .probs = &P});
            for (int k = 0; at_ok(t) && k < FEW * FEW; k++)
                w->P[scaled][i][k / FEW][k % FEW] = at_element(P, k);
        }
    }
    bool ok = at_ok(t);
    if (!ok) fprintf(stderr, "attic: %s\n", at_error(t));
    at_close(t);
    return ok;
}

/* The smallest and the largest of 64 weights. */
static void print_extremes(const char *scale, double P[FEW][FEW])
{
    double least = 1, most = 0;
    for (int k = 0; k < FEW * FEW; k++) {
        least = fmin(least, P[k / FEW][k % FEW]);
        most = fmax(most, P[k / FEW][k % FEW]);
    }
    printf("  %6s   %11.1e   %10.4f\n", scale, least, most);
}

static bool draw_weights(const char *path, const draws *w)
{
    static char title[2][DIMS][24];
    at_subplot subplots[2 * DIMS];
    for (int k = 0; k < 2 * DIMS; k++) {
        int scaled = k / DIMS, i = k % DIMS;
        snprintf(title[scaled][i], sizeof title[scaled][i], "d = %d%s", dims[i],
                 scaled ? ", scaled" : "");
        subplots[k] = (at_subplot){
            .title = title[scaled][i], .data = w->P[scaled][i], .rows = FEW, .cols = FEW};
    }
    const at_heatmap map = {.title = "Weights of eight random queries on eight random keys",
                            .subplots = subplots,
                            .n_subplots = 2 * DIMS,
                            .columns = DIMS,
                            .row_label = "Query",
                            .col_label = "Key",
                            .value_label = "weight",
                            .colours = ATTIC_COLOURS_UNIT,
                            .no_values = true};
    FILE *f = fopen(path, "w");
    bool drawn = at_svg_heatmap(f, &map);
    return written(f, path, drawn);
}

static bool draw_share(const char *path, double graded[2][DIMS])
{
    double at[DIMS];
    for (int i = 0; i < DIMS; i++) at[i] = dims[i];
    const at_series lines[] = {{.name = "no scale", .x = at, .y = graded[0], .n = DIMS},
                               {.name = "scaled by 1/sqrt(d)", .x = at, .y = graded[1], .n = DIMS}};
    const at_level none = {"none", 0};
    const at_chart chart = {.title = "What the scale saves: rows with a gradient, |dS| > 0.01",
                            .x_label = "d",
                            .y_label = "share of rows",
                            .series = lines,
                            .n_series = 2,
                            .levels = &none,
                            .n_levels = 1,
                            .log_x = true};
    FILE *f = fopen(path, "w");
    bool drawn = at_svg_chart(f, &chart);
    return written(f, path, drawn);
}

int main(int argc, char **argv)
{
    int first = parse_options(argc, argv,
                              "usage: 06_why_scale [picture.svg [weights.svg]]\n"
                              "Why attention divides its scores by sqrt(d).\n",
                              NULL, 2);
    enum { D = DIMS };
    double graded[2][D], sd = 0, worst = 0, least[2] = {1, 1};

    printf(
        "Why are scores divided by sqrt(d)?  Look at \"graded\", the share of queries\n"
        "whose scores receive a gradient: without the scale it falls as d grows.\n\n"
        "32 heads of 64 queries and 64 keys of size d, random, every element of variance\n"
        "1:\n\n"
        "    mean, sd    of q.k, before it is scaled; sqrt(d) is what sd should be\n"
        "    weights     the smallest and the largest of a row, averaged over all rows\n"
        "    entropy     of a row of weights, in nats; at most log 64 = %.3f, all weights equal\n"
        "    |J|, |dS|   norms of a row: the Jacobian of its softmax, the gradient of its scores\n"
        "    graded      the share of rows with |dS| > 0.01\n"
        "    |K|, |dQ|   the length of a key, and of the gradient of a query\n\n",
        log(N));
    printf("    d   scale   mean     sd  sqrt(d)   weights from..to  entropy     |J|    |dS| "
           "graded    |K|   |dQ|\n");
    for (int i = 0; i < D; i++) {
        int d = dims[i];
        for (int scaled = 0; scaled < 2; scaled++) {
            study s = attend(d, scaled ? 1 / sqrt(d) : 1);
            printf("%5d  %6s  %5.2f  %5.2f  %7.2f   %7.1e..%.2f  %7.3f  %6.4f  %6.4f  %4.0f%%  "
                   "%6.2f  %5.3f\n",
                   d, scaled ? "1/sqrt" : "none", fabs(s.mean) < 0.005 ? 0 : s.mean, s.sd, sqrt(d),
                   s.least, s.most, s.entropy, s.J, s.dS, 100 * s.graded, s.K, s.dQ);
            graded[scaled][i] = s.graded;
            least[scaled] = fmin(least[scaled], s.graded);
            sd = s.sd, worst = fmax(worst, fabs(s.sd / sqrt(d) - 1));
        }
    }

    static draws few;
    bool ok = draw_few(&few);
    printf("\nOne draw of Q and K [1,8,512]: the smallest and the largest of all 64 weights\n\n"
           "   scale      smallest      largest\n");
    print_extremes("none", few.P[0][D - 1]);
    print_extremes("1/sqrt", few.P[1][D - 1]);

    printf("\nKeys that equal the queries, scores scaled by 1/sqrt(d): mean score and weight of a\n"
           "token with itself (own), and with the others\n\n");
    printf("    d      own score        sqrt(d)   other scores     own weight\n");
    for (int i = 0; i < D; i++) attend_to_itself(dims[i]);
    printf("\nBy hand: a score of 80 with d = 64 becomes 80 / sqrt(64) = %g\n", 80 / sqrt(64));

    bool close = worst < 0.05, falls = least[0] < 0.5 && least[1] > 0.9;
    printf("\nSeen: sd is sqrt(d) within 5%%: %s; for d = 512 it is %.2f.  The share of rows\n"
           "with a gradient falls to %.0f%% without the scale, and never below %.0f%% with\n"
           "it: the scale %s.\n",
           close ? "yes" : "NO", sd, 100 * least[0], 100 * least[1],
           falls ? "helps" : "does NOT help");
    if (argc > first) ok = draw_share(argv[first], graded) && ok;
    if (argc > first + 1) ok = draw_weights(argv[first + 1], &few) && ok;
    return finish(!(close && falls && ok));
}
