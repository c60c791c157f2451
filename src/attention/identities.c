/* identities.c -- does the backward of attention agree with itself?
 *
 * Whatever the numbers are, three sums over the gradients of a backward must come out equal.
 * Letters as in reference.c; <X,Y> is the sum of x y over all elements of one head; dQ, dK, dV are
 * what this call contributes.
 *
 *     1   <Q,dQ> = <K,dK>      dQ_i = c sum_j dX_ij K_j  and  dK_j = c sum_i dX_ij Q_i,
 *                              so both are  sum_ij dX_ij c Q_i.K_j
 *
 *     2   <V,dV> = <O,dO>      dV_j = sum_i A_ij dO_i  and  O_i = sum_j A_ij V_j,
 *                              so both are  sum_ij A_ij dO_i.V_j
 *
 *     3   sum_j dK_j = 0       moving all keys by one vector adds one number to all scores of a
 *                              row, which changes no weight:
 *                              sum_j dK_j = c sum_i (sum_j dX_ij) Q_i  and, dX being dS,
 *                              sum_j dS_ij = sum_j P_ij (dP_ij - delta_i) = delta_i - delta_i = 0
 *
 * WITH THE OPTIONS they read so:
 *
 *     scale, temperature       are in c, once on either side
 *     a learned scale s_h      is in c, too; without groups <Q,dQ>, over all batches, is s_h ds_h
 *     softcap                  1 is about dX, whose rows need not sum to 0: 3 is left out
 *     bias                     1 is about the scores without it: <Q,dQ> is not sum_ij dS_ij S_ij
 *     masks                    what is masked is in no sum, not even as 0 times something
 *     dropout                  2 holds for A, the weights that made O; 3 for P, before dropout
 *     gradients dW, dY         of the weights reach neither V nor O: 2 holds for dO alone
 *     groups                   1 to 3, like dK and dV, are sums over the query heads of a group
 *     one tensor as Q, K, V    its gradient is dQ + dK + dV, of which 1 to 3 say nothing: these
 *                              are collected apart, checked or not (operands.c)
 *
 * A check surrounds the backward of a path and only reads: it copies what the gradients held before
 * and takes it off each side again.  The bits of a gradient are those of a backward without it.
 *
 * WHAT THEY SEE.  1: a factor, an index or a sum that is wrong in one of dQ and dK.  2: that
 * backward's weights are not those of forward (other drops, a mask off by one, another
 * log-sum-exp), or that dV was not summed up.  3: a wrong delta, a dS that is not the softmax's.
 * They are blind to what is wrong on both sides alike, such as a forgotten slope of the softcap,
 * and to dbias: for that there is gradient checking.  `make mutation` shows mistake by mistake who
 * sees what.
 *
 * TOLERANCE.  A sum of products, in whatever order, is off by a few eps times the sum of their
 * absolute values.  64 eps times a bound of that sum may the sides differ: not what is left after
 * terms have cancelled, but what there was to cancel.  |K| and |V| are the longest key and value,
 * |dW_i| and |dY_i| the largest of their rows, z is 1/(1-p), and the learned scale is in c;
 * sum_j A_ij is at most z, sum_j |dS_ij| at most s_i = 2 z (|dO_i| |V| + |dW_i| + |dY_i|):
 *
 *     1   |c| sum_i s_i |Q_i| |K|         2   z sum_i |dO_i| |V|         3   |c| sum_i s_i |Q_i|
 *
 * Each of the n sums rounded beside what its gradient held before may have lost eps times that: n
 * |before| more.  To this comes what is lost where numbers are denormal.  There rounding is off by
 * up to half of the smallest number, eps times the smallest normal one, whatever the terms are: so
 * the smallest normal number is one more term for every rounding, times what the result is
 * multiplied with afterwards.
 *
 *     A_ij = z_ij P_ij                                    z
 *     dQ_i, dK_j, dV_j, O_i: n products, times c (dQ, dK) 1 + c n for each element, with
 *                                                         sqrt(elements) |x| for the sum of |x|
 *     dP_ij: Dv products, times z;  delta_i: Dv products; dS_ij          N + (1 + z) Dv
 *     O_i in delta_i                                      (1 + N) sqrt(Dv) |dO_i|
 *
 * Sides and terms are added up in double.  A head in which one of them is NaN or infinite is not
 * judged: that shows by itself, and at_anomaly tells where it began.
 *
 * COST.  One pass over Q, K, V, O and their gradients (make bench BENCH=check). */
