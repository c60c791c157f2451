/* patterns.c -- which patterns have the heads of a trained language model?
 *
 * In 09_patterns.c a task leads to a pattern.  Here nobody asked for one: a model has learned to
 * predict text (make gpt), it reads a line, and the weights of each head are compared with five
 * patterns.  Under a causal mask row i has the keys 0 to i, and a pattern says which of them it
 * reads, evenly:
 *
 *     local         the two last keys, i - 1 and i
 *     vertical      the same two keys for every row: of the first nine, those that the head reads
 *                   most
 *     horizontal    half of the rows, those with the highest entropy, read all keys; the others
 *                   rest on one, which they read most
 *     block         the keys of its own word, up to itself
 *     global        all keys
 *
 *     score = mean_i sum_j min(P_ij, M_ij)       M_ij = 1/n_i on the n_i keys of row i, else 0
 *
 * 1 is the pattern itself.  The first rows, of which every pattern keeps nearly all keys, do not
 * count.  The picture shows, for each pattern, the head that is nearest to it. */
#include "attic_plot.h"
#include "attic_train.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "common/options.h"

enum { LOCAL, VERTICAL, HORIZONTAL, BLOCK, GLOBAL, PATTERNS };
static const char *const pattern_name[PATTERNS] = {"local", "vertical", "horizontal", "block",
                                                   "global"};
enum { MOST = 64, FIRST = 8, MAX_LAYERS = 64 };

static const char loop[] = "for (int i = 0; i < n; i++) dx[i] += dy[i];";
static const char *line = "";
static const option options[] = {
    {"line", NULL, NULL, &line, 0, 0, "what it reads, of 16 to 64 bytes; none: a loop in C"}, {0}};

typedef struct {
    int T;
    double P[MOST][MOST];
    bool even[MOST]; /* is the row among the half of them that spread their weight most? */
    int key[2];      /* the two that all rows read most, of those that all have, */
    int rest;        /* and the one of the rows that are not even */
} head;

/* The entropy of row i as a share of its largest value */
static double evenness(const head *x, int i)
{
    double entropy = 0;
    for (int j = 0; j <= i; j++)
        if (x->P[i][j] > 0) entropy -= x->P[i][j] * log(x->P[i][j]);
    return entropy / log(i + 1);
}

static void find_even_rows(head *x)
{
    double of[MOST];
    for (int i = FIRST; i < x->T; i++) of[i] = evenness(x, i);
    for (int i = FIRST; i < x->T; i++) {
        int before = 0;
        for (int k = FIRST; k < x->T; k++) before += of[k] > of[i];
        x->even[i] = 2 * before < x->T - FIRST;
    }
}

/* The key that these rows read most, of those that all rows which count have; not `but`. */
static int most_read(const head *x, bool all, int but)
{
    double most = -1;
    int key = 0;
    for (int j = 0; j <= FIRST; j++) {
        double sum = 0;
        for (int i = FIRST; i < x->T; i++) sum += all || !x->even[i] ? x->P[i][j] : 0;
        if (j != but && sum > most) most = sum, key = j;
    }
    return key;
}

static head head_of(const at_tensor *weights, int h)
{
    head x = {.T = weights->shape.dim[2]};
    for (int i = 0; i < x.T; i++)
        for (int j = 0; j <= i; j++) x.P[i][j] = at_get(weights, 0, h, i, j);
    find_even_rows(&x);
    x.key[0] = most_read(&x, true, -1);
    x.key[1] = most_read(&x, true, x.key[0]);
    x.rest = most_read(&x, false, -1);
    return x;
}

static bool same_word(char a, char b)
{
    return isalnum((unsigned char)a) ? isalnum((unsigned char)b) : a == b;
}

/* Which keys of row i does the pattern keep? */
static void keep_row(const head *x, int pattern, int i, bool keep[MOST])
{
    bool word = true;
    for (int j = i; j >= 0; j--) {
        word = word && same_word(line[i], line[j]);
        keep[j] = pattern == LOCAL        ? j >= i - 1
                  : pattern == VERTICAL   ? j == x->key[0] || j == x->key[1]
                  : pattern == HORIZONTAL ? x->even[i] || j == x->rest
                  : pattern == BLOCK      ? word
                                          : true;
    }
}

static double score(const head *x, int pattern)
{
    double sum = 0;
    for (int i = FIRST; i < x->T; i++) {
        bool keep[MOST];
        int n = 0;
        keep_row(x, pattern, i, keep);
        for (int j = 0; j <= i; j++) n += keep[j];
        for (int j = 0; j <= i; j++)
            if (keep[j]) sum += fmin(x->P[i][j], 1. / n);
    }
    return sum / (x->T - FIRST);
}

