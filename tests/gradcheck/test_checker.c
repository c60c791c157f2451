/* test_checker.c -- the checker is checked: each kind of mistake gets its verdict, and nothing
 * else does. */
#include "gradcheck/gradcheck.h"

#include <locale.h>
#include <math.h>
#include <string.h>

#include "attic_op.h"
#include "tensor/arena.h"
#include "test.h"

/* ------------------------------------------------------------------ functions in plain C -------- */

enum { N = 5 };
static const double some_x[N] = {0.3, -0.7, 1.2, -1.9, 0.05};
static double factor = 1; /* by which a planted mistake is off */
static int forwards;      /* how often a forward ran */

#define EACH for (int i = 0; i < N; i++)
#define FORWARD(name) static void name(const double *x, double *y, void *ctx)
#define VJP(name) static void name(const double *x, const double *dy, double *dx, void *ctx)
#define UNUSED (void)x, (void)ctx

/* y_i = exp(x_i) */
FORWARD(exp_all)
{
    UNUSED;
    forwards++;
    EACH y[i] = exp(x[i]);
}
VJP(exp_vjp)
{
    UNUSED;
    EACH dx[i] = dy[i] * exp(x[i]);
}
VJP(exp_vjp_times_factor)
{
    UNUSED;
    EACH dx[i] = factor * dy[i] * exp(x[i]);
}
VJP(exp_vjp_wrong_at_3)
{
    exp_vjp(x, dy, dx, ctx);
    dx[3] *= 1.000001;
}
VJP(exp_vjp_of_size)
{
    UNUSED;
    EACH dx[i] = fabs(dy[i]) * exp(x[i]);
}
VJP(no_vjp)
{
    UNUSED;
    (void)dy;
    EACH dx[i] = 0;
}

VJP(vjp_with_an_offset)
{
    exp_vjp(x, dy, dx, ctx);
    dx[0] += 1e-12;
}

/* y_i = x_i x_{i+1} */
FORWARD(neighbours)
{
    UNUSED;
    EACH y[i] = x[i] * x[(i + 1) % N];
}
VJP(neighbours_vjp_without_one_term)
{
    UNUSED;
    EACH dx[i] = dy[i] * x[(i + 1) % N]; /* and dy[i-1] x[i-1] is forgotten */
}

/* y = max(x, 0), with a choice of what to say at 0 */
FORWARD(relu_all)
{
    UNUSED;
    EACH y[i] = x[i] > 0 ? x[i] : 0;
}
VJP(relu_vjp)
{
    double at_zero = ctx ? *(double *)ctx : 0;
    EACH dx[i] = dy[i] * (x[i] > 0 ? 1 : x[i] < 0 ? 0 : at_zero);
}
FORWARD(stairs)
{
    UNUSED;
    EACH y[i] = floor(x[i]) + x[i];
}
VJP(stairs_vjp)
{
    UNUSED;
    EACH dx[i] = dy[i];
}

/* y = x^2, with noise, in float, or far from 0 */
FORWARD(square_with_noise)
{
    UNUSED;
    EACH
    {
        at_stream of_x = {0, 0};
        memcpy(&of_x.seed, &x[i], sizeof of_x.seed);
        y[i] = x[i] * x[i] + 1e-3 * at_random_unit(of_x, 0);
    }
}
FORWARD(square_in_float)
{
    UNUSED;
    EACH y[i] = (double)((float)x[i] * (float)x[i]);
}
FORWARD(square_far_away)
{
    UNUSED;
    EACH y[i] = 1e12 + x[i] * x[i];
}
FORWARD(square_all)
{
    UNUSED;
    EACH y[i] = x[i] * x[i];
}
VJP(square_vjp)
{
    UNUSED;
    EACH dx[i] = 2 * x[i] * dy[i];
}
FORWARD(bells)
{
    UNUSED;
    EACH y[i] = exp(-200 * x[i] * x[i]);
}
VJP(bells_vjp_times_factor)
{
    UNUSED;
    EACH dx[i] = dy[i] * -400 * x[i] * exp(-200 * x[i] * x[i]) * factor;
}
VJP(square_vjp_wrong_sign)
{
    UNUSED;
    EACH dx[i] = -2 * x[i] * dy[i];
}

/* y_i = exp(x_i) / sum_j exp(x_j) */
FORWARD(softmax_all)
{
    double sum = 0;
    UNUSED;
    EACH sum += exp(x[i]);
    EACH y[i] = exp(x[i]) / sum;
}
/* y = sum_i of that: 1, whatever x is */
FORWARD(softmax_sum)
{
    double y_all[N];
    softmax_all(x, y_all, ctx);
    y[0] = y_all[0] + y_all[1] + y_all[2] + y_all[3] + y_all[4];
}
FORWARD(constant)
{
    UNUSED;
    EACH y[i] = 3;
}

static at_gradcheck_report check_at(at_forward_fn *forward, at_vjp_fn *vjp, const double *x)
{
    return at_gradcheck_fn(forward, vjp, N, N, x, NULL, (at_gradcheck_options){0});
}

static at_gradcheck_report check_plain(at_forward_fn *forward, at_vjp_fn *vjp)
{
    return check_at(forward, vjp, some_x);
}

#define assert_verdict(report, expected)                                                           \
    ck_assert_msg((report).verdict == (expected), "%s (%s at %s), not %s",                         \
                  at_verdict_text((report).verdict), (report).reason, (report).where,              \
                  at_verdict_text(expected))

static void assert_broken(at_gradcheck_report r, const char *reason, const char *where)
{
    assert_verdict(r, ATTIC_WRONG);
    ck_assert_str_eq(r.reason, reason);
    ck_assert_str_eq(r.where, where);
}

