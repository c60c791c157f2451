/* 11_cat_and_rat.c -- a query attends seven places ahead, and a causal mask forbids it.
 *
 * "the cat ate the rat" becomes eleven ids by byte pair encoding (Sennrich, Haddow, Birch 2016):
 * each letter has an id, and so have four pairs, which are joined in the order of the vocabulary.
 *
 *     position    0  1  2  3  4  5  6   7  8  9 10
 *     token     the  _  c at  _ at e_ the  _  r at        _ is a space
 *     id          9  0  2  7  0  7  3   9  0  6  7
 *
 * To know which animal comes next, the c at position 2 would have to attend to the r at position 9.
 * One layer of attention is trained without a mask on random sequences, eleven long, of eleven
 * different ids, where the output of every position is the id seven places ahead of it (the last
 * seven have none and are not part of the loss).  Which id that is differs from sequence to
 * sequence, so attention has to find it by its distance alone.  Rotary positions make that
 * possible, because the score of a query and a key that are rotated by their positions depends on
 * the difference of these alone; the biases of the projections give all tokens a common part that
 * is rotated.
 *
 * Then the trained model reads the sentence.  A[2,9] is close to 1.  With a causal mask over the
 * same scores it is exactly 0: not small, but never computed, and the weights are shared among the
 * keys that are left. */
#include "attic.h"
#include "attic_plot.h"

#include "common/options.h"

enum { IDS = 11, T = 11, AHEAD = 7, DIM = 32, BATCH = 32, STEPS = 400 };

typedef struct {
    at_tensor *E;
    at_attention layer;
    at_linear out;
} model;

static at_tensor *read_ids(at_tape *t, const model *m, at_tensor *ids, bool causal,
                           at_tensor **weights)
{
    at_tensor *x = at_embedding(t, m->E, ids); /* [B,T] -> [B,T,DIM] */
    at_tensor *y = at_attention_apply(t, &m->layer, x, NULL,
                                      (at_sdpa_args){.causal = causal, .weights = weights});
    return at_linear_apply(t, m->out, y); /* -> [B,T,IDS] */
}

/* The vocabulary, a space shown as _, and which two tokens are joined to which, in this order. */
static const char *const token[IDS] = {"_", "a", "c", "e_", "e", "h", "r", "at", "t", "the", "th"};
static const int merges[][3] = {{1, 8, 7}, {8, 5, 10}, {10, 4, 9}, {4, 0, 3}};

static int letter(char c)
{
    int id = 0;
    while (id < IDS && (token[id][0] != (c == ' ' ? '_' : c) || token[id][1])) id++;
    return id;
}

/* Joins the pair wherever it stands; returns how many tokens are left. */
static int join(int32_t *id, int n, const int merge[3])
{
    int m = 0;
    for (int i = 0; i < n; m++) {
        const bool pair = i + 1 < n && id[i] == merge[0] && id[i + 1] == merge[1];
        id[m] = pair ? merge[2] : id[i];
        i += pair ? 2 : 1;
    }
    return m;
}

static void print_tokens(const int32_t *id, int n)
{
    for (int i = 0; i < n; i++) printf(" %s", token[id[i]]);
    printf("\n");
}

/* Byte pair encoding: letter by letter, then each merge in turn. */
static int encode(const char *sentence, int32_t id[])
{
    int n = 0;
    for (; sentence[n]; n++) id[n] = letter(sentence[n]);
    printf("join       id   the sentence\n%13s  ", "");
    print_tokens(id, n);
    for (size_t k = 0; k < sizeof merges / sizeof *merges; k++) {
        n = join(id, n, merges[k]);
        printf("%-3s+ %-4s%4d  ", token[merges[k][0]], token[merges[k][1]], merges[k][2]);
        print_tokens(id, n);
    }
    return n;
}

/* Random sequences; target[i] = ids[i + AHEAD], or -1 */
static void draw_batch(at_tape *t, at_tensor **ids, at_tensor **target)
{
    *ids = at_ints(t, at_shape_of(BATCH, T), NULL);
    *target = at_ints(t, at_shape_of(BATCH, T), NULL);
    at_stream dice = at_draw(t);
    for (int b = 0; at_ok(t) && b < BATCH; b++)
        for (int i = 0; i < T; i++) {
            int id = (int)(at_random_unit(dice, (uint64_t)b * T + (uint64_t)i) * IDS);
            at_set(*ids, id, b, i);
            at_set(*target, -1, b, i);
            if (i >= AHEAD) at_set(*target, id, b, i - AHEAD);
        }
}

