/* leaf.c -- how data comes onto a tape and off it again; see tape.h. */
#include "autograd/state.h"

#include <limits.h>

#include "kernels/half.h"
#include "kernels/rng.h"

bool at_give_data(at_tensor *x, at_arena *a)
{
    AT_REQUIRE(x->tape, (unsigned)x->shape.ndim <= AT_MAX_DIMS,
               "a tensor of %d axes is not possible: there are 0 to %d", x->shape.ndim,
               AT_MAX_DIMS);
    AT_REQUIRE(x->tape, at_shape_valid(x->shape),
               "a tensor of shape %s is not possible: dims must be >= 0 "
               "and their product must fit into memory",
               at_shape_text(x->shape));
    AT_REQUIRE(x->tape, at_dtype_size(x->dtype), "a tensor of dtype %d: there is no such dtype",
               (int)x->dtype);
    x->data = at_alloc_in(x->tape, a, at_bytes(x));
    return x->data;
}

static at_tensor *without_data(at_tape *t, at_arena *a, at_dtype dtype, at_shape shape)
{
    at_tensor *x = at_alloc_in(t, a, sizeof *x);
    if (!x) return NULL;
    *x = (at_tensor){.dtype = dtype == ATTIC_REAL ? t->real : dtype, .shape = shape, .tape = t};
    return x;
}

static at_tensor *tensor_in(at_tape *t, at_arena *a, at_dtype dtype, at_shape shape)
{
    at_tensor *x = without_data(t, a, dtype, shape);
    return x && at_give_data(x, a) ? x : NULL;
}

at_tensor *at_tensor_new(at_tape *t, at_dtype dtype, at_shape shape)
{
    return t ? tensor_in(t, &t->step, dtype, shape) : NULL;
}

at_tensor *at_blank(at_tape *t, at_dtype dtype, at_shape shape)
{
    AT_REQUIRE(t, !at_is_real(dtype) || at_is_half(dtype) || dtype == t->real,
               "blank: real tensors of this tape are %s, not %s", at_dtype_text(t->real),
               at_dtype_text(dtype));
    return at_tensor_new(t, dtype, shape);
}

/* ------------------------------------------------------------------ constants ------------------ */

/* NaN and infinity are values, but no widths.  What becomes infinite in f32 is neither. */
static bool can_be_filled(at_tape *t, const char *op, const at_tensor *x, at_init init)
{
    const char *real = at_dtype_text(x->dtype);
    if (init.kind == ATTIC_INIT_VALUES) {
        AT_REQUIRE(t, init.values, "%s: the values of %s are NULL", op, at_text(x));
        ptrdiff_t n = at_count(x->shape), i = 0;
        while (i < n && at_can_hold(x->dtype, init.values[i])) i++;
        AT_REQUIRE(t, i == n, "%s: value %td is %g, which %s cannot hold", op, i, init.values[i],
                   real);
        return true;
    }
    AT_REQUIRE(t, init.kind != ATTIC_INIT_CONSTANT || at_can_hold(x->dtype, init.scale),
               "%s: %s cannot hold %g", op, real, init.scale);
    AT_REQUIRE(t, init.kind == ATTIC_INIT_CONSTANT || init.scale >= 0,
               "%s: what is drawn has the width %g, but must be >= 0", op, init.scale);
    return init.kind == ATTIC_INIT_CONSTANT ||
           at_check_number(t, op, "the width of what is drawn", init.scale);
}

static void fill(at_tensor *x, at_init init, at_stream stream)
{
    at_profile_line *outer = at_profile_enter(x->tape, "leaves");
    at_init_fill(x, init, stream);
    at_profile_leave(x->tape, outer);
}

at_tensor *at_random(at_tape *t, at_shape shape, at_init init)
{
    at_tensor *x = at_tensor_new(t, ATTIC_REAL, shape);
    if (!x || !can_be_filled(t, "random", x, init)) return NULL;
    fill(x, init, at_draw(t));
    return x;
}

at_tensor *at_bernoulli(at_tape *t, at_shape shape, double p)
{
    enum { LEAF_DRAWN = 256 };
    AT_REQUIRE(t, p >= 0 && p <= 1, "bernoulli: p is %g, but must be in 0..1", p);
    at_tensor *x = at_tensor_new(t, ATTIC_BOOL, shape);
    if (!x) return NULL;
    const at_stream stream = at_draw(t);
    const double end = p * 0x1p32;
    uint32_t u[LEAF_DRAWN];
    unsigned char *y = x->data;
    for (ptrdiff_t n = at_count(shape), i = 0; i < n; i++) {
        if (i % LEAF_DRAWN == 0) at_random_u32s(stream, (uint64_t)i, LEAF_DRAWN, u);
        y[i] = u[i % LEAF_DRAWN] < end;
    }
    return x;
}

