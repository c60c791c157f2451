/* cross_entropy.c -- how surprised a prediction is by what came, in nats.
 *
 *   x [..., N]          logits: one row per prediction, one score per class
 *   c [...]             targets: the class that came
 *   loss []
 *
 *   forward    loss_i = -log softmax(x_i)[c_i]
 *                     = log sum_k exp(x_ik - m_i)  -  (x_i,c_i - m_i),      m_i = max_k x_ik
 *
 *              loss   = sum_i loss_i / count        count = targets not ignored, or 1 (args.sum)
 *
 *   backward   with p = softmax(x_i):
 *
 *              dloss_i/dx_ij = d/dx_ij log sum_k exp(x_ik)  -  1[j = c_i]
 *                            = p_ij - 1[j = c_i]
 *
 *              dx_ij = (p_ij - 1[j = c_i]) dloss / count
 *
 * Prediction minus truth: the logarithm undoes the exponential, and no small p is ever divided by.
 * That is why the two are one op.
 *
 * Saved are two numbers a row, m_i and 1 / sum_k exp(x_ik - m_i); p is made again from them when
 * backward comes, in pieces that stay in the first cache.  (Of their logarithm, m + log sum, the last
 * digits would be lost as soon as the logits are large.)
 *
 * The losses are added in double: in the order of the rows within a block, then in the order of the
 * blocks (blocks.h).
 *
 * Edges: ignored rows add nothing and get dx = 0; with all of them ignored the loss is 0.  A row of
 * all -inf gives nothing any probability: its loss is +inf and its dx = 0.  A target outside of
 * 0 .. N-1 is an error; should one be written later and the tape replayed, its row counts as NaN.
 */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/blocks.h"

typedef struct {
    ptrdiff_t rows;
    int N;
    at_cross_entropy_args user;
} cross_entropy_args;

enum { CROSS_ENTROPY_CHUNK = 256 }; /* of exp(x - m) on the stack at a time */

typedef struct {
    const at_node *n;
    at_fresh dx;
    double g; /* dloss / count */
} cross_entropy_job;

static at_blocks cross_entropy_blocks(const cross_entropy_args *a)
{
    return at_blocks_of(a->rows, a->N);
}

static bool is_ignored(const cross_entropy_args *a, int32_t target)
{
    return a->user.ignore && target == a->user.ignore_index;
}

/* What the sum of the losses is divided by. */
static double cross_entropy_count(const at_node *n)
{
    const cross_entropy_args *a = n->args;
    const int32_t *target = n->in[1]->data;
    ptrdiff_t count = 0;
    if (a->user.sum) return 1;
    for (ptrdiff_t i = 0; i < a->rows; i++) count += !is_ignored(a, target[i]);
    return count ? (double)count : 1;
}

/* n->saved: a sum of losses per block; then, of the real type, m and 1/sum per row. */
static void *cross_entropy_rows(const at_node *n)
{
    return (double *)n->saved + cross_entropy_blocks(n->args).n;
}

AT_KERNEL(cross_entropy_forward);
AT_KERNEL(cross_entropy_backward);

/* m and 1/sum of a row, and its loss */
static double cross_entropy_row(int N, const REAL *x, int32_t target, REAL stat[2])
{
    if (target < 0 || target >= N) {
        stat[0] = stat[1] = (REAL)NAN;
        return (double)NAN;
    }
    REAL m = row_max(N, x);
    if (m == -(REAL)INFINITY) {
        stat[0] = stat[1] = 0; /* p = exp(-inf - 0) 0 = 0 */
        return (double)INFINITY;
    }
    REAL sum = row_exp_sum(N, x, m, NULL);
    stat[0] = m;
    stat[1] = 1 / sum;
    return (double)log(sum) - ((double)x[target] - (double)m);
}

static void cross_entropy_forward_block(void *ctx, int block, int worker)
{
    (void)worker;
    const at_node *n = ctx;
    const cross_entropy_args *a = n->args;
    const int32_t *target = n->in[1]->data;
    const REAL *x = n->in[0]->data;
    REAL *stat = cross_entropy_rows(n);
    double sum = 0;

    at_blocks cut = cross_entropy_blocks(a);
    for (ptrdiff_t i = at_block_from(cut, block); i < at_block_to(cut, block); i++)
        if (!is_ignored(a, target[i]))
            sum += cross_entropy_row(a->N, x + i * a->N, target[i], stat + 2 * i);
        else
            stat[2 * i] = stat[2 * i + 1] = 0;
    ((double *)n->saved)[block] = sum;
}

void AT_REAL(cross_entropy_forward)(at_node *n)
{
    int blocks = cross_entropy_blocks(n->args).n;
    const double *of_block = n->saved;
    double sum = 0;
    at_parallel(blocks, cross_entropy_forward_block, n);
    for (int b = 0; b < blocks; b++) sum += of_block[b];
    *(REAL *)n->out[0]->data = (REAL)(sum / cross_entropy_count(n));
}

