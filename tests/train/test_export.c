/* test_export.c -- models as folders of published form: what comes back, what other programs find there, and what is
 * refused.  tests/export reads such folders with PyTorch and NumPy. */
#include "tensor/arena.h"
#include "train/exported.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* A model, its names, and the config that its config.json stands for, rope_halves and defaults filled in. */
typedef struct {
    at_published_names names;
    at_model_config config;
    const char *text;
} arrangement;

#define SIZES_OF_GPT2 "vocab=19 context=12 layers=2 heads=2 dim=8 hidden=20 "
#define REST_OF_GPT2 "bias=all positions=learned"
#define TEXT_OF_LLAMA                                                                              \
    "vocab=19 context=12 layers=2 heads=4 kv_heads=2 dim=16 hidden=12 norm=rms norm_eps=1e-06 "    \
    "act=swiglu bias=none rope_base=500 rope_halves=1"
static const arrangement arrangements[] = {
    {ATTIC_NAMES_GPT2, {GPT2}, SIZES_OF_GPT2 "norm_eps=1e-05 act=gelu_tanh " REST_OF_GPT2},
    {ATTIC_NAMES_GPT2,
     {.vocab = VOCAB,
      .context = CONTEXT,
      .layers = 2,
      .heads = 2,
      .kv_heads = 2,
      .dim = 8,
      .hidden = 20,
      .norm_eps = 0.03,
      .bias = ATTIC_BIAS_ALL,
      .positions = ATTIC_LEARNED_POSITIONS,
      .untied = true,
      .dropout = 0.1},
     SIZES_OF_GPT2 "norm_eps=0.03 " REST_OF_GPT2 " untied=1"},
    {ATTIC_NAMES_LLAMA, {LLAMA, .untied = true}, TEXT_OF_LLAMA " untied=1"},
    {ATTIC_NAMES_LLAMA, {LLAMA, .rope_halves = true, .zero_outputs = true}, TEXT_OF_LLAMA},
    {ATTIC_NAMES_LLAMA,
     {.vocab = VOCAB,
      .context = CONTEXT,
      .layers = 2,
      .heads = 4,
      .dim = 16,
      .norm = ATTIC_RMS,
      .act = ATTIC_SWIGLU,
      .bias = ATTIC_BIAS_NONE,
      .rope_scaling = {.type = ATTIC_ROPE_LINEAR, .factor = 2.5}},
     "vocab=19 context=12 layers=2 heads=4 kv_heads=4 dim=16 hidden=48 norm=rms norm_eps=1e-05 "
     "act=swiglu bias=none rope_base=10000 rope_halves=1 rope_type=linear rope_factor=2.5"},
    {ATTIC_NAMES_LLAMA,
     {LLAMA, .rope_scaling = {.type = ATTIC_ROPE_LLAMA3,
                              .factor = 8,
                              .low_freq_factor = 0.3,
                              .high_freq_factor = 1,
                              .original_max_position_embeddings = 16}},
     TEXT_OF_LLAMA " rope_type=llama3 rope_factor=8 rope_original_max_position_embeddings=16 "
                   "rope_low_freq_factor=0.3 rope_high_freq_factor=1"},
    {ATTIC_NAMES_LLAMA,
     {LLAMA, .rope_halves = true,
      .rope_scaling = {.type = ATTIC_ROPE_YARN,
                       .factor = 4,
                       .beta_fast = 2,
                       .beta_slow = 0.1,
                       .mscale = 1,
                       .mscale_all_dim = 0.5,
                       .no_truncate = true,
                       .original_max_position_embeddings = 16}},
     TEXT_OF_LLAMA " rope_type=yarn rope_factor=4 rope_original_max_position_embeddings=16 "
                   "rope_beta_fast=2 rope_beta_slow=0.1 rope_mscale=1 rope_mscale_all_dim=0.5 "
                   "rope_no_truncate=1"},
};
enum { ARRANGEMENTS = sizeof arrangements / sizeof *arrangements };

static void export_to_home(at_tape *t, const at_model *m, at_export_args args)
{
    ck_assert_msg(at_model_export(t, m, home, args), "%s", at_error(t));
}

static const at_tensors *exported(at_tape *t)
{
    return at_tensors_open(t, in_home("model.safetensors"));
}

