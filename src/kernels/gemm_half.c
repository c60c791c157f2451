/* gemm_half.c -- a matrix product whose B is stored in 16 bits; see half.h.
 *
 *                 N  HALF_COLUMNS              a block of B is widened into the workspace, then
 *              +-----+-----+--                 multiplied with the rows of A of this task:
 *        K     |     |     |
 *   HALF_DEPTH +-----+-----+--                    C += A[rows, depth] B[depth, columns]
 *              |     |#####|
 *              +-----+-----+--                 one block after the other along k
 *
 * Each element of B is widened once for HALF_ROWS rows of A, and read from the cache from then on.
 * For one row, as where a model writes a text, that does not pay: its sums are in registers, and B
 * is widened on its way to them.  The time is spent on reading B from memory, from where
 * half as many bytes come.  (If the columns of B are contiguous, blocks are narrow instead, and
 * stay in the first-level cache.) */
#include "kernels/half.h"

#include "kernels/parallel.h"
#include "kernels/real.h"
#include "kernels/simd_half.h"

enum { HALF_ROWS = 256, HALF_COLUMNS = 256, HALF_DEPTH = 128 };
enum { HALF_NARROW = 32 }; /* columns of a block for one row */
/* Vectors of sums for one row: half of the registers. */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { HALF_VECTORS = 16 };
#else
enum { HALF_VECTORS = 8 };
#endif

typedef struct {
    int batch, M, N, K;
    const REAL *A;
    const uint16_t *B;
    bool add; /* C += A B, else C = A B */
    REAL *C;
    at_strides a, b, c;
    at_workspace workspace;
    bool bf16, sum; /* sum: the products of the batch are summed into one C */
    int down, across;
} half_job;

/* Of a block, in whole cache lines. */
static size_t half_bytes(int columns, int depth, size_t real)
{
    return ((size_t)columns * (size_t)depth * real + 63) / 64 * 64;
}

/* Widens B [depth,n] and returns its strides: rows stay rows, columns columns. */
static at_strides half_block(const half_job *g, int depth, int n, const uint16_t *B, REAL *block)
{
    const bool rows = g->b.col == 1;
    const ptrdiff_t step = rows ? g->b.row : g->b.col;
    const int lines = rows ? depth : n, length = rows ? n : depth;
    for (ptrdiff_t i = 0; i < lines; i++) widen(length, g->bf16, B + i * step, block + i * length);
    return rows ? (at_strides){n, 1, 0} : (at_strides){1, depth, 0};
}

/* C [m,n] += A B or = A B, by blocks. */
static void half_blocks(const half_job *g, char *space, int m, int n, const REAL *A,
                        const uint16_t *B, bool add, REAL *C)
{
    const int most = gemm_least(g->K > 0 ? g->K : 1, HALF_DEPTH);
    const size_t bytes = half_bytes(n, most, sizeof(REAL));
    const at_workspace inner = {space + bytes, g->workspace.size - bytes, 1};
    for (int k = 0, depth; k == 0 || k < g->K; k += most, add = true) {
        depth = gemm_least(g->K - k, most);
        const at_strides b = half_block(g, depth, n, B + k * g->b.row, (REAL *)space);
        gemm(1, m, n, depth, 1, A + k * g->a.col, g->a, (REAL *)space, b, add, C, g->c, inner);
    }
}

/* The same for one row and for `vectors` vectors of columns. */
VEC_INLINE void half_sums(const int vectors, const bool bf16, const half_job *g, const REAL *A,
                          const uint16_t *B, bool add, REAL *C)
{
    vec sum[HALF_VECTORS];
    VEC_UNROLL
    for (int v = 0; v < vectors; v++) sum[v] = add ? vec_load(C + v * VEC_LANES) : (vec){0};
    for (int k = g->K; k > 0; k--, A += g->a.col, B += g->b.row) VEC_UNROLL
    for (int v = 0; v < vectors; v++)
        sum[v] = vec_mul_add(vec_of(*A), half_load(bf16, B + v * VEC_LANES), sum[v]);
    VEC_UNROLL
    for (int v = 0; v < vectors; v++) vec_store(C + v * VEC_LANES, sum[v]);
}

