/* 02_check_a_gradient.c -- is this gradient right?
 *
 * A wrong gradient rarely crashes: training goes on, only worse, and the reason does not show.  So
 * every gradient should be checked once against the definition of a derivative: change an input a
 * little and see how much the output changes.  This program shows
 *
 *     1  how small "a little" has to be, and why every answer is a compromise;
 *     2  the check of a function built from attic's ops;
 *     3  the check of two functions in plain C that do not use attic;
 *     4  the same with three classic mistakes planted: the report of each;
 *     5  two cases in which neither "right" nor "wrong" would be a good answer.
 *
 * With a path as its argument it draws the errors of 1 against the step.
 *
 * How the checker works, and what its verdicts mean: src/gradcheck/gradcheck.c and gradcheck.h. */
#include <math.h>
#include <stdio.h>

#include "attic.h"
#include "attic_plot.h"

#include "common/options.h"

/* ---- 1: steps ----------------------------------------------------------------------------------
 *
 * d/dx exp(x) at x = 1 is e.  Three formulas approximate it; each is off by its truncation error,
 * which shrinks with h, and by rounding, which grows as h shrinks. */
typedef struct {
    double one_sided, two_points, five_points;
} slopes;

static slopes slopes_of_exp(double h)
{
    double two = (exp(1 + h) - exp(1 - h)) / (2 * h);
    double far = (exp(1 + 2 * h) - exp(1 - 2 * h)) / (4 * h);
    return (slopes){(exp(1 + h) - exp(1)) / h, two, (4 * two - far) / 3}; /* no h^2 in the last */
}

/* The same in float. */
static double five_points_in_float(float h)
{
    float two = (expf(1 + h) - expf(1 - h)) / (2 * h);
    float far = (expf(1 + 2 * h) - expf(1 - 2 * h)) / (4 * h);
    float five = (4 * two - far) / 3;
    return (double)five;
}

static void exp_of(const double *x, double *y, void *ctx)
{
    (void)ctx;
    *y = exp(*x);
}

static void exp_back(const double *x, const double *dy, double *dx, void *ctx)
{
    (void)ctx;
    *dx = *dy * exp(*x);
}

/* The step with which the checker compares the derivative of exp at 1. */
static double step_of_checker(void)
{
    const double x = 1;
    return at_gradcheck_fn(exp_of, exp_back, 1, 1, &x, NULL, (at_gradcheck_options){0}).step;
}

static void show_steps(void)
{
    enum { STEPS = 13 };
    double off[3][STEPS], least[3] = {1, 1, 1};
    bool rises_again = true;
    printf("1  The derivative of exp at 1, by differences: the relative error of three formulas\n\n"
           "       step h    one-sided    two-sided   five points\n");
    for (int digits = 1; digits <= STEPS; digits++) {
        double h = pow(10, -digits);
        slopes s = slopes_of_exp(h);
        double slope[3] = {s.one_sided, s.two_points, s.five_points};
        for (int f = 0; f < 3; f++) {
            double e = off[f][digits - 1] = fabs(slope[f] / exp(1) - 1);
            least[f] = fmin(least[f], e);
        }
        printf("      %7.0e     %8.1e     %8.1e      %8.1e\n", h, off[0][digits - 1],
               off[1][digits - 1], off[2][digits - 1]);
    }
    for (int f = 0; f < 3; f++)
        rises_again = rises_again && least[f] < off[f][0] && least[f] < off[f][STEPS - 1];
    printf("\nThe smallest error of each column: %.1e, %.1e, %.1e.  Every column falls and rises\n"
           "again: %s.  The checker uses five points, with an h chosen for each element: %.1e "
           "here.\n\n",
           least[0], least[1], least[2], rises_again ? "yes" : "NO", step_of_checker());
}

/* A line of the theory is drawn where its error is large enough to be seen. */
static double shown_error(double error)
{
    return error > 1e-17 ? error : (double)NAN;
}

