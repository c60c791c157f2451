/* pictures.c -- the pictures of docs/performance.md, from the results of the benchmarks.
 *
 *     pictures build/.../results docs/images          make performance
 *
 * A line of a picture joins the rows of one group and one library, in order of growing x: a row
 * with a smaller x than the one before is left out. */
#include "attic.h"
#include "attic_plot.h"
#include "common/results.h"

#include <stdio.h>
#include <string.h>

enum { MAX_LINES = 4, MAX_POINTS = 32 };

typedef struct {
    const char *group, *who, *rows, *label; /* rows: a part of their names */
} line;

typedef struct {
    const char *file, *bench, *title, *x_label, *y_label;
    double unit; /* values are divided by it; 0: the percentage of the peak, upper quartile */
    line line[MAX_LINES];
} picture;

static const picture pictures[] = {
    {.file = "performance_square.svg",
     .bench = "gemm",
     .title = "Square products, 1 thread",
     .x_label = "floating-point operations",
     .y_label = "% of peak, upper quartile",
     .line = {{"square", "attic", "NN", "attic"},
              {"square", "openblas", "NN", "OpenBLAS"},
              {"square", "blis", "NN", "BLIS"},
              {"square", "onednn", "NN", "oneDNN"}}},
    {.file = "performance_backward.svg",
     .bench = "sdpa",
     .title = "Attention forward and backward, B = 1, H = 4, D = 64, 1 thread",
     .x_label = "T",
     .y_label = "milliseconds",
     .unit = 1e6,
     .line = {{"full forward+backward", "attic", "(1, 4, ", "attic"},
              {"causal forward+backward", "attic", "(1, 4, ", "attic, causal"},
              {"full forward+backward", "torch", "(1, 4, ", "PyTorch"},
              {"causal forward+backward", "torch", "(1, 4, ", "PyTorch, causal"}}},
    {.file = "performance_memory.svg",
     .bench = "memory",
     .title = "Memory of attention, one head, D = 64, causal",
     .x_label = "T",
     .y_label = "MiB",
     .unit = 1 << 20,
     .line = {{"forward, handed out", "attic", "", "forward"},
              {"forward, resident", "attic", "", "forward, resident"},
              {"forward+backward, handed out", "attic", "", "forward and backward"},
              {"forward+backward, resident", "attic", "", "forward and backward, resident"}}},
};

/* The points of a line, in the order of the rows; how many there are. */
static int collect(const results *r, const picture *p, const line *l, double *x, double *y)
{
    int n = 0;
    for (int i = 0; i < r->n && n < MAX_POINTS; i++) {
        const result *w = &r->row[i];
        if (w->threads != 1 || strcmp(w->bench, p->bench) != 0) continue;
        if (strcmp(w->group, l->group) != 0 || strcmp(w->who, l->who) != 0) continue;
        if (!strstr(w->name, l->rows) || (n && w->x <= x[n - 1])) continue;
        x[n] = w->x;
        y[n++] = p->unit > 0 ? w->value.median / p->unit : w->percent.q3;
    }
    return n;
}

static bool draw(const results *r, const picture *p, const char *folder)
{
    double x[MAX_LINES][MAX_POINTS], y[MAX_LINES][MAX_POINTS];
    at_series series[MAX_LINES];
    at_chart chart = {.title = p->title,
                      .x_label = p->x_label,
                      .y_label = p->y_label,
                      .series = series,
                      .log_x = true,
                      .log_y = p->unit > 0};
    for (int i = 0; i < MAX_LINES; i++) {
        int n = collect(r, p, &p->line[i], x[i], y[i]);
        at_series s = {.name = p->line[i].label, .x = x[i], .y = y[i], .n = n};
        if (n) series[chart.n_series++] = s;
    }
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, p->file);
    FILE *f = chart.n_series ? fopen(path, "w") : NULL;
    bool good = f && at_svg_chart(f, &chart);
    good = f && fclose(f) == 0 && good;
    if (!good) fprintf(stderr, "pictures: can't draw %s\n", path);
    return good;
}

int main(int argc, char **argv)
{
    results r = {NULL, 0};
    if (argc != 3) return fprintf(stderr, "usage: pictures RESULTS IMAGES\n"), 2;
    bool good = true;
    for (int i = 0; i < 3; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.tsv", argv[1], pictures[i].bench);
        good = results_read(&r, path) && good;
    }
    for (int i = 0; i < 3 && good; i++) good = draw(&r, &pictures[i], argv[2]);
    results_free(&r);
    return !good;
}
