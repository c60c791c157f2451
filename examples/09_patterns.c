/* 09_patterns.c -- patterns of attention: as masks, and found by training.
 *
 *     local         a token and the ones beside it
 *     vertical      the same few keys for every query
 *     horizontal    a few queries read all keys, the others none
 *     block         the block of four of a token
 *     global        all keys, equally
 *
 * First the masks, made by the builders of attention/masks.h, with # for a key that a query keeps.
 * A mask also saves work: the fused path skips tiles of which nothing is kept.  The table counts
 * cells, and tiles of 128 queries by 128 keys, for patterns over 2048 tokens.  (Times, of a forward
 * and a backward of one head of 64, are printed to stderr, as they vary.  One core of an Intel Xeon
 * took 37 ms for global, 11 for local, 6 for block, 3 for horizontal, 2 for vertical.)
 *
 * Then no masks.  16 tokens of 8 random elements attend to each other, in one head of width 32, and
 * are trained on five tasks: the output of every token is the mean of itself and the tokens beside
 * it; of tokens 3 and 10; of its block; of all; or the outputs of tokens 3 and 10 are the mean of
 * all, and the others are 0.  (For an output of 0, a head has one key more, whose value is 0.)  The
 * tokens have learned positions, and the loss contains the right outputs; the model is given no
 * pattern.
 *
 * The learned weights are compared with every mask, by the share of weight that agrees with the
 * mask's rows, spread evenly:
 *
 *     score = mean_i sum_j min(P_ij, M_ij)      M_ij = 1/n_i on the n_i keys that row i keeps; if
 *                                               it keeps none, M_ij = 1 on the last key
 *
 * 1 is the pattern itself.  (The sum of the weights on kept keys is no measure: it is 1 for global,
 * whatever was learned.)  Patterns overlap, local and block most of all; but the largest score of
 * each row and column of the table should be that on the diagonal.
 *
 * In the picture the masks are above, and the learned weights below, early and at the end; each
 * weight is multiplied by n_i (1 where that is 0), so that an equal share is 1.  The last column,
 * 16, is the key of value 0: where the output should be 0, it has all weight. */
#include "attic.h"
#include "attic_plot.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "common/options.h"

enum {
    T = 16,
    C = 32,
    VALUE = 8,
    B = 8,
    STEPS = 800,
    EARLY = 60,
    LONG = 2048,
    ROWS = 128,
    KEYS = 128
};

/* ---- the masks ------------------------------------------------------------------------------ */

enum { LOCAL, VERTICAL, HORIZONTAL, BLOCK, GLOBAL, PATTERNS };
static const char *const pattern_name[PATTERNS] = {"local", "vertical", "horizontal", "block",
                                                   "global"};

static const int few[] = {3, 10};

/* The pattern p over n tokens: local and block grow with n. */
static at_tensor *keep_pattern(at_tape *t, int p, int n)
{
    int width = n == T ? 2 : 128, block = n == T ? 4 : 256;
    if (p == VERTICAL) return at_keep_vertical(t, n, n, few, 2);
    if (p == HORIZONTAL) return at_keep_horizontal(t, n, n, few, 2);
    if (p == BLOCK) return at_keep_blocks(t, n, n, block);
    if (p == GLOBAL) width = 0; /* no limit */
    return at_keep_window(t, n, n, width, width, ATTIC_ALIGN_EQUAL, 0);
}

/* Side by side, as at_keep_print would print one. */
static void print_masks(at_tensor *const keep[PATTERNS])
{
    for (int p = 0; p < PATTERNS; p++) printf("%-*s", T + 3, pattern_name[p]);
    printf("\n");
    for (int i = 0; i < T; i++, printf("\n"))
        for (int p = 0; p < PATTERNS; p++) {
            for (int j = 0; j < T; j++) putchar(at_get(keep[p], i, j) ? '#' : '.');
            printf("   ");
        }
    printf("\n");
}

/* The share of tiles in which something is kept. */
static double tiles_kept(const at_tensor *keep)
{
    static bool kept[LONG / ROWS][LONG / KEYS];
    memset(kept, 0, sizeof kept);
    const unsigned char *cell = keep->data;
    for (ptrdiff_t n = 0; n < (ptrdiff_t)LONG * LONG; n++)
        if (cell[n]) kept[n / LONG / ROWS][n % LONG / KEYS] = true;
    double sum = 0;
    for (int i = 0; i < LONG / ROWS; i++)
        for (int j = 0; j < LONG / KEYS; j++) sum += kept[i][j];
    return sum * ROWS * KEYS / ((double)LONG * LONG);
}

