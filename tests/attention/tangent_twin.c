/* tangent_twin.c -- at_sdpa_jvp by dual numbers: the twin of its tiles, with none of their equations.
 *
 * On a tape of dual numbers an input is Q + Qdot e, and the plain path of at_sdpa gives
 *
 *     O + Odot e        A + Adot e        lse + lsedot e
 *
 * For at_sdpa_jvp the loss has upstream gradients of all four.  Let u be that of Odot and v that of O.
 * Backward on the dual tape from O with the upstream gradient u + v e adds to the gradient of Q
 *
 *     J^T u + (d/dh J(Q + h Qdot)^T (u + h v)) e        J = dO/dQ
 *
 * whose value is d(loss)/dQdot and whose tangent is d(loss)/dQ; so for every input, and so with the
 * upstream gradients of Adot and A, lsedot and lse beside these.  Each role of a tensor is a leaf of its own here, and the gradient
 * of a tensor in several roles is the sum.
 *
 * NaN.  A tape of dual numbers refuses a NaN in a tangent beside a finite value.  What a NaN reaches among values, and
 * what among tangents, is found in a run each: in the first a tangent of NaN is read as 0; in the second the value
 * beside it is NaN, too, unless that is a bias of -INFINITY, whose tangent nobody reads; a NaN of lse, or of the
 * sink's gradient, then stands for one of its tangent: of a row that keeps nothing both are just handed on. */
#include "attention/tangent_run.h"

#include <math.h>
#include <string.h>

#include "autograd/tangent.h"
#include "test.h"

typedef struct {
    at_tape *d;
    at_tensor *in[MOVERS], *O, *A, *lse;
} twin_run;

/* value + tangent e; of both, one may be NULL. */
static at_tensor *twin_leaf(at_tape *d, const at_tensor *value, const at_tensor *tangent,
                            bool NaN_is_value)
{
    if (!value && !tangent) return NULL;
    at_tensor *x = at_variable(d, (value ? value : tangent)->shape, NULL);
    const ptrdiff_t n = x ? at_count(x->shape) : 0;
    double *v = at_step_alloc(d, ((size_t)n + 1) * sizeof *v);
    for (ptrdiff_t i = 0; v && i < n; i++) {
        double number = value ? at_element(value, i) : 0;
        v[i] = tangent ? at_element(tangent, i) : 0;
        if (isnan(v[i]) && NaN_is_value && isfinite(number)) number = (double)NAN;
        if (isnan(v[i])) v[i] = 0;
        at_store(ATTIC_DUAL, x->data, i, number);
    }
    at_set_tangent(x, v);
    return x;
}

/* <c, y>, where c is the upstream gradient that y is to have */
static at_tensor *twin_weighed(at_tape *d, at_tensor *y, at_tensor *c)
{
    return at_sum(d, at_mul(d, y, c));
}

static twin_run twin_of(const tangent_problem *p, const tangent_run *r, bool NaN_is_value)
{
    const at_tensor *in[] = TANGENT_INPUTS(*r);
    twin_run x = {.d = at_open(ATTIC_DUAL, (uint64_t)p->p.seed)};
    at_tape *d = x.d;
    for (int i = 0; i < MOVERS; i++)
        if (in[i]) x.in[i] = twin_leaf(d, in[i], r->dot[i], NaN_is_value);
    at_sdpa_args a = p->p.args;
    const at_tensor *keep = r->of.keep, *key_len = r->of.key_len;
    const at_tensor *ids = r->of.segments, *key_ids = r->of.key_segments;
    a.path = ATTIC_PLAIN, a.bias = x.in[MOVES_BIAS], a.lse = &x.lse, a.weights = &x.A;
    a.sink = x.in[MOVES_SINK];
    if (keep) a.keep = at_bools(d, keep->shape, keep->data);
    if (key_len) a.key_len = at_ints(d, key_len->shape, key_len->data);
    if (ids) a.segments = at_ints(d, ids->shape, ids->data);
    if (key_ids) a.key_segments = at_ints(d, key_ids->shape, key_ids->data);
    x.O = at_sdpa(d, x.in[MOVES_Q], x.in[MOVES_K], x.in[MOVES_V], a);
    at_tensor *dO = twin_leaf(d, r->upstream[SEEN_ODOT], r->upstream[SEEN_O], NaN_is_value);
    at_tensor *dA = twin_leaf(d, r->upstream[SEEN_WDOT], r->upstream[SEEN_W], NaN_is_value);
    at_tensor *dL = twin_leaf(d, r->upstream[SEEN_LDOT], r->upstream[SEEN_L], NaN_is_value);
    at_tensor *loss = at_const(d, at_shape_of(), NULL);
    if (dO) loss = at_add(d, loss, twin_weighed(d, x.O, dO));
    if (dA) loss = at_add(d, loss, twin_weighed(d, x.A, dA));
    if (dL) loss = at_add(d, loss, twin_weighed(d, x.lse, dL));
    ck_assert_msg(at_ok(d) && at_backward(d, loss), "%s: %s", sdpa_problem_text(&p->p),
                  at_error(d));
    return x;
}

