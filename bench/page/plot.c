/* plot.c -- rows of results as a chart.
 *
 *     %lines FILE | TITLE | X LABEL | Y LABEL | MEASURE | BENCH | THREADS | LINE; LINE; ...
 *     %dots                                                               the same, not joined
 *
 * MEASURE is percent (of the peak, upper quartile), ms, or MiB; the last two on a logarithmic axis.
 * A LINE is GROUP, WHO, NAMES, LABEL apart by "/": the rows of a group whose name is like NAMES.  Where
 * several have the same x a line goes through their mean.  Rows that no size puts in order are dots. */
#include "page/page.h"

#include "attic.h"

#include <fnmatch.h>
#include <string.h>

enum { FILE_NAME, TITLE, X_LABEL, Y_LABEL, MEASURE, BENCH, THREADS, LINES, FIELDS };
enum { MAX_LINES = 8, MAX_POINTS = 64 };

typedef struct {
    char *group, *who, *names, *label;
    double x[MAX_POINTS], y[MAX_POINTS];
    int at[MAX_POINTS], n; /* at: rows that a point is the mean of */
    bool dots;
} line;

static double y_of(const result *w, const char *measure)
{
    if (strcmp(measure, "ms") == 0) return w->value.median * 1e-6;
    if (strcmp(measure, "MiB") == 0) return w->value.median / (1 << 20);
    return w->percent.q3;
}

/* Keeps the points in the order of x. */
static void add_point(line *l, double x, double y)
{
    int i = l->n;
    for (int k = 0; k < l->n && !l->dots; k++)
        if (l->x[k] == x) {
            l->y[k] = (l->y[k] * l->at[k] + y) / (l->at[k] + 1);
            l->at[k]++;
            return;
        }
    if (l->n == MAX_POINTS) return;
    for (; i > 0 && l->x[i - 1] > x; i--) {
        l->x[i] = l->x[i - 1];
        l->y[i] = l->y[i - 1];
        l->at[i] = l->at[i - 1];
    }
    l->x[i] = x;
    l->y[i] = y;
    l->at[i] = 1;
    l->n++;
}

/* "square/attic/NN/attic" */
static bool cut_line(char *text, bool dots, line *l)
{
    char **part[] = {&l->group, &l->who, &l->names, &l->label};
    *l = (line){.dots = dots};
    for (int i = 0; i < 4; i++) {
        *part[i] = text;
        char *slash = strchr(text, '/');
        if (!slash) return i == 3;
        *slash = 0;
        text = slash + 1;
    }
    return false;
}

static void collect(line *l, const results *r, char **field)
{
    for (int i = 0; i < r->n; i++) {
        const result *w = &r->row[i];
        if (strcmp(w->bench, field[BENCH]) != 0 || strcmp(w->group, l->group) != 0) continue;
        if (strcmp(w->who, l->who) != 0 || fnmatch(l->names, w->name, 0) != 0) continue;
        if (w->threads == *field[THREADS] - '0') add_point(l, w->x, y_of(w, field[MEASURE]));
    }
}

static bool draw(const at_chart *chart, const char *path)
{
    FILE *f = fopen(path, "w");
    bool good = f && at_svg_chart(f, chart);
    return f && fclose(f) == 0 && good;
}

bool write_plot(FILE *out, const results *r, char *description, bool dots)
{
    static line lines[MAX_LINES];
    at_series series[MAX_LINES];
    char *field[FIELDS], path[256];
    int n = 0;
    if (cut_fields(description, field, FIELDS) != FIELDS) return false;
    for (char *text = field[LINES]; text && n < MAX_LINES;) {
        char *next = strstr(text, "; ");
        if (next) *next = 0;
        if (!cut_line(text, dots, &lines[n])) return false;
        collect(&lines[n], r, field);
        const line *l = &lines[n];
        series[n] = (at_series){.name = l->label, .x = l->x, .y = l->y, .n = l->n, .dots = dots};
        n += l->n > 0;
        text = next ? next + 2 : NULL;
    }
    if (!n) return true; /* not measured */
    bool logarithmic = strcmp(field[MEASURE], "percent") != 0;
    at_chart chart = {.title = field[TITLE],
                      .x_label = field[X_LABEL],
                      .y_label = field[Y_LABEL],
                      .series = series,
                      .n_series = n,
                      .log_x = true,
                      .log_y = logarithmic};
    snprintf(path, sizeof path, "docs/images/%s", field[FILE_NAME]);
    fprintf(out, "![%s](images/%s)\n", field[TITLE], field[FILE_NAME]);
    return draw(&chart, path);
}
