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
#include "ops/map.h"

AT_KERNEL(scale_forward);
AT_KERNEL(scale_backward);
AT_KERNEL(add_scalar_forward);
AT_KERNEL(add_scalar_backward);

static REAL scale_c(const at_chunk *k)
{
    return (REAL) * (const double *)k->args;
}

static void scale_y(const at_chunk *k, void *values)
{
    const REAL *x = k->in[0], c = scale_c(k);
    REAL *y = values;
    for (int i = 0; i < k->n; i++) y[i] = c * x[i];
}

static void scale_dx(const at_chunk *k, void *values)
{
    const REAL *dy = k->dy, c = scale_c(k);
    REAL *dx = values;
    for (int i = 0; i < k->n; i++) dx[i] = c * dy[i];
}

static void add_scalar_y(const at_chunk *k, void *values)
{
    const REAL *x = k->in[0], c = scale_c(k);
    REAL *y = values;
    for (int i = 0; i < k->n; i++) y[i] = x[i] + c;
}

/* at_map runs a formula over the whole tensor, chunk by chunk, on as many threads as it deserves;
 * at_map_back does the same and adds the values to the gradient of in[0]. */

void AT_REAL(scale_forward)(at_node *n)
{
    at_map(n, scale_y);
}

void AT_REAL(scale_backward)(at_node *n)
{
    at_map_back(n, 0, scale_dx);
}

void AT_REAL(add_scalar_forward)(at_node *n)
{
    at_map(n, add_scalar_y);
}

void AT_REAL(add_scalar_backward)(at_node *n)
{
    at_map_back(n, 0, NULL); /* dx = dy */
}

#ifdef AT_ONCE /* ---------------------------- the ops ---------------------------- */

static const at_op scale_op = {
    .name = "scale", .forward = AT_KERNELS(scale_forward), .backward = AT_KERNELS(scale_backward)};

at_tensor *at_scale(at_tape *t, at_tensor *x, double c)
{
    AT_INPUT(t, "scale", x, ATTIC_REAL);
    if (isfinite(c) && !at_check_number(t, "scale", "c", c)) return NULL;
    return at_record(t, &scale_op, AT_IN(x), x->shape, &c, sizeof c);
}

static const at_op add_scalar_op = {.name = "add_scalar",
                                    .forward = AT_KERNELS(add_scalar_forward),
                                    .backward = AT_KERNELS(add_scalar_backward)};

at_tensor *at_add_scalar(at_tape *t, at_tensor *x, double c)
{
    AT_INPUT(t, "add_scalar", x, ATTIC_REAL);
    if (isfinite(c) && !at_check_number(t, "add_scalar", "c", c)) return NULL;
    return at_record(t, &add_scalar_op, AT_IN(x), x->shape, &c, sizeof c);
}

#endif
