/* test_run_signal.c -- a signal ends a run after its step, with a checkpoint; a second one ends the
 * process. */
#include <signal.h>

#include "train/running.h"

static int signal_to_send, signals_to_send;

static int train_and_be_told(void)
{
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), quick(0));
    little_steps(t, r, 5);
    for (int i = 0; i < signals_to_send; i++) raise(signal_to_send);
    little_steps(t, r, STEPS + 1);
    int status = at_run_close(r);
    at_close(t);
    return status;
}

START_TEST(a_signal_ends_the_run_after_its_step_with_a_checkpoint)
{
    begin_test();
    uint64_t whole = finish(ATTIC_F32, quick(0));
    for (int i = 0; i < 2; i++) {
        little_remove();
        ck_assert_ptr_nonnull(little_folder());
        signal_to_send = i ? SIGTERM : SIGINT;
        signals_to_send = 1;
        ck_assert_int_eq(status_of(train_and_be_told), i ? 143 : 130);
        assert_said(i ? "attic: stopped by SIGTERM after step 5 of 20;"
                      : "attic: stopped by ^C (SIGINT) after step 5 of 20;");
        ck_assert(finish(ATTIC_F32, quick(0)) == whole);
    }
    end_test();
}
END_TEST

START_TEST(a_second_signal_ends_the_process)
{
    begin_test();
    signal_to_send = SIGINT;
    signals_to_send = 2;
    ck_assert_int_eq(status_of(train_and_be_told), -SIGINT);
    end_test();
}
END_TEST

static int heard;
static void hear(int signal)
{
    heard = signal;
}

START_TEST(old_signal_handlers_are_restored)
{
    begin_test();
    void (*interrupt)(int) = signal(SIGINT, hear), (*end)(int) = signal(SIGTERM, SIG_IGN);
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), quick(0));
    raise(SIGTERM); /* was ignored, and is */
    ck_assert(at_run_next(r) && heard == 0);
    ck_assert_int_eq(at_run_close(r), 0);
    raise(SIGINT);
    ck_assert_int_eq(heard, SIGINT);
    ck_assert(signal(SIGTERM, end) == SIG_IGN);
    signal(SIGINT, interrupt);
    at_close(t);
    end_test();
}
END_TEST

static int stop_without_folder(void)
{
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, NULL, (at_run_args){.steps = STEPS, .quiet = true, .out = said});
    little_steps(t, r, 5);
    raise(SIGTERM);
    little_steps(t, r, STEPS + 1);
    int status = at_run_close(r);
    at_close(t);
    return status;
}

START_TEST(a_signal_ends_a_run_without_a_folder_which_says_that_nothing_is_saved)
{
    begin_test();
    ck_assert_int_eq(status_of(stop_without_folder), 143);
    assert_said(
        "attic: stopped by SIGTERM after step 5 of 20; a run without a folder saves nothing\n");
    end_test();
}
END_TEST

START_TEST(an_interrupt_in_the_last_step_stops_nothing)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), quick(0));
    while (at_run_next(r))
        if (at_run_step(r) == STEPS - 1) raise(SIGINT);
    ck_assert(at_run_finished(r));
    ck_assert_int_eq(at_run_close(r), 0);
    ck_assert_str_eq(said_text(), "");
    at_close(t);
    end_test();
}
END_TEST

SUITE(train_run_signal, a_signal_ends_the_run_after_its_step_with_a_checkpoint,
      a_second_signal_ends_the_process, old_signal_handlers_are_restored,
      a_signal_ends_a_run_without_a_folder_which_says_that_nothing_is_saved,
      an_interrupt_in_the_last_step_stops_nothing)
