/* test_draw.c -- the colours, cells and axes that all pictures share. */
#include "plot/draw.h"

#include <float.h>
#include <math.h>

#include "autograd/op.h"
#include "test.h"

static at_heatmap map_of(const at_subplot *p)
{
    return (at_heatmap){.subplots = p, .n_subplots = 1};
}

/* ------------------------------------------------------------------ subplots ------------------- */

START_TEST(a_subplot_is_the_matrix_at_an_index)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    double values[24];
    for (int i = 0; i < 24; i++) values[i] = i;
    at_tensor *x = at_const(t, at_shape_of(2, 3, 2, 2), values);
    at_subplot p = at_subplot_of(x, NULL, at_shape_of(1, 2));
    ck_assert(p.rows == 2 && p.cols == 2 && p.dtype == ATTIC_F32);
    ck_assert(at_grid_cell(at_grid_of(&p, 1), 1, 0).value == 22);
    p = at_subplot_of(at_const(t, at_shape_of(3), values), NULL, at_shape_of());
    ck_assert(p.rows == 1 && p.cols == 3);
    p = at_subplot_of(at_const(t, at_shape_of(), values), NULL, at_shape_of());
    ck_assert(p.rows == 1 && p.cols == 1);
    ck_assert(at_ok(t));
    at_close(t);
}
END_TEST

START_TEST(a_mask_broadcasts_to_its_subplot)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_const(t, at_shape_of(2, 1, 3, 2), NULL);
    at_tensor *per_key = at_bools(t, at_shape_of(2, 1, 1, 2), (bool[]){1, 1, 1, 0});
    at_tensor *per_query = at_bools(t, at_shape_of(3, 1), (bool[]){1, 0, 1});
    at_subplot p = at_subplot_of(x, per_key, at_shape_of(1, 0));
    at_grid g = at_grid_of(&p, 1);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(at_grid_cell(g, i, 0).kind, ATTIC_CELL_VALUE);
        ck_assert_int_eq(at_grid_cell(g, i, 1).kind, ATTIC_CELL_MASKED);
    }
    p = at_subplot_of(x, per_query, at_shape_of(0, 0));
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(at_grid_cell(at_grid_of(&p, 1), i, 1).kind,
                         i == 1 ? ATTIC_CELL_MASKED : ATTIC_CELL_VALUE);
    at_close(t);
}
END_TEST

static void expect_subplot_error(at_tape *t, at_subplot p, const char *message)
{
    ck_assert(p.data == NULL && p.rows == 0);
    ck_assert_str_eq(at_error(t), message);
    at_clear_error(t);
}

START_TEST(a_subplot_that_cannot_be_is_an_error)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_name(at_variable(t, at_shape_of(2, 3, 4), NULL), "P");
    at_tensor *mask = at_bools(t, at_shape_of(2, 4), NULL),
              *real = at_const(t, at_shape_of(3, 4), NULL);
    expect_subplot_error(t, at_subplot_of(x, NULL, at_shape_of()),
                         "subplot: there is no matrix [] in \"P\" [2,3,4]");
    expect_subplot_error(t, at_subplot_of(x, NULL, at_shape_of(2)),
                         "subplot: there is no matrix [2] in \"P\" [2,3,4]");
    expect_subplot_error(t, at_subplot_of(x, mask, at_shape_of(0)),
                         "subplot: keep is bool [2,4], which is no mask for \"P\" [2,3,4]");
    expect_subplot_error(t, at_subplot_of(x, real, at_shape_of(0)),
                         "subplot: keep is f64 [3,4], which is no mask for \"P\" [2,3,4]");
    expect_subplot_error(t, at_subplot_of_grad(x, NULL, at_shape_of(0)),
                         "subplot: no gradient has reached \"P\" [2,3,4]");
    ck_assert_ptr_null(at_subplot_of(NULL, NULL, at_shape_of()).data);
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ cells ---------------------- */

