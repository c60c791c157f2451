/* gemm.c -- the matrix product that every other product here is made of.
 *
 *   C_ij = alpha sum_k A_ik B_kj + beta C_ij          A [M,K]  B [K,N]  C [M,N]
 *
 * A tile of C is held in registers while the whole sum over k goes by: for each k a row of B, and
 * down the tile one number of A after the other, multiplied into all of that row.
 *
 *                   STRIP = GEMM_VECTORS vectors
 *                  +--------+--------+
 *             k    |  b0    |  b1    |           B
 *                  +--------+--------+
 *        k
 *      +---+       +--------+--------+
 *      | a |       | += a b0| += a b1|           C
 *   A  | a |       |        |        |  GEMM_ROWS
 *      | a |       |        |        |
 *      +---+       +--------+--------+
 *
 * A is read number by number, so that any strides will do; B must lie in rows, and is copied (packed)
 * if it does not, or if it is read so often that its rows had better lie together. */
#include "kernels/gemm.h"

#ifndef ATTIC_PLAIN_KERNELS /* gemm_plain.c otherwise */
#ifndef REAL

#include "kernels/pool.h"
#include <stdalign.h>
#include <stdbool.h>
#include <string.h>

#if defined(__AVX512F__)
enum { GEMM_VECTOR = 64, GEMM_ROWS = 14, GEMM_VECTORS = 2 };
#elif defined(__AVX__)
enum { GEMM_VECTOR = 32, GEMM_ROWS = 6, GEMM_VECTORS = 2 };
#elif defined(__aarch64__)
enum { GEMM_VECTOR = 16, GEMM_ROWS = 8, GEMM_VECTORS = 3 };
#else
enum { GEMM_VECTOR = 16, GEMM_ROWS = 6, GEMM_VECTORS = 2 };
#endif

enum {
    GEMM_DEPTH = 1024, /* bytes of a row of A, and of a row of B, that are taken at once */
    GEMM_WIDTH = 1024,
    GEMM_IN_PLACE = 9,  /* panels of A: for fewer, packing B costs more than it saves */
    GEMM_TASK = 1 << 19 /* multiply-adds that are worth waking a thread for */
};

#define GEMM_INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define GEMM_UNROLL _Pragma("clang loop unroll(full)")
#else
#define GEMM_UNROLL _Pragma("GCC unroll 16")
#endif

#define AT_KERNELS "kernels/gemm.c"
#include "kernels/each_real.h"

#else

#define LANES (GEMM_VECTOR / (int)sizeof(REAL))
#define STRIP (GEMM_VECTORS * LANES)
#define DEPTH (GEMM_DEPTH / (int)sizeof(REAL))
#define WIDTH (GEMM_WIDTH / (int)sizeof(REAL) / STRIP * STRIP)

typedef REAL KERNEL(gemm_vec) __attribute__((vector_size(GEMM_VECTOR)));
typedef REAL KERNEL(gemm_any)
    __attribute__((vector_size(GEMM_VECTOR), aligned(sizeof(REAL)), may_alias));
#define VEC KERNEL(gemm_vec)

GEMM_INLINE VEC KERNEL(gemm_load)(const REAL *p)
{
    return *(const KERNEL(gemm_any) *)p;
}

GEMM_INLINE void KERNEL(gemm_keep)(REAL *p, VEC v)
{
    *(KERNEL(gemm_any) *)p = v;
}

/* ---------------------------------------- one tile ---------------------------------------- */

typedef struct {
    int depth;
    const REAL *A, *B;
    ptrdiff_t a_row, a_col, b_row;
    const REAL *Z; /* what the sums begin with */
    ptrdiff_t z_row;
    REAL alpha, beta;
    REAL *C;
    ptrdiff_t c_row;
} KERNEL(gemm_tile);

