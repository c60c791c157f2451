/* test_twin.c -- a twin in double beside a forward in float, f16 or bf16; and f16 and bf16 without
 * one. */
#include "gradcheck/gradcheck.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gradcheck/correct_tally.h"
#include "kernels/rng.h"
#include "ops/ops.h"
#include "test.h"

enum { ROWS = 5, D = 13, N = ROWS * D };

/* Row by row y = (x - mean) / sqrt(var + eps), in three ways */
typedef struct {
    double eps;   /* of the twin; that of forward is 1e-5 */
    double slope; /* dx[17] is so many times what it should be, */
    bool outputs; /* and y and dx are rounded to bf16, */
    bool inside;  /* or x and dy are */
    int forwards, twins;
} layer_norm;

static void read_row(const layer_norm *f, const float *from, float *to)
{
    for (int i = 0; i < D; i++) to[i] = f->inside ? at_correct_rounded(from[i], 8) : from[i];
}

static float moments(const float *x, float *mean)
{
    float squares = 0;
    *mean = 0;
    for (int i = 0; i < D; i++) *mean += x[i] / D;
    for (int i = 0; i < D; i++) squares += (x[i] - *mean) * (x[i] - *mean);
    return 1 / sqrtf(squares / D + 1e-5f);
}

static void forward(const float *all, float *y, void *ctx)
{
    layer_norm *f = ctx;
    float x[D], mean;
    f->forwards++;
    for (int r = 0; r < ROWS; r++) {
        read_row(f, all + r * D, x);
        const float scale = moments(x, &mean);
        for (int i = 0; i < D; i++) {
            const float v = (x[i] - mean) * scale;
            y[r * D + i] = f->outputs ? at_correct_rounded(v, 8) : v;
        }
    }
}

static void backward(const float *all, const float *dy, float *dx, void *ctx)
{
    const layer_norm *f = ctx;
    float x[D], u[D], mean;
    for (int r = 0; r < ROWS; r++) {
        read_row(f, all + r * D, x);
        read_row(f, dy + r * D, u);
        const float scale = moments(x, &mean);
        float sum = 0, along = 0;
        for (int i = 0; i < D; i++) {
            sum += u[i] / D;
            along += u[i] * (x[i] - mean) * scale / D;
        }
        for (int i = 0; i < D; i++) {
            float v = scale * (u[i] - sum - (x[i] - mean) * scale * along);
            if (r * D + i == 17) v *= (float)f->slope;
            dx[r * D + i] = f->outputs ? at_correct_rounded(v, 8) : v;
        }
    }
}

static void twin(const double *x, double *y, void *ctx)
{
    layer_norm *f = ctx;
    f->twins++;
    for (int r = 0; r < ROWS; r++, x += D, y += D) {
        double mean = 0, squares = 0;
        for (int i = 0; i < D; i++) mean += x[i] / D;
        for (int i = 0; i < D; i++) squares += (x[i] - mean) * (x[i] - mean);
        for (int i = 0; i < D; i++) y[i] = (x[i] - mean) / sqrt(squares / D + f->eps);
    }
}

static at_gradcheck_report check(layer_norm *f, at_forward_fn *with)
{
    float x[N];
    at_stream s = {7, 99};
    for (int i = 0; i < N; i++) x[i] = (float)at_random_normal(s, (uint64_t)i);
    const at_gradcheck_part parts[] = {{"x", N, at_shape_of(ROWS, D)}, {0}};
    return at_gradcheck_fn_f32(
        forward, backward, N, N, x, f,
        (at_gradcheck_options){.twin = with, .parts = parts, .seed = 3, .runs = 2});
}

/* ------------------------------------------------------------------ float ---------------------- */

START_TEST(a_twin_shows_what_float_hides)
{
    layer_norm right = {.eps = 1e-5, .slope = 1}, wrong = {.eps = 1e-5, .slope = 1.00008};
    at_gradcheck_report r = check(&right, NULL);
    ck_assert_int_eq(r.verdict, ATTIC_PASS);
    ck_assert(r.resolution > 2e-4);
    ck_assert_int_eq(check(&wrong, NULL).verdict, ATTIC_PASS);

    r = check(&right, twin);
    ck_assert_int_eq(r.verdict, ATTIC_PASS);
    ck_assert(r.resolution < 5e-5 && r.bound < 1e-10);
    ck_assert_int_eq(r.bits, 24);
    r = check(&wrong, twin);
    ck_assert_int_eq(r.verdict, ATTIC_WRONG);
    ck_assert_str_eq(r.where, "\"x\" at [1,4]");
}
END_TEST