at_tensor *at_const(at_tape *t, at_shape shape, const double *values)
{
    at_init init = values ? at_values(values) : at_zeros();
    at_tensor *x = at_tensor_new(t, ATTIC_REAL, shape);
    if (!x || !can_be_filled(t, "const", x, init)) return NULL;
    fill(x, init, (at_stream){0, 0});
    return x;
}

at_tensor *at_arange(at_tape *t, double from, double to, double step)
{
    AT_REQUIRE(t, step != 0, "arange: the step from %g to %g is 0", from, to);
    if (!at_check_number(t, "arange", "from", from) || !at_check_number(t, "arange", "to", to) ||
        !at_check_number(t, "arange", "step", step))
        return NULL;
    AT_REQUIRE(t, isfinite(to - from), "arange: from %g to %g is farther than a double can hold",
               from, to);
    const double n = ceil((to - from) / step);
    AT_REQUIRE(t, n <= INT_MAX,
               "arange: from %g to %g by %g are %g elements, but a dim is at most %d", from, to,
               step, n, INT_MAX);
    at_tensor *x = at_tensor_new(t, ATTIC_REAL, at_shape_of(n > 0 ? (int)n : 0));
    for (int i = 0; x && i < x->shape.dim[0]; i++) at_store(x->dtype, x->data, i, from + i * step);
    return x;
}

at_tensor *at_floats(at_tape *t, at_shape shape, const float *values)
{
    at_tensor *x = at_const(t, shape, NULL);
    if (x && values) at_convert(x->dtype, x->data, ATTIC_F32, values, at_count(shape));
    return x;
}

at_tensor *at_variable(at_tape *t, at_shape shape, const double *values)
{
    at_tensor *x = at_const(t, shape, values);
    if (!x || !(x->grad_memory = at_step_alloc(t, at_bytes(x)))) return NULL;
    x->wants_grad = true;
    x->next = t->variables;
    t->variables = x;
    return x;
}

at_tensor *at_ints(at_tape *t, at_shape shape, const int32_t *values)
{
    at_tensor *x = at_tensor_new(t, ATTIC_I32, shape);
    for (ptrdiff_t n = x ? at_count(shape) : 0, i = 0; i < n; i++)
        ((int32_t *)x->data)[i] = values ? values[i] : 0;
    return x;
}

at_tensor *at_bools(at_tape *t, at_shape shape, const bool *values)
{
    at_tensor *x = at_tensor_new(t, ATTIC_BOOL, shape);
    for (ptrdiff_t n = x ? at_count(shape) : 0, i = 0; i < n; i++)
        ((unsigned char *)x->data)[i] = values && values[i];
    return x;
}

at_tensor *at_cast(at_tape *t, at_tensor *x, at_dtype dtype)
{
    if (!at_check_any(t, "cast", "x", x)) return NULL;
    if (dtype == ATTIC_REAL) dtype = t->real;
    AT_REQUIRE(t, at_is_real(x->dtype), "cast: x is %s %s, but must be f16, bf16 or %s",
               at_dtype_text(x->dtype), at_text(x), at_dtype_text(t->real));
    AT_REQUIRE(t, at_is_half(dtype) || dtype == t->real,
               "cast: x can become f16, bf16 or %s, the real type of this tape, but not %s",
               at_dtype_text(t->real), at_dtype_text(dtype));
    at_tensor *y = at_tensor_new(t, dtype, x->shape);
    const ptrdiff_t n = y ? at_count(x->shape) : 0;
    if (!y) return NULL;
    y->name = x->name;
    at_profile_line *outer = at_profile_enter(t, "cast");
    if (x->dtype == dtype && n)
        memcpy(y->data, x->data, at_bytes(x));
    else if (dtype == t->real)
        AT_OF_REAL(dtype, widen)(n, x->dtype == ATTIC_BF16, x->data, y->data);
    else if (x->dtype == t->real)
        AT_OF_REAL(t->real, narrow)(n, dtype == ATTIC_BF16, x->data, y->data);
    else
        at_convert(dtype, y->data, x->dtype, x->data, n);
    at_profile_leave(t, outer);
    return y;
}

