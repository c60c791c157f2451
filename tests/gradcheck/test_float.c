/* test_float.c -- functions that compute in float: they are noticed, correct ones are not
 * called wrong, and mistakes of 1 % are found.
 *
 *     ATTIC_FLOAT_PROBLEMS=10000 CK_DEFAULT_TIMEOUT=0 make test SUITE=gradcheck_float
 *
 * draws so many problems (float_problems.c) and prints how they went, family by family. */
#include "gradcheck/gradcheck.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gradcheck/float_problems.h"
#include "common/options.h"
#include "test.h"

enum { NF = 6 };
static const double float_x[NF] = {0.5, -0.75, 1.25, -2, 3, 0.0625}; /* floats, all of them */

#define ALL for (int i = 0; i < NF; i++)
#define FORWARD_OF(name) static void name(const double *x, double *y, void *ctx)
#define VJP_OF(name) static void name(const double *x, const double *dy, double *dx, void *ctx)

/* ------------------------------------------------------------------ who computes in float? ------ */

FORWARD_OF(tanh_in_float)
{
    (void)ctx;
    ALL y[i] = (double)tanhf((float)x[i]);
}
VJP_OF(tanh_in_float_back)
{
    (void)ctx;
    ALL
    {
        float y = tanhf((float)x[i]);
        dx[i] = (double)((float)dy[i] * (1 - y * y));
    }
}
/* Only the sums run in double. */
FORWARD_OF(sums_of_float_squares)
{
    (void)ctx;
    ALL y[i] = 0;
    ALL for (int j = 0; j <= i; j++) y[i] += (double)(float)x[j] * (double)(float)x[j];
}
VJP_OF(sums_of_float_squares_back)
{
    (void)ctx;
    ALL dx[i] = 0;
    ALL for (int j = 0; j <= i; j++) dx[j] += 2 * (double)(float)x[j] * dy[i];
}
FORWARD_OF(float_only_at_4)
{
    (void)ctx;
    ALL y[i] = x[i] * x[i];
    y[4] = (double)((float)x[4] * (float)x[4]);
}
VJP_OF(square_back)
{
    (void)ctx;
    ALL dx[i] = 2 * x[i] * dy[i];
}
FORWARD_OF(copy_all)
{
    (void)ctx;
    ALL y[i] = x[i];
}
VJP_OF(copy_back)
{
    (void)x, (void)ctx;
    ALL dx[i] = dy[i];
}
FORWARD_OF(relu_in_double)
{
    (void)ctx;
    ALL y[i] = x[i] > 0 ? x[i] : 0;
}
VJP_OF(relu_in_double_back)
{
    (void)ctx;
    ALL dx[i] = x[i] > 0 ? dy[i] : 0;
}
FORWARD_OF(sums_and_differences)
{
    (void)ctx;
    ALL y[i] = x[i] + 2 * x[(i + 1) % NF] - x[(i + 2) % NF];
}
VJP_OF(sums_and_differences_back)
{
    (void)x, (void)ctx;
    ALL dx[i] = dy[i] + 2 * dy[(i + NF - 1) % NF] - dy[(i + NF - 2) % NF];
}
FORWARD_OF(differences)
{
    (void)ctx;
    ALL y[i] = x[i] - x[(i + 1) % NF];
}
VJP_OF(differences_back)
{
    (void)x, (void)ctx;
    ALL dx[i] = dy[i] - dy[(i + NF - 1) % NF];
}
FORWARD_OF(always_three)
{
    (void)x, (void)ctx;
    ALL y[i] = 3;
}
VJP_OF(zero_back)
{
    (void)x, (void)dy, (void)ctx;
    ALL dx[i] = 0;
}

static at_gradcheck_report check_floats(at_forward_fn *f, at_vjp_fn *back, const double *x,
                                        at_gradcheck_options options)
{
    return at_gradcheck_fn(f, back, NF, NF, x, NULL, options);
}

static void assert_type(at_forward_fn *f, at_vjp_fn *back, at_verdict verdict, at_dtype real)
{
    static const double integers[NF] = {1, 2, -3, 5, 8, -13},
                        thirds[NF] = {1. / 3, 2. / 3, -4. / 3, 5. / 3, -7. / 3, 8. / 3},
                        of_one_size[NF] = {1.1, 1.2, 1.3, 1.5, 1.7, 1.9};
    const double *at[] = {float_x, integers, thirds, of_one_size};
    for (int i = 0; i < 4; i++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            at_gradcheck_report r =
                check_floats(f, back, at[i], (at_gradcheck_options){.seed = seed});
            ck_assert_msg(r.verdict == verdict && r.real == real, "point %d, seed %d: %s, type %d",
                          i, (int)seed, at_verdict_text(r.verdict), (int)r.real);
        }
}