#include "ops/op.h"

#include "attention/identities.h"
#include "attention/operands.h"
#include "kernels/real.h"

enum {
    CHECK_EPS = 64,
    CHECK_SUMS = 8,    /* side by side, for the vector unit */
    CHECK_COLUMNS = 64 /* of dK, at a time */
};

#define CHECK_SMALLEST (sizeof(REAL) == sizeof(float) ? (double)FLT_MIN : DBL_MIN)

/* Rows of `width` elements: x is Q, K, V or dO, and y its partner, dQ, dK, dV or O. */
typedef struct {
    at_sdpa_layout at;
    int width;
    const REAL *x, *y, *before; /* before: what y held, NULL for nothing */
    double terms;               /* y is a sum of so many products, */
    double factor;              /* times this, or less */
} check_operand;

typedef struct {
    sdpa_operands of;
    check_operand Q, K, V, O;
    at_sdpa_verdict *heads;
} check_job;

static double check_dot(int n, const REAL *x, const REAL *y)
{
    double sum[CHECK_SUMS] = {0}, rest = 0;
    int j = 0;
    for (; j + CHECK_SUMS <= n; j += CHECK_SUMS)
        for (int i = 0; i < CHECK_SUMS; i++)
            sum[i] += (double)VALUE(x[j + i]) * (double)VALUE(y[j + i]);
    for (; j < n; j++) rest += (double)VALUE(x[j]) * (double)VALUE(y[j]);
    for (int i = 0; i < CHECK_SUMS; i++) rest += sum[i];
    return rest;
}

/* The largest |x_j| that is finite. */
static double check_largest(int n, const REAL *x)
{
    double most = 0;
    for (int j = 0; j < n; j++)
        if (isfinite(VALUE(x[j]))) most = fmax(most, fabs((double)VALUE(x[j])));
    return most;
}

/* |x|, or a bound where squares are too small or large; 0 if an element is not finite. */
static double check_length(int n, const REAL *x)
{
    double square = check_dot(n, x, x);
    if (square > DBL_MIN / DBL_EPSILON && square < DBL_MAX) return sqrt(square);
    for (int j = 0; j < n; j++)
        if (!isfinite(VALUE(x[j]))) return 0;
    return check_largest(n, x) * sqrt((double)n);
}

static bool check_is_untouched(int n, const REAL *y, const REAL *before)
{
    for (int j = 0; j < n; j++)
        if (VALUE(y[j]) != (before ? VALUE(before[j]) : 0)) return false;
    return true;
}

/* <x, y - before> of one row; *lost: what rounding to denormal numbers, and beside `before`, took
 * from |y|, in eps */
static double check_row(const check_operand *a, ptrdiff_t row, double length, double *lost)
{
    *lost = 0;
    if (!a->x || !a->y) return 0;
    const REAL *x = a->x + row, *y = a->y + row, *before = a->before ? a->before + row : NULL;
    if (length == 0 && check_is_untouched(a->width, y, before))
        return 0; /* x may be a masked NaN */
    *lost = CHECK_SMALLEST * (1 + a->factor * a->terms) * sqrt((double)a->width);
    double product = check_dot(a->width, x, y);
    if (!before) return product;
    *lost += a->terms * sqrt(check_dot(a->width, before, before));
    return product - check_dot(a->width, x, before);
}

