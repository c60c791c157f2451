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

void trace_label(const trace *t, steps_name what, bool columns, int i, char text[16])
{
    if (stands_for_all(t, what, columns))
        snprintf(text, 16, "all");
    else
        snprintf(text, 16, "%c%d", letter_of(t, what, columns), i);
}

/* How a matrix is shown. */
typedef struct {
    int rows, columns;
    char row, column;           /* the letters of their names */
    bool all_rows, all_columns; /* see stands_for_all */
    const double *log_of;       /* 7 where "ln 7" was given; NULL: nowhere */
    const char *by;             /* whose values they are: "by the formula" */
} layout;

static const char *values_by(const trace *t)
{
    return t->mistake ? "with the mistake" : "by the formula";
}

static layout layout_of(const trace *t, steps_name what)
{
    int dim[3];
    steps_dims(t->a, what, dim);
    return (layout){dim[1],
                    dim[2],
                    letter_of(t, what, false),
                    letter_of(t, what, true),
                    stands_for_all(t, what, false),
                    stands_for_all(t, what, true),
                    t->log_of[what],
                    values_by(t)};
}

static void print_name(int width, char letter, int i, bool all)
{
    char text[16];
    snprintf(text, sizeof text, "%c%d", letter, i);
    printf("%*s", width, all ? "all" : text);
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

static void print_names(const layout *l)
{
    for (int j = 0; j < l->columns; j++) print_name(NUMBER, l->column, j, l->all_columns);
}

static void print_row(const layout *l, const double *x, int i, bool as_given)
{
    for (int e = i * l->columns; e < (i + 1) * l->columns; e++)
        print_number(x[e], as_given && l->log_of ? l->log_of[e] : 0);
}

/* One matrix, or two of the same shape side by side (right = NULL: one). */
static void print_sides(const layout *l, const double *left, const double *right)
{
    printf("%*s", MARGIN, "");
    print_names(l);
    if (right) printf("%*s", MARGIN, "");
    if (right) print_names(l);
    printf("\n");
    for (int i = 0; i < l->rows; i++) {
        print_name(MARGIN, l->row, i, l->all_rows);
        print_row(l, left, i, !right);
        if (right) printf("%*s", MARGIN, "");
        if (right) print_row(l, right, i, false);
        printf("\n");
    }
}

/* Returns the largest of the elements by the formula. */
static double print_differing(const layout *l, const double *x, const trace_values *n)
{
    double most = 0;
    const int count = l->rows * l->columns;
    for (int e = 0; e < count; e++) most = fmax(most, fabs(x[e]));
    for (int e = 0; e < count; e++) {
        if (trace_agrees(x[e], n, e, most)) continue;
        trace_say(4, "DIFFERS at [%c%d,%c%d]: %.10g %s, %.10g +- %.0e numerically", l->row,
                  e / l->columns, l->column, e % l->columns, x[e], l->by, n->n[e], n->unsure[e]);
    }
    return most;
}

void trace_differing(const trace *t, steps_name what)
{
    const layout l = layout_of(t, what);
    print_differing(&l, t->a->at[what], &t->numerical[what]);
}

static void print_agreement(const layout *l, const double *x, const trace_values *n)
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

static void print_both(const layout *l, const double *x, const trace_values *n)
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

void trace_matrix(const trace *t, steps_name what, const double *values, const trace_values *n)
{
    layout l = layout_of(t, what);
    if (values) l.log_of = NULL;
    printf("\n");
    if (n)
        print_both(&l, values ? values : t->a->at[what], n);
    else
        print_sides(&l, values ? values : t->a->at[what], NULL);
}

void trace_square(const trace *t, const double *values, const trace_values *n)
{
    const layout l = {
        .rows = t->a->p.N, .columns = t->a->p.N, .row = 'k', .column = 'k', .by = "by the formula"};
    printf("\n");
    print_both(&l, values, n);
}
