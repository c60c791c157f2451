/* logsumexp.c -- the logarithm of a sum of exponentials: a smooth maximum.
 *
 *   x [..., N]   y [..., 1]       every row of N elements is independent
 *
 *   forward    y = log sum_k exp(x_k) = m + log sum_k exp(x_k - m),      m = max_k x_k
 *
 *   backward   dy/dx_j = exp(x_j) / sum_k exp(x_k) = p_j                 the softmax
 *
 *              dx_j = p_j dy
 *
 * Saved are two values a row, m and 1 / sum_k exp(x_k - m), as in cross_entropy.c: of y alone, the
 * last digits of p would be lost as soon as x is large.
 *
 * Edges: a row of -inf gives y = -inf and dx = 0, and so does a row of no elements.  One +inf
 * gives y = +inf; dx is NaN there and 0 elsewhere. */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/map_rows.h"

AT_BOTH(logsumexp);

static const at_row_op logsumexp_rows = {.saved = 2};

static void logsumexp_y(const at_chunk *row, void *restrict values)
{
    const REAL *x = row->in[0], m = row_max(row->n, x);
    REAL *y = values, *stat = row->saved;
    const bool finite = fabs(VALUE(m)) < VALUE((REAL)INFINITY); /* else m alone decides */
    const REAL sum = finite ? row_exp_sum(row->n, x, m, NULL) : 1;
    stat[0] = m, stat[1] = VALUE(m) == MINUS_INFINITY ? 0 : OVER((REAL)1, sum);
    *y = m + log(sum);
}

static void logsumexp_dx(const at_chunk *row, void *restrict values)
{
    const REAL *x = row->in[0], *stat = row->saved, dy = *(const REAL *)row->dy;
    REAL *dx = values;
    if (VALUE(stat[1]) == 0) {
        memset(dx, 0, (size_t)row->n * sizeof *dx);
        return;
    }
    row_exp_sum(row->n, x, stat[0], dx);
    row_scale(row->n, stat[1] * dy, dx, dx);
}

AT_MAP_ROWS(logsumexp_forward, logsumexp_rows, logsumexp_y)
AT_MAP_ROWS_BACK(logsumexp_backward, logsumexp_rows, logsumexp_dx)

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op logsumexp_op = {.name = "logsumexp", AT_BOTH_KERNELS(logsumexp)};

static at_tensor *logsumexp_last(at_tape *t, at_tensor *x)
{
    AT_INPUT(t, "logsumexp", x, ATTIC_REAL); /* it may be a transposed one that could not be made */
    at_shape y = x->shape;
    y.dim[y.ndim - 1] = 1;
    return at_record_rows(t, &logsumexp_op, &logsumexp_rows, AT_IN(x), y, NULL, 0);
}

at_tensor *at_logsumexp(at_tape *t, at_tensor *x, int axis, bool keepdims)
{
    at_tensor *y = at_over_axis(t, "logsumexp", x, axis, logsumexp_last);
    if (!y || keepdims) return y;
    at_shape s = {0};
    for (int d = 0, a = at_axis_of(x->shape, axis); d < y->shape.ndim; d++)
        if (d != a) s.dim[s.ndim++] = y->shape.dim[d];
    return at_reshape(t, y, s);
}

#endif
