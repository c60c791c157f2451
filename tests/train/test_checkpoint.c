/* test_checkpoint.c -- parameters go into a file and come back, all of them or some. */
#include <stdio.h>
#include <string.h>

#include "printable.h"
#include "tensor/arena.h"
#include "test.h"
#include "train/little.h"
#include "train/position.h"

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

/* Writes another byte, the third from the end. */
static void spoil_end(const char *path)
{
    FILE *damaged = fopen(path, "r+b");
    fseek(damaged, -3, SEEK_END);
    fputc(1, damaged);
    fclose(damaged);
}

START_TEST(the_file_holds_descriptions_and_a_checksum)
{
    save_three(ATTIC_F64, (at_part_args){0});
    at_tensors *f = at_tensors_open(t, file());
    ck_assert_str_eq(at_tensors_metadata(f, "describe/model"), "three");
    ck_assert_str_eq(at_tensors_metadata(f, "attic"), "parameters 1");
    ck_assert(at_tensors_verify(f));
    spoil_end(file());
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
    assert_error("the kind of file is parameters 1 there, but checkpoint 3 here");
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

static const at_model_config small = {
    .vocab = 3, .context = 8, .layers = 2, .heads = 2, .dim = 8, .act = ATTIC_SWIGLU};

static double first_logit(at_tape *u, const at_model *m)
{
    at_tensor *ids = at_ints(u, at_shape_of(1, 3), (int32_t[]){0, 2, 1});
    return at_get(at_model_logits(u, m, ids, (at_model_args){0}), 0, 2, 1);
}

START_TEST(a_model_is_opened_without_its_configuration)
{
    ck_assert_ptr_nonnull(little_folder());
    t = at_open(ATTIC_F64, 1);
    at_data *d = at_data_ids(t, (int32_t[]){0, 1, 2, 2}, 4,
                             (at_data_args){.tokenizer = at_tokenizer_bytes(t, "abc", 3)});
    at_model *m = at_model_make(t, small);
    ck_assert_int_eq(at_vocab(d), 3);
    ck_assert(at_save(t, file(), (at_part_args){0}));
    double logit = first_logit(t, m);
    at_close(t);

    t = at_open(ATTIC_F64, 2);
    at_random(t, at_shape_of(2), at_normal(1));
    at_scope(t, "copy");
    m = at_model_open(t, file());
    at_scope_end(t);
    ck_assert_msg(m, "%s", at_error(t));
    ck_assert_str_eq(m->E->name, "copy.E");
    ck_assert(first_logit(t, m) == logit);
    at_tokenizer *k = at_tokenizer_open(t, file());
    ptrdiff_t n = 0;
    const int32_t *ids = at_encode(t, k, "cab", -1, &n);
    ck_assert(n == 3 && ids[0] == 2 && ids[1] == 0 && ids[2] == 1);
    end_test();
}
END_TEST

START_TEST(a_file_of_half_the_size_is_opened_as_it_is_or_real)
{
    ck_assert_ptr_nonnull(little_folder());
    t = at_open(ATTIC_F32, 1);
    at_model_make(t, small);
    ck_assert(at_save(t, file(), (at_part_args){.dtype = ATTIC_BF16}));
    ck_assert(at_find_param(t, "E")->dtype == ATTIC_F32);
    at_store_params(t, ATTIC_BF16);
    at_scope(t, "stored");
    at_model *m = at_model_open(t, file());
    at_scope_end(t);
    at_store_params(t, ATTIC_REAL);
    at_scope(t, "real");
    at_model *w = at_model_open(t, file());
    at_scope_end(t);
    ck_assert_msg(m && w, "%s", at_error(t));
    ck_assert(m->E->dtype == ATTIC_BF16 && w->E->dtype == ATTIC_F32);
    ck_assert(first_logit(t, m) == first_logit(t, w));
    const at_tensor *wide = at_cast(t, m->E, ATTIC_REAL);
    ck_assert(memcmp(wide->data, w->E->data, (size_t)at_count(wide->shape) * sizeof(float)) == 0);
    at_set(w->E, 70000, 0, 0);
    ck_assert(!at_save(t, file(), (at_part_args){.dtype = ATTIC_F16, .only = "real.E"}));
    assert_error("save: element 0 of \"real.E\" ");
    end_test();
}
END_TEST

/* A small model with adapters of rank 2 on q and v, whose B are not zero. */
static at_model *adapted(uint64_t seed, double alpha, double B)
{
    t = at_open(ATTIC_F64, seed);
    at_model *m = at_model_make(t, small);
    at_model_lora(t, m, (at_lora_args){.rank = 2, .alpha = alpha, .only = "*.q.W,*.v.W"});
    for (int i = 0; i < 2; i++) at_set(m->block[i].attention.v.lora_B, B, 1, 3);
    return m;
}

START_TEST(adapters_are_saved_alone_and_loaded_beside_a_fresh_base)
{
    ck_assert_ptr_nonnull(little_folder());
    at_model *m = adapted(1, 3, 0.5);
    ck_assert(at_save(t, file(), (at_part_args){.only = "*.lora_*"}));
    double logit = first_logit(t, m);
    at_close(t);
    m = adapted(1, 1, 0); /* the base is the same, the adapters are not; alpha is in the file */
    at_tensors *f = at_tensors_open(t, file());
    ck_assert_int_eq(at_tensors_count(f), 4 * 3);
    ck_assert_int_ge(at_tensors_find(f, "block1.attention.v.lora_alpha"), 0);
    ck_assert(first_logit(t, m) != logit);
    ck_assert(at_load(t, file(), (at_part_args){.only = "*.lora_*"}));
    ck_assert(first_logit(t, m) == logit);
    end_test();
}
END_TEST

START_TEST(a_model_is_opened_with_its_adapters_and_with_adapters_folded_in)
{
    ck_assert_ptr_nonnull(little_folder());
    at_model *m = adapted(1, 3, 0.5);
    double logit = first_logit(t, m);
    ck_assert(at_save(t, file(), (at_part_args){0}));
    at_close(t);
    t = at_open(ATTIC_F64, 2);
    at_scope(t, "copy");
    m = at_model_open(t, file());
    at_scope_end(t);
    ck_assert_msg(m && first_logit(t, m) == logit, "%s", at_error(t));
    ck_assert_str_eq(m->block[1].attention.v.lora_A->name, "copy.block1.attention.v.lora_A");
    ck_assert(!m->block[1].attention.k.lora_A);
    at_close(t);

    m = adapted(1, 3, 0.5);
    ck_assert_int_eq(at_model_lora_merge(t, m), 4);
    ck_assert(at_save(t, file(), (at_part_args){.except = "*.lora_*"}));
    at_close(t);
    t = at_open(ATTIC_F64, 2);
    m = at_model_open(t, file());
    ck_assert(m && !m->block[1].attention.v.lora_A);
    assert_close(first_logit(t, m), logit, 1e-13);
    ck_assert(!at_save(t, file(), (at_part_args){.only = "E", .except = "E"}));
    assert_error("save: no parameter is named like \"E\", but for \"E\"");
    end_test();
}
END_TEST

START_TEST(what_is_opened_counts_as_drawn)
{
    ck_assert_ptr_nonnull(little_folder());
    adapted(1, 3, 0.5);
    ck_assert(at_save(t, file(), (at_part_args){0}));
    at_close(t);
    adapted(2, 3, 0.5);
    at_tape *u = at_open(ATTIC_F64, 2);
    ck_assert_msg(at_model_open(u, file()), "%s", at_error(u));
    const at_tensor *made = at_random(t, at_shape_of(5), at_normal(1));
    const at_tensor *opened = at_random(u, at_shape_of(5), at_normal(1));
    ck_assert_mem_eq(made->data, opened->data, 5 * sizeof(double));
    at_scope(u, "next"); /* and the file fills nothing that is made later */
    at_scope(t, "next");
    made = at_model_make(t, small)->E;
    opened = at_model_make(u, small)->E;
    ck_assert_mem_eq(made->data, opened->data, (size_t)at_count(made->shape) * sizeof(double));
    at_close(u);
    end_test();
}
END_TEST

START_TEST(a_file_that_is_damaged_or_lacks_a_tensor_leaves_nothing_unset)
{
    ck_assert_ptr_nonnull(little_folder());
    t = at_open(ATTIC_F64, 1);
    at_model_make(t, small);
    ck_assert(at_save(t, file(), (at_part_args){.except = "block1.norm2.*"}));
    at_tape *u = at_open(ATTIC_F64, 2);
    ck_assert_ptr_null(at_model_open(u, file()));
    ck_assert_msg(strstr(at_error(u), "it has no tensor \"block1.norm2.g\""), "%s", at_error(u));
    at_clear_error(u);
    ck_assert_ptr_null(at_find_param(u, "block1.norm2.g"));
    for (int i = 0; i < at_param_count(u); i++) {
        const at_tensor *x = at_param_at(u, i), *y = at_find_param(t, x->name);
        ck_assert_mem_eq(x->data, y->data, (size_t)at_count(x->shape) * sizeof(double));
    }
    const at_tensor *later = at_param(u, "E2", at_shape_of(1), at_fill(3));
    ck_assert(at_item(later) == 3); /* the file is forgotten */
    at_close(u);
    spoil_end(file());
    u = at_open(ATTIC_F64, 2);
    ck_assert_ptr_null(at_model_open(u, file()));
    ck_assert_ptr_nonnull(strstr(at_error(u), "its checksum is"));
    ck_assert_int_eq(at_param_count(u), 0);
    at_close(u);
    end_test();
}
END_TEST

START_TEST(what_describes_no_model_or_two_is_not_opened)
{
    save_three(ATTIC_F64, (at_part_args){0});
    ck_assert_ptr_null(at_tokenizer_open(t, file()));
    assert_error("parts.safetensors describes no tokenizer");
    ck_assert_ptr_null(at_model_open(t, file()));
    assert_error("model: \"three\" is no part of a configuration");
    at_close(t);

    t = at_open(ATTIC_F64, 1);
    at_model_make(t, small);
    at_scope(t, "second");
    at_model_make(t, small);
    at_scope_end(t);
    ck_assert(at_save(t, file(), (at_part_args){0}));
    at_close(t);
    t = at_open(ATTIC_F64, 1);
    ck_assert_ptr_null(at_model_open(t, file()));
    assert_error("describes several models");
    ck_assert_int_eq(at_param_count(t), 0);
    end_test();
}
END_TEST

/* A run of one step with this model and these ids. */
static const char *reopened(at_model_config config, int last_id)
{
    t = at_open(ATTIC_F32, 1);
    at_data_ids(t, (int32_t[]){0, 1, last_id}, 3, (at_data_args){.vocab = 3});
    at_model_make(t, config);
    static char message[512];
    FILE *out = tmpfile();
    at_run *r =
        at_run_open(t, little_path("run"), (at_run_args){.steps = 1, .quiet = true, .out = out});
    while (at_run_next(r)) at_run_log(r, "x", 1);
    snprintf(message, sizeof message, "%s", at_error(t));
    at_run_close(r);
    fclose(out);
    at_close(t);
    return message;
}

START_TEST(another_configuration_or_other_data_are_named_when_a_run_is_resumed)
{
    ck_assert_ptr_nonnull(little_folder());
    at_model_config with_dropout = small;
    with_dropout.dropout = 0.5;
    ck_assert_str_eq(reopened(small, 2), "");
    ck_assert_str_eq(reopened(small, 2), "");
    const char *message = reopened(with_dropout, 2);
    ck_assert_msg(strstr(message, "model is ") && strstr(message, "dropout=0.5"), "%s", message);
    message = reopened(small, 1);
    ck_assert_msg(strstr(message, "data is fingerprint "), "%s", message);
    little_remove();
}
END_TEST

/* A run of one step with six sequences, or with a tape that is only described by them. */
static const char *split_reopened(const char *description, at_data_args args)
{
    t = little_tape(ATTIC_F32, 7);
    args.vocab = 6;
    static char message[512];
    if (description)
        at_describe(t, "data", description);
    else
        at_data_sequences(t, (int32_t[]){0, 1, 2, 3, 4, 5}, (int[]){1, 1, 1, 1, 1, 1}, 6, args);
    FILE *out = tmpfile();
    at_run *r = at_run_open(t, little_path(""), (at_run_args){.steps = 1, .out = out});
    little_steps(t, r, 2);
    snprintf(message, sizeof message, "%s", at_error(t));
    at_run_close(r);
    fclose(out);
    at_close(t);
    return message;
}

START_TEST(a_run_with_another_split_is_refused)
{
    ck_assert_ptr_nonnull(little_folder());
    const char *of_0_1 = "sequences: 6 sequences of ids below 6, 0.5 held out, fingerprint "
                         "ad0a6a55a8b4d5b0"; /* as version 0.1 described them */
    ck_assert_str_eq(split_reopened(of_0_1, (at_data_args){0}), "");
    const char *message = split_reopened(NULL, (at_data_args){.held = 0.5});
    ck_assert_msg(strstr(message, "data is 0.5 held out there, but 0.5 held out by split_seed 0 "
                                  "here: a run goes on only with what it began with"),
                  "%s", message);
    little_remove();
    ck_assert_ptr_nonnull(little_folder());
    ck_assert_str_eq(split_reopened(NULL, (at_data_args){.held = 0.5, .split_seed = 1}), "");
    ck_assert_str_eq(split_reopened(NULL, (at_data_args){.held = 0.5, .split_seed = 1}), "");
    message = split_reopened(NULL, (at_data_args){.held = 0.5, .split_seed = 2});
    ck_assert_msg(strstr(message, "by split_seed 1 there, but "), "%s", message);
    message = split_reopened(NULL, (at_data_args){.held = 0.5, .held_tail = true});
    ck_assert_msg(strstr(message, "here"), "%s", message);
    little_remove();
}
END_TEST

START_TEST(a_run_with_another_packing_is_refused)
{
    ck_assert_ptr_nonnull(little_folder());
    ck_assert_str_eq(split_reopened(NULL, (at_data_args){0}), "");
    const char *message = split_reopened(NULL, (at_data_args){.pack = 4});
    ck_assert_msg(strstr(message, "data is absent there, but packed into rows of 4 here"), "%s",
                  message);
    little_remove();
    ck_assert_ptr_nonnull(little_folder());
    ck_assert_str_eq(split_reopened(NULL, (at_data_args){.pack = 4}), "");
    ck_assert_str_eq(split_reopened(NULL, (at_data_args){.pack = 4}), "");
    message = split_reopened(NULL, (at_data_args){.pack = 8});
    ck_assert_msg(
        strstr(message, "data is packed into rows of 4 there, but packed into rows of 8 here"),
        "%s", message);
    message = split_reopened(NULL, (at_data_args){0});
    ck_assert_msg(strstr(message, "packed into rows of 4 there, but absent here"), "%s", message);
    little_remove();
}
END_TEST

static void assert_shown(const char *shown)
{
    ck_assert_msg(is_printable(at_error(t)), "%s", at_error(t));
    assert_error(shown);
}

/* Messages name descriptions of the file. */
START_TEST(texts_of_a_hostile_checkpoint_are_shown_in_printable_characters)
{
    ck_assert_ptr_nonnull(little_folder());
    for (int i = 0; i < N_HOSTILE; i++) {
        const char *name = hostile_names[i].name;
        at_position p = {.micros = 1};
        if (!at_is_utf8(name) || strchr(name, '\n')) continue; /* no metadata, or two lines of it */
        t = three_params(ATTIC_F32, 1);
        at_describe(t, "model", name);
        ck_assert(at_save(t, file(), (at_part_args){0}) && !at_model_open(t, file()));
        assert_shown("is no part of a configuration that this version knows");
        at_describe(t, name, name);
        ck_assert(at_checkpoint_save(t, file(), &p));
        at_close(t);
        t = three_params(ATTIC_F32, 1);
        at_describe(t, "model", name);
        ck_assert(!at_checkpoint_load(t, file(), &p));
        assert_shown(hostile_names[i].shown);
        at_close(t);
    }
    little_remove();
}
END_TEST

SUITE(train_checkpoint, texts_of_a_hostile_checkpoint_are_shown_in_printable_characters,
      a_model_is_opened_without_its_configuration,
      a_file_of_half_the_size_is_opened_as_it_is_or_real,
      adapters_are_saved_alone_and_loaded_beside_a_fresh_base,
      a_model_is_opened_with_its_adapters_and_with_adapters_folded_in,
      what_is_opened_counts_as_drawn, a_file_that_is_damaged_or_lacks_a_tensor_leaves_nothing_unset,
      what_describes_no_model_or_two_is_not_opened,
      another_configuration_or_other_data_are_named_when_a_run_is_resumed,
      a_run_with_another_split_is_refused, a_run_with_another_packing_is_refused,
      all_parameters_come_back_and_convert, some_are_saved_and_some_are_loaded,
      names_in_the_file_may_be_others, a_rename_that_is_none_is_refused,
      a_shape_that_differs_is_named, the_file_holds_descriptions_and_a_checksum,
      parts_are_no_checkpoint_but_a_checkpoint_has_parts, every_allocation_may_fail)