START_TEST(what_was_exported_comes_back_in_every_bit)
{
    scratch_folder(home);
    for (int i = 0; i < ARRANGEMENTS; i++)
        for (at_tape *t = NULL; next_tape(&t);) {
            at_model *m = scattered(t, arrangements[i].config);
            export_to_home(t, m, (at_export_args){.names = arrangements[i].names});
            at_tape *u = at_open(ATTIC_F32, 2);
            at_model *back = at_model_make(u, arrangements[i].config);
            ck_assert_msg(at_model_import(u, back, exported(u)), "%d: %s", i, at_error(u));
            for (int k = 0; k < at_param_count(t); k++) {
                const at_tensor *x = at_param_at(t, k), *y = at_param_at(u, k);
                for (ptrdiff_t j = 0; j < at_count(x->shape); j++)
                    ck_assert((float)at_element(x, j) == (float)at_element(y, j));
            }
            at_close(u);
        }
    scratch_remove(home);
}
END_TEST

/* Where features are put in another order, sums are: there the logits are those of the model up to rounding. */
START_TEST(a_folder_alone_makes_the_same_model)
{
    scratch_folder(home);
    for (int i = 0; i < ARRANGEMENTS; i++) {
        const arrangement *a = &arrangements[i];
        at_tape *t = at_open(ATTIC_F32, 1), *u = at_open(ATTIC_F32, 2);
        at_model *m = scattered(t, a->config);
        export_to_home(t, m, (at_export_args){.names = a->names});
        at_model_config c;
        ck_assert_msg(at_model_config_json(u, in_home("config.json"), &c), "%s", at_error(u));
        ck_assert_str_eq(at_model_text(u, c), a->text);
        at_model *back = at_model_make(u, c);
        ck_assert(at_model_import(u, back, exported(u)));
        bool same_order = a->config.rope_halves || a->names == ATTIC_NAMES_GPT2;
        assert_same_elements(some_logits(t, m), some_logits(u, back), same_order ? 0 : 1e-4);
        at_close(t), at_close(u);
    }
    scratch_remove(home);
}
END_TEST

START_TEST(halves_are_the_rounded_weights_and_stored_halves_stay_what_they_are)
{
    scratch_folder(home);
    const at_dtype halves[] = {ATTIC_F16, ATTIC_BF16};
    for (int h = 0; h < 2; h++)
        for (int stored = 0; stored < 2; stored++) {
            at_tape *t = at_open(ATTIC_F32, 1), *u = at_open(ATTIC_F32, 2);
            if (stored) at_store_params(t, halves[h]);
            at_model *m = scattered(t, arrangements[2].config);
            export_to_home(t, m, (at_export_args){ATTIC_NAMES_LLAMA, .dtype = halves[h]});
            ck_assert_str_eq(at_tensors_dtype(exported(t), 0), h ? "bf16" : "f16");
            ck_assert(
                !!strstr(text_of_file(in_home("config.json")),
                         h ? "\"torch_dtype\": \"bfloat16\"" : "\"torch_dtype\": \"float16\""));
            at_model *back = at_model_make(u, arrangements[2].config);
            ck_assert(at_model_import(u, back, exported(u)));
            for (int k = 0; k < at_param_count(t); k++) {
                const at_tensor *x = at_param_at(t, k);
                for (ptrdiff_t j = 0; j < at_count(x->shape); j++) {
                    uint16_t bits;
                    at_store(halves[h], &bits, 0, at_element(x, j));
                    ck_assert(at_fetch(halves[h], &bits, 0) == at_element(at_param_at(u, k), j));
                }
            }
            at_close(t), at_close(u);
        }
    scratch_remove(home);
}
END_TEST

/* ------------------------------------------------------------------ what others find there ----- */

/* The golden files were written by PyTorch, under the names of what Hugging Face serves: GPT-2 as published, where a
 * model with a head has transformer. before each name. */
