/* test_adapters.c -- adapters as folders of PEFT: what comes back, what other programs find there, what they write, and
 * what is refused. */
#include "tensor/arena.h"
#include "train/exported.h"

static const at_model_config gpt2_sizes = {GPT2},
                             llama_sizes = {LLAMA, .untied = true, .rope_halves = true},
                             pairs_sizes = {LLAMA, .untied = true};

/* The adapters of the tape have learned. */
static void learn(at_tape *t)
{
    for (int k = 0; k < at_param_count(t); k++) {
        at_tensor *x = at_param_at(t, k);
        if (strstr(x->name, ".lora_A") || strstr(x->name, ".lora_B")) scatter(x, k);
    }
}

static at_model *adapted(at_tape *t, at_model_config c, at_lora_args args)
{
    at_model *m = scattered(t, c);
    ck_assert_msg(at_model_lora(t, m, args) > 0, "%s", at_error(t));
    learn(t);
    return m;
}

static void export_adapters_home(at_tape *t, const at_model *m, at_published_names names)
{
    ck_assert_msg(at_model_lora_export(t, m, home, (at_export_args){.names = names}), "%s",
                  at_error(t));
}

static void assert_same_adapters(at_model *m, at_model *back)
{
    const at_linear *x, *y;
    for (int i = 0; (x = at_model_linear(m, i)); i++) {
        y = at_model_linear(back, i);
        ck_assert(!x->lora_A == !y->lora_A);
        if (!x->lora_A) continue;
        ck_assert(equal_bits(x->lora_A, y->lora_A) && equal_bits(x->lora_B, y->lora_B));
        ck_assert(equal_bits(x->lora_alpha, y->lora_alpha));
    }
}

START_TEST(adapters_come_back_in_every_bit_onto_the_base_as_it_was)
{
    scratch_folder(home);
    const struct {
        at_model_config c;
        at_published_names names;
        at_lora_args args;
        int matrices;
    } cases[] = {
        {llama_sizes, ATTIC_NAMES_LLAMA, {.rank = 2, .alpha = 3, .only = "*.q.W,*.v.W"}, 4},
        {pairs_sizes, ATTIC_NAMES_LLAMA, {.rank = 3, .alpha = 0.1, .only = "*.W"}, 15},
        {gpt2_sizes, ATTIC_NAMES_GPT2, {.rank = 2, .alpha = 3, .only = "*.q.W,*.v.W"}, 4},
        {gpt2_sizes, ATTIC_NAMES_GPT2, {.rank = 3, .alpha = 7, .only = "*.W"}, 12},
        {gpt2_sizes, ATTIC_NAMES_GPT2, {.rank = 1, .alpha = 2, .only = "block1.down.W"}, 1},
    };
    for (int i = 0; i < 5; i++) {
        at_tape *t = at_open(ATTIC_F32, 1), *u = at_open(ATTIC_F32, 2);
        at_model *m = adapted(t, cases[i].c, cases[i].args), *back = scattered(u, cases[i].c);
        export_adapters_home(t, m, cases[i].names);
        int n = at_model_lora_import(u, back, home);
        ck_assert_msg(n == cases[i].matrices, "%d: %d, %s", i, n, at_error(u));
        assert_same_adapters(m, back);
        assert_same_elements(some_logits(t, m), some_logits(u, back), 0);
        for (int k = 0; k < at_param_count(u); k++) { /* only A and B learn */
            const char *name = at_param_at(u, k)->name;
            ck_assert(at_param_at(u, k)->wants_grad ==
                      (strstr(name, ".lora_A") || strstr(name, ".lora_B")));
        }
        ck_assert(!!strstr(at_described(u, "lora"), "matrices="));
        at_close(t), at_close(u);
    }
    scratch_remove(home);
}
END_TEST

/* ------------------------------------------------------------------ what others find there ----- */

#define BEFORE_R                                                                                   \
    "{\n  \"peft_type\": \"LORA\",\n  \"task_type\": \"CAUSAL_LM\",\n"                             \
    "  \"base_model_name_or_path\": null,\n  \"inference_mode\": true,\n"

