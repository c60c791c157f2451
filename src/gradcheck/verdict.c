/* verdict.c -- what the comparisons say: one by one, all together, and in words.
 *
 * An element is CONTRADICTED where a and n differ by more than both may be off; KNOWN where they
 * agree and n has enough digits that a mistake would have shown; else UNKNOWN.  One contradiction
 * is enough for WRONG.  What is unknown decides nothing; the question is how much of it there is:
 *
 *     elements unknown                      verdict
 *     none                                  PASS
 *     1 % at most, and not a whole input    PASS; the error that could hide in them is printed
 *     more, but directions are known        PARTLY-KNOWN
 *     more, and directions are unknown      NOISE-LIMITED, or NON-SMOOTH where kinks are the reason
 *
 * DIRECTIONS.  The derivative along v is sum_i a_i v_i.  It is compared along four random v with
 * all elements in them.  A scalar loss of n floats has a y of size 1 and derivatives of 1/n: its
 * rounding drowns each of them alone, but along a direction they add up like sqrt(n).  So an error
 * that all elements share is seen there first.  An error in one of n equal elements moves a
 * direction by 1/sqrt(n) alone: directions do not vouch for single elements.  Two more have nothing
 * but unknown elements in them. */
#include "gradcheck/checker.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "system/system.h"
#include "tensor/decimal.h"

/* ------------------------------------------------------------------ one comparison ------------- */

static double scale_beside(const at_checker *c, const at_probe *f, double other)
{
    const double largest = f->along ? c->max_along : c->max_n;
    return fmax(fmax(fabs(f->a), fabs(other)), c->precision.floor_share * largest);
}

double at_scale_of(const at_checker *c, const at_probe *f)
{
    return scale_beside(c, f, f->n);
}

static double tolerance_of(const at_checker *c, const at_probe *f)
{
    return c->options.tolerance * at_scale_of(c, f);
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
    double scale = at_scale_of(c, f), bound = f->bound + noise_of_a(c, f);
    bool none = isnan(f->e) || c->options.order == 2; /* e of order 2 is of the code of a */
    double exact =
        none ? (double)INFINITY : c->exact_tolerance + 2 * (f->e_bound + noise_of_a(c, f)) / scale;
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
    return f->bound + noise_of_a(c, f) <= c->precision.coarse * at_scale_of(c, f);
}

/* Is a more than its own rounding? */
static bool is_quiet(const at_checker *c, const at_probe *f)
{
    return f->a_noise <= c->precision.coarse * at_scale_of(c, f);
}

/* The error of n by five points is about the square of that by three, which is known.  A mistake in
 * a could hide behind a larger one, where e does not see it. */
static bool hides_little(const at_checker *c, const at_probe *f)
{
    const double much = 0.3 * sqrt(c->options.tolerance) * at_scale_of(c, f);
    return fabs(f->s.n - f->s.three) <= much || (probe_is_exact(c, f) && c->options.order != 2);
}

bool at_is_clear(const at_checker *c, const at_probe *f)
{
    return probe_agrees(c, f) && probe_is_resolved(c, f) && hides_little(c, f) &&
           f->s.jump <= 0.01 * at_scale_of(c, f) && (isnan(f->e) || probe_is_exact(c, f));
}

static at_verdict verdict_of(const at_checker *c, const at_probe *f)
{
    double slack = 0.01 * f->s.jump; /* a subgradient is between the two sides */
    bool between = isnan(f->n) || (f->a >= f->s.low - slack && f->a <= f->s.high + slack);
    if (f->at_kink) return between ? ATTIC_NON_SMOOTH : ATTIC_WRONG;
    if (!probe_agrees(c, f) || !(isnan(f->e) || probe_is_exact(c, f))) return ATTIC_WRONG;
    return probe_is_resolved(c, f) || (probe_is_exact(c, f) && is_quiet(c, f))
               ? ATTIC_PASS
               : ATTIC_NOISE_LIMITED;
}

void at_judge(at_checker *c, ptrdiff_t p, at_probe *f)
{
    f->verdict = verdict_of(c, f);
    if (f->verdict != ATTIC_WRONG) return;
    at_measure_noise_of_a(c, p, f);
    f->verdict = verdict_of(c, f);
}

/* ------------------------------------------------------------------ all of them ---------------- */

typedef struct { /* of some comparisons */
    ptrdiff_t count, wrong, unknown, kinks;
    ptrdiff_t worst; /* the largest error among those with the most severe verdict */
    at_verdict verdict;
    double error, exact_error, hidden;
    double resolution[2]; /* of those that are unknown, of those that are known */
} tally;

static int severity_of(at_verdict v)
{
    return v == ATTIC_WRONG ? 4 : v == ATTIC_NON_SMOOTH ? 3 : v == ATTIC_NOISE_LIMITED ? 2 : 1;
}

