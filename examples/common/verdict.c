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
 * is 9000 u.
 *
 * NAMING.  Right comes first.  The answer is then compared with the wrong answer of every mistake,
 * relative to the absolute terms of that one; where it reads dP, in both ways to compute delta.
 *
 * DESCRIBING.  What no mistake gives, two mistakes at once for example, is described: a constant
 * ratio, a transpose, where the wrong elements lie, and whether the error has rank one.  In dS, an
 * error of P_ij times one number per row is one of delta. */
#include "common/mistakes.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double exact = 1e-12, close_enough = 1e-6, farther = 100;

/* Below it, a term in float is rounded absolutely. */
static const double least_terms = 1e-30;

/* One answer, and what it should be. */
typedef struct {
    const steps *a;
    steps_name what;
    int dim[3];
    const double *got, *before, *right, *terms; /* right and terms: of what is added to before */
    const mistakes_matrix *matrix; /* it is no part of attention: a is NULL, what is STEPS_COUNT */
} question;

static ptrdiff_t offset_of(const question *q, int h, int i, int j)
{
    return ((ptrdiff_t)h * q->dim[1] + i) * q->dim[2] + j;
}

/* R, X, U, S, dA and dP of a masked cell are of no use: nobody reads them. */
static bool looked_at(const question *q, int h, int i, int j)
{
    if (q->matrix) return true;
    bool unread =
        (q->what >= STEPS_R && q->what <= STEPS_S) || q->what == STEPS_DA || q->what == STEPS_DP;
    return !unread || steps_attends(q->a, h, i, j);
}

static double before_of(const question *q, ptrdiff_t e)
{
    return q->before ? q->before[e] : 0;
}

static double terms_of(const question *q, ptrdiff_t e)
{
    return q->terms[e] + fabs(before_of(q, e)) + least_terms;
}

static double error_of(const question *q, ptrdiff_t e)
{
    double should = before_of(q, e) + q->right[e];
    if (q->got[e] == should) return 0; /* infinities, too */
    double off = fabs(q->got[e] - should);
    return off < (double)INFINITY ? off / terms_of(q, e) : (double)INFINITY;
}

/* The next element that is looked at; false: there is none.  Begin with cell {0, 0, -1}. */
static bool next_cell(const question *q, int cell[3])
{
    do {
        cell[2]++;
        if (cell[2] == q->dim[2]) cell[2] = 0, cell[1]++;
        if (cell[1] == q->dim[1]) cell[1] = 0, cell[0]++;
        if (cell[0] >= q->dim[0] || q->dim[1] == 0 || q->dim[2] == 0) return false;
    } while (!looked_at(q, cell[0], cell[1], cell[2]));
    return true;
}

static ptrdiff_t offset_of_cell(const question *q, const int cell[3])
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

/* ------------------------------------------------------------------ text ----------------------- */

typedef struct {
    char *to;
    size_t left;
} writer;

__attribute__((format(printf, 2, 3))) static void say(writer *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(w->to, w->left, format, args);
    va_end(args);
    size_t used = n < 0 ? 0 : (size_t)n < w->left ? (size_t)n : w->left - 1;
    w->to += used;
    w->left -= used;
}

/* q0, k1, d0: rows are queries or keys, columns keys or elements of a vector. */
static char row_letter(steps_name what)
{
    return what == STEPS_K || what == STEPS_V || what == STEPS_DK || what == STEPS_DV ? 'k' : 'q';
}

static char column_letter(steps_name what)
{
    switch (what) {
    case STEPS_Q:
    case STEPS_K:
    case STEPS_V:
    case STEPS_O:
    case STEPS_DO:
    case STEPS_DV:
    case STEPS_DQ:
    case STEPS_DK: return 'd';
    default: return 'k';
    }
}