START_TEST(minus_infinity_is_masked_and_nan_is_not_hidden)
{
    double v[] = {1, -(double)INFINITY, (double)NAN, (double)INFINITY};
    at_subplot p = {.data = v, .rows = 1, .cols = 4};
    at_grid g = at_grid_of(&p, 1);
    ck_assert_int_eq(at_grid_cell(g, 0, 0).kind, ATTIC_CELL_VALUE);
    ck_assert_int_eq(at_grid_cell(g, 0, 1).kind, ATTIC_CELL_MASKED);
    ck_assert_int_eq(at_grid_cell(g, 0, 2).kind, ATTIC_CELL_NAN);
    ck_assert_int_eq(at_grid_cell(g, 0, 3).kind, ATTIC_CELL_NAN);
}
END_TEST

START_TEST(a_block_shows_its_largest_magnitude_and_any_nan)
{
    double v[] = {1, -3, 0, 0, 5, /**/ 2, 2, 0, (double)NAN, 6, /**/ 0, 0, 7, 7, -8};
    unsigned char keep[] = {1, 1, 1, 1, 1, /**/ 1, 1, 1, 1, 1, /**/ 0, 0, 1, 1, 1};
    at_subplot p = {.data = v, .rows = 3, .cols = 5, .keep = keep};
    at_grid g = at_grid_of(&p, 2);
    ck_assert(g.rows == 2 && g.cols == 3);
    ck_assert(at_grid_cell(g, 0, 0).value == -3);
    ck_assert_int_eq(at_grid_cell(g, 0, 1).kind, ATTIC_CELL_NAN);
    ck_assert(at_grid_cell(g, 0, 2).value == 6);
    ck_assert_int_eq(at_grid_cell(g, 1, 0).kind, ATTIC_CELL_MASKED);
    ck_assert(at_grid_cell(g, 1, 2).value == -8);

    at_heatmap h = map_of(&p);
    ck_assert_int_eq(at_heatmap_step(&h, 5), 1);
    ck_assert_int_eq(at_heatmap_step(&h, 4), 2);
    ck_assert_int_eq(at_heatmap_step(&h, 1), 5);
}
END_TEST

static const char *first_value(const double *v, int n)
{
    at_subplot p = {.data = v, .rows = 1, .cols = n};
    at_heatmap h = map_of(&p);
    return at_value_text(at_value_format_of(&h), at_grid_cell(at_grid_of(&p, 1), 0, 0));
}

START_TEST(values_are_written_so_that_they_compare)
{
    ck_assert_str_eq(first_value((double[]){0.125, 1}, 2), "0.12");
    ck_assert_str_eq(first_value((double[]){-0.001, 1.5}, 2), "0.00");
    ck_assert_str_eq(first_value((double[]){3, 4}, 2), "3");
    ck_assert_str_eq(first_value((double[]){12.25, 4}, 2), "12.2");
    ck_assert_str_eq(first_value((double[]){123.25, 4}, 2), "123");
    ck_assert_str_eq(first_value((double[]){0.0123, 0.05}, 2), "0.012");
    ck_assert_str_eq(first_value((double[]){-2.1e-5, 0}, 2), "-2.1e-5");
    ck_assert_str_eq(first_value((double[]){2e8, 0}, 2), "2e8");
    ck_assert_str_eq(first_value((double[]){(double)NAN, 0.5}, 2), "nan");
    ck_assert_str_eq(first_value((double[]){-(double)INFINITY, 0.5}, 2), "");
}
END_TEST

/* ------------------------------------------------------------------ colours -------------------- */

static at_colour_scale scale_of(const double *v, int n)
{
    at_subplot p = {.data = v, .rows = 1, .cols = n};
    at_heatmap h = map_of(&p);
    return at_colour_scale_of(&h);
}

START_TEST(colours_follow_the_data)
{
    at_colour_scale weights = scale_of((double[]){0, 0.2, 0.8}, 3);
    ck_assert(weights.low == 0 && weights.high == 1 && !weights.diverging);
    at_colour_scale scores = scale_of((double[]){-1, 3, -(double)INFINITY}, 3);
    ck_assert(scores.low == -3 && scores.high == 3 && scores.diverging);
    at_colour_scale counts = scale_of((double[]){2, 7}, 2);
    ck_assert(counts.low == 2 && counts.high == 7 && !counts.diverging);
    at_colour_scale equal = scale_of((double[]){5, 5}, 2);
    ck_assert(equal.low < equal.high);
    at_colour_scale none = scale_of((double[]){(double)NAN}, 1);
    ck_assert(none.low == 0 && none.high == 1);
}
END_TEST

