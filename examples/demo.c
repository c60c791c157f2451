/* demo.c -- train a small transformer on text, print a sample and its attention.
 *
 *     make demo                                 this repository's own README, docs and sources
 *     make demo TEXT="war.txt peace.txt"        any other text
 *     make demo ARGS="--steps 500 --heads 8"    see ARGS=--help
 *
 * The model reads bytes and predicts the next one: embedding, rotary positions, one pre-norm block
 * of causal attention and a feed-forward net, softmax over the bytes.  Every tenth KiB of the text
 * is held out, and there the model is compared with three n-gram models, which count how often a
 * byte occurs (unigram), occurs after the one before (bigram), after the two before (trigram).  The
 * log has statistics of the weights of all heads a dozen times (nn/statistics.h), and warns if one
 * collapses.
 *
 * Then a held-out line is read once more, with a backward: dS, the gradient of the scores, says of
 * which bytes the loss wanted a head to read more, and of which less.  It is the gradient of a bias
 * of zeros that is added to the scores.
 *
 * Written to out/: the loss curve, P beside dS of two heads, and P of all (SVG), the tape of one
 * training step (Graphviz), and every parameter (.npy). */
#include "attic_train.h"
#include "attic_op.h"
#include "attic_plot.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/ngram.h"
#include "common/options.h"
#include "common/sketch.h"

#ifdef __wasi__ /* where a program starts no other */
#define system(command) ((void)(command), -1)
#endif

/* ------------------------------------------------------------------ options -------------------- */

static int steps = 1200, layers = 1, heads = 4, dim = 128, context = 64, batch = 16, seed = 1,
           threads, check;
static double peak_lr = 3e-3, dropout;
static const char *out = "out";

static const option table[] = {
    {"steps", &steps, NULL, NULL, 1, 1e9, "training steps"},
    {"layers", &layers, NULL, NULL, 1, AT_MAX_LAYERS, "transformer blocks"},
    {"heads", &heads, NULL, NULL, 1, 1024, "attention heads"},
    {"dim", &dim, NULL, NULL, 1, 65536, "width of the model"},
    {"context", &context, NULL, NULL, 4, 65536, "how many bytes it can attend to"},
    {"batch", &batch, NULL, NULL, 1, 65536, "windows of text per step"},
    {"lr", NULL, &peak_lr, NULL, 0, 10, "peak learning rate"},
    {"dropout", NULL, &dropout, NULL, 0, 0.99, "probability, on weights and branches"},
    {"seed", &seed, NULL, NULL, 0, 2147483647, "of everything random"},
    {"threads", &threads, NULL, NULL, 0, AT_MAX_THREADS, "0: all CPUs"},
    {"check", &check, NULL, NULL, 0, 1, "1: attention checks its backward in every step"},
    {"out", NULL, NULL, &out, 0, 0, "folder for pictures and parameters"},
    {0}};