/* Both formulas against h = 1, 1/2, 1/4 ..., and what Taylor's series and rounding make of them. */
static bool draw_steps(const char *path)
{
    enum { POINTS = 47, LINES = 7 };
    double h[POINTS], error[LINES][POINTS], checked[POINTS];
    for (int k = 0; k < POINTS; k++) {
        double x = h[k] = exp2(-k);
        slopes s = slopes_of_exp(x);
        error[0][k] = fabs(s.two_points / exp(1) - 1);
        error[1][k] = fabs(s.five_points / exp(1) - 1);
        error[2][k] = k < 24 ? fabs(five_points_in_float((float)x) / exp(1) - 1) : (double)NAN;
        error[3][k] = shown_error(x * x / 6);
        error[4][k] = shown_error(x * x * x * x / 30);
        error[5][k] = shown_error(0x1p-53 / x);
        error[6][k] = pow(10, -17 * (double)k / (POINTS - 1));
        checked[k] = step_of_checker();
    }
    const char *const name[LINES] = {
        "two points", "five points",       "five points in float", "h²/6",
        "h⁴/30",      "rounding, 10⁻¹⁶/h", "h of the checker"};
    at_series line[LINES];
    for (int f = 0; f < LINES; f++)
        line[f] = (at_series){.name = name[f],
                              .x = f == LINES - 1 ? checked : h,
                              .y = error[f],
                              .n = POINTS,
                              .faint = f > 2,
                              .dots = f <= 2};
    const at_chart chart = {.title = "The error of a numerical derivative against the step",
                            .x_label = "step h",
                            .y_label = "relative error",
                            .series = line,
                            .n_series = LINES,
                            .log_x = true,
                            .log_y = true};
    FILE *f = fopen(path, "w");
    bool drawn = f && at_svg_chart(f, &chart);
    return written(f, path, drawn);
}

/* ---- 2: a function of attic's ops -------------------------------------------------------------- */

/* Y = softmax(X W)    X [2,3]  W [3,4]  ->  Y [2,4] */
static at_tensor *predict(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_softmax(t, at_matmul(t, in[0], in[1]));
}

static at_verdict check_ops(void)
{
    at_tape *t = at_open(ATTIC_F64, 1); /* f32 has too few digits for differences */
    at_tensor *X = at_variable(t, at_shape_of(2, 3), (const double[]){1, 2, 3, -1, 0, 1});
    at_tensor *W = at_param(t, "W", at_shape_of(3, 4), at_normal(1));

    at_gradcheck_report r =
        at_gradcheck(t, predict, (at_tensor *[]){X, W}, 2, NULL, (at_gradcheck_options){0});
    printf("2  softmax(X W), by attic\n\n");
    at_gradcheck_print(&r, stdout);
    at_close(t);
    return r.verdict;
}

/* ---- 3: a function in plain C ------------------------------------------------------------------
 *
 *     y = log sum_j exp(x_j)         dx_i = dy exp(x_i) / sum_j exp(x_j) = dy exp(x_i - y)     */

enum { N = 4 };

static void log_sum_exp(const double *x, double *y, void *ctx)
{
    double sum = 0;
    (void)ctx;
    for (int j = 0; j < N; j++) sum += exp(x[j]);
    *y = log(sum);
}

static void log_sum_exp_back(const double *x, const double *dy, double *dx, void *ctx)
{
    double y;
    log_sum_exp(x, &y, ctx);
    for (int i = 0; i < N; i++) dx[i] = *dy * exp(x[i] - y);
}

static at_verdict check_plain_c(const char *title, at_forward_fn *forward, at_vjp_fn *back,
                                int n_out, const double *x)
{
    at_gradcheck_report r =
        at_gradcheck_fn(forward, back, N, n_out, x, NULL, (at_gradcheck_options){0});
    printf("\n%s\n\n", title);
    at_gradcheck_print(&r, stdout);
    return r.verdict;
}

/* ---- 4: mistakes -------------------------------------------------------------------------------
 *
 *     y_i = x_i / sqrt(sum_j x_j^2 / N)         (RMS normalisation; call the root r)
 *     dx_i = (dy_i - y_i sum_j dy_j y_j / N) / r                                               */

static void normalise(const double *x, double *y, void *ctx)
{
    double squares = 0;
    (void)ctx;
    for (int j = 0; j < N; j++) squares += x[j] * x[j];
    for (int i = 0; i < N; i++) y[i] = x[i] / sqrt(squares / N);
}

