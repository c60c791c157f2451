/* test_run_log.c -- log.csv: a line for each step, columns that come late or rarely, and what is no
 * value of a column. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "train/running.h"

START_TEST(the_log_has_a_line_for_each_step)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F64, 7);
    at_run_args args = quick(0);
    args.steps = 2;
    at_run *r = at_run_open(t, little_path(""), args);
    for (int i = 0; at_run_next(r); i++) {
        little_loss(t, 1);
        at_run_log(r, "loss", 1.5 - i);
        at_run_log(r, "odd", i ? -0.25 : (double)NAN);
        if (i) at_run_best(r, 3);
        at_zero_grads(t);
    }
    ck_assert(
        strstr(little_text("log.csv"), "step,loss,odd,held,seconds,per_second\n1,1.5,nan,,0."));
    ck_assert_str_eq(little_log("log.csv"), "step,loss,odd,held\n1,1.5,nan,\n2,0.5,-0.25,3\n");
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
    end_test();
}
END_TEST

/* Steps of the run in this folder, at most so many: "early" is logged in steps 0, 7 and 14, "late" in
 * 6, 12 and 18, a held-out loss is given in 8; 5 steps from line to line.  Left by a break. */
static void log_now_and_then(int most)
{
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run_args args = quick(3);
    args.log_every = 5;
    at_run *r = at_run_open(t, little_path(""), args);
    for (int n = 0; n < most && at_run_next(r); n++) {
        const int i = at_run_step(r);
        at_run_log(r, "step number", i);
        if (i % 7 == 0) at_run_log(r, "early", i + 0.5);
        if (i > 0 && i % 6 == 0) at_run_log(r, "late", i + 0.25);
        if (i == 8) at_run_best(r, 2);
    }
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
}

static const char now_and_then[] = "step,step number,early,held,late\n"
                                   "1,0,0.5,,\n"
                                   "5,4,,,\n"
                                   "7,6,,,6.25\n"
                                   "8,7,7.5,,\n"
                                   "9,8,,2,\n"
                                   "10,9,,,\n"
                                   "13,12,,,12.25\n"
                                   "15,14,14.5,,\n"
                                   "19,18,,,18.25\n"
                                   "20,19,,,\n";

START_TEST(a_column_that_comes_late_or_rarely_loses_no_value_between_two_lines)
{
    begin_test();
    log_now_and_then(STEPS + 1);
    ck_assert_str_eq(little_log("log.csv"), now_and_then);
    ck_assert(strstr(little_text("log.csv"), ",held,seconds,per_second,late\n"));
    ck_assert_ptr_null(little_text("log.new.csv"));
    end_test();
}
END_TEST

START_TEST(rare_columns_are_the_same_wherever_the_run_stops)
{
    begin_test();
    for (int n = 1; n <= STEPS; n++) {
        log_now_and_then(n);
        log_now_and_then(STEPS + 1);
        ck_assert_str_eq(little_log("log.csv"), now_and_then);
        little_remove();
        ck_assert_ptr_nonnull(little_folder());
    }
    end_test();
}
END_TEST

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

START_TEST(the_seconds_of_a_run_are_those_of_its_processes_and_not_between_them)
{
    begin_test();
    at_run_args args = quick(1);
    args.per_step = 1000;
    for (args.steps = 1; args.steps <= 2; args.steps++) {
        pause_ms(args.steps == 2 ? 500 : 0);
        at_tape *t = little_tape(ATTIC_F32, 7);
        at_run *r = at_run_open(t, little_path(""), args);
        ck_assert(at_run_next(r));
        at_run_log(r, "x", 1);
        pause_ms(20);
        ck_assert(!at_run_next(r));
        ck_assert_int_eq(at_run_close(r), 0);
        at_close(t);
    }
    double first = cell(1, 3), second = cell(2, 3);
    ck_assert_double_ge(first, 0.02);
    ck_assert_double_ge(second, first + 0.02);
    ck_assert_double_lt(cell(2, 4), 1000 / 0.02 + 1); /* rows in a second */
    ck_assert_double_gt(cell(2, 4), 1000 / (second - first + 0.001) - 1);
    ck_assert_msg(second < first + 0.5, "%g s, then %g", first, second);
    end_test();
}
END_TEST

START_TEST(a_log_with_another_header_is_refused_and_left_alone)
{
    static const char *const header[] = {"step,loss,norm,held\n1,2,3,4\n",
                                         "x\n",
                                         "step,\n",
                                         "step,held,seconds\n",
                                         "step,held,,seconds,per_second\n",
                                         "step,\x1b[2J,held,seconds,per_second\n"};
    for (int i = 0; i < 6; i++) {
        begin_test();
        train_and_leave(ATTIC_F32, quick(1), 2);
        FILE *f = fopen(little_path("log.csv"), "w");
        fputs(header[i], f);
        fclose(f);
        assert_refused(little_tape(ATTIC_F32, 7), quick(1),
                       "does not begin with the header of a log");
        ck_assert_str_eq(little_text("log.csv"), header[i]);
        remove(little_path("log.csv"));
        finish(ATTIC_F32, quick(1));
        assert_said("log.csv has 0 lines, but had 2: its end was lost\n");
        end_test();
    }
}
END_TEST

