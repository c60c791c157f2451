/* published.c -- the tables of names of GPT-2 and Llama; see published.h. */
#include "train/published.h"

#include <stddef.h>
#include <stdio.h>

#include "autograd/op.h"
#include "train/settings.h"

/* ------------------------------------------------------------------ how it is stored ----------- */

ptrdiff_t at_file_row(const at_file_layout *a, int n_out, int j)
{
    int D = a->pairs, d = D ? j % D : 0;
    return (ptrdiff_t)a->part * n_out + (D ? j - d + d / 2 + (d % 2 ? D / 2 : 0) : j);
}

ptrdiff_t at_file_place(const at_file_layout *a, int n_in, int n_out, ptrdiff_t i, int j)
{
    ptrdiff_t row = at_file_row(a, n_out, j);
    return a->transposed ? row * n_in + i : i * a->parts * n_out + row;
}

at_shape at_file_shape(const at_file_layout *a, at_shape w)
{
    if (w.ndim > 0) w.dim[w.ndim - 1] *= a->parts;
    return a->transposed && w.ndim == 2 ? at_shape_of(w.dim[1], w.dim[0]) : w;
}

/* ------------------------------------------------------------------ names ---------------------- */

/* A row of a table: a member of at_block, and its name behind "h.0." or "model.layers.0.". */
typedef struct {
    const char *stem; /* ".weight" and ".bias" follow if it is a layer or a norm; NULL: the end */
    size_t at;
    enum { PUBLISHED_LAYER, PUBLISHED_NORM, PUBLISHED_TENSOR } is;
    int part, parts; /* as in at_file_layout; parts is 0 for one */
    bool rotated;    /* by rope */
} published_row;

#define PUBLISHED(name, member) .stem = name, .at = offsetof(at_block, member)
static const published_row gpt2_rows[] = {
    {PUBLISHED("ln_1", norm1), .is = PUBLISHED_NORM},
    {PUBLISHED("attn.c_attn", attention.q), .part = 0, .parts = 3},
    {PUBLISHED("attn.c_attn", attention.k), .part = 1, .parts = 3},
    {PUBLISHED("attn.c_attn", attention.v), .part = 2, .parts = 3},
    {PUBLISHED("attn.q_norm", attention.q_norm), .is = PUBLISHED_NORM}, /* GPT-2 has no norm of q */
    {PUBLISHED("attn.k_norm", attention.k_norm), .is = PUBLISHED_NORM}, /* and k, nor sinks, */
    {PUBLISHED("attn.sinks", attention.sink), .is = PUBLISHED_TENSOR},  /* nor a gate */
    {PUBLISHED("attn.gate", attention.gate)},
    {PUBLISHED("attn.c_proj", attention.o)},
    {PUBLISHED("ln_2", norm2), .is = PUBLISHED_NORM},
    {PUBLISHED("mlp.gate", ffn.gate)}, /* nor here */
    {PUBLISHED("mlp.c_fc", ffn.up)},
    {PUBLISHED("mlp.c_proj", ffn.down)},
    {0}};
static const published_row llama_rows[] = {
    {PUBLISHED("input_layernorm", norm1), .is = PUBLISHED_NORM},
    {PUBLISHED("self_attn.q_proj", attention.q), .rotated = true},
    {PUBLISHED("self_attn.k_proj", attention.k), .rotated = true},
    {PUBLISHED("self_attn.v_proj", attention.v)},
    {PUBLISHED("self_attn.o_proj", attention.o)},
    {PUBLISHED("self_attn.q_norm", attention.q_norm), .is = PUBLISHED_NORM, .rotated = true},
    {PUBLISHED("self_attn.k_norm", attention.k_norm), .is = PUBLISHED_NORM, .rotated = true},
    {PUBLISHED("self_attn.sinks", attention.sink), .is = PUBLISHED_TENSOR},
    {PUBLISHED("self_attn.gate_proj", attention.gate)}, /* or missing */
    {PUBLISHED("post_attention_layernorm", norm2), .is = PUBLISHED_NORM},
    {PUBLISHED("mlp.gate_proj", ffn.gate)},
    {PUBLISHED("mlp.up_proj", ffn.up)},
    {PUBLISHED("mlp.down_proj", ffn.down)},
    {0}};
static const struct {
    const char *E, *P, *block, *norm;
    const published_row *rows;
} published_format[] = {[ATTIC_NAMES_GPT2] = {"wte", "wpe", "h.%d.%s", "ln_f", gpt2_rows},
                        [ATTIC_NAMES_LLAMA] = {"model.embed_tokens", "model.embed_positions",
                                               "model.layers.%d.%s", "model.norm",
                                               llama_rows}}; /* Llama has no P */

typedef struct {
    at_published *list;
    int n;
    const char *prefix;
} published_walk;

/* The next of the list, unless the model lacks it. */
static void publish(published_walk *k, at_tensor *w, const char *name, const char *end,
                    at_published as)
{
    if (!w) return;
    as.w = w;
    snprintf(as.name, sizeof as.name, "%s%s%s", k->prefix, name, end);
    k->list[k->n++] = as;
}

