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
static const at_precision float_precision = {1e-4, 1e-2, 1e-2, 1e-3, -1};

/* Memory for all vectors of c, with zeros in them. */
static bool checker_has_memory(at_checker *c, at_arena *a)
{
    double **of_n[] = {&c->short_x, &c->x, &c->v, &c->a, &c->again, &c->ra};
    double **of_m[] = {&c->u, &c->u_kept, &c->w, &c->y0, &c->r, &c->largest, &c->moves};
    ptrdiff_t n = c->n, m = c->m, most = n > m ? n : m;
    if (most > PTRDIFF_MAX / 256) return false;
    size_t bytes = (size_t)(6 * n + 7 * m + 4 * most) * sizeof(double);
    double *p = at_arena_alloc(a, bytes);
    c->probe = at_arena_alloc(a, (size_t)c->probes * sizeof *c->probe);
    if (!p || !c->probe) return false;
    memset(p, 0, bytes);
    for (int i = 0; i < 6; i++, p += n) *of_n[i] = p;
    for (int i = 0; i < 7; i++, p += m) *of_m[i] = p;
    for (int i = 0; i < 4; i++, p += most) c->y[i] = p;
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

void at_name_element(at_checker *c, const char *vector, ptrdiff_t i)
{
    at_gradcheck_report *r = &c->report;
    const at_gradcheck_part *part = vector[0] == 'x' ? c->options.parts : NULL;
    r->element = i;
    snprintf(r->where, sizeof r->where, "%s[%td]", vector, i);
    for (; part && part->name && i >= part->count; part++) i -= part->count;
    if (part) snprintf(r->where, sizeof r->where, "\"%.80s\" at [%td]", part->name, i);
}

bool at_break_rule(at_gradcheck_report *r, const char *reason, double is, double should)
{
    r->verdict = ATTIC_WRONG;
    snprintf(r->reason, sizeof r->reason, "%s", reason);
    r->analytic = is;
    r->numeric = should;
    return true;
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
    fill_with_nan(c->y0, c->m);
    c->forward(c->x, c->y0, c->ctx);
    return rule_breaks(c, "forward changes its input", "x", c->n, c->x, c->x0);
}

static bool breaks_backward_rules(at_checker *c)
{
    if (c->n) memcpy(c->x, c->x0, (size_t)c->n * sizeof *c->x);
    fill_with_nan(c->a, c->n);
    c->vjp(c->x, c->u, c->a, c->ctx);
    return rule_breaks(c, "backward changes its input", "x", c->n, c->x, c->x0) ||
           rule_breaks(c, "backward changes its upstream gradient", "dy", c->m, c->u, c->u_kept);
}

static bool breaks_rule_of_zero(at_checker *c)
{
    memset(c->u, 0, (size_t)c->m * sizeof *c->u);
    fill_with_nan(c->again, c->n);
    c->vjp(c->x, c->u, c->again, c->ctx);
    memcpy(c->u, c->u_kept, (size_t)c->m * sizeof *c->u);
    ptrdiff_t i = 0;
    while (i < c->n && (c->again[i] == 0 || !isfinite(c->a[i]))) i++; /* 0 a may be NaN */
    if (i == c->n) return false;
    at_name_element(c, "x", i);
    return at_break_rule(&c->report, "an upstream gradient of 0 gives a gradient", c->again[i], 0);
}

/* ------------------------------------------------------------------ one comparison ------------- */

static double scale_beside(const at_checker *c, const at_probe *f, double other)
{
    return fmax(fmax(fabs(f->a), fabs(other)), c->precision.floor_share * c->max_n);
}

static double scale_of(const at_checker *c, const at_probe *f)
{
    return scale_beside(c, f, f->n);
}

static double tolerance_of(const at_checker *c, const at_probe *f)
{
    return c->options.tolerance * scale_of(c, f);
}

static double noise_of_a(const at_checker *c, const at_probe *f)
{
    return f->a_noise + c->hidden_noise / f->unit;
}

/* |a - other| / scale; infinite where one of them is not finite. */
static double error_beside(const at_checker *c, const at_probe *f, double other)
{
    if (!isfinite(f->a) || !isfinite(other)) return (double)INFINITY;
    return f->a == other ? 0 : fabs(f->a - other) / scale_beside(c, f, other);
}

/* An error of just the bound may be hidden by another. */
static double resolution_of(const at_checker *c, const at_probe *f)
{
    double scale = scale_of(c, f), bound = f->bound + noise_of_a(c, f);
    bool none = isnan(f->e) || c->options.order == 2; /* e of order 2 is of the code of a */
    double exact = none ? (double)INFINITY : c->exact_tolerance + 2 * f->e_bound / scale;
    if (!(scale > 0) || !isfinite(bound)) return scale > 0 ? exact : (double)INFINITY;
    return fmin(exact, c->options.tolerance + (c->is_float ? 2 : 1) * bound / scale);
}

static bool probe_agrees(const at_checker *c, const at_probe *f)
{
    return isfinite(f->a) && fabs(f->a - f->n) <= tolerance_of(c, f) + f->bound + noise_of_a(c, f);
}

/* Is there an e, and is a that? */
static bool probe_is_exact(const at_checker *c, const at_probe *f)
{
    return fabs(f->a - f->e) <=
           c->exact_tolerance * scale_beside(c, f, f->e) + f->e_bound + noise_of_a(c, f);
}

/* Is n known to 4 digits, in float to 2?  (Where all is exactly 0 there is nothing to know.) */
static bool probe_is_resolved(const at_checker *c, const at_probe *f)
{
    return f->bound + noise_of_a(c, f) <= c->precision.coarse * scale_of(c, f);
}

/* Is a more than its own rounding? */
static bool is_quiet(const at_checker *c, const at_probe *f)
{
    return f->a_noise <= c->precision.coarse * scale_of(c, f);
}

static void judge(at_checker *c, at_probe *f)
{
    double slack = 0.01 * f->s.jump; /* a subgradient is between the two sides */
    bool between = isnan(f->n) || (f->a >= f->s.low - slack && f->a <= f->s.high + slack);
    if (f->at_kink)
        f->verdict = between ? ATTIC_NON_SMOOTH : ATTIC_WRONG;
    else if (!probe_agrees(c, f) || !(isnan(f->e) || probe_is_exact(c, f)))
        f->verdict = ATTIC_WRONG;
    else
        f->verdict = probe_is_resolved(c, f) || (probe_is_exact(c, f) && is_quiet(c, f))
                         ? ATTIC_PASS
                         : ATTIC_NOISE_LIMITED;
}

/* The error of n by five points is about the square of that by three, which is known.  A mistake in
 * a could hide behind a larger one, where e does not see it. */
static bool hides_little(const at_checker *c, const at_probe *f)
{
    const double much = 0.3 * sqrt(c->options.tolerance) * scale_of(c, f);
    return fabs(f->s.n - f->s.three) <= much || (probe_is_exact(c, f) && c->options.order != 2);
}

/* One step is enough, unless a and n disagree, or n is not known well, or its two sides differ. */
static void compare_all(at_checker *c)
{
    for (ptrdiff_t p = 0; p < c->probes; p++) {
        at_measure_probe(c, p);
        if (isfinite(c->probe[p].n)) c->max_n = fmax(c->max_n, fabs(c->probe[p].n));
    }
    for (ptrdiff_t p = 0; p < c->probes; p++) {
        at_probe *f = &c->probe[p];
        bool smooth = f->s.jump <= 0.01 * scale_of(c, f);
        bool exact = isnan(f->e) || probe_is_exact(c, f);
        bool clear =
            probe_agrees(c, f) && probe_is_resolved(c, f) && smooth && exact && hides_little(c, f);
        if (!f->swept && !clear) at_sweep_steps(c, p, f);
        if (f->swept) judge(c, f);
        if (f->verdict != ATTIC_WRONG) continue;
        at_measure_noise_of_a(c, p, f);
        judge(c, f);
    }
}

/* ------------------------------------------------------------------ the verdict ---------------- */

/* Is a = factor n throughout?  A wrong sign and a forgotten 2 look like that. */
static bool has_common_factor(const at_checker *c, double *factor)
{
    double low = (double)INFINITY, high = -(double)INFINITY;
    for (ptrdiff_t p = 0; p < c->probes; p++) {
        const at_probe *f = &c->probe[p];
        if (fabs(f->n) < 0.01 * c->max_n) continue;
        if (!isfinite(f->a) || !isfinite(f->n)) return false;
        low = fmin(low, f->a / f->n);
        high = fmax(high, f->a / f->n);
    }
    *factor = (low + high) / 2;
    return high - low <= 0.01 * fabs(*factor - 1);
}

static void write_reason(at_checker *c)
{
    static const char *const usual[] = {
        [ATTIC_PASS] = "backward is the derivative of forward",
        [ATTIC_WRONG] = "backward is not the derivative of forward",
        [ATTIC_NOISE_LIMITED] = "rounding errors of forward drown the differences at every step",
        [ATTIC_NON_SMOOTH] = "the derivatives from both sides do not meet: a kink or a jump",
        [ATTIC_VACUOUS] = "every derivative is 0 here: a missing backward would pass too"};
    at_gradcheck_report *r = &c->report;
    const char *reason = usual[r->verdict];
    double factor;
    if (c->options.order == 2 && r->verdict == ATTIC_PASS)
        reason = "H w is the derivative of backward";
    if (c->options.order == 2 && r->verdict == ATTIC_WRONG)
        reason = "H w is not the derivative of backward";
    if (c->probes == 0) reason = "there is no element to check";
    snprintf(r->reason, sizeof r->reason, "%s", reason);
    if (r->verdict == ATTIC_WRONG && r->failed > 1 && has_common_factor(c, &factor))
        snprintf(r->reason, sizeof r->reason, "%s, but %s times it everywhere", reason,
                 at_short_text(factor + 0.0, 8));
}

static void report_worst(at_checker *c, ptrdiff_t p)
{
    at_gradcheck_report *r = &c->report;
    at_probe *f = &c->probe[p];
    bool along = c->options.directions > 0;
    if (!f->swept) at_refine_probe(c, p, f, tolerance_of(c, f));
    at_name_element(c, "x", p);
    if (along) snprintf(r->where, sizeof r->where, "direction %td", p);
    r->input = along ? -1 : 0;
    r->analytic = f->a;
    r->exact = f->e;
    r->numeric = f->n;
    r->bound = f->bound;
    r->step = f->s.h;
}

/* Do a and n show no more than rounding, of the usual size, and does e agree? */
static bool probe_is_zero(const at_checker *c, const at_probe *f)
{
    bool usual = f->bound * f->unit <= c->precision.usual_noise * c->y_size;
    return usual && fabs(f->n) <= f->bound && fabs(f->a) <= f->bound + noise_of_a(c, f) &&
           (isnan(f->e) || probe_is_exact(c, f));
}

static void conclude(at_checker *c)
{
    static const int severity_of[] = {
        [ATTIC_PASS] = 1, [ATTIC_NOISE_LIMITED] = 2, [ATTIC_NON_SMOOTH] = 3, [ATTIC_WRONG] = 4};
    at_gradcheck_report *r = &c->report;
    bool all_zero = true;
    int worst_severity = 0;
    ptrdiff_t worst = -1;
    for (ptrdiff_t p = 0; p < c->probes; p++) {
        const at_probe *f = &c->probe[p];
        double error = error_beside(c, f, f->n);
        int severity = severity_of[f->verdict];
        if (severity > worst_severity || (severity == worst_severity && error > r->error)) {
            worst_severity = severity;
            worst = p;
            r->error = error;
            r->verdict = f->verdict;
        }
        r->resolution = fmax(r->resolution, resolution_of(c, f));
        error = isnan(f->e) ? f->e : error_beside(c, f, f->e);
        r->exact_error = isnan(error) || error > r->exact_error ? error : r->exact_error;
        r->failed += f->verdict != ATTIC_PASS;
        all_zero = all_zero && probe_is_zero(c, f);
    }
    r->checked = c->probes;
    if (worst >= 0) report_worst(c, worst);
    if (all_zero) {
        r->verdict = ATTIC_VACUOUS;
        r->error = 0;
        r->exact_error *= 0; /* NaN stays: there is no e */
        r->failed = 0;
        r->resolution = (double)INFINITY;
    }
    write_reason(c);
}

/* ------------------------------------------------------------------ the check ------------------ */

/* x0 and u become floats with a few bits to spare, so that x0 + h v is a float as well. */
static void round_to_float(at_checker *c)
{
    c->is_float = true;
    c->precision = float_precision;
    c->report.real = ATTIC_F32;
    for (ptrdiff_t i = 0; i < c->n; i++) c->x[i] = c->short_x[i] = at_short_float(c->x0[i]);
    for (ptrdiff_t k = 0; k < c->m; k++) c->u[k] = c->u_kept[k] = at_short_float(c->u[k]);
    c->x0 = c->short_x;
    c->forward(c->x, c->y0, c->ctx);
}

static bool has_nan(at_checker *c)
{
    ptrdiff_t k = 0;
    while (k < c->m && !isnan(c->y0[k])) k++;
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

static void run_check(at_checker *c)
{
    if (!has_good_parts(c)) return;
    if (c->n) memcpy(c->x, c->x0, (size_t)c->n * sizeof *c->x);
    draw_upstream(c);
    if (breaks_forward_rules(c) || has_nan(c)) return;
    at_dtype real = c->options.order == 2 ? ATTIC_F64 : c->options.real;
    if (real == ATTIC_F32 || (real == ATTIC_REAL && at_computes_in_float(c))) round_to_float(c);
    if (has_nan(c)) return;
    for (ptrdiff_t k = 0; k < c->m; k++)
        if (isfinite(c->y0[k])) c->y_size += fabs(c->u[k] * c->y0[k]);
    c->exact_tolerance = c->options.tolerance > 0 ? c->options.tolerance : EXACT_TOLERANCE;
    if (!(c->options.tolerance > 0)) c->options.tolerance = c->precision.tolerance;
    if (c->options.order == 2) c->hidden_noise += 64 * DBL_EPSILON * c->y_size;
    if (breaks_backward_rules(c) || at_forward_races(c) || at_backward_races(c) ||
        breaks_rule_of_zero(c))
        return;
    at_measure_noise(c);
    compare_all(c);
    if (!at_has_changed(c)) conclude(c);
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
                    .hidden_noise = 64 * DBL_EPSILON * size,
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
    c.precision = double_precision;
    c.probes = n == 0 || m == 0 ? 0 : options.directions > 0 ? options.directions : n;
    if (checker_has_memory(&c, &memory))
        run_check(&c);
    else
        snprintf(r->reason, sizeof r->reason, "out of memory");
    at_arena_free(&memory);
    return *r;
}

/* ------------------------------------------------------------------ in words ------------------- */

const char *at_verdict_text(at_verdict v)
{
    static const char *const text[] = {"NOT-RUN",    "PASS",    "WRONG", "NOISE-LIMITED",
                                       "NON-SMOOTH", "VACUOUS", "RACE"};
    return (unsigned)v < sizeof text / sizeof *text ? text[v] : "?";
}

static void print_report(const at_gradcheck_report *r, FILE *out)
{
    fprintf(out, "%s: %s\n", at_verdict_text(r->verdict), r->reason);
    if (r->checked == 0) {
        if (r->where[0])
            fprintf(out, "    at %s: %.17g, not %.17g\n", r->where, r->analytic, r->numeric);
        return;
    }
    fprintf(out, "    %td of %td comparisons agree: ", r->checked - r->failed, r->checked);
    if (!isnan(r->exact_error)) fprintf(out, "exact %.0e | ", r->exact_error);
    fprintf(out, "differences %.0e", r->error);
    if (isfinite(r->resolution) && r->verdict != ATTIC_NON_SMOOTH)
        fprintf(out, " | resolution %.0e: a larger error would have shown", r->resolution);
    if (r->real == ATTIC_F32) fprintf(out, ";\n    forward computes in float");
    if (r->differ)
        fprintf(
            out,
            "\n    NOT-DETERMINISTIC: %td of %td pairs of runs at the same x differ, by up to %.0f "
            "ulp of the largest value",
            r->differ, r->pairs, ceil(r->ulps));
    fprintf(out, "\n    worst: %s\n", r->where);
    fprintf(out, "        %s %+.15e\n", r->order == 2 ? "H w says         " : "backward says    ",
            r->analytic);
    if (!isnan(r->exact)) fprintf(out, "        exactly it is     %+.15e\n", r->exact);
    fprintf(out, "        differences say   %+.15e  +- %.0e, with steps of %.1e\n", r->numeric,
            r->bound, r->step);
}

void at_gradcheck_print(const at_gradcheck_report *r, FILE *out)
{
    if (!r || !out) return;
    void *locale = at_point_begin();
    print_report(r, out);
    at_point_end(locale);
}
