/* import_config.c -- the config of a model from the config.json that is published beside its
 * weights; see import.h.
 *
 * A setting that is not understood may change what the model computes, and nobody would see it in
 * the weights.  So every key is one of these: it is read; it must have the one value that at_model
 * can represent; it is in the list below of those that do not matter here; or it is refused.
 *
 * The file is taken for what it may be, damaged or hostile: its size is limited, and so is the
 * number of settings, which are looked up one by one. */
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "autograd/file.h"
#include "io/json.h"
#include "train/import.h"

enum { CONFIG_BYTES = 1 << 20, CONFIG_SETTINGS = 256 };
#define TINY 1e-300 /* the least that a positive number may be */

typedef struct {
    char *key, *from, *to; /* and where in the file its value stands */
    bool read;
} setting;

/* The settings of one object of the file. */
typedef struct {
    at_source *source;
    const char *in; /* "rope_scaling.", or "" for the object that the file is: for messages */
    char *file;     /* where the file begins */
    int n;
    setting list[CONFIG_SETTINGS];
} settings;

/* What does not change the function that a trained model computes; beside _*, summary_* and
 * *_token_id. */
static const char unimportant[] =
    " architectures attention_dropout attn_pdrop chunk_size_feed_forward dtype embd_pdrop "
    "gradient_checkpointing id2label initializer_range label2id max_window_layers n_ctx "
    "output_attentions output_hidden_states output_past pretraining_tp reorder_and_upcast_attn "
    "resid_pdrop return_dict task_specific_params tokenizer_class torch_dtype torchscript "
    "transformers_version use_cache ";

static bool is_unimportant(const char *key)
{
    const size_t n = strlen(key);
    const char *at = n && !strchr(key, ' ') ? strstr(unimportant, key) : NULL;
    while (at && !(at[-1] == ' ' && at[n] == ' ')) at = strstr(at + 1, key);
    return at || *key == '_' || strncmp(key, "summary_", 8) == 0 ||
           (n > 9 && strcmp(key + n - 9, "_token_id") == 0);
}

/* ----------------------------------------------------------------- the file ------------------- */

static setting *find(settings *c, const char *key)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->list[i].key, key) == 0) return c->list[i].read = true, &c->list[i];
    return NULL;
}

/* The settings of the object that stands here in the file. */
static bool read_object(settings *c, char *from, char *to)
{
    at_json r = {c->source, "it", c->file, from, to};
    int more;
    if (!at_json_took(&r, '{')) return at_json_expects(&r, "{");
    while ((more = at_json_more(&r, c->n, '}')) > 0) {
        char *key = at_json_key(&r);
        if (!key) return false;
        if (find(c, key))
            return at_source_fail(c->source, "\"%s%s\" is there twice", c->in, at_shown(key, -1));
        if (c->n == CONFIG_SETTINGS)
            return at_source_fail(c->source, "it has more than %d settings", CONFIG_SETTINGS);
        at_json_took(&r, 0);
        char *value = r.at;
        if (!at_json_skip(&r)) return false;
        c->list[c->n++] = (setting){key, value, r.at, false};
    }
    at_json_took(&r, 0);
    if (more == 0 && r.at < to) at_json_expects(&r, "the end, but for spaces");
    for (int i = 0; i < c->n; i++) c->list[i].read = false;
    return at_ok(c->source->t);
}

/* The settings of the file; NULL after a sticky error. */
static settings *read_settings(at_source *s)
{
    ptrdiff_t size = 0;
    s->file = at_file_open(s->t, s->path, &size);
    if (s->file && size > CONFIG_BYTES)
        at_source_fail(s, "%td bytes, but at most %d are possible", size, CONFIG_BYTES);
    char *text = at_step_alloc(s->t, (size_t)size + 1);
    settings *c = at_step_alloc(s->t, sizeof *c);
    s->unread = size;
    bool whole = text && c && at_source_read(s, text, size);
    if (s->file) fclose(s->file);
    if (!whole) return NULL;
    text[size] = 0;
    *c = (settings){.source = s, .in = "", .file = text};
    return read_object(c, text, text + size) ? c : NULL;
}

/* ----------------------------------------------------------------- one setting ---------------- */

