/* bench_sparse.c -- attention with block masks: are masked blocks skipped?
 *
 * One cell in eight is kept, in blocks: along the diagonal, or scattered over the scores.  Two heads
 * of 2048 rows read the same mask `keep`.  An eighth of the work is left; what is measured is the
 * time, in percent of that without a mask.  Required are at most 25, where a block is not much
 * smaller than a tile of 64 rows by 128 keys. */
#include "attic.h"
#include "common/bench.h"
#include "common/machine.h"
#include "common/results.h"

#include <stdio.h>
#include <stdlib.h>

enum { HEADS = 2, T = 2048, D = 64, EIGHTH = 8, ROUNDS = 15 };

typedef struct {
    const char *name;
    int block; /* rows and keys of one; 0: no mask */
    bool scattered;
    double most; /* percent */
} pattern;

static const pattern patterns[] = {{"block diagonal, 256 x 256", 256, false, 25},
                                   {"scattered blocks, 128 x 128", 128, true, 25},
                                   {"scattered blocks, 64 x 64", 64, true, 25},
                                   {"scattered blocks, 32 x 32", 32, true, 0}};

typedef struct {
    at_tape *t;
    at_mark start;
    at_tensor *Q, *K, *V, *dO, *keep;
    bool backward;
} attention;

/* Is block (i, j) kept?  Every row of blocks keeps an eighth of them, spread by a
 * multiplication. */
static bool kept(const pattern *p, int i, int j)
{
    int blocks = T / p->block, many = blocks / EIGHTH;
    if (!p->scattered) return i == j;
    return (j * 5 + i * 3) % blocks < many;
}

static at_tensor *mask_of(at_tape *t, const pattern *p)
{
    bool *cell = malloc((size_t)T * T * sizeof *cell);
    if (!cell) exit(1);
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++) cell[i * T + j] = kept(p, i / p->block, j / p->block);
    at_tensor *keep = at_bools(t, at_shape_of(T, T), cell);
    free(cell);
    return keep;
}

static void run(attention *a)
{
    at_no_grad(a->t, !a->backward);
    at_tensor *O = at_sdpa(a->t, a->Q, a->K, a->V, (at_sdpa_args){.keep = a->keep});
    at_no_grad(a->t, false);
    if (a->backward) at_backward_from(a->t, O, a->dO);
    at_zero_grads(a->t);
    at_rewind(a->t, a->start);
}

static double seconds(attention *a, int threads)
{
    double t0 = machine_seconds(threads);
    run(a);
    return machine_seconds(threads) - t0;
}

/* The median over rounds, in each of which one follows the other; the first round warms up. */
static double percent_of(bench *b, attention *dense, attention *sparse)
{
    double ratio[ROUNDS] = {0};
    int threads = bench_threads(b), rounds = bench_is_smoke(b) ? 1 : ROUNDS;
    for (int i = -1; i < rounds; i++) {
        double all = seconds(dense, threads), some = seconds(sparse, threads);
        if (i >= 0) ratio[i] = 100 * some / all;
    }
    return quartiles_of(ratio, rounds).median;
}

static bool measure(bench *b, const pattern *p, bool backward)
{
    double flop = (backward ? 7.0 : 2.0) * 2 * HEADS * T * T * D / EIGHTH;
    bench_case c = {
        .group = backward ? "forward+backward" : "forward", .name = p->name, .flop = flop};
    if (!bench_wants(b, &c)) return true;
    attention a = {.t = at_open(ATTIC_F32, 1), .backward = backward};
    at_shape shape = at_shape_of(1, HEADS, T, D);
    a.Q = at_param(a.t, "Q", shape, at_normal(1));
    a.K = at_param(a.t, "K", shape, at_normal(1));
    a.V = at_param(a.t, "V", shape, at_normal(1));
    a.dO = at_random(a.t, shape, at_normal(1));
    at_tensor *keep = mask_of(a.t, p);
    a.start = at_mark_here(a.t);
    attention sparse = a;
    sparse.keep = keep;
    bench_value(b, &c, "% of the time without a mask", percent_of(b, &a, &sparse), p->most);
    bool ok = at_ok(a.t);
    if (!ok) fprintf(stderr, "attic: %s\n", at_error(a.t));
    at_close(a.t);
    return ok;
}

int main(int argc, char **argv)
{
    bench *b = bench_open(argc, argv, "sparse",
                          "attention under block masks that keep one cell in eight\n", NULL);
    bool ok = true;
    while (bench_next_threads(b))
        for (int backward = 0; backward < 2; backward++)
            for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
                ok = measure(b, &patterns[i], backward) && ok;
    return bench_close(b) || !ok;
}
