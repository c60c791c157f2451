/* test_run.c -- a training that was stopped goes on with the same bits, and everything that could
 * make it another one is refused.  Failing and killed writes: tests/crash. */
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "printable.h"
#include "tensor/arena.h"
#include "test.h"
#include "train/little.h"

enum { STEPS = 20 };
static FILE *said; /* what the run wrote */

static at_run_args quick(int save_every)
{
    return (at_run_args){.steps = STEPS, .save_every = save_every, .quiet = true, .out = said};
}

static void begin_test(void)
{
    said = tmpfile();
    ck_assert_ptr_nonnull(little_folder());
}

static void end_test(void)
{
    little_remove();
    fclose(said);
}

/* All that was said so far. */
static const char *said_text(void)
{
    static char text[4096];
    rewind(said);
    text[fread(text, 1, sizeof text - 1, said)] = 0;
    return text;
}

static void assert_said(const char *part)
{
    const char *text = said_text();
    ck_assert_msg(strstr(text, part), "\"%s\" is not in what was said: \"%s\"", part, text);
}

/* The rest of the training, to its end; its hash. */
static uint64_t finish(at_dtype real, at_run_args args)
{
    at_tape *t = little_tape(real, 7);
    at_run *r = at_run_open(t, little_path(""), args);
    little_steps(t, r, STEPS + 1);
    ck_assert_msg(at_run_finished(r), "%s", at_error(t));
    uint64_t hash = little_hash(t);
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
    return hash;
}

/* `n` steps in this process, then one that is killed without a word: closed after a break. */
static void train_and_leave(at_dtype real, at_run_args args, int n)
{
    at_tape *t = little_tape(real, 7);
    at_run *r = at_run_open(t, little_path(""), args);
    ck_assert_int_eq(little_steps(t, r, n), n);
    ck_assert(!at_run_finished(r));
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
}

static void same_bits_wherever_it_stops(at_dtype real)
{
    static char log[1 << 16];
    begin_test();
    uint64_t whole = finish(real, quick(0));
    strcpy(log, little_log("log.csv"));
    little_remove();
    for (int n = 1; n <= STEPS; n++) {
        ck_assert_ptr_nonnull(little_folder());
        at_threads(1);
        train_and_leave(real, quick(3), n);
        at_threads(2);
        ck_assert(finish(real, quick(3)) == whole);
        ck_assert_str_eq(little_log("log.csv"), log);
        little_remove();
    }
    ck_assert_ptr_nonnull(little_folder());
    end_test();
}

START_TEST(stopped_after_any_step_an_f32_run_ends_with_the_same_bits)
{
    same_bits_wherever_it_stops(ATTIC_F32);
}
END_TEST

START_TEST(stopped_after_any_step_an_f64_run_ends_with_the_same_bits)
{
    same_bits_wherever_it_stops(ATTIC_F64);
}
END_TEST

/* A run in which W is frozen, `most` steps of it; the hash at its end. */
static uint64_t run_frozen(int most)
{
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_freeze(t, (at_names){.only = "W"});
    double W = at_get(at_find_param(t, "W"), 1, 2);
    at_run *r = at_run_open(t, little_path(""), quick(3));
    at_mark mark = at_mark_here(t);
    for (int n = 0; n < most && little_steps(t, r, 1); n++) {
        at_ema_swap(t); /* as for an evaluation */
        at_run_best(r, 1.0 / (1 + at_run_step(r)));
        at_ema_swap(t);
        at_rewind(t, mark);
    }
    ck_assert(at_get(at_find_param(t, "W"), 1, 2) == W && !at_find_param(t, "W")->wants_grad);
    uint64_t hash = little_hash(t);
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
    return hash;
}

