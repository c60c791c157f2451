/* gemm_reference.c -- the matrix product in plain C: what gemm.c computes, made to be read.
 *
 *   C = alpha sum_k A_ik B_kj + beta C          A [M,K]  B [K,N]  C [M,N]
 *
 * Three nested loops, in an order that reads and writes along rows:
 *
 *   for i, for k, for j:    T_ij += A_ik B_kj
 *
 * The innermost loop takes one number of A and a row of B to a row of T, all three contiguous, so
 * the compiler turns it into vectors; taking eight k at a time loads and stores T once for eight
 * products.  For large matrices it runs over tiles that stay in the first-level cache:
 *
 *              j0     COLS                      T    ROWS x COLS    sums of one tile of C
 *            +----+--------+                    P    DEPTH x COLS   the part of B in hand, copied
 *   k0       |    |  P     |  B                                     so that its rows are contiguous
 *   DEPTH    |    |        |                                        and near each other
 *            +----+--------+
 *
 *     k0 DEPTH     j0
 *   +---+---+    +----+--------+
 *   |   |A  | i0 |    |  T     |  C
 *   |   |   |    |    |        |  ROWS
 *   +---+---+    +----+--------+
 *
 * When C has few columns and more rows, the same loops compute C^T = B^T A^T, to have a long row
 * to run along.  One tile is one unit of work; which thread takes it does not matter, since every T_ij is
 * added up in the order of k by whoever computes it. */
#include "kernels/gemm.h"

#include <stdbool.h>

#include "kernels/parallel.h"
#include "kernels/real.h"

enum {
    PLAIN_ROWS = 64,
    PLAIN_DEPTH = 64,
    PLAIN_ROW_BYTES = 512, /* of T and of P: COLS is 128 floats or 64 doubles */
    PLAIN_SHORT_ROW = 64,  /* bytes; a shorter row of C leaves most of a vector idle */
    PLAIN_TASK = 1 << 16   /* multiply-adds that are worth waking a thread for */
};

/* C of a batch cut into tiles: tile = (batch * down + row of tiles) * across + column of tiles */
typedef struct {
    ptrdiff_t down, across, count;
    int rows;           /* of a tile */
    ptrdiff_t per_task; /* tiles */
} plain_gemm_grid;

/* Tiles of ROWS rows use P best.  But if they are few and each is much work (a long K), lower ones
 * give more threads something to do. */
static plain_gemm_grid plain_gemm_cut(ptrdiff_t batch, ptrdiff_t M, ptrdiff_t N, ptrdiff_t K,
                                      int columns)
{
    plain_gemm_grid g = {.rows = PLAIN_ROWS, .across = (N + columns - 1) / columns};
    for (;; g.rows /= 2) {
        ptrdiff_t m = M < g.rows ? M : g.rows, n = N < columns ? N : columns;
        ptrdiff_t work = m * n * (K + 1), most_tasks = 1 << 20;
        g.down = (M + g.rows - 1) / g.rows;
        g.count = batch * g.down * g.across;
        g.per_task = PLAIN_TASK / work + 1;
        if (g.per_task < g.count / most_tasks + 1) g.per_task = g.count / most_tasks + 1;
        if (g.count >= 8 || work < 4 * PLAIN_TASK || m < g.rows || m <= PLAIN_ROWS / 4) return g;
    }
}

#define PLAIN_COLS (PLAIN_ROW_BYTES / (int)sizeof(REAL))

typedef struct {
    plain_gemm_grid grid;
    int batch, M, N, K;
    REAL alpha, beta;
    const REAL *A, *B;
    REAL *C;
    at_strides a, b, c;
    bool sum; /* the products of the batch are summed into one C */
    at_workspace workspace;
} plain_gemm_job;

/* P_kj = B_kj */
static void plain_gemm_pack(int depth, int n, const REAL *B, at_strides b, REAL P[][PLAIN_COLS])
{
    if (b.col == 1)
        for (int k = 0; k < depth; k++)
            for (int j = 0; j < n; j++) P[k][j] = B[k * b.row + j];
    else
        for (int j = 0; j < n; j++)
            for (int k = 0; k < depth; k++) P[k][j] = B[k * b.row + j * b.col];
}

/* t_j += sum_k a_k P_kj, a_k at a[k * step] */
static void plain_gemm_row(int depth, int n, const REAL *restrict a, ptrdiff_t step,
                           const REAL (*restrict P)[PLAIN_COLS], REAL *restrict t)
{
    int k = 0;
    for (; k + 8 <= depth; k += 8, a += 8 * step, P += 8) {
        REAL a0 = a[0], a1 = a[step], a2 = a[2 * step], a3 = a[3 * step];
        REAL a4 = a[4 * step], a5 = a[5 * step], a6 = a[6 * step], a7 = a[7 * step];
        for (int j = 0; j < n; j++) {
            REAL sum = t[j];
            sum += a0 * P[0][j];
            sum += a1 * P[1][j];
            sum += a2 * P[2][j];
            sum += a3 * P[3][j];
            sum += a4 * P[4][j];
            sum += a5 * P[5][j];
            sum += a6 * P[6][j];
            sum += a7 * P[7][j];
            t[j] = sum;
        }
    }
    for (; k < depth; k++, a += step, P++)
        for (int j = 0; j < n; j++) t[j] += a[0] * P[0][j];
}

