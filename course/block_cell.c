/* block_cell.c -- one element of a block, worked out with its numbers; see block_cell.h.
 *
 * Most elements are sums of products of two elements, and the pairs are all that must be said:
 *
 *     dX_K[t,c] = sum_j dK[t,j] W_k[c,j]        dK[t1,h0] W_k[c1,h0], dK[t1,h1] W_k[c1,h1] */
#include "block_cell.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ names ---------------------- */

/* Has it a matrix for each head? */
static bool is_of_heads(block_name what)
{
    return (what >= BLOCK_R && what <= BLOCK_P) || (what >= BLOCK_DP && what <= BLOCK_DR);
}

typedef enum { AXIS_TOKEN, AXIS_C, AXIS_QUERY_HEAD, AXIS_KEY_HEAD } block_axis;

static block_axis axis_of(const block *b, block_name what, bool columns)
{
    const block_name of = block_texts[what].gradient_of;
    if (of < BLOCK_COUNT) what = of; /* a gradient has the axes of its matrix */
    const block_axis keys = b->p.G < b->p.H ? AXIS_KEY_HEAD : AXIS_QUERY_HEAD;
    switch (what) {
    case BLOCK_WQ: return columns ? AXIS_QUERY_HEAD : AXIS_C;
    case BLOCK_WK:
    case BLOCK_WV: return columns ? keys : AXIS_C;
    case BLOCK_WO: return columns ? AXIS_C : AXIS_QUERY_HEAD;
    case BLOCK_Q:
    case BLOCK_O: return columns ? AXIS_QUERY_HEAD : AXIS_TOKEN;
    case BLOCK_K:
    case BLOCK_V: return columns ? keys : AXIS_TOKEN;
    default: return columns && !is_of_heads(what) ? AXIS_C : AXIS_TOKEN;
    }
}

bool block_cell_of_heads(const block *b, block_name what, bool columns)
{
    const block_axis axis = axis_of(b, what, columns);
    return axis == AXIS_QUERY_HEAD || axis == AXIS_KEY_HEAD;
}

void block_cell_label(const block *b, block_name what, bool columns, int i,
                      char label[BLOCK_CELL_LABEL])
{
    const block_axis axis = axis_of(b, what, columns);
    const int n = axis == AXIS_KEY_HEAD ? b->p.G : b->p.H, width = b->dim[what][1 + columns] / n;
    if (axis == AXIS_TOKEN || axis == AXIS_C)
        snprintf(label, BLOCK_CELL_LABEL, "%c%d", axis == AXIS_C ? 'c' : 't', i);
    else if (width > 1)
        snprintf(label, BLOCK_CELL_LABEL, "%c%dd%d", axis == AXIS_KEY_HEAD ? 'g' : 'h', i / width,
                 i % width);
    else
        snprintf(label, BLOCK_CELL_LABEL, "%c%d", axis == AXIS_KEY_HEAD ? 'g' : 'h', i);
}

void block_cell_name(const block *b, block_name what, int head, int row, int column,
                     char name[BLOCK_CELL_NAME])
{
    const bool brackets = strchr(block_texts[what].name, ' '); /* of "O W_o" */
    char of_head[16] = "", rows[BLOCK_CELL_LABEL], columns[BLOCK_CELL_LABEL];
    if (is_of_heads(what) && b->p.H > 1) snprintf(of_head, sizeof of_head, "_h%d", head);
    block_cell_label(b, what, false, row, rows);
    block_cell_label(b, what, true, column, columns);
    snprintf(name, BLOCK_CELL_NAME, "%s%s%s%s[%s%s%s]", brackets ? "(" : "", block_texts[what].name,
             of_head, brackets ? ")" : "", rows, what == BLOCK_DELTA ? "" : ",",
             what == BLOCK_DELTA ? "" : columns);
}

/* ------------------------------------------------------------------ numbers -------------------- */

bool block_open_style(const block *b, block_mistake m, block_style *style)
{
    *style = (block_style){.b = b};
    if (b->p.scale_log <= 0) return true;
    style->none = block_copy(b), style->one = block_copy(b);
    if (style->none && style->one) {
        style->none->heads->c = 0, style->one->heads->c = 1;
        if (block_backward_with(style->none, m) && block_backward_with(style->one, m)) return true;
    }
    block_close_style(style);
    return false;
}

void block_close_style(block_style *style)
{
    block_close(style->none);
    block_close(style->one);
    style->none = style->one = NULL;
}