/* ------------------------------------------------------------------ right and wrong ------------ */

START_TEST(a_right_gradient_passes)
{
    at_gradcheck_report r = check_plain(exp_all, exp_vjp);
    assert_verdict(r, ATTIC_PASS);
    ck_assert_int_eq(r.checked, N);
    ck_assert_int_eq(r.failed, 0);
    ck_assert_double_lt(r.error, 1e-10);
    ck_assert_double_lt(r.resolution, 2e-7);
}
END_TEST

START_TEST(a_wrong_sign_is_wrong_and_called_by_its_name)
{
    factor = -1;
    at_gradcheck_report r = check_plain(exp_all, exp_vjp_times_factor);
    assert_verdict(r, ATTIC_WRONG);
    ck_assert_int_eq(r.failed, N);
    ck_assert_str_eq(r.reason,
                     "backward is not the derivative of forward, but -1 times it everywhere");
    assert_close(r.error, 2, 1e-9);
}
END_TEST

START_TEST(a_factor_shows_down_to_the_resolution)
{
    double resolution = check_plain(exp_all, exp_vjp).resolution;
    factor = 1 + 1.01 * resolution;
    assert_verdict(check_plain(exp_all, exp_vjp_times_factor), ATTIC_WRONG);
    factor = 1 + 0.5 * resolution;
    assert_verdict(check_plain(exp_all, exp_vjp_times_factor), ATTIC_PASS);
}
END_TEST

START_TEST(one_wrong_element_is_found_and_named)
{
    at_gradcheck_report r = check_plain(exp_all, exp_vjp_wrong_at_3);
    assert_verdict(r, ATTIC_WRONG);
    ck_assert_int_eq(r.failed, 1);
    ck_assert_int_eq(r.element, 3);
    ck_assert_str_eq(r.where, "x[3]");
    assert_close(r.analytic / r.numeric, 1.000001, 1e-9);
}
END_TEST

START_TEST(a_missing_term_is_wrong)
{
    assert_verdict(check_plain(neighbours, neighbours_vjp_without_one_term), ATTIC_WRONG);
}
END_TEST

START_TEST(a_missing_backward_is_wrong)
{
    assert_verdict(check_plain(exp_all, no_vjp), ATTIC_WRONG);
    assert_verdict(check_plain(softmax_all, no_vjp), ATTIC_WRONG);
}
END_TEST

VJP(vjp_of_nan)
{
    exp_vjp(x, dy, dx, ctx);
    dx[2] = (double)NAN * dy[0];
}

START_TEST(a_gradient_that_is_no_number_is_wrong)
{
    at_gradcheck_report r = check_plain(exp_all, vjp_of_nan);
    assert_verdict(r, ATTIC_WRONG);
    ck_assert_int_eq(r.element, 2);
}
END_TEST

/* ------------------------------------------------------------------ no derivative --------------- */

START_TEST(a_kink_is_non_smooth)
{
    const double x[N] = {0.3, -0.7, 0, -1.9, 0.05};
    at_gradcheck_report r = check_at(relu_all, relu_vjp, x);
    assert_verdict(r, ATTIC_NON_SMOOTH);
    ck_assert_int_eq(r.element, 2);
    ck_assert_int_eq(r.failed, 1);
}
END_TEST

START_TEST(a_kink_is_non_smooth_even_where_differences_agree)
{
    const double x[N] = {0.3, -0.7, 0, -1.9, 0.05};
    double half = 0.5; /* what central differences say, too */
    at_gradcheck_report r =
        at_gradcheck_fn(relu_all, relu_vjp, N, N, x, &half, (at_gradcheck_options){0});
    assert_verdict(r, ATTIC_NON_SMOOTH);
}
END_TEST

START_TEST(what_lies_outside_of_both_sides_of_a_kink_is_wrong)
{
    const double x[N] = {0.3, -0.7, 0, -1.9, 0.05};
    double outside = 1.1;
    at_gradcheck_report r =
        at_gradcheck_fn(relu_all, relu_vjp, N, N, x, &outside, (at_gradcheck_options){0});
    assert_verdict(r, ATTIC_WRONG);
}
END_TEST

START_TEST(a_kink_close_by_is_walked_around)
{
    const double x[N] = {1e-3, -1e-4, 1e-5, -1e-6, 1e-7};
    assert_verdict(check_at(relu_all, relu_vjp, x), ATTIC_PASS);
}
END_TEST

START_TEST(a_jump_is_non_smooth)
{
    const double x[N] = {0.3, -0.7, 1, -1.9, 0.05};
    at_gradcheck_report r = check_at(stairs, stairs_vjp, x);
    assert_verdict(r, ATTIC_NON_SMOOTH);
    ck_assert_int_eq(r.element, 2);
    assert_verdict(check_plain(stairs, stairs_vjp), ATTIC_PASS);
}
END_TEST

FORWARD(root_all)
{
    UNUSED;
    EACH y[i] = sqrt(x[i]);
}
VJP(root_vjp)
{
    UNUSED;
    EACH dx[i] = dy[i] / (2 * sqrt(x[i]));
}

START_TEST(the_edge_of_the_domain_is_non_smooth)
{
    const double x[N] = {1, 0.5, 0, 2, 0.1};
    assert_verdict(check_at(root_all, root_vjp, x), ATTIC_NON_SMOOTH);
}
END_TEST

/* ------------------------------------------------------------------ noise ---------------------- */