START_TEST(llama_has_one_module_for_each_matrix)
{
    scratch_folder(home);
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m =
        adapted(t, llama_sizes, (at_lora_args){.rank = 2, .alpha = 3, .only = "*.q.W,*.v.W"});
    export_adapters_home(t, m, ATTIC_NAMES_LLAMA);
    ck_assert_str_eq(text_of_file(in_home("adapter_config.json")),
                     BEFORE_R "  \"r\": 2,\n  \"lora_alpha\": 3.0,\n  \"lora_dropout\": 0.0,\n"
                              "  \"bias\": \"none\",\n  \"fan_in_fan_out\": false,\n"
                              "  \"target_modules\": [\n    \"q_proj\",\n    \"v_proj\"\n  ],\n"
                              "  \"rank_pattern\": {},\n  \"alpha_pattern\": {}\n}\n");
    const at_tensors *f = at_tensors_open(t, in_home("adapter_model.safetensors"));
    ck_assert_int_eq(at_tensors_count(f), 8);
    ck_assert_str_eq(at_tensors_metadata(f, "format"), "pt");
    const at_tensor *A =
        at_tensors_load(f, "base_model.model.model.layers.1.self_attn.v_proj.lora_A.weight");
    const at_tensor *B =
        at_tensors_load(f, "base_model.model.model.layers.1.self_attn.v_proj.lora_B.weight");
    ck_assert_msg(A && B, "%s", at_error(t));
    const at_linear *v = &m->block[1].attention.v;
    ck_assert(at_same_shape(A->shape, at_shape_of(2, 16)) &&
              at_get(A, 1, 5) == at_get(v->lora_A, 5, 1));
    ck_assert(at_same_shape(B->shape, at_shape_of(8, 2)) &&
              at_get(B, 5, 1) == at_get(v->lora_B, 1, 5));
    at_close(t);
    scratch_remove(home);
}
END_TEST

/* Ranks 2, 3 and 1 beside each other, and alpha is twice the rank: c_attn has rank 6 and alpha 12. */
START_TEST(the_c_attn_of_gpt2_has_blocks)
{
    scratch_folder(home);
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m =
        adapted(t, gpt2_sizes, (at_lora_args){.rank = 2, .alpha = 4, .only = "*.q.W,*.up.W"});
    ck_assert(at_model_lora(t, m, (at_lora_args){.rank = 3, .alpha = 6, .only = "*.k.W"}) == 2);
    ck_assert(at_model_lora(t, m, (at_lora_args){.rank = 1, .alpha = 2, .only = "block1.*.v.W"}) ==
              1);
    learn(t);
    export_adapters_home(t, m, ATTIC_NAMES_GPT2);
    ck_assert_str_eq(
        text_of_file(in_home("adapter_config.json")),
        BEFORE_R "  \"r\": 5,\n  \"lora_alpha\": 10.0,\n  \"lora_dropout\": 0.0,\n"
                 "  \"bias\": \"none\",\n  \"fan_in_fan_out\": true,\n"
                 "  \"target_modules\": [\n    \"h.0.attn.c_attn\",\n    \"mlp.c_fc\",\n"
                 "    \"h.1.attn.c_attn\"\n  ],\n"
                 "  \"rank_pattern\": {\n    \"mlp.c_fc\": 2,\n    \"h.1.attn.c_attn\": 6\n  },\n"
                 "  \"alpha_pattern\": {\n    \"mlp.c_fc\": 4.0,\n"
                 "    \"h.1.attn.c_attn\": 12.0\n  }\n}\n");
    const at_tensors *f = at_tensors_open(t, in_home("adapter_model.safetensors"));
    const at_tensor *A =
        at_tensors_load(f, "base_model.model.transformer.h.1.attn.c_attn.lora_A.weight");
    const at_tensor *B =
        at_tensors_load(f, "base_model.model.transformer.h.1.attn.c_attn.lora_B.weight");
    ck_assert_msg(A && B, "%s", at_error(t));
    ck_assert(at_same_shape(A->shape, at_shape_of(6, 8)) &&
              at_same_shape(B->shape, at_shape_of(24, 6)));
    const at_attention *a = &m->block[1].attention;
    ck_assert(at_get(A, 3, 7) == at_get(a->k.lora_A, 7, 1) &&
              at_get(A, 5, 2) == at_get(a->v.lora_A, 2, 0));
    for (int j = 0; j < 24; j++)
        for (int i = 0; i < 6; i++) {
            int part = i < 2 ? 0 : i < 5 ? 1 : 2, from = part == 0 ? 0 : part == 1 ? 2 : 5;
            const at_tensor *b = part == 0 ? a->q.lora_B : part == 1 ? a->k.lora_B : a->v.lora_B;
            ck_assert(at_get(B, j, i) == (j / 8 == part ? at_get(b, i - from, j % 8) : 0));
        }
    at_close(t);
    scratch_remove(home);
}
END_TEST