/* "dS[q0,k1]", with several heads "dS[h1,q0,k1]"; an axis of a bias that is broadcast is "*". */
static void say_cell(writer *w, const steps *a, steps_name what, int h, int i, int j)
{
    int dim[3];
    bool bias = what == STEPS_BIAS || what == STEPS_DBIAS;
    steps_dims(a, what, dim);
    say(w, "%s[", steps_texts[what].name);
    if (bias && dim[0] == 1 && a->p.H > 1)
        say(w, "*,");
    else if (dim[0] > 1)
        say(w, "h%d,", h);
    if (bias && dim[1] == 1 && a->p.T > 1)
        say(w, "*");
    else
        say(w, "%c%d", row_letter(what), i);
    if (bias && dim[2] == 1 && a->p.N > 1)
        say(w, ",*");
    else if (what != STEPS_DELTA)
        say(w, ",%c%d", column_letter(what), j);
    say(w, "]");
}

/* ------------------------------------------------------------------ the arithmetic ------------- */

enum { SHOWN_TERMS = 4 };
typedef struct {
    double x[SHOWN_TERMS], y[SHOWN_TERMS];
    int n;
} products;

static void collect(products *s, double x, double y)
{
    if (s->n < SHOWN_TERMS) s->x[s->n] = x, s->y[s->n] = y;
    s->n++;
}

static void say_products(writer *w, const products *s, bool alone)
{
    for (int k = 0; k < s->n && k < SHOWN_TERMS; k++) {
        say(w, k ? " + %.4g" : "%.4g", s->x[k]);
        if (!alone) say(w, "*%.4g", s->y[k]);
    }
    if (s->n > SHOWN_TERMS) say(w, " + ... (%d terms)", s->n);
    if (s->n == 0) say(w, "0 (no term)");
}

static void collect_dot(products *s, int n, const double *x, const double *y)
{
    for (int d = 0; d < n; d++) collect(s, x[d], y[d]);
}

static double at_cell(const steps *a, steps_name what, int h, int i, int j)
{
    return *steps_cell(a, what, h, i, j);
}

/* sum over the keys of row i of x_ij y_j, where y_j is element d of a key's row, or y_ij */
static void collect_row(products *s, const steps *a, int h, int i, steps_name x, steps_name y,
                        int d)
{
    for (int j = 0; j < a->p.N; j++) {
        if (!steps_attends(a, h, i, j)) continue;
        bool of_key = y == STEPS_K || y == STEPS_V;
        collect(s, at_cell(a, x, h, i, j),
                of_key ? at_cell(a, y, a->reads[h], j, d) : at_cell(a, y, h, i, j));
    }
}

/* sum over the queries that read key j of head g of x_ij y_id */
static void collect_column(products *s, const steps *a, int g, int j, steps_name x, steps_name y,
                           int d)
{
    for (int h = 0; h < a->p.H; h++)
        for (int i = 0; i < a->p.T; i++)
            if (a->reads[h] == g && steps_attends(a, h, i, j))
                collect(s, at_cell(a, x, h, i, j), at_cell(a, y, h, i, d));
}

static void collect_bias(products *s, const steps *a, const int cell[3])
{
    const double *wanted = steps_cell(a, STEPS_DBIAS, cell[0], cell[1], cell[2]);
    for (int h = 0; h < a->p.H; h++)
        for (int i = 0; i < a->p.T; i++)
            for (int j = 0; j < a->p.N; j++)
                if (steps_cell(a, STEPS_DBIAS, h, i, j) == wanted && steps_attends(a, h, i, j))
                    collect(s, at_cell(a, STEPS_DS, h, i, j), 1);
}

static void say_softmax(writer *w, const steps *a, int h, int i, int j)
{
    const char *between = "";
    say(w, "exp(%.4g) / (", at_cell(a, STEPS_S, h, i, j));
    for (int k = 0; k < a->p.N; k++) {
        if (!steps_attends(a, h, i, k)) continue;
        say(w, "%sexp(%.4g)", between, at_cell(a, STEPS_S, h, i, k));
        between = " + ";
    }
    say(w, ")");
}