at_tensor *at_detach(at_tape *t, at_tensor *x)
{
    if (!at_check_any(t, "detach", "x", x)) return NULL;
    at_tensor *y = at_step_alloc(t, sizeof *y);
    if (!y) return NULL;
    *y = (at_tensor){.dtype = x->dtype,
                     .shape = x->shape,
                     .data = x->data,
                     .name = x->name,
                     .tape = t,
                     .base = at_data_owner(x)};
    return y;
}

at_tensor *at_grad_copy(at_tape *t, at_tensor *x)
{
    AT_INPUT(t, "grad_copy", x, ATTIC_REAL);
    at_tensor *g = at_const(t, x->shape, NULL);
    if (g && x->grad) memcpy(g->data, x->grad, at_bytes(x));
    return g;
}

static bool rename_states(const at_tensor *param, const char *name)
{
    at_tape *t = param->tape;
    for (int i = 0; i < t->n_states; i++) {
        const at_state *s = &t->states[i];
        if (s->param == param && !(s->x->name = at_join(t, name, ":", s->what))) return false;
    }
    return true;
}

static bool rename_tensor(at_tensor *x, const char *name)
{
    at_tape *t = x->tape;
    AT_REQUIRE(t, name, "name: the name of %s is NULL", at_text(x));
    const char *text = at_intern(t, name);
    if (text && at_find_param(t, x->name) == x) { /* it is found by its new name from now on */
        const at_tensor *other = at_find_param(t, text);
        AT_REQUIRE(t, !other || other == x, "name: there is a parameter \"%s\" already",
                   at_shown(text, -1));
        if (!other && !(rename_states(x, text) && at_set_named(t, &t->params, text, x) &&
                        at_set_named(t, &t->params, x->name, NULL)))
            return false;
    }
    if (text) x->name = text;
    return text;
}

at_tensor *at_name(at_tensor *x, const char *name)
{
    if (x && at_check_alive(x->tape, "name", "x", x)) rename_tensor(x, name);
    return x;
}

/* ------------------------------------------------------------------ single elements ------------ */

/* Sets *at to the position of `index` in memory order; false after a sticky error. */
static bool find_element(const at_tensor *x, const char *what, at_shape index, ptrdiff_t *at)
{
    if (!x || !at_check_any(x->tape, what, "x", x)) return false;
    bool inside = index.ndim == x->shape.ndim;
    *at = 0;
    for (int d = 0; inside && d < index.ndim; d++) {
        inside = index.dim[d] >= 0 && index.dim[d] < x->shape.dim[d];
        *at = *at * x->shape.dim[d] + index.dim[d];
    }
    AT_REQUIRE(x->tape, inside, "%s: there is no element %s in %s", what, at_shape_text(index),
               at_text(x));
    return true;
}

double at_get_at(const at_tensor *x, at_shape index)
{
    ptrdiff_t i;
    return find_element(x, "get", index, &i) ? at_element(x, i) : (double)NAN;
}

void at_set_at(at_tensor *x, double value, at_shape index)
{
    ptrdiff_t i;
    if (!find_element(x, "set", index, &i)) return;
    if (at_can_hold(x->dtype, value))
        at_written(x);
    else
        at_fail(x->tape, ATTIC_USER_ERROR, "set: %s %s cannot hold %g", at_dtype_text(x->dtype),
                at_text(x), value);
    if (at_ok(x->tape)) at_store(x->dtype, x->data, i, value);
}

double at_item(const at_tensor *x)
{
    if (!x || !at_check_any(x->tape, "item", "x", x)) return (double)NAN;
    ptrdiff_t n = at_count(x->shape);
    if (n != 1)
        at_fail(x->tape, ATTIC_USER_ERROR, "item: %s has %td elements, not one", at_text(x), n);
    return n == 1 ? at_element(x, 0) : (double)NAN;
}

/* May x be written, or learn? */
static bool can_change(at_tape *t, const char *op, const at_tensor *x)
{
    AT_REQUIRE(t, !at_is_read_only(x), "%s: %s is read-only: its elements are those of %s", op,
               at_text(x), at_data_owner(x)->tape ? "another tape" : "a mapped file");
    return true;
}