START_TEST(noise_is_told_from_a_wrong_gradient)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        at_gradcheck_options o = {.seed = seed};
        const at_gradcheck_report r =
            at_gradcheck_fn(square_with_noise, square_vjp, N, N, some_x, NULL, o);
        ck_assert_int_eq(at_verdict_status(r.verdict), 2);
        assert_verdict(
            at_gradcheck_fn(square_with_noise, square_vjp_wrong_sign, N, N, some_x, NULL, o),
            ATTIC_WRONG);
    }
}
END_TEST

START_TEST(a_large_offset_drowns_the_derivative)
{
    at_gradcheck_report r = check_plain(square_far_away, square_vjp);
    assert_verdict(r, ATTIC_NOISE_LIMITED);
    ck_assert_double_gt(r.resolution, 1e-4);
}
END_TEST

START_TEST(computing_in_float_costs_resolution_but_not_the_verdict)
{
    at_gradcheck_report r = check_plain(square_in_float, square_vjp);
    assert_verdict(r, ATTIC_PASS);
    ck_assert_double_gt(r.resolution, 1e-6);
    ck_assert_double_lt(r.resolution, 1e-3);
}
END_TEST

/* ------------------------------------------------------------------ steps ---------------------- */

FORWARD(steep)
{
    UNUSED;
    EACH y[i] = exp(200 * x[i]) + sin(1000 * x[i]);
}
VJP(steep_vjp)
{
    UNUSED;
    EACH dx[i] = dy[i] * (200 * exp(200 * x[i]) + 1000 * cos(1000 * x[i]));
}

START_TEST(steep_functions_get_smaller_steps)
{
    const double x[N] = {0.01, -0.02, 0.03, -0.1, 0};
    at_gradcheck_report r = check_at(steep, steep_vjp, x);
    assert_verdict(r, ATTIC_PASS);
    ck_assert_double_lt(r.step, 1e-4);
}
END_TEST

START_TEST(every_element_has_a_step_of_its_own_size)
{
    const double x[N] = {1e6, 1, 1e-6, 1e3, 1e-3};
    assert_verdict(check_at(root_all, root_vjp, x), ATTIC_PASS);
    assert_verdict(check_at(square_all, square_vjp, x), ATTIC_PASS);
}
END_TEST

/* ------------------------------------------------------------------ nothing to see -------------- */

START_TEST(a_constant_is_vacuous)
{
    at_gradcheck_report r = check_plain(constant, no_vjp);
    assert_verdict(r, ATTIC_VACUOUS);
    ck_assert_int_eq(r.failed, 0);
    ck_assert(isinf(r.resolution));
}
END_TEST

START_TEST(the_sum_of_a_softmax_is_vacuous)
{
    at_gradcheck_report r =
        at_gradcheck_fn(softmax_sum, no_vjp, N, 1, some_x, NULL, (at_gradcheck_options){0});
    assert_verdict(r, ATTIC_VACUOUS);
}
END_TEST

FORWARD(nothing)
{
    (void)y;
    UNUSED;
}
VJP(nothing_back)
{
    (void)dy, (void)dx;
    UNUSED;
}

START_TEST(no_elements_are_vacuous)
{
    at_gradcheck_report r =
        at_gradcheck_fn(nothing, nothing_back, 0, 3, NULL, NULL, (at_gradcheck_options){0});
    ck_assert_str_eq(r.reason, "y[0] is not written by forward");
    r = at_gradcheck_fn(nothing, nothing_back, 0, 0, NULL, NULL, (at_gradcheck_options){0});
    assert_verdict(r, ATTIC_VACUOUS);
    ck_assert_str_eq(r.reason, "there is no element to check");
}
END_TEST

START_TEST(a_point_outside_of_the_domain_is_not_run)
{
    at_gradcheck_report r = check_plain(root_all, root_vjp);
    assert_verdict(r, ATTIC_NOT_RUN);
    ck_assert_str_eq(r.reason, "y[1] = f(x) is not a number at this x");
}
END_TEST

FORWARD(masked)
{
    exp_all(x, y, ctx);
    y[1] = -(double)INFINITY;
}
VJP(masked_vjp)
{
    exp_vjp(x, dy, dx, ctx);
    dx[1] = 0;
}

START_TEST(an_output_that_stays_infinite_does_not_disturb)
{
    assert_verdict(check_plain(masked, masked_vjp), ATTIC_PASS);
}
END_TEST

/* ------------------------------------------------------------------ directions ------------------ */

START_TEST(random_directions_need_few_forwards_and_see_a_wrong_factor)
{
    at_gradcheck_options two = {.directions = 2, .runs = 1};
    forwards = 0;
    at_gradcheck_report r = at_gradcheck_fn(exp_all, exp_vjp, N, N, some_x, NULL, two);
    assert_verdict(r, ATTIC_PASS);
    ck_assert_int_eq(r.checked, 2);
    ck_assert_int_lt(forwards, 50);
    factor = 1.00001;
    r = at_gradcheck_fn(exp_all, exp_vjp_times_factor, N, N, some_x, NULL, two);
    assert_verdict(r, ATTIC_WRONG);
    ck_assert(strncmp(r.where, "direction ", 10) == 0);
}
END_TEST

START_TEST(the_seed_alone_decides_what_is_drawn)
{
    at_gradcheck_options one = {.seed = 1}, two = {.seed = 2};
    at_gradcheck_report a = at_gradcheck_fn(exp_all, exp_vjp, N, N, some_x, NULL, one);
    at_gradcheck_report b = at_gradcheck_fn(exp_all, exp_vjp, N, N, some_x, NULL, one);
    at_gradcheck_report c = at_gradcheck_fn(exp_all, exp_vjp, N, N, some_x, NULL, two);
    ck_assert(a.analytic == b.analytic && a.numeric == b.numeric);
    ck_assert(a.analytic != c.analytic);
    ck_assert_uint_eq(c.seed, 2);
}
END_TEST

