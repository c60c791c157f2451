/* verdict.c -- is a gradient right, and if not, which mistake is it?  See mistakes.h.
 *
 * ERRORS.  Let u be the unit roundoff, and t the sum of the absolute terms of an element
 * (steps_terms).  Each product, each sum and each exp is computed with a relative error of at most
 * about u, so that a chain of k operations gives the element with an error of at most k u t, to
 * first order:
 *
 *     a sum of n products      n u sum |x| |y|                 (any order of summation)
 *     R to S                   (D + 4) u t(S)
 *     P                        2 (D + 4) u max t(S) P + (N + 4) u P
 *     O, delta, dS, ... dQ     each step adds its own n
 *
 * Were all errors of one sign, k would be about 4 (D + 4) + Dv + 2 N + T H/G + 10, as t(P) is
 * P (1 + max t(S) / 2).  They have all signs, and what is seen is a few u:
 * tests/examples/test_mistakes.c measures it.  In float u = 6e-8, so 1e-6 is 17 u; in double 1e-12
 * is 9000 u.  Where an answer was computed in halves, f16 or bf16, an error of up to 8 u of these is
 * one of rounding: tests/course/test_judged.c measures that, too.
 *
 * NAMING.  Right comes first.  The answer is then compared with the wrong answer of every mistake,
 * relative to the absolute terms of that one; where it reads dP, in both ways to compute delta.
 *
 * DESCRIBING.  What no mistake gives, two mistakes at once for example, is described: a constant
 * ratio, a transpose, where the wrong elements lie, and whether the error has rank one.  In dS, an
 * error of P_ij times one number per row is one of delta. */
#include "verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double exact = 1e-12, close_in_float = 1e-6, units_of_half = 8;

/* Only a half has a unit that large. */
static bool is_of_halves(const mistakes_answer *answer)
{
    return answer->unit > close_in_float;
}

/* How many times farther the right answer must be than the one of a mistake that is named. */
static double farther(const question *q)
{
    return q->close > close_in_float ? 4 : 100;
}

/* The step of f16 below its least normal number is 2^-24; float and bf16 reach much farther down. */
static double least_terms(double unit, double close)
{
    return unit == exp2(-11) ? exp2(-23) / close : 1e-30;
}

ptrdiff_t offset_of(const question *q, int h, int i, int j)
{
    return ((ptrdiff_t)h * q->dim[1] + i) * q->dim[2] + j;
}

/* R, X, U, S, dA and dP of a masked cell are of no use: nobody reads them. */
bool looked_at(const question *q, int h, int i, int j)
{
    if (q->matrix) return true;
    bool unread =
        (q->what >= STEPS_R && q->what <= STEPS_S) || q->what == STEPS_DA || q->what == STEPS_DP;
    return !unread || steps_attends(q->a, h, i, j);
}

double before_of(const question *q, ptrdiff_t e)
{
    return q->before ? q->before[e] : 0;
}

double terms_of(const question *q, ptrdiff_t e)
{
    return q->terms[e] + fabs(before_of(q, e)) + q->least;
}

double error_of(const question *q, ptrdiff_t e)
{
    double should = before_of(q, e) + q->right[e];
    if (q->got[e] == should) return 0;               /* infinities, too */
    if (isnan(q->got[e]) && isnan(should)) return 0; /* a mistake that writes nothing there */
    double off = fabs(q->got[e] - should);
    return off < (double)INFINITY ? off / terms_of(q, e) : (double)INFINITY;
}

bool next_cell(const question *q, int cell[3])
{
    do {
        cell[2]++;
        if (cell[2] == q->dim[2]) cell[2] = 0, cell[1]++;
        if (cell[1] == q->dim[1]) cell[1] = 0, cell[0]++;
        if (cell[0] >= q->dim[0] || q->dim[1] == 0 || q->dim[2] == 0) return false;
    } while (!looked_at(q, cell[0], cell[1], cell[2]));
    return true;
}

ptrdiff_t offset_of_cell(const question *q, const int cell[3])
{
    return offset_of(q, cell[0], cell[1], cell[2]);
}