void at_written(at_tensor *x)
{
    if (!x || (at_ok(x->tape) && !at_check_alive(x->tape, "written", "x", x))) return;
    at_tensor *owner = at_data_owner(x);
    if (at_is_read_only(x))
        can_change(x->tape, "set", x);
    else
        owner->version++;
    if (owner->node)
        at_fail(x->tape, ATTIC_USER_ERROR, "set: %s was computed by %s; only leaves can be written",
                at_text(x), owner->node->op->name);
}

/* ------------------------------------------------------------------ all elements --------------- */

/* Can n elements at p be copied to or from x?  integers: x must be i32, else real. */
static bool can_be_copied(const at_tensor *x, const char *op, const void *p, ptrdiff_t n,
                          bool integers)
{
    if (!x || !at_check_any(x->tape, op, "x", x)) return false;
    bool has_integers = x->dtype == ATTIC_I32;
    AT_REQUIRE(x->tape, has_integers == integers && x->dtype != ATTIC_BOOL,
               "%s: %s is %s, but must be %s", op, at_text(x), at_dtype_text(x->dtype),
               integers ? "i32" : "real");
    AT_REQUIRE(x->tape, n == at_count(x->shape), "%s: %s has %td elements, but %td were asked for",
               op, at_text(x), at_count(x->shape), n);
    AT_REQUIRE(x->tape, p || n == 0, "%s: the array for %s is NULL", op, at_text(x));
    return true;
}

static bool read_all(const at_tensor *x, const char *op, at_dtype d, void *out, ptrdiff_t n)
{
    if (!can_be_copied(x, op, out, n, d == ATTIC_I32)) return false;
    if (x->dtype == d && n > 0) memcpy(out, x->data, at_bytes(x));
    if (x->dtype != d) at_convert(d, out, x->dtype, x->data, n);
    return true;
}

static bool write_all(at_tensor *x, const char *op, at_dtype d, const void *in, ptrdiff_t n)
{
    if (!can_be_copied(x, op, in, n, d == ATTIC_I32)) return false;
    for (ptrdiff_t i = 0; x->dtype != d && i < n; i++)
        AT_REQUIRE(x->tape, at_can_hold(x->dtype, at_fetch(d, in, i)),
                   "%s: element %td is %g, which %s %s cannot hold", op, i, at_fetch(d, in, i),
                   at_dtype_text(x->dtype), at_text(x));
    at_written(x);
    if (!at_ok(x->tape)) return false;
    if (x->dtype == d && n > 0) memcpy(x->data, in, at_bytes(x));
    if (x->dtype != d) at_convert(x->dtype, x->data, d, in, n);
    return true;
}

bool at_read_f32(const at_tensor *x, float *out, ptrdiff_t n)
{
    return read_all(x, "read_f32", ATTIC_F32, out, n);
}

bool at_read_f64(const at_tensor *x, double *out, ptrdiff_t n)
{
    return read_all(x, "read_f64", ATTIC_F64, out, n);
}

bool at_read_i32(const at_tensor *x, int32_t *out, ptrdiff_t n)
{
    return read_all(x, "read_i32", ATTIC_I32, out, n);
}

bool at_read_i64(const at_tensor *x, int64_t *out, ptrdiff_t n)
{
    if (!can_be_copied(x, "read_i64", out, n, true)) return false;
    for (ptrdiff_t i = 0; i < n; i++) out[i] = ((const int32_t *)x->data)[i];
    return true;
}

bool at_write_f32(at_tensor *x, const float *in, ptrdiff_t n)
{
    return write_all(x, "write_f32", ATTIC_F32, in, n);
}

bool at_write_f64(at_tensor *x, const double *in, ptrdiff_t n)
{
    return write_all(x, "write_f64", ATTIC_F64, in, n);
}

bool at_write_i32(at_tensor *x, const int32_t *in, ptrdiff_t n)
{
    return write_all(x, "write_i32", ATTIC_I32, in, n);
}

bool at_write_i64(at_tensor *x, const int64_t *in, ptrdiff_t n)
{
    if (!can_be_copied(x, "write_i64", in, n, true)) return false;
    for (ptrdiff_t i = 0; i < n; i++)
        AT_REQUIRE(x->tape, in[i] >= INT32_MIN && in[i] <= INT32_MAX,
                   "write_i64: element %td is %lld, which i32 %s cannot hold", i, (long long)in[i],
                   at_text(x));
    at_written(x);
    for (ptrdiff_t i = 0; at_ok(x->tape) && i < n; i++) ((int32_t *)x->data)[i] = (int32_t)in[i];
    return at_ok(x->tape);
}