/* sum_j dK_j: the element farthest from 0 is the left side. */
static void check_sum_of_keys(const check_job *job, int b, int g, at_sdpa_sides *sides)
{
    const check_operand *K = &job->K;
    for (int d0 = 0; d0 < K->width; d0 += CHECK_COLUMNS) {
        double sum[CHECK_COLUMNS] = {0};
        const int n = K->width - d0 < CHECK_COLUMNS ? K->width - d0 : CHECK_COLUMNS;
        for (int j = 0; j < job->of.p->N; j++) {
            ptrdiff_t row = at_sdpa_row(K->at, b, g, j) + d0;
            for (int d = 0; d < n; d++)
                sum[d] += (double)VALUE(K->y[row + d]) -
                          (K->before ? (double)VALUE(K->before[row + d]) : 0);
        }
        for (int d = 0; d < n; d++)
            if (fabs(sum[d]) > fabs(sides->left) || isnan(sum[d])) sides->left = sum[d];
    }
}

/* Key/value head g of batch b and the query heads that read it. */
static at_sdpa_verdict check_head(const check_job *job, int b, int g)
{
    const at_sdpa_plan *p = job->of.p;
    at_sdpa_verdict head = {0};
    const double z = 1 / (1 - p->dropout), A = z * (1 + p->N * CHECK_SMALLEST);
    double longest_K = 0, longest_V = 0, lost_Q, lost_K, lost_V, lost_O;
    for (int j = 0; j < p->N; j++) {
        const ptrdiff_t k = at_sdpa_row(p->k, b, g, j), v = at_sdpa_row(p->v, b, g, j);
        const double K = check_length(p->D, job->K.x + k), V = check_length(p->Dv, job->V.x + v);
        longest_K = fmax(longest_K, K), longest_V = fmax(longest_V, V);
        head.Q.right += check_row(&job->K, k, K, &lost_K);
        head.V.left += check_row(&job->V, v, V, &lost_V);
        head.Q.tolerance += lost_K * K + DBL_MIN * p->D;
        head.V.tolerance += lost_V * V + DBL_MIN * p->Dv;
        head.K.tolerance += lost_K;
    }
    const double lost = CHECK_SMALLEST * (p->N + (1 + z) * p->Dv);
    const double lost_O_i = CHECK_SMALLEST * (1.0 + p->N) * sqrt((double)p->Dv);
    for (int h = g * p->group; h < (g + 1) * p->group; h++)
        for (int i = 0; i < p->T; i++) {
            const ptrdiff_t q = at_sdpa_row(p->q, b, h, i), o = at_sdpa_row(p->o, b, h, i);
            const double Q = check_length(p->D, job->Q.x + q);
            const double dO = job->O.x ? check_length(p->Dv, job->O.x + o) : 0;
            const ptrdiff_t cell = at_sdpa_cell_number(p, b, h, i);
            const double c = fabs((double)VALUE(sdpa_factor(&job->of, h)));
            double dP = dO * longest_V;
            if (job->of.dW) dP += check_largest(p->N, job->of.dW + cell);
            if (job->of.dY) dP += check_largest(p->N, job->of.dY + cell);
            double dS = 2 * A * dP + lost + lost_O_i * dO;
            head.Q.left += check_row(&job->Q, q, Q, &lost_Q);
            head.V.right += check_row(&job->O, o, dO, &lost_O);
            head.Q.tolerance += c * dS * Q * longest_K + lost_Q * Q + DBL_MIN * p->D;
            head.V.tolerance += A * dO * longest_V + lost_O * dO + DBL_MIN * p->Dv;
            head.K.tolerance += c * dS * Q;
        }
    if (!job->Q.y || !job->K.y) head.Q.left = head.Q.right = 0;
    if (!job->V.y || !job->O.x) head.V.left = head.V.right = 0;
    if (job->K.y && p->cap == 0) check_sum_of_keys(job, b, g, &head.K);
    head.Q.tolerance *= CHECK_EPS * (double)REAL_EPS;
    head.V.tolerance *= CHECK_EPS * (double)REAL_EPS;
    head.K.tolerance *= CHECK_EPS * (double)REAL_EPS;
    return head;
}

