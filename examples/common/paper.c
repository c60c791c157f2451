/* paper.c -- the attention of example 15, drawn; see paper.h. */
#include "common/paper.h"

#include <math.h>

#include "common/sketch.h"

enum { T = PAPER_T, N = PAPER_N, D = PAPER_D, WIDTH = 830 };

static const char *const query_names[] = {"query 0", "query 1"};
static const char *const key_names[] = {"key 0", "key 1", "key 2"};
static const sketch_style heading = {.size = 20, .bold = true};

static double dot_product(const double *x, const double *y)
{
    double sum = 0;
    for (int d = 0; d < D; d++) sum += x[d] * y[d];
    return sum;
}

/* dP_ij - delta_i */
static void subtract_delta(const paper *a, double less[T * N])
{
    for (int i = 0; i < T * N; i++) less[i] = a->dP[i] - a->delta[i / N];
}

/* The row sums of x, each element weighted by w; NULL: by 1. */
static void sum_rows(const double *x, const double *w, double sum[T])
{
    for (int i = 0; i < T; i++) {
        sum[i] = 0;
        for (int j = i * N; j < (i + 1) * N; j++) sum[i] += (w ? w[j] : 1) * x[j];
    }
}

/* ------------------------------------------------------------------ the triangle --------------- */

enum { PLOT_LEFT = 20, PLOT_RIGHT = 488, PLOT_TOP = 56, PLOT_BOTTOM = 424, UNIT = 76 };

/* The place of a value in the plot. */
static double place_x(double x)
{
    return 60 + UNIT * x;
}

static double place_y(double y)
{
    return 436 - UNIT * y;
}

/* Left of the line through O that is orthogonal to dO the loss is lower, right of it higher. */
static void put_sides(FILE *f, const double *O, const double *dO)
{
    fprintf(f,
            "<clipPath id=\"plot\"><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/></clipPath>"
            "\n<g clip-path=\"url(#plot)\">\n",
            PLOT_LEFT, PLOT_TOP, PLOT_RIGHT - PLOT_LEFT, PLOT_BOTTOM - PLOT_TOP);
    double far = 20 / hypot(dO[0], dO[1]), u = far * dO[0], v = far * dO[1];
    double x = place_x(O[0] - v), y = place_y(O[1] + u); /* the ends of the line */
    double to_x = place_x(O[0] + v), to_y = place_y(O[1] - u);
    for (int side = -1; side <= 1; side += 2) {
        double by_x = side * UNIT * u, by_y = -side * UNIT * v;
        const double half[] = {x, y, to_x, to_y, to_x + by_x, to_y + by_y, x + by_x, y + by_y};
        sketch_polygon(f, 4, half, side > 0 ? "#fdeeea" : "#e9f1fa", NULL);
    }
    sketch_line(f, x, y, to_x, to_y, (sketch_pen){.colour = SKETCH_GREY, .dashed = true});
    fputs("</g>\n", f);
}

/* From the line to V_j, along dO: as long as dP_j - delta, in units of |dO|. */
static void put_projection(FILE *f, const double *V, const double *dO, double above)
{
    double by = above / dot_product(dO, dO), foot_x = V[0] - by * dO[0], foot_y = V[1] - by * dO[1];
    const char *colour = above > 0 ? SKETCH_RED : SKETCH_BLUE;
    sketch_arrow(f, place_x(foot_x), place_y(foot_y), place_x(V[0]), place_y(V[1]),
                 (sketch_pen){.width = 3.5, .colour = colour});
    /* where no other line is */
    double right = above < 0 ? 8 : fabs(by) < 0.2 ? -64 : 12, down = above < 0 ? 26 : 12;
    sketch_text(f, (place_x(foot_x) + place_x(V[0])) / 2 + right,
                (place_y(foot_y) + place_y(V[1])) / 2 + down,
                (sketch_style){.size = 17, .colour = colour, .bold = true}, "%s%s",
                above > 0 ? "+" : "", sketch_number(above));
}