START_TEST(a_run_with_a_frozen_parameter_and_averages_goes_on_with_the_same_bits)
{
    begin_test();
    uint64_t whole = run_frozen(STEPS + 1);
    at_tape *t = little_tape(ATTIC_F32, 1);
    ck_assert(at_load(t, little_path("best.safetensors"), (at_part_args){.only = "out.V"}));
    at_tensor *best = at_find_param(t, "out.V");
    at_tape *u = little_tape(ATTIC_F32, 7);
    at_tensors *f = at_tensors_open(u, little_path("checkpoint.safetensors"));
    at_tensor *mean = at_tensors_load(f, "optim/out.V:ema");
    ck_assert_mem_eq(best->data, mean->data, 6 * 8 * 4); /* it was saved with the averages */
    ck_assert_int_eq(at_tensors_find(f, "optim/W:ema"), -1);
    at_close(t), at_close(u);
    little_remove();
    ck_assert_ptr_nonnull(little_folder());
    run_frozen(9);
    ck_assert(run_frozen(STEPS + 1) == whole);
    end_test();
}
END_TEST

START_TEST(what_is_drawn_in_between_changes_no_step)
{
    begin_test();
    uint64_t quiet = finish(ATTIC_F32, quick(0));
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path("b"), quick(3));
    at_mark mark = at_mark_here(t);
    for (int n = 0; little_steps(t, r, 1); n++) {
        for (int i = 0; i < n % 4; i++) at_random(t, at_shape_of(2), at_normal(1));
        at_run_best(r, 1.0 / (n + 1));
        at_rewind(t, mark);
    }
    ck_assert(little_hash(t) == quiet);
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
    end_test();
}
END_TEST

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

/* Opens the folder with this tape, expects a refusal, closes both. */
static void assert_refused(at_tape *t, at_run_args args, const char *part)
{
    at_run *r = at_run_open(t, little_path(""), args);
    ck_assert(!at_run_next(r) && !at_run_finished(r));
    ck_assert_msg(strstr(at_error(t), part), "\"%s\" is not in \"%s\"", part, at_error(t));
    bool user = at_error_kind_of(t) == ATTIC_USER_ERROR;
    ck_assert_int_eq(at_run_close(r), user ? 2 : 1);
    at_close(t);
}

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

/* The number in this line and column of the log. */
static double cell(int line, int column)
{
    const char *p = little_text("log.csv");
    while (line-- > 0) p = strchr(p, '\n') + 1;
    while (column-- > 0) p = strchr(p, ',') + 1;
    return strtod(p, NULL);
}

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

START_TEST(a_run_without_a_folder_has_the_bits_of_one_with_it_and_writes_nothing)
{
    begin_test();
    uint64_t whole = finish(ATTIC_F32, quick(0));
    little_remove();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, NULL, (at_run_args){.steps = STEPS, .patience = 1, .out = said});
    for (int i = 0; little_steps(t, r, 1); i++) {
        if (i == 12) ck_assert(at_run_best(r, 2) && at_run_best_step(r) == 13);
        at_run_log(r, i % 2 ? "odd" : "even", i);
    }
    ck_assert(at_run_finished(r) && little_hash(t) == whole);
    ck_assert_int_eq(at_run_close(r), 0);
    assert_said("training  20/20 100%");
    ck_assert_ptr_null(strstr(said_text(), "attic:"));
    ck_assert_ptr_null(little_text("log.csv"));
    at_close(t);
    ck_assert_ptr_nonnull(little_folder());
    end_test();
}
END_TEST

