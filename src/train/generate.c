/* generate.c -- evaluation and sampling without a trace; see generate.h. */
#include "train/generate.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "autograd/op.h"
#include "ops/ops.h"
#include "system/system.h"
#include "system/utf8.h"

/* ----------------------------------------------------------------- evaluation ----------------- */

/* Only the first `rows` windows count: behind the last one of all, the first ones come again, to
 * fill the batch.  Returns how many targets are left. */
static ptrdiff_t count_targets(at_tensor *target, int rows)
{
    ptrdiff_t n = 0, row = target->shape.dim[1];
    int32_t *id = target->data;
    for (ptrdiff_t i = 0; i < at_count(target->shape); i++) {
        if (i / row >= rows) id[i] = -1;
        n += id[i] != -1;
    }
    return n;
}

/* Those of a packed batch, if the model has any. */
static at_tensor *positions_of(const at_model *m, const at_batch *b)
{
    return m->config.positions == ATTIC_NO_POSITIONS ? NULL : b->positions;
}

static double mean_loss(at_tape *t, const at_model *m, const at_data *d, at_eval_args a, int total)
{
    double nats = 0;
    ptrdiff_t targets = 0;
    at_batch_args which = {.split = a.split, .rows = a.rows, .length = a.length, .spread = total};
    at_mark step = at_mark_here(t);
    for (int left = total; left > 0 && at_ok(t); left -= a.rows, which.step++) {
        at_batch b = at_data_batch(t, d, which);
        if (!b.target) break;
        targets += count_targets(b.target, left);
        const at_model_args with = {.segments = b.segments, .positions = positions_of(m, &b)};
        at_cross_entropy_args sum = {.reduction = ATTIC_SUM, .ignore = true, .ignore_index = -1};
        nats += at_item(at_model_cross_entropy(t, m, b.ids, b.target, with, sum));
        at_rewind(t, step);
    }
    return at_ok(t) ? nats / (double)targets : (double)NAN;
}

/* How many windows are to be scored; 0 after a sticky error. */
static int windows_to_score(at_tape *t, const at_data *d, at_eval_args a)
{
    ptrdiff_t all = at_data_windows(d, a.split, a.length);
    if (!at_ok(t)) return 0;
    if (a.rows < 1 || a.batches < 0 || a.batches > INT_MAX / a.rows)
        at_fail(t, ATTIC_USER_ERROR, "model_loss: %d batches of %d rows are not possible",
                a.batches, a.rows);
    else if (!a.batches && all > INT_MAX - a.rows)
        at_fail(t, ATTIC_USER_ERROR, "model_loss: %td windows are too many: say how many batches",
                all);
    if (!at_ok(t)) return 0;
    return a.batches ? a.batches * a.rows
           : all     ? (int)all
                     : 1; /* 1: the batch says what is amiss */
}

double at_model_loss(at_tape *t, const at_model *m, const at_data *d, at_eval_args a)
{
    if (!m || !d)
        at_fail(t, ATTIC_USER_ERROR, "model_loss: %s is NULL", m ? "the data" : "the model");
    if (!m || !d || !at_ok(t)) return (double)NAN;
    /* of sequences, 0 is as long as the longest */
    if (!a.length && !at_data_windows(d, a.split, 0)) a.length = m->config.context;
    const at_eval e = at_eval_begin(t);
    int total = windows_to_score(t, d, a);
    double nats = total ? mean_loss(t, m, d, a, total) : (double)NAN;
    at_eval_end(t, e);
    return nats;
}

/* ----------------------------------------------------------------- generation ----------------- */

/* Where the text goes.  A character may be made of several ids: for a terminal the bytes of one
 * that is not whole yet are kept. */
typedef struct {
    FILE *out; /* NULL: nowhere */
    bool is_terminal;
    char kept[4];
    int n;
} text_sink;

