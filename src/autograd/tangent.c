/* tangent.c -- tangents set and read, JVP and HVP; see tangent.h. */
#include "autograd/tangent.h"

#include <float.h>

#include "autograd/mirror.h"

#define LEAST_TANGENT 0x1p-422 /* 1e-127: from here on 2^-600 t is a normal number */

static bool is_held(double t)
{
    return t == 0 || (fabs(t) >= LEAST_TANGENT && fabs(t) <= AT_MOST_TANGENT);
}

/* ------------------------------------------------------------------ a tape of dual numbers ----- */

static bool is_dual(at_tape *t, const char *op)
{
    AT_REQUIRE(t, t->real == ATTIC_DUAL, "%s: the tape is %s, but must be dual", op,
               at_dtype_text(t->real));
    return true;
}

bool at_set_tangent(at_tensor *leaf, const double *v)
{
    if (!leaf || !is_dual(leaf->tape, "set_tangent")) return false;
    at_tape *t = leaf->tape;
    AT_INPUT(t, "set_tangent", leaf, ATTIC_REAL);
    const ptrdiff_t n = at_count(leaf->shape);
    for (ptrdiff_t i = 0; v && i < n; i++)
        AT_REQUIRE(t, is_held(v[i]),
                   "set_tangent: element %td of v, for %s, is %g, but must be 0 or 1e-127 to 1e38",
                   i, at_text(leaf), v[i]);
    at_written(leaf);
    for (ptrdiff_t i = 0; at_ok(t) && i < n; i++)
        *at_tangent_of(leaf->data, i) = v ? v[i] * AT_DUAL_UNIT : 0;
    return at_ok(t);
}

static at_tensor *tangents(at_tape *t, const char *op, const at_tensor *x, bool of_gradient)
{
    if (!is_dual(t, op)) return NULL;
    AT_INPUT(t, op, x, ATTIC_REAL);
    void *data = of_gradient ? x->grad : x->data;
    at_tensor *y = at_const(t, x->shape, NULL);
    for (ptrdiff_t n = y && data ? at_count(x->shape) : 0, i = 0; i < n; i++)
        ((double *)y->data)[2 * i] = *at_tangent_of(data, i) / AT_DUAL_UNIT;
    return y;
}

at_tensor *at_tangent(at_tape *t, at_tensor *x)
{
    return tangents(t, "tangent", x, false);
}

at_tensor *at_grad_tangent(at_tape *t, at_tensor *x)
{
    return tangents(t, "grad_tangent", x, true);
}

/* ------------------------------------------------------------------ a mirror ------------------- */

enum { BLOCK = 256 };

typedef struct {
    const char *op;
    at_tape *t;
    at_mirror m;
    double scale; /* a power of 2: the largest element of the directions, times this, is 1 to 2 */
} derivative;

static int block_size(const at_tensor *x, ptrdiff_t from)
{
    const ptrdiff_t left = at_count(x->shape) - from;
    return left < BLOCK ? (int)left : BLOCK;
}

static void *address_of(const at_tensor *x, ptrdiff_t i)
{
    return (char *)x->data + i * (ptrdiff_t)at_dtype_size(x->dtype);
}

/* Elements of x from `from` on, as doubles.  Returns how many. */
static int read_block(const at_tensor *x, ptrdiff_t from, double *block)
{
    const int n = block_size(x, from);
    at_convert(ATTIC_F64, block, x->dtype, address_of(x, from), n);
    return n;
}

/* What went wrong on the dual tape did so on t. */
static bool derivative_holds(const derivative *d)
{
    if (!d->m.dual || !at_ok(d->m.dual))
        at_fail(d->t, at_error_kind_of(d->m.dual), "%s: %s", d->op, at_error(d->m.dual));
    return at_ok(d->t);
}

/* Direction number i is finite; *largest becomes its largest element if that is larger. */
static bool check_direction(const derivative *d, int i, const at_tensor *v, double *largest)
{
    double block[BLOCK];
    for (ptrdiff_t n = at_count(v->shape), from = 0; from < n; from += BLOCK)
        for (int k = 0, m = read_block(v, from, block); k < m; k++) {
            const double size = fabs(block[k]);
            if (!isfinite(size))
                return at_fail(d->t, ATTIC_USER_ERROR, "%s: element %td of direction %d is %g",
                               d->op, from + k, i, block[k]);
            if (size > *largest) *largest = size;
        }
    return true;
}