GEMM_INLINE void KERNEL(gemm_sums)(const int rows, const int vectors, const KERNEL(gemm_tile) * t)
{
    VEC sum[GEMM_ROWS][GEMM_VECTORS], b[GEMM_VECTORS];
    const REAL *A[(GEMM_ROWS + 2) / 3], *B = t->B;
    const ptrdiff_t a_row = t->a_row;

    GEMM_UNROLL for (int i = 0; i < rows; i++) GEMM_UNROLL for (int v = 0; v < vectors; v++)
        sum[i][v] = KERNEL(gemm_load)(t->Z + i * t->z_row + v * LANES);
    GEMM_UNROLL for (int i = 0; i < rows; i += 3) A[i / 3] = t->A + i * a_row;

    for (int k = 0; k < t->depth; k++) {
        GEMM_UNROLL for (int v = 0; v < vectors; v++) b[v] = KERNEL(gemm_load)(B + v * LANES);
        GEMM_UNROLL for (int i = 0; i < rows; i++)
        {
            const REAL a = A[i / 3][i % 3 * a_row];
            GEMM_UNROLL for (int v = 0; v < vectors; v++) sum[i][v] += a * b[v];
        }
        GEMM_UNROLL for (int i = 0; i < rows; i += 3) A[i / 3] += t->a_col;
        B += t->b_row;
    }

    REAL *C = t->C;
    const REAL alpha = t->alpha, beta = t->beta;
    if (beta != 0)
        GEMM_UNROLL for (int i = 0; i < rows; i++) GEMM_UNROLL for (int v = 0; v < vectors; v++)
            sum[i][v] = alpha * sum[i][v] + beta * KERNEL(gemm_load)(C + i * t->c_row + v * LANES);
    else if (alpha != 1)
        GEMM_UNROLL for (int i = 0; i < rows; i++) GEMM_UNROLL for (int v = 0; v < vectors; v++)
            sum[i][v] *= alpha;
    GEMM_UNROLL for (int i = 0; i < rows; i++) GEMM_UNROLL for (int v = 0; v < vectors; v++)
        KERNEL(gemm_keep)(C + i * t->c_row + v * LANES, sum[i][v]);
}

GEMM_INLINE void KERNEL(gemm_rows)(const int rows, int vectors, const KERNEL(gemm_tile) * t)
{
    if (vectors == 1) KERNEL(gemm_sums)(rows, 1, t);
#if GEMM_VECTORS_3
    if (vectors == 2) KERNEL(gemm_sums)(rows, 2, t);
#endif
    if (vectors == GEMM_VECTORS) KERNEL(gemm_sums)(rows, GEMM_VECTORS, t);
}

static __attribute__((noinline)) void KERNEL(gemm_run)(int rows, int vectors,
                                                       const KERNEL(gemm_tile) * t)
{
    switch (rows) {
    case 1: KERNEL(gemm_rows)(1, vectors, t); break;
    case 2: KERNEL(gemm_rows)(2, vectors, t); break;
    case 3: KERNEL(gemm_rows)(3, vectors, t); break;
    case 4: KERNEL(gemm_rows)(4, vectors, t); break;
    case 5: KERNEL(gemm_rows)(5, vectors, t); break;
    case 6: KERNEL(gemm_rows)(6, vectors, t); break;
#if defined(__AVX512F__)
    case 7: KERNEL(gemm_rows)(7, vectors, t); break;
    case 8: KERNEL(gemm_rows)(8, vectors, t); break;
    case 9: KERNEL(gemm_rows)(9, vectors, t); break;
    case 10: KERNEL(gemm_rows)(10, vectors, t); break;
    case 11: KERNEL(gemm_rows)(11, vectors, t); break;
    case 12: KERNEL(gemm_rows)(12, vectors, t); break;
    case 13: KERNEL(gemm_rows)(13, vectors, t); break;
    case 14: KERNEL(gemm_rows)(14, vectors, t); break;
#endif
    }
}