/* Would it do more than appear?  Controls, and overrides of direction. */
static bool is_control(int32_t c)
{
    return (c < 32 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0) ||
           (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* Writes the character that the kept bytes begin with; false if more of it may follow. */
static bool print_character(text_sink *s, bool more_may_follow)
{
    const unsigned char first = (unsigned char)s->kept[0];
    const int whole = first < 0xc2 || first > 0xf4 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    int bytes;
    if (s->n == 0 || (more_may_follow && s->n < whole)) return false;
    if (is_control(at_utf8(s->kept, s->n, &bytes))) /* or no character */
        fputc('?', s->out);
    else
        fwrite(s->kept, 1, (size_t)bytes, s->out);
    s->n -= bytes;
    memmove(s->kept, s->kept + bytes, (size_t)s->n);
    return true;
}

static void print_bytes(text_sink *s, const char *bytes, int n)
{
    if (s->out && !s->is_terminal && n > 0) fwrite(bytes, 1, (size_t)n, s->out);
    for (int i = 0; s->is_terminal && i < n; i++) {
        s->kept[s->n++] = bytes[i];
        while (print_character(s, true)) {
        }
    }
}

/* The ids to continue; NULL after a sticky error. */
static const int32_t *prompt_ids(at_tape *t, at_generate_args a, ptrdiff_t *n)
{
    const int32_t *ids = a.ids;
    *n = a.n_ids;
    AT_REQUIRE(t, ids || a.tokenizer, "generate: there is no tokenizer for the prompt");
    if (!ids) ids = at_encode(t, a.tokenizer, a.prompt ? a.prompt : "", -1, n);
    AT_REQUIRE(t, *n > 0, "generate: the prompt is empty: there is nothing to continue");
    AT_REQUIRE(t, a.n >= 0, "generate: %d ids behind a prompt of %td", a.n, *n);
    return ids;
}

/* Writes at most a.n ids; how many they were. */
static int continue_text(at_tape *t, at_writer *w, at_generate_args a, text_sink *sink)
{
    const at_mark step = at_mark_here(t);
    for (int made = 0, length = 0;; made++) {
        at_rewind(t, step); /* what a.token made */
        const int id = made < a.n ? at_writer_next(w) : -1;
        if (id < 0) return made;
        const char *bytes = at_token_bytes(a.tokenizer, id, &length);
        print_bytes(sink, bytes, length);
        if (a.token && !a.token(a.ctx, id, bytes, length)) return made + 1;
    }
}

static int generate_text(at_tape *t, const at_model *m, at_generate_args a, FILE *out)
{
    int length = 0;
    ptrdiff_t n = 0;
    text_sink sink = {.out = out, .is_terminal = out && at_terminal_width(out)};
    const int32_t *ids = prompt_ids(t, a, &n);
    at_writer *w = at_writer_open(t, m,
                                  (at_writer_args){.temperature = a.temperature,
                                                   .top_k = a.top_k,
                                                   .top_p = a.top_p,
                                                   .stop = a.stop,
                                                   .n_stop = a.n_stop,
                                                   .stream = a.stream,
                                                   .tokenizer = a.tokenizer,
                                                   .cache = a.cache});
    if (!at_writer_feed(w, ids, n)) return -1;
    for (ptrdiff_t i = 0; i < n; i++) {
        const char *bytes = at_token_bytes(a.tokenizer, ids[i], &length);
        print_bytes(&sink, bytes, length);
    }
    const int made = continue_text(t, w, a, &sink);
    while (print_character(&sink, false)) {
    }
    return made;
}

int at_generate(at_tape *t, const at_model *m, const at_data *d, at_generate_args a, FILE *out)
{
    if (!m) at_fail(t, ATTIC_USER_ERROR, "generate: the model is NULL");
    if (!m || !at_ok(t)) return -1;
    if (!a.tokenizer) a.tokenizer = at_data_tokenizer(d);
    const at_eval e = at_eval_begin(t);
    int made = generate_text(t, m, a, out);
    at_eval_end(t, e);
    return at_ok(t) ? made : -1;
}
