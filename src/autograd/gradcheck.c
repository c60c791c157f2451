/* gradcheck.c -- what a derivative is, and how to tell a wrong one from a blurred one.
 *
 * The derivative of a number L that depends on a number x is what one sees by stepping aside:
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
 * The last one looks at five points, of which the middle one drops out.  It is what we use: n.  Its
 * best h: the sum h^4/30 L^(5) + 3d/2h is least where h^5 = 45/4 d / L^(5), and with d = 1.1e-16
 * and derivatives about as large as L that is h = 2^-10.  An x of the size s = max(1, |x|), rounded
 * up to a power of two, is given h = 2^-10 s: a power of two as well, so that x + h is hardly
 * rounded.
 *
 * MANY OUTPUTS.  A gradient belongs to a number, so y is made one: L = sum_k u_k y_k.  Then
 *
 *     dL/dx_i = sum_k u_k dy_k/dx_i
 *
 * is exactly what backward computes when the cotangent dy = u arrives: a.  u must be random: with
 * u = 1 the rows of a softmax sum to the constant 1, the true gradient is 0, and a backward that
 * forgot everything would pass.  Here u_k = +-(0.5 .. 1.5), never near 0, where errors would hide.
 *
 * ROUNDING, MEASURED.  d is not known beforehand: a sum in which much cancels has few of its 16
 * digits left.  But it can be measured.  Evaluate y at points so close together that it is a
 * polynomial for all one can tell, and take sixth differences.  Those of a polynomial of degree 5
 * are 0; what remains is rounding, which grows by sqrt(1 + 6^2 + 15^2 + 20^2 + 15^2 + 6^2 + 1) =
 * sqrt(924) if the errors are independent.  (Hamming's table of differences; More, Wild:
 * "Estimating computational noise", 2011.)  With r_k the noise of y_k found so, n is known up to
 *
 *     bound = 4 * 3/2 sum_k |u_k| r_k / h        over the y_k that move; 4 for safety
 *
 * WHEN a AND n DISAGREE, is a wrong, or can n not be trusted?  The step is halved again and again,
 * from 2^-5 s to 2^-36 s, to draw the picture above for this one element.  Neighbouring steps that
 * agree tell how well n is known, without looking at a.  The best of them is compared with a again,
 * and this time its disagreement with its neighbours belongs to the bound.  If even the best is
 * known to less than 4 digits, rounding dominates.
 *
 * KINKS have two sides.  Two one-sided formulas look from x to the right and to the left,
 *
 *     (-3 L(0) + 4 L(h) - L(2h)) / 2h            (3 L(0) - 4 L(-h) + L(-2h)) / 2h
 *
 * and where L is smooth they meet like h^2.  If they stay apart while h shrinks, x lies on a kink.
 * There is no derivative then, but a sensible a still lies between the two sides (it is a
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
#include "autograd/gradcheck.h"
#include "autograd/gradcheck_float.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/rng.h"
#include "tensor/arena.h"
#include "tensor/compare.h"
#include "tensor/decimal.h"

/* Steps and spacings as powers of two, in units of s. */
enum { FIRST_STEP = -10, SMALLEST_STEP = -36, FINE_SPACING = -30, NOISE_POINTS = 8 };

typedef struct { /* what can be expected of a function that computes in this type */
    double tolerance;
    double coarse;      /* n known to less is not known well */
    double floor_share; /* of the largest n: smaller ones are measured by this */
    double usual_noise; /* of n s, by the size of y */
    int largest_step;
} precision;
static const precision in_double = {1e-7, 1e-4, 1e-3, 1e-6, -5};
static const precision in_float = {1e-4, 1e-2, 1e-2, 1e-3, -1};

typedef struct { /* what differences with step h say */
    double h, n, bound;
    double low, high; /* every choice between the one-sided derivatives, output by output */
    double jump;      /* high - low */
    double jump_bound;
} slope; /* the bounds are of rounding alone */

typedef struct { /* one comparison: along an element, or along a direction */
    at_verdict verdict;
    double a, a_noise, n, bound;
    slope s; /* at the step that n is from */
    bool swept, at_kink;
} finding;