START_TEST(n_of_an_element_takes_four_calls_of_the_twin)
{
    layer_norm f = {.eps = 1e-5, .slope = 1}, alone = f;
    ck_assert_int_eq(check(&f, twin).verdict, ATTIC_PASS);
    ck_assert_int_eq(check(&alone, NULL).verdict, ATTIC_PASS);
    ck_assert_int_le(f.twins, (4 + 2) * N + 400); /* and two, to compare it with forward */
    ck_assert_int_le(f.forwards, 2 * N + 400);
    ck_assert_int_ge(alone.forwards, 40 * N);
}
END_TEST

START_TEST(a_twin_that_is_another_function_is_a_mismatch)
{
    layer_norm f = {.eps = 2e-3, .slope = 1};
    at_gradcheck_report r = check(&f, twin);
    ck_assert_int_eq(r.verdict, ATTIC_MISMATCH);
    ck_assert_int_eq(at_verdict_status(r.verdict), 3);
    ck_assert_str_eq(at_verdict_text(r.verdict), "MISMATCH");
    ck_assert_int_eq(r.checked, 0);
    ck_assert_str_eq(r.where, "y[0]");
    ck_assert(r.analytic != r.numeric && fabs(r.analytic - r.numeric) < 3e-3);
    ck_assert_ptr_nonnull(strstr(r.reason, "the twin is not forward: at x, y[0] is "));
}
END_TEST

/* The slope differs at one side of x[2] alone. */
static void bent(const double *x, double *y, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 4; i++) y[i] = x[i] * x[i] + (i == 2 && x[i] < 1 ? 0.01 * (1 - x[i]) : 0);
}
static void square_forward(const float *x, float *y, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 4; i++) y[i] = x[i] * x[i];
}
static void square_backward(const float *x, const float *dy, float *dx, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 4; i++) dx[i] = 2 * x[i] * dy[i];
}

START_TEST(the_twin_is_compared_on_both_sides_of_each_element)
{
    const float x[] = {3, -2, 1, 0.5f};
    at_gradcheck_report r = at_gradcheck_fn_f32(square_forward, square_backward, 4, 4, x, NULL,
                                                (at_gradcheck_options){.twin = bent});
    ck_assert_int_eq(r.verdict, ATTIC_MISMATCH);
    ck_assert_ptr_nonnull(strstr(r.reason, "where x[2] is 0.875 in place of 1, y[2] is 0.765625 by "
                                           "forward and 0.766875 by the twin"));
}
END_TEST

static void twin_in_float(const double *x, double *y, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 4; i++) y[i] = (double)((float)x[i] * (float)x[i]);
}
static void twin_that_writes_x(const double *x, double *y, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 4; i++) y[i] = x[i] * x[i];
    ((double *)x)[1] = 0;
}
static void twin_that_writes_too_much(const double *x, double *y, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 5; i++) y[i] = x[i % 4] * x[i % 4];
}
static void twin_that_is_nan(const double *x, double *y, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 4; i++) y[i] = i ? x[i] * x[i] : (double)NAN;
}

static at_gradcheck_report check_square(at_forward_fn *with)
{
    const float x[] = {3, -2, 1, 0.5f};
    return at_gradcheck_fn_f32(square_forward, square_backward, 4, 4, x, NULL,
                               (at_gradcheck_options){.twin = with});
}

START_TEST(a_twin_that_breaks_a_rule_is_not_run)
{
    at_gradcheck_report r = check_square(twin_in_float);
    ck_assert_int_eq(r.verdict, ATTIC_NOT_RUN);
    ck_assert_ptr_nonnull(strstr(r.reason, "the twin computes in float"));
    r = check_square(twin_that_writes_x);
    ck_assert_int_eq(r.verdict, ATTIC_NOT_RUN);
    ck_assert_str_eq(r.reason, "the twin changes its input");
    r = check_square(twin_that_writes_too_much);
    ck_assert_int_eq(r.verdict, ATTIC_NOT_RUN);
    ck_assert_str_eq(r.reason, "the twin writes outside of y [4]: to y[4]");
    r = check_square(twin_that_is_nan);
    ck_assert_int_eq(r.verdict, ATTIC_MISMATCH);
    ck_assert_ptr_nonnull(strstr(r.reason, "at x, y[0] is 9 by forward and nan by the twin"));
}
END_TEST

static at_tensor *identity(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_scale(t, in[0], 2);
}

START_TEST(a_function_on_a_tape_has_no_twin)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(3), (double[]){1, 2, 3});
    at_gradcheck_report r =
        at_gradcheck(t, identity, &x, 1, NULL, (at_gradcheck_options){.twin = bent});
    ck_assert_int_eq(r.verdict, ATTIC_NOT_RUN);
    ck_assert_ptr_nonnull(strstr(r.reason, "a twin is for plain C functions"));
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ bf16 ------------------------ */