START_TEST(names_shapes_and_bits_are_those_of_published_files)
{
    scratch_folder(home);
    for (int i = 0; i < 3; i++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        at_model_config c[] = {
            {GPT2}, {LLAMA, .untied = true}, {LLAMA, .untied = true, .rope_halves = true}};
        c[i].context = 68; /* as many positions as the file has */
        const at_tensors *golden = at_tensors_open(t, i ? "tests/golden/llama.safetensors"
                                                        : "tests/golden/gpt2.safetensors");
        at_model *m = at_model_make(t, c[i]);
        ck_assert_msg(at_model_import(t, m, golden), "%s", at_error(t));
        export_to_home(t, m, (at_export_args){.names = i ? ATTIC_NAMES_LLAMA : ATTIC_NAMES_GPT2});
        const at_tensors *f = exported(t);
        ck_assert(at_tensors_verify(f));
        ck_assert_str_eq(at_tensors_metadata(f, "format"), "pt");
        ck_assert_int_eq(at_tensors_count(f), at_tensors_count(golden));
        for (int k = 0; k < at_tensors_count(golden); k++) {
            char name[100];
            snprintf(name, sizeof name, "%s%s", i ? "" : "transformer.",
                     at_tensors_name(golden, k));
            ck_assert_msg(equal_bits(at_tensors_load(f, name),
                                     at_tensors_load(golden, at_tensors_name(golden, k))),
                          "%s", name);
            ck_assert(at_same_shape(at_tensors_shape(f, at_tensors_find(f, name)),
                                    at_tensors_shape(golden, k)));
        }
        at_close(t);
    }
    scratch_remove(home);
}
END_TEST

START_TEST(a_head_of_its_own_has_no_prefix)
{
    scratch_folder(home);
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m = scattered(t, arrangements[1].config);
    export_to_home(t, m, (at_export_args){.names = ATTIC_NAMES_GPT2});
    const at_tensor *head = at_tensors_load(exported(t), "lm_head.weight");
    ck_assert(head && at_get(head, 7, 2) == at_get(m->head.W, 2, 7)); /* [V,C] */
    at_close(t);
    scratch_remove(home);
}
END_TEST

START_TEST(config_json_has_the_keys_of_hugging_face)
{
    scratch_folder(home);
    at_tape *t = at_open(ATTIC_F32, 1);
    export_to_home(t, scattered(t, arrangements[0].config), (at_export_args){0});
    ck_assert_str_eq(text_of_file(in_home("config.json")),
                     "{\n  \"architectures\": [\n    \"GPT2LMHeadModel\"\n  ],\n"
                     "  \"model_type\": \"gpt2\",\n  \"activation_function\": \"gelu_new\",\n"
                     "  \"attn_pdrop\": 0.0,\n  \"embd_pdrop\": 0.0,\n  \"resid_pdrop\": 0.0,\n"
                     "  \"vocab_size\": 19,\n  \"n_positions\": 12,\n  \"n_layer\": 2,\n"
                     "  \"n_head\": 2,\n  \"n_embd\": 8,\n  \"n_inner\": 20,\n"
                     "  \"layer_norm_epsilon\": 1e-05,\n  \"tie_word_embeddings\": true,\n"
                     "  \"bos_token_id\": null,\n  \"eos_token_id\": null,\n"
                     "  \"torch_dtype\": \"float32\"\n}\n");
    at_scope(t, "llama");
    at_model *m = scattered(t, arrangements[5].config);
    export_to_home(t, m, (at_export_args){.names = ATTIC_NAMES_LLAMA});
    ck_assert_str_eq(text_of_file(in_home("config.json")),
                     "{\n  \"architectures\": [\n    \"LlamaForCausalLM\"\n  ],\n"
                     "  \"model_type\": \"llama\",\n  \"attention_bias\": false,\n"
                     "  \"mlp_bias\": false,\n  \"attention_dropout\": 0.0,\n"
                     "  \"hidden_act\": \"silu\",\n  \"vocab_size\": 19,\n"
                     "  \"max_position_embeddings\": 12,\n  \"num_hidden_layers\": 2,\n"
                     "  \"num_attention_heads\": 4,\n  \"hidden_size\": 16,\n"
                     "  \"intermediate_size\": 12,\n  \"num_key_value_heads\": 2,\n"
                     "  \"rms_norm_eps\": 1e-06,\n  \"rope_theta\": 500.0,\n"
                     "  \"rope_scaling\": {\n    \"rope_type\": \"llama3\",\n"
                     "    \"factor\": 8.0,\n    \"low_freq_factor\": 0.3,\n"
                     "    \"high_freq_factor\": 1.0,\n"
                     "    \"original_max_position_embeddings\": 16\n  },\n"
                     "  \"tie_word_embeddings\": true,\n  \"bos_token_id\": null,\n"
                     "  \"eos_token_id\": null,\n  \"torch_dtype\": \"float32\"\n}\n");
    at_close(t);
    scratch_remove(home);
}
END_TEST

