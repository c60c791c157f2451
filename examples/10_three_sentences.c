/* 10_three_sentences.c -- from words to attention, and the effect of padding.
 *
 *     "This is a sample."                         4 words
 *     "Attention mechanisms are powerful."        4
 *     "Scaled dot product is interesting."        5
 *
 *     words -> ids -> padded to 10 -> embedding of 64 -> self-attention
 *                     [3,10]          [3,10,64]          weights [3,10,10], output [3,10,64]
 *
 * Sentences of one batch must have one length, so short ones are padded.  Without a mask, attention
 * reads the padding like any word.  Ids count from 0, in the order in which words appear, and
 * padding is 0 as well, the usual content of an empty array.  That is a mistake: id 0 is "this".
 * Four masks, and what they let through:
 *
 *     none        more than half of all weight is on padding; the output of a sentence depends on
 *                 the length of its padding; and a sentence without "this" gives "this" a gradient
 *     id != 0     masks the padding, and with it the first word of the first sentence
 *     length      is right: the first 4, 4 and 5 keys
 *     id != 12    is right too, with an id for padding that no word has
 *
 * "change" is the largest change of a word's output when all is padded to 16 instead of 10;
 * "gradient" is the length of d(loss)/d(embedding of "this") for a loss on the second sentence
 * alone.
 *
 * Programs that begin here often leave the projections out, Q = K = V = the embedded words.  Then
 * the scores are symmetric, and the score of a word with itself is |x|^2 / 8, about 8 where the
 * others are about 1: every word attends to itself.  Padding by id 0 is a copy of "this" there, and
 * "this" shares its weight equally with six of them.
 *
 * Queries that are padding attend as well.  Their output has to be left out of the loss.
 *
 * Smaller still, three tokens of size 1, every step worked out forward and backward:
 * `trace --self --Q 1/2/3`.  Read on: 11_cat_and_rat.c trains one. */
#include "attic.h"
#include "attic_plot.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "common/options.h"

enum { B = 3, T = 10, LONGER = 16, D = 64, MAX_WORDS = 16 };

/* ---- words ---------------------------------------------------------------------------------- */

static const char *const sentence[B] = {"This is a sample.", "Attention mechanisms are powerful.",
                                        "Scaled dot product is interesting."};

static char vocabulary[MAX_WORDS][16];
static int n_words;

/* The id of a word; a new word gets the next one. */
static int id_of(const char *word)
{
    for (int id = 0; id < n_words; id++)
        if (strcmp(vocabulary[id], word) == 0) return id;
    strcpy(vocabulary[n_words], word);
    return n_words++;
}

/* Lower case, letters only; returns how many words there are. */
static int read_sentence(const char *text, int *id)
{
    int n = 0;
    while (*text) {
        char word[16] = "";
        for (int i = 0; isalpha((unsigned char)*text) && i < 15; i++)
            word[i] = (char)tolower((unsigned char)*text++);
        if (*word) id[n++] = id_of(word);
        while (*text && !isalpha((unsigned char)*text)) text++;
    }
    return n;
}

/* ---- attention ------------------------------------------------------------------------------ */

typedef enum { NONE, NOT_ID_0, LENGTH, NOT_ID_12, MASKS } mask_kind;
static const char *const mask_name[MASKS] = {"none", "id != 0", "length", "id != 12"};

static int word_id[B][MAX_WORDS];
static int32_t length[B];

typedef struct {
    at_tensor *ids, *keep; /* [B,T] [B,1,T]; no mask: NULL */
    at_tensor *E, *x;      /* embedding [n_words+1,D], embedded [B,T,D] */
    at_tensor *A, *O, *X;  /* weights [B,T,T], output [B,T,D]; scores like the weights */
} reading;

/* Tapes of one seed draw the same parameters. */
static reading read_all(at_tape *t, mask_kind mask, int padded_to, bool projected)
{
    reading r = {.E = at_param(t, "E", at_shape_of(n_words + 1, D), at_normal(1))};
    at_linear q = at_linear_make(t, "q", D, D, false, at_xavier_normal(1));
    at_linear k = at_linear_make(t, "k", D, D, false, at_xavier_normal(1));
    at_linear v = at_linear_make(t, "v", D, D, false, at_xavier_normal(1));

    int padding = mask == NOT_ID_12 ? n_words : 0;
    r.ids = at_ints(t, at_shape_of(B, padded_to), NULL);
    for (int b = 0; at_ok(t) && b < B; b++)
        for (int i = 0; i < padded_to; i++)
            at_set(r.ids, i < length[b] ? word_id[b][i] : padding, b, i);
    if (mask == LENGTH)
        r.keep = at_keep_lengths(t, at_ints(t, at_shape_of(B), length), padded_to);
    else if (mask != NONE)
        r.keep = at_keep_unpadded(t, r.ids, padding);
    if (r.keep) r.keep = at_reshape(t, r.keep, at_shape_of(B, 1, padded_to)); /* one head */

    r.x = at_embedding(t, r.E, r.ids);
    at_tensor *Q = projected ? at_linear_apply(t, q, r.x) : r.x;
    at_tensor *K = projected ? at_linear_apply(t, k, r.x) : r.x;
    at_tensor *V = projected ? at_linear_apply(t, v, r.x) : r.x;
    r.O = at_sdpa(t, Q, K, V, (at_sdpa_args){.keep = r.keep, .weights = &r.A, .scores = &r.X});
    return r;
}

