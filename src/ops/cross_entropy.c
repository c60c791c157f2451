/* cross_entropy.c -- how surprised a prediction is by what came, in nats.
 *
 *   x [..., N]          logits: one row per prediction, one score per class
 *   c [...]             targets: the class that came
 *   loss []             or [...] without a reduction
 *
 *   forward    loss_i = -log softmax(x_i)[c_i]
 *                     = log sum_k exp(x_ik - m_i)  -  (x_i,c_i - m_i),      m_i = max_k x_ik
 *
 *              loss   = sum_i loss_i / count        count = targets not ignored; 1 for the sum
 *
 *   backward   with p = softmax(x_i):
 *
 *              dloss_i/dx_ij = d/dx_ij log sum_k exp(x_ik)  -  1[j = c_i]
 *                            = p_ij - 1[j = c_i]
 *
 *              dx_ij = (p_ij - 1[j = c_i]) dloss / count
 *
 * Label smoothing e takes q_ij = (1 - e) 1[j = c_i] + e / N for the truth (Szegedy et al. 2016):
 *
 *              loss_i = -sum_j q_ij log p_ij
 *                     = log sum_k exp(x_ik - m_i)  -  (1 - e) (x_i,c_i - m_i)
 *                                                  -  e/N sum_j (x_ij - m_i)
 *              dx_ij  = (p_ij - q_ij) dloss / count
 *
 * Targets that are probabilities, q itself, are in losses.c.
 *
 * Prediction minus truth: the logarithm undoes the exponential, and no small p is ever divided by.
 * That is why the two are one op.
 *
 * Saved are two values a row, m_i and 1 / sum_k exp(x_ik - m_i); p is made again from them when
 * backward comes, in chunks that stay in the first cache.  (Of their logarithm, m + log sum, the
 * last digits would be lost as soon as the logits are large.)
 *
 * The losses are added in double, in the order of the rows.
 *
 * Edges: ignored rows add nothing and get dx = 0; with all of them ignored the loss is 0.  A row of
 * all -inf gives nothing any probability: its loss is +inf and its dx = 0.  A target outside of
 * 0 .. N-1 is an error; should one be written later and the tape replayed, its row counts as NaN.
 */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/map_rows.h"

typedef struct {
    ptrdiff_t rows;
    int N;
    at_cross_entropy_args user;
    double g[AT_WIDEST / 8]; /* dloss / count, a WIDE; set by backward */
} cross_entropy_args;

enum { CROSS_ENTROPY_CHUNK = 256 }; /* of exp(x - m) on the stack at a time */

static bool is_ignored(const cross_entropy_args *a, int32_t target)
{
    return a->user.ignore && target == a->user.ignore_index;
}

/* What the sum of the losses is divided by. */
static ptrdiff_t cross_entropy_count(const at_node *n)
{
    const cross_entropy_args *a = n->args;
    const int32_t *target = n->in[1]->data;
    ptrdiff_t count = 0;
    if (a->user.reduction == ATTIC_SUM) return 1;
    for (ptrdiff_t i = 0; i < a->rows; i++) count += !is_ignored(a, target[i]);
    return count ? count : 1;
}

AT_BOTH(cross_entropy);

/* saved: m, 1/sum, and the loss, a WIDE, which has the place of two */
static const at_row_op cross_entropy_rows = {.saved = 4, .each = true};

static WIDE *cross_entropy_loss(void *saved)
{
    return (WIDE *)((REAL *)saved + 2);
}

static void cross_entropy_stat(const at_chunk *row)
{
    const cross_entropy_args *args = row->args;
    const REAL *x = row->in[0];
    const int32_t target = *(const int32_t *)row->in[1];
    REAL *stat = row->saved;
    WIDE *loss = cross_entropy_loss(stat);
    *loss = 0, stat[0] = stat[1] = 0; /* p = exp(x - 0) 0 = 0 */
    if (is_ignored(args, target)) return;
    if (target < 0 || target >= row->n) {
        *loss = (WIDE)NAN, stat[0] = stat[1] = (REAL)NAN;
        return;
    }
    REAL m = row_max(row->n, x);
    if (VALUE(m) == MINUS_INFINITY) {
        *loss = (WIDE)INFINITY;
        return;
    }
    REAL sum = row_exp_sum(row->n, x, m, NULL);
    stat[0] = m, stat[1] = OVER((REAL)1, sum);
    const double e = args->user.label_smoothing;
    *loss = (WIDE)log(sum) - (1 - e) * ((WIDE)x[target] - (WIDE)m);
    if (e == 0) return;
    WIDE others = 0;
    for (int j = 0; j < row->n; j++) others += (WIDE)x[j] - (WIDE)m;
    *loss -= e / row->n * others;
}

static void cross_entropy_row(const at_chunk *row, void *restrict values)
{
    cross_entropy_stat(row);
    if (((const cross_entropy_args *)row->args)->user.reduction == ATTIC_NONE)
        *(REAL *)values = (REAL)*cross_entropy_loss(row->saved); /* else it is one for all rows */
}

