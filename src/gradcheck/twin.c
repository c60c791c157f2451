/* twin.c -- forward once more, in double: what differences can be taken of.
 *
 * A forward in float leaves n three digits or four, one in bf16 less than two: gradcheck_float.c.
 * A twin computes the same function in double.  Differences of it have all the digits that a
 * double's have, at the usual steps, and of backward only its own rounding is left to allow for.
 *
 * But n is then the derivative of the twin.  It is that of forward if both are the same function up
 * to rounding, and this is looked at where forward can be called: at x, on both sides of every
 * element, and on both sides along directions.  How large may rounding be?  forward - twin is rough
 * where it is rounding, and smooth where the two are different functions.  So its sixth differences
 * (differences.c) are the rounding r_k alone, and with b bits in an output they may be apart by
 *
 *     |forward_k - twin_k| <= 8 r_k + 2^-b (c |y_k| + 32 max|y_k|)
 *
 * where c is 128, for constants that are not exact in float either, or 4 for b = 8 and 11; the
 * maximum is over some x up to its size (1 at least) more or less, for terms as large as that may
 * have cancelled, and it is taken times 2^-24 in f16 and bf16, which sum in float.  r_k is measured
 * at x, and grows with |y_k| elsewhere.
 *
 * A forward whose outputs are floats may have rounded its inputs, or what is inside, to f16 or
 * bf16: then r_k shows over wider steps.  So what 24 bits do not explain is tried once more with
 * 11, if the two are on average closer than 2^-11, or else with 8; what 11 do not, with 8. */
#include "gradcheck/checker.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/rng.h"
#include "tensor/decimal.h"

enum { TWIN_DIRECTIONS = 4, SAMPLES = 24 };

typedef struct { /* an output in which forward and its twin are too far apart */
    ptrdiff_t k;
    double y, twin, allowed;
} disparity;

/* The right side of that. */
static double allowed_of(const at_checker *c, ptrdiff_t k, double y, double twin, int bits_of_y)
{
    const double size = fmax(fabs(y), fabs(twin)), y0 = fabs(c->forward0[k]);
    const double grown = y0 > 0 && isfinite(y0) ? fmax(1, size / y0) : 1;
    const bool narrow = at_bits_of(y) <= c->bits && c->bits < 24; /* as constants may be */
    const double digit = narrow ? ldexp(4, -c->bits) : ldexp(bits_of_y < 24 ? 4 : 128, -bits_of_y);
    const double least = bits_of_y == 53 ? DBL_MIN : bits_of_y == 11 ? 0x1p-24 : (double)FLT_MIN;
    const double cancelled = ldexp(32 * c->largest[k], bits_of_y == 53 ? -53 : -24);
    return 8 * c->r[k] * grown + digit * size + cancelled + least;
}

static bool is_alike(double y, double twin, double allowed, int bits_of_y)
{
    const double most = bits_of_y == 53 ? DBL_MAX : bits_of_y == 11 ? 65504 : (double)FLT_MAX;
    if (isnan(y) || isnan(twin)) return isnan(y) && isnan(twin);
    if (isinf(y)) return y > 0 ? twin > most : twin < -most;
    return fabs(y - twin) <= allowed;
}

/* Are both the same at x?  Works in y[0] and y[1]. */
static bool is_alike_here(at_checker *c, int bits_of_y, disparity *a)
{
    at_call_forward(c, c->y[0]);
    at_call_twin(c, c->y[1]);
    for (ptrdiff_t k = 0; k < c->m; k++) {
        const double y = c->y[0][k], twin = c->y[1][k];
        const double allowed = allowed_of(c, k, y, twin, bits_of_y);
        if (is_alike(y, twin, allowed, bits_of_y)) continue;
        *a = (disparity){k, y, twin, allowed};
        return false;
    }
    return true;
}

/* v = the axis of element p, or a direction, for steps of 1/16 of x or more. */
static void draw_v(at_checker *c, ptrdiff_t p)
{
    const bool along = p >= c->elements;
    at_stream s = {c->options.seed, 0x7477696e + (uint64_t)(p - c->elements)};
    for (ptrdiff_t i = 0; i < c->n; i++) {
        const double size = along ? 4 * at_random_unit(s, (uint64_t)i) - 2 : i == p;
        c->v[i] = isfinite(c->x0[i]) ? size * at_float_scale(c->x0[i]) : 0;
    }
}

