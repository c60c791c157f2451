/* test_import_config.c -- a published config.json becomes a config of at_model, or is refused by name. */
#include "scratch.h"
#include "tensors.h"

#include <stdio.h>
#include <stdlib.h>

/* As published, without what is long and idle. */
static const char gpt2[] =
    "{\n  \"activation_function\": \"gelu_new\",\n  \"architectures\": [\n    "
    "\"GPT2LMHeadModel\"\n  ],\n"
    "  \"attn_pdrop\": 0.1,\n  \"bos_token_id\": 50256,\n  \"embd_pdrop\": 0.1,\n"
    "  \"initializer_range\": 0.02,\n  \"layer_norm_epsilon\": 1e-05,\n  \"model_type\": "
    "\"gpt2\",\n"
    "  \"n_ctx\": 1024,\n  \"n_embd\": 768,\n  \"n_head\": 12,\n  \"n_layer\": 12,\n"
    "  \"n_positions\": 1024,\n  \"resid_pdrop\": 0.1,\n  \"summary_activation\": null,\n"
    "  \"summary_use_proj\": true,\n  \"task_specific_params\": {\n    \"text-generation\": {\n"
    "      \"do_sample\": true,\n      \"max_length\": 50\n    }\n  },\n  \"vocab_size\": "
    "50257\n}\n";
#define LLAMA_SIZES                                                                                \
    "\"vocab_size\":128256,\"hidden_size\":2048,\"intermediate_size\":8192,"                       \
    "\"num_hidden_layers\":16,\"num_attention_heads\":32,\"num_key_value_heads\":8,"               \
    "\"max_position_embeddings\":131072"
static const char llama[] =
    "{\"model_type\":\"llama\"," LLAMA_SIZES
    ",\"attention_bias\":false,\"attention_dropout\":0.0,\"eos_token_id\":[128001,128008],"
    "\"head_dim\":64,\"hidden_act\":\"silu\",\"mlp_bias\":false,\"pretraining_tp\":1,"
    "\"rms_norm_eps\":1e-05,\"rope_scaling\":{\"factor\":32.0,\"high_freq_factor\":4.0,"
    "\"low_freq_factor\":1.0,\"original_max_position_embeddings\":8192,\"rope_type\":\"llama3\"},"
    "\"rope_theta\":500000.0,\"tie_word_embeddings\":true,\"torch_dtype\":\"bfloat16\","
    "\"transformers_version\":\"4.45.0\",\"use_cache\":true}";
static const char qwen3[] =
    "{\"model_type\":\"qwen3\",\"vocab_size\":151936,\"hidden_size\":4096,"
    "\"intermediate_size\":12288,\"num_hidden_layers\":36,\"num_attention_heads\":32,"
    "\"num_key_value_heads\":8,\"head_dim\":128,\"max_position_embeddings\":40960,"
    "\"attention_bias\":false,\"hidden_act\":\"silu\",\"max_window_layers\":36,"
    "\"rms_norm_eps\":1e-06,\"rope_scaling\":null,\"rope_theta\":1000000,\"sliding_window\":null,"
    "\"use_sliding_window\":false,\"tie_word_embeddings\":false,\"torch_dtype\":\"bfloat16\"}";
/* The layers' kinds of attention, two by two, eight times. */
#define TYPES(a, b) "\"" a "_attention\",\"" b "_attention\""
#define EIGHT(x) x "," x "," x "," x "," x "," x "," x "," x
#define LAYERS(a, b) "\"layer_types\":[" EIGHT(TYPES(a, b)) "]"
/* What stands between the braces is added to this. */
#define ADDED(text) "{\"model_type\":\"llama\"," LLAMA_SIZES "," text "}"

static bool read_bytes(at_tape *t, const char *json, ptrdiff_t n, at_model_config *c)
{
    char *path = scratch_file("config.json");
    FILE *f = fopen(path, "wb");
    fwrite(json, 1, (size_t)n, f);
    fclose(f);
    bool ok = at_model_config_json(t, path, c);
    remove(path);
    return ok;
}

static bool read_text(at_tape *t, const char *json, at_model_config *c)
{
    return read_bytes(t, json, (ptrdiff_t)strlen(json), c);
}