START_TEST(bf16_is_recognised_and_is_not_wrong)
{
    layer_norm f = {.eps = 1e-5, .slope = 1, .outputs = true};
    at_gradcheck_report r = check(&f, NULL);
    ck_assert_int_eq(r.bits, 8);
    ck_assert_int_ne(r.verdict, ATTIC_WRONG);
    ck_assert_int_eq(at_verdict_status(r.verdict), 2);
    ck_assert_ptr_nonnull(strstr(r.reason, "give a twin of forward that computes in double"));
    f.slope = -1;
    ck_assert_int_eq(check(&f, NULL).verdict, ATTIC_WRONG);
}
END_TEST

START_TEST(a_twin_sees_through_bf16_in_the_outputs_and_inside)
{
    for (int inside = 0; inside < 2; inside++) {
        layer_norm f = {.eps = 1e-5, .slope = 1, .outputs = !inside, .inside = inside};
        at_gradcheck_report r = check(&f, twin);
        ck_assert_int_eq(r.verdict, ATTIC_PASS);
        ck_assert(r.resolution < 0.15 && r.bits == 8);
        f.slope = 1.2;
        r = check(&f, twin);
        ck_assert_int_eq(r.verdict, ATTIC_WRONG);
        ck_assert_str_eq(r.where, "\"x\" at [1,4]");
        f.eps = 0.2;
        ck_assert_int_eq(check(&f, twin).verdict, ATTIC_MISMATCH);
    }
}
END_TEST

/* y = x x, of numbers with so many bits */
typedef struct {
    int n, bits;
    double factor;
} squares;

static void squares_forward(const float *x, float *y, void *ctx)
{
    const squares *f = ctx;
    for (int i = 0; i < f->n; i++) y[i] = at_correct_rounded(x[i] * x[i], f->bits);
}
static void squares_back(const float *x, const float *dy, float *dx, void *ctx)
{
    const squares *f = ctx;
    for (int i = 0; i < f->n; i++)
        dx[i] = at_correct_rounded((float)f->factor * 2 * x[i] * dy[i], f->bits);
}

static int count_wrong(squares f, int runs)
{
    int wrong = 0;
    for (int run = 0; run < runs; run++) {
        float x[16];
        at_stream s = {(uint64_t)run, 99};
        for (int i = 0; i < f.n; i++) x[i] = (float)at_random_normal(s, (uint64_t)i);
        at_gradcheck_report r =
            at_gradcheck_fn_f32(squares_forward, squares_back, f.n, f.n, x, &f,
                                (at_gradcheck_options){.seed = (uint64_t)run, .runs = 2});
        ck_assert_int_eq(r.bits, f.bits);
        wrong += r.verdict == ATTIC_WRONG;
    }
    return wrong;
}

START_TEST(squares_in_f16_and_bf16_are_wrong_only_if_they_are)
{
    for (int n = 1; n <= 16; n *= 4)
        for (int bits = 8; bits <= 11; bits += 3) {
            ck_assert_int_eq(count_wrong((squares){n, bits, 1}, 25), 0);
            ck_assert_int_ge(count_wrong((squares){n, bits, -1}, 25), 25);
            ck_assert_int_ge(count_wrong((squares){n, bits, bits == 8 ? 2 : 1.3}, 25), 23);
        }
}
END_TEST

/* Multiples of 1/16: no rounding to bf16 makes such. */
static void stairs(const float *x, float *y, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 48; i++) y[i] = rintf(x[i] * 16) / 16;
}
static void stairs_back(const float *x, const float *dy, float *dx, void *ctx)
{
    (void)x, (void)dy, (void)ctx;
    for (int i = 0; i < 48; i++) dx[i] = 0;
}

START_TEST(stairs_are_not_taken_for_bf16)
{
    float x[48];
    for (int i = 0; i < 48; i++) x[i] = (float)i / 48 - 0.5f;
    at_gradcheck_report r = at_gradcheck_fn_f32(stairs, stairs_back, 48, 48, x, NULL,
                                                (at_gradcheck_options){.runs = 2});
    ck_assert_int_eq(r.bits, 24);
}
END_TEST

/* ------------------------------------------------------------------ the corpus ----------------- */

static correct_tally tally(int bits, bool with_twin, double wrong_by)
{
    return at_tally_correct((correct_choice){.count = 500,
                                             .first = 40000,
                                             .bits = bits,
                                             .with_twin = with_twin,
                                             .wrong_by = wrong_by},
                            NULL);
}