static void publish_block(published_walk *k, const at_block *b, int l, at_published_names names)
{
    const at_attention_config *c = &b->attention.config;
    const int D = c->rope && !c->rope_halves ? c->dim / c->heads : 0;
    for (const published_row *row = published_format[names].rows; row->stem; row++) {
        const void *member = (const char *)b + row->at;
        at_published weight = {.block = l, .stem = row->stem};
        weight.layout.part = row->part, weight.layout.parts = row->parts ? row->parts : 1;
        weight.layout.pairs = row->rotated ? D : 0;
        at_published bias = weight;
        char name[64];
        snprintf(name, sizeof name, published_format[names].block, l, row->stem);
        if (row->is == PUBLISHED_TENSOR) {
            publish(k, *(at_tensor *const *)member, name, "", weight);
        } else if (row->is == PUBLISHED_NORM) {
            const at_norm *norm = member;
            publish(k, norm->g, name, ".weight", weight);
            publish(k, norm->b, name, ".bias", bias);
        } else {
            const at_linear *layer = member;
            weight.layer = layer, weight.layout.transposed = names == ATTIC_NAMES_LLAMA;
            publish(k, layer->W, name, ".weight", weight);
            publish(k, layer->b, name, ".bias", bias);
        }
    }
}

at_published *at_published_list(at_tape *t, const at_model *m, at_published_names names,
                                const char *prefix, int *n)
{
    enum { OF_A_BLOCK = 2 * 13, OF_NONE = 5 };
    published_walk k = {.prefix = prefix};
    k.list = at_step_alloc(t, (size_t)(m->config.layers * OF_A_BLOCK + OF_NONE) * sizeof *k.list);
    if (!k.list) return NULL;
    const at_published plain = {.block = -1, .layout.parts = 1};
    at_published rows = plain, head = plain;
    rows.layout.first_rows = names == ATTIC_NAMES_GPT2;
    publish(&k, m->E, published_format[names].E, ".weight", plain);
    publish(&k, m->P, published_format[names].P, ".weight", rows);
    for (int l = 0; l < m->config.layers; l++) publish_block(&k, &m->block[l], l, names);
    publish(&k, m->norm.g, published_format[names].norm, ".weight", plain);
    publish(&k, m->norm.b, published_format[names].norm, ".bias", plain);
    k.prefix = ""; /* of none of them, and [out,in] in both */
    head.layer = &m->head, head.stem = "lm_head", head.layout.transposed = true;
    publish(&k, m->head.W, "lm_head", ".weight", head);
    *n = k.n;
    return k.list;
}

/* ------------------------------------------------------------------ config.json ---------------- */

#define OF_CONFIG(name, field) .key = name, .at = offsetof(at_model_config, field)
const at_published_number at_gpt2_numbers[] = {
    {OF_CONFIG("vocab_size", vocab), .needed = true},
    {OF_CONFIG("n_positions", context), .needed = true},
    {OF_CONFIG("n_layer", layers), .needed = true},
    {OF_CONFIG("n_head", heads), .needed = true},
    {OF_CONFIG("n_embd", dim), .needed = true},
    {OF_CONFIG("n_inner", hidden)},
    {OF_CONFIG("layer_norm_epsilon", norm_eps), .real = true, .least = AT_TINY},
    {0}};
const at_published_number at_llama_numbers[] = {
    {OF_CONFIG("vocab_size", vocab), .needed = true},
    {OF_CONFIG("max_position_embeddings", context), .needed = true},
    {OF_CONFIG("num_hidden_layers", layers), .needed = true},
    {OF_CONFIG("num_attention_heads", heads), .needed = true},
    {OF_CONFIG("hidden_size", dim), .needed = true},
    {OF_CONFIG("intermediate_size", hidden), .needed = true},
    {OF_CONFIG("num_key_value_heads", kv_heads)},
    {OF_CONFIG("rms_norm_eps", norm_eps), .real = true, .least = AT_TINY},
    {OF_CONFIG("rope_theta", rope_base), .real = true, .least = AT_TINY},
    {0}};

enum { LLAMA3 = 1 << ATTIC_ROPE_LLAMA3, YARN = 1 << ATTIC_ROPE_YARN };
#define OF_SCALING(name) .key = #name, .at = offsetof(at_rope_scaling, name), .real = true
const at_published_number at_scaling_numbers[] = {
    {OF_SCALING(factor), .types = LLAMA3 | YARN | 1 << ATTIC_ROPE_LINEAR, .least = AT_TINY},
    {OF_SCALING(low_freq_factor), .types = LLAMA3, .least = AT_TINY},
    {OF_SCALING(high_freq_factor), .types = LLAMA3, .least = AT_TINY},
    {OF_SCALING(beta_fast), .types = YARN},
    {OF_SCALING(beta_slow), .types = YARN},
    {OF_SCALING(attention_factor), .types = YARN, .least = AT_TINY},
    {OF_SCALING(mscale), .types = YARN},
    {OF_SCALING(mscale_all_dim), .types = YARN},
    {0}};
