/* import_config.c -- the config of a model from the config.json that is published beside its
 * weights; see import.h.
 *
 * Every key is one of these: it is read; it must have the one value that at_model can represent; it
 * is in the list below of those that do not matter here; or it is refused. */
#include <stddef.h>
#include <string.h>

#include "autograd/op.h"
#include "train/import.h"
#include "train/published.h"
#include "train/settings.h"

/* What does not change the function that a trained model computes. */
static const char config_idle[] =
    " architectures attention_dropout attn_pdrop chunk_size_feed_forward dtype embd_pdrop "
    "gradient_checkpointing id2label initializer_range label2id max_window_layers n_ctx "
    "output_attentions output_hidden_states output_past pretraining_tp reorder_and_upcast_attn "
    "resid_pdrop return_dict task_specific_params tokenizer_class torch_dtype torchscript "
    "transformers_version use_cache ";

/* The numbers of a list, as many as the file has; of rope_scaling those of this rope_type. */
static bool take_numbers(at_settings *c, const at_published_number *row, int type, void *config)
{
    for (; row->key; row++) {
        void *to = (char *)config + row->at;
        if (row->types && !(row->types >> type & 1)) continue;
        if (row->real ? !at_take_real(c, row->key, row->least, to)
                      : !at_take_size(c, row->key, row->needed, to))
            return false;
    }
    return true;
}

/* ----------------------------------------------------------------- rotary positions ----------- */

static bool take_scaling(at_settings *o, at_model_config *config)
{
    at_rope_scaling *s = &config->rope_scaling;
    static const char types[] = "default linear llama3 yarn ";
    const at_setting *type = at_setting_given(o, "rope_type"), *old = at_setting_given(o, "type");
    const int kind = at_take_word(o, type ? "rope_type" : "type", types);
    double part = 1;
    if (kind < 0 || !at_take_real(o, "rope_theta", AT_TINY, &config->rope_base) ||
        !at_take_real(o, "partial_rotary_factor", 0, &part))
        return false;
    if (part != 1)
        return at_setting_refuse(o, at_setting_given(o, "partial_rotary_factor"),
                                 "at_model rotates it all");
    if (type && old && at_take_word(o, "type", types) != kind)
        return at_setting_refuse(o, old, "rope_type is another");
    s->type = (at_rope_type)kind;
    if (!take_numbers(o, at_scaling_numbers, kind, s)) return false;
    const bool yarn = kind == ATTIC_ROPE_YARN;
    bool truncate = true;
    if (yarn) s->original_max_position_embeddings = config->context;
    if ((yarn && !at_take_truth(o, "truncate", &truncate)) ||
        (kind >= ATTIC_ROPE_LLAMA3 && !at_take_size(o, "original_max_position_embeddings", !yarn,
                                                    &s->original_max_position_embeddings)))
        return false;
    s->no_truncate = !truncate;
    return at_settings_all_read(o);
}

/* rope_theta beside rope_scaling, or both together in rope_parameters. */
static bool take_rope(at_settings *c, at_model_config *config)
{
    static const char *const keys[] = {"rope_scaling", "rope_parameters"};
    static const char *const in[] = {"rope_scaling.", "rope_parameters."};
    config->positions = ATTIC_ROPE;
    config->rope_halves = true;
    if (at_setting_given(c, keys[0]) && at_setting_given(c, keys[1]))
        return at_setting_refuse(c, at_setting_given(c, keys[1]), "rope_scaling is there as well");
    for (int i = 0; i < 2; i++) {
        const at_setting *s = at_setting_given(c, keys[i]);
        if (!s) continue;
        at_settings *o = at_settings_within(c, s, in[i]);
        if (!o || !take_scaling(o, config)) return false;
    }
    return true;
}

/* ----------------------------------------------------------------- the models ----------------- */

static bool take_gpt2_config(at_settings *c, at_model_config *config)
{
    static const at_activation act[] = {ATTIC_GELU_TANH, ATTIC_GELU_TANH, ATTIC_GELU,
                                        ATTIC_RELU,      ATTIC_SILU,      ATTIC_TANH};
    bool tied = true;
    *config = (at_model_config){
        .bias = ATTIC_BIAS_ALL, .positions = ATTIC_LEARNED_POSITIONS, .norm_eps = 1e-5};
    const int k =
        at_take_word(c, "activation_function", "gelu_new gelu_pytorch_tanh gelu relu silu tanh ");
    if (k < 0) return false;
    config->act = act[k];
    bool ok = take_numbers(c, at_gpt2_numbers, 0, config) &&
              at_take_truth(c, "tie_word_embeddings", &tied) &&
              at_take_only(c, "scale_attn_weights", "true") &&
              at_take_only(c, "scale_attn_by_inverse_layer_idx", "false") &&
              at_take_only(c, "add_cross_attention", "false");
    config->untied = !tied;
    return ok;
}

/* Which layers attend to all that is before them?  Sets config->full_every, and config->window to 0
 * if all do. */
static bool take_layer_types(at_settings *c, const at_setting *types, at_model_config *config)
{
    at_json r = {c->source, "it", c->file, types->from, types->to};
    if (!at_json_took(&r, '[')) return at_setting_refuse(c, types, "must be a list");
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
    if (!config->window && full_ones < n) return at_setting_missing(c, "sliding_window");
    return true;
}

/* A window of so many keys in all layers; or, with layer_types, in those that say so. */
static bool take_window(at_settings *c, at_model_config *config, bool mistral)
{
    const at_setting *window = at_setting_given(c, "sliding_window"),
                     *types = at_setting_given(c, "layer_types");
    bool use = true;
    if (!at_take_truth(c, "use_sliding_window", &use) ||
        !at_take_size(c, "sliding_window", false, &config->window))
        return false;
    if (!use) config->window = 0;
    if (types) return take_layer_types(c, types, config);
    return !config->window || mistral ||
           at_setting_refuse(c, window,
                             "without layer_types it is not known which layers it is of");
}

static bool take_llama_config(at_settings *c, at_model_config *config, bool qwen3, bool mistral)
{
    bool tied = false;
    int head = 0;
    *config = (at_model_config){.norm = ATTIC_RMS,
                                .norm_eps = 1e-6,
                                .act = ATTIC_SWIGLU,
                                .bias = ATTIC_BIAS_NONE,
                                .rope_base = 10000,
                                .qk_norm = qwen3};
    bool ok = take_numbers(c, at_llama_numbers, 0, config) &&
              (!qwen3 || at_setting_given(c, "num_key_value_heads") ||
               at_setting_missing(c, "num_key_value_heads")) &&
              at_take_size(c, "head_dim", qwen3, &head) &&
              at_take_word(c, "hidden_act", "silu ") == 0 &&
              at_take_truth(c, "tie_word_embeddings", &tied) &&
              at_take_only(c, "attention_bias", "false") && at_take_only(c, "mlp_bias", "false") &&
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
    at_settings *c = at_settings_read(&source, config_idle);
    bool ok = c && (at_setting_given(c, "model_type") || at_setting_missing(c, "model_type"));
    const int model = ok ? at_take_word(c, "model_type", "gpt2 llama qwen3 mistral ") : -1;
    ok = ok && model >= 0 &&
         (model == 0 ? take_gpt2_config(c, &read)
                     : take_llama_config(c, &read, model == 2, model == 3)) &&
         at_settings_all_read(c);
    *config = ok ? read : (at_model_config){0};
    at_rewind(t, here);
    return ok;
}