/* P | dP | dP - delta | dS of query 0, one below the other. */
static void put_row_of_query(FILE *f, const paper *a, const double *less)
{
    enum { X = 616, Y = 92, STEP = 62 };
    const char *const title[] = {"P", "dP = dO · V", "dP - delta", "dS"};
    const char *const what[] = {"the weights", "", "", "P (dP - delta)"};
    const double *const row[] = {a->P, a->dP, less, a->dS};
    for (int k = 0; k < 4; k++) {
        double y = Y + k * STEP;
        sketch_text(f, X - 12, y + (*what[k] ? 18 : 26),
                    (sketch_style){.size = 15, .bold = true, .anchor = "end"}, "%s", title[k]);
        sketch_text(f, X - 12, y + 36,
                    (sketch_style){.size = 13, .colour = SKETCH_GREY, .anchor = "end"}, "%s",
                    what[k]);
        sketch_matrix(f, X, y,
                      &(sketch_cells){.x = row[k],
                                      .rows = 1,
                                      .cols = N,
                                      .colours = k ? SKETCH_SIGNED : SKETCH_SHARES,
                                      .most = k ? 0 : 1,
                                      .cell_w = 64,
                                      .cell_h = 42,
                                      .size = 17});
    }
    for (int j = 0; j < N; j++)
        sketch_text(f, X + 64 * (j + 0.5), Y - 10,
                    (sketch_style){.colour = SKETCH_GREY, .anchor = "middle"}, "%s", key_names[j]);
}

bool paper_triangle(const char *path, const paper *a)
{
    FILE *f = sketch_open(path, WIDTH, 440, "Which value should query 0 have read more?");
    double less[T * N], corners[2 * N];
    int most = 0, least = 0;
    subtract_delta(a, less);
    for (int j = 0; j < N; j++) {
        corners[2 * j] = place_x(a->V[D * j]), corners[2 * j + 1] = place_y(a->V[D * j + 1]);
        if (a->dS[j] > a->dS[most]) most = j;
        if (a->dS[j] < a->dS[least]) least = j;
    }
    if (f) {
        sketch_text(f, 20, 34, heading, "Query 0 has read three values.  Which one too much?");
        put_sides(f, a->O, a->dO);
        sketch_polygon(f, N, corners, NULL, SKETCH_INK);
        for (int j = 0; j < N; j++) put_projection(f, a->V + D * j, a->dO, less[j]);
        double x = place_x(a->O[0]), y = place_y(a->O[1]);
        sketch_arrow(f, x, y, place_x(a->O[0] + a->dO[0]), place_y(a->O[1] + a->dO[1]),
                     (sketch_pen){.width = 3});
        sketch_dot(f, x, y, 7, SKETCH_INK);
        const sketch_style name = {.size = 17, .bold = true};
        sketch_text(f, x - 2, y + 26, name, "O");
        sketch_text(f, place_x(a->O[0] + a->dO[0]) + 8, place_y(a->O[1] + a->dO[1]) + 6, name,
                    "dO");
        static const char *const subscript[] = {"V₀", "V₁", "V₂"};
        for (int j = 0; j < N; j++) {
            double below = a->V[D * j + 1] < a->O[1] && less[j] < 0 ? 26 : -12;
            sketch_dot(f, corners[2 * j], corners[2 * j + 1], 5, SKETCH_INK);
            sketch_text(f, corners[2 * j] - 8, corners[2 * j + 1] + below, name, "%s",
                        subscript[j]);
        }
        sketch_text(f, PLOT_RIGHT - 12, PLOT_TOP + 28,
                    (sketch_style){.size = 16, .colour = SKETCH_RED, .anchor = "end"},
                    "reading more here raises the loss");
        sketch_text(f, PLOT_LEFT + 12, PLOT_BOTTOM - 14,
                    (sketch_style){.size = 16, .colour = SKETCH_BLUE},
                    "reading more here lowers the loss");
        put_row_of_query(f, a, less);
        sketch_text(f, 508, 366, (sketch_style){.size = 15}, "delta = dO · O = %s",
                    sketch_number(a->delta[0]));
        sketch_text(f, 508, 394, (sketch_style){.size = 15, .colour = SKETCH_RED, .bold = true},
                    "Read less of key %d: dS = %s", most, sketch_number(a->dS[most]));
        sketch_text(f, 508, 418, (sketch_style){.size = 15, .colour = SKETCH_BLUE, .bold = true},
                    "Read more of key %d: dS = %s", least, sketch_number(a->dS[least]));
    }
    return sketch_close(f, path);
}

/* ------------------------------------------------------------------ Jacobian, matrices --------- */