/* dx_j = (p_j - q_j) dloss / count */
static void cross_entropy_dx(const at_chunk *row, void *restrict values)
{
    const REAL *x = row->in[0], *stat = row->saved;
    const cross_entropy_args *args = row->args;
    const bool each = args->user.reduction == ATTIC_NONE;
    const REAL g = each ? *(const REAL *)row->dy : (REAL) * (const WIDE *)args->g;
    const REAL e = (REAL)args->user.label_smoothing, even = OVER(g * e, (REAL)row->n);
    const int32_t target = *(const int32_t *)row->in[1];
    REAL *dx = values;
    if (VALUE(stat[1]) == 0) {
        memset(dx, 0, (size_t)row->n * sizeof *dx);
        return;
    }
    for (int from = 0; from < row->n; from += CROSS_ENTROPY_CHUNK) {
        int count = row->n - from < CROSS_ENTROPY_CHUNK ? row->n - from : CROSS_ENTROPY_CHUNK;
        row_exp_sum(count, x + from, stat[0], dx + from);
        row_scale(count, stat[1] * g, dx + from, dx + from);
    }
    for (int j = 0; j < row->n && args->user.label_smoothing > 0; j++) dx[j] -= even;
    if (target >= 0 && target < row->n) dx[target] -= g * (1 - e);
}

AT_ROW_RANGE(cross_entropy_stat_rows, cross_entropy_rows, cross_entropy_row, false)
AT_ROW_RANGE(cross_entropy_dx_rows, cross_entropy_rows, cross_entropy_dx, true)

void AT_REAL(cross_entropy_forward)(at_node *n)
{
    const cross_entropy_args *a = n->args;
    WIDE sum = 0;
    at_map_rows(n, &cross_entropy_rows, AT_REAL(cross_entropy_stat_rows));
    if (a->user.reduction == ATTIC_NONE) return;
    for (ptrdiff_t i = 0; i < a->rows; i++)
        sum += *cross_entropy_loss((REAL *)n->saved + i * cross_entropy_rows.saved);
    *(REAL *)n->out[0]->data = (REAL)OVER(sum, (WIDE)cross_entropy_count(n));
}

void AT_REAL(cross_entropy_backward)(at_node *n)
{
    cross_entropy_args *a = n->args;
    if (a->user.reduction != ATTIC_NONE)
        *(WIDE *)a->g = OVER((WIDE) * (REAL *)n->out[0]->grad, (WIDE)cross_entropy_count(n));
    at_map_rows_back(n, &cross_entropy_rows, AT_REAL(cross_entropy_dx_rows));
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op cross_entropy_op = {.name = "cross_entropy", AT_BOTH_KERNELS(cross_entropy)};

/* Probabilities for targets: nothing can be ignored by its index. */
static at_tensor *with_probabilities(at_tape *t, at_tensor *logits, at_tensor *target,
                                     at_cross_entropy_args args)
{
    AT_REQUIRE(
        t, at_same_shape(logits->shape, target->shape),
        "cross_entropy: logits is %s but target is %s: a real target holds probabilities and needs "
        "the shape of logits; at_ints makes a target of class indices",
        at_text(logits), at_text(target));
    AT_REQUIRE(
        t, !args.ignore,
        "cross_entropy: ignore_index is %d but target %s is real: it holds probabilities, no class "
        "indices (at_ints makes those)",
        args.ignore_index, at_text(target));
    return at_cross_probabilities(t, logits, target, args);
}

at_tensor *at_cross_entropy(at_tape *t, at_tensor *logits, at_tensor *target,
                            at_cross_entropy_args args)
{
    AT_INPUT(t, "cross_entropy", logits, ATTIC_REAL);
    if (!at_check_any(t, "cross_entropy", "target", target)) return NULL;
    const bool probabilities = target->dtype == at_real(t);
    AT_INPUT(t, "cross_entropy", target, probabilities ? ATTIC_REAL : ATTIC_I32);
    AT_REQUIRE(t, logits->shape.ndim >= 1,
               "cross_entropy: logits is []; its last axis must be the classes");
    AT_REQUIRE(t, args.label_smoothing >= 0 && args.label_smoothing <= 1,
               "cross_entropy: label_smoothing is %g, but must be in 0..1", args.label_smoothing);
    if (!at_check_reduction(t, "cross_entropy", args.reduction)) return NULL;
    if (probabilities) return with_probabilities(t, logits, target, args);
    at_shape s = logits->shape;
    s.ndim--;
    AT_REQUIRE(t, at_same_shape(s, target->shape),
               "cross_entropy: logits is %s but target is %s: one target per row must be %s",
               at_text(logits), at_text(target), at_shape_text(s));

    cross_entropy_args a = {at_rows(logits->shape), at_last(logits->shape), args, {0}};
    const int32_t *c = target->data;
    for (ptrdiff_t i = 0; i < a.rows; i++)
        AT_REQUIRE(t, (c[i] >= 0 && c[i] < a.N) || is_ignored(&a, c[i]),
                   "cross_entropy: target %s is %d but logits is %s: there are %d classes",
                   at_shape_text(at_index_of(target->shape, i)), c[i], at_text(logits), a.N);

    return at_record_rows(t, &cross_entropy_op, &cross_entropy_rows, AT_IN(logits, target),
                          args.reduction == ATTIC_NONE ? s : (at_shape){0}, &a, sizeof a);
}

#endif