typedef struct {
    at_forward_fn *forward;
    at_vjp_fn *vjp;
    void *ctx;
    ptrdiff_t n, m, probes;
    at_gradcheck_options options;
    const double *x0;
    double *short_x;    /* [n] x0 in float */
    double *x, *v;      /* [n] where forward is evaluated: x = x0 + h v */
    double *a, *again;  /* [n] the gradient by vjp */
    double *ra;         /* [n] how noisy it is, if it is computed in float */
    double *u, *u_kept; /* [m] the cotangent */
    double *w;          /* [m] how it moves while the noise of a is measured */
    double *y0, *r;     /* [m] y at x0, and how noisy it is */
    double *y[4];       /* [m], or n if that is more: y at h, -h, 2h, -2h */
    double *seen;       /* [m] the largest |y_k| seen along what is stepped along now */
    bool *moves;        /* [m] does y_k depend on what is stepped along now? */
    finding *found;     /* [probes] */
    double max_n;       /* the largest |n| */
    double y_size;      /* sum_k |u_k y_k| */
    double x_size;      /* |x| of the element that is stepped along now */
    double farthest;    /* and the largest h for it */
    const precision *precision;
    at_gradcheck_report report;
} checker;

const char *at_verdict_text(at_verdict v)
{
    static const char *const text[] = {"NOT-RUN",       "PASS",       "WRONG",
                                       "NOISE-LIMITED", "NON-SMOOTH", "VACUOUS"};
    return (unsigned)v < sizeof text / sizeof *text ? text[v] : "?";
}

/* ------------------------------------------------------------------ a place to work ------------ */

static double *checker_doubles(at_arena *a, bool *ok, ptrdiff_t n)
{
    double *p = n > PTRDIFF_MAX / 16 ? NULL : at_arena_alloc(a, (size_t)n * sizeof(double));
    if (!p) *ok = false;
    return p;
}

static bool checker_has_memory(checker *c, at_arena *a)
{
    bool ok = true;
    double **of_n[] = {&c->short_x, &c->x, &c->v, &c->a, &c->again, &c->ra};
    double **of_m[] = {&c->u, &c->u_kept, &c->w, &c->y0, &c->r, &c->seen};
    for (size_t i = 0; i < sizeof of_n / sizeof *of_n; i++)
        *of_n[i] = checker_doubles(a, &ok, c->n);
    for (size_t i = 0; i < sizeof of_m / sizeof *of_m; i++)
        *of_m[i] = checker_doubles(a, &ok, c->m);
    for (int i = 0; i < 4; i++) c->y[i] = checker_doubles(a, &ok, c->n > c->m ? c->n : c->m);
    c->found = at_arena_alloc(a, (size_t)c->probes * sizeof *c->found);
    c->moves = at_arena_alloc(a, (size_t)c->m * sizeof *c->moves);
    return ok && c->found && c->moves;
}

static void draw_cotangent(checker *c)
{
    at_stream s = {c->options.seed, 0};
    for (ptrdiff_t k = 0; k < c->m; k++) {
        double unit = 2 * at_random_unit(s, (uint64_t)k) - 1;
        c->u[k] = c->u_kept[k] = unit < 0 ? unit - 0.5 : unit + 0.5;
    }
}

static void fill_with_nan(double *p, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) p[i] = (double)NAN;
}

static bool is_float(const checker *c)
{
    return c->precision == &in_float;
}

/* x = x0 + h v */
static void step_aside(checker *c, double h)
{
    for (ptrdiff_t i = 0; i < c->n; i++) {
        c->x[i] = c->v[i] != 0 ? c->x0[i] + h * c->v[i] : c->x0[i];
        if (is_float(c)) c->x[i] = (double)(float)c->x[i];
    }
}

/* y = f(x0 + h v) */
static void evaluate_at(checker *c, double h, double *y)
{
    step_aside(c, h);
    c->forward(c->x, y, c->ctx);
}

/* dx = what backward says at x0 + h v to the cotangent u + h w */
static void backward_at(checker *c, double h, double *dx)
{
    step_aside(c, h);
    for (ptrdiff_t k = 0; k < c->m; k++) c->u[k] = c->u_kept[k] + h * c->w[k];
    c->vjp(c->x, c->u, dx, c->ctx);
}

/* Zero for equal values even if they are infinite: an output that stays -inf does not move. */
static double difference_of(double a, double b)
{
    return a == b ? 0 : a - b;
}

/* ------------------------------------------------------------------ the rules ------------------ */

/* The first i at which the bits differ, or -1. */
static ptrdiff_t first_change(const double *a, const double *b, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        if (!at_same_bits(a[i], b[i])) return i;
    return -1;
}

