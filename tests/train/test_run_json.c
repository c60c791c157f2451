/* test_run_json.c -- log.jsonl: the lines of log.csv as JSON, wherever the run stops. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "train/running.h"

static at_run_args with_json(int save_every)
{
    at_run_args args = quick(save_every);
    args.json_log = true;
    return args;
}

START_TEST(each_line_is_an_object_of_the_values_of_its_step)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F64, 7);
    at_run_args args = with_json(0);
    args.steps = 3;
    at_run *r = at_run_open(t, little_path(""), args);
    for (int i = 0; at_run_next(r); i++) {
        at_run_log(r, "a\\b", 1.5 - i);
        at_run_log(r, "odd", i == 0 ? (double)NAN : i == 1 ? -(double)INFINITY : 1e-300);
        if (i == 1) at_run_best(r, 3), at_run_log(r, "late", 7);
    }
    const char *text = little_text("log.jsonl");
    ck_assert(strncmp(text, "{\"step\":1,\"a\\\\b\":1.5,\"odd\":null,\"seconds\":0.", 43) == 0);
    ck_assert_ptr_nonnull(strstr(text, ",\"per_second\":"));
    ck_assert_str_eq(little_json_log("log.jsonl"),
                     "{\"step\":1,\"a\\\\b\":1.5,\"odd\":null}\n"
                     "{\"step\":2,\"a\\\\b\":0.5,\"odd\":null,\"held\":3,\"late\":7}\n"
                     "{\"step\":3,\"a\\\\b\":-0.5,\"odd\":1e-300}\n");
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
    end_test();
}
END_TEST

START_TEST(without_being_asked_for_there_is_none)
{
    begin_test();
    finish(ATTIC_F32, quick(0));
    ck_assert_ptr_null(little_text("log.jsonl"));
    end_test();
}
END_TEST

/* The same step in both, or the end of both. */
static void assert_same_steps(void)
{
    const char *csv = strchr(little_log("log.csv"), '\n') + 1, *json = little_json_log("log.jsonl");
    for (; *csv; csv = strchr(csv, '\n') + 1, json = strchr(json, '\n') + 1) {
        const long step = strtol(csv, NULL, 10);
        ck_assert_int_eq(strncmp(json, "{\"step\":", 8), 0);
        ck_assert_int_eq(strtol(json + 8, NULL, 10), step);
    }
    ck_assert_str_eq(json, "");
}

START_TEST(it_has_the_steps_that_log_csv_has)
{
    begin_test();
    at_run_args args = with_json(0);
    args.log_every = 7;
    finish(ATTIC_F32, args);
    assert_same_steps();
    ck_assert(strncmp(little_json_log("log.jsonl"), "{\"step\":1,\"loss\":", 17) == 0);
    ck_assert_ptr_nonnull(strstr(little_json_log("log.jsonl"), "}\n{\"step\":7,\"loss\":"));
    end_test();
}
END_TEST

START_TEST(it_is_the_same_wherever_the_run_stops)
{
    static char whole[1 << 16];
    begin_test();
    finish(ATTIC_F32, with_json(0));
    strcpy(whole, little_json_log("log.jsonl"));
    for (int n = 1; n <= STEPS; n++) {
        little_remove();
        ck_assert_ptr_nonnull(little_folder());
        train_and_leave(ATTIC_F32, with_json(3), n);
        finish(ATTIC_F32, with_json(3));
        ck_assert_str_eq(little_json_log("log.jsonl"), whole);
    }
    end_test();
}
END_TEST

static int killed_in_step_8(void)
{
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), with_json(3));
    little_steps(t, r, 8);
    FILE *f = fopen(little_path("log.jsonl"), "ab"); /* it came to half of its next line */
    fputs("{\"step\":8,\"lo", f);
    fclose(f);
    end_fork(3);
}

START_TEST(a_killed_run_leaves_no_line_behind_its_checkpoint)
{
    static char whole[1 << 16];
    begin_test();
    finish(ATTIC_F32, with_json(0));
    strcpy(whole, little_json_log("log.jsonl"));
    little_remove();
    ck_assert_ptr_nonnull(little_folder());
    ck_assert_int_eq(status_of(killed_in_step_8), 3);
    ck_assert_ptr_nonnull(strstr(little_text("log.jsonl"), "\n{\"step\":8,\"lo"));
    finish(ATTIC_F32, with_json(3));
    ck_assert_str_eq(little_json_log("log.jsonl"), whole);
    end_test();
}
END_TEST

