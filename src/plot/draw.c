/* draw.c -- what pictures have in common: colours, cells, axes; see draw.h. */
#include "plot/draw.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "autograd/op.h"
#include "tensor/decimal.h"
#include "kernels/elementary.h"

bool at_heatmap_is_there(const at_heatmap *h)
{
    return h && (h->subplots || h->n_subplots <= 0);
}

bool at_chart_is_there(const at_chart *c)
{
    bool there = c && (c->series || c->n_series <= 0) && (c->levels || c->n_levels <= 0);
    for (int k = 0; there && k < c->n_series; k++) there = c->series[k].y || c->series[k].n <= 0;
    return there;
}

/* ------------------------------------------------------------------ subplots ------------------- */

static bool subplot_fits(const at_tensor *x, bool of_grad, const at_tensor *keep, at_shape index)
{
    if (!x || !at_check_any(x->tape, "subplot", "x", x)) return false;
    if (keep && !at_check_any(x->tape, "subplot", "keep", keep)) return false;
    at_shape s = x->shape;
    AT_REQUIRE(x->tape, !keep || (keep->dtype == ATTIC_BOOL && at_broadcasts_to(keep->shape, s)),
               "subplot: keep is %s %s, which is no mask for %s", at_dtype_text(keep->dtype),
               at_text(keep), at_text(x));
    AT_REQUIRE(x->tape, !of_grad || x->grad, "subplot: no gradient has reached %s", at_text(x));
    bool inside = index.ndim == (s.ndim > 2 ? s.ndim - 2 : 0);
    for (int d = 0; inside && d < index.ndim; d++)
        inside = index.dim[d] >= 0 && index.dim[d] < s.dim[d];
    AT_REQUIRE(x->tape, inside, "subplot: there is no matrix %s in %s", at_shape_text(index),
               at_text(x));
    return true;
}

/* The matrix of x's last two axes at index, of its gradient or of its values. */
static at_subplot subplot_at(const at_tensor *x, bool of_grad, const at_tensor *keep,
                             at_shape index)
{
    if (!subplot_fits(x, of_grad, keep, index)) return (at_subplot){0};
    at_shape s = x->shape;
    at_subplot p = {
        .dtype = x->dtype, .rows = s.ndim > 1 ? s.dim[s.ndim - 2] : 1, .cols = at_last(s)};
    ptrdiff_t matrix = 0, mask = 0, stride[AT_MAX_DIMS] = {0};
    if (keep) at_broadcast_strides(keep->shape, s, stride);
    for (int d = 0; d < index.ndim; d++) {
        matrix = matrix * s.dim[d] + index.dim[d];
        mask += stride[d] * index.dim[d];
    }
    p.data = (const char *)(of_grad ? x->grad : x->data) +
             (size_t)matrix * (size_t)p.rows * (size_t)p.cols * at_dtype_size(p.dtype);
    if (!keep) return p;
    p.keep = (const unsigned char *)keep->data + mask;
    p.keep_rows = s.ndim > 1 && stride[s.ndim - 2] ? p.rows : 1;
    p.keep_cols = s.ndim > 0 && stride[s.ndim - 1] ? p.cols : 1;
    return p;
}

at_subplot at_subplot_of(const at_tensor *x, const at_tensor *keep, at_shape index)
{
    return subplot_at(x, false, keep, index);
}

at_subplot at_subplot_of_grad(const at_tensor *x, const at_tensor *keep, at_shape index)
{
    return subplot_at(x, true, keep, index);
}

/* ------------------------------------------------------------------ cells ---------------------- */

static at_cell single_cell(const at_subplot *p, int i, int j)
{
    if (p->keep) {
        int row = p->keep_rows == 1 ? 0 : i, col = p->keep_cols == 1 ? 0 : j;
        ptrdiff_t width = p->keep_cols == 1 ? 1 : p->cols;
        if (!p->keep[row * width + col]) return (at_cell){ATTIC_CELL_MASKED, 0};
    }
    double v = at_fetch(p->dtype == ATTIC_REAL ? ATTIC_F64 : p->dtype, p->data,
                        (ptrdiff_t)i * p->cols + j);
    if (v == -(double)INFINITY) return (at_cell){ATTIC_CELL_MASKED, v};
    return (at_cell){isfinite(v) ? ATTIC_CELL_VALUE : ATTIC_CELL_NAN, v};
}

