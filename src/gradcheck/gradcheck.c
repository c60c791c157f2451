/* gradcheck.c -- what a derivative is, and how to tell a wrong one from a blurred one.
 *
 * The derivative of a scalar L that depends on a scalar x is what one sees by stepping aside:
 *
 *     L'(x) = lim (L(x + h) - L(x)) / h       for h -> 0
 *
 * A computer cannot take the limit.  With a finite h there are two errors, and they pull h in
 * opposite directions.  By Taylor, L(x + h) = L + h L' + h^2/2 L'' + ..., so the quotient is off by
 * h/2 L'': TRUNCATION, smaller for small h.  And every L is computed only up to some d, about 1e-16
 * of its size, so the quotient is off by up to 2d/h: ROUNDING, smaller for large h.
 *
 *     error
 *       |\                       /        Best is a step in the middle.  Better is to combine more
 *       | \  rounding           /         points, so that the first terms of Taylor's series
 *       |   \  ~ 1/h           /          cancel: then a larger h will do, and that divides the
 *       |     \               /           rounding.
 *       |       `.           /  truncation
 *       |          `-.___.-'    ~ h, h^2, h^4
 *       +--------------------------- h    (from here on, L(h) is short for L(x + h))
 *
 *     formula                                      truncation    rounding   best h    error
 *     (L(h) - L(0)) / h                            h/2 L''       2d/h       2e-8      2e-8
 *     (L(h) - L(-h)) / 2h                          h^2/6 L'''    d/h        7e-6      2e-11
 *     (8 (L(h)-L(-h)) - (L(2h)-L(-2h))) / 12h      h^4/30 L^(5)  3d/2h      1e-3      2e-13
 *
 * The last one takes five points, of which the middle one drops out.  It is what we use: n.  Its
 * best h: the sum h^4/30 L^(5) + 3d/2h is least where h^5 = 45/4 d / L^(5), and with d = 1.1e-16
 * and derivatives about as large as L that is h = 2^-10.  An x of the size s = max(1, |x|), rounded
 * up to a power of two, is given h = 2^-10 s: a power of two as well, so that x + h is hardly
 * rounded.  How large d is, and thus how far n may be off, is measured: differences.c.
 *
 * MANY OUTPUTS.  A gradient belongs to a scalar, so y is made one: L = sum_k u_k y_k.  Then
 *
 *     dL/dx_i = sum_k u_k dy_k/dx_i
 *
 * is exactly what backward computes from the upstream gradient (cotangent) dy = u: a.  u must be
 * random: with u = 1 the rows of a softmax sum to the constant 1, the true gradient is 0, and a
 * backward that forgot everything would pass.  Here u_k = +-(0.5 .. 1.5), never near 0, where
 * errors would hide.
 *
 * WHEN a AND n DISAGREE, is a wrong, or can n not be trusted?  Then many steps are tried, and the
 * best of them is compared with a again; at last, the rounding of a is measured, too.  If even the
 * best is known to less than 4 digits, rounding dominates.
 *
 * KINKS have two sides.  Two one-sided formulas take steps from x to the right and to the left,
 *
 *     (-3 L(0) + 4 L(h) - L(2h)) / 2h            (3 L(0) - 4 L(-h) + L(-2h)) / 2h
 *
 * and where L is smooth they meet like h^2.  If they stay apart while h shrinks, x is on a kink.
 * There is no derivative then, but a sensible a still is between the two sides (it is a
 * subgradient); outside, it is wrong.  A kink at some distance does not matter: all steps shorter
 * than the distance are clean.
 *
 * FLOAT has 7 digits in place of 16, and all of this needs other steps and other noise.  How such a
 * function is noticed, and what is done then: gradcheck_float.c.
 *
 * What a check cannot see: errors smaller than its resolution, branches that this x does not take,
 * and a forward that is wrong itself, for it is differentiated as it is.
 *
 * Nothing here knows of tensors.  Where a and all the forwards come from when y is made by a chain
 * of ops, and who remembers that chain, is next: tape.h. */
#include "gradcheck/gradcheck.h"
#include "gradcheck/checker.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/rng.h"
#include "system/system.h"
#include "tensor/arena.h"
#include "tensor/decimal.h"

static const at_precision double_precision = {1e-7, 1e-4, 1e-3, 1e-6, -5};
#define EXACT_TOLERANCE 1e-10

enum { DIRECTIONS = 4, ON_UNKNOWN = 2 }; /* beside the elements */

static double *guarded(double **memory, ptrdiff_t n)
{
    double *v = *memory + ATTIC_GUARD;
    at_guard(v, n);
    *memory = v + n + ATTIC_GUARD;
    return v;
}