/* "x[109]", or, if it lies in a part that has a name, "\"weight\" at [3]" */
static void name_element(checker *c, const char *vector, ptrdiff_t i)
{
    at_gradcheck_report *r = &c->report;
    const at_gradcheck_part *part = vector[0] == 'x' ? c->options.parts : NULL;
    snprintf(r->where, sizeof r->where, "%s[%td]", vector, i);
    for (; part && part->name && i >= part->count; part++) i -= part->count;
    if (part) snprintf(r->where, sizeof r->where, "\"%.80s\" at [%td]", part->name, i);
}

static bool rule_broken(checker *c, const char *reason, const char *vector, ptrdiff_t i, double a,
                        double b)
{
    at_gradcheck_report *r = &c->report;
    r->verdict = ATTIC_WRONG;
    snprintf(r->reason, sizeof r->reason, "%s", reason);
    name_element(c, vector, i);
    r->element = i;
    r->analytic = a;
    r->numeric = b;
    return true;
}

static bool breaks_forward_rules(checker *c)
{
    ptrdiff_t i, n = c->n, m = c->m;
    fill_with_nan(c->y0, m);
    fill_with_nan(c->y[0], m);
    c->forward(c->x, c->y0, c->ctx);
    c->forward(c->x, c->y[0], c->ctx);
    if ((i = first_change(c->x, c->x0, n)) >= 0)
        return rule_broken(c, "forward changes its input", "x", i, c->x[i], c->x0[i]);
    if ((i = first_change(c->y[0], c->y0, m)) >= 0)
        return rule_broken(c, "forward gives other values when it runs again", "y", i, c->y[0][i],
                           c->y0[i]);
    return false;
}

static bool breaks_backward_rules(checker *c)
{
    ptrdiff_t i, n = c->n, m = c->m;
    if (n) memcpy(c->x, c->x0, (size_t)n * sizeof *c->x);
    fill_with_nan(c->a, n);
    fill_with_nan(c->again, n);
    c->vjp(c->x, c->u, c->a, c->ctx);
    c->vjp(c->x, c->u, c->again, c->ctx);
    if ((i = first_change(c->x, c->x0, n)) >= 0)
        return rule_broken(c, "backward changes its input", "x", i, c->x[i], c->x0[i]);
    if ((i = first_change(c->u, c->u_kept, m)) >= 0)
        return rule_broken(c, "backward changes its cotangent", "dy", i, c->u[i], c->u_kept[i]);
    if ((i = first_change(c->again, c->a, n)) >= 0)
        return rule_broken(c, "backward gives other values when it runs again", "x", i, c->again[i],
                           c->a[i]);

    memset(c->u, 0, (size_t)m * sizeof *c->u);
    fill_with_nan(c->again, n);
    c->vjp(c->x, c->u, c->again, c->ctx);
    memcpy(c->u, c->u_kept, (size_t)m * sizeof *c->u);
    for (i = 0; i < n; i++) /* where a itself is infinite, 0 a may be NaN */
        if (c->again[i] != 0 && isfinite(c->a[i]))
            return rule_broken(c, "a cotangent of 0 gives a gradient", "x", i, c->again[i], 0);
    return false;
}

/* ------------------------------------------------------------------ differences ---------------- */

/* A power of two, the size of x. */
static double size_of_element(double x)
{
    double s = 1;
    while (s < fabs(x) && isfinite(2 * s)) s *= 2;
    return s;
}

/* v = the p-th direction; returns the unit that steps along it are measured in. */
static double aim_at_probe(checker *c, ptrdiff_t p)
{
    memset(c->moves, 0, (size_t)c->m * sizeof *c->moves);
    memset(c->seen, 0, (size_t)c->m * sizeof *c->seen);
    if (c->options.directions > 0) {
        at_stream s = {c->options.seed, 4 + (uint64_t)p};
        for (ptrdiff_t i = 0; i < c->n; i++) {
            double v = at_random_normal(s, (uint64_t)i);
            c->v[i] = size_of_element(c->x0[i]) * (is_float(c) ? rint(16 * v) / 16 : v);
        }
        c->x_size = (double)INFINITY;
        c->farthest = ldexp(1, c->precision->largest_step);
        return 1;
    }
    c->x_size = fabs(c->x0[p]);
    c->farthest = ldexp(size_of_element(c->x0[p]), c->precision->largest_step);
    memset(c->v, 0, (size_t)c->n * sizeof *c->v);
    c->v[p] = 1;
    return size_of_element(c->x0[p]);
}

/* dL/dv = sum_i dL/dx_i v_i */
static double analytic_along(const checker *c, ptrdiff_t p)
{
    if (c->options.directions == 0) return c->a[p];
    double sum = 0;
    for (ptrdiff_t i = 0; i < c->n; i++) sum += c->a[i] * c->v[i];
    return sum;
}

