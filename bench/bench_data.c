/* bench_data.c -- batches of sequences: how much of them is padding, and what they cost.
 *
 * 32,000 sequences of each kind, their lengths drawn uniformly, in batches of 32 rows of T ids:
 *
 *     names      2 to 13 ids, T = 64
 *     texts      1 to 256 ids, T = 256
 *     long       1 to 1024 ids, T = 256: packed they are cut into fragments, padded they lose what is
 *                behind the first 256 ids
 *
 *     padded     a row is one sequence
 *     longest    the same, but the row is as long as the longest sequence of the batch
 *     packed     .pack of at_data_args: rows are made once, with the data
 *     at once    .pack of at_batch_args: they are made anew for each batch
 *
 * A batch is measured for each target that counts (is not -1); making the data, for each
 * sequence.  A step of training with such batches, of a model with one layer, 4 heads, 64 wide, is
 * measured for each target that counts, too: what 1 / that is, is the speed of learning from the
 * texts. */
#include "attic_train.h"
#include "common/bench.h"

#include <stdio.h>
#include <stdlib.h>

enum { N = 32000, ROWS = 32, BATCHES = 100, VOCAB = 65 };

typedef struct {
    const char *name;
    int least, most, T;
    enum { PADDED, LONGEST, PACKED, AT_ONCE } how;
} kind;

static const kind kinds[] = {
    {"names, padded", 2, 13, 64, PADDED},     {"names, longest", 2, 13, 64, LONGEST},
    {"names, packed", 2, 13, 64, PACKED},     {"names, at once", 2, 13, 64, AT_ONCE},
    {"texts, padded", 1, 256, 256, PADDED},   {"texts, packed", 1, 256, 256, PACKED},
    {"texts, at once", 1, 256, 256, AT_ONCE}, {"long, padded", 1, 1024, 256, PADDED},
    {"long, packed", 1, 1024, 256, PACKED},   {"long, at once", 1, 1024, 256, AT_ONCE},
};

typedef struct {
    at_tape *t;
    const at_data *d;
    at_batch_args which;
    at_mark start;
    int32_t *ids;
    int length[N], pack;
    at_model *m;
} batches;

static at_data *make(at_tape *t, const batches *m)
{
    return at_data_sequences(t, m->ids, m->length, N,
                             (at_data_args){.vocab = VOCAB, .pack = m->pack});
}

static void run_make(void *ctx)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    make(t, ctx);
    at_close(t);
}

static void run_batch(void *ctx)
{
    batches *m = ctx;
    at_data_batch(m->t, m->d, m->which);
    m->which.step++;
    at_rewind(m->t, m->start);
}

static void run_step(void *ctx)
{
    batches *m = ctx;
    at_tape *t = m->t;
    at_batch b = at_data_batch(t, m->d, m->which);
    const at_model_args with = {.segments = b.segments, .positions = b.positions};
    at_tensor *logits = at_model_logits(t, m->m, b.ids, with);
    const at_cross_entropy_args skip = {.ignore = true, .ignore_index = -1};
    at_backward(t, at_cross_entropy(t, logits, b.target, skip));
    at_adamw(t, 1e-4, (at_adamw_args){0});
    m->which.step++;
    at_rewind(t, m->start);
}

/* How many of 1000 ids are padding, and how many targets of a batch count. */
static double padding(batches *m, int *counting)
{
    double ids = 0, full = 0, targets = 0;
    for (int step = 0; step < BATCHES; step++, at_rewind(m->t, m->start)) {
        m->which.step = step;
        at_batch b = at_data_batch(m->t, m->d, m->which);
        if (!b.ids) break;
        ids += (double)at_count(b.ids->shape);
        for (int r = 0; r < ROWS; r++) full += at_get(b.lengths, r);
        for (ptrdiff_t i = 0; i < at_count(b.ids->shape); i++)
            targets += ((const int32_t *)b.target->data)[i] != -1;
    }
    *counting = (int)(targets / BATCHES);
    return 1000 * (1 - full / ids);
}

static bool open_batches(batches *m, const kind *k)
{
    const at_stream s = {1, 1};
    ptrdiff_t total = 0;
    *m = (batches){.t = at_open(ATTIC_F32, 1), .pack = k->how == PACKED ? k->T : 0};
    for (int i = 0; i < N; i++) {
        m->length[i] = k->least + (int)(at_random_unit(s, (uint64_t)i) * (k->most - k->least + 1));
        total += m->length[i];
    }
    m->ids = calloc((size_t)total, sizeof *m->ids);
    if (!m->ids) return false;
    m->d = make(m->t, m);
    m->which = (at_batch_args){
        .rows = ROWS, .length = k->how == LONGEST ? 0 : k->T, .pack = k->how == AT_ONCE};
    m->m = at_model_make(
        m->t,
        (at_model_config){.vocab = VOCAB, .context = k->T, .layers = 1, .heads = 4, .dim = 64});
    at_reuse_memory(m->t, true);
    m->start = at_mark_here(m->t);
    return at_ok(m->t);
}

static bool measure(bench *b, const kind *k, int what)
{
    static batches m;
    int counting = 1;
    bool ok = open_batches(&m, k);
    bench_case c = {.name = k->name, .ctx = &m};
    if (ok && what < 3) {
        static const char *const group[] = {"padding in 1000 ids", "a batch, each target",
                                            "a step, each target"};
        double padded = padding(&m, &counting);
        c.group = group[what];
        c.each = counting, c.run = what > 1 ? run_step : run_batch;
        if (what)
            bench_row(b, &c);
        else
            bench_value(b, &c, "ids", padded, 0);
    } else if (ok) {
        c.group = "the data, each sequence";
        c.each = N, c.run = run_make;
        bench_row(b, &c);
    }
    ok = ok && at_ok(m.t);
    if (!ok) fprintf(stderr, "attic: %s\n", at_error(m.t));
    free(m.ids);
    at_close(m.t);
    return ok;
}

int main(int argc, char **argv)
{
    bench *b = bench_open(argc, argv, "data", "batches of sequences, padded and packed\n", NULL);
    bool ok = true;
    while (bench_next_threads(b))
        for (int what = 0; what < 4; what++)
            for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
                ok = measure(b, &kinds[i], what) && ok;
    return bench_close(b) || !ok;
}