/* ------------------------------------------------------------------ tokenizers ----------------- */

static at_model_config with_vocab(int vocab)
{
    return (at_model_config){.vocab = vocab,
                             .context = 4,
                             .layers = 1,
                             .heads = 1,
                             .dim = 2,
                             .act = ATTIC_RELU,
                             .bias = ATTIC_BIAS_ALL,
                             .positions = ATTIC_LEARNED_POSITIONS};
}

/* The bytes are a tokenizer of the kind gpt2 without merges: it encodes to the same ids. */
START_TEST(the_tokenizer_goes_along_and_is_read_as_it_was)
{
    scratch_folder(home);
    static const char text[] = "It's \"q\" \\ 12 caf\xc3\xa9\n\n \x01\xff";
    for (int i = 0; i < 2; i++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        const at_tokenizer *k = i ? at_tokenizer_bytes(t, NULL, 0)
                                  : at_tokenizer_gpt2(t, "tests/golden/tokenizers/vocab.json",
                                                      "tests/golden/tokenizers/merges.txt");
        at_model *m = at_model_make(t, with_vocab(at_tokenizer_vocab(k) + 3));
        export_to_home(t, m, (at_export_args){.tokenizer = k});
        const at_tokenizer *back =
            at_tokenizer_gpt2(t, in_home("vocab.json"), in_home("merges.txt"));
        ck_assert_msg(back, "%s", at_error(t));
        if (i == 0) ck_assert_str_eq(at_tokenizer_text(t, back), at_tokenizer_text(t, k));
        ptrdiff_t n, n_back;
        const int32_t *ids = at_encode(t, k, text, -1, &n),
                      *again = at_encode(t, back, text, -1, &n_back);
        ck_assert_int_eq((int)n, (int)n_back);
        ck_assert(memcmp(ids, again, (size_t)n * sizeof *ids) == 0);
        at_close(t);
    }
    scratch_remove(home);
}
END_TEST

START_TEST(the_end_of_text_is_named_where_the_tokenizer_has_one)
{
    scratch_folder(home);
    at_tape *t = at_open(ATTIC_F32, 1);
    write_file(in_home("v.json"), "{\"a\": 0, \"<|endoftext|>\": 1}");
    write_file(in_home("m.txt"), "#version: 0.2\n");
    const at_tokenizer *k = at_tokenizer_gpt2(t, in_home("v.json"), in_home("m.txt"));
    ck_assert_msg(k, "%s", at_error(t));
    at_model *m = at_model_make(t, with_vocab(2));
    export_to_home(t, m, (at_export_args){.tokenizer = k});
    ck_assert_str_eq(text_of_file(in_home("tokenizer_config.json")),
                     "{\n  \"tokenizer_class\": \"GPT2Tokenizer\",\n  \"model_max_length\": 4,\n"
                     "  \"add_prefix_space\": false,\n  \"clean_up_tokenization_spaces\": false,\n"
                     "  \"bos_token\": \"<|endoftext|>\",\n  \"eos_token\": \"<|endoftext|>\",\n"
                     "  \"unk_token\": \"<|endoftext|>\"\n}\n");
    ck_assert(!!strstr(text_of_file(in_home("config.json")), "\"eos_token_id\": 1,"));
    export_to_home(t, m, (at_export_args){.tokenizer = at_tokenizer_bytes(t, "ab", -1)});
    ck_assert(!!strstr(text_of_file(in_home("tokenizer_config.json")), "\"unk_token\": null"));
    ck_assert(!!strstr(text_of_file(in_home("config.json")), "\"eos_token_id\": null,"));
    at_close(t);
    scratch_remove(home);
}
END_TEST

