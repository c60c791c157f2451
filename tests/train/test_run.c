/* test_run.c -- what a run is given and asked, step by step.  What it writes, how it ends and goes on:
 * test_run_*.c; failing and killed writes: tests/crash. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tensor/arena.h"
#include "train/running.h"

/* A step of two micro-batches, each drawn for itself. */
static bool micro_step(at_tape *t, at_run *r, int *seen)
{
    if (!at_run_next(r)) return false;
    while (at_run_next_micro(r)) {
        *seen = *seen * 10 + at_run_micro(r);
        at_run_log(r, "loss", at_item(little_loss(t, 0.5)));
    }
    at_sgd(t, 0.1);
    return true;
}

START_TEST(micro_batches_draw_differently_and_their_losses_are_averaged)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F64, 7);
    at_run_args args = quick(0);
    args.micros = 2;
    at_run *r = at_run_open(t, little_path(""), args);
    int seen = 0;
    ck_assert(micro_step(t, r, &seen) && !at_run_next_micro(r));
    ck_assert_int_eq(seen, 1); /* 0, then 1 */
    at_run_next(r);
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);

    double first, second, mean;
    at_tape *u = little_tape(ATTIC_F64, 7);
    at_draws_set(u, 0, 0);
    first = at_item(little_loss(u, 1));
    at_draws_set(u, 0, 1);
    second = at_item(little_loss(u, 1));
    ck_assert(first != second);
    ck_assert_int_eq(sscanf(little_log("log.csv"), "step,loss,held\n1,%lf,", &mean), 1);
    ck_assert_double_eq(mean, (first + second) / 2);
    at_close(u);
    end_test();
}
END_TEST

START_TEST(every_n_th_step_and_the_last_one_are_chosen)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), quick(0));
    char steps[64] = "";
    for (; at_run_next(r); at_zero_grads(t))
        if (at_run_every(r, 6)) snprintf(steps + strlen(steps), 8, "%d ", at_run_step(r));
    ck_assert_str_eq(steps, "5 11 17 19 ");
    ck_assert_int_eq(at_run_step(r), STEPS);
    ck_assert(!at_run_every(r, 1) && at_run_finished(r));
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
    end_test();
}
END_TEST

START_TEST(wrong_arguments_are_refused)
{
    begin_test();
    at_run_args args = quick(0);
    args.steps = 0;
    assert_refused(little_tape(ATTIC_F32, 7), args, "run: steps is 0, but must be > 0");
    args = quick(-1);
    assert_refused(little_tape(ATTIC_F32, 7), args, "run: save_every is -1, but must be >= 0");
    args = quick(0);
    args.micros = 4097;
    assert_refused(little_tape(ATTIC_F32, 7), args, "run: micros is 4097, but must be 0");
    args = quick(0);
    args.log_every = -2;
    assert_refused(little_tape(ATTIC_F32, 7), args, "run: log_every is -2, but must be >= 0");
    args = quick(0);
    args.max_bad = -2;
    assert_refused(little_tape(ATTIC_F32, 7), args, "run: max_bad is -2, but must be >= 0");
    args = quick(0);
    args.patience = -1;
    assert_refused(little_tape(ATTIC_F32, 7), args, "run: patience is -1, but must be >= 0");
    args = quick(0);
    args.per_step = -1;
    assert_refused(little_tape(ATTIC_F32, 7), args, "run: per_step is -1, but must be >= 0");
    assert_refused(at_open(ATTIC_F32, 7), quick(0), "make the model first");

    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path("a/b/c"), quick(0));
    ck_assert(at_run_next(r));
    at_param(t, "late", at_shape_of(), at_zeros());
    ck_assert(!at_run_next(r));
    ck_assert_str_eq(at_error(t), "run: parameter \"late\" was made after at_run_open");
    ck_assert_int_eq(at_run_close(r), 2);
    at_close(t);
    end_test();
}
END_TEST

