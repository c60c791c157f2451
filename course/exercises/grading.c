/* grading.c -- grades and their words; see grading.h. */
#include "grading.h"
#include "verdict.h"
#include "protocol.h"

#include <ctype.h>
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
    run_script(g->program, g->file, g->folder, g->seconds, s);
    memcpy(g->failure, s->failure, sizeof g->failure);
    memcpy(g->printed, s->printed, sizeof g->printed);
    g->lines_left_out = s->lines_left_out;
}

grade *add_grade(grading *g, const script *s, int last)
{
    grade *q = &g->of[g->grades];
    *q = (grade){.of = &exercises[g->which].of[g->grades], .kind = VERDICT_NOT_ASKED};
    g->grades++;
    return last < s->answered ? q : NULL;
}

/* "BLANK(1) and BLANK(3)" */
static int say_blanks(char *to, size_t size, unsigned blanks)
{
    int n = 0, left = __builtin_popcount(blanks);
    for (int k = 0; k < 32; k++) {
        if (!(blanks >> k & 1)) continue;
        n += snprintf(to + n, size - (size_t)n, "%sBLANK(%d)",
                      n == 0      ? ""
                      : left == 1 ? " and "
                                  : ", ",
                      k);
        left--;
    }
    return n;
}

ptrdiff_t first_nan(ptrdiff_t n, const double *got)
{
    ptrdiff_t e = 0;
    while (e < n && (!isnan(got[e]) || bits_of(&got[e]) == nan_unwritten)) e++;
    return e;
}

/* Local arrays begin with a pattern: bytes FE from gcc, a number of -5.3e303, or FF from clang, a NaN.  What is
 * computed from it is as large, or such a NaN. */
static bool is_from_pattern(double x)
{
    return isnan(x) ? (bits_of(&x) << 1) == UINT64_MAX - 1 : isfinite(x) && fabs(x) > 1e290;
}

/* Does got hold what nobody wrote into a local array? */
static bool grade_pattern(grade *q, ptrdiff_t n, const double *got)
{
    ptrdiff_t found = 0;
    for (ptrdiff_t e = 0; e < n; e++) found += is_from_pattern(got[e]);
    if (found == 0) return false;
    q->kind = VERDICT_WRONG;
    snprintf(q->text, sizeof q->text,
             "%td of %td elements come from a local array that was not written there", found, n);
    return true;
}

bool grade_nan(grading *g, grade *q, ptrdiff_t n, const double *got, unsigned reached,
               const char *first)
{
    ptrdiff_t nans = 0, reread = 0, masked = 0;
    bool unwritten = false;
    unsigned of_these = 0; /* the blanks whose NaN is here */
    for (ptrdiff_t e = 0; e < n; e++) {
        uint64_t u = bits_of(&got[e]);
        unwritten |= u == nan_unwritten;
        if (!isnan(got[e]) || u == nan_unwritten) continue;
        nans++;
        reread += u == nan_read;
        u &= ~(1ull << 63);
        masked += u == nan_masked;
        if ((u & ~31ull) == nan_blank) of_these |= 1u << (u & 31);
    }
    const unsigned blanks = reached & (q->of->blanks | of_these);
    if (blanks && (nans > 0 || unwritten)) {
        q->kind = VERDICT_NOT_WRITTEN;
        int used = say_blanks(q->text, sizeof q->text, blanks);
        snprintf(q->text + used, sizeof q->text - (size_t)used, " still %s there",
                 blanks & (blanks - 1) ? "stand" : "stands");
        return true;
    }
    if (grade_pattern(q, n, got)) return true;
    if (nans == 0) return false;
    q->kind = VERDICT_WRONG;
    int used = snprintf(q->text, sizeof q->text, "NaN in %td of %td elements, the first in %s",
                        nans, n, first);
    const grade *from = NULL;
    for (const grade *earlier = g->of; earlier < q; earlier++)
        if (earlier->read_early && earlier->of->blanks & q->of->blanks) from = earlier;
    q->read_early = reread > 0 && !from;
    if (reread && from)
        snprintf(q->text + used, sizeof q->text - (size_t)used, ".  It follows from %s",
                 from->of->name);
    else if (reread)
        snprintf(q->text + used, sizeof q->text - (size_t)used,
                 ".  Nothing was there yet when it was added to: begin with %s = 0",
                 q->of->element);
    else if (masked)
        snprintf(q->text + used, sizeof q->text - (size_t)used,
                 ".  It comes from dA, which is NaN where keep is 0");
    return true;
}