static void say_sum(writer *w, const steps *a, steps_name what, const int cell[3])
{
    const int h = cell[0], i = cell[1], j = cell[2];
    products s = {.n = 0};
    switch (what) {
    case STEPS_R:
        collect_dot(&s, a->p.D, steps_cell(a, STEPS_Q, h, i, 0),
                    steps_cell(a, STEPS_K, a->reads[h], j, 0));
        break;
    case STEPS_DA:
        collect_dot(&s, a->p.Dv, steps_cell(a, STEPS_DO, h, i, 0),
                    steps_cell(a, STEPS_V, a->reads[h], j, 0));
        break;
    case STEPS_O: collect_row(&s, a, h, i, STEPS_A, STEPS_V, j); break;
    case STEPS_DELTA: collect_row(&s, a, h, i, STEPS_P, STEPS_DP, 0); break;
    case STEPS_DQ: collect_row(&s, a, h, i, STEPS_DR, STEPS_K, j); break;
    case STEPS_DV: collect_column(&s, a, h, i, STEPS_A, STEPS_DO, j); break;
    case STEPS_DK: collect_column(&s, a, h, i, STEPS_DR, STEPS_Q, j); break;
    case STEPS_DBIAS: collect_bias(&s, a, cell); break;
    default: break;
    }
    say_products(w, &s, what == STEPS_DBIAS);
    if (what == STEPS_DA && a->p.weights) say(w, " + %.4g", at_cell(a, STEPS_DW, h, i, j));
}

/* The right side of the formula with the numbers put in. */
static void say_formula(writer *w, const steps *a, steps_name what, const int cell[3])
{
    const int h = cell[0], i = cell[1], j = cell[2];
    const double cap = a->p.softcap;
#define AT(name) at_cell(a, STEPS_##name, h, i, j)
    switch (what) {
    case STEPS_X: say(w, "%.4g * %.4g", a->c, AT(R)); break;
    case STEPS_U:
        if (cap > 0)
            say(w, "%.4g * tanh(%.4g / %.4g)", cap, AT(X), cap);
        else
            say(w, "X");
        break;
    case STEPS_S:
        if (a->p.bias_H > 0)
            say(w, "%.4g + %.4g", AT(U), AT(BIAS));
        else
            say(w, "U");
        break;
    case STEPS_P: say_softmax(w, a, h, i, j); break;
    case STEPS_A: say(w, "%.4g * %.4g", AT(Z), AT(P)); break;
    case STEPS_DP: say(w, "%.4g * %.4g", AT(Z), AT(DA)); break;
    case STEPS_DS: say(w, "%.4g * (%.4g - %.4g)", AT(P), AT(DP), AT(DELTA)); break;
    case STEPS_DU: say(w, "dS"); break;
    case STEPS_DX:
        if (cap > 0)
            say(w, "%.4g * (1 - (%.4g / %.4g)^2)", AT(DU), AT(U), cap);
        else
            say(w, "dU");
        break;
    case STEPS_DR: say(w, "%.4g * %.4g", a->c, AT(DX)); break;
    default: say_sum(w, a, what, cell);
    }
#undef AT
}

static bool is_cell_of_scores(steps_name what)
{
    return (what >= STEPS_R && what <= STEPS_A) || what == STEPS_DA || what == STEPS_DP ||
           what == STEPS_DS || (what >= STEPS_DU && what <= STEPS_DR);
}

/* "dS[q0,k1] = 0.2 * (6 - 4.9) = 0.22, you have 1.2" */
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

    say_cell(&w, q->a, q->what, cell[0], cell[1], cell[2]);
    if (is_cell_of_scores(q->what) && !steps_attends(q->a, cell[0], cell[1], cell[2])) {
        say(&w, " = 0, for q%d does not attend to k%d", cell[1], cell[2]);
    } else {
        say(&w, " = ");
        say_formula(&w, q->a, q->what, cell);
        say(&w, " = %.*g", digits, right);
    }
    if (q->before)
        say(&w, "; with the %.4g from before it is %.*g", before, digits, before + right);
    if (isnan(got))
        say(&w, ", you have nothing (NaN)");
    else
        say(&w, ", you have %.*g", digits, got);
}