START_TEST(tokenizers_of_another_form_are_refused)
{
    scratch_folder(home);
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m = at_model_make(t, with_vocab(5));
    const struct {
        const at_tokenizer *k;
        const char *message;
    } wrong[] = {
        {at_tokenizer_chars(t, "abc", -1),
         "export: a tokenizer of the kind chars has no vocab.json "
         "and merges.txt: leave it out"},
        {at_tokenizer_llama2(t, "tests/golden/tokenizers/tokenizer.bin"),
         "export: a tokenizer of the kind llama2 has no vocab.json and merges.txt: leave it out"},
        {at_tokenizer_bytes(t, "abcdef", -1),
         "export: the tokenizer has 6 tokens, but the model's vocab is 5"},
        {at_tokenizer_of_text(t, "attic tokenizer 1 gpt2 2 0\n61\n61\n"),
         "export: tokens 0 and 1 have the same bytes, for which vocab.json has one place"},
    };
    for (int i = 0; i < 4; i++) {
        ck_assert(!at_model_export(t, m, home, (at_export_args){.tokenizer = wrong[i].k}));
        assert_error(t, wrong[i].message);
        ck_assert(access(in_home("model.safetensors"), F_OK) != 0);
        at_clear_error(t);
    }
    at_close(t);
    scratch_remove(home);
}
END_TEST

/* ------------------------------------------------------------------ what is refused ------------ */

