/* scale.c -- multiply by a constant, or add one: the simplest ops, and the pattern of the others.
 *
 *   x, y  any shape; c is a constant, no tensor
 *
 *   forward    y_i = c x_i                y_i = x_i + c
 *   backward   dx_i = c dy_i              dx_i = dy_i
 *
 * Backward is the chain rule.  The loss L depends on x_i only through y_i, so
 *
 *              dL/dx_i = dL/dy_i dy_i/dx_i,      or, writing dx_i for dL/dx_i,
 *              dx_i    = dy_i c
 *
 * and that is all a backward ever does: from dy, which the ops after this one have left in y->grad,
 * it makes its share of dx, and adds it to what other uses of x have put there.
 *
 * In attention, c = 1/sqrt(D) keeps the variance of a score q.k near 1 however long q and k are.
 */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/map_op.h"

AT_FORMULA(scale_y);
AT_FORMULA(scale_dx);
AT_FORMULA(add_scalar_y);

static REAL scale_c(const at_chunk *k)
{
    return (REAL) * (const double *)k->args;
}

void AT_REAL(scale_y)(const at_chunk *k, void *values)
{
    const REAL *x = k->in[0], c = scale_c(k);
    REAL *y = values;
    for (int i = 0; i < k->n; i++) y[i] = c * x[i];
}

void AT_REAL(scale_dx)(const at_chunk *k, void *values)
{
    const REAL *dy = k->dy, c = scale_c(k);
    REAL *dx = values;
    for (int i = 0; i < k->n; i++) dx[i] = c * dy[i];
}

void AT_REAL(add_scalar_y)(const at_chunk *k, void *values)
{
    const REAL *x = k->in[0], c = scale_c(k);
    REAL *y = values;
    for (int i = 0; i < k->n; i++) y[i] = x[i] + c;
}

#ifdef AT_ONCE /* ---------------------------- the ops ---------------------------- */

/* A formula runs over the whole tensor, chunk by chunk, on as many threads as it deserves; the
 * values of the second one are added to the gradient of in[0]. */
static const at_map_op scale_op = {AT_MAP_OP("scale"), AT_KERNELS(scale_y), {AT_KERNELS(scale_dx)}};

static at_tensor *scale_record(at_tape *t, const at_op *op, at_tensor *x, double c)
{
    AT_INPUT(t, op->name, x, ATTIC_REAL);
    if (isfinite(c) && !at_check_number(t, op->name, "c", c)) return NULL;
    return at_record(t, op, AT_IN(x), x->shape, &c, sizeof c);
}

at_tensor *at_scale(at_tape *t, at_tensor *x, double c)
{
    return scale_record(t, &scale_op.op, x, c);
}

static const at_map_op add_scalar_op = {
    AT_MAP_OP("add_scalar"), AT_KERNELS(add_scalar_y), {{0}}}; /* dx = dy */

at_tensor *at_add_scalar(at_tape *t, at_tensor *x, double c)
{
    return scale_record(t, &add_scalar_op.op, x, c);
}

#endif
