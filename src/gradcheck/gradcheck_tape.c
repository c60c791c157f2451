/* gradcheck_tape.c -- a function on a tape, seen as a function on plain doubles; see gradcheck.h.
 *
 * All the leaves that f uses are strung together to one long x, and y = f is what replaying the
 * tape makes of it:
 *
 *     forward   x -> leaves, replay, y's data -> y
 *     vjp       x -> leaves, replay, backward from dy, the leaves' gradients -> dx
 *
 * While this goes on, f has the tape to itself: what was recorded before is set aside and is
 * neither replayed nor swept.  So a tensor that was computed before f counts as a leaf, too. */
#include "gradcheck/checker.h"
#include "autograd/mirror.h"

#include <math.h>
#include <string.h>

#include "system/utf8.h"
#include "tensor/decimal.h"

enum { NAME_LENGTH = 64 };

typedef struct held_tensor held_tensor;
struct held_tensor { /* what has to come out of the check as it went in */
    at_tensor *x;
    void *data;               /* a copy */
    void *grad, *grad_memory; /* where they are; meanwhile, other buffers take their place */
    int input;                /* which input of f it is, or -1 */
    bool is_leaf;             /* to be differentiated by, */
    ptrdiff_t first;          /* from here on in the long x */
    held_tensor *next;
};

typedef struct {
    at_tape *t;
    uint64_t start; /* nodes of f were made after mark number `start` */
    held_tensor *held;
    ptrdiff_t n, m; /* elements of all leaves together, and of y */
    at_tensor *y, *dy;
    at_mirror mirror; /* of y, */
    at_tensor *u;     /* and of dy */
} taped_function;

/* ------------------------------------------------------------------ leaves and constants -------- */

static void *copy_of(at_tape *t, const void *p, size_t bytes)
{
    void *copy = p ? at_step_alloc(t, bytes) : NULL;
    return copy ? memcpy(copy, p, bytes) : NULL;
}

/* The record of x, made now if there is none. */
static held_tensor *hold(taped_function *f, at_tensor *x, int input)
{
    held_tensor **at = &f->held;
    for (; *at; at = &(*at)->next)
        if ((*at)->x == x) return *at;
    held_tensor *h = at_step_alloc(f->t, sizeof *h);
    if (!h) return NULL;
    *h = (held_tensor){.x = x,
                       .data = copy_of(f->t, x->data, at_bytes(x)),
                       .grad = x->grad,
                       .grad_memory = x->grad_memory,
                       .input = input};
    if (x->grad_memory || (x->wants_grad && !x->node))
        x->grad_memory = at_step_alloc(f->t, at_bytes(x));
    return *at = h;
}

/* Before f runs: whatever it may read and must not write. */
static bool hold_inputs(taped_function *f, at_tensor **in, int n)
{
    for (int i = 0; i < n; i++)
        if (at_check_any(f->t, "gradcheck", "an input", in[i])) hold(f, in[i], i);
    for (int i = 0; i < f->t->n_params; i++) hold(f, f->t->params[i], -1);
    return at_ok(f->t);
}

static void mark_leaf(taped_function *f, at_tensor *x)
{
    bool made_by_f = x && x->node && x->node->made >= f->start;
    held_tensor *h = x && x->wants_grad && !made_by_f ? hold(f, x, -1) : NULL;
    if (h) h->is_leaf = true;
}

static bool string_leaves_together(taped_function *f, at_tensor **in, int n)
{
    for (int i = 0; i < n; i++) mark_leaf(f, in[i]);
    for (at_node *op = f->t->first; op; op = op->next)
        for (int i = 0; i < op->n_in; i++) mark_leaf(f, op->in[i]);
    for (held_tensor *h = f->held; h; h = h->next) {
        h->first = f->n;
        if (h->is_leaf) f->n += at_count(h->x->shape);
    }
    return at_ok(f->t);
}

static void restore_held(taped_function *f)
{
    for (held_tensor *h = f->held; h; h = h->next) {
        if (h->data && !at_is_read_only(h->x)) memcpy(h->x->data, h->data, at_bytes(h->x));
        h->x->grad = h->grad;
        h->x->grad_memory = h->grad_memory;
    }
}

