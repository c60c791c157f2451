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
#include "autograd/gradcheck.h"
#include "autograd/state.h"

#include <math.h>
#include <string.h>

typedef struct {
    at_tensor *x;
    double *data, *grad; /* as they were; grad is NULL if there was none */
    ptrdiff_t first;     /* where its elements begin in the long x */
    int input;           /* which input of f it is, or -1 */
} leaf_record;

typedef struct {
    at_tape *t;
    leaf_record *leaf;
    int n_leaves;
    ptrdiff_t n; /* of all leaves together */
    at_tensor *y, *dy;
    const leaf_record *changed; /* the first leaf that f or its backward wrote to */
    const char *changed_by;
} taped_function;

/* ------------------------------------------------------------------ the leaves ----------------- */

static bool is_made_by_f(const at_tape *t, const at_tensor *x)
{
    for (const at_node *n = t->first; n; n = n->next)
        if (n == x->node) return true;
    return false;
}

static void add_leaf(taped_function *f, at_tensor *x, int input)
{
    if (!x || !x->wants_grad || is_made_by_f(f->t, x)) return;
    for (int i = 0; i < f->n_leaves; i++)
        if (f->leaf[i].x == x) return;
    f->leaf[f->n_leaves++] = (leaf_record){.x = x, .first = f->n, .input = input};
    f->n += at_count(x->shape);
}

static void *copy_of(at_tape *t, const void *p, size_t bytes)
{
    void *copy = p ? at_step_alloc(t, bytes) : NULL;
    if (copy) memcpy(copy, p, bytes);
    return copy;
}

/* The inputs first, then whatever else the ops of f read. */
static bool collect_leaves(taped_function *f, at_tensor **in, int n)
{
    int most = n;
    for (at_node *op = f->t->first; op; op = op->next) most += op->n_in;
    f->leaf = at_step_alloc(f->t, (size_t)most * sizeof *f->leaf);
    if (!f->leaf) return false;

    for (int i = 0; i < n; i++) add_leaf(f, in[i], i);
    for (at_node *op = f->t->first; op; op = op->next)
        for (int i = 0; i < op->n_in; i++) add_leaf(f, op->in[i], -1);
    for (int i = 0; i < f->n_leaves; i++) {
        leaf_record *l = &f->leaf[i];
        l->data = copy_of(f->t, l->x->data, at_bytes(l->x));
        l->grad = copy_of(f->t, l->x->grad, at_bytes(l->x));
    }
    return at_ok(f->t);
}

static void restore_leaves(taped_function *f)
{
    for (int i = 0; i < f->n_leaves; i++) {
        leaf_record *l = &f->leaf[i];
        memcpy(l->x->data, l->data, at_bytes(l->x));
        l->x->grad = l->grad ? l->x->grad_memory : NULL;
        if (l->grad) memcpy(l->x->grad, l->grad, at_bytes(l->x));
    }
}

/* ------------------------------------------------------------------ forward and vjp ------------ */

static void set_leaves(taped_function *f, const double *x)
{
    for (int i = 0; i < f->n_leaves; i++)
        memcpy(f->leaf[i].x->data, x + f->leaf[i].first, at_bytes(f->leaf[i].x));
}

static void look_for_changes(taped_function *f, const double *x, const char *culprit)
{
    for (int i = 0; i < f->n_leaves && !f->changed; i++) {
        const leaf_record *l = &f->leaf[i];
        if (memcmp(l->x->data, x + l->first, at_bytes(l->x)) == 0) continue;
        f->changed = l;
        f->changed_by = culprit;
    }
}

static void forward_on_tape(const double *x, double *y, void *ctx)
{
    taped_function *f = ctx;
    set_leaves(f, x);
    if (!at_replay(f->t)) return;
    memcpy(y, f->y->data, at_bytes(f->y));
    look_for_changes(f, x, "forward");
}