/* How noisy that is */
static double noise_along(const checker *c, ptrdiff_t p)
{
    if (c->options.directions == 0) return c->ra[p];
    double squares = 0;
    for (ptrdiff_t i = 0; i < c->n; i++) squares += c->ra[i] * c->ra[i] * c->v[i] * c->v[i];
    return sqrt(squares);
}

/* What sixth differences, two of them, say about the rounding error of what `at` computes, which is
 * `base` at x0. */
static void noise_of(checker *c, void (*at)(checker *, double, double *), ptrdiff_t count,
                     const double *base, double spacing, double *r)
{
    static const double delta6[] = {1, -6, 15, -20, 15, -6, 1};
    for (int j = 0; j < 2; j++) memset(c->y[j], 0, (size_t)count * sizeof(double));
    for (int point = 0; point < NOISE_POINTS; point++) {
        at(c, (1 + point) * spacing, c->y[2]);
        for (int j = 0; j < 2; j++)
            for (ptrdiff_t k = 0; k < count && point >= j && point - j <= 6; k++)
                c->y[j][k] += delta6[point - j] * difference_of(c->y[2][k], base[k]);
    }
    for (ptrdiff_t k = 0; k < count; k++)
        r[k] = sqrt((c->y[0][k] * c->y[0][k] + c->y[1][k] * c->y[1][k]) / 2 / 924);
}

/* r_k, along a random direction, on the quieter side: a kink at x0 lies between the sides, one
 * close by spoils only one.  And no y_k is known better than to a fraction of its last digit. */
static void measure_noise(checker *c)
{
    at_stream s = {c->options.seed, 1};
    const double spacing = ldexp(1, FINE_SPACING);
    double *r = c->r, *other = c->y[3];
    for (ptrdiff_t i = 0; i < c->n; i++)
        c->v[i] = size_of_element(c->x0[i]) * (0.5 + at_random_unit(s, (uint64_t)i));
    noise_of(c, evaluate_at, c->m, c->y0, spacing, r);
    noise_of(c, evaluate_at, c->m, c->y0, -spacing, other);
    for (ptrdiff_t k = 0; k < c->m; k++) {
        double least = DBL_EPSILON / 4 * fabs(c->y0[k]), quieter = fmin(r[k], other[k]);
        r[k] = !isfinite(least) ? 0 : isfinite(quieter) ? fmax(quieter, least) : least;
    }
}

static void keep_loudest(double *r, const double *next, ptrdiff_t n)
{
    for (ptrdiff_t k = 0; k < n; k++)
        if (isfinite(next[k])) r[k] = fmax(r[k], next[k]);
}

/* The same in float, where backward is as noisy as forward: r_k and the noise of a_i, the loudest
 * of eight draws, all at exact floats. */
static void measure_float_noise(checker *c)
{
    memset(c->r, 0, (size_t)c->m * sizeof *c->r);
    if (c->n) memset(c->ra, 0, (size_t)c->n * sizeof *c->ra);
    for (int draw = 0; draw < 8; draw++) {
        double spacing = ldexp(draw % 2 ? -1 : 1, -ATTIC_SHORT_BITS);
        at_stream of_x = {c->options.seed, 2 * (uint64_t)draw + 1};
        at_stream of_u = {c->options.seed, 2 * (uint64_t)draw + 2};
        for (ptrdiff_t i = 0; i < c->n; i++)
            c->v[i] = at_float_scale(c->x0[i]) * rint(8 + 16 * at_random_unit(of_x, (uint64_t)i));
        for (ptrdiff_t k = 0; k < c->m; k++)
            c->w[k] = at_float_scale(c->u[k]) * rint(8 + 16 * at_random_unit(of_u, (uint64_t)k));
        noise_of(c, evaluate_at, c->m, c->y0, spacing, c->y[3]);
        keep_loudest(c->r, c->y[3], c->m);
        noise_of(c, backward_at, c->n, c->a, spacing, c->y[3]);
        keep_loudest(c->ra, c->y[3], c->n);
        memcpy(c->u, c->u_kept, (size_t)c->m * sizeof *c->u);
    }
}

