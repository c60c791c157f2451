/* layer_norm.c -- give every row mean 0 and variance 1, then a learned scale and shift.
 *
 *   x, y [..., N]       every row of N numbers is independent
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
 * Saved are two numbers a row, mu and r.  The sums over rows are taken per block of rows, then over
 * the blocks as a tree, pair by pair: blocks and tree follow from the shape alone (blocks.h).
 *
 * Edges: N = 1 gives h = 0, so y = beta and dx = 0.  No rows: dgamma = dbeta = 0.
 */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/blocks.h"

typedef struct {
    ptrdiff_t rows;
    int N;
    double eps;
    bool sums; /* gamma or beta wants a gradient */
} layer_norm_args;

/* n->saved: mu and r per row; then, if wanted, [dgamma; dbeta] per block of rows */
typedef struct {
    const at_node *n;
    at_fresh dx;
    bool wants_gamma, wants_beta;
} layer_norm_job;

static at_blocks layer_norm_blocks(const layer_norm_args *a)
{
    return at_blocks_of(a->rows, a->N);
}

AT_KERNEL(layer_norm_forward);
AT_KERNEL(layer_norm_backward);

/* y_j = gamma_j (x_j - mu) r + beta_j */
static void layer_norm_scale(int N, const REAL *restrict x, REAL mu, REAL r,
                             const REAL *restrict gamma, const REAL *restrict beta,
                             REAL *restrict y)
{
    if (gamma && beta)
        for (int j = 0; j < N; j++) y[j] = gamma[j] * ((x[j] - mu) * r) + beta[j];
    else if (gamma)
        for (int j = 0; j < N; j++) y[j] = gamma[j] * ((x[j] - mu) * r);
    else
        for (int j = 0; j < N; j++) y[j] = (x[j] - mu) * r + (beta ? beta[j] : 0);
}

static void layer_norm_row(int N, const REAL *x, const REAL *gamma, const REAL *beta, REAL eps,
                           REAL stat[2], REAL *y)
{
    REAL mu = row_sum(N, x) / (REAL)N;
    REAL r = 1 / sqrt(row_spread(N, x, mu) / (REAL)N + eps);
    layer_norm_scale(N, x, mu, r, gamma, beta, y);
    stat[0] = mu;
    stat[1] = r;
}

static void layer_norm_forward_block(void *ctx, int block, int worker)
{
    (void)worker;
    const at_node *n = ctx;
    const layer_norm_args *a = n->args;
    const REAL *x = n->in[0]->data;
    const REAL *gamma = n->in[1] ? n->in[1]->data : NULL, *beta = n->in[2] ? n->in[2]->data : NULL;
    REAL *y = n->out[0]->data, *stat = n->saved;

    at_blocks cut = layer_norm_blocks(a);
    for (ptrdiff_t i = at_block_from(cut, block); i < at_block_to(cut, block); i++)
        layer_norm_row(a->N, x + i * a->N, gamma, beta, (REAL)a->eps, stat + 2 * i, y + i * a->N);
}

void AT_REAL(layer_norm_forward)(at_node *n)
{
    at_parallel(layer_norm_blocks(n->args).n, layer_norm_forward_block, n);
}

/* h_j = (x_j - mu) r, and g_j = dy_j gamma_j */
static void layer_norm_row_again(int N, const REAL *restrict x, const REAL stat[2],
                                 const REAL *restrict gamma, const REAL *restrict dy,
                                 REAL *restrict h, REAL *restrict g)
{
    const REAL mu = stat[0], r = stat[1];
    for (int j = 0; j < N; j++) h[j] = (x[j] - mu) * r;
    if (gamma)
        for (int j = 0; j < N; j++) g[j] = dy[j] * gamma[j];
}

/* dgamma_j += dy_j h_j, dbeta_j += dy_j */
static void layer_norm_row_sums(int N, const REAL *restrict dy, const REAL *restrict h,
                                REAL *restrict dgamma, REAL *restrict dbeta)
{
    for (int j = 0; j < N; j++) {
        dgamma[j] += dy[j] * h[j];
        dbeta[j] += dy[j];
    }
}

/* dx_j (+)= r (g_j - mean(g) - h_j mean(g h))    beta = 0: dx holds garbage so far */
static void layer_norm_row_backward(int N, const REAL *restrict g, const REAL *restrict h, REAL r,
                                    int beta, REAL *restrict dx)
{
    REAL mean_g = row_sum(N, g) / (REAL)N;
    REAL mean_gh = row_dot(N, g, h) / (REAL)N;
    if (beta == 0) memset(dx, 0, (size_t)N * sizeof *dx);
    for (int j = 0; j < N; j++) dx[j] += r * (g[j] - mean_g - h[j] * mean_gh);
}