static void count_probe(const at_checker *c, tally *t, ptrdiff_t p)
{
    const at_probe *f = &c->probe[p];
    const double error = error_beside(c, f, f->n);
    const bool known = f->verdict == ATTIC_PASS;
    const int severity = severity_of(f->verdict), most = t->count ? severity_of(t->verdict) : 0;
    if (severity > most || (severity == most && error > t->error)) {
        t->verdict = f->verdict;
        t->worst = p;
        t->error = error;
    }
    t->count++;
    t->wrong += f->verdict == ATTIC_WRONG;
    t->unknown += !known && f->verdict != ATTIC_WRONG;
    t->kinks += f->verdict == ATTIC_NON_SMOOTH;
    t->resolution[known] = fmax(t->resolution[known], resolution_of(c, f));
    const double bound = f->bound + noise_of_a(c, f), largest = f->along ? c->max_along : c->max_n;
    if (!known) t->hidden = fmax(t->hidden, largest > 0 ? bound / largest : (double)INFINITY);
    const double exact = isnan(f->e) ? f->e : error_beside(c, f, f->e);
    t->exact_error = isnan(exact) || exact > t->exact_error ? exact : t->exact_error;
}

static tally tally_of(const at_checker *c, ptrdiff_t from, ptrdiff_t to)
{
    tally t = {.worst = -1};
    for (ptrdiff_t p = from; p < to; p++) count_probe(c, &t, p);
    return t;
}

/* Do a and n show no more than rounding, of the usual size, and does e agree? */
static bool probe_is_zero(const at_checker *c, const at_probe *f)
{
    bool usual = f->bound * f->unit <= c->precision.usual_noise * c->y_size;
    return usual && fabs(f->n) <= f->bound && fabs(f->a) <= f->bound + noise_of_a(c, f) &&
           (isnan(f->e) || probe_is_exact(c, f));
}

static bool all_are_zero(const at_checker *c)
{
    ptrdiff_t p = 0;
    while (p < c->on_unknown && probe_is_zero(c, &c->probe[p])) p++;
    return p == c->on_unknown;
}

static bool all_are_unknown(const at_checker *c, ptrdiff_t from, ptrdiff_t to)
{
    while (from < to && c->probe[from].verdict != ATTIC_PASS) from++;
    return from == to;
}

/* Is there an input of which nothing is known?  `name` becomes its name. */
static bool an_input_is_unknown(const at_checker *c, const char **name)
{
    const at_gradcheck_part *part = c->options.parts;
    ptrdiff_t first = 0;
    for (; part && part->name; first += part->count, part++) {
        *name = part->name;
        if (part->count && all_are_unknown(c, first, first + part->count)) return true;
    }
    return false;
}

static at_verdict overall(const at_checker *c, const tally *elements, const tally *directions)
{
    const char *name;
    if (!c->probes || all_are_zero(c)) return ATTIC_VACUOUS;
    for (ptrdiff_t p = 0; p < c->probes; p++)
        if (c->probe[p].verdict == ATTIC_WRONG) return ATTIC_WRONG;
    if (!elements->count) return directions->verdict;
    const bool few = elements->unknown * 100 <= elements->count && !an_input_is_unknown(c, &name);
    if (elements->unknown == 0 || few) return ATTIC_PASS;
    if (elements->kinks * 100 > elements->count) return ATTIC_NON_SMOOTH;
    return directions->count - directions->unknown >= 3 ? ATTIC_PARTLY_KNOWN : ATTIC_NOISE_LIMITED;
}

/* Is a = factor n throughout?  A wrong sign and a forgotten 2 look like that. */
static bool has_common_factor(const at_checker *c, double *factor)
{
    double low = (double)INFINITY, high = -(double)INFINITY;
    for (ptrdiff_t p = 0; p < c->on_unknown; p++) {
        const at_probe *f = &c->probe[p];
        const double largest = f->along ? c->max_along : c->max_n;
        if (fabs(f->n) < 0.01 * largest && !(fabs(f->a) > 0.02 * largest)) continue;
        if (!isfinite(f->a) || !isfinite(f->n) || f->n == 0) return false;
        low = fmin(low, f->a / f->n);
        high = fmax(high, f->a / f->n);
    }
    *factor = (low + high) / 2;
    return fabs(*factor - 1) > 1e-9 && high - low <= 0.01 * fabs(*factor - 1);
}

static void write_reason(at_checker *c, const tally *elements)
{
    static const char *const usual[] = {
        [ATTIC_PASS] = "backward is the derivative of forward",
        [ATTIC_WRONG] = "backward is not the derivative of forward",
        [ATTIC_NOISE_LIMITED] =
            "rounding errors of forward leave the differences too few digits at every step",
        [ATTIC_PARTLY_KNOWN] = "what can be compared agrees, but too much is known only along "
                               "directions: by elements, rounding errors of forward drown it",
        [ATTIC_NON_SMOOTH] = "the derivatives from both sides do not meet: a kink or a jump",
        [ATTIC_VACUOUS] = "every derivative is 0 here: a missing backward would pass too"};
    at_gradcheck_report *r = &c->report;
    const char *reason = usual[r->verdict], *name;
    double factor;
    if (c->options.order == 2 && r->verdict == ATTIC_PASS)
        reason = "H w is the derivative of backward";
    if (c->options.order == 2 && r->verdict == ATTIC_WRONG)
        reason = "H w is not the derivative of backward";
    if (r->verdict == ATTIC_WRONG && elements->count && !elements->wrong)
        reason = "backward is not the derivative of forward: each element is within the rounding "
                 "of its difference, but not all of them together";
    if (c->probes == 0) reason = "there is no element to check";
    snprintf(r->reason, sizeof r->reason, "%s", reason);
    if (r->verdict == ATTIC_WRONG && r->failed > 1 && has_common_factor(c, &factor))
        snprintf(r->reason, sizeof r->reason, "%s, but %s times it everywhere", reason,
                 at_short_text(factor + 0.0, 8));
    if (r->verdict == ATTIC_PARTLY_KNOWN && an_input_is_unknown(c, &name))
        snprintf(r->reason, sizeof r->reason,
                 "what can be compared agrees, but no element of \"%.80s\" is known: rounding "
                 "errors of forward drown it",
                 name);
}

