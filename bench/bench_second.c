/* bench_second.c -- second derivatives of attention: value and tangent, and the gradients of both.
 *
 *     O, Odot = at_sdpa_jvp(Q, K, V, Qdot, Kdot, Vdot)        all [1,H,T,64], float
 *     backward from <dO, Odot> + <dOdot, O> to all six
 *
 * Three groups: its time, beside PyTorch's math path (matmul, softmax, matmul; its fused paths have
 * no second derivatives), whose backward is differentiated once more: O, Odot, the gradients and the
 * Hessian-vector products as here; the same in percent of the time of at_sdpa, forward and backward,
 * at most 400, where the matrix products are 21 for 7; and the memory that the tape allocates for
 * outputs, gradients and scratch: it grows with T, not with its square.
 *
 * make bench BENCH=second */
#include "attic.h"
#include "attic_op.h"
#include "common/bench.h"
#include "common/machine.h"
#include "common/results.h"

#include <stdio.h>

enum { D = 64, ROUNDS = 15, INPUTS = 6, MOST_PERCENT = 400 };

typedef struct {
    int H, T;
    bool causal;
} second_shape;

typedef struct {
    at_tape *t;
    at_mark start;
    at_tensor *x[INPUTS], *dO, *dOdot;
    bool causal;
} second;

static second second_open(second_shape s)
{
    static const char *const name[INPUTS] = {"Q", "K", "V", "Qdot", "Kdot", "Vdot"};
    second a = {.t = at_open(ATTIC_F32, 1), .causal = s.causal};
    const at_shape shape = at_shape_of(1, s.H, s.T, D);
    for (int i = 0; i < INPUTS; i++) a.x[i] = at_param(a.t, name[i], shape, at_normal(1));
    a.dO = at_random(a.t, shape, at_normal(1));
    a.dOdot = at_random(a.t, shape, at_normal(1));
    a.start = at_mark_here(a.t);
    return a;
}

static bool second_close(second *a)
{
    const bool ok = at_ok(a->t);
    if (!ok) fprintf(stderr, "attic: %s\n", at_error(a->t));
    at_close(a->t);
    return ok;
}

/* The upstream gradients are made by two products and two sums, which take little time. */
static void with_tangents(second *a)
{
    at_tape *t = a->t;
    at_tensor *Odot, *O = at_sdpa_jvp(t, a->x[0], a->x[1], a->x[2], a->x[3], a->x[4], a->x[5],
                                      (at_sdpa_args){.causal = a->causal}, &Odot);
    at_backward(t, at_add(t, at_sum(t, at_mul(t, Odot, a->dO)), at_sum(t, at_mul(t, O, a->dOdot))));
}

static void run_with_tangents(void *ctx)
{
    second *a = ctx;
    with_tangents(a);
    at_zero_grads(a->t);
    at_rewind(a->t, a->start);
}

static void run_without(void *ctx)
{
    second *a = ctx;
    at_tensor *O = at_sdpa(a->t, a->x[0], a->x[1], a->x[2], (at_sdpa_args){.causal = a->causal});
    at_backward_from(a->t, O, a->dO);
    at_zero_grads(a->t);
    at_rewind(a->t, a->start);
}

static double seconds_of(void (*run)(void *), second *a, int threads)
{
    double t0 = machine_seconds(threads);
    run(a);
    return machine_seconds(threads) - t0;
}

/* The median over rounds, in each of which one follows the other; the first round warms up. */
static double percent_of(const bench *b, second *a)
{
    double percent[ROUNDS] = {0};
    const int threads = bench_threads(b), rounds = bench_is_smoke(b) ? 1 : ROUNDS;
    for (int i = -1; i < rounds; i++) {
        double one = seconds_of(run_without, a, threads);
        double both = seconds_of(run_with_tangents, a, threads);
        if (i >= 0) percent[i] = 100 * both / one;
    }
    return quartiles_of(percent, rounds).median;
}

static const char *name_of(second_shape s)
{
    static char name[48];
    snprintf(name, sizeof name, "(1, %d, %d, %d)%s", s.H, s.T, D, s.causal ? " causal" : "");
    return name;
}

static double flop_of(second_shape s)
{
    const double T = s.T, pairs = s.causal ? T * (T + 1) / 2 : T * T;
    return 21 * 2 * s.H * pairs * D;
}

static bool measure_time(bench *b, second_shape s)
{
    char peer[48];
    snprintf(peer, sizeof peer, "second 1 %d %d %d %d", s.H, s.T, D, s.causal);
    bench_case c = {.group = "forward+backward",
                    .name = name_of(s),
                    .x = s.T,
                    .flop = flop_of(s),
                    .bytes = 16.0 * s.H * s.T * D * sizeof(float),
                    .run = run_with_tangents,
                    .peer = peer};
    if (!bench_wants(b, &c)) return true;
    second a = second_open(s);
    c.ctx = &a;
    bench_row(b, &c);
    return second_close(&a);
}

static bool measure_percent(bench *b, second_shape s)
{
    bench_case c = {.group = "beside sdpa", .name = name_of(s), .x = s.T, .flop = flop_of(s)};
    if (!bench_wants(b, &c)) return true;
    second a = second_open(s);
    bench_value(b, &c, "% of the time of sdpa", percent_of(b, &a), MOST_PERCENT);
    return second_close(&a);
}

/* Outputs and gradients are 8 tensors. */
static bool measure_memory(bench *b, second_shape s)
{
    bench_case c = {.group = "memory", .name = name_of(s), .x = s.T, .flop = flop_of(s)};
    if (!bench_wants(b, &c)) return true;
    second a = second_open(s);
    at_memory before = at_memory_of(a.t);
    with_tangents(&a);
    at_memory after = at_memory_of(a.t);
    double bytes = (double)(after.step + after.permanent - before.step - before.permanent);
    /* and of the loss two products with their gradients, and those of O and Odot */
    double O = 1.0 * s.H * s.T * D * sizeof(float), most = (8 + 6) * O + (4 << 20);
    bench_value(b, &c, "bytes", bytes, most);
    return second_close(&a);
}

int main(int argc, char **argv)
{
    /* the first is for --smoke, and of no length at which tiles pay */
    static const second_shape shapes[] = {{4, 64, false},   {4, 256, false}, {4, 1024, false},
                                          {1, 4096, false}, {4, 256, true},  {4, 1024, true},
                                          {1, 4096, true},  {1, 16384, true}};
    enum { TIMED = 7, ALL = 8 };
    bench *b = bench_open(argc, argv, "second", "second derivatives of attention\n", "torch");
    bool ok = true;
    while (bench_next_threads(b)) {
        for (int i = 0; i < TIMED; i++) ok = measure_time(b, shapes[i]) && ok;
        for (int i = 1; i < TIMED; i++) ok = measure_percent(b, shapes[i]) && ok;
        for (int i = 1; i < ALL; i++) ok = measure_memory(b, shapes[i]) && ok;
    }
    return bench_close(b) || !ok;
}