/* A tile at the edge, or of a C whose rows are not contiguous, is computed in a copy. */
static void KERNEL(gemm_edge)(int rows, int columns, int vectors, const KERNEL(gemm_tile) * t,
                              ptrdiff_t c_col)
{
    alignas(GEMM_VECTOR) REAL copy[GEMM_ROWS][STRIP];
    KERNEL(gemm_tile) inner = *t;
    inner.C = copy[0];
    inner.c_row = STRIP;
    if (t->Z == t->C || t->beta != 0) {
        for (int i = 0; i < rows; i++) {
            for (int j = 0; j < columns; j++) copy[i][j] = t->C[i * t->c_row + j * c_col];
            for (int j = columns; j < vectors * LANES; j++) copy[i][j] = 0;
        }
    }
    if (t->Z == t->C) {
        inner.Z = copy[0];
        inner.z_row = STRIP;
    }
    KERNEL(gemm_run)(rows, vectors, &inner);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) t->C[i * t->c_row + j * c_col] = copy[i][j];
}

/* ---------------------------------------- packing ---------------------------------------- */

/* The first (at = 0) or last (at = LANES / 2) halves of x and y interleaved: x0 y0 x1 y1 ... */
GEMM_INLINE VEC KERNEL(gemm_interleave)(VEC x, VEC y, const int at)
{
#ifdef __clang__
    VEC z;
    GEMM_UNROLL for (int l = 0; l < LANES; l++) z[l] = l % 2 ? y[at + l / 2] : x[at + l / 2];
    return z;
#else
    typedef __typeof__(_Generic((REAL)0, float : (int)0, double : (long long)0)) index;
    index __attribute__((vector_size(GEMM_VECTOR))) from;
    GEMM_UNROLL for (int l = 0; l < LANES; l++) from[l] = l % 2 * LANES + at + l / 2;
    return __builtin_shuffle(x, y, from);
#endif
}

/* to_ij = from_ji, LANES by LANES.  Interleaving the first half of the rows with the second, log2(LANES)
 * times, transposes, as a perfect shuffle of a deck of cards. */
static void KERNEL(gemm_turn)(const REAL *from, ptrdiff_t from_row, REAL *to, ptrdiff_t to_row)
{
    VEC x[LANES], y[LANES];
    GEMM_UNROLL for (int i = 0; i < LANES; i++) x[i] = KERNEL(gemm_load)(from + i * from_row);
    GEMM_UNROLL for (int round = 1; round < LANES; round *= 2)
    {
        GEMM_UNROLL for (int i = 0; i < LANES / 2; i++)
        {
            y[2 * i] = KERNEL(gemm_interleave)(x[i], x[i + LANES / 2], 0);
            y[2 * i + 1] = KERNEL(gemm_interleave)(x[i], x[i + LANES / 2], LANES / 2);
        }
        GEMM_UNROLL for (int i = 0; i < LANES; i++) x[i] = y[i];
    }
    GEMM_UNROLL for (int i = 0; i < LANES; i++) KERNEL(gemm_keep)(to + i * to_row, x[i]);
}

/* P_kj = B_kj for `columns` columns, 0 in those up to `padded`. */
static void KERNEL(gemm_pack_by_one)(int depth, int columns, int padded, const REAL *B,
                                     at_strides b, REAL *P, ptrdiff_t p_row)
{
    for (int k = 0; k < depth; k++, P += p_row) {
        for (int j = 0; j < columns; j++) P[j] = B[k * b.row + j * b.col];
        for (int j = columns; j < padded; j++) P[j] = 0;
    }
}

static void KERNEL(gemm_pack)(int depth, int columns, int padded, const REAL *B, at_strides b,
                              REAL *P)
{
    int k = 0, j = 0;
    if (b.col == 1 && columns == padded)
        for (; k < depth; k++)
            for (j = 0; j < padded; j += LANES)
                KERNEL(gemm_keep)(P + k * padded + j, KERNEL(gemm_load)(B + k * b.row + j));
    else if (b.row == 1)
        for (; k + LANES <= depth; k += LANES) {
            for (j = 0; j + LANES <= columns; j += LANES)
                KERNEL(gemm_turn)(B + k + j * b.col, b.col, P + k * padded + j, padded);
            if (j < padded) KERNEL(gemm_pack_by_one)
            (LANES, columns - j, padded - j, B + k + j * b.col, b, P + k * padded + j, padded);
        }
    KERNEL(gemm_pack_by_one)(depth - k, columns, padded, B + k * b.row, b, P + k * padded, padded);
}

/* ---------------------------------------- a block ---------------------------------------- */

