/* verdict_cell.c -- the name of a cell, and its formula with the numbers put in; see verdict.h. */
#include "verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void say(writer *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(w->to, w->left, format, args);
    va_end(args);
    size_t used = n < 0 ? 0 : (size_t)n < w->left ? (size_t)n : w->left - 1;
    w->to += used;
    w->left -= used;
}

/* ------------------------------------------------------------------ names ---------------------- */

char cell_row_letter(steps_name what)
{
    return what == STEPS_K || what == STEPS_V || what == STEPS_DK || what == STEPS_DV ? 'k' : 'q';
}

char cell_column_letter(steps_name what)
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

bool is_cell_of_scores(steps_name what)
{
    return (what >= STEPS_R && what <= STEPS_A) || what == STEPS_DA || what == STEPS_DP ||
           what == STEPS_DS || (what >= STEPS_DU && what <= STEPS_DR);
}

bool is_one_query(const steps *a)
{
    return a->p.T == 1 && a->p.H == 1;
}

/* Where a step is off its result has the name of what it is computed from: S for X and U, P for A. */
static steps_name written_as(const steps *a, steps_name what)
{
    const bool plain = a->p.softcap == 0 && a->p.bias_H == 0;
    if (plain && (what == STEPS_X || what == STEPS_U)) return STEPS_S;
    if (plain && (what == STEPS_DX || what == STEPS_DU)) return STEPS_DS;
    if (a->p.dropout == 0 && what == STEPS_A) return STEPS_P;
    if (a->p.dropout == 0 && what == STEPS_DA) return STEPS_DP;
    return what;
}

/* Indices such as "h0", "q1", "j"; those that are "" are left out. */
static void say_element(writer *w, const steps *a, steps_name what, const char *head,
                        const char *row, const char *column)
{
    if (is_one_query(a) && cell_row_letter(what) == 'q') {
        row = "";
        column += *column && column[1]; /* "k1" without its letter */
    }
    const char *const index[] = {a->dim[what][0] > 1 ? head : "", row, column};
    const char *between = "[";
    say(w, "%s", steps_texts[what].name);
    for (int k = 0; k < 3; k++) {
        if (!*index[k]) continue;
        say(w, "%s%s", between, index[k]);
        between = ",";
    }
    if (*between == ',') say(w, "]");
}

typedef struct {
    char head[16], row[16], column[16];
} label;

static label label_of(const steps *a, steps_name what, const int cell[3])
{
    label x;
    snprintf(x.head, sizeof x.head, "h%d", cell[0]);
    snprintf(x.row, sizeof x.row, "%c%d", cell_row_letter(what), cell[1]);
    snprintf(x.column, sizeof x.column, "%c%d", cell_column_letter(what), cell[2]);
    if (what == STEPS_DELTA) *x.column = 0;
    if (what != STEPS_BIAS && what != STEPS_DBIAS) return x;
    if (a->dim[what][1] < a->p.T) strcpy(x.row, "*");
    if (a->dim[what][2] < a->p.N) strcpy(x.column, "*");
    return x;
}

