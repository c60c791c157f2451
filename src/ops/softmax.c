/* softmax.c -- turn each row of scores into a probability distribution.
 *
 *   x, y [..., N]       every row of N elements is independent
 *
 *   forward    y_j = exp(x_j - m) / sum_k exp(x_k - m),    m = max_k x_k
 *
 * Subtracting m changes nothing (it cancels) but keeps exp() from overflowing.
 *
 *   backward   dy_j/dx_i = y_j (1[i=j] - y_i)              (the Jacobian)
 *
 *              dx_i = sum_j dy_j y_j (1[i=j] - y_i)
 *                   = y_i (dy_i - sum_j dy_j y_j)
 *
 * The sum is the same for the whole row, so N x N products become one dot product.  Only y is
 * needed: nothing else is saved.
 *
 * Along another axis than the last: transposed, and back.
 *
 * Edges: a row of all -inf (everything masked) has no distribution; we define y = 0 there, and the
 * formula above then gives dx = 0.  A row that holds a NaN or +inf becomes NaN altogether: it must
 * not look like a distribution.
 */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/map_rows.h"

AT_BOTH(softmax);

static const at_row_op softmax_rows = {0};

static void softmax_y(const at_chunk *row, void *restrict values)
{
    const REAL *x = row->in[0];
    REAL *y = values, m = row_max(row->n, x);
    if (VALUE(m) == MINUS_INFINITY) {
        memset(y, 0, (size_t)row->n * sizeof *y);
        return;
    }
    REAL sum = row_exp_sum(row->n, x, m, y);
    row_scale(row->n, OVER((REAL)1, sum), y, y);
}

static void softmax_dx(const at_chunk *row, void *restrict values)
{
    const REAL *y = row->y, *dy = row->dy;
    REAL *restrict dx = values, dot = row_dot(row->n, dy, y);
    for (int i = 0; i < row->n; i++) dx[i] = y[i] * (dy[i] - dot);
}

AT_MAP_ROWS(softmax_forward, softmax_rows, softmax_y)
AT_MAP_ROWS_BACK(softmax_backward, softmax_rows, softmax_dx)

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op softmax_op = {.name = "softmax", AT_BOTH_KERNELS(softmax)};

at_tensor *at_softmax(at_tape *t, at_tensor *x)
{
    AT_INPUT(t, "softmax", x, ATTIC_REAL);
    AT_REQUIRE(t, x->shape.ndim > 0, "softmax: there is no axis -1 in x %s", at_text(x));
    return at_record_rows(t, &softmax_op, &softmax_rows, AT_IN(x), x->shape, NULL, 0);
}

at_tensor *at_softmax_over(at_tape *t, at_tensor *x, int axis)
{
    return at_over_axis(t, "softmax", x, axis, at_softmax);
}

#endif
