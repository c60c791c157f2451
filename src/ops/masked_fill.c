/* masked_fill.c -- write a constant over some cells.
 *
 *   x, y  any shape;   where  bool, broadcasts to x: 1 = fill;   value  a constant
 *
 *   forward    y_i = where_i ? value : x_i
 *   backward   dx_i = where_i ? 0 : dy_i
 *
 * A filled cell is a constant: x has no say in it, so its gradient is exactly 0 (not 0 times dy:
 * dy may be NaN or infinite there).
 *
 * In attention the value is -INFINITY, before softmax:
 *
 *     scores    0.9  0.2  0.5        where  0 1 1       y    0.9 -inf -inf    softmax  1   0   0
 *               0.1  0.7  0.3               0 0 1            0.1  0.7 -inf             .35 .65 0
 *
 * since exp(-inf) is exactly 0.  A large number such as -1e9 is only nearly that: against scores of
 * -1e9 it hides nothing, and a row where everything is masked becomes uniform, attention paid to
 * nothing but padding, where softmax of nothing but -inf is 0 here.
 *
 * Mind the polarity: 1 fills, 1 hides.  at_sdpa's `keep` is the opposite, 1 attends.
 */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/map_op.h"

enum { MASKED_FILL_X, MASKED_FILL_WHERE };

AT_FORMULA(masked_fill_y);
AT_FORMULA(masked_fill_dx);

void AT_REAL(masked_fill_y)(const at_chunk *k, void *values)
{
    const REAL *x = k->in[MASKED_FILL_X], value = (REAL) * (const double *)k->args;
    const unsigned char *where = k->in[MASKED_FILL_WHERE];
    REAL *y = values;
    for (int i = 0; i < k->n; i++) y[i] = where[i] ? value : x[i];
}

void AT_REAL(masked_fill_dx)(const at_chunk *k, void *values)
{
    const unsigned char *where = k->in[MASKED_FILL_WHERE];
    const REAL *dy = k->dy;
    REAL *dx = values;
    for (int i = 0; i < k->n; i++) dx[i] = where[i] ? 0 : dy[i];
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_map_op masked_fill_op = {AT_MAP_OP("masked_fill", .makes_infinity = true),
                                         AT_KERNELS(masked_fill_y),
                                         {AT_KERNELS(masked_fill_dx)}};

at_tensor *at_masked_fill(at_tape *t, at_tensor *x, at_tensor *where, double value)
{
    AT_INPUT(t, "masked_fill", x, ATTIC_REAL);
    AT_INPUT(t, "masked_fill", where, ATTIC_BOOL);
    if (isfinite(value) && !at_check_number(t, "masked_fill", "value", value)) return NULL;
    AT_REQUIRE(t, at_broadcasts_to(where->shape, x->shape),
               "masked_fill: where is %s, which does not broadcast to x %s", at_text(where),
               at_text(x));
    return at_record(t, &masked_fill_op.op, AT_IN(x, where), x->shape, &value, sizeof value);
}

#endif
