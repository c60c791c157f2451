/* 08_look_at_attention.c -- pictures of attention weights.
 *
 * One sequence of 8 tokens, each 64 random numbers, attends to itself:
 *
 *     x [1,8,64]     Q = x Wq     K = x Wk     V = x Wv
 *     A = softmax(Q K^T / sqrt(64))     O = A V
 *
 * It prints the shapes of Q, K, V, the weights A and the output O; that every weight is positive
 * and every row of them sums to 1; and the weights as a heat map, in the terminal and, with a path
 * given, as an SVG. Row i contains the weights of query i, and sums to 1.  Column j contains the
 * weights of key j, and its sum may be anything.
 *
 * Four subplots show the same 8 tokens:
 *
 *     raw          Q = K = V = x: the largest score of a token is that with itself
 *     projected    random Wq and Wk: scores are random.  Training begins here, and changes Wq and
 *                  Wk until the keys that help have large scores
 *     cold, hot    the same with a temperature of 1/4 and 4, which divides the scores: of lower
 *                  entropy, and closer to 1/8 each
 *
 * Read on: 10_three_sentences.c begins with words. */
#include "attic.h"
#include "attic_plot.h"

#include <math.h>

#include "common/options.h"

enum { T = 8, D = 64 };

typedef struct {
    const char *name;
    bool projected;
    double temperature;
} kind;

static const kind table[] = {
    {"raw: Q = K = V = x", false, 1},
    {"projected", true, 1},
    {"projected, cold: 1/4", true, 0.25},
    {"projected, hot: 4", true, 4},
};
enum { KINDS = sizeof table / sizeof *table };

typedef struct {
    at_tensor *Q, *K, *V, *A, *O;
} attention;

static double sum_of_row(const at_tensor *A, int i)
{
    double sum = 0;
    for (int j = 0; j < T; j++) sum += at_get(A, 0, i, j);
    return sum;
}

/* True if these are distributions. */
static bool print_rows(const at_tensor *A)
{
    double least = 1, most = 0, off = 0;
    for (int i = 0; i < T; i++) {
        off = fmax(off, fabs(sum_of_row(A, i) - 1));
        for (int j = 0; j < T; j++) {
            least = fmin(least, at_get(A, 0, i, j));
            most = fmax(most, at_get(A, 0, i, j));
        }
    }
    double entropy = 0;
    for (ptrdiff_t i = 0; A && i < at_count(A->shape); i++)
        entropy -= at_element(A, i) * log(at_element(A, i)) / T;
    printf("%12.1e%10.4f%12.3f%12s\n", least, most, entropy, off < 1e-6 ? "yes" : "NO");
    return least > 0 && off < 1e-6;
}

int main(int argc, char **argv)
{
    int first = parse_options(argc, argv, "usage: 08_look_at_attention [picture.svg]\n", NULL, 1);
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_random(t, at_shape_of(1, T, D), at_normal(1));
    at_linear q = at_linear_make(t, "q", D, D, false, at_xavier_normal(1));
    at_linear k = at_linear_make(t, "k", D, D, false, at_xavier_normal(1));
    at_linear v = at_linear_make(t, "v", D, D, false, at_xavier_normal(1));

    attention a[KINDS] = {0};
    at_subplot subplots[KINDS];
    for (int n = 0; n < KINDS; n++) {
        bool p = table[n].projected;
        a[n].Q = p ? at_linear_apply(t, q, x) : x;
        a[n].K = p ? at_linear_apply(t, k, x) : x;
        a[n].V = p ? at_linear_apply(t, v, x) : x;
        at_sdpa_args args = {.temperature = table[n].temperature, .weights = &a[n].A};
        a[n].O = at_sdpa(t, a[n].Q, a[n].K, a[n].V, args);
        subplots[n] = at_subplot_of(a[n].A, NULL, at_shape_of(0));
        subplots[n].title = table[n].name;
    }

    if (at_ok(t)) {
        printf("Q        %s\nK        %s\nV        %s\n", at_shape_text(a[1].Q->shape),
               at_shape_text(a[1].K->shape), at_shape_text(a[1].V->shape));
        printf("weights  %s     row: query; column: key\noutput   %s\n\n",
               at_shape_text(a[1].A->shape), at_shape_text(a[1].O->shape));
    }
    printf("Row sums of \"projected\":");
    for (int i = 0; i < T; i++) printf(" %.6f", sum_of_row(a[1].A, i));
    printf("\n\n%-24sleast       most     entropy   rows sum to 1\n", "weights");
    bool ok = true;
    for (int n = 0; n < KINDS; n++) {
        printf("%-20s", table[n].name);
        ok = print_rows(a[n].A) && ok;
    }
    printf("\nThe most that the entropy can be is log 8 = %.3f.\n\n", log(T));

    at_heatmap map = {.title = "Eight tokens attend to each other",
                      .subplots = subplots,
                      .n_subplots = KINDS,
                      .columns = 2,
                      .row_label = "Query",
                      .col_label = "Key",
                      .value_label = "weight",
                      .colours = ATTIC_COLOURS_UNIT};
    ok = at_term_heatmap(stdout, at_terminal_of(stdout), &map) && ok;
    if (argc > first) {
        FILE *f = at_file_create(t, argv[first]);
        at_svg_heatmap(f, &map);
        at_file_close(t, f, argv[first]);
    }
    if (!at_ok(t)) fprintf(stderr, "attic: %s\n", at_error(t));
    int failed = !ok || !at_ok(t);
    at_close(t);
    return finish(failed);
}
