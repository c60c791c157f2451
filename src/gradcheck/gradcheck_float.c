/* gradcheck_float.c -- a function of floats is a staircase; how to see its slope all the same.
 *
 * A float has 24 bits.  A function that computes in float, handed a double x, first rounds it: it
 * sees nothing of a step of 2^-36, and what it returns is a staircase whose treads are 2^-24 of x
 * wide and whose risers are 2^-24 of y high.
 *
 *      y |            __.-'          a tread is flat: its slope is 0;
 *        |        __|                across a riser the slope is anything;
 *        |    __|                    only a step over many treads sees the hill
 *        +---------------- x
 *
 * The hill is what backward differentiates.  With d = 2^-24 in place of 2^-53, the errors of two
 * points, d/h + h^2/6, are least at h = (3d)^(1/3) and leave d^(2/3) = 1.5e-5; those of five points
 * (see gradcheck.c) at h = (45/4 d)^(1/5) = 2^-4, and leave d^(4/5) = 2e-6, times the factor 6 for
 * safety, times the number of digits that the function itself loses.  So 1e-3 is a common
 * resolution.
 *
 * WHO COMPUTES IN FLOAT?  Take a few x near x0 that are no floats.  There, the copies, sums and
 * maxima of a double function are no floats, either: a y_k that is one, and moves, has been rounded
 * to it.  Or its inputs were, and their sum runs in double: then y_k stands still when every x
 * moves by 1/8 of a float's last digit, while a larger step shows that it would have moved.
 *
 * EXACT STEPS.  The rounding of x + h would be divided by h as the rounding of y is.  So x is
 * rounded to 20 bits: x + h is a float then for h = 2^-20 |x| and all larger powers of two.
 *
 * WHICH STEP?  h = 2^-4 suits exp, but not a layer norm of values that are 1000 +- 1.  So all steps
 * are tried, from |x|/2 down.  Slopes with small h are known badly, but are wrong by no more than
 * their bound.  A larger h is not believed where three smaller ones contradict it by more than all
 * may be off (after Lepski's rule, 1990): there the hill has begun to bend.  Among the others the
 * best is chosen, as for doubles.  Beginning with large steps would be wrong: at some distance from
 * a bump, all of them agree that there is none.
 *
 * F16 AND BF16 are the same picture once more, with treads of 2^-11 and 2^-8 and few steps, from
 * x/2 down to the last bit of x: n has one digit or two.  Half of a last bit is 2^-b |y_k| just
 * above a power of two and half as much just below; the root mean square of an error that is evenly
 * spread is 0.58 of the largest.  So y_k is off by 0.4 2^-b |y_k|, and by what is measured.
 *
 * NOISE of y_k is measured by sixth differences, over distances of 2^-17 x, but at least 2^-24 of
 * the largest |y_k| in sight; it grows with the square root of the number of outputs, for their
 * signs u_k are random.  Three things hide from sixth differences: a y_k that stands still, but
 * moved at a larger step, counts with its last digit there; one that never moved, with half of its
 * last digit over the largest step; and one may be the small rest of terms as large as x that
 * cancelled (1 + tanh(x) in a gelu at x = -5), if y_k becomes as large as that elsewhere.  The
 * rounding of a is measured by sixth differences as well, with x and the upstream gradient moving
 * together, so that even a linear function shows some. */
#include "gradcheck/checker.h"

#include <math.h>
#include <string.h>

#include "kernels/rng.h"
#include "tensor/arena.h"

double at_float_scale(double x)
{
    int exponent;
    frexp(x, &exponent);
    return ldexp(1, exponent);
}

static double nearest(double x, int bits)
{
    const double last_bit = ldexp(at_float_scale(x), -bits);
    return isfinite(x) ? rint(x / last_bit) * last_bit : x;
}

int at_short_bits(int bits)
{
    return bits == 24 ? 20 : bits;
}

double at_short(double x, int bits)
{
    return bits == 53 ? x : (double)(float)nearest(x, at_short_bits(bits));
}

double at_rounded(double x, int bits)
{
    return bits == 53 ? x : bits == 24 ? (double)(float)x : nearest(x, bits);
}

/* ------------------------------------------------------------------ who computes in float? ------ */

enum { FEWEST_POINTS = 4, POINTS_BY_X = 12, MOST_POINTS = 24 };
typedef enum { THERE, A_HAIR_AWAY, FURTHER_AWAY } vantage;

/* Of the points from x0, in units of 2^-10 x0: 1, 8, 64 and from then on 512; at last, if x0 is
 * tiny, of 2^-13. */
static double distance_of(int point)
{
    return ldexp(1, point < 3 ? 3 * point : 9);
}

/* A float near x0 plus 1/16 to 1/8 of its last bit.  A hair is as much again, further 2^-14 of
 * x. */
