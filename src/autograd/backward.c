/* backward.c -- one sweep from the loss to the leaves.
 *
 * The chain rule for y = f(x) inside a larger computation is
 *
 *     dx += (df/dx)^T dy            dx = d(loss)/dx,   dy = d(loss)/dy
 *
 * Every node does this for its own f.  Nodes are on the tape in an order in which each comes after
 * all it uses; walked backwards, each comes after all that use it, so its dy is complete when its
 * turn comes.  That is the whole algorithm: sweep(), below.  Where gradients are: grad.c. */
#include "autograd/state.h"

static bool has_upstream(const at_node *n)
{
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i]->grad) return true;
    return false;
}

static bool sweep(at_tape *t, at_node *from)
{
    if (t->profiled) at_profile_begin(t);
    for (at_node *n = from; n; n = n->prev) {
        if (!n->wants_grad || !has_upstream(n)) continue;
        if (!at_inputs_unchanged(t, n)) return false;
        n->op->backward[at_real_index(t)](n);
        if (t->profiled) at_profile_end(n, AT_BACKWARD);
        if (t->real == ATTIC_DUAL && !at_tangents_hold(n, AT_BACKWARD)) return false;
        if (t->kind != ATTIC_OK || (t->anomaly && !at_is_sane(n, AT_BACKWARD))) return false;
        if (t->reuse) at_reuse(t, n, n == from);
    }
    return true;
}

bool at_backward_from(at_tape *t, at_tensor *y, const at_tensor *dy)
{
    AT_INPUT(t, "backward", y, ATTIC_REAL);
    if (dy) {
        AT_INPUT(t, "backward", dy, ATTIC_REAL);
        AT_REQUIRE(t, at_same_shape(y->shape, dy->shape),
                   "backward: the upstream gradient is %s but the output is %s", at_text(dy),
                   at_text(y));
    } else {
        AT_REQUIRE(t, at_count(y->shape) == 1,
                   "backward: the loss is %s; it must have one element, or use at_backward_from",
                   at_text(y));
    }
    AT_REQUIRE(t, y->wants_grad,
               "backward: %s does not depend on any tensor that wants a gradient (a constant, a "
               "detached copy, a frozen parameter, or recorded under at_no_grad)",
               at_text(y));

    for (at_node *n = t->swept ? y->node : NULL; n; n = n->prev) /* start afresh */
        for (int i = 0; i < n->n_out; i++) n->out[i]->grad = NULL;
    t->swept = true;

    double one[2]; /* of any real type */
    at_store(y->dtype, one, 0, 1);
    bool may_alias = dy && !dy->node; /* what was computed may be reused */
    return at_receive_grad(t, y, dy ? dy->data : one, may_alias) && (!y->node || sweep(t, y->node));
}

bool at_backward(at_tape *t, at_tensor *loss)
{
    return at_backward_from(t, loss, NULL);
}