/* The first place where they differ, as a sentence; false: there is none. */
static bool finds_difference(at_checker *c, int bits_of_y, disparity *a, char place[160])
{
    const ptrdiff_t probes = c->elements + (c->n ? TWIN_DIRECTIONS : 0);
    snprintf(place, 160, "at x");
    if (c->n) memcpy(c->x, c->x0, (size_t)c->n * sizeof *c->x);
    if (!is_alike_here(c, bits_of_y, a)) return true;
    for (ptrdiff_t p = 0; p < probes; p++)
        for (int side = 1; side >= -1; side -= 2) {
            draw_v(c, p);
            at_step_aside(c, side / 16.0, c->bits);
            if (is_alike_here(c, bits_of_y, a)) continue;
            snprintf(place, 160, "near x");
            if (p >= c->elements) return true;
            at_name_element(c, "x", p);
            snprintf(place, 160, "where %.60s is %s in place of %s", c->report.where,
                     at_short_text(c->x[p], 5), at_short_text(c->x0[p], 5));
            return true;
        }
    return false;
}

static bool report_difference(at_checker *c, const disparity *a, const char *place)
{
    at_gradcheck_report *r = &c->report;
    r->verdict = ATTIC_MISMATCH;
    at_name_element(c, "y", a->k);
    r->analytic = a->y;
    r->numeric = a->twin;
    snprintf(r->reason, sizeof r->reason,
             "the twin is not forward: %.80s, y[%td] is %.16s by forward and %.16s by the twin, "
             "of which rounding explains %.8s",
             place, a->k, at_short_text(a->y, 8), at_short_text(a->twin, 8),
             at_short_text(a->allowed, 2));
    return true;
}

/* A twin that keeps no rule is none. */
static bool breaks_rules(at_checker *c)
{
    at_gradcheck_report *r = &c->report;
    if (c->n) memcpy(c->x, c->x0, (size_t)c->n * sizeof *c->x);
    at_call_twin(c, c->y0);
    if (c->n && memcmp(c->x, c->x0, (size_t)c->n * sizeof *c->x) != 0)
        snprintf(r->reason, sizeof r->reason, "the twin changes its input");
    else if (c->outside[0])
        snprintf(r->reason, sizeof r->reason, "%s", c->outside);
    else if (at_bits_of_outputs(c, at_call_twin, 24) <= 24)
        snprintf(r->reason, sizeof r->reason,
                 "the twin computes in float: its differences are no better than those of forward");
    c->outside[0] = '\0';
    return r->reason[0] != '\0';
}

/* largest[k] = max|y_k| of the twin, with x up to its size more or less */
static void measure_largest(at_checker *c)
{
    memset(c->largest, 0, (size_t)c->m * sizeof *c->largest);
    for (int sample = 0; sample < SAMPLES; sample++) {
        at_stream s = {c->options.seed, 0x6c61726765 + (uint64_t)sample};
        for (ptrdiff_t i = 0; i < c->n; i++)
            c->x[i] = c->x0[i] + (2 * at_random_unit(s, (uint64_t)i) - 1) * fmax(1, fabs(c->x0[i]));
        at_call_twin(c, c->y[0]);
        for (ptrdiff_t k = 0; k < c->m; k++)
            if (isfinite(c->y[0][k])) c->largest[k] = fmax(c->largest[k], fabs(c->y[0][k]));
    }
}

/* Has forward 11 bits inside rather than 8?  By its distance from the twin, at x of 11 bits. */
static int bits_inside(at_checker *c)
{
    double apart = 0, size = 0;
    for (int sample = 0; sample < SAMPLES; sample++) {
        at_stream s = {c->options.seed, 0x696e + (uint64_t)sample};
        for (ptrdiff_t i = 0; i < c->n; i++)
            c->x[i] = at_rounded(c->x0[i] * (1 + at_random_unit(s, (uint64_t)i) / 16), 11);
        at_call_forward(c, c->y[0]);
        at_call_twin(c, c->y[1]);
        for (ptrdiff_t k = 0; k < c->m; k++) {
            const double d = c->y[0][k] - c->y[1][k], y = c->y[1][k];
            if (isfinite(d)) apart += d * d, size += y * y;
        }
    }
    return apart < 0x1p-22 * size ? 11 : 8;
}

bool at_twin_differs(at_checker *c)
{
    const int bits_of_y = c->bits;
    disparity a = {0}, again;
    char place[160], place_again[160];
    if (breaks_rules(c)) return true;
    at_measure_noise_of_forward(c);
    measure_largest(c);
    if (finds_difference(c, bits_of_y, &a, place)) {
        if (bits_of_y == 53 || bits_of_y == 8) return report_difference(c, &a, place);
        at_round_to(c, bits_of_y == 24 ? bits_inside(c) : 8);
        at_measure_noise_of_forward(c);
        measure_largest(c);
        if (finds_difference(c, bits_of_y, &again, place_again))
            return report_difference(c, &a, place);
    }
    if (c->n) memcpy(c->x, c->x0, (size_t)c->n * sizeof *c->x);
    at_call_twin(c, c->y0);
    memset(c->r, 0, (size_t)c->m * sizeof *c->r);
    return false;
}
