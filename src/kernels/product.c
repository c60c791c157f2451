/* product.c -- products of small matrices that lie in cache already; see product.h.
 *
 *   C_ij = alpha sum_k A_ik B_kj + beta C_ij
 *
 * C is cut into blocks that fit into registers, m rows by two vectors.  A step takes two vectors of a
 * row of B and m numbers of A, and multiplies all with all:
 *
 *                      B_k   b0      b1             loads per step     2 + m
 *                 A_0k     sum00   sum01            multiply-adds      2 m
 *                 A_1k     sum10   sum11
 *                  ...       ...     ...            m = 8: 16 sums run side by side, which hides how
 *                 A_7k     sum70   sum71            long one addition takes
 *
 * The last rows are blocks of 4, 2 and 1; the last columns blocks of one vector, perhaps not full.
 * Each sum runs along k from 0 in every kind of block, so its bits do not depend on the kind. */
#include "kernels/product.h"
#include "kernels/vector.h"

#ifndef REAL

/* so many rows that the sums fit into the registers */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { PRODUCT_ROWS = 12 };
#else
enum { PRODUCT_ROWS = 4 };
#endif

#if defined(__clang__)
#define PRODUCT_UNROLL _Pragma("clang loop unroll(full)")
#else
#define PRODUCT_UNROLL _Pragma("GCC unroll 12")
#endif

#define AT_KERNELS "kernels/product.c"
#include "kernels/each_real.h"

#else

typedef struct {
    int K;
    REAL alpha, beta;
    ptrdiff_t a_row, a_col, b_row, c_row;
} KERNEL(product);

VEC_INLINE void KERNEL(product_store)(const KERNEL(product) * o, int lanes, KERNEL(vec) sum,
                                      REAL *C)
{
    KERNEL(vec) y = o->alpha * sum;
    if (lanes == VEC_LANES) {
        if (o->beta != 0) y += o->beta * KERNEL(vec_load)(C);
        KERNEL(vec_store)(C, y);
    } else {
        if (o->beta != 0) y += o->beta * KERNEL(vec_load_first)(lanes, C);
        KERNEL(vec_store_first)(lanes, C, y);
    }
}

/* m rows by n vectors, of the last of which so many lanes count */
VEC_INLINE void KERNEL(product_block)(const int m, const int n, const int lanes,
                                      const KERNEL(product) * o, const REAL *A, const REAL *B,
                                      REAL *C)
{
    KERNEL(vec) sum[PRODUCT_ROWS][2], b[2];
    const ptrdiff_t a_row = o->a_row, a_col = o->a_col, b_row = o->b_row;
    const int K = o->K;
    PRODUCT_UNROLL
    for (int i = 0; i < m; i++) sum[i][0] = sum[i][1] = (KERNEL(vec)){0};

    for (int k = 0; k < K; k++, B += b_row, A += a_col) {
        if (lanes == VEC_LANES)
            b[0] = KERNEL(vec_load)(B);
        else
            b[0] = KERNEL(vec_load_first)(lanes, B);
        if (n == 2) b[1] = KERNEL(vec_load)(B + VEC_LANES);
        PRODUCT_UNROLL
        for (int i = 0; i < m; i++) {
            sum[i][0] += A[i * a_row] * b[0];
            if (n == 2) sum[i][1] += A[i * a_row] * b[1];
        }
    }
    PRODUCT_UNROLL
    for (int i = 0; i < m; i++, C += o->c_row) {
        KERNEL(product_store)(o, lanes, sum[i][0], C);
        if (n == 2) KERNEL(product_store)(o, VEC_LANES, sum[i][1], C + VEC_LANES);
    }
}

/* All rows of one panel: n vectors of columns. */
VEC_INLINE void KERNEL(product_panel)(const int n, const int lanes, int M,
                                      const KERNEL(product) * o, const REAL *A, const REAL *B,
                                      REAL *C)
{
    int i = 0;
    for (; i + PRODUCT_ROWS <= M; i += PRODUCT_ROWS)
        KERNEL(product_block)(PRODUCT_ROWS, n, lanes, o, A + i * o->a_row, B, C + i * o->c_row);
    for (int m = 8; i < M; m /= 2) {
        if (i + m > M) continue;
        const REAL *A_i = A + i * o->a_row;
        REAL *C_i = C + i * o->c_row;
        if (m == 8 && PRODUCT_ROWS > 8) KERNEL(product_block)(8, n, lanes, o, A_i, B, C_i);
        if (m == 4 && PRODUCT_ROWS > 4) KERNEL(product_block)(4, n, lanes, o, A_i, B, C_i);
        if (m == 2) KERNEL(product_block)(2, n, lanes, o, A_i, B, C_i);
        if (m == 1) KERNEL(product_block)(1, n, lanes, o, A_i, B, C_i);
        i += m;
    }
}

void AT_FOR_REAL(product)(int M, int N, int K, REAL alpha, const REAL *A, ptrdiff_t a_row,
                          ptrdiff_t a_col, const REAL *B, ptrdiff_t b_row, REAL beta, REAL *C,
                          ptrdiff_t c_row)
{
    const KERNEL(product) o = {K, alpha, beta, a_row, a_col, b_row, c_row};
    int j = 0;
    for (; j + 2 * VEC_LANES <= N; j += 2 * VEC_LANES)
        KERNEL(product_panel)(2, VEC_LANES, M, &o, A, B + j, C + j);
    if (j + VEC_LANES <= N) {
        KERNEL(product_panel)(1, VEC_LANES, M, &o, A, B + j, C + j);
        j += VEC_LANES;
    }
    if (j < N) KERNEL(product_panel)(1, N - j, M, &o, A, B + j, C + j);
}

#endif