bool paper_jacobian(const char *path, const paper *a)
{
    FILE *f = sketch_open(path, WIDTH, 300, "The Jacobian of query 0 times dP is dS");
    double J[N * N], sums[N] = {0}, less[T * N];
    subtract_delta(a, less);
    for (int j = 0; j < N; j++)
        for (int k = 0; k < N; k++)
            sums[j] += J[j * N + k] = (j == k) * a->P[j] - a->P[j] * a->P[k];
    const sketch_style sign = {.size = 24, .anchor = "middle"};
    const sketch_cells column = {.rows = N, .cols = 1, .cell_w = 58, .cell_h = 50, .size = 16};
    sketch_cells m = column;
    sketch_text(f, 20, 34, heading, "Nine numbers of a Jacobian, or one: delta");
    m.title = "J = diag(P) - P Pᵀ", m.x = J, m.cols = N, m.names = key_names, m.margin = "sum";
    m.margins = sums;
    sketch_matrix(f, 74, 92, &m);
    sketch_text(f, 314, 174, sign, "×");
    m = column, m.title = "dP", m.x = a->dP;
    sketch_matrix(f, 338, 92, &m);
    sketch_text(f, 421, 174, sign, "=");
    m.title = "dS", m.x = a->dS;
    sketch_matrix(f, 446, 92, &m);
    sketch_text(f, 529, 174, sign, "=");
    m.title = "P", m.x = a->P, m.colours = SKETCH_SHARES, m.most = 1;
    sketch_matrix(f, 554, 92, &m);
    sketch_text(f, 638, 174, sign, "∘");
    m = column, m.title = "dP - delta", m.x = less;
    sketch_matrix(f, 664, 92, &m);
    sketch_text(f, 74, 276, (sketch_style){.size = 15},
                "Every row and column of J sums to 0, and so does dS.  delta = Σ P dP = %s.",
                sketch_number(a->delta[0]));
    return sketch_close(f, path);
}

bool paper_matrices(const char *path, const paper *a)
{
    FILE *f = sketch_open(path, WIDTH, 232, "From P and dP to dS");
    double less[T * N], sum_P[T], mean[T], mean_less[T], sum_dS[T];
    subtract_delta(a, less);
    sum_rows(a->P, NULL, sum_P);
    sum_rows(a->dP, a->P, mean);
    sum_rows(less, a->P, mean_less);
    sum_rows(a->dS, NULL, sum_dS);
    const char *const title[] = {"P", "dP", "dP - delta", "dS"};
    const char *const margin[] = {"sum", "delta", "mean", "sum"};
    const double *const x[] = {a->P, a->dP, less, a->dS};
    const double *const of_row[] = {sum_P, mean, mean_less, sum_dS};
    sketch_text(f, 20, 34, heading, "Backward through the softmax: from P and dP to dS");
    for (int k = 0; k < 4; k++)
        sketch_matrix(f, 80 + 190 * k, 88,
                      &(sketch_cells){.title = title[k],
                                      .x = x[k],
                                      .rows = T,
                                      .cols = N,
                                      .colours = k ? SKETCH_SIGNED : SKETCH_SHARES,
                                      .most = k ? 0 : 1,
                                      .names = k ? NULL : query_names,
                                      .heads = key_names,
                                      .margin = margin[k],
                                      .margins = of_row[k],
                                      .cell_w = 44,
                                      .cell_h = 44});
    sketch_text(f, 80, 222, (sketch_style){.size = 13, .colour = SKETCH_GREY},
                "delta and mean: of a row, weighted by P.  dS = P (dP - delta): where dP is above "
                "the mean, dS is positive.");
    return sketch_close(f, path);
}

/* ------------------------------------------------------------------ the eight steps ------------ */

typedef struct {
    const char *name, *forward[2], *backward[2];
    bool off; /* in this attention */
} step_text;

static const step_text steps_of_paper[8] = {
    {"scores", {"R = Q Kᵀ", ""}, {"dQ = dR K", "dK = dRᵀ Q"}, false},
    {"scale", {"X = c R", ""}, {"dR = c dX", ""}, true},
    {"softcap", {"U = cap ·", "tanh(X / cap)"}, {"dX = dU ·", "(1 - (U/cap)²)"}, true},
    {"bias", {"S = U + bias", ""}, {"dU = dS", "dbias = Σ dS"}, true},
    {"mask", {"which keys", "are read"}, {"not read:", "no term"}, true},
    {"softmax", {"P =", "softmax(S)"}, {"dS = P ∘", "(dP - delta)"}, false},
    {"dropout", {"A = z P", ""}, {"dP = z dA", ""}, true},
    {"values", {"O = A V", ""}, {"dA = dO Vᵀ", "dV = Aᵀ dO"}, false},
};

enum { STEP_W = 101, STEP_LEFT = 11, RESULTS = 344, GRADIENTS = 588 };

static double step_x(int k)
{
    return STEP_LEFT + STEP_W * (k + 0.5);
}