/* dx_j (+)= (p_j - 1[j = target]) g    beta = 0: dx holds garbage so far */
static void cross_entropy_row_backward(int N, const REAL *x, int32_t target, const REAL stat[2],
                                       REAL g, int beta, REAL *dx)
{
    REAL e[CROSS_ENTROPY_CHUNK], m = stat[0], scale = stat[1] * g;
    for (int from = 0; from < N; from += CROSS_ENTROPY_CHUNK) {
        int count = N - from < CROSS_ENTROPY_CHUNK ? N - from : CROSS_ENTROPY_CHUNK;
        row_exp_sum(count, x + from, m, e);
        if (beta == 0)
            row_scale(count, scale, e, dx + from);
        else
            row_axpy(count, scale, e, dx + from);
    }
    if (target >= 0 && target < N) dx[target] -= g;
}

static void cross_entropy_backward_block(void *ctx, int block, int worker)
{
    (void)worker;
    const cross_entropy_job *job = ctx;
    const cross_entropy_args *a = job->n->args;
    const int32_t *target = job->n->in[1]->data;
    const REAL *x = job->n->in[0]->data, *stat = cross_entropy_rows(job->n), g = (REAL)job->g;
    int beta = job->dx.beta;

    at_blocks cut = cross_entropy_blocks(a);
    for (ptrdiff_t i = at_block_from(cut, block); i < at_block_to(cut, block); i++) {
        const REAL *row = stat + 2 * i;
        REAL *dx = (REAL *)job->dx.p + i * a->N;
        if (row[1] != 0)
            cross_entropy_row_backward(a->N, x + i * a->N, target[i], row, g, beta, dx);
        else if (beta == 0)
            memset(dx, 0, (size_t)a->N * sizeof *dx);
    }
}

void AT_REAL(cross_entropy_backward)(at_node *n)
{
    double dloss = (double)*(REAL *)n->out[0]->grad;
    cross_entropy_job job = {n, at_grad_fresh(n, 0), dloss / cross_entropy_count(n)};
    int blocks = cross_entropy_blocks(n->args).n;
    if (job.dx.p) at_parallel(blocks, cross_entropy_backward_block, &job);
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op cross_entropy_op = {.name = "cross_entropy",
                                       .forward = AT_KERNELS(cross_entropy_forward),
                                       .backward = AT_KERNELS(cross_entropy_backward)};

/* The first target that is neither ignored nor a class, or -1. */
static ptrdiff_t first_bad_target(const at_tensor *target, const cross_entropy_args *a)
{
    const int32_t *c = target->data;
    for (ptrdiff_t i = 0; i < a->rows; i++)
        if ((c[i] < 0 || c[i] >= a->N) && !is_ignored(a, c[i])) return i;
    return -1;
}

static const char *target_position(at_shape s, ptrdiff_t i)
{
    at_shape at = {s.ndim, {0}};
    for (int d = s.ndim - 1; d >= 0; i /= s.dim[d--]) at.dim[d] = (int)(i % s.dim[d]);
    return at_shape_text(at);
}

at_tensor *at_cross_entropy(at_tape *t, at_tensor *logits, at_tensor *target,
                            at_cross_entropy_args args)
{
    AT_INPUT(t, "cross_entropy", logits, ATTIC_REAL);
    AT_INPUT(t, "cross_entropy", target, ATTIC_I32);
    AT_REQUIRE(t, logits->shape.ndim >= 1,
               "cross_entropy: logits is []; its last axis must be the classes");
    at_shape s = logits->shape;
    s.ndim--;
    AT_REQUIRE(t, at_same_shape(s, target->shape),
               "cross_entropy: logits is %s but target is %s: one target per row must be %s",
               at_text(logits), at_text(target), at_shape_text(s));

    cross_entropy_args a = {at_rows(logits->shape), at_last(logits->shape), args};
    ptrdiff_t bad = first_bad_target(target, &a);
    AT_REQUIRE(t, bad < 0, "cross_entropy: target %s is %g but logits is %s: there are %d classes",
               target_position(target->shape, bad), at_element(target, bad), at_text(logits), a.N);

    size_t per_row = 2 * at_dtype_size(at_real(t));
    size_t blocks = (size_t)cross_entropy_blocks(&a).n;
    at_recipe r = {.args = &a,
                   .args_size = sizeof a,
                   .saved = blocks * sizeof(double) + (size_t)a.rows * per_row};
    at_node *n = at_record_node(t, &cross_entropy_op, AT_IN(logits, target), r);
    return n ? n->out[0] : NULL;
}

#endif