START_TEST(a_log_that_cannot_become_wider_is_a_warning)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), quick(0));
    little_steps(t, r, 2);
    mkdir(little_path("log.new.csv"), 0700); /* nothing can be renamed to it */
    for (int i = 2; i < 6 && at_run_next(r); i++) {
        at_run_log(r, "late", i);
        if (i == 4) rmdir(little_path("log.new.csv"));
    }
    assert_said("; the log lacks lines or a column, the training goes on\n");
    ck_assert_ptr_null(strstr(strstr(said_text(), "lacks") + 1, "lacks")); /* once */
    ck_assert(strstr(little_log("log.csv"), "held,late\n1,"));
    ck_assert(strstr(little_log("log.csv"), "\n4,,,,\n5,,,,4\n"));
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
    end_test();
}
END_TEST

START_TEST(a_decimal_comma_changes_neither_log_nor_checkpoint)
{
    begin_test();
    use_decimal_comma();
    at_run_args args = quick(1);
    for (args.steps = 1; args.steps <= 2; args.steps++) {
        at_tape *t = little_tape(ATTIC_F64, 7);
        at_run *r = at_run_open(t, little_path(""), args);
        ck_assert(at_run_next(r));
        little_loss(t, 1);
        at_run_log(r, "loss", 0.5);
        ck_assert(at_run_best(r, 1.75) == (args.steps == 1)); /* 1.75 is read again, not 1 */
        at_zero_grads(t);
        ck_assert(!at_run_next(r));
        ck_assert_int_eq(at_run_close(r), 0);
        at_close(t);
    }
    setlocale(LC_NUMERIC, "C");
    ck_assert_str_eq(little_log("log.csv"), "step,loss,held\n1,0.5,1.75\n2,0.5,1.75\n");
    end_test();
}
END_TEST

START_TEST(wrong_columns_are_refused)
{
    static const struct {
        const char *name, *error;
    } wrong[] = {{"a,b", "run: \"a,b\" cannot be a column"},
                 {"", "run: \"\" cannot be a column"},
                 {"step", "run: \"step\" cannot be a column"},
                 {"held", "run: \"held\" cannot be a column"},
                 {"a name of more than 23 c", "cannot be a column"},
                 {NULL, "run: \"NULL\" cannot be a column"},
                 {"a\nb", "run: \"a\\nb\" cannot be a column"},
                 {"d\xe9", "run: \"d\\xE9\" cannot be a column"},
                 {"\xc2\x9b"
                  "2J",
                  "that can be seen"}, /* the control sequence of a terminal */
                 {"seconds", "is none of step, held, seconds, per_second"},
                 {"one", "run: \"one\" is a column too many: the log has at most 29"}};
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), quick(0));
    little_steps(t, r, 2);
    at_run_next(r);
    for (char name[] = "a"; *name < 'a' + 27; ++*name) ck_assert(at_run_log(r, name, 1)); /* 29 */
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert(!at_run_log(r, wrong[i].name, 1));
        ck_assert_msg(strstr(at_error(t), wrong[i].error), "%s", at_error(t));
        at_clear_error(t);
    }
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
    end_test();
}
END_TEST

START_TEST(a_loss_logged_without_a_gradient_is_refused)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), quick(0));
    at_run_next(r);
    ck_assert(!at_run_log(r, "loss", 1));
    ck_assert(strstr(at_error(t), "where no parameter has a gradient"));
    ck_assert(!at_run_next(r));
    ck_assert_int_eq(at_run_close(r), 2);
    assert_said("log it between at_backward and the optimizer");
    at_close(t);
    end_test();
}
END_TEST

START_TEST(a_log_without_a_checkpoint_is_not_overwritten)
{
    begin_test();
    FILE *f = fopen(little_path("log.csv"), "w");
    fputs("mine\n", f);
    fclose(f);
    assert_refused(little_tape(ATTIC_F32, 7), quick(1), "has a log or a best, but no checkpoint");
    ck_assert_str_eq(little_text("log.csv"), "mine\n");
    end_test();
}
END_TEST

SUITE(train_run_log, the_log_has_a_line_for_each_step,
      a_column_that_comes_late_or_rarely_loses_no_value_between_two_lines,
      rare_columns_are_the_same_wherever_the_run_stops,
      the_seconds_of_a_run_are_those_of_its_processes_and_not_between_them,
      a_log_with_another_header_is_refused_and_left_alone,
      a_log_that_cannot_become_wider_is_a_warning,
      a_decimal_comma_changes_neither_log_nor_checkpoint, wrong_columns_are_refused,
      a_loss_logged_without_a_gradient_is_refused, a_log_without_a_checkpoint_is_not_overwritten)