static double value(const block *b, block_element x)
{
    return *block_cell(b, x.what, x.h, x.i, x.j);
}

/* Rounding of what should be 0 or a short decimal is not shown. */
static double rounded(double x)
{
    return fabs(x) < 1e-12 ? 0 : x;
}

/* a + k ln n = x; k is 0 where there is no logarithm */
static void split_number(const block_style *style, block_element x, double *a, double *k)
{
    *a = value(style->b, x), *k = 0;
    if (!style->one || x.what < BLOCK_DR) return;
    *a = rounded(value(style->none, x));
    *k = rounded(value(style->one, x) - value(style->none, x));
}

static void write_number(const block_style *style, double a, double k, char to[BLOCK_CELL_NUMBER])
{
    const double n = style->b->p.scale_log;
    if (k == 0)
        snprintf(to, BLOCK_CELL_NUMBER, "%.4g", a + 0.0); /* not -0 */
    else if (a == 0)
        snprintf(to, BLOCK_CELL_NUMBER, "%.4g ln %g", k, n);
    else
        snprintf(to, BLOCK_CELL_NUMBER, "%.4g %c %.4g ln %g", a, k < 0 ? '-' : '+', fabs(k), n);
}

void block_cell_number(const block_style *style, block_name what, int head, int row, int column,
                       char number[BLOCK_CELL_NUMBER])
{
    double a, k;
    split_number(style, (block_element){what, head, row, column}, &a, &k);
    write_number(style, a, k, number);
}

/* ------------------------------------------------------------------ pairs ---------------------- */

enum { MOST_PAIRS = BLOCK_CELL_FROM / 2 };

typedef struct {
    const block *b;
    int n;
    struct {
        block_element x, y;
    } pair[MOST_PAIRS];
} block_pairs;

static void add_pair(block_pairs *p, block_element x, block_element y)
{
    if (p->n < MOST_PAIRS) p->pair[p->n].x = x, p->pair[p->n].y = y, p->n++;
}

/* Z = X W, dX = dZ W^T and dW = X^T dZ, as BLOCK_COUNT, X, W or Z: what the factors are */
typedef enum { NO_PRODUCT, PLAIN, RIGHT_TRANSPOSED, LEFT_TRANSPOSED } product_kind;

static product_kind product_of(block_name what, block_name *x, block_name *y)
{
    static const struct {
        block_name what, x, y;
        product_kind kind;
    } products[] = {{BLOCK_Q, BLOCK_X, BLOCK_WQ, PLAIN},
                    {BLOCK_K, BLOCK_X, BLOCK_WK, PLAIN},
                    {BLOCK_V, BLOCK_X, BLOCK_WV, PLAIN},
                    {BLOCK_OW, BLOCK_O, BLOCK_WO, PLAIN},
                    {BLOCK_DO, BLOCK_DY, BLOCK_WO, RIGHT_TRANSPOSED},
                    {BLOCK_DX_Q, BLOCK_DQ, BLOCK_WQ, RIGHT_TRANSPOSED},
                    {BLOCK_DX_K, BLOCK_DK, BLOCK_WK, RIGHT_TRANSPOSED},
                    {BLOCK_DX_V, BLOCK_DV, BLOCK_WV, RIGHT_TRANSPOSED},
                    {BLOCK_DWQ, BLOCK_X, BLOCK_DQ, LEFT_TRANSPOSED},
                    {BLOCK_DWK, BLOCK_X, BLOCK_DK, LEFT_TRANSPOSED},
                    {BLOCK_DWV, BLOCK_X, BLOCK_DV, LEFT_TRANSPOSED},
                    {BLOCK_DWO, BLOCK_O, BLOCK_DY, LEFT_TRANSPOSED}};
    for (size_t k = 0; k < sizeof products / sizeof *products; k++)
        if (products[k].what == what) {
            *x = products[k].x, *y = products[k].y;
            return products[k].kind;
        }
    return NO_PRODUCT;
}

static bool pairs_of_product(block_pairs *p, block_element z)
{
    block_name x, y;
    const product_kind kind = product_of(z.what, &x, &y);
    if (kind == NO_PRODUCT) return false;
    const int n = p->b->dim[x][kind == LEFT_TRANSPOSED ? 1 : 2];
    for (int k = 0; k < n; k++)
        add_pair(p,
                 kind == LEFT_TRANSPOSED ? (block_element){x, 0, k, z.i}
                                         : (block_element){x, 0, z.i, k},
                 kind == RIGHT_TRANSPOSED ? (block_element){y, 0, z.j, k}
                                          : (block_element){y, 0, k, z.j});
    return true;
}

