/* test_calls.c -- what forward and backward must not do to memory: each has words of its own. */
#include "gradcheck/gradcheck.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

enum { N = 5 };
typedef struct {
    bool past_y, before_y, past_dx, past_x, flips, skips, adds;
    ptrdiff_t at;
    double factor;
} habits;

/* y = x^2, in double and in float. */
#define SQUARE(name, real)                                                                         \
    static void name(const real *x, real *y, void *ctx)                                            \
    {                                                                                              \
        const habits *h = ctx;                                                                     \
        for (int i = 0; i < N; i++) y[i] = x[i] * x[i];                                            \
        if (h->past_y) y[N + h->at] = 1;                                                           \
        if (h->before_y) y[-1 - h->at] = 1;                                                        \
    }                                                                                              \
    static void name##_back(const real *x, const real *dy, real *dx, void *ctx)                    \
    {                                                                                              \
        const habits *h = ctx;                                                                     \
        for (int i = h->skips; i < N; i++)                                                         \
            dx[i] = (h->adds ? dx[i] : 0) + (real)h->factor * 2 * x[i] * dy[i];                    \
        if (h->past_dx) dx[N + h->at] = 0;                                                         \
        if (h->past_x) ((real *)x)[N + h->at] = 0;                                                 \
        if (h->flips) ((real *)x)[2] *= -1;                                                        \
    }
SQUARE(square, double)
SQUARE(square_f32, float)

static at_gradcheck_report check(habits h, bool in_float, at_gradcheck_options o)
{
    const double x[N] = {0.3, -0.7, 1.2, -1.9, 0.05};
    float narrow[N];
    for (int i = 0; i < N; i++) narrow[i] = (float)x[i];
    if (h.factor == 0) h.factor = 1;
    return in_float ? at_gradcheck_fn_f32(square_f32, square_f32_back, N, N, narrow, &h, o)
                    : at_gradcheck_fn(square, square_back, N, N, x, &h, o);
}

static void assert_says(habits h, at_gradcheck_options o, const char *reason)
{
    for (int in_float = 0; in_float < 2; in_float++) {
        at_gradcheck_report r = check(h, in_float, o);
        ck_assert_int_eq(r.verdict, ATTIC_WRONG);
        ck_assert_str_eq(r.reason, reason);
    }
}

START_TEST(nobody_writes_outside_of_the_vectors)
{
    const at_gradcheck_options usual = {0};
    for (ptrdiff_t at = 0; at < 16; at += 15) {
        char reason[100];
        snprintf(reason, sizeof reason, "forward writes outside of y [5]: to y[%td]", N + at);
        assert_says((habits){.past_y = true, .at = at}, usual, reason);
        snprintf(reason, sizeof reason, "forward writes outside of y [5]: to y[%td]", -1 - at);
        assert_says((habits){.before_y = true, .at = at}, usual, reason);
        snprintf(reason, sizeof reason, "backward writes outside of dx [5]: to dx[%td]", N + at);
        assert_says((habits){.past_dx = true, .at = at}, usual, reason);
        snprintf(reason, sizeof reason, "backward writes outside of x [5]: to x[%td]", N + at);
        assert_says((habits){.past_x = true, .at = at}, usual, reason);
    }
}
END_TEST

START_TEST(an_input_that_is_flipped_is_changed)
{
    assert_says((habits){.flips = true}, (at_gradcheck_options){0}, "backward changes its input");
}
END_TEST

START_TEST(what_is_not_written_is_called_so)
{
    at_gradcheck_options adds = {.adds = true};
    assert_says((habits){.skips = true}, (at_gradcheck_options){0},
                "the gradient of x[0] is not written by backward");
    at_gradcheck_report r = check((habits){.skips = true, .adds = true}, true, adds);
    ck_assert_int_eq(r.verdict, ATTIC_WRONG); /* it adds nothing: its gradient is 0 there */
    ck_assert_str_eq(r.where, "x[0]");
}
END_TEST

START_TEST(adding_and_writing_are_told_apart)
{
    const at_gradcheck_options writes = {0}, adds = {.adds = true};
    const habits writing = {0}, adding = {.adds = true};
    for (int in_float = 0; in_float < 2; in_float++) {
        ck_assert_int_eq(check(writing, in_float, writes).verdict, ATTIC_PASS);
        ck_assert_int_eq(check(adding, in_float, adds).verdict, ATTIC_PASS);
        ck_assert_int_eq(check((habits){.adds = true, .factor = 1.02}, in_float, adds).verdict,
                         ATTIC_WRONG);
    }
    assert_says(adding, writes,
                "the gradient of x[0] is added by backward to what was there: write it, or set "
                "options.adds");
    assert_says(writing, adds,
                "the gradient of x[0] is written by backward, but should be added to what was "
                "there");
}
END_TEST

static void maximum_twice(const double *x, double *y, void *ctx)
{
    (void)ctx;
    y[0] = y[1] = x[0] > x[1] ? x[0] : x[1];
}
static void maximum_twice_back(const double *x, const double *dy, double *dx, void *ctx)
{
    (void)x, (void)ctx;
    dx[0] = dx[1] = dy[0] + dy[1];
}

START_TEST(it_is_never_the_derivative_but_1_times_it)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        at_gradcheck_report r =
            at_gradcheck_fn(maximum_twice, maximum_twice_back, 2, 2, (double[]){2, 1}, NULL,
                            (at_gradcheck_options){.seed = seed});
        ck_assert_int_eq(r.verdict, ATTIC_WRONG);
        ck_assert_msg(!strstr(r.reason, "times it everywhere"), "%s", r.reason);
    }
}
END_TEST

SUITE(gradcheck_calls, nobody_writes_outside_of_the_vectors, an_input_that_is_flipped_is_changed,
      what_is_not_written_is_called_so, adding_and_writing_are_told_apart,
      it_is_never_the_derivative_but_1_times_it)