static double near_float(double x0, at_stream s, int point, uint64_t i, vantage v)
{
    double distance = distance_of(point);
    double shift = 2 * at_random_unit(s, 2 * i) - 1, bits = 1 + at_random_unit(s, 2 * i + 1);
    double scale = point < POINTS_BY_X ? at_float_scale(x0) : fmax(at_float_scale(x0), 0.125);
    double base = (double)(float)(x0 + scale * 0x1p-10 * distance * shift);
    double away = v == A_HAIR_AWAY    ? 0x1p-28 * (3 - bits)
                  : v == FURTHER_AWAY ? 0x1p-14 * distance * bits
                                      : 0;
    return base + at_float_scale(base) * (0x1p-28 * bits + away);
}

/* +1: y_k looks like float here, -1: like double, 0: it does not move enough to tell. */
static int looks_like_float(const at_checker *c, ptrdiff_t k, int point)
{
    double there = c->y[THERE][k], hair = c->y[A_HAIR_AWAY][k], further = c->y[FURTHER_AWAY][k];
    if (there == further || !isfinite(there) || !isfinite(further)) return 0;
    if ((double)(float)there == there && (double)(float)further == further) return 1;
    if (hair != there) return -1;
    return fabs(further - there) > distance_of(point) * 0x1p-36 * fabs(there) ? 1 : 0;
}

bool at_computes_in_float(at_checker *c)
{
    double *votes = c->y[3];
    bool decided = false, is_float = false;
    for (ptrdiff_t k = 0; k < c->m; k++) votes[k] = 0;
    for (int point = 0; point < FEWEST_POINTS || (point < MOST_POINTS && !decided); point++) {
        at_stream s = {c->options.seed, 0x666c6f61 + (uint64_t)point};
        for (int v = THERE; v <= FURTHER_AWAY; v++) {
            for (ptrdiff_t i = 0; i < c->n; i++)
                c->x[i] = near_float(c->x0[i], s, point, (uint64_t)i, (vantage)v);
            at_call_forward(c, c->y[v]);
        }
        for (ptrdiff_t k = 0; k < c->m; k++) {
            int vote = looks_like_float(c, k, point);
            votes[k] = vote < 0 ? -(double)INFINITY : votes[k] + vote;
            if (fabs(votes[k]) >= 2) decided = true;
        }
    }
    for (ptrdiff_t k = 0; k < c->m; k++) is_float = is_float || votes[k] >= 2;
    return is_float;
}

/* ------------------------------------------------------------------ how many bits? --------------- */

enum { F16_BITS = 11, BF16_BITS = 8, ENOUGH = 32, MOST_VALUES = 64, FEWEST_SAMPLES = 8 };
enum { MOST_SAMPLES = 256 };

int at_bits_of(double y)
{
    int exponent, bits = 0;
    if (!isfinite(y)) return 0;
    for (y = frexp(fabs(y), &exponent); y > 0; bits++) y = 2 * y - floor(2 * y);
    return bits;
}

/* x = x0 and up to half of it more or less, times a number from 1/16 to 16, or with up to so many
 * times its size added. */
static void sample_x(at_checker *c, int sample)
{
    at_stream s = {c->options.seed, 0x62697473 + (uint64_t)sample};
    const double power = floor(8 * at_random_unit(s, (uint64_t)c->n)) - 4;
    const double times = ldexp(1 + at_random_unit(s, (uint64_t)c->n + 1), (int)power);
    for (ptrdiff_t i = 0; i < c->n; i++) {
        const double x = c->x0[i], shift = 2 * at_random_unit(s, (uint64_t)i) - 1;
        const double moved[] = {x + shift * times * fmax(1, fabs(x)), x + shift * x / 2, x * times};
        if (isfinite(x)) c->x[i] = moved[sample % 3];
    }
}

typedef struct { /* distinct values, no integers but large ones, with at most so many bits */
    int bits, count, full; /* full: that have all of them */
    double value[MOST_VALUES];
    double largest, last; /* the lowest bit of all of them */
} collection;

static void collect(collection *all, double y)
{
    const int bits = at_bits_of(y);
    int i = 0;
    while (i < all->count && all->value[i] != y) i++;
    if (i < all->count || i == MOST_VALUES || bits == 0 || bits > all->bits) return;
    if (y == rint(y) && fabs(y) < ldexp(1, all->bits)) return;
    const double last = ldexp(1, ilogb(y) + 1 - bits);
    all->largest = fmax(all->largest, fabs(y));
    all->last = all->count ? fmin(all->last, last) : last;
    all->value[all->count++] = y;
    all->full += bits == all->bits;
}

/* Or are they multiples of 1/16, say?  Then large ones have more bits than small ones; of what is
 * rounded to so many bits every other one has all, and as multiples of the lowest bit large ones
 * would have more. */
static bool is_rounded(const collection *all)
{
    const bool floats = all->largest >= ldexp(all->last, all->bits + 2);
    return all->count >= ENOUGH && (floats || 8 * all->full >= 3 * all->count);
}

