/* bench_check.c -- the time that at_check_attention takes.
 *
 *     make bench BENCH=check
 *
 * The same step runs in turn without and with at_check_attention(t, true), on one tape; a row is by
 * how many percent the checked one takes longer, round by round.  "step" is a whole step of
 * training, as in bench_train.c; "attention" is forward and backward of causal self-attention
 * alone. */
#include "attic_train.h"
#include "common/bench.h"
#include "common/machine.h"
#include "common/results.h"

#include <stdio.h>

enum { ROUNDS = 31 };

typedef struct {
    const char *name;
    int layers, dim, heads, vocab, context, batch; /* layers = 0: attention alone */
} check_case;

static const check_case cases[] = {
    {"T = 64, D = 16, B = 8, H = 4", 0, 64, 4, 0, 64, 8},
    {"T = 256, D = 64, B = 4, H = 6", 0, 384, 6, 0, 256, 4},
    {"T = 1024, D = 64, B = 1, H = 4", 0, 256, 4, 0, 1024, 1},
    {"toy, B = 8", 1, 64, 4, 65, 64, 8},
    {"toy, B = 32", 1, 64, 4, 65, 64, 32},
    {"L = 4, C = 128, T = 128, B = 4", 4, 128, 4, 512, 128, 4},
};

typedef struct {
    const check_case *c;
    at_tape *t;
    at_model *m;
    at_mark start;
    at_tensor *ids, *x, *dO;
} stepper;

static void take_step(const stepper *s)
{
    at_tape *t = s->t;
    if (s->m) {
        at_tensor *logits = at_model_logits(t, s->m, s->ids, (at_model_args){0});
        at_backward(t, at_cross_entropy(t, logits, s->ids, (at_cross_entropy_args){0}));
        at_adamw(t, 1e-4, (at_adamw_args){.weight_decay = 0.01});
    } else {
        at_tensor *Q = at_scale(t, s->x, 1), *K = at_scale(t, s->x, 1), *V = at_scale(t, s->x, 1);
        at_sdpa_args a = {.causal = true, .heads = s->c->heads};
        at_backward_from(t, at_sdpa(t, Q, K, V, a), s->dO);
    }
    at_rewind(t, s->start);
}

/* Seconds of so many steps. */
static double time_steps(const stepper *s, bool checked, int times, int threads)
{
    at_check_attention(s->t, checked);
    double from = machine_seconds(threads);
    for (int i = 0; i < times; i++) take_step(s);
    return machine_seconds(threads) - from;
}

static stepper prepare(const check_case *c)
{
    stepper s = {.c = c, .t = at_open(ATTIC_F32, 1)};
    if (c->layers) {
        at_model_config config = {.vocab = c->vocab,
                                  .context = c->context,
                                  .layers = c->layers,
                                  .heads = c->heads,
                                  .dim = c->dim,
                                  .positions = ATTIC_LEARNED_POSITIONS};
        s.m = at_model_make(s.t, config);
        s.ids = at_ints(s.t, at_shape_of(c->batch, c->context), NULL);
        for (int i = 0; s.ids && i < c->batch * c->context; i++)
            ((int32_t *)s.ids->data)[i] = i * 7919 % c->vocab;
    } else {
        at_shape shape = at_shape_of(c->batch, c->context, c->dim);
        s.x = at_param(s.t, "x", shape, at_normal(1));
        s.dO = at_random(s.t, shape, at_normal(1));
    }
    at_reuse_memory(s.t, true);
    s.start = at_mark_here(s.t);
    return s;
}

/* Of one step, roughly: products of the layers, and causal attention. */
static double step_flop(const check_case *c)
{
    double tokens = (double)c->batch * c->context, C = c->dim;
    double attention = 7 * tokens * c->context * C;
    return c->layers ? c->layers * (72 * tokens * C * C + attention) + 6 * tokens * C * c->vocab
                     : attention;
}

static bool measure(bench *b, const check_case *c)
{
    bench_case row = {
        .group = c->layers ? "step" : "attention", .name = c->name, .flop = step_flop(c)};
    if (!bench_wants(b, &row)) return true;
    stepper s = prepare(c);
    double percent[ROUNDS], once;
    int threads = bench_threads(b);
    time_steps(&s, true, 2, threads);
    once = time_steps(&s, false, 4, threads) / 4;
    int times = (int)(2e-3 / (once + 1e-6)) + 1;
    for (int i = 0; i < ROUNDS; i++) {
        double without = time_steps(&s, false, times, threads);
        percent[i] = 100 * (time_steps(&s, true, times, threads) / without - 1);
    }
    bench_value(b, &row, "% more", quartiles_of(percent, ROUNDS).median, 0);
    bool ok = at_ok(s.t);
    if (!ok) fprintf(stderr, "attic: %s\n", at_error(s.t));
    at_close(s.t);
    return ok;
}

int main(int argc, char **argv)
{
    bench *b = bench_open(argc, argv, "check", "the cost of at_check_attention\n", NULL);
    bool ok = true;
    while (bench_next_threads(b))
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) ok = measure(b, &cases[i]) && ok;
    return bench_close(b) || !ok;
}
