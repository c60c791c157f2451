/* gemm.h -- the matrix product that every other product here is made of. */
#ifndef AT_KERNELS_GEMM_H
#define AT_KERNELS_GEMM_H
#include "kernels/real.h"
#include <stddef.h>

/* Element (i, j) of matrix b is at p[b*batch + i*row + j*col].  A transpose swaps row and col,
 * a matrix shared by the whole batch has batch = 0. */
typedef struct {
    ptrdiff_t row, col, batch;
} at_strides;

/* Memory for copies of parts of A and B: slots of `size` bytes, one behind the other.  p and size
 * are multiples of 64.  A product is computed by at most `slots` threads at once. */
typedef struct {
    void *p;
    size_t size;
    int slots;
} at_workspace;

/* The bytes of a slot for a product of these sizes in any order: for C = A B as for dA = dC B^T and
 * dB = A^T dC.  At most `columns` of B are copied at a time: AT_GEMM_COLUMNS is fastest, 64 the
 * fewest that are enough.  real: the size of an element. */
size_t at_gemm_workspace(int M, int N, int K, int columns, size_t real);
enum { AT_GEMM_COLUMNS = 384, AT_GEMM_WORKSPACE = 640 << 10 /* suffices for all */ };

static inline int gemm_least(int a, int b)
{
    return a < b ? a : b;
}

/* C_b = alpha A_b B_b + beta C_b      A_b [M,K]  B_b [K,N]  C_b [M,N]      b = 0 .. batch-1
 *
 * beta = 0 overwrites: C is not read and may hold anything, NaN included.  K = 0 leaves beta C.
 * beta has no tangent; alpha may have one.
 * c.batch = 0 means that there is one C for the whole batch, and it gets the sum,
 *
 *   C = alpha (A_0 B_0 + A_1 B_1 + ...) + beta C
 *
 * (a gradient of a broadcast operand is such a sum); batch = 0 leaves beta C.
 *
 * NaN and infinity spread as in three loops: to C_ij from row i of A and column j of B, and nowhere
 * else.  C must not overlap A or B.  Cannot fail.
 *
 * The sum of C_ij takes one k after the other, in order, product by product if a batch is summed,
 * and begins with C_ij where alpha and beta are 1 (gemm_goes_on).  So its bits depend on row i of
 * A, column j of B, C_ij, alpha, beta and on nothing else: not on M, N, i, j, strides, threads.
 * The tangent of C_ij is such a sum, too, for all k of V U, then for all k of T W (gemm_dual.c). */
#define gemm_goes_on(alpha, beta) (VALUE(alpha) == 1 && TANGENT(alpha) == 0 && VALUE(beta) == 1)
void gemm(int batch, int M, int N, int K, REAL alpha, const REAL *A, at_strides a, const REAL *B,
          at_strides b, REAL beta, REAL *C, at_strides c, at_workspace w);

/* C_ij = z_j + sum_k A_ik B_kj, no slower than without z.  C has contiguous rows; z = NULL is 0. */
void gemm_bias(int M, int N, int K, const REAL *A, at_strides a, const REAL *B, at_strides b,
               const REAL *z, REAL *C, at_workspace w);

/* gemm as three loops in plain C, several times slower: for builds with PLAIN=1, and for tests to
 * compare the other with.  Of w only the number of slots counts. */
void gemm_plain(int batch, int M, int N, int K, REAL alpha, const REAL *A, at_strides a,
                const REAL *B, at_strides b, REAL beta, REAL *C, at_strides c, at_workspace w);

#endif
