/* arithmetic.c -- one element of an attention, worked out with its numbers; see arithmetic.h. */
#include "arithmetic.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ names ---------------------- */

char arithmetic_letter(const arithmetic_style *style, steps_name what, bool columns)
{
    switch (what) {
    case STEPS_Q:
    case STEPS_DQ:
    case STEPS_O:
    case STEPS_DO: return columns ? 'd' : what == STEPS_Q && style->tokens ? 't' : 'q';
    case STEPS_K:
    case STEPS_DK:
    case STEPS_V:
    case STEPS_DV: return columns ? 'd' : 'k';
    default: return columns ? 'k' : 'q';
    }
}

void arithmetic_name(const arithmetic_style *style, steps_name what, int head, int row, int column,
                     char text[60])
{
    const steps_problem *p = &style->a->p;
    const bool bias = what == STEPS_BIAS || what == STEPS_DBIAS;
    const bool all[3] = {bias && p->bias_H < p->H, bias && p->bias_T < p->T,
                         bias && p->bias_N < p->N};
    const int at[3] = {head, row, column}, first = p->H > 1 && what != STEPS_KEEP ? 0 : 1;
    const char letter[3] = {'h', arithmetic_letter(style, what, false),
                            arithmetic_letter(style, what, true)};
    int n = snprintf(text, 60, "%s[", steps_texts[what].name);
    for (int k = first; k < (what == STEPS_DELTA ? 2 : 3); k++)
        n += all[k] ? snprintf(text + n, (size_t)(60 - n), "%sall", k > first ? "," : "")
                    : snprintf(text + n, (size_t)(60 - n), "%s%c%d", k > first ? "," : "",
                               letter[k], at[k]);
    snprintf(text + n, (size_t)(60 - n), "]");
}

/* ------------------------------------------------------------------ writing -------------------- */

typedef struct {
    const arithmetic_style *style;
    const steps *a;
    arithmetic *w;
    char *text;
    size_t length, size;
    double sum, terms; /* of a sum of products: so far; of its absolute values */
    int count;
} worker;