at_grid at_grid_of(const at_subplot *p, int step)
{
    if (!p->data || p->rows <= 0 || p->cols <= 0) return (at_grid){p, step, 0, 0};
    return (at_grid){p, step, (p->rows - 1) / step + 1, (p->cols - 1) / step + 1};
}

double at_heatmap_extent(const at_heatmap *h, int step, int *rows, int *cols)
{
    double blocks = 0;
    *rows = *cols = 0;
    for (int k = 0; k < h->n_subplots; k++) {
        at_grid g = at_grid_of(&h->subplots[k], step);
        *rows = g.rows > *rows ? g.rows : *rows;
        *cols = g.cols > *cols ? g.cols : *cols;
        blocks += (double)g.rows * g.cols;
    }
    return blocks;
}

int at_heatmap_step(const at_heatmap *h, int most)
{
    int rows, cols;
    at_heatmap_extent(h, 1, &rows, &cols);
    int longer = rows > cols ? rows : cols;
    return longer > most ? (longer - 1) / most + 1 : 1;
}

bool at_heatmap_shows(const at_heatmap *h, int step, at_cell_kind kind)
{
    for (int k = 0; k < h->n_subplots; k++) {
        at_grid g = at_grid_of(&h->subplots[k], step);
        for (int i = 0; i < g.rows; i++)
            for (int j = 0; j < g.cols; j++)
                if (at_grid_cell(g, i, j).kind == kind) return true;
    }
    return false;
}

void at_cell_name(char label[AT_LABEL_SIZE], const char *const *names, int i, int columns,
                  bool unicode)
{
    char number[16];
    snprintf(number, sizeof number, "%d", i);
    at_label_make(label, names ? names[i] : number, columns, unicode);
}

at_text_size at_names_size(const char *const *names, int n, int step, int columns, bool unicode)
{
    char label[AT_LABEL_SIZE];
    at_text_size widest = {0, 0};
    for (int i = 0; i < n; i++) {
        at_cell_name(label, names, i * step, columns, unicode);
        int length = at_label_columns(label);
        widest.em = fmax(widest.em, at_label_em(label));
        widest.columns = length > widest.columns ? length : widest.columns;
    }
    return widest;
}

/* A NaN must not be overlooked; else the largest magnitude stands for the block. */
at_cell at_grid_cell(at_grid g, int i, int j)
{
    at_cell most = {ATTIC_CELL_MASKED, 0};
    for (int r = i * g.step; r < (i + 1) * g.step && r < g.subplot->rows; r++)
        for (int c = j * g.step; c < (j + 1) * g.step && c < g.subplot->cols; c++) {
            at_cell one = single_cell(g.subplot, r, c);
            if (one.kind == ATTIC_CELL_NAN) return one;
            if (one.kind == ATTIC_CELL_MASKED) continue;
            if (most.kind == ATTIC_CELL_MASKED || fabs(one.value) > fabs(most.value)) most = one;
        }
    return most;
}

typedef struct {
    double least, most;
    bool any, whole; /* is there a value? are all of them whole numbers? */
} value_range;

static value_range range_of(const at_heatmap *h)
{
    value_range r = {.whole = true};
    for (int k = 0; k < h->n_subplots; k++) {
        at_grid g = at_grid_of(&h->subplots[k], 1);
        for (int i = 0; i < g.rows; i++)
            for (int j = 0; j < g.cols; j++) {
                at_cell c = single_cell(g.subplot, i, j);
                if (c.kind != ATTIC_CELL_VALUE) continue;
                if (!r.any || c.value < r.least) r.least = c.value;
                if (!r.any || c.value > r.most) r.most = c.value;
                r.any = true;
                r.whole = r.whole && c.value == floor(c.value);
            }
    }
    return r;
}

/* ------------------------------------------------------------------ values as text ------------- */

/* Three digits, and all of those before the point. */
static const char *plain_text(double v)
{
    return fabs(v) >= 100 ? at_fixed_text(v, 0) : at_short_text(v, 3);
}