START_TEST(the_tolerance_can_be_chosen)
{
    factor = 1.001;
    at_gradcheck_options loose = {.tolerance = 1e-2};
    at_gradcheck_report r =
        at_gradcheck_fn(exp_all, exp_vjp_times_factor, N, N, some_x, NULL, loose);
    assert_verdict(r, ATTIC_PASS);
    assert_close(r.resolution, 1e-2, 1e-6);
}
END_TEST

/* ------------------------------------------------------------------ what the report says -------- */

/* y = (x - mean) / sqrt(variance + 1e-5), and what it is for very small x, too */
static double layer_stats_of(const double *x, double *mean)
{
    double variance = 0;
    *mean = 0;
    EACH *mean += x[i] / N;
    EACH variance += (x[i] - *mean) * (x[i] - *mean) / N;
    return 1 / sqrt(variance + 1e-5);
}
FORWARD(layer_norm_all)
{
    UNUSED;
    double mean, s = layer_stats_of(x, &mean);
    EACH y[i] = (x[i] - mean) * s;
}
VJP(layer_norm_vjp)
{
    double mean, s = layer_stats_of(x, &mean), sum = 0, dot = 0;
    UNUSED;
    EACH sum += dy[i] / N;
    EACH dot += dy[i] * (x[i] - mean) * s / N;
    EACH dx[i] = s * (dy[i] - sum - (x[i] - mean) * s * dot);
}

START_TEST(the_printed_bound_holds_for_a_layer_norm_of_small_numbers)
{
    for (double scale = 1; scale > 1e-8; scale /= 4) {
        double x[N];
        EACH x[i] = scale * some_x[i];
        at_gradcheck_report r = check_at(layer_norm_all, layer_norm_vjp, x);
        assert_verdict(r, ATTIC_PASS);
        assert_close(r.numeric, r.analytic, r.bound + 1e-14 * fabs(r.analytic));
        ck_assert_double_lt(r.bound, 1e-8 * fabs(r.analytic));
    }
}
END_TEST

/* The error of the first step, 1.7e-5, is that of backward. */
START_TEST(a_mistake_does_not_hide_behind_the_error_of_a_step)
{
    double x[N];
    EACH x[i] = 0.40101;
    factor = 1 - 1.715e-5;
    at_gradcheck_report r =
        at_gradcheck_fn(bells, bells_vjp_times_factor, N, N, x, NULL, (at_gradcheck_options){0});
    ck_assert_int_eq(r.verdict, ATTIC_WRONG);
    factor = 1;
    r = at_gradcheck_fn(bells, bells_vjp_times_factor, N, N, x, NULL, (at_gradcheck_options){0});
    ck_assert_int_eq(r.verdict, ATTIC_PASS);
}
END_TEST

START_TEST(a_mistake_does_not_hide_behind_the_rounding_of_backward)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        at_gradcheck_report r = at_gradcheck_fn(exp_all, exp_vjp_of_size, N, N, some_x, NULL,
                                                (at_gradcheck_options){.seed = seed});
        bool negative = false; /* the upstream gradient of some element: 1 in 32 draws has none */
        EACH negative |= at_random_unit((at_stream){seed, 0}, (uint64_t)i) < 0.5;
        ck_assert_int_eq(r.verdict, negative ? ATTIC_WRONG : ATTIC_PASS);
    }
}
END_TEST

START_TEST(an_order_that_is_none_is_refused)
{
    at_gradcheck_report r = at_gradcheck_fn(square_all, square_vjp, N, N, some_x, NULL,
                                            (at_gradcheck_options){.order = 2});
    ck_assert_int_eq(r.verdict, ATTIC_NOT_RUN);
    ck_assert_str_eq(r.reason, "order is 2, but must be 1: 2 is for at_gradcheck alone");
}
END_TEST

#define PART(its_name, elements)                                                                   \
    {                                                                                              \
        .name = (its_name), .count = (elements)                                                    \
    }

START_TEST(parts_of_x_have_names)
{
    const at_gradcheck_part parts[] = {PART("weight", 2), PART("none", 0), PART("bias", 3), {0}};
    at_gradcheck_options named = {.parts = parts};
    at_gradcheck_report r = at_gradcheck_fn(exp_all, exp_vjp_wrong_at_3, N, N, some_x, NULL, named);
    assert_verdict(r, ATTIC_WRONG);
    ck_assert_str_eq(r.where, "\"bias\" at [1]");
    ck_assert_int_eq(r.element, 3);
    r = at_gradcheck_fn(exp_all, vjp_with_an_offset, N, N, some_x, NULL, named);
    assert_broken(r, "an upstream gradient of 0 gives a gradient", "\"weight\" at [0]");
}
END_TEST

START_TEST(parts_that_do_not_make_up_x_are_refused)
{
    const at_gradcheck_part few[] = {PART("weight", 2), {0}};
    const at_gradcheck_part many[] = {PART("weight", 2), PART("bias", 4), {0}};
    const at_gradcheck_part negative[] = {PART("weight", -2), PART("bias", 7), {0}};
    const at_gradcheck_part *const bad[] = {few, many, negative};
    const char *const reason[] = {
        "the parts of x have 2 elements together, x has 5",
        "part \"bias\" of x has 4 elements, but x [5] has only 3 left for it",
        "part \"weight\" of x has -2 elements, but x [5] has only 5 left for it"};
    for (int i = 0; i < 3; i++) {
        at_gradcheck_options options = {.parts = bad[i]};
        at_gradcheck_report r = at_gradcheck_fn(exp_all, exp_vjp, N, N, some_x, NULL, options);
        assert_verdict(r, ATTIC_NOT_RUN);
        ck_assert_str_eq(r.reason, reason[i]);
    }
}
END_TEST