START_TEST(a_float_function_is_noticed)
{
    assert_type(tanh_in_float, tanh_in_float_back, ATTIC_PASS, ATTIC_F32);
}
END_TEST

START_TEST(float_inputs_are_noticed_even_if_sums_run_in_double)
{
    assert_type(sums_of_float_squares, sums_of_float_squares_back, ATTIC_PASS, ATTIC_F32);
}
END_TEST

START_TEST(one_output_in_float_is_enough)
{
    assert_type(float_only_at_4, square_back, ATTIC_PASS, ATTIC_F32);
}
END_TEST

START_TEST(a_double_function_of_floats_is_not_taken_for_float)
{
    assert_type(copy_all, copy_back, ATTIC_PASS, ATTIC_F64);
    assert_type(relu_in_double, relu_in_double_back, ATTIC_PASS, ATTIC_F64);
    assert_type(sums_and_differences, sums_and_differences_back, ATTIC_PASS, ATTIC_F64);
    assert_type(differences, differences_back, ATTIC_PASS, ATTIC_F64);
    assert_type(always_three, zero_back, ATTIC_VACUOUS, ATTIC_F64);
}
END_TEST

START_TEST(the_type_can_be_told)
{
    at_gradcheck_options f32 = {.real = ATTIC_F32}, f64 = {.real = ATTIC_F64};
    at_gradcheck_report r = check_floats(copy_all, copy_back, float_x, f32);
    ck_assert(r.real == ATTIC_F32 && r.verdict == ATTIC_PASS && r.resolution > 1e-5);
    r = check_floats(tanh_in_float, tanh_in_float_back, float_x, f64);
    ck_assert(r.real == ATTIC_F64 && r.verdict != ATTIC_PASS);
}
END_TEST

/* ------------------------------------------------------------------ what is said then ----------- */

START_TEST(the_report_says_that_it_is_float)
{
    char text[600] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    at_gradcheck_report r =
        check_floats(tanh_in_float, tanh_in_float_back, float_x, (at_gradcheck_options){0});
    at_gradcheck_print(&r, out);
    fclose(out);
    ck_assert_ptr_nonnull(
        strstr(text, "a larger error would have shown\n    along 4 directions: "));
    ck_assert_ptr_nonnull(strstr(text, "\n    forward computes in float\n"));
}
END_TEST

START_TEST(random_directions_work_in_float)
{
    at_gradcheck_options three = {.directions = 3};
    at_gradcheck_report r = check_floats(tanh_in_float, tanh_in_float_back, float_x, three);
    ck_assert(r.verdict == ATTIC_PASS && r.real == ATTIC_F32 && r.resolution < 1e-2);
    r = check_floats(tanh_in_float, zero_back, float_x, three);
    ck_assert(r.verdict == ATTIC_WRONG && r.checked == 3);
}
END_TEST

FORWARD_OF(relu_in_float)
{
    (void)ctx;
    ALL y[i] = (double)fmaxf((float)x[i], 0);
}

START_TEST(a_kink_is_non_smooth_in_float)
{
    const double x[NF] = {0.5, -0.75, 0, -2, 3, 1e-4};
    at_gradcheck_report r =
        check_floats(relu_in_float, relu_in_double_back, x, (at_gradcheck_options){0});
    ck_assert(r.verdict == ATTIC_NON_SMOOTH && r.real == ATTIC_F32);
    ck_assert(r.element == 2 && r.failed == 1);
}
END_TEST

START_TEST(a_saturated_float_function_is_not_wrong)
{
    for (uint64_t seed = 0; seed < 20;
         seed++) { /* 1 - y y, of which floats know only that it is 0 */
        const double x[NF] = {8.2, -300, 9, -8.1, 40, 15};
        at_gradcheck_report r = check_floats(tanh_in_float, tanh_in_float_back, x,
                                             (at_gradcheck_options){.seed = seed});
        ck_assert_msg(r.verdict != ATTIC_WRONG, "seed %d: %s", (int)seed, r.reason);
    }
}
END_TEST

/* y = exp(-(x - 1000)^2), a narrow bump: flat and 0 for all steps that 1000 suggests */
static void bump_f32(const float *x, float *y, void *ctx)
{
    (void)ctx;
    ALL y[i] = expf(-(x[i] - 1000) * (x[i] - 1000));
}
static void bump_back_f32(const float *x, const float *dy, float *dx, void *ctx)
{
    (void)ctx;
    ALL dx[i] = -2 * (x[i] - 1000) * expf(-(x[i] - 1000) * (x[i] - 1000)) * dy[i];
}