/* Elements of head h in Q or dQ, of the key/value head that it reads in K, V, dK, dV */
static block_element in_head(const block *b, block_name what, int h, int i, int d)
{
    const bool keys = what == BLOCK_K || what == BLOCK_V;
    const int width = what == BLOCK_Q || what == BLOCK_K ? b->p.D : b->p.Dv;
    return (block_element){what, 0, i, (keys ? b->heads->reads[h] : h) * width + d};
}

/* sum_d x[i,d] y[j,d] */
static void pairs_of_dot(block_pairs *p, block_name x, block_name y, block_element z)
{
    const int n = x == BLOCK_Q ? p->b->p.D : p->b->p.Dv;
    for (int d = 0; d < n; d++)
        add_pair(p, in_head(p->b, x, z.h, z.i, d), in_head(p->b, y, z.h, z.j, d));
}

/* sum over the tokens that row i attends to, of w[i,j] y[j,d]: O and dQ */
static void pairs_of_row(block_pairs *p, block_name w, block_name y, int width, block_element z)
{
    const int h = z.j / width;
    for (int j = 0; j < p->b->p.T; j++)
        if (steps_attends(p->b->heads, h, z.i, j))
            add_pair(p, (block_element){w, h, z.i, j}, in_head(p->b, y, h, j, z.j % width));
}

/* sum over the heads that read it and the tokens that attend to it, of w[i,j] y[i,d]: dV and dK */
static void pairs_of_column(block_pairs *p, block_name w, block_name y, int width, block_element z)
{
    for (int h = 0; h < p->b->p.H; h++)
        for (int i = 0; i < p->b->p.T; i++)
            if (p->b->heads->reads[h] == z.j / width && steps_attends(p->b->heads, h, i, z.i))
                add_pair(p, (block_element){w, h, i, z.i}, in_head(p->b, y, h, i, z.j % width));
}

static void pairs_of_delta(block_pairs *p, block_element z)
{
    for (int j = 0; j < p->b->p.T; j++)
        if (steps_attends(p->b->heads, z.h, z.i, j))
            add_pair(p, (block_element){BLOCK_P, z.h, z.i, j},
                     (block_element){BLOCK_DP, z.h, z.i, j});
}

/* false: it is no sum of products */
static bool find_pairs(block_pairs *p, block_element z)
{
    const int D = p->b->p.D, Dv = p->b->p.Dv;
    p->n = 0;
    switch (z.what) {
    case BLOCK_R: pairs_of_dot(p, BLOCK_Q, BLOCK_K, z); return true;
    case BLOCK_DP: pairs_of_dot(p, BLOCK_DO, BLOCK_V, z); return true;
    case BLOCK_O: pairs_of_row(p, BLOCK_P, BLOCK_V, Dv, z); return true;
    case BLOCK_DQ: pairs_of_row(p, BLOCK_DR, BLOCK_K, D, z); return true;
    case BLOCK_DV: pairs_of_column(p, BLOCK_P, BLOCK_DO, Dv, z); return true;
    case BLOCK_DK: pairs_of_column(p, BLOCK_DR, BLOCK_Q, D, z); return true;
    case BLOCK_DELTA: pairs_of_delta(p, z); return true;
    default: return pairs_of_product(p, z);
    }
}

/* Is it a cell of the scores, or of what is computed from them, that the mask leaves out? */
static bool is_masked(const block *b, block_element x)
{
    return is_of_heads(x.what) && x.what != BLOCK_DELTA && x.what != BLOCK_R &&
           !steps_attends(b->heads, x.h, x.i, x.j);
}

/* Of what is no sum of products: the same element of these, up to BLOCK_COUNT */
static const block_name *elementwise(block_name what)
{
    static const block_name of_S[] = {BLOCK_R, BLOCK_COUNT}, of_dR[] = {BLOCK_DS, BLOCK_COUNT},
                            of_dS[] = {BLOCK_P, BLOCK_DP, BLOCK_DELTA, BLOCK_COUNT},
                            of_Y[] = {BLOCK_X, BLOCK_OW, BLOCK_COUNT},
                            of_residual[] = {BLOCK_DY, BLOCK_COUNT}, of_nothing[] = {BLOCK_COUNT},
                            of_dX[] = {BLOCK_DX_RES, BLOCK_DX_Q, BLOCK_DX_K, BLOCK_DX_V,
                                       BLOCK_COUNT};
    switch (what) {
    case BLOCK_S: return of_S;
    case BLOCK_DS: return of_dS;
    case BLOCK_DR: return of_dR;
    case BLOCK_Y: return of_Y;
    case BLOCK_DX_RES: return of_residual;
    case BLOCK_DX: return of_dX;
    default: return of_nothing;
    }
}