/* ------------------------------------------------------------------ parameters ----------------- */

at_tensor *at_find_param(const at_tape *t, const char *name)
{
    return t && name ? at_find_named(t, &t->params, name) : NULL;
}

/* The memory of its gradient waits for the first backward: a frozen parameter never needs it. */
static at_tensor *new_param(at_tape *t, at_dtype dtype, const char *full, at_shape shape,
                            at_init init)
{
    if (!full) return NULL;
    AT_REQUIRE(t, !at_find_param(t, full), "param: there is a parameter \"%s\" already",
               at_shown(full, -1));
    at_tensor *x = without_data(t, &t->permanent, dtype, shape);
    if (!x || (!t->filler && !(at_own_data(x) && can_be_filled(t, "param", x, init)))) return NULL;
    at_tensor **params = at_grow(t, t->params, t->n_params, &t->max_params, sizeof *params);
    if (!params) return NULL;
    t->params = params;
    const at_stream drawn = at_draw(t);
    x->name = full;
    x->wants_grad = !at_is_half(x->dtype);
    if (!t->filler)
        fill(x, init, drawn);
    else if (!t->filler(t->filled_from, x))
        return NULL;
    if (!at_set_named(t, &t->params, full, x)) return NULL;
    return t->params[t->n_params++] = x;
}

bool at_own_data(at_tensor *x)
{
    return at_give_data(x, &x->tape->permanent);
}

void at_share_data(at_tensor *x, const at_tensor *owner, void *p)
{
    x->data = p;
    x->base = at_data_owner(owner);
    x->wants_grad = false;
}

void at_fill_params(at_tape *t, at_param_filler *filler, void *from)
{
    if (!t) return;
    t->filler = filler;
    t->filled_from = from;
}

at_tensor *at_param(at_tape *t, const char *name, at_shape shape, at_init init)
{
    AT_REQUIRE(t, name && *name, "param: a parameter needs a name");
    const at_dtype dtype = shape.ndim >= 2 ? t->stored : ATTIC_REAL;
    return new_param(t, dtype, at_join(t, at_prefix(t), name, ""), shape, init);
}

at_tensor *at_param_beside(at_tape *t, const at_tensor *W, const char *name, at_shape shape,
                           at_init init)
{
    const char *dot = strrchr(W->name, '.');
    size_t size = strlen(W->name) + strlen(name) + 1;
    char *full = at_permanent_alloc(t, size);
    if (full) snprintf(full, size, "%.*s%s", dot ? (int)(dot + 1 - W->name) : 0, W->name, name);
    return new_param(t, ATTIC_REAL, full, shape, init);
}

at_dtype at_store_params(at_tape *t, at_dtype dtype)
{
    const at_dtype before = t ? t->stored : ATTIC_REAL;
    if (dtype != ATTIC_REAL && dtype != at_real(t) && !at_is_half(dtype))
        at_fail(t, ATTIC_USER_ERROR, "store_params: dtype is %s, but must be f16, bf16 or %s",
                at_dtype_text(dtype), at_dtype_text(at_real(t)));
    else if (t)
        t->stored = dtype;
    return before;
}

int at_param_count(const at_tape *t)
{
    return t ? t->n_params : 0;
}

at_tensor *at_param_at(const at_tape *t, int i)
{
    return i >= 0 && i < at_param_count(t) ? t->params[i] : NULL;
}

/* May x begin or cease to want a gradient?  Of the ops that have read it some would compute their
 * share of the gradient, and some would not. */
static bool can_be_switched(at_tape *t, const char *op, const at_tensor *x)
{
    if (!can_change(t, op, x)) return false;
    AT_REQUIRE(t, !at_is_half(x->dtype), "%s: %s is stored as %s, and cannot learn", op, at_text(x),
               at_dtype_text(x->dtype));
    for (const at_node *n = t->last; n; n = n->prev)
        for (int i = 0; i < n->n_in; i++)
            AT_REQUIRE(t, n->in[i] != x,
                       "%s: %s was read by %s (op %d), which is still on the tape: at_rewind first",
                       op, at_text(x), n->op->name, n->index);
    return at_ok(t);
}

