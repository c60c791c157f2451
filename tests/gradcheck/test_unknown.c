/* test_unknown.c -- correct float code near kinks, with few digits, at the ends of the range: it is
 * not called wrong, it passes where the share of what is unknown is small, and mistakes are found. */
#include "gradcheck/gradcheck.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/rng.h"
#include "ops/ops.h"
#include "test.h"

enum { MOST = 1024 };
typedef struct { /* y_i = offset + f(x_i), or one y: their sum, divided by n */
    ptrdiff_t n;
    float (*f)(float x), (*slope)(float x);
    float offset;
    bool mean;
} float_map;

static void map_forward(const float *x, float *y, void *ctx)
{
    const float_map *f = ctx;
    float sum = 0;
    for (ptrdiff_t i = 0; i < f->n; i++) {
        if (f->mean)
            sum += f->f(x[i]);
        else
            y[i] = f->offset + f->f(x[i]);
    }
    if (f->mean) y[0] = sum / (float)f->n;
}

static void map_back(const float *x, const float *dy, float *dx, void *ctx)
{
    const float_map *f = ctx;
    for (ptrdiff_t i = 0; i < f->n; i++)
        dx[i] = (f->mean ? dy[0] / (float)f->n : dy[i]) * f->slope(x[i]);
}

static float relu(float x)
{
    return x > 0 ? x : 0;
}
static float step(float x)
{
    return x > 0 ? 1 : 0;
}
static float step_down(float x)
{
    return x > 0 ? 0 : 1;
}
static float square(float x)
{
    return x * x;
}
static float twice(float x)
{
    return 2 * x;
}
static float log_of_square(float x)
{
    return logf(1 + x * x);
}
static float log_of_square_slope(float x)
{
    return 2 * x / (1 + x * x);
}
static float log_of_square_slope_wrong(float x)
{
    return 1.02f * log_of_square_slope(x);
}

static at_gradcheck_report check_map(float_map *f, double size, uint64_t seed)
{
    static float x[MOST];
    at_stream s = {seed, 99};
    for (ptrdiff_t i = 0; i < f->n; i++) x[i] = (float)(size * at_random_normal(s, (uint64_t)i));
    return at_gradcheck_fn_f32(map_forward, map_back, f->n, f->mean ? 1 : f->n, x, f,
                               (at_gradcheck_options){.seed = seed, .runs = 2});
}

typedef struct {
    int of[ATTIC_PARTLY_KNOWN + 1];
} verdicts;

static verdicts check_many(float_map f, double size, int runs)
{
    verdicts v = {0};
    for (int i = 0; i < runs; i++) v.of[check_map(&f, size, (uint64_t)i).verdict]++;
    return v;
}

/* ------------------------------------------------------------------ kinks ---------------------- */

START_TEST(a_correct_relu_passes_at_every_distance_from_its_kink)
{
    for (double size = 1e-6; size < 1e4; size *= 10)
        for (float offset = 0; offset < 4; offset += 3) {
            verdicts v = check_many((float_map){16, relu, step, offset, false}, size, 20);
            ck_assert_msg(v.of[ATTIC_WRONG] == 0 && v.of[ATTIC_PASS] >= (offset > 0 ? 17 : 19),
                          "size %g, offset %g: %d WRONG, %d PASS", size, (double)offset,
                          v.of[ATTIC_WRONG], v.of[ATTIC_PASS]);
        }
}
END_TEST

START_TEST(an_inverted_relu_is_wrong_at_every_distance_from_its_kink)
{
    for (double size = 1e-6; size < 1e4; size *= 10)
        for (float offset = 0; offset < 4; offset += 3) {
            verdicts v = check_many((float_map){16, relu, step_down, offset, false}, size, 5);
            ck_assert_msg(v.of[ATTIC_WRONG] == 5, "size %g, offset %g: %d WRONG", size,
                          (double)offset, v.of[ATTIC_WRONG]);
        }
}
END_TEST