START_TEST(without_a_folder_nothing_can_be_saved_logged_or_removed)
{
    begin_test();
    const at_run_args wrong[] = {{.save_every = 1}, {.log_every = 2}, {.fresh = true}, {0}};
    for (int i = 0; i < 4; i++) {
        at_tape *t = little_tape(ATTIC_F32, 7);
        at_run_args args = wrong[i];
        args.steps = STEPS, args.out = said;
        at_run *r = at_run_open(t, i < 3 ? NULL : "", args);
        ck_assert(!at_run_next(r));
        ck_assert_int_eq(at_run_close(r), 2);
        at_close(t);
    }
    assert_said(
        "run: save_every is 1, log_every 1, fresh 0, but without a folder there is nothing");
    assert_said("run: save_every is 0, log_every 2, fresh 0");
    assert_said("run: save_every is 0, log_every 1, fresh 1");
    assert_said("run: the name of the folder is empty");
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

START_TEST(what_differs_from_the_checkpoint_is_named_and_refused)
{
    begin_test();
    train_and_leave(ATTIC_F32, quick(1), 2);
    at_run_args two = quick(1);
    two.micros = 2;
    assert_refused(little_tape(ATTIC_F32, 8), quick(1), "the seed is 7 there, but 8 here");
    assert_refused(little_tape(ATTIC_F64, 7), quick(1), "the dtype is f32 there, but f64 here");
    assert_refused(little_tape(ATTIC_F32, 7), two,
                   "the number of micro-batches is 1 there, but 2 here");

    at_tape *t = little_tape(ATTIC_F32, 7);
    at_describe(t, "data", "ids 5");
    assert_refused(t, quick(1), "data is absent there, but ids 5 here");

    t = at_open(ATTIC_F32, 7);
    at_param(t, "W", at_shape_of(6, 8), at_zeros());
    at_param(t, "out.V", at_shape_of(8, 6), at_zeros());
    assert_refused(t, quick(1), "model is little there, but absent here");

    t = at_open(ATTIC_F32, 7);
    at_param(t, "W", at_shape_of(6, 8), at_zeros());
    at_param(t, "out.V", at_shape_of(8, 6), at_zeros());
    at_describe(t, "model", "little, width 9, dropout 0.3");
    assert_refused(t, quick(1), "model is width 8 there, but width 9 here");

    t = at_open(ATTIC_F32, 7);
    at_param(t, "W", at_shape_of(6, 8), at_zeros());
    at_describe(t, "model", "a model that is described without a single comma act=gelu");
    assert_refused(t, quick(1), "model is little there, but a here");

    t = little_tape(ATTIC_F32, 7);
    at_param(t, "b", at_shape_of(6), at_zeros());
    assert_refused(t, quick(1), "the shape of \"b\" is absent there, but [6] here");

    t = at_open(ATTIC_F32, 7);
    at_param(t, "W", at_shape_of(6, 8), at_zeros());
    at_describe(t, "model", "little, width 8, dropout 0.3");
    assert_refused(t, quick(1), "the shape of \"optim/out.V:adam_k\" is [] there, but absent here");

    t = at_open(ATTIC_F32, 7);
    at_param(t, "W", at_shape_of(8, 6), at_zeros());
    at_param(t, "out.V", at_shape_of(8, 6), at_zeros());
    at_describe(t, "model", "little, width 8, dropout 0.3");
    assert_refused(t, quick(1), "the shape of \"W\" is [6,8] there, but [8,6] here");

    t = little_tape(ATTIC_F32, 7);
    at_param_state(t, at_find_param(t, "W"), "mean");
    assert_refused(t, quick(1), "the shape of \"W:mean\" is absent there, but [6,8] here");
    end_test();
}
END_TEST

START_TEST(a_checkpoint_of_another_version_is_refused_and_its_parameters_can_be_loaded)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 3);
    at_tensor *x[] = {at_find_param(t, "W"), at_find_param(t, "out.V")};
    at_metadata old[] = {{"attic", "checkpoint 1"}, {"seed", "7"}, {"dtype", "f32"}};
    at_tensors_save(t, little_path("checkpoint.safetensors"), x, 2,
                    (at_tensors_save_args){.metadata = old, .n_metadata = 3, .checksum = true});
    assert_refused(little_tape(ATTIC_F32, 7), quick(1),
                   "the kind of file is checkpoint 1 there, but checkpoint 2 here");
    at_tape *u = little_tape(ATTIC_F32, 7);
    ck_assert(at_load(u, little_path("checkpoint.safetensors"), (at_part_args){0}));
    ck_assert(little_hash(u) == little_hash(t));
    at_close(t), at_close(u);
    end_test();
}
END_TEST

START_TEST(steps_and_intervals_may_differ)
{
    begin_test();
    uint64_t whole = finish(ATTIC_F32, quick(0));
    little_remove();
    ck_assert_ptr_nonnull(little_folder());
    at_run_args other = quick(5);
    other.steps = 11;
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), other);
    ck_assert_int_eq(little_steps(t, r, STEPS + 1), 11);
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
    ck_assert(finish(ATTIC_F32, quick(2)) == whole);
    end_test();
}
END_TEST

