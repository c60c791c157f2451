/* backward.c -- one sweep from the loss to the leaves.
 *
 * The chain rule for y = f(x) inside a larger computation is
 *
 *     dx += (df/dx)^T dy            dx = d(loss)/dx,   dy = d(loss)/dy
 *
 * Every node does this for its own f.  Nodes lie on the tape in an order in which each comes after
 * all it uses; walked backwards, each comes after all that use it, so its dy is complete when its
 * turn comes.  That is the whole algorithm. */
#include "autograd/state.h"

#include <string.h>

#include "kernels/rows.h"

/* ------------------------------------------------------------------ gradient buffers ----------- */

/* The smallest spare block that is large enough, of several the one that was in use last and is still
 * in a cache; what is left of it stays spare. */
static void *take_spare(at_tape *t, size_t bytes)
{
    int best = -1;
    for (int i = t->n_spares - 1; i >= 0; i--)
        if (t->spare[i].size >= bytes && (best < 0 || t->spare[i].size < t->spare[best].size))
            best = i;
    if (best < 0) return NULL;

    at_spare *s = &t->spare[best];
    void *p = s->p;
    size_t taken = (bytes + 63) / 64 * 64; /* what is left stays aligned */
    if (taken < s->size)
        *s = (at_spare){s->p + taken, s->size - taken};
    else
        memmove(s, s + 1, (size_t)(--t->n_spares - best) * sizeof *s);
    return p;
}

static void give_spare(at_tape *t, void *p, size_t bytes)
{
    if (p && bytes >= 64 && t->n_spares < AT_MAX_SPARES)
        t->spare[t->n_spares++] = (at_spare){p, bytes};
}

void *at_grad_buffer(at_tape *t, at_tensor *x)
{
    if (!x->grad_memory) {
        if (t->drop_grads) x->grad_memory = take_spare(t, at_bytes(x));
        if (!x->grad_memory) x->grad_memory = at_step_alloc(t, at_bytes(x));
    }
    return x->grad_memory;
}

/* The gradient of x lies at p from now on.  That is noted once after each mark, and only of what was
 * made before it: all else goes as a whole when the tape is rewound. */
static void *set_grad(at_tensor *x, void *p)
{
    if (x->node && x->node->reached < x->tape->marks_made)
        at_list_reached(x->node, x->tape->marks_made);
    return x->grad = p;
}

static void add_grad(void *to, const void *from, const at_tensor *x)
{
    AT_OF_REAL(x->dtype, add_rows)(1, at_count(x->shape), from, 0, to, 0);
}

static void copy_grad(void *to, const void *from, const at_tensor *x)
{
    at_copy_rows(1, (ptrdiff_t)at_bytes(x), from, 0, to, 0);
}

at_fresh at_grad_fresh(at_node *n, int i)
{
    at_tensor *x = n->in[i];
    if (!x || !x->wants_grad) return (at_fresh){NULL, 1};
    if (x->grad && x->grad == x->grad_memory) return (at_fresh){x->grad, 1};
    const void *lent = x->grad;
    set_grad(x, at_grad_buffer(n->tape, x));
    if (lent && x->grad) copy_grad(x->grad, lent, x);
    return (at_fresh){x->grad, lent != NULL};
}

void *at_grad(at_node *n, int i)
{
    at_fresh dx = at_grad_fresh(n, i);
    if (dx.p && dx.beta == 0) memset(dx.p, 0, at_bytes(n->in[i]));
    return dx.p;
}

/* If y = out[0] is to be recycled after this, x = in[i] gets the memory of its gradient for good, once.
 * A leaf's gradient has a place of its own. */
static bool inherits_grad(at_node *n, int i)
{
    at_tensor *x = n->in[i], *y = n->out[0];
    if (!n->tape->drop_grads || !x || !x->wants_grad || !x->node) return false;
    if (x->grad || x->grad_memory || !y->grad_memory) return false;
    x->grad_memory = set_grad(x, y->grad_memory);
    y->grad_memory = NULL;
    return true;
}

/* y's gradient is complete, so it may be lent: nobody will write to it before the next backward,
 * and that starts both afresh. */
void at_grad_pass(at_node *n, int i)
{
    at_tensor *x = n->in[i], *y = n->out[0];
    if (!x || !x->wants_grad || inherits_grad(n, i)) return;
    if (!n->tape->drop_grads && x->node && !x->grad) {
        set_grad(x, y->grad);
        return;
    }
    at_fresh dx = at_grad_fresh(n, i);
    if (x && dx.p) (dx.beta ? add_grad : copy_grad)(dx.p, y->grad, x);
}