/* ------------------------------------------------------------------ forward and vjp ------------ */

static void set_leaves(taped_function *f, const double *x)
{
    for (held_tensor *h = f->held; h; h = h->next)
        if (h->is_leaf) memcpy(h->x->data, x + h->first, at_bytes(h->x));
}

static void clear_leaf_grads(taped_function *f)
{
    for (held_tensor *h = f->held; h; h = h->next)
        if (h->is_leaf) h->x->grad = NULL;
}

/* The gradients of all leaves from dy; they are added to what is there. */
static bool sweep_back(taped_function *f, double *dx)
{
    if (!at_backward_from(f->t, f->y, f->dy)) return false;
    for (held_tensor *h = f->held; h; h = h->next)
        for (ptrdiff_t n = h->is_leaf ? at_count(h->x->shape) : 0, i = 0; i < n; i++)
            dx[h->first + i] = at_grad_element(h->x, i);
    return true;
}

static void forward_on_tape(const double *x, double *y, void *ctx)
{
    taped_function *f = ctx;
    set_leaves(f, x);
    if (at_replay(f->t)) memcpy(y, f->y->data, at_bytes(f->y));
}

static void backward_on_tape(const double *x, const double *dy, double *dx, void *ctx)
{
    taped_function *f = ctx;
    set_leaves(f, x);
    memcpy(f->dy->data, dy, at_bytes(f->dy));
    clear_leaf_grads(f);
    if (at_replay(f->t)) sweep_back(f, dx);
}

static void set_mirror(taped_function *f, const double *x, const double *v)
{
    for (held_tensor *h = f->held; h; h = h->next)
        for (ptrdiff_t n = h->is_leaf && h->x->twin ? at_count(h->x->shape) : 0, i = 0; i < n;
             i++) {
            at_store(ATTIC_DUAL, h->x->twin->data, i, x[h->first + i]);
            *at_tangent_of(h->x->twin->data, i) = v[h->first + i] * AT_DUAL_UNIT;
        }
}

static bool tangents_on_mirror(const double *x, const double *v, double *dy, void *ctx)
{
    taped_function *f = ctx;
    set_mirror(f, x, v);
    if (!at_mirror_run(&f->mirror)) return false;
    for (ptrdiff_t k = 0; k < f->m; k++) dy[k] = *at_tangent_of(f->y->twin->data, k) / AT_DUAL_UNIT;
    return true;
}

/* ------------------------------------------------------------------ order 2 -------------------- */

/* g = the gradient of <u,y>, with the u that is in dy */
static void gradient_on_tape(const double *x, double *g, void *ctx)
{
    taped_function *f = ctx;
    set_leaves(f, x);
    clear_leaf_grads(f);
    if (at_replay(f->t)) sweep_back(f, g);
}

/* H v */
static bool hessian_on_mirror(const double *x, const double *v, double *Hv, void *ctx)
{
    taped_function *f = ctx;
    set_mirror(f, x, v);
    at_zero_grads(f->mirror.dual);
    if (!at_mirror_run(&f->mirror)) return false;
    if (!f->u) f->u = at_const(f->mirror.dual, f->y->shape, f->dy->data);
    if (!f->u || !at_backward_from(f->mirror.dual, f->y->twin, f->u)) return false;
    for (held_tensor *h = f->held; h; h = h->next) {
        void *g = h->is_leaf && h->x->twin ? h->x->twin->grad : NULL;
        for (ptrdiff_t n = h->is_leaf ? at_count(h->x->shape) : 0, i = 0; i < n; i++)
            Hv[h->first + i] = g ? *at_tangent_of(g, i) / AT_DUAL_UNIT : 0;
    }
    return true;
}

/* sum_k |u_k y_k|, where a y_k that is less than the largest x, or 1, may be what terms of that
 * size left when they cancelled. */