START_TEST(a_matrix_with_two_alphas_is_refused)
{
    scratch_folder(home);
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m = adapted(t, gpt2_sizes, (at_lora_args){.rank = 2, .alpha = 4, .only = "*.q.W"});
    at_model_lora(t, m, (at_lora_args){.rank = 2, .alpha = 5, .only = "*.v.W"});
    ck_assert(!at_model_lora_export(t, m, home, (at_export_args){0}));
    assert_error(t,
                 "lora_export: \"block0.attention.v.W\" [8,8] has alpha/r = 2.5, but beside it in "
                 "GPT-2's c_attn are others with 2: they have one alpha");
    at_clear_error(t);
    at_write_f64(m->block[0].attention.q.lora_alpha, (double[]){-4}, 1);
    ck_assert(!at_model_lora_export(t, m, home, (at_export_args){0}));
    assert_error(t,
                 "lora_export: \"block0.attention.q.lora_alpha\" [] is -4, but PEFT has positive "
                 "and finite ones alone");
    at_clear_error(t);
    at_write_f64(m->block[0].attention.q.lora_alpha, (double[]){(double)INFINITY}, 1);
    ck_assert(!at_model_lora_export(t, m, home, (at_export_args){0}));
    ck_assert_ptr_nonnull(strstr(at_error(t), "is inf, but PEFT has positive and finite ones"));
    at_close(t);
    scratch_remove(home);
}
END_TEST

/* 0.4 / 4 and 0.3 / 3 are one number, and rounded to float they are not. */
START_TEST(alphas_that_differ_by_their_rounding_are_one)
{
    scratch_folder(home);
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m = adapted(t, gpt2_sizes, (at_lora_args){.rank = 4, .alpha = 0.4, .only = "*.q.W"});
    at_model_lora(t, m, (at_lora_args){.rank = 3, .alpha = 0.3, .only = "*.v.W"});
    const at_linear *q = &m->block[0].attention.q, *v = &m->block[0].attention.v;
    ck_assert(at_item(q->lora_alpha) / 4 != at_item(v->lora_alpha) / 3);
    ck_assert_msg(at_model_lora_export(t, m, home, (at_export_args){0}), "%s", at_error(t));
    at_tape *u = at_open(ATTIC_F32, 1);
    ck_assert_int_eq(at_model_lora_import(u, scattered(u, gpt2_sizes), home), 2);
    ck_assert(at_ok(u));
    at_close(t), at_close(u);
    scratch_remove(home);
}
END_TEST

START_TEST(an_export_without_adapters_or_names_is_refused)
{
    scratch_folder(home);
    at_tape *t = at_open(ATTIC_F64, 1);
    at_model *m = scattered(t, llama_sizes);
    at_export_args llama = {.names = ATTIC_NAMES_LLAMA};
    ck_assert(!at_model_lora_export(t, m, home, llama));
    assert_error(t, "lora_export: the model has no adapters");
    at_clear_error(t);
    ck_assert(!at_model_lora_export(t, m, home, (at_export_args){0}));
    assert_error(t, "lora_export: GPT-2 has no .norm = 1, it needs ATTIC_LAYER_NORM");
    at_clear_error(t);
    at_model_lora(t, m, (at_lora_args){.rank = 1, .only = "*.q.W"});
    at_set(m->block[0].attention.q.lora_A, 1e300, 4, 0);
    ck_assert(!at_model_lora_export(t, m, home, llama));
    assert_error(t,
                 "lora_export: element 4 of \"block0.attention.q.lora_A\" [16,1] is 1e+300, which "
                 "f32 cannot hold");
    at_close(t);
    scratch_remove(home);
}
END_TEST

/* ------------------------------------------------------------------ what others write ---------- */

