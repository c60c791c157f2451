/* term.c -- pictures as text; see term.h. */
#include "plot/term.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "plot/draw.h"
#include "terminal/label.h"

/* ------------------------------------------------------------------ colours -------------------- */

/* The nearest of a 6 x 6 x 6 cube: 0, 95, 135, 175, 215, 255. */
static int cube_colour(at_rgb c)
{
    int part[] = {c.r, c.g, c.b}, n = 0;
    for (int i = 0; i < 3; i++)
        n = 6 * n + (part[i] < 48 ? 0 : part[i] < 115 ? 1 : (part[i] - 35) / 40);
    return 16 + n;
}

enum { FOREGROUND = 38, BACKGROUND = 48 };

static at_terminal with_columns(at_terminal as)
{
    if (as.columns < 0) as.columns = 0;
    return as;
}

static void set_colour(FILE *out, at_terminal as, int ground, at_rgb c)
{
    if (as.colours > 256)
        fprintf(out, "\033[%d;2;%d;%d;%dm", ground, c.r, c.g, c.b);
    else if (as.colours == 256)
        fprintf(out, "\033[%d;5;%dm", ground, cube_colour(c));
}

static void reset_colour(FILE *out, at_terminal as)
{
    if (as.colours >= 256) fputs("\033[0m", out);
}

/* n times, at least 0. */
static void repeat(FILE *out, const char *text, int n)
{
    while (n-- > 0) fputs(text, out);
}

static void pad(FILE *out, int n)
{
    repeat(out, " ", n);
}

/* before, the text in at most this many columns, after; nothing if there is no text. */
static void term_text(FILE *out, at_terminal as, const char *before, const char *text, int columns,
                      const char *after)
{
    char label[AT_LABEL_SIZE];
    at_label_make(label, text, columns, as.unicode);
    if (*label) fprintf(out, "%s%s%s", before, label, after);
}

static void put_title(FILE *out, at_terminal as, const char *title)
{
    char label[AT_LABEL_SIZE];
    if (!title) return;
    at_label_make(label, title, as.columns, as.unicode);
    fprintf(out, as.colours ? "\033[1m%s\033[0m\n" : "%s\n", label);
}

/* ------------------------------------------------------------------ heat map: measuring -------- */

enum { TERM_ROW_NAME = 16, TERM_COL_NAME = 8 }; /* the most columns, or letters */

typedef struct {
    FILE *out;
    at_terminal as;
    const at_heatmap *h;
    at_colour_scale scale;
    at_value_format format;
    bool coloured, values, any_masked;
    int step, rows, cols; /* of the largest subplot, in blocks */
    int cell, names;      /* columns of a cell, and of the names of the rows */
} term_heatmap;

/* Returns how many columns the row names leave. */
static int measure_blocks(term_heatmap *m, int step)
{
    m->step = step;
    at_heatmap_extent(m->h, step, &m->rows, &m->cols);
    m->names = at_names_size(m->h->row_names, m->rows, step, TERM_ROW_NAME, m->as.unicode).columns;
    return m->as.columns - m->names - 2;
}

static void choose_cells(term_heatmap *m)
{
    int with_value = m->format.length + 2, space = measure_blocks(m, 1);
    m->values = !m->h->no_values && m->format.length && m->cols <= space / with_value;
    m->cell = m->values ? with_value : m->cols <= space / 2 ? 2 : 1;
    while (m->cols > 10 && m->cell * m->cols > space) space = measure_blocks(m, m->step + 1);
}

/* There are few shades, so all of them are used for what there is. */
static void choose_shades(term_heatmap *m)
{
    if (m->coloured || m->scale.diverging || m->h->low < m->h->high) return;
    at_heatmap range = *m->h;
    range.colours = ATTIC_COLOURS_RANGE;
    double high = at_colour_scale_of(&range).high;
    if (high > 0) m->scale = (at_colour_scale){fmin(0, m->scale.low), high, false};
}

/* ------------------------------------------------------------------ heat map: drawing ---------- */

/* The character that stands for u in 0 .. 1 where there are no colours. */
static const char *shade_of(const term_heatmap *m, double u)
{
    static const char *const block[] = {" ", "░", "▒", "▓", "█"};
    static const char *const letter[] = {" ", ".", ":", "-", "=", "+", "*", "#", "%", "@"};
    static const char *const around_zero[] = {"=", "-", " ", "+", "#"};
    if (m->scale.diverging) return around_zero[(int)(4 * u + 0.5)];
    return m->as.unicode ? block[(int)(4 * u + 0.5)] : letter[(int)(9 * u + 0.5)];
}

