/* reverse.c -- an encoder and a decoder learn to reverse strings; cross attention shows how.
 *
 *     string    w o r d          the encoder reads it, padded; key_len masks the padding
 *     input     ^ d r o w        the decoder reads ^ and what was written so far
 *     target    d r o w $        it writes the next letter, $ at the end
 *
 * All of it is made of attic's blocks (nn/block.h): those of the encoder attend to all letters,
 * those of the decoder to what was written (causal) and, by cross attention, to the output of the
 * encoder.  Positions are learned vectors, added to those of the letters.
 *
 * To write letter i of a string of n the decoder has to find letter n - 1 - i.  In a map of the
 * weights of cross attention, letters written down and letters read across, these cells are the
 * anti-diagonal.
 *
 * A twentieth of the strings is held out.  These are reversed after the training, a letter at a
 * time, each time the most likely one.  The shortest have 5 letters, so hardly any occurs twice.
 *
 * The training is a run (train/run.h) in the folder --out: ^C stops, the same command goes on. */
#include "attic_train.h"
#include "attic_plot.h"

#include "common/options.h"

enum { LETTERS = 26, START = LETTERS, END, VOCAB };
enum { STRINGS = 20000, SHORTEST = 5, LONGEST = 16, LAYERS = 2, DIM = 64, CHUNK = 200 };

static int steps = 800, rows = 64, seed = 1, fresh, check;
static double peak_lr = 3e-3;
static const char *out = "out/reverse";
static const option options[] = {
    {"out", NULL, NULL, &out, 0, 0, "folder of the run and of its picture"},
    {"steps", &steps, NULL, NULL, 1, 1e6, "training steps in all"},
    {"rows", &rows, NULL, NULL, 1, 4096, "strings in a batch"},
    {"lr", NULL, &peak_lr, NULL, 0, 1, "peak learning rate"},
    {"seed", &seed, NULL, NULL, 0, 2147483647, "of everything random"},
    {"fresh", &fresh, NULL, NULL, 0, 0, "begin anew: removes the run that is in the folder"},
    {"check", &check, NULL, NULL, 0, 0, "status 1 unless 99 % are reversed exactly"},
    {0}};

/* ------------------------------------------------------------------ data ---------------------- */

typedef struct {
    at_data *strings, *reversed; /* the second as ^ ... $; a batch of both has the same strings */
} pairs;

static pairs draw_pairs(at_tape *t)
{
    at_tensor *ids = at_blank(t, ATTIC_I32, at_shape_of(STRINGS * LONGEST));
    at_tensor *backwards = at_blank(t, ATTIC_I32, at_shape_of(STRINGS * (LONGEST + 2)));
    at_tensor *lengths = at_blank(t, ATTIC_I32, at_shape_of(2, STRINGS));
    at_stream dice = at_draw(t);
    if (!at_ok(t)) return (pairs){0};
    int32_t *id = ids->data, *back = backwards->data, *length = lengths->data;
    for (int s = 0; s < STRINGS; s++) {
        uint64_t at = (uint64_t)s * (LONGEST + 1);
        int n = SHORTEST + (int)(at_random_unit(dice, at) * (LONGEST - SHORTEST + 1));
        for (int i = 0; i < n; i++)
            id[i] = (int)(at_random_unit(dice, at + 1 + (uint64_t)i) * LETTERS);
        back[0] = START, back[n + 1] = END;
        for (int i = 0; i < n; i++) back[1 + i] = id[n - 1 - i];
        length[s] = n, length[STRINGS + s] = n + 2;
        id += n, back += n + 2;
    }
    const at_data_args args = {.vocab = VOCAB, .held = 0.05};
    return (pairs){at_data_sequences(t, ids->data, length, STRINGS, args),
                   at_data_sequences(t, backwards->data, length + STRINGS, STRINGS, args)};
}

/* ------------------------------------------------------------------ model --------------------- */

typedef struct {
    at_tensor *E, *P; /* a vector for each id, [VOCAB,DIM]; for each position, [LONGEST+2,DIM] */
    at_block encoder[LAYERS], decoder[LAYERS];
    at_norm encoder_norm, decoder_norm; /* of their outputs: the blocks normalise their inputs */
    at_linear logits;
} model;