START_TEST(it_may_begin_late_and_pause)
{
    begin_test();
    train_and_leave(ATTIC_F32, quick(2), 5);     /* goes on behind step 4 */
    train_and_leave(ATTIC_F32, with_json(2), 5); /* lines 5 .. 8, checkpoint of 8 */
    train_and_leave(ATTIC_F32, quick(2), 5);     /* no lines; checkpoint of 12 */
    finish(ATTIC_F32, with_json(2));
    const char *json = little_json_log("log.jsonl");
    ck_assert(strncmp(json, "{\"step\":5,", 10) == 0);
    ck_assert_ptr_null(strstr(json, "{\"step\":11,"));
    ck_assert_ptr_nonnull(strstr(json, "}\n{\"step\":13,"));
    ck_assert_ptr_nonnull(strstr(json, "}\n{\"step\":20,"));
    end_test();
}
END_TEST

START_TEST(a_file_that_is_no_log_is_refused_and_left_alone)
{
    static const char *const other[] = {"{\"stop\":1}\n", "mine\n", "[{\"step\":1}]\n",
                                        "{\"step\":\"one\"}\n"};
    for (int i = 0; i < 4; i++) {
        begin_test();
        train_and_leave(ATTIC_F32, quick(1), 2);
        FILE *f = fopen(little_path("log.jsonl"), "w");
        fputs(other[i], f);
        fclose(f);
        assert_refused(little_tape(ATTIC_F32, 7), with_json(1),
                       "log.jsonl does not begin with a line of a log");
        ck_assert_str_eq(little_text("log.jsonl"), other[i]);
        end_test();
    }
}
END_TEST

START_TEST(without_a_checkpoint_it_is_not_overwritten_unless_the_run_is_fresh)
{
    begin_test();
    FILE *f = fopen(little_path("log.jsonl"), "w");
    fputs("{\"step\":1}\n", f);
    fclose(f);
    assert_refused(little_tape(ATTIC_F32, 7), quick(1), "has a log or a best, but no checkpoint");
    ck_assert_str_eq(little_text("log.jsonl"), "{\"step\":1}\n");
    at_run_args args = quick(1);
    args.fresh = true;
    finish(ATTIC_F32, args);
    ck_assert_ptr_null(little_text("log.jsonl"));
    end_test();
}
END_TEST

START_TEST(a_pipe_in_its_place_is_refused_at_once)
{
    begin_test();
    ck_assert_int_eq(mkfifo(little_path("log.jsonl"), 0600), 0);
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run_args args = with_json(0);
    at_run *r = at_run_open(t, little_path(""), args);
    ck_assert(!at_run_next(r));
    ck_assert_int_ne(at_run_close(r), 0);
    at_close(t);
    end_test();
}
END_TEST

START_TEST(a_decimal_comma_does_not_change_it)
{
    begin_test();
    use_decimal_comma();
    at_tape *t = little_tape(ATTIC_F64, 7);
    at_run_args args = with_json(0);
    args.steps = 1;
    at_run *r = at_run_open(t, little_path(""), args);
    ck_assert(at_run_next(r));
    at_run_log(r, "x", 0.5);
    ck_assert(!at_run_next(r));
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
    setlocale(LC_NUMERIC, "C");
    ck_assert_str_eq(little_json_log("log.jsonl"), "{\"step\":1,\"x\":0.5}\n");
    ck_assert_ptr_nonnull(strstr(little_text("log.jsonl"), "\"seconds\":0."));
    end_test();
}
END_TEST

SUITE(train_run_json, each_line_is_an_object_of_the_values_of_its_step,
      without_being_asked_for_there_is_none, it_has_the_steps_that_log_csv_has,
      it_is_the_same_wherever_the_run_stops, a_killed_run_leaves_no_line_behind_its_checkpoint,
      it_may_begin_late_and_pause, a_file_that_is_no_log_is_refused_and_left_alone,
      without_a_checkpoint_it_is_not_overwritten_unless_the_run_is_fresh,
      a_pipe_in_its_place_is_refused_at_once, a_decimal_comma_does_not_change_it)
