/* svg.c -- pictures as SVG; see svg.h.
 *
 *     title
 *              subplot title      subplot title        value label
 *        name  +----------+       +----------+         +-+ - 1.0
 *     row      |          |       |          |         | |
 *     label    |          |       |          |         | | - 0.5
 *        name  +----------+       +----------+         +-+ - 0.0
 *               n  n  n            n  n  n             / masked
 *              column label       column label
 *
 * First everything is measured, then drawn from left to right.  y grows downwards.  Coordinates are
 * written by at_fixed_text: a locale must not turn 0.5 into 0,5. */
#include "plot/svg.h"

#include <math.h>
#include <string.h>

#include "plot/draw.h"
#include "terminal/label.h"
#include "tensor/decimal.h"

#define SVG_FONT                                                                                   \
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', Helvetica, "    \
    "Arial, sans-serif"
#define SVG_INK "#1f2328"   /* titles */
#define SVG_GREY "#57606a"  /* all other texts */
#define SVG_LINE "#d0d7de"  /* frames */
#define SVG_FAINT "#eaeef2" /* grid lines */
#define SVG_PAPER "#ffffff"

enum { SVG_MARGIN = 24, SVG_TITLE = 17, SVG_LABEL = 13, SVG_TICK = 11 };

typedef struct {
    double size;
    const char *fill;
    bool bold;
    const char *anchor; /* "start", "middle", "end" */
    double rotate;      /* degrees around (x, y) */
} svg_style;

static const svg_style svg_title = {.size = SVG_TITLE, .fill = SVG_INK, .bold = true};
static const svg_style svg_heading = {.size = SVG_LABEL, .fill = SVG_INK, .bold = true};
static const svg_style svg_axis = {.size = SVG_LABEL, .fill = SVG_INK, .anchor = "middle"};
static const svg_style svg_label = {.size = SVG_LABEL, .fill = SVG_GREY};
static const svg_style svg_tick = {.size = SVG_TICK, .fill = SVG_GREY};

/* ------------------------------------------------------------------ elements ------------------- */

static const char *px(double x)
{
    return at_fixed_text(x, fabs(x - round(x)) < 0.05 ? 0 : 1);
}

static void put_rgb(FILE *out, const char *attribute, at_rgb c)
{
    fprintf(out, " %s=\"#%02x%02x%02x\"", attribute, (unsigned)c.r, (unsigned)c.g, (unsigned)c.b);
}

static void put_rect(FILE *out, double x, double y, double w, double h)
{
    fprintf(out, "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"", px(x), px(y), px(w), px(h));
}

/* A straight line from (x, y), to its end as command says: h or v by `end`, H or V to it. */
static void put_stroke(FILE *out, double x, double y, char command, double end, const char *style)
{
    fprintf(out, "<path d=\"M%s %s%c%s\" stroke=%s/>\n", px(x), px(y), command, px(end), style);
}

static void put_label(FILE *out, const char *text)
{
    char label[AT_LABEL_SIZE];
    at_label_make(label, text, AT_LABEL_SIZE, true);
    at_label_put_xml(out, label);
}

/* Nothing for a text of NULL.  What is a label already stays as it is. */
static void svg_text(FILE *out, double x, double y, svg_style s, const char *text)
{
    if (!text) return;
    fprintf(out, "<text x=\"%s\" y=\"%s\" font-size=\"%s\" fill=\"%s\"", px(x), px(y), px(s.size),
            s.fill);
    if (s.anchor) fprintf(out, " text-anchor=\"%s\"", s.anchor);
    if (s.bold) fputs(" font-weight=\"600\"", out);
    if (s.rotate != 0) fprintf(out, " transform=\"rotate(%s %s %s)\"", px(s.rotate), px(x), px(y));
    fputc('>', out);
    put_label(out, text);
    fputs("</text>\n", out);
}

static void begin_svg(FILE *out, double width, double height, const char *title)
{
    const char *w = px(ceil(width)), *h = px(ceil(height));
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%s\" height=\"%s\" viewBox=\"0 0 %s "
            "%s\" role=\"img\" font-family=\"" SVG_FONT "\">\n",
            w, h, w, h);
    if (title && *title) {
        fputs("<title>", out);
        put_label(out, title);
        fputs("</title>\n", out);
    }
    put_rect(out, 0, 0, ceil(width), ceil(height));
    fputs(" fill=\"" SVG_PAPER "\"/>\n", out);
}