/* ---- what the masks let through -------------------------------------------------------------- */

/* of words, averaged */
static double weight_on_padding(const reading *r)
{
    double sum = 0;
    int words = 0;
    for (int b = 0; b < B; b++)
        for (int i = 0; i < length[b]; i++, words++)
            for (int j = length[b]; j < T; j++) sum += at_get(r->A, b, i, j);
    return sum / words;
}

static double largest_change(const reading *r, const reading *other)
{
    double most = 0;
    for (int b = 0; b < B; b++)
        for (int i = 0; i < length[b]; i++)
            for (int d = 0; d < D; d++)
                most = fmax(most, fabs(at_get(r->O, b, i, d) - at_get(other->O, b, i, d)));
    return most;
}

/* Backward from the second sentence; the length of the gradient of "this". */
static double gradient_of_this(at_tape *t, const reading *r)
{
    at_tensor *dO = at_const(t, at_shape_of(B, T, D), NULL);
    for (int i = 0; dO && i < length[1]; i++)
        for (int d = 0; d < D; d++) at_set(dO, at_get(r->O, 1, i, d), 1, i, d); /* loss |O|^2/2 */
    at_backward_from(t, r->O, dO);
    double sum = 0;
    for (int d = 0; r->E && d < D; d++) sum += pow(at_grad_element(r->E, d), 2); /* row 0 */
    return sqrt(sum);
}

typedef struct {
    double padding, on_this, change, gradient;
} leak;

static leak print_mask(at_tape *t, mask_kind mask, const reading *r)
{
    at_tape *u = at_open(ATTIC_F32, 1);
    reading longer = read_all(u, mask, LONGER, true);
    leak l = {0};
    if (at_ok(t) && at_ok(u))
        l = (leak){.padding = weight_on_padding(r),
                   .on_this = at_get(r->A, 0, 3, 0),
                   .change = largest_change(r, &longer),
                   .gradient = gradient_of_this(t, r)};
    at_close(u);

    double rest = 1;
    printf("%-10s", mask_name[mask]);
    for (int j = 0; j < length[0]; j++) {
        printf("%8.3f", at_get(r->A, 0, 3, j));
        rest -= at_get(r->A, 0, 3, j);
    }
    printf("%9.3f%15.3f%9.4f%9.4f\n", fabs(rest), l.padding, l.change, l.gradient);
    return l;
}

static void print_ids(void)
{
    for (int b = 0; b < B; b++) {
        length[b] = read_sentence(sentence[b], word_id[b]);
        printf("%-36s", sentence[b]);
        for (int i = 0; i < T; i++) printf("%4d", i < length[b] ? word_id[b][i] : 0);
        printf("\n");
    }
    printf("\n");
}

/* ---- without projections --------------------------------------------------------------------- */

/* The weight of word i of the first sentence on itself, and on padding. */
static void print_own(const reading *r, int i, double *own)
{
    double padding = 0;
    for (int j = length[0]; j < T; j++) padding += at_get(r->A, 0, i, j);
    *own = at_get(r->A, 0, i, i);
    printf("%14.3f%12.3f", *own, padding);
}