START_TEST(a_long_name_of_a_part_is_cut)
{
    char name[300];
    memset(name, 'w', sizeof name);
    name[sizeof name - 1] = 0;
    const at_gradcheck_part parts[] = {PART(name, N), {0}};
    at_gradcheck_report r = at_gradcheck_fn(exp_all, exp_vjp, N, N, some_x, NULL,
                                            (at_gradcheck_options){.parts = parts});
    assert_verdict(r, ATTIC_PASS);
    ck_assert_uint_lt(strlen(r.where), sizeof r.where);
    ck_assert_ptr_nonnull(strstr(r.where, "\" at ["));
}
END_TEST

/* ------------------------------------------------------------------ the rules ------------------ */

static void spoil(const double *x, int i)
{
    double *p;
    memcpy(&p, &x, sizeof p); /* around const, as bugs go */
    p[i] += 1;
}
FORWARD(writing_to_its_input)
{
    exp_all(x, y, ctx);
    spoil(x, 3);
}
VJP(vjp_writing_to_its_input)
{
    exp_vjp(x, dy, dx, ctx);
    spoil(x, 3);
}
VJP(vjp_writing_to_its_cotangent)
{
    exp_vjp(x, dy, dx, ctx);
    spoil(dy, 2);
}
FORWARD(different_every_time)
{
    exp_all(x, y, ctx);
    y[4] += forwards;
}
VJP(vjp_different_every_time)
{
    exp_vjp(x, dy, dx, ctx);
    dx[4] += 1e-9 * forwards++;
}

START_TEST(forward_must_not_change_its_input)
{
    assert_broken(check_plain(writing_to_its_input, exp_vjp), "forward changes its input", "x[3]");
}
END_TEST

START_TEST(backward_must_not_change_its_input)
{
    assert_broken(check_plain(exp_all, vjp_writing_to_its_input), "backward changes its input",
                  "x[3]");
}
END_TEST

START_TEST(backward_must_not_change_its_cotangent)
{
    assert_broken(check_plain(exp_all, vjp_writing_to_its_cotangent),
                  "backward changes its upstream gradient", "dy[2]");
}
END_TEST

static void assert_race(at_gradcheck_report r, const char *reason, const char *where)
{
    assert_verdict(r, ATTIC_RACE);
    ck_assert_ptr_nonnull(strstr(r.reason, reason));
    ck_assert_str_eq(r.where, where);
}

START_TEST(forward_must_give_the_same_values_again)
{
    assert_race(check_plain(different_every_time, exp_vjp),
                "forward gives other values when it runs again, in 88 of 88 pairs of runs", "y[4]");
}
END_TEST

START_TEST(backward_must_give_the_same_values_again)
{
    assert_race(check_plain(exp_all, vjp_different_every_time),
                "backward gives other values when it runs again, in 88 of 88 pairs of runs",
                "x[4]");
}
END_TEST

START_TEST(a_cotangent_of_zero_must_give_zero)
{
    assert_broken(check_plain(exp_all, vjp_with_an_offset),
                  "an upstream gradient of 0 gives a gradient", "x[0]");
}
END_TEST

/* ------------------------------------------------------------------ ops on a tape --------------- */

/* y = x x: small ops of our own, right and wrong in many ways */
static void square_node(at_node *n)
{
    const double *x = n->in[0]->data;
    double *y = n->out[0]->data;
    for (ptrdiff_t i = at_count(n->out[0]->shape); i-- > 0;) y[i] = x[i] * x[i];
}
static void square_node_back(at_node *n)
{
    const double *x = n->in[0]->data, *dy = n->out[0]->grad;
    double *dx = at_grad(n, 0);
    for (ptrdiff_t i = at_count(n->out[0]->shape); i-- > 0;) dx[i] += 2 * x[i] * dy[i];
}
static void square_node_back_half(at_node *n)
{
    const double *x = n->in[0]->data, *dy = n->out[0]->grad;
    double *dx = at_grad(n, 0);
    for (ptrdiff_t i = at_count(n->out[0]->shape); i-- > 0;) dx[i] += x[i] * dy[i];
}
static void square_node_back_overwriting(at_node *n)
{
    const double *x = n->in[0]->data, *dy = n->out[0]->grad;
    double *dx = at_grad(n, 0);
    for (ptrdiff_t i = at_count(n->out[0]->shape); i-- > 0;) dx[i] = 2 * x[i] * dy[i];
}
static void square_node_in_place(at_node *n)
{
    double *x = n->in[0]->data;
    square_node(n);
    x[1] = 7;
}
static int node_runs;
static void square_node_once_right(at_node *n)
{
    square_node(n);
    if (node_runs++ > 0) ((double *)n->out[0]->data)[1] += 1;
}
/* y = a b, added up twice into one and the same tensor when a is b */
static void product_node(at_node *n)
{
    const double *a = n->in[0]->data, *b = n->in[1]->data;
    double *y = n->out[0]->data;
    for (ptrdiff_t i = at_count(n->out[0]->shape); i-- > 0;) y[i] = a[i] * b[i];
}
static void product_node_back(at_node *n)
{
    const double *a = n->in[0]->data, *b = n->in[1]->data, *dy = n->out[0]->grad;
    double *da = at_grad(n, 0), *db = at_grad(n, 1);
    for (ptrdiff_t i = at_count(n->out[0]->shape); i-- > 0;) {
        if (da) da[i] += b[i] * dy[i];
        if (db) db[i] += a[i] * dy[i];
    }
}
static void rank_node(at_node *n)
{
    ((int32_t *)n->out[0]->data)[0] = 1;
}

