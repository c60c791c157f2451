/* reshape.c -- the same elements under another shape.
 *
 *   x [a,b,...]   y [c,d,...]      a b ... = c d ...
 *
 *   forward    y_i = x_i           i: position in memory, the last index moving fastest
 *   backward   dx_i = dy_i
 *
 * Since tensors are contiguous, the elements already are as they should be: y shares x's data, and
 * forward has nothing to do.  Gradients differ as soon as x is used elsewhere, too: dy is what came
 * through y, dx what came through x in any way.  So dy is passed on, and not shared for good.
 *
 *   size 0     [0,3] can become [7,0]; -1 needs the other dims to have a product > 0. */
#include "ops/op.h"

#include <limits.h>

void at_pass_back(at_node *n)
{
    at_grad_pass(n, 0);
}

static const at_op reshape_op = {.name = "reshape", .backward = AT_EVERY_REAL(at_pass_back)};

at_tensor *at_reshape(at_tape *t, at_tensor *x, at_shape shape)
{
    if (!at_check_any(t, "reshape", "x", x)) return NULL;
    AT_REQUIRE(t, shape.ndim >= 0 && shape.ndim <= AT_MAX_DIMS,
               "reshape: %d dims were asked for, at most %d are possible", shape.ndim, AT_MAX_DIMS);
    int open = -1; /* the axis whose size is left open, if there is one */
    for (int i = 0; i < shape.ndim; i++) {
        if (shape.dim[i] != -1) continue;
        AT_REQUIRE(t, open < 0, "reshape: x is %s but %s leaves more than one size open",
                   at_text(x), at_shape_text(shape));
        open = i;
    }
    ptrdiff_t count = at_count(x->shape);
    at_shape y = shape;
    if (open >= 0) {
        y.dim[open] = 1;
        AT_REQUIRE(t,
                   at_shape_valid(y) && at_count(y) > 0 && count % at_count(y) == 0 &&
                       count / at_count(y) <= INT_MAX,
                   "reshape: x is %s: no size for -1 gives %s its %td elements", at_text(x),
                   at_shape_text(shape), count);
        y.dim[open] = (int)(count / at_count(y));
    }
    AT_REQUIRE(t, at_shape_valid(y), "reshape: x is %s but %s is no shape", at_text(x),
               at_shape_text(shape));
    AT_REQUIRE(t, at_count(y) == count, "reshape: x is %s with %td elements but %s has %td",
               at_text(x), count, at_shape_text(shape), at_count(y));
    return at_output(
        at_record_node(t, &reshape_op, AT_IN(x), (at_recipe){.shape = {y}, .shares = true}));
}
