/* test_run_skip.c -- a step whose loss is not finite is skipped and counted; too many end the run. */
#include <math.h>
#include <string.h>

#include "train/running.h"

/* Steps from..to-1 have a loss of NaN. */
static int train_with_bad_steps(at_run_args args, int from, int to, uint64_t *before,
                                uint64_t *after)
{
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), args);
    at_mark mark = at_mark_here(t);
    while (at_run_next(r)) {
        bool is_bad = at_run_step(r) >= from && at_run_step(r) < to;
        if (at_run_step(r) == from) *before = little_hash(t);
        if (at_run_step(r) == to) *after = little_hash(t);
        double loss = at_item(little_loss(t, 1));
        ck_assert(at_run_log(r, "loss", is_bad ? (double)NAN : loss) == !is_bad);
        ck_assert(!is_bad || !at_run_next_micro(r));
        at_adamw(t, 0.1, (at_adamw_args){0});
        at_rewind(t, mark);
    }
    int steps = at_run_step(r), status = at_run_close(r);
    at_close(t);
    return status ? -status : steps;
}

START_TEST(a_step_whose_loss_is_not_finite_is_skipped_and_counted)
{
    uint64_t before = 1, after = 2;
    begin_test();
    at_run_args args = quick(0);
    args.quiet = false;
    ck_assert_int_eq(train_with_bad_steps(args, 4, 7, &before, &after), STEPS);
    ck_assert(before == after);
    ck_assert(strstr(little_log("log.csv"), "\n5,nan,\n6,nan,\n7,nan,\n8,"));
    assert_said("attic: 3 of 20 steps were skipped, as their loss was not finite\n");
    end_test();
}
END_TEST

START_TEST(an_optimizer_moves_nothing_in_a_skipped_step_and_that_is_no_error)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run_args args = quick(0);
    args.micros = 2;
    at_run *r = at_run_open(t, little_path(""), args);
    at_mark mark = at_mark_here(t);
    while (at_run_next(r)) {
        const bool is_bad = at_run_step(r) % 4 == 3; /* the last, too */
        while (at_run_next_micro(r)) {
            double loss = at_item(little_loss(t, 0.5));
            at_run_log(r, "loss", is_bad ? (double)NAN : loss);
            at_rewind(t, mark);
        }
        const double norm = at_clip_grad_norm(t, 1);
        ck_assert(is_bad ? norm == 0 : norm > 0);
        ck_assert(at_adamw(t, 0.1, (at_adamw_args){0}));
        at_rewind(t, mark);
    }
    ck_assert_int_eq(at_run_close(r), 0);
    ck_assert(!at_sgd(t, 0.1) &&
              strstr(at_error(t), "has a gradient")); /* outside of steps it is */
    at_close(t);
    end_test();
}
END_TEST

START_TEST(too_many_skipped_steps_in_a_row_end_the_run)
{
    uint64_t before, after;
    begin_test();
    at_run_args args = quick(4);
    args.max_bad = 3;
    ck_assert_int_eq(train_with_bad_steps(args, 5, 8, &before, &after), -1);
    assert_said("attic: the loss was not finite in 3 steps in a row, up to step 8: stopped; the "
                "last checkpoint is that of step 4, in /");
    /* resumed, they are counted again from where they began */
    ck_assert_int_eq(train_with_bad_steps(args, 5, 7, &before, &after), STEPS);
    end_test();
}
END_TEST

START_TEST(the_count_of_skipped_steps_in_a_row_is_part_of_a_checkpoint)
{
    uint64_t before, after;
    begin_test();
    at_run_args args = quick(1);
    args.max_bad = 4;
    args.steps = 6;
    ck_assert_int_eq(train_with_bad_steps(args, 3, 100, &before, &after), 6); /* 3 in a row */
    args.steps = STEPS;
    ck_assert_int_eq(train_with_bad_steps(args, 6, 7, &before, &after), -1); /* the fourth */
    end_test();
}
END_TEST

START_TEST(a_run_whose_every_step_was_skipped_has_failed)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run_args args = quick(0);
    args.max_bad = STEPS + 1;
    at_run *r = at_run_open(t, little_path(""), args);
    while (at_run_next(r)) {
        little_loss(t, 1);
        at_run_log(r, "loss", (double)NAN);
    }
    ck_assert(at_run_finished(r));
    ck_assert_int_eq(at_run_close(r), 1);
    assert_said("steps were skipped, as their loss was not finite");
    at_close(t);
    end_test();
}
END_TEST

SUITE(train_run_skip, a_step_whose_loss_is_not_finite_is_skipped_and_counted,
      an_optimizer_moves_nothing_in_a_skipped_step_and_that_is_no_error,
      too_many_skipped_steps_in_a_row_end_the_run,
      the_count_of_skipped_steps_in_a_row_is_part_of_a_checkpoint,
      a_run_whose_every_step_was_skipped_has_failed)
