/* sketch.c -- texts, lines, arrows and matrices as SVG; see sketch.h. */
#include "common/sketch.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "common/options.h"

/* ------------------------------------------------------------------ the file ------------------- */

static void put_escaped(FILE *f, const char *text)
{
    for (; *text; text++)
        if (*text == '<')
            fputs("&lt;", f);
        else if (*text == '>')
            fputs("&gt;", f);
        else if (*text == '&')
            fputs("&amp;", f);
        else
            fputc(*text, f);
}

FILE *sketch_open(const char *path, int width, int height, const char *title)
{
    FILE *f = fopen(path, "w");
    if (!f) return NULL;
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d "
            "%d\" role=\"img\" font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, "
            "'Noto Sans', 'Liberation Sans', Helvetica, Arial, sans-serif\">\n<title>",
            width, height, width, height);
    put_escaped(f, title);
    fprintf(f, "</title>\n<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", width, height);
    return f;
}

bool sketch_close(FILE *f, const char *path)
{
    bool good = f && fputs("</svg>\n", f) >= 0 && !ferror(f);
    return written(f, path, good);
}

/* ------------------------------------------------------------------ elements ------------------- */

/* Tenths of a pixel. */
static double pixel(double x)
{
    return round(10 * x) / 10 + 0.0;
}

const char *sketch_number(double x)
{
    static char text[8][32];
    static int next;
    char *to = text[next = (next + 1) % 8];
    snprintf(to, sizeof text[0], "%.3g", fabs(x) < 1e-9 ? 0 : x);
    return to;
}

void sketch_text(FILE *f, double x, double y, sketch_style s, const char *format, ...)
{
    char text[256];
    if (!f) return;
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(f, "<text x=\"%g\" y=\"%g\" font-size=\"%g\" fill=\"%s\"", pixel(x), pixel(y),
            s.size > 0 ? s.size : 14, s.colour ? s.colour : SKETCH_INK);
    if (s.anchor) fprintf(f, " text-anchor=\"%s\"", s.anchor);
    if (s.bold) fputs(" font-weight=\"600\"", f);
    fputc('>', f);
    put_escaped(f, text);
    fputs("</text>\n", f);
}

void sketch_line(FILE *f, double x, double y, double to_x, double to_y, sketch_pen p)
{
    if (!f) return;
    fprintf(f, "<path d=\"M%g %gL%g %g\" fill=\"none\" stroke=\"%s\" stroke-width=\"%g\"%s/>\n",
            pixel(x), pixel(y), pixel(to_x), pixel(to_y), p.colour ? p.colour : SKETCH_INK,
            p.width > 0 ? p.width : 1.5, p.dashed ? " stroke-dasharray=\"6 4\"" : "");
}

/* An arrow too short for its head has none. */
void sketch_arrow(FILE *f, double x, double y, double to_x, double to_y, sketch_pen p)
{
    double dx = to_x - x, dy = to_y - y, length = hypot(dx, dy), w = p.width > 0 ? p.width : 1.5;
    double head = 5 + 2.5 * w;
    if (length < head) {
        sketch_line(f, x, y, to_x, to_y, p);
        return;
    }
    dx /= length, dy /= length;
    double back_x = to_x - head * dx, back_y = to_y - head * dy, half = 0.45 * head;
    sketch_line(f, x, y, back_x, back_y, p);
    const double points[] = {
        to_x, to_y, back_x - half * dy, back_y + half * dx, back_x + half * dy, back_y - half * dx};
    sketch_polygon(f, 3, points, p.colour ? p.colour : SKETCH_INK, NULL);
}

void sketch_dot(FILE *f, double x, double y, double radius, const char *colour)
{
    if (!f) return;
    fprintf(f, "<circle cx=\"%g\" cy=\"%g\" r=\"%g\" fill=\"%s\"/>\n", pixel(x), pixel(y),
            pixel(radius), colour);
}

void sketch_polygon(FILE *f, int n, const double *points, const char *fill, const char *stroke)
{
    if (!f) return;
    fputs("<path d=\"", f);
    for (int i = 0; i < n; i++)
        fprintf(f, "%c%g %g", i ? 'L' : 'M', pixel(points[2 * i]), pixel(points[2 * i + 1]));
    fprintf(f, "Z\" fill=\"%s\"", fill ? fill : "none");
    if (stroke) fprintf(f, " stroke=\"%s\" stroke-width=\"1.5\" stroke-linejoin=\"round\"", stroke);
    fputs("/>\n", f);
}

/* ------------------------------------------------------------------ matrices ------------------- */

