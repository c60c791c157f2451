/* test_checkpoint.c -- parameters go into a file and come back, all of them or some. */
#include <stdio.h>
#include <string.h>

#include "tensor/arena.h"
#include "test.h"
#include "train/little.h"

static at_tape *t;

static void assert_error(const char *part)
{
    ck_assert_msg(strstr(at_error(t), part), "\"%s\" is not in \"%s\"", part, at_error(t));
    at_clear_error(t);
}

/* Parameters block0.W [2] = 1, 2;  block1.W [2] = 3, 4;  E [1] = 5; all times `scale`. */
static at_tape *three_params(at_dtype real, double scale)
{
    at_tape *u = at_open(real, 1);
    at_param(u, "block0.W", at_shape_of(2), at_values((double[]){1 * scale, 2 * scale}));
    at_param(u, "block1.W", at_shape_of(2), at_values((double[]){3 * scale, 4 * scale}));
    at_param(u, "E", at_shape_of(1), at_values((double[]){5 * scale}));
    return u;
}

static double value(const char *name)
{
    return at_get(at_find_param(t, name), 0);
}

static const char *file(void)
{
    return little_path("parts.safetensors");
}

/* Saves three_params(real, 1) under these args, and opens t, with all values 0, to load it. */
static void save_three(at_dtype real, at_part_args args)
{
    ck_assert_ptr_nonnull(little_folder());
    t = three_params(real, 1);
    at_describe(t, "model", "three");
    ck_assert_msg(at_save(t, file(), args), "%s", at_error(t));
    at_close(t);
    t = three_params(ATTIC_F64, 0);
}

static void end_test(void)
{
    at_close(t);
    little_remove();
}

START_TEST(all_parameters_come_back_and_convert)
{
    save_three(ATTIC_F32, (at_part_args){0});
    ck_assert(at_load(t, file(), (at_part_args){0}));
    ck_assert(value("block0.W") == 1 && value("block1.W") == 3 && value("E") == 5);
    end_test();
}
END_TEST

START_TEST(some_are_saved_and_some_are_loaded)
{
    save_three(ATTIC_F64, (at_part_args){.only = "block*"});
    ck_assert(at_load(t, file(), (at_part_args){.only = "*1.W,x"}));
    ck_assert(value("block0.W") == 0 && value("block1.W") == 3 && value("E") == 0);
    ck_assert(!at_load(t, file(), (at_part_args){0}));
    assert_error("has no tensor \"E\" for the parameter \"E\" [1]");
    ck_assert(value("block0.W") == 0); /* nothing was loaded */
    ck_assert(at_load(t, file(), (at_part_args){.missing_ok = true}));
    ck_assert(value("block0.W") == 1 && value("E") == 0);
    ck_assert(!at_load(t, file(), (at_part_args){.only = "E", .missing_ok = true}));
    assert_error("has none of the 1 parameters, the first of which is \"E\"");
    ck_assert(!at_load(t, file(), (at_part_args){.only = "F"}));
    assert_error("load: no parameter is named like \"F\"");
    ck_assert(!at_save(t, file(), (at_part_args){.only = "F"}));
    assert_error("save: no parameter is named like \"F\"");
    end_test();
}
END_TEST

START_TEST(names_in_the_file_may_be_others)
{
    save_three(ATTIC_F64, (at_part_args){.rename = "block*.W=h.*.weight,E=wte"});
    at_tensors *f = at_tensors_open(t, file());
    ck_assert_int_eq(at_tensors_count(f), 3);
    ck_assert(at_tensors_find(f, "h.0.weight") >= 0 && at_tensors_find(f, "h.1.weight") >= 0);
    ck_assert_int_ge(at_tensors_find(f, "wte"), 0);
    ck_assert(at_load(t, file(),
                      (at_part_args){.rename = "block0.W=h.1.weight,block*=h.0*eight"
                                               ",E=wte",
                                     .only = "block0*"}));
    ck_assert(value("block0.W") == 3);
    ck_assert(at_load(t, file(), (at_part_args){.rename = "block*.W=h.*.weight", .only = "b*"}));
    ck_assert(value("block0.W") == 1 && value("block1.W") == 3);
    end_test();
}
END_TEST