static model make_model(at_tape *t)
{
    at_block_config config = {.dim = DIM, .heads = 1};
    model m = {.E = at_param(t, "E", at_shape_of(VOCAB, DIM), at_normal(0.5)),
               .P = at_param(t, "P", at_shape_of(LONGEST + 2, DIM), at_normal(0.5))};
    for (int l = 0; l < 2 * LAYERS; l++) {
        config.cross = l >= LAYERS;
        at_scopef(t, "%s%d", config.cross ? "decoder" : "encoder", l % LAYERS);
        *(config.cross ? &m.decoder[l - LAYERS] : &m.encoder[l]) = at_block_make(t, config, 0.5);
        at_scope_end(t);
    }
    m.encoder_norm = at_norm_make(t, "encoder_norm", DIM, ATTIC_LAYER_NORM, true, 0);
    m.decoder_norm = at_norm_make(t, "decoder_norm", DIM, ATTIC_LAYER_NORM, true, 0);
    m.logits = at_linear_make(t, "logits", DIM, VOCAB, true, at_xavier_normal(1));
    return m;
}

/* ids [B,T] -> [B,T,DIM] */
static at_tensor *embed(at_tape *t, const model *m, at_tensor *ids)
{
    int T = ids ? ids->shape.dim[1] : 0;
    return at_add(t, at_embedding(t, m->E, ids), at_slice(t, m->P, 0, 0, T));
}

static at_tensor *encode(at_tape *t, const model *m, at_batch b)
{
    at_block_args args = {.attention = {.key_len = b.lengths}};
    at_tensor *x = embed(t, m, b.ids);
    for (int l = 0; l < LAYERS; l++) x = at_block_apply(t, &m->encoder[l], x, NULL, args);
    return at_norm_apply(t, m->encoder_norm, x);
}

/* input [B,T], the encoder's output [B,N,DIM] -> logits [B,T,VOCAB].  weights, if not NULL: those
 * of cross attention, [B,1,T,N], of each block. */
static at_tensor *decode(at_tape *t, const model *m, at_tensor *input, at_tensor *memory,
                         at_tensor *lengths, at_tensor **weights)
{
    at_block_args args = {.attention = {.causal = true}, .cross = {.key_len = lengths}};
    at_tensor *y = embed(t, m, input);
    for (int l = 0; l < LAYERS; l++) {
        if (weights) args.cross.weights = &weights[l];
        y = at_block_apply(t, &m->decoder[l], y, memory, args);
    }
    return at_linear_apply(t, m->logits, at_norm_apply(t, m->decoder_norm, y));
}

/* ------------------------------------------------------------------ what was learned ---------- */

/* Decodes strings: written [B,T] is ^, then the most likely letter at each place.  weights: those
 * of the last pass, which reads all but the last letter. */
static at_tensor *write_strings(at_tape *t, const model *m, at_batch string, int T,
                                at_tensor **weights)
{
    at_tensor *memory = encode(t, m, string), *written = at_ints(t, at_shape_of(CHUNK, T), NULL);
    for (int b = 0; b < CHUNK; b++) at_set(written, START, b, 0);
    for (int i = 1; i < T && at_ok(t); i++) {
        at_tensor *input = at_slice(t, written, 1, 0, i);
        at_tensor *logits = decode(t, m, input, memory, string.lengths, weights);
        at_tensor *best = at_argmax(t, logits, -1, false); /* [B,i] */
        for (int b = 0; b < CHUNK; b++) at_set(written, at_get(best, b, i - 1), b, i);
    }
    return written;
}

static char letter_of(double id)
{
    return id < LETTERS ? (char)('a' + (int)id) : id == END ? '$' : '^';
}

/* The weights for string 0: block 1 on stdout, both blocks in the picture. */
static void draw_map(at_tape *t, at_batch string, at_tensor **weights)
{
    char name[LONGEST][2] = {{0}}, path[4200];
    const char *read[LONGEST], *written[LONGEST];
    int n = (int)at_get(string.lengths, 0);
    at_subplot block[LAYERS];
    for (int i = 0; at_ok(t) && i < n; i++) {
        name[i][0] = letter_of(at_get(string.ids, 0, i));
        read[i] = written[n - 1 - i] = name[i];
    }
    for (int l = 0; l < LAYERS; l++) {
        at_tensor *cells = at_slice(t, at_slice(t, weights[l], 2, 0, n), 3, 0, n);
        block[l] = at_subplot_of(cells, NULL, at_shape_of(0, 0));
        block[l].title = l ? "decoder block 1" : "decoder block 0";
    }
    at_heatmap map = {.subplots = &block[1], .n_subplots = 1, .colours = ATTIC_COLOURS_UNIT};
    map.title = "Cross attention of a decoder that reverses a string";
    map.row_label = "Written", map.row_names = written;
    map.col_label = "Read", map.col_names = read;
    if (!at_ok(t)) return;
    printf("\nWeights of cross attention for the first of them:\n\n");
    at_term_heatmap(stdout, at_terminal_of(stdout), &map);
    map.subplots = block, map.n_subplots = LAYERS;
    snprintf(path, sizeof path, "%s/attention.svg", out);
    FILE *f = at_file_create(t, path);
    at_svg_heatmap(f, &map);
    at_file_close(t, f, path);
}