/* ------------------------------------------------------------------ describing ----------------- */

typedef bool cell_rule(const question *q, int h, int i, int j);

static bool is_unwritten(const question *q, int h, int i, int j)
{
    return looked_at(q, h, i, j) && isnan(q->got[offset_of(q, h, i, j)]);
}

static bool is_wrong(const question *q, int h, int i, int j)
{
    return looked_at(q, h, i, j) && !(error_of(q, offset_of(q, h, i, j)) <= close_enough);
}

static bool is_masked(const question *q, int h, int i, int j)
{
    return !q->matrix && is_cell_of_scores(q->what) && !steps_attends(q->a, h, i, j);
}

static bool is_in_empty_row(const question *q, int h, int i, int j)
{
    (void)j;
    if (q->matrix || q->what == STEPS_BIAS || q->what == STEPS_DBIAS) return false;
    if (row_letter(q->what) != 'q') return false;
    for (int k = 0; k < q->a->p.N; k++)
        if (steps_attends(q->a, h, i, k)) return false;
    return true;
}

/* Nothing was added: it holds what it held before, or 0. */
static bool is_untouched(const question *q, int h, int i, int j)
{
    ptrdiff_t e = offset_of(q, h, i, j);
    return fabs(q->got[e] - before_of(q, e)) <= close_enough * terms_of(q, e);
}

static ptrdiff_t count_cells(const question *q, cell_rule *is)
{
    ptrdiff_t n = 0;
    for (int cell[3] = {0, 0, -1}; next_cell(q, cell);) n += is(q, cell[0], cell[1], cell[2]);
    return n;
}

/* Is every cell that satisfies one rule also one of the other? */
static bool all_are(const question *q, cell_rule *of, cell_rule *is)
{
    for (int cell[3] = {0, 0, -1}; next_cell(q, cell);)
        if (of(q, cell[0], cell[1], cell[2]) && !is(q, cell[0], cell[1], cell[2])) return false;
    return true;
}

/* Is there such a cell with this index along an axis? */
static bool some_along(const question *q, cell_rule *is, int axis, int index)
{
    for (int cell[3] = {0, 0, -1}; next_cell(q, cell);)
        if (cell[axis] == index && is(q, cell[0], cell[1], cell[2])) return true;
    return false;
}

/* "head h1", "rows q3 to q5 (the last)", "columns d0, d2": the indices along one axis where there
 * are such cells; nothing if they are everywhere. */
static bool say_axis(writer *w, const question *q, cell_rule *is, int axis, const char *before)
{
    static const char *const words[] = {"head", "row", "column"};
    const char *word = q->matrix && axis > 0 ? q->matrix->word[axis - 1] : words[axis];
    const char letter = q->matrix && axis > 0 ? q->matrix->letter[axis - 1]
                        : axis == 0           ? 'h'
                        : axis == 1           ? row_letter(q->what)
                                              : column_letter(q->what);
    int first = -1, last = -1, n = 0;
    for (int k = 0; k < q->dim[axis]; k++) {
        if (!some_along(q, is, axis, k)) continue;
        if (n++ == 0) first = k;
        last = k;
    }
    if (n == 0 || n == q->dim[axis]) return false;
    say(w, "%s%s%s ", before, word, n > 1 ? "s" : "");
    if (n > 1 && n == last - first + 1) {
        say(w, "%c%d to %c%d", letter, first, letter, last);
    } else {
        const char *between = "";
        for (int k = first; k <= last; k++) {
            if (!some_along(q, is, axis, k)) continue;
            say(w, "%s%c%d", between, letter, k);
            between = ", ";
        }
    }
    if (n == last - first + 1 && last == q->dim[axis] - 1) say(w, " (the last)");
    return true;
}