/* The bits that each y_k needs at most, in y[1]; true while some need no more than `few`. */
static bool needs_few_bits(at_checker *c, at_call_fn *call, int samples, int few)
{
    bool any = c->m > 0;
    memset(c->y[1], 0, (size_t)c->m * sizeof(double));
    for (int i = 0; i < samples && any; i++) {
        any = false;
        sample_x(c, i);
        call(c, c->y[0]);
        for (ptrdiff_t k = 0; k < c->m; k++) {
            c->y[1][k] = fmax(c->y[1][k], at_bits_of(c->y[0][k]));
            any = any || c->y[1][k] <= few;
        }
    }
    return any;
}

int at_bits_of_outputs(at_checker *c, at_call_fn *call, int most)
{
    collection of[] = {{.bits = BF16_BITS}, {.bits = F16_BITS}, {.bits = 24}};
    const ptrdiff_t rest = MOST_SAMPLES / (c->m ? c->m : 1);
    const int samples = rest < FEWEST_SAMPLES ? FEWEST_SAMPLES : (int)rest;
    const bool any = needs_few_bits(c, call, samples, most);
    for (int i = 0; i < samples && any; i++) {
        sample_x(c, i);
        call(c, c->y[0]);
        for (ptrdiff_t k = 0; k < c->m; k++)
            for (int j = 0; j < 3; j++)
                if (c->y[1][k] <= of[j].bits) collect(&of[j], c->y[0][k]);
    }
    if (c->n) memcpy(c->x, c->x0, (size_t)c->n * sizeof *c->x);
    for (int j = 0; j < 3 && of[j].bits <= most; j++)
        if (is_rounded(&of[j])) return of[j].bits;
    return most + 1;
}

/* ------------------------------------------------------------------ float callbacks ------------ */

typedef struct {
    at_forward_fn_f32 *forward;
    at_forward_fn *twin;
    at_vjp_fn_f32 *vjp;
    void *ctx;
    ptrdiff_t n, m;
    float *x, *dx; /* [n] */
    float *y, *dy; /* [m] */
} float_function;

/* With what is around them. */
static void narrow(ptrdiff_t n, const double *from, float *to)
{
    for (ptrdiff_t i = -ATTIC_GUARD; i < n + ATTIC_GUARD; i++) to[i] = (float)from[i];
}

static void widen(ptrdiff_t n, const float *from, double *to)
{
    for (ptrdiff_t i = -ATTIC_GUARD; i < n + ATTIC_GUARD; i++) to[i] = (double)from[i];
}

/* What is written where nothing should be is handed back, too, so that the checker notices. */
static void forward_in_float(const double *x, double *y, void *ctx)
{
    float_function *f = ctx;
    narrow(f->n, x, f->x);
    narrow(f->m, y, f->y);
    f->forward(f->x, f->y, f->ctx);
    widen(f->n, f->x, (double *)x);
    widen(f->m, f->y, y);
}

static void twin_in_double(const double *x, double *y, void *ctx)
{
    float_function *f = ctx;
    f->twin(x, y, f->ctx);
}

static void vjp_in_float(const double *x, const double *dy, double *dx, void *ctx)
{
    float_function *f = ctx;
    narrow(f->n, x, f->x);
    narrow(f->m, dy, f->dy);
    narrow(f->n, dx, f->dx);
    f->vjp(f->x, f->dy, f->dx, f->ctx);
    widen(f->n, f->x, (double *)x);
    widen(f->m, f->dy, (double *)dy);
    widen(f->n, f->dx, dx);
}

at_gradcheck_report at_gradcheck_fn_f32(at_forward_fn_f32 *forward, at_vjp_fn_f32 *vjp, ptrdiff_t n,
                                        ptrdiff_t m, const float *x, void *ctx,
                                        at_gradcheck_options options)
{
    at_gradcheck_report r = {.seed = options.seed, .reason = "out of memory"};
    if (!forward || !vjp || (!x && n > 0) || n < 0 || m < 0)
        return at_gradcheck_fn(NULL, NULL, n, m, NULL, ctx, options);
    at_arena a = {0};
    bool fits = n <= PTRDIFF_MAX / 64 && m <= PTRDIFF_MAX / 64;
    const ptrdiff_t around = 2 * ATTIC_GUARD;
    const size_t floats = (size_t)(2 * (n + around) + 2 * (m + around));
    double *wide = fits ? at_arena_alloc(&a, (size_t)n * sizeof *wide) : NULL;
    float *p = wide ? at_arena_alloc(&a, floats * sizeof *p) : NULL;
    if (p) {
        float_function f = {forward, options.twin, vjp, ctx, n, m, NULL, NULL, NULL, NULL};
        f.x = p + ATTIC_GUARD;
        f.dx = f.x + n + around;
        f.y = f.dx + n + around;
        f.dy = f.y + m + around;
        for (ptrdiff_t i = 0; i < n; i++) wide[i] = (double)x[i];
        options.real = ATTIC_F32;
        if (options.twin) options.twin = twin_in_double;
        r = at_gradcheck_fn(forward_in_float, vjp_in_float, n, m, wide, &f, options);
    }
    at_arena_free(&a);
    return r;
}