static const char *shade_of_cell(const term_heatmap *m, at_cell c)
{
    return c.kind == ATTIC_CELL_NAN ? "!" : shade_of(m, at_scale_place(m->scale, c.value));
}

static void put_masked(const term_heatmap *m)
{
    int n = m->values ? 2 : m->cell;
    set_colour(m->out, m->as, FOREGROUND, (at_rgb){135, 135, 135});
    if (m->values) pad(m->out, m->cell - 3);
    repeat(m->out, m->as.unicode ? "╱" : "/", n);
    if (m->values) fputc(' ', m->out);
}

static void put_cell(const term_heatmap *m, at_cell c)
{
    if (c.kind == ATTIC_CELL_MASKED) {
        put_masked(m);
    } else if (m->coloured) {
        at_rgb ground = at_cell_colour(m->scale, c), black = {0, 0, 0}, white = {255, 255, 255};
        set_colour(m->out, m->as, BACKGROUND, ground);
        set_colour(m->out, m->as, FOREGROUND, at_wants_dark_text(ground) ? black : white);
        if (m->values)
            fprintf(m->out, "%*s ", m->cell - 1, at_value_text(m->format, c));
        else
            pad(m->out, m->cell);
    } else if (m->values) { /* a shade before the value shows patterns */
        bool shaded = m->as.unicode && !m->scale.diverging;
        fprintf(m->out, "%s%*s ", shaded ? shade_of_cell(m, c) : " ", m->cell - 2,
                at_value_text(m->format, c));
    } else {
        repeat(m->out, shade_of_cell(m, c), m->cell);
    }
    reset_colour(m->out, m->as);
}

/* Names stand above their columns, over the last digit; upright if they don't fit side by side. */
static void put_column_names(const term_heatmap *m, int cols)
{
    char label[AT_LABEL_SIZE];
    int after = m->values ? 1 : 0, before = m->cell - after - (m->values ? 1 : m->cell);
    const char *const *names = m->h->col_names;
    int longest = at_names_size(names, cols, m->step, TERM_COL_NAME, m->as.unicode).columns;
    if (longest < m->cell) {
        pad(m->out, m->names + 1);
        for (int j = 0; j < cols; j++) {
            at_cell_name(label, names, j * m->step, TERM_COL_NAME, m->as.unicode);
            pad(m->out, m->cell - after - at_label_columns(label));
            fputs(label, m->out);
            pad(m->out, after);
        }
        fputc('\n', m->out);
        return;
    }
    for (int line = 0; line < longest; line++) {
        pad(m->out, m->names + 1);
        for (int j = 0; j < cols; j++) {
            at_cell_name(label, names, j * m->step, TERM_COL_NAME, m->as.unicode);
            pad(m->out, before);
            at_label_put_letter(m->out, label, line - (longest - at_label_letters(label)),
                                m->cell - before);
        }
        fputc('\n', m->out);
    }
}

static void put_subplot_rows(const term_heatmap *m, const at_subplot *p)
{
    char label[AT_LABEL_SIZE];
    at_grid g = at_grid_of(p, m->step);
    put_title(m->out, m->as, p->title);
    if (g.rows == 0) {
        fputs("(empty)\n", m->out);
        return;
    }
    put_column_names(m, g.cols);
    for (int i = 0; i < g.rows; i++) {
        at_cell_name(label, m->h->row_names, i * m->step, TERM_ROW_NAME, m->as.unicode);
        pad(m->out, m->names - at_label_columns(label));
        fprintf(m->out, "%s ", label);
        for (int j = 0; j < g.cols; j++) put_cell(m, at_grid_cell(g, i, j));
        fputc('\n', m->out);
    }
}

/* "0 .:-=+*#%@ 0.85   // masked" */
static void put_key(const term_heatmap *m)
{
    int n = m->coloured ? 20 : m->scale.diverging || m->as.unicode ? 5 : 10;
    pad(m->out, m->names + 1);
    fprintf(m->out, "%s ", at_number_text(m->scale.low, m->as.unicode));
    for (int k = 0; k < n; k++) {
        double u = (double)k / (n - 1);
        set_colour(m->out, m->as, BACKGROUND, at_colour_along(m->scale.diverging, u));
        fputs(m->coloured ? " " : shade_of(m, u), m->out);
    }
    reset_colour(m->out, m->as);
    fprintf(m->out, " %s", at_number_text(m->scale.high, m->as.unicode));
    term_text(m->out, m->as, "  ", m->h->value_label, 30, "");
    if (m->any_masked) fputs(m->as.unicode ? "   ╱╱ masked" : "   // masked", m->out);
    if (m->step > 1) fprintf(m->out, "   each the largest of %d x %d", m->step, m->step);
    fputc('\n', m->out);
}

