/* slice.c -- part of a tensor: from .. to-1 along one axis.
 *
 *   x [outer,N,inner]   y [outer,to-from,inner]
 *
 *   forward    y_oji = x_o(from+j)i
 *   backward   dx_o(from+j)i = dy_oji, and dx = 0 outside of the slice
 *
 *            <------ N*inner ------>
 *      x     [....|yyyyyyyyy|......]      one row per o:  the slice lies together
 *      x     [....|yyyyyyyyy|......]
 *      x     [....|yyyyyyyyy|......] */
#include "ops/op.h"

#include "kernels/rows.h"
#include "kernels/real.h"

typedef struct {
    ptrdiff_t outer, row, first, length; /* elements of a row of x; the slice of it */
} slice_args;

AT_KERNEL(slice_backward);

void AT_REAL(slice_backward)(at_node *n)
{
    const slice_args *s = n->args;
    REAL *dx = at_grad(n, 0);
    if (!dx) return;
    add_rows(s->outer, s->length, n->out[0]->grad, s->length, dx + s->first, s->row);
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static void slice_forward(at_node *n)
{
    const slice_args *s = n->args;
    ptrdiff_t size = (ptrdiff_t)at_dtype_size(n->in[0]->dtype);
    const char *x = n->in[0]->data;
    at_copy_rows(s->outer, s->length * size, x + s->first * size, s->row * size, n->out[0]->data,
                 s->length * size);
}

static const at_op slice_op = {.name = "slice",
                               .forward = {slice_forward, slice_forward},
                               .backward = AT_KERNELS(slice_backward)};

at_tensor *at_slice(at_tape *t, at_tensor *x, int axis, int from, int to)
{
    if (!at_check_any(t, "slice", "x", x)) return NULL;
    int a = at_axis_of(x->shape, axis);
    AT_REQUIRE(t, a >= 0, "slice: there is no axis %d in x %s", axis, at_text(x));
    int N = x->shape.dim[a], first = from < 0 ? from + N : from, end = to < 0 ? to + N : to;
    AT_REQUIRE(t, first >= 0 && first <= N && end >= 0 && end <= N,
               "slice: x is %s: %d..%d is outside of axis %d of size %d", at_text(x), from, to,
               axis, N);
    AT_REQUIRE(t, first <= end, "slice: x is %s: %d..%d of axis %d ends before it begins",
               at_text(x), from, to, axis);

    slice_args s = {0};
    if (at_count(x->shape) > 0) { /* an empty x may have huge other dims */
        ptrdiff_t inner = at_count_between(x->shape, a + 1, x->shape.ndim);
        s = (slice_args){at_count_between(x->shape, 0, a), N * inner, first * inner,
                         (end - first) * inner};
    }
    at_recipe r = {.shape = {x->shape}, .dtype = {x->dtype}, .args = &s, .args_size = sizeof s};
    r.shape[0].dim[a] = end - first;
    at_node *n = at_record_node(t, &slice_op, AT_IN(x), r);
    return n ? n->out[0] : NULL;
}

#endif