START_TEST(a_narrow_bump_is_seen_in_float)
{
    const float x[NF] = {1000.5f, 999.25f, 1000.75f, 998.5f, 1001.5f, 1000.25f};
    at_gradcheck_report r =
        at_gradcheck_fn_f32(bump_f32, bump_back_f32, NF, NF, x, NULL, (at_gradcheck_options){0});
    ck_assert_msg(r.verdict == ATTIC_PASS, "%s", r.reason);
    ck_assert_double_lt(r.resolution, 5e-3);
}
END_TEST

/* y = x / 10, with a backward that loses four digits */
static void tenth_f32(const float *x, float *y, void *ctx)
{
    (void)ctx;
    ALL y[i] = x[i] / 10;
}
static void tenth_back_f32(const float *x, const float *dy, float *dx, void *ctx)
{
    (void)x, (void)ctx;
    ALL
    {
        volatile float large = 1000.1f * dy[i];
        dx[i] = large - 1000 * dy[i];
    }
}

START_TEST(rounding_of_backward_is_not_wrong_in_float)
{
    const float x[NF] = {0.5f, -0.75f, 1.25f, -2, 3, 0.0625f};
    for (uint64_t seed = 0; seed < 20; seed++) {
        at_gradcheck_report r = at_gradcheck_fn_f32(tenth_f32, tenth_back_f32, NF, NF, x, NULL,
                                                    (at_gradcheck_options){.seed = seed});
        ck_assert_msg(r.verdict == ATTIC_PASS, "seed %d: %s", (int)seed, r.reason);
        ck_assert_double_gt(r.resolution, r.error);
    }
}
END_TEST

/* ------------------------------------------------------------------ float callbacks ------------- */

static void cube_f32(const float *x, float *y, void *ctx)
{
    (void)ctx;
    ALL y[i] = x[i] * x[i] * x[i];
}
static void cube_back_f32(const float *x, const float *dy, float *dx, void *ctx)
{
    ALL dx[i] = (ctx ? *(float *)ctx : 1) * 3 * x[i] * x[i] * dy[i];
}
static void cube_all_but_one_f32(const float *x, float *y, void *ctx)
{
    (void)ctx;
    for (int i = 1; i < NF; i++) y[i] = x[i] * x[i] * x[i];
}
static void cube_in_place_f32(const float *x, float *y, void *ctx)
{
    float *p;
    memcpy(&p, &x, sizeof p); /* around const, as bugs go */
    cube_f32(x, y, ctx);
    p[3] += 1;
}
static void cube_back_spoiling_f32(const float *x, const float *dy, float *dx, void *ctx)
{
    float *p;
    memcpy(&p, &dy, sizeof p);
    cube_back_f32(x, dy, dx, ctx);
    p[2] += 1;
}

static at_gradcheck_report check_f32(at_forward_fn_f32 *f, at_vjp_fn_f32 *back, float factor)
{
    const float x[NF] = {0.3f, -0.7f, 1.2f, -1.9f, 0.8f, 2.5f};
    return at_gradcheck_fn_f32(f, back, NF, NF, x, &factor, (at_gradcheck_options){0});
}

START_TEST(float_callbacks_are_checked_like_others)
{
    at_gradcheck_report r = check_f32(cube_f32, cube_back_f32, 1);
    ck_assert_msg(r.verdict == ATTIC_PASS && r.real == ATTIC_F32, "%s", r.reason);
    ck_assert_double_lt(r.resolution, 5e-3);
    r = check_f32(cube_f32, cube_back_f32, 1.01f);
    ck_assert_int_eq(r.verdict, ATTIC_WRONG);
    assert_close(r.error, 0.01, 1e-3);
}
END_TEST

START_TEST(float_callbacks_must_keep_the_rules)
{
    at_gradcheck_report r = check_f32(cube_in_place_f32, cube_back_f32, 1);
    ck_assert_str_eq(r.reason, "forward changes its input");
    ck_assert_str_eq(r.where, "x[3]");
    r = check_f32(cube_f32, cube_back_spoiling_f32, 1);
    ck_assert_str_eq(r.reason, "backward changes its upstream gradient");
    r = check_f32(cube_all_but_one_f32, cube_back_f32, 1);
    ck_assert_str_eq(r.reason, "y[0] is not written by forward");
}
END_TEST

static void nothing_f32(const float *x, float *y, void *ctx)
{
    (void)x, (void)y, (void)ctx;
}
static void nothing_back_f32(const float *x, const float *dy, float *dx, void *ctx)
{
    (void)x, (void)dy, (void)dx, (void)ctx;
}