/* "Query ↓  Key →" */
static void put_axis_labels(const term_heatmap *m)
{
    term_text(m->out, m->as, "", m->h->row_label, 30, m->as.unicode ? " ↓  " : " (down)  ");
    term_text(m->out, m->as, "", m->h->col_label, 30, m->as.unicode ? " →" : " (across)");
    if (m->h->row_label || m->h->col_label) fputc('\n', m->out);
}

bool at_term_heatmap(FILE *out, at_terminal as, const at_heatmap *h)
{
    if (!out || !at_heatmap_is_there(h)) return false;
    term_heatmap m = {.out = out,
                      .as = with_columns(as),
                      .h = h,
                      .scale = at_colour_scale_of(h),
                      .format = at_value_format_of(h),
                      .coloured = as.colours >= 256};
    choose_cells(&m);
    choose_shades(&m);
    m.any_masked = at_heatmap_shows(h, m.step, ATTIC_CELL_MASKED);
    put_title(out, as, h->title);
    put_axis_labels(&m);
    for (int k = 0; k < h->n_subplots; k++) put_subplot_rows(&m, &h->subplots[k]);
    put_key(&m);
    return !ferror(out);
}

/* ------------------------------------------------------------------ line chart ----------------- */

enum { PLOT_ROWS = 16, PLOT_COLS = 120, PLOT_LABEL = 24 };

/* A character holds 2 x 4 dots in Unicode, one in ASCII. */
typedef struct {
    FILE *out;
    at_terminal as;
    const at_chart *c;
    at_axis x, y;
    at_ticks x_ticks, y_ticks;
    int cols, left;     /* of the plot, and of the ticks before it */
    int dots_x, dots_y; /* per character */
    unsigned char dots[PLOT_ROWS][PLOT_COLS];
    signed char series[PLOT_ROWS][PLOT_COLS]; /* the last one drawn there */
    bool has_level[PLOT_ROWS];
    const char *level[PLOT_ROWS]; /* names, right of the plot */
} term_chart;