/* The noise of y_k at the step now measured; in float, that of hidden numbers too. */
static double noise_at_step(checker *c, ptrdiff_t k, bool stands_still)
{
    double r = c->r[k], size = fabs(c->y0[k]);
    if (!is_float(c)) return r;
    for (int j = 0; j < 4; j++) size = fmax(size, fabs(c->y[j][k]));
    if (isfinite(size)) c->seen[k] = fmax(c->seen[k], size);
    size = fmax(size, stands_still ? c->seen[k] : fmin(c->seen[k], c->x_size));
    return isfinite(size) ? fmax(r, 0x1p-24 * size) : r;
}

static void swap_y(checker *c, int i, int j)
{
    double *kept = c->y[i];
    c->y[i] = c->y[j];
    c->y[j] = kept;
}

/* The slope of L = sum_k u_k y_k along v, by differences with step h.  Differences are taken of
 * each y_k before they are added up: what does not move adds no rounding.  When h is half of what
 * it was in the call before, two of the points are known. */
static slope measure_slope(checker *c, double h, bool halved)
{
    if (halved) {
        swap_y(c, 0, 2);
        swap_y(c, 1, 3);
    } else {
        evaluate_at(c, 2 * h, c->y[2]);
        evaluate_at(c, -2 * h, c->y[3]);
    }
    evaluate_at(c, h, c->y[0]);
    evaluate_at(c, -h, c->y[1]);

    slope s = {.h = h};
    double squares = 0;
    for (ptrdiff_t k = 0; k < c->m; k++) {
        double u = c->u[k];
        double right1 = difference_of(c->y[0][k], c->y0[k]);
        double left1 = difference_of(c->y[1][k], c->y0[k]);
        double right2 = difference_of(c->y[2][k], c->y0[k]);
        double left2 = difference_of(c->y[3][k], c->y0[k]);
        bool stands_still = right1 == 0 && left1 == 0 && right2 == 0 && left2 == 0;
        double rounding = 6 * fabs(u) * noise_at_step(c, k, stands_still) / h;
        if (!stands_still) c->moves[k] = true;
        if (!c->moves[k]) { /* not at the largest step, either */
            double hidden = 0x1p-23 * fabs(u * c->y0[k]) / c->farthest;
            squares += isfinite(hidden) ? hidden * hidden : 0;
            continue;
        }

        double right = u * (4 * right1 - right2) / (2 * h);
        double left = u * (left2 - 4 * left1) / (2 * h);
        s.n += u * (8 * (right1 - left1) - (right2 - left2)) / (12 * h);
        s.bound += rounding;
        squares += rounding * rounding;
        s.low += fmin(left, right);
        s.high += fmax(left, right);
    }
    s.jump = s.high - s.low;
    s.jump_bound = s.bound;
    if (is_float(c)) s.bound = sqrt(squares);
    return s;
}

/* ------------------------------------------------------------------ one comparison ------------- */

static double scale_of(const checker *c, double a, double n)
{
    return fmax(fmax(fabs(a), fabs(n)), c->precision->floor_share * c->max_n);
}

static double tolerance_of(const checker *c, const finding *f)
{
    return c->options.tolerance * scale_of(c, f->a, f->n);
}

/* |a - n| / scale; infinite where one of them is no number. */
static double error_of(const checker *c, const finding *f)
{
    if (!isfinite(f->a) || !isfinite(f->n)) return (double)INFINITY;
    return f->a == f->n ? 0 : fabs(f->a - f->n) / scale_of(c, f->a, f->n);
}

/* An error of just the bound may be hidden by another. */
static double resolution_of(const checker *c, const finding *f)
{
    double scale = scale_of(c, f->a, f->n), bound = f->bound + f->a_noise;
    if (!(scale > 0) || !isfinite(bound)) return (double)INFINITY;
    return c->options.tolerance + (is_float(c) ? 2 : 1) * bound / scale;
}

static bool finding_agrees(const checker *c, const finding *f)
{
    return isfinite(f->a) && fabs(f->a - f->n) <= tolerance_of(c, f) + f->bound + f->a_noise;
}

/* Is n known to 4 digits, in float to 2?  (Where all is exactly 0 there is nothing to know.) */
static bool finding_is_sharp(const checker *c, const finding *f)
{
    return f->bound + f->a_noise <= c->precision->coarse * scale_of(c, f->a, f->n);
}

/* The largest step whose n agrees with that of all smaller ones. */
static int first_step_in_agreement(const slope *s, int count)
{
    int first = count - 1;
    while (first > 0) {
        const slope *next = &s[first - 1];
        for (int i = first; i < count; i++)
            if (!(fabs(next->n - s[i].n) <= next->bound + s[i].bound)) return first;
        first--;
    }
    return first;
}