#define OP(name, forward, backward)                                                                \
    static const at_op name = {#name, {forward, forward}, {backward, backward}, false}
OP(right_op, square_node, square_node_back);
OP(half_op, square_node, square_node_back_half);
OP(overwriting_op, square_node, square_node_back_overwriting);
OP(in_place_op, square_node_in_place, square_node_back);
OP(once_right_op, square_node_once_right, square_node_back);
OP(product_op, product_node, product_node_back);
OP(rank_op, rank_node, NULL);

static at_tensor *apply_op(at_tape *t, at_tensor **in, void *op)
{
    return at_record(t, op, AT_IN(in[0]), in[0]->shape, NULL, 0);
}

static at_tensor *multiply_by_itself(at_tape *t, at_tensor **in, void *op)
{
    return at_record(t, op, AT_IN(in[0], in[0]), in[0]->shape, NULL, 0);
}

static at_tensor *multiply_by_param(at_tape *t, at_tensor **in, void *op)
{
    at_tensor *W = at_find_param(t, "W");
    return at_record(t, &product_op, AT_IN(in[0], apply_op(t, &W, op)), W->shape, NULL, 0);
}

static at_tensor *rank_of(at_tape *t, at_tensor **in, void *op)
{
    at_recipe r = {.dtype = {ATTIC_I32}};
    at_node *n = at_record_node(t, op, AT_IN(in[0]), r);
    return n ? n->out[0] : NULL;
}

static at_tensor *failing(at_tape *t, at_tensor **in, void *ctx)
{
    (void)in, (void)ctx;
    return at_fail(t, ATTIC_USER_ERROR, "failing: no.");
}

static at_tensor *first_input(at_tape *t, at_tensor **in, void *ctx)
{
    (void)t, (void)ctx;
    return in[0];
}
static at_tensor *nothing_returned(at_tape *t, at_tensor **in, void *ctx)
{
    (void)t, (void)in, (void)ctx;
    return NULL;
}

static const at_gradcheck_options usual;

/* f of one variable [2,3] */
static at_gradcheck_report check_on_tape(at_function *f, const at_op *op)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    const double values[] = {0.5, -1.5, 2, 0.25, 1, -3};
    at_tensor *x = at_variable(t, at_shape_of(2, 3), values);
    at_gradcheck_report r = at_gradcheck(t, f, &x, 1, (void *)op, usual);
    at_close(t);
    return r;
}

START_TEST(a_right_op_passes)
{
    at_gradcheck_report r = check_on_tape(apply_op, &right_op);
    assert_verdict(r, ATTIC_PASS);
    ck_assert_int_eq(r.checked, 6);
}
END_TEST

START_TEST(an_aliased_input_gets_both_gradients)
{
    assert_verdict(check_on_tape(multiply_by_itself, &product_op), ATTIC_PASS);
}
END_TEST

START_TEST(a_wrong_op_is_wrong_and_its_element_has_an_index)
{
    at_gradcheck_report r = check_on_tape(apply_op, &half_op);
    assert_verdict(r, ATTIC_WRONG);
    ck_assert_str_eq(r.reason,
                     "backward is not the derivative of forward, but 0.5 times it everywhere");
    ck_assert_int_eq(r.input, 0);
    ck_assert(strncmp(r.where, "input 0 [2,3] at [", 18) == 0);
}
END_TEST

START_TEST(gradients_of_leaves_must_add_up)
{
    assert_broken(check_on_tape(apply_op, &overwriting_op),
                  "a second backward does not add to the first", "input 0 [2,3] at [0,0]");
}
END_TEST

START_TEST(an_op_must_not_change_its_input)
{
    assert_broken(check_on_tape(apply_op, &in_place_op), "forward changes its input",
                  "input 0 [2,3] at [0,1]");
}
END_TEST

START_TEST(a_replay_must_give_what_the_first_run_gave)
{
    node_runs = 0;
    assert_broken(check_on_tape(apply_op, &once_right_op),
                  "a replay gives other values than the first run", "y[1]");
}
END_TEST

START_TEST(parameters_are_checked_too)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(3), (double[]){1, 2, 3});
    at_param(t, "W", at_shape_of(3), at_normal(1));
    at_param(t, "unused", at_shape_of(100), at_normal(1));
    at_gradcheck_report r = at_gradcheck(t, multiply_by_param, &x, 1, (void *)&right_op, usual);
    assert_verdict(r, ATTIC_PASS);
    ck_assert_int_eq(r.checked, 6);
    r = at_gradcheck(t, multiply_by_param, &x, 1, (void *)&half_op, usual);
    assert_verdict(r, ATTIC_WRONG);
    ck_assert_int_eq(r.input, -1);
    ck_assert(strncmp(r.where, "\"W\" [3] at [", 12) == 0);
    at_close(t);
}
END_TEST

START_TEST(what_was_computed_before_counts_as_a_leaf)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(3), (double[]){1, 2, 3});
    at_tensor *y = apply_op(t, &x, (void *)&half_op); /* wrong, but not asked about */
    assert_verdict(at_gradcheck(t, apply_op, &y, 1, (void *)&right_op, usual), ATTIC_PASS);
    at_close(t);
}
END_TEST