static bool refuse(const settings *c, const setting *s, const char *known)
{
    const ptrdiff_t n = s->to - s->from;
    return at_source_fail(c->source, "\"%s%s\" is %s, but %s", c->in, at_shown(s->key, -1),
                          at_shown(s->from, n < 60 ? (int)n : 60), known);
}

static bool is(const setting *s, const char *value)
{
    const size_t n = strlen(value);
    return (size_t)(s->to - s->from) == n && memcmp(s->from, value, n) == 0;
}

/* The setting, if it is there and not null. */
static const setting *given(settings *c, const char *key)
{
    const setting *s = find(c, key);
    return s && !is(s, "null") ? s : NULL;
}

static bool is_missing(const settings *c, const char *key)
{
    return at_source_fail(c->source, "it has no \"%s%s\"", c->in, key);
}

/* A finite number of at least this.  Absent: *value stays. */
static bool take_real(settings *c, const char *key, double least, double *value)
{
    static const char *const known[] = {"must be a number, 0 or more", "must be a positive number"};
    const setting *s = given(c, key);
    if (!s) return true;
    at_json r = {c->source, "it", c->file, s->from, s->to};
    const bool number = strchr("-0123456789", *s->from) && at_json_number(&r, value);
    return at_ok(c->source->t) &&
           ((number && r.at == s->to && isfinite(*value) && *value >= least) ||
            refuse(c, s, known[least > 0]));
}

/* A whole number, 1 or more.  Absent: an error where it is needed, else *value stays. */
static bool take_size(settings *c, const char *key, bool needed, int *value)
{
    double x = 0;
    if (!given(c, key)) return !needed || is_missing(c, key);
    if (!take_real(c, key, 1, &x)) return false;
    if (x > INT_MAX || x != floor(x)) return refuse(c, find(c, key), "must be a size of 32 bits");
    *value = (int)x;
    return true;
}

static bool take_truth(settings *c, const char *key, bool *value)
{
    const setting *s = given(c, key);
    if (!s) return true;
    *value = is(s, "true");
    return *value || is(s, "false") || refuse(c, s, "must be true or false");
}

/* The model has this value there, and no other; absent and null mean it. */
static bool must_be(settings *c, const char *key, const char *value)
{
    const setting *s = given(c, key);
    char known[40];
    snprintf(known, sizeof known, "at_model has only %s", value);
    return !s || is(s, value) || refuse(c, s, known);
}

/* Which of the words, with a space behind each, the text is; absent: 0.  -1 after a sticky
 * error. */
static int take_word(settings *c, const char *key, const char *words)
{
    const setting *s = given(c, key);
    char known[160], quoted[40];
    int k = 0;
    for (const char *word = words; s && *word; word += strcspn(word, " ") + 1, k++) {
        snprintf(quoted, sizeof quoted, "\"%.*s\"", (int)strcspn(word, " "), word);
        if (is(s, quoted)) return k;
    }
    snprintf(known, sizeof known, "at_model has only %.*s", (int)strlen(words) - 1, words);
    return s ? refuse(c, s, known) - 1 : 0;
}

/* Nothing is left that was neither read nor is unimportant. */
static bool nothing_is_unread(const settings *c)
{
    for (int i = 0; i < c->n; i++) {
        const setting *s = &c->list[i];
        if (!s->read && !is(s, "null") && (*c->in || !is_unimportant(s->key)))
            return refuse(c, s, "this version does not know that setting here");
    }
    return true;
}

/* ----------------------------------------------------------------- rotary positions ----------- */

/* Which rope_types a number belongs to, bit by bit, and its least value. */
enum { LLAMA3 = 1 << ATTIC_ROPE_LLAMA3, YARN = 1 << ATTIC_ROPE_YARN };
#define SCALING(name) #name, offsetof(at_rope_scaling, name)
static const struct {
    const char *key;
    size_t at;
    int types;
    double least;
} scaling_number[] = {{SCALING(factor), LLAMA3 | YARN | 1 << ATTIC_ROPE_LINEAR, TINY},
                      {SCALING(low_freq_factor), LLAMA3, TINY},
                      {SCALING(high_freq_factor), LLAMA3, TINY},
                      {SCALING(beta_fast), YARN, 0},
                      {SCALING(beta_slow), YARN, 0},
                      {SCALING(attention_factor), YARN, TINY},
                      {SCALING(mscale), YARN, 0},
                      {SCALING(mscale_all_dim), YARN, 0}};

