/* correct_tally.c -- has correct functions judged, and counts.  See correct_tally.h. */
#include "gradcheck/correct_tally.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FAMILIES = 200, WORST_SHOWN = 20, ACCUSED_SHOWN = 200 };

typedef struct {
    correct_tally of[MOST_FAMILIES];
    correct_function accused[ACCUSED_SHOWN]; /* called what they are not */
    at_gradcheck_report report[ACCUSED_SHOWN];
    int n_accused;
    at_verdict should_be;
} ledger;

static bool is_accused(const correct_choice *c, const correct_function *p,
                       const at_gradcheck_report *r)
{
    if (c->wrong_by != 0)
        return r->verdict == ATTIC_PASS && p->is_planted &&
               r->resolution < fabs(c->wrong_by) / fmax(1, fabs(1 + c->wrong_by));
    return r->verdict == ATTIC_WRONG || r->verdict == ATTIC_RACE || r->verdict == ATTIC_NOT_RUN ||
           r->verdict == ATTIC_MISMATCH;
}

/* In so few bits, are the neighbours of some x further apart than what f may do between them? */
static bool is_too_coarse(const correct_function *p, int bits)
{
    double largest = 0;
    for (ptrdiff_t i = 0; i < p->n; i++) largest = fmax(largest, fabs(p->x[i]));
    return largest > ldexp(1, bits - 2);
}

static bool is_chosen(const correct_choice *c, const correct_function *p)
{
    const char *family = at_correct_family(p->family);
    if (c->with_twin && strcmp(family, "rope") == 0) return false; /* its angles are floats */
    if (c->bits && !c->with_twin && is_too_coarse(p, c->bits)) return false;
    if ((c->bits || c->with_twin) && (p->on_tape >= 0 || p->real == ATTIC_F64)) return false;
    if (c->wrong_by != 0 && (p->on_tape >= 0 || p->options.directions)) return false;
    return !c->family || strcmp(c->family, family) == 0;
}

static void judge(ledger *l, const correct_choice *c, correct_function *p)
{
    p->wrong_by = c->wrong_by;
    p->bits = c->bits;
    p->with_twin = c->with_twin;
    at_gradcheck_report r = at_check_correct(p);
    if (c->wrong_by != 0 && p->wrong_at < 0) return; /* every derivative is 0 */
    bool accused = is_accused(c, p, &r);
    l->of[p->family].drawn++;
    l->of[p->family].verdicts[r.verdict]++;
    l->of[p->family].passed_off += accused && c->wrong_by != 0;
    if (!accused || l->n_accused++ >= ACCUSED_SHOWN) return;
    l->accused[l->n_accused - 1] = *p;
    l->report[l->n_accused - 1] = r;
}

static correct_tally together(const ledger *l)
{
    correct_tally all = {0};
    for (int f = 0; f < at_correct_families(); f++) {
        all.drawn += l->of[f].drawn;
        all.passed_off += l->of[f].passed_off;
        for (int v = 0; v < MOST_VERDICTS; v++) all.verdicts[v] += l->of[f].verdicts[v];
    }
    return all;
}

static void print_line(const ledger *l, const char *name, const correct_tally *t,
                       const correct_tally *all, FILE *out)
{
    fprintf(out, "  %-22s %6d", name, t->drawn);
    for (int v = 0; v < MOST_VERDICTS; v++)
        if (all->verdicts[v]) fprintf(out, " %13d", t->verdicts[v]);
    fprintf(out, "   %5.1f %%\n", 100. * t->verdicts[l->should_be] / (t->drawn ? t->drawn : 1));
}

/* The drawn family with the smallest share of what it should be that has not been printed */
static int worst_of(const ledger *l, const bool *printed)
{
    int worst = -1;
    for (int f = 0; f < at_correct_families(); f++) {
        const correct_tally *t = &l->of[f], *w = &l->of[worst < 0 ? f : worst];
        if (printed[f] || !t->drawn) continue;
        long share = (long)t->verdicts[l->should_be] * w->drawn,
             least = (long)w->verdicts[l->should_be] * t->drawn;
        if (worst < 0 || share < least) worst = f;
    }
    return worst;
}

static void print_accused(const ledger *l, FILE *out)
{
    if (l->n_accused) fprintf(out, "\n  called what they are not:\n");
    for (int i = 0; i < l->n_accused && i < ACCUSED_SHOWN; i++) {
        const correct_function *p = &l->accused[i];
        const at_gradcheck_report *r = &l->report[i];
        fprintf(out, "  %6d %s, %s, %s: %s: a %.6g, n %.6g +- %.1e, e %.6g\n", (int)p->number,
                at_correct_family(p->family), at_correct_type(p), at_verdict_text(r->verdict),
                r->where, r->analytic, r->numeric, r->bound, r->exact);
    }
    if (l->n_accused > ACCUSED_SHOWN) fprintf(out, "  and %d more\n", l->n_accused - ACCUSED_SHOWN);
}

static void print_ledger(const ledger *l, const correct_tally *all, bool every, FILE *out)
{
    bool printed[MOST_FAMILIES] = {0};
    for (int v = 0; v < MOST_VERDICTS; v++)
        if (all->verdicts[v])
            fprintf(out, "%-13s %6d of %d: %5.2f %%\n", at_verdict_text((at_verdict)v),
                    all->verdicts[v], all->drawn, 100. * all->verdicts[v] / all->drawn);
    fprintf(out, "\n  %-22s %6s", every ? "families" : "the worst families", "drawn");
    for (int v = 0; v < MOST_VERDICTS; v++)
        if (all->verdicts[v]) fprintf(out, " %13s", at_verdict_text((at_verdict)v));
    fprintf(out, "   %7s\n", at_verdict_text(l->should_be));
    for (int f, i = 0; (i < WORST_SHOWN || every) && (f = worst_of(l, printed)) >= 0; i++) {
        printed[f] = true;
        print_line(l, at_correct_family(f), &l->of[f], all, out);
    }
    print_line(l, "together", all, all, out);
    print_accused(l, out);
}

correct_tally at_tally_correct(correct_choice c, FILE *out)
{
    ledger *l = calloc(1, sizeof *l);
    if (!l || at_correct_families() > MOST_FAMILIES) return free(l), (correct_tally){0};
    l->should_be = c.wrong_by != 0 ? ATTIC_WRONG : ATTIC_PASS;
    for (int i = 0; i < c.count; i++) {
        correct_function p = at_draw_correct(c.first + (uint64_t)i);
        if (is_chosen(&c, &p)) judge(l, &c, &p);
        at_forget_correct(&p);
    }
    correct_tally all = together(l);
    if (out && all.drawn) print_ledger(l, &all, c.every, out);
    free(l);
    return all;
}

bool at_tally_is_right(const correct_tally *t)
{
    return t->verdicts[ATTIC_WRONG] == 0 && t->verdicts[ATTIC_RACE] == 0 &&
           10 * t->verdicts[ATTIC_PASS] >= 9 * t->drawn && t->drawn > 0;
}

bool at_tally_is_found(const correct_tally *t)
{
    return t->passed_off == 0 && 10 * t->verdicts[ATTIC_WRONG] >= 9 * t->drawn && t->drawn > 0;
}