static void normalise_back(const double *x, const double *dy, double *dx, void *ctx)
{
    double y[N], dot = 0, squares = 0;
    normalise(x, y, ctx);
    for (int j = 0; j < N; j++) dot += dy[j] * y[j], squares += x[j] * x[j];
    for (int i = 0; i < N; i++) dx[i] = (dy[i] - y[i] * dot / N) / sqrt(squares / N);
}

static void with_a_wrong_sign(const double *x, const double *dy, double *dx, void *ctx)
{
    normalise_back(x, dy, dx, ctx);
    for (int i = 0; i < N; i++) dx[i] = -dx[i];
}

static void with_r_as_a_constant(const double *x, const double *dy, double *dx, void *ctx)
{
    double y[N];
    normalise(x, y, ctx);
    for (int i = 0; i < N; i++) dx[i] = dy[i] * y[i] / x[i]; /* the dot product is missing */
}

static void without_the_last_element(const double *x, const double *dy, double *dx, void *ctx)
{
    normalise_back(x, dy, dx, ctx);
    dx[N - 1] = 0;
}

/* ---- 5: neither right nor wrong ---------------------------------------------------------------- */

static void relu(const double *x, double *y, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < N; i++) y[i] = x[i] > 0 ? x[i] : 0;
}

static void relu_back(const double *x, const double *dy, double *dx, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < N; i++) dx[i] = x[i] > 0 ? dy[i] : 0;
}

/* The squares of what `normalise` returns add up to N for every x. */
static void sum_of_squares(const double *x, double *y, void *ctx)
{
    double z[N];
    normalise(x, z, ctx);
    *y = 0;
    for (int i = 0; i < N; i++) *y += z[i] * z[i];
}

static void no_back(const double *x, const double *dy, double *dx, void *ctx)
{
    (void)x, (void)ctx;
    for (int i = 0; i < N; i++) dx[i] = 0 * *dy;
}

int main(int argc, char **argv)
{
    int first = parse_options(argc, argv,
                              "usage: 02_check_a_gradient [picture.svg]\n"
                              "Is this gradient right?\n",
                              NULL, 1);
    const double x[N] = {0.5, -1, 2, 0.25}, with_zero[N] = {0.5, -1, 0, 0.25};

    const char *const mistake[] = {"   with a wrong sign", "   with the root as a constant",
                                   "   without the last element"};
    at_vjp_fn *const wrong[] = {with_a_wrong_sign, with_r_as_a_constant, without_the_last_element};
    int passed = 0, noticed = 0;

    printf(
        "Is this gradient right?  Differences of the function tell, if the step h is well chosen.\n"
        "Look at the first word of each report, and whether \"backward says\" what \"differences\n"
        "say\" at the element that is off most; +- is how well the differences know it.  Where\n"
        "there is one, the exact derivative stands beside them, made without a step from dual\n"
        "numbers (docs/derivatives.md).  The gradient is that of sum_k u_k y_k, with random u_k\n"
        "between 0.5 and 1.5 in size: so these numbers are not the plain derivatives.\n\n");
    show_steps();
    passed += check_ops() == ATTIC_PASS;
    passed += check_plain_c("3  log sum exp, in plain C", log_sum_exp, log_sum_exp_back, 1, x) ==
              ATTIC_PASS;
    passed +=
        check_plain_c("4  RMS normalisation, right", normalise, normalise_back, N, x) == ATTIC_PASS;
    for (int i = 0; i < 3; i++)
        noticed += check_plain_c(mistake[i], normalise, wrong[i], N, x) == ATTIC_WRONG;

    at_verdict kink = check_plain_c("5  relu at 0: two one-sided derivatives, neither is right",
                                    relu, relu_back, N, with_zero);
    at_verdict constant = check_plain_c(
        "   a constant sum: its gradient is 0, so a backward that does nothing is right",
        sum_of_squares, no_back, 1, x);
    printf("\nSeen: %d of 3 right gradients pass, %d of 3 mistakes are called wrong.  Where the\n"
           "function has no derivative, the verdict is %s; where every derivative is 0, %s.\n",
           passed, noticed, at_verdict_text(kink), at_verdict_text(constant));
    bool drawn = argc <= first || draw_steps(argv[first]);
    return finish(!(drawn && passed == 3 && noticed == 3 && kink == ATTIC_NON_SMOOTH &&
                    constant == ATTIC_VACUOUS));
}
