/* sketch.h -- pictures that are neither a heat map nor a line chart, as SVG: texts, lines, arrows
 * and small matrices with their numbers.
 *
 *     FILE *f = sketch_open("picture.svg", 830, 400, "What it is called");
 *     sketch_text(f, 20, 60, (sketch_style){.size = 16, .bold = true}, "dS = %.2f", dS);
 *     sketch_matrix(f, 20, 80, &(sketch_cells){.title = "P", .x = P, .rows = 2, .cols = 3});
 *     ok = sketch_close(f, "picture.svg");
 *
 * y grows downwards; README.md shows pictures 830 pixels wide.  A file that could not be opened is
 * NULL; nothing is drawn then, and sketch_close says so. */
#ifndef EXAMPLES_SKETCH_H
#define EXAMPLES_SKETCH_H
#include <stdbool.h>
#include <stdio.h>

#define SKETCH_INK "#1f2328"
#define SKETCH_GREY "#57606a"
#define SKETCH_LINE "#b8c0c9"
#define SKETCH_RED "#b3261e"  /* the loss rises; what is above 0 */
#define SKETCH_BLUE "#1756a0" /* the loss falls; what is below 0 */

typedef struct {
    double size;        /* 0: 14 */
    const char *colour; /* NULL: ink */
    bool bold;
    const char *anchor; /* "start", "middle", "end"; NULL: start */
} sketch_style;

typedef struct {
    double width;       /* 0: 1.5 */
    const char *colour; /* NULL: ink */
    bool dashed;
} sketch_pen;

typedef enum {
    SKETCH_SIGNED, /* blue - white - red, around 0 */
    SKETCH_SHARES, /* white - green, from 0 to 1 */
    SKETCH_PLAIN   /* white */
} sketch_colours;

/* A matrix: the title above it, the number in every cell, and beside it a column of one number for
 * each row, if there is one. */
typedef struct {
    const char *title;
    const double *x; /* [rows, cols], row-major; NULL: the frame alone */
    int rows, cols;
    sketch_colours colours;
    double most;              /* the magnitude with the strongest colour; 0: the largest of x */
    const char *const *names; /* of the rows, left of it; NULL: none */
    const char *const *heads; /* of the columns, below it; NULL: none */
    const char *margin;       /* the title of the column beside it; NULL: there is none */
    const double *margins;    /* [rows] */
    double cell_w, cell_h;    /* 0: 46, 40 */
    double size;              /* of the numbers; 0: 15 */
    const char *frame;        /* its colour; NULL: a thin grey line */
    bool dashed;              /* the frame */
    bool brief;               /* numbers of two decimals, .07 for 0.07 */
    bool signs;               /* no numbers, but the sign of what is large; a NaN is masked */
} sketch_cells;

FILE *sketch_open(const char *path, int width, int height, const char *title);
bool sketch_close(FILE *f, const char *path);
void sketch_text(FILE *f, double x, double y, sketch_style s, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void sketch_line(FILE *f, double x, double y, double to_x, double to_y, sketch_pen p);
void sketch_arrow(FILE *f, double x, double y, double to_x, double to_y, sketch_pen p);
void sketch_dot(FILE *f, double x, double y, double radius, const char *colour);
/* A polygon of n points x0 y0 x1 y1 ...; a colour that is NULL is left out. */
void sketch_polygon(FILE *f, int n, const double *points, const char *fill, const char *stroke);
/* (x, y) is the upper left corner of the cells; the title stands above, the margin to the right. */
void sketch_matrix(FILE *f, double x, double y, const sketch_cells *m);
/* Three digits; 0 for what is 0 but for rounding.  In a buffer that the eighth call after
 * overwrites. */
const char *sketch_number(double x);

#endif