START_TEST(the_caller_may_choose_the_ends)
{
    at_subplot p = {.data = (double[]){0.1, 0.2}, .rows = 1, .cols = 2};
    at_heatmap h = {.subplots = &p, .n_subplots = 1, .low = 0, .high = 0.25};
    ck_assert(at_colour_scale_of(&h).high == 0.25);
    h.colours = ATTIC_COLOURS_SIGNED;
    ck_assert(at_colour_scale_of(&h).low == -0.25);
    h.low = 0, h.high = 0x1p-1074; /* whose half is 0 */
    for (int how = 0; how < 4; how++) {
        h.colours = (at_colours)how;
        const double place = at_scale_place(at_colour_scale_of(&h), 0);
        ck_assert(place >= 0 && place <= 1);
    }
}
END_TEST

static bool is_colour(at_rgb c, int r, int g, int b)
{
    return c.r == r && c.g == g && c.b == b;
}

START_TEST(viridis_runs_from_violet_to_yellow)
{
    at_colour_scale unit = {0, 1, false};
    ck_assert(is_colour(at_colour_of(unit, 0), 68, 1, 84));
    ck_assert(is_colour(at_colour_of(unit, 1), 253, 231, 37));
    ck_assert(is_colour(at_colour_of(unit, -5), 68, 1, 84));
    ck_assert(is_colour(at_colour_of(unit, 1e300), 253, 231, 37));
    double last = -1; /* and gets lighter all the way */
    for (int k = 0; k <= 100; k++) {
        at_rgb c = at_colour_of(unit, k / 100.0);
        double light = 0.3 * c.r + 0.59 * c.g + 0.11 * c.b;
        ck_assert(light >= last);
        last = light;
    }
}
END_TEST

START_TEST(signed_colours_are_blue_white_and_red)
{
    at_colour_scale s = {-DBL_MAX, DBL_MAX, true}; /* the difference of the ends is infinite */
    at_rgb minus = at_colour_of(s, -DBL_MAX), zero = at_colour_of(s, 0),
           plus = at_colour_of(s, DBL_MAX);
    ck_assert(minus.b > 2 * minus.r && plus.r > 2 * plus.b);
    ck_assert(zero.r > 240 && zero.g > 240 && zero.b > 240);
}
END_TEST

START_TEST(text_stands_out_from_its_ground)
{
    ck_assert(at_wants_dark_text((at_rgb){255, 255, 255}));
    ck_assert(at_wants_dark_text((at_rgb){253, 231, 37}));
    ck_assert(!at_wants_dark_text((at_rgb){0, 0, 0}));
    ck_assert(!at_wants_dark_text((at_rgb){68, 1, 84}));
}
END_TEST

/* ------------------------------------------------------------------ axes ----------------------- */

/* All ticks, with commas between them. */
static const char *ticks_text(double lo, double hi, int most, bool logarithmic, bool unicode)
{
    static char text[400];
    at_ticks t = at_ticks_between(lo, hi, most, logarithmic);
    int n = 0;
    text[0] = 0;
    for (int k = 0; k < t.n; k++)
        n += snprintf(text + n, sizeof text - (size_t)n, k ? ",%s" : "%s",
                      at_tick_text(&t, k, unicode));
    return text;
}

START_TEST(ticks_are_round_numbers)
{
    ck_assert_str_eq(ticks_text(0, 1, 5, false, true), "0.0,0.2,0.4,0.6,0.8,1.0");
    ck_assert_str_eq(ticks_text(0, 1999, 5, false, true), "0,500,1000,1500");
    ck_assert_str_eq(ticks_text(-3, 3, 6, false, true), "-3,-2,-1,0,1,2,3");
    ck_assert_str_eq(ticks_text(1.21, 1.29, 4, false, true), "1.22,1.24,1.26,1.28");
    ck_assert_str_eq(ticks_text(0, 3e-6, 3, false, true), "0,10⁻⁶,2×10⁻⁶,3×10⁻⁶");
    ck_assert_str_eq(ticks_text(0, 3e-6, 3, false, false), "0,1e-6,2e-6,3e-6");
    ck_assert_str_eq(ticks_text(0, 5e6, 5, false, true), "0,10⁶,2×10⁶,3×10⁶,4×10⁶,5×10⁶");
    ck_assert_str_eq(ticks_text(1000000, 1000010, 5, false, true),
                     "1000000,1000002,1000004,1000006,1000008,1000010");
}
END_TEST

