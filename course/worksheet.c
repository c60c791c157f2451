/* worksheet.c -- attention on paper: drawn, asked, graded; see worksheet.h. */
#include "common/options.h"
#include "worksheet.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double apart = 0.015, allowed = 0.006;

const steps_name worksheet_asked[SHEET_ASKED] = {STEPS_P,  STEPS_O,     STEPS_DV,
                                                 STEPS_DP, STEPS_DELTA, STEPS_DS};

const mistake worksheet_mistakes[SHEET_ASKED][SHEET_MISTAKES] = {
    [2] = {MISTAKE_DV_LAST, MISTAKE_DV_NOT_TRANSPOSED, MISTAKE_DV_FROM_DR},
    [3] = {MISTAKE_DO_TRANSPOSED},
    [4] = {MISTAKE_NO_DELTA, MISTAKE_DELTA_OF_ONES, MISTAKE_DELTA_UNWEIGHTED, MISTAKE_DELTA_MEAN,
           MISTAKE_DELTA_OF_DO, MISTAKE_DO_TRANSPOSED},
    [5] = {MISTAKE_NO_DELTA, MISTAKE_DELTA_OF_ONES, MISTAKE_DELTA_UNWEIGHTED, MISTAKE_DELTA_MEAN,
           MISTAKE_DELTA_ROW_BEFORE, MISTAKE_DELTA_ADDED, MISTAKE_DIAGONAL, MISTAKE_NO_P,
           MISTAKE_SIGN, MISTAKE_DO_TRANSPOSED}};

/* ------------------------------------------------------------------ drawing ------------------- */

/* splitmix64 (Steele, Lea, Flood 2014) */
static int draw_from(uint64_t *state, int low, int high)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return low + (int)(x % (uint64_t)(high - low + 1));
}

/* Three integers from 1 on, whose sum is 5, 10 or 20 */
static void draw_row(uint64_t *state, int *row)
{
    static const int sums[] = {5, 10, 10, 20};
    const int sum = sums[draw_from(state, 0, 3)];
    row[0] = draw_from(state, 1, sum - 2);
    row[1] = draw_from(state, 1, sum - row[0] - 1);
    row[2] = sum - row[0] - row[1];
}

static void draw_sheet(uint64_t *state, worksheet *w)
{
    steps *a = w->right;
    for (int i = 0; i < SHEET_T; i++) {
        draw_row(state, w->integer + i * SHEET_N);
        a->at[STEPS_Q][i * SHEET_T + i] = 1; /* so S_ij is element i of K_j */
        for (int j = 0; j < SHEET_N; j++)
            a->at[STEPS_K][j * SHEET_T + i] = log(w->integer[i * SHEET_N + j]);
    }
    for (int e = 0; e < SHEET_N * SHEET_DV; e++) a->at[STEPS_V][e] = draw_from(state, -2, 6);
    for (int e = 0; e < SHEET_T * SHEET_DV; e++) a->at[STEPS_DO][e] = draw_from(state, -2, 3);
    steps_forward(a, STEPS_R);
    steps_backward(a);
}

/* Do the answers for this matrix, the right one and those of its mistakes, differ in every cell?  b: a workspace; -1: no
 * memory. */
static int cells_differ(const worksheet *w, int asked, steps *b)
{
    const steps_name what = worksheet_asked[asked];
    const ptrdiff_t n = steps_size(w->right, what);
    double values[1 + SHEET_MISTAKES][SHEET_T * SHEET_N];
    int answers = 0;
    const mistake *m = worksheet_mistakes[asked];
    memcpy(values[answers++], w->right->at[what], (size_t)n * sizeof(double));
    for (; *m != MISTAKE_NONE; m++) {
        if (!mistakes_backward(b, *m)) return -1;
        for (int k = 0; k < answers; k++)
            for (ptrdiff_t e = 0; e < n; e++)
                if (fabs(values[k][e] - b->at[what][e]) < apart) return 0;
        memcpy(values[answers++], b->at[what], (size_t)n * sizeof(double));
    }
    return 1;
}

static int sheet_is_good(const worksheet *w)
{
    steps *b = steps_copy(w->right);
    int good = b ? 1 : -1;
    for (int asked = 0; asked < SHEET_ASKED && good == 1; asked++) good = cells_differ(w, asked, b);
    steps_close(b);
    return good;
}

