/* correct_tally.c -- has correct functions judged, and counts.  See correct_tally.h. */
#include "gradcheck/correct_tally.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FAMILIES = 200, WORST_SHOWN = 20, ACCUSED_SHOWN = 200 };

typedef struct {
    correct_tally of[MOST_FAMILIES];
    correct_function accused[ACCUSED_SHOWN]; /* called WRONG or RACE, or not run at all */
    at_gradcheck_report report[ACCUSED_SHOWN];
    int n_accused;
} ledger;

static bool is_accused(at_verdict v)
{
    return v == ATTIC_WRONG || v == ATTIC_RACE || v == ATTIC_NOT_RUN;
}

static void judge(ledger *l, uint64_t number, const char *family)
{
    correct_function p = at_draw_correct(number);
    if (!family || strcmp(family, at_correct_family(p.family)) == 0) {
        at_gradcheck_report r = at_check_correct(&p);
        l->of[p.family].drawn++;
        l->of[p.family].verdicts[r.verdict]++;
        if (is_accused(r.verdict) && l->n_accused++ < ACCUSED_SHOWN) {
            l->accused[l->n_accused - 1] = p;
            l->report[l->n_accused - 1] = r;
        }
    }
    at_forget_correct(&p);
}

static correct_tally together(const ledger *l)
{
    correct_tally all = {0};
    for (int f = 0; f < at_correct_families(); f++) {
        all.drawn += l->of[f].drawn;
        for (int v = 0; v < MOST_VERDICTS; v++) all.verdicts[v] += l->of[f].verdicts[v];
    }
    return all;
}

static void print_line(const char *name, const correct_tally *t, const correct_tally *all,
                       FILE *out)
{
    fprintf(out, "  %-22s %6d", name, t->drawn);
    for (int v = 0; v < MOST_VERDICTS; v++)
        if (all->verdicts[v]) fprintf(out, " %13d", t->verdicts[v]);
    fprintf(out, "   %5.1f %%\n", 100. * t->verdicts[ATTIC_PASS] / (t->drawn ? t->drawn : 1));
}

/* The drawn family with the smallest share of PASS that has not been printed */
static int worst_of(const ledger *l, const bool *printed)
{
    int worst = -1;
    for (int f = 0; f < at_correct_families(); f++) {
        const correct_tally *t = &l->of[f], *w = &l->of[worst < 0 ? f : worst];
        if (printed[f] || !t->drawn) continue;
        long share = (long)t->verdicts[ATTIC_PASS] * w->drawn,
             least = (long)w->verdicts[ATTIC_PASS] * t->drawn;
        if (worst < 0 || share < least) worst = f;
    }
    return worst;
}

static void print_accused(const ledger *l, FILE *out)
{
    if (l->n_accused) fprintf(out, "\n  correct, but not called so:\n");
    for (int i = 0; i < l->n_accused && i < ACCUSED_SHOWN; i++) {
        const correct_function *p = &l->accused[i];
        const at_gradcheck_report *r = &l->report[i];
        fprintf(out, "  %6d %s, %s, %s: %s: a %.6g, n %.6g +- %.1e, e %.6g\n", (int)p->number,
                at_correct_family(p->family), p->real == ATTIC_F32 ? "float" : "double",
                at_verdict_text(r->verdict), r->where, r->analytic, r->numeric, r->bound, r->exact);
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
    fprintf(out, "      PASS\n");
    for (int f, i = 0; (i < WORST_SHOWN || every) && (f = worst_of(l, printed)) >= 0; i++) {
        printed[f] = true;
        print_line(at_correct_family(f), &l->of[f], all, out);
    }
    print_line("together", all, all, out);
    print_accused(l, out);
}

correct_tally at_tally_correct(uint64_t first, int count, const char *family, bool every, FILE *out)
{
    ledger *l = calloc(1, sizeof *l);
    if (!l || at_correct_families() > MOST_FAMILIES) return free(l), (correct_tally){0};
    for (int i = 0; i < count; i++) judge(l, first + (uint64_t)i, family);
    correct_tally all = together(l);
    if (out && all.drawn) print_ledger(l, &all, every, out);
    free(l);
    return all;
}

bool at_tally_is_right(const correct_tally *t)
{
    return t->verdicts[ATTIC_WRONG] == 0 && t->verdicts[ATTIC_RACE] == 0 &&
           10 * t->verdicts[ATTIC_PASS] >= 9 * t->drawn && t->drawn > 0;
}