bool at_set_frozen(at_tape *t, const char *op, at_tensor *const *x, int n, bool frozen)
{
    for (int i = 0; i < n; i++)
        if (x[i] && (!at_check_any(t, op, "a parameter", x[i]) ||
                     (x[i]->wants_grad == frozen && !can_be_switched(t, op, x[i]))))
            return false;
    for (int i = 0; i < n && at_ok(t); i++) {
        if (!x[i] || x[i]->wants_grad != frozen) continue;
        x[i]->wants_grad = !frozen;
        x[i]->grad = NULL;
    }
    return at_ok(t);
}

static int set_group_frozen(at_tape *t, const char *op, at_names which, bool frozen)
{
    if (!at_names_are_known(t, op, which)) return 0;
    at_tensor **x = at_step_alloc(t, (size_t)t->n_params * sizeof *x);
    int n = 0;
    for (int i = 0; x && i < t->n_params; i++)
        if (at_names_mean(which, t->params[i]->name)) x[n++] = t->params[i];
    if (n == 0) at_fail(t, ATTIC_USER_ERROR, "%s: no parameter is meant", op);
    return at_set_frozen(t, op, x, n, frozen) ? n : 0;
}

int at_freeze(at_tape *t, at_names which)
{
    return set_group_frozen(t, "freeze", which, true);
}

int at_unfreeze(at_tape *t, at_names which)
{
    return set_group_frozen(t, "unfreeze", which, false);
}

bool at_copy_params(at_tape *dst, const at_tape *src)
{
    AT_REQUIRE(dst, src, "copy_params: there is no tape to copy from");
    for (int i = 0; i < dst->n_params; i++) {
        const at_tensor *y = dst->params[i], *x = at_find_param(src, y->name);
        AT_REQUIRE(dst, x, "copy_params: the source has no parameter \"%s\"",
                   at_shown(y->name, -1));
        if (!can_change(dst, "copy_params", y)) return false;
        AT_REQUIRE(dst, at_same_shape(x->shape, y->shape), "copy_params: %s here but %s there",
                   at_text(y), at_shape_text(x->shape));
        for (ptrdiff_t n = at_count(y->shape), k = 0; k < n; k++)
            AT_REQUIRE(dst, at_can_hold(y->dtype, at_element(x, k)),
                       "copy_params: element %td of %s is %g, which %s cannot hold", k, at_text(x),
                       at_element(x, k), at_dtype_text(y->dtype));
    }
    for (int i = 0; i < dst->n_params; i++) {
        at_tensor *y = dst->params[i], *x = at_find_param(src, y->name);
        at_convert(y->dtype, y->data, x->dtype, x->data, at_count(y->shape));
        at_written(y);
    }
    return true;
}

at_tensor *at_param_state_of(at_tape *t, at_tensor *param, const char *what, at_shape shape)
{
    AT_INPUT(t, "param_state", param, ATTIC_REAL);
    AT_REQUIRE(t, what && *what, "param_state: the state of %s needs a name", at_text(param));
    at_tensor *s = at_find_named(t, param, what);
    if (s) {
        AT_REQUIRE(t, at_same_shape(s->shape, shape),
                   "param_state: %s is there already, and is not %s", at_text(s),
                   at_shape_text(shape));
        return s;
    }

    AT_REQUIRE(t, at_find_param(t, param->name) == param, "param_state: %s is no parameter",
               at_text(param));
    s = tensor_in(t, &t->permanent, ATTIC_REAL, shape);
    if (!s || !(s->name = at_join(t, param->name, ":", what))) return NULL;
    memset(s->data, 0, at_bytes(s));
    at_state *states = at_grow(t, t->states, t->n_states, &t->max_states, sizeof *states);
    if (!states) return NULL;
    t->states = states;
    what = s->name + strlen(param->name) + 1;
    if (!at_set_named(t, param, what, s)) return NULL;
    t->states[t->n_states++] = (at_state){s, param, what};
    return s;
}

at_tensor *at_find_state(const at_tape *t, const at_tensor *param, const char *what)
{
    return t && param && what ? at_find_named(t, param, what) : NULL;
}

int at_state_count(const at_tape *t)
{
    return t ? t->n_states : 0;
}

at_tensor *at_state_at(const at_tape *t, int i)
{
    return i >= 0 && i < at_state_count(t) ? t->states[i].x : NULL;
}

at_tensor *at_param_state(at_tape *t, at_tensor *param, const char *what)
{
    if (!at_check_any(t, "param_state", "param", param)) return NULL;
    return at_param_state_of(t, param, what, param->shape);
}