static bool check_directions(derivative *d, at_tensor **x, at_tensor **v, int n)
{
    at_tape *t = d->t;
    double largest = 0;
    AT_REQUIRE(t, !at_left_out_by(ATTIC_DUAL),
               "%s: this library was compiled with %s, without dual numbers", d->op,
               at_left_out_by(ATTIC_DUAL));
    AT_REQUIRE(t, t->real != ATTIC_DUAL,
               "%s: the tape is dual: its tangents are set and read one by one (tangent.h)", d->op);
    AT_REQUIRE(t, n <= 0 || (x && v), "%s: the list of %s is NULL", d->op,
               x ? "directions" : "tensors");
    for (int i = 0; i < n; i++) {
        if (!at_check_input(t, d->op, "x", x[i], ATTIC_REAL)) return false;
        if (!v[i]) continue;
        if (!at_check_input(t, d->op, "v", v[i], ATTIC_REAL)) return false;
        AT_REQUIRE(t, at_same_shape(x[i]->shape, v[i]->shape),
                   "%s: direction %d is %s, but moves %s", d->op, i, at_text(v[i]), at_text(x[i]));
        if (!check_direction(d, i, v[i], &largest)) return false;
    }
    d->scale = largest > 0 ? ldexp(1, -ilogb(fmax(largest, DBL_MIN))) : 1; /* finite, and 1 / it */
    return true;
}

/* What x moves along; 0 if y does not depend on it.  Of an x that is listed twice they add up. */
static bool set_direction(const derivative *d, int i, at_tensor *x, const at_tensor *v)
{
    double block[BLOCK];
    for (ptrdiff_t n = at_count(x->shape), from = 0; from < n; from += BLOCK)
        for (int k = 0, m = read_block(v, from, block); k < m; k++) {
            const double size = block[k] * d->scale;
            if (!is_held(size))
                return at_fail(d->t, ATTIC_USER_ERROR,
                               "%s: element %td of direction %d is %g, less than 1e-127 of the "
                               "largest",
                               d->op, from + k, i, block[k]);
            *at_tangent_of(x->twin->data, from + k) += size * AT_DUAL_UNIT;
        }
    return true;
}

/* Can y, the result for x, hold these elements?  Where d->m.y, which is the loss or x itself, is
 * not finite, they need not be finite. */
static bool result_holds(const derivative *d, const at_tensor *x, const at_tensor *y,
                         ptrdiff_t from, int n, const double *value)
{
    const at_tensor *of = d->m.y;
    const double most = y->dtype == ATTIC_F32 ? (double)FLT_MAX : DBL_MAX;
    int large = 0;
    for (int k = 0; k < n; k++) large += !(fabs(value[k]) <= most);
    for (int k = 0; large && k < n; k++) {
        const ptrdiff_t i = from + k;
        const bool finite = isfinite(value[k]) || !isfinite(at_element(of, of == x ? i : 0));
        AT_REQUIRE(d->t, finite && at_can_hold(y->dtype, value[k]),
                   "%s: element %td of the result, for %s, is %g", d->op, i, at_text(x),
                   isnan(value[k]) ? (double)NAN : value[k]); /* and not -nan */
    }
    return true;
}

/* The tangents at `data`, which belong to x's twin, as a constant beside x. */
static at_tensor *bring_back(const derivative *d, const at_tensor *x, void *data)
{
    const double back = 1 / d->scale;
    at_tensor *y = at_const(d->t, x->shape, NULL);
    double block[BLOCK];
    for (ptrdiff_t n = y && data ? at_count(x->shape) : 0, from = 0; from < n; from += BLOCK) {
        const int m = block_size(y, from);
        for (int k = 0; k < m; k++) block[k] = *at_tangent_of(data, from + k) / AT_DUAL_UNIT * back;
        if (!result_holds(d, x, y, from, m, block)) return NULL;
        at_convert(y->dtype, address_of(y, from), ATTIC_F64, block, m);
    }
    return y;
}

