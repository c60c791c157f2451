/* mirror.c -- the twins of tensors and ops; see mirror.h.
 *
 * A node knows all that its op needs: the inputs, its constants, how much memory forward keeps for
 * backward and how much scratch it has.  What of these are reals is larger for dual numbers, 16
 * bytes: so is the memory as a whole. */
#include "autograd/mirror.h"

static bool is_leaf(const at_mirror *m, const at_tensor *x)
{
    return !x->node || x->node->made < m->start;
}

/* Ints, bools and halves are read where they are. */
static bool make_leaf(at_mirror *m, at_tensor *x)
{
    at_tape *d = m->dual;
    at_tensor *twin;
    if (x->dtype == m->y->dtype) {
        twin = x->wants_grad ? at_variable(d, x->shape, NULL) : at_const(d, x->shape, NULL);
        if (twin) at_convert(ATTIC_DUAL, twin->data, x->dtype, x->data, at_count(x->shape));
    } else if ((twin = at_step_alloc(d, sizeof *twin))) {
        *twin = (at_tensor){.dtype = x->dtype, .shape = x->shape, .data = x->data, .tape = d};
    }
    if (twin) twin->name = x->name;
    x->twin = twin;
    return twin;
}

/* Marks what y is computed from, and gives the leaves among it their twins. */
static bool find_needed(at_mirror *m)
{
    m->needed[m->y->node->index] = true;
    for (at_node *n = m->y->node; n && n->made >= m->start; n = n->prev) {
        if (!m->needed[n->index]) continue;
        if (!at_inputs_unchanged(m->y->tape, n)) return false;
        for (int i = 0; i < n->n_in; i++) {
            at_tensor *x = n->in[i];
            if (x && !is_leaf(m, x)) m->needed[x->node->index] = true;
            if (x && is_leaf(m, x) && !x->twin && !make_leaf(m, x)) return false;
        }
    }
    return true;
}

bool at_mirror_open(at_mirror *m, at_tensor *y, uint64_t start)
{
    *m = (at_mirror){y, at_open(ATTIC_DUAL, 0), start, NULL};
    if (!at_ok(m->dual)) return false;
    m->dual->profiled = m->dual->profile_at_close = false; /* whatever ATTIC_PROFILE asks for */
    if (is_leaf(m, y)) return make_leaf(m, y);
    const size_t nodes = (size_t)y->node->index + 1;
    bool *needed = at_step_alloc(m->dual, nodes);
    if (!needed) return false;
    m->needed = memset(needed, 0, nodes);
    return find_needed(m);
}

static bool run_again(at_mirror *m, at_node *n)
{
    const size_t larger = at_dtype_size(ATTIC_DUAL) / at_dtype_size(m->y->dtype);
    at_recipe r = {.n_out = n->n_out,
                   .args = n->args,
                   .args_size = n->args_size,
                   .saved = larger * n->saved_size,
                   .scratch = larger * n->scratch,
                   .slots = n->slots,
                   .shares = n->out[0]->base};
    at_tensor **in = at_step_alloc(m->dual, ((size_t)n->n_in + 1) * sizeof *in);
    for (int i = 0; in && i < n->n_in; i++) in[i] = n->in[i] ? n->in[i]->twin : NULL;
    for (int i = 0; i < n->n_out; i++) {
        r.shape[i] = n->out[i]->shape;
        r.dtype[i] = n->out[i]->dtype == m->y->dtype ? ATTIC_REAL : n->out[i]->dtype;
    }
    at_node *twin = in ? at_record_node(m->dual, n->op, (at_inputs){n->n_in, in}, r) : NULL;
    for (int i = 0; twin && i < n->n_out; i++) {
        n->out[i]->twin = twin->out[i];
        twin->out[i]->name = n->out[i]->name;
    }
    return twin;
}

bool at_mirror_run(at_mirror *m)
{
    if (!m->needed || m->dual->first) return at_replay(m->dual);
    at_node *first = m->y->node;
    while (first->prev && first->prev->made >= m->start) first = first->prev;
    for (at_node *n = first; n != m->y->node->next; n = n->next)
        if (m->needed[n->index] && !run_again(m, n)) return false;
    return true;
}

void at_mirror_close(at_mirror *m)
{
    m->y->twin = NULL;
    for (at_node *n = m->needed ? m->y->node : NULL; n && n->made >= m->start; n = n->prev) {
        for (int i = 0; i < n->n_out; i++) n->out[i]->twin = NULL;
        for (int i = 0; i < n->n_in; i++)
            if (n->in[i]) n->in[i]->twin = NULL;
    }
    at_close(m->dual);
}
