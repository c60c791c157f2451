/* test_schedule.c -- up in a straight line, down as asked. */
#include "nn/schedule.h"

#include "test.h"

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
      a_step_below_0_counts_as_0)
