/* draw.h -- what all pictures have in common.  Private to src/plot. */
#ifndef AT_PLOT_DRAW_H
#define AT_PLOT_DRAW_H
#include "terminal/label.h"
#include "plot/picture.h"

/* Not NULL, and what it counts is there too. */
bool at_heatmap_is_there(const at_heatmap *h);
bool at_chart_is_there(const at_chart *c);

typedef struct {
    int r, g, b; /* 0 .. 255 */
} at_rgb;

typedef struct {
    double low, high;
    bool diverging;
} at_colour_scale;

at_colour_scale at_colour_scale_of(const at_heatmap *h);
double at_scale_place(at_colour_scale s, double value); /* 0 at the low end and below .. 1 */
at_rgb at_colour_of(at_colour_scale s, double value);   /* value must not be NaN */
at_rgb at_colour_along(bool diverging, double u);       /* u in 0 .. 1 */
bool at_wants_dark_text(at_rgb background);
at_rgb at_series_colour(int k);

typedef enum { ATTIC_CELL_VALUE, ATTIC_CELL_MASKED, ATTIC_CELL_NAN } at_cell_kind;
typedef struct {
    at_cell_kind kind;
    double value;
} at_cell;

at_rgb at_cell_colour(at_colour_scale s, at_cell c); /* of one that is not masked */

/* A subplot in blocks of step x step cells, the last ones smaller. */
typedef struct {
    const at_subplot *subplot;
    int step, rows, cols;
} at_grid;
at_grid at_grid_of(const at_subplot *p, int step);
at_cell at_grid_cell(at_grid g, int i, int j);
/* Rows and columns of the largest grid; returns how many blocks there are in all. */
double at_heatmap_extent(const at_heatmap *h, int step, int *rows, int *cols);
/* The step with which no subplot has more than this many rows or columns. */
int at_heatmap_step(const at_heatmap *h, int most);
/* Is a block of any subplot of this kind? */
bool at_heatmap_shows(const at_heatmap *h, int step, at_cell_kind kind);
/* What row or column i is called: names[i], or without names its number. */
void at_cell_name(char label[AT_LABEL_SIZE], const char *const *names, int i, int columns,
                  bool unicode);

typedef struct {
    double em;
    int columns;
} at_text_size;
/* Of the widest of n such names, every step-th. */
at_text_size at_names_size(const char *const *names, int n, int step, int columns, bool unicode);

/* How the values of all subplots are written so that they compare well: "0.12", "-3.4", "2e-05". */
typedef struct {
    int decimals; /* -1: exponents */
    int length;   /* of the longest */
} at_value_format;
at_value_format at_value_format_of(const at_heatmap *h);
const char *at_value_text(at_value_format f, at_cell c);

/* The least that is at least x of 1, 2, 5 times a power of ten. */
double at_round_step(double x);

enum { AT_MAX_TICKS = 16 };
typedef struct {
    int n;
    double value[AT_MAX_TICKS];
    double step; /* 0: each value for itself (logarithmic) */
} at_ticks;

/* At most this many round numbers within lo .. hi. */
at_ticks at_ticks_between(double lo, double hi, int most, bool logarithmic);
/* "0.5", "2000", "10^-3" or with superscripts. */
const char *at_tick_text(const at_ticks *t, int k, bool unicode);
/* A number on its own, in three digits. */
const char *at_number_text(double v, bool unicode);

typedef struct {
    double lo, hi;
    bool logarithmic;
} at_axis;

/* The extent of all points and levels, widened a little; false, and 0 .. 1, if there are none. */
bool at_chart_axes(const at_chart *c, at_axis *x, at_axis *y);
/* Where v is: 0 at lo, 1 at hi; NaN if it can't be shown. */
double at_axis_place(at_axis a, double v);
/* Point i of a series as (u, v) in 0 .. 1; false if it breaks the line. */
bool at_chart_point(const at_series *s, ptrdiff_t i, at_axis x, at_axis y, double *u, double *v);

#endif