static double size_of_loss(const taped_function *f, const double *x)
{
    double size = 0, largest = 0;
    for (ptrdiff_t i = 0; i < f->n; i++)
        if (isfinite(x[i])) largest = fmax(largest, fmin(fabs(x[i]), 1));
    for (ptrdiff_t k = 0; k < f->m; k++) {
        const double y = fabs(at_element(f->y, k));
        if (isfinite(y)) size += fabs(at_element(f->dy, k)) * fmax(y, largest);
    }
    return size;
}

static void hessian_as_vjp(const double *x, const double *w, double *Hw, void *ctx)
{
    hessian_on_mirror(x, w, Hw, ctx);
}

/* ------------------------------------------------------------------ rules of a tape ------------ */

static void place_in_tensor(at_gradcheck_report *r, const held_tensor *h, ptrdiff_t element)
{
    char name[24] = "";
    if (h->input >= 0) snprintf(name, sizeof name, "input %d ", h->input);
    r->input = h->input;
    r->element = element;
    snprintf(r->where, sizeof r->where, "%s%s at %s", name, at_text(h->x),
             at_shape_text(at_index_of(h->x->shape, element)));
}

/* Element i of the long x is which element of which leaf? */
static void place_in_leaf(at_gradcheck_report *r, const taped_function *f, ptrdiff_t i)
{
    const held_tensor *h = f->held;
    while (!h->is_leaf || i >= h->first + at_count(h->x->shape)) h = h->next;
    place_in_tensor(r, h, i - h->first);
}

/* Leaves and constants must hold the bits that they held before f. */
static bool input_has_changed(const taped_function *f, at_gradcheck_report *r, const char *reason)
{
    for (const held_tensor *h = f->held; h; h = h->next) {
        const char *is = h->x->data, *was = h->data;
        size_t size = at_dtype_size(h->x->dtype);
        for (ptrdiff_t n = at_count(h->x->shape), i = 0; i < n; i++) {
            if (memcmp(is + (size_t)i * size, was + (size_t)i * size, size) == 0) continue;
            place_in_tensor(r, h, i);
            return at_break_rule(r, reason, at_fetch(h->x->dtype, is, i),
                                 at_fetch(h->x->dtype, was, i));
        }
    }
    return false;
}

/* The first run was recorded, all others are replays: they must not differ. */
static bool replay_differs(taped_function *f, at_gradcheck_report *r)
{
    const double *y = f->y->data, *first = copy_of(f->t, y, at_bytes(f->y));
    if (!first || !at_replay(f->t)) return false;
    ptrdiff_t k = 0;
    while (k < f->m && at_same_bits(first[k], y[k])) k++;
    if (k == f->m) return false;
    snprintf(r->where, sizeof r->where, "y[%td]", k);
    return at_break_rule(r, "a replay gives other values than the first run", y[k], first[k]);
}

/* After one backward the leaves have the gradient g, after a second one 2 g, but for rounding; of a
 * gradient that is 0 there is nothing else: noise. */
static bool gradients_do_not_add_up(taped_function *f, at_gradcheck_report *r)
{
    double *dy = f->dy->data, *y = f->y->data, largest = 0, noise = 0;
    for (ptrdiff_t k = 0; k < f->m; k++) {
        dy[k] = 0.5 + at_random_unit((at_stream){r->seed, 0}, (uint64_t)k);
        if (isfinite(y[k])) noise += 1e-13 * fabs(dy[k] * y[k]);
    }
    double *once = at_step_alloc(f->t, (size_t)f->n * sizeof *once);
    double *twice = at_step_alloc(f->t, (size_t)f->n * sizeof *twice);
    clear_leaf_grads(f);
    if (!once || !twice || !sweep_back(f, once) || !sweep_back(f, twice)) return false;

    for (ptrdiff_t i = 0; i < f->n; i++)
        if (isfinite(once[i])) largest = fmax(largest, fabs(once[i]));
    for (ptrdiff_t i = 0; i < f->n; i++) {
        if (!(fabs(twice[i] - 2 * once[i]) > 1e-6 * largest + noise)) continue;
        place_in_leaf(r, f, i);
        return at_break_rule(r, "a second backward does not add to the first", twice[i],
                             2 * once[i]);
    }
    return false;
}