static void report_worst(at_checker *c, ptrdiff_t p)
{
    at_gradcheck_report *r = &c->report;
    at_probe *f = &c->probe[p];
    if (!f->swept) at_refine_probe(c, p, f, tolerance_of(c, f));
    at_name_element(c, "x", p);
    if (f->along) snprintf(r->where, sizeof r->where, "direction %td", p - c->elements);
    r->input = f->along ? -1 : 0;
    r->analytic = f->a;
    r->exact = f->e;
    r->numeric = f->n;
    r->bound = f->bound;
    r->step = f->s.h;
}

void at_conclude(at_checker *c)
{
    at_gradcheck_report *r = &c->report;
    const tally elements = tally_of(c, 0, c->elements),
                directions = tally_of(c, c->elements, c->on_unknown),
                on_unknown = tally_of(c, c->on_unknown, c->probes);
    const tally *t = elements.count ? &elements : &directions;
    r->checked = t->count;
    r->failed = t->wrong + t->unknown;
    r->unknown = t->unknown;
    r->error = t->error;
    r->exact_error = t->exact_error;
    r->resolution = t->resolution[t->count > r->failed];
    r->hidden = fmax(t->hidden, on_unknown.hidden);
    if (elements.count) {
        r->directions = (int)(directions.count - directions.unknown - directions.wrong);
        r->along_error = directions.error;
        r->along_resolution = directions.resolution[1];
    }
    r->verdict = overall(c, &elements, &directions);
    if (r->verdict == ATTIC_WRONG && !t->wrong) t = on_unknown.wrong ? &on_unknown : &directions;
    if (t->worst >= 0) report_worst(c, t->worst);
    if (r->verdict == ATTIC_VACUOUS) {
        r->error = 0;
        r->exact_error *= 0; /* NaN stays: there is no e */
        r->failed = r->unknown = 0;
        r->resolution = (double)INFINITY;
    }
    write_reason(c, &elements);
}

/* ------------------------------------------------------------------ in words ------------------- */

const char *at_verdict_text(at_verdict v)
{
    static const char *const text[] = {"NOT-RUN",    "PASS",    "WRONG", "NOISE-LIMITED",
                                       "NON-SMOOTH", "VACUOUS", "RACE",  "PARTLY-KNOWN"};
    return (unsigned)v < sizeof text / sizeof *text ? text[v] : "?";
}

int at_verdict_status(at_verdict v)
{
    switch (v) {
    case ATTIC_PASS: return 0;
    case ATTIC_WRONG: return 1;
    case ATTIC_NOT_RUN: return 3;
    case ATTIC_RACE: return 4;
    default: return 2;
    }
}

static void print_comparisons(const at_gradcheck_report *r, FILE *out)
{
    fprintf(out, "    %td of %td comparisons agree", r->checked - r->failed, r->checked);
    if (r->unknown) fprintf(out, ", %td %s unknown", r->unknown, r->unknown == 1 ? "is" : "are");
    fprintf(out, ": ");
    if (!isnan(r->exact_error)) fprintf(out, "exact %.0e | ", r->exact_error);
    fprintf(out, "differences %.0e", r->error);
    if (isfinite(r->resolution) && r->failed < r->checked)
        fprintf(out, " | resolution %.0e: a larger error would have shown", r->resolution);
    if (r->directions)
        fprintf(out, "\n    along %d directions: differences %.0e | resolution %.0e", r->directions,
                r->along_error, r->along_resolution);
    if (r->unknown && isfinite(r->hidden))
        fprintf(out, "\n    what is unknown may hide an error of %.0e of the largest derivative",
                r->hidden);
}

static void print_report(const at_gradcheck_report *r, FILE *out)
{
    fprintf(out, "%s: %s\n", at_verdict_text(r->verdict), r->reason);
    if (r->checked == 0) {
        if (r->where[0])
            fprintf(out, "    at %s: %.17g, not %.17g\n", r->where, r->analytic, r->numeric);
        return;
    }
    print_comparisons(r, out);
    if (r->real == ATTIC_F32) fprintf(out, "\n    forward computes in float");
    if (r->note[0]) fprintf(out, "\n    %s", r->note);
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
