/* 05_toy_transformer.c -- a one-layer transformer learns to reverse a word.
 *
 *     in     c a f e | e f a          read from left to right
 *     out    . . . . e f a c          each output is the next input; dots are not part of the loss
 *
 * To predict the next letter the model needs one particular earlier position, the mirror image of
 * its own, and only attention can read it.  The whole model is written out in `logits` below; its
 * one attention matrix is printed after the training and shows the anti-diagonal: row "|" attends
 * to the last letter of the word, the next row to the one before, and so on.
 *
 *     x = E[ids] + P                      which letter, and at which position
 *     x = x + sdpa(x Wq, x Wk, x Wv) Wo   attention
 *     x = x + gelu(x W1) W2               feed-forward
 *     logits = norm(x) E^T                which letter comes next?
 *
 * Read on: demo.c trains the same kind of model on real text. */
#include "attic.h"

#include "common/options.h"

enum { LETTERS = 10, BAR = LETTERS, VOCAB = LETTERS + 1, WORD = 6, T = 2 * WORD, C = 32, B = 32 };

typedef struct {
    at_tensor *E, *P, *g1, *Wq, *Wk, *Wv, *Wo, *g2, *W1, *W2, *g3;
} model;

static model make_model(at_tape *t)
{
    at_init draw = at_xavier_normal(1);
    return (model){.E = at_param(t, "E", at_shape_of(VOCAB, C), at_normal(0.1)),
                   .P = at_param(t, "P", at_shape_of(T, C), at_normal(0.1)),
                   .g1 = at_param(t, "g1", at_shape_of(C), at_ones()),
                   .Wq = at_param(t, "Wq", at_shape_of(C, C), draw),
                   .Wk = at_param(t, "Wk", at_shape_of(C, C), draw),
                   .Wv = at_param(t, "Wv", at_shape_of(C, C), draw),
                   .Wo = at_param(t, "Wo", at_shape_of(C, C), draw),
                   .g2 = at_param(t, "g2", at_shape_of(C), at_ones()),
                   .W1 = at_param(t, "W1", at_shape_of(C, 4 * C), draw),
                   .W2 = at_param(t, "W2", at_shape_of(4 * C, C), draw),
                   .g3 = at_param(t, "g3", at_shape_of(C), at_ones())};
}

/* ids [B,T] -> logits [B,T,VOCAB]; the options of the attention are the caller's */
static at_tensor *logits(at_tape *t, model m, at_tensor *ids, at_sdpa_args args)
{
    at_tensor *x = at_add(t, at_embedding(t, m.E, ids), m.P); /* [B,T,C] */

    at_tensor *n = at_rms_norm(t, x, m.g1, 1e-6);
    at_tensor *Q = at_matmul(t, n, m.Wq), *K = at_matmul(t, n, m.Wk), *V = at_matmul(t, n, m.Wv);
    x = at_add(t, x, at_matmul(t, at_sdpa(t, Q, K, V, args), m.Wo));

    n = at_rms_norm(t, x, m.g2, 1e-6);
    x = at_add(t, x, at_matmul(t, at_gelu(t, at_matmul(t, n, m.W1)), m.W2)); /* C -> 4C -> C */

    return at_matmul_t(t, at_rms_norm(t, x, m.g3, 1e-6), false, m.E, true); /* [VOCAB,C]^T */
}

/* Random words: ids is "word|drow" without its last letter, target is ids one step ahead, -1 where
 * the next letter cannot be predicted. */
static void fill_batch(at_tape *t, at_tensor **ids, at_tensor **target)
{
    *ids = at_ints(t, at_shape_of(B, T), NULL);
    *target = at_ints(t, at_shape_of(B, T), NULL);
    at_stream dice = at_draw(t);
    for (int b = 0; at_ok(t) && b < B; b++) {
        int text[T + 1];
        for (int i = 0; i < WORD; i++) {
            text[i] = (int)(at_random_unit(dice, b * WORD + i) * LETTERS);
            text[T - i] = text[i];
        }
        text[WORD] = BAR;
        for (int i = 0; i < T; i++) {
            at_set(*ids, text[i], b, i);
            at_set(*target, i < WORD ? -1 : text[i + 1], b, i);
        }
    }
}