START_TEST(the_tape_is_left_as_it_was)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *W = at_param(t, "W", at_shape_of(3), at_normal(1));
    at_tensor *x = at_variable(t, at_shape_of(3), (double[]){1, 2, 3});
    at_tensor *y = apply_op(t, &W, (void *)&right_op);
    at_tensor *one = at_const(t, at_shape_of(3), (double[]){1, 1, 1});
    at_backward_from(t, y, one);
    double data[3], grad[3];
    memcpy(data, W->data, sizeof data);
    memcpy(grad, W->grad, sizeof grad);
    at_memory before = at_memory_of(t);

    assert_verdict(at_gradcheck(t, multiply_by_param, &x, 1, (void *)&right_op, usual), ATTIC_PASS);
    ck_assert_mem_eq(data, W->data, sizeof data);
    ck_assert_mem_eq(grad, W->grad, sizeof grad);
    ck_assert_ptr_null(x->grad);
    ck_assert_int_eq(at_memory_of(t).nodes, before.nodes);
    ck_assert_uint_eq(at_memory_of(t).step, before.step);
    ck_assert(at_backward_from(t, y, one)); /* as if nothing had been written since */
    assert_close(((double *)W->grad)[0], 2 * grad[0], 1e-12);
    at_close(t);
}
END_TEST

START_TEST(a_tensor_made_before_f_can_not_be_its_output)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(3), (double[]){1, 2, 3});
    at_tensor *y = apply_op(t, &x, (void *)&right_op);
    at_gradcheck_report r = at_gradcheck(t, first_input, &y, 1, NULL, usual);
    assert_verdict(r, ATTIC_NOT_RUN);
    ck_assert_str_eq(r.reason, "gradcheck: the function returned [3], computed before it");
    at_clear_error(t);
    assert_verdict(at_gradcheck(t, first_input, &x, 1, NULL, usual), ATTIC_PASS);
    r = at_gradcheck(t, apply_op, &x, 1, (void *)&right_op, (at_gradcheck_options){.order = 3});
    assert_verdict(r, ATTIC_NOT_RUN);
    ck_assert_str_eq(at_error(t), "gradcheck: order is 3, but must be 0, 1 or 2");
    at_close(t);
}
END_TEST

START_TEST(an_f32_tape_is_refused)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_variable(t, at_shape_of(3), (double[]){1, 2, 3});
    at_gradcheck_report r = at_gradcheck(t, apply_op, &x, 1, (void *)&right_op, usual);
    assert_verdict(r, ATTIC_NOT_RUN);
    ck_assert_str_eq(at_error(t),
                     "gradcheck: the tape is f32, whose 7 digits leave none for differences; check "
                     "on an f64 tape (at_copy_params brings the parameters there)");
    at_close(t);
}
END_TEST

START_TEST(an_error_in_the_function_is_the_reason)
{
    ck_assert_str_eq(check_on_tape(failing, NULL).reason, "failing: no.");
    assert_verdict(check_on_tape(failing, NULL), ATTIC_NOT_RUN);
    ck_assert_str_eq(check_on_tape(nothing_returned, NULL).reason,
                     "gradcheck: the function returned NULL");
    assert_verdict(at_gradcheck(NULL, apply_op, NULL, 0, NULL, usual), ATTIC_NOT_RUN);
}
END_TEST

START_TEST(an_output_without_gradient_is_vacuous)
{
    at_gradcheck_report r = check_on_tape(rank_of, &rank_op);
    assert_verdict(r, ATTIC_VACUOUS);
    ck_assert_str_eq(r.reason, "the output is i32 and has no gradient");

    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_const(t, at_shape_of(3), NULL);
    r = at_gradcheck(t, apply_op, &x, 1, (void *)&right_op, usual);
    assert_verdict(r, ATTIC_VACUOUS);
    ck_assert_str_eq(r.reason, "the output depends on nothing that wants a gradient");
    at_close(t);
}
END_TEST

START_TEST(wherever_memory_runs_out_it_says_so)
{
    at_verdict verdict = ATTIC_NOT_RUN;
    for (int n = 1; verdict == ATTIC_NOT_RUN; n++) {
        at_tape *t = at_open(ATTIC_F64, 1);
        at_tensor *x = at_variable(t, at_shape_of(3), (double[]){1, 2, 3});
        at_fail_allocation(n);
        at_gradcheck_report r = at_gradcheck(t, apply_op, &x, 1, (void *)&right_op, usual);
        at_fail_allocation(0);
        verdict = r.verdict;
        if (verdict == ATTIC_NOT_RUN) ck_assert(strncmp(r.reason, "out of memory", 13) == 0);
        at_close(t);
    }
    ck_assert_int_eq(verdict, ATTIC_PASS);
}
END_TEST

/* ------------------------------------------------------------------ in words ------------------- */

START_TEST(a_report_reads_well)
{
    char text[600] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    at_gradcheck_report r = {.verdict = ATTIC_WRONG,
                             .reason = "backward is not the derivative of forward",
                             .checked = 20,
                             .failed = 3,
                             .error = 2,
                             .exact_error = 2,
                             .resolution = 1.25e-7,
                             .where = "input 1 [4,5] at [0,2]",
                             .analytic = 0.5,
                             .exact = -0.5,
                             .numeric = -0.5,
                             .bound = 3e-13,
                             .step = 0x1p-10};
    at_gradcheck_print(&r, out);
    fclose(out);
    ck_assert_str_eq(
        text, "WRONG: backward is not the derivative of forward\n"
              "    17 of 20 comparisons agree: exact 2e+00 | differences 2e+00 | resolution 1e-07: "
              "a larger error would have shown\n"
              "    worst: input 1 [4,5] at [0,2]\n"
              "        backward says     +5.000000000000000e-01\n"
              "        exactly it is     -5.000000000000000e-01\n"
              "        differences say   -5.000000000000000e-01  +- 3e-13, with steps of "
              "9.8e-04\n");
}
END_TEST