/* For one row: C += A B or = A B in as many columns, from the first on, as whole vectors hold.
 * Returns how many. */
static int half_row(const half_job *g, int m, int n, const REAL *A, const uint16_t *B, bool add,
                    REAL *C)
{
    const int wide = HALF_VECTORS * VEC_LANES;
    int j = 0;
    if (m > 1 || g->b.col != 1 || g->c.col != 1) return 0;
    for (; n - j >= wide; j += wide)
        g->bf16 ? half_sums(HALF_VECTORS, true, g, A, B + j, add, C + j)
                : half_sums(HALF_VECTORS, false, g, A, B + j, add, C + j);
    for (; n - j >= VEC_LANES; j += VEC_LANES)
        g->bf16 ? half_sums(1, true, g, A, B + j, add, C + j)
                : half_sums(1, false, g, A, B + j, add, C + j);
    return j;
}

/* C from row i and column j on, in products first .. last of the batch. */
static void half_part(const half_job *g, int slot, int first, int last, int i, int j)
{
    const int m = gemm_least(g->M - i, HALF_ROWS), n = gemm_least(g->N - j, HALF_COLUMNS);
    REAL *C = g->C + first * g->c.batch + i * g->c.row + j * g->c.col;
    bool add = g->add;
    for (int product = first; product <= last; product++, add = true) {
        const REAL *A = g->A + product * g->a.batch + i * g->a.row;
        const uint16_t *B = g->B + product * g->b.batch + j * g->b.col;
        const int done = half_row(g, m, n, A, B, add, C);
        for (int from = done, columns; from < n; from += columns) {
            columns = gemm_least(n - from, m == 1 ? HALF_NARROW : n);
            half_blocks(g, (char *)g->workspace.p + (size_t)slot * g->workspace.size, m, columns, A,
                        B + from * g->b.col, add, C + from * g->c.col);
        }
    }
}

static void half_parts(void *job, ptrdiff_t part, ptrdiff_t to, int slot)
{
    const half_job *g = job;
    for (; part < to; part++) {
        const int j = (int)(part % g->across) * HALF_COLUMNS;
        const int i = (int)(part / g->across % g->down) * HALF_ROWS;
        const int first = (int)(part / g->across / g->down);
        half_part(g, slot, first, g->sum ? g->batch - 1 : first, i, j);
    }
}

void gemm_half(int batch, int M, int N, int K, const REAL *A, at_strides a, bool bf16,
               const uint16_t *B, at_strides b, bool add, REAL *C, at_strides c, at_workspace w)
{
    half_job g = {batch, M, N, K, A, B, add, C, a, b, c, w, bf16, c.batch == 0, 0, 0};
    if (M < 1 || N < 1 || (batch < 1 && !g.sum)) return;
    if (batch < 1) g.batch = 1, g.K = 0; /* a sum of no products */
    g.down = (M - 1) / HALF_ROWS + 1;
    g.across = (N - 1) / HALF_COLUMNS + 1;
    const double each = (gemm_least(M, HALF_ROWS) / 8.0 + 1) * gemm_least(N, HALF_COLUMNS) * g.K;
    at_for((ptrdiff_t)g.down * g.across * (g.sum ? 1 : batch), (ptrdiff_t)fmin(each, 1e9), w.slots,
           half_parts, &g);
}

#ifdef AT_ONCE

size_t at_gemm_half_workspace(int M, int N, int K, size_t real)
{
    const int wide = N > K ? N : K, columns = gemm_least(wide, HALF_COLUMNS);
    const int depth = gemm_least(wide, HALF_DEPTH);
    return half_bytes(columns, depth, real) +
           at_gemm_workspace(gemm_least(M, HALF_ROWS), columns, depth, HALF_COLUMNS, real);
}

#endif
