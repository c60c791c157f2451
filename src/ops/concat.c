/* concat.c -- several tensors one after the other along an axis; stack: along a new one.
 *
 *   concat     x0 [outer,N0,inner]  x1 [outer,N1,inner] ...   y [outer,N0+N1+...,inner]
 *   stack      x0 [outer,inner]     x1 [outer,inner]    ...   y [outer,n,inner]
 *
 *   forward    one row of y per o, made of one row of each:
 *
 *                  y    [ x0 row o | x1 row o | x2 row o ]
 *
 *   backward   each takes back its part of dy.  If one tensor was given twice, its gradient is the
 *              sum of both parts.
 *
 * With the sizes written as elements per row, N_k inner or inner alone, both ops are the same. */
#include "ops/op.h"

#include <limits.h>

#include "kernels/real.h"

/* Elements in a row of x, one of `outer`. */
static ptrdiff_t concat_row(const at_tensor *x, ptrdiff_t outer)
{
    return outer ? at_count(x->shape) / outer : 0;
}

AT_KERNEL(concat_backward);

void AT_REAL(concat_backward)(at_node *n)
{
    const ptrdiff_t rows = *(const ptrdiff_t *)n->args;
    const REAL *dy = n->out[0]->grad;
    ptrdiff_t whole = concat_row(n->out[0], rows), size = sizeof(REAL);
    for (int k = 0; k < n->n_in; k++) {
        ptrdiff_t part = concat_row(n->in[k], rows);
        at_grad_buffer dx = at_grad_overwrite(n, k);
        if (dx.p && dx.beta) add_rows(rows, part, dy, whole, dx.p, part);
        if (dx.p && !dx.beta) at_copy_rows(rows, part * size, dy, whole * size, dx.p, part * size);
        dy += part;
    }
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static void concat_forward(at_node *n)
{
    const ptrdiff_t rows = *(const ptrdiff_t *)n->args;
    ptrdiff_t size = (ptrdiff_t)at_dtype_size(n->out[0]->dtype);
    ptrdiff_t whole = concat_row(n->out[0], rows) * size;
    char *y = n->out[0]->data;
    for (int k = 0; k < n->n_in; k++) {
        ptrdiff_t part = concat_row(n->in[k], rows) * size;
        at_copy_rows(rows, part, n->in[k]->data, part, y, whole);
        y += part;
    }
}

static const at_op concat_op = {.name = "concat", AT_MOVE_KERNELS(concat)};
static const at_op stack_op = {.name = "stack", AT_MOVE_KERNELS(concat)};

/* n >= 1 tensors of one dtype and of one shape, apart from the axis where they are to be joined. */
static bool concat_inputs_fit(at_tape *t, const char *op, at_tensor **x, int n, bool join, int axis)
{
    AT_REQUIRE(t, x, "%s: the list of tensors is NULL", op);
    AT_REQUIRE(t, n >= 1, "%s: %d tensors were given, there must be at least one", op, n);
    for (int k = 0; k < n; k++) {
        char *arg = at_text_buffer();
        snprintf(arg, AT_TEXT_SIZE, "x[%d]", k);
        if (!at_check_any(t, op, arg, x[k])) return false;
        AT_REQUIRE(t, x[k]->dtype == x[0]->dtype, "%s: x[0] is %s but x[%d] is %s", op,
                   at_dtype_text(x[0]->dtype), k, at_dtype_text(x[k]->dtype));
        int a = join ? at_axis_of(x[0]->shape, axis) : -1;
        AT_REQUIRE(t, a >= 0 || !join, "%s: there is no axis %d in x[0] %s", op, axis,
                   at_text(x[0]));
        at_shape like = x[0]->shape;
        if (a >= 0) like.dim[a] = x[k]->shape.dim[a];
        AT_REQUIRE(t, at_same_shape(like, x[k]->shape),
                   join ? "%s: x[0] is %s but x[%d] is %s: they may differ in axis %d alone"
                        : "%s: x[0] is %s but x[%d] is %s: they must be equal",
                   op, at_text(x[0]), k, at_text(x[k]), axis);
    }
    return true;
}

static at_tensor *concat_record(at_tape *t, const at_op *op, at_tensor **x, int n, at_shape y,
                                int axis)
{
    /* an empty y may have huge other dims */
    bool some = at_shape_valid(y) && at_count(y) > 0;
    ptrdiff_t outer = some ? at_count_between(y, 0, axis) : 0;
    at_recipe r = {.shape = {y}, .dtype = {x[0]->dtype}, .args = &outer, .args_size = sizeof outer};
    return at_output(at_record_node(t, op, (at_inputs){n, x}, r));
}

at_tensor *at_concat(at_tape *t, at_tensor **x, int n, int axis)
{
    if (!concat_inputs_fit(t, "concat", x, n, true, axis)) return NULL;
    at_shape y = x[0]->shape;
    int a = at_axis_of(y, axis);
    ptrdiff_t joined = 0;
    for (int k = 0; k < n; k++) joined += x[k]->shape.dim[a];
    AT_REQUIRE(t, joined <= INT_MAX, "concat: axis %d would have %td, more than an int", axis,
               joined);
    y.dim[a] = (int)joined;
    return concat_record(t, &concat_op, x, n, y, a);
}

at_tensor *at_stack(at_tape *t, at_tensor **x, int n, int axis)
{
    if (!concat_inputs_fit(t, "stack", x, n, false, 0)) return NULL;
    at_shape s = x[0]->shape, y = {s.ndim + 1, {0}};
    AT_REQUIRE(t, s.ndim < AT_MAX_DIMS, "stack: x[0] is %s and there can be no dim more",
               at_text(x[0]));
    int a = at_axis_of(y, axis);
    AT_REQUIRE(t, a >= 0, "stack: x[0] is %s, so the new axis must be in %d..%d, and %d is not",
               at_text(x[0]), -y.ndim, y.ndim - 1, axis);
    for (int d = 0; d < y.ndim; d++) y.dim[d] = d < a ? s.dim[d] : d == a ? n : s.dim[d - 1];
    return concat_record(t, &stack_op, x, n, y, a);
}

#endif
