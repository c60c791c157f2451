/* grading.c -- grades and their words; see grading.h. */
#include "grading.h"
#include "protocol.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* splitmix64 (Steele, Lea, Flood 2014) */
uint64_t next_number(grading *g)
{
    uint64_t x = g->state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

int draw_size(grading *g, int low, int high)
{
    return low + (int)(next_number(g) % (uint64_t)(high - low + 1));
}

double draw_hundredths(grading *g)
{
    int n = draw_size(g, 11, 249);
    if (n % 25 == 0) n++;
    return (next_number(g) & 1 ? n : -n) / 100.0;
}

double *draw_array(grading *g, ptrdiff_t n)
{
    double *x = need(malloc((size_t)n * sizeof *x));
    for (ptrdiff_t e = 0; e < n; e++) x[e] = draw_hundredths(g);
    return x;
}

void run_calls(grading *g, script *s)
{
    run_script(g->program, g->seconds, s);
    memcpy(g->failure, s->failure, sizeof g->failure);
    memcpy(g->printed, s->printed, sizeof g->printed);
}

grade *add_grade(grading *g, const char *name, const script *s, int last)
{
    grade *q = &g->of[g->grades++];
    *q = (grade){.name = name, .kind = VERDICT_NOT_ASKED};
    return last < s->answered ? q : NULL;
}

/* "BLANK(1) and BLANK(3)" */
static int say_blanks(char *to, size_t size, unsigned blanks)
{
    int n = 0, left = __builtin_popcount(blanks);
    for (int k = 0; k < 32; k++) {
        if (!(blanks >> k & 1)) continue;
        n += snprintf(to + n, size - (size_t)n, "%s%s",
                      n == 0      ? ""
                      : left == 1 ? " and "
                                  : ", ",
                      "");
        n += snprintf(to + n, size - (size_t)n, "BLANK(%d)", k);
        left--;
    }
    return n;
}

bool grade_nan(grade *q, const double *got, int rows, int columns, const char *word,
               unsigned blanks)
{
    int first = -1, nans = 0, elements = rows * columns, reread = 0, masked = 0;
    unsigned of_these = 0; /* the blanks whose NaN is here */
    for (int e = 0; e < elements; e++) {
        uint64_t u = bits_of(&got[e]);
        if (!isnan(got[e]) || u == nan_unwritten) continue;
        if (first < 0) first = e;
        nans++;
        reread += u == nan_read;
        u &= ~(1ull << 63);
        masked += u == nan_masked;
        if ((u & ~31ull) == nan_blank) of_these |= 1u << (u & 31);
    }
    bool unwritten = false;
    for (int e = 0; e < elements; e++) unwritten |= bits_of(&got[e]) == nan_unwritten;
    if (blanks && (nans > 0 || unwritten)) {
        if (of_these) blanks = of_these;
        q->kind = VERDICT_NOT_WRITTEN;
        int n = say_blanks(q->text, sizeof q->text, blanks);
        snprintf(q->text + n, sizeof q->text - (size_t)n, " still %s there",
                 blanks & (blanks - 1) ? "stand" : "stands");
        return true;
    }
    if (nans == 0) return false;
    q->kind = VERDICT_WRONG;
    char where[80];
    if (columns > 1)
        snprintf(where, sizeof where, "row %d, column %d", first / columns, first % columns);
    else
        snprintf(where, sizeof where, "%s %d", word, first);
    snprintf(q->text, sizeof q->text, "NaN in %d of %d elements, the first in %s%s", nans, elements,
             where,
             reread   ? ".  The array held nothing yet, and was added to: = in place of +="
             : masked ? ".  It comes from dA, which is NaN where keep is 0"
                      : "");
    return true;
}

void say_verdict(grade *q, const verdict *v, const char *name, const char *sentence)
{
    q->kind = v->kind;
    if (v->kind == VERDICT_CLOSE)
        snprintf(q->text, sizeof q->text,
                 "the relative error is %.1g; double has room for 1e-16: is something float?",
                 v->error);
    else if (v->kind == VERDICT_NOT_WRITTEN && strncmp(v->where, "only ", 5) == 0)
        snprintf(q->text, sizeof q->text, "nothing was written %s", v->where + 5);
    else if (v->kind == VERDICT_NOT_WRITTEN)
        snprintf(q->text, sizeof q->text, "nothing was written in %s", v->where);
    else if (v->kind == VERDICT_WRONG && name)
        snprintf(q->text, sizeof q->text, "\"%s\".  %s", name, sentence);
    else if (v->kind == VERDICT_WRONG)
        snprintf(q->text, sizeof q->text, "%s", v->where);
}

grade *grade_matrix(grading *g, const char *name, const script *s, int last, int b,
                    mistakes_matrix m, verdict *v)
{
    grade *q = add_grade(g, name, s, last);
    *v = (verdict){.kind = VERDICT_NOT_ASKED};
    if (!q || grade_nan(q, s->buffer[b].data, m.rows, m.columns, m.word[0], s->call[last].blanks))
        return q;
    m.got = s->buffer[b].data;
    mistakes_judge_matrix(&m, v);
    char names[300] = "", sentence[300] = "";
    for (int k = 0, n = 0; k < m.candidates; k++) {
        if (!(v->named >> k & 1) || strstr(names, m.candidate[k].name)) continue;
        n += snprintf(names + n, sizeof names - (size_t)n, "%s%s", n ? "\" or \"" : "",
                      m.candidate[k].name);
        if (!sentence[0]) snprintf(sentence, sizeof sentence, "%s", m.candidate[k].sentence);
    }
    say_verdict(q, v, names[0] ? names : NULL, sentence);
    return q;
}

/* Mistakes that nobody can make in this problem. */
static mistake_set impossible(const steps *a)
{
#define BIT(m) MISTAKE_BIT(MISTAKE_##m)
    mistake_set set = 0;
    if (a->p.T == 1)
        set |= BIT(DELTA_OF_COLUMN) | BIT(DELTA_ROW_BEFORE) | BIT(DELTA_ROW_AFTER) | BIT(LAST_ROW) |
               BIT(DV_LAST) | BIT(DK_LAST);
    if (a->p.dropout == 0)
        set |=
            BIT(DROPOUT_FORGOTTEN) | BIT(DROPOUT_UNSCALED) | BIT(DROPOUT_TWICE) | BIT(DS_DROPPED);
#undef BIT
    return set;
}

static void name_mistakes(grade *q, const verdict *v, mistake_set named)
{
    char names[300] = "";
    const char *sentence = "";
    for (int m = 1, n = 0; m < MISTAKES && n < 250; m++) {
        if (!(named >> m & 1)) continue;
        n += snprintf(names + n, sizeof names - (size_t)n, "%s%s", n ? "\" or \"" : "",
                      mistakes_texts[m].name);
        if (!*sentence) sentence = mistakes_texts[m].sentence, q->mistake = mistakes_texts[m].hint;
    }
    say_verdict(q, v, names[0] ? names : NULL, sentence);
    if (v->kind != VERDICT_EXACT)
        snprintf(q->arithmetic, sizeof q->arithmetic, "%s", v->arithmetic);
}

/* A mistake that explains all quantities, right ones as well, is named before one that explains one
 * of them. */
void grade_steps(grading *g, const script *s, int last, const steps *a, int n, const step_answer *x)
{
    mistakes_answer answer = {.got = {NULL}};
    mistakes_report *report = need(malloc(sizeof *report));
    grade *q[STEPS_COUNT] = {NULL};
    for (int k = 0; k < n; k++) {
        int dim[3];
        steps_dims(a, x[k].what, dim);
        q[k] = add_grade(g, x[k].name, s, last);
        if (!q[k]) continue;
        const double *got = s->buffer[x[k].b].data;
        if (grade_nan(q[k], got, dim[1], dim[2], "row", s->call[last].blanks)) continue;
        answer.got[x[k].what] = got;
        answer.before[x[k].what] = x[k].before;
    }
    need(mistakes_judge(a, &answer, report) ? report : NULL);
    for (int k = 0; k < n; k++) {
        if (!answer.got[x[k].what]) continue;
        const verdict *v = &report->of[x[k].what];
        mistake_set named = v->named & ~impossible(a);
        if (named == 0) named = v->named;
        name_mistakes(q[k], v, named & report->all ? named & report->all : named);
    }
    free(report);
}

/* ------------------------------------------------------------------ vectors and matrices ------ */

void open_matrix(matrix *x, int rows, int columns, const double *before, const char *words)
{
    size_t n = (size_t)rows * (size_t)columns;
    *x = (matrix){.right = need(calloc(n, sizeof(double))),
                  .terms = need(calloc(n, sizeof(double)))};
    x->m = (mistakes_matrix){.rows = rows,
                             .columns = columns,
                             .word = {columns > 1 ? "row" : "element", "column"},
                             .letter = {words[0], words[1]},
                             .before = before,
                             .right = x->right,
                             .terms = x->terms};
}

/* The array of a new candidate */
double *add_candidate(matrix *x, const char *name, const char *sentence, bool overwrites)
{
    double *values = need(calloc((size_t)x->m.rows * (size_t)x->m.columns, sizeof *values));
    x->candidate[x->m.candidates++] = (mistakes_candidate){
        .name = name, .sentence = sentence, .values = values, .overwrites = overwrites};
    return values;
}

const char overwritten[] =
    "The gradient replaces what was there before, and is not added to it: = in place of +=.";

double *add_overwritten(matrix *x)
{
    double *values = add_candidate(x, "overwritten", overwritten, true);
    memcpy(values, x->right, (size_t)x->m.rows * (size_t)x->m.columns * sizeof *values);
    return values;
}

grade *judge_matrix(grading *g, const char *name, const script *s, int last, int b, matrix *x,
                    verdict *v)
{
    x->m.candidate = x->candidate;
    return grade_matrix(g, name, s, last, b, x->m, v);
}

void close_matrix(matrix *x)
{
    free(x->right);
    free(x->terms);
    for (int k = 0; k < x->m.candidates; k++) free((double *)x->candidate[k].values);
}

bool is_shown(const grade *q, const verdict *v)
{
    return q && (v->kind == VERDICT_WRONG || v->kind == VERDICT_CLOSE);
}