/* Milliseconds of CPU time of this thread for a forward and a backward, the best of five. */
static double milliseconds(at_tape *t, at_tensor *keep)
{
    at_mark here = at_mark_here(t);
    at_tensor *x[4]; /* Q, K, V and dO, the upstream gradient (cotangent) */
    for (int i = 0; i < 4; i++) {
        x[i] = at_variable(t, at_shape_of(LONG, 64), NULL);
        if (x[i]) at_init_fill(x[i], at_normal(1), at_draw(t));
    }
    double best = (double)INFINITY;
    for (int i = 0; i < 5; i++) {
        struct timespec a, b;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
        at_backward_from(t, at_sdpa(t, x[0], x[1], x[2], (at_sdpa_args){.keep = keep}), x[3]);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
        best = fmin(best,
                    1e3 * (double)(b.tv_sec - a.tv_sec) + 1e-6 * (double)(b.tv_nsec - a.tv_nsec));
    }
    at_rewind(t, here);
    return best;
}

static bool report_masks(void)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    printf("Which patterns can attention have, and does training find them?  First as masks, row:\n"
           "query, column: key, # where the query attends to the key.\n\n");
    at_tensor *keep[PATTERNS];
    for (int p = 0; p < PATTERNS; p++) keep[p] = keep_pattern(t, p, T);
    if (at_ok(t)) print_masks(keep);
    printf(
        "The share of cells that are kept, for %d and for %d tokens; of tiles of %d x %d cells in\n"
        "which something is kept; and of tiles that attention skips, which saves time\n\n"
        "kept            of %d x %d     of %d x %d     tiles of it     skipped\n",
        T, LONG, ROWS, KEYS, T, T, LONG, LONG);
    for (int p = 0; p < PATTERNS && at_ok(t); p++) {
        at_mark here = at_mark_here(t);
        at_tensor *wide = keep_pattern(t, p, LONG);
        double tiles = tiles_kept(wide);
        printf("%-16s%9.1f%%%15.2f%%%15.2f%%%11.2f%%\n", pattern_name[p],
               100 * at_keep_count(keep[p]).fraction, 100 * at_keep_count(wide).fraction,
               100 * tiles, 100 * (1 - tiles));
        fprintf(stderr, "%-16s%9.1f ms\n", pattern_name[p], milliseconds(t, wide));
        at_rewind(t, here);
    }
    printf("\n");
    if (!at_ok(t)) fprintf(stderr, "attic: %s\n", at_error(t));
    bool ok = at_ok(t);
    at_close(t);
    return ok;
}

/* ---- the tasks ------------------------------------------------------------------------------ */

/* M [T,T+1]: the weights that a row should have.  The value of the last key is 0. */
typedef struct {
    double M[PATTERNS][T][T + 1];
    int n[PATTERNS][T]; /* keys kept by a row */
} ideal;

static void spread_evenly(at_tape *t, ideal *d)
{
    for (int p = 0; p < PATTERNS; p++) {
        at_tensor *keep = keep_pattern(t, p, T);
        for (int i = 0; at_ok(t) && i < T; i++) {
            int n = 0;
            for (int j = 0; j < T; j++) n += at_get(keep, i, j) != 0;
            for (int j = 0; j < T; j++) d->M[p][i][j] = n ? at_get(keep, i, j) / n : 0;
            d->M[p][i][T] = n == 0;
            d->n[p][i] = n;
        }
    }
}

typedef struct {
    at_tensor *position, *nothing; /* [T,C]; the key of value 0, [1,C] */
    at_linear in, q, k, v, out;
} model;

static model make_model(at_tape *t)
{
    return (model){.position = at_param(t, "position", at_shape_of(T, C), at_normal(1)),
                   .nothing = at_param(t, "nothing", at_shape_of(1, C), at_normal(1)),
                   .in = at_linear_make(t, "in", VALUE, C, false, at_xavier_normal(1)),
                   .q = at_linear_make(t, "q", C, C, false, at_xavier_normal(1)),
                   .k = at_linear_make(t, "k", C, C, false, at_xavier_normal(1)),
                   .v = at_linear_make(t, "v", C, C, false, at_xavier_normal(1)),
                   .out = at_linear_make(t, "out", C, VALUE, false, at_xavier_normal(1))};
}

/* tokens [B,T,VALUE] -> [B,T,VALUE], with weights *P [B,T,T+1] */
static at_tensor *report(at_tape *t, const model *m, at_tensor *tokens, at_tensor **P)
{
    at_tensor *x = at_add(t, at_linear_apply(t, m->in, tokens), m->position);
    at_tensor *none = at_const(t, at_shape_of(B, 1, C), NULL);
    at_tensor *K[] = {at_linear_apply(t, m->k, x), at_add(t, none, m->nothing)};
    at_tensor *V[] = {at_linear_apply(t, m->v, x), none};
    at_tensor *O = at_sdpa(t, at_linear_apply(t, m->q, x), at_concat(t, K, 2, 1),
                           at_concat(t, V, 2, 1), (at_sdpa_args){.probs = P});
    return at_linear_apply(t, m->out, O);
}

typedef struct { /* of a batch that the model has not seen, at step EARLY and at the end */
    double loss, P[2][T][T + 1], score[PATTERNS];
} result;

/* The mean weights over the batch; and at the end, how well they fit the patterns. */
static void judge(const ideal *d, const at_tensor *P, bool end, result *r)
{
    for (int b = 0; b < B; b++)
        for (int i = 0; i < T; i++)
            for (int j = 0; j <= T; j++) {
                double p = at_get(P, b, i, j);
                r->P[end][i][j] += p / B;
                for (int k = 0; end && k < PATTERNS; k++)
                    r->score[k] += fmin(p, d->M[k][i][j]) / (B * T);
            }
}