static bool take_scaling(settings *o, at_model_config *config)
{
    at_rope_scaling *s = &config->rope_scaling;
    static const char types[] = "default linear llama3 yarn ";
    const setting *type = given(o, "rope_type"), *old = given(o, "type");
    const int kind = take_word(o, type ? "rope_type" : "type", types);
    double part = 1;
    if (kind < 0 || !take_real(o, "rope_theta", TINY, &config->rope_base) ||
        !take_real(o, "partial_rotary_factor", 0, &part))
        return false;
    if (part != 1) return refuse(o, find(o, "partial_rotary_factor"), "at_model rotates it all");
    if (type && old && take_word(o, "type", types) != kind)
        return refuse(o, old, "rope_type is another");
    s->type = (at_rope_type)kind;
    for (size_t i = 0; i < sizeof scaling_number / sizeof *scaling_number; i++) {
        double *number = (double *)((char *)s + scaling_number[i].at);
        if (scaling_number[i].types >> kind & 1 &&
            !take_real(o, scaling_number[i].key, scaling_number[i].least, number))
            return false;
    }
    const bool yarn = kind == ATTIC_ROPE_YARN;
    bool truncate = true;
    if (yarn) s->original_max_position_embeddings = config->context;
    if ((yarn && !take_truth(o, "truncate", &truncate)) ||
        (kind >= ATTIC_ROPE_LLAMA3 && !take_size(o, "original_max_position_embeddings", !yarn,
                                                 &s->original_max_position_embeddings)))
        return false;
    s->no_truncate = !truncate;
    return nothing_is_unread(o);
}

/* rope_theta beside rope_scaling, or both together in rope_parameters. */
static bool take_rope(settings *c, at_model_config *config)
{
    static const char *const keys[] = {"rope_scaling", "rope_parameters"};
    static const char *const in[] = {"rope_scaling.", "rope_parameters."};
    config->positions = ATTIC_ROPE;
    config->rope_halves = true;
    config->rope_base = 10000;
    if (!take_real(c, "rope_theta", TINY, &config->rope_base)) return false;
    if (given(c, keys[0]) && given(c, keys[1]))
        return refuse(c, given(c, keys[1]), "rope_scaling is there as well");
    for (int i = 0; i < 2; i++) {
        const setting *s = given(c, keys[i]);
        if (!s) continue;
        if (*s->from != '{') return refuse(c, s, "must be an object");
        settings *o = at_step_alloc(c->source->t, sizeof *o);
        if (!o) return false;
        *o = (settings){.source = c->source, .in = in[i], .file = c->file};
        if (!read_object(o, s->from, s->to) || !take_scaling(o, config)) return false;
    }
    return true;
}

/* ----------------------------------------------------------------- the models ----------------- */

static bool take_gpt2_config(settings *c, at_model_config *config)
{
    static const at_activation act[] = {ATTIC_GELU_TANH, ATTIC_GELU_TANH, ATTIC_GELU, ATTIC_RELU,
                                        ATTIC_SILU};
    bool tied = true;
    *config = (at_model_config){
        .bias = ATTIC_BIAS_ALL, .positions = ATTIC_LEARNED_POSITIONS, .norm_eps = 1e-5};
    const int k = take_word(c, "activation_function", "gelu_new gelu_pytorch_tanh gelu relu silu ");
    if (k < 0) return false;
    config->act = act[k];
    bool ok = take_size(c, "vocab_size", true, &config->vocab) &&
              take_size(c, "n_positions", true, &config->context) &&
              take_size(c, "n_layer", true, &config->layers) &&
              take_size(c, "n_head", true, &config->heads) &&
              take_size(c, "n_embd", true, &config->dim) &&
              take_size(c, "n_inner", false, &config->hidden) &&
              take_real(c, "layer_norm_epsilon", TINY, &config->norm_eps) &&
              take_truth(c, "tie_word_embeddings", &tied) &&
              must_be(c, "scale_attn_weights", "true") &&
              must_be(c, "scale_attn_by_inverse_layer_idx", "false") &&
              must_be(c, "add_cross_attention", "false");
    config->untied = !tied;
    return ok;
}

/* Which layers attend to all that is before them?  Sets config->full_every, and config->window to 0
 * if all do. */