/* Where the cells lie, or how many they are. */
static void say_where(writer *w, const question *q, cell_rule *is)
{
    ptrdiff_t n = count_cells(q, is);
    if (all_are(q, is, is_in_empty_row)) {
        say(w, "only in rows that attend to no key");
        return;
    }
    if (all_are(q, is, is_masked)) {
        say(w, "only where a row does not attend to a key");
        return;
    }
    const char *before = "only in ";
    for (int axis = 0; axis < 3; axis++)
        if (say_axis(w, q, is, axis, before)) before = ", ";
    if (*before == ',') return;
    ptrdiff_t of = 0;
    for (int cell[3] = {0, 0, -1}; next_cell(q, cell);) of++;
    say(w, n == of ? "all %td elements" : "%td of %td elements", n, of);
}

typedef mistakes_ratio ratio;

enum { MAX_RATIOS = 16 };

/* What an answer may be wrong by, and its inverse; what is 1 here is left out. */
static int ratios_of(const steps *a, ratio *r)
{
    const steps_problem *p = &a->p;
    const bool own_scale = p->scale != 0 || p->temperature > 0;
    const ratio all[] = {{2, "2"},
                         {sqrt(p->D), "sqrt(D)"},
                         {own_scale ? a->c : 1, "c"},
                         {p->temperature > 0 ? p->temperature : 1, "temperature"},
                         {1 - p->dropout, "(1-p)"},
                         {(double)p->H / p->G, "(H/G)"},
                         {p->G > 1 ? p->H : 1, "H"},
                         {p->T, "T"},
                         {p->N, "N"},
                         {p->D, "D"}};
    int n = 0;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (fabs(all[k].value - 1) > 1e-3 && all[k].value != 0) r[n++] = all[k];
    return n;
}

bool mistakes_ratios_differ(const steps *a)
{
    ratio r[MAX_RATIOS];
    int n = ratios_of(a, r);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++) {
            double x = fabs(r[i].value), y = fabs(r[k].value);
            if (fabs(x / y - 1) < 1e-3 || fabs(x * y - 1) < 1e-3) return false;
        }
    return true;
}

/* " = 1/sqrt(D)", and whatever else has this value on this input */
static bool say_ratio(writer *w, const question *q, double k, double unsure)
{
    ratio own[MAX_RATIOS];
    const ratio *r = q->matrix ? q->matrix->ratio : own;
    int n = q->matrix ? q->matrix->ratios : ratios_of(q->a, own);
    bool any = false;
    for (int i = 0; i < n; i++)
        for (int inverse = 0; inverse < 2; inverse++)
            for (int sign = 1; sign >= -1; sign -= 2) {
                double v = sign * (inverse ? 1 / r[i].value : r[i].value);
                if (fabs(k - v) > unsure * fmax(1, fabs(v))) continue;
                if (inverse || *r[i].name != '2') /* "2 = 2" says nothing */
                    say(w, " = %s%s%s", sign < 0 ? "-" : "", inverse ? "1/" : "", r[i].name);
                any = true;
            }
    return any;
}

