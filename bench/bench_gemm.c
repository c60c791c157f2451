/* bench_gemm.c -- matrix products, C = A B, over the shapes that training has.
 *
 *     square    what libraries are usually compared by
 *     linear    layers: X W^T (NT), its gradients dY W (NN) and dY^T X (TN); many rows, few columns
 *     head      the products of attention, a batch of heads: Q K^T (NT), A V (NN), A^T dO (TN)
 *     double    the same in f64
 *     small     where the overhead of a call counts, vectors, and sizes that are no multiple of a
 *               tile
 *
 * N reads a matrix as it is stored, T transposed.  2 M N K flop; at least A, B and C are read or
 * written. */
#include "common/bench.h"

#include <stdio.h>
#include <stdlib.h>

#include "kernels/gemm.h"
#include "kernels/parallel.h"
#include "kernels/real.h"

typedef struct {
    const char *group;
    int M, N, K;
    const char *layout; /* of A and B */
    int batch;
} shape;

typedef struct {
    const shape *s;
    bool f64;
    at_strides a, b, c;
    void *A, *B, *C;
    at_workspace space;
} product;

AT_EACH_REAL(void, bench_product, (const product *p));

void AT_REAL(bench_product)(const product *p)
{
    const shape *s = p->s;
    gemm(s->batch, s->M, s->N, s->K, 1, p->A, p->a, p->B, p->b, 0, p->C, p->c, p->space);
}

#ifdef AT_ONCE

static const shape shapes[] = {
    {"square", 64, 64, 64, "NN", 1},       {"square", 64, 64, 64, "NT", 1},
    {"square", 64, 64, 64, "TN", 1},       {"square", 128, 128, 128, "NN", 1},
    {"square", 128, 128, 128, "NT", 1},    {"square", 128, 128, 128, "TN", 1},
    {"square", 256, 256, 256, "NN", 1},    {"square", 256, 256, 256, "NT", 1},
    {"square", 256, 256, 256, "TN", 1},    {"square", 512, 512, 512, "NN", 1},
    {"square", 1024, 1024, 1024, "NN", 1}, {"square", 1024, 1024, 1024, "NT", 1},
    {"square", 1024, 1024, 1024, "TN", 1}, {"square", 2048, 2048, 2048, "NN", 1},

    {"linear", 512, 64, 64, "NT", 1},      {"linear", 512, 192, 64, "NT", 1},
    {"linear", 512, 256, 64, "NT", 1},     {"linear", 512, 64, 256, "NN", 1},
    {"linear", 256, 64, 512, "TN", 1},     {"linear", 64, 64, 512, "TN", 1},
    {"linear", 2048, 64, 64, "NT", 1},     {"linear", 2048, 256, 64, "NT", 1},
    {"linear", 2048, 64, 256, "NN", 1},    {"linear", 256, 64, 2048, "TN", 1},
    {"linear", 64, 64, 2048, "TN", 1},     {"linear", 2048, 65, 64, "NT", 1},
    {"linear", 512, 128, 128, "NT", 1},    {"linear", 512, 512, 128, "NT", 1},
    {"linear", 2048, 256, 256, "NT", 1},   {"linear", 4096, 256, 256, "NN", 1},
    {"linear", 256, 256, 4096, "TN", 1},   {"linear", 512, 768, 768, "NT", 1},
    {"linear", 512, 3072, 768, "NT", 1},   {"linear", 512, 768, 3072, "NT", 1},
    {"linear", 2048, 768, 768, "NT", 1},   {"linear", 4096, 3072, 768, "NT", 1},
    {"linear", 3072, 768, 2048, "TN", 1},

    {"head", 64, 64, 16, "NT", 32},        {"head", 64, 16, 64, "NN", 32},
    {"head", 64, 16, 64, "TN", 32},        {"head", 64, 64, 64, "NT", 32},
    {"head", 64, 64, 64, "NN", 32},        {"head", 128, 128, 64, "NT", 16},
    {"head", 128, 64, 128, "NN", 16},      {"head", 128, 64, 128, "TN", 16},
    {"head", 1024, 1024, 64, "NT", 4},     {"head", 1024, 64, 1024, "NN", 4},
    {"head", 1024, 64, 1024, "TN", 4},

    {"double", 64, 64, 64, "NN", 1},       {"double", 256, 256, 256, "NN", 1},
    {"double", 1024, 1024, 1024, "NN", 1},

    {"small", 8, 8, 8, "NN", 1},           {"small", 16, 16, 16, "NN", 1},
    {"small", 32, 32, 32, "NN", 1},        {"small", 1, 256, 64, "NT", 1},
    {"small", 1, 768, 768, "NT", 1},       {"small", 65, 65, 65, "NN", 1},
    {"small", 127, 129, 131, "NN", 1},
};

static void run(void *ctx)
{
    const product *p = ctx;
    (p->f64 ? at_bench_product_f64 : at_bench_product_f32)(p);
}

/* A matrix of rows x cols, read transposed if it lies as cols x rows. */
static at_strides strides(int rows, int cols, bool transposed)
{
    ptrdiff_t batch = (ptrdiff_t)rows * cols;
    return transposed ? (at_strides){1, rows, batch} : (at_strides){cols, 1, batch};
}

static void *operand(long n, bool f64)
{
    if (!f64) return bench_floats(n);
    double *x = (double *)bench_floats(2 * n);
    for (long i = 0; i < n; i++) x[i] = (double)(i * 2654435761U % 1024) / 512 - 1;
    return x;
}

static void measure(bench *b, const shape *s)
{
    bool f64 = s->group[0] == 'd';
    double M = s->M, N = s->N, K = s->K, flop = 2 * M * N * K * s->batch;
    double numbers = (M * K + K * N + M * N) * s->batch;
    char name[48], peer[64];
    snprintf(name, sizeof name, "%d x %d x %d %s", s->M, s->N, s->K, s->layout);
    if (s->batch > 1)
        snprintf(name, sizeof name, "%d of %d x %d x %d %s", s->batch, s->M, s->N, s->K, s->layout);
    snprintf(peer, sizeof peer, "gemm %d %d %d %c %c %d %s", s->M, s->N, s->K, s->layout[0],
             s->layout[1], s->batch, f64 ? "f64" : "f32");
    bench_case c = {.group = s->group,
                    .name = name,
                    .x = flop,
                    .flop = flop,
                    .bytes = numbers * (f64 ? 8 : 4),
                    .f64 = f64,
                    .run = run,
                    .peer = peer};
    if (!bench_wants(b, &c)) return;
    product p = {.s = s,
                 .f64 = f64,
                 .a = strides(s->M, s->K, s->layout[0] == 'T'),
                 .b = strides(s->K, s->N, s->layout[1] == 'T'),
                 .c = strides(s->M, s->N, false)};
    p.A = operand(p.a.batch * s->batch, f64);
    p.B = operand(p.b.batch * s->batch, f64);
    p.C = operand(p.c.batch * s->batch, f64);
    p.space = (at_workspace){.size = AT_GEMM_WORKSPACE, .slots = at_thread_count()};
    p.space.p = aligned_alloc(64, p.space.size * (size_t)p.space.slots);
    c.ctx = &p;
    bench_row(b, &c);
    free(p.A);
    free(p.B);
    free(p.C);
    free(p.space.p);
}

int main(int argc, char **argv)
{
    bench *b = bench_open(argc, argv, "gemm", "matrix products over the shapes that training has\n",
                          "openblas,blis,onednn");
    while (bench_next_threads(b))
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) measure(b, &shapes[i]);
    return bench_close(b);
}

#endif