/* The step whose neighbours agree best with it, or -1.  Both count, since two may agree by chance;
 * and four times, since slopes that close in on theirs slowly have further to go. */
static int choose_best_step(finding *f, const slope *s, int first, int count)
{
    int best = -1;
    double least = (double)INFINITY;
    for (int j = first + 1; j + 1 < count; j++) {
        double apart = fmax(fabs(s[j - 1].n - s[j].n), fabs(s[j].n - s[j + 1].n));
        double unsure = 4 * apart + s[j].bound;
        if (!isfinite(apart) || !(unsure < least)) continue;
        best = j;
        f->s = s[j];
        f->n = s[j].n;
        f->bound = least = unsure;
    }
    return best;
}

/* Does every halving of the step multiply the jump by a factor in low..high? */
static bool jumps_go_like(const slope *s, int count, double low, double high)
{
    for (int j = 1; j < count; j++) {
        double factor = s[j].jump / s[j - 1].jump;
        if (!(factor > low && factor < high)) return false;
    }
    return true;
}

/* Around the best step: the two sides of a kink stay apart as h shrinks, across a jump they part
 * like 1/h, smooth ones meet like h^2. */
static bool is_at_kink(const slope *s, int count, int best)
{
    const int span = 7;
    int from = best + span <= count ? best : count - span;
    if (!(s[best].jump > 50 * s[best].jump_bound)) return false;
    return jumps_go_like(s + from, span, 0.6, 1.4) || jumps_go_like(s + from, span, 1.9, 2.1);
}

/* Down to this step, x0 + h v is a float: x0 is short. */
static int smallest_float_step(const checker *c, ptrdiff_t p)
{
    if (c->options.directions > 0) return 4 - ATTIC_SHORT_BITS;
    double scale = at_float_scale(c->x0[p]);
    int exponent = c->x0[p] == 0 ? SMALLEST_STEP : scale < 1 ? ilogb(scale) : 0;
    return exponent - ATTIC_SHORT_BITS > SMALLEST_STEP ? exponent - ATTIC_SHORT_BITS
                                                       : SMALLEST_STEP;
}

/* n from many steps, of which the best is chosen */
static void sweep_steps(checker *c, ptrdiff_t p, finding *f)
{
    slope s[-SMALLEST_STEP];
    const int largest = c->precision->largest_step;
    int count = 1 + largest - (is_float(c) ? smallest_float_step(c, p) : SMALLEST_STEP);
    double unit = aim_at_probe(c, p);
    for (int j = 0; j < count; j++) s[j] = measure_slope(c, ldexp(unit, largest - j), j > 0);

    int first = is_float(c) ? first_step_in_agreement(s, count) : 0;
    int best = choose_best_step(f, s, first, count);
    f->swept = true;
    f->at_kink = best < 0 || is_at_kink(s, count, best);
    if (best < 0) f->n = (double)NAN;
    if (f->at_kink) f->bound = best < 0 ? (double)INFINITY : s[best].jump;
}

static void judge(checker *c, finding *f)
{
    double slack = 0.01 * f->s.jump; /* a subgradient lies between the two sides */
    bool between = isnan(f->n) || (f->a >= f->s.low - slack && f->a <= f->s.high + slack);
    if (f->at_kink)
        f->verdict = between ? ATTIC_NON_SMOOTH : ATTIC_WRONG;
    else if (!finding_agrees(c, f))
        f->verdict = ATTIC_WRONG;
    else
        f->verdict = finding_is_sharp(c, f) ? ATTIC_PASS : ATTIC_NOISE_LIMITED;
}

/* One step of usual size is enough for a double, unless a and n disagree, or n is not sharp, or its
 * two sides differ.  In float there is none that suits most functions. */
static void compare_all(checker *c)
{
    for (ptrdiff_t p = 0; p < c->probes; p++) {
        finding *f = &c->found[p];
        double unit = aim_at_probe(c, p);
        *f = (finding){.verdict = ATTIC_PASS, .a = analytic_along(c, p)};
        if (is_float(c)) {
            f->a_noise = 6 * noise_along(c, p);
            sweep_steps(c, p, f);
        } else {
            f->s = measure_slope(c, ldexp(unit, FIRST_STEP), false);
            f->n = f->s.n;
            f->bound = f->s.bound;
        }
        if (isfinite(f->n)) c->max_n = fmax(c->max_n, fabs(f->n));
    }
    for (ptrdiff_t p = 0; p < c->probes; p++) {
        finding *f = &c->found[p];
        bool smooth = f->s.jump <= 0.01 * scale_of(c, f->a, f->n);
        bool clear = finding_agrees(c, f) && finding_is_sharp(c, f) && smooth;
        if (!f->swept && !clear) sweep_steps(c, p, f);
        if (f->swept) judge(c, f);
    }
}