/* The largest error; some number above `enough` as soon as there is one. */
static double largest_error(const question *q, double enough)
{
    double worst = 0;
    for (int cell[3] = {0, 0, -1}; worst <= enough && next_cell(q, cell);)
        worst = fmax(worst, error_of(q, offset_of_cell(q, cell)));
    return worst;
}

/* "dS[q0,k1] = P[q0,k1] * (dP[q0,k1] - delta[q0]) = 0.2 * (6 - 4.9) = 0.22, you have 1.2" */
static void say_arithmetic(const question *q, verdict *v)
{
    writer w = {v->arithmetic, sizeof v->arithmetic};
    const int *cell = v->cell;
    ptrdiff_t e = offset_of_cell(q, cell);
    double right = q->right[e], before = before_of(q, e), got = q->got[e];
    char short_right[32], short_got[32];
    snprintf(short_right, sizeof short_right, "%.4g", before + right);
    snprintf(short_got, sizeof short_got, "%.4g", got);
    bool look_equal = strcmp(short_right, short_got) == 0 && before + right != got;
    int digits = look_equal ? 10 : 4;

    cell_name(&w, q->a, q->what, cell);
    say(&w, " = ");
    if (is_cell_of_scores(q->what) && !steps_attends(q->a, cell[0], cell[1], cell[2])) {
        say(&w, "0, for q%d does not attend to k%d", cell[1], cell[2]);
    } else {
        cell_formula(&w, q->a, q->what, cell);
        say(&w, " = %.*g", digits, right);
    }
    if (q->before)
        say(&w, "; with the %.4g that %s held before the call it is %.*g", before,
            steps_texts[q->what].name, digits, before + right);
    if (isnan(got))
        say(&w, ", you have nothing (NaN)");
    else
        say(&w, ", you have %.*g", digits, got);
}

/* ------------------------------------------------------------------ judging -------------------- */

/* The right backward, its absolute terms, and room for those of one mistake. */
typedef struct {
    steps *right, *terms, *wrong, *wrong_terms, *work[3];
} judge;

static void close_judge(judge *g)
{
    steps_close(g->right);
    steps_close(g->terms);
    steps_close(g->wrong);
    steps_close(g->wrong_terms);
    mistakes_close_work(g->work);
}

/* Without names there is nothing to compute but the right backward and its terms. */
static bool open_judge(judge *g, const steps *a, bool names)
{
    *g = (judge){.right = steps_copy(a), .terms = steps_terms(a)};
    if (names) g->wrong = steps_copy(a);
    if (names && g->terms) g->wrong_terms = steps_copy(g->terms);
    bool good = !names || (mistakes_open_work(a, g->work) && g->wrong && g->wrong_terms);
    if (good && g->right && g->terms) {
        steps_backward(g->right);
        return true;
    }
    close_judge(g);
    return false;
}

static question ask(const judge *g, const mistakes_answer *answer, steps_name what)
{
    question q = {.a = g->right,
                  .what = what,
                  .got = answer->got[what],
                  .before = answer->before[what],
                  .right = g->right->at[what],
                  .terms = g->terms->at[what]};
    q.close = is_of_halves(answer) ? units_of_half * answer->unit : close_in_float;
    q.least = least_terms(answer->unit, q.close);
    steps_dims(g->right, what, q.dim);
    return q;
}

static verdict first_verdict(const question *q)
{
    verdict v = {.kind = VERDICT_EXACT, .error = -1};
    bool unwritten = false;
    for (int cell[3] = {0, 0, -1}; next_cell(q, cell);) {
        ptrdiff_t e = offset_of_cell(q, cell);
        double error = error_of(q, e);
        unwritten = unwritten || isnan(q->got[e]);
        v.wrong += !(error <= q->close);
        if (error <= v.error) continue;
        v.error = error;
        memcpy(v.cell, cell, sizeof v.cell);
    }
    if (v.error < 0) return (verdict){.kind = VERDICT_EXACT}; /* nothing to look at */
    v.got = q->got[offset_of_cell(q, v.cell)];
    v.right = before_of(q, offset_of_cell(q, v.cell)) + q->right[offset_of_cell(q, v.cell)];
    if (v.error > exact) v.kind = VERDICT_CLOSE;
    if (v.error > q->close) v.kind = VERDICT_WRONG;
    if (unwritten) v.kind = VERDICT_NOT_WRITTEN;
    return v;
}

