/* bench_train.c -- whole training steps of small transformers.
 *
 *     ids -> logits -> cross entropy -> backward -> AdamW -> the loss as a number
 *
 * "toy" has one block, 65 characters, width 64, 4 heads, a context of 64.  "gpt" has the shape of
 * GPT-2 on a small scale.  Positions are learned, gelu is the one with erf, the embedding matrix is
 * the output matrix as well, there is no dropout.  Batches of random ids are made beforehand.
 *
 * Flop are those of the matrix products, three times the forward ones (y, dx, dW), and of
 * attention, whose seven products (see bench_sdpa.c) are causal.  The passes over activations and
 * weights count as 0, though a small step spends most of its time on them. */
#include "attic_train.h"
#include "common/bench.h"

#include <stdio.h>

typedef struct {
    const char *group, *name;
    int layers, dim, heads, vocab, context, batch;
} model;

static const model models[] = {
    {"toy", "B = 8", 1, 64, 4, 65, 64, 8},
    {"toy", "B = 32", 1, 64, 4, 65, 64, 32},
    {"gpt", "L = 4, C = 128, T = 128, B = 4", 4, 128, 4, 512, 128, 4},
    {"gpt", "L = 6, C = 384, T = 256, B = 4", 6, 384, 6, 1024, 256, 4},
};

enum { BATCHES = 8 };

typedef struct {
    at_tape *t;
    at_model *m;
    at_mark start;
    at_tensor *ids[BATCHES], *target[BATCHES];
    int step;
} training;

static void run(void *ctx)
{
    training *r = ctx;
    int i = r->step++ % BATCHES;
    at_tensor *logits = at_model_logits(r->t, r->m, r->ids[i], (at_model_args){0});
    at_tensor *loss = at_cross_entropy(r->t, logits, r->target[i], (at_cross_entropy_args){0});
    at_backward(r->t, loss);
    at_adamw(r->t, 1e-4, (at_adamw_args){.weight_decay = 0.01});
    at_item(loss);
    at_rewind(r->t, r->start);
}

static double step_flop(const model *m)
{
    double tokens = (double)m->batch * m->context, C = m->dim, T = m->context;
    double layer = 4 * C * C + 2 * C * 4 * C; /* q, k, v, o; up and down */
    double pairs = m->batch * T * (T + 1) / 2;
    return 2 * 3 * tokens * (m->layers * layer + C * m->vocab) + 2 * 7 * m->layers * pairs * C;
}

static at_tensor *random_ids(at_tape *t, const model *m, unsigned seed)
{
    at_tensor *ids = at_ints(t, at_shape_of(m->batch, m->context), NULL);
    for (int i = 0; ids && i < m->batch * m->context; i++) {
        seed = seed * 1664525U + 1013904223U;
        ((int32_t *)ids->data)[i] = (int32_t)((seed >> 8) % (unsigned)m->vocab);
    }
    return ids;
}

static bool measure(bench *b, const model *m)
{
    char peer[96];
    snprintf(peer, sizeof peer, "train %d %d %d %d %d %d", m->layers, m->dim, m->heads, m->vocab,
             m->context, m->batch);
    bench_case c = {
        .group = m->group, .name = m->name, .flop = step_flop(m), .run = run, .peer = peer};
    if (!bench_wants(b, &c)) return true;
    training r = {.t = at_open(ATTIC_F32, 1)};
    at_model_config config = {.vocab = m->vocab,
                              .context = m->context,
                              .layers = m->layers,
                              .heads = m->heads,
                              .dim = m->dim,
                              .positions = ATTIC_LEARNED_POSITIONS};
    r.m = at_model_make(r.t, config);
    for (unsigned i = 0; i < BATCHES; i++) {
        r.ids[i] = random_ids(r.t, m, i);
        r.target[i] = random_ids(r.t, m, BATCHES + i);
    }
    at_reuse_memory(r.t, true); /* intermediate gradients are not read */
    r.start = at_mark_here(r.t);
    c.ctx = &r;
    bench_row(b, &c);
    bool ok = at_ok(r.t);
    if (!ok) fprintf(stderr, "attic: %s\n", at_error(r.t));
    at_close(r.t);
    return ok;
}

int main(int argc, char **argv)
{
    bench *b = bench_open(argc, argv, "train", "whole training steps of small transformers\n",
                          "torch,torch-compile");
    bool ok = true;
    while (bench_next_threads(b))
        for (size_t i = 0; i < sizeof models / sizeof *models; i++)
            ok = measure(b, &models[i]) && ok;
    return bench_close(b) || !ok;
}