/* Are 99 % of the held-out strings reversed exactly? */
static bool show(at_tape *t, const model *m, pairs p)
{
    int chunks = (int)at_data_count(p.strings, ATTIC_HELD) / CHUNK, exact = 0, letters = 0;
    double diagonal[LAYERS] = {0};
    at_train(t, false), at_no_grad(t, true);
    at_mark mark = at_mark_here(t);
    printf("\nHeld-out strings, and what the decoder wrote:\n\n");
    for (int c = 0; c < chunks && at_ok(t); c++, at_rewind(t, mark)) {
        at_batch_args which = {ATTIC_HELD, CHUNK, .step = c, .spread = chunks * CHUNK};
        at_batch string = at_data_batch(t, p.strings, which);
        at_batch back = at_data_batch(t, p.reversed, which);
        int T = back.ids ? back.ids->shape.dim[1] : 0;
        at_tensor *weights[LAYERS] = {0}, *written = write_strings(t, m, string, T, weights);
        for (int b = 0; at_ok(t) && b < CHUNK; b++) {
            int n = (int)at_get(string.lengths, b), right = 0;
            bool shown = c == 0 && b < 4;
            for (int i = 0; shown && i < n; i++) printf("%c", letter_of(at_get(string.ids, b, i)));
            if (shown) printf("%*s", LONGEST + 2 - n, "");
            for (int i = 1; i <= n + 1; i++) {
                right += at_get(written, b, i) == at_get(back.ids, b, i);
                if (shown) printf("%c", letter_of(at_get(written, b, i)));
            }
            if (shown) printf("%s\n", right == n + 1 ? "" : "   wrong");
            exact += right == n + 1, letters += n;
            for (int i = 0; i < n; i++)
                for (int l = 0; l < LAYERS; l++)
                    diagonal[l] += at_get(weights[l], b, 0, i, n - 1 - i);
        }
        if (c == 0) draw_map(t, string, weights);
    }
    if (!at_ok(t)) return false;
    int n = chunks * CHUNK;
    printf(
        "\nSeen: %.1f %% of %d held-out strings are reversed exactly.  Block 0 puts a mean weight "
        "of\n%.2f on the letter that is to be written, block 1 one of %.2f; equal weights are "
        "%.2f.\n",
        100.0 * exact / n, n, diagonal[0] / letters, diagonal[1] / letters, (double)n / letters);
    return exact >= 0.99 * n;
}

int main(int argc, char **argv)
{
    parse_options(argc, argv,
                  "usage: reverse [options]\n"
                  "An encoder and a decoder learn to reverse strings.\n",
                  options, 0);
    printf(
        "Can attention reverse a string?  An encoder reads it, a decoder writes it backwards, a\n"
        "letter at a time.  Look at the map of cross attention: is the weight of each row on the\n"
        "letter that is to be written, on the anti-diagonal?\n");
    at_tape *t = at_open(ATTIC_F32, (uint64_t)seed);
    pairs p = draw_pairs(t);
    model m = make_model(t);
    char how[128];
    snprintf(how, sizeof how, "rows %d, lr %g", rows, peak_lr);
    at_describe(t, "training", how);
    at_run *r = at_run_open(t, out, (at_run_args){.steps = steps, .fresh = fresh});
    at_reuse_memory(t, true);
    at_mark mark = at_mark_here(t);
    while (at_run_next(r)) {
        at_batch_args which = {.split = ATTIC_TRAIN, .rows = rows, .step = at_run_step(r)};
        at_batch string = at_data_batch(t, p.strings, which);
        at_batch back = at_data_batch(t, p.reversed, which);
        at_tensor *memory = encode(t, &m, string);
        at_tensor *logits = decode(t, &m, back.ids, memory, string.lengths, NULL);
        at_cross_entropy_args padded = {.ignore = true, .ignore_index = -1};
        at_tensor *loss = at_cross_entropy(t, logits, back.target, padded);
        at_backward(t, loss);
        at_run_log(r, "loss", at_item(loss));
        at_run_log(r, "norm", at_clip_grad_norm(t, 1));
        at_adamw(t, at_warmup_cosine(at_run_step(r), steps / 20, steps, peak_lr, peak_lr / 20),
                 (at_adamw_args){.beta2 = 0.99});
        at_rewind(t, mark);
    }
    bool as_claimed = !at_run_finished(r) || show(t, &m, p);
    int status = at_run_close(r);
    at_close(t);
    return finish(status == 0 && check && !as_claimed ? 1 : status);
}
