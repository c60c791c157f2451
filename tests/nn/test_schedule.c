/* test_schedule.c -- up in a straight line, down as asked. */
#include "nn/schedule.h"

#include "test.h"

#include <limits.h>
#include <math.h>

START_TEST(the_warm_up_begins_above_0_and_ends_at_the_peak)
{
    assert_close(at_warmup_cosine(0, 4, 20, 8, 1), 2, 1e-15);
    assert_close(at_warmup_cosine(1, 4, 20, 8, 1), 4, 1e-15);
    assert_close(at_warmup_cosine(3, 4, 20, 8, 1), 8, 1e-15);
    assert_close(at_warmup_linear(2, 4, 20, 8, 1), 6, 1e-15);
    assert_close(at_warmup_constant(0, 4, 8), 2, 1e-15);
    assert_close(at_warmup_constant(400, 4, 8), 8, 0);
}
END_TEST

START_TEST(the_cosine_is_half_way_down_in_the_middle)
{
    assert_close(at_warmup_cosine(4, 4, 20, 8, 2), 8, 1e-15);
    assert_close(at_warmup_cosine(8, 4, 20, 8, 2), 5 + 3 * 0.7071067811865476, 1e-14);
    assert_close(at_warmup_cosine(12, 4, 20, 8, 2), 5, 1e-14);
    assert_close(at_warmup_cosine(20, 4, 20, 8, 2), 2, 1e-15);
}
END_TEST

START_TEST(the_line_goes_down_by_equal_steps)
{
    for (int step = 4; step <= 20; step++)
        assert_close(at_warmup_linear(step, 4, 20, 8, 0), (20 - step) / 2.0, 1e-14);
}
END_TEST

START_TEST(after_the_end_the_rate_stays_low)
{
    assert_close(at_warmup_cosine(21, 4, 20, 8, 2), 2, 1e-15);
    assert_close(at_warmup_linear(2000000000, 4, 20, 8, 2), 2, 1e-15);
    assert_close(at_warmup_cosine(10, 10, 5, 8, 2), 2, 1e-15); /* warm-up to the end and beyond */
    assert_close(at_warmup_cosine(9, 10, 5, 8, 2), 8, 1e-15);
}
END_TEST

START_TEST(without_warm_up_it_begins_at_the_peak)
{
    assert_close(at_warmup_cosine(0, 0, 10, 8, 2), 8, 1e-15);
    assert_close(at_warmup_linear(5, 0, 10, 8, 2), 5, 1e-15);
    assert_close(at_warmup_constant(0, 0, 8), 8, 0);
    assert_close(at_warmup_cosine(0, 0, 0, 8, 2), 2, 1e-15); /* nothing to do at all */
}
END_TEST

START_TEST(one_cycle_goes_up_and_down_by_half_a_cosine)
{
    const double half = 0.5, quarter = (1 - 0.7071067811865476) / 2;
    assert_close(at_one_cycle(0, 8, 24, 9, 1, 0), 1, 1e-15);
    assert_close(at_one_cycle(2, 8, 24, 9, 1, 0), 1 + 8 * quarter, 1e-14);
    assert_close(at_one_cycle(4, 8, 24, 9, 1, 0), 1 + 8 * half, 1e-14);
    assert_close(at_one_cycle(8, 8, 24, 9, 1, 0), 9, 1e-15);
    assert_close(at_one_cycle(16, 8, 24, 9, 1, 0), 9 * half, 1e-14);
    assert_close(at_one_cycle(20, 8, 24, 9, 1, 0), 9 * quarter, 1e-14);
    assert_close(at_one_cycle(24, 8, 24, 9, 1, 0.5), 0.5, 1e-15);
    assert_close(at_one_cycle(INT_MAX, 8, 24, 9, 1, 0.5), 0.5, 1e-15);
    assert_close(at_one_cycle(INT_MIN, 8, 24, 9, 1, 0), 1, 1e-15);
    assert_close(at_one_cycle(0, 0, 24, 9, 1, 0), 9, 1e-15);    /* begins at the peak */
    assert_close(at_one_cycle(8, 8, 5, 9, 1, 0.5), 0.5, 1e-15); /* never comes down */
}
END_TEST

/* torch.optim.lr_scheduler.OneCycleLR(optimizer, 1, total_steps=10) after 0, 1 ... 9 steps, by its
 * documentation: up to step 2, down to step 9 */
START_TEST(one_cycle_can_be_that_of_pytorch)
{
    const double pi = 3.141592653589793;
    for (int step = 0; step < 10; step++) {
        const double from = step <= 2 ? 0.04 : 1, to = step <= 2 ? 1 : 4e-6;
        const double gone = step <= 2 ? step / 2.0 : (step - 2) / 7.0;
        const double torch = to + (from - to) / 2 * (1 + cos(pi * gone));
        assert_close(at_one_cycle(step, 2, 9, 1, 0.04, 4e-6), torch, 1e-15);
    }
}
END_TEST

START_TEST(a_cosine_begins_anew_in_ever_longer_stretches)
{
    const int begins[] = {0, 4, 12, 28, 60};
    for (int i = 0; i < 4; i++) {
        const int n = begins[i + 1] - begins[i];
        assert_close(at_cosine_restarts(begins[i], 4, 2, 8, 2), 8, 1e-15);
        assert_close(at_cosine_restarts(begins[i] + n / 2, 4, 2, 8, 2), 5, 1e-14);
        assert_close(at_cosine_restarts(begins[i] + n - 1, 4, 2, 8, 2),
                     at_warmup_cosine(n - 1, 0, n, 8, 2), 1e-15);
    }
    assert_close(at_cosine_restarts(1000000001, 2, 1, 8, 2), 5, 1e-14);
    assert_close(at_cosine_restarts(1000000000, 2, 0, 8, 2), 8, 1e-15);
    assert_close(at_cosine_restarts(INT_MAX, 0, 1, 8, 2), 8, 1e-15);
    assert_close(at_cosine_restarts(-3, 4, 2, 8, 2), 8, 1e-15);
    const double u = (INT_MAX - 1.0) / INT_MAX; /* the second stretch is as long as can be */
    assert_close(at_cosine_restarts(INT_MAX, 1, INT_MAX, 8, 2),
                 2 + 3 * (1 + cos(3.141592653589793 * u)), 1e-14);
}
END_TEST

START_TEST(a_step_below_0_counts_as_0)
{
    assert_close(at_warmup_cosine(-5, 4, 20, 8, 1), 2, 1e-15);
    assert_close(at_warmup_linear(-5, 0, 20, 8, 1), 8, 1e-15);
    assert_close(at_warmup_constant(-1, 4, 8), 2, 1e-15);
}
END_TEST

SUITE(nn_schedule, the_warm_up_begins_above_0_and_ends_at_the_peak,
      the_cosine_is_half_way_down_in_the_middle, the_line_goes_down_by_equal_steps,
      after_the_end_the_rate_stays_low, without_warm_up_it_begins_at_the_peak,
      a_step_below_0_counts_as_0, one_cycle_goes_up_and_down_by_half_a_cosine,
      one_cycle_can_be_that_of_pytorch, a_cosine_begins_anew_in_ever_longer_stretches)