typedef struct {
    int batch, M, N, K;
    REAL alpha, beta;
    const REAL *A, *B;
    REAL *C;
    at_strides a, b, c;
    const REAL *z;          /* NULL, or a row that the sums begin with */
    int rows, columns;      /* of a block of C */
    ptrdiff_t across, down; /* blocks */
    ptrdiff_t count, per_task;
} KERNEL(gemm_job);

/* C [m,n] += A [m,depth] B [depth,n], where `how` tells how sums begin and end. */
static void KERNEL(gemm_slab)(const KERNEL(gemm_job) * g, int m, int n, KERNEL(gemm_tile) how,
                              const REAL *A, const REAL *B, REAL *C, bool add, const REAL *z,
                              REAL *P)
{
    const bool in_place = g->b.col == 1 && m <= GEMM_IN_PLACE * GEMM_ROWS;
    const int panels = (m + GEMM_ROWS - 1) / GEMM_ROWS, depth = how.depth;
    for (int j = 0; j < n; j += STRIP) {
        int columns = n - j < STRIP ? n - j : STRIP;
        int padded = (columns + LANES - 1) / LANES * LANES;
        if (!in_place || columns < padded)
            KERNEL(gemm_pack)(depth, columns, padded, B + j * g->b.col, g->b, P + j * depth);
    }
    for (int panel = 0, i = 0; panel < panels; panel++) {
        int rows = (m - i) / (panels - panel);
        for (int j = 0; j < n; j += STRIP) {
            int columns = n - j < STRIP ? n - j : STRIP, vectors = (columns + LANES - 1) / LANES;
            bool whole = columns == vectors * LANES;
            how.A = A + i * g->a.row;
            how.B = in_place && whole ? B + j : P + j * depth;
            how.b_row = in_place && whole ? g->b.row : vectors * LANES;
            how.C = C + i * g->c.row + j * g->c.col;
            how.Z = add ? how.C : z + j;
            if (whole && g->c.col == 1)
                KERNEL(gemm_run)(rows, vectors, &how);
            else
                KERNEL(gemm_edge)(rows, columns, vectors, &how, g->c.col);
        }
        i += rows;
    }
}

static void KERNEL(gemm_block)(const KERNEL(gemm_job) * g, int first, int last, int i0, int m,
                               int j0, int n)
{
    static const REAL zero[WIDTH];
    alignas(GEMM_VECTOR) REAL P[DEPTH * WIDTH], row[WIDTH];
    const REAL *z = zero;
    const int slabs = g->K > DEPTH ? (g->K - 1) / DEPTH + 1 : 1;
    REAL *C = g->C + first * g->c.batch + i0 * g->c.row + j0 * g->c.col;
    REAL beta = g->beta;
    if (g->batch == 0) {
        last = first;
    }
    if (g->z) {
        memset(row, 0, sizeof row);
        z = memcpy(row, g->z + j0, (size_t)n * sizeof *row);
    }

    for (int b = first; b <= last; b++)
        for (int slab = 0, k0 = 0; slab < slabs; slab++) {
            int depth = (g->K - k0) / (slabs - slab);
            const REAL *A = g->A + b * g->a.batch + i0 * g->a.row + k0 * g->a.col;
            const REAL *B = g->B + b * g->b.batch + k0 * g->b.row + j0 * g->b.col;
            bool add = beta == 1 && g->alpha == 1;
            KERNEL(gemm_tile)
            how = {.depth = g->batch ? depth : 0,
                   .a_row = g->a.row,
                   .a_col = g->a.col,
                   .z_row = add ? g->c.row : 0,
                   .alpha = g->alpha,
                   .beta = add ? 0 : beta,
                   .c_row = g->c.row};
            KERNEL(gemm_slab)(g, m, n, how, A, B, C, add, z, P);
            beta = 1;
            k0 += depth;
        }
}

/* ---------------------------------------- tasks ---------------------------------------- */