START_TEST(a_rename_that_is_none_is_refused)
{
    static const char *const wrong[] = {"E", "=E", "E=", "E=F,W", "E,W=V"};
    save_three(ATTIC_F64, (at_part_args){0});
    for (int i = 0; i < 5; i++) {
        ck_assert(!at_load(t, file(), (at_part_args){.rename = wrong[i]}));
        assert_error("but must be \"A=B\"");
        ck_assert(!at_save(t, file(), (at_part_args){.rename = wrong[i]}));
        assert_error("but must be \"A=B\"");
    }
    ck_assert(at_load(t, file(), (at_part_args){.rename = ""}));
    end_test();
}
END_TEST

START_TEST(a_shape_that_differs_is_named)
{
    save_three(ATTIC_F64, (at_part_args){.rename = "E=F"});
    ck_assert(!at_load(t, file(), (at_part_args){.only = "b*,E", .rename = "block1*=F,E=F"}));
    assert_error("load: \"F\" in ");
    ck_assert(!at_load(t, file(), (at_part_args){.only = "b*,E", .rename = "block1*=F,E=F"}));
    assert_error("has shape [1], but \"block1.W\" [2]");
    ck_assert(value("block0.W") == 0);
    end_test();
}
END_TEST

START_TEST(the_file_holds_descriptions_and_a_checksum)
{
    save_three(ATTIC_F64, (at_part_args){0});
    at_tensors *f = at_tensors_open(t, file());
    ck_assert_str_eq(at_tensors_metadata(f, "describe/model"), "three");
    ck_assert_str_eq(at_tensors_metadata(f, "attic"), "parameters 1");
    ck_assert(at_tensors_verify(f));
    FILE *damaged = fopen(file(), "r+b");
    fseek(damaged, -3, SEEK_END);
    fputc(1, damaged);
    fclose(damaged);
    ck_assert(!at_load(t, file(), (at_part_args){0}));
    assert_error("its checksum is");
    ck_assert(value("block0.W") == 0);
    end_test();
}
END_TEST

START_TEST(parts_are_no_checkpoint_but_a_checkpoint_has_parts)
{
    ck_assert_ptr_nonnull(little_folder());
    t = little_tape(ATTIC_F32, 7);
    at_run_args args = {.steps = 2, .quiet = true};
    at_run *r = at_run_open(t, little_path(""), args);
    little_steps(t, r, 3);
    ck_assert_int_eq(at_run_close(r), 0);
    at_tape *u = little_tape(ATTIC_F64, 9);
    ck_assert(at_load(u, little_path("checkpoint.safetensors"), (at_part_args){0}));
    ck_assert(at_get(at_find_param(t, "W"), 1, 1) == at_get(at_find_param(u, "W"), 1, 1));
    ck_assert_int_eq(at_state_count(u), 0);
    ck_assert(at_save(t, little_path("checkpoint.safetensors"), (at_part_args){0}));
    args.out = tmpfile();
    r = at_run_open(t, little_path(""), args);
    assert_error("the kind of file is parameters 1 there, but checkpoint 1 here");
    at_run_close(r);
    fclose(args.out);
    at_close(u);
    end_test();
}
END_TEST

static bool save_and_load(void)
{
    t = three_params(ATTIC_F32, 2);
    at_tape *u = three_params(ATTIC_F64, 0);
    at_part_args args = {.rename = "block*=h*"};
    at_describe(t, "model", "three");
    bool through = at_save(t, file(), args) && at_load(u, file(), args);
    if (!through)
        ck_assert_int_eq(at_error_kind_of(at_ok(t) ? u : t), ATTIC_MEMORY_ERROR);
    else
        ck_assert(at_get(at_find_param(u, "block1.W"), 1) == 8);
    at_close(t);
    at_close(u);
    return through;
}

START_TEST(every_allocation_may_fail)
{
    ck_assert_ptr_nonnull(little_folder());
    ptrdiff_t n = 0;
    do {
        at_fail_allocation(++n);
    } while (!save_and_load() && n < 10000);
    at_fail_allocation(0);
    ck_assert_int_gt(n, 50);
    little_remove();
}
END_TEST

SUITE(train_checkpoint, all_parameters_come_back_and_convert, some_are_saved_and_some_are_loaded,
      names_in_the_file_may_be_others, a_rename_that_is_none_is_refused,
      a_shape_that_differs_is_named, the_file_holds_descriptions_and_a_checksum,
      parts_are_no_checkpoint_but_a_checkpoint_has_parts, every_allocation_may_fail)
