/* differences.c -- n: the derivative of L = sum_k u_k y_k as differences of forward show it, and
 * how far it may be off.  Why five points, and how long a step: gradcheck.c.
 *
 * ROUNDING, MEASURED.  A sum in which much cancels has few of its 16 digits left: the error d of y
 * is not known beforehand, but can be measured.  At points so close together that y is a polynomial
 * for all one can tell, take sixth differences.  Sixth differences of a polynomial of degree 5 are
 * 0; what remains is rounding, which grows by sqrt(1 + 6^2 + 15^2 + 20^2 + 15^2 + 6^2 + 1) =
 * sqrt(924) if the errors are independent.  (Hamming's table of differences; More, Wild:
 * "Estimating computational noise", 2011.)  With r_k the noise of y_k found so, n is known up to
 *
 *     bound = 4 * 3/2 sum_k |u_k| r_k / h        over the y_k that move; 4 for safety
 *
 * A y_k with a KINK between x and x + 2h has another slope before it than behind, and n is anything
 * between.  One-sided differences show it: where L is smooth they part like h^2, so a quarter is
 * left when h is halved.  What is left of the parting of a y_k where it is more than a third counts
 * in full: bound + |right_k - left_k|.
 *
 * THE BEST STEP.  The step is halved again and again, from 2^-5 s to 2^-36 s, to draw the picture
 * of gradcheck.c for this one element.  Steps that agree with those beside them tell how well n is
 * known, without regard to a; one that smaller ones contradict does not count, nor one below which
 * the two sides part.  What the best of them lacks in agreement belongs to its bound, and so does
 * the rounding that all smaller steps show. */
#include "gradcheck/checker.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/rng.h"

/* Steps and spacings as powers of two, in units of s. */
enum { FIRST_STEP = -10, SMALLEST_STEP = -36, FINE_SPACING = -30, NOISE_POINTS = 8 };
#define TINY 0x1p-20 /* an x as small as steps */
enum { MOST_STEPS = -2 * SMALLEST_STEP };

/* Zero for equal values even if they are infinite: an output that stays -inf does not move. */
static double difference_of(double a, double b)
{
    return a == b ? 0 : a - b;
}

void at_step_aside(at_checker *c, double h, int bits)
{
    for (ptrdiff_t i = 0; i < c->n; i++)
        c->x[i] = c->v[i] != 0 ? at_rounded(c->x0[i] + h * c->v[i], bits) : c->x0[i];
}

/* y = f(x0 + h v) */
static void evaluate_at(at_checker *c, double h, double *y)
{
    at_step_aside(c, h, c->is_float ? c->bits : 53);
    at_call_smooth(c, y);
}

/* y = forward - twin at x0 + h v */
static void beside_twin_at(at_checker *c, double h, double *y)
{
    at_step_aside(c, h, c->bits);
    at_call_forward(c, y);
    at_call_twin(c, c->y[3]);
    for (ptrdiff_t k = 0; k < c->m; k++) y[k] = difference_of(y[k], c->y[3][k]);
}

/* dx = what backward says at x0 + h v to the upstream gradient u + h w */
static void backward_at(at_checker *c, double h, double *dx)
{
    at_step_aside(c, h, c->bits);
    for (ptrdiff_t k = 0; k < c->m; k++) c->u[k] = c->u_kept[k] + h * c->w[k];
    at_call_backward(c, dx);
}

double at_largest(const double *x, ptrdiff_t n)
{
    double largest = 0;
    for (ptrdiff_t i = 0; i < n; i++) largest = fmax(largest, isfinite(x[i]) ? fabs(x[i]) : 0);
    return largest;
}

/* A power of two, the size of x. */
static double size_of_element(double x)
{
    double s = 1;
    while (s < fabs(x) && isfinite(2 * s)) s *= 2;
    return s;
}

/* ------------------------------------------------------------------ noise ---------------------- */