/* One mistake, with one of two ways to compute delta, as an answer to compare with. */
static void run_mistake(const judge *g, mistake_set set)
{
    mistakes_run(g->wrong, set, g->right, g->work);
}

static void run_terms(const judge *g, mistake_set set)
{
    mistakes_run(g->wrong_terms, set, g->terms, g->work);
}

static question ask_mistake(const judge *g, question q, bool overwrites)
{
    q.right = g->wrong->at[q.what];
    q.terms = g->wrong_terms->at[q.what];
    if (overwrites) q.before = NULL;
    return q;
}

/* Most mistakes are far off, and then their absolute terms need not be computed: is the largest
 * difference less than 1/100 of the largest number there is? */
static bool is_plausible(const judge *g, const question *q, bool overwrites)
{
    question other = ask_mistake(g, *q, overwrites);
    double off = 0, size = 0;
    for (int cell[3] = {0, 0, -1}; next_cell(q, cell);) {
        ptrdiff_t e = offset_of_cell(q, cell);
        double should = before_of(&other, e) + other.right[e];
        double apart = fabs(q->got[e] - should), large = fabs(should) + terms_of(q, e);
        if (apart > off) off = apart;
        if (large > size) size = large;
    }
    return off <= fmax(0.01, 2 * q->close) * size;
}

/* Is this the answer of the mistake?  Then far is how much farther the right one must be. */
static bool fits_mistake(const judge *g, question q, bool overwrites, mistake_set set,
                         bool *have_terms, double *far)
{
    if (!is_plausible(g, &q, overwrites)) return false;
    if (!*have_terms) run_terms(g, set);
    *have_terms = true;
    q = ask_mistake(g, q, overwrites);
    double distance = largest_error(&q, q.close);
    *far = farther(&q) * distance;
    return distance <= q.close;
}

/* With every mistake, a gradient may also replace what it held before. */
static void try_mistake(const judge *g, const mistakes_answer *answer, mistake m, mistake_set set,
                        mistakes_report *report)
{
    bool all = true, have_terms = false;
    run_mistake(g, set);
    for (int k = 0; k < STEPS_COUNT; k++) {
        verdict *v = &report->of[k];
        if (v->kind == VERDICT_NOT_ASKED) continue;
        const question q = ask(g, answer, (steps_name)k);
        bool is_overwritten = m == MISTAKE_OVERWRITTEN;
        double far;
        bool fits = fits_mistake(g, q, is_overwritten, set, &have_terms, &far);
        if (v->kind == VERDICT_WRONG && fits && far <= v->error) v->named.has[m] = true;
        if (v->kind == VERDICT_WRONG && !fits && q.before && !is_overwritten &&
            fits_mistake(g, q, true, set, &have_terms, &far) && far <= v->error)
            v->replaced.has[m] = true;
        all = all && fits;
    }
    if (all) report->all.has[m] = true;
}

/* Nobody leaves out a dW that there is not; and who has no dbias makes no mistake in it. */
static bool can_be_made(const steps *a, const mistakes_answer *answer, int m)
{
    bool of_dW = m == MISTAKE_DW_LEFT_OUT || m == MISTAKE_DELTA_NO_DW || m == MISTAKE_DELTA_NO_DO;
    bool of_dbias = mistakes_first(mistakes_only((mistake)m)) == STEPS_DBIAS;
    return (a->p.weights || !of_dW) && (answer->got[STEPS_DBIAS] || !of_dbias);
}

