/* calls.c -- forward and backward, watched: what do they write?
 *
 * Every vector that they get has 16 elements before and behind it which nobody may write to.
 * And they run twice on results that are filled with different numbers:
 *
 *     filled with        c         -2 c
 *     becomes            c         -2 c          nothing is written
 *                        c + g     -2 c + g      g is added, where it should be written
 *                        g         g             g is written; wrong if it should be added
 *
 * In a sum of calls the first would be a gradient of whatever memory held, the second one of a
 * call before. */
#include "gradcheck/checker.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensor/decimal.h"

#define NOBODYS 0x1.badbacp+100 /* a float, and nothing that a sum would leave unseen */

/* ------------------------------------------------------------------ around the vectors ---------- */

void at_guard(double *v, ptrdiff_t n)
{
    for (int i = 0; i < ATTIC_GUARD; i++) v[-1 - i] = v[n + i] = NOBODYS;
}

static void look_around(at_checker *c, const char *who, const char *vector, double *v, ptrdiff_t n)
{
    for (int i = 0; i < ATTIC_GUARD && !c->outside[0]; i++) {
        const bool behind = !at_same_bits(v[n + i], NOBODYS);
        if (!behind && at_same_bits(v[-1 - i], NOBODYS)) continue;
        snprintf(c->outside, sizeof c->outside, "%s writes outside of %s [%td]: to %s[%td]", who,
                 vector, n, vector, behind ? n + i : -1 - i);
    }
    if (c->outside[0]) at_guard(v, n);
}

static void call_and_look(at_checker *c, at_forward_fn *f, const char *who, double *y)
{
    at_guard(y, c->m);
    f(c->x, y, c->ctx);
    look_around(c, who, "x", c->x, c->n);
    look_around(c, who, "y", y, c->m);
}

void at_call_forward(at_checker *c, double *y)
{
    call_and_look(c, c->forward, "forward", y);
}

void at_call_twin(at_checker *c, double *y)
{
    call_and_look(c, c->options.twin, "the twin", y);
}

void at_call_smooth(at_checker *c, double *y)
{
    (c->options.twin ? at_call_twin : at_call_forward)(c, y);
}

void at_call_backward(at_checker *c, double *dx)
{
    if (c->options.adds && c->n) memset(dx, 0, (size_t)c->n * sizeof *dx);
    at_guard(dx, c->n);
    c->vjp(c->x, c->u, dx, c->ctx);
    look_around(c, "backward", "x", c->x, c->n);
    look_around(c, "backward", "dy", c->u, c->m);
    look_around(c, "backward", "dx", dx, c->n);
}

bool at_writes_outside(at_checker *c)
{
    at_gradcheck_report *r = &c->report;
    if (!c->outside[0]) return false;
    r->checked = r->failed = r->unknown = 0;
    r->where[0] = '\0';
    return at_break_rule(r, c->outside, 0, 0);
}

/* ------------------------------------------------------------------ written or added ------------ */

typedef struct { /* "the gradient of x[3] IS by backward REST" */
    const char *is, *rest;
} phrase;

/* What is wrong with an element that is v after a run on c, and w after one on -2 c?  c is larger
 * than all elements.  g: v after a run on 0, where it should add. */
static phrase mistake_of(bool adds, double c, double v, double w, double g)
{
    const phrase none = {0};
    const bool summed = fabs(v - w - 3 * c) < c / 16;
    if (at_same_bits(v, c) && at_same_bits(w, -2 * c))
        return adds && g == 0 ? none : (phrase){"is not written", ""};
    if (!adds && summed)
        return (phrase){"is added", " to what was there: write it, or set options.adds"};
    if (adds && at_same_bits(v, w) && isfinite(v))
        return (phrase){"is written", ", but should be added to what was there"};
    return none;
}

/* A power of two. */
static double larger_than_all(const double *v, ptrdiff_t n)
{
    const double largest = at_largest(v, n);
    return largest > 0x1p-100 && largest < 0x1p100 ? ldexp(1, ilogb(largest) + 3) : 1024;
}

bool at_breaks_rules_of_writing(at_checker *c, bool backward)
{
    const ptrdiff_t n = backward ? c->n : c->m;
    const bool adds = backward && c->options.adds;
    const double large = larger_than_all(backward ? c->a : c->y0, n);
    for (int k = 0; k < 2; k++) {
        for (ptrdiff_t i = 0; i < n; i++) c->y[k][i] = k ? -2 * large : large;
        if (backward)
            c->vjp(c->x, c->u, c->y[k], c->ctx); /* not on 0 */
        else
            c->forward(c->x, c->y[k], c->ctx);
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        const phrase mistake = mistake_of(adds, large, c->y[0][i], c->y[1][i], adds ? c->a[i] : 0);
        if (!mistake.is) continue;
        char reason[240];
        at_name_element(c, backward ? "x" : "y", i);
        snprintf(reason, sizeof reason, "%s%s %s by %s%s", backward ? "the gradient of " : "",
                 c->report.where, mistake.is, backward ? "backward" : "forward", mistake.rest);
        return at_break_rule(&c->report, reason, 0, 0);
    }
    return false;
}
