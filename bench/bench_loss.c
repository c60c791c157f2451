/* bench_loss.c -- the loss of a last layer: its logits in tiles, or held.
 *
 *     at_linear_cross_entropy(x, E^T, target)                 x [256,C], E [V,C], float
 *     at_cross_entropy(at_matmul_t(x, E^T), target)           the two ops that it stands for
 *
 * Three groups.  Two have its time in percent of the time of the two ops, of forward alone and with
 * backward: the median over rounds, in each of which one follows the other.  It has two products for
 * one and three in backward, which may take 4/3 of the time, and it saves the memory traffic of the
 * logits.  The third has the memory that a tape allocates for it beside x, E and their gradients:
 * scratch, and some numbers for each row; the logits of a row of 50,257 classes are 196 KiB.
 *
 * make bench BENCH=loss */
#include "attic.h"
#include "attic_op.h"
#include "common/bench.h"
#include "common/machine.h"
#include "common/results.h"

#include <stdio.h>

enum { TOKENS = 256, ROUNDS = 9, MOST_BYTES = 1 << 20 };

typedef struct {
    at_tape *t;
    at_mark start;
    at_tensor *x, *E, *target;
    bool backward;
} last_layer;

static last_layer loss_open(int C, int V, bool backward)
{
    last_layer a = {.t = at_open(ATTIC_F32, 1), .backward = backward};
    a.x = at_param(a.t, "x", at_shape_of(TOKENS, C), at_normal(1));
    a.E = at_param(a.t, "E", at_shape_of(V, C), at_normal(0.02));
    a.target = at_ints(a.t, at_shape_of(TOKENS), NULL);
    for (int i = 0; i < TOKENS; i++) at_set(a.target, i * 7919 % V, i);
    at_reuse_memory(a.t, true);
    a.start = at_mark_here(a.t);
    return a;
}

static bool loss_close(last_layer *a)
{
    const bool ok = at_ok(a->t);
    if (!ok) fprintf(stderr, "attic: %s\n", at_error(a->t));
    at_close(a->t);
    return ok;
}

static void lose(last_layer *a, bool tiles)
{
    const at_cross_entropy_args mean = {0};
    at_tensor *loss;
    if (tiles)
        loss = at_linear_cross_entropy(a->t, a->x, a->E, true, NULL, a->target, mean);
    else
        loss = at_cross_entropy(a->t, at_matmul_t(a->t, a->x, false, a->E, true), a->target, mean);
    if (a->backward) at_backward(a->t, loss);
}

static double seconds_of_loss(last_layer *a, bool tiles, int threads)
{
    const double t0 = machine_seconds(threads);
    lose(a, tiles);
    const double t1 = machine_seconds(threads);
    at_zero_grads(a->t);
    at_rewind(a->t, a->start);
    return t1 - t0;
}

/* The first round warms up. */
static double percent_of_two(const bench *b, last_layer *a)
{
    double percent[ROUNDS] = {0};
    const int threads = bench_threads(b), rounds = bench_is_smoke(b) ? 1 : ROUNDS;
    for (int i = -1; i < rounds; i++) {
        const double two = seconds_of_loss(a, false, threads),
                     one = seconds_of_loss(a, true, threads);
        if (i >= 0) percent[i] = 100 * one / two;
    }
    return quartiles_of(percent, rounds).median;
}

static double bytes_of(last_layer *a)
{
    const at_memory before = at_memory_of(a->t);
    lose(a, true);
    const at_memory after = at_memory_of(a->t);
    const double gradients = (double)(at_bytes(a->x) + at_bytes(a->E));
    return (double)(after.step_peak - before.step) + (double)(after.permanent - before.permanent) -
           gradients;
}

static bool measure_loss(bench *b, int C, int V, int group)
{
    static const char *const groups[] = {"forward", "forward+backward", "memory"};
    char name[48];
    snprintf(name, sizeof name, "C = %d, V = %d", C, V);
    bench_case c = {.group = groups[group], .name = name, .x = V};
    c.flop = (group == 0 ? 2.0 : 8.0) * TOKENS * C * V;
    if (!bench_wants(b, &c)) return true;
    last_layer a = loss_open(C, V, group > 0);
    if (group < 2)
        bench_value(b, &c, "% of the time of two ops", percent_of_two(b, &a), 0);
    else
        bench_value(b, &c, "bytes", bytes_of(&a), MOST_BYTES * (1.0 + bench_threads(b)));
    return loss_close(&a);
}

int main(int argc, char **argv)
{
    static const int C[] = {64, 256, 768}, V[] = {256, 4096, 50257};
    bench *b = bench_open(argc, argv, "loss", "a last layer and its loss, in tiles\n", NULL);
    bool ok = true;
    while (bench_next_threads(b))
        for (int group = 0; group < 3; group++)
            for (int i = 0; i < 9; i++) ok = measure_loss(b, C[i / 3], V[i % 3], group) && ok;
    return bench_close(b) || !ok;
}