worksheet *worksheet_draw(uint64_t number)
{
    static const steps_problem p = {
        .H = 1, .G = 1, .T = SHEET_T, .N = SHEET_N, .D = SHEET_T, .Dv = SHEET_DV, .scale = 1};
    worksheet *w = calloc(1, sizeof *w);
    uint64_t state = number;
    int good = 0;
    if (w) w->right = steps_open(&p);
    while (w && w->right && good == 0) {
        draw_sheet(&state, w);
        good = sheet_is_good(w);
    }
    if (good == 1) return w;
    worksheet_close(w);
    return NULL;
}

void worksheet_close(worksheet *w)
{
    if (w) steps_close(w->right);
    free(w);
}

/* ------------------------------------------------------------------ cells --------------------- */

static int sheet_rows(int asked)
{
    return worksheet_asked[asked] == STEPS_DV ? SHEET_N : SHEET_T;
}

static int sheet_columns(int asked)
{
    const steps_name what = worksheet_asked[asked];
    return what == STEPS_DELTA ? 1 : what == STEPS_O || what == STEPS_DV ? SHEET_DV : SHEET_N;
}

int worksheet_cells(void)
{
    int n = 0;
    for (int asked = 0; asked < SHEET_ASKED; asked++) n += sheet_rows(asked) * sheet_columns(asked);
    return n;
}

void worksheet_cell(int k, int *asked, int *element)
{
    *asked = 0;
    while (k >= sheet_rows(*asked) * sheet_columns(*asked)) {
        k -= sheet_rows(*asked) * sheet_columns(*asked);
        ++*asked;
    }
    *element = k;
}

const char *worksheet_name(int k)
{
    static char name[20];
    int asked, e;
    worksheet_cell(k, &asked, &e);
    const steps_name what = worksheet_asked[asked];
    const int columns = sheet_columns(asked);
    const int n = snprintf(name, sizeof name, "%s %c%d", steps_texts[what].name,
                           what == STEPS_DV ? 'k' : 'q', e / columns);
    if (columns > 1)
        snprintf(name + n, sizeof name - (size_t)n, " %c%d", columns == SHEET_N ? 'k' : 'd',
                 e % columns);
    return name;
}

/* Without white space, in small letters */
static void squeeze(const char *from, char to[20])
{
    int n = 0;
    for (; *from && n < 19; from++)
        if (!isspace((unsigned char)*from)) to[n++] = (char)tolower((unsigned char)*from);
    to[n] = 0;
}

int worksheet_find(const char *name)
{
    char wanted[20], is[20];
    squeeze(name, wanted);
    for (int k = 0; k < worksheet_cells(); k++) {
        squeeze(worksheet_name(k), is);
        if (strcmp(is, wanted) == 0) return k;
    }
    return -1;
}

/* As C writes numbers: with the minus that is on the keyboard, and a point for a comma.  False: it is too long. */
static bool plain_number(const char *from, char *to, int size)
{
    static const char minus[] = "\xe2\x88\x92"; /* U+2212, as the sheet prints it */
    int n = 0;
    while (*from && n < size - 1) {
        const bool is_minus = strncmp(from, minus, 3) == 0;
        to[n++] = is_minus ? '-' : *from == ',' ? '.' : *from;
        from += is_minus ? 3 : 1;
    }
    to[n] = 0;
    return !*from;
}

/* A number with blanks around it */
static bool read_part(const char **text, double *x)
{
    *text += strspn(*text, " \t");
    if (!read_number(text, true, x)) return false;
    *text += strspn(*text, " \t");
    return true;
}

bool worksheet_number(const char *text, double *x)
{
    char plain[80];
    const char *at = plain;
    double above, below = 1;
    if (!plain_number(text, plain, sizeof plain) || !read_part(&at, &above)) return false;
    if (*at == '/' && (at++, !read_part(&at, &below))) return false;
    if (*at || below == 0) return false;
    *x = above / below;
    return true;
}

/* ------------------------------------------------------------------ grading ------------------- */

