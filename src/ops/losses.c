/* losses.c -- how far a prediction x is from its target z, element by element: a table.
 *
 *   x, z   one shape
 *   l      the same shape; or its mean or sum, []
 *
 *   name    l = f(x, z)                            dx / dl              dz / dl
 *   mse     d^2,  d = x - z                        2 d                  -2 d
 *   huber   d^2 / 2 if |d| <= D, else              d, but within        -dx
 *           D (|d| - D / 2)                        -D .. D
 *   bce     -z ln s - (1 - z) ln(1 - s)            s - z                -x
 *           s = sigmoid(x)
 *   kl      z (ln z - x)                           -z                   ln z - x + 1
 *   kl      p (z - x),  p = e^z                    -p                   p (z - x + 1)
 *   bce     -p z ln s - (1 - z) ln(1 - s)          k s - p z            p f(-x) - f(x)
 *           f(x) = ln(1 + e^x)                     k = 1 - z + p z
 *   cross   -q x,  q = (1 - e) z + e / N           -q                   -(1 - e) x
 *   cross   -w q x                                 -w q                 -(1 - e) w x
 *
 * bce is computed as max(x, 0) - x z + ln(1 + e^-|x|), which is the same:
 *
 *   -z ln s - (1 - z) ln(1 - s) = ln(1 + e^x) - x z,     ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|)
 *
 * but no exponent is above 0, and a small loss keeps its digits.  The second row has a weight p for
 * what is positive, one number or one for each class, and is computed likewise:
 *
 *   p z f(-x) + (1 - z) f(x) = p z max(-x, 0) + (1 - z) max(x, 0) + k ln(1 + e^-|x|)
 *
 * kl has two rows, for targets that
 * are probabilities and for such as are their logarithms; x is a log-probability in both.  cross is
 * the term of cross-entropy for a target z that holds probabilities of N classes, with label
 * smoothing e and x = log_softmax(logits); w is the weight of the class.  p and w are constants.
 *
 * Nothing is saved.  Edge: where a target has probability 0, the terms of kl and cross are 0
 * whatever x is, -inf among them; so are those of cross where w is 0; so is the gradient of kl in
 * z, which would be -inf. */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/map_op.h"

typedef enum {
    LOSS_MSE,
    LOSS_HUBER,
    LOSS_BCE,
    LOSS_BCE_POSITIVE, /* in[2]: p */
    LOSS_KL,
    LOSS_KL_LOG,
    LOSS_CROSS,
    LOSS_CROSS_WEIGHTS /* in[2]: w */
} loss_name;

typedef struct {
    loss_name name;
    double delta;       /* of huber */
    double keep, shift; /* of cross: q = keep z + shift */
} loss_args;

AT_FORMULA(loss_y);
AT_FORMULA(loss_dx);
AT_FORMULA(loss_dz);

/* k = 1 - z + p z */
static REAL loss_share(REAL z, REAL p)
{
    return 1 - z + p * z;
}

/* max(x, 0) and max(-x, 0).  At 0 both take the side of x < 0, as |x| does in dual.h. */
static REAL loss_above(REAL x)
{
    return VALUE(x) > 0 ? x : 0;
}

static REAL loss_below(REAL x)
{
    return VALUE(x) > 0 ? 0 : -x;
}

static REAL loss_within(REAL d, REAL delta)
{
    return VALUE(d) < -VALUE(delta) ? -delta : VALUE(d) > VALUE(delta) ? delta : d;
}

/* The third operand; NULL if there is none. */
static const REAL *loss_third(const at_chunk *k)
{
    const loss_name name = ((const loss_args *)k->args)->name;
    return name == LOSS_BCE_POSITIVE || name == LOSS_CROSS_WEIGHTS ? k->in[2] : NULL;
}

#define EACH(formula)                                                                              \
    for (int i = 0; i < k->n; i++) formula

void AT_REAL(loss_y)(const at_chunk *k, void *values)
{
    const loss_args *a = k->args;
    const REAL *x = k->in[0], *z = k->in[1], delta = (REAL)a->delta;
    const REAL keep = (REAL)a->keep, shift = (REAL)a->shift, *p = loss_third(k);
    REAL *l = values, q[AT_CHUNK];

    switch (a->name) {
    case LOSS_MSE: EACH(l[i] = (x[i] - z[i]) * (x[i] - z[i])); break;
    case LOSS_HUBER: /* c (d - c / 2), with c = d within -D .. D */
        EACH(q[i] = loss_within(x[i] - z[i], delta));
        EACH(l[i] = q[i] * (x[i] - z[i] - OVER(q[i], (REAL)2)));
        break;
    case LOSS_BCE:
        EACH(l[i] = -fabs(x[i]));
        vexp(k->n, l, q);
        EACH(l[i] = mul_add(-x[i], z[i], loss_above(x[i])) + log1p(q[i]));
        break;
    case LOSS_BCE_POSITIVE:
        EACH(l[i] = -fabs(x[i]));
        vexp(k->n, l, q);
        EACH(l[i] = p[i] * z[i] * loss_below(x[i]) + (1 - z[i]) * loss_above(x[i]) +
                    loss_share(z[i], p[i]) * log1p(q[i]));
        break;
    case LOSS_KL:
        vlog(k->n, z, q);
        EACH(l[i] = VALUE(z[i]) == 0 ? 0 : z[i] * (q[i] - x[i]));
        break;
    case LOSS_KL_LOG:
        vexp(k->n, z, q);
        EACH(l[i] = VALUE(q[i]) == 0 ? 0 : q[i] * (z[i] - x[i]));
        break;
    case LOSS_CROSS:
        EACH(q[i] = mul_add(keep, z[i], shift));
        EACH(l[i] = VALUE(q[i]) == 0 && !isfinite(VALUE(x[i])) ? 0 : -q[i] * x[i]);
        break;
    case LOSS_CROSS_WEIGHTS:
        EACH(q[i] = p[i] * mul_add(keep, z[i], shift));
        EACH(l[i] = VALUE(q[i]) == 0 && !isfinite(VALUE(x[i])) ? 0 : -q[i] * x[i]);
        break;
    }
}