/* Dots are numbered as in Braille: 1 2 3 7 down the left side, 4 5 6 8 down the right. */
static void set_dot(term_chart *m, double u, double v, int k)
{
    static const unsigned char bit[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    int w = m->cols * m->dots_x, h = PLOT_ROWS * m->dots_y;
    int x = (int)(u * (w - 1) + 0.5), y = (int)((1 - v) * (h - 1) + 0.5);
    int row = y / m->dots_y, col = x / m->dots_x;
    m->dots[row][col] |= bit[y % m->dots_y][x % m->dots_x];
    m->series[row][col] = (signed char)(k % 100);
}

static void draw_series(term_chart *m, int k)
{
    const at_series *s = &m->c->series[k];
    double u0 = 0, v0 = 0, u, v;
    bool joined = false;
    for (ptrdiff_t i = 0; i < s->n; i++) {
        bool shown = at_chart_point(s, i, m->x, m->y, &u, &v);
        if (shown) {
            double across = fabs(u - u0) * m->cols * m->dots_x,
                   up = fabs(v - v0) * PLOT_ROWS * m->dots_y;
            int steps = joined ? (int)ceil(fmax(across, up)) : 0;
            for (int n = 1; n < steps; n++)
                set_dot(m, u0 + (u - u0) * n / steps, v0 + (v - v0) * n / steps, k);
            set_dot(m, u, v, k);
            u0 = u;
            v0 = v;
        }
        joined = shown && !s->dots;
    }
}

/* -1: y has no place. */
static int row_of(const term_chart *m, double y)
{
    const double row = (1 - at_axis_place(m->y, y)) * (PLOT_ROWS - 1) + 0.5;
    return row >= 0 && row < PLOT_ROWS ? (int)row : -1;
}

/* A level's name stands at its row, or below if that is taken. */
static void place_levels(term_chart *m)
{
    for (int k = 0; k < m->c->n_levels; k++) {
        int row = row_of(m, m->c->levels[k].y);
        if (row < 0) continue;
        m->has_level[row] = true;
        while (row < PLOT_ROWS && m->level[row]) row++;
        if (row < PLOT_ROWS) m->level[row] = m->c->levels[k].name;
    }
}

static void measure_plot(term_chart *m)
{
    char label[AT_LABEL_SIZE];
    int right = 0;
    m->dots_x = m->as.unicode ? 2 : 1;
    m->dots_y = m->as.unicode ? 4 : 1;
    m->y_ticks = at_ticks_between(m->y.lo, m->y.hi, 5, m->y.logarithmic);
    for (int k = 0; k < m->y_ticks.n; k++) {
        int n = at_label_columns(at_tick_text(&m->y_ticks, k, m->as.unicode));
        m->left = n > m->left ? n : m->left;
    }
    for (int k = 0; k < m->c->n_levels; k++) {
        at_label_make(label, m->c->levels[k].name, PLOT_LABEL, m->as.unicode);
        int n = at_label_columns(label) + 1;
        right = n > right ? n : right;
    }
    m->cols = m->as.columns - m->left - 2 - right - 1;
    m->cols = m->cols < 10 ? 10 : m->cols > PLOT_COLS ? PLOT_COLS : m->cols;
    m->x_ticks = at_ticks_between(m->x.lo, m->x.hi, m->cols / 12 + 1, m->x.logarithmic);
}

static const char plot_letters[] = "*+ox#@%";

static const char *mark_of(const term_chart *m, int row, int col, char braille[4])
{
    unsigned dots = m->dots[row][col];
    if (!dots) return !m->has_level[row] ? " " : m->as.unicode ? "┄" : "-";
    if (!m->as.unicode) return strcpy(braille, (char[]){plot_letters[m->series[row][col] % 7], 0});
    braille[0] = (char)0xe2; /* U+2800 + dots, in UTF-8 */
    braille[1] = (char)(0xa0 | dots >> 6);
    braille[2] = (char)(0x80 | (dots & 0x3f));
    braille[3] = 0;
    return braille;
}

static void put_plot_row(const term_chart *m, int row)
{
    char braille[4];
    const char *tick = "";
    for (int k = 0; k < m->y_ticks.n; k++)
        if (row_of(m, m->y_ticks.value[k]) == row)
            tick = at_tick_text(&m->y_ticks, k, m->as.unicode);
    pad(m->out, m->left - at_label_columns(tick));
    fprintf(m->out, "%s %s", tick, !m->as.unicode ? "|" : *tick ? "┤" : "│");
    for (int col = 0; col < m->cols; col++) {
        bool dots = m->dots[row][col] != 0;
        if (dots) set_colour(m->out, m->as, FOREGROUND, at_series_colour(m->series[row][col]));
        fputs(mark_of(m, row, col, braille), m->out);
        if (dots) reset_colour(m->out, m->as);
    }
    term_text(m->out, m->as, " ", m->level[row], PLOT_LABEL, "");
    fputc('\n', m->out);
}

static void put_x_axis(const term_chart *m)
{
    pad(m->out, m->left + 1);
    fputs(m->as.unicode ? "└" : "+", m->out);
    repeat(m->out, m->as.unicode ? "─" : "-", m->cols);
    fputc('\n', m->out);
    int at = 0; /* columns written */
    for (int k = 0; k < m->x_ticks.n; k++) {
        const char *text = at_tick_text(&m->x_ticks, k, m->as.unicode);
        int n = at_label_columns(text);
        int from =
            m->left + 2 + (int)(at_axis_place(m->x, m->x_ticks.value[k]) * (m->cols - 1)) - n / 2;
        if (k > 0 && from < at + 1) continue;
        pad(m->out, from - at);
        fputs(text, m->out);
        at = (from > at ? from : at) + n;
    }
    term_text(m->out, m->as, "  ", m->c->x_label, 40, "");
    fputc('\n', m->out);
}

/* "* training  + validation" */
static void put_plot_legend(const term_chart *m)
{
    char label[AT_LABEL_SIZE];
    bool any = false;
    for (int k = 0; k < m->c->n_series; k++) {
        at_label_make(label, m->c->series[k].name, 40, m->as.unicode);
        if (!*label) continue;
        if (any) fputs("   ", m->out);
        any = true;
        set_colour(m->out, m->as, FOREGROUND, at_series_colour(k));
        if (m->as.unicode)
            fputs(m->c->series[k].dots ? "••" : "━━", m->out);
        else
            fputc(plot_letters[k % 7], m->out);
        reset_colour(m->out, m->as);
        fprintf(m->out, " %s", label);
    }
    if (any) fputc('\n', m->out);
    term_text(m->out, m->as, "", m->c->y_label, 40, "\n");
}

bool at_term_chart(FILE *out, at_terminal as, const at_chart *c)
{
    if (!out || !at_chart_is_there(c)) return false;
    term_chart m = {.out = out, .as = with_columns(as), .c = c};
    at_chart_axes(c, &m.x, &m.y);
    measure_plot(&m);
    for (int k = 0; k < c->n_series; k++) draw_series(&m, k);
    place_levels(&m);
    put_title(out, as, c->title);
    put_plot_legend(&m);
    for (int row = 0; row < PLOT_ROWS; row++) put_plot_row(&m, row);
    put_x_axis(&m);
    return !ferror(out);
}
