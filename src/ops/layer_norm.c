/* layer_norm.c -- give every row mean 0 and variance 1, then a learned scale and shift.
 *
 *   x, y [..., N]       every row of N elements is independent
 *   gamma, beta [N]     shared by all rows; NULL means 1 and 0
 *
 *   forward    mu  = 1/N sum_j x_j                     r = 1 / sqrt(var + eps)
 *              var = 1/N sum_j (x_j - mu)^2            h_j = (x_j - mu) r
 *              y_j = gamma_j h_j + beta_j
 *
 * The variance is summed from the differences, in a second pass: mean(x^2) - mu^2 would cancel.
 *
 *   backward   gamma and beta are used by every row:
 *
 *              dgamma_j = sum_rows dy_j h_j            dbeta_j = sum_rows dy_j
 *
 * To x it goes through h, with g_j = dy_j gamma_j = dL/dh_j.  x_i reaches h_j directly, through mu,
 * and through r:
 *
 *              dmu/dx_i = 1/N
 *              dr/dx_i  = -1/2 r^3 dvar/dx_i = -r^3 (x_i - mu)/N = -r^2 h_i/N
 *                         (that mu moves does not change var: sum_j (x_j - mu) = 0)
 *
 *              dh_j/dx_i = r (1[i=j] - 1/N) + (x_j - mu) dr/dx_i
 *                        = r (1[i=j] - 1/N - h_j h_i / N)
 *
 *              dx_i = sum_j g_j dh_j/dx_i
 *                   = r (g_i - mean(g) - h_i mean(g h))
 *
 * The two means take out of g what a shift and a stretch of the row would do: h feels neither.
 *
 * Saved are two values a row, mu and r.  The order of the sums over rows follows from the shape
 * alone (map_rows.h).
 *
 * Edges: N = 1 gives h = 0, so y = beta and dx = 0.  No rows: dgamma = dbeta = 0.
 */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/map_rows.h"

AT_BOTH(layer_norm);

static const at_row_op layer_norm_rows = {.saved = 2 /* mu, r */, .space = 2, .sums = 2};

/* y_j = gamma_j (x_j - mu) r + beta_j */
static void layer_norm_y(const at_chunk *row, void *values)
{
    const int N = row->n;
    const REAL *restrict x = row->in[0], *restrict gamma = row->in[1], *restrict beta = row->in[2];
    const REAL eps = (REAL) * (const double *)row->args, mu = OVER(row_sum(N, x), (REAL)N);
    const REAL r = OVER((REAL)1, sqrt(OVER(row_spread(N, x, mu), (REAL)N) + eps));
    REAL *restrict y = values, *saved = row->saved;
    if (gamma && beta)
        for (int j = 0; j < N; j++) y[j] = mul_add(gamma[j], (x[j] - mu) * r, beta[j]);
    else if (gamma)
        for (int j = 0; j < N; j++) y[j] = gamma[j] * ((x[j] - mu) * r);
    else
        for (int j = 0; j < N; j++) y[j] = mul_add(x[j] - mu, r, beta ? beta[j] : 0);
    saved[0] = mu, saved[1] = r;
}

/* h_j = (x_j - mu) r    g_j = dy_j gamma_j    dgamma_j += dy_j h_j    dbeta_j += dy_j
 * dx_j = r (g_j - mean(g) - h_j mean(g h)) */
static void layer_norm_dx(const at_chunk *row, void *restrict values)
{
    const int N = row->n;
    const REAL *saved = row->saved, mu = saved[0], r = saved[1];
    const REAL *restrict x = row->in[0], *restrict gamma = row->in[1], *restrict dy = row->dy;
    REAL *restrict h = row->space, *restrict g = h + N, *restrict dx = values;
    REAL *restrict dgamma = row->sum[0], *restrict dbeta = row->sum[1];
    for (int j = 0; j < N; j++) h[j] = (x[j] - mu) * r;
    for (int j = 0; dgamma && j < N; j++) dgamma[j] = mul_add(dy[j], h[j], dgamma[j]);
    for (int j = 0; dbeta && j < N; j++) dbeta[j] += dy[j];
    if (!dx) return;
    if (gamma)
        for (int j = 0; j < N; j++) g[j] = dy[j] * gamma[j];
    const REAL *of = gamma ? g : dy;
    const REAL mean_g = OVER(row_sum(N, of), (REAL)N), mean_gh = OVER(row_dot(N, of, h), (REAL)N);
    for (int j = 0; j < N; j++) dx[j] = r * mul_add(-h[j], mean_gh, of[j] - mean_g);
}

AT_MAP_ROWS(layer_norm_forward, layer_norm_rows, layer_norm_y)
AT_MAP_ROWS_BACK(layer_norm_backward, layer_norm_rows, layer_norm_dx)

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op layer_norm_op = {.name = "layer_norm", AT_BOTH_KERNELS(layer_norm)};

at_tensor *at_layer_norm(at_tape *t, at_tensor *x, at_tensor *gamma, at_tensor *beta, double eps)
{
    if (!at_check_norm(t, "layer_norm", x, eps) ||
        !at_check_columns(t, "layer_norm", x, "gamma", gamma) ||
        !at_check_columns(t, "layer_norm", x, "beta", beta))
        return NULL;
    return at_record_rows(t, &layer_norm_op, &layer_norm_rows, AT_IN(x, gamma, beta), x->shape,
                          &eps, sizeof eps);
}

#endif