static void backward_on_tape(const double *x, const double *dy, double *dx, void *ctx)
{
    taped_function *f = ctx;
    set_leaves(f, x);
    memcpy(f->dy->data, dy, at_bytes(f->dy));
    for (int i = 0; i < f->n_leaves; i++) f->leaf[i].x->grad = NULL;
    if (!at_replay(f->t) || !at_backward_from(f->t, f->y, f->dy)) return;
    for (int i = 0; i < f->n_leaves; i++) {
        const leaf_record *l = &f->leaf[i];
        for (ptrdiff_t n = at_count(l->x->shape), j = 0; j < n; j++)
            dx[l->first + j] = at_grad_element(l->x, j);
    }
    look_for_changes(f, x, "backward");
}

/* ------------------------------------------------------------------ rules of a tape ------------ */

static void place_in_leaf(at_gradcheck_report *r, const leaf_record *l, ptrdiff_t element)
{
    char name[32] = "a variable";
    if (l->input >= 0)
        snprintf(name, sizeof name, "input %d", l->input);
    else if (l->x->name)
        snprintf(name, sizeof name, "leaf");
    at_shape index = {l->x->shape.ndim, {0}};
    r->input = l->input;
    r->element = element;
    for (int d = index.ndim - 1; d >= 0; d--) {
        index.dim[d] = (int)(element % l->x->shape.dim[d]);
        element /= l->x->shape.dim[d];
    }
    snprintf(r->where, sizeof r->where, "%s %s at %s", name, at_text(l->x), at_shape_text(index));
}

/* From an element of the long x to an element of its leaf. */
static void place_in_x(at_gradcheck_report *r, const taped_function *f)
{
    const leaf_record *l = f->leaf;
    while (r->element >= l->first + at_count(l->x->shape)) l++;
    place_in_leaf(r, l, r->element - l->first);
}

static bool tape_rule_broken(at_gradcheck_report *r, const char *reason, double is, double should)
{
    snprintf(r->reason, sizeof r->reason, "%s", reason);
    r->verdict = ATTIC_WRONG;
    r->analytic = is;
    r->numeric = should;
    return true;
}

/* The first run was recorded, all others are replays: they must not differ. */
static bool replay_differs(taped_function *f, at_gradcheck_report *r)
{
    ptrdiff_t m = at_count(f->y->shape), k = 0;
    double *first = copy_of(f->t, f->y->data, at_bytes(f->y)), *y = f->y->data;
    if (!first || !at_replay(f->t)) return false;
    while (k < m && memcmp(first + k, y + k, sizeof *y) == 0) k++;
    if (k == m) return false;
    snprintf(r->where, sizeof r->where, "y[%td]", k);
    return tape_rule_broken(r, "a replay gives other values than the first run", y[k], first[k]);
}

/* g after one backward, g2 after a second one: g2 = 2 g, but for rounding. */
static bool gradients_do_not_add_up(taped_function *f, at_gradcheck_report *r)
{
    at_stream s = {r->seed, 0};
    double *dy = f->dy->data;
    for (ptrdiff_t m = at_count(f->y->shape), k = 0; k < m; k++)
        dy[k] = 0.5 + at_random_unit(s, (uint64_t)k);
    double *g = at_step_alloc(f->t, (size_t)f->n * sizeof *g);
    double largest = 0;
    for (int pass = 0; g && pass < 2; pass++) {
        if (!at_backward_from(f->t, f->y, f->dy)) return false;
        for (int i = 0; i < f->n_leaves; i++) {
            const leaf_record *l = &f->leaf[i];
            for (ptrdiff_t n = at_count(l->x->shape), j = 0; j < n; j++) {
                double now = at_grad_element(l->x, j), once = g[l->first + j];
                if (pass == 0 && isfinite(now)) largest = fmax(largest, fabs(now));
                if (pass == 0) g[l->first + j] = now;
                if (pass == 0 || !(fabs(now - 2 * once) > 1e-6 * largest)) continue;
                place_in_leaf(r, l, j);
                return tape_rule_broken(r, "a second backward does not add to the first", now,
                                        2 * once);
            }
        }
    }
    return false;
}

/* ------------------------------------------------------------------ the check ------------------ */