/* The share of the letters in the loss that are predicted right. */
static double accuracy(at_tape *t, at_tensor *y, at_tensor *target)
{
    at_tensor *guess = at_argmax(t, y, -1, false);                   /* [B,T,VOCAB] -> [B,T] */
    at_keep_tally right = at_keep_count(at_equal(t, guess, target)); /* no guess is -1 */
    at_keep_tally judged = at_keep_count(at_less_equal(t, at_ints(t, at_shape_of(), NULL), target));
    return judged.kept ? (double)right.kept / (double)judged.kept : 0;
}

static char letter(double id)
{
    return id == BAR ? '|' : (char)('a' + (int)id);
}

/* From row "|" on, each query should read the letter it has to write next: the mirror image of its
 * position.  In how many of these rows is that the largest weight? */
static int rows_at_the_mirror(const at_tensor *weights)
{
    int n = 0;
    for (int i = WORD; weights && i < T; i++) {
        int most = 0;
        for (int j = 0; j <= i; j++)
            if (at_get(weights, 0, 0, i, j) > at_get(weights, 0, 0, i, most)) most = j;
        n += most == T - 1 - i;
    }
    return n;
}

static void print_attention(const at_tensor *ids, const at_tensor *weights)
{
    printf(
        "\nAttention weights in percent, for one word.  Row: the query, which predicts the letter\n"
        "of the next row; column: the key, a letter before it; a dot: less than 0.5.\n\n   ");
    for (int j = 0; j < T; j++) printf("   %c", letter(at_get(ids, 0, j)));
    printf("\n");
    for (int i = 0; i < T; i++) {
        printf("  %c", letter(at_get(ids, 0, i)));
        for (int j = 0; j <= i; j++) {
            double percent = 100 * at_get(weights, 0, 0, i, j);
            if (percent < 0.5)
                printf("   .");
            else
                printf(" %3.0f", percent);
        }
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    parse_options(argc, argv,
                  "usage: 05_toy_transformer\n"
                  "A one-layer transformer learns to reverse a word.\n",
                  NULL, 0);
    at_tape *t = at_open(ATTIC_F32, 1);
    model m = make_model(t);
    at_mark step = at_mark_here(t);
    enum { STEPS = 300 };
    double nats = 0, share = 0;
    int mirrored = 0;
    printf("Can one layer of attention learn to write a word backwards, as in cafe|efac?  It is\n"
           "trained on random words, and predicts the letters after |.  loss: the mean of\n"
           "-log P(right letter).  Look at the rows from | on: where is the weight?\n\n");
    for (int i = 0; i <= STEPS && at_ok(t); i++) {
        at_tensor *ids, *target, *weights = NULL;
        fill_batch(t, &ids, &target);
        at_sdpa_args args = {.causal = true, .heads = 1, .weights = &weights}; /* [B,1,T,T] */
        at_tensor *y = logits(t, m, ids, args);
        at_cross_entropy_args skip = {.ignore = true, .ignore_index = -1};
        at_tensor *loss = at_cross_entropy(t, y, target, skip);
        nats = at_item(loss);
        if (i % 50 == 0) {
            share = accuracy(t, y, target);
            printf("step %3d   loss %.4f   letters right %5.1f%%\n", i, nats, 100 * share);
        }
        if (i == STEPS) print_attention(ids, weights);
        if (i == STEPS) mirrored = rows_at_the_mirror(weights);
        at_backward(t, loss);
        at_clip_grad_norm(t, 1);
        at_adamw(t, 0.003, (at_adamw_args){0});
        at_rewind(t, step);
    }
    printf("\nSeen: after %d steps %.0f%% of the letters are right, loss %.4f.  In %d of the\n"
           "%d rows from | on, the largest weight is on the letter that has to be written.\n",
           STEPS, 100 * share, nats, mirrored, WORD);
    if (!at_ok(t)) fprintf(stderr, "attic: %s\n", at_error(t));
    int failed = !at_ok(t) || share < 0.9 || mirrored < WORD - 1;
    at_close(t);
    return finish(failed);
}
