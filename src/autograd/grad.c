/* grad.c -- where gradients are.
 *
 * A gradient gets its memory, or becomes an alias, at its first contribution.  Four ways lead to
 * it, for the backward of a node n and its input x = in[i]:
 *
 *     at_grad             add         the buffer, zeroed at first touch
 *     at_grad_overwrite   overwrite   the buffer as it is, and whether there is something in it
 *     at_grad_pass        pass on     where dx is dy as it stands: x's gradient becomes an alias of
 *                                     y's, or its memory is forwarded; copied where both must stay
 *     at_grad_in_place    overwrite   the memory of dy, where that is free afterwards
 *
 * With at_reuse_memory, memory that backward is done with goes to a free list, from which the
 * next gradients are taken. */
#include "autograd/state.h"

#include "kernels/rows.h"

/* The smallest block of the free list that is large enough, of several the one that was in use last
 * and is still in cache; the rest of it stays in the list. */
static void *take_free(at_tape *t, size_t bytes)
{
    int best = -1;
    for (int i = t->n_free - 1; i >= 0; i--)
        if (t->free[i].size >= bytes && (best < 0 || t->free[i].size < t->free[best].size))
            best = i;
    if (best < 0) return NULL;

    at_free_block *s = &t->free[best];
    void *p = s->p;
    size_t taken = (bytes + 63) / 64 * 64; /* what is left stays aligned */
    if (taken < s->size)
        *s = (at_free_block){s->p + taken, s->size - taken};
    else
        memmove(s, s + 1, (size_t)(--t->n_free - best) * sizeof *s);
    return p;
}

static void give_free(at_tape *t, void *p, size_t bytes)
{
    if (p && bytes >= 64 && t->n_free < AT_MAX_FREE)
        t->free[t->n_free++] = (at_free_block){p, bytes};
}

/* A buffer for x->grad: x's own, or one of the free list, or new.  (A leaf without one is a
 * parameter: a variable has its own from the beginning.) */
static void *grad_buffer(at_tape *t, at_tensor *x)
{
    if (x->grad_memory) return x->grad_memory;
    if (!x->node) return x->grad_memory = at_permanent_alloc(t, at_bytes(x));
    if (t->reuse) x->grad_memory = take_free(t, at_bytes(x));
    if (!x->grad_memory) x->grad_memory = at_step_alloc(t, at_bytes(x));
    return x->grad_memory;
}

/* The gradient of x is at p from now on.  That is noted once after each mark, and only of what
 * was made before it: all else goes as a whole when the tape is rewound. */
static void *set_grad(at_tensor *x, const void *p)
{
    if (x->node && x->node->reached < x->tape->marks_made) at_list_reached(x->node);
    return x->grad = (void *)p;
}

static void copy_grad(void *to, const void *from, const at_tensor *x)
{
    at_copy_rows(1, (ptrdiff_t)at_bytes(x), from, 0, to, 0);
}

static at_grad_buffer take_grad(at_tape *t, at_tensor *x)
{
    if (!x || !x->wants_grad) return (at_grad_buffer){NULL, 1};
    if (x->grad && x->grad == x->grad_memory) return (at_grad_buffer){x->grad, 1};
    const void *alias = x->grad;
    set_grad(x, grad_buffer(t, x));
    if (alias && x->grad) copy_grad(x->grad, alias, x);
    return (at_grad_buffer){x->grad, alias != NULL};
}

static at_tensor *input_of(const at_node *n, int i)
{
    return n && (unsigned)i < (unsigned)n->n_in ? n->in[i] : NULL;
}

at_grad_buffer at_grad_overwrite(at_node *n, int i)
{
    return take_grad(n ? n->tape : NULL, input_of(n, i));
}

void *at_grad(at_node *n, int i)
{
    at_grad_buffer dx = at_grad_overwrite(n, i);
    if (dx.p && dx.beta == 0) memset(dx.p, 0, at_bytes(n->in[i]));
    return dx.p;
}

/* If y = out[0] is to be reused after this, its gradient's memory is forwarded to x = in[i], once.
 * A leaf's gradient has a place of its own. */
static bool forward_grad(at_node *n, int i)
{
    at_tensor *x = input_of(n, i), *y = x ? n->out[0] : NULL;
    if (!x || !n->tape->reuse || !x->wants_grad || !x->node) return false;
    if (x->grad || x->grad_memory || !y->grad_memory) return false;
    x->grad_memory = set_grad(x, y->grad_memory);
    y->grad_memory = NULL;
    return true;
}

/* dy is complete, so the gradient of x may be an alias of it: nobody will write to it before the
 * next backward, and that starts afresh. */
bool at_receive_grad(at_tape *t, at_tensor *x, const void *dy, bool may_alias)
{
    if (may_alias && !t->reuse && x->node && !x->grad) return set_grad(x, dy);
    at_grad_buffer dx = take_grad(t, x);
    if (dx.p && dx.beta)
        AT_OF_REAL(x->dtype, add_rows)(1, at_count(x->shape), dy, 0, dx.p, 0);
    else if (dx.p)
        copy_grad(dx.p, dy, x);
    return dx.p;
}

void at_grad_pass(at_node *n, int i)
{
    at_tensor *x = input_of(n, i);
    if (x && x->wants_grad && !forward_grad(n, i))
        at_receive_grad(n->tape, x, n->out[0]->grad, true);
}

/* (Anomaly mode reads dy after the op has run.) */
at_grad_buffer at_grad_in_place(at_node *n, int i)
{
    if (n && !n->tape->anomaly && forward_grad(n, i)) return (at_grad_buffer){n->in[i]->grad, 0};
    return at_grad_overwrite(n, i);
}

/* Once a node's backward has run, nobody reads its outputs, their gradients or what it saved: all
 * that used them came later on the tape and has been run.  (The loss itself stays.) */
void at_reuse(at_tape *t, at_node *n, bool is_loss)
{
    for (int i = 0; i < n->n_out; i++) {
        at_tensor *y = n->out[i];
        if (!is_loss && !y->base) give_free(t, y->data, at_bytes(y));
        if (!is_loss) y->data = NULL;
        give_free(t, y->grad_memory, at_bytes(y));
        y->grad = y->grad_memory = NULL;
    }
}

bool at_has_gradient(const at_tape *t)
{
    bool has = false;
    for (int i = 0; !has && i < t->n_params; i++) has = t->params[i]->grad;
    return has;
}

bool at_may_step(const at_tape *t)
{
    return t->spent || t->skipped || at_has_gradient(t);
}

void at_note_spent(at_tape *t)
{
    t->spent |= at_has_gradient(t);
}

void at_skip_step(at_tape *t, bool on)
{
    t->skipped = on;
    if (on) at_zero_grads(t);
}

void at_zero_grads(at_tape *t)
{
    if (!t) return;
    at_note_spent(t);
    for (int i = 0; i < t->n_params; i++) t->params[i]->grad = NULL;
    for (at_tensor *x = t->variables; x; x = x->next) x->grad = NULL;
}
