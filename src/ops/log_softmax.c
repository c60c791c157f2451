/* log_softmax.c -- the logarithm of softmax, without ever taking the logarithm of a small number.
 *
 *   x, y [..., N]       every row of N elements is independent
 *
 *   forward    y_j = log(exp(x_j) / sum_k exp(x_k))
 *                  = x_j - m - log sum_k exp(x_k - m),     m = max_k x_k
 *
 * The sum is between 1 (the maximum itself) and N, so its logarithm is tame; log(softmax(x))
 * would give -inf as soon as an exp() rounds to 0.
 *
 *   backward   dy_j/dx_i = 1[i=j] - p_i,       p_i = exp(y_i), the softmax
 *
 *              dx_i = sum_j dy_j (1[i=j] - p_i)
 *                   = dy_i - exp(y_i) sum_j dy_j
 *
 * Only y is needed: nothing else is saved.
 *
 * Edges: a row of all -inf has no distribution; we define y = -inf there (the logarithm of
 * softmax's 0) and dx = 0.  A row that holds a NaN or +inf becomes NaN altogether.
 */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/map_rows.h"

enum { LOG_SOFTMAX_CHUNK = 256 }; /* of exp(y) on the stack at a time */

AT_BOTH(log_softmax);

static const at_row_op log_softmax_rows = {0};

static void log_softmax_y(const at_chunk *row, void *restrict values)
{
    const REAL *x = row->in[0];
    REAL *y = values, m = row_max(row->n, x);
    const bool masked = VALUE(m) == MINUS_INFINITY; /* all of it: y = -inf, whatever x is */
    const REAL log_sum = masked ? 0 : log(row_exp_sum(row->n, x, m, y)); /* y is scratch yet */
    for (int j = 0; j < row->n; j++) y[j] = masked ? -(REAL)INFINITY : x[j] - m - log_sum;
}

static void log_softmax_dx(const at_chunk *row, void *restrict values)
{
    const REAL *y = row->y, *dy = row->dy;
    REAL p[LOG_SOFTMAX_CHUNK], sum = row_sum(row->n, dy), *restrict dx = values;
    if (VALUE(y[0]) == MINUS_INFINITY && VALUE(row_max(row->n, y)) == MINUS_INFINITY) {
        memset(dx, 0, (size_t)row->n * sizeof *dx);
        return;
    }
    for (int from = 0; from < row->n; from += LOG_SOFTMAX_CHUNK) {
        int count = row->n - from < LOG_SOFTMAX_CHUNK ? row->n - from : LOG_SOFTMAX_CHUNK;
        vexp(count, y + from, p);
        for (int i = 0; i < count; i++) dx[from + i] = mul_add(-p[i], sum, dy[from + i]);
    }
}

AT_MAP_ROWS(log_softmax_forward, log_softmax_rows, log_softmax_y)
AT_MAP_ROWS_BACK(log_softmax_backward, log_softmax_rows, log_softmax_dx)

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op log_softmax_op = {.name = "log_softmax", AT_BOTH_KERNELS(log_softmax)};

at_tensor *at_log_softmax(at_tape *t, at_tensor *x)
{
    AT_INPUT(t, "log_softmax", x, ATTIC_REAL);
    AT_REQUIRE(t, x->shape.ndim > 0, "log_softmax: there is no axis -1 in x %s", at_text(x));
    return at_record_rows(t, &log_softmax_op, &log_softmax_rows, AT_IN(x), x->shape, NULL, 0);
}

at_tensor *at_log_softmax_over(at_tape *t, at_tensor *x, int axis)
{
    return at_over_axis(t, "log_softmax", x, axis, at_log_softmax);
}

#endif