/* Is every element k times the right one?  Then k is the mean, weighted by 1/terms^2. */
static bool describe_ratio(writer *w, const question *q)
{
    double xy = 0, xx = 0, largest = 0;
    int elements = 0;
    for (int cell[3] = {0, 0, -1}; next_cell(q, cell);) {
        ptrdiff_t e = offset_of_cell(q, cell);
        double t = terms_of(q, e), x = q->right[e] / t, y = (q->got[e] - before_of(q, e)) / t;
        xy += x * y;
        xx += x * x;
        largest = fmax(largest, fabs(x));
        elements += fabs(x) > 1e-3;
    }
    if (elements == 0 || !isfinite(xy)) return false;
    double k = xy / xx, unsure = 3 * close_enough / largest;
    for (int cell[3] = {0, 0, -1}; next_cell(q, cell);) {
        ptrdiff_t e = offset_of_cell(q, cell);
        double off = fabs(q->got[e] - before_of(q, e) - k * q->right[e]);
        if (!(off <= close_enough * fmax(1, fabs(k)) * terms_of(q, e))) return false;
    }
    if (fabs(k + 1) <= unsure) {
        say(w, "every element has the wrong sign");
        return true;
    }
    char name[80];
    writer of_name = {name, sizeof name};
    name[0] = 0;
    if (!say_ratio(&of_name, q, k, unsure) && elements < 3) return false;
    say(w, "every element is %.4g%s times the right one", k, name);
    return true;
}

/* Does every head hold the rows of its transpose, one after the other? */
static bool describe_transpose(writer *w, const question *q)
{
    if (q->dim[1] < 2 || q->dim[2] < 2) return false;
    for (int cell[3] = {0, 0, -1}; next_cell(q, cell);) {
        ptrdiff_t e = offset_of_cell(q, cell), first = offset_of(q, cell[0], 0, 0);
        ptrdiff_t from = first + (e - first) % q->dim[1] * q->dim[2] + (e - first) / q->dim[1];
        double off = fabs(q->got[e] - before_of(q, e) - q->right[from]);
        if (!(off <= close_enough * (terms_of(q, e) + terms_of(q, from)))) return false;
    }
    say(w, "the transpose of the right matrix");
    return true;
}

static double error_at(const question *q, int h, int i, int j)
{
    ptrdiff_t e = offset_of(q, h, i, j);
    return q->got[e] - before_of(q, e) - q->right[e];
}

/* Is x_ij = u_i v_j in every head?  Then x_ij x_pq = x_iq x_pj with the largest as x_pq.  x is the
 * error. */
static bool has_rank_one(const question *q, int h)
{
    int p = 0, r = 0;
    double most = 0;
    for (int i = 0; i < q->dim[1]; i++)
        for (int j = 0; j < q->dim[2]; j++) {
            double size = fabs(error_at(q, h, i, j)) / terms_of(q, offset_of(q, h, i, j));
            if (size > most) most = size, p = i, r = j;
        }
    if (!(most > close_enough)) return true;
    double pivot = error_at(q, h, p, r);
    for (int i = 0; i < q->dim[1]; i++)
        for (int j = 0; j < q->dim[2]; j++) {
            double u = error_at(q, h, i, r) / pivot, v = error_at(q, h, p, j) / pivot;
            double off = fabs(error_at(q, h, i, j) - u * v * pivot);
            double rounding = terms_of(q, offset_of(q, h, i, j)) +
                              fabs(v) * terms_of(q, offset_of(q, h, i, r)) +
                              fabs(u) * terms_of(q, offset_of(q, h, p, j)) +
                              fabs(u * v) * terms_of(q, offset_of(q, h, p, r));
            if (!(off <= close_enough * rounding)) return false;
        }
    return true;
}

/* Is the error of every row of dS P_ij times one number? */
static bool is_error_of_delta(const question *q)
{
    for (int h = 0; h < q->dim[0]; h++)
        for (int i = 0; i < q->dim[1]; i++) {
            double by = 0, best = 0;
            for (int j = 0; j < q->dim[2]; j++) {
                double P = at_cell(q->a, STEPS_P, h, i, j);
                if (P > best) best = P, by = error_at(q, h, i, j) / P;
            }
            for (int j = 0; j < q->dim[2]; j++) {
                double off = fabs(error_at(q, h, i, j) - by * at_cell(q->a, STEPS_P, h, i, j));
                if (!(off <= 3 * close_enough * terms_of(q, offset_of(q, h, i, j)))) return false;
            }
        }
    return true;
}