bool mistakes_judge(const steps *a, const mistakes_answer *answer, mistakes_report *report)
{
    judge g;
    bool any_wrong = false;
    *report = (mistakes_report){.all = {.delta_from_output = false}};
    if (!open_judge(&g, a, !answer->unnamed)) return false;
    for (int k = 0; k < STEPS_COUNT; k++) {
        if (!answer->got[k]) continue;
        question q = ask(&g, answer, (steps_name)k);
        report->of[k] = first_verdict(&q);
        any_wrong = any_wrong || report->of[k].kind == VERDICT_WRONG;
    }
    for (int m = 1; any_wrong && !answer->unnamed && m < MISTAKES; m++) {
        mistake_set set = mistakes_only((mistake)m);
        if (!can_be_made(a, answer, m)) continue;
        try_mistake(&g, answer, (mistake)m, set, report);
        /* where dP is right, both ways to compute delta give the same */
        set.delta_from_output = mistakes_first(set) < STEPS_DELTA;
        if (set.delta_from_output) try_mistake(&g, answer, (mistake)m, set, report);
    }
    mistake_set named = mistakes_only(MISTAKE_NONE);
    for (int k = 0; k < STEPS_COUNT; k++) {
        verdict *v = &report->of[k];
        if (v->kind == VERDICT_NOT_ASKED) continue;
        question q = ask(&g, answer, (steps_name)k);
        named = mistakes_join(named, v->named);
        if (mistakes_any(v->named)) v->replaced = mistakes_only(MISTAKE_NONE);
        if (v->error > 0) say_arithmetic(&q, v);
        if (v->kind == VERDICT_WRONG || v->kind == VERDICT_NOT_WRITTEN) describe(&q, v);
    }
    report->all = mistakes_common(report->all, named);
    close_judge(&g);
    return true;
}

bool mistakes_hidden(const steps *a, steps_name what, const double *before, mistake_set *hidden)
{
    judge g;
    *hidden = mistakes_only(MISTAKE_NONE);
    if (!open_judge(&g, a, true)) return false;
    double *right = calloc((size_t)steps_size(a, what) + 1, sizeof *right);
    mistakes_answer answer = {.got = {[0] = NULL}};
    answer.got[what] = right;
    answer.before[what] = before;
    question q = ask(&g, &answer, what);
    for (ptrdiff_t e = 0; right && e < steps_size(a, what); e++)
        right[e] = before_of(&q, e) + q.right[e];
    for (int m = 1; right && m < MISTAKES; m++) {
        run_mistake(&g, mistakes_only((mistake)m));
        run_terms(&g, mistakes_only((mistake)m));
        question other = ask_mistake(&g, q, m == MISTAKE_OVERWRITTEN);
        if (largest_error(&other, other.close) <= other.close) hidden->has[m] = true;
    }
    close_judge(&g);
    free(right);
    return right != NULL;
}

/* ------------------------------------------------------------------ any matrix ----------------- */

/* Does it hold, bit by bit, what it held before, or 0? */
static bool is_as_before(const question *q)
{
    bool same = true;
    for (int cell[3] = {0, 0, -1}; same && next_cell(q, cell);) {
        const ptrdiff_t e = offset_of_cell(q, cell);
        same = q->got[e] == before_of(q, e);
    }
    return same;
}

void mistakes_judge_matrix(const mistakes_matrix *m, verdict *v)
{
    question q = {.what = STEPS_COUNT,
                  .dim = {m->heads ? m->heads : 1, m->rows, m->columns},
                  .got = m->got,
                  .before = m->before,
                  .right = m->right,
                  .terms = m->terms,
                  .matrix = m,
                  .close = close_in_float,
                  .least = least_terms(0, close_in_float)};
    *v = first_verdict(&q);
    const bool bad = v->kind == VERDICT_WRONG || v->kind == VERDICT_NOT_WRITTEN;
    const bool named = bad && !is_as_before(&q); /* some mistakes add next to nothing, by chance */
    for (int k = 0; k < m->candidates && named; k++) {
        const mistakes_candidate *c = &m->candidate[k];
        question other = q;
        other.right = c->values;
        if (c->overwrites) other.before = NULL;
        double distance = largest_error(&other, q.close);
        if (distance <= q.close && farther(&q) * distance <= v->error)
            v->candidates |= (uint64_t)1 << k;
    }
    if (bad) describe(&q, v);
    if (v->candidates) v->kind = VERDICT_WRONG; /* what is missing is a part of the mistake */
}
