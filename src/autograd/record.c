/* record.c -- an op goes onto the tape: its node, its outputs, its forward; and the replay.
 *
 * Nodes are linked in the order of creation.  An op can only use tensors that exist, so that order
 * is a topological order: backward needs no sort, no recursion and no counting. */
#include "autograd/state.h"

#include "kernels/parallel.h"

/* Remembers which state of its inputs this node has read. */
static void note_inputs(at_node *n)
{
    for (int i = 0; i < n->n_in; i++) {
        if (!n->in[i]) continue;
        n->in_version[i] = at_data_owner(n->in[i])->version;
        n->in_sum[i] = at_checksum(n->in[i]);
    }
}

static bool run_forward(at_node *n)
{
    note_inputs(n);
    int real = at_real_index(n->tape);
    if (n->op->forward[real]) n->op->forward[real](n);
    if (n->tape->real == ATTIC_DUAL && !at_tangents_hold(n, AT_FORWARD)) return false;
    return !n->tape->anomaly || at_is_sane(n, AT_FORWARD);
}

/* Outputs have data of their own, or out[0] is in[0]'s data under another shape. */
static bool make_outputs(at_node *n, at_tensor *y, const at_recipe *r)
{
    at_tape *t = n->tape;
    for (int i = 0; i < n->n_out; i++, y++) {
        at_tensor *x = r->shares ? n->in[0] : NULL;
        at_dtype dtype = x ? x->dtype : r->dtype[i] == ATTIC_REAL ? t->real : r->dtype[i];
        *y = (at_tensor){.dtype = dtype,
                         .shape = r->shape[i],
                         .data = x ? x->data : NULL,
                         .base = x ? at_data_owner(x) : NULL,
                         .wants_grad = n->wants_grad && dtype == t->real,
                         .tape = t,
                         .node = n};
        if (!x && !at_give_data(y, &t->step)) return false;
        n->out[i] = y;
    }
    return true;
}

/* The node and all it holds, in one block of memory:
 *
 *     node | outputs | in | in_sum | in_version | args */
static at_node *new_node(at_tape *t, const at_op *op, at_inputs in, const at_recipe *r)
{
    int n_out = r->n_out ? r->n_out : 1;
    size_t outputs = (size_t)n_out * sizeof(at_tensor);
    size_t inputs = (size_t)in.n * (sizeof *in.in + sizeof(uint64_t) + sizeof(unsigned));
    size_t args = (sizeof(at_node) + outputs + inputs + 15) / 16 * 16;
    at_node *n = at_step_alloc(t, args + r->args_size);
    void *saved = r->saved ? at_step_alloc(t, r->saved) : NULL;
    if (!n || (r->saved && !saved)) return NULL;

    *n = (at_node){.op = op,
                   .n_in = in.n,
                   .n_out = n_out,
                   .saved = saved,
                   .tape = t,
                   .scope = t->scope,
                   .args_size = r->args_size,
                   .saved_size = r->saved,
                   .scratch = r->scratch,
                   .slots = r->slots,
                   .made = t->marks_made,
                   .reached = t->marks_made};
    at_tensor *y = (at_tensor *)(n + 1);
    n->in = (at_tensor **)(y + n_out);
    n->in_sum = (uint64_t *)(n->in + in.n);
    n->in_version = (unsigned *)(n->in_sum + in.n);
    if (r->args_size) n->args = memcpy((char *)n + args, r->args, r->args_size);
    for (int i = 0; i < in.n; i++) {
        n->in[i] = in.in[i];
        if (in.in[i] && in.in[i]->wants_grad && op->backward[at_real_index(t)] && !t->no_grad)
            n->wants_grad = true;
    }
    return make_outputs(n, y, r) ? n : NULL;
}

/* At least `bytes` of scratch memory, now and until at_close; false after a sticky error. */
static bool scratch_ready(at_tape *t, size_t bytes)
{
    if (!at_ok(t) || bytes <= t->scratch_size) return at_ok(t);
    if (t->scratch_size && bytes <= SIZE_MAX / 2) bytes += bytes / 2; /* grow rarely */
    at_arena larger = {0};
    char *p = at_alloc_in(t, &larger, bytes);
    if (!p) return false; /* larger is still empty */
    at_arena_free(&t->scratch);
    t->scratch = larger;
    t->scratch_memory = p;
    t->scratch_size = bytes;
    return true;
}

/* How many slots is fixed here: no replay and no backward of this node ever needs more. */
static bool prepare_scratch(at_tape *t, const at_op *op, at_recipe *r)
{
    if (r->scratch == 0) return true;
    if (r->slots == 0) r->slots = at_thread_count();
    size_t bytes = r->scratch, all;
    r->scratch = (bytes + 63) / 64 * 64;
    if (r->scratch < bytes || __builtin_mul_overflow(r->scratch, (size_t)r->slots, &all))
        return at_fail(t, ATTIC_MEMORY_ERROR, "%s: out of memory: scratch of %zu bytes per thread",
                       op->name, bytes);
    return scratch_ready(t, all);
}