START_TEST(what_was_found_is_said)
{
    begin_test();
    at_run_args args = quick(0);
    args.quiet = false;
    train_and_leave(ATTIC_F32, quick(2), 5);
    finish(ATTIC_F32, args);
    assert_said(": goes on after step 4 of 20\n");
    assert_said("training  20/20 100%");
    args.steps = 10;
    finish(ATTIC_F32, args);
    assert_said(": the training is at its end, step 20 of 10\n");
    end_test();
}
END_TEST

START_TEST(a_class_in_one_split_only_is_warned_of)
{
    begin_test();
    for (int held_tail = 0; held_tail < 2; held_tail++) {
        at_tape *t = little_tape(ATTIC_F32, 7);
        at_tensor *y = at_ints(t, at_shape_of(4), (int32_t[]){1, 1, 1, 2});
        at_data_args args = {.vocab = 3, .held = held_tail * 0.25, .held_tail = held_tail};
        at_data *d = at_data_arrays(t, at_const(t, y->shape, NULL), y, args);
        at_run_args quiet = quick(0);
        quiet.fresh = true;
        at_run_close(at_run_open(t, little_path(""), quiet));
        ck_assert_msg(at_ok(t) && d, "%s", at_error(t));
        if (!held_tail) ck_assert_str_eq(said_text(), "");
        at_close(t);
    }
    assert_said("attic: warning: classes that are never trained on: 2\n"
                "attic: warning: classes that are never held out: 1\n");
    end_test();
}
END_TEST

START_TEST(what_is_drawn_after_the_end_is_the_same_when_resumed_there)
{
    uint64_t drawn[2];
    begin_test();
    for (int i = 0; i < 2; i++) {
        at_tape *t = little_tape(ATTIC_F32, 7);
        at_run *r = at_run_open(t, little_path(""), quick(0));
        ck_assert_int_eq(little_steps(t, r, STEPS + 1), i ? 0 : STEPS);
        drawn[i] = at_draw(t).draw;
        ck_assert_int_eq(at_run_close(r), 0);
        at_close(t);
    }
    ck_assert(drawn[0] == drawn[1]);
    end_test();
}
END_TEST

START_TEST(fresh_begins_anew)
{
    begin_test();
    uint64_t whole = finish(ATTIC_F32, quick(1));
    at_run_args args = quick(0);
    args.fresh = true;
    at_tape *t = little_tape(ATTIC_F32, 8);
    at_run *r = at_run_open(t, little_path(""), args);
    ck_assert(at_run_next(r));
    ck_assert_int_eq(at_run_step(r), 0);
    ck_assert_ptr_null(little_text("checkpoint.previous.safetensors"));
    ck_assert_int_eq((int)strlen(little_text("log.csv")), 0);
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
    assert_refused(little_tape(ATTIC_F32, 7), quick(1), "the seed is 8 there, but 7 here");
    ck_assert(finish(ATTIC_F32, args) == whole);
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

/* Changes one byte in the middle of a file. */
static void damage(const char *name)
{
    FILE *f = fopen(little_path(name), "r+b");
    fseek(f, 0, SEEK_END);
    fseek(f, ftell(f) - 9, SEEK_SET);
    int c = fgetc(f);
    fseek(f, -1, SEEK_CUR);
    fputc(c ^ 4, f);
    fclose(f);
}

START_TEST(a_damaged_checkpoint_gives_way_to_the_one_before)
{
    begin_test();
    static char log[1 << 16];
    uint64_t whole = finish(ATTIC_F32, quick(0));
    strcpy(log, little_log("log.csv"));
    little_remove();
    ck_assert_ptr_nonnull(little_folder());
    train_and_leave(ATTIC_F32, quick(2), 7); /* checkpoints of 4 and 6 */
    damage("checkpoint.safetensors");
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), quick(2));
    ck_assert_int_eq(at_run_step(r), 4);
    assert_said("the previous checkpoint is taken\n");
    ck_assert_int_eq(little_steps(t, r, 3), 3); /* the third begins with a checkpoint */
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
    remove(little_path(
        "checkpoint.safetensors")); /* previous is that of step 4, not the damaged one */
    ck_assert(finish(ATTIC_F32, quick(2)) == whole);
    ck_assert_str_eq(little_log("log.csv"), log);
    end_test();
}
END_TEST