/* The names and formulas of all steps, forward above and backward below. */
static void put_step_formulas(FILE *f)
{
    for (int k = 0; k < 8; k++) {
        const step_text *s = &steps_of_paper[k];
        const char *colour = s->off ? SKETCH_GREY : SKETCH_INK;
        double x = step_x(k), l = STEP_LEFT + STEP_W * k + 2, r = l + STEP_W - 4;
        sketch_polygon(f, 4, (double[]){l, 58, r, 58, r, 108, l, 108},
                       s->off ? "#f3f4f6" : "#e2ecf7", NULL);
        sketch_text(f, x, 80, (sketch_style){.size = 19, .bold = true, .anchor = "middle"}, "%d",
                    k + 1);
        sketch_text(f, x, 100, (sketch_style){.size = 15, .bold = true, .anchor = "middle"}, "%s",
                    s->name);
        for (int line = 0; line < 2; line++) {
            const sketch_style style = {.size = 14, .colour = colour, .anchor = "middle"};
            sketch_text(f, x, 130 + 19 * line, style, "%s", s->forward[line]);
            sketch_text(f, x, 466 + 19 * line, style, "%s", s->backward[line]);
        }
        if (s->off)
            sketch_text(f, x, 172, (sketch_style){.size = 14, .colour = colour, .anchor = "middle"},
                        "off");
    }
}

/* A matrix in the column of step k, from y on. */
static void put_step_matrix(FILE *f, int k, double y, const char *title, const double *x, int rows,
                            int cols, sketch_colours colours)
{
    enum { W = 31, H = 26 };
    sketch_matrix(f, step_x(k) - W * cols / 2.0, y,
                  &(sketch_cells){.title = title,
                                  .x = x,
                                  .rows = rows,
                                  .cols = cols,
                                  .colours = colours,
                                  .most = colours == SKETCH_SHARES,
                                  .cell_w = W,
                                  .cell_h = H,
                                  .size = 13,
                                  .brief = true});
}

bool paper_steps(const char *path, const paper *a)
{
    FILE *f = sketch_open(path, WIDTH, 756, "Attention in eight steps, forward and backward");
    const sketch_style large = {.size = 34, .bold = true}, line = {.size = 17},
                       small = {.size = 15, .colour = SKETCH_GREY};
    const double left = STEP_LEFT + STEP_W + 8, right = STEP_LEFT + 8 * STEP_W;
    sketch_text(f, STEP_LEFT, 36, heading, "Attention in eight steps");
    sketch_text(f, right, 36, (sketch_style){.size = 15, .anchor = "end"},
                "loss L = Σ dO ∘ O, dO is given; dX = d(loss)/dX");
    put_step_formulas(f);
    sketch_arrow(f, STEP_LEFT, 424, right, 424, (sketch_pen){.width = 3, .colour = "#3c8f6e"});
    sketch_arrow(f, right, 438, STEP_LEFT, 438, (sketch_pen){.width = 3, .colour = SKETCH_RED});

    put_step_matrix(f, 0, 170, "Q", a->Q, T, D, SKETCH_PLAIN);
    put_step_matrix(f, 0, 244, "K", a->K, N, D, SKETCH_PLAIN);
    put_step_matrix(f, 0, RESULTS, "R = S", a->S, T, N, SKETCH_PLAIN);
    put_step_matrix(f, 5, RESULTS, "P = A", a->P, T, N, SKETCH_SHARES);
    put_step_matrix(f, 7, 244, "V", a->V, N, D, SKETCH_PLAIN);
    put_step_matrix(f, 7, RESULTS, "O", a->O, T, D, SKETCH_PLAIN);
    sketch_text(f, left, 262, large, "Forward");
    sketch_text(f, left, 292, line, "Each query reads a mixture of the values.");
    sketch_text(f, left, 384, small, "Steps 2 to 5 are off here: R = X = U = S");

    put_step_matrix(f, 7, 514, "dO", a->dO, T, D, SKETCH_SIGNED);
    put_step_matrix(f, 7, GRADIENTS, "dA = dP", a->dP, T, N, SKETCH_SIGNED);
    put_step_matrix(f, 7, 662, "dV", a->dV, N, D, SKETCH_SIGNED);
    put_step_matrix(f, 5, 514, "delta", a->delta, T, 1, SKETCH_SIGNED);
    sketch_text(f, step_x(5) - 22, 545, (sketch_style){.size = 15, .anchor = "end"}, "Σ P dP  =");
    put_step_matrix(f, 5, GRADIENTS, "dS", a->dS, T, N, SKETCH_SIGNED);
    put_step_matrix(f, 0, GRADIENTS, "dQ", a->dQ, T, D, SKETCH_SIGNED);
    put_step_matrix(f, 0, 662, "dK", a->dK, N, D, SKETCH_SIGNED);
    sketch_text(f, left, 628, small, "They are off here as well: dS = dU = dX = dR");
    sketch_text(f, left, 700, large, "Backward");
    sketch_text(f, left, 730, line, "dX says how the loss changes with X.");
    return sketch_close(f, path);
}