/* What this matrix should be, after what was answered before it: a holds the answers. */
static void sheet_compute(steps *a, steps_name what)
{
    if (what == STEPS_P || what == STEPS_O)
        steps_forward(a, what == STEPS_P ? STEPS_R : STEPS_A);
    else
        steps_gradient(a, what);
}

static void copy_answers(const steps *from, steps *to)
{
    for (int asked = 0; asked < SHEET_ASKED; asked++) {
        const steps_name what = worksheet_asked[asked];
        memcpy(to->at[what], from->at[what], (size_t)steps_size(from, what) * sizeof(double));
    }
    memcpy(to->at[STEPS_A], from->at[STEPS_P], (size_t)steps_size(from, STEPS_P) * sizeof(double));
}

/* Has this row of P or dP a right number other than 0, or no wrong one?  Who writes 0 has often
 * computed nothing. */
static bool row_counts(const sheet_verdict *verdicts, steps_name what, int row)
{
    int asked, e;
    bool wrong = false;
    for (int k = 0; k < worksheet_cells(); k++) {
        worksheet_cell(k, &asked, &e);
        if (worksheet_asked[asked] != what || e / SHEET_N != row) continue;
        const sheet_verdict *v = &verdicts[k];
        if (v->state == SHEET_RIGHT && fabs(v->right) > allowed) return true;
        wrong |= v->state != SHEET_RIGHT && v->state != SHEET_MISSING;
    }
    return !wrong;
}

/* May this cell count by what it follows from: the rows of P and dP that it is computed from? */
static bool may_follow(const sheet_verdict *verdicts, int asked, int e)
{
    const steps_name what = worksheet_asked[asked];
    const bool from_dP = what == STEPS_DELTA || what == STEPS_DS;
    if (what == STEPS_P || what == STEPS_DP) return true; /* they follow from what is given */
    for (int row = 0; row < SHEET_T; row++) {
        if (what != STEPS_DV && row != e / sheet_columns(asked)) continue;
        if (!row_counts(verdicts, STEPS_P, row)) return false;
        if (from_dP && !row_counts(verdicts, STEPS_DP, row)) return false;
    }
    return true;
}

static sheet_verdict sheet_judge(double answer, double right, double follows, bool counts,
                                 double mistaken[], const mistake *m)
{
    const bool consistent = fabs(answer - follows) <= allowed;
    sheet_verdict v = {.state = SHEET_WRONG, .right = right};
    if (isnan(answer))
        v.state = SHEET_MISSING;
    else if (fabs(answer - right) <= allowed)
        v.state = SHEET_RIGHT;
    else if (consistent && counts)
        v.state = SHEET_FOLLOWS;
    else
        for (int k = 0; m[k] != MISTAKE_NONE && v.state == SHEET_WRONG; k++)
            if (fabs(answer - mistaken[k]) <= allowed) v.state = SHEET_NAMED, v.is = m[k];
    if (consistent && v.state == SHEET_WRONG) v.state = SHEET_FROM_NOTHING;
    return v;
}

bool worksheet_grade(const worksheet *w, const double *answers, sheet_verdict *verdicts)
{
    steps *own = steps_copy(w->right), *next = steps_copy(w->right), *b = steps_copy(w->right);
    bool memory = own && next && b;
    for (int k = 0; memory && k < worksheet_cells(); k++) {
        int asked, e;
        double mistaken[SHEET_MISTAKES] = {0};
        worksheet_cell(k, &asked, &e);
        const steps_name what = worksheet_asked[asked];
        const mistake *m = worksheet_mistakes[asked];
        if (e == 0) { /* a matrix begins: what is it, from the answers so far? */
            copy_answers(own, next);
            sheet_compute(next, what);
        }
        for (int i = 0; m[i] != MISTAKE_NONE; i++) {
            memory = memory && mistakes_backward(b, m[i]);
            mistaken[i] = b->at[what][e];
        }
        verdicts[k] = sheet_judge(answers[k], w->right->at[what][e], next->at[what][e],
                                  may_follow(verdicts, asked, e), mistaken, m);
        if (!isnan(answers[k])) own->at[what][e] = answers[k];
    }
    steps_close(own);
    steps_close(next);
    steps_close(b);
    return memory;
}
