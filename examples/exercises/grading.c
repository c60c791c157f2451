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

bool grade_nan(grade *q, const double *got, int rows, int columns, unsigned blanks)
{
    int first = -1, nans = 0, elements = rows * columns, reread = 0, masked = 0;
    for (int e = 0; e < elements; e++) {
        uint64_t u = bits_of(&got[e]);
        if (!isnan(got[e]) || u == nan_unwritten) continue;
        if (first < 0) first = e;
        nans++;
        reread += u == nan_read;
        masked += (u & ~(1ull << 63)) == nan_masked;
    }
    bool unwritten = false;
    for (int e = 0; e < elements; e++) unwritten |= bits_of(&got[e]) == nan_unwritten;
    if (blanks && (nans > 0 || unwritten)) {
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
        snprintf(where, sizeof where, "element %d", first);
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
    else if (v->kind == VERDICT_NOT_WRITTEN)
        snprintf(q->text, sizeof q->text, "%s", v->where);
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
    if (!q || grade_nan(q, s->buffer[b].data, m.rows, m.columns, s->call[last].blanks)) return q;
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

grade *grade_step(grading *g, const char *name, const script *s, int last, int b, const steps *a,
                  steps_name what, const double *before)
{
    grade *q = add_grade(g, name, s, last);
    int dim[3];
    steps_dims(a, what, dim);
    if (!q || grade_nan(q, s->buffer[b].data, dim[1], dim[2], s->call[last].blanks)) return q;
    mistakes_answer answer = {.got = {NULL}};
    mistakes_report *report = need(malloc(sizeof *report));
    answer.got[what] = s->buffer[b].data;
    answer.before[what] = before;
    need(mistakes_judge(a, &answer, report) ? report : NULL);
    const verdict *v = &report->of[what];
    char names[300] = "";
    const char *sentence = "";
    for (int m = 1, n = 0; m < MISTAKES; m++) {
        if (!(v->named >> m & 1)) continue;
        n += snprintf(names + n, sizeof names - (size_t)n, "%s%s", n ? "\" or \"" : "",
                      mistakes_texts[m].name);
        if (n > 250) break;
        if (!*sentence) sentence = mistakes_texts[m].sentence, q->mistake = mistakes_texts[m].hint;
    }
    say_verdict(q, v, names[0] ? names : NULL, sentence);
    if (v->kind != VERDICT_EXACT)
        snprintf(q->arithmetic, sizeof q->arithmetic, "%s", v->arithmetic);
    free(report);
    return q;
}