static bool take_layer_types(settings *c, const setting *types, at_model_config *config)
{
    at_json r = {c->source, "it", c->file, types->from, types->to};
    if (!at_json_took(&r, '[')) return refuse(c, types, "must be a list");
    int more, n = 0, full_ones = 0;
    for (; (more = at_json_more(&r, n, ']')) > 0; n++) {
        const char *type = at_json_string(&r);
        if (!type) return false;
        const bool full = strcmp(type, "full_attention") == 0;
        if (!full && strcmp(type, "sliding_attention") != 0)
            return at_source_fail(c->source,
                                  "a layer has %s, but at_model only full_attention and "
                                  "sliding_attention",
                                  at_shown(type, -1));
        if (full && !config->full_every) config->full_every = n + 1;
        const int every = config->full_every;
        if (full != (every && (n + 1) % every == 0))
            return at_source_fail(c->source,
                                  "layer %d has %s, but at_model has full_attention in every "
                                  "n-th layer alone, n = %d",
                                  n, at_shown(type, -1), every);
        full_ones += full;
    }
    if (more < 0) return false;
    if (n != config->layers)
        return at_source_fail(c->source, "\"layer_types\" has %d types for %d layers", n,
                              config->layers);
    if (config->full_every == 1) config->window = config->full_every = 0;
    if (!config->window && full_ones < n) return is_missing(c, "sliding_window");
    return true;
}

/* A window of so many keys in all layers; or, with layer_types, in those that say so. */
static bool take_window(settings *c, at_model_config *config, bool mistral)
{
    const setting *window = given(c, "sliding_window"), *types = given(c, "layer_types");
    bool use = true;
    if (!take_truth(c, "use_sliding_window", &use) ||
        !take_size(c, "sliding_window", false, &config->window))
        return false;
    if (!use) config->window = 0;
    if (types) return take_layer_types(c, types, config);
    return !config->window || mistral ||
           refuse(c, window, "without layer_types it is not known which layers it is of");
}

static bool take_llama_config(settings *c, at_model_config *config, bool qwen3, bool mistral)
{
    bool tied = false;
    int head = 0;
    *config = (at_model_config){.norm = ATTIC_RMS,
                                .norm_eps = 1e-6,
                                .act = ATTIC_SWIGLU,
                                .bias = ATTIC_BIAS_NONE,
                                .qk_norm = qwen3};
    bool ok = take_size(c, "vocab_size", true, &config->vocab) &&
              take_size(c, "max_position_embeddings", true, &config->context) &&
              take_size(c, "num_hidden_layers", true, &config->layers) &&
              take_size(c, "num_attention_heads", true, &config->heads) &&
              take_size(c, "hidden_size", true, &config->dim) &&
              take_size(c, "intermediate_size", true, &config->hidden) &&
              take_size(c, "num_key_value_heads", qwen3, &config->kv_heads) &&
              take_size(c, "head_dim", qwen3, &head) &&
              take_real(c, "rms_norm_eps", TINY, &config->norm_eps) &&
              take_word(c, "hidden_act", "silu ") == 0 &&
              take_truth(c, "tie_word_embeddings", &tied) &&
              must_be(c, "attention_bias", "false") && must_be(c, "mlp_bias", "false") &&
              take_window(c, config, mistral) && take_rope(c, config);
    config->untied = !tied;
    if (ok && head && (int64_t)head * config->heads != config->dim)
        return at_source_fail(c->source, "\"head_dim\" is %d, but at_model has only %d / %d heads",
                              head, config->dim, config->heads);
    return ok;
}

bool at_model_config_json(at_tape *t, const char *path, at_model_config *config)
{
    AT_REQUIRE(t, path && config, "import: the %s is NULL", path ? "config" : "path");
    at_mark here = at_mark_here(t);
    at_source source = {.t = t, .format = "import", .path = path};
    at_model_config read = {0};
    settings *c = read_settings(&source);
    bool ok = c && (given(c, "model_type") || is_missing(c, "model_type"));
    const int model = ok ? take_word(c, "model_type", "gpt2 llama qwen3 mistral ") : -1;
    ok = ok && model >= 0 &&
         (model == 0 ? take_gpt2_config(c, &read)
                     : take_llama_config(c, &read, model == 2, model == 3)) &&
         nothing_is_unread(c);
    *config = ok ? read : (at_model_config){0};
    at_rewind(t, here);
    return ok;
}