static bool learn(int pattern, result *r)
{
    static ideal d;
    at_tape *t = at_open(ATTIC_F64, 1);
    spread_evenly(t, &d);
    model m = make_model(t);
    at_tensor *P = NULL, *M = at_const(t, at_shape_of(T, T + 1), &d.M[pattern][0][0]);
    M = at_slice(t, M, 1, 0, T);
    at_mark step = at_mark_here(t);
    *r = (result){0};
    for (int i = 0; i <= STEPS && at_ok(t); i++) {
        at_tensor *tokens = at_random(t, at_shape_of(B, T, VALUE), at_normal(1));
        at_tensor *error = at_sub(t, report(t, &m, tokens, &P), at_matmul(t, M, tokens));
        at_tensor *loss = at_mean(t, at_square(t, error));
        if (at_ok(t) && (i == EARLY || i == STEPS)) judge(&d, P, i == STEPS, r);
        r->loss = at_item(loss);
        at_backward(t, loss);
        at_adamw(t, at_warmup_cosine(i, 20, STEPS, 0.02, 0.001), (at_adamw_args){0});
        at_rewind(t, step);
    }
    if (!at_ok(t)) fprintf(stderr, "attic: %s\n", at_error(t));
    bool ok = at_ok(t);
    at_close(t);
    return ok;
}

/* ---- what was learned ------------------------------------------------------------------------ */

/* True if the largest scores of all rows and columns are on the diagonal. */
static bool print_scores(const result r[PATTERNS])
{
    bool ok = true;
    printf(
        "Then the same head is trained on five tasks, without a mask.  loss: mean squared error;\n"
        "score: the share of its weights that lies as in the pattern, at most 1.  Look at the\n"
        "diagonal.\n\n"
        "                                 score against the pattern\ntrained on          loss");
    for (int p = 0; p < PATTERNS; p++) printf("%12s", pattern_name[p]);
    for (int i = 0; i < PATTERNS; i++) {
        printf("\n%-16s%8.3f", pattern_name[i], r[i].loss);
        for (int p = 0; p < PATTERNS; p++) {
            printf("%12.2f", r[i].score[p]);
            if (p != i) ok = ok && r[i].score[p] < fmin(r[i].score[i], r[p].score[p]);
        }
    }
    double least = 1;
    for (int p = 0; p < PATTERNS; p++) least = fmin(least, r[p].score[p]);
    printf("\n\nSeen: every score on the diagonal is the largest of its row and of its column, so\n"
           "that every task led to its own pattern: %s; the lowest of them is %.2f.\n",
           ok ? "yes" : "NO", least);
    return ok;
}

static bool draw(const char *path, const result r[PATTERNS])
{
    static const char *const title[] = {NULL, "after 60 steps", "after 800 steps"};
    static double share[3][PATTERNS][T][T + 1];
    static ideal d;
    at_tape *t = at_open(ATTIC_F64, 1);
    at_subplot subplots[3 * PATTERNS];
    spread_evenly(t, &d);
    for (int p = 0; p < PATTERNS; p++) {
        for (int i = 0; i < T; i++)
            for (int j = 0; j <= T; j++) {
                int n = d.n[p][i] ? d.n[p][i] : 1;
                share[0][p][i][j] = n * d.M[p][i][j];
                share[1][p][i][j] = n * r[p].P[0][i][j];
                share[2][p][i][j] = n * r[p].P[1][i][j];
            }
        for (int k = 0; k < 3; k++)
            subplots[k * PATTERNS + p] = (at_subplot){.title = k ? title[k] : pattern_name[p],
                                                      .data = share[k][p],
                                                      .rows = T,
                                                      .cols = T + 1};
    }
    at_heatmap map = {.title = "Five patterns: as masks, and learned from five tasks",
                      .subplots = subplots,
                      .n_subplots = 3 * PATTERNS,
                      .columns = PATTERNS,
                      .row_label = "Query",
                      .col_label = "Key (the value of 16 is 0)",
                      .value_label = "1: an equal share",
                      .colours = ATTIC_COLOURS_UNIT,
                      .no_values = true};
    FILE *f = at_file_create(t, path);
    at_svg_heatmap(f, &map);
    at_file_close(t, f, path);
    bool ok = at_ok(t);
    at_close(t);
    return ok;
}

int main(int argc, char **argv)
{
    int first = parse_options(argc, argv,
                              "usage: 09_patterns [picture.svg]\n"
                              "Patterns of attention: as masks, and found by training.\n",
                              NULL, 1);
    static result r[PATTERNS];
    at_threads(1);
    bool ok = report_masks();
    for (int p = 0; p < PATTERNS; p++) ok = learn(p, &r[p]) && ok;
    ok = print_scores(r) && ok;
    if (argc > first) ok = draw(argv[first], r) && ok;
    return finish(!ok);
}