static void check_heads(void *ctx, ptrdiff_t task, ptrdiff_t to, int slot)
{
    const check_job *job = ctx;
    (void)slot;
    for (; task < to; task++)
        job->heads[task] = check_head(job, (int)task / job->of.p->G, (int)task % job->of.p->G);
}

/* The gradient of in[i] as this call adds to it; what it holds so far is copied. */
static void check_begin(at_node *n, int i, check_operand *a)
{
    const at_sdpa_plan *p = n->args;
    void *copy = at_sdpa_copy(n, i);
    a->x = n->in[i]->data;
    if (p->own & 1u << i) {
        a->y = copy;
        return;
    }
    at_grad_buffer grad = at_grad_overwrite(n, i);
    a->y = grad.p;
    if (!grad.p) return;
    if (grad.beta)
        a->before = memcpy(copy, grad.p, at_bytes(n->in[i]));
    else
        memset(grad.p, 0, at_bytes(n->in[i]));
}

void AT_REAL(sdpa_checked)(at_node *n, void (*backward)(at_node *))
{
    const at_sdpa_plan *p = n->args;
    const double rows = (double)p->T * p->group;
    const sdpa_operands of = sdpa_operands_of(n);
    double c = 0; /* the largest; with fmax gcc 12 fails on 64-bit Arm (internal compiler error) */
    for (int h = 0; h < p->H; h++) {
        const double size = fabs((double)VALUE(sdpa_factor(&of, h)));
        if (size > c) c = size;
    }
    check_job job = {.of = of,
                     .Q = {.at = p->q, .width = p->D, .terms = p->N, .factor = c},
                     .K = {.at = p->k, .width = p->D, .terms = rows, .factor = c},
                     .V = {.at = p->v, .width = p->Dv, .terms = rows, .factor = 1},
                     .O = {.at = p->o, .width = p->Dv, .terms = p->N, .factor = 1},
                     .heads = at_sdpa_verdicts(n)};
    check_begin(n, AT_SDPA_Q, &job.Q);
    check_begin(n, AT_SDPA_K, &job.K);
    check_begin(n, AT_SDPA_V, &job.V);
    job.O.x = n->out[0]->grad;
    job.O.y = n->out[0]->data;
    backward(n);

    const int heads = p->B * p->G;
    ptrdiff_t elements = (p->N + (ptrdiff_t)p->group * p->T) * ((ptrdiff_t)p->D + p->Dv);
    at_for(heads, elements / 4, 0, check_heads, &job);
    for (int head = 0; head < heads; head++)
        at_sdpa_judge(n, head / p->G, head % p->G, job.heads[head]);
}

#ifdef AT_ONCE

/* An infinity or NaN breaks nothing. */
static void say_broken(const at_node *n, const char *identity, const char *heads, at_sdpa_sides x)
{
    if (isfinite(x.left) && isfinite(x.right) && fabs(x.left - x.right) > x.tolerance)
        at_fail(n->tape, ATTIC_USER_ERROR,
                "sdpa (op %d): backward is wrong: %s does not hold in %s: the sides are %.9g and "
                "%.9g, and may differ by %.1e",
                n->index, identity, heads, x.left, x.right, x.tolerance);
}

void at_sdpa_judge(const at_node *n, int b, int g, at_sdpa_verdict head)
{
    const at_sdpa_plan *p = n->args;
    char *heads = at_text_buffer();
    int first = g * p->group, last = first + p->group - 1;
    if (first < last)
        snprintf(heads, AT_TEXT_SIZE, "heads %d to %d of batch %d", first, last, b);
    else
        snprintf(heads, AT_TEXT_SIZE, "head %d of batch %d", first, b);
    say_broken(n, "<Q,dQ> = <K,dK>", heads, head.Q);
    say_broken(n, "<V,dV> = <O,dO>", heads, head.V);
    say_broken(n, "sum_j dK_j = 0", heads, head.K);
}

#endif