START_TEST(correct_functions_with_a_twin_pass)
{
    const struct {
        int bits, pass; /* of a hundred */
        double wrong_by;
    } row[] = {{0, 90, 1e-3}, {11, 85, 0.03}, {8, 80, 0.2}};
    for (int i = 0; i < 3; i++) {
        correct_tally t = tally(row[i].bits, true, 0);
        ck_assert_msg(t.drawn > 100 && !t.verdicts[ATTIC_WRONG] && !t.verdicts[ATTIC_MISMATCH] &&
                          !t.verdicts[ATTIC_RACE] && !t.verdicts[ATTIC_NOT_RUN] &&
                          100 * t.verdicts[ATTIC_PASS] >= row[i].pass * t.drawn,
                      "%d bits: of %d %d WRONG, %d MISMATCH, %d PASS", row[i].bits, t.drawn,
                      t.verdicts[ATTIC_WRONG], t.verdicts[ATTIC_MISMATCH], t.verdicts[ATTIC_PASS]);
        t = tally(row[i].bits, true, row[i].wrong_by);
        ck_assert_msg(at_tally_is_found(&t), "%d bits: of %d %d found, %d passed off", row[i].bits,
                      t.drawn, t.verdicts[ATTIC_WRONG], t.passed_off);
    }
}
END_TEST

START_TEST(correct_functions_in_f16_and_bf16_are_not_wrong)
{
    for (int bits = 8; bits <= 11; bits += 3) {
        correct_tally t = tally(bits, false, 0);
        ck_assert_msg(t.drawn > 100 && t.verdicts[ATTIC_WRONG] == 0, "%d bits: %d WRONG", bits,
                      t.verdicts[ATTIC_WRONG]);
        t = tally(bits, false, -2);
        ck_assert_msg(5 * t.verdicts[ATTIC_WRONG] >= 4 * t.drawn && !t.passed_off,
                      "%d bits: of %d signs %d found", bits, t.drawn, t.verdicts[ATTIC_WRONG]);
    }
}
END_TEST

/* Each was called what it is not while one rule was missing. */
START_TEST(functions_that_were_once_misjudged)
{
    const struct {
        uint64_t number;
        int bits;
        bool with_twin;
        double wrong_by; /* 0: it is right, and so not WRONG; else it is WRONG */
    } row[] = {
        {747, 0, true, 0},    /* softmax: u - sum(u y) has cancelled, and no noise shows it */
        {1047, 8, false, 0},  /* layer norm: narrower than all steps, n goes like 1/h */
        {2037, 11, false, 0}, /* */
        {60, 8, false, 0},    /* cross entropy: the rounding of y_k is not measured alone */
        {1530, 8, false, 0},  /* mean of squares */
        {40014, 8, false, 0}, /* 1/x: directions go by the size of x, or across the pole */
        {2743, 8, true, 0},   /* bilinear sampling: a has noise at a kink as well */
        {3415, 8, true, 0},   /* max */
        {2775, 8, true, 0},   /* clamp: the limits are rounded, too */
        {109, 8, true, 0.1},  /* relu squared: the first step sees slopes that are not there */
        {307, 8, true, 0.1},  /* */
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        correct_function p = at_draw_correct(row[i].number);
        p.bits = row[i].bits;
        p.with_twin = row[i].with_twin;
        p.wrong_by = row[i].wrong_by;
        const at_verdict v = at_check_correct(&p).verdict;
        const bool called_wrong = v == ATTIC_WRONG || v == ATTIC_MISMATCH;
        ck_assert_msg(p.real == ATTIC_F32, "number %d is in double", (int)row[i].number);
        ck_assert_msg(called_wrong == (row[i].wrong_by != 0), "number %d is %s", (int)row[i].number,
                      at_verdict_text(v));
        at_forget_correct(&p);
    }
}
END_TEST

SUITE(gradcheck_twin, functions_that_were_once_misjudged, a_twin_shows_what_float_hides,
      n_of_an_element_takes_four_calls_of_the_twin, a_twin_that_is_another_function_is_a_mismatch,
      the_twin_is_compared_on_both_sides_of_each_element, a_twin_that_breaks_a_rule_is_not_run,
      a_function_on_a_tape_has_no_twin, bf16_is_recognised_and_is_not_wrong,
      a_twin_sees_through_bf16_in_the_outputs_and_inside,
      squares_in_f16_and_bf16_are_wrong_only_if_they_are, stairs_are_not_taken_for_bf16,
      correct_functions_with_a_twin_pass, correct_functions_in_f16_and_bf16_are_not_wrong)
