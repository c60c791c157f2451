/* gemm_reference.c -- the matrix product in plain C: what gemm.c computes, made to be read.
 *
 *   C_ij = alpha sum_k A_ik B_kj + beta C_ij          A [M,K]  B [K,N]  C [M,N]
 *
 *   for i, for k, for j:    t_j += A_ik B_kj          t_j: the sum of C_ij, in the order of k,
 *                                                     from C_ij on where alpha and beta are 1
 *
 * The loops read along the rows of B; t, PLAIN_COLUMNS long, stays in the first-level cache. */
#include "kernels/gemm.h"

#include <stdbool.h>

#include "kernels/parallel.h"
#include "kernels/real.h"

enum { PLAIN_COLUMNS = 128 };

/* The rows of all C of a batch, one after the other; of one C if the products are summed. */
typedef struct {
    int batch, M, N, K;
    REAL alpha, beta;
    const REAL *A, *B;
    REAL *C;
    at_strides a, b, c;
} plain_gemm_job;

/* Columns j0 .. j0+n-1 of row i of C; products first .. last of the batch are summed. */
static void plain_gemm_part(const plain_gemm_job *g, ptrdiff_t first, ptrdiff_t last, ptrdiff_t i,
                            ptrdiff_t j0, int n)
{
    REAL t[PLAIN_COLUMNS], *C = g->C + first * g->c.batch + i * g->c.row + j0 * g->c.col;
    const bool goes_on = gemm_goes_on(g->alpha, g->beta);
    for (int j = 0; j < n; j++) t[j] = goes_on ? C[j * g->c.col] : 0;
    for (ptrdiff_t b = first; b <= last; b++)
        for (ptrdiff_t k = 0; k < g->K; k++) {
            const REAL a = g->A[b * g->a.batch + i * g->a.row + k * g->a.col];
            const REAL *B = g->B + b * g->b.batch + k * g->b.row + j0 * g->b.col;
            for (int j = 0; j < n; j++) t[j] = mul_add(a, B[j * g->b.col], t[j]);
        }
    if (goes_on || VALUE(g->beta) == 0)
        for (int j = 0; j < n; j++) C[j * g->c.col] = g->alpha * t[j];
    else
        for (int j = 0; j < n; j++)
            C[j * g->c.col] = mul_add(g->beta, C[j * g->c.col], g->alpha * t[j]);
}

static void plain_gemm_rows(void *job, ptrdiff_t from, ptrdiff_t to, int slot)
{
    (void)slot;
    const plain_gemm_job *g = job;
    for (ptrdiff_t row = from; row < to; row++) {
        const ptrdiff_t first = row / g->M, last = g->c.batch == 0 ? g->batch - 1 : first;
        for (int j = 0, left; (left = g->N - j) > 0; j += PLAIN_COLUMNS)
            plain_gemm_part(g, first, last, row % g->M, j,
                            left < PLAIN_COLUMNS ? left : PLAIN_COLUMNS);
    }
}

void gemm_plain(int batch, int M, int N, int K, REAL alpha, const REAL *A, at_strides a,
                const REAL *B, at_strides b, REAL beta, REAL *C, at_strides c, at_workspace w)
{
    plain_gemm_job g = {batch, M, N, K, alpha, beta, A, B, C, a, b, c};
    const int products = c.batch == 0 ? 1 : batch, summed = c.batch == 0 ? batch : 1;
    const double work = 0.125 * N * (K + 1.0) * summed; /* 8 multiply-adds count as an element */
    if (products < 1 || M < 1 || N < 1) return;
    at_for((ptrdiff_t)products * M, (ptrdiff_t)fmin(work, 1e9), w.slots, plain_gemm_rows, &g);
}

#if defined(ATTIC_PLAIN_KERNELS) && !defined(AT_DUAL)
void gemm(int batch, int M, int N, int K, REAL alpha, const REAL *A, at_strides a, const REAL *B,
          at_strides b, REAL beta, REAL *C, at_strides c, at_workspace w)
{
    gemm_plain(batch, M, N, K, alpha, A, a, B, b, beta, C, c, w);
}
#endif

#if defined(ATTIC_PLAIN_KERNELS) || defined(AT_DUAL)
void gemm_bias(int M, int N, int K, const REAL *A, at_strides a, const REAL *B, at_strides b,
               const REAL *z, REAL *C, at_workspace w)
{
    for (ptrdiff_t i = 0; i < M; i++)
        for (int j = 0; j < N; j++) C[i * N + j] = z ? z[j] : 0;
    gemm(1, M, N, K, 1, A, a, B, b, 1, C, (at_strides){N, 1, (ptrdiff_t)M * N}, w);
}

#if defined(ATTIC_PLAIN_KERNELS) && defined(AT_ONCE)
size_t at_gemm_workspace(int M, int N, int K, int columns, size_t real)
{
    return (void)M, (void)N, (void)K, (void)columns, (void)real, 64; /* never 0 */
}
#endif
#endif
