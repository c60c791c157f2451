/* inspect.c -- is what an op reads, and what it has left, as it should be?  And which parameters
 * does no gradient reach?
 *
 * Whoever runs ops asks: record.c, backward.c, mirror.c.  Here nothing runs. */
#include "autograd/state.h"

#include "tensor/print.h"

/* The first element that is not finite, or -1.  Infinities may be let through. */
static ptrdiff_t first_bad(const at_tensor *x, const void *values, bool allow_infinity)
{
    if (!values || !at_is_real(x->dtype)) return -1;
    for (ptrdiff_t n = at_count(x->shape), i = 0; i < n; i++) {
        double v = at_fetch(x->dtype, values, i);
        if (isnan(v) || (isinf(v) && !allow_infinity)) return i;
    }
    return -1;
}

/* The first of n tensors whose data, or gradient, has such an element, and *at where; or -1. */
static int first_unsound(at_tensor *const *x, int n, bool grad, bool allow_infinity, ptrdiff_t *at)
{
    for (int i = 0; i < n; i++)
        if (x[i] && (*at = first_bad(x[i], grad ? x[i]->grad : x[i]->data, allow_infinity)) >= 0)
            return i;
    return -1;
}

/* An op is to blame only if what it was given was sound. */
bool at_is_sane(at_node *n, at_direction d)
{
    const bool back = d == AT_BACKWARD;
    ptrdiff_t at;
    if (first_unsound(back ? n->out : n->in, back ? n->n_out : n->n_in, back, false, &at) >= 0)
        return true;
    const int i = back ? first_unsound(n->in, n->n_in, true, false, &at)
                       : first_unsound(n->out, n->n_out, false, n->op->makes_infinity, &at);
    if (i < 0) return true;
    const at_tensor *x = back ? n->in[i] : n->out[i];
    const double value = back ? at_grad_element(x, at) : at_element(x, at);
    const char *where = at_shape_text(at_index_of(x->shape, at));
    char part[40] = "its output";
    if (back) snprintf(part, sizeof part, "the gradient of its input %d", i);
    return at_fail(n->tape, ATTIC_USER_ERROR,
                   "anomaly: %s of %s (op %d) made %g at %s of %s %s from finite %s",
                   back ? "backward" : "forward", n->op->name, n->index, value, where, part,
                   at_text(x), back ? "upstream gradients" : "inputs");
}

bool at_inputs_unchanged(at_tape *t, at_node *n)
{
    for (int i = 0; i < n->n_in; i++) {
        const at_tensor *x = n->in[i];
        if (!x) continue;
        const at_tensor *owner = at_data_owner(x);
        AT_REQUIRE(t, x->data && owner->data,
                   "backward: input %d of %s %s was reused by an earlier backward; run the forward "
                   "again, or switch at_reuse_memory off",
                   i, n->op->name, at_text(x));
        AT_REQUIRE(t, owner->version == n->in_version[i] && at_checksum(x) == n->in_sum[i],
                   "backward: input %d of %s %s was written after it was recorded; run the forward "
                   "again (at_replay)",
                   i, n->op->name, at_text(x));
    }
    return true;
}

/* The first element whose tangent is too large, or not finite though its value is; -1: none. */
static ptrdiff_t first_not_held(const at_tensor *x, void *data)
{
    if (!data || x->dtype != ATTIC_DUAL) return -1;
    for (ptrdiff_t n = at_count(x->shape), i = 0; i < n; i++) {
        const double t = *at_tangent_of(data, i) / AT_DUAL_UNIT;
        if (!(fabs(t) <= AT_MOST_TANGENT) && isfinite(at_fetch(ATTIC_DUAL, data, i))) return i;
    }
    return -1;
}

bool at_tangents_hold(at_node *n, at_direction d)
{
    const bool back = d == AT_BACKWARD;
    for (int k = 0; k < (back ? n->n_in : n->n_out); k++) {
        at_tensor *x = back ? n->in[k] : n->out[k];
        void *data = !x ? NULL : back ? x->grad : x->data;
        const ptrdiff_t i = x ? first_not_held(x, data) : -1;
        if (i < 0) continue;
        return at_fail(n->tape, ATTIC_USER_ERROR,
                       "%s of %s: at %s of %s%s %s the value is %g, but its tangent %g: tangents "
                       "are finite, up to 1e38",
                       back ? "backward" : "forward", n->op->name,
                       at_shape_text(at_index_of(x->shape, i)), back ? "the gradient of " : "",
                       back ? "its input" : "its output", at_text(x), at_fetch(ATTIC_DUAL, data, i),
                       *at_tangent_of(data, i) / AT_DUAL_UNIT);
    }
    return true;
}

static void print(const at_tensor *x, const void *values, const char *otherwise, FILE *out)
{
    if (!out)
        at_fail(x ? x->tape : NULL, ATTIC_USER_ERROR, "print: there is no file to print %s to",
                at_text(x));
    else if (!x)
        fputs("NULL\n", out);
    else if (x->tape && at_tensor_find(x->tape, x) == ATTIC_DEAD)
        fputs("(it was made in a step that has been rewound)\n", out);
    else if (!values)
        fprintf(out, "(%s)\n", otherwise);
    else
        at_print_values(out, x, values);
}

void at_print(const at_tensor *x, FILE *out)
{
    print(x, x && at_has_data(x) ? x->data : NULL, "its memory was reused by a backward", out);
}

void at_print_grad(const at_tensor *x, FILE *out)
{
    print(x, x ? x->grad : NULL, "no gradient", out);
}

int at_grad_report(const at_tape *t, FILE *out)
{
    int troubled = 0;
    for (int i = 0; i < at_param_count(t); i++) {
        const at_tensor *x = t->params[i];
        ptrdiff_t bad = first_bad(x, x->grad, false), n = at_count(x->shape), zeros = 0;
        while (zeros < n && at_grad_element(x, zeros) == 0) zeros++;
        if (!x->wants_grad || n == 0 || (bad < 0 && zeros < n)) continue;
        troubled++;
        if (!out) continue;
        if (bad >= 0)
            fprintf(out, "%s: the gradient is %g at %s\n", at_text(x), at_grad_element(x, bad),
                    at_shape_text(at_index_of(x->shape, bad)));
        else
            fprintf(out, "%s: %s\n", at_text(x),
                    x->grad ? "the gradient is all zero" : "no gradient has arrived");
    }
    return troubled;
}
