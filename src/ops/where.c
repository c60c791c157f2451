/* where.c -- choose between two operands, cell by cell.
 *
 *   cond  bool;   a, b  real;   all three broadcast to the shape of y
 *
 *   forward    y_i = cond_i ? a_i : b_i
 *   backward   da_i = cond_i ? dy_i : 0        db_i = cond_i ? 0 : dy_i
 *
 * summed over the places where an element was repeated.  Tempting is y = c a + (1-c) b with c of
 * zeros and ones; but 0 times NaN is NaN, and 0 times inf as well.  A choice does not read what it
 * does not take: a NaN in a, b or dy stays where it is not chosen.
 *
 * One NaN does come back, through the op that made it: in where(x > 0, log x, 0) the gradient
 * that reaches log at x = 0 is 0, and log multiplies it with 1/x = inf.  So choose before such an
 * op, log(where(x > 0, x, 1)), and not only after it.
 */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/map_op.h"

enum { WHERE_COND, WHERE_A, WHERE_B };

AT_FORMULA(where_y);
AT_FORMULA(where_da);
AT_FORMULA(where_db);

void AT_REAL(where_y)(const at_chunk *k, void *values)
{
    const unsigned char *cond = k->in[WHERE_COND];
    const REAL *a = k->in[WHERE_A], *b = k->in[WHERE_B];
    REAL *y = values;
    for (int i = 0; i < k->n; i++) y[i] = cond[i] ? a[i] : b[i];
}

void AT_REAL(where_da)(const at_chunk *k, void *values)
{
    const unsigned char *cond = k->in[WHERE_COND];
    const REAL *dy = k->dy;
    REAL *da = values;
    for (int i = 0; i < k->n; i++) da[i] = cond[i] ? dy[i] : 0;
}

void AT_REAL(where_db)(const at_chunk *k, void *values)
{
    const unsigned char *cond = k->in[WHERE_COND];
    const REAL *dy = k->dy;
    REAL *db = values;
    for (int i = 0; i < k->n; i++) db[i] = cond[i] ? 0 : dy[i];
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_map_op where_op = {
    AT_MAP_OP("where"),
    AT_KERNELS(where_y),
    {[WHERE_A] = AT_KERNELS(where_da), [WHERE_B] = AT_KERNELS(where_db)}};

at_tensor *at_where(at_tape *t, at_tensor *cond, at_tensor *a, at_tensor *b)
{
    at_shape ab, y;
    AT_INPUT(t, "where", cond, ATTIC_BOOL);
    AT_INPUT(t, "where", a, ATTIC_REAL);
    AT_INPUT(t, "where", b, ATTIC_REAL);
    AT_REQUIRE(t, at_broadcast(a->shape, b->shape, &ab), "where: a is %s but b is %s: %s",
               at_text(a), at_text(b), at_clash_text(a->shape, b->shape));
    AT_REQUIRE(t, at_broadcast(cond->shape, ab, &y),
               "where: cond is %s but a and b together are %s: %s", at_text(cond),
               at_shape_text(ab), at_clash_text(cond->shape, ab));
    return at_record_map(t, &where_op.op, AT_IN(cond, a, b), y, NULL, 0);
}

#endif
