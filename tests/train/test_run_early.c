/* test_run_early.c -- the best parameters are kept, and a run ends early: by patience, or because its
 * program says so. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "train/running.h"

START_TEST(the_lowest_held_out_loss_keeps_its_parameters)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 7), *u = little_tape(ATTIC_F32, 8);
    at_run *r = at_run_open(t, little_path(""), quick(1));
    little_steps(t, r, 3);
    ck_assert(at_run_best(r, 2));
    at_copy_params(u, t);
    little_steps(t, r, 2);
    ck_assert(!at_run_best(r, 2) && !at_run_best(r, (double)NAN));
    at_run_next(r);
    at_run_close(r);
    at_close(t);

    t = little_tape(ATTIC_F32, 7);
    r = at_run_open(t, little_path(""), quick(1));
    little_steps(t, r, 1);
    ck_assert(!at_run_best(r, 2.5)); /* the best so far is part of the checkpoint */
    ck_assert_int_eq(at_run_close(r), 0);
    ck_assert(at_load(t, little_path("best.safetensors"), (at_part_args){0}));
    ck_assert(at_get(at_find_param(t, "W"), 1, 2) == at_get(at_find_param(u, "W"), 1, 2));
    at_close(t);
    at_close(u);
    end_test();
}
END_TEST

/* The rest of a run whose held-out loss is 5 4 3 3 3 3 2 2 ... in its steps; how many were done. */
static int run_patiently(int patience, int most, uint64_t *hash)
{
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run_args args = quick(3);
    args.patience = patience;
    at_run *r = at_run_open(t, little_path(""), args);
    for (int n = 0; n < most && little_steps(t, r, 1); n++)
        at_run_best(r, at_run_step(r) < 3 ? 5 - at_run_step(r) : at_run_step(r) < 6 ? 3 : 2);
    int steps = at_run_step(r), best = at_run_best_step(r);
    ck_assert(at_run_finished(r) == (most > STEPS));
    ck_assert(most <= STEPS || best == (steps < 7 ? 3 : 7));
    ck_assert(most <= STEPS || at_run_best_value(r) == (steps < 7 ? 3 : 2));
    *hash = little_hash(t);
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
    return steps;
}

START_TEST(patience_ends_a_run_which_is_then_finished)
{
    uint64_t first, again;
    begin_test();
    ck_assert_int_eq(run_patiently(3, STEPS + 1, &first), 6);
    assert_said(
        ": ended early, after step 6 of 20: 3 held-out losses in a row were not below 3, that "
        "of step 3\n");
    ck_assert_int_eq((int)cell(6, 0), 6); /* the last line of the log */
    ck_assert_int_eq(run_patiently(3, STEPS + 1, &again), 6);
    ck_assert(first == again);
    ck_assert_int_eq(run_patiently(2, STEPS + 1, &again), 6);
    end_test();
}
END_TEST

START_TEST(a_run_that_ended_early_says_so_when_it_is_opened_again)
{
    uint64_t hash;
    begin_test();
    run_patiently(3, STEPS + 1, &hash);
    fclose(said);
    said = tmpfile();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r =
        at_run_open(t, little_path(""), (at_run_args){.steps = STEPS, .patience = 3, .out = said});
    ck_assert(!at_run_next(r) && at_run_finished(r));
    ck_assert_int_eq(at_run_close(r), 0);
    assert_said(": ended early, after step 6 of 20: 3 held-out");
    ck_assert_ptr_null(strstr(strstr(said_text(), "early") + 1, "early")); /* once */
    at_close(t);
    end_test();
}
END_TEST

START_TEST(with_more_patience_a_run_that_ended_early_goes_on_with_the_same_bits)
{
    uint64_t patient, first, hash;
    begin_test();
    ck_assert_int_eq(run_patiently(4, STEPS + 1, &patient), 11);
    for (int n = 1; n <= 6; n++) { /* killed after n steps, ended early, ended later */
        little_remove();
        ck_assert_ptr_nonnull(little_folder());
        run_patiently(3, n, &first);
        ck_assert_int_eq(run_patiently(3, STEPS + 1, &first), 6);
        ck_assert_int_eq(run_patiently(4, STEPS + 1, &hash), 11);
        ck_assert(hash == patient && hash != first);
        ck_assert_int_eq(run_patiently(0, STEPS + 1, &hash), STEPS);
    }
    end_test();
}
END_TEST

/* A run that stops itself in its 5th step; the steps that are done at its end. */
static int run_and_stop(at_run_args args)
{
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), args);
    while (little_steps(t, r, 1))
        if (at_run_step(r) == 4) at_run_stop(r);
    ck_assert(at_run_finished(r));
    int steps = at_run_step(r);
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
    return steps;
}

START_TEST(a_program_stops_its_run_which_goes_on_with_more_steps_only)
{
    begin_test();
    ck_assert_int_eq(run_and_stop(quick(0)), 5);
    assert_said(": ended early, after step 5 of 20: the program stopped it\n");
    ck_assert_int_eq(run_and_stop(quick(0)), 5);
    at_run_args more = quick(0);
    more.steps = 9;
    ck_assert_int_eq(run_and_stop(more), 5);
    more.steps = STEPS + 1;
    ck_assert_int_eq(run_and_stop(more), STEPS + 1);
    ck_assert_int_eq(run_and_stop(quick(0)), STEPS + 1);
    end_test();
}
END_TEST

START_TEST(losses_that_are_not_finite_end_patience)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run_args args = quick(0);
    args.patience = 2;
    at_run *r = at_run_open(t, little_path(""), args);
    while (little_steps(t, r, 1)) at_run_best(r, at_run_step(r) ? (double)NAN : (double)INFINITY);
    ck_assert_int_eq(at_run_step(r), 2);
    ck_assert_int_eq(at_run_close(r), 0);
    assert_said("early, after step 2 of 20: 2 held-out losses in a row were not finite\n");
    at_close(t);
    end_test();
}
END_TEST

START_TEST(a_best_that_cannot_be_saved_is_no_best_and_no_loss_of_patience)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run_args args = quick(0);
    args.patience = 1;
    at_run *r = at_run_open(t, little_path(""), args);
    mkdir(little_path("best.safetensors"), 0700);
    ck_assert_int_eq(little_steps(t, r, 1), 1);
    ck_assert(!at_run_best(r, 2) && isinf(at_run_best_value(r)));
    assert_said("; the best before it stays, the training goes on\n");
    rmdir(little_path("best.safetensors"));
    ck_assert_int_eq(little_steps(t, r, 1), 1);
    ck_assert(at_run_best(r, 3) && at_run_best_value(r) == 3 && at_run_best_step(r) == 2);
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
    end_test();
}
END_TEST

SUITE(train_run_early, the_lowest_held_out_loss_keeps_its_parameters,
      patience_ends_a_run_which_is_then_finished,
      a_run_that_ended_early_says_so_when_it_is_opened_again,
      with_more_patience_a_run_that_ended_early_goes_on_with_the_same_bits,
      a_program_stops_its_run_which_goes_on_with_more_steps_only,
      losses_that_are_not_finite_end_patience,
      a_best_that_cannot_be_saved_is_no_best_and_no_loss_of_patience)