static void describe(const question *q, verdict *v)
{
    writer w = {v->where, sizeof v->where};
    v->where[0] = 0;
    if (v->kind == VERDICT_NOT_WRITTEN) {
        say_where(&w, q, is_unwritten);
        return;
    }
    if (all_are(q, looked_at, is_untouched)) {
        say(&w, q->before ? "nothing was added" : "every element is 0");
        return;
    }
    if (describe_ratio(&w, q) || describe_transpose(&w, q)) return;
    say_where(&w, q, is_wrong);
    if (all_are(q, is_wrong, is_untouched))
        say(&w, q->before ? ": nothing was added there" : ": they are 0");
    else if (q->what == STEPS_DS && q->dim[2] > 1 && is_error_of_delta(q))
        say(&w, "; in each row the error is P_ij times one number: look at delta");
    else if (q->dim[1] >= 3 && q->dim[2] >= 3 && *v->where == 'a') {
        bool rank_one = true;
        for (int h = 0; h < q->dim[0]; h++) rank_one = rank_one && has_rank_one(q, h);
        if (rank_one) say(&w, "; the error has rank one: it is u_i v_j");
    }
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

static bool open_judge(judge *g, const steps *a)
{
    *g = (judge){.right = steps_copy(a), .terms = steps_terms(a), .wrong = steps_copy(a)};
    if (g->terms) g->wrong_terms = steps_copy(g->terms);
    if (mistakes_open_work(a, g->work) && g->right && g->wrong && g->wrong_terms) {
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
        v.wrong += !(error <= close_enough);
        if (error <= v.error) continue;
        v.error = error;
        memcpy(v.cell, cell, sizeof v.cell);
    }
    if (v.error < 0) return (verdict){.kind = VERDICT_EXACT}; /* nothing to look at */
    v.got = q->got[offset_of_cell(q, v.cell)];
    v.right = before_of(q, offset_of_cell(q, v.cell)) + q->right[offset_of_cell(q, v.cell)];
    if (v.error > exact) v.kind = VERDICT_CLOSE;
    if (v.error > close_enough) v.kind = VERDICT_WRONG;
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

static question ask_mistake(const judge *g, question q, mistake m)
{
    q.right = g->wrong->at[q.what];
    q.terms = g->wrong_terms->at[q.what];
    if (m == MISTAKE_OVERWRITTEN) q.before = NULL;
    return q;
}

/* Most mistakes are far off, and then their absolute terms need not be computed: is the largest
 * difference less than 1/100 of the largest number there is? */
static bool is_plausible(const judge *g, const question *q, mistake m)
{
    question other = ask_mistake(g, *q, m);
    double off = 0, size = 0;
    for (int cell[3] = {0, 0, -1}; next_cell(q, cell);) {
        ptrdiff_t e = offset_of_cell(q, cell);
        double should = before_of(&other, e) + other.right[e];
        double apart = fabs(q->got[e] - should), large = fabs(should) + terms_of(q, e);
        if (apart > off) off = apart;
        if (large > size) size = large;
    }
    return off <= 0.01 * size;
}

static void try_mistake(const judge *g, const mistakes_answer *answer, mistake m, mistake_set set,
                        mistakes_report *report)
{
    bool all = true, have_terms = false;
    run_mistake(g, set);
    for (int k = 0; k < STEPS_COUNT; k++) {
        verdict *v = &report->of[k];
        if (v->kind == VERDICT_NOT_ASKED) continue;
        question q = ask(g, answer, (steps_name)k);
        bool fits = false;
        if (is_plausible(g, &q, m)) {
            if (!have_terms) run_terms(g, set);
            have_terms = true;
            q = ask_mistake(g, q, m);
            double distance = largest_error(&q, close_enough);
            fits = distance <= close_enough;
            if (v->kind == VERDICT_WRONG && fits && farther * distance <= v->error)
                v->named |= MISTAKE_BIT(m);
        }
        all = all && fits;
    }
    if (all) report->all |= MISTAKE_BIT(m);
}

/* Nobody leaves out a dW that there is not. */
static bool can_be_made(const steps *a, int m)
{
    bool of_dW = m == MISTAKE_DW_LEFT_OUT || m == MISTAKE_DELTA_NO_DW || m == MISTAKE_DELTA_NO_DO;
    return a->p.weights || !of_dW;
}

bool mistakes_judge(const steps *a, const mistakes_answer *answer, mistakes_report *report)
{
    judge g;
    bool any_wrong = false;
    *report = (mistakes_report){.all = 0};
    if (!open_judge(&g, a)) return false;
    for (int k = 0; k < STEPS_COUNT; k++) {
        if (!answer->got[k]) continue;
        question q = ask(&g, answer, (steps_name)k);
        report->of[k] = first_verdict(&q);
        any_wrong = any_wrong || report->of[k].kind == VERDICT_WRONG;
    }
    for (int m = 1; any_wrong && m < MISTAKES; m++) {
        mistake_set set = MISTAKE_BIT(m);
        if (!can_be_made(a, m)) continue;
        try_mistake(&g, answer, (mistake)m, set, report);
        /* where dP is right, both ways to compute delta give the same */
        if (mistakes_first(set) < STEPS_DELTA)
            try_mistake(&g, answer, (mistake)m, set | MISTAKES_DELTA_FROM_OUTPUT, report);
    }
    mistake_set named = 0;
    for (int k = 0; k < STEPS_COUNT; k++) {
        verdict *v = &report->of[k];
        if (v->kind == VERDICT_NOT_ASKED) continue;
        question q = ask(&g, answer, (steps_name)k);
        named |= v->named;
        if (v->error > 0) say_arithmetic(&q, v);
        if (v->kind == VERDICT_WRONG || v->kind == VERDICT_NOT_WRITTEN) describe(&q, v);
    }
    report->all &= named;
    close_judge(&g);
    return true;
}

bool mistakes_hidden(const steps *a, steps_name what, const double *before, mistake_set *hidden)
{
    judge g;
    *hidden = 0;
    if (!open_judge(&g, a)) return false;
    double *right = calloc((size_t)steps_size(a, what) + 1, sizeof *right);
    mistakes_answer answer = {.got = {[0] = NULL}};
    answer.got[what] = right;
    answer.before[what] = before;
    question q = ask(&g, &answer, what);
    for (ptrdiff_t e = 0; right && e < steps_size(a, what); e++)
        right[e] = before_of(&q, e) + q.right[e];
    for (int m = 1; right && m < MISTAKES; m++) {
        run_mistake(&g, MISTAKE_BIT(m));
        run_terms(&g, MISTAKE_BIT(m));
        question other = ask_mistake(&g, q, (mistake)m);
        if (largest_error(&other, close_enough) <= close_enough) *hidden |= MISTAKE_BIT(m);
    }
    close_judge(&g);
    free(right);
    return right != NULL;
}

/* ------------------------------------------------------------------ any matrix ----------------- */

void mistakes_judge_matrix(const mistakes_matrix *m, verdict *v)
{
    question q = {.what = STEPS_COUNT,
                  .dim = {1, m->rows, m->columns},
                  .got = m->got,
                  .before = m->before,
                  .right = m->right,
                  .terms = m->terms,
                  .matrix = m};
    *v = first_verdict(&q);
    for (int k = 0; k < m->candidates && v->kind == VERDICT_WRONG; k++) {
        const mistakes_candidate *c = &m->candidate[k];
        question other = q;
        other.right = c->values;
        if (c->overwrites) other.before = NULL;
        double distance = largest_error(&other, close_enough);
        if (distance <= close_enough && farther * distance <= v->error) v->named |= MISTAKE_BIT(k);
    }
    if (v->kind == VERDICT_WRONG || v->kind == VERDICT_NOT_WRITTEN) describe(&q, v);
}
