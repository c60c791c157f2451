/* transformer.c -- a decoder-only transformer with pre-norm blocks; see transformer.h. */
#include "nn/transformer.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "autograd/op.h"
#include "ops/ops.h"

static const double norm_eps = 1e-5;

static at_attention_config attention_config(at_transformer_config c)
{
    return (at_attention_config){.dim = c.dim,
                                 .heads = c.heads,
                                 .kv_heads = c.kv_heads,
                                 .rope = !c.learned_positions,
                                 .dropout = c.dropout};
}

/* The two branches of every block add their variance to x; drawing their last matrices smaller by
 * 1/sqrt(2 layers) keeps that of the sum near one (Radford et al. 2019, section 2.3). */
static at_block make_block(at_tape *t, at_transformer_config c)
{
    double out_gain = 1 / sqrt(2.0 * c.layers);
    at_block b = {0};
    b.norm1_g = at_param(t, "norm1.g", at_shape_of(c.dim), at_ones());
    b.norm1_b = at_param(t, "norm1.b", at_shape_of(c.dim), at_zeros());
    at_scope(t, "attention");
    b.attention = at_attention_make(t, attention_config(c), out_gain);
    at_scope_end(t);
    b.norm2_g = at_param(t, "norm2.g", at_shape_of(c.dim), at_ones());
    b.norm2_b = at_param(t, "norm2.b", at_shape_of(c.dim), at_zeros());
    b.up = at_linear_make(t, "up", c.dim, c.hidden, true, at_xavier_normal(1));
    b.down = at_linear_make(t, "down", c.hidden, c.dim, true, at_xavier_normal(out_gain));
    return b;
}

static const char *block_name(int layer)
{
    char *name = at_text_buffer();
    snprintf(name, AT_TEXT_SIZE, "block%d", layer);
    return name;
}

static bool config_is_possible(at_tape *t, at_transformer_config c)
{
    AT_REQUIRE(t, c.vocab > 0 && c.context > 0,
               "transformer: vocab %d and context %d must be positive", c.vocab, c.context);
    AT_REQUIRE(t, c.layers > 0 && c.layers <= AT_MAX_LAYERS,
               "transformer: %d layers, but 1 to %d are possible", c.layers, AT_MAX_LAYERS);
    if (!at_attention_check(t, attention_config(c))) return false;
    AT_REQUIRE(t, c.hidden > 0 || (c.hidden == 0 && c.dim <= INT_MAX / 4),
               "transformer: hidden is %d but must be positive, or 0 for 4 times dim %d", c.hidden,
               c.dim);
    return true;
}

at_transformer *at_transformer_make(at_tape *t, at_transformer_config c)
{
    if (!config_is_possible(t, c)) return NULL;
    if (!c.hidden) c.hidden = 4 * c.dim;
    at_transformer *m = at_permanent_alloc(t, sizeof *m);
    if (!m) return NULL;
    *m = (at_transformer){.config = c};
    m->E = at_param(t, "E", at_shape_of(c.vocab, c.dim), at_normal(0.02));
    if (c.learned_positions)
        m->P = at_param(t, "P", at_shape_of(c.context, c.dim), at_normal(0.02));
    for (int i = 0; i < c.layers; i++) {
        at_scope(t, block_name(i));
        m->block[i] = make_block(t, c);
        at_scope_end(t);
    }
    m->norm_g = at_param(t, "norm.g", at_shape_of(c.dim), at_ones());
    m->norm_b = at_param(t, "norm.b", at_shape_of(c.dim), at_zeros());
    return at_ok(t) ? m : NULL;
}