static at_gradcheck_report check_recorded(taped_function *f, at_gradcheck_options options)
{
    at_gradcheck_report r = {.seed = options.seed};
    if (replay_differs(f, &r)) return r;
    for (int i = 0; i < f->n_leaves; i++) f->leaf[i].x->grad = NULL;
    if (gradients_do_not_add_up(f, &r)) return r;

    double *x = at_step_alloc(f->t, (size_t)f->n * sizeof *x);
    if (!x) return r;
    for (int i = 0; i < f->n_leaves; i++)
        memcpy(x + f->leaf[i].first, f->leaf[i].data, at_bytes(f->leaf[i].x));
    r = at_gradcheck_fn(forward_on_tape, backward_on_tape, f->n, at_count(f->y->shape), x, f,
                        options);
    if (r.where[0] == 'x') place_in_x(&r, f);
    if (f->changed) {
        place_in_leaf(&r, f->changed, 0);
        snprintf(r.where, sizeof r.where, "%s", at_text(f->changed->x));
        tape_rule_broken(&r, f->changed_by, 0, 0);
        snprintf(r.reason, sizeof r.reason, "%s changes its input", f->changed_by);
    }
    return r;
}

/* f, with an empty tape before it */
static at_gradcheck_report check_alone(at_tape *t, at_function *function, at_tensor **in, int n,
                                       void *ctx, at_gradcheck_options options)
{
    at_gradcheck_report r = {.verdict = ATTIC_VACUOUS, .seed = options.seed};
    taped_function f = {.t = t, .y = function(t, in, ctx)};
    if (at_ok(t) && !f.y) at_fail(t, ATTIC_USER_ERROR, "gradcheck: the function returned NULL");
    if (!at_ok(t) || !collect_leaves(&f, in, n)) return r;

    if (f.y->dtype != t->real)
        snprintf(r.reason, sizeof r.reason, "the output is %s and has no gradient",
                 at_dtype_text(f.y->dtype));
    else if (!f.y->wants_grad)
        snprintf(r.reason, sizeof r.reason, "the output depends on nothing that wants a gradient");
    else if ((f.dy = at_const(t, f.y->shape, NULL)))
        r = check_recorded(&f, options);
    restore_leaves(&f);
    return r;
}

at_gradcheck_report at_gradcheck(at_tape *t, at_function *f, at_tensor **in, int n, void *ctx,
                                 at_gradcheck_options options)
{
    at_gradcheck_report r = {.seed = options.seed};
    if (at_ok(t) && t->real != ATTIC_F64)
        at_fail(t, ATTIC_USER_ERROR,
                "gradcheck: the tape is f32, whose 7 digits leave none for differences; check on "
                "an f64 tape (at_copy_params brings the parameters there)");
    if (at_ok(t)) {
        at_mark start = at_mark_here(t);
        at_node *first = t->first;
        bool anomaly = at_anomaly(t, false), keep = at_keep_grads(t, true);
        t->first = t->last = NULL;
        r = check_alone(t, f, in, n, ctx, options);
        t->first = first;
        at_rewind(t, start);
        at_anomaly(t, anomaly);
        at_keep_grads(t, keep);
    }
    if (!at_ok(t)) {
        r.verdict = ATTIC_NOT_RUN;
        snprintf(r.reason, sizeof r.reason, "%.*s", (int)sizeof r.reason - 1, at_error(t));
    }
    return r;
}

/* ------------------------------------------------------------------ in words ------------------- */

void at_gradcheck_print(const at_gradcheck_report *r, FILE *out)
{
    fprintf(out, "%s: %s\n", at_verdict_text(r->verdict), r->reason);
    if (r->checked == 0) {
        if (r->where[0])
            fprintf(out, "    at %s: %.17g, not %.17g\n", r->where, r->analytic, r->numeric);
        return;
    }
    fprintf(out, "    %td of %td comparisons agree", r->checked - r->failed, r->checked);
    if (isfinite(r->resolution))
        fprintf(out, ", and any error above %.1e would have shown", r->resolution);
    fprintf(out, "\n    worst: %s, off by %.1e\n", r->where, r->error);
    fprintf(out, "        backward says     %+.15e\n", r->analytic);
    fprintf(out, "        differences say   %+.15e  +- %.0e, with steps of %.1e\n", r->numeric,
            r->bound, r->step);
}