static void say(worker *k, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(worker *k, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(k->text + k->length, k->size - k->length, format, args);
    va_end(args);
    k->length += n < 0 ? 0 : (size_t)n;
    if (k->length >= k->size) k->length = k->size - 1;
}

static void say_number(worker *k, bool decimals, double x)
{
    char text[400];
    int digits = k->style->digits ? k->style->digits : 4;
    int n = snprintf(text, sizeof text, decimals ? "%.*f" : "%.*g", digits, x + 0.0);
    if (decimals && !text[strspn(text, "-0.")])
        n = snprintf(text, sizeof text, "%.*f", digits, 0.0); /* not -0.0000 */
    if (k->style->plain && strchr(text, '.') && !strpbrk(text, "en")) {
        while (text[n - 1] == '0') n--;
        if (text[n - 1] == '.') n--;
    }
    say(k, "%.*s", n, text);
}

static void say_result(worker *k, double x)
{
    say_number(k, k->style->decimals, x);
}

/* ------------------------------------------------------------------ elements ------------------- */

/* What an element is a copy of, because a step is off or changes nothing; STEPS_COUNT: of nothing.
 * Where every matrix is shown, a scale or a dropout that is off is still a product with 1. */
static steps_name copy_of(const arithmetic_style *style, steps_name what)
{
    const steps_problem *p = &style->a->p;
    const bool c = style->a->c == 1 && style->shown, z = p->dropout <= 0 && style->shown;
    switch (what) {
    case STEPS_X: return c ? STEPS_R : STEPS_COUNT;
    case STEPS_U: return p->softcap > 0 ? STEPS_COUNT : STEPS_X;
    case STEPS_S: return p->bias_H ? STEPS_COUNT : STEPS_U;
    case STEPS_A: return z ? STEPS_P : STEPS_COUNT;
    case STEPS_DP: return z ? STEPS_DA : STEPS_COUNT;
    case STEPS_DBIAS:
        return p->bias_H == p->H && p->bias_T == p->T && p->bias_N == p->N ? STEPS_DS : STEPS_COUNT;
    case STEPS_DU: return STEPS_DS;
    case STEPS_DX: return p->softcap > 0 ? STEPS_COUNT : STEPS_DU;
    case STEPS_DR: return c ? STEPS_DX : STEPS_COUNT;
    default: return STEPS_COUNT;
    }
}

static bool is_shown(const arithmetic_style *style, steps_name what)
{
    return !style->shown || style->shown[what];
}

/* The nearest matrix that is shown, of those that `what` is a copy of; if none is, the one that is
 * no copy. */
static steps_name origin_of(const arithmetic_style *style, steps_name what)
{
    steps_name from = copy_of(style, what);
    while (from != STEPS_COUNT && !is_shown(style, what = from)) from = copy_of(style, what);
    return what;
}

/* `what`, or a matrix that is equal and shown */
static steps_name shown_for(const arithmetic_style *style, steps_name what)
{
    return is_shown(style, what) ? what : origin_of(style, what);
}

/* An element that the formula reads. */
static double take(worker *k, steps_name reads, int h, int i, int j)
{
    const steps_name what = shown_for(k->style, reads);
    const int *dim = k->a->dim[what];
    const arithmetic_cell cell = {what, dim[0] > 1 ? h : 0, dim[1] > 1 ? i : 0, dim[2] > 1 ? j : 0};
    arithmetic *w = k->w;
    bool known = w->n == ARITHMETIC_FROM;
    for (int e = 0; e < w->n && !known; e++) known = memcmp(&w->from[e], &cell, sizeof cell) == 0;
    if (!known) w->from[w->n++] = cell;
    return *steps_cell(k->a, what, h, i, j);
}

static double taken(worker *k, steps_name what, int h, int i, int j)
{
    double x = take(k, what, h, i, j);
    say_result(k, x);
    return x;
}

static double log_of(const worker *k, steps_name what, int i, int j)
{
    const arithmetic_style *s = k->style;
    return s->log_of ? s->log_of(s->context, what, i, j) : 0;
}

/* "0.5", or "ln 7" where that was given */
static void say_factor(worker *k, arithmetic_cell x, double value)
{
    double log = log_of(k, x.what, x.row, x.column);
    if (log != 0)
        say(k, "ln %.4g", log);
    else
        say_number(k, false, value);
}

/* ------------------------------------------------------------------ sums ----------------------- */

/* The next term; is it written? */
static bool begin_term(worker *k, double x)
{
    const int most = k->style->most;
    k->sum += x;
    k->terms += fabs(x);
    k->count++;
    if (most && k->count > most) return false;
    if (k->count > 1) say(k, " + ");
    return true;
}

/* " + x*y" */
static void add_product(worker *k, arithmetic_cell x, arithmetic_cell y)
{
    double a = take(k, x.what, x.head, x.row, x.column);
    double b = take(k, y.what, y.head, y.row, y.column);
    if (!begin_term(k, a * b)) return;
    say_factor(k, x, a);
    say(k, "*");
    say_factor(k, y, b);
}

static void end_sum(worker *k)
{
    const int most = k->style->most;
    if (most && k->count > most) say(k, " + ... (%d terms)", k->count);
    if (k->count == 0) say(k, "0");
}

static bool is_term(const worker *k, int h, int i, int j)
{
    return !k->style->attended || steps_attends(k->a, h, i, j);
}

/* sum_d x_d y_d over the elements of two vectors */
static void add_dot(worker *k, int n, arithmetic_cell x, arithmetic_cell y)
{
    for (x.column = y.column = 0; x.column < n; x.column++, y.column++) add_product(k, x, y);
}

/* sum_j x_ij y_j over the keys of row i, where y_j is element d of a key or value, or y_ij */
static void add_keys(worker *k, int h, int i, steps_name x, steps_name y, int d)
{
    const bool vector = y == STEPS_K || y == STEPS_V;
    for (int j = 0; j < k->a->p.N; j++)
        if (is_term(k, h, i, j))
            add_product(k, (arithmetic_cell){x, h, i, j},
                        vector ? (arithmetic_cell){y, k->a->reads[h], j, d}
                               : (arithmetic_cell){y, h, i, j});
}

/* sum_i x_ij y_id over the queries of all heads that read key j of head g */
static void add_queries(worker *k, int g, int j, steps_name x, steps_name y, int d)
{
    for (int h = 0; h < k->a->p.H; h++)
        for (int i = 0; i < k->a->p.T; i++)
            if (k->a->reads[h] == g && is_term(k, h, i, j))
                add_product(k, (arithmetic_cell){x, h, i, j}, (arithmetic_cell){y, h, i, d});
}

/* dbias: dS of every cell to which the one element of bias was added */
static void add_bias_cells(worker *k, const double *element)
{
    const steps *a = k->a;
    for (int h = 0; h < a->p.H; h++)
        for (int i = 0; i < a->p.T; i++)
            for (int j = 0; j < a->p.N; j++) {
                if (steps_cell(a, STEPS_DBIAS, h, i, j) != element || !is_term(k, h, i, j))
                    continue;
                double dS = take(k, STEPS_DS, h, i, j);
                if (begin_term(k, dS)) say_result(k, dS);
            }
}

static double sum_of_products(worker *k, steps_name what, int h, int i, int j)
{
    const steps *a = k->a;
    const arithmetic_cell query = {STEPS_Q, h, i, 0}, value = {STEPS_V, a->reads[h], j, 0};
    switch (what) {
    case STEPS_R: add_dot(k, a->p.D, query, (arithmetic_cell){STEPS_K, a->reads[h], j, 0}); break;
    case STEPS_O: add_keys(k, h, i, STEPS_A, STEPS_V, j); break;
    case STEPS_DV: add_queries(k, h, i, STEPS_A, STEPS_DO, j); break;
    case STEPS_DA:
        add_dot(k, a->p.Dv, (arithmetic_cell){STEPS_DO, h, i, 0}, value);
        if (!a->p.weights) break;
        if (begin_term(k, take(k, STEPS_DW, h, i, j))) taken(k, STEPS_DW, h, i, j);
        break;
    case STEPS_DELTA: add_keys(k, h, i, STEPS_P, STEPS_DP, 0); break;
    case STEPS_DBIAS: add_bias_cells(k, steps_cell(a, STEPS_DBIAS, h, i, j)); break;
    case STEPS_DQ: add_keys(k, h, i, STEPS_DR, STEPS_K, j); break;
    default: add_queries(k, h, i, STEPS_DR, STEPS_Q, j);
    }
    end_sum(k);
    return k->sum;
}

/* ------------------------------------------------------------------ the other formulas --------- */

/* exp(S_j - m) / (sum_k exp(S_k - m)), with m the largest score of the row */
static double softmax_of(worker *k, int h, int i, int j)
{
    const steps *a = k->a;
    double max = -(double)INFINITY, sum = 0;
    for (int c = 0; c < a->p.N; c++)
        if (steps_attends(a, h, i, c)) max = fmax(max, take(k, STEPS_S, h, i, c));
    double e = exp(*steps_cell(a, STEPS_S, h, i, j) - max);
    const char *plus = "";
    say(k, "exp(");
    taken(k, STEPS_S, h, i, j);
    say(k, " - ");
    say_result(k, max);
    say(k, ") / (");
    for (int c = 0; c < a->p.N; c++) {
        if (!steps_attends(a, h, i, c)) continue;
        double x = exp(*steps_cell(a, STEPS_S, h, i, c) - max);
        say(k, "%s", plus);
        say_result(k, x);
        sum += x;
        plus = " + ";
    }
    say(k, ") = ");
    say_result(k, e);
    say(k, " / ");
    say_result(k, sum);
    return e / sum;
}

/* x * y, of which x is a constant */
static double scaled(worker *k, double x, steps_name what, int h, int i, int j)
{
    say_number(k, false, x);
    say(k, " * ");
    return x * taken(k, what, h, i, j);
}

/* x * y */
static double product_of(worker *k, steps_name x, steps_name y, int h, int i, int j)
{
    double a = taken(k, x, h, i, j);
    say(k, " * ");
    return a * taken(k, y, h, i, j);
}

static double softcap_of(worker *k, int h, int i, int j)
{
    const double cap = k->a->p.softcap;
    say_number(k, false, cap);
    say(k, " * tanh(");
    double X = taken(k, STEPS_X, h, i, j);
    say(k, " / ");
    say_number(k, false, cap);
    say(k, ")");
    return cap * tanh(X / cap);
}

static double softcap_gradient(worker *k, int h, int i, int j)
{
    const double cap = k->a->p.softcap;
    double dU = taken(k, STEPS_DU, h, i, j);
    say(k, " * (1 - (");
    double U = taken(k, STEPS_U, h, i, j);
    say(k, " / ");
    say_number(k, false, cap);
    say(k, ")^2)");
    return dU * (1 - (U / cap) * (U / cap));
}

static double score_of(worker *k, int h, int i, int j)
{
    double U = taken(k, STEPS_U, h, i, j);
    say(k, " + ");
    return U + taken(k, STEPS_BIAS, h, i, j);
}

static double gradient_of_score(worker *k, int h, int i, int j)
{
    double P = taken(k, STEPS_P, h, i, j);
    say(k, " * (");
    double dP = taken(k, STEPS_DP, h, i, j);
    say(k, " - ");
    double delta = taken(k, STEPS_DELTA, h, i, 0);
    say(k, ")");
    k->terms = fabs(P * dP) + fabs(P * delta);
    return P * (dP - delta);
}

/* The formula of what is no copy, with its numbers; returns its value. */
static double formula_of(worker *k, steps_name what, int h, int i, int j)
{
    const steps *a = k->a;
    switch (what) {
    case STEPS_X: return scaled(k, a->c, STEPS_R, h, i, j);
    case STEPS_U: return softcap_of(k, h, i, j);
    case STEPS_S: return score_of(k, h, i, j);
    case STEPS_P: return softmax_of(k, h, i, j);
    case STEPS_A: return product_of(k, STEPS_Z, STEPS_P, h, i, j);
    case STEPS_DP: return product_of(k, STEPS_Z, STEPS_DA, h, i, j);
    case STEPS_DS: return gradient_of_score(k, h, i, j);
    case STEPS_DX: return softcap_gradient(k, h, i, j);
    case STEPS_DR: return scaled(k, a->c, STEPS_DX, h, i, j);
    default: return sum_of_products(k, what, h, i, j);
    }
}

/* ------------------------------------------------------------------ all of it ------------------ */

static bool is_masked_in(steps_name what)
{
    return (what >= STEPS_S && what <= STEPS_A) || what == STEPS_DA || what == STEPS_DP ||
           (what >= STEPS_DS && what <= STEPS_DR && what != STEPS_DBIAS);
}

/* "ln 7 = 1.9459", "0 (causal: key 2 is later than query 0)" */
static void say_given(worker *k, steps_name what, int h, int i, int j)
{
    double x = *steps_cell(k->a, what, h, i, j), log = log_of(k, what, i, j), p = k->a->p.dropout;
    if (log != 0) say(k, "ln %.4g = ", log);
    if (what == STEPS_Z && x != 0 && p > 0) say(k, "1/(1 - %.4g) = ", p);
    say_result(k, x);
    const arithmetic_style *s = k->style;
    const char *why =
        what == STEPS_KEEP && x == 0 && s->hidden ? s->hidden(s->context, i, j) : NULL;
    if (why) say(k, " (%s)", why);
}

/* "0: this cell is not read (causal: key 2 is later than query 0)" */
static void say_masked(worker *k, steps_name what, int h, int i, int j)
{
    const arithmetic_style *s = k->style;
    const char *why = s->hidden ? s->hidden(s->context, i, j) : NULL;
    double x = *steps_cell(k->a, what, h, i, j);
    if (isfinite(x) && x != 0) {
        say_result(k, x);
        say(k, "; right is ");
    }
    say(k, "%s: this cell is not read (%s)", what == STEPS_S ? "-inf" : "0", why ? why : "masked");
    take(k, STEPS_KEEP, h, i, j);
    if (k->a->p.bias_H) take(k, STEPS_BIAS, h, i, j);
}

/* "0.2 * (6 - 4.9) = 0.22", "0.22, as dS[q0,k1]"; after what is there if that is another number.
 * Of a copy of R or dA, that nobody sees, the formula of R or dA is written; dS is well known. */
static void say_formula(worker *k, steps_name what, int h, int i, int j)
{
    char body[sizeof k->w->text], name[60];
    worker inner = *k;
    inner.text = body, inner.length = 0, inner.size = sizeof body, body[0] = 0;
    const double x = *steps_cell(k->a, what, h, i, j);
    const steps_name origin = origin_of(k->style, what);
    const bool copied = origin != what && (is_shown(k->style, origin) || origin == STEPS_DS);
    const double value =
        copied ? taken(&inner, origin, h, i, j) : formula_of(&inner, origin, h, i, j);
    const double off = fabs(x - value), size = fmax(inner.terms, fmax(fabs(x), fabs(value)));
    if (!(off <= 1e-9 * size)) {
        say_result(k, x);
        say(k, "; the formula gives ");
    }
    say(k, "%s", body);
    if (copied) {
        arithmetic_name(k->style, origin, h, i, j, name);
        say(k, ", as %s", name);
    } else {
        say(k, " = ");
        say_result(k, value);
    }
}

static worker begin(const arithmetic_style *style, arithmetic *w)
{
    w->text[0] = w->note[0] = 0, w->n = 0;
    return (worker){.style = style, .a = style->a, .w = w, .text = w->text, .size = sizeof w->text};
}

void arithmetic_of_jacobian(const arithmetic_style *style, int head, int row, int j, int k,
                            arithmetic *w)
{
    worker x = begin(style, w);
    say(&x, "J[k%d,k%d] = ", j, k);
    double P = taken(&x, STEPS_P, head, row, j);
    say(&x, " * (%d - ", j == k);
    double other = taken(&x, STEPS_P, head, row, k);
    say(&x, ") = ");
    say_result(&x, P * ((j == k) - other));
}

static void set_note(const steps *a, steps_name what, int h, int i, int j, arithmetic *w)
{
    bool dropped = (what == STEPS_DP || what == STEPS_DS) && *steps_cell(a, STEPS_Z, h, i, j) == 0;
    if (!dropped) return;
    if (what == STEPS_DP)
        snprintf(w->note, sizeof w->note, "This weight is dropped: it reaches no output");
    else
        snprintf(w->note, sizeof w->note,
                 "This weight is dropped, so dP = 0, and yet dS = -P delta is%s 0.  That surprises "
                 "many: dropout comes after the softmax, so a higher score still takes probability "
                 "from the other keys of the row",
                 *steps_cell(a, STEPS_DS, h, i, j) == 0 ? " here 0 only because delta or P is"
                                                        : " not");
}

void arithmetic_of(const arithmetic_style *style, steps_name what, int head, int row, int column,
                   arithmetic *w)
{
    const steps *a = style->a;
    char name[60];
    worker k = begin(style, w);
    arithmetic_name(style, what, head, row, column, name);
    say(&k, "%s = ", name);
    if (steps_texts[what].step == 0) {
        say_given(&k, what, head, row, column);
    } else if (is_masked_in(what) && !steps_attends(a, head, row, column)) {
        say_masked(&k, what, head, row, column);
    } else {
        say_formula(&k, what, head, row, column);
        set_note(a, what, head, row, column, w);
    }
}