/* Runs all that y was computed from since `start` with dual numbers. */
static bool run_mirror(derivative *d, at_tensor *y, uint64_t start, at_tensor **x, at_tensor **v,
                       int n)
{
    bool good = at_mirror_open(&d->m, y, start);
    for (int i = 0; good && i < n; i++)
        if (v[i] && x[i]->twin) good = set_direction(d, i, x[i], v[i]);
    return good && at_mirror_run(&d->m);
}

/* The list of results may be the list of arguments, so results are written last. */
static at_tensor *run_jvp(derivative *d, at_function *f, at_tensor **in, at_tensor **v, int n,
                          void *ctx, at_tensor **y)
{
    at_tensor *Jv = NULL;
    if (!check_directions(d, in, v, n)) return NULL;
    at_mark_here(d->t); /* what was made before is a leaf */
    const uint64_t start = d->t->marks_made;
    *y = f(d->t, in, ctx);
    if (!*y) return at_fail(d->t, ATTIC_USER_ERROR, "jvp: the function returned NULL");
    AT_INPUT(d->t, "jvp", *y, ATTIC_REAL);
    run_mirror(d, *y, start, in, v, n);
    if (derivative_holds(d)) Jv = bring_back(d, *y, (*y)->twin->data);
    at_mirror_close(&d->m);
    return Jv;
}

at_tensor *at_jvp(at_tape *t, at_function *f, at_tensor **in, at_tensor **v, int n, void *ctx,
                  at_tensor **Jv)
{
    derivative d = {.op = "jvp", .t = t};
    at_tensor *y = NULL, *tangent = NULL;
    at_profile_line *outer = at_profile_enter(t, "jvp");
    if (f && Jv)
        tangent = run_jvp(&d, f, in, v, n, ctx, &y);
    else
        at_fail(t, ATTIC_USER_ERROR, "jvp: %s is NULL", f ? "Jv" : "the function");
    if (Jv) *Jv = tangent;
    at_profile_leave(t, outer);
    return tangent ? y : NULL;
}

static bool run_hvp(derivative *d, at_tensor *loss, at_tensor **x, at_tensor **v, int n,
                    at_tensor **wrt, int m, at_tensor **Hv)
{
    at_tape *t = d->t;
    AT_REQUIRE(t, m <= 0 || (wrt && Hv), "hvp: %s is NULL", wrt ? "Hv" : "wrt");
    AT_INPUT(t, "hvp", loss, ATTIC_REAL);
    AT_REQUIRE(t, at_count(loss->shape) == 1, "hvp: the loss is %s, but must have one element",
               at_text(loss));
    if (!check_directions(d, x, v, n)) return false;
    for (int j = 0; j < m; j++) {
        if (!at_check_input(t, "hvp", "wrt", wrt[j], ATTIC_REAL)) return false;
        AT_REQUIRE(t, wrt[j]->wants_grad && !wrt[j]->node,
                   "hvp: wrt[%d], %s, must be a leaf that wants a gradient", j, at_text(wrt[j]));
    }
    AT_REQUIRE(t, loss->wants_grad, "hvp: the loss depends on nothing that wants a gradient");
    for (int i = 0; i < n; i++)
        AT_REQUIRE(t, !x[i]->node, "hvp: x[%d], %s, was computed by %s, but must be a leaf", i,
                   at_text(x[i]), x[i]->node->op->name);
    if (run_mirror(d, loss, 0, x, v, n)) at_backward(d->m.dual, loss->twin);
    for (int j = 0; derivative_holds(d) && j < m; j++)
        Hv[j] = bring_back(d, wrt[j], wrt[j]->twin ? wrt[j]->twin->grad : NULL);
    at_mirror_close(&d->m);
    return at_ok(t);
}

bool at_hvp(at_tape *t, at_tensor *loss, at_tensor **x, at_tensor **v, int n, at_tensor **wrt,
            int m, at_tensor **Hv)
{
    derivative d = {.op = "hvp", .t = t};
    at_profile_line *outer = at_profile_enter(t, "hvp");
    const bool good = run_hvp(&d, loss, x, v, n, wrt, m, Hv);
    at_profile_leave(t, outer);
    for (int j = 0; !good && Hv && j < m; j++) Hv[j] = NULL;
    return good;
}