START_TEST(a_decimal_comma_does_not_show_in_a_report)
{
    char with_point[1000] = {0}, with_comma[1000] = {0};
    factor = 1.5;
    for (int comma = 0; comma < 2; comma++) {
        if (comma) use_decimal_comma();
        at_gradcheck_report r = check_plain(exp_all, exp_vjp_times_factor);
        FILE *out = fmemopen(comma ? with_comma : with_point, sizeof with_point, "w");
        at_gradcheck_print(&r, out);
        fclose(out);
    }
    setlocale(LC_NUMERIC, "C");
    factor = 1;
    ck_assert_ptr_nonnull(strstr(with_point, "but 1.5 times it everywhere"));
    ck_assert_str_eq(with_comma, with_point);
}
END_TEST

OP(flat_op, square_node, NULL);

static at_tensor *product_with_flat(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_record(t, &product_op, AT_IN(in[0], apply_op(t, in, (void *)&flat_op)), in[0]->shape,
                     NULL, 0);
}

START_TEST(an_op_without_backward_is_named_where_it_cuts_the_gradient)
{
    at_gradcheck_report r = check_on_tape(apply_op, &flat_op);
    assert_verdict(r, ATTIC_VACUOUS);
    ck_assert_str_eq(r.reason, "the output depends on nothing that wants a gradient (flat_op has "
                               "no backward)");
    r = check_on_tape(product_with_flat, NULL);
    assert_verdict(r, ATTIC_WRONG);
    ck_assert_msg(strstr(r.reason, "(flat_op has no backward)"), "%s", r.reason);
}
END_TEST

START_TEST(nothing_to_check_is_an_error)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_gradcheck(t, NULL, NULL, 0, NULL, usual);
    ck_assert_str_eq(at_error(t), "gradcheck: the function is NULL");
    at_clear_error(t);
    ck_assert_str_eq(at_gradcheck(t, apply_op, NULL, 1, NULL, usual).reason,
                     "gradcheck: the list of inputs is NULL");
    at_close(t);

    at_gradcheck_report r = at_gradcheck_fn(NULL, NULL, 1, 1, NULL, NULL, usual);
    assert_verdict(r, ATTIC_NOT_RUN);
    ck_assert_str_eq(r.reason, "forward, vjp or x is NULL");
    r = at_gradcheck_fn(exp_all, exp_vjp_times_factor, -1, 1, (double[]){0}, NULL, usual);
    ck_assert_str_eq(r.reason, "n = -1 and m = 1 can't be negative");
    assert_verdict(at_gradcheck_fn_f32(NULL, NULL, 1, 1, NULL, NULL, usual), ATTIC_NOT_RUN);
    ck_assert_str_eq(at_verdict_text((at_verdict)99), "?");
}
END_TEST

SUITE(gradcheck_checker, a_right_gradient_passes, a_wrong_sign_is_wrong_and_called_by_its_name,
      a_factor_shows_down_to_the_resolution, one_wrong_element_is_found_and_named,
      a_missing_term_is_wrong, a_missing_backward_is_wrong, a_gradient_that_is_no_number_is_wrong,
      a_kink_is_non_smooth, a_kink_is_non_smooth_even_where_differences_agree,
      what_lies_outside_of_both_sides_of_a_kink_is_wrong, a_kink_close_by_is_walked_around,
      a_jump_is_non_smooth, the_edge_of_the_domain_is_non_smooth,
      noise_is_told_from_a_wrong_gradient, a_large_offset_drowns_the_derivative,
      computing_in_float_costs_resolution_but_not_the_verdict, steep_functions_get_smaller_steps,
      every_element_has_a_step_of_its_own_size, a_constant_is_vacuous,
      the_sum_of_a_softmax_is_vacuous, no_elements_are_vacuous,
      a_point_outside_of_the_domain_is_not_run, an_output_that_stays_infinite_does_not_disturb,
      random_directions_need_few_forwards_and_see_a_wrong_factor,
      the_seed_alone_decides_what_is_drawn, the_tolerance_can_be_chosen,
      the_printed_bound_holds_for_a_layer_norm_of_small_numbers,
      a_mistake_does_not_hide_behind_the_error_of_a_step,
      a_mistake_does_not_hide_behind_the_rounding_of_backward, an_order_that_is_none_is_refused,
      parts_of_x_have_names, parts_that_do_not_make_up_x_are_refused, a_long_name_of_a_part_is_cut,
      forward_must_not_change_its_input, backward_must_not_change_its_input,
      backward_must_not_change_its_cotangent, forward_must_give_the_same_values_again,
      backward_must_give_the_same_values_again, a_cotangent_of_zero_must_give_zero,
      a_right_op_passes, an_aliased_input_gets_both_gradients,
      a_wrong_op_is_wrong_and_its_element_has_an_index, gradients_of_leaves_must_add_up,
      an_op_must_not_change_its_input, a_replay_must_give_what_the_first_run_gave,
      parameters_are_checked_too, what_was_computed_before_counts_as_a_leaf,
      the_tape_is_left_as_it_was, a_tensor_made_before_f_can_not_be_its_output,
      an_f32_tape_is_refused, an_error_in_the_function_is_the_reason,
      an_output_without_gradient_is_vacuous, wherever_memory_runs_out_it_says_so,
      a_report_reads_well, an_op_without_backward_is_named_where_it_cuts_the_gradient,
      nothing_to_check_is_an_error, a_decimal_comma_does_not_show_in_a_report)