static void assert_config(const char *json, const char *text)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model_config c;
    ck_assert_msg(read_text(t, json, &c), "%s", at_error(t));
    ck_assert_str_eq(at_model_text(t, c), text);
    at_close(t);
}

START_TEST(gpt2_llama_and_qwen3_are_read)
{
    assert_config(gpt2, "vocab=50257 context=1024 layers=12 heads=12 dim=768 norm_eps=1e-05 "
                        "act=gelu_tanh bias=all positions=learned");
    assert_config(llama,
                  "vocab=128256 context=131072 layers=16 heads=32 kv_heads=8 dim=2048 "
                  "hidden=8192 norm=rms norm_eps=1e-05 act=swiglu bias=none rope_base=500000 "
                  "rope_halves=1 rope_type=llama3 rope_factor=32 "
                  "rope_original_max_position_embeddings=8192 rope_low_freq_factor=1 "
                  "rope_high_freq_factor=4");
    assert_config(qwen3, "vocab=151936 context=40960 layers=36 heads=32 kv_heads=8 dim=4096 "
                         "hidden=12288 norm=rms norm_eps=1e-06 act=swiglu bias=none "
                         "rope_base=1e+06 rope_halves=1 qk_norm=1 untied=1");
}
END_TEST

#define LLAMA_TEXT(eps, base)                                                                      \
    "vocab=128256 context=131072 layers=16 heads=32 kv_heads=8 dim=2048 hidden=8192 norm=rms "     \
    "norm_eps=" eps " act=swiglu bias=none rope_base=" base " rope_halves=1"

START_TEST(what_is_absent_or_null_has_the_value_of_published_code)
{
    assert_config(ADDED("\"use_cache\":true"), LLAMA_TEXT("1e-06", "10000") " untied=1");
    assert_config(ADDED("\"rope_theta\":null,\"rms_norm_eps\":null,\"what_is_that\":null"),
                  LLAMA_TEXT("1e-06", "10000") " untied=1");
    assert_config(ADDED("\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":5e5}"),
                  LLAMA_TEXT("1e-06", "500000") " untied=1");
    assert_config(ADDED("\"rope_scaling\":{\"type\":\"linear\",\"factor\":2}"),
                  LLAMA_TEXT("1e-06", "10000") " rope_type=linear rope_factor=2 untied=1");
    assert_config(
        ADDED("\"rope_scaling\":{\"type\":\"yarn\",\"factor\":2.5}"),
        LLAMA_TEXT("1e-06", "10000") " rope_type=yarn rope_factor=2.5 "
                                     "rope_original_max_position_embeddings=131072 untied=1");
    assert_config(ADDED("\"sliding_window\":64," LAYERS("sliding", "full")),
                  LLAMA_TEXT("1e-06", "10000") " window=64 full_every=2 untied=1");
    assert_config(ADDED("\"sliding_window\":64," LAYERS("sliding", "sliding")),
                  LLAMA_TEXT("1e-06", "10000") " window=64 untied=1");
    assert_config(
        ADDED("\"use_sliding_window\":false,\"sliding_window\":4096," LAYERS("full", "full")),
        LLAMA_TEXT("1e-06", "10000") " untied=1");
}
END_TEST