static bool end_svg(FILE *out)
{
    fputs("</svg>\n", out);
    return !ferror(out);
}

static double text_width(const char *text, double size)
{
    char label[AT_LABEL_SIZE];
    at_label_make(label, text, AT_LABEL_SIZE, true);
    return at_label_em(label) * size;
}

static double widest_tick(const at_ticks *t)
{
    double em = 0;
    for (int k = 0; k < t->n; k++) em = fmax(em, at_label_em(at_tick_text(t, k, true)));
    return em * SVG_TICK;
}

/* ------------------------------------------------------------------ heat map: measuring -------- */

enum {
    SVG_NAME_COLUMNS = 18,
    SVG_MOST_CELLS = 200, /* rows or columns; more are drawn in blocks */
    SVG_TOOLTIPS = 4096,
    SVG_BAR = 14, /* the colour bar's width */
    SVG_GAP = 28  /* between subplots, and before the colour bar */
};

typedef struct {
    FILE *out;
    const at_heatmap *h;
    at_colour_scale scale;
    at_value_format format;
    at_ticks ticks;       /* of the colour bar */
    int step, rows, cols; /* of the largest grid */
    int across, down;     /* subplots */
    bool tooltips, any_masked, any_nan;

    double cell_w, cell_h, gap; /* the gap is part of the cell */
    double value_size;          /* of the text in the cells; 0: none */
    double name_size;
    int row_every, col_every; /* which rows and columns are named */
    double rotate;            /* the column names, in degrees */
    double names_w, names_h;  /* space for the names */
    double left, top;         /* of the first subplot */
    double pitch_x, pitch_y;  /* from subplot to subplot */
    double bar_x, bar_h;
    double width, height;
} svg_heatmap;

static void measure_grids(svg_heatmap *m)
{
    m->step = at_heatmap_step(m->h, SVG_MOST_CELLS);
    m->tooltips = at_heatmap_extent(m->h, m->step, &m->rows, &m->cols) <= SVG_TOOLTIPS;
    if (m->rows == 0) m->rows = m->cols = 1;
    m->any_masked = at_heatmap_shows(m->h, m->step, ATTIC_CELL_MASKED);
    m->any_nan = at_heatmap_shows(m->h, m->step, ATTIC_CELL_NAN);
}

static void arrange_subplots(svg_heatmap *m)
{
    int n = m->h->n_subplots > 0 ? m->h->n_subplots : 1, across = m->h->columns;
    if (across <= 0) across = n <= 4 ? n : n == 5 || n == 6 || n == 9 ? 3 : 4;
    m->across = across < n ? across : n;
    m->down = (n - 1) / m->across + 1;
}