START_TEST(no_floats_at_all_are_vacuous)
{
    at_gradcheck_report r = at_gradcheck_fn_f32(nothing_f32, nothing_back_f32, 0, 0, NULL, NULL,
                                                (at_gradcheck_options){0});
    ck_assert_int_eq(r.verdict, ATTIC_VACUOUS);
    ck_assert_str_eq(r.reason, "there is no element to check");
}
END_TEST

/* ------------------------------------------------------------------ thousands of problems ------- */

typedef struct {
    int drawn, verdicts[ATTIC_PARTLY_KNOWN + 1];
    int planted[3], found[3]; /* of ALL_WRONG, ONE_WRONG */
    int passed_off;           /* mistakes called PASS with a resolution below them */
} tally;

/* An error of 1 %, as the report measures it: one in element p->wrong by max|n| / 10 at least. */
static double size_of_mistake(const float_problem *p)
{
    float most = 0;
    if (p->mistake == ALL_WRONG) return 0.0099; /* 0.01 / 1.01 */
    for (ptrdiff_t i = 0; i < p->n; i++) most = fmaxf(most, fabsf(p->dx[i]));
    double wrong = fabs((double)p->dx[p->wrong]);
    return 0.0099 * wrong / fmax(wrong, (double)most / 10);
}

static void count_problem(tally *t, uint64_t number)
{
    float_problem p = at_draw_float_problem(number);
    t->drawn++;
    t->verdicts[at_check_float_problem(&p).verdict]++;
    p.wrong = at_element_to_spoil(&p);
    for (p.mistake = ALL_WRONG; p.mistake <= ONE_WRONG && p.wrong >= 0; p.mistake++) {
        at_gradcheck_report r = at_check_float_problem(&p);
        t->planted[p.mistake]++;
        t->found[p.mistake] += r.verdict == ATTIC_WRONG;
        t->passed_off += r.verdict == ATTIC_PASS && r.resolution < size_of_mistake(&p);
    }
}

static void print_tally(const char *name, const tally *t)
{
    printf("    %-11s", name);
    for (int v = ATTIC_PASS; v <= ATTIC_VACUOUS; v++) printf("%7d", t->verdicts[v]);
    for (int i = ALL_WRONG; i <= ONE_WRONG; i++) printf("  %6d of %5d", t->found[i], t->planted[i]);
    printf("\n");
}

static void add_tally(tally *sum, const tally *t)
{
    const int *from = (const int *)t;
    for (size_t i = 0; i < sizeof *t / sizeof *from; i++) ((int *)sum)[i] += from[i];
}

START_TEST(correct_float_code_is_not_wrong_and_errors_of_one_percent_are_found)
{
    const char *wanted = getenv("ATTIC_FLOAT_PROBLEMS");
    int problems = 270;
    ck_assert_msg(!wanted || read_int(wanted, 1, 1000000, &problems),
                  "ATTIC_FLOAT_PROBLEMS is \"%s\", but must be a whole number from 1 to 1000000",
                  wanted);
    tally of[FAMILIES] = {0}, all = {0};
    for (int i = 0; i < problems; i++) count_problem(&of[i % FAMILIES], (uint64_t)i);
    if (wanted)
        printf("\n    %-11s   PASS  WRONG  NOISE   KINK VACUOUS  all x 1.01      one x 1.01\n", "");
    for (int f = 0; f < FAMILIES; f++) {
        add_tally(&all, &of[f]);
        if (wanted) print_tally(at_float_family(f), &of[f]);
    }
    if (wanted) print_tally("together", &all);
    ck_assert_int_eq(all.verdicts[ATTIC_WRONG], 0);
    ck_assert_int_eq(all.passed_off, 0);
    ck_assert_int_ge(100 * all.verdicts[ATTIC_PASS], 90 * all.drawn);
    ck_assert_int_ge(100 * all.found[ALL_WRONG], 95 * all.planted[ALL_WRONG]);
    ck_assert_int_ge(100 * all.found[ONE_WRONG], 95 * all.planted[ONE_WRONG]);
}
END_TEST

SUITE(gradcheck_float, a_float_function_is_noticed,
      float_inputs_are_noticed_even_if_sums_run_in_double, one_output_in_float_is_enough,
      a_double_function_of_floats_is_not_taken_for_float, the_type_can_be_told,
      the_report_says_that_it_is_float, random_directions_work_in_float,
      a_kink_is_non_smooth_in_float, a_saturated_float_function_is_not_wrong,
      a_narrow_bump_is_seen_in_float, rounding_of_backward_is_not_wrong_in_float,
      float_callbacks_are_checked_like_others, float_callbacks_must_keep_the_rules,
      no_floats_at_all_are_vacuous,
      correct_float_code_is_not_wrong_and_errors_of_one_percent_are_found)
