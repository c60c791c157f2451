/* report.c -- a verdict in words: the reason, where, element by element, and what the wrong ones
 * say together. */
#include "gradcheck/checker.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "system/system.h"
#include "tensor/arena.h"
#include "tensor/decimal.h"
#include "tensor/layout.h"

/* ------------------------------------------------------------------ where and why -------------- */

void at_name_element(at_checker *c, const char *vector, ptrdiff_t i)
{
    at_gradcheck_report *r = &c->report;
    const at_gradcheck_part *part = vector[0] == 'x' ? c->options.parts : NULL;
    r->element = i;
    snprintf(r->where, sizeof r->where, "%s[%td]", vector, i);
    for (; part && part->name && i >= part->count; part++) i -= part->count;
    if (part && part->shape.ndim)
        snprintf(r->where, sizeof r->where, "\"%.60s\" at %s", part->name,
                 at_shape_text(at_index_of(part->shape, i)));
    else if (part)
        snprintf(r->where, sizeof r->where, "\"%.80s\" at [%td]", part->name, i);
}

bool at_break_rule(at_gradcheck_report *r, const char *reason, double is, double should)
{
    r->verdict = ATTIC_WRONG;
    snprintf(r->reason, sizeof r->reason, "%s", reason);
    r->analytic = is;
    r->numeric = should;
    return true;
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

void at_write_reason(at_checker *c, bool by_element)
{
    static const char *const usual[] = {
        [ATTIC_PASS] = "backward is the derivative of forward",
        [ATTIC_WRONG] = "backward is not the derivative of forward",
        [ATTIC_NOISE_LIMITED] =
            "rounding errors of forward leave the differences too few digits at every step",
        [ATTIC_PARTLY_KNOWN] =
            "what can be compared agrees, but too much of it is known along directions alone",
        [ATTIC_NON_SMOOTH] = "the derivatives from both sides do not meet: a kink or a jump",
        [ATTIC_VACUOUS] = "every derivative is 0 here: a missing backward would pass too"};
    at_gradcheck_report *r = &c->report;
    const char *reason = usual[r->verdict];
    char name[100];
    double factor;
    if (c->options.order == 2 && r->verdict == ATTIC_PASS)
        reason = "H w is the derivative of backward";
    if (c->options.order == 2 && r->verdict == ATTIC_WRONG)
        reason = "H w is not the derivative of backward";
    if (r->verdict == ATTIC_WRONG && c->elements && !by_element)
        reason = "backward is not the derivative of forward: each element is within the rounding "
                 "of its difference, but not all of them together";
    if (c->probes == 0) reason = "there is no element to check";
    snprintf(r->reason, sizeof r->reason, "%s", reason);
    if (r->verdict == ATTIC_WRONG && r->failed > 1 && has_common_factor(c, &factor))
        snprintf(r->reason, sizeof r->reason, "%s, but %s times it everywhere", reason,
                 at_short_text(factor + 0.0, 8));
    if (c->is_float && c->bits < 24 &&
        (r->verdict == ATTIC_NOISE_LIMITED || r->verdict == ATTIC_PARTLY_KNOWN))
        snprintf(r->reason, sizeof r->reason,
                 "numbers of %d bits leave the differences too few digits: give a twin of forward "
                 "that computes in double",
                 c->bits);
    else if (r->verdict == ATTIC_PARTLY_KNOWN && at_names_unknown(c, name, sizeof name))
        snprintf(r->reason, sizeof r->reason,
                 "what can be compared agrees, but no element of %s is known: rounding errors of "
                 "forward drown it",
                 name);
}

void at_report_worst(at_checker *c, ptrdiff_t p)
{
    at_gradcheck_report *r = &c->report;
    at_probe *f = &c->probe[p];
    if (!f->swept) at_refine_probe(c, p, f, c->options.tolerance * at_scale_of(c, f));
    at_name_element(c, "x", p);
    if (f->along) snprintf(r->where, sizeof r->where, "direction %td", p - c->elements);
    r->input = f->along ? -1 : 0;
    r->analytic = f->a;
    r->exact = f->e;
    r->numeric = f->n;
    r->bound = f->bound;
    r->step = f->s.h;
}

/* ------------------------------------------------------------------ all elements --------------- */

static void tell_each(at_checker *c)
{
    const at_gradcheck_report kept = c->report;
    for (ptrdiff_t p = 0; p < c->elements; p++) {
        const at_probe *f = &c->probe[p];
        at_name_element(c, "x", p);
        const at_gradcheck_element e = {p,    c->report.where,  f->verdict, f->a, f->n,
                                        f->e, at_bound_of(c, f)};
        c->options.each(&e, c->options.each_ctx);
    }
    c->report = kept;
}

/* a, had each dy been the first one. */
static const double *a_of_first(at_checker *c)
{
    if (c->m < 2) return NULL;
    memcpy(c->x, c->x0, (size_t)c->n * sizeof *c->x);
    for (ptrdiff_t k = 0; k < c->m; k++) c->u[k] = c->u_kept[0];
    at_call_backward(c, c->again);
    memcpy(c->u, c->u_kept, (size_t)c->m * sizeof *c->u);
    return c->again;
}

static void diagnose(at_checker *c)
{
    const size_t n = (size_t)c->n;
    double *values = at_arena_alloc(c->memory, 2 * n * sizeof *values);
    bool *flags = at_arena_alloc(c->memory, 2 * n * sizeof *flags);
    if (!values || !flags) return;
    for (ptrdiff_t p = 0; p < c->n; p++) {
        const at_probe *f = &c->probe[p];
        values[p] = f->n;
        values[c->n + p] = at_bound_of(c, f) + c->options.tolerance * at_scale_of(c, f);
        flags[p] = f->verdict == ATTIC_WRONG;
        flags[c->n + p] = f->verdict == ATTIC_PASS;
    }
    const at_elements all = {.count = c->n,
                             .x = c->x0,
                             .a = c->a,
                             .n = values,
                             .bound = values + n,
                             .a_of_first = a_of_first(c),
                             .wrong = flags,
                             .known = flags + n,
                             .parts = c->options.parts,
                             .sizes = c->options.sizes};
    at_diagnose(&all, c->report.diagnosis);
}

void at_tell_elements(at_checker *c)
{
    bool wrong = false;
    for (ptrdiff_t p = 0; p < c->elements; p++) wrong |= c->probe[p].verdict == ATTIC_WRONG;
    if (c->options.each) tell_each(c);
    if (wrong) diagnose(c);
}

/* ------------------------------------------------------------------ in words ------------------- */

const char *at_verdict_text(at_verdict v)
{
    static const char *const text[] = {"NOT-RUN",       "PASS",         "WRONG",
                                       "NOISE-LIMITED", "NON-SMOOTH",   "VACUOUS",
                                       "RACE",          "PARTLY-KNOWN", "MISMATCH"};
    return (unsigned)v < sizeof text / sizeof *text ? text[v] : "?";
}

int at_verdict_status(at_verdict v)
{
    switch (v) {
    case ATTIC_PASS: return 0;
    case ATTIC_WRONG: return 1;
    case ATTIC_NOT_RUN:
    case ATTIC_MISMATCH: return 3;
    case ATTIC_RACE: return 4;
    default: return 2;
    }
}

static void print_comparisons(const at_gradcheck_report *r, FILE *out)
{
    const size_t agree =
        (size_t)r->checked - (size_t)r->failed; /* of any report, also one made up */
    fprintf(out, "    %td of %td comparisons agree", (ptrdiff_t)agree, r->checked);
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

/* Its lines, each as far to the right as the others. */
static void print_diagnosis(const char *text, FILE *out)
{
    while (*text) {
        const size_t length = strcspn(text, "\n");
        fprintf(out, "\n    %.*s", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

static void print_report(const at_gradcheck_report *r, FILE *out)
{
    fprintf(out, "%s: %s\n", at_verdict_text(r->verdict), r->reason);
    if (r->checked == 0) {
        if (r->where[0] && !at_same_bits(r->analytic, r->numeric) && r->verdict != ATTIC_MISMATCH)
            fprintf(out, "    at %s: %.17g, not %.17g\n", r->where, r->analytic, r->numeric);
        return;
    }
    print_comparisons(r, out);
    if (r->real == ATTIC_F32)
        fprintf(out, "\n    forward computes in %s",
                r->bits == 11  ? "f16, with 11 bits"
                : r->bits == 8 ? "bf16, with 8 bits"
                               : "float");
    if (r->note[0]) fprintf(out, "\n    %s", r->note);
    print_diagnosis(r->diagnosis, out);
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