/* Memory for all vectors of c, with zeros in them. */
static bool checker_has_memory(at_checker *c, at_arena *a)
{
    double **of_n[] = {&c->moved_x, &c->x, &c->v, &c->a, &c->again, &c->ra};
    double **of_m[] = {&c->u, &c->u_kept,  &c->w,     &c->y0,  &c->forward0,
                       &c->r, &c->largest, &c->moves, &c->jump};
    ptrdiff_t n = c->n, m = c->m, most = n > m ? n : m;
    if (most > PTRDIFF_MAX / 256) return false;
    size_t bytes = (size_t)(6 * n + 9 * m + 4 * most + 19 * 2 * ATTIC_GUARD) * sizeof(double);
    double *p = at_arena_alloc(a, bytes);
    const size_t probes = (size_t)(c->elements + c->directions + ON_UNKNOWN);
    c->probe = at_arena_alloc(a, probes * sizeof *c->probe);
    if (!p || !c->probe) return false;
    memset(p, 0, bytes);
    for (int i = 0; i < 6; i++) *of_n[i] = guarded(&p, n);
    for (int i = 0; i < 9; i++) *of_m[i] = guarded(&p, m);
    for (int i = 0; i < 4; i++) c->y[i] = guarded(&p, most);
    if (!c->options.twin) c->forward0 = c->y0;
    return true;
}

static void draw_upstream(at_checker *c)
{
    at_stream s = {c->options.seed, 0};
    for (ptrdiff_t k = 0; k < c->m; k++) {
        double unit = 2 * at_random_unit(s, (uint64_t)k) - 1;
        c->u[k] = c->u_kept[k] = unit < 0 ? unit - 0.5 : unit + 0.5;
    }
}

/* ------------------------------------------------------------------ the rules ------------------ */

static void fill_with_nan(double *p, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) p[i] = (double)NAN;
}

/* Is there a bit that is not as it should be? */
static bool rule_breaks(at_checker *c, const char *reason, const char *vector, ptrdiff_t n,
                        const double *is, const double *should)
{
    ptrdiff_t i = 0;
    while (i < n && at_same_bits(is[i], should[i])) i++;
    if (i == n) return false;
    at_name_element(c, vector, i);
    return at_break_rule(&c->report, reason, is[i], should[i]);
}

static bool breaks_forward_rules(at_checker *c)
{
    fill_with_nan(c->forward0, c->m);
    at_call_forward(c, c->forward0);
    return rule_breaks(c, "forward changes its input", "x", c->n, c->x, c->x0);
}

static bool breaks_backward_rules(at_checker *c)
{
    if (c->n) memcpy(c->x, c->x0, (size_t)c->n * sizeof *c->x);
    fill_with_nan(c->a, c->n);
    at_call_backward(c, c->a);
    return rule_breaks(c, "backward changes its input", "x", c->n, c->x, c->x0) ||
           rule_breaks(c, "backward changes its upstream gradient", "dy", c->m, c->u, c->u_kept);
}

static bool breaks_rule_of_zero(at_checker *c)
{
    memset(c->u, 0, (size_t)c->m * sizeof *c->u);
    fill_with_nan(c->again, c->n);
    at_call_backward(c, c->again);
    memcpy(c->u, c->u_kept, (size_t)c->m * sizeof *c->u);
    ptrdiff_t i = 0;
    while (i < c->n && (c->again[i] == 0 || !isfinite(c->a[i]))) i++; /* 0 a may be NaN */
    if (i == c->n) return false;
    at_name_element(c, "x", i);
    return at_break_rule(&c->report, "an upstream gradient of 0 gives a gradient", c->again[i], 0);
}

/* ------------------------------------------------------------------ the check ------------------ */

static at_precision precision_of(int bits, bool has_twin)
{
    static const at_precision of_float = {1e-4, 1e-2, 1e-1, 1e-3, -1},
                              beside_twin = {1e-5, 1e-2, 1e-1, 1e-3, -5};
    at_precision p = has_twin ? beside_twin : of_float;
    if (bits == 24) return p; /* else a itself is known to some 2^-bits */
    p.tolerance = ldexp(4, -bits);
    p.coarse = bits < 11 ? 0.2 : 0.05;
    p.floor_share = 0.1;
    p.usual_noise = ldexp(16, -bits);
    return p;
}