/* A gradient may be a number where f is none: that of log(-x^2) is 2/x. */
static bool output_is_nan(const taped_function *f, at_gradcheck_report *r)
{
    ptrdiff_t k = 0;
    while (k < f->m && !isnan(at_element(f->y, k))) k++;
    if (k < f->m)
        snprintf(r->reason, sizeof r->reason, "y[%td] = f(x) is not a number at this x", k);
    return k < f->m;
}

/* ------------------------------------------------------------------ the check ------------------ */

static void add_reason(at_gradcheck_report *r, const char *before, const char *reason)
{
    size_t used = strlen(r->reason);
    snprintf(r->reason + used, sizeof r->reason - used, " (%s%s)", before, reason);
}

/* The leaves, as parts of the long x. */
static const at_gradcheck_part *parts_of(const taped_function *f)
{
    ptrdiff_t count = 0;
    for (const held_tensor *h = f->held; h; h = h->next) count += h->is_leaf;
    at_gradcheck_part *parts = at_step_alloc(f->t, (size_t)(count + 1) * sizeof *parts), *p = parts;
    if (!parts) return NULL;
    memset(parts, 0, (size_t)(count + 1) * sizeof *parts);
    for (const held_tensor *h = f->held; h; h = h->next) {
        if (!h->is_leaf) continue;
        char *name = at_step_alloc(f->t, NAME_LENGTH);
        if (!name) return NULL;
        if (h->x->name)
            at_show(name, NAME_LENGTH, h->x->name, (ptrdiff_t)strlen(h->x->name));
        else if (h->input >= 0)
            snprintf(name, NAME_LENGTH, "input %d", h->input);
        else
            snprintf(name, NAME_LENGTH, "a leaf %s", at_shape_text(h->x->shape));
        *p++ = (at_gradcheck_part){name, at_count(h->x->shape), h->x->shape};
    }
    return parts;
}

static at_gradcheck_report check_recorded(taped_function *f, at_gradcheck_options options)
{
    at_gradcheck_report r = {.seed = options.seed};
    f->m = at_count(f->y->shape);
    if (input_has_changed(f, &r, "forward changes its input") || replay_differs(f, &r) ||
        gradients_do_not_add_up(f, &r) || input_has_changed(f, &r, "backward changes its input"))
        return r;

    double *x = at_step_alloc(f->t, (size_t)f->n * sizeof *x);
    if (!x || output_is_nan(f, &r)) return r;
    for (held_tensor *h = f->held; h; h = h->next)
        if (h->is_leaf) memcpy(x + h->first, h->data, at_bytes(h->x));
    options.parts = parts_of(f);
    const bool mirrored = at_mirror_open(&f->mirror, f->y, f->start) && at_mirror_run(&f->mirror);
    if (options.order == 2 && mirrored)
        r = at_gradcheck_exact(gradient_on_tape, hessian_as_vjp, hessian_on_mirror, f->n, f->n, x,
                               size_of_loss(f, x), f, options);
    else if (options.order != 2)
        r = at_gradcheck_exact(forward_on_tape, backward_on_tape,
                               mirrored ? tangents_on_mirror : NULL, f->n, f->m, x,
                               size_of_loss(f, x) / 4, f, options);
    const bool held = f->mirror.dual && at_ok(f->mirror.dual);
    if (options.order != 2 && !held && r.verdict == ATTIC_PASS)
        add_reason(&r, "differences alone: ", at_error(f->mirror.dual));
    if (options.order == 2 && !held) {
        r = (at_gradcheck_report){.seed = options.seed, .order = 2, .real = ATTIC_F64, .bits = 53};
        snprintf(r.reason, sizeof r.reason, "order 2 needs dual numbers: %.200s",
                 at_error(f->mirror.dual));
    }
    at_mirror_close(&f->mirror);
    if (r.where[0] == 'x' || r.where[0] == '"') place_in_leaf(&r, f, r.element);
    return r;
}

