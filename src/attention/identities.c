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
 * If a gradient of lse arrives, or a sink takes the weight p_i, so that sum_j P_ij = 1 - p_i, then
 * with delta_i = sum_j P_ij dP_ij - dlse_i
 *
 *         sum_j dS_ij = delta_i + dlse_i - (1 - p_i) delta_i = dlse_i + p_i delta_i
 *
 *     3   sum_j dK_j = c sum_i (dlse_i + p_i delta_i) Q_i
 *
 * WITH THE OPTIONS they read so:
 *
 *     scale, temperature       are in c, once on either side
 *     a learned scale s_h      is in c, too; without groups <Q,dQ>, over all batches, is s_h ds_h
 *     softcap                  1 is about dX, whose rows need not sum to 0 then: 3 is left out, as
 *                              with every option of which the plan says so (plan.h)
 *     a sink                   is no key: 1 and 2 know nothing of it
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
 * absolute values: not of what is left after terms have cancelled, but of what there was to cancel.
 * The sides may differ by 64 eps times a bound of that sum, made of norms of whole heads.  |X| is
 * the norm of all rows of the head, K and V stand for its longest key and value, n is the number of
 * its queries, z is 1/(1-p), and the learned scale is in c.  As sum_j A_ij is at most z, and
 * sum_j |dS_ij| at most 2 z (|dO_i| V + |dW_i| + |dY_i|) + |dlse_i|, and what 3 compares it with at
 * most as much, the bounds are, by Cauchy and Schwarz,
 *
 *     1   c s |Q| K                         s = 2 z (|dO| V + |dW| + |dY|) + |dlse|
 *     2   z sqrt(n) |dO| V
 *     3   c s |Q|
 *
 * Rounding takes more from a sum that begins with what the gradient held before: |before| for each
 * of its terms.  And it takes more among denormal numbers, up to eps times the smallest normal
 * number each time: `tiny` is that number for all the roundings of an element.
 *
 * Sides and terms are added up in double.  A head in which one of them is NaN or infinite is not
 * judged: that shows by itself, and at_anomaly tells where it began.
 *
 * COST.  One pass over Q, K, V, O and their gradients (make bench BENCH=check). */
#include "ops/op.h"

#include "attention/operands.h"
#include "kernels/real.h"

enum {
    CHECK_EPS = 64,
    CHECK_SUMS = 8,    /* side by side, for the vector unit */
    CHECK_COLUMNS = 64 /* of dK, at a time */
};

#define CHECK_SMALLEST (sizeof(REAL) == sizeof(float) ? (double)FLT_MIN : DBL_MIN)

/* x is Q, K, V or dO, and y its partner, dQ, dK, dV or O; before is what y held, NULL for 0. */
typedef struct {
    const REAL *x, *y, *before;
} check_operand;

typedef struct {
    sdpa_operands call;
    check_operand Q, K, V, O;
    at_sdpa_verdict *heads;
} check_state;

/* Sums over the rows x_i of an operand in one head. */
typedef struct {
    double product; /* <x, y - before> */
    double x;       /* |x|^2 */
    double before;  /* |before|^2 */
    double longest; /* the largest |x_i|^2 */
} check_sums;

static double check_dot(int n, const REAL *x, const REAL *y)
{
    double sum[CHECK_SUMS] = {0}, rest = 0;
    int j = 0;
    for (; j + CHECK_SUMS <= n; j += CHECK_SUMS)
        for (int i = 0; i < CHECK_SUMS; i++)
            sum[i] = mul_add((double)VALUE(x[j + i]), (double)VALUE(y[j + i]), sum[i]);
    for (; j < n; j++) rest = mul_add((double)VALUE(x[j]), (double)VALUE(y[j]), rest);
    for (int i = 0; i < CHECK_SUMS; i++) rest += sum[i];
    return rest;
}

/* |x|^2 of what is finite in x; at least n DBL_MIN, as smaller squares are lost */
static double check_square(int n, const REAL *x)
{
    double square = check_dot(n, x, x), rest = 0;
    if (isfinite(square)) return square + n * DBL_MIN;
    for (int j = 0; j < n; j++)
        if (isfinite(VALUE(x[j]))) rest = mul_add((double)VALUE(x[j]), (double)VALUE(x[j]), rest);
    return rest + n * DBL_MIN;
}