/* The first kernel there is, for which type? */
static const char *kernel_there_is(at_kernel *const kernels[ATTIC_NREALS])
{
    static const at_dtype real[ATTIC_NREALS] = {ATTIC_F32, ATTIC_F64, ATTIC_DUAL};
    for (int i = 0; i < ATTIC_NREALS; i++)
        if (kernels[i]) return at_dtype_text(real[i]);
    return NULL;
}

/* An op may have no forward if its output shares the data of its input, and no backward at all:
 * then no gradient flows.  But a kernel for some real types only would be left out unnoticed. */
static bool can_be_recorded(at_tape *t, const at_op *op, at_inputs in, const at_recipe *r)
{
    if (!op || !op->name)
        return at_fail(t, ATTIC_USER_ERROR, "record: the op is NULL, or its name is");
    if (in.n < 0 || (in.n > 0 && !in.in) || (r->args_size > 0 && !r->args) ||
        r->args_size > PTRDIFF_MAX)
        return at_fail(t, ATTIC_USER_ERROR, "%s: %d inputs at %s, %zu bytes of args at %s",
                       op->name, in.n, in.in ? "their place" : "NULL", r->args_size,
                       r->args ? "their place" : "NULL");
    int real = at_real_index(t);
    if (!op->forward[real] && (!r->shares || kernel_there_is(op->forward)))
        return at_fail(t, ATTIC_USER_ERROR, "%s: the op has no forward for %s", op->name,
                       at_dtype_text(t->real));
    if (!op->backward[real] && kernel_there_is(op->backward))
        return at_fail(t, ATTIC_USER_ERROR, "%s: the op has a backward for %s, but none for %s",
                       op->name, kernel_there_is(op->backward), at_dtype_text(t->real));
    if (r->n_out < 0 || r->n_out > AT_MAX_OUT)
        return at_fail(t, ATTIC_USER_ERROR, "%s: %d outputs, but %d are possible", op->name,
                       r->n_out, AT_MAX_OUT);
    if (r->shares && (in.n < 1 || !in.in[0]))
        return at_fail(t, ATTIC_USER_ERROR,
                       "%s: the output shares the data of the first input, but there is none",
                       op->name);
    return true;
}

static at_node *record(at_tape *t, const at_op *op, at_inputs in, at_recipe *r)
{
    if (!at_ok(t) || !can_be_recorded(t, op, in, r) || !prepare_scratch(t, op, r)) return NULL;
    if (t->profiled) at_profile_begin(t);
    at_node *n = new_node(t, op, in, r);
    if (!n) return NULL;

    n->prev = t->last;
    n->index = t->last ? t->last->index + 1 : 0;
    if (t->last)
        t->last->next = n;
    else
        t->first = n;
    t->last = n;
    if (!run_forward(n) || (t->profiled && !at_profile_end(n, AT_FORWARD))) return NULL;
    return n;
}

at_node *at_record_node(at_tape *t, const at_op *op, at_inputs in, at_recipe r)
{
    return record(t, op, in, &r);
}

at_tensor *at_record(at_tape *t, const at_op *op, at_inputs in, at_shape shape, const void *args,
                     size_t args_size)
{
    at_recipe r = {.shape = {shape}, .args = args, .args_size = args_size};
    return at_output(record(t, op, in, &r));
}

/* Is `full` the name of x, behind the scopes in which its op was recorded? */
static bool is_named(const at_tensor *x, const char *full)
{
    const at_name_scope *scope = x->node->scope;
    size_t prefix = scope ? strlen(scope->prefix) : 0;
    return x->name && (!scope || strncmp(full, scope->prefix, prefix) == 0) &&
           strcmp(full + prefix, x->name) == 0;
}

at_tensor *at_find(const at_tape *t, const char *name)
{
    for (const at_node *n = t && name ? t->last : NULL; n; n = n->prev)
        for (int i = n->n_out - 1; i >= 0; i--)
            if (is_named(n->out[i], name)) return n->out[i];
    return at_find_param(t, name);
}

/* (Inputs are leaves, or outputs of nodes that come first.) */
bool at_replay(at_tape *t)
{
    if (!at_ok(t)) return false;
    for (at_node *n = t->first; n; n = n->next) {
        for (int i = 0; i < n->n_out; i++)
            AT_REQUIRE(
                t, n->out[i]->data,
                "replay: the output of %s %s was reused by a backward (at_reuse_memory is on)",
                n->op->name, at_shape_text(n->out[i]->shape));
        if (t->profiled) at_profile_begin(t);
        if (!run_forward(n) || (t->profiled && !at_profile_end(n, AT_FORWARD))) return false;
    }
    return true;
}