void cell_name(writer *w, const steps *a, steps_name what, const int cell[3])
{
    const label x = label_of(a, what, cell);
    const bool bias = what == STEPS_BIAS || what == STEPS_DBIAS;
    if (bias && a->dim[what][0] < a->p.H)
        say(w, "%s[*,%s,%s]", steps_texts[what].name, x.row, x.column);
    else
        say_element(w, a, what, x.head, x.row, x.column);
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

/* "sum_j dR[q0,j] K[j,d2] = ": r and c are the row and the column of the cell, i and j run. */
static void say_sum_formula(writer *w, const steps *a, steps_name what, const int cell[3])
{
    static const struct {
        const char *sum;
        steps_name left;
        char left_row, left_column;
        steps_name right;
        char right_row, right_column;
    } of[STEPS_COUNT] = {
        [STEPS_R] = {"", STEPS_Q, 'r', 0, STEPS_K, 'c', 0},
        [STEPS_DA] = {"", STEPS_DO, 'r', 0, STEPS_V, 'c', 0},
        [STEPS_O] = {"sum_j ", STEPS_A, 'r', 'j', STEPS_V, 'j', 'c'},
        [STEPS_DELTA] = {"sum_j ", STEPS_P, 'r', 'j', STEPS_DP, 'r', 'j'},
        [STEPS_DQ] = {"sum_j ", STEPS_DR, 'r', 'j', STEPS_K, 'j', 'c'},
        [STEPS_DV] = {"sum_i ", STEPS_A, 'i', 'r', STEPS_DO, 'i', 'c'},
        [STEPS_DK] = {"sum_i ", STEPS_DR, 'i', 'r', STEPS_Q, 'i', 'c'},
    };
    if (!of[what].sum) return;
    const label x = label_of(a, what, cell);
    const bool over_queries = of[what].left_row == 'i', one = over_queries && is_one_query(a);
    const char *head = over_queries && a->p.H > a->p.G ? "h" : x.head;
    const char codes[] = {of[what].left_row, of[what].left_column, of[what].right_row,
                          of[what].right_column};
    const char *index[4];
    for (int k = 0; k < 4; k++)
        index[k] = codes[k] == 'r'   ? x.row
                   : codes[k] == 'c' ? x.column
                   : codes[k] == 'i' ? "i"
                   : codes[k] == 'j' ? "j"
                                     : "";
    say(w, "%s", *head == 'h' && !head[1] ? "sum_hi " : one ? "" : of[what].sum);
    say_element(w, a, written_as(a, of[what].left), head, index[0], index[1]);
    say(w, one ? " * " : *of[what].sum ? " " : " . ");
    say_element(w, a, written_as(a, of[what].right), head, index[2], index[3]);
    if (what == STEPS_DA && a->p.weights) {
        say(w, " + ");
        say_element(w, a, STEPS_DW, x.head, x.row, x.column);
    }
    say(w, " = ");
}

static void say_sum(writer *w, const steps *a, steps_name what, const int cell[3])
{
    const int h = cell[0], i = cell[1], j = cell[2];
    products s = {.n = 0};
    say_sum_formula(w, a, what, cell);
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

/* The other cells: their formula; each % is a factor, in this order. */
static const struct {
    const char *formula;
    steps_name factor[3];
} of_cells[STEPS_COUNT] = {
    [STEPS_X] = {"c * %", {STEPS_R}},
    [STEPS_U] = {"cap * tanh(% / cap)", {STEPS_X}},
    [STEPS_S] = {"% + %", {STEPS_U, STEPS_BIAS}},
    [STEPS_A] = {"% * %", {STEPS_Z, STEPS_P}},
    [STEPS_DP] = {"% * %", {STEPS_Z, STEPS_DA}},
    [STEPS_DS] = {"% * (% - %)", {STEPS_P, STEPS_DP, STEPS_DELTA}},
    [STEPS_DX] = {"% * (1 - (% / cap)^2)", {STEPS_DU, STEPS_U}},
    [STEPS_DR] = {"c * %", {STEPS_DX}},
};

/* With names, or with numbers in their place */
static void say_product(writer *w, const steps *a, steps_name what, const int cell[3], bool names)
{
    const steps_name *of = of_cells[what].factor;
    for (const char *s = of_cells[what].formula; *s; s++) {
        const bool cap = strncmp(s, "cap", 3) == 0, c = strncmp(s, "c ", 2) == 0;
        if (*s == '%' && names)
            cell_name(w, a, written_as(a, *of++), cell);
        else if (*s == '%')
            say(w, "%.4g", at_cell(a, *of++, cell[0], cell[1], cell[2]));
        else if (!names && (cap || c))
            say(w, "%.4g", cap ? a->p.softcap : a->c), s += cap ? 2 : 0;
        else
            say(w, "%c", *s);
    }
}

void cell_formula(writer *w, const steps *a, steps_name what, const int cell[3])
{
    const bool softcap = a->p.softcap > 0;
    if (what == STEPS_DU || (what == STEPS_DX && !softcap)) {
        say(w, what == STEPS_DX ? "dU" : "dS");
    } else if ((what == STEPS_U && !softcap) || (what == STEPS_S && a->p.bias_H == 0)) {
        say(w, what == STEPS_U ? "X" : "U");
    } else if (what == STEPS_P) {
        say_softmax(w, a, cell[0], cell[1], cell[2]);
    } else if (of_cells[what].formula) {
        say_product(w, a, what, cell, true);
        say(w, " = ");
        say_product(w, a, what, cell, false);
    } else {
        say_sum(w, a, what, cell);
    }
}