/* Adds one row of n elements; its product not if x has a NaN and y none, which is then masked. */
static void check_add(check_sums *s, const check_operand *a, ptrdiff_t row, int n)
{
    if (!a->x) return;
    const REAL *x = a->x + row, *y = a->y ? a->y + row : NULL;
    const double square = check_square(n, x);
    double product = y ? check_dot(n, x, y) : 0;
    if (a->before) {
        const REAL *before = a->before + row;
        product -= check_dot(n, x, before);
        s->before += check_dot(n, before, before);
    }
    if (isfinite(product) || !isfinite(check_dot(n, y, y))) s->product += product;
    s->x += square;
    if (square > s->longest) s->longest = square;
}

/* right -= c sum_i (dlse_i + p_i delta_i) Q_i, over the rows of head h; elements d0 .. d0+n-1 */
static void check_rows_of_keys(const check_state *check, int b, int h, int d0, int n, double *right)
{
    const sdpa_operands *call = &check->call;
    const REAL sink = sdpa_sink(call, h);
    const double c = (double)VALUE(sdpa_factor(call, h));
    for (int i = 0; (call->dlse || call->sink) && i < call->p->T; i++) {
        const ptrdiff_t row = at_sdpa_row_number(call->p, b, h, i);
        const REAL *saved = call->saved + AT_SDPA_SAVED * row;
        const REAL *Q = call->Q + at_sdpa_row(call->p->q, b, h, i) + d0;
        if (VALUE(saved[1]) == 0) continue; /* it keeps nothing */
        double moved = call->dlse ? (double)VALUE(call->dlse[row]) : 0;
        if (VALUE(sink) != MINUS_INFINITY) {
            REAL p;
            sdpa_sink_weights(sink, 1, saved, &p);
            moved += (double)VALUE(p * saved[2]);
        }
        for (int d = 0; moved != 0 && d < n; d++) right[d] -= c * moved * (double)VALUE(Q[d]);
    }
}

/* sum_j dK_j and what it should be: the element farthest from it */
static at_sdpa_sides check_sum_of_keys(const check_state *check, int b, int g)
{
    const check_operand *K = &check->K;
    const at_sdpa_plan *p = check->call.p;
    double farthest = 0;
    at_sdpa_sides sides = {0};
    for (int d0 = 0; d0 < p->D; d0 += CHECK_COLUMNS) {
        double sum[CHECK_COLUMNS] = {0}, apart[CHECK_COLUMNS];
        const int n = p->D - d0 < CHECK_COLUMNS ? p->D - d0 : CHECK_COLUMNS;
        for (int j = 0; j < p->N; j++) {
            ptrdiff_t row = at_sdpa_row(p->k, b, g, j) + d0;
            for (int d = 0; d < n; d++)
                sum[d] += (double)VALUE(K->y[row + d]) -
                          (K->before ? (double)VALUE(K->before[row + d]) : 0);
        }
        memcpy(apart, sum, sizeof apart);
        for (int h = g * p->group; h < (g + 1) * p->group; h++)
            check_rows_of_keys(check, b, h, d0, n, apart);
        for (int d = 0; d < n; d++)
            if (fabs(apart[d]) > fabs(farthest) || isnan(apart[d])) {
                farthest = apart[d];
                sides = (at_sdpa_sides){.left = sum[d], .right = sum[d] - apart[d]};
            }
    }
    return sides;
}