#define TINY .vocab = 3, .context = 3, .layers = 1, .heads = 1, .dim = 4
START_TEST(a_field_without_a_place_is_refused_by_name)
{
    scratch_folder(home);
    static const struct {
        at_published_names names;
        at_model_config config;
        const char *message;
    } wrong[] = {
        {ATTIC_NAMES_GPT2, {GPT2, .qk_norm = true}, "GPT-2 has no .qk_norm = 1, it needs false"},
        {ATTIC_NAMES_GPT2, {GPT2, .gate = true}, "GPT-2 has no .gate = 1, it needs false"},
        {ATTIC_NAMES_GPT2, {GPT2, .sinks = true}, "GPT-2 has no .sinks = 1, it needs false"},
        {ATTIC_NAMES_GPT2, {GPT2, .window = 3}, "GPT-2 has no .window = 3, it needs 0"},
        {ATTIC_NAMES_GPT2,
         {GPT2, .post_norm = true},
         "GPT-2 has no .post_norm = 1, it needs false"},
        {ATTIC_NAMES_GPT2, {GPT2, .no_ffn = true}, "GPT-2 has no .no_ffn = 1, it needs false"},
        {ATTIC_NAMES_GPT2,
         {GPT2, .norm = ATTIC_RMS},
         "GPT-2 has no .norm = 1, it needs ATTIC_LAYER_NORM"},
        {ATTIC_NAMES_GPT2, {GPT2, .kv_heads = 1}, "GPT-2 has no .kv_heads = 1, it needs 0"},
        {ATTIC_NAMES_GPT2,
         {TINY, .act = ATTIC_SWIGLU},
         "GPT-2 has no .act = 4, it needs ATTIC_GELU_TANH, ATTIC_GELU, ATTIC_RELU, ATTIC_SILU or "
         "ATTIC_TANH"},
        {ATTIC_NAMES_GPT2,
         {TINY, .act = ATTIC_RELU2},
         "GPT-2 has no .act = 5, it needs ATTIC_GELU_TANH, ATTIC_GELU, ATTIC_RELU, ATTIC_SILU or "
         "ATTIC_TANH"},
        {ATTIC_NAMES_GPT2, {TINY}, "GPT-2 has no .bias = 0, it needs ATTIC_BIAS_ALL"},
        {ATTIC_NAMES_GPT2,
         {TINY, .bias = ATTIC_BIAS_ALL},
         "GPT-2 has no .positions = 0, it needs ATTIC_LEARNED_POSITIONS"},
        {ATTIC_NAMES_LLAMA, {LLAMA, .qk_norm = true}, "Llama has no .qk_norm = 1, it needs false"},
        {ATTIC_NAMES_LLAMA,
         {LLAMA, .window = 4, .full_every = 2},
         "Llama has no .window = 4, it needs 0"},
        {ATTIC_NAMES_LLAMA, {GPT2}, "Llama has no .norm = 0, it needs ATTIC_RMS"},
        {ATTIC_NAMES_LLAMA,
         {GPT2, .norm = ATTIC_RMS},
         "Llama has no .act = 1, it needs ATTIC_SWIGLU"},
        {ATTIC_NAMES_LLAMA,
         {TINY, .norm = ATTIC_RMS, .act = ATTIC_SWIGLU},
         "Llama has no .bias = 0, it needs ATTIC_BIAS_NONE"},
        {ATTIC_NAMES_LLAMA,
         {TINY, .norm = ATTIC_RMS, .act = ATTIC_SWIGLU, .bias = ATTIC_BIAS_NONE,
          .positions = ATTIC_LEARNED_POSITIONS},
         "Llama has no .positions = 1, it needs ATTIC_ROPE"},
        {ATTIC_NAMES_LLAMA,
         {TINY, .norm = ATTIC_RMS, .act = ATTIC_SWIGLU, .bias = ATTIC_BIAS_NONE,
          .positions = ATTIC_NO_POSITIONS},
         "Llama has no .positions = 2, it needs ATTIC_ROPE"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        at_model *m = at_model_make(t, wrong[i].config);
        ck_assert_msg(m, "%zu: %s", i, at_error(t));
        ck_assert(!at_model_export(t, m, home, (at_export_args){.names = wrong[i].names}));
        ck_assert(strncmp(at_error(t), "export: ", 8) == 0);
        ck_assert_str_eq(at_error(t) + 8, wrong[i].message);
        ck_assert(access(in_home("model.safetensors"), F_OK) != 0);
        at_close(t);
    }
    scratch_remove(home);
}
END_TEST

START_TEST(values_and_dtypes_that_do_not_fit_are_refused)
{
    scratch_folder(home);
    at_tape *t = at_open(ATTIC_F64, 1);
    at_model *m = scattered(t, arrangements[3].config);
    at_set(m->block[1].ffn.down.W, 65520, 3, 2);
    ck_assert(!at_model_export(t, m, home, (at_export_args){ATTIC_NAMES_LLAMA, ATTIC_F16, NULL}));
    assert_error(t,
                 "export: element 50 of \"block1.down.W\" [12,16] is 65520, which f16 cannot hold");
    at_clear_error(t);
    at_set(m->block[1].ffn.down.W, 1e300, 3, 2);
    ck_assert(!at_model_export(t, m, home, (at_export_args){.names = ATTIC_NAMES_LLAMA}));
    assert_error(
        t, "export: element 50 of \"block1.down.W\" [12,16] is 1e+300, which f32 cannot hold");
    at_clear_error(t);
    ck_assert(!at_model_export(t, m, home, (at_export_args){ATTIC_NAMES_LLAMA, ATTIC_F64, NULL}));
    assert_error(t, "export: the dtype is f64, but must be f32, f16 or bf16");
    at_clear_error(t);
    ck_assert(!at_model_export(t, m, home, (at_export_args){.names = (at_published_names)2}));
    assert_error(t, "export: there are no names 2, only 0 and 1 (at_published_names)");
    ck_assert(access(in_home("model.safetensors"), F_OK) != 0);
    at_close(t);
    scratch_remove(home);
}
END_TEST

START_TEST(adapters_and_damaged_models_are_refused)
{
    scratch_folder(home);
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m = scattered(t, arrangements[2].config);
    at_export_args llama = {.names = ATTIC_NAMES_LLAMA};
    at_model_lora(t, m, (at_lora_args){.rank = 1, .only = "*.up.W"});
    ck_assert(!at_model_export(t, m, home, llama));
    assert_error(t,
                 "export: \"block0.up.W\" [16,12] has an adapter: merge it (at_model_lora_merge), "
                 "or write it beside its base (at_model_lora_export)");
    at_clear_error(t);
    ck_assert(at_model_lora_merge(t, m) && at_model_export(t, m, home, llama));
    at_mark here = at_mark_here(t);
    at_tensor *gone = at_const(t, at_shape_of(16, 16), NULL);
    at_rewind(t, here);
    m->block[1].attention.o.W = gone;
    ck_assert(!at_model_export(t, m, home, llama));
    ck_assert(!!strstr(at_error(t), "model.layers.1.self_attn.o_proj.weight"));
    at_clear_error(t);
    ck_assert(!at_model_export(t, NULL, home, llama));
    assert_error(t, "export: the model is NULL");
    at_clear_error(t);
    ck_assert(!at_model_export(t, m, NULL, llama));
    assert_error(t, "export: the folder is NULL");
    at_clear_error(t);
    ck_assert(!at_model_export(t, m, "", llama));
    assert_error(t, "export: the folder's name is empty");
    at_close(t);
    scratch_remove(home);
}
END_TEST

/* ------------------------------------------------------------------ folders -------------------- */

START_TEST(a_folder_is_made_and_what_is_none_is_an_error)
{
    char parent[SCRATCH_PATH];
    scratch_folder(parent);
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m = scattered(t, arrangements[0].config);
    snprintf(home, sizeof home, "%.380s/made", parent);
    export_to_home(t, m, (at_export_args){0});
    export_to_home(t, m, (at_export_args){0}); /* and again, over the first */
    snprintf(home, sizeof home, "%.380s/made/config.json", parent);
    ck_assert(!at_model_export(t, m, home, (at_export_args){0}));
    ck_assert(at_error_kind_of(t) == ATTIC_FILE_ERROR);
    ck_assert(!!strstr(at_error(t), "made/config.json/model.safetensors: Not a directory"));
    at_clear_error(t);
    snprintf(home, sizeof home, "%.380s/not/made", parent);
    ck_assert(!at_model_export(t, m, home, (at_export_args){0}));
    ck_assert(strncmp(at_error(t), "export: cannot make the folder ", 31) == 0);
    ck_assert(!!strstr(at_error(t), "/not/made: No such file or directory"));
    at_close(t);
    scratch_remove(parent);
}
END_TEST

/* The old files stay, and nothing half-written does. */
START_TEST(a_full_disk_is_an_error)
{
    scratch_folder(home);
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m = scattered(t, arrangements[0].config);
    export_to_home(t, m, (at_export_args){0});
    struct stat before, after;
    ck_assert(stat(in_home("model.safetensors"), &before) == 0);
    struct rlimit limit, small;
    getrlimit(RLIMIT_FSIZE, &limit);
    small = (struct rlimit){1000, limit.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    bool written = at_model_export(t, m, home, (at_export_args){0});
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_DFL);
    ck_assert(!written && at_error_kind_of(t) == ATTIC_FILE_ERROR);
    ck_assert_msg(strstr(at_error(t), "cannot write ") &&
                      strstr(at_error(t), "/model.safetensors: "),
                  "%s", at_error(t));
    ck_assert(stat(in_home("model.safetensors"), &after) == 0 && before.st_ino == after.st_ino);
    at_clear_error(t);
    ck_assert(rmdir(home) != 0);
    remove(in_home("model.safetensors")), remove(in_home("config.json"));
    ck_assert_int_eq(rmdir(home), 0); /* which no other file is in */
    at_close(t);
}
END_TEST

START_TEST(every_allocation_of_an_export_may_fail)
{
    scratch_folder(home);
    bool through = false;
    for (int n = 1; !through && n < 10000; n++) {
        at_fail_allocation(n);
        at_tape *t = at_open(ATTIC_F32, 1);
        const at_tokenizer *k = at_tokenizer_bytes(t, "abc", -1);
        at_model *m = at_model_make(t, arrangements[0].config);
        through = m && at_model_export(t, m, home, (at_export_args){.tokenizer = k});
        ck_assert(through || at_error_kind_of(t) == ATTIC_MEMORY_ERROR);
        at_close(t);
    }
    at_fail_allocation(0);
    ck_assert(through);
    scratch_remove(home);
}
END_TEST

SUITE(train_export, what_was_exported_comes_back_in_every_bit, a_folder_alone_makes_the_same_model,
      halves_are_the_rounded_weights_and_stored_halves_stay_what_they_are,
      names_shapes_and_bits_are_those_of_published_files, a_head_of_its_own_has_no_prefix,
      config_json_has_the_keys_of_hugging_face, the_tokenizer_goes_along_and_is_read_as_it_was,
      the_end_of_text_is_named_where_the_tokenizer_has_one, tokenizers_of_another_form_are_refused,
      a_field_without_a_place_is_refused_by_name, values_and_dtypes_that_do_not_fit_are_refused,
      adapters_and_damaged_models_are_refused, a_folder_is_made_and_what_is_none_is_an_error,
      a_full_disk_is_an_error, every_allocation_of_an_export_may_fail)