START_TEST(two_damaged_checkpoints_are_an_error)
{
    begin_test();
    train_and_leave(ATTIC_F32, quick(2), 7);
    damage("checkpoint.safetensors");
    damage("checkpoint.previous.safetensors");
    assert_refused(little_tape(ATTIC_F32, 7), quick(1), "its checksum is");
    end_test();
}
END_TEST

/* In a process of its own, whose exit status is the result.  It is forked while this one has no
 * other threads: with them, QEMU and ThreadSanitizer do not let the new one start any.  And it is
 * not inlined: there the new process, which ends here, might forget the caller's tapes, for
 * Valgrind a leak. */
__attribute__((noinline)) static int status_of(int (*run)(void))
{
    const int threads = at_thread_count();
    int status = -1;
    fflush(NULL);
    at_threads(1);
    pid_t child = fork();
    at_threads(threads);
    if (child == 0) {
        status = run();
        fflush(NULL);
        _exit(status);
    }
    ck_assert(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int open_and_close(void)
{
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), quick(1));
    at_run_next(r);
    int status = at_run_close(r);
    at_close(t);
    return status;
}

START_TEST(two_processes_cannot_use_one_folder)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), quick(1));
    at_tape *u = little_tape(ATTIC_F32, 7);
    ck_assert_int_eq(at_run_close(at_run_open(u, little_path("b"), quick(1))), 2);
    at_close(u);
    assert_said("is still open, and a process can have one run at a time");
    at_run_close(r);

    int opened[2];
    char byte;
    ck_assert_int_eq(pipe(opened), 0);
    pid_t holder = fork();
    if (holder == 0) {
        at_run_open(t, little_path(""), quick(1));
        if (write(opened[1], "", 1) == 1) pause();
    }
    ck_assert_int_eq(read(opened[0], &byte, 1), 1);
    close(opened[0]), close(opened[1]);
    ck_assert_int_eq(status_of(open_and_close), 1);
    assert_said("is in use: another process holds");
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    ck_assert_int_eq(status_of(open_and_close), 0); /* the lock ended with its process */
    at_close(t);
    end_test();
}
END_TEST

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

START_TEST(a_full_disk_is_a_warning)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), quick(2));
    little_steps(t, r, 3);
    mkdir(little_path("checkpoint.new.safetensors"), 0700); /* nothing can be renamed to it */
    ck_assert_int_eq(little_steps(t, r, 4), 4);
    assert_said("attic: warning: cannot ");
    assert_said("; the checkpoint before it stays, the training goes on\n");
    rmdir(little_path("checkpoint.new.safetensors"));
    little_steps(t, r, STEPS + 1);
    ck_assert(at_run_finished(r));
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
    end_test();
}
END_TEST

START_TEST(a_last_checkpoint_that_fails_is_an_error)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), quick(0));
    little_steps(t, r, 3);
    mkdir(little_path("checkpoint.new.safetensors"), 0700);
    little_steps(t, r, STEPS + 1);
    ck_assert(!at_run_finished(r));
    ck_assert_int_eq(at_run_close(r), 1);
    assert_said("; the last checkpoint is that of step 0, in /");
    assert_said("; steps 1 to 20 are not saved\n");
    at_close(t);
    end_test();
}
END_TEST

/* A run of 7 steps, saved after 2, 4 and 6, whose folder is renamed in the one after `step`; another
 * folder takes its place, or none.  It is ended by a signal. */
static int rename_step, rename_replaced;
static int train_and_rename(void)
{
    char to[128];
    snprintf(to, sizeof to, "%s", little_path("moved"));
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path("run"), quick(2));
    little_steps(t, r, rename_step + 1);
    rename(little_path("run"), to);
    if (rename_replaced) mkdir(little_path("run"), 0700);
    little_steps(t, r, 6 - rename_step);
    at_run_best(r, 1);
    raise(SIGINT);
    ck_assert(!at_run_next(r));
    int status = at_run_close(r);
    at_close(t);
    return status;
}

