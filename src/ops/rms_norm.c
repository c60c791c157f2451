/* rms_norm.c -- give every row a mean square of 1, then a learned scale.
 *
 *   x, y [..., N]       every row of N elements is independent
 *   gamma [N]           shared by all rows; NULL means 1
 *
 *   forward    r   = 1 / sqrt(1/N sum_k x_k^2 + eps)
 *              h_j = x_j r
 *              y_j = gamma_j h_j                       (Zhang, Sennrich 2019, equation 4)
 *
 * Layer norm without the mean: the paper finds that the stretch matters and the shift does not.
 *
 *   backward   dgamma_j = sum_rows dy_j h_j            gamma is used by every row
 *
 * To x it goes through h, with g_j = dy_j gamma_j = dL/dh_j.  x_i reaches h_j directly and through
 * r:
 *
 *              dr/dx_i   = -1/2 r^3 (2 x_i / N) = -r^2 h_i / N
 *
 *              dh_j/dx_i = r 1[i=j] + x_j dr/dx_i
 *                        = r (1[i=j] - h_j h_i / N)
 *
 *              dx_i = sum_j g_j dh_j/dx_i
 *                   = r (g_i - h_i mean(g h))
 *
 * The mean takes out of g what a stretch of the row would do: h does not feel it.
 *
 * Saved is one value a row, r.  The order of the sum over rows follows from the shape alone
 * (map_rows.h).
 *
 * Edges: a row of zeros gives y = 0; with eps = 0 it gives NaN.  No rows: dgamma = 0.
 */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/map_rows.h"

AT_BOTH(rms_norm);

static const at_row_op rms_norm_rows = {.saved = 1 /* r */, .space = 2, .sums = 1};

/* y_j = gamma_j x_j r */
static void rms_norm_y(const at_chunk *row, void *restrict values)
{
    const int N = row->n;
    const REAL *x = row->in[0], *gamma = row->in[1];
    const REAL eps = (REAL) * (const double *)row->args, mean = OVER(row_dot(N, x, x), (REAL)N);
    REAL *y = values, *r = row->saved;
    *r = OVER((REAL)1, sqrt(mean + eps));
    row_scale(N, *r, x, y); /* h */
    for (int j = 0; gamma && j < N; j++) y[j] *= gamma[j];
}

/* h_j = r x_j    g_j = dy_j gamma_j    dgamma_j += dy_j h_j    dx_j = r (g_j - h_j mean(g h)) */
static void rms_norm_dx(const at_chunk *row, void *restrict values)
{
    const int N = row->n;
    const REAL r = *(const REAL *)row->saved, *restrict gamma = row->in[1], *restrict dy = row->dy;
    REAL *restrict h = row->space, *restrict g = h + N, *restrict dx = values;
    REAL *restrict dgamma = row->sum[0];
    row_scale(N, r, row->in[0], h);
    for (int j = 0; dgamma && j < N; j++) dgamma[j] = mul_add(dy[j], h[j], dgamma[j]);
    if (!dx) return;
    for (int j = 0; gamma && j < N; j++) g[j] = dy[j] * gamma[j];
    const REAL *of = gamma ? g : dy, mean_gh = OVER(row_dot(N, of, h), (REAL)N);
    for (int j = 0; j < N; j++) dx[j] = r * mul_add(-h[j], mean_gh, of[j]);
}

AT_MAP_ROWS(rms_norm_forward, rms_norm_rows, rms_norm_y)
AT_MAP_ROWS_BACK(rms_norm_backward, rms_norm_rows, rms_norm_dx)

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op rms_norm_op = {.name = "rms_norm", AT_BOTH_KERNELS(rms_norm)};

at_tensor *at_rms_norm(at_tape *t, at_tensor *x, at_tensor *gamma, double eps)
{
    if (!at_check_norm(t, "rms_norm", x, eps) ||
        !at_check_columns(t, "rms_norm", x, "gamma", gamma))
        return NULL;
    return at_record_rows(t, &rms_norm_op, &rms_norm_rows, AT_IN(x, gamma), x->shape, &eps,
                          sizeof eps);
}

#endif
