/* softmax.c -- turn each row of scores into a probability distribution.
 *
 *   x, y [..., N]       every row of N numbers is independent
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
 * The sum is the same for the whole row, so N x N products become one dot
 * product.  Only y is needed: nothing else is saved.
 *
 * Along another axis than the last, a row is a column of a matrix, and up to
 * 64 neighbours are walked together: see blocks.h.
 *
 * Edges: a row of all -inf (everything masked) has no distribution; we define
 * y = 0 there, and the formula above then gives dx = 0.  A row that holds a
 * NaN or +inf becomes NaN altogether: it must not look like a distribution.
 */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/blocks.h"

typedef struct {
    const at_node *n;
    at_fresh dx;
} softmax_job;

AT_KERNEL(softmax_forward);
AT_KERNEL(softmax_backward);

static void softmax_row(int N, const REAL *x, REAL *y)
{
    REAL m = row_max(N, x);
    if (m == -(REAL)INFINITY) {
        memset(y, 0, (size_t)N * sizeof *y);
        return;
    }
    REAL sum = row_exp_sum(N, x, m, y);
    row_scale(N, 1 / sum, y, y);
}

/* The same for w columns side by side: element j of column i is x[j * inner + i]. */
static void softmax_columns(at_columns c, int w, const REAL *x, REAL *y)
{
    REAL m[AT_STRIP], sum[AT_STRIP];
    for (int i = 0; i < w; i++) m[i] = -(REAL)INFINITY, sum[i] = 0;
    for (int j = 0; j < c.N; j++)
        for (int i = 0; i < w; i++) m[i] = x[j * c.inner + i] > m[i] ? x[j * c.inner + i] : m[i];
    for (int i = 0; i < w; i++) m[i] = m[i] == -(REAL)INFINITY ? 0 : m[i]; /* exp(-inf - 0) = 0 */
    for (int j = 0; j < c.N; j++) {
        REAL *yj = y + j * c.inner;
        for (int i = 0; i < w; i++) yj[i] = x[j * c.inner + i] - m[i];
        vexp(w, yj, yj);
        for (int i = 0; i < w; i++) sum[i] += yj[i];
    }
    for (int i = 0; i < w; i++) sum[i] = sum[i] == 0 ? 0 : 1 / sum[i]; /* 0: all were -inf */
    for (int j = 0; j < c.N; j++)
        for (int i = 0; i < w; i++) y[j * c.inner + i] *= sum[i];
}

static void softmax_forward_block(void *ctx, int block, int worker)
{
    (void)worker;
    const at_node *n = ctx;
    const at_columns c = *(const at_columns *)n->args;
    const REAL *x = n->in[0]->data;
    REAL *y = n->out[0]->data;

    at_blocks cut = at_strip_blocks(c);
    for (ptrdiff_t k = at_block_from(cut, block); k < at_block_to(cut, block); k++) {
        at_strip s = at_strip_of(c, k);
        if (c.inner == 1)
            softmax_row(c.N, x + s.at, y + s.at);
        else
            softmax_columns(c, s.width, x + s.at, y + s.at);
    }
}

void AT_REAL(softmax_forward)(at_node *n)
{
    at_parallel(at_strip_blocks(*(at_columns *)n->args).n, softmax_forward_block, n);
}

/* beta = 0: dx holds garbage so far */
static void softmax_row_backward(int N, const REAL *y, const REAL *dy, int beta, REAL *dx)
{
    REAL dot = row_dot(N, dy, y);
    if (beta == 0) memset(dx, 0, (size_t)N * sizeof *dx);
    for (int i = 0; i < N; i++) dx[i] += y[i] * (dy[i] - dot);
}

static void softmax_columns_backward(at_columns c, int w, const REAL *y, const REAL *dy, int beta,
                                     REAL *dx)
{
    REAL dot[AT_STRIP] = {0};
    for (int j = 0; j < c.N; j++)
        for (int i = 0; i < w; i++) dot[i] += dy[j * c.inner + i] * y[j * c.inner + i];
    for (int j = 0; j < c.N; j++, y += c.inner, dy += c.inner, dx += c.inner) {
        if (beta == 0) memset(dx, 0, (size_t)w * sizeof *dx);
        for (int i = 0; i < w; i++) dx[i] += y[i] * (dy[i] - dot[i]);
    }
}

static void softmax_backward_block(void *ctx, int block, int worker)
{
    (void)worker;
    const softmax_job *job = ctx;
    const at_columns c = *(const at_columns *)job->n->args;
    const REAL *y = job->n->out[0]->data, *dy = job->n->out[0]->grad;
    REAL *dx = job->dx.p;

    at_blocks cut = at_strip_blocks(c);
    for (ptrdiff_t k = at_block_from(cut, block); k < at_block_to(cut, block); k++) {
        at_strip s = at_strip_of(c, k);
        const REAL *ys = y + s.at, *dys = dy + s.at;
        if (c.inner == 1)
            softmax_row_backward(c.N, ys, dys, job->dx.beta, dx + s.at);
        else
            softmax_columns_backward(c, s.width, ys, dys, job->dx.beta, dx + s.at);
    }
}

void AT_REAL(softmax_backward)(at_node *n)
{
    softmax_job job = {n, at_grad_fresh(n, 0)};
    at_blocks cut = at_strip_blocks(*(at_columns *)n->args);
    if (job.dx.p) at_parallel(cut.n, softmax_backward_block, &job);
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op softmax_op = {.name = "softmax",
                                 .forward = AT_KERNELS(softmax_forward),
                                 .backward = AT_KERNELS(softmax_backward)};

at_tensor *at_softmax_over(at_tape *t, at_tensor *x, int axis)
{
    AT_INPUT(t, "softmax", x, ATTIC_REAL);
    int d = at_axis_of(x->shape, axis);
    AT_REQUIRE(t, d >= 0, "softmax: there is no axis %d in x %s", axis, at_text(x));
    at_columns c = at_columns_of(x->shape, d);
    return at_record(t, &softmax_op, AT_IN(x), x->shape, &c, sizeof c);
}

at_tensor *at_softmax(at_tape *t, at_tensor *x)
{
    return at_softmax_over(t, x, -1);
}

#endif