/* x0 and u are rounded, to floats with a few bits to spare, so that x0 + h v is one as well. */
void at_round_to(at_checker *c, int bits)
{
    c->bits = c->report.bits = bits;
    c->is_float = !c->options.twin;
    c->precision = precision_of(bits, c->options.twin != NULL);
    c->report.real = ATTIC_F32;
    for (ptrdiff_t i = 0; i < c->n; i++) c->x[i] = c->moved_x[i] = at_short(c->x0[i], bits);
    for (ptrdiff_t k = 0; k < c->m; k++) c->u[k] = c->u_kept[k] = at_short(c->u[k], bits);
    c->x0 = c->moved_x;
    at_call_forward(c, c->forward0);
}

/* What does forward compute in?  x0 and u are rounded to it. */
static void find_bits(at_checker *c)
{
    const at_dtype real = c->options.order == 2 ? ATTIC_F64 : c->options.real;
    if (real == ATTIC_F64 || (real != ATTIC_F32 && !at_computes_in_float(c))) return;
    at_round_to(c, 24);
    const int bits = at_bits_of_outputs(c, at_call_forward, 11);
    if (bits <= 11) at_round_to(c, bits);
}

/* ------------------------------------------------------------------ the comparisons ------------ */

/* The largest |n| of these probes. */
static double largest_of(const at_checker *c, ptrdiff_t from, ptrdiff_t to)
{
    double largest = 0;
    for (ptrdiff_t p = from; p < to; p++)
        if (isfinite(c->probe[p].n)) largest = fmax(largest, fabs(c->probe[p].n));
    return largest;
}

/* a and n of these probes, by the best of many steps where one is not enough; their verdicts. */
static void compare_probes(at_checker *c, ptrdiff_t from, ptrdiff_t to)
{
    double *largest = from < c->elements ? &c->max_n : &c->max_along;
    for (ptrdiff_t p = from; p < to; p++) at_measure_probe(c, p);
    for (int round = 0; round < 2; round++) { /* what is not clear may have seemed the largest */
        *largest = largest_of(c, from < c->elements ? from : c->elements, to);
        for (ptrdiff_t p = from; p < to; p++)
            if (!c->probe[p].swept && !at_is_clear(c, &c->probe[p]))
                at_sweep_steps(c, p, &c->probe[p]);
    }
    for (ptrdiff_t p = from; p < to; p++)
        if (c->probe[p].swept) at_judge(c, p, &c->probe[p]);
}

/* Elements, directions, and directions of what is unknown, if that is little. */
static void compare_all(at_checker *c)
{
    ptrdiff_t unknown = 0;
    c->max_n = c->max_along = 0;
    c->on_unknown = c->probes = c->elements + c->directions;
    compare_probes(c, 0, c->elements);
    compare_probes(c, c->elements, c->probes);
    for (ptrdiff_t p = 0; p < c->elements; p++) unknown += c->probe[p].verdict != ATTIC_PASS;
    if (unknown == 0 || unknown * 100 > c->elements) return;
    c->probes += ON_UNKNOWN;
    compare_probes(c, c->on_unknown, c->probes);
}

static void measure_size_of_loss(at_checker *c)
{
    c->y_size = 0;
    for (ptrdiff_t k = 0; k < c->m; k++)
        if (isfinite(c->y0[k])) c->y_size += fabs(c->u[k] * c->y0[k]);
    c->hidden_noise = 64 * DBL_EPSILON * (c->size + (c->options.order == 2 ? c->y_size : 0));
}

static bool has_nan(at_checker *c)
{
    ptrdiff_t k = 0;
    while (k < c->m && !isnan(c->forward0[k])) k++;
    if (k < c->m)
        snprintf(c->report.reason, sizeof c->report.reason,
                 "y[%td] = f(x) is not a number at this x", k);
    return k < c->m;
}

/* Do the named parts of x make up x? */
static bool has_good_parts(at_checker *c)
{
    at_gradcheck_report *r = &c->report;
    ptrdiff_t left = c->n;
    const at_gradcheck_part *part = c->options.parts;
    if (!part) return true;
    for (; part->name && part->count >= 0 && part->count <= left; part++) left -= part->count;
    if (part->name)
        snprintf(r->reason, sizeof r->reason,
                 "part \"%.40s\" of x has %td elements, but x [%td] has only %td left for it",
                 part->name, part->count, c->n, left);
    else if (left)
        snprintf(r->reason, sizeof r->reason,
                 "the parts of x have %td elements together, x has %td", c->n - left, c->n);
    return !part->name && !left;
}

static bool is_decided(const at_gradcheck_report *r)
{
    return r->verdict == ATTIC_PASS || r->verdict == ATTIC_WRONG || r->verdict == ATTIC_RACE;
}

/* Once more, with what is near a kink moved away from it.  Where that leads out of the domain, the
 * report stays as it is.  False: there is nothing left to do. */
