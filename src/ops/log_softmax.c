/* log_softmax.c -- the logarithm of softmax, without ever taking the logarithm of a small number.
 *
 *   x, y [..., N]       every row of N numbers is independent
 *
 *   forward    y_j = log(exp(x_j) / sum_k exp(x_k))
 *                  = x_j - m - log sum_k exp(x_k - m),     m = max_k x_k
 *
 * The sum lies between 1 (the maximum itself) and N, so its logarithm is tame; log(softmax(x)) would
 * give -inf as soon as an exp() rounds to 0.
 *
 *   backward   dy_j/dx_i = 1[i=j] - p_i,       p_i = exp(y_i), the softmax
 *
 *              dx_i = sum_j dy_j (1[i=j] - p_i)
 *                   = dy_i - exp(y_i) sum_j dy_j
 *
 * Only y is needed: nothing else is saved.
 *
 * Edges: a row of all -inf has no distribution; we define y = -inf there (the logarithm of softmax's
 * 0) and dx = 0.  A row that holds a NaN or +inf becomes NaN altogether.
 */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/blocks.h"

enum { LOG_SOFTMAX_CHUNK = 256 }; /* of exp(y) on the stack at a time */

typedef struct {
    const at_node *n;
    at_fresh dx;
} log_softmax_job;

AT_KERNEL(log_softmax_forward);
AT_KERNEL(log_softmax_backward);

static void log_softmax_row(int N, const REAL *x, REAL *y)
{
    REAL m = row_max(N, x);
    REAL log_sum = 0;
    if (m == -(REAL)INFINITY)
        m = 0; /* y = x - 0 - 0 */
    else
        log_sum = log(row_exp_sum(N, x, m, y)); /* y is only scratch so far */
    for (int j = 0; j < N; j++) y[j] = x[j] - m - log_sum;
}

/* The same for w columns side by side: element j of column i is x[j * inner + i]. */
static void log_softmax_columns(at_columns c, int w, const REAL *x, REAL *y)
{
    REAL m[AT_STRIP], sum[AT_STRIP], e[AT_STRIP];
    for (int i = 0; i < w; i++) m[i] = -(REAL)INFINITY, sum[i] = 0;
    for (int j = 0; j < c.N; j++)
        for (int i = 0; i < w; i++) m[i] = x[j * c.inner + i] > m[i] ? x[j * c.inner + i] : m[i];
    for (int i = 0; i < w; i++) m[i] = m[i] == -(REAL)INFINITY ? 0 : m[i];
    for (int j = 0; j < c.N; j++) {
        for (int i = 0; i < w; i++) e[i] = x[j * c.inner + i] - m[i];
        vexp(w, e, e);
        for (int i = 0; i < w; i++) sum[i] += e[i];
    }
    for (int i = 0; i < w; i++) sum[i] = sum[i] == 0 ? 0 : log(sum[i]); /* 0: all were -inf */
    for (int j = 0; j < c.N; j++)
        for (int i = 0; i < w; i++) y[j * c.inner + i] = x[j * c.inner + i] - m[i] - sum[i];
}

static void log_softmax_forward_block(void *ctx, int block, int worker)
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
            log_softmax_row(c.N, x + s.at, y + s.at);
        else
            log_softmax_columns(c, s.width, x + s.at, y + s.at);
    }
}

void AT_REAL(log_softmax_forward)(at_node *n)
{
    at_parallel(at_strip_blocks(*(at_columns *)n->args).n, log_softmax_forward_block, n);
}

/* beta = 0: dx holds garbage so far */
static void log_softmax_row_backward(int N, const REAL *y, const REAL *dy, int beta, REAL *dx)
{
    REAL p[LOG_SOFTMAX_CHUNK], sum = row_sum(N, dy);
    if (beta == 0) memset(dx, 0, (size_t)N * sizeof *dx);
    if (N == 0 || (y[0] == -(REAL)INFINITY && row_max(N, y) == y[0])) return;

    for (int from = 0; from < N; from += LOG_SOFTMAX_CHUNK) {
        int count = N - from < LOG_SOFTMAX_CHUNK ? N - from : LOG_SOFTMAX_CHUNK;
        vexp(count, y + from, p);
        for (int i = 0; i < count; i++) dx[from + i] += dy[from + i] - p[i] * sum;
    }
}

static void log_softmax_columns_backward(at_columns c, int w, const REAL *y, const REAL *dy,
                                         int beta, REAL *dx)
{
    REAL sum[AT_STRIP], p[AT_STRIP];
    bool some[AT_STRIP]; /* of the column is above -inf */
    for (int i = 0; i < w; i++) sum[i] = 0, some[i] = false;
    for (int j = 0; j < c.N; j++)
        for (int i = 0; i < w; i++) {
            sum[i] += dy[j * c.inner + i];
            some[i] |= y[j * c.inner + i] != -(REAL)INFINITY;
        }
    for (int j = 0; j < c.N; j++, y += c.inner, dy += c.inner, dx += c.inner) {
        if (beta == 0) memset(dx, 0, (size_t)w * sizeof *dx);
        vexp(w, y, p);
        for (int i = 0; i < w; i++) dx[i] += some[i] ? dy[i] - p[i] * sum[i] : 0;
    }
}

static void log_softmax_backward_block(void *ctx, int block, int worker)
{
    (void)worker;
    const log_softmax_job *job = ctx;
    const at_columns c = *(const at_columns *)job->n->args;
    const REAL *y = job->n->out[0]->data, *dy = job->n->out[0]->grad;
    REAL *dx = job->dx.p;

    at_blocks cut = at_strip_blocks(c);
    for (ptrdiff_t k = at_block_from(cut, block); k < at_block_to(cut, block); k++) {
        at_strip s = at_strip_of(c, k);
        const REAL *ys = y + s.at, *dys = dy + s.at;
        if (c.inner == 1)
            log_softmax_row_backward(c.N, ys, dys, job->dx.beta, dx + s.at);
        else
            log_softmax_columns_backward(c, s.width, ys, dys, job->dx.beta, dx + s.at);
    }
}

void AT_REAL(log_softmax_backward)(at_node *n)
{
    log_softmax_job job = {n, at_grad_fresh(n, 0)};
    at_blocks cut = at_strip_blocks(*(at_columns *)n->args);
    if (job.dx.p) at_parallel(cut.n, log_softmax_backward_block, &job);
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op log_softmax_op = {.name = "log_softmax",
                                     .forward = AT_KERNELS(log_softmax_forward),
                                     .backward = AT_KERNELS(log_softmax_backward)};

at_tensor *at_log_softmax_over(at_tape *t, at_tensor *x, int axis)
{
    AT_INPUT(t, "log_softmax", x, ATTIC_REAL);
    int d = at_axis_of(x->shape, axis);
    AT_REQUIRE(t, d >= 0, "log_softmax: there is no axis %d in x %s", axis, at_text(x));
    at_columns c = at_columns_of(x->shape, d);
    return at_record(t, &log_softmax_op, AT_IN(x), x->shape, &c, sizeof c);
}

at_tensor *at_log_softmax(at_tape *t, at_tensor *x)
{
    return at_log_softmax_over(t, x, -1);
}

#endif