START_TEST(a_run_on_a_failed_tape_has_its_message_and_status)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_npy_load(t, little_path("nothing"));
    at_run *r = at_run_open(t, little_path(""), quick(0));
    ck_assert(!at_run_next(r));
    ck_assert_int_eq(at_run_close(r), 1);
    assert_said("attic: cannot open ");
    at_close(t);
    end_test();
}
END_TEST

START_TEST(a_run_that_could_not_be_made_is_out_of_memory)
{
    begin_test();
    fflush(stderr);
    int before = dup(2);
    dup2(fileno(said), 2); /* there is no run that could know of another file */
    ck_assert(!at_run_open(NULL, little_path(""), quick(0)) && !at_run_next(NULL));
    ck_assert(!at_run_log(NULL, "loss", 1) && !at_run_best(NULL, 1) && !at_run_every(NULL, 1));
    ck_assert(!at_run_step(NULL) && !at_run_micro(NULL) && !at_run_finished(NULL));
    ck_assert(isinf(at_run_best_value(NULL)) && !at_run_best_step(NULL));
    at_run_stop(NULL);
    ck_assert_int_eq(at_run_close(NULL), 1);
    dup2(before, 2);
    close(before);
    assert_said("attic: out of memory: there is no run\n");
    end_test();
}
END_TEST

/* Two steps, stopped after one; false for lack of memory. */
static bool run_in_memory(uint64_t *hash)
{
    at_run_args args = quick(1);
    args.steps = 2;
    bool through = true;
    for (int half = 0; half < 2 && through; half++) {
        at_tape *t = little_tape(ATTIC_F32, 7);
        at_run *r = at_run_open(t, little_path(""), args);
        if (r) little_steps(t, r, half ? 3 : 1);
        through = r && at_ok(t);
        if (t && !at_ok(t)) ck_assert_int_eq(at_error_kind_of(t), ATTIC_MEMORY_ERROR);
        if (r) ck_assert_int_eq(at_run_close(r), through ? 0 : 1);
        *hash = through ? little_hash(t) : 0;
        at_close(t);
    }
    return through;
}

START_TEST(every_allocation_of_a_run_may_fail)
{
    uint64_t undisturbed, hash;
    begin_test();
    ck_assert(run_in_memory(&undisturbed));
    ptrdiff_t n = 0;
    do {
        little_remove();
        ck_assert_ptr_nonnull(little_folder());
        at_fail_allocation(++n);
    } while (!run_in_memory(&hash) && n < 10000);
    at_fail_allocation(0);
    ck_assert_int_gt(n, 100);
    ck_assert(hash == undisturbed);
    end_test();
}
END_TEST

START_TEST(a_tape_that_is_closed_before_its_run_is_no_crash)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), quick(0));
    ck_assert(at_run_next(r));
    at_close(t);
    ck_assert(!at_run_log(r, "loss", 1) && !at_run_best(r, 1) && !at_run_next(r));
    ck_assert_int_eq(at_run_close(r), 2);
    assert_said("the tape was closed before the run");
    end_test();
}
END_TEST

START_TEST(values_given_outside_of_a_step_are_refused)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), quick(0));
    ck_assert(!at_run_log(r, "loss", 1));
    ck_assert_ptr_nonnull(strstr(at_error(t), "run: loss is given outside of a step"));
    at_clear_error(t);
    ck_assert(!at_run_best(r, 1));
    ck_assert_ptr_nonnull(strstr(at_error(t), "run: a best is given outside of a step"));
    at_clear_error(t);
    at_run_stop(r);
    ck_assert_ptr_nonnull(strstr(at_error(t), "run: a stop is given outside of a step"));
    ck_assert_int_eq(at_run_close(r), 2);
    at_close(t);
    end_test();
}
END_TEST

SUITE(train_run, micro_batches_draw_differently_and_their_losses_are_averaged,
      every_n_th_step_and_the_last_one_are_chosen, wrong_arguments_are_refused,
      a_run_on_a_failed_tape_has_its_message_and_status,
      a_run_that_could_not_be_made_is_out_of_memory, every_allocation_of_a_run_may_fail,
      a_tape_that_is_closed_before_its_run_is_no_crash, values_given_outside_of_a_step_are_refused)