static void layer_norm_backward_block(void *ctx, int block, int slot)
{
    const layer_norm_job *job = ctx;
    const at_node *n = job->n;
    const layer_norm_args *a = n->args;
    int N = a->N;
    const REAL *x = n->in[0]->data, *gamma = n->in[1] ? n->in[1]->data : NULL;
    const REAL *dy = n->out[0]->grad, *stat = n->saved;
    REAL *h = at_scratch(n, slot), *g = h + N;
    REAL *dgamma = (REAL *)n->saved + 2 * a->rows + 2 * (ptrdiff_t)block * N, *dbeta = dgamma + N;

    if (a->sums) memset(dgamma, 0, 2 * (size_t)N * sizeof *dgamma); /* and dbeta */
    at_blocks cut = layer_norm_blocks(a);
    for (ptrdiff_t i = at_block_from(cut, block); i < at_block_to(cut, block); i++) {
        const REAL *dyi = dy + i * N, r = stat[2 * i + 1];
        layer_norm_row_again(N, x + i * N, stat + 2 * i, gamma, dyi, h, g);
        if (a->sums) layer_norm_row_sums(N, dyi, h, dgamma, dbeta);
        if (!job->dx.p) continue;
        REAL *dx = (REAL *)job->dx.p + i * N;
        layer_norm_row_backward(N, gamma ? g : dyi, h, r, job->dx.beta, dx);
    }
}

void AT_REAL(layer_norm_backward)(at_node *n)
{
    const layer_norm_args *a = n->args;
    layer_norm_job job = {.n = n,
                          .dx = at_grad_fresh(n, 0),
                          .wants_gamma = a->sums && n->in[1] && n->in[1]->wants_grad,
                          .wants_beta = a->sums && n->in[2] && n->in[2]->wants_grad};
    int N = a->N, blocks = layer_norm_blocks(a).n;
    at_parallel_slots(n->slots, blocks, layer_norm_backward_block, &job);

    REAL *part = (REAL *)n->saved + 2 * a->rows;
    if (job.wants_gamma) sum_blocks(blocks, N, 2 * N, part, at_grad(n, 1));
    if (job.wants_beta) sum_blocks(blocks, N, 2 * N, part + N, at_grad(n, 2));
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op layer_norm_op = {.name = "layer_norm",
                                    .forward = AT_KERNELS(layer_norm_forward),
                                    .backward = AT_KERNELS(layer_norm_backward)};

/* gamma or beta: absent, or one number for each of the N columns */
static bool layer_norm_fits(at_tape *t, const at_tensor *x, const char *name, const at_tensor *g)
{
    if (!g) return at_ok(t);
    if (!at_check_input(t, "layer_norm", name, g, ATTIC_REAL)) return false;
    AT_REQUIRE(t, g->shape.ndim == 1 && g->shape.dim[0] == at_last(x->shape),
               "layer_norm: x is %s but %s is %s: it must be [%d]", at_text(x), name, at_text(g),
               at_last(x->shape));
    return true;
}

at_tensor *at_layer_norm(at_tape *t, at_tensor *x, at_tensor *gamma, at_tensor *beta, double eps)
{
    AT_INPUT(t, "layer_norm", x, ATTIC_REAL);
    AT_REQUIRE(t, x->shape.ndim >= 1, "layer_norm: x is []; it needs an axis to take the mean of");
    AT_REQUIRE(t, eps >= 0 && isfinite(eps), "layer_norm: eps is %g but must be >= 0", eps);
    if (eps > 0 && (!at_check_number(t, "layer_norm", "eps", eps) ||
                    !at_check_number(t, "layer_norm", "1 / eps", 1 / eps)))
        return NULL;
    if (!layer_norm_fits(t, x, "gamma", gamma) || !layer_norm_fits(t, x, "beta", beta)) return NULL;

    bool sums = (gamma && gamma->wants_grad) || (beta && beta->wants_grad);
    layer_norm_args a = {at_rows(x->shape), at_last(x->shape), eps, sums};
    ptrdiff_t numbers = 2 * a.rows + (sums ? 2 * layer_norm_blocks(&a).n * (ptrdiff_t)a.N : 0);
    size_t size = at_dtype_size(at_real(t));
    at_recipe r = {.shape = {x->shape},
                   .args = &a,
                   .args_size = sizeof a,
                   .saved = (size_t)numbers * size,
                   .scratch = 2 * (size_t)a.N * size};
    at_node *n = at_record_node(t, &layer_norm_op, AT_IN(x, gamma, beta), r);
    return n ? n->out[0] : NULL;
}

#endif