static void train(at_tape *t, const model *m)
{
    at_mark step = at_mark_here(t);
    for (int i = 0; i <= STEPS && at_ok(t); i++) {
        at_tensor *ids, *target;
        draw_batch(t, &ids, &target);
        at_tensor *logits = read_ids(t, m, ids, false, NULL);
        at_tensor *loss = at_cross_entropy(
            t, logits, target, (at_cross_entropy_args){.ignore = true, .ignore_index = -1});
        if (i % 100 == 0) printf("step %3d   loss %.4f\n", i, at_item(loss));
        at_backward(t, loss);
        at_adamw(t, 0.01, (at_adamw_args){0});
        at_rewind(t, step);
    }
}

/* The names, or the ids, or the positions themselves. */
static void print_names(const char *what, const int32_t *ids, const char *const *names)
{
    printf("%-14s", what);
    for (int j = 0; j < T; j++)
        if (names)
            printf("%6s", names[j]);
        else
            printf("%6d", ids ? (int)ids[j] : j);
    printf("\n");
}

static void print_row(const char *what, const at_tensor *A)
{
    printf("%-14s", what);
    for (int j = 0; j < T; j++) printf("%6.3f", at_get(A, 0, 0, 2, j));
    printf("\n");
}

static void draw(at_tape *t, const char *path, const at_tensor *free_A, const at_tensor *causal_A,
                 const char *const *name)
{
    at_tensor *past = at_keep_causal(t, T, T, ATTIC_ALIGN_EQUAL, 0);
    at_subplot subplots[] = {at_subplot_of(free_A, NULL, at_shape_of(0, 0)),
                             at_subplot_of(causal_A, past, at_shape_of(0, 0))};
    subplots[0].title = "no mask";
    subplots[1].title = "causal mask";
    at_heatmap map = {.title = "A c attends to an r, seven places ahead",
                      .subplots = subplots,
                      .n_subplots = 2,
                      .row_label = "Query",
                      .col_label = "Key",
                      .row_names = name,
                      .col_names = name,
                      .colours = ATTIC_COLOURS_UNIT};
    FILE *f = at_file_create(t, path);
    at_svg_heatmap(f, &map);
    at_file_close(t, f, path);
}

static const char usage[] = "usage: 11_cat_and_rat [picture.svg]\n"
                            "A query attends seven places ahead, and a causal mask forbids it.\n";

int main(int argc, char **argv)
{
    int first = parse_options(argc, argv, usage, NULL, 1);
    at_tape *t = at_open(ATTIC_F32, 1);
    model m = {.E = at_param(t, "E", at_shape_of(IDS, DIM), at_normal(1))};
    m.layer = at_attention_make(
        t, (at_attention_config){.dim = DIM, .heads = 1, .bias = true, .rope = true}, 1);
    m.out = at_linear_make(t, "out", DIM, IDS, true, at_xavier_normal(1));
    printf("Can a query find a key by its distance?  A layer learns to name the id seven\n"
           "places ahead in random sequences of eleven; then it reads \"the cat ate the\n"
           "rat\", where the c, position 2, needs the r, position 9.  loss: the mean of -log\n"
           "P(right id).  Look at column 9.\n\n"
           "From letters to ids by byte pair encoding, a space shown as _:\n\n");
    int32_t sentence[32];
    const int length = encode("the cat ate the rat", sentence);
    const char *name[T];
    for (int j = 0; j < T; j++) name[j] = token[sentence[j]];
    printf("\n");
    print_names("position", NULL, NULL);
    print_names("token", NULL, name);
    print_names("id", sentence, NULL);
    printf("\n");
    train(t, &m);

    at_tensor *ids = at_ints(t, at_shape_of(1, T), sentence), *free_A = NULL, *causal_A = NULL;
    read_ids(t, &m, ids, false, &free_A);
    read_ids(t, &m, ids, true, &causal_A);
    printf("\nWeights of the c at position 2, position by position:\n\n");
    print_names("", NULL, NULL);
    print_names("", NULL, name);
    print_row("no mask", free_A);
    print_row("causal mask", causal_A);
    double before = at_get(free_A, 0, 0, 2, 9), after = at_get(causal_A, 0, 0, 2, 9);
    printf("\nSeen: the weight of position 2 on position 9 is %.3f without a mask, %g with a\n"
           "causal one: %s.\n",
           before, after,
           before >= 0.8 && after == 0 ? "found, seven places ahead, and 0 where it is masked"
                                       : "NOT what was expected");

    if (argc > first) draw(t, argv[first], free_A, causal_A, name);
    if (!at_ok(t)) fprintf(stderr, "attic: %s\n", at_error(t));
    int failed = !at_ok(t) || length != T || !(before >= 0.8) || after != 0;
    at_close(t);
    return finish(failed);
}