/* "3x10^-6" with a cross and superscripts, or "3e-6", in this many digits */
static const char *power_text(double v, int digits, bool unicode)
{
    static const char *const superscript[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    at_decimal d = at_decimal_of(ATTIC_F64, v, 1, digits);
    while (d.n > 1 && d.digit[d.n - 1] == '0') d.digit[--d.n] = 0;
    bool one = strcmp(d.digit, "1") == 0;
    if (d.exponent == 0 || (one && d.exponent == 1)) return plain_text(v);

    char *text = at_text_buffer(), factor[32], power[8], raised[32] = "";
    snprintf(factor, sizeof factor, "%s%c%s%s", d.negative ? "-" : "", d.digit[0],
             d.n > 1 ? "." : "", d.digit + 1);
    snprintf(power, sizeof power, "%d", d.exponent);
    for (const char *p = power; *p; p++) strcat(raised, *p == '-' ? "⁻" : superscript[*p - '0']);
    if (!unicode)
        snprintf(text, AT_TEXT_SIZE, "%se%s", factor, power);
    else if (one)
        snprintf(text, AT_TEXT_SIZE, "%s10%s", d.negative ? "-" : "", raised);
    else
        snprintf(text, AT_TEXT_SIZE, "%s×10%s", factor, raised);
    return text;
}

const char *at_number_text(double v, bool unicode)
{
    bool plain = v == 0 || (fabs(v) < 99999 && fabs(v) > 0.00099);
    return plain ? plain_text(v) : power_text(v, 3, unicode);
}

const char *at_value_text(at_value_format f, at_cell c)
{
    if (c.kind == ATTIC_CELL_MASKED) return "";
    if (c.kind == ATTIC_CELL_NAN) return isnan(c.value) ? "nan" : "inf";
    if (f.decimals >= 0) return at_fixed_text(c.value, f.decimals);
    int exponent = at_decimal_of(ATTIC_F64, c.value, 1, 2).exponent;
    return exponent < -4 || exponent > 1 ? power_text(c.value, 2, false)
                                         : at_short_text(c.value, 2);
}

at_value_format at_value_format_of(const at_heatmap *h)
{
    value_range r = range_of(h);
    double most = fmax(fabs(r.least), fabs(r.most));
    at_value_format f = {.decimals = most >= 1e5 || (most > 0 && most < 0.005) ? -1
                                     : r.whole || most >= 99.95                ? 0
                                     : most >= 9.995                           ? 1
                                     : most < 0.0995                           ? 3
                                                                               : 2};
    ptrdiff_t measured = 0;
    for (int k = 0; k < h->n_subplots; k++) {
        at_grid g = at_grid_of(&h->subplots[k], 1);
        for (int i = 0; i < g.rows; i++)
            for (int j = 0; j < g.cols && measured < 10000; j++, measured++) {
                int n = (int)strlen(at_value_text(f, single_cell(g.subplot, i, j)));
                f.length = n > f.length ? n : f.length;
            }
    }
    return f;
}

/* ------------------------------------------------------------------ colours -------------------- */

/* Samples at equal distances; between them the colours are mixed.  Viridis (van der Walt, Smith
 * 2015) rises evenly in lightness, so it survives greyscale and most colour blindness. */
static const at_rgb viridis[] = {{68, 1, 84},    {72, 40, 120},  {62, 74, 137},  {49, 104, 142},
                                 {38, 130, 142}, {31, 158, 137}, {53, 183, 121}, {110, 206, 88},
                                 {181, 222, 43}, {253, 231, 37}};
static const at_rgb blue_white_red[] = {{20, 60, 130},   {46, 113, 178},  {120, 173, 214},
                                        {196, 220, 236}, {248, 247, 245}, {248, 210, 190},
                                        {235, 148, 116}, {203, 74, 64},   {140, 14, 38}};

at_rgb at_colour_along(bool diverging, double u)
{
    const at_rgb *sample = diverging ? blue_white_red : viridis;
    const int last =
        (int)((diverging ? sizeof blue_white_red : sizeof viridis) / sizeof *sample) - 1;
    double at = (u < 0 ? 0 : u > 1 ? 1 : u) * last;
    int k = at >= last ? last - 1 : (int)at;
    double f = at - k;
    const at_rgb a = sample[k], b = sample[k + 1];
    return (at_rgb){(int)(a.r + f * (b.r - a.r) + 0.5), (int)(a.g + f * (b.g - a.g) + 0.5),
                    (int)(a.b + f * (b.b - a.b) + 0.5)};
}

at_colour_scale at_colour_scale_of(const at_heatmap *h)
{
    value_range r = range_of(h);
    at_colours how = h->colours;
    if (how == ATTIC_COLOURS_AUTO)
        how = r.least < 0   ? ATTIC_COLOURS_SIGNED
              : r.most <= 1 ? ATTIC_COLOURS_UNIT
                            : ATTIC_COLOURS_RANGE;
    at_colour_scale s = {r.least, r.most, how == ATTIC_COLOURS_SIGNED};
    if (how == ATTIC_COLOURS_UNIT) s = (at_colour_scale){0, 1, false};
    if (h->low < h->high && isfinite(h->low) && isfinite(h->high)) s.low = h->low, s.high = h->high;
    if (s.diverging) {
        s.high = fmax(fabs(s.low), fabs(s.high));
        s.low = -s.high;
    }
    if (!(s.low / 2 < s.high / 2)) /* all are equal; at_scale_place divides by this difference */
        s.high = s.low + (s.low / 2 != 0 ? fabs(s.low) : 1);
    if (s.diverging && s.low == 0) s.low = -1;
    return s;
}

double at_scale_place(at_colour_scale s, double value)
{
    double u = (value / 2 - s.low / 2) / (s.high / 2 - s.low / 2); /* halves: see at_axis_place */
    return u < 0 ? 0 : u > 1 ? 1 : u;
}

at_rgb at_colour_of(at_colour_scale s, double value)
{
    return at_colour_along(s.diverging, at_scale_place(s, value));
}

at_rgb at_cell_colour(at_colour_scale s, at_cell c)
{
    return c.kind == ATTIC_CELL_NAN ? (at_rgb){255, 0, 255} : at_colour_of(s, c.value);
}

/* Contrast as defined by the Web Content Accessibility Guidelines: (L1 + 0.05) / (L2 + 0.05) with
 * the relative luminances L. */
bool at_wants_dark_text(at_rgb c)
{
    const double part[] = {c.r / 255.0, c.g / 255.0, c.b / 255.0},
                 weight[] = {0.2126, 0.7152, 0.0722};
    double luminance = 0;
    for (int i = 0; i < 3; i++)
        luminance += weight[i] * (part[i] <= 0.03928 ? part[i] / 12.92
                                                     : at_f64_pow((part[i] + 0.055) / 1.055, 2.4));
    return (luminance + 0.05) * (luminance + 0.05) > 1.05 * 0.06; /* 0.01: the dark text's own */
}

at_rgb at_series_colour(int k)
{
    /* told apart by most colour-blind people (Okabe, Ito 2008), the yellow left out */
    static const at_rgb colour[] = {{0, 114, 178}, {213, 94, 0},   {0, 158, 115}, {204, 121, 167},
                                    {230, 159, 0}, {86, 180, 233}, {60, 60, 60}};
    return colour[k % (int)(sizeof colour / sizeof *colour)];
}

/* ------------------------------------------------------------------ ticks ---------------------- */

double at_round_step(double x)
{
    double unit = at_f64_pow(10, floor(at_f64_log10(x)));
    for (int k = 0; k < 3; k++)
        if (x <= (double[]){1, 2, 5}[k] * unit * (1 + 1e-9)) return (double[]){1, 2, 5}[k] * unit;
    return 10 * unit;
}

static at_ticks linear_ticks(double lo, double hi, int most)
{
    at_ticks t = {.step = at_round_step((hi - lo) / most)};
    if (!(t.step > 0) || !isfinite(t.step)) return (at_ticks){.n = 1, .value = {lo}, .step = 1};
    double slack = 1e-9 * t.step;
    for (double k = ceil((lo - slack) / t.step); k * t.step <= hi + slack && t.n < AT_MAX_TICKS;
         k++)
        t.value[t.n++] = k * t.step;
    return t;
}

/* The first `multiples` of 1, 2, 5 times every n-th power of ten, within lo .. hi. */
static at_ticks logarithmic_ticks(double lo, double hi, int every, int multiples)
{
    at_ticks t = {0};
    for (int k = (int)floor(at_f64_log10(lo)); k <= (int)ceil(at_f64_log10(hi)); k++)
        for (int m = 0; k % every == 0 && m < multiples; m++) {
            double v = (double[]){1, 2, 5}[m] * at_f64_pow(10, k);
            if (v >= lo * (1 - 1e-9) && v <= hi * (1 + 1e-9) && t.n < AT_MAX_TICKS)
                t.value[t.n++] = v;
        }
    return t;
}

at_ticks at_ticks_between(double lo, double hi, int most, bool logarithmic)
{
    if (most > AT_MAX_TICKS - 1) most = AT_MAX_TICKS - 1;
    if (most < 1) most = 1;
    if (!logarithmic) return linear_ticks(lo, hi, most);
    int every = 1;
    while ((at_f64_log10(hi) - at_f64_log10(lo)) / every > most) every++;
    at_ticks t = logarithmic_ticks(lo, hi, every, 1);
    if (t.n >= 3 || every > 1) return t;
    t = logarithmic_ticks(lo, hi, 1, 3);
    return t.n >= 2 && t.n <= most + 2 ? t : linear_ticks(lo, hi, most);
}

const char *at_tick_text(const at_ticks *t, int k, bool unicode)
{
    double v = t->value[k], first = t->value[0], last = t->value[t->n - 1];
    double largest = fmax(fabs(first), fabs(last));
    if (t->step == 0) /* all of them powers, or all of them plain */
        return first > 0.00099 && last < 99999 ? plain_text(v) : power_text(v, 3, unicode);
    if ((largest > 999999 || t->step < 0.99e-4) && largest < 999 * t->step) /* 3 digits tell all */
        return fabs(v) < 1e-9 * t->step ? "0" : power_text(v, 3, unicode);
    int decimals = (int)ceil(-at_f64_log10(t->step) - 1e-9);
    return at_fixed_text(v, decimals > 0 ? decimals : 0);
}

/* ------------------------------------------------------------------ axes of a chart ------------ */

static bool can_show(double v, bool logarithmic)
{
    return isfinite(v) && (!logarithmic || v > 0);
}

static void include_value(at_axis *a, double v)
{
    if (!can_show(v, a->logarithmic)) return;
    if (v < a->lo) a->lo = v;
    if (v > a->hi) a->hi = v;
}

static double series_x(const at_series *s, ptrdiff_t i)
{
    return s->x ? s->x[i] : (double)i;
}

/* From what the data reach to what the axis shows. */
static void round_axis(at_axis *a, double margin)
{
    if (a->lo > a->hi) { /* nothing to show */
        a->lo = a->logarithmic ? 0.1 : 0;
        a->hi = 1;
    }
    bool from_zero = margin > 0 && a->lo >= 0 && a->lo < 0.3 * a->hi;
    if (a->logarithmic) {
        double factor =
            a->lo == a->hi ? 2 : at_f64_exp(margin * (at_f64_log(a->hi) - at_f64_log(a->lo)));
        a->lo = fmax(a->lo / factor, DBL_MIN);
        a->hi = fmin(a->hi * factor, DBL_MAX);
    } else {
        double extra = margin * (a->hi / 2 - a->lo / 2) * 2;
        if (a->lo == a->hi) extra = a->lo != 0 ? fabs(a->lo) / 2 : 1;
        a->lo = from_zero ? 0 : fmax(a->lo - extra, -DBL_MAX);
        a->hi = fmin(a->hi + extra, DBL_MAX);
    }
}

bool at_chart_axes(const at_chart *c, at_axis *x, at_axis *y)
{
    *x = (at_axis){(double)INFINITY, -(double)INFINITY, c->log_x};
    *y = (at_axis){(double)INFINITY, -(double)INFINITY, c->log_y};
    for (int k = 0; k < c->n_series; k++) {
        const at_series *s = &c->series[k];
        for (ptrdiff_t i = 0; i < s->n; i++) {
            if (!can_show(series_x(s, i), c->log_x) || !can_show(s->y[i], c->log_y)) continue;
            include_value(x, series_x(s, i));
            include_value(y, s->y[i]);
        }
    }
    for (int k = 0; k < c->n_levels; k++) include_value(y, c->levels[k].y);
    bool any = y->lo <= y->hi;
    round_axis(x, 0);
    round_axis(y, 0.04);
    return any;
}

double at_axis_place(at_axis a, double v)
{
    if (!can_show(v, a.logarithmic)) return (double)NAN;
    if (a.logarithmic)
        return (at_f64_log(v) - at_f64_log(a.lo)) / (at_f64_log(a.hi) - at_f64_log(a.lo));
    return (v / 2 - a.lo / 2) / (a.hi / 2 - a.lo / 2); /* halves: the difference could overflow */
}

bool at_chart_point(const at_series *s, ptrdiff_t i, at_axis x, at_axis y, double *u, double *v)
{
    *u = at_axis_place(x, series_x(s, i));
    *v = at_axis_place(y, s->y[i]);
    return !isnan(*u) && !isnan(*v);
}
