/* trace_text.c -- how course/trace.c prints: lines of at most 100 columns, matrices with named
 * rows and columns; see trace.h. */
#include "trace.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { WIDTH = 100, NUMBER = 9, MARGIN = 6 };

void trace_title(const char *format, ...)
{
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    printf("\n\n%s\n", text);
    for (size_t i = 0; i < strlen(text); i++) printf("-");
    printf("\n");
}

/* Breaks lines at a blank; what follows in an indented one is indented by four more columns. */
void trace_say(int indent, const char *format, ...)
{
    char text[4000];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    int margin = indent;
    for (const char *p = text; *p; margin = indent ? indent + 4 : 0) {
        int room = WIDTH - margin, length = (int)strlen(p);
        if (length > room) {
            for (length = room; length > 0 && p[length] != ' ';) length--;
            if (length == 0) length = (int)strcspn(p, " ");
        }
        printf("%*s%.*s\n", margin, "", length, p);
        for (p += length; *p == ' ';) p++;
    }
}

double trace_shown(double x)
{
    return fabs(x) < 5e-5 ? 0 : x;
}

static char letter_of(const trace *t, steps_name what, bool columns)
{
    const arithmetic_style style = trace_style(t);
    return arithmetic_letter(&style, what, columns);
}

/* One row or column of a bias may stand for all of them. */
static bool stands_for_all(const trace *t, steps_name what, bool columns)
{
    const steps_problem *p = &t->a->p;
    bool of_bias = what == STEPS_BIAS || what == STEPS_DBIAS;
    return of_bias && (columns ? p->bias_N < p->N : p->bias_T < p->T);
}

void trace_label(const trace *t, steps_name what, bool columns, int i, char text[28])
{
    if (stands_for_all(t, what, columns))
        snprintf(text, 28, "all");
    else
        snprintf(text, 28, "%c%d", letter_of(t, what, columns), i);
}

static const char *values_by(const trace *t)
{
    return t->mistake ? "with the mistake" : "by the formula";
}

static trace_layout layout_of(const trace *t, steps_name what)
{
    const int *dim = t->a->dim[what];
    trace_layout l = {
        .rows = dim[1], .columns = dim[2], .log_of = t->log_of[what], .by = values_by(t)};
    for (int i = 0; i < dim[1]; i++) trace_label(t, what, false, i, l.row[i]);
    for (int j = 0; j < dim[2]; j++) trace_label(t, what, true, j, l.column[j]);
    return l;
}

static void print_number(double x, double log_of)
{
    char text[20];
    double size = fabs(x);
    if (log_of != 0)
        snprintf(text, sizeof text, "ln %.4g", log_of);
    else if (isinf(x))
        snprintf(text, sizeof text, "-inf");
    else
        snprintf(text, sizeof text,
                 size < 100   ? "%.4f"
                 : size < 1e4 ? "%.2f"
                              : "%.1e",
                 trace_shown(x));
    printf("%*s", NUMBER, text);
}

static void print_names(const trace_layout *l)
{
    for (int j = 0; j < l->columns; j++) printf("%*s", NUMBER, l->column[j]);
}

static void print_row(const trace_layout *l, const double *x, int i, bool as_given)
{
    for (int e = i * l->columns; e < (i + 1) * l->columns; e++)
        print_number(x[e], as_given && l->log_of ? l->log_of[e] : 0);
}

/* One matrix, or two of the same shape side by side (right = NULL: one). */
static void print_sides(const trace_layout *l, const double *left, const double *right)
{
    printf("%*s", MARGIN, "");
    print_names(l);
    if (right) printf("%*s", MARGIN, "");
    if (right) print_names(l);
    printf("\n");
    for (int i = 0; i < l->rows; i++) {
        printf("%*s", MARGIN, l->row[i]);
        print_row(l, left, i, !right);
        if (right) printf("%*s", MARGIN, "");
        if (right) print_row(l, right, i, false);
        printf("\n");
    }
}

/* Returns the largest of the elements by the formula. */
static double print_differing(const trace_layout *l, const double *x, const trace_values *n)
{
    double most = 0;
    const int count = l->rows * l->columns;
    for (int e = 0; e < count; e++) most = fmax(most, fabs(x[e]));
    for (int e = 0; e < count; e++) {
        if (trace_agrees(x[e], n, e, most)) continue;
        trace_say(4, "DIFFERS at [%s,%s]: %.10g %s, %.10g +- %.0e numerically",
                  l->row[e / l->columns], l->column[e % l->columns], x[e], l->by, n->n[e],
                  n->unsure[e]);
    }
    return most;
}

void trace_differing(const trace *t, steps_name what)
{
    const trace_layout l = layout_of(t, what);
    print_differing(&l, t->a->at[what], &t->numerical[what]);
}

static void print_agreement(const trace_layout *l, const double *x, const trace_values *n)
{
    double off = 0, unsure = 0, most = print_differing(l, x, n);
    for (int e = 0; e < l->rows * l->columns; e++) {
        off = fmax(off, fabs(x[e] - n->n[e]));
        unsure = fmax(unsure, n->unsure[e]);
    }
    trace_say(4, "largest difference %.1e, of elements up to %.4g", off, most);
    if (most > 0 && unsure > most / 1000)
        trace_say(4, "(so small that the loss, which is rounded, shows them only to %.0e)", unsure);
}

static void print_both(const trace_layout *l, const double *x, const trace_values *n)
{
    const int side = NUMBER * l->columns;
    if (2 * (MARGIN + side) <= WIDTH) {
        printf("    %-*s    numerically\n", side + MARGIN - 2, l->by);
        print_sides(l, x, n->n);
    } else {
        printf("    %s\n", l->by);
        print_sides(l, x, NULL);
        printf("    numerically\n");
        print_sides(l, n->n, NULL);
    }
    print_agreement(l, x, n);
}

void trace_laid_out(const trace_layout *l, const double *values, const trace_values *n)
{
    printf("\n");
    if (n)
        print_both(l, values, n);
    else
        print_sides(l, values, NULL);
}

void trace_matrix(const trace *t, steps_name what, const double *values, const trace_values *n)
{
    trace_layout l = layout_of(t, what);
    if (values) l.log_of = NULL;
    trace_laid_out(&l, values ? values : t->a->at[what], n);
}

void trace_square(const trace *t, const double *values, const trace_values *n)
{
    trace_layout l = {.rows = t->a->p.N, .columns = t->a->p.N, .by = "by the formula"};
    for (int k = 0; k < t->a->p.N; k++) {
        snprintf(l.row[k], sizeof l.row[k], "k%d", k);
        snprintf(l.column[k], sizeof l.column[k], "k%d", k);
    }
    trace_laid_out(&l, values, n);
}