static double between(double lo, double x, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* Whole pixels, so that all cells are equal. */
static void choose_cell_size(svg_heatmap *m)
{
    static const double side[] = {580, 430, 330, 270}; /* of a subplot, by subplots across */
    double space = side[m->across < 4 ? m->across - 1 : 3];
    double cell = between(3, floor(fmin(space / m->rows, space / m->cols)), 44);
    m->cell_w = fmax(cell, fmin(44, floor(110.0 / m->cols))); /* no slivers */
    m->cell_h = fmax(cell, fmin(44, floor(110.0 / m->rows)));
    m->gap = cell >= 14 ? 1 : 0;
    double size = fmin(13, (m->cell_w - 6) / (0.6 * (m->format.length + 0.1)));
    bool fits = size >= 7.5 && m->cell_h >= 1.4 * size && m->step == 1 && m->format.length > 0;
    m->value_size = fits && !m->h->no_values ? size : 0;
}

/* Numbers are left out where they would touch; words are rotated first. */
static void arrange_names(svg_heatmap *m)
{
    const at_heatmap *h = m->h;
    m->name_size = between(8, fmin(m->cell_w, m->cell_h) * 0.72, 13);
    double line = 1.12 * m->name_size;
    m->row_every = (int)(h->row_names ? ceil(line / m->cell_h)
                                      : at_round_step(fmax(1, 1.5 * line / m->cell_h)));
    at_text_size rows = at_names_size(h->row_names, m->rows, m->step, SVG_NAME_COLUMNS, true);
    at_text_size cols = at_names_size(h->col_names, m->cols, m->step, SVG_NAME_COLUMNS, true);
    double widest = cols.em * m->name_size;
    m->names_w = rows.em * m->name_size + 8;
    m->col_every = 1;
    m->rotate = 0;
    if (!h->col_names) {
        m->col_every = (int)at_round_step(fmax(1, (widest + 9) / m->cell_w));
    } else if (widest > m->cell_w - 3) {
        m->rotate = m->cell_w >= line * 1.15 ? -45 : -90;
        m->col_every = (int)ceil(line / m->cell_w);
    }
    double sloping = m->rotate == -45 ? 0.71 * (widest + m->name_size) : widest;
    m->names_h = (m->rotate == 0 ? m->name_size : sloping) + 8;
}

static bool has_headings(const at_heatmap *h)
{
    for (int k = 0; k < h->n_subplots; k++)
        if (h->subplots[k].title) return true;
    return h->value_label != NULL;
}

static void arrange_bar(svg_heatmap *m, double grid_h)
{
    m->bar_h = between(100, grid_h, 320);
    m->ticks = at_ticks_between(m->scale.low, m->scale.high, (int)(m->bar_h / 34), false);
    double texts = text_width(m->h->value_label, SVG_LABEL);
    if (m->ticks.n > 0) texts = fmax(texts, SVG_BAR + 10 + widest_tick(&m->ticks));
    if (m->any_masked) texts = fmax(texts, SVG_BAR + 8 + 4.4 * SVG_TICK);
    m->width = m->bar_x + texts + SVG_MARGIN;
    m->height = m->top + m->bar_h + (m->any_masked ? 24 : 0) + (m->any_nan ? 24 : 0);
}

static void measure_heatmap(svg_heatmap *m)
{
    const at_heatmap *h = m->h;
    measure_grids(m);
    arrange_subplots(m);
    choose_cell_size(m);
    arrange_names(m);
    double heading = has_headings(h) ? SVG_LABEL + 10 : 0;
    m->top = SVG_MARGIN + (h->title ? SVG_TITLE + 18 : 0) + heading;
    m->left = ceil(SVG_MARGIN + (h->row_label ? SVG_LABEL + 10 : 0) + m->names_w);
    if (m->rotate == -45) m->left = fmax(m->left, ceil(SVG_MARGIN + m->names_h - m->cell_w / 2));
    m->pitch_x = m->cols * m->cell_w + SVG_GAP;
    m->pitch_y = m->rows * m->cell_h + 14 + heading;
    m->bar_x = m->left + m->across * m->pitch_x;
    double grid_h = (m->down - 1) * m->pitch_y + m->rows * m->cell_h;
    arrange_bar(m, grid_h);
    double below =
        m->names_h + (h->col_label ? SVG_LABEL + 10 : 0) + (m->step > 1 ? SVG_TICK + 10 : 0);
    m->height = ceil(fmax(m->height, m->top + grid_h + below) + SVG_MARGIN);
    m->width = ceil(fmax(m->width, 2 * SVG_MARGIN + text_width(h->title, SVG_TITLE) * 1.05));
}

/* ------------------------------------------------------------------ heat map: drawing ---------- */

static void put_definitions(const svg_heatmap *m)
{
    fputs("<defs>\n<pattern id=\"attic-hatch\" width=\"6\" height=\"6\" "
          "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"6\" "
          "height=\"6\" fill=\"#f3f4f6\"/>"
          "<rect width=\"1.6\" height=\"6\" fill=\"#c3c9d0\"/></pattern>\n",
          m->out);
    fprintf(m->out, "<linearGradient id=\"attic-%s\" x1=\"0\" y1=\"1\" x2=\"0\" y2=\"0\">\n",
            m->scale.diverging ? "diverging" : "viridis");
    for (int k = 0; k <= 18; k++) {
        fprintf(m->out, "<stop offset=\"%s\"", at_fixed_text(k / 18.0, 4));
        put_rgb(m->out, "stop-color", at_colour_along(m->scale.diverging, k / 18.0));
        fputs("/>\n", m->out);
    }
    fputs("</linearGradient>\n</defs>\n", m->out);
}

static void put_cell_fill(const svg_heatmap *m, at_cell c)
{
    if (c.kind == ATTIC_CELL_MASKED)
        fputs(" fill=\"url(#attic-hatch)\"", m->out);
    else
        put_rgb(m->out, "fill", at_cell_colour(m->scale, c));
}

static bool have_one_colour(const svg_heatmap *m, at_cell a, at_cell b)
{
    if (a.kind != b.kind || a.kind == ATTIC_CELL_MASKED) return a.kind == b.kind;
    at_rgb p = at_cell_colour(m->scale, a), q = at_cell_colour(m->scale, b);
    return p.r == q.r && p.g == q.g && p.b == q.b;
}

/* "the, cat: 0.1234", shown while the pointer rests on the cell */
static void put_tooltip(const svg_heatmap *m, int i, int j, at_cell c)
{
    char label[AT_LABEL_SIZE];
    fputs("<title>", m->out);
    at_cell_name(label, m->h->row_names, i * m->step, SVG_NAME_COLUMNS, true);
    at_label_put_xml(m->out, label);
    fputs(", ", m->out);
    at_cell_name(label, m->h->col_names, j * m->step, SVG_NAME_COLUMNS, true);
    at_label_put_xml(m->out, label);
    fprintf(m->out, ": %s</title>",
            c.kind == ATTIC_CELL_MASKED ? "masked" : at_short_text(c.value, 4));
}

/* Without tooltips, adjacent cells of one colour are one rectangle. */
static void put_cells(const svg_heatmap *m, at_grid g, double x, double y)
{
    fputs("<g shape-rendering=\"crispEdges\">\n", m->out);
    for (int i = 0; i < g.rows; i++)
        for (int j = 0, n; j < g.cols; j += n) {
            at_cell c = at_grid_cell(g, i, j);
            for (n = 1; !m->tooltips && m->gap == 0 && j + n < g.cols; n++)
                if (!have_one_colour(m, c, at_grid_cell(g, i, j + n))) break;
            put_rect(m->out, x + j * m->cell_w, y + i * m->cell_h, n * m->cell_w - m->gap,
                     m->cell_h - m->gap);
            put_cell_fill(m, c);
            fputs(m->tooltips ? ">" : "/>\n", m->out);
            if (!m->tooltips) continue;
            put_tooltip(m, i, j, c);
            fputs("</rect>\n", m->out);
        }
    fputs("</g>\n", m->out);
}

static void put_values(const svg_heatmap *m, at_grid g, double x, double y)
{
    fprintf(m->out,
            "<g font-size=\"%s\" text-anchor=\"middle\" pointer-events=\"none\" "
            "style=\"font-variant-numeric:tabular-nums\">\n",
            px(m->value_size));
    for (int i = 0; i < g.rows; i++)
        for (int j = 0; j < g.cols; j++) {
            at_cell c = at_grid_cell(g, i, j);
            if (c.kind == ATTIC_CELL_MASKED) continue;
            fprintf(m->out, "<text x=\"%s\" y=\"%s\" fill=\"%s\">%s</text>\n",
                    px(x + j * m->cell_w + (m->cell_w - m->gap) / 2),
                    px(y + i * m->cell_h + (m->cell_h - m->gap) / 2 + 0.35 * m->value_size),
                    at_wants_dark_text(at_cell_colour(m->scale, c)) ? "#1a1a1a" : "#ffffff",
                    at_value_text(m->format, c));
        }
    fputs("</g>\n", m->out);
}

static void put_row_names(const svg_heatmap *m, at_grid g, double x, double y)
{
    char label[AT_LABEL_SIZE];
    svg_style names = {.size = m->name_size, .fill = SVG_GREY, .anchor = "end"}, axis = svg_axis;
    axis.rotate = -90;
    for (int i = 0; i < g.rows; i += m->row_every) {
        at_cell_name(label, m->h->row_names, i * m->step, SVG_NAME_COLUMNS, true);
        svg_text(m->out, x - 7, y + (i + 0.5) * m->cell_h + 0.35 * m->name_size, names, label);
    }
    svg_text(m->out, SVG_MARGIN + 10, y + g.rows * m->cell_h / 2, axis, m->h->row_label);
}

static void put_col_names(const svg_heatmap *m, at_grid g, double x, double y)
{
    char label[AT_LABEL_SIZE];
    bool level = m->rotate == 0;
    svg_style names = {.size = m->name_size,
                       .fill = SVG_GREY,
                       .anchor = level ? "middle" : "end",
                       .rotate = m->rotate};
    double dx = level ? 0 : 0.35 * m->name_size, dy = level ? m->name_size + 3 : 7;
    for (int j = 0; j < g.cols; j += m->col_every) {
        at_cell_name(label, m->h->col_names, j * m->step, SVG_NAME_COLUMNS, true);
        svg_text(m->out, x + (j + 0.5) * m->cell_w + dx, y + dy, names, label);
    }
    svg_text(m->out, x + g.cols * m->cell_w / 2, y + m->names_h + SVG_LABEL + 2, svg_axis,
             m->h->col_label);
}

static void put_subplot(const svg_heatmap *m, int k)
{
    const at_subplot *p = &m->h->subplots[k];
    at_grid g = at_grid_of(p, m->step);
    int down = k / m->across, across = k % m->across;
    double x = m->left + across * m->pitch_x, y = m->top + down * m->pitch_y;
    svg_text(m->out, x, y - 9, svg_heading, p->title);
    if (g.rows == 0) {
        svg_text(m->out, x, y + SVG_LABEL, svg_label, "(empty)");
        return;
    }
    put_cells(m, g, x, y);
    if (m->gap == 0) {
        put_rect(m->out, x - 0.5, y - 0.5, g.cols * m->cell_w + 1, g.rows * m->cell_h + 1);
        fputs(" fill=\"none\" stroke=\"" SVG_LINE "\"/>\n", m->out);
    }
    if (m->value_size > 0) put_values(m, g, x, y);
    if (across == 0) put_row_names(m, g, x, y);
    if (k + m->across >= m->h->n_subplots) put_col_names(m, g, x, y + g.rows * m->cell_h);
}

static void put_legend_swatch(const svg_heatmap *m, double *y, const char *fill, const char *text)
{
    *y += 24;
    put_rect(m->out, m->bar_x, *y - SVG_BAR, SVG_BAR, SVG_BAR);
    fprintf(m->out, " fill=\"%s\"/>\n", fill);
    svg_text(m->out, m->bar_x + SVG_BAR + 8, *y - 3, svg_tick, text);
}

static void put_colour_bar(const svg_heatmap *m)
{
    double x = m->bar_x, y = m->top;
    put_rect(m->out, x, y, SVG_BAR, m->bar_h);
    fprintf(m->out, " fill=\"url(#attic-%s)\"/>\n", m->scale.diverging ? "diverging" : "viridis");
    svg_text(m->out, x, y - 9, svg_label, m->h->value_label);
    for (int k = 0; k < m->ticks.n; k++) {
        double up = (m->ticks.value[k] - m->scale.low) / (m->scale.high - m->scale.low);
        double at = y + m->bar_h * (1 - up);
        put_stroke(m->out, x + SVG_BAR, at, 'h', 4, "\"" SVG_GREY "\"");
        svg_text(m->out, x + SVG_BAR + 8, at + 0.35 * SVG_TICK, svg_tick,
                 at_tick_text(&m->ticks, k, true));
    }
    double below = y + m->bar_h;
    if (m->any_masked) put_legend_swatch(m, &below, "url(#attic-hatch)", "masked");
    if (m->any_nan) put_legend_swatch(m, &below, "#ff00ff", "not finite");
}

bool at_svg_heatmap(FILE *out, const at_heatmap *h)
{
    if (!out || !at_heatmap_is_there(h)) return false;
    svg_heatmap m = {
        .out = out, .h = h, .scale = at_colour_scale_of(h), .format = at_value_format_of(h)};
    measure_heatmap(&m);
    begin_svg(out, m.width, m.height, h->title);
    put_definitions(&m);
    svg_text(out, SVG_MARGIN, SVG_MARGIN + 0.8 * SVG_TITLE, svg_title, h->title);
    for (int k = 0; k < h->n_subplots; k++) put_subplot(&m, k);
    put_colour_bar(&m);
    if (m.step > 1) {
        char note[80];
        snprintf(note, sizeof note, "Each cell shows the largest magnitude of %d × %d.", m.step,
                 m.step);
        svg_text(out, m.left, m.height - SVG_MARGIN, svg_tick, note);
    }
    return end_svg(out);
}

/* ------------------------------------------------------------------ line chart ----------------- */

enum { SVG_CHART_W = 760, SVG_CHART_H = 440, SVG_MOST_LEVELS = 16, SVG_SWATCH = 22 };

typedef struct {
    FILE *out;
    const at_chart *c;
    at_axis x, y;
    at_ticks x_ticks, y_ticks;
    double left, right, top, bottom; /* of the plot */
    bool empty;
} svg_chart;

static double chart_x(const svg_chart *m, double u)
{
    return m->left + u * (m->right - m->left);
}

static double chart_y(const svg_chart *m, double v)
{
    return m->bottom + v * (m->top - m->bottom);
}

/* Entries side by side, on a new line if one is full, from y on: the baseline of the first line.
 * Returns how many lines there are. */
static int put_legend(const svg_chart *m, double y)
{
    const svg_style text = {.size = SVG_LABEL, .fill = SVG_INK};
    double x = SVG_MARGIN;
    int lines = 0;
    for (int k = 0; k < m->c->n_series; k++) {
        const at_series *s = &m->c->series[k];
        if (!s->name) continue;
        double w = SVG_SWATCH + 8 + text_width(s->name, SVG_LABEL) + 22;
        if (lines == 0 || x + w > SVG_CHART_W - SVG_MARGIN) {
            x = SVG_MARGIN;
            y += lines++ ? 20 : 0;
        }
        int length = s->dots ? 0 : SVG_SWATCH, width = s->dots ? 7 : 3; /* of length 0: a dot */
        fprintf(m->out, "<path d=\"M%s %sh%d\" stroke-width=\"%d\" stroke-linecap=\"round\"",
                px(x + (SVG_SWATCH - length) / 2.0), px(y - 4), length, width);
        put_rgb(m->out, "stroke", at_series_colour(k));
        fputs(s->faint ? " opacity=\"0.35\"/>\n" : "/>\n", m->out);
        svg_text(m->out, x + SVG_SWATCH + 8, y, text, s->name);
        x += w;
    }
    return lines;
}

/* The plot is below the legend, and between what is written beside it. */
static void measure_chart(svg_chart *m, double legend_end)
{
    const at_chart *c = m->c;
    m->empty = !at_chart_axes(c, &m->x, &m->y);
    m->top = legend_end + (c->y_label ? SVG_LABEL + 12 : 0) - 6;
    m->bottom = SVG_CHART_H - SVG_MARGIN - SVG_TICK - 8 - (c->x_label ? SVG_LABEL + 10 : 0);
    m->y_ticks = at_ticks_between(m->y.lo, m->y.hi, 7, m->y.logarithmic);
    m->left = ceil(SVG_MARGIN + widest_tick(&m->y_ticks) + 10);
    double levels = 0;
    for (int k = 0; k < c->n_levels; k++)
        if (c->levels[k].name) levels = fmax(levels, text_width(c->levels[k].name, SVG_TICK) + 8);
    m->right = floor(SVG_CHART_W - SVG_MARGIN - levels);
    m->x_ticks = at_ticks_between(m->x.lo, m->x.hi, 9, m->x.logarithmic);
}

static void put_axes(const svg_chart *m)
{
    svg_style tick = svg_tick, label = svg_label;
    tick.anchor = "end";
    for (int k = 0; k < m->y_ticks.n; k++) {
        double y = chart_y(m, at_axis_place(m->y, m->y_ticks.value[k]));
        put_stroke(m->out, m->left, y, 'H', m->right, "\"" SVG_FAINT "\"");
        svg_text(m->out, m->left - 8, y + 0.35 * SVG_TICK, tick,
                 at_tick_text(&m->y_ticks, k, true));
    }
    put_stroke(m->out, m->left, m->bottom, 'H', m->right, "\"" SVG_GREY "\"");
    tick.anchor = "middle";
    for (int k = 0; k < m->x_ticks.n; k++) {
        double x = chart_x(m, at_axis_place(m->x, m->x_ticks.value[k]));
        put_stroke(m->out, x, m->bottom, 'v', 5, "\"" SVG_GREY "\"");
        svg_text(m->out, x, m->bottom + 8 + SVG_TICK, tick, at_tick_text(&m->x_ticks, k, true));
    }
    label.anchor = "middle";
    svg_text(m->out, (m->left + m->right) / 2, SVG_CHART_H - SVG_MARGIN, label, m->c->x_label);
    label.anchor = "start";
    svg_text(m->out, SVG_MARGIN, m->top - 12, label, m->c->y_label);
}

/* A label per level at the right end, moved down where two would touch. */
static void put_levels(const svg_chart *m)
{
    int order[SVG_MOST_LEVELS], n = 0;
    double y[SVG_MOST_LEVELS];
    for (int k = 0; k < m->c->n_levels && n < SVG_MOST_LEVELS; k++) {
        double at = chart_y(m, at_axis_place(m->y, m->c->levels[k].y));
        if (isnan(at)) continue;
        int i = n++;
        for (; i > 0 && y[i - 1] > at; i--) y[i] = y[i - 1], order[i] = order[i - 1];
        y[i] = at;
        order[i] = k;
    }
    double last = -(double)INFINITY;
    for (int i = 0; i < n; i++) {
        put_stroke(m->out, m->left, y[i], 'H', m->right,
                   "\"" SVG_GREY "\" stroke-width=\"1.2\" stroke-dasharray=\"5 4\"");
        last = fmax(y[i], last + SVG_TICK + 3);
        svg_style text = {.size = SVG_TICK, .fill = SVG_INK};
        svg_text(m->out, m->right + 8, last + 0.35 * SVG_TICK, text, m->c->levels[order[i]].name);
    }
}

/* One unbroken run of points, i .. end-1: those that can be told apart. */
static void put_run(const svg_chart *m, const at_series *s, ptrdiff_t i, ptrdiff_t end)
{
    ptrdiff_t stretch = (end - i) / (2 * SVG_CHART_W) + 1; /* points in about half a pixel */
    char command = 'M';
    double u, v;
    while (i < end) {
        ptrdiff_t stop = i + stretch < end ? i + stretch : end, least = i, most = i;
        for (ptrdiff_t k = i; k < stop; k++) {
            if (s->y[k] < s->y[least]) least = k;
            if (s->y[k] > s->y[most]) most = k;
        }
        ptrdiff_t shown[] = {i, least < most ? least : most, least < most ? most : least, stop - 1};
        for (int k = 0; k < 4; k++) {
            if (k > 0 && shown[k] == shown[k - 1]) continue;
            at_chart_point(s, shown[k], m->x, m->y, &u, &v);
            fprintf(m->out, "%c%s %s", command, px(chart_x(m, u)), px(chart_y(m, v)));
            command = 'L';
        }
        i = stop;
    }
}

/* The line in its unbroken runs. */
static void put_line(const svg_chart *m, int k)
{
    const at_series *s = &m->c->series[k];
    double u, v;
    fputs(
        "<path fill=\"none\" stroke-width=\"2\" stroke-linejoin=\"round\" stroke-linecap=\"round\"",
        m->out);
    put_rgb(m->out, "stroke", at_series_colour(k));
    fputs(s->faint ? " opacity=\"0.35\" d=\"" : " d=\"", m->out);
    for (ptrdiff_t i = 0, end; i < s->n; i = end + 1) {
        for (end = i; end < s->n && at_chart_point(s, end, m->x, m->y, &u, &v);) end++;
        put_run(m, s, i, end);
    }
    fputs("\"/>\n", m->out);
}

/* The line, if any, and dots: for few points unless faint, and for a point that no line joins. */
static void put_series(const svg_chart *m, int k)
{
    const at_series *s = &m->c->series[k];
    bool few = s->dots || (s->n <= 30 && !s->faint);
    double u, v;
    if (!s->dots) put_line(m, k);
    for (ptrdiff_t i = 0; i < s->n; i++) {
        bool before = i > 0 && at_chart_point(s, i - 1, m->x, m->y, &u, &v);
        bool after = i + 1 < s->n && at_chart_point(s, i + 1, m->x, m->y, &u, &v);
        if (!at_chart_point(s, i, m->x, m->y, &u, &v)) continue;
        if (!few && (before || after)) continue;
        fprintf(m->out, "<circle cx=\"%s\" cy=\"%s\" r=\"%s\"", px(chart_x(m, u)),
                px(chart_y(m, v)), px(few ? 3.5 : 2));
        put_rgb(m->out, "fill", at_series_colour(k));
        fputs("/>\n", m->out);
    }
}

bool at_svg_chart(FILE *out, const at_chart *c)
{
    if (!out || !at_chart_is_there(c)) return false;
    svg_chart m = {.out = out, .c = c};
    begin_svg(out, SVG_CHART_W, SVG_CHART_H, c->title);
    svg_text(out, SVG_MARGIN, SVG_MARGIN + 0.8 * SVG_TITLE, svg_title, c->title);
    double legend_y = SVG_MARGIN + (c->title ? SVG_TITLE + 20 : 0) + 0.8 * SVG_LABEL;
    measure_chart(&m, legend_y + 20 * put_legend(&m, legend_y));
    put_axes(&m);
    put_levels(&m);
    for (int k = 0; k < c->n_series; k++) put_series(&m, k);
    svg_style note = svg_label;
    note.anchor = "middle";
    if (m.empty)
        svg_text(out, (m.left + m.right) / 2, (m.top + m.bottom) / 2, note, "(nothing to show)");
    return end_svg(out);
}