/* Where a gradient ends because an op has no backward, the reason names the op. */
static void name_dead_end(at_gradcheck_report *r, const at_tape *t)
{
    for (const at_node *n = t->first; n; n = n->next) {
        bool reached = false, real = n->out[0]->dtype == t->real;
        for (int i = 0; i < n->n_in; i++) reached |= n->in[i] && n->in[i]->wants_grad;
        if (!reached || !real || n->op->backward[at_real_index(t)]) continue;
        add_reason(r, n->op->name, " has no backward");
        return;
    }
}

/* Checks f on a tape on which nothing else is recorded. */
static at_gradcheck_report check_recording(at_tape *t, at_function *function, at_tensor **in, int n,
                                           void *ctx, at_gradcheck_options options)
{
    at_gradcheck_report r = {.verdict = ATTIC_VACUOUS, .seed = options.seed};
    taped_function f = {.t = t, .start = t->marks_made};
    if (hold_inputs(&f, in, n)) f.y = function(t, in, ctx);
    if (at_ok(t) && !f.y) at_fail(t, ATTIC_USER_ERROR, "gradcheck: the function returned NULL");

    if (!at_ok(t) || !f.y || !string_leaves_together(&f, in, n))
        r.verdict = ATTIC_NOT_RUN;
    else if (f.y->node && f.y->node->made < f.start)
        at_fail(t, ATTIC_USER_ERROR, "gradcheck: the function returned %s, computed before it",
                at_text(f.y));
    else if (f.y->dtype != t->real)
        snprintf(r.reason, sizeof r.reason, "the output is %s and has no gradient",
                 at_dtype_text(f.y->dtype));
    else if (!f.y->wants_grad)
        snprintf(r.reason, sizeof r.reason, "the output depends on nothing that wants a gradient");
    else if ((f.dy = at_const(t, f.y->shape, NULL)))
        r = check_recorded(&f, options);
    if (r.verdict == ATTIC_WRONG || r.verdict == ATTIC_VACUOUS) name_dead_end(&r, t);
    restore_held(&f);
    return r;
}

static bool can_be_checked(at_tape *t, at_function *f, at_tensor **in, int n,
                           const at_gradcheck_options *options)
{
    const int order = options->order;
    AT_REQUIRE(t, !at_left_out_by(ATTIC_F64),
               "gradcheck: this library was compiled with %s, without f64",
               at_left_out_by(ATTIC_F64));
    AT_REQUIRE(t, t->real != ATTIC_DUAL, "gradcheck: the tape is dual, but must be f64");
    AT_REQUIRE(t, t->real == ATTIC_F64,
               "gradcheck: the tape is f32, whose 7 digits leave none for differences; check on "
               "an f64 tape (at_copy_params brings the parameters there)");
    AT_REQUIRE(t, f, "gradcheck: the function is NULL");
    AT_REQUIRE(t, in || n <= 0, "gradcheck: the list of inputs is NULL");
    AT_REQUIRE(t, !options->twin, "gradcheck: a twin is for plain C functions; a tape is f64");
    AT_REQUIRE(t, order >= 0 && order <= 2, "gradcheck: order is %d, but must be 0, 1 or 2", order);
    return true;
}

at_gradcheck_report at_gradcheck(at_tape *t, at_function *f, at_tensor **in, int n, void *ctx,
                                 at_gradcheck_options options)
{
    at_gradcheck_report r = {.seed = options.seed};
    if (can_be_checked(t, f, in, n, &options)) {
        at_mark start = at_mark_here(t);
        at_node *first = t->first;
        bool anomaly = at_anomaly(t, false), reuse = at_reuse_memory(t, false);
        t->first = t->last = NULL;
        r = check_recording(t, f, in, n, ctx, options);
        t->first = first;
        at_rewind(t, start);
        at_anomaly(t, anomaly);
        at_reuse_memory(t, reuse);
    }
    if (!at_ok(t)) {
        r.verdict = ATTIC_NOT_RUN;
        at_show(r.reason, sizeof r.reason, at_error(t), (ptrdiff_t)strlen(at_error(t)));
    }
    return r;
}
