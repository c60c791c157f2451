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
 * Then the same check for random Q, K, V of [2,4,8], each batch with weights of its own.  Last, one
 * row of "projected" with dropout of 1/2, in evaluation and in training: a weight is dropped or
 * doubled, so a row sums to 1 only on average.
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

/* True if these are distributions; returns their mean entropy, too. */
static bool print_rows(const at_tensor *A, double *mean_entropy)
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
    *mean_entropy = entropy;
    return least > 0 && off < 1e-6;
}

/* Q, K, V [2,4,8]: what must hold of weights whatever the inputs are. */
static bool check_batches(at_tape *t)
{
    at_tensor *x[3], *A = NULL;
    for (int i = 0; i < 3; i++) x[i] = at_random(t, at_shape_of(2, 4, 8), at_normal(1));
    at_tensor *O = at_sdpa(t, x[0], x[1], x[2], (at_sdpa_args){.weights = &A});
    if (!at_ok(t)) return false;
    bool positive = true, sums = true;
    for (int row = 0; row < 2 * 4; row++) {
        double sum = 0;
        for (int j = 0; j < 4; j++) {
            positive = positive && at_element(A, 4 * row + j) >= 0;
            sum += at_element(A, 4 * row + j);
        }
        sums = sums && fabs(sum - 1) < 1e-6;
    }
    printf("\nQ, K, V [2,4,8]: weights %s, output %s; all weights >= 0: %s; every row sums to 1\n"
           "within 1e-6: %s\n",
           at_shape_text(A->shape), at_shape_text(O->shape), positive ? "yes" : "NO",
           sums ? "yes" : "NO");
    return positive && sums;
}

static void print_row(const char *name, const double row[T])
{
    double sum = 0;
    printf("%-22s", name);
    for (int j = 0; j < T; j++) printf("%6.2f", row[j]), sum += row[j];
    printf("%8.2f\n", sum);
}

enum { QUERY = 5, DRAWS = 1000 };

/* Adds `share` times the row, with dropout of 1/2 where the tape is in train mode. */
static void add_row(at_tape *t, const attention *a, double share, double row[T])
{
    at_tensor *A = NULL;
    at_mark here = at_mark_here(t);
    at_sdpa(t, a->Q, a->K, a->V, (at_sdpa_args){.dropout = 0.5, .weights = &A});
    for (int j = 0; j < T; j++) row[j] += share * at_get(A, 0, QUERY, j);
    at_rewind(t, here);
}

/* True if the mean of many trainings is near evaluation. */
static bool print_dropout(at_tape *t, const attention *a)
{
    double evaluation[T] = {0}, mean[T] = {0}, off = 0;
    printf("\nThe row of query %d, projected, with dropout of 1/2:\n\n%22s", QUERY, "");
    for (int j = 0; j < T; j++) printf("%6d", j);
    printf("     sum\n");
    at_train(t, false);
    add_row(t, a, 1, evaluation);
    at_train(t, true);
    print_row("evaluation", evaluation);
    for (int n = 0; n < 3; n++) {
        double row[T] = {0};
        add_row(t, a, 1, row);
        print_row("training", row);
    }
    for (int n = 0; n < DRAWS; n++) add_row(t, a, 1. / DRAWS, mean);
    print_row("mean of 1000 trainings", mean);
    for (int j = 0; j < T; j++) off = fmax(off, fabs(mean[j] - evaluation[j]));
    return off < 0.05;
}

static int tokens_that_choose_themselves(const at_tensor *A)
{
    int n = 0;
    for (int i = 0; i < T; i++) {
        int most = 0;
        for (int j = 0; j < T; j++)
            if (at_get(A, 0, i, j) > at_get(A, 0, i, most)) most = j;
        n += most == i;
    }
    return n;
}

/* True if all rows are distributions. */
static bool print_table(const attention a[KINDS], double entropy[KINDS])
{
    printf("Row sums of \"projected\":");
    for (int i = 0; i < T; i++) printf(" %.6f", sum_of_row(a[1].A, i));
    printf("\n\nleast, most: of all 64 weights; entropy: mean over the rows, in nats, at\n"
           "most log 8 = %.3f, all weights equal\n\n"
           "%-24sleast       most     entropy   rows sum to 1\n",
           log(T), "weights");
    bool ok = true;
    for (int n = 0; n < KINDS; n++) {
        printf("%-20s", table[n].name);
        ok = print_rows(a[n].A, &entropy[n]) && ok;
    }
    printf("\n");
    return ok;
}

static bool print_seen(const attention a[KINDS], const double entropy[KINDS], bool on_average)
{
    bool by_temperature = entropy[2] < entropy[1] && entropy[1] < entropy[3];
    printf("\nSeen: a lower temperature makes rows more concentrated: %s; their entropy is\n"
           "%.2f at 1/4, %.2f at 1, %.2f at 4.  Raw, where Q = K, %d of 8 tokens attend most\n"
           "to themselves.\n",
           by_temperature ? "yes" : "NO", entropy[2], entropy[1], entropy[3],
           tokens_that_choose_themselves(a[0].A));
    printf("With dropout a row sums to 1 on average alone, each weight being that of\n"
           "evaluation then: %s.\n",
           on_average ? "yes" : "NO");
    return by_temperature && on_average;
}

int main(int argc, char **argv)
{
    int first = parse_options(argc, argv,
                              "usage: 08_look_at_attention [picture.svg]\n"
                              "Pictures of attention weights.\n",
                              NULL, 1);
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

    printf("Who attends to whom?  Eight random tokens of size 64 attend to each other in\n"
           "four ways: as they are (raw), projected at random, and that at temperature 1/4\n"
           "(cold) and 4 (hot).  Look at the row of a token: on which tokens is its weight,\n"
           "and on how many?  Shapes:\n\n");
    if (at_ok(t)) {
        printf("Q        %s\nK        %s\nV        %s\n", at_shape_text(a[1].Q->shape),
               at_shape_text(a[1].K->shape), at_shape_text(a[1].V->shape));
        printf("weights  %s     row: query; column: key\noutput   %s\n\n",
               at_shape_text(a[1].A->shape), at_shape_text(a[1].O->shape));
    }
    double entropy[KINDS];
    bool ok = print_table(a, entropy);

    at_heatmap map = {.title = "Eight tokens attend to each other",
                      .subplots = subplots,
                      .n_subplots = KINDS,
                      .columns = 2,
                      .row_label = "Query",
                      .col_label = "Key",
                      .value_label = "weight",
                      .colours = ATTIC_COLOURS_UNIT};
    ok = at_term_heatmap(stdout, at_terminal_of(stdout), &map) && ok;
    ok = check_batches(t) && ok;
    ok = print_seen(a, entropy, print_dropout(t, &a[1])) && ok;
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