void AT_REAL(loss_dx)(const at_chunk *k, void *values)
{
    const loss_args *a = k->args;
    const REAL *x = k->in[0], *z = k->in[1], *dl = k->dy, delta = (REAL)a->delta;
    const REAL keep = (REAL)a->keep, shift = (REAL)a->shift, *p = loss_third(k);
    REAL *dx = values, s[AT_CHUNK];

    switch (a->name) {
    case LOSS_MSE: EACH(dx[i] = 2 * (x[i] - z[i]) * dl[i]); break;
    case LOSS_HUBER: EACH(dx[i] = loss_within(x[i] - z[i], delta) * dl[i]); break;
    case LOSS_BCE:
        vsigmoid(k->n, x, s);
        EACH(dx[i] = (s[i] - z[i]) * dl[i]);
        break;
    case LOSS_BCE_POSITIVE:
        vsigmoid(k->n, x, s);
        EACH(dx[i] = (loss_share(z[i], p[i]) * s[i] - p[i] * z[i]) * dl[i]);
        break;
    case LOSS_KL: EACH(dx[i] = -z[i] * dl[i]); break;
    case LOSS_KL_LOG:
        vexp(k->n, z, s);
        EACH(dx[i] = -s[i] * dl[i]);
        break;
    case LOSS_CROSS: EACH(dx[i] = -mul_add(keep, z[i], shift) * dl[i]); break;
    case LOSS_CROSS_WEIGHTS: EACH(dx[i] = -p[i] * mul_add(keep, z[i], shift) * dl[i]); break;
    }
}

void AT_REAL(loss_dz)(const at_chunk *k, void *values)
{
    const loss_args *a = k->args;
    const REAL *x = k->in[0], *z = k->in[1], *dl = k->dy, delta = (REAL)a->delta;
    const REAL *w = loss_third(k);
    REAL *dz = values, p[AT_CHUNK];

    switch (a->name) {
    case LOSS_MSE: EACH(dz[i] = 2 * (z[i] - x[i]) * dl[i]); break;
    case LOSS_HUBER: EACH(dz[i] = -loss_within(x[i] - z[i], delta) * dl[i]); break;
    case LOSS_BCE: EACH(dz[i] = -x[i] * dl[i]); break;
    case LOSS_BCE_POSITIVE:
        EACH(dz[i] = -fabs(x[i]));
        vexp(k->n, dz, p);
        EACH(dz[i] =
                 (w[i] * loss_below(x[i]) - loss_above(x[i]) + (w[i] - 1) * log1p(p[i])) * dl[i]);
        break;
    case LOSS_KL:
        vlog(k->n, z, p);
        EACH(dz[i] = VALUE(z[i]) == 0 ? 0 : (p[i] - x[i] + 1) * dl[i]);
        break;
    case LOSS_KL_LOG:
        vexp(k->n, z, p);
        EACH(dz[i] = VALUE(p[i]) == 0 ? 0 : p[i] * (z[i] - x[i] + 1) * dl[i]);
        break;
    case LOSS_CROSS: EACH(dz[i] = -(REAL)a->keep * x[i] * dl[i]); break;
    case LOSS_CROSS_WEIGHTS:
        EACH(dz[i] = VALUE(w[i]) == 0 ? 0 : -(REAL)a->keep * w[i] * x[i] * dl[i]);
        break;
    }
}

#ifdef AT_ONCE /* ---------------------------- the ops ---------------------------- */

#define LOSS(text)                                                                                 \
    AT_MAP_OP(text), .f = AT_KERNELS(loss_y), .g = {AT_KERNELS(loss_dx), AT_KERNELS(loss_dz)}
static const at_map_op loss_op[] = {
    [LOSS_MSE] = {LOSS("mse")},
    [LOSS_HUBER] = {LOSS("huber")},
    [LOSS_BCE] = {LOSS("bce")},
    [LOSS_BCE_POSITIVE] = {LOSS("bce")},
    [LOSS_KL] = {LOSS("kl")},
    [LOSS_KL_LOG] = {LOSS("kl")},
    [LOSS_CROSS] = {LOSS("cross_entropy")},
    [LOSS_CROSS_WEIGHTS] = {LOSS("cross_entropy")},
};