/* ------------------------------------------------------------------ the verdict ---------------- */

static int gravity_of(at_verdict v)
{
    return v == ATTIC_WRONG ? 3 : v == ATTIC_NON_SMOOTH ? 2 : v == ATTIC_NOISE_LIMITED;
}

/* Is a = factor n throughout?  A wrong sign and a forgotten 2 look like that. */
static bool has_common_factor(const checker *c, double *factor)
{
    double low = (double)INFINITY, high = -(double)INFINITY;
    for (ptrdiff_t p = 0; p < c->probes; p++) {
        const finding *f = &c->found[p];
        if (fabs(f->n) < 0.01 * c->max_n) continue;
        if (!isfinite(f->a) || !isfinite(f->n)) return false;
        low = fmin(low, f->a / f->n);
        high = fmax(high, f->a / f->n);
    }
    *factor = (low + high) / 2;
    return high - low <= 0.01 * fabs(*factor - 1);
}

static void write_reason(checker *c)
{
    static const char *const usual[] = {
        [ATTIC_NOT_RUN] = "",
        [ATTIC_PASS] = "backward is the derivative of forward",
        [ATTIC_WRONG] = "backward is not the derivative of forward",
        [ATTIC_NOISE_LIMITED] = "rounding errors of forward drown the differences at every step",
        [ATTIC_NON_SMOOTH] = "the derivatives from both sides do not meet: a kink or a jump",
        [ATTIC_VACUOUS] = "every derivative is 0 here: a missing backward would pass too"};
    at_gradcheck_report *r = &c->report;
    double factor;
    snprintf(r->reason, sizeof r->reason, "%s", usual[r->verdict]);
    if (r->verdict == ATTIC_WRONG && r->failed > 1 && has_common_factor(c, &factor))
        snprintf(r->reason, sizeof r->reason, "%s, but %s times it everywhere", usual[ATTIC_WRONG],
                 at_short_text(factor + 0.0, 8));
    if (r->verdict == ATTIC_VACUOUS && c->probes == 0)
        snprintf(r->reason, sizeof r->reason, "there is no element to check");
}

/* The bound of a comparison made at the usual step is rounding alone.  Do the steps beside it
 * agree?  If they do not, the best step is sought. */
static void refine(checker *c, ptrdiff_t p, finding *f)
{
    slope s[3];
    double unit = aim_at_probe(c, p);
    for (int j = 0; j < 3; j++) s[j] = measure_slope(c, ldexp(unit, FIRST_STEP + 1 - j), j > 0);
    choose_best_step(f, s, 0, 3);
    if (f->bound - f->s.bound <= 0.01 * tolerance_of(c, f)) return;
    finding better = *f;
    sweep_steps(c, p, &better);
    if (isfinite(better.n)) *f = better;
}

static void report_worst(checker *c, ptrdiff_t p)
{
    at_gradcheck_report *r = &c->report;
    finding *f = &c->found[p];
    bool along = c->options.directions > 0;
    if (!f->swept) refine(c, p, f);
    if (along)
        snprintf(r->where, sizeof r->where, "direction %td", p);
    else
        name_element(c, "x", p);
    r->input = along ? -1 : 0;
    r->element = p;
    r->analytic = f->a;
    r->numeric = f->n;
    r->bound = f->bound;
    r->step = f->s.h;
}

/* Do a and n show no more than rounding, of the usual size? */
static bool finding_is_zero(const checker *c, ptrdiff_t p)
{
    const finding *f = &c->found[p];
    double unit = c->options.directions > 0 ? 1 : size_of_element(c->x0[p]);
    bool usual = f->bound * unit <= c->precision->usual_noise * c->y_size;
    return usual && fabs(f->n) <= f->bound && fabs(f->a) <= f->bound + f->a_noise;
}