/* cache: NULL, or what this block has seen before x */
static at_tensor *apply_block(at_tape *t, const at_block *b, double dropout, at_tensor *x,
                              at_cache *cache, at_tensor **weights)
{
    at_sdpa_args with = {.causal = true, .weights = weights};
    at_scope(t, "attention");
    at_tensor *a = at_layer_norm(t, x, b->norm1_g, b->norm1_b, norm_eps);
    a = cache ? at_attention_decode(t, cache, a, with)
              : at_attention_apply(t, &b->attention, a, NULL, with);
    x = at_add(t, x, at_dropout(t, a, dropout));
    at_scope_end(t);

    at_scope(t, "feed_forward");
    at_tensor *f = at_layer_norm(t, x, b->norm2_g, b->norm2_b, norm_eps);
    f = at_gelu(t, at_linear_apply(t, b->up, f)); /* [B,T,C] -> [B,T,hidden] */
    f = at_linear_apply(t, b->down, f);           /* [B,T,hidden] -> [B,T,C] */
    x = at_add(t, x, at_dropout(t, f, dropout));
    at_scope_end(t);
    return x;
}

/* The logits of ids that stand behind those in the cache; NULL: of a whole text. */
static at_tensor *read_ids(at_tape *t, const at_transformer *m, at_tensor *ids,
                           at_transformer_cache *cache, at_tensor **weights)
{
    at_transformer_config c = m->config;
    int p = cache ? cache->position : 0;
    at_tensor *x = at_embedding(t, m->E, ids); /* [B,T] -> [B,T,C] */
    if (m->P) x = at_add(t, x, at_slice(t, m->P, 0, p, p + ids->shape.dim[1]));
    x = at_dropout(t, x, c.dropout);
    for (int i = 0; i < c.layers; i++) {
        at_scope(t, block_name(i));
        x = apply_block(t, &m->block[i], c.dropout, x, cache ? &cache->layer[i] : NULL,
                        weights ? &weights[i] : NULL);
        at_scope_end(t);
    }
    x = at_layer_norm(t, x, m->norm_g, m->norm_b, norm_eps);
    return at_matmul_t(t, x, false, m->E, true); /* [B,T,C] [V,C]^T -> [B,T,V] */
}

at_tensor *at_transformer_logits(at_tape *t, const at_transformer *m, at_tensor *ids,
                                 at_tensor **weights)
{
    for (int i = 0; m && weights && i < m->config.layers; i++) weights[i] = NULL;
    AT_REQUIRE(t, m, "transformer: the model is NULL");
    AT_INPUT(t, "transformer", ids, ATTIC_I32);
    AT_REQUIRE(t, ids->shape.ndim == 2 && ids->shape.dim[1] <= m->config.context,
               "transformer: ids are %s, but must be [B,T] with T <= %d", at_text(ids),
               m->config.context);
    return read_ids(t, m, ids, NULL, weights);
}

at_transformer_cache at_transformer_cache_make(at_tape *t, const at_transformer *m, int B)
{
    at_transformer_cache c = {.model = m};
    if (at_ok(t) && !m) at_fail(t, ATTIC_USER_ERROR, "transformer: the model is NULL");
    for (int i = 0; m && at_ok(t) && i < m->config.layers; i++)
        c.layer[i] = at_cache_make(t, &m->block[i].attention, B, m->config.context);
    return c;
}

at_tensor *at_transformer_decode(at_tape *t, at_transformer_cache *cache, at_tensor *ids)
{
    AT_REQUIRE(t, cache && cache->model, "transformer: the cache is NULL or empty");
    int context = cache->model->config.context, p = cache->position;
    AT_INPUT(t, "transformer", ids, ATTIC_I32);
    AT_REQUIRE(t, ids->shape.ndim == 2 && p >= 0 && ids->shape.dim[1] <= context - p,
               "transformer: ids are %s, but must be [B,T] with T <= %d, for %d of %d positions "
               "are taken",
               at_text(ids), context - p, p, context);
    for (int i = 0; i < cache->model->config.layers; i++) cache->layer[i].position = p;
    at_tensor *logits = read_ids(t, cache->model, ids, cache, NULL);
    if (logits) cache->position = p + ids->shape.dim[1];
    return logits;
}