/* y = x, which may be NULL: 0 */
static void twin_show(at_tensor *y, const at_tensor *x)
{
    for (ptrdiff_t i = 0; y && i < at_count(y->shape); i++)
        at_store(y->dtype, y->data, i, at_element(x, i));
}

/* The gradient of x, if it is wanted, grows by dx. */
static void twin_add(at_tensor *x, const at_tensor *dx)
{
    if (!x || !x->wants_grad) return;
    if (!x->grad) x->grad = memset(at_step_alloc(x->tape, at_bytes(x) + 1), 0, at_bytes(x) + 1);
    for (ptrdiff_t i = 0; i < at_count(x->shape); i++)
        at_store(x->dtype, x->grad, i, at_grad_element(x, i) + at_element(dx, i));
}

/* A constant of x's gradient, 0 where none has arrived. */
static at_tensor *twin_grad(at_tape *d, at_tensor *x)
{
    at_tensor *dx = at_const(d, x->shape, NULL);
    for (ptrdiff_t i = 0; x->grad && i < at_count(x->shape); i++)
        at_store(ATTIC_DUAL, dx->data, i, at_grad_element(x, i));
    return dx;
}

tangent_run tangent_twin(at_tape *t, const tangent_problem *p,
                         void (*change)(const tangent_problem *p, tangent_run *r))
{
    tangent_run r = tangent_inputs(t, p);
    ck_assert_msg(tangent_forward(t, p, &r), "%s", at_error(t)); /* tensors for the results */
    if (change) change(p, &r);
    twin_run value = twin_of(p, &r, false), tangent = change ? twin_of(p, &r, true) : value;
    twin_show(r.out[SEEN_O], value.O);
    twin_show(r.out[SEEN_W], value.A);
    twin_show(r.out[SEEN_L], value.lse);
    twin_show(r.out[SEEN_ODOT], at_tangent(tangent.d, tangent.O));
    twin_show(r.out[SEEN_WDOT], at_tangent(tangent.d, tangent.A));
    twin_show(r.out[SEEN_LDOT], at_tangent(tangent.d, tangent.lse));
    for (ptrdiff_t i = 0; r.out[SEEN_LDOT] && i < at_count(tangent.lse->shape); i++)
        if (isnan(at_element(tangent.lse, i)) && !isnan(at_element(value.lse, i)))
            at_store(r.out[SEEN_LDOT]->dtype, r.out[SEEN_LDOT]->data, i, (double)NAN);
    at_tensor *in[] = TANGENT_INPUTS(r);
    for (int i = 0; i < MOVERS; i++) {
        if (!in[i]) continue;
        at_tensor *dx = at_grad_tangent(tangent.d, tangent.in[i]);
        for (ptrdiff_t k = 0; i == MOVES_SINK && k < at_count(dx->shape); k++)
            if (isnan(at_grad_element(tangent.in[i], k)) && !isnan(at_grad_element(value.in[i], k)))
                at_store(dx->dtype, dx->data, k, (double)NAN);
        twin_add(in[i], dx);
        twin_add(r.dot[i], twin_grad(value.d, value.in[i]));
    }
    if (change) at_close(tangent.d);
    at_close(value.d);
    return r;
}
