/* rms_norm.c -- give every row a mean square of 1, then a learned scale.
 *
 *   x, y [..., N]       every row of N numbers is independent
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
 * To x it goes through h, with g_j = dy_j gamma_j = dL/dh_j.  x_i reaches h_j directly and through r:
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
 * Saved is one number a row, r.  The sum over rows is taken per block of rows, then over the blocks
 * as a tree, pair by pair: blocks and tree follow from the shape alone (blocks.h).
 *
 * Edges: a row of zeros gives y = 0; with eps = 0 it gives NaN.  No rows: dgamma = 0.
 */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/blocks.h"

typedef struct {
    ptrdiff_t rows;
    int N;
    double eps;
    bool sums; /* gamma wants a gradient */
} rms_norm_args;

/* n->saved: r per row; then, if wanted, dgamma per block of rows */
typedef struct {
    const at_node *n;
    at_fresh dx;
    bool wants_gamma;
} rms_norm_job;

static at_blocks rms_norm_blocks(const rms_norm_args *a)
{
    return at_blocks_of(a->rows, a->N);
}

AT_KERNEL(rms_norm_forward);
AT_KERNEL(rms_norm_backward);

static void rms_norm_forward_block(void *ctx, int block, int worker)
{
    (void)worker;
    const at_node *n = ctx;
    const rms_norm_args *a = n->args;
    const REAL *gamma = n->in[1] ? n->in[1]->data : NULL;
    REAL *r = n->saved;

    at_blocks cut = rms_norm_blocks(a);
    for (ptrdiff_t i = at_block_from(cut, block); i < at_block_to(cut, block); i++) {
        const REAL *x = (const REAL *)n->in[0]->data + i * a->N;
        REAL *y = (REAL *)n->out[0]->data + i * a->N;
        REAL mean = row_dot(a->N, x, x) / (REAL)a->N;
        r[i] = 1 / sqrt(mean + (REAL)a->eps);
        row_scale(a->N, r[i], x, y); /* h */
        if (gamma)
            for (int j = 0; j < a->N; j++) y[j] *= gamma[j];
    }
}

void AT_REAL(rms_norm_forward)(at_node *n)
{
    at_parallel(rms_norm_blocks(n->args).n, rms_norm_forward_block, n);
}

/* dx_j += r (g_j - h_j mean(g h)) */
static void rms_norm_row_backward(int N, const REAL *g, const REAL *h, REAL r, REAL *dx)
{
    REAL mean_gh = row_dot(N, g, h) / (REAL)N;
    for (int j = 0; j < N; j++) dx[j] += r * (g[j] - h[j] * mean_gh);
}

static void rms_norm_backward_block(void *ctx, int block, int slot)
{
    const rms_norm_job *job = ctx;
    const at_node *n = job->n;
    const rms_norm_args *a = n->args;
    int N = a->N;
    const REAL *r = n->saved, *gamma = n->in[1] ? n->in[1]->data : NULL;
    REAL *h = at_scratch(n, slot), *g = h + N;
    REAL *dgamma = (REAL *)n->saved + a->rows + (ptrdiff_t)block * N;

    if (job->wants_gamma) memset(dgamma, 0, (size_t)N * sizeof *dgamma);
    at_blocks cut = rms_norm_blocks(a);
    for (ptrdiff_t i = at_block_from(cut, block); i < at_block_to(cut, block); i++) {
        const REAL *dy = (const REAL *)n->out[0]->grad + i * N;
        row_scale(N, r[i], (const REAL *)n->in[0]->data + i * N, h);
        if (job->wants_gamma)
            for (int j = 0; j < N; j++) dgamma[j] += dy[j] * h[j];
        if (!job->dx.p) continue;

        REAL *dx = (REAL *)job->dx.p + i * N;
        if (job->dx.beta == 0) memset(dx, 0, (size_t)N * sizeof *dx);
        if (gamma)
            for (int j = 0; j < N; j++) g[j] = dy[j] * gamma[j];
        rms_norm_row_backward(N, gamma ? g : dy, h, r[i], dx);
    }
}

void AT_REAL(rms_norm_backward)(at_node *n)
{
    const rms_norm_args *a = n->args;
    rms_norm_job job = {n, at_grad_fresh(n, 0), a->sums && n->in[1]->wants_grad};
    int N = a->N, blocks = rms_norm_blocks(a).n;
    at_parallel_slots(n->slots, blocks, rms_norm_backward_block, &job);

    REAL *part = (REAL *)n->saved + a->rows;
    if (job.wants_gamma) sum_blocks(blocks, N, N, part, at_grad(n, 1));
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op rms_norm_op = {.name = "rms_norm",
                                  .forward = AT_KERNELS(rms_norm_forward),
                                  .backward = AT_KERNELS(rms_norm_backward)};

at_tensor *at_rms_norm(at_tape *t, at_tensor *x, at_tensor *gamma, double eps)
{
    AT_INPUT(t, "rms_norm", x, ATTIC_REAL);
    AT_REQUIRE(t, x->shape.ndim >= 1, "rms_norm: x is []; it needs an axis to take the mean of");
    AT_REQUIRE(t, eps >= 0 && isfinite(eps), "rms_norm: eps is %g but must be >= 0", eps);
    if (eps > 0 && (!at_check_number(t, "rms_norm", "eps", eps) ||
                    !at_check_number(t, "rms_norm", "1 / eps", 1 / eps)))
        return NULL;
    if (gamma) AT_INPUT(t, "rms_norm", gamma, ATTIC_REAL);
    AT_REQUIRE(t, !gamma || at_same_shape(gamma->shape, at_shape_of(at_last(x->shape))),
               "rms_norm: x is %s but gamma is %s: it must be [%d]", at_text(x), at_text(gamma),
               at_last(x->shape));

    rms_norm_args a = {at_rows(x->shape), at_last(x->shape), eps, gamma && gamma->wants_grad};
    ptrdiff_t numbers = a.rows + (a.sums ? rms_norm_blocks(&a).n * (ptrdiff_t)a.N : 0);
    size_t size = at_dtype_size(at_real(t));
    at_recipe r = {.shape = {x->shape},
                   .args = &a,
                   .args_size = sizeof a,
                   .saved = (size_t)numbers * size,
                   .scratch = 2 * (size_t)a.N * size};
    at_node *n = at_record_node(t, &rms_norm_op, AT_IN(x, gamma), r);
    return n ? n->out[0] : NULL;
}

#endif
