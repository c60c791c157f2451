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
    return f->a_noise + f->a_hidden + c->hidden_noise / f->unit;
}

double at_bound_of(const at_checker *c, const at_probe *f)
{
    return f->bound + noise_of_a(c, f);
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
    return fmin(exact, c->options.tolerance + (c->bits < 53 ? 2 : 1) * bound / scale);
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

/* Kinks at many distances blur a direction: one that is known badly is given twice its bound. */
static bool agrees_roughly(const at_checker *c, const at_probe *f)
{
    return !probe_is_resolved(c, f) && fabs(f->a - f->n) <= 2 * at_bound_of(c, f);
}

static at_verdict verdict_of(const at_checker *c, const at_probe *f)
{
    const double slack = (c->is_float ? 1 : 0.01) * f->s.jump + noise_of_a(c, f);
    const bool between = /* as a subgradient is */
        isnan(f->n) || (f->a >= f->s.low - slack && f->a <= f->s.high + slack);
    if (f->at_kink) return between ? ATTIC_NON_SMOOTH : ATTIC_WRONG;
    const bool agrees = probe_agrees(c, f) || (f->along && agrees_roughly(c, f));
    if (!agrees || !(isnan(f->e) || probe_is_exact(c, f))) return ATTIC_WRONG;
    return probe_is_resolved(c, f) || (probe_is_exact(c, f) && is_quiet(c, f))
               ? ATTIC_PASS
               : ATTIC_NOISE_LIMITED;
}

/* Does n of a direction contradict those of the elements, which are differences of forward, too?
 * Then kinks or poles are nearer than its steps. */
static bool is_blurred(at_checker *c, ptrdiff_t p, const at_probe *f)
{
    double bound;
    const double n = at_n_by_elements(c, p, &bound);
    return fabs(n - f->n) > f->bound + bound + tolerance_of(c, f);
}

void at_judge(at_checker *c, ptrdiff_t p, at_probe *f)
{
    f->verdict = verdict_of(c, f);
    if (f->verdict != ATTIC_WRONG) return;
    at_measure_noise_of_a(c, p, f);
    f->verdict = verdict_of(c, f);
    if (f->verdict == ATTIC_WRONG && c->elements && f->along && is_blurred(c, p, f))
        f->verdict = ATTIC_NON_SMOOTH;
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

/* Do a and n show no more than rounding, of the usual size, or moves no y, and does e agree? */
static bool probe_is_zero(const at_checker *c, const at_probe *f)
{
    bool usual = f->s.size == 0 || f->bound * f->unit <= c->precision.usual_noise * c->y_size;
    return usual && fabs(f->n) <= f->bound && fabs(f->a) <= f->bound + noise_of_a(c, f) &&
           (isnan(f->e) || probe_is_exact(c, f));
}

static bool all_are_zero(const at_checker *c)
{
    ptrdiff_t p = 0;
    while (p < c->on_unknown && probe_is_zero(c, &c->probe[p])) p++;
    return p == c->on_unknown;
}

/* Is all unknown of x that begins at `first` and has `count` runs of `run` elements, each `stride`
 * elements after the one before? */
static bool is_unknown(const at_checker *c, ptrdiff_t first, ptrdiff_t count, ptrdiff_t run,
                       ptrdiff_t stride)
{
    for (ptrdiff_t i = 0; i < count * run; i++)
        if (c->probe[first + i / run * stride + i % run].verdict == ATTIC_PASS) return false;
    return count * run > 0;
}

/* Is there an index of an axis of this part of which nothing is known? */
static bool an_index_is_unknown(const at_checker *c, const at_gradcheck_part *part, ptrdiff_t first,
                                int *axis, ptrdiff_t *index)
{
    ptrdiff_t run = part->count;
    for (*axis = 0; *axis < part->shape.ndim && part->count > 0; ++*axis) {
        const ptrdiff_t length = part->shape.dim[*axis], stride = run, outer = part->count / stride;
        run /= length;
        for (*index = 0; *index < length && outer * run > 1; ++*index)
            if (is_unknown(c, first + *index * run, outer, run, stride)) return true;
    }
    return false;
}

bool at_names_unknown(const at_checker *c, char *name, size_t size)
{
    const at_gradcheck_part *part = c->options.parts;
    ptrdiff_t first = 0, index;
    int axis;
    for (; part && part->name; first += part->count, part++) {
        snprintf(name, size, "\"%.60s\"", part->name);
        if (is_unknown(c, first, 1, part->count, part->count)) return true;
        snprintf(name, size, "\"%.60s\" at ", part->name);
        const size_t used = strlen(name);
        if (!an_index_is_unknown(c, part, first, &axis, &index)) continue;
        snprintf(name + used, size - used, "%td of axis %d", index, axis);
        return true;
    }
    return false;
}

static at_verdict overall(const at_checker *c, const tally *elements, const tally *directions)
{
    char name[100];
    if (!c->probes || all_are_zero(c)) return ATTIC_VACUOUS;
    for (ptrdiff_t p = 0; p < c->probes; p++)
        if (c->probe[p].verdict == ATTIC_WRONG) return ATTIC_WRONG;
    if (!elements->count) return directions->verdict;
    const bool few =
        elements->unknown * 100 <= elements->count && !at_names_unknown(c, name, sizeof name);
    if (elements->unknown == 0 || few) return ATTIC_PASS;
    if (elements->kinks * 100 > elements->count) return ATTIC_NON_SMOOTH;
    return directions->count - directions->unknown >= 3 ? ATTIC_PARTLY_KNOWN : ATTIC_NOISE_LIMITED;
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
    if (t->worst >= 0) at_report_worst(c, t->worst);
    if (r->verdict == ATTIC_VACUOUS) {
        r->error = 0;
        r->exact_error *= 0; /* NaN stays: there is no e */
        r->failed = r->unknown = 0;
        r->resolution = (double)INFINITY;
    }
    at_write_reason(c, elements.wrong > 0);
}