/* ".07", "-.29", "1.95", "0" */
static const char *brief_number(double x)
{
    static char text[32];
    snprintf(text, sizeof text, "%.2f", fabs(x) < 0.005 ? 0 : x);
    char *end = text + strlen(text);
    while (end[-1] == '0') *--end = 0;
    if (end[-1] == '.') *--end = 0;
    char *digits = text + (*text == '-');
    if (digits[0] == '0' && digits[1]) memmove(digits, digits + 1, strlen(digits));
    return text;
}

/* u from -1 to 1; *dark: is dark text legible on it? */
static void cell_colour(sketch_colours how, double u, int rgb[3], bool *dark)
{
    static const int white[] = {250, 249, 247}, red[] = {203, 74, 64}, blue[] = {46, 113, 178},
                     green[] = {60, 160, 120};
    const int *end = how == SKETCH_SHARES ? green : u < 0 ? blue : red;
    double by = how == SKETCH_PLAIN ? 0 : fmin(1, fabs(u));
    const double half = 0.5 + 1e-9; /* what lies half way goes up, however it was rounded */
    for (int k = 0; k < 3; k++) rgb[k] = (int)(white[k] + by * (end[k] - white[k]) + half);
    *dark = by < 0.88 || how == SKETCH_SHARES;
}

/* What stands in a cell of value v = u most. */
static const char *cell_text(const sketch_cells *m, double v, double u)
{
    if (!m->signs) return m->brief ? brief_number(v) : sketch_number(v);
    return m->colours != SKETCH_SIGNED || fabs(u) < 0.25 ? "" : u > 0 ? "+" : "-";
}

static void put_cell(FILE *f, double x, double y, double w, double h, const sketch_cells *m,
                     double v, double u, double size)
{
    int c[3] = {238, 240, 243};
    bool masked = isnan(v), dark = true;
    if (!masked) cell_colour(m->colours, u, c, &dark);
    fprintf(f, "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"#%02x%02x%02x\"/>\n",
            pixel(x), pixel(y), pixel(w), pixel(h), (unsigned)c[0], (unsigned)c[1], (unsigned)c[2]);
    const char *text = masked ? "" : cell_text(m, v, u);
    sketch_style s = {.size = size, .colour = dark ? NULL : "#ffffff", .anchor = "middle"};
    if (*text) sketch_text(f, x + w / 2, y + h / 2 + 0.35 * size, s, "%s", text);
}

static void put_cells_of(FILE *f, double x, double y, const sketch_cells *m, double w, double h,
                         double size)
{
    double most = m->most;
    for (int e = 0; m->most == 0 && e < m->rows * m->cols; e++) most = fmax(most, fabs(m->x[e]));
    for (int i = 0; i < m->rows; i++)
        for (int j = 0; j < m->cols; j++) {
            double v = m->x[i * m->cols + j];
            put_cell(f, x + j * w, y + i * h, w, h, m, v, most > 0 ? v / most : 0, size);
        }
}

void sketch_matrix(FILE *f, double x, double y, const sketch_cells *m)
{
    if (!f) return;
    double w = m->cell_w > 0 ? m->cell_w : 46, h = m->cell_h > 0 ? m->cell_h : 40;
    double size = m->size > 0 ? m->size : 15, right = x + m->cols * w, below = y + m->rows * h;
    const sketch_style title = {.size = size, .bold = true};
    sketch_style aside = {.size = size - 1, .colour = SKETCH_GREY, .anchor = "middle"};
    if (m->x) put_cells_of(f, x, y, m, w, h, size);
    fprintf(f,
            "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"none\" stroke=\"%s\" "
            "stroke-width=\"%d\"%s/>\n",
            pixel(x), pixel(y), pixel(right - x), pixel(below - y),
            m->frame ? m->frame : SKETCH_LINE, m->frame ? 2 : 1,
            m->dashed ? " stroke-dasharray=\"5 3\"" : "");
    if (m->title) sketch_text(f, x, y - 0.5 * size, title, "%s", m->title);
    for (int j = 0; m->heads && j < m->cols; j++)
        sketch_text(f, x + (j + 0.5) * w, below + 1.15 * size, aside, "%s", m->heads[j]);
    if (m->margin) {
        sketch_text(f, right + 0.5 * w, y - 0.5 * size, aside, "%s", m->margin);
        for (int i = 0; i < m->rows; i++)
            sketch_text(f, right + 0.5 * w, y + (i + 0.5) * h + 0.35 * size, aside, "%s",
                        sketch_number(m->margins[i]));
    }
    aside.anchor = "end";
    for (int i = 0; m->names && i < m->rows; i++)
        sketch_text(f, x - 7, y + (i + 0.5) * h + 0.35 * size, aside, "%s", m->names[i]);
}