START_TEST(a_folder_that_is_renamed_while_training_is_said_to_be_so_with_what_is_saved)
{
    for (rename_replaced = 0; rename_replaced < 2; rename_replaced++) {
        begin_test();
        rename_step = 3;
        ck_assert_int_eq(status_of(train_and_rename), 1);
        assert_said("/run was renamed, removed or replaced while the training ran; the checkpoint "
                    "before it stays, the training goes on\n");
        assert_said("; the best before it stays, the training goes on\n");
        assert_said("; the last checkpoint is that of step 2, in the folder that was /");
        assert_said("/run; steps 3 to 7 are not saved\n");
        const char *warning = strstr(said_text(), "the checkpoint before it stays");
        ck_assert_ptr_null(strstr(warning + 1, "the checkpoint before it stays")); /* once */
        ck_assert(little_text("moved/checkpoint.safetensors") &&
                  !little_text("run/checkpoint.safetensors"));
        ck_assert(!little_text("run/best.safetensors"));
        rename(little_path("moved"), little_path("run"));
        end_test();
    }
}
END_TEST

START_TEST(a_folder_that_comes_back_is_saved_to_again)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path("run"), quick(1));
    little_steps(t, r, 3);
    rename(little_path("run"), little_path("moved"));
    little_steps(t, r, 3);
    rename(little_path("moved"), little_path("run"));
    little_steps(t, r, STEPS + 1);
    ck_assert(at_run_finished(r));
    ck_assert_int_eq(at_run_close(r), 0);
    ck_assert(strstr(little_text("run/log.csv"), "\n5,") &&
              strstr(little_text("run/log.csv"), "\n20,"));
    at_close(t);
    end_test();
}
END_TEST

static int rename_when_saved(void)
{
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path("run"), quick(1));
    little_steps(t, r, 3);
    raise(SIGINT);
    ck_assert(!at_run_next(r));
    rename(little_path("run"), little_path("moved"));
    int status = at_run_close(r);
    at_close(t);
    return status;
}

START_TEST(no_message_names_a_folder_that_is_gone_as_the_place_of_a_checkpoint)
{
    begin_test();
    ck_assert_int_eq(status_of(rename_when_saved), 130);
    assert_said(
        "after step 3 of 20; the last checkpoint is that of step 3, in the folder that was /");
    ck_assert_ptr_null(strstr(said_text(), "from which the same command goes on"));
    end_test();
}
END_TEST

START_TEST(a_lock_file_that_is_removed_alone_does_not_end_the_saving)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), quick(2));
    little_steps(t, r, 3);
    remove(little_path("run.lock"));
    little_steps(t, r, STEPS + 1);
    ck_assert(at_run_finished(r));
    ck_assert_int_eq(at_run_close(r), 0);
    ck_assert_str_eq(said_text(), "");
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