static bool check_beside_kinks(at_checker *c, int round)
{
    if (!at_move_from_kinks(c, round)) return false;
    const at_gradcheck_report before = c->report;
    c->x0 = c->moved_x;
    memcpy(c->x, c->x0, (size_t)c->n * sizeof *c->x);
    if (breaks_forward_rules(c)) return false;
    if (has_nan(c)) {
        c->report = before;
        return false;
    }
    if (c->options.twin) at_call_twin(c, c->y0);
    if (breaks_backward_rules(c)) return false;
    measure_size_of_loss(c);
    memset(c->r, 0, (size_t)c->m * sizeof *c->r);
    memset(c->ra, 0, (size_t)c->n * sizeof *c->ra);
    c->backward_measured = false;
    at_measure_noise(c);
    compare_all(c);
    if (at_has_changed(c) || at_writes_outside(c)) return false;
    at_conclude(c);
    return true;
}

static void run_check(at_checker *c)
{
    if (!has_good_parts(c)) return;
    if (c->n) memcpy(c->x, c->x0, (size_t)c->n * sizeof *c->x);
    draw_upstream(c);
    if (breaks_forward_rules(c) || at_writes_outside(c) || at_breaks_rules_of_writing(c, false) ||
        has_nan(c))
        return;
    find_bits(c);
    if (has_nan(c)) return;
    if (at_forward_races(c) || (c->options.twin && at_twin_differs(c))) return;
    measure_size_of_loss(c);
    c->exact_tolerance = c->options.tolerance > 0 ? c->options.tolerance : EXACT_TOLERANCE;
    if (!(c->options.tolerance > 0)) c->options.tolerance = c->precision.tolerance;
    if (breaks_backward_rules(c) || at_writes_outside(c) || at_breaks_rules_of_writing(c, true) ||
        at_backward_races(c) || breaks_rule_of_zero(c))
        return;
    at_measure_noise(c);
    compare_all(c);
    if (at_has_changed(c) || at_writes_outside(c)) return;
    at_conclude(c);
    for (int round = 0; round < 3 && c->report.unknown && !is_decided(&c->report); round++)
        if (!check_beside_kinks(c, round)) break;
    if (c->report.checked) at_tell_elements(c);
}

at_gradcheck_report at_gradcheck_fn(at_forward_fn *forward, at_vjp_fn *vjp, ptrdiff_t n,
                                    ptrdiff_t m, const double *x, void *ctx,
                                    at_gradcheck_options options)
{
    at_gradcheck_report r = {.seed = options.seed, .order = options.order};
    if (options.order == 0 || options.order == 1)
        return at_gradcheck_exact(forward, vjp, NULL, n, m, x, 0, ctx, options);
    snprintf(r.reason, sizeof r.reason, "order is %d, but must be 1: 2 is for at_gradcheck alone",
             options.order);
    return r;
}

at_gradcheck_report at_gradcheck_exact(at_forward_fn *forward, at_vjp_fn *vjp, at_exact_fn *exact,
                                       ptrdiff_t n, ptrdiff_t m, const double *x, double size,
                                       void *ctx, at_gradcheck_options options)
{
    at_checker c = {forward,
                    vjp,
                    exact,
                    ctx,
                    n,
                    m,
                    .options = options,
                    .x0 = x,
                    .size = size,
                    .y_noise = options.order == 2 ? DBL_EPSILON * size : 0};
    at_gradcheck_report *r = &c.report;
    r->seed = options.seed;
    r->order = options.order;
    if (n < 0 || m < 0)
        snprintf(r->reason, sizeof r->reason, "n = %td and m = %td can't be negative", n, m);
    else if (options.runs < 0 || options.runs > ATTIC_MOST_RUNS)
        snprintf(r->reason, sizeof r->reason, "runs is %d, but must be 0 to %d", options.runs,
                 ATTIC_MOST_RUNS);
    else if (!forward || !vjp || (!x && n > 0))
        snprintf(r->reason, sizeof r->reason, "forward, vjp or x is NULL");
    if (r->reason[0]) return *r;

    at_arena memory = {0};
    r->real = ATTIC_F64;
    c.bits = r->bits = 53;
    c.precision = double_precision;
    const bool empty = n == 0 || m == 0;
    c.elements = empty || options.directions > 0 ? 0 : n;
    c.directions = options.directions > 0 ? options.directions : n > 1 ? DIRECTIONS : 0;
    if (empty) c.directions = 0;
    c.memory = &memory;
    if (checker_has_memory(&c, &memory))
        run_check(&c);
    else
        snprintf(r->reason, sizeof r->reason, "out of memory");
    at_arena_free(&memory);
    return *r;
}