/* Q = K = V = x.  True if what the comment on top says of it is so. */
static bool print_unprojected(void)
{
    bool symmetric = true;
    double this_own[2], sample_own[2];
    printf("\nThe same without projections, Q = K = V = x; on: the weight on\n\n"
           "mask        \"this\" on \"this\"  on padding  \"sample\" on \"sample\"  on padding\n");
    for (int m = 0; m < 2; m++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        reading r = read_all(t, m ? LENGTH : NONE, T, false);
        if (!at_ok(t)) fprintf(stderr, "attic: %s\n", at_error(t));
        printf("%-10s", mask_name[m ? LENGTH : NONE]);
        print_own(&r, 0, &this_own[m]);
        print_own(&r, 3, &sample_own[m]);
        printf("\n");
        for (int k = 0; at_ok(t) && k < T * T; k++) {
            double score = at_get(r.X, 0, k / T, k % T), other = at_get(r.X, 0, k % T, k / T);
            symmetric = symmetric && fabs(score - other) < 1e-5;
        }
        at_close(t);
    }
    bool equal = fabs(this_own[0] - 1.0 / 7)<0.01, own = fmin(this_own[1], sample_own[1])> 0.9;
    printf("\nScores are symmetric: %s.  Unmasked, \"this\" shares its weight with six paddings,\n"
           "copies of it, 1/7 each: %s.  Masked, both words attend to themselves: %s.\n",
           symmetric ? "yes" : "NO", equal ? "yes" : "NO", own ? "yes" : "NO");
    return symmetric && equal && own;
}

static void draw(at_tape *t, const char *path, reading *r)
{
    const char *name[T];
    at_subplot subplots[3];
    for (int i = 0; i < T; i++) name[i] = i < length[0] ? vocabulary[word_id[0][i]] : "-";
    for (int m = NONE; m <= LENGTH; m++) {
        subplots[m] = at_subplot_of(r[m].A, r[m].keep, at_shape_of(0));
        subplots[m].title = mask_name[m];
    }
    subplots[0].title = "no mask";
    at_heatmap map = {.title = "This is a sample, padded to ten",
                      .subplots = subplots,
                      .n_subplots = 3,
                      .row_label = "Query",
                      .col_label = "Key",
                      .row_names = name,
                      .col_names = name,
                      .value_label = "weight",
                      .colours = ATTIC_COLOURS_UNIT};
    FILE *f = at_file_create(t, path);
    at_svg_heatmap(f, &map);
    at_file_close(t, f, path);
}

int main(int argc, char **argv)
{
    int first = parse_options(argc, argv,
                              "usage: 10_three_sentences [picture.svg]\n"
                              "From words to attention, and the effect of padding.\n",
                              NULL, 1);
    reading r[MASKS];
    leak l[MASKS];
    at_tape *t[MASKS];
    printf("What does padding do to attention?  Three sentences as ids, padded to ten with id 0,\n"
           "which is \"this\" as well.  Look at the weight on padding, under four masks.\n\n");
    print_ids();

    for (int m = 0; m < MASKS; m++) {
        t[m] = at_open(ATTIC_F32, 1);
        r[m] = read_all(t[m], (mask_kind)m, T, true);
    }
    if (at_ok(t[0]))
        printf("ids %s   embedded %s   weights %s   output %s\n\n", at_shape_text(r[0].ids->shape),
               at_shape_text(r[0].x->shape), at_shape_text(r[0].A->shape),
               at_shape_text(r[0].O->shape));
    printf("on padding: the weight there, mean over all words; change: the largest in the\n"
           "output of a word if all is padded to 16; gradient: |d(loss)/d(embedding of\n"
           "\"this\")| for a loss on the second sentence, which has no \"this\"\n\n");
    printf("          weights of \"sample\":                           all words\n");
    printf("mask      ");
    for (int i = 0; i < length[0]; i++) printf("%8s", vocabulary[word_id[0][i]]);
    printf("  padding        on padding   change gradient\n");
    for (int m = 0; m < MASKS; m++) l[m] = print_mask(t[m], (mask_kind)m, &r[m]);
    if (argc > first) draw(t[0], argv[first], r);

    bool unprojected = print_unprojected();
    int clean = 0;
    for (int m = 0; m < MASKS; m++)
        clean += l[m].on_this > 0 && l[m].change < 1e-6 && l[m].gradient == 0;
    printf(
        "\nSeen: without a mask %.0f%% of the weight of all words is on padding.  %d of 4 masks\n"
        "keep every word and no padding; under id != 0 the weight on \"this\" is %.3f.\n",
        100 * l[NONE].padding, clean, l[NOT_ID_0].on_this);

    bool ok =
        unprojected && l[NONE].padding > 0.5 && l[NONE].change > 0.1 && l[NONE].gradient > 0.1;
    ok = ok && l[NOT_ID_0].padding == 0 && l[NOT_ID_0].on_this == 0;
    for (int m = LENGTH; m <= NOT_ID_12; m++)
        ok =
            ok && l[m].padding == 0 && l[m].on_this > 0 && l[m].change < 1e-6 && l[m].gradient == 0;
    for (int m = 0; m < MASKS; m++) {
        if (!at_ok(t[m])) fprintf(stderr, "attic: %s\n", at_error(t[m]));
        ok = ok && at_ok(t[m]);
        at_close(t[m]);
    }
    return finish(!ok);
}