/* C_ij = alpha T_ij + beta C_ij, C not read if beta is 0 */
static void plain_gemm_store(int m, int n, REAL alpha, REAL T[][PLAIN_COLS], REAL beta, REAL *C,
                             at_strides c)
{
    for (int i = 0; i < m; i++) {
        REAL *to = C + i * c.row;
        if (beta == 0)
            for (int j = 0; j < n; j++) to[j * c.col] = alpha * T[i][j];
        else
            for (int j = 0; j < n; j++) to[j * c.col] = alpha * T[i][j] + beta * to[j * c.col];
    }
}

static void plain_gemm_tile(const plain_gemm_job *g, ptrdiff_t tile, int slot)
{
    void *workspace = (char *)g->workspace.p + (size_t)slot * g->workspace.size;
    REAL(*T)[PLAIN_COLS] = workspace, (*P)[PLAIN_COLS] = T + PLAIN_ROWS;
    ptrdiff_t j0 = tile % g->grid.across * PLAIN_COLS;
    ptrdiff_t i0 = tile / g->grid.across % g->grid.down * g->grid.rows;
    ptrdiff_t first = tile / g->grid.across / g->grid.down, last = g->sum ? g->batch - 1 : first;
    int m = g->M - i0 < g->grid.rows ? (int)(g->M - i0) : g->grid.rows;
    int n = g->N - j0 < PLAIN_COLS ? (int)(g->N - j0) : PLAIN_COLS;

    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) T[i][j] = 0;
    for (ptrdiff_t b = first; b <= last; b++)
        for (ptrdiff_t k0 = 0; k0 < g->K; k0 += PLAIN_DEPTH) {
            int depth = g->K - k0 < PLAIN_DEPTH ? (int)(g->K - k0) : PLAIN_DEPTH;
            const REAL *A = g->A + b * g->a.batch + i0 * g->a.row + k0 * g->a.col;
            const REAL *B = g->B + b * g->b.batch + k0 * g->b.row + j0 * g->b.col;
            plain_gemm_pack(depth, n, B, g->b, P);
            for (int i = 0; i < m; i++)
                plain_gemm_row(depth, n, A + i * g->a.row, g->a.col, P, T[i]);
        }
    REAL *C = g->C + first * g->c.batch + i0 * g->c.row + j0 * g->c.col;
    plain_gemm_store(m, n, g->alpha, T, g->beta, C, g->c);
}

static void plain_gemm_task(void *job, int task, int slot)
{
    const plain_gemm_job *g = job;
    ptrdiff_t begin = task * g->grid.per_task, end = begin + g->grid.per_task;
    if (end > g->grid.count) end = g->grid.count;
    for (ptrdiff_t tile = begin; tile < end; tile++) plain_gemm_tile(g, tile, slot);
}

static at_strides plain_gemm_transposed(at_strides s)
{
    return (at_strides){s.col, s.row, s.batch};
}

void gemm_plain(int batch, int M, int N, int K, REAL alpha, const REAL *A, at_strides a,
                const REAL *B, at_strides b, REAL beta, REAL *C, at_strides c, at_workspace w)
{
    plain_gemm_job g = {{0}, batch, M, N, K, alpha, beta, A, B, C, a, b, c, c.batch == 0, w};
    if (N < M && N * sizeof(REAL) < PLAIN_SHORT_ROW) {
        g.M = N, g.N = M, g.A = B, g.B = A;
        g.a = plain_gemm_transposed(b);
        g.b = plain_gemm_transposed(a);
        g.c = plain_gemm_transposed(c);
    }
    int tiled = g.sum ? 1 : batch;
    if (tiled < 1 || M < 1 || N < 1) return;
    g.grid = plain_gemm_cut(tiled, g.M, g.N, g.sum ? (ptrdiff_t)batch * K : K, PLAIN_COLS);
    at_parallel_slots(w.slots, (int)((g.grid.count + g.grid.per_task - 1) / g.grid.per_task),
                      plain_gemm_task, &g);
}

#ifdef ATTIC_PLAIN_KERNELS
void gemm(int batch, int M, int N, int K, REAL alpha, const REAL *A, at_strides a, const REAL *B,
          at_strides b, REAL beta, REAL *C, at_strides c, at_workspace w)
{
    gemm_plain(batch, M, N, K, alpha, A, a, B, b, beta, C, c, w);
}

void gemm_bias(int M, int N, int K, const REAL *A, at_strides a, const REAL *B, at_strides b,
               const REAL *z, REAL *C, at_workspace w)
{
    for (ptrdiff_t i = 0; i < M; i++)
        for (int j = 0; j < N; j++) C[i * N + j] = z ? z[j] : 0;
    gemm_plain(1, M, N, K, 1, A, a, B, b, 1, C, (at_strides){N, 1, (ptrdiff_t)M * N}, w);
}
#endif

#ifdef AT_ONCE

#ifdef ATTIC_PLAIN_KERNELS
size_t at_gemm_workspace(int M, int N, int K, int columns, size_t real)
{
    (void)M, (void)N, (void)K, (void)columns, (void)real;
    return (PLAIN_ROWS + PLAIN_DEPTH) * PLAIN_ROW_BYTES;
}
#endif

#endif