int block_cell_from(const block *b, block_element x, block_element from[BLOCK_CELL_FROM])
{
    block_pairs p = {.b = b};
    int n = 0;
    if (is_masked(b, x)) return 0;
    if (find_pairs(&p, x))
        for (int e = 0; e < p.n; e++) from[n++] = p.pair[e].x, from[n++] = p.pair[e].y;
    else if (x.what == BLOCK_P)
        for (int j = 0; j < b->p.T; j++) {
            if (steps_attends(b->heads, x.h, x.i, j))
                from[n++] = (block_element){BLOCK_S, x.h, x.i, j};
        }
    else
        for (const block_name *of = elementwise(x.what); *of < BLOCK_COUNT; of++)
            from[n++] = (block_element){*of, x.h, x.i, *of == BLOCK_DELTA ? 0 : x.j};
    return n;
}

/* ------------------------------------------------------------------ writing -------------------- */

typedef struct {
    const block_style *style;
    char *text;
    size_t length;
    double a, k; /* what the formula gives: a + k ln n */
} cell_writer;

static void write_text(cell_writer *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void write_text(cell_writer *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(w->text + w->length, BLOCK_CELL_TEXT - w->length, format, args);
    va_end(args);
    w->length += n < 0 ? 0 : (size_t)n;
    if (w->length >= BLOCK_CELL_TEXT) w->length = BLOCK_CELL_TEXT - 1;
}

static void write_element(cell_writer *w, block_element x, bool in_product)
{
    char number[BLOCK_CELL_NUMBER];
    double a, k;
    split_number(w->style, x, &a, &k);
    write_number(w->style, a, k, number);
    write_text(w, in_product && a != 0 && k != 0 ? "(%s)" : "%s", number);
}

/* The factor with a logarithm stands last: "2*4 ln 3". */
static void write_pairs(cell_writer *w, const block_pairs *p)
{
    for (int e = 0; e < p->n; e++) {
        block_element x = p->pair[e].x, y = p->pair[e].y;
        double a, k, a_y, k_y;
        split_number(w->style, x, &a, &k);
        split_number(w->style, y, &a_y, &k_y);
        if (e) write_text(w, " + ");
        write_element(w, k == 0 ? x : y, true);
        write_text(w, "*");
        write_element(w, k == 0 ? y : x, true);
        w->a += a * a_y, w->k += a * k_y + k * a_y; /* one of the two k is 0 */
    }
    if (p->n == 0) write_text(w, "0");
}

static void add_element(cell_writer *w, block_element x)
{
    double a, k;
    split_number(w->style, x, &a, &k);
    w->a += a, w->k += k;
}

/* "x + y", with the sign of y in between */
static void write_added(cell_writer *w, block_element x)
{
    const size_t begin = w->length;
    write_text(w, " + ");
    write_element(w, x, false);
    if (w->text[begin + 3] == '-') {
        w->text[begin + 1] = '-';
        memmove(w->text + begin + 3, w->text + begin + 4, w->length - begin - 3);
        w->length--;
    }
    add_element(w, x);
}

/* exp(S_ij) / sum_k exp(S_ik), where exp(S) is a power of n if the scale is ln n */
static void write_softmax(cell_writer *w, block_element x)
{
    const block *b = w->style->b;
    double sum = 0, at = 0;
    const char *between = "";
    x.what = BLOCK_S;
    for (int j = -1; j < b->p.T; j++) {
        block_element y = x;
        if (j >= 0) y.j = j;
        if (j >= 0 && !steps_attends(b->heads, x.h, x.i, j)) continue;
        const double S = value(b, y), e = exp(S);
        write_text(w, "%s", between);
        if (b->p.scale_log > 0)
            write_text(w, "%.4g", e);
        else
            write_text(w, "exp(%.4g)", S);
        between = j < 0 ? " / (" : " + ";
        if (j < 0) at = e;
        if (j >= 0) sum += e;
    }
    write_text(w, ")");
    w->a = at / sum;
}

/* P (dP - delta), c R, c dS, and the sums without products */
static bool write_other(cell_writer *w, block_element x)
{
    const block *b = w->style->b;
    const block_element S = {BLOCK_S, x.h, x.i, x.j}, R = {BLOCK_R, x.h, x.i, x.j},
                        P = {BLOCK_P, x.h, x.i, x.j}, dP = {BLOCK_DP, x.h, x.i, x.j},
                        delta = {BLOCK_DELTA, x.h, x.i, 0}, dS = {BLOCK_DS, x.h, x.i, x.j};
    const block_element of_scale = x.what == BLOCK_S ? R : dS;
    char c[BLOCK_CELL_NUMBER];
    switch (x.what) {
    case BLOCK_P: write_softmax(w, S); return true;
    case BLOCK_DS:
        write_text(w, "%.4g * (%.4g - %.4g)", value(b, P), value(b, dP) + 0.0,
                   value(b, delta) + 0.0);
        w->a = value(b, P) * (value(b, dP) - value(b, delta));
        return true;
    case BLOCK_S:
    case BLOCK_DR:
        snprintf(c, sizeof c, b->p.scale_log > 0 ? "ln %.4g" : "%.4g",
                 b->p.scale_log > 0 ? b->p.scale_log : b->heads->c);
        write_text(w, "%s * %.4g", c, rounded(value(b, of_scale)) + 0.0);
        w->a = b->heads->c * value(b, of_scale);
        return true;
    case BLOCK_Y:
        write_element(w, (block_element){BLOCK_X, 0, x.i, x.j}, false);
        add_element(w, (block_element){BLOCK_X, 0, x.i, x.j});
        write_added(w, (block_element){BLOCK_OW, 0, x.i, x.j});
        return true;
    case BLOCK_DX_RES: {
        char name[BLOCK_CELL_NAME];
        block_cell_name(b, BLOCK_DY, 0, x.i, x.j, name);
        write_text(w, "%s", name);
        add_element(w, (block_element){BLOCK_DY, 0, x.i, x.j});
        return true;
    }
    case BLOCK_DX:
        write_element(w, (block_element){BLOCK_DX_RES, 0, x.i, x.j}, false);
        add_element(w, (block_element){BLOCK_DX_RES, 0, x.i, x.j});
        for (block_name k = BLOCK_DX_Q; k <= BLOCK_DX_V; k++)
            write_added(w, (block_element){k, 0, x.i, x.j});
        return true;
    default: return false;
    }
}

/* " = 4.3 + 1.9 ln 3 = 6.3874" */
static void write_result(cell_writer *w, double a, double k)
{
    char number[BLOCK_CELL_NUMBER];
    write_number(w->style, rounded(a), rounded(k), number);
    if (rounded(k) != 0) write_text(w, " = %s", number);
    const double log_n = k != 0 ? log(w->style->b->p.scale_log) : 0, x = a + k * log_n;
    write_text(w, " = %.4f", fabs(x) < 5e-5 ? 0 : x);
}

void block_cell_text(const block_style *style, block_name what, int head, int row, int column,
                     char text[BLOCK_CELL_TEXT])
{
    const block_element x = {what, head, row, column};
    const block *b = style->b;
    cell_writer w = {.style = style, .text = text}, formula = w;
    char name[BLOCK_CELL_NAME], right[BLOCK_CELL_TEXT] = "";
    static const char masked[] = "0, for the token does not attend to it";
    block_pairs pairs = {.b = b};
    formula.text = right;
    block_cell_name(b, what, head, row, column, name);
    write_text(&w, "%s = ", name);
    if (is_masked(b, x)) {
        write_text(&w, "%s", what == BLOCK_S ? "-inf: the token does not attend to it" : masked);
        return;
    }
    const bool is_sum = find_pairs(&pairs, x);
    if (is_sum) write_pairs(&formula, &pairs);
    const double got = value(b, x);
    if (!is_sum && !write_other(&formula, x)) {
        write_text(&w, "%.4f", got);
        return;
    }
    const double log_n = formula.k != 0 ? log(b->p.scale_log) : 0;
    const double should = formula.a + formula.k * log_n;
    if (!(fabs(got - should) <= 1e-9 * (1 + fabs(got))))
        write_text(&w, "%.4f; the formula gives ", got);
    write_text(&w, "%s", right);
    write_result(&w, formula.a, formula.k);
}