bool same_numbers(ptrdiff_t n, const double *got, const double *before, const double *values)
{
    double largest = 0;
    for (ptrdiff_t e = 0; e < n; e++) largest = fmax(largest, fabs(values[e]));
    for (ptrdiff_t e = 0; e < n; e++) {
        double should = (before ? before[e] : 0) + values[e];
        if (!(fabs(got[e] - should) <= 1e-9 * (largest + fabs(should)))) return false;
    }
    return true;
}

bool has_reason(const grade *q)
{
    return q->text[0] == '"' || strncmp(q->text, "it follows", 10) == 0 ||
           strncmp(q->text, "NaN", 3) == 0 || strncmp(q->text, "nothing", 7) == 0 ||
           strstr(q->text, "from a local array");
}

void grade_follows(grade *q, bool follows, const char *from)
{
    if (!follows || q->kind != VERDICT_WRONG || has_reason(q)) return;
    q->arithmetic[0] = 0;
    snprintf(q->text, sizeof q->text,
             "it follows from %s, which is wrong; with your %s it is right", from, from);
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

/* "dA[i0,k1]", "delta[q0]" */
static const char *matrix_cell(const mistakes_matrix *m, const char *name, ptrdiff_t e)
{
    static char text[60];
    const char row[2] = {m->letter[0], 0}, column[2] = {m->letter[1], 0};
    if (m->heads)
        snprintf(text, sizeof text, "head h%td, %s %td", e / m->columns / m->rows, m->word[0],
                 e / m->columns % m->rows);
    else if (!*row)
        snprintf(text, sizeof text, "%s %td", m->word[0], e / m->columns);
    else if (m->columns > 1)
        snprintf(text, sizeof text, "%s[%s%td,%s%td]", name, row, e / m->columns, column,
                 e % m->columns);
    else
        snprintf(text, sizeof text, "%s[%s%td]", name, row, e);
    return text;
}

size_t matrix_size(const mistakes_matrix *m)
{
    return (size_t)(m->heads ? m->heads : 1) * (size_t)m->rows * (size_t)m->columns;
}

grade *grade_matrix(grading *g, const script *s, int last, int b, mistakes_matrix m, verdict *v)
{
    grade *q = add_grade(g, s, last);
    const ptrdiff_t size = (ptrdiff_t)matrix_size(&m);
    *v = (verdict){.kind = VERDICT_NOT_ASKED};
    if (!q) return NULL;
    m.got = s->buffer[b].data;
    const char *first = matrix_cell(&m, s->buffer[b].name, first_nan(size, m.got));
    if (grade_nan(g, q, size, m.got, s->call[last].blanks, first)) return q;
    mistakes_judge_matrix(&m, v);
    char names[300] = "", sentence[300] = "";
    for (int k = 0, n = 0; k < m.candidates; k++) {
        if (!(v->candidates >> k & 1) || strstr(names, m.candidate[k].name)) continue;
        n += snprintf(names + n, sizeof names - (size_t)n, "%s%s", n ? "\" or \"" : "",
                      m.candidate[k].name);
        if (!sentence[0]) snprintf(sentence, sizeof sentence, "%s", m.candidate[k].sentence);
    }
    say_verdict(q, v, names[0] ? names : NULL, sentence);
    return q;
}

/* Mistakes that nobody can make in this problem.  E3 and E4 are not given dO. */
static mistake_set impossible(const grading *g, const steps *a)
{
#define HAS(m) [MISTAKE_##m] = true
    static const mistake_set of_one_query = {.has = {HAS(DELTA_OF_COLUMN), HAS(DELTA_ROW_BEFORE),
                                                     HAS(DELTA_ROW_AFTER), HAS(LAST_ROW),
                                                     HAS(DV_LAST), HAS(DK_LAST)}};
    static const mistake_set of_dropout = {.has = {HAS(DROPOUT_FORGOTTEN), HAS(DROPOUT_UNSCALED),
                                                   HAS(DROPOUT_TWICE), HAS(DS_DROPPED)}};
    mistake_set set = mistakes_only(g->which <= 4 ? MISTAKE_DELTA_OF_DO : MISTAKE_NONE);
    if (a->p.T == 1) set = mistakes_join(set, of_one_query);
    return a->p.dropout == 0 ? mistakes_join(set, of_dropout) : set;
#undef HAS
}

void own_notation(const steps *a, const char *text, size_t size, char *to)
{
    const bool one = a->p.T == 1, plain = a->p.softcap == 0 && a->p.bias_H == 0;
    size_t n = 0;
    for (const char *s = text; *s && n + 4 < size;) {
        const size_t word = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
        if (word == 0) {
            to[n++] = *s++;
            continue;
        }
        const bool d = word == 2 && *s == 'd', article = s == text;
        const char letter = s[word - 1];
        if (d) to[n++] = 'd';
        if ((word == 1 || d) && plain && (letter == 'X' || letter == 'U'))
            to[n++] = 'S';
        else if ((word == 1 || d) && a->p.dropout == 0 && letter == 'A' && !article)
            to[n++] = 'P';
        else
            for (size_t k = d; k < word && n + 4 < size; k++) to[n++] = s[k];
        s += word;
        if (one && s[0] == '_' && s[1] == 'i') s += strchr("jk", s[2]) && s[2] ? 0 : 2;
        if (one && s[0] == '_' && s[1] == 'i') to[n++] = '_', s += 2;
    }
    to[n] = 0;
}

/* "no delta" or "sign"; the sentence and the hint are those of the first. */
static const char *name_set(char *to, size_t size, mistake_set set, const mistake_text **first)
{
    *first = NULL;
    for (int m = 1, n = 0; m < MISTAKES && n + 60 < (int)size; m++) {
        if (!set.has[m]) continue;
        n +=
            snprintf(to + n, size - (size_t)n, "%s%s", n ? "\" or \"" : "", mistakes_texts[m].name);
        if (!*first) *first = &mistakes_texts[m];
    }
    return *first ? to : NULL;
}

static void name_mistakes(const grading *g, const steps *a, grade *q, const verdict *v,
                          mistake_set named)
{
    char names[300] = "", sentence[300] = "";
    const mistake_text *text;
    const bool replaced = !mistakes_any(named);
    if (replaced) named = mistakes_without(v->replaced, impossible(g, a));
    const char *name = name_set(names, sizeof names, named, &text);
    if (text) own_notation(a, text->sentence, sizeof sentence, sentence);
    if (replaced && text) {
        size_t n = strlen(names), m = strlen(sentence);
        snprintf(names + n, sizeof names - n, "\" and \"overwritten");
        snprintf(sentence + m, sizeof sentence - m, "  And what %s held before is lost.",
                 q->of->name);
    }
    if (text) {
        const char *colon = strchr(text->hint, ':');
        const bool of_step = strncmp(text->hint, "Step", 4) == 0 && colon;
        own_notation(a, g->which == 3 && of_step ? colon + 2 : text->hint, sizeof q->mistake,
                     q->mistake);
        if (strncmp(q->mistake, "delta", 5) != 0)
            q->mistake[0] = (char)toupper((unsigned char)q->mistake[0]);
    }
    say_verdict(q, v, name, sentence);
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
        q[k] = add_grade(g, s, last);
        if (!q[k]) continue;
        const double *got = s->buffer[x[k].b].data;
        const ptrdiff_t size = steps_size(a, x[k].what), e = first_nan(size, got);
        char first[60];
        const int columns = a->dim[x[k].what][2];
        cell_name(&(writer){first, sizeof first}, a, x[k].what,
                  (int[]){0, (int)e / columns, (int)e % columns});
        if (grade_nan(g, q[k], size, got, s->call[last].blanks, first)) continue;
        answer.got[x[k].what] = got;
        answer.before[x[k].what] = x[k].before;
    }
    need(mistakes_judge(a, &answer, report) ? report : NULL);
    for (int k = 0; k < n; k++) {
        if (!q[k] || !answer.got[x[k].what]) continue;
        const verdict *v = &report->of[x[k].what];
        mistake_set named = mistakes_without(v->named, impossible(g, a));
        mistake_set of_all = mistakes_common(named, report->all);
        name_mistakes(g, a, q[k], v, mistakes_any(of_all) ? of_all : named);
        name_way(g, s, a, &x[k], q[k]);
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
                             .letter = {words[0], words[0] ? words[1] : 0},
                             .before = before,
                             .right = x->right,
                             .terms = x->terms};
}

/* The array of a new candidate */
double *add_candidate(matrix *x, const char *name, const char *sentence, bool overwrites)
{
    double *values = need(calloc(matrix_size(&x->m), sizeof *values));
    x->candidate[x->m.candidates++] = (mistakes_candidate){
        .name = name, .sentence = sentence, .values = values, .overwrites = overwrites};
    return values;
}

const char overwritten[] =
    "The gradient replaces what was there before, and is not added to it: = in place of +=.";

double *add_overwritten(matrix *x)
{
    double *values = add_candidate(x, "overwritten", overwritten, true);
    memcpy(values, x->right, matrix_size(&x->m) * sizeof *values);
    return values;
}

grade *judge_matrix(grading *g, const script *s, int last, int b, matrix *x, verdict *v)
{
    x->m.candidate = x->candidate;
    return grade_matrix(g, s, last, b, x->m, v);
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
