/* normalize.c -- give every row the length 1.
 *
 *   x, y [..., N]       every row of N elements is independent
 *
 *   forward    |x| = sqrt(sum_k x_k^2)
 *              n   = max(|x|, eps)
 *              y_j = x_j / n
 *
 * The products of two such rows are the cosines of the angles between them.
 *
 *   backward   where |x| >= eps, x_i reaches y_j directly and through n = |x|:
 *
 *              dn/dx_i   = x_i / |x| = y_i
 *
 *              dy_j/dx_i = 1[i=j] / n - x_j / n^2 dn/dx_i
 *                        = (1[i=j] - y_j y_i) / n
 *
 *              dx_i = sum_j dy_j dy_j/dx_i
 *                   = (dy_i - y_i sum_j dy_j y_j) / n
 *
 * What points along the row is taken out of the gradient: a stretch of x is not felt.  Below eps n
 * is a constant, and
 *
 *              dx_i = dy_i / eps
 *
 * Saved is one value a row, |x|.
 *
 * The squares are summed in double.  On a tape of f32 none of them overflows or vanishes: y is
 * right as long as |x| itself is finite.  On one of f64 they do where |x| is above 1e154, which
 * makes it infinite, or below 1e-154, which only an eps that is still smaller lets show.
 *
 * Edges: an infinite |x| gives 0 for each finite element, and dx = 0; an infinite element is NaN,
 * and a NaN makes its whole row NaN.  A row of zeros gives y = 0; with eps = 0 it gives NaN.
 */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/map_rows.h"

AT_BOTH(normalize);

static const at_row_op normalize_rows = {.saved = 1 /* |x| */};

/* sum_j x_j^2, in chains of WIDE */
static WIDE normalize_squares(int N, const REAL *x)
{
    enum { CHAINS = 16 };
    WIDE sum[CHAINS] = {0};
    int j = 0;
    for (; j + CHAINS <= N; j += CHAINS)
        for (int k = 0; k < CHAINS; k++) sum[k] = mul_add((WIDE)x[j + k], (WIDE)x[j + k], sum[k]);
    for (int k = 0; j + k < N; k++) sum[k] = mul_add((WIDE)x[j + k], (WIDE)x[j + k], sum[k]);
    for (int k = 1; k < CHAINS; k++) sum[0] += sum[k];
    return sum[0];
}

/* y_j = x_j / n */
static void normalize_y(const at_chunk *row, void *restrict values)
{
    const int N = row->n;
    const REAL *x = row->in[0], eps = (REAL) * (const double *)row->args;
    REAL *y = values, *length = row->saved;
    *length = (REAL)sqrt(normalize_squares(N, x));
    const REAL n = VALUE(*length) < VALUE(eps) ? eps : *length;
    for (int j = 0; j < N; j++) y[j] = OVER(x[j], n);
}

/* dx_j = (dy_j - y_j sum_k dy_k y_k) / n, without the sum below eps */
static void normalize_dx(const at_chunk *row, void *restrict values)
{
    const int N = row->n;
    const REAL length = *(const REAL *)row->saved, eps = (REAL) * (const double *)row->args;
    const REAL *y = row->y, *restrict dy = row->dy;
    REAL *restrict dx = values;
    const bool is_short = VALUE(length) < VALUE(eps);
    const REAL n = is_short ? eps : length, dot = is_short ? 0 : row_dot(N, dy, y);
    for (int j = 0; j < N; j++) dx[j] = OVER(mul_add(-y[j], dot, dy[j]), n);
}

AT_MAP_ROWS(normalize_forward, normalize_rows, normalize_y)
AT_MAP_ROWS_BACK(normalize_backward, normalize_rows, normalize_dx)

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op normalize_op = {.name = "normalize", AT_BOTH_KERNELS(normalize)};

at_tensor *at_normalize(at_tape *t, at_tensor *x, double eps)
{
    if (!at_check_norm(t, "normalize", x, eps)) return NULL;
    return at_record_rows(t, &normalize_op, &normalize_rows, AT_IN(x), x->shape, &eps, sizeof eps);
}

#endif