/* Key/value head g of batch b and the query heads that read it. */
static at_sdpa_verdict check_head(const check_state *check, int b, int g)
{
    const sdpa_operands *call = &check->call;
    const at_sdpa_plan *p = call->p;
    check_sums Q = {0}, K = {0}, V = {0}, O = {0};
    double weights = 0, lse = 0, c = 0; /* weights: |dW|^2 + |dY|^2; lse: |dlse|^2 */
    for (int j = 0; j < p->N; j++) {
        check_add(&K, &check->K, at_sdpa_row(p->k, b, g, j), p->D);
        check_add(&V, &check->V, at_sdpa_row(p->v, b, g, j), p->Dv);
    }
    for (int h = g * p->group; h < (g + 1) * p->group; h++) {
        const double size = fabs((double)VALUE(sdpa_factor(call, h)));
        if (size > c) c = size; /* with fmax gcc 12 fails on 64-bit Arm (internal error) */
        for (int i = 0; i < p->T; i++) {
            const ptrdiff_t cell = at_sdpa_cell_number(p, b, h, i);
            check_add(&Q, &check->Q, at_sdpa_row(p->q, b, h, i), p->D);
            check_add(&O, &check->O, at_sdpa_row(p->o, b, h, i), p->Dv);
            if (call->dW) weights += check_square(p->N, call->dW + cell);
            if (call->dY) weights += check_square(p->N, call->dY + cell);
        }
        if (call->dlse) lse += check_square(p->T, call->dlse + at_sdpa_row_number(p, b, h, 0));
    }
    const double N = p->N, n = (double)p->T * p->group, z = 1 / (1 - p->dropout);
    const double tiny = CHECK_SMALLEST * z * (1 + c) * (N + n + p->D + p->Dv);
    const double dO = sqrt(O.x), dOV = dO * sqrt(V.longest);
    const double s = 2 * z * (dOV + sqrt(2 * weights)) + sqrt(lse);
    const double csQ = c * (s + tiny * (sqrt(n) + sqrt((double)p->Dv) * dO)) * sqrt(Q.x);
    const double lost_Q = tiny * sqrt(n * p->D) + N * sqrt(Q.before);
    const double lost_K = tiny * sqrt(N * p->D) + n * sqrt(K.before);
    const double lost_V = tiny * sqrt(N * p->Dv) + n * sqrt(V.before);
    const double lost_O = tiny * sqrt(n * p->Dv);
    const double tol_Q = csQ * sqrt(K.longest) + lost_Q * sqrt(Q.x) + lost_K * sqrt(K.x);
    const double tol_V = z * sqrt(n) * dOV + lost_V * sqrt(V.x) + lost_O * dO;
    const double eps = CHECK_EPS * (double)REAL_EPS;
    at_sdpa_verdict head = {0};
    if (check->Q.y && check->K.y) head.Q = (at_sdpa_sides){Q.product, K.product, eps * tol_Q};
    if (check->V.y && check->O.x) head.V = (at_sdpa_sides){V.product, O.product, eps * tol_V};
    if (check->K.y && p->sums) head.K = check_sum_of_keys(check, b, g);
    head.K.tolerance = eps * (csQ + lost_K * sqrt(N));
    return head;
}

static void check_heads(void *ctx, ptrdiff_t task, ptrdiff_t to, int slot)
{
    const check_state *check = ctx;
    (void)slot;
    for (; task < to; task++)
        check->heads[task] =
            check_head(check, (int)task / check->call.p->G, (int)task % check->call.p->G);
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
    const size_t verdicts = at_sdpa_space_of(p, n->in).heads;
    check_state check = {.call = sdpa_operands_of(n), .heads = at_sdpa_after(n->saved, verdicts)};
    check_begin(n, AT_SDPA_Q, &check.Q);
    check_begin(n, AT_SDPA_K, &check.K);
    check_begin(n, AT_SDPA_V, &check.V);
    check.O.x = n->out[0]->grad;
    check.O.y = n->out[0]->data;
    backward(n);

    const int heads = p->B * p->G;
    ptrdiff_t elements = (p->N + (ptrdiff_t)p->group * p->T) * ((ptrdiff_t)p->D + p->Dv);
    at_for(heads, elements / 4, 0, check_heads, &check);
    for (int head = 0; head < heads; head++)
        at_sdpa_judge(n, head / p->G, head % p->G, check.heads[head]);
}

#ifdef AT_ONCE

void at_sdpa_judge(const at_node *n, int b, int g, at_sdpa_verdict head)
{
    const at_sdpa_sides sides[] = {head.Q, head.V, head.K};
    const at_sdpa_plan *p = n->args;
    const bool moves = p->sinks || (p->lse && n->out[p->lse]->grad);
    const char *const identity[] = {"<Q,dQ> = <K,dK>", "<V,dV> = <O,dO>",
                                    moves ? "sum_j dK_j = c sum_i (dlse_i + p_i delta_i) Q_i"
                                          : "sum_j dK_j = 0"};
    const int first = g * p->group, last = first + p->group - 1;
    char *heads = at_text_buffer();
    if (first < last)
        snprintf(heads, AT_TEXT_SIZE, "heads %d to %d of batch %d", first, last, b);
    else
        snprintf(heads, AT_TEXT_SIZE, "head %d of batch %d", first, b);
    for (int i = 0; i < 3; i++) {
        const at_sdpa_sides x = sides[i];
        const bool finite = isfinite(x.left) && isfinite(x.right);
        if (finite && fabs(x.left - x.right) > x.tolerance)
            at_fail(n->tape, ATTIC_USER_ERROR,
                    "sdpa (op %d): backward is wrong: %s does not hold in %s: the sides are %.9g "
                    "and %.9g, and may differ by %.1e",
                    n->index, identity[i], heads, x.left, x.right, x.tolerance);
    }
}

#endif
