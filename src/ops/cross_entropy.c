/* cross_entropy.c -- how surprised a prediction is by what came, in nats.
 *
 *   x [..., N]          logits: one row per prediction, one score per class
 *   c [...]             targets: the class that came
 *   w [N]               weights of the classes, constants; or none, which counts as ones
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
 * Weights of classes multiply the terms of the sum over j; a mean divides by the weights of the
 * targets (as torch.nn.functional.cross_entropy does):
 *
 *              loss_i = -sum_j w_j q_ij log p_ij
 *                     = V_i log sum_k exp(x_ik - m_i)  -  sum_j w_j q_ij (x_ij - m_i)
 *              V_i    = sum_j w_j q_ij  =  (1 - e) w_c_i  +  e/N sum_j w_j
 *              count  = sum_i w_c_i
 *              dx_ij  = (V_i p_ij - w_j q_ij) dloss / count
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
 * Edges: ignored rows add nothing and get dx = 0; with all of them ignored the loss is 0, and so is
 * the mean of targets whose weights are all 0.  A class of weight 0 adds 0, whatever its logit is.
 * A row of all -inf gives nothing any probability: its loss is +inf and its dx = 0.  A target
 * outside of 0 .. N-1 is an error; should one be written later and the tape replayed, its row
 * counts as NaN.
 */
#include "kernels/real.h"
#include "ops/cross_entropy.h"
#include "ops/map_rows.h"

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
    const REAL *x = row->in[0], *w = row->in[2];
    const int32_t target = *(const int32_t *)row->in[1];
    REAL *stat = row->saved;
    WIDE *loss = cross_entropy_loss(stat);
    *loss = 0, stat[0] = stat[1] = 0; /* p = exp(x - 0) 0 = 0 */
    if (is_ignored(args, target)) return;
    if (!is_class(args, target)) {
        *loss = (WIDE)NAN, stat[0] = stat[1] = (REAL)NAN;
        return;
    }
    const REAL V = w ? cross_entropy_weight(args, w, target) : 1;
    if (VALUE(V) == 0) return;
    REAL m = row_max(row->n, x);
    if (VALUE(m) == MINUS_INFINITY) {
        *loss = (WIDE)INFINITY;
        return;
    }
    REAL sum = row_exp_sum(row->n, x, m, NULL);
    stat[0] = m, stat[1] = OVER((REAL)1, sum);
    WIDE others = 0;
    if (args->user.label_smoothing > 0) others = cross_entropy_others(row->n, x, w, m);
    *loss = cross_entropy_loss_of(args, w, target, V, m, sum, x[target], others);
}

static void cross_entropy_row(const at_chunk *row, void *restrict values)
{
    cross_entropy_stat(row);
    if (((const cross_entropy_args *)row->args)->user.reduction == ATTIC_NONE)
        *(REAL *)values = (REAL)*cross_entropy_loss(row->saved); /* else it is one for all rows */
}

/* dx_j = (V p_j - w_j q_j) dloss / count */
static void cross_entropy_dx(const at_chunk *row, void *restrict values)
{
    const REAL *x = row->in[0], *w = row->in[2], *stat = row->saved;
    const cross_entropy_args *args = row->args;
    const bool each = args->user.reduction == ATTIC_NONE;
    const REAL g = each ? *(const REAL *)row->dy : (REAL) * (const WIDE *)args->g;
    const int32_t target = *(const int32_t *)row->in[1];
    if (VALUE(stat[1]) == 0) {
        memset(values, 0, (size_t)row->n * sizeof g);
        return;
    }
    const REAL V = w && is_class(args, target) ? cross_entropy_weight(args, w, target) : 1;
    cross_entropy_slopes(args, row->n, x, w, target, g, V, stat[0], stat[1], values);
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
    const REAL *w = n->in[2] ? n->in[2]->data : NULL;
    *(REAL *)n->out[0]->data = (REAL)cross_entropy_over(a, n->in[1]->data, w, sum);
}

void AT_REAL(cross_entropy_backward)(at_node *n)
{
    cross_entropy_args *a = n->args;
    const REAL *w = n->in[2] ? n->in[2]->data : NULL;
    if (a->user.reduction != ATTIC_NONE)
        *(WIDE *)a->g = cross_entropy_over(a, n->in[1]->data, w, (WIDE) * (REAL *)n->out[0]->grad);
    at_map_rows_back(n, &cross_entropy_rows, AT_REAL(cross_entropy_dx_rows));
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op cross_entropy_op = {.name = "cross_entropy", AT_BOTH_KERNELS(cross_entropy)};

/* Are they weights of the N classes of x? */
static bool class_weights_fit(at_tape *t, const char *op, const char *name, const at_tensor *x,
                              int N, const at_tensor *weights)
{
    if (!weights) return at_ok(t);
    if (!at_check_input(t, op, "weights", weights, ATTIC_REAL)) return false;
    AT_REQUIRE(t, at_same_shape(weights->shape, at_shape_of(N)),
               "%s: %s is %s but weights is %s: one weight for each class must be [%d]", op, name,
               at_text(x), at_text(weights), N);
    AT_REQUIRE(t, !weights->wants_grad,
               "%s: weights %s wants a gradient, but weights of classes are constants: "
               "at_detach makes one",
               op, at_text(weights));
    for (int j = 0; j < N; j++)
        AT_REQUIRE(t, at_element(weights, j) >= 0 && isfinite(at_element(weights, j)),
                   "%s: weights %s is %g at [%d], but must be finite and >= 0", op,
                   at_text(weights), at_element(weights, j), j);
    return true;
}

bool at_check_entropy(at_tape *t, const char *op, const char *name, const at_tensor *x, int N,
                      at_cross_entropy_args args)
{
    AT_REQUIRE(t, args.label_smoothing >= 0 && args.label_smoothing <= 1,
               "%s: label_smoothing is %g, but must be in 0..1", op, args.label_smoothing);
    return at_check_reduction(t, op, args.reduction) &&
           class_weights_fit(t, op, name, x, N, args.weights);
}

bool at_check_targets(at_tape *t, const char *op, const char *name, const at_tensor *x,
                      const at_tensor *target, const cross_entropy_args *a)
{
    const int32_t *c = target->data;
    for (ptrdiff_t i = 0; i < a->rows; i++)
        AT_REQUIRE(t, is_class(a, c[i]) || is_ignored(a, c[i]),
                   "%s: target %s is %d but %s is %s: there are %d classes", op,
                   at_shape_text(at_index_of(target->shape, i)), c[i], name, at_text(x), a->N);
    return true;
}

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
    const int N = at_last(logits->shape);
    if (!at_check_entropy(t, "cross_entropy", "logits", logits, N, args)) return NULL;
    if (probabilities) return with_probabilities(t, logits, target, args);
    at_shape s = logits->shape;
    s.ndim--;
    AT_REQUIRE(t, at_same_shape(s, target->shape),
               "cross_entropy: logits is %s but target is %s: one target per row must be %s",
               at_text(logits), at_text(target), at_shape_text(s));

    cross_entropy_args a = {at_rows(logits->shape), N, args, {0}};
    if (!at_check_targets(t, "cross_entropy", "logits", logits, target, &a)) return NULL;
    return at_record_rows(t, &cross_entropy_op, &cross_entropy_rows,
                          AT_IN(logits, target, args.weights),
                          args.reduction == ATTIC_NONE ? s : (at_shape){0}, &a, sizeof a);
}

#endif