static void KERNEL(gemm_task)(void *job, int task, int worker)
{
    (void)worker;
    const KERNEL(gemm_job) *g = job;
    ptrdiff_t begin = task * g->per_task, end = begin + g->per_task;
    if (end > g->count) end = g->count;
    for (ptrdiff_t block = begin; block < end; block++) {
        int j0 = (int)(block % g->across) * g->columns;
        int i0 = (int)(block / g->across % g->down) * g->rows;
        int first = (int)(block / g->across / g->down), last = g->c.batch ? first : g->batch - 1;
        int m = g->M - i0 < g->rows ? g->M - i0 : g->rows;
        int n = g->N - j0 < g->columns ? g->N - j0 : g->columns;
        KERNEL(gemm_block)(g, first, last, i0, m, j0, n);
    }
}

static at_strides KERNEL(gemm_transposed)(at_strides s)
{
    return (at_strides){s.col, s.row, s.batch};
}

static void KERNEL(gemm_from)(int batch, int M, int N, int K, REAL alpha, const REAL *A,
                              at_strides a, const REAL *B, at_strides b, REAL beta, REAL *C,
                              at_strides c, const REAL *z)
{
    int products = c.batch ? batch : 1;
    if (products < 1 || M < 1 || N < 1) return;
    KERNEL(gemm_job)
    g = {batch, M, N, K, alpha,     beta,         A,           B,
         C,     a, b, c, .rows = M, .columns = N, .across = 1, .down = 1};
    g.z = z;
    if (!z && ((c.row == 1 && c.col != 1) || (N <= LANES / 2 && M > N))) {
        g.M = g.rows = N, g.N = g.columns = M, g.A = B, g.B = A;
        g.a = KERNEL(gemm_transposed)(b);
        g.b = KERNEL(gemm_transposed)(a);
        g.c = KERNEL(gemm_transposed)(c);
    }
    double each = (double)M * N * (K + 1.0) * (c.batch ? 1 : batch), work = each * products;
    if (g.columns > WIDTH) g.columns = WIDTH;
    if (g.N % g.columns) g.columns = g.N / (g.N / g.columns + 1) / STRIP * STRIP + STRIP;
    g.across = (g.N + g.columns - 1) / g.columns;
    if (work >= 2 * GEMM_TASK && at_thread_count() > 1) {
        while ((double)products * g.across * g.down < 8) {
            if ((double)g.rows * g.columns * each / M / N < 2 * GEMM_TASK) break;
            if (g.columns >= 2 * STRIP && g.columns * 2 > g.rows) {
                g.columns = (g.columns / STRIP + 1) / 2 * STRIP;
                g.across = (g.N + g.columns - 1) / g.columns;
            } else if (g.rows >= 4 * GEMM_ROWS) {
                g.rows = (g.rows + 1) / 2;
                g.down = (g.M + g.rows - 1) / g.rows;
            } else
                break;
        }
    }
    g.count = products * g.across * g.down;
    double per = GEMM_TASK / (work / (double)g.count) + 1;
    g.per_task = per < (double)g.count ? (ptrdiff_t)per : g.count;
    if (g.per_task < (g.count >> 20) + 1) g.per_task = (g.count >> 20) + 1;
    int tasks = (int)((g.count + g.per_task - 1) / g.per_task);
    if (tasks == 1)
        KERNEL(gemm_task)(&g, 0, 0);
    else
        at_parallel(tasks, KERNEL(gemm_task), &g);
}

void AT_FOR_REAL(gemm)(int batch, int M, int N, int K, REAL alpha, const REAL *A, at_strides a,
                       const REAL *B, at_strides b, REAL beta, REAL *C, at_strides c)
{
    KERNEL(gemm_from)(batch, M, N, K, alpha, A, a, B, b, beta, C, c, NULL);
}

void AT_FOR_REAL(gemm_bias)(int M, int N, int K, const REAL *A, at_strides a, const REAL *B,
                            at_strides b, const REAL *z, REAL *C)
{
    KERNEL(gemm_from)(1, M, N, K, 1, A, a, B, b, 0, C, (at_strides){N, 1, (ptrdiff_t)M * N}, z);
}

#undef LANES
#undef STRIP
#undef DEPTH
#undef WIDTH
#undef VEC
#endif
#endif