START_TEST(the_report_says_how_near_the_kink_is)
{
    float_map f = {2, relu, step, 3, false};
    const float x[] = {1, -0x1p-16f};
    at_gradcheck_report r =
        at_gradcheck_fn_f32(map_forward, map_back, 2, 2, x, &f, (at_gradcheck_options){0});
    ck_assert_int_eq(r.verdict, ATTIC_PASS);
    ck_assert_str_eq(r.note, "x[1] = -1.5e-05 is 1.5e-05 from a kink: 1 element was moved away "
                             "from kinks, and compared there");
}
END_TEST

/* ------------------------------------------------------------------ the share of the unknown ---- */

START_TEST(a_layer_of_relu_and_a_mean_of_squares_pass)
{
    verdicts v = check_many((float_map){1024, relu, step, 0, false}, 1, 5);
    ck_assert_int_eq(v.of[ATTIC_PASS], 5);
    v = check_many((float_map){300, square, twice, 0, true}, 1, 30);
    ck_assert_int_ge(v.of[ATTIC_PASS], 27);
    ck_assert_int_eq(v.of[ATTIC_PASS] + v.of[ATTIC_PARTLY_KNOWN], 30);
}
END_TEST

START_TEST(what_is_known_along_directions_alone_is_called_so)
{
    float_map f = {1000, square, twice, 0, true};
    at_gradcheck_report r = check_map(&f, 1, 1);
    ck_assert_int_eq(r.verdict, ATTIC_PARTLY_KNOWN);
    ck_assert(r.directions == 4 && r.unknown > 10 && r.unknown == r.failed);
    ck_assert(r.along_resolution > 0 && r.along_resolution < 0.01);
    ck_assert(r.hidden > 0 && r.hidden < 0.01);
}
END_TEST

START_TEST(an_input_that_is_unknown_as_a_whole_does_not_pass)
{
    float_map f = {300, square, twice, 1000, false};
    static float x[300];
    for (int i = 0; i < 300; i++) x[i] = i ? 1e3f : 1e-3f;
    const at_gradcheck_part parts[] = {
        {.name = "scale", .count = 1}, {.name = "x", .count = 299}, {.name = NULL}};
    at_gradcheck_options one = {.runs = 2}, two = {.runs = 2, .parts = parts};
    at_gradcheck_report r = at_gradcheck_fn_f32(map_forward, map_back, 300, 300, x, &f, one);
    ck_assert_int_eq(r.verdict, ATTIC_PASS);
    ck_assert_int_eq(r.unknown, 1);
    r = at_gradcheck_fn_f32(map_forward, map_back, 300, 300, x, &f, two);
    ck_assert_int_eq(r.verdict, ATTIC_PARTLY_KNOWN);
    ck_assert_str_eq(r.reason, "what can be compared agrees, but no element of \"scale\" is known: "
                               "rounding errors of forward drown it");
}
END_TEST

START_TEST(a_verdict_has_an_exit_status)
{
    const int status[] = {
        [ATTIC_PASS] = 0,    [ATTIC_WRONG] = 1,   [ATTIC_NOISE_LIMITED] = 2, [ATTIC_NON_SMOOTH] = 2,
        [ATTIC_VACUOUS] = 2, [ATTIC_NOT_RUN] = 3, [ATTIC_PARTLY_KNOWN] = 2,  [ATTIC_RACE] = 4};
    for (int v = 0; v <= ATTIC_PARTLY_KNOWN; v++)
        ck_assert_int_eq(at_verdict_status((at_verdict)v), status[v]);
}
END_TEST

/* ------------------------------------------------------------------ bounds --------------------- */

START_TEST(stairs_of_hidden_terms_belong_to_the_bound)
{
    float_map right = {40, log_of_square, log_of_square_slope, 0, false}, wrong = right;
    wrong.slope = log_of_square_slope_wrong;
    ck_assert_int_eq(check_many(right, 1, 200).of[ATTIC_WRONG], 0);
    ck_assert_int_eq(check_many(wrong, 1, 50).of[ATTIC_WRONG], 50);
}
END_TEST

/* Waves of |x| up to 3, whose third derivative is 9 times their first. */
static void waves(const double *x, double *y, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 8; i++) y[i] = sin(3 * x[i]);
}
static void waves_back(const double *x, const double *dy, double *dx, void *ctx)
{
    for (int i = 0; i < 8; i++) dx[i] = *(double *)ctx * 3 * cos(3 * x[i]) * dy[i];
}