typedef struct {
    int layer, head;
    double score;
} nearest;

/* Prints the scores of every head; which is the nearest to each pattern? */
static void print_scores(at_tensor *const *weights, int layers, int heads, nearest best[PATTERNS])
{
    printf("layer, head ");
    for (int p = 0; p < PATTERNS; p++) printf("%12s", pattern_name[p]);
    printf("\n");
    for (int l = 0; l < layers; l++)
        for (int h = 0; h < heads; h++) {
            const head x = head_of(weights[l], h);
            printf("%5d, %3d  ", l, h);
            for (int p = 0; p < PATTERNS; p++) {
                const double s = score(&x, p);
                printf("%12.2f", s);
                if (s > best[p].score) best[p] = (nearest){l, h, s};
            }
            printf("\n");
        }
}

static void print_seen(const nearest best[PATTERNS])
{
    printf("\nSeen: the nearest to each pattern:");
    for (int p = 0; p < PATTERNS; p++)
        printf("%s\n  %-11s head %d of layer %d, %.2f", p ? "," : "", pattern_name[p], best[p].head,
               best[p].layer, best[p].score);
    printf(".\n");
}

/* The heads that are nearest, with the line along both axes. */
static bool draw(at_tape *t, const char *path, at_tensor *const *weights, int T,
                 const nearest best[PATTERNS])
{
    char letter[MOST][2] = {{0}}, title[PATTERNS][60];
    const char *names[MOST];
    at_tensor *past = at_keep_causal(t, T, T, ATTIC_ALIGN_EQUAL, 0);
    at_subplot subplots[PATTERNS];
    for (int i = 0; i < T; i++) letter[i][0] = line[i], names[i] = letter[i];
    for (int p = 0; p < PATTERNS; p++) {
        snprintf(title[p], sizeof title[p], "%s: head %d of layer %d, %.2f", pattern_name[p],
                 best[p].head, best[p].layer, best[p].score);
        subplots[p] = at_subplot_of(weights[best[p].layer], past, at_shape_of(0, best[p].head));
        subplots[p].title = title[p];
    }
    const at_heatmap map = {.title = "Patterns that nobody asked for",
                            .subplots = subplots,
                            .n_subplots = PATTERNS,
                            .columns = 3,
                            .row_label = "Query",
                            .col_label = "Key",
                            .row_names = names,
                            .col_names = names,
                            .colours = ATTIC_COLOURS_UNIT};
    FILE *f = at_file_create(t, path);
    at_svg_heatmap(f, &map);
    return at_file_close(t, f, path);
}

static const char usage[] =
    "usage: patterns [options] model.safetensors [picture.svg]\n"
    "Which patterns have the heads of a trained language model?  make gpt trains one.\n";

int main(int argc, char **argv)
{
    const int first = parse_options(argc, argv, usage, options, 2);
    if (!*line) line = loop;
    const int T = (int)strlen(line);
    if (first == argc || T < 16 || T > MOST) {
        fprintf(stderr, first == argc ? "say which model: out/gpt/best.safetensors\n"
                                      : "the line must have 16 to 64 bytes\n");
        return 2;
    }
    at_tape *t = at_open(ATTIC_F32, 1);
    at_train(t, false);
    at_model *m = at_model_open(t, argv[first]);
    ptrdiff_t n = 0;
    const int32_t *id = at_encode(t, at_tokenizer_open(t, argv[first]), line, T, &n);
    at_tensor *weights[MAX_LAYERS] = {NULL};
    nearest best[PATTERNS] = {{0}};
    bool fits = at_ok(t) && n == T && m->config.layers <= MAX_LAYERS;
    if (fits) {
        at_model_logits(t, m, at_ints(t, at_shape_of(1, T), id),
                        (at_model_args){.weights = weights});
        fits = at_ok(t);
    }
    if (at_ok(t) && !fits)
        fprintf(stderr, "the tokens of the model must be single bytes, of at most 64 layers\n");
    if (fits) {
        printf("Which patterns have the heads of a trained model?  It reads\n\n    %s\n\nand each "
               "head's weights are compared with five patterns.  score: the share of the weights\n"
               "that lies as in the pattern, at most 1.  Look for the largest of each column.\n\n",
               line);
        print_scores(weights, m->config.layers, m->config.heads, best);
        print_seen(best);
        if (argc > first + 1) fits = draw(t, argv[first + 1], weights, T, best);
    }
    if (!at_ok(t)) fprintf(stderr, "attic: %s\n", at_error(t));
    const bool failed = !fits || !at_ok(t);
    at_close(t);
    return finish(failed);
}