bool at_check_reduction(at_tape *t, const char *op, at_reduction r)
{
    AT_REQUIRE(t, r == ATTIC_MEAN || r == ATTIC_SUM || r == ATTIC_NONE,
               "%s: there is no reduction %d", op, (int)r);
    return true;
}

static at_tensor *loss_reduced(at_tape *t, at_tensor *l, at_reduction r)
{
    return r == ATTIC_NONE ? l : r == ATTIC_SUM ? at_sum(t, l) : at_mean(t, l);
}

/* With a third operand, a constant that broadcasts to x. */
static at_tensor *loss_of_three(at_tape *t, at_tensor *x, at_tensor *target, at_tensor *third,
                                loss_args args, at_reduction r)
{
    const at_op *op = &loss_op[args.name].op;
    AT_INPUT(t, op->name, x, ATTIC_REAL);
    AT_INPUT(t, op->name, target, ATTIC_REAL);
    AT_REQUIRE(t, at_same_shape(x->shape, target->shape), "%s: x is %s but target is %s", op->name,
               at_text(x), at_text(target));
    if (!at_check_reduction(t, op->name, r)) return NULL;
    at_inputs in = AT_IN(x, target, third);
    if (!third) in.n = 2;
    return loss_reduced(t, at_record(t, op, in, x->shape, &args, sizeof args), r);
}

static at_tensor *loss(at_tape *t, at_tensor *x, at_tensor *target, loss_args args, at_reduction r)
{
    return loss_of_three(t, x, target, NULL, args, r);
}

at_tensor *at_mse(at_tape *t, at_tensor *x, at_tensor *target, at_reduction r)
{
    return loss(t, x, target, (loss_args){.name = LOSS_MSE}, r);
}

at_tensor *at_huber(at_tape *t, at_tensor *x, at_tensor *target, double delta, at_reduction r)
{
    if (!at_check_number(t, "huber", "delta", delta)) return NULL;
    AT_REQUIRE(t, delta > 0, "huber: delta is %g, but must be > 0", delta);
    return loss(t, x, target, (loss_args){.name = LOSS_HUBER, .delta = delta}, r);
}

/* Are these weights of elements of x? */
static bool bce_weights_fit(at_tape *t, const at_tensor *x, const char *name, const at_tensor *w)
{
    if (!w) return at_ok(t);
    if (!at_check_input(t, "bce", name, w, ATTIC_REAL)) return false;
    AT_REQUIRE(t, at_broadcasts_to(w->shape, x->shape),
               "bce: x is %s but %s is %s, which does not broadcast to it", at_text(x), name,
               at_text(w));
    AT_REQUIRE(t, !w->wants_grad,
               "bce: %s %s wants a gradient, but weights are constants: at_detach makes one", name,
               at_text(w));
    return true;
}

at_tensor *at_bce(at_tape *t, at_tensor *x, at_tensor *target, at_bce_args args)
{
    AT_INPUT(t, "bce", x, ATTIC_REAL);
    if (!bce_weights_fit(t, x, "positive", args.positive)) return NULL;
    if (!bce_weights_fit(t, x, "weights", args.weights)) return NULL;
    const at_reduction r = args.reduction;
    const loss_args a = {.name = args.positive ? LOSS_BCE_POSITIVE : LOSS_BCE};
    if (!args.weights) return loss_of_three(t, x, target, args.positive, a, r);
    if (!at_check_reduction(t, "bce", r)) return NULL;
    at_tensor *l = loss_of_three(t, x, target, args.positive, a, ATTIC_NONE);
    return loss_reduced(t, at_mul(t, l, args.weights), r);
}

at_tensor *at_kl(at_tape *t, at_tensor *x, at_tensor *target, bool log_target, at_reduction r)
{
    return loss(t, x, target, (loss_args){.name = log_target ? LOSS_KL_LOG : LOSS_KL}, r);
}

at_tensor *at_cross_probabilities(at_tape *t, at_tensor *logits, at_tensor *q,
                                  at_cross_entropy_args args)
{
    const int N = at_last(logits->shape);
    const ptrdiff_t rows = at_rows(logits->shape);
    loss_args a = {.name = args.weights ? LOSS_CROSS_WEIGHTS : LOSS_CROSS,
                   .keep = 1 - args.label_smoothing};
    a.shift = N > 0 ? args.label_smoothing / N : 0;
    at_tensor *x = at_log_softmax(t, logits);
    at_tensor *l = loss_of_three(t, x, q, args.weights, a, ATTIC_NONE);
    if (args.reduction == ATTIC_NONE) return at_sum_over(t, l, at_axes(-1), false);
    l = at_sum(t, l);
    return args.reduction == ATTIC_SUM ? l : at_scale(t, l, rows > 0 ? 1 / (double)rows : 0);
}

#endif
