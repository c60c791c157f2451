/* gemm_dual.c -- the matrix product of dual numbers (dual.h): three of doubles in one.
 *
 *   A = V + e T,  B = W + e U:      A B = V W + e (V U + T W)
 *
 * A block of B is copied apart, values here and tangents there, so that the loops over them
 * become vectors; the sums of a few rows of C stay on the stack.  They take one k after the
 * other, as those of gemm.c do. */
#include "kernels/gemm.h"

#include "kernels/parallel.h"
#include "kernels/real.h"

enum { DUAL_ROWS = 8, DUAL_COLUMNS = 64, DUAL_DEPTH = 16 };

typedef struct {
    double value[DUAL_COLUMNS], tangent[DUAL_COLUMNS];
} dual_row;

#ifdef AT_DUAL
typedef struct {
    int batch, M, N, K;
    REAL alpha, beta;
    const REAL *A, *B;
    REAL *C;
    at_strides a, b, c;
    int down; /* blocks of rows */
} dual_gemm_job;

/* sum += A B, for a row of A and a block of B */
static void dual_row_add(int depth, const REAL *A, ptrdiff_t step, const dual_row *B, dual_row *sum)
{
    double *restrict value = sum->value, *restrict tangent = sum->tangent;
    for (int k = 0; k < depth; k++, A += step, B++) {
        const double v = VALUE(*A), t = TANGENT(*A);
        for (int j = 0; j < DUAL_COLUMNS; j++) {
            value[j] += v * B->value[j];
            tangent[j] += v * B->tangent[j] + t * B->value[j];
        }
    }
}

/* Rows i .. i+m-1 and columns j .. j+n-1 of C; products first .. last of the batch are summed. */
static void dual_gemm_block(const dual_gemm_job *g, ptrdiff_t first, ptrdiff_t last, ptrdiff_t i,
                            int m, ptrdiff_t j, int n)
{
    const int goes_on = gemm_goes_on(g->alpha, g->beta);
    dual_row sum[DUAL_ROWS] = {0}, block[DUAL_DEPTH] = {0};
    REAL *C = g->C + first * g->c.batch + i * g->c.row + j * g->c.col;
    for (int r = 0; goes_on && r < m; r++)
        for (int c = 0; c < n; c++) {
            sum[r].value[c] = VALUE(C[r * g->c.row + c * g->c.col]);
            sum[r].tangent[c] = TANGENT(C[r * g->c.row + c * g->c.col]);
        }
    for (ptrdiff_t b = first; b <= last; b++)
        for (int k = 0, depth; k < g->K; k += depth) {
            depth = g->K - k < DUAL_DEPTH ? g->K - k : DUAL_DEPTH;
            const REAL *B = g->B + b * g->b.batch + k * g->b.row + j * g->b.col;
            for (int l = 0; l < depth; l++)
                for (int c = 0; c < n; c++) {
                    block[l].value[c] = VALUE(B[l * g->b.row + c * g->b.col]);
                    block[l].tangent[c] = TANGENT(B[l * g->b.row + c * g->b.col]);
                }
            const REAL *A = g->A + b * g->a.batch + i * g->a.row + k * g->a.col;
            for (int r = 0; r < m; r++)
                dual_row_add(depth, A + r * g->a.row, g->a.col, block, &sum[r]);
        }
    for (int r = 0; r < m; r++)
        for (int c = 0; c < n; c++) {
            REAL *to = C + r * g->c.row + c * g->c.col;
            const REAL y = g->alpha * dual_of(sum[r].value[c], sum[r].tangent[c]);
            *to = goes_on || VALUE(g->beta) == 0 ? y : y + g->beta * *to;
        }
}

static void dual_gemm_rows(void *job, ptrdiff_t from, ptrdiff_t to, int slot)
{
    (void)slot;
    const dual_gemm_job *g = job;
    for (; from < to; from++) {
        const ptrdiff_t first = from / g->down, i = from % g->down * DUAL_ROWS;
        const ptrdiff_t last = g->c.batch == 0 ? g->batch - 1 : first;
        const int m = g->M - i < DUAL_ROWS ? (int)(g->M - i) : DUAL_ROWS;
        for (int j = 0; j < g->N; j += DUAL_COLUMNS)
            dual_gemm_block(g, first, last, i, m, j,
                            g->N - j < DUAL_COLUMNS ? g->N - j : DUAL_COLUMNS);
    }
}

void gemm(int batch, int M, int N, int K, REAL alpha, const REAL *A, at_strides a, const REAL *B,
          at_strides b, REAL beta, REAL *C, at_strides c, at_workspace w)
{
    dual_gemm_job g = {batch, M, N, K, alpha, beta, A, B, C, a, b, c, (M - 1) / DUAL_ROWS + 1};
    const int products = c.batch == 0 ? 1 : batch, summed = c.batch == 0 ? batch : 1;
    if (products < 1 || M < 1 || N < 1) return;
    const double work = DUAL_ROWS * 0.5 * N * (K + 1.0) * summed;
    at_for((ptrdiff_t)products * g.down, (ptrdiff_t)fmin(work, 1e9), w.slots, dual_gemm_rows, &g);
}
#endif
