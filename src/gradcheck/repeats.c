/* repeats.c -- does the same call give the same values?
 *
 * Only a function that has one value at x has a derivative there.  A backward whose threads race is
 * wrong now and then; so is one that reads memory before it is set.  One run says nothing of that:
 * if a share p of all runs is wrong, R runs at the same x are all right with probability (1-p)^R.
 * So forward and backward run 12 times at each of 8 points, x0 and 7 beside it, and each run is
 * compared with the one before, bit by bit.  Of a share of 5 % that leaves 0.95^96 = 0.7 %
 * unnoticed.  At the end of the check both run at x0 once more: what has a memory is found there.
 *
 * Sums may be rounded otherwise each time, if their terms come in the order in which threads are
 * done (atomic additions).  That is no mistake: it is counted and reported, and the check goes on.
 * How large may it be?  Where much cancels, rounding is large beside the element, but not beside
 * the largest one: up to 2^-33 of that, in float 2^-10, in f16 2^-8, in bf16 2^-5 is taken for
 * rounding. */
#include "gradcheck/checker.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensor/decimal.h"

enum { RUN_AT_POINTS = 8, USUAL_RUNS = 12 };

/* The largest difference between two vectors, and the largest finite value in them. */
typedef struct {
    bool differ;
    ptrdiff_t at;
    double largest, difference;
} disagreement;

static disagreement compare(ptrdiff_t n, const double *once, const double *again)
{
    disagreement d = {0};
    for (ptrdiff_t i = 0; i < n; i++) {
        if (isfinite(once[i])) d.largest = fmax(d.largest, fabs(once[i]));
        if (isfinite(again[i])) d.largest = fmax(d.largest, fabs(again[i]));
        if (at_same_bits(once[i], again[i])) continue;
        double by = fabs(once[i] - again[i]);
        if (isnan(by)) by = (double)INFINITY;
        if (!d.differ || by > d.difference) d.at = i, d.difference = by;
        d.differ = true;
    }
    return d;
}

/* Of sums in another order, at most, as a share of the largest value. */
static double share_of_rounding(int bits)
{
    return bits == 53 ? 0x1p-33 : bits == 24 ? 0x1p-10 : ldexp(1, 3 - bits);
}

/* Compares what two runs have written; what is more than rounding is kept as the worst. */
static void count_pair(at_checker *c, at_repeats *r, ptrdiff_t n, const double *once,
                       const double *again)
{
    disagreement d = compare(n, once, again);
    r->pairs++;
    if (!d.differ) return;
    r->differ++;
    double size = d.largest > 0 ? d.largest : 1;
    double share = d.difference / size, ulp = ldexp(1, 1 - c->bits);
    c->report.ulps = fmax(c->report.ulps, share / ulp);
    if (share <= share_of_rounding(c->bits) || share <= r->worst) return;
    r->worst = share;
    r->at = d.at;
    r->once = once[d.at];
    r->again = again[d.at];
}

static void run(at_checker *c, bool backward, double *to)
{
    ptrdiff_t n = backward ? c->n : c->m;
    for (ptrdiff_t i = 0; i < n; i++) to[i] = (double)NAN;
    if (backward)
        at_call_backward(c, to);
    else
        at_call_forward(c, to);
}

static void run_at_points(at_checker *c, bool backward, at_repeats *r)
{
    const double step = ldexp(1, c->bits < 53 ? -at_short_bits(c->bits) : -30);
    const int runs = c->options.runs > 0 ? c->options.runs : USUAL_RUNS;
    double *once = c->y[0], *again = c->y[1];
    for (int point = 0; point < RUN_AT_POINTS && runs > 1; point++) {
        for (ptrdiff_t i = 0; i < c->n; i++)
            c->x[i] = c->x0[i] + (point ? point * step * at_float_scale(c->x0[i]) : 0);
        for (int k = 0; k < runs; k++) {
            run(c, backward, again);
            if (k) count_pair(c, r, backward ? c->n : c->m, once, again);
            double *spare = once;
            once = again;
            again = spare;
        }
    }
    if (c->n) memcpy(c->x, c->x0, (size_t)c->n * sizeof *c->x);
}

/* Do runs differ by more than rounding?  Then the report says so. */
static bool is_race(at_checker *c, const char *function, const char *vector, const at_repeats *r)
{
    at_gradcheck_report *report = &c->report;
    report->pairs += r->pairs;
    report->differ += r->differ;
    if (!(r->worst > 0)) return false;
    report->verdict = ATTIC_RACE;
    at_name_element(c, vector, r->at);
    report->analytic = r->once;
    report->numeric = r->again;
    if (r->pairs > 1)
        snprintf(report->reason, sizeof report->reason,
                 "%s gives other values when it runs again, in %td of %td pairs of runs: threads "
                 "race, memory is not set, or numbers are drawn anew",
                 function, r->differ, r->pairs);
    else
        snprintf(report->reason, sizeof report->reason,
                 "%s gives other values at the end of the check: it keeps something from call to "
                 "call, or threads race now and then",
                 function);
    return true;
}

bool at_forward_races(at_checker *c)
{
    at_repeats r = {0};
    run_at_points(c, false, &r);
    return is_race(c, "forward", "y", &r);
}

bool at_backward_races(at_checker *c)
{
    at_repeats r = {0};
    run_at_points(c, true, &r);
    return is_race(c, "backward", "x", &r);
}

bool at_has_changed(at_checker *c)
{
    at_repeats y = {0}, a = {0};
    if (c->n) memcpy(c->x, c->x0, (size_t)c->n * sizeof *c->x);
    run(c, false, c->y[0]);
    count_pair(c, &y, c->m, c->forward0, c->y[0]);
    run(c, true, c->y[0]);
    count_pair(c, &a, c->n, c->a, c->y[0]);
    return is_race(c, "forward", "y", &y) || is_race(c, "backward", "x", &a);
}