START_TEST(what_killed_processes_left_behind_is_removed)
{
    begin_test();
    const char *left[] = {"checkpoint.new.safetensors.attic-0123456789abcdef.tmp",
                          "best.safetensors.attic-0123456789abcdef.tmp",
                          "loss.svg.attic-0123456789abcdef.tmp", "checkpoint.new.txt"};
    for (int i = 0; i < 4; i++) fclose(fopen(little_path(left[i]), "w"));
    finish(ATTIC_F32, quick(0));
    ck_assert(!little_text(left[0]) && !little_text(left[1]));
    ck_assert(little_text(left[2]) && little_text(left[3]));
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

START_TEST(pipes_and_links_in_the_folder_are_refused_at_once)
{
    for (int k = 0; k < 2; k++) {
        begin_test();
        ck_assert_int_eq(mkfifo(little_path(k ? "log.csv" : "run.lock"), 0600), 0);
        at_tape *t = little_tape(ATTIC_F32, 7);
        at_run_args args = quick(0);
        args.fresh = false;
        at_run *r = at_run_open(t, little_path(""), args);
        ck_assert(!at_run_next(r));
        ck_assert_int_ne(at_run_close(r), 0);
        at_close(t);
        end_test();
    }
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

START_TEST(a_folder_of_any_name_is_said_in_printable_characters)
{
    for (int i = 0; i < N_HOSTILE; i++) {
        begin_test();
        for (int steps = 1; steps < 3; steps++) { /* the second one goes on */
            at_tape *t = little_tape(ATTIC_F32, 7);
            at_run_args args = {.steps = steps, .out = said};
            at_run *r = at_run_open(t, little_path(hostile_names[i].name), args);
            little_steps(t, r, 5);
            ck_assert_int_eq(at_run_close(r), 0);
            at_close(t);
        }
        assert_said(hostile_names[i].shown);
        char *text = (char *)said_text();
        for (char *c = text; (c = strchr(c, '\n')); c++) *c = ' ';
        ck_assert_msg(is_printable(text), "%s", text);
        end_test();
    }
}
END_TEST

SUITE(train_run, a_folder_of_any_name_is_said_in_printable_characters,
      an_interrupt_in_the_last_step_stops_nothing, a_tape_that_is_closed_before_its_run_is_no_crash,
      values_given_outside_of_a_step_are_refused, a_run_whose_every_step_was_skipped_has_failed,
      pipes_and_links_in_the_folder_are_refused_at_once,
      stopped_after_any_step_an_f32_run_ends_with_the_same_bits,
      stopped_after_any_step_an_f64_run_ends_with_the_same_bits,
      a_run_with_a_frozen_parameter_and_averages_goes_on_with_the_same_bits,
      what_is_drawn_in_between_changes_no_step,
      micro_batches_draw_differently_and_their_losses_are_averaged,
      the_log_has_a_line_for_each_step, a_decimal_comma_changes_neither_log_nor_checkpoint,
      wrong_columns_are_refused, a_loss_logged_without_a_gradient_is_refused,
      a_step_whose_loss_is_not_finite_is_skipped_and_counted,
      an_optimizer_moves_nothing_in_a_skipped_step_and_that_is_no_error,
      too_many_skipped_steps_in_a_row_end_the_run,
      the_count_of_skipped_steps_in_a_row_is_part_of_a_checkpoint,
      the_lowest_held_out_loss_keeps_its_parameters, every_n_th_step_and_the_last_one_are_chosen,
      what_differs_from_the_checkpoint_is_named_and_refused, steps_and_intervals_may_differ,
      what_was_found_is_said, a_class_in_one_split_only_is_warned_of,
      what_is_drawn_after_the_end_is_the_same_when_resumed_there, fresh_begins_anew,
      a_log_without_a_checkpoint_is_not_overwritten,
      a_damaged_checkpoint_gives_way_to_the_one_before, two_damaged_checkpoints_are_an_error,
      two_processes_cannot_use_one_folder, a_signal_ends_the_run_after_its_step_with_a_checkpoint,
      a_second_signal_ends_the_process, old_signal_handlers_are_restored, a_full_disk_is_a_warning,
      a_last_checkpoint_that_fails_is_an_error, wrong_arguments_are_refused,
      a_run_on_a_failed_tape_has_its_message_and_status,
      a_run_that_could_not_be_made_is_out_of_memory, what_killed_processes_left_behind_is_removed,
      every_allocation_of_a_run_may_fail,
      a_column_that_comes_late_or_rarely_loses_no_value_between_two_lines,
      rare_columns_are_the_same_wherever_the_run_stops,
      the_seconds_of_a_run_are_those_of_its_processes_and_not_between_them,
      a_log_with_another_header_is_refused_and_left_alone,
      a_log_that_cannot_become_wider_is_a_warning, patience_ends_a_run_which_is_then_finished,
      a_run_that_ended_early_says_so_when_it_is_opened_again,
      with_more_patience_a_run_that_ended_early_goes_on_with_the_same_bits,
      a_program_stops_its_run_which_goes_on_with_more_steps_only,
      losses_that_are_not_finite_end_patience,
      a_best_that_cannot_be_saved_is_no_best_and_no_loss_of_patience,
      a_run_without_a_folder_has_the_bits_of_one_with_it_and_writes_nothing,
      without_a_folder_nothing_can_be_saved_logged_or_removed,
      a_checkpoint_of_another_version_is_refused_and_its_parameters_can_be_loaded,
      a_folder_that_is_renamed_while_training_is_said_to_be_so_with_what_is_saved,
      no_message_names_a_folder_that_is_gone_as_the_place_of_a_checkpoint,
      a_folder_that_comes_back_is_saved_to_again,
      a_lock_file_that_is_removed_alone_does_not_end_the_saving,
      a_signal_ends_a_run_without_a_folder_which_says_that_nothing_is_saved)
