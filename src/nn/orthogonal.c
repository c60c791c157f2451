/* orthogonal.c -- a matrix whose singular values are all near 1, by products alone.
 *
 *   X [R,C] = U S V^T, the singular value decomposition, is to become U V^T, the orthogonal matrix
 *   that is nearest to it.
 *
 *   X <- X / (|X| + 1e-7)         |X|^2 = sum_ij X_ij^2: then no singular value is above 1
 *   X <- a X + b (X X^T) X + c (X X^T)^2 X                                        `steps` times
 *
 * An odd polynomial of X applies itself to each singular value, s <- a s + b s^3 + c s^5, and
 * leaves U and V as they are (Newton and Schulz; Bjorck, Bowie 1971).  With
 *
 *     a = 3.4445    b = -4.7750    c = 2.0315             (Jordan et al. 2024)
 *
 * a small s grows by 3.4 in a step, and from there on s stays between 0.68 and 1.14: five steps
 * bring whatever is above 0.01 there.  It does not converge to 1, and a step need not be so exact.
 *
 * With n = min(R, C) the powers are those of an n x n matrix, A = X X^T, or X^T X where R > C:
 *
 *     P = a I + (b I + c A) A            X <- P X,  or X P where R > C
 *
 * A and P are symmetric, so of both only the part below the diagonal is multiplied, in stripes of
 * rows, and then mirrored:
 *
 *     |## . . .|
 *     |## ## . |        an element of a product is one sum in a fixed order (gemm.h): its bits do
 *     |## ## ##|        not depend on the stripes, nor on the number of threads
 *
 * X = 0 stays 0. */
#include "nn/orthogonal.h"

#include <string.h>

#include "kernels/real.h"

enum { STRIPE = 64, NORM_LANES = 16 };

/* |X|, of n elements: sums side by side, which then come together */
static WIDE frobenius(ptrdiff_t n, const REAL *X)
{
    WIDE sum[NORM_LANES] = {0};
    ptrdiff_t i = 0;
    for (; i + NORM_LANES <= n; i += NORM_LANES)
        for (int k = 0; k < NORM_LANES; k++) sum[k] += (WIDE)X[i + k] * (WIDE)X[i + k];
    for (int k = 0; i + k < n; k++) sum[k] += (WIDE)X[i + k] * (WIDE)X[i + k];
    for (int apart = NORM_LANES / 2; apart > 0; apart /= 2)
        for (int k = 0; k < apart; k++) sum[k] += sum[k + apart];
    return sqrt(sum[0]);
}

/* C = A B [n,n], K the length of its sums, where that is symmetric. */
static void symmetric(int n, int K, const REAL *A, at_strides a, const REAL *B, at_strides b,
                      REAL *C, at_workspace w)
{
    for (int i = 0; i < n; i += STRIPE) {
        const int rows = n - i < STRIPE ? n - i : STRIPE;
        gemm(1, rows, i + rows, K, 1, A + i * a.row, a, B, b, 0, C + (ptrdiff_t)i * n,
             (at_strides){n, 1, 0}, w);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) C[(ptrdiff_t)j * n + i] = C[(ptrdiff_t)i * n + j];
}

/* B = b I + c A [n,n]; B may be A */
static void add_diagonal(int n, REAL b, REAL c, const REAL *A, REAL *B)
{
    for (ptrdiff_t i = 0; i < (ptrdiff_t)n * n; i++) B[i] = c * A[i];
    for (ptrdiff_t i = 0; i < n; i++) B[i * n + i] += b;
}

/* Y = one step from X.  memory [3,n,n]. */
static void newton_schulz(int rows, int cols, const REAL *X, REAL *Y, REAL *memory, at_workspace w)
{
    const int n = rows < cols ? rows : cols;
    const at_strides x = {cols, 1, 0}, turned = {1, cols, 0}, square = {n, 1, 0};
    REAL *A = memory, *B = A + (ptrdiff_t)n * n, *P = B + (ptrdiff_t)n * n;
    if (rows > cols)
        symmetric(n, rows, X, turned, X, x, A, w);
    else
        symmetric(n, cols, X, x, X, turned, A, w);
    add_diagonal(n, (REAL)-4.7750, (REAL)2.0315, A, B);
    symmetric(n, n, B, square, A, square, P, w);
    add_diagonal(n, (REAL)3.4445, 1, P, P);
    if (rows > cols)
        gemm(1, rows, cols, n, 1, X, x, P, square, 0, Y, x, w);
    else
        gemm(1, rows, cols, n, 1, P, square, X, x, 0, Y, x, w);
}

void AT_REAL(orthogonal)(int rows, int cols, int steps, void *matrix, void *memory, at_workspace w)
{
    const ptrdiff_t count = (ptrdiff_t)rows * cols;
    REAL *X = matrix, *Y = memory, *squares = Y + count;
    const REAL factor = (REAL)OVER((WIDE)1, frobenius(count, X) + (WIDE)1e-7);
    for (ptrdiff_t i = 0; i < count; i++) X[i] *= factor;
    for (int k = 0; k < steps; k++) {
        newton_schulz(rows, cols, X, Y, squares, w);
        REAL *swap = X;
        X = Y, Y = swap;
    }
    if (X != matrix) memcpy(matrix, X, (size_t)count * sizeof *X);
}

#ifdef AT_ONCE

ptrdiff_t at_orthogonal_memory(int rows, int cols)
{
    const ptrdiff_t n = rows < cols ? rows : cols;
    return (ptrdiff_t)rows * cols + 3 * n * n;
}

#endif