/* "out/name" */
static const char *out_path(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", out, name);
    return path;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ------------------------------------------------------------------ the text ------------------- */

enum { BLOCK = 1024 }; /* bytes that lie side by side in the text; every tenth block is held out */

/* The text as ids of bytes, both splits laid out: to count n-grams, and to draw windows at
 * random. */
typedef struct {
    const at_tokenizer *tokenizer;
    int vocab;
    unsigned char *train, *held;
    ptrdiff_t n_train, n_held;
} text_ids;

static unsigned char *read_split(at_tape *t, const at_data *d, at_split split, ptrdiff_t *n)
{
    enum { PART = 4096 };
    int32_t ids[PART];
    *n = at_data_count(d, split);
    unsigned char *bytes = at_step_alloc(t, (size_t)*n);
    for (ptrdiff_t i = 0; bytes && i < *n; i++) {
        if (i % PART == 0) at_data_read(t, d, split, i, *n - i < PART ? *n - i : PART, ids);
        bytes[i] = (unsigned char)ids[i % PART];
    }
    return bytes;
}

static text_ids *read_text(at_tape *t, char *const *files, int n_files)
{
    at_data *d = at_data_text(t, (at_data_args){.paths = files, .n = n_files, .held = 0.1});
    text_ids *c = at_step_alloc(t, sizeof *c);
    if (!c) return NULL;
    *c = (text_ids){.tokenizer = at_data_tokenizer(d), .vocab = at_vocab(d)};
    c->train = read_split(t, d, ATTIC_TRAIN, &c->n_train);
    c->held = read_split(t, d, ATTIC_HELD, &c->n_held);
    return at_ok(t) ? c : NULL;
}

static unsigned char byte_of(const text_ids *c, int id)
{
    int n;
    return (unsigned char)*at_token_bytes(c->tokenizer, id, &n);
}

/* ------------------------------------------------------------------ n-gram models -------------- */

typedef struct {
    double nats, k;
} baseline;

/* The best of three amounts of smoothing, chosen in the baseline's favour on the held-out text. */
static baseline best_ngram(at_tape *t, const text_ids *c, int order)
{
    static const double k[] = {1, 0.1, 0.01};
    baseline best = {(double)INFINITY, 0};
    for (int i = 0; i < 3; i++) {
        double nats =
            ngram_nats(t, order, k[i], c->vocab, c->train, c->n_train, c->held, c->n_held);
        if (nats < best.nats) best = (baseline){nats, k[i]};
    }
    return best;
}

/* ------------------------------------------------------------------ evaluation ----------------- */

/* Fills row w with the window that scores held-out bytes from `next` on, and returns the first byte
 * that it leaves unscored.  What was scored before gets the target -1. */
static ptrdiff_t fill_window(const text_ids *c, ptrdiff_t next, int w, at_tensor *ids,
                             at_tensor *target)
{
    ptrdiff_t last = c->n_held - 1 - context, start = next - 1 - context / 2;
    if (start > last) start = last;
    if (start < 0) start = 0;
    for (int i = 0; i < context; i++) {
        at_set(ids, c->held[start + i], w, i);
        at_set(target, start + i + 1 < next ? -1 : c->held[start + i + 1], w, i);
    }
    return start + context + 1 > next ? start + context + 1 : next;
}

/* Mean nats per byte over the held-out bytes from the third on: those that the n-gram models are
 * evaluated on.  Windows overlap by half and score only what is new, so that every byte but the
 * first few is predicted from at least half a context.  With every > 1 most windows are left out:
 * an estimate. */
static double held_out_nats(at_tape *t, const at_model *m, const text_ids *c, int every)
{
    enum { WINDOWS = 16 };
    const at_eval e = at_eval_begin(t);
    double nats = 0;
    ptrdiff_t scored = 0, next = 2;
    while (next < c->n_held && at_ok(t)) {
        at_mark here = at_mark_here(t);
        at_tensor *ids = at_ints(t, at_shape_of(WINDOWS, context), NULL);
        at_tensor *target = at_ints(t, at_shape_of(WINDOWS, context), NULL);
        for (int w = 0; at_ok(t) && w < WINDOWS; w++) {
            ptrdiff_t end = fill_window(c, next, w, ids, target);
            scored += end - next;
            next = end + (ptrdiff_t)(every - 1) * (context / 2);
            if (next > c->n_held) next = c->n_held;
        }
        at_tensor *logits = at_model_logits(t, m, ids, (at_model_args){0});
        at_cross_entropy_args args = {.reduction = ATTIC_SUM, .ignore = true, .ignore_index = -1};
        nats += at_item(at_cross_entropy(t, logits, target, args));
        at_rewind(t, here);
    }
    at_eval_end(t, e);
    return nats / (double)scored;
}

/* ------------------------------------------------------------------ training ------------------- */

enum { MAX_POINTS = 400 };

typedef struct { /* what the loss curve shows */
    int n_train, n_held;
    double train_step[MAX_POINTS], train[MAX_POINTS]; /* means over stretches of steps */
    double held_step[MAX_POINTS], held[MAX_POINTS];
} curve;

static void add_point(double *xs, double *ys, int *n, double x, double y)
{
    if (*n == MAX_POINTS) return;
    xs[*n] = x;
    ys[(*n)++] = y;
}

/* Windows of the training text that begin anywhere, and in target the byte that follows each. */
static void draw_windows(at_tape *t, const text_ids *c, at_tensor *ids, at_tensor *target)
{
    at_stream stream = at_draw(t);
    for (int b = 0; at_ok(t) && b < batch; b++) {
        double u = at_random_unit(stream, (uint64_t)b);
        const unsigned char *from = c->train + (ptrdiff_t)(u * (double)(c->n_train - context));
        for (int i = 0; i < context; i++) {
            at_set(ids, from[i], b, i);
            at_set(target, from[i + 1], b, i);
        }
    }
}

/* One step: a batch of windows, forward, backward, clip, move.  Returns the loss; the tape is as
 * before, but for the parameters. */
static double train_step(at_tape *t, const at_model *m, const text_ids *c, int i, double *norm)
{
    int warmup = steps / 20 < 100 ? steps / 20 : 100;
    at_mark step = at_mark_here(t);
    at_tensor *ids = at_ints(t, at_shape_of(batch, context), NULL);
    at_tensor *target = at_ints(t, at_shape_of(batch, context), NULL);
    draw_windows(t, c, ids, target);
    at_tensor *logits = at_model_logits(t, m, ids, (at_model_args){0});
    at_tensor *loss = at_cross_entropy(t, logits, target, (at_cross_entropy_args){0});
    at_backward(t, loss);
    double nats = at_item(loss);
    *norm = at_clip_grad_norm(t, 1);
    at_adamw(t, at_warmup_cosine(i, warmup, steps, peak_lr, peak_lr / 20),
             (at_adamw_args){.beta2 = 0.99, .weight_decay = 0.01, .decay_matrices = true});
    at_rewind(t, step);
    return nats;
}

/* The state of a head has changed. */
static void warn(void *ctx, int layer, int head, const at_monitored *h)
{
    (void)ctx;
    printf("%s   %s\n", h->state == ATTIC_HEAD_FINE ? "again  " : "warning",
           at_monitor_text(layer, head, h));
}

/* Statistics of every head on a few windows of held-out text; see nn/statistics.h. */
static void measure_heads(at_tape *t, at_monitor *w, const at_model *m, const text_ids *c)
{
    enum { WINDOWS = 4 };
    const at_eval e = at_eval_begin(t);
    at_tensor *ids = at_ints(t, at_shape_of(WINDOWS, context), NULL), *weights[AT_MAX_LAYERS];
    ptrdiff_t apart = (c->n_held - context) / WINDOWS;
    for (int b = 0; b < WINDOWS; b++)
        for (int i = 0; at_ok(t) && i < context; i++) at_set(ids, c->held[b * apart + i], b, i);
    at_tensor *past = at_keep_causal(t, context, context, ATTIC_ALIGN_EQUAL, 0);
    at_model_logits(t, m, ids, (at_model_args){.weights = weights});
    for (int l = 0; l < layers && at_ok(t); l++) at_monitor_update(t, w, l, weights[l], past);
    at_eval_end(t, e);
}

/* "step   101   2.532   entropy 2.61 2.55 2.71 2.60 of 3.23   largest ...", a line for each
 * block */
static void print_statistics(int step, double nats, const at_monitor *w)
{
    for (int l = 0; l < layers; l++) {
        if (l == 0)
            printf("step %5d   %6.3f   ", step, nats);
        else
            printf("%22s", "");
        at_monitor_print(w, l, stdout);
        printf("\n");
    }
    fflush(stdout);
}

static void train(at_tape *t, const at_model *m, const text_ids *c, curve *k)
{
    int stretch = steps / 100 + 1, pause = steps / 12 + 1;
    int every = (int)(c->n_held / 8192) + 1; /* for the curve a few KiB from all parts suffice */
    double sum = 0, smooth = 0, norm = 0;
    at_monitor *w = at_monitor_make(t, layers, heads, (at_monitor_args){.hook = warn});
    at_progress p = at_progress_start(stderr, "training", steps);
    printf(
        "           loss: nats per byte, mean of about 20 steps; |grad|: norm of all gradients,\n"
        "                      before it is clipped\n"
        "           held out   of each head: entropy of a row of weights, in nats, and the most\n"
        "                      it can be; largest weight of a row; both averaged over the rows\n"
        "                      that keep two keys or more;\n"
        "                      share of the keys that the causal mask keeps\n");
    at_reuse_memory(t, true); /* memory is reused as soon as backward has read it */
    if (check) at_check_attention(t, true);
    for (int i = 0; i < steps && at_ok(t); i++) {
        if (i % pause == 0) {
            add_point(k->held_step, k->held, &k->n_held, i, held_out_nats(t, m, c, every));
            at_progress_clear(&p);
            measure_heads(t, w, m, c);
            if (at_ok(t)) print_statistics(i, k->held[k->n_held - 1], w);
        }
        double nats = train_step(t, m, c, i, &norm);
        sum += nats;
        smooth = i ? 0.95 * smooth + 0.05 * nats : nats;
        if ((i + 1) % stretch == 0) {
            add_point(k->train_step, k->train, &k->n_train, i + 1 - stretch / 2.0, sum / stretch);
            sum = 0;
        }
        at_progress_step(&p, i + 1, "loss %.3f  |grad| %.2f", smooth, norm);
    }
    at_progress_end(&p);
    at_reuse_memory(t, false);
}

/* ------------------------------------------------------------------ after training ------------- */

/* Control characters but newline and tab would disturb a terminal. */
static void put_byte(unsigned char b)
{
    putchar(b == '\n' || b == '\t' || (b >= 32 && b != 127) ? b : '?');
}

/* Continues a prompt of held-out text, byte by byte.  When the cache is full, it is filled again
 * with the last half context. */
static void print_sample(at_tape *t, const at_model *m, const text_ids *c, int length)
{
    unsigned char text[4096];
    int n = context / 2 < c->n_held ? context / 2 : (int)c->n_held;
    memcpy(text, c->held, (size_t)n);
    at_stream dice = at_draw(t);
    const at_eval e = at_eval_begin(t);
    printf("\nA sample, continuing \"...");
    for (int i = n > 24 ? n - 24 : 0; i < n; i++) put_byte(byte_of(c, c->held[i]));
    printf("\" at temperature 0.8:\n\n");
    at_model_cache cache = at_model_cache_make(t, m, 1);
    at_mark step = at_mark_here(t);
    for (int end = n + length, T = n; n < end && n < (int)sizeof text && at_ok(t); n++, T = 1) {
        if (cache.position == context) cache.position = 0, T = context / 2;
        at_tensor *ids = at_ints(t, at_shape_of(1, T), NULL);
        for (int i = 0; i < T; i++) at_set(ids, text[n - T + i], 0, i);
        at_tensor *logits = at_model_decode(t, &cache, ids);
        at_sample_args how = {.temperature = 0.8, .top_p = 0.95};
        int id = at_sample_row(logits, -1, how, dice, (uint64_t)n);
        if (id < 0) break;
        text[n] = (unsigned char)id;
        put_byte(byte_of(c, text[n]));
        at_rewind(t, step);
    }
    printf("\n");
    at_eval_end(t, e);
}

/* ------------------------------------------------------------------ a line, backward ----------- */

enum { LINE = 18 }; /* the longest that is drawn, in bytes */

/* A line of held-out text for the picture: long enough to show a pattern, short enough to be
 * printed, not blank, and from within one block: the next block is of another place in the text.
 * Returns its start and sets *n. */
static ptrdiff_t choose_line(const text_ids *c, int *n)
{
    int least = context < 12 ? context : 12, most = context < LINE ? context : LINE;
    ptrdiff_t best = 0;
    *n = 0;
    for (ptrdiff_t i = 0, start = 0; i < c->n_held; i++) {
        if (byte_of(c, c->held[i]) != '\n') continue;
        bool whole = start > 0 && (start - 1) / BLOCK == i / BLOCK;
        while (start < i && byte_of(c, c->held[start]) == ' ') start++;
        int length = (int)(i - start);
        if (whole && length >= least && length <= most && length > *n) best = start, *n = length;
        start = i + 1;
    }
    if (*n == 0) *n = most < c->n_held ? most : (int)c->n_held;
    return best;
}

/* A line of text as the model reads it, and what it computed. */
typedef struct {
    int n;
    const char *name[LINE + 1]; /* of each byte */
    at_tensor *ids, *target;    /* [1,n] */
    at_tensor *weights;         /* of the first block, [1,heads,n,n] */
    at_tensor *bias, *dS;       /* of its scores: zeros, and their gradient.  [1,heads,n,n] */
} line_read;

/* What is not seen, or is no ASCII, has another name. */
static const char *name_of_byte(unsigned char b)
{
    static char name[256][2];
    if (b == ' ') return "␣";
    if (b == '\t') return "→";
    name[b][0] = b > 32 && b < 127 ? (char)b : '?';
    return name[b];
}

static line_read take_line(at_tape *t, const text_ids *c)
{
    line_read r = {0};
    ptrdiff_t start = choose_line(c, &r.n);
    r.ids = at_ints(t, at_shape_of(1, r.n), NULL);
    r.target = at_ints(t, at_shape_of(1, r.n), NULL);
    r.bias = at_variable(t, at_shape_of(1, heads, r.n, r.n), NULL);
    for (int i = 0; at_ok(t) && i < r.n; i++) {
        ptrdiff_t next = start + i + 1;
        at_set(r.ids, c->held[start + i], 0, i);
        at_set(r.target, next < c->n_held ? c->held[next] : -1, 0, i);
        r.name[i] = name_of_byte(byte_of(c, c->held[start + i]));
    }
    return r;
}

static at_tensor *sum_of_losses(at_tape *t, at_tensor *logits, at_tensor *target)
{
    return at_cross_entropy(
        t, logits, target,
        (at_cross_entropy_args){.reduction = ATTIC_SUM, .ignore = true, .ignore_index = -1});
}

/* The logits of at_model_logits, with r->bias added to the scores of the first block. */
static at_tensor *logits_with_bias(at_tape *t, const at_model *m, line_read *r)
{
    at_tensor *x = at_embedding(t, m->E, r->ids);
    for (int l = 0; l < layers; l++) {
        at_block_args args = {.attention.causal = true};
        if (l == 0) args.attention.bias = r->bias, args.attention.weights = &r->weights;
        x = at_block_apply(t, &m->block[l], x, NULL, args);
    }
    return at_matmul_t(t, at_norm_apply(t, m->norm, x), false, m->E, true);
}

/* Forward and backward: fills in weights and dS; the gradients of the parameters are 0 again. */
static bool read_line(at_tape *t, const at_model *m, line_read *r)
{
    at_tensor *loss = sum_of_losses(t, logits_with_bias(t, m, r), r->target);
    double other =
        at_item(sum_of_losses(t, at_model_logits(t, m, r->ids, (at_model_args){0}), r->target));
    if (at_ok(t) && !(fabs(at_item(loss) - other) <= 1e-4 * fabs(other)))
        return at_fail(t, ATTIC_USER_ERROR, "the line has a loss of %g, with a bias of zeros %g",
                       other, at_item(loss));
    at_backward(t, loss);
    r->dS = at_grad_copy(t, r->bias);
    at_zero_grads(t);
    return at_ok(t);
}

/* Sum of squares of head h of x [1,heads,n,n]. */
static double squares_of_head(const at_tensor *x, int h)
{
    double sum = 0;
    ptrdiff_t size = x ? at_count_between(x->shape, 2, 4) : 0;
    for (ptrdiff_t i = h * size; i < (h + 1) * size; i++)
        sum += at_element(x, i) * at_element(x, i);
    return sum;
}

/* The head of x with the largest sum of squares, apart from this one. */
static int largest_head(const at_tensor *x, int but)
{
    int best = but == 0 ? 1 : 0;
    for (int h = best + 1; h < heads; h++)
        if (h != but && squares_of_head(x, h) > squares_of_head(x, best)) best = h;
    return best;
}

/* The weights of all heads of the first block, as SVG, and of this one. */
static void show_weights(at_tape *t, const line_read *r, int chosen)
{
    at_subplot subplot[1024];
    char title[1024][16];
    at_tensor *keep = at_bools(t, at_shape_of(r->n, r->n), NULL);
    for (int i = 0; keep && i < r->n; i++)
        for (int j = 0; j <= i; j++) at_set(keep, 1, i, j);
    for (int h = 0; h < heads; h++) {
        subplot[h] = at_subplot_of(r->weights, keep, at_shape_of(0, h));
        snprintf(title[h], sizeof title[h], "head %d", h);
        subplot[h].title = title[h];
    }
    at_heatmap map = {.title = "Attention weights on a held-out line",
                      .subplots = subplot,
                      .n_subplots = heads,
                      .columns = 2,
                      .row_label = "Query",
                      .col_label = "Key",
                      .row_names = r->name,
                      .col_names = r->name,
                      .value_label = "weight",
                      .colours = ATTIC_COLOURS_UNIT};
    const char *path = out_path("heads.svg");
    FILE *f = at_file_create(t, path);
    at_svg_heatmap(f, &map);
    at_file_close(t, f, path);

    printf("\nWeights on a held-out line, of head %d of the first block, the one whose scores the "
           "loss\n"
           "would change most (row: the query, the byte read last; column: the key, a byte up to\n"
           "there):\n\n",
           chosen);
    map.subplots += chosen;
    map.n_subplots = 1;
    map.title = NULL;
    at_term_heatmap(stdout, at_terminal_of(stdout), &map);
}

/* The cell with the largest |dS|, and the keys of its row with the largest and the least dS. */
typedef struct {
    int head, query, less, more; /* the loss falls if the query reads less of one, more of other */
    double dS;                   /* magnitude */
} strongest;

static double score_gradient(const line_read *r, int head, int query, int key)
{
    return at_element(r->dS, ((ptrdiff_t)head * r->n + query) * r->n + key);
}

static strongest find_strongest(const line_read *r)
{
    strongest s = {0};
    for (int h = 0; h < heads; h++)
        for (int i = 0; i < r->n; i++)
            for (int j = 0; j <= i; j++) {
                double dS = fabs(score_gradient(r, h, i, j));
                if (dS > s.dS) s = (strongest){.head = h, .query = i, .dS = dS};
            }
    for (int j = 0; j <= s.query; j++) {
        double dS = score_gradient(r, s.head, s.query, j);
        if (dS > score_gradient(r, s.head, s.query, s.less)) s.less = j;
        if (dS < score_gradient(r, s.head, s.query, s.more)) s.more = j;
    }
    return s;
}

/* P and dS of a head, side by side from y on; *s, if it is of this head, is framed. */
static void draw_head(FILE *f, double y, const line_read *r, int head, const strongest *s)
{
    enum { CELL = 17, LEFT = 56, GAP = 410 };
    const at_tensor *of[] = {r->weights, r->dS};
    double x[LINE * LINE];
    for (int k = 0; k < 2; k++) {
        char title[32];
        snprintf(title, sizeof title, "%s, head %d", k ? "dS" : "P", head);
        for (int i = 0; i < r->n; i++)
            for (int j = 0; j < r->n; j++)
                x[i * r->n + j] = j > i
                                      ? (double)NAN
                                      : at_element(of[k], ((ptrdiff_t)head * r->n + i) * r->n + j);
        sketch_cells m = {.title = title, .x = x, .rows = r->n, .cols = r->n, .signs = true};
        m.colours = k ? SKETCH_SIGNED : SKETCH_SHARES, m.most = k ? s->dS : 1;
        m.names = m.heads = r->name;
        m.cell_w = m.cell_h = CELL, m.size = 15;
        double left = LEFT + k * GAP, right = left + CELL * r->n, top = y + CELL * s->query;
        sketch_matrix(f, left, y, &m);
        const double row[] = {left, top, right, top, right, top + CELL, left, top + CELL};
        if (head == s->head) sketch_polygon(f, 4, row, NULL, SKETCH_INK);
    }
}

/* P and dS of the two heads whose scores the loss would change most. */
static void draw_backward(at_tape *t, const line_read *r, const strongest *s)
{
    enum { HEIGHT = 17 * LINE + 66 };
    const char *path = out_path("attention.svg");
    int shown = heads < 2 ? heads : 2, first = s->head, second = largest_head(r->dS, first);
    FILE *f = sketch_open(path, 830, 110 + shown * HEIGHT, "A held-out line, forward and backward");
    sketch_text(f, 20, 34, (sketch_style){.size = 20, .bold = true},
                "A held-out line, forward and backward");
    sketch_text(
        f, 20, 60, (sketch_style){.size = 15, .colour = SKETCH_GREY},
        "Rows: queries; columns: keys.  P: the darker, the more is read.  Framed: the largest dS.");
    sketch_text(f, 20, 82, (sketch_style){.size = 15, .colour = SKETCH_GREY},
                "dS: blue - to read more lowers the loss, red + raises it; largest: %s.",
                sketch_number(s->dS));
    for (int k = 0; k < shown; k++) draw_head(f, 122 + k * HEIGHT, r, k ? second : first, s);
    if (!sketch_close(f, path)) at_fail(t, ATTIC_USER_ERROR, "%s is not complete", path);
}

/* What attention computes on a held-out line, and what the loss says of it. */
static void show_attention(at_tape *t, const at_model *m, const text_ids *c)
{
    bool training = at_train(t, false);
    at_mark here = at_mark_here(t);
    line_read r = take_line(t, c);
    if (read_line(t, m, &r)) {
        strongest s = find_strongest(&r);
        show_weights(t, &r, s.head);
        draw_backward(t, &r, &s);
        printf("\nBackward: dS, the gradient of a score, says what would lower the loss.  Counting "
               "bytes\n"
               "from 0, this head should read in the row of \"%s\" at %d more of \"%s\" at %d (dS "
               "= %.3f)\n"
               "and less of \"%s\" at %d (dS = %.3f); all of its dS is in attention.svg.\n",
               r.name[s.query], s.query, r.name[s.more], s.more,
               score_gradient(&r, s.head, s.query, s.more), r.name[s.less], s.less,
               score_gradient(&r, s.head, s.query, s.less));
    }
    at_rewind(t, here);
    at_train(t, training);
}

/* ------------------------------------------------------------------ files ---------------------- */

static void draw_curve(at_tape *t, const curve *k, const baseline ngram[4])
{
    at_series lines[] = {{.name = "training", .x = k->train_step, .y = k->train, .n = k->n_train},
                         {.name = "held out", .x = k->held_step, .y = k->held, .n = k->n_held}};
    at_level levels[] = {
        {"unigram", ngram[1].nats}, {"bigram", ngram[2].nats}, {"trigram", ngram[3].nats}};
    at_chart chart = {.title = "Learning to predict the next byte",
                      .x_label = "step",
                      .y_label = "nats per byte",
                      .series = lines,
                      .n_series = 2,
                      .levels = levels,
                      .n_levels = 3};
    const char *path = out_path("loss.svg");
    FILE *f = at_file_create(t, path);
    at_svg_chart(f, &chart);
    at_file_close(t, f, path);
}

/* The tape of one training step, on a text of four bytes; true if there is tape.svg, too. */
static bool draw_tape(at_tape *t, const at_model *m)
{
    at_mark here = at_mark_here(t);
    at_tensor *ids = at_name(at_ints(t, at_shape_of(1, 4), NULL), "bytes");
    at_tensor *target = at_name(at_ints(t, at_shape_of(1, 4), NULL), "next bytes");
    at_tensor *logits = at_name(at_model_logits(t, m, ids, (at_model_args){0}), "logits");
    at_tensor *loss = at_cross_entropy(t, logits, target, (at_cross_entropy_args){0});
    at_name(loss, "loss");
    const char *path = out_path("tape.dot");
    FILE *f = at_file_create(t, path);
    if (f) at_graph_dot(t, loss, f, (at_graph_options){0});
    at_file_close(t, f, path);
    at_rewind(t, here);

    char command[8400], dot[4096];
    snprintf(dot, sizeof dot, "%s", path);
    snprintf(command, sizeof command, "command -v dot >/dev/null && dot -Tsvg '%s' -o '%s'", dot,
             out_path("tape.svg"));
    return !strchr(out, '\'') && system(command) == 0;
}

static void save_parameters(at_tape *t)
{
    for (int i = 0; i < at_param_count(t); i++) {
        char file[300];
        snprintf(file, sizeof file, "parameters/%.250s.npy", at_param_at(t, i)->name);
        at_npy_save(at_param_at(t, i), out_path(file));
    }
}

/* ------------------------------------------------------------------ the program ---------------- */

static ptrdiff_t count_parameters(const at_tape *t)
{
    ptrdiff_t n = 0;
    for (int i = 0; i < at_param_count(t); i++) n += at_count(at_param_at(t, i)->shape);
    return n;
}

static void print_setting(const at_tape *t, const text_ids *c, int n_files, const baseline ngram[4])
{
    printf("text      %d files: %td bytes to learn from, %td held out; %d different bytes\n",
           n_files, c->n_train, c->n_held, c->vocab);
    printf(
        "n-grams   on the held-out bytes, in nats per byte: unigram %.3f, bigram %.3f (k = %g),\n"
        "          trigram %.3f (k = %g); k is added to every count\n",
        ngram[1].nats, ngram[2].nats, ngram[2].k, ngram[3].nats, ngram[3].k);
    printf("model     %d layer%s of %d heads, width %d, context %d: %td parameters\n", layers,
           layers == 1 ? "" : "s", heads, dim, context, count_parameters(t));
    printf("training  %d steps of %d x %d bytes on %d thread%s\n\n", steps, batch, context,
           at_thread_count(), at_thread_count() == 1 ? "" : "s");
    fflush(stdout);
}

static bool run(at_tape *t, char *const *files, int n_files)
{
    text_ids *c = read_text(t, files, n_files);
    if (!c) return false;
    if (c->n_held <= context || c->n_train <= context)
        return at_fail(t, ATTIC_USER_ERROR, "%td held-out bytes are too few for a context of %d",
                       c->n_held, context);
    baseline ngram[4] = {{0}};
    for (int order = 1; order <= 3; order++) ngram[order] = best_ngram(t, c, order);
    at_model *m = at_model_make(t, (at_model_config){.vocab = c->vocab,
                                                     .context = context,
                                                     .layers = layers,
                                                     .heads = heads,
                                                     .dim = dim,
                                                     .dropout = dropout});
    if (!m) return false;
    printf("Can attention predict the next byte of a text better than counting can?  Look at\n"
           "\"held out\", the mean of -log P(byte) on text it was not trained on: it begins\n"
           "near log %d = %.1f and should fall below the n-grams.\n\n",
           c->vocab, log(c->vocab));
    print_setting(t, c, n_files, ngram);

    static curve k;
    double started = seconds();
    train(t, m, c, &k);
    double spent = seconds() - started, nats = held_out_nats(t, m, c, 1);
    if (!at_ok(t)) return false;
    add_point(k.held_step, k.held, &k.n_held, steps, nats);
    printf("\ntrained   in %.1f s, %.0f bytes per second; held out: %.3f nats per byte, perplexity "
           "%.2f\n",
           spent, (double)steps * batch * context / spent, nats, exp(nats));
    print_sample(t, m, c, 400);
    show_attention(t, m, c);
    draw_curve(t, &k, ngram);
    const char *drawn = draw_tape(t, m) ? "tape.svg" : "tape.dot (for Graphviz)";
    save_parameters(t);
    if (!at_ok(t)) return false;
    double least = fmin(ngram[1].nats, fmin(ngram[2].nats, ngram[3].nats));
    printf("\nwritten   %s/loss.svg, attention.svg, heads.svg, %s, and parameters/*.npy\n", out,
           drawn);
    printf("\nSeen: %.3f nats per byte, %s than the best of the n-gram models, %.3f.\n", nats,
           nats < least ? "better" : "NOT better", least);
    return true;
}

int main(int argc, char **argv)
{
    int first = parse_options(
        argc, argv,
        "usage: demo [options] files...\n"
        "Trains a byte-level transformer on the files, and prints a sample and its attention.\n",
        table, INT_MAX);
    if (first == argc) {
        fprintf(stderr, "demo: there are no files to learn from; try --help\n");
        return 2;
    }
    make_folders(out_path("parameters"));
    at_threads(threads);
    at_tape *t = at_open(ATTIC_F32, (uint64_t)seed);
    bool fine = run(t, argv + first, argc - first);
    if (!fine) fprintf(stderr, "demo: %s\n", at_error(t));
    at_close(t);
    return finish(!fine);
}