static void conclude(checker *c)
{
    at_gradcheck_report *r = &c->report;
    bool all_zero = true;
    int gravest = -1;
    ptrdiff_t worst = -1;
    for (ptrdiff_t p = 0; p < c->probes; p++) {
        const finding *f = &c->found[p];
        double error = error_of(c, f);
        int gravity = gravity_of(f->verdict);
        if (gravity > gravest || (gravity == gravest && error > r->error)) {
            gravest = gravity;
            worst = p;
            r->error = error;
            r->verdict = f->verdict;
        }
        r->resolution = fmax(r->resolution, resolution_of(c, f));
        r->failed += f->verdict != ATTIC_PASS;
        all_zero = all_zero && finding_is_zero(c, p);
    }
    r->checked = c->probes;
    if (worst >= 0) report_worst(c, worst);
    if (all_zero) {
        r->verdict = ATTIC_VACUOUS;
        r->error = 0;
        r->failed = 0;
        r->resolution = (double)INFINITY;
    }
    write_reason(c);
}

/* x0 and u become floats with a few bits to spare, so that x0 + h v is a float as well. */
static void turn_to_float(checker *c)
{
    c->precision = &in_float;
    c->report.real = ATTIC_F32;
    for (ptrdiff_t i = 0; i < c->n; i++) c->x[i] = c->short_x[i] = at_short_float(c->x0[i]);
    for (ptrdiff_t k = 0; k < c->m; k++) c->u[k] = c->u_kept[k] = at_short_float(c->u[k]);
    c->x0 = c->short_x;
    c->forward(c->x, c->y0, c->ctx);
}

static bool has_nan(checker *c)
{
    for (ptrdiff_t k = 0; k < c->m; k++) {
        if (!isnan(c->y0[k])) continue;
        snprintf(c->report.reason, sizeof c->report.reason,
                 "y[%td] = f(x) is not a number at this x", k);
        return true;
    }
    return false;
}

static bool computes_in_float(checker *c)
{
    if (c->options.real != ATTIC_REAL) return c->options.real == ATTIC_F32;
    return at_computes_in_float(c->forward, c->ctx, c->n, c->m, c->x0, c->options.seed, c->x, c->y);
}

/* Do the named parts of x make up x? */
static bool has_good_parts(checker *c)
{
    ptrdiff_t named = 0;
    const at_gradcheck_part *part = c->options.parts;
    for (; part && part->name; part++) {
        if (part->count >= 0 && part->count <= c->n - named) {
            named += part->count;
            continue;
        }
        snprintf(c->report.reason, sizeof c->report.reason,
                 "part \"%.40s\" of x has %td elements, but x [%td] has only %td left for it",
                 part->name, part->count, c->n, c->n - named);
        return false;
    }
    if (!part || named == c->n) return true;
    snprintf(c->report.reason, sizeof c->report.reason,
             "the parts of x have %td elements together, x has %td", named, c->n);
    return false;
}

static void run_check(checker *c)
{
    if (!has_good_parts(c)) return;
    if (c->n) memcpy(c->x, c->x0, (size_t)c->n * sizeof *c->x);
    draw_cotangent(c);
    if (breaks_forward_rules(c) || has_nan(c)) return;
    if (computes_in_float(c)) turn_to_float(c);
    if (has_nan(c)) return;
    for (ptrdiff_t k = 0; k < c->m; k++)
        if (isfinite(c->y0[k])) c->y_size += fabs(c->u[k] * c->y0[k]);
    if (!(c->options.tolerance > 0)) c->options.tolerance = c->precision->tolerance;
    if (breaks_backward_rules(c)) return;
    if (is_float(c))
        measure_float_noise(c);
    else
        measure_noise(c);
    compare_all(c);
    conclude(c);
}

at_gradcheck_report at_gradcheck_fn(at_forward_fn *forward, at_vjp_fn *vjp, ptrdiff_t n,
                                    ptrdiff_t m, const double *x, void *ctx,
                                    at_gradcheck_options options)
{
    at_gradcheck_report refused = {.seed = options.seed, .reason = "forward, vjp or x is NULL"};
    if (n < 0 || m < 0) {
        snprintf(refused.reason, sizeof refused.reason, "n = %td and m = %td can't be negative", n,
                 m);
        return refused;
    }
    if (!forward || !vjp || (!x && n > 0)) return refused;
    checker c = {.forward = forward,
                 .vjp = vjp,
                 .ctx = ctx,
                 .n = n,
                 .m = m,
                 .probes = m == 0 || n == 0         ? 0
                           : options.directions > 0 ? options.directions
                                                    : n,
                 .options = options,
                 .precision = &in_double,
                 .x0 = x,
                 .report = {.seed = options.seed, .real = ATTIC_F64, .reason = "out of memory"}};
    at_arena memory = {0};
    if (checker_has_memory(&c, &memory)) {
        c.report.reason[0] = 0;
        run_check(&c);
    }
    at_arena_free(&memory);
    return c.report;
}