START_TEST(logarithmic_ticks_are_powers_or_ones_twos_and_fives)
{
    ck_assert_str_eq(ticks_text(0.01, 1000, 9, true, true), "0.01,0.1,1,10,100,1000");
    ck_assert_str_eq(ticks_text(1e-9, 1, 5, true, true), "10⁻⁸,10⁻⁶,10⁻⁴,10⁻²,1");
    ck_assert_str_eq(ticks_text(1e-9, 1, 5, true, false), "1e-8,1e-6,1e-4,1e-2,1");
    ck_assert_str_eq(ticks_text(1, 60, 6, true, true), "1,2,5,10,20,50");
    ck_assert_str_eq(ticks_text(3.1, 4.4, 5, true, true), "3.5,4.0");
}
END_TEST

START_TEST(extreme_axes_do_not_hang_or_overflow)
{
    const double end[] = {-DBL_MAX, -1, 0, DBL_MIN, 5e-324, 1, 1e15, DBL_MAX};
    for (int i = 0; i < 8; i++)
        for (int j = i + 1; j < 8; j++)
            for (int log = 0; log < 2; log++) {
                if (log && end[i] <= 0) continue;
                at_ticks t = at_ticks_between(end[i], end[j], 5, log);
                ck_assert_int_le(t.n, AT_MAX_TICKS);
                for (int k = 0; k < t.n; k++) ck_assert_ptr_nonnull(at_tick_text(&t, k, true));
            }
}
END_TEST

static void chart_axes(const double *y, int n, bool log_y, at_axis *x_axis, at_axis *y_axis)
{
    at_series s = {.y = y, .n = n};
    at_chart c = {.series = &s, .n_series = 1, .log_y = log_y};
    at_chart_axes(&c, x_axis, y_axis);
}

START_TEST(axes_hold_all_that_can_be_shown)
{
    at_axis x, y;
    chart_axes((double[]){3, (double)NAN, 1, (double)INFINITY, 4}, 5, false, &x, &y);
    ck_assert(x.lo == 0 && x.hi == 4);
    ck_assert(y.lo <= 1 && y.hi >= 4 && y.hi < 5);
    chart_axes((double[]){0.1, 4}, 2, false, &x, &y);
    ck_assert(y.lo == 0); /* near zero: from zero */
    chart_axes((double[]){-1, 0, 0.01, 10}, 4, true, &x, &y);
    ck_assert(x.lo == 2 && y.lo > 0.005 && y.lo <= 0.01 && y.hi >= 10);
    chart_axes((double[]){7}, 1, false, &x, &y);
    ck_assert(x.lo < x.hi && y.lo < 7 && y.hi > 7);
    chart_axes((double[]){(double)NAN}, 1, true, &x, &y);
    ck_assert(y.lo < y.hi);
}
END_TEST

START_TEST(places_are_between_zero_and_one)
{
    at_axis linear = {2, 4, false}, logarithmic = {1, 100, true}, huge = {-DBL_MAX, DBL_MAX, false};
    assert_close(at_axis_place(linear, 3), 0.5, 1e-12);
    assert_close(at_axis_place(logarithmic, 10), 0.5, 1e-12);
    assert_close(at_axis_place(huge, 0), 0.5, 1e-12);
    ck_assert(isnan(at_axis_place(logarithmic, 0)));
    ck_assert(isnan(at_axis_place(linear, (double)INFINITY)));
}
END_TEST

SUITE(plot_draw, a_subplot_is_the_matrix_at_an_index, a_mask_broadcasts_to_its_subplot,
      a_subplot_that_cannot_be_is_an_error, minus_infinity_is_masked_and_nan_is_not_hidden,
      a_block_shows_its_largest_magnitude_and_any_nan, values_are_written_so_that_they_compare,
      colours_follow_the_data, the_caller_may_choose_the_ends, viridis_runs_from_violet_to_yellow,
      signed_colours_are_blue_white_and_red, text_stands_out_from_its_ground,
      ticks_are_round_numbers, logarithmic_ticks_are_powers_or_ones_twos_and_fives,
      extreme_axes_do_not_hang_or_overflow, axes_hold_all_that_can_be_shown,
      places_are_between_zero_and_one)