/* (Anomaly mode looks at dy after the op has run.) */
at_fresh at_grad_over(at_node *n, int i)
{
    if (!n->tape->anomaly && inherits_grad(n, i)) return (at_fresh){n->in[i]->grad, 0};
    return at_grad_fresh(n, i);
}

/* Once a node's backward has run, nobody reads its outputs, their gradients or what it saved: all
 * that used them came later on the tape and has had its turn.  (The loss itself stays.) */
static void recycle(at_tape *t, at_node *n, bool is_loss)
{
    for (int i = 0; i < n->n_out; i++) {
        at_tensor *y = n->out[i];
        if (!is_loss && !y->base) give_spare(t, y->data, at_bytes(y));
        if (!is_loss) y->data = NULL;
        give_spare(t, y->grad_memory, at_bytes(y));
        y->grad = y->grad_memory = NULL;
    }
}

void at_zero_grads(at_tape *t)
{
    if (!t) return;
    for (int i = 0; i < t->n_params; i++) t->params[i]->grad = NULL;
    for (at_tensor *x = t->variables; x; x = x->next) x->grad = NULL;
}

/* ------------------------------------------------------------------ the sweep ------------------ */

/* What this node read when it ran must still be there. */
static bool inputs_unchanged(at_tape *t, at_node *n)
{
    for (int i = 0; i < n->n_in; i++) {
        at_tensor *x = n->in[i];
        if (!x) continue;
        const at_tensor *owner = at_data_owner(x);
        AT_REQUIRE(t, x->data && owner->data,
                   "backward: input %d of %s %s was reused by an earlier backward; run the forward "
                   "again, or keep it (at_keep_grads)",
                   i, n->op->name, at_text(x));
        AT_REQUIRE(t, owner->version == n->in_version[i] && at_checksum(x) == n->in_sum[i],
                   "backward: input %d of %s %s was written after it was recorded; run the forward "
                   "again (at_replay)",
                   i, n->op->name, at_text(x));
    }
    return true;
}

static bool has_cotangent(const at_node *n)
{
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i]->grad) return true;
    return false;
}

static bool sweep(at_tape *t, at_node *from)
{
    for (at_node *n = from; n; n = n->prev) {
        if (!n->wants_grad || !has_cotangent(n)) continue;
        if (!inputs_unchanged(t, n)) return false;
        n->op->backward[at_real_index(t)](n);
        if (t->kind != ATTIC_OK || (t->anomaly && !at_backward_is_sane(n))) return false;
        if (t->drop_grads) recycle(t, n, n == from);
    }
    return true;
}

/* y receives dy, or 1.  An intermediate has no gradient yet; only a leaf has something to add to. */
static bool seed_cotangent(at_tape *t, at_tensor *y, const at_tensor *dy)
{
    if (y->node && dy && !dy->node && !t->drop_grads) {
        set_grad(y, dy->data); /* lent, as in at_grad_pass */
        return true;
    }
    at_fresh g = at_grad_fresh(&(at_node){.in = &y, .tape = t}, 0);
    if (!g.p) return false;
    if (g.beta == 0 && dy) {
        memcpy(g.p, dy->data, at_bytes(y));
        return true;
    }
    for (ptrdiff_t n = at_count(y->shape), i = 0; i < n; i++)
        at_store(y->dtype, g.p, i,
                 (g.beta ? at_grad_element(y, i) : 0) + (dy ? at_element(dy, i) : 1));
    return true;
}

bool at_backward_from(at_tape *t, at_tensor *y, const at_tensor *dy)
{
    AT_INPUT(t, "backward", y, ATTIC_REAL);
    if (dy) {
        AT_INPUT(t, "backward", dy, ATTIC_REAL);
        AT_REQUIRE(t, at_same_shape(y->shape, dy->shape),
                   "backward: the cotangent is %s but the output is %s", at_text(dy), at_text(y));
    } else {
        AT_REQUIRE(t, at_count(y->shape) == 1,
                   "backward: the loss is %s; it must have one element, or use at_backward_from",
                   at_text(y));
    }
    AT_REQUIRE(t, y->wants_grad,
               "backward: %s does not depend on any tensor that wants a gradient (a constant, a "
               "detached copy, or recorded under at_no_grad)",
               at_text(y));

    for (at_node *n = t->swept ? y->node : NULL; n; n = n->prev) /* start afresh */
        for (int i = 0; i < n->n_out; i++) n->out[i]->grad = NULL;
    t->swept = true;
    return seed_cotangent(t, y, dy) && (!y->node || sweep(t, y->node));
}

bool at_backward(at_tape *t, at_tensor *loss)
{
    return at_backward_from(t, loss, NULL);
}
