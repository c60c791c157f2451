/* picture.h -- what is to be drawn: a heat map or a line chart.  svg.h and term.h draw it.
 *
 *     at_subplot head[2] = {at_subplot_of(P, NULL, at_shape_of(0, 0)),
 *                         at_subplot_of(P, NULL, at_shape_of(0, 1))};
 *     at_heatmap h = {.title = "Attention", .subplots = head, .n_subplots = 2,
 *                     .row_label = "Query", .col_label = "Key",
 *                     .row_names = token, .col_names = token};
 *     at_svg_heatmap(f, &h);
 *
 * Descriptions only point at the values and texts of the caller, which must stay until the picture
 * is drawn; nothing is copied, kept or freed.  What is left zero gets a sensible value.  Texts may
 * be any bytes: what can't be seen is made visible (a space at an end as an open box, \x07,
 * ...). */
#ifndef AT_PLOT_PICTURE_H
#define AT_PLOT_PICTURE_H
#include "autograd/tape.h"
AT_BEGIN_C

typedef struct {       /* one matrix */
    const char *title; /* e.g. "head 0", or NULL */
    at_dtype dtype;    /* of data; 0 is double */
    const void *data;  /* [rows, cols], row-major */
    int rows, cols;

    const unsigned char *keep; /* 0 = masked; NULL: nothing is */
    int keep_rows,
        keep_cols; /* keep is [keep_rows, keep_cols]: 1 = the same for all, 0 = as the data */
} at_subplot;

/* The matrix in the last two axes of x at an index into the axes before them: P [B,H,T,N] has
 * at_subplot_of(P, keep, at_shape_of(b, h)).  keep, which may be NULL, is a mask (1 = attend) that
 * broadcasts to x.  A vector is one row.  After a sticky error the subplot is empty. */
AT_API at_subplot at_subplot_of(const at_tensor *x, const at_tensor *keep, at_shape index);
AT_API at_subplot at_subplot_of_grad(const at_tensor *x, const at_tensor *keep, at_shape index);

typedef enum {
    ATTIC_COLOURS_AUTO,   /* the first of these that fits the data: */
    ATTIC_COLOURS_UNIT,   /* viridis from 0 to 1: weights */
    ATTIC_COLOURS_RANGE,  /* viridis from 0, or the least value if that is > 0 .. to the largest */
    ATTIC_COLOURS_SIGNED, /* blue - white - red, symmetric around 0: scores, gradients */
} at_colours;

typedef struct {
    const char *title;
    const at_subplot *subplots;
    int n_subplots, columns; /* how many subplots are side by side; 0: as many as look well */

    const char *row_label, *col_label; /* of the axes, e.g. "Query", "Key" */
    const char *const *row_names,
        *const *col_names;   /* of rows and columns, e.g. tokens; NULL: numbers */
    const char *value_label; /* of the colour bar, e.g. "weight" */

    at_colours colours;
    double low, high; /* ends of the colour bar; both 0, or not finite: from the data.  Beyond
                         them, their colours */
    bool no_values;   /* don't write the values into the cells, even if they fit */
} at_heatmap;

/* A masked cell is hatched, whatever it holds; so is -infinity, which is what a mask adds to a
 * score.  NaN and +infinity are magenta.  A matrix too large to be seen is shown in blocks, each as
 * the value of largest magnitude in it. */

typedef struct {
    const char *name;
    const double *x, *y; /* x NULL: 0, 1, 2, ... */
    ptrdiff_t n;
    bool faint; /* e.g. the raw values behind a smoothed line; no dots */
    bool dots;  /* no line joins the points: they have no order */
} at_series;

typedef struct { /* a horizontal line to compare with, e.g. a baseline */
    const char *name;
    double y;
} at_level;

typedef struct {
    const char *title, *x_label, *y_label;
    const at_series *series;
    int n_series;
    const at_level *levels;
    int n_levels;
    bool log_x, log_y;
} at_chart;

/* A point that is not finite (on a logarithmic axis: or not positive) breaks the line.  A line with
 * more points than can be told apart is drawn through the extremes of each stretch, so that no peak
 * is lost. */

AT_END_C
#endif
