/* test_run_resume.c -- a training that was stopped goes on with the same bits, and everything that
 * could make it another one is refused. */
#include <math.h>
#include <string.h>

#include "train/running.h"

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
                   "the kind of file is checkpoint 1 there, but checkpoint 3 here");
    at_tape *u = little_tape(ATTIC_F32, 7);
    ck_assert(at_load(u, little_path("checkpoint.safetensors"), (at_part_args){0}));
    ck_assert(little_hash(u) == little_hash(t));
    at_close(t), at_close(u);
    end_test();
}
END_TEST

/* The checkpoint of the little run once more, as if a build of this arithmetic had written it. */
static void rewrite_checkpoint(at_tape *t, const char *arithmetic)
{
    const char *const keys[] = {"attic", "arithmetic", "seed",    "dtype",         "micro-batches",
                                "step",  "draws",      "best",    "skipped",       "stopped",
                                "log",   "seconds",    "version", "describe/model"};
    enum { KEYS = sizeof keys / sizeof *keys, MOST = 16 };
    at_tensors *file = at_tensors_open(t, little_path("checkpoint.safetensors"));
    at_tensor *x[MOST];
    const char *names[MOST];
    at_metadata metadata[KEYS];
    const int n = at_tensors_count(file);
    ck_assert(n <= MOST);
    for (int i = 0; i < n; i++) {
        names[i] = at_tensors_name(file, i);
        x[i] = at_tensors_load(file, names[i]);
    }
    for (int i = 0; i < KEYS; i++) {
        const bool other = strcmp(keys[i], "arithmetic") == 0;
        metadata[i] =
            (at_metadata){keys[i], other ? arithmetic : at_tensors_metadata(file, keys[i])};
    }
    ck_assert_str_eq(at_tensors_metadata(file, "arithmetic"), at_arithmetic());
    ck_assert_str_eq(at_tensors_metadata(file, "version"), at_version());
    ck_assert(at_tensors_save(
        t, little_path("checkpoint.safetensors"), x, n,
        (at_tensors_save_args){
            .names = names, .metadata = metadata, .n_metadata = KEYS, .checksum = true}));
}

START_TEST(a_checkpoint_of_the_other_arithmetic_is_refused_unless_it_is_allowed)
{
    begin_test();
    const bool fused = strcmp(at_arithmetic(), "fused") == 0;
    char message[100];
    finish(ATTIC_F32, quick(0));
    at_tape *t = little_tape(ATTIC_F32, 7);
    rewrite_checkpoint(t, fused ? "portable" : "fused");
    snprintf(message, sizeof message, "the arithmetic is %s there, but %s here",
             fused ? "portable" : "fused", at_arithmetic());
    assert_refused(little_tape(ATTIC_F32, 7), quick(1), message);
    ck_assert(at_load(t, little_path("checkpoint.safetensors"), (at_part_args){0}));
    at_close(t);

    at_run_args args = quick(1);
    args.other_arithmetic = true;
    t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), args);
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    ck_assert_int_gt(at_run_step(r), 0);
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
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

SUITE(train_run_resume, stopped_after_any_step_an_f32_run_ends_with_the_same_bits,
      stopped_after_any_step_an_f64_run_ends_with_the_same_bits,
      a_run_with_a_frozen_parameter_and_averages_goes_on_with_the_same_bits,
      what_is_drawn_in_between_changes_no_step,
      what_differs_from_the_checkpoint_is_named_and_refused,
      a_checkpoint_of_another_version_is_refused_and_its_parameters_can_be_loaded,
      a_checkpoint_of_the_other_arithmetic_is_refused_unless_it_is_allowed,
      steps_and_intervals_may_differ, what_was_found_is_said,
      a_class_in_one_split_only_is_warned_of,
      what_is_drawn_after_the_end_is_the_same_when_resumed_there, fresh_begins_anew)