/* Two sixth differences: r is the rounding error of what `at` computes, which is `base` at x0. */
static void noise_of(at_checker *c, void (*at)(at_checker *, double, double *), ptrdiff_t count,
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

static void draw_direction(at_checker *c, double size)
{
    at_stream s = {c->options.seed, 1};
    for (ptrdiff_t i = 0; i < c->n; i++)
        c->v[i] = size * size_of_element(c->x0[i]) * (0.5 + at_random_unit(s, (uint64_t)i));
}

/* r_k, along a random direction, on the louder side; where that is far louder than rounding is, and
 * than the other side, a kink close by has spoiled it, and the quieter one counts.  And no y_k is
 * known better than to a fraction of its last digit. */
static void measure_double_noise(at_checker *c)
{
    const double spacing = ldexp(1, FINE_SPACING);
    double *r = c->r, *other = c->y[3];
    draw_direction(c, 1);
    noise_of(c, evaluate_at, c->m, c->y0, spacing, r);
    noise_of(c, evaluate_at, c->m, c->y0, -spacing, other);
    for (ptrdiff_t k = 0; k < c->m; k++) {
        const double least = fmax(DBL_EPSILON / 4 * fabs(c->y0[k]), c->y_noise);
        const double quieter = fmin(r[k], other[k]), louder = fmax(r[k], other[k]);
        const bool kink = louder > 0x1p-40 * fmax(fabs(c->y0[k]), 1) && louder > 16 * quieter;
        const double noise = kink || !isfinite(louder) ? quieter : louder;
        r[k] = !isfinite(least) ? 0 : isfinite(noise) ? fmax(noise, least) : least;
    }
}

/* The rounding of backward.  It is linear in u: so u may move far, that digits change, but no u_k
 * changes its sign. */
static void measure_noise_of_backward(at_checker *c)
{
    at_stream of_u = {c->options.seed, 2};
    const double spacing = 0x1p-5;
    draw_direction(c, ldexp(1 / spacing, FINE_SPACING));
    for (ptrdiff_t k = 0; k < c->m; k++) c->w[k] = 0.5 + at_random_unit(of_u, (uint64_t)k);
    noise_of(c, backward_at, c->n, c->a, spacing, c->ra);
    noise_of(c, backward_at, c->n, c->a, -spacing, c->y[3]);
    for (ptrdiff_t i = 0; i < c->n; i++) {
        const double louder = fmax(c->ra[i], c->y[3][i]);
        c->ra[i] = isfinite(louder) ? louder : 0;
    }
    memcpy(c->u, c->u_kept, (size_t)c->m * sizeof *c->u);
}

static void keep_loudest(double *r, const double *next, ptrdiff_t n)
{
    for (ptrdiff_t k = 0; k < n; k++)
        if (isfinite(next[k])) r[k] = fmax(r[k], next[k]);
}

/* v and w for spacings of 2^-20, so that x0 and u stay floats, or of the last of fewer bits. */
static double draw_short_steps(at_checker *c, int draw)
{
    const double least = c->bits == 24 ? 8 : 1, more = c->bits == 24 ? 16 : 1;
    at_stream of_x = {c->options.seed, 2 * (uint64_t)draw + 1};
    at_stream of_u = {c->options.seed, 2 * (uint64_t)draw + 2};
    for (ptrdiff_t i = 0; i < c->n; i++)
        c->v[i] = at_float_scale(c->x0[i]) * rint(least + more * at_random_unit(of_x, (uint64_t)i));
    for (ptrdiff_t k = 0; k < c->m; k++)
        c->w[k] = at_float_scale(c->u[k]) * rint(least + more * at_random_unit(of_u, (uint64_t)k));
    return ldexp(draw % 2 ? -1 : 1, -at_short_bits(c->bits));
}

enum { DRAWS = 8 };

/* The same in float, where backward is as noisy as forward: r_k and the noise of a_i, the loudest
 * of eight draws, all at exact floats. */
static void measure_float_noise(at_checker *c)
{
    for (int draw = 0; draw < DRAWS; draw++) {
        const double spacing = draw_short_steps(c, draw);
        if (c->is_float) noise_of(c, evaluate_at, c->m, c->y0, spacing, c->y[3]);
        if (c->is_float) keep_loudest(c->r, c->y[3], c->m);
        noise_of(c, backward_at, c->n, c->a, spacing, c->y[3]);
        keep_loudest(c->ra, c->y[3], c->n);
        memcpy(c->u, c->u_kept, (size_t)c->m * sizeof *c->u);
    }
    for (ptrdiff_t i = 0; i < c->n; i++) /* and a itself was rounded */
        c->ra[i] = fmax(c->ra[i], isfinite(c->a[i]) ? ldexp(fabs(c->a[i]), -c->bits) / 6 : 0);
}

void at_measure_noise_of_forward(at_checker *c)
{
    memset(c->r, 0, (size_t)c->m * sizeof *c->r);
    memset(c->jump, 0, (size_t)c->m * sizeof *c->jump);
    for (int draw = 0; draw < DRAWS; draw++) {
        noise_of(c, beside_twin_at, c->m, c->jump, draw_short_steps(c, draw), c->largest);
        keep_loudest(c->r, c->largest, c->m);
    }
}

void at_measure_noise(at_checker *c)
{
    if (!c->is_float) measure_double_noise(c);
    if (c->bits < 53) measure_float_noise(c);
}

static double greater(double a, double b) /* fmax without its care for a NaN in a */
{
    return b > a ? b : a;
}

static double digit_of(const at_checker *c)
{
    return !c->is_float ? DBL_EPSILON / 4 : ldexp(c->bits == 24 ? 1 : 0.4, -c->bits);
}

/* The noise of y_k at the step now measured, from x to x + 2h; and that of hidden values. */
static double noise_at_step(at_checker *c, ptrdiff_t k, double h, bool stands_still)
{
    double r = c->r[k], size = fabs(c->y0[k]);
    for (int j = 0; j < 4; j++) size = greater(size, fabs(c->y[j][k]));
    if (isfinite(size)) c->largest[k] = greater(c->largest[k], size);
    const double terms = c->x_size + 2 * h, largest = c->largest[k];
    size = greater(size, stands_still || largest < terms ? largest : terms);
    return isfinite(size) ? greater(r, digit_of(c) * size) : r;
}

/* ------------------------------------------------------------------ one step ------------------- */

/* In f16 and bf16 there are but a few steps. */
static bool has_few_steps(const at_checker *c)
{
    return c->is_float && c->bits < 24;
}

/* What a direction moves this x by: an x that is tiny beside others may be as near to a pole. */
static double unit_along(const at_checker *c, double x, double largest)
{
    if (has_few_steps(c) && x != 0) return at_float_scale(x);
    const bool beside = x != 0 && fabs(x) < TINY && largest >= TINY;
    return beside && !c->is_float ? at_float_scale(x) : size_of_element(x);
}

/* v = direction p, in which what is infinite stays where it is, or the axis of element p; returns
 * the unit of steps along it. */
static double aim_at(at_checker *c, ptrdiff_t p)
{
    bool along = p >= c->elements;
    at_stream s = {c->options.seed, 4 + (uint64_t)(p - c->elements)};
    const double largest = along ? at_largest(c->x0, c->n) : 0;
    for (ptrdiff_t i = 0; i < c->n; i++) {
        double v = along ? at_random_normal(s, (uint64_t)i) : i == p;
        if (c->is_float) v = rint(16 * v) / 16;
        if (p >= c->on_unknown && c->probe[i].verdict == ATTIC_PASS) v = 0;
        if (along) v = isfinite(c->x0[i]) ? unit_along(c, c->x0[i], largest) * v : 0;
        c->v[i] = v;
    }
    memset(c->moves, 0, (size_t)c->m * sizeof *c->moves);
    memset(c->largest, 0, (size_t)c->m * sizeof *c->largest);
    c->x_size = along ? (double)INFINITY : fabs(c->x0[p]);
    return along ? 1 : size_of_element(c->x0[p]);
}

/* The slope of L = sum_k u_k y_k along v, by differences with h = 2^step unit.  Differences are
 * taken of each y_k before they are added up: what does not move adds no rounding.  When h is half
 * of what it was in the call before, two of the points are known. */
static at_slope slope_at(at_checker *c, double unit, int step, bool halved)
{
    double *y[4] = {c->y[2], c->y[3], c->y[0], c->y[1]}, h = ldexp(unit, step);
    memcpy(c->y, y, sizeof y);
    evaluate_at(c, h, c->y[0]);
    evaluate_at(c, -h, c->y[1]);
    if (!halved) {
        evaluate_at(c, 2 * h, c->y[2]);
        evaluate_at(c, -2 * h, c->y[3]);
    }

    at_slope s = {.h = h};
    const double farthest = ldexp(unit, c->precision.largest_step);
    double squares = 0, hidden = 0, kinks = 0, still = 0;
    for (ptrdiff_t k = 0; k < c->m; k++) {
        double u = c->u[k];
        double right1 = difference_of(c->y[0][k], c->y0[k]);
        double left1 = difference_of(c->y[1][k], c->y0[k]);
        double right2 = difference_of(c->y[2][k], c->y0[k]);
        double left2 = difference_of(c->y[3][k], c->y0[k]);
        bool stands_still = right1 == 0 && left1 == 0 && right2 == 0 && left2 == 0;
        double rounding = 6 * fabs(u) * noise_at_step(c, k, h, stands_still) / h;
        if (!stands_still) c->moves[k] = 1;
        if (c->moves[k] == 0) { /* not at the largest step, either */
            const double rest = 2 * digit_of(c) * fabs(u * c->y0[k]) / farthest;
            hidden += isfinite(rest) ? rest * rest : 0;
            still += fabs(u);
            continue;
        }

        s.size += fabs(u) * c->largest[k];
        s.squares += u * u * c->y0[k] * c->y0[k];
        s.right1 += u * right1, s.left1 += u * left1;
        s.right2 += u * right2, s.left2 += u * left2;
        double right = u * (4 * right1 - right2) / (2 * h);
        double left = u * (left2 - 4 * left1) / (2 * h);
        s.n += u * (8 * (right1 - left1) - (right2 - left2)) / (12 * h);
        s.three += u * (right1 - left1) / (2 * h);
        s.bound += rounding;
        squares += rounding * rounding;
        s.low += left < right ? left : right;
        s.high += left < right ? right : left;
        const double jump = fabs(right - left);
        const bool bends = halved ? 3 * jump < c->jump[k] /* like h^2: smoothly */
                                  : jump < 0.01 * (fabs(right) + fabs(left));
        if (!bends && jump > rounding) kinks += jump;
        c->jump[k] = jump;
    }
    s.jump = s.high - s.low;
    s.jump_bound = s.bound;
    s.bound = c->is_float ? sqrt(squares + hidden) : s.bound + sqrt(hidden);
    if (s.size == 0) s.bound += 2 * digit_of(c) * still * fmin(c->x_size, 1) / farthest;
    s.bound += kinks;
    return s;
}

/* ------------------------------------------------------------------ many steps ----------------- */

/* How well n of step j is known, by the steps beside it.  Both of these count, since two may agree
 * by chance; and four times, since slopes that approach theirs slowly have further to go.  Where
 * there are few steps it is twice, and what moves by half of n, and by more than rounding, is no
 * slope: a bump that is narrower than all steps looks like 1/h. */
static double unsure_of(const at_checker *c, const at_slope *s, int j)
{
    const double apart = fmax(fabs(s[j - 1].n - s[j].n), fabs(s[j].n - s[j + 1].n));
    const bool few = has_few_steps(c);
    if (few && apart > 2 * s[j].jump_bound && apart > fabs(s[j].n) / 2) return (double)INFINITY;
    return isfinite(apart) ? (few ? 2 : 4) * apart + s[j].bound : (double)INFINITY;
}

/* Do smaller steps contradict step j: three of them, or one by eight times what both may be off?
 * Beyond a pole that is close by, or a bump, large steps agree with each other. */
static bool is_contradicted(const at_checker *c, const at_slope *s, int j, int count)
{
    int n = 0;
    for (int i = j + 1; i + 1 < count; i++) {
        const double apart = fabs(s[i].n - s[j].n), both = unsure_of(c, s, i) + unsure_of(c, s, j);
        n += apart > 8 * both ? 3 : apart > both;
    }
    return n >= 3;
}

/* Do the two sides come apart at smaller steps, by more than rounding or the stairs of hidden
 * terms, and by as much as n?  Then step j is wider than what it should see: a bump, a wave, or
 * units that saturate. */
static bool sides_part(const at_slope *s, int j, int count)
{
    for (int i = j + 1; i < count; i++)
        if (s[i].jump > 10 * s[i].jump_bound && s[i].jump > 3 * s[j].jump &&
            s[i].jump > fabs(s[j].n) && s[i].jump * s[i].h > 0x1p-14 * s[i].size)
            return true;
    return false;
}

/* How far smaller steps are from n of step `best`: n_i is off by rounding / h_i, so this is the
 * rounding that they show, at step `best`.  It may be more than sixth differences have found: on
 * the stairs of log(1 + x^2) near 0, where 1 + x^2 has the last digits of 1, they see one tread.
 * Where both sides look alike, n is 0 at every step; but one-sided slopes part more then as h
 * shrinks, which smooth ones never do. */
static double seen_below(const at_slope *s, int best, int count)
{
    double rounding = 0;
    for (int i = best + 1; i < count; i++) {
        if (isfinite(s[i].n)) rounding = fmax(rounding, fabs(s[i].n - s[best].n) * s[i].h);
        if (s[i].jump >= s[i - 1].jump) rounding = fmax(rounding, s[i].jump * s[i].h / 4);
    }
    return 2 * rounding / s[best].h;
}

/* The step that is known best, or -1. */
static int choose_best_step(const at_checker *c, at_probe *f, const at_slope *s, int count)
{
    int best = -1;
    double least = (double)INFINITY;
    for (int j = 1; j + 1 < count; j++) {
        double unsure = unsure_of(c, s, j);
        if (!(unsure < least) || is_contradicted(c, s, j, count) || sides_part(s, j, count))
            continue;
        best = j;
        f->s = s[j];
        f->n = s[j].n;
        f->bound = least = unsure;
    }
    if (best >= 0) f->bound = fmax(f->bound, seen_below(s, best, count));
    return best;
}

/* Does every halving of the step multiply the jump by a factor in low..high? */
static bool jumps_go_like(const at_slope *s, int count, double low, double high)
{
    for (int j = 1; j < count; j++) {
        double factor = s[j].jump / s[j - 1].jump;
        if (!(factor > low && factor < high)) return false;
    }
    return true;
}

/* Around the best step: the two sides of a kink stay apart as h shrinks, across a jump they part
 * like 1/h, smooth ones meet like h^2. */
static bool is_at_kink(const at_slope *s, int count, int best)
{
    const int span = 7;
    int from = best + span <= count ? best : count - span;
    if (!(s[best].jump > 50 * s[best].jump_bound)) return false;
    return jumps_go_like(s + from, span, 0.6, 1.4) || jumps_go_like(s + from, span, 1.9, 2.1);
}

/* In float, down to this step x0 + h v is a float: x0 is short. */
static int smallest_step(const at_checker *c, ptrdiff_t p)
{
    if (!c->is_float) return SMALLEST_STEP;
    const int bits = at_short_bits(c->bits);
    if (p >= c->elements) return c->bits == 24 ? 4 - bits : -bits;
    int step = ilogb(fmin(at_float_scale(c->x0[p]), 1)) - bits;
    return c->x0[p] == 0 || step < SMALLEST_STEP ? SMALLEST_STEP : step;
}

static double tiny_of(const at_checker *c, ptrdiff_t p)
{
    return p < c->elements ? c->x0[p] : at_largest(c->x0, c->n);
}

/* Is this double much smaller than the steps?  A pole or a kink at 0 is as near as that, so steps
 * in units of |x| follow. */
static bool is_tiny(const at_checker *c, ptrdiff_t p)
{
    const double x = c->is_float ? 1 : fabs(tiny_of(c, p));
    return x > 0x1p-900 && x < TINY;
}

void at_sweep_steps(at_checker *c, ptrdiff_t p, at_probe *f)
{
    at_slope s[MOST_STEPS] = {0};
    const int largest = c->precision.largest_step;
    int count = 1 + largest - smallest_step(c, p);
    double unit = aim_at(c, p);
    for (int j = 0; j < count; j++) s[j] = slope_at(c, unit, largest - j, j > 0);
    for (int j = 0, far = count; is_tiny(c, p) && j < far; j++)
        s[count++] = slope_at(c, at_float_scale(tiny_of(c, p)), largest - j, j > 0);

    int best = choose_best_step(c, f, s, count);
    f->swept = true;
    if (p < c->elements) at_look_for_kink(c, f, s, count);
    const bool too_few = best < 0 && has_few_steps(c);
    f->at_kink = best < 0 ? !too_few : is_at_kink(s, count, best);
    if (best < 0) f->n = too_few ? 0 : (double)NAN;
    if (too_few) f->bound = (double)INFINITY;
    if (f->at_kink) f->bound = best < 0 ? (double)INFINITY : s[best].jump;
}

#define TANGENT_LEAST 1e-120 /* of a direction of size 1: smaller ones are 0 in dual numbers */

/* e = sum_k u_k t_k with the tangents t of y along v.  Rounding moves it, and a, by about as
 * much as the y_k that move, where these change by their own size over s. */
static void measure_exact(at_checker *c, at_probe *f)
{
    double *t = c->y[0], noise = 0;
    f->e = (double)NAN;
    if (!c->exact || !c->exact(c->x0, c->v, t, c->ctx)) return;
    f->e = 0;
    for (ptrdiff_t k = 0; k < c->m; k++) {
        if (t[k] == 0) continue;
        f->e += c->u[k] * t[k];
        noise += fabs(c->u[k]) * c->r[k];
    }
    f->e_bound = 64 * noise / f->unit;
    if (f->a != 0 && fabs(f->a) < TANGENT_LEAST) f->e = (double)NAN;
}

/* Along v, a = sum_i dL/dx_i v_i; its noise adds up in squares. */
static double noise_along_v(const at_checker *c)
{
    double squares = 0;
    for (ptrdiff_t i = 0; i < c->n; i++)
        if (c->v[i] != 0) squares += c->ra[i] * c->ra[i] * c->v[i] * c->v[i];
    return 6 * sqrt(squares);
}

/* Terms of a, as large as u_k y_k, that have cancelled leave the last digit of a float, which no
 * noise shows where they stand still: 1 - y^2 of a tanh far out.  Only an a as small as that may be
 * made of it. */
static double hidden_in_a(const at_checker *c, const at_probe *f)
{
    double squares = 0;
    for (ptrdiff_t i = 0; i < c->n; i++) squares += c->v[i] * c->v[i];
    const double hidden = ldexp(sqrt(f->s.squares * squares), 2 - c->bits);
    return fabs(f->n) < 4 * hidden ? hidden : 0;
}

double at_n_by_elements(at_checker *c, ptrdiff_t p, double *bound)
{
    double n = 0;
    aim_at(c, p);
    *bound = 0;
    for (ptrdiff_t i = 0; i < c->elements; i++) {
        if (c->v[i] == 0) continue;
        n += c->probe[i].n * c->v[i];
        *bound += c->probe[i].bound * fabs(c->v[i]);
    }
    return n;
}

void at_measure_noise_of_a(at_checker *c, ptrdiff_t p, at_probe *f)
{
    if (c->bits < 53) return;
    if (!c->backward_measured) measure_noise_of_backward(c);
    c->backward_measured = true;
    aim_at(c, p);
    f->a_noise = 3 * noise_along_v(c); /* for safety: it is far below all derivatives but 0 */
}

void at_measure_probe(at_checker *c, ptrdiff_t p)
{
    at_probe *f = &c->probe[p];
    *f = (at_probe){.verdict = ATTIC_PASS, .unit = aim_at(c, p)};
    f->along = p >= c->elements;
    ptrdiff_t from = f->along ? 0 : p, to = f->along ? c->n : p + 1;
    for (ptrdiff_t i = from; i < to; i++) f->a += c->a[i] * c->v[i];
    f->a_noise = c->bits < 53 ? noise_along_v(c) : 0;
    measure_exact(c, f);
    if (c->is_float) {
        at_sweep_steps(c, p, f);
    } else {
        f->s = slope_at(c, f->unit, FIRST_STEP, false);
        f->n = f->s.n;
        f->bound = f->s.bound;
    }
    if (c->options.twin && c->bits >= 24) f->a_hidden = hidden_in_a(c, f);
}

void at_refine_probe(at_checker *c, ptrdiff_t p, at_probe *f, double tolerance)
{
    at_slope s[3];
    double unit = aim_at(c, p);
    for (int j = 0; j < 3; j++) s[j] = slope_at(c, unit, FIRST_STEP + 1 - j, j > 0);
    choose_best_step(c, f, s, 3);
    if (f->bound - f->s.bound <= 0.01 * tolerance) return;
    at_probe better = *f;
    at_sweep_steps(c, p, &better);
    if (isfinite(better.n)) *f = better;
}