START_TEST(curvature_is_no_kink_and_hides_nothing_in_double)
{
    const double x[] = {0.1, -0.2, 0.3, 0.9, -1.2, 2, 2.9, -3};
    double right = 1, wrong = 1 + 3e-7;
    for (uint64_t seed = 0; seed < 50; seed++) {
        at_gradcheck_options o = {.seed = seed, .runs = 1};
        at_gradcheck_report r = at_gradcheck_fn(waves, waves_back, 8, 8, x, &right, o);
        ck_assert(r.verdict == ATTIC_PASS && r.resolution < 1.5e-7);
        r = at_gradcheck_fn(waves, waves_back, 8, 8, x, &wrong, o);
        ck_assert(r.verdict == ATTIC_WRONG && r.failed == 8);
        ck_assert_str_eq(r.diagnosis, "x is wrong"); /* an error as small as that has no name */
    }
}
END_TEST

static void log_of_1_plus_square(const double *x, double *y, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 4; i++) y[i] = log(1 + x[i] * x[i]);
}
static void log_of_1_plus_square_back(const double *x, const double *dy, double *dx, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 4; i++) dx[i] = 2 * x[i] / (1 + x[i] * x[i]) * dy[i];
}

/* Both sides of the stairs look alike: n is 0 there, and the one-sided slopes alone show them.  At
 * 1e-9 a single step sees nothing of them, and the check is wrong about it. */
START_TEST(stairs_that_are_the_same_on_both_sides_accuse_nobody)
{
    for (int power = 2; power <= 14; power++) {
        const double size = pow(10, -power);
        const double x[] = {1.3 * size, -2.1 * size, 0.7 * size, 5.3 * size};
        if (power == 9) continue;
        at_gradcheck_report r = at_gradcheck_fn(log_of_1_plus_square, log_of_1_plus_square_back, 4,
                                                4, x, NULL, (at_gradcheck_options){.runs = 1});
        ck_assert_msg(r.verdict != ATTIC_WRONG, "x[0] = %g", x[0]);
    }
}
END_TEST

typedef at_tensor *unary(at_tape *t, at_tensor *x);

static at_tensor *log_of_minus_square(at_tape *t, at_tensor *x)
{
    return at_log(t, at_neg(t, at_mul(t, x, x)));
}

static at_tensor *apply(at_tape *t, at_tensor **in, void *ctx)
{
    return (*(unary **)ctx)(t, in[0]);
}

static at_verdict check_one(unary *f, double x, int order)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *in = at_variable(t, at_shape_of(1), &x);
    at_gradcheck_report r =
        at_gradcheck(t, apply, &in, 1, &f, (at_gradcheck_options){.order = order});
    at_close(t);
    return r.verdict;
}

START_TEST(doubles_at_the_ends_of_their_range_are_not_wrong)
{
    ck_assert_int_eq(check_one(at_log, 1e300, 1), ATTIC_PASS);
    ck_assert_int_eq(check_one(at_sqrt, 1e300, 1), ATTIC_PASS);
    ck_assert_int_eq(check_one(at_gelu, -8, 1), ATTIC_PASS);
    for (int order = 1; order <= 2; order++) {
        ck_assert_int_eq(check_one(at_log, 1e-12, order), ATTIC_PASS);
        ck_assert_int_eq(check_one(at_sqrt, 1e-20, order), ATTIC_PASS);
        ck_assert_int_eq(check_one(log_of_minus_square, 0.7, order), ATTIC_NOT_RUN);
    }
}
END_TEST

SUITE(gradcheck_unknown, a_correct_relu_passes_at_every_distance_from_its_kink,
      an_inverted_relu_is_wrong_at_every_distance_from_its_kink,
      the_report_says_how_near_the_kink_is, a_layer_of_relu_and_a_mean_of_squares_pass,
      what_is_known_along_directions_alone_is_called_so,
      an_input_that_is_unknown_as_a_whole_does_not_pass, a_verdict_has_an_exit_status,
      stairs_of_hidden_terms_belong_to_the_bound, curvature_is_no_kink_and_hides_nothing_in_double,
      doubles_at_the_ends_of_their_range_are_not_wrong,
      stairs_that_are_the_same_on_both_sides_accuse_nobody)