/* adapter_model.safetensors with these tensors, and adapter_config.json. */
static void write_adapter_folder(at_tape *t, const char *config, at_tensor *const *x, int n)
{
    ck_assert_msg(
        at_tensors_save(t, in_home("adapter_model.safetensors"), x, n, (at_tensors_save_args){0}),
        "%s", at_error(t));
    write_file(in_home("adapter_config.json"), config);
}

static at_tensor *peft_tensor(at_tape *t, const char *name, int rows, int cols)
{
    at_tensor *x = at_name(at_const(t, at_shape_of(rows, cols), NULL), name);
    scatter(x, rows + cols);
    return x;
}

#define GPT2_ADAPTER "base_model.model.transformer.h.1.attn.c_attn.lora_"
#define LLAMA_ADAPTER "base_model.model.model.layers.1.self_attn.q_proj.lora_"
#define CONFIG(r, more)                                                                            \
    "{\"peft_type\":\"LORA\",\"r\":" r ",\"lora_alpha\":16,\"bias\":\"none\",\"task_type\":null,"  \
    "\"target_modules\":[\"c_attn\"],\"fan_in_fan_out\":true,\"use_dora\":false,"                  \
    "\"modules_to_save\":null,\"lora_dropout\":0.05,\"rank_pattern\":{}" more "}"

/* A c_attn that was trained as one matrix: each of q, k and v has all of A.  W + (16/4) A^T B^T. */
START_TEST(what_peft_trained_adds_the_product_of_its_matrices)
{
    scratch_folder(home);
    at_tape *t = at_open(ATTIC_F64, 1);
    at_model *m = scattered(t, gpt2_sizes), *base = scattered(at_open(ATTIC_F64, 1), gpt2_sizes);
    at_tensor *A = peft_tensor(t, GPT2_ADAPTER "A.weight", 4, 8);
    at_tensor *B = peft_tensor(t, GPT2_ADAPTER "B.weight", 24, 4);
    write_adapter_folder(t, CONFIG("4", ""), (at_tensor *[]){A, B}, 2);
    ck_assert_msg(at_model_lora_import(t, m, home) == 3, "%s", at_error(t));
    ck_assert_int_eq(at_model_lora_merge(t, m), 3);
    const at_linear *with[] = {&m->block[1].attention.q, &m->block[1].attention.k,
                               &m->block[1].attention.v};
    const at_linear *without[] = {&base->block[1].attention.q, &base->block[1].attention.k,
                                  &base->block[1].attention.v};
    for (int p = 0; p < 3; p++)
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 8; j++) {
                double sum = 0;
                for (int k = 0; k < 4; k++) sum += at_get(A, k, i) * at_get(B, 8 * p + j, k);
                assert_close(at_get(with[p]->W, i, j), at_get(without[p]->W, i, j) + 4 * sum,
                             1e-12);
            }
    at_close(base->E->tape), at_close(t);
    scratch_remove(home);
}
END_TEST

/* Rows of Llama's B are in the order of halves. */
START_TEST(columns_of_rotated_pairs_are_put_in_order)
{
    scratch_folder(home);
    at_tape *t = at_open(ATTIC_F64, 1);
    at_model *m = scattered(t, pairs_sizes);
    at_tensor *A = peft_tensor(t, LLAMA_ADAPTER "A.weight", 4, 16);
    at_tensor *B = peft_tensor(t, LLAMA_ADAPTER "B.weight", 16, 4);
    write_adapter_folder(t, CONFIG("8", ",\"alpha_pattern\":{\"v_proj\":1,\"q_proj\":5}"),
                         (at_tensor *[]){A, B}, 2);
    ck_assert_int_eq(at_model_lora_import(t, m, home), 0);
    assert_error(t, "lora_import: \"" LLAMA_ADAPTER "A.weight\" is [4,16] in the file, but "
                    "\"block1.attention.q.W\" [16,16] with rank 8 needs [8,16]");
    at_clear_error(t);
    write_file(in_home("adapter_config.json"),
               CONFIG("4", ",\"alpha_pattern\":{\"v_proj\":1,\"q_proj\":5}"));
    ck_assert_msg(at_model_lora_import(t, m, home) == 1, "%s", at_error(t));
    const at_linear *q = &m->block[1].attention.q;
    ck_assert(at_item(q->lora_alpha) == 5);
    static const int row[] = {0, 2, 1, 3}; /* of columns 0 .. 3, a head */
    for (int j = 0; j < 16; j++)
        ck_assert(at_get(q->lora_B, 3, j) == at_get(B, j - j % 4 + row[j % 4], 3));
    ck_assert_int_eq(at_model_lora_import(t, m, home), 0);
    assert_error(t, "lora_import: \"block1.attention.q.W\" [16,16] has an adapter already");
    at_close(t);
    scratch_remove(home);
}
END_TEST