START_TEST(what_at_model_can_not_represent_is_refused_by_name)
{
    static const struct {
        const char *added, *message;
    } wrong[] = {
        {"\"hidden_act\":\"gelu\"", "\"hidden_act\" is \"gelu\", but at_model has only silu"},
        {"\"attention_bias\":true", "\"attention_bias\" is true, but at_model has only false"},
        {"\"mlp_bias\":true", "\"mlp_bias\" is true, but at_model has only false"},
        {"\"sliding_window\":4096", "\"sliding_window\" is 4096, but without layer_types it is not "
                                    "known which layers it is of"},
        {"\"sliding_window\":4096," LAYERS("full", "sliding"),
         "layer 1 has sliding_attention, but at_model has full_attention in every n-th layer "
         "alone, "
         "n = 1"},
        {LAYERS("sliding", "full"), "it has no \"sliding_window\""},
        {"\"layer_types\":[\"full_attention\"]", "\"layer_types\" has 1 types for 16 layers"},
        {LAYERS("chunked", "full"),
         "a layer has chunked_attention, but at_model only full_attention and sliding_attention"},
        {"\"head_dim\":128", "\"head_dim\" is 128, but at_model has only 2048 / 32 heads"},
        {"\"rope_scaling\":{\"rope_type\":\"dynamic\",\"factor\":2}",
         "\"rope_scaling.rope_type\" is \"dynamic\", but at_model has only default linear llama3 "
         "yarn"},
        {"\"rope_scaling\":{\"type\":\"longrope\",\"short_factor\":[1],\"long_factor\":[2]}",
         "\"rope_scaling.type\" is \"longrope\", but at_model has only default linear llama3 "
         "yarn"},
        {"\"rope_parameters\":{\"rope_type\":\"default\",\"partial_rotary_factor\":0.5}",
         "\"rope_parameters.partial_rotary_factor\" is 0.5, but at_model rotates it all"},
        {"\"rope_scaling\":{\"type\":\"linear\",\"rope_type\":\"yarn\",\"factor\":2}",
         "\"rope_scaling.type\" is \"linear\", but rope_type is another"},
        {"\"rope_scaling\":{\"type\":\"linear\",\"factor\":2,\"mscale\":1}",
         "\"rope_scaling.mscale\" is 1, but this version does not know that setting here"},
        {"\"rope_scaling\":{\"type\":\"linear\",\"factor\":2},\"rope_parameters\":{}",
         "\"rope_parameters\" is {}, but rope_scaling is there as well"},
        {"\"rope_scaling\":{\"type\":\"llama3\",\"factor\":2}",
         "it has no \"rope_scaling.original_max_position_embeddings\""},
        {"\"rope_scaling\":[1]", "\"rope_scaling\" is [1], but must be an object"},
        {"\"rope_theta\":0", "\"rope_theta\" is 0, but must be a positive number"},
        {"\"rope_theta\":\"1\"", "\"rope_theta\" is \"1\", but must be a positive number"},
        {"\"rms_norm_eps\":1e999", "\"rms_norm_eps\" is 1e999, but must be a positive number"},
        {"\"tie_word_embeddings\":1", "\"tie_word_embeddings\" is 1, but must be true or false"},
        {"\"layer_types\":1", "\"layer_types\" is 1, but must be a list"},
        {"\"quantization_config\":{\"bits\":4}", "\"quantization_config\" is {\"bits\":4}, but "
                                                 "this version does not know that setting here"},
        {"\"hidden_size\":1", "\"hidden_size\" is there twice"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char json[1000];
        snprintf(json, sizeof json, "{\"model_type\":\"llama\"," LLAMA_SIZES ",%s}",
                 wrong[i].added);
        at_tape *t = at_open(ATTIC_F32, 1);
        at_model_config c = {.vocab = 3};
        ck_assert(!read_text(t, json, &c));
        const char *end = strstr(at_error(t), "config.json: ");
        ck_assert_msg(end && strncmp(at_error(t), "import: ", 8) == 0, "%s", at_error(t));
        ck_assert_str_eq(end + 13, wrong[i].message);
        ck_assert(at_error_kind_of(t) == ATTIC_FILE_ERROR && c.vocab == 0);
        at_close(t);
    }
}
END_TEST

START_TEST(files_that_are_no_config_are_refused)
{
    static const char *const wrong[][2] = {
        {"[]", "byte 0 of it should be {"},
        {"{}", "it has no \"model_type\""},
        {"{\"model_type\":null}", "it has no \"model_type\""},
        {"{\"model_type\":\"qwen2\"}",
         "\"model_type\" is \"qwen2\", but at_model has only gpt2 llama qwen3 mistral"},
        {"{\"model_type\":\"gpt2\"}", "it has no \"vocab_size\""},
        {"{\"model_type\":\"gpt2\",\"vocab_size\":1.5}",
         "\"vocab_size\" is 1.5, but must be a size of 32 bits"},
        {"{\"model_type\":\"gpt2\",\"vocab_size\":3000000000}",
         "\"vocab_size\" is 3000000000, but must be a size of 32 bits"},
        {"{\"model_type\":\"gpt2\",\"vocab_size\":-1}",
         "\"vocab_size\" is -1, but must be a positive number"},
        {"{\"model_type\":\"gpt2\",\"vocab_size\":01}",
         "byte 36 of it should be no digit behind a zero"},
        {"{\"model_type\":\"gpt2\",\"activation_function\":\"gelu_fast\"}",
         "\"activation_function\" is \"gelu_fast\", but at_model has only gelu_new "
         "gelu_pytorch_tanh gelu relu silu tanh"},
        {"{\"a\":[}", "byte 6 of it should be a value"},
        {"{\"a\":\"b", "byte 7 of it should be the end of a string"},
        {"{\"a\":}", "byte 5 of it should be a value"},
        {"{\"a\":1} x", "byte 8 of it should be the end, but for spaces"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        at_model_config c;
        ck_assert(!read_text(t, wrong[i][0], &c));
        const char *end = strstr(at_error(t), "config.json: ");
        ck_assert_msg(end, "%s", at_error(t));
        ck_assert_str_eq(end + 13, wrong[i][1]);
        at_close(t);
    }
}
END_TEST

/* Each is read, or refused as a file. */
static int try_bytes(const char *json, ptrdiff_t n)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model_config c;
    bool ok = read_bytes(t, json, n, &c);
    ck_assert(ok ? at_ok(t) : at_error_kind_of(t) != ATTIC_OK);
    at_close(t);
    return !ok;
}

START_TEST(no_truncation_and_no_changed_byte_crashes)
{
    static const char *const from[] = {gpt2, llama, qwen3};
    static const char bytes[] = "\0\"\\{}[],:0-.eu\n\xff";
    char json[1200];
    int refused = 0;
    for (int k = 0; k < 3; k++) {
        const ptrdiff_t n = (ptrdiff_t)strlen(from[k]);
        ck_assert(n < (ptrdiff_t)sizeof json);
        for (ptrdiff_t i = 0; i + 1 < n; i++) refused += try_bytes(from[k], i);
        for (ptrdiff_t i = 0; i < n; i++)
            for (size_t b = 0; b < sizeof bytes - 1; b += 1 + (i % 3 > 0)) {
                memcpy(json, from[k], (size_t)n);
                json[i] = bytes[b];
                refused += try_bytes(json, n);
            }
    }
    ck_assert_int_gt(refused, 10000);
}
END_TEST

START_TEST(deep_many_and_large_are_refused)
{
    static char json[(1 << 20) + 2];
    for (int depth = 60; depth < 70; depth++) {
        char open[80] = "", close[80] = "";
        memset(open, '[', (size_t)depth), memset(close, ']', (size_t)depth);
        snprintf(json, sizeof json, "{\"id2label\":%s%s,\"model_type\":\"gpt2\"}", open, close);
        at_tape *t = at_open(ATTIC_F32, 1);
        at_model_config c;
        ck_assert(!read_text(t, json, &c));
        ck_assert(!!strstr(at_error(t), depth > 64 ? "should be less deep" : "vocab_size"));
        at_close(t);
    }
    int n = snprintf(json, sizeof json, "{\"0\":0");
    for (int i = 1; i <= 256; i++) n += snprintf(json + n, sizeof json - (size_t)n, ",\"%d\":0", i);
    snprintf(json + n, sizeof json - (size_t)n, "}");
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model_config c;
    ck_assert(!read_text(t, json, &c) && strstr(at_error(t), "it has more than 256 settings"));
    at_clear_error(t);
    memset(json, ' ', sizeof json - 1);
    ck_assert(!read_bytes(t, json, (1 << 20) + 1, &c) &&
              strstr(at_error(t), "1048577 bytes, but at most 1048576 are possible"));
    at_close(t);
}
END_TEST

SUITE(train_import_config, gpt2_llama_and_qwen3_are_read,
      what_is_absent_or_null_has_the_value_of_published_code,
      what_at_model_can_not_represent_is_refused_by_name, files_that_are_no_config_are_refused,
      no_truncation_and_no_changed_byte_crashes, deep_many_and_large_are_refused)
