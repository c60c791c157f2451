/* bench_options.c -- what options of attention cost, and what they save.
 *
 * Each row is a ratio: the time of a forward and a backward with the option, in percent of the time
 * without it, or with what it is compared with.  In each of 31 rounds both are measured, one right
 * after the other, each for at least 20 milliseconds; the median of the rounds' ratios counts.
 *
 *     sink          a learned logit for each head, with its gradient
 *     lse           the log-sum-exp as an output, and the gradient of its mean square, a z-loss
 *     documents     a row of 1,024 that is cut into so many documents (segments), beside one that
 *                   is not: 1 / documents of the pairs are left
 *     a mask        the same documents told by a mask (keep), beside segments */
#include "attic_op.h"
#include "common/bench.h"
#include "common/results.h"
#include "system/system.h"

#include <stdio.h>

enum { ROUNDS = 31, SAMPLE_NS = 20000000, LONG = 1024 };

typedef struct {
    int B, H, T, D;
} shape;

static const shape shapes[] = {{8, 4, 64, 16}, {4, 8, 256, 64}, {1, 4, 1024, 64}};

typedef struct {
    at_tape *t;
    at_mark start;
    at_tensor *Q, *K, *V, *dO, *sink, *segments, *keep;
} operands;

/* What of this is used. */
typedef struct {
    bool causal, sink, lse, segments, keep;
} options;

static void run(const operands *x, options o)
{
    at_tape *t = x->t;
    at_tensor *lse = NULL;
    at_sdpa_args a = {.causal = o.causal};
    if (o.sink) a.sink = x->sink;
    if (o.lse) a.lse = &lse;
    if (o.segments) a.segments = x->segments;
    if (o.keep) a.keep = x->keep;
    at_tensor *O = at_sdpa(t, x->Q, x->K, x->V, a);
    at_tensor *loss = at_sum(t, at_mul(t, O, x->dO));
    if (lse) loss = at_add(t, loss, at_mean(t, at_square(t, lse)));
    at_backward(t, loss);
    at_zero_grads(t);
    at_rewind(t, x->start);
}

static double sample(const operands *x, options o, int64_t least)
{
    int64_t runs = 0, passed;
    run(x, o);
    for (int64_t start = at_now_ns(); runs++, run(x, o), (passed = at_now_ns() - start) < least;)
        continue;
    return (double)passed / (double)runs;
}

/* The time with `with` in percent of the time with `without`. */
static double percent_of(const bench *b, const operands *x, options with, options without)
{
    double percent[ROUNDS], time[2];
    const int rounds = bench_is_smoke(b) ? 1 : ROUNDS;
    const int64_t least = bench_is_smoke(b) ? 0 : SAMPLE_NS;
    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < 2; k++) {
            const int first = (i + k) % 2; /* which is first changes from round to round */
            time[first] = sample(x, first ? with : without, least);
        }
        percent[i] = 100 * time[1] / time[0];
    }
    return quartiles_of(percent, rounds).median;
}

static operands operands_of(shape s)
{
    operands x = {.t = at_open(ATTIC_F32, 1)};
    at_tape *t = x.t;
    const at_shape all = at_shape_of(s.B, s.H, s.T, s.D);
    x.Q = at_param(t, "Q", all, at_normal(1));
    x.K = at_param(t, "K", all, at_normal(1));
    x.V = at_param(t, "V", all, at_normal(1));
    x.sink = at_param(t, "sink", at_shape_of(s.H), at_normal(1));
    x.dO = at_random(t, all, at_normal(1));
    x.segments = at_ints(t, at_shape_of(s.B, s.T), NULL);
    x.keep = at_bools(t, at_shape_of(s.B, 1, s.T, s.T), NULL);
    at_reuse_memory(t, true);
    x.start = at_mark_here(t);
    return x;
}

/* The row is cut into equal documents. */
static void cut(const operands *x, int documents)
{
    const int B = x->segments->shape.dim[0], T = x->segments->shape.dim[1];
    int32_t *id = x->segments->data;
    bool *keep = x->keep->data;
    for (int i = 0; i < B * T; i++) id[i] = i % T * documents / T;
    for (int i = 0; i < B * T; i++)
        for (int j = 0; j < T; j++) keep[(ptrdiff_t)i * T + j] = id[i] == id[i / T * T + j];
}

static bool close_operands(const operands *x)
{
    bool ok = at_ok(x->t);
    if (!ok) fprintf(stderr, "attic: %s\n", at_error(x->t));
    at_close(x->t);
    return ok;
}

static void compare(bench *b, const operands *x, const char *group, const char *name, options with,
                    options without, double most)
{
    bench_case c = {.group = group, .name = name};
    if (bench_wants(b, &c))
        bench_value(b, &c, "% of the other's time", percent_of(b, x, with, without), most);
}

static bool measure_costs(bench *b, shape s, bool lse)
{
    operands x = operands_of(s);
    for (int causal = 0; causal < 2; causal++) {
        char name[64];
        snprintf(name, sizeof name, "(%d, %d, %d, %d) %s", s.B, s.H, s.T, s.D,
                 causal ? "causal" : "full");
        const options with = {.causal = causal, .sink = !lse, .lse = lse};
        compare(b, &x, lse ? "lse" : "sink", name, with, (options){.causal = causal}, 103);
    }
    return close_operands(&x);
}

static bool measure_documents(bench *b, bool mask)
{
    const options segments = {.segments = true}, keep = {.keep = true};
    operands x = operands_of((shape){1, 4, LONG, 64});
    for (int documents = 2; documents <= 32; documents *= 2) {
        char name[64];
        snprintf(name, sizeof name, "%d of %d", documents, LONG / documents);
        cut(&x, documents);
        if (mask)
            compare(b, &x, "a mask", name, keep, segments, 0);
        else
            compare(b, &x, "documents", name, segments, (options){0}, 0);
    }
    return close_operands(&x);
}

int main(int argc, char **argv)
{
    bench *b = bench_open(argc, argv, "options", "what options of attention cost\n", NULL);
    bool ok = true;
    while (bench_next_threads(b))
        for (int second = 0; second < 2; second++) {
            for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
                ok = measure_costs(b, shapes[i], second) && ok;
            ok = measure_documents(b, second) && ok;
        }
    return bench_close(b) || !ok;
}