START_TEST(an_adapter_that_has_not_learned_is_one_for_each)
{
    scratch_folder(home);
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m = scattered(t, gpt2_sizes);
    at_tensor *A = peft_tensor(t, GPT2_ADAPTER "A.weight", 4, 8);
    at_tensor *B = at_name(at_const(t, at_shape_of(24, 4), NULL), GPT2_ADAPTER "B.weight");
    write_adapter_folder(t, CONFIG("4", ""), (at_tensor *[]){A, B}, 2);
    ck_assert_int_eq(at_model_lora_import(t, m, home), 3);
    ck_assert_int_eq(m->block[1].attention.k.lora_A->shape.dim[1], 4);
    ck_assert(!m->block[0].attention.k.lora_A);
    at_close(t);
    scratch_remove(home);
}
END_TEST

START_TEST(settings_that_change_what_is_computed_are_refused)
{
    scratch_folder(home);
#define ABOUT(key, value) "\"" key "\" is " value ", but "
    static const char *const wrong[][2] = {
        {"{\"peft_type\":\"IA3\",\"r\":4,\"lora_alpha\":1}",
         ABOUT("peft_type", "\"IA3\"") "at_model has only LORA"},
        {"{\"r\":4,\"lora_alpha\":1}", "it has no \"peft_type\""},
        {"{\"peft_type\":\"LORA\",\"lora_alpha\":1}", "it has no \"r\""},
        {"{\"peft_type\":\"LORA\",\"r\":4}", "it has no \"lora_alpha\""},
        {"{\"peft_type\":\"LORA\",\"r\":4,\"lora_alpha\":0}",
         ABOUT("lora_alpha", "0") "must be a positive number"},
        {"{\"peft_type\":\"LORA\",\"r\":4,\"lora_alpha\":1,\"bias\":\"all\"}",
         ABOUT("bias", "\"all\"") "at_model has only none"},
        {CONFIG("4", ",\"use_rslora\":true"),
         ABOUT("use_rslora", "true") "at_model has only false"},
        {CONFIG("4", ",\"lora_bias\":true"), ABOUT("lora_bias", "true") "at_model has only false"},
        {CONFIG("4", ",\"layer_replication\":[[0,1]]"),
         ABOUT("layer_replication", "[[0,1]]") "this version does not know that setting here"},
        {CONFIG("4", ",\"alpha_pattern\":{\".*attn\":1}"),
         ABOUT("alpha_pattern..*attn", "1") "of regular expressions at_model has names alone"},
        {CONFIG("4", ",\"alpha_pattern\":[]"), ABOUT("alpha_pattern", "[]") "must be an object"},
        {CONFIG("4", ",\"alpha_pattern\":{\"c_attn\":\"x\"}"),
         ABOUT("alpha_pattern.c_attn", "\"x\"") "must be a positive number"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        at_model *m = scattered(t, gpt2_sizes);
        at_tensor *x[] = {peft_tensor(t, GPT2_ADAPTER "A.weight", 4, 8),
                          peft_tensor(t, GPT2_ADAPTER "B.weight", 24, 4)};
        write_adapter_folder(t, wrong[i][0], x, 2);
        ck_assert_int_eq(at_model_lora_import(t, m, home), 0);
        const char *end = strstr(at_error(t), "adapter_config.json: ");
        ck_assert_msg(end && strncmp(at_error(t), "lora_import: ", 13) == 0, "%s", at_error(t));
        ck_assert_str_eq(end + 21, wrong[i][1]);
        ck_assert(at_error_kind_of(t) == ATTIC_FILE_ERROR && at_param_count(t) == m->n_params);
        at_close(t);
    }
    scratch_remove(home);
}
END_TEST

START_TEST(tensors_that_do_not_fit_are_refused_and_change_nothing)
{
    scratch_folder(home);
    static const struct {
        at_model_config c;
        const char *A, *B;
        int a[2], b[2];
        const char *message;
    } wrong[] = {
        {{GPT2},
         GPT2_ADAPTER "A.weight",
         "x",
         {4, 8},
         {1, 1},
         "lora_import: the file has \"" GPT2_ADAPTER "A.weight\", but no \"" GPT2_ADAPTER
         "B.weight\""},
        {{GPT2},
         GPT2_ADAPTER "B.weight",
         "x",
         {24, 4},
         {1, 1},
         "lora_import: the file has \"" GPT2_ADAPTER "B.weight\", but no \"" GPT2_ADAPTER
         "A.weight\""},
        {{GPT2},
         GPT2_ADAPTER "A.weight",
         GPT2_ADAPTER "B.weight",
         {4, 8},
         {8, 4},
         "lora_import: \"" GPT2_ADAPTER "B.weight\" is [8,4] in the file, but "
         "\"block1.attention.q.W\" [8,8] with rank 4 needs [24,4]"},
        {{GPT2},
         "base_model.model.transformer.h.2.mlp.c_fc.lora_A.weight",
         "base_model.model.transformer.h.2.mlp.c_fc.lora_B.weight",
         {4, 8},
         {20, 4},
         "lora_import: the file has \"base_model.model.transformer.h.2.mlp.c_fc.lora_A.weight\" "
         "[4,8], for which the model has no place"},
        {{GPT2},
         "a",
         "b",
         {1, 1},
         {1, 1},
         "lora_import: adapter_model.safetensors has no tensor "
         "\"base_model.model.transformer....\" "
         "of GPT-2 and none \"base_model.model.model....\" of Llama"},
        {{LLAMA},
         GPT2_ADAPTER "A.weight",
         GPT2_ADAPTER "B.weight",
         {4, 16},
         {48, 4},
         "lora_import: \"block1.attention.k.W\" [16,8] is another shape than "
         "\"block1.attention.q.W\" "
         "[16,16], so \"" GPT2_ADAPTER "A.weight\" has no place for both"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        at_model *m = scattered(t, wrong[i].c);
        at_tensor *x[] = {peft_tensor(t, wrong[i].A, wrong[i].a[0], wrong[i].a[1]),
                          peft_tensor(t, wrong[i].B, wrong[i].b[0], wrong[i].b[1])};
        write_adapter_folder(t, CONFIG("4", ""), x, 2);
        ck_assert_int_eq(at_model_lora_import(t, m, home), 0);
        ck_assert_str_eq(at_error(t), wrong[i].message);
        ck_assert(at_param_count(t) == m->n_params && m->E->wants_grad);
        at_close(t);
    }
    scratch_remove(home);
}
END_TEST

/* Each is read, or refused as a file. */
START_TEST(numbers_that_a_tape_cannot_hold_change_nothing)
{
    scratch_folder(home);
    at_tape *wide = at_open(ATTIC_F64, 1);
    at_tensor *x[] = {peft_tensor(wide, GPT2_ADAPTER "A.weight", 4, 8),
                      peft_tensor(wide, GPT2_ADAPTER "B.weight", 24, 4)};
    for (int i = 0; i < 3; i++) {
        at_set(x[1], i == 0 ? 1e300 : 1, 23, 3);
        write_adapter_folder(
            wide, i == 1 ? CONFIG("4", ",\"alpha_pattern\":{\"c_attn\":1e300}") : CONFIG("4", ""),
            x, 2);
        at_tape *t = at_open(ATTIC_F32, 1);
        at_model *m = scattered(t, gpt2_sizes);
        const int n = at_model_lora_import(t, m, home);
        ck_assert_msg(n == (i == 2 ? 3 : 0), "%s", at_error(t));
        ck_assert(m->E->wants_grad == (i < 2));
        ck_assert_int_eq(at_param_count(t) - m->n_params, i < 2 ? 0 : 3 * 3);
        if (i == 0) ck_assert_ptr_nonnull(strstr(at_error(t), "1e+300"));
        if (i == 1) assert_error(t, "lora_import: alpha is 1e+300, but must be a finite f32");
        at_close(t);
    }
    at_close(wide);
    scratch_remove(home);
}
END_TEST

START_TEST(no_truncation_and_no_changed_byte_of_a_config_crashes)
{
    scratch_folder(home);
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x[] = {peft_tensor(t, GPT2_ADAPTER "A.weight", 4, 8),
                      peft_tensor(t, GPT2_ADAPTER "B.weight", 24, 4)};
    static const char whole[] = CONFIG("4", ",\"alpha_pattern\":{\"h.1.attn.c_attn\":2}");
    write_adapter_folder(t, whole, x, 2);
    at_close(t);
    char json[sizeof whole];
    int refused = 0, n = (int)sizeof whole - 1;
    for (int i = 0; i < 4 * n; i++) {
        strcpy(json, whole);
        json[i % n] = "\0\"{9"[i / n]; /* a 0 cuts it off */
        write_file(in_home("adapter_config.json"), json);
        t = at_open(ATTIC_F32, 1);
        int adapted = at_model_lora_import(t, at_model_make(t, gpt2_sizes), home);
        ck_assert_msg(adapted == (at_ok(t) ? 3 : 0), "%s", json);
        refused += !at_ok(t);
        at_close(t);
    }
    ck_assert_int_gt(refused, 2 * n);
    scratch_remove(home);
}
END_TEST

START_TEST(a_folder_that_is_not_there_is_an_error)
{
    scratch_folder(home);
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m = scattered(t, gpt2_sizes);
    ck_assert_int_eq(at_model_lora_import(t, m, in_home("none")), 0);
    ck_assert(!!strstr(at_error(t), "/none/adapter_config.json: No such file or directory"));
    at_clear_error(t);
    write_file(in_home("adapter_config.json"), CONFIG("4", ""));
    ck_assert_int_eq(at_model_lora_import(t, m, home), 0);
    ck_assert(!!strstr(at_error(t), "/adapter_model.safetensors: No such file or directory"));
    at_clear_error(t);
    ck_assert_int_eq(at_model_lora_import(t, m, NULL), 0);
    assert_error(t, "lora_import: the folder is NULL");
    at_clear_error(t);
    ck_assert_int_eq(at_model_lora_import(t, NULL, home), 0);
    assert_error(t, "lora_import: the model is NULL");
    at_close(t);
    scratch_remove(home);
}
END_TEST

START_TEST(every_allocation_of_adapters_may_fail)
{
    scratch_folder(home);
    bool through = false;
    for (int n = 1; !through && n < 10000; n++) {
        at_fail_allocation(n);
        at_tape *t = at_open(ATTIC_F32, 1);
        at_model *m = at_model_make(t, gpt2_sizes);
        at_scope(t, "back");
        at_model *back = at_model_make(t, gpt2_sizes);
        through = m && back && at_model_lora(t, m, (at_lora_args){.rank = 1, .only = "*.v.W"}) &&
                  at_model_lora_export(t, m, home, (at_export_args){0}) &&
                  at_model_lora_import(t, back, home);
        ck_assert_msg(through || at_error_kind_of(t) == ATTIC_MEMORY_ERROR, "%s", at_error(t));
        at_close(t);
    }
    at_fail_allocation(0);
    ck_assert(through);
    scratch_remove(home);
}
END_TEST

SUITE(train_adapters, adapters_come_back_in_every_bit_onto_the_base_as_it_was,
      llama_has_one_module_for_each_matrix, the_c_attn_of_gpt2_has_blocks,
      a_matrix_with_two_alphas_is_refused, alphas_that_differ_by_their_rounding_are_one,
      an_export_without_adapters_or_names_is_refused,
      what_peft_trained_adds_the_product_of_its_matrices, columns_of_rotated_pairs_are_put_in_order,
      an_adapter_that_has_not_learned_is_one_for_each,
      settings_that_change_what_is_computed_are_refused,
      tensors_that_do_not_fit_are_refused_and_change_nothing,
      numbers_that_a_tape_cannot_hold_change_nothing,
      no_truncation_and_no_changed_byte_of_a_config_crashes, a_folder_that_is_not_there_is_an_error,
      every_allocation_of_adapters_may_fail)
