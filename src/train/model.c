/* model.c -- a decoder-only transformer; see model.h. */
#include "train/model.h"

#include "autograd/op.h"
#include "autograd/persist.h"
#include "ops/ops.h"

static at_block_config block_config(at_model_config c)
{
    return (at_block_config){.dim = c.dim,
                             .heads = c.heads,
                             .kv_heads = c.kv_heads,
                             .rope = c.positions == ATTIC_ROPE,
                             .rope_base = c.rope_base,
                             .rope_halves = c.rope_halves,
                             .rope_scaling = c.rope_scaling,
                             .qk_norm = c.qk_norm,
                             .gate = c.gate,
                             .sinks = c.sinks,
                             .window = c.window,
                             .hidden = c.hidden,
                             .act = c.act,
                             .norm = c.norm,
                             .norm_eps = c.norm_eps,
                             .bias = c.bias,
                             .post_norm = c.post_norm,
                             .no_ffn = c.no_ffn,
                             .dropout = c.dropout};
}

static bool config_is_possible(at_tape *t, at_model_config c)
{
    AT_REQUIRE(t, c.vocab > 0 && c.context > 0, "model: vocab %d and context %d must be positive",
               c.vocab, c.context);
    AT_REQUIRE(t, c.layers > 0 && c.layers <= AT_MAX_LAYERS,
               "model: %d layers, but 1 to %d are possible", c.layers, AT_MAX_LAYERS);
    AT_REQUIRE(t, c.positions >= ATTIC_ROPE && c.positions <= ATTIC_NO_POSITIONS,
               "model: there are no positions %d, only %d to %d (at_positions)", (int)c.positions,
               (int)ATTIC_ROPE, (int)ATTIC_NO_POSITIONS);
    AT_REQUIRE(t, c.full_every >= 0 && (c.window || !c.full_every),
               "model: full_every is %d, but window is %d: every so many layers have none",
               c.full_every, c.window);
    return at_block_check(t, block_config(c));
}

/* How many numbers the parameters from the first-th on hold. */
static ptrdiff_t count_from(const at_tape *t, int first)
{
    ptrdiff_t n = 0;
    for (int i = first; i < at_param_count(t); i++) n += at_count(at_param_at(t, i)->shape);
    return n;
}

at_model *at_model_make(at_tape *t, at_model_config c)
{
    if (!config_is_possible(t, c)) return NULL;
    at_model *m = at_permanent_alloc(t, sizeof *m);
    if (!m) return NULL;
    *m = (at_model){.config = c};
    int first = at_param_count(t);
    m->E = at_param(t, "E", at_shape_of(c.vocab, c.dim), at_normal(0.02));
    if (c.positions == ATTIC_LEARNED_POSITIONS)
        m->P = at_param(t, "P", at_shape_of(c.context, c.dim), at_normal(0.02));
    const at_blocks b =
        at_blocks_make_with(t, block_config(c), c.layers, c.full_every, c.zero_outputs);
    if (!b.block) return NULL;
    m->block = b.block, m->norm = b.norm;
    m->config.hidden = b.block->ffn.config.hidden;
    if (c.untied) m->head = at_linear_make(t, "head", c.dim, c.vocab, false, at_normal(0.02));
    m->tape = t;
    m->params = count_from(t, first);
    m->first_param = first;
    m->n_params = at_param_count(t) - first;
    const char *text = at_model_text(t, m->config);
    return text && at_describe(t, "model", text) ? m : NULL;
}

/* Learned positions: rows p .. p+T-1 of P, or the rows that `positions` names. */
static at_tensor *learned_positions(at_tape *t, const at_model *m, int p, int T,
                                    at_tensor *positions)
{
    if (positions) return at_embedding(t, m->P, positions); /* [B,T] -> [B,T,C] */
    at_tensor *P = at_slice(t, m->P, 0, p, p + T);
    return P && at_is_half(P->dtype) ? at_cast(t, P, ATTIC_REAL) : P;
}

/* What the head reads, of ids that stand behind those in the cache; NULL: of a whole text. */
static at_tensor *read_ids(at_tape *t, const at_model *m, at_tensor *ids, at_model_cache *cache,
                           at_model_args with)
{
    at_model_config c = m->config;
    int p = cache ? cache->position : 0;
    at_tensor *x = at_embedding(t, m->E, ids); /* [B,T] -> [B,T,C] */
    if (m->P) {
        at_tensor *P = learned_positions(t, m, p, ids->shape.dim[1], with.positions);
        x = at_add(t, x, P);
    }
    x = at_label(at_dropout(t, x, c.dropout), "embedding");
    const at_block_args args = {.attention = {.causal = true,
                                              .positions = m->P ? NULL : with.positions,
                                              .segments = with.segments,
                                              .weights = with.weights},
                                .cache = cache ? cache->layer : NULL};
    return at_blocks_read(t, &(at_blocks){m->block, c.layers, m->norm}, x, NULL, args, with.hidden);
}

static at_tensor *head_logits(at_tape *t, const at_model *m, at_tensor *x)
{
    x = m->config.untied ? at_linear_apply(t, m->head, x)
                         : at_matmul_t(t, x, false, m->E, true); /* [B,T,C] [V,C]^T -> [B,T,V] */
    return at_label(x, "logits");
}

/* Are there positions P for these ids, which the model can read? */
static bool positions_fit(at_tape *t, const at_model *m, const at_tensor *ids, const at_tensor *P)
{
    const at_model_config *c = &m->config;
    const int B = ids->shape.dim[0], T = ids->shape.dim[1];
    if (!at_check_input(t, "model", "positions", P, ATTIC_I32)) return false;
    AT_REQUIRE(t, c->positions != ATTIC_NO_POSITIONS,
               "model: positions %s are given, but the model has none", at_text(P));
    AT_REQUIRE(t, at_same_shape(P->shape, ids->shape) || at_same_shape(P->shape, at_shape_of(T)),
               "model: ids are %s but positions are %s: they must be [%d,%d] or [%d]", at_text(ids),
               at_text(P), B, T, T);
    const int32_t *p = P->data;
    for (ptrdiff_t i = 0; m->P && i < at_count(P->shape); i++)
        AT_REQUIRE(t, p[i] >= 0 && p[i] < c->context,
                   "model: the position is %d at %s, but learned positions are 0..%d", p[i],
                   at_shape_text(at_index_of(P->shape, i)), c->context - 1);
    return true;
}

static at_tensor *head_input(at_tape *t, const at_model *m, at_tensor *ids, at_model_args args)
{
    for (int i = 0; m && args.weights && i < m->config.layers; i++) args.weights[i] = NULL;
    for (int i = 0; m && args.hidden && i <= m->config.layers; i++) args.hidden[i] = NULL;
    AT_REQUIRE(t, m, "model: the model is NULL");
    AT_INPUT(t, "model", ids, ATTIC_I32);
    AT_REQUIRE(t, ids->shape.ndim == 2 && ids->shape.dim[1] <= m->config.context,
               "model: ids are %s, but must be [B,T] with T <= %d", at_text(ids),
               m->config.context);
    if (args.positions && !positions_fit(t, m, ids, args.positions)) return NULL;
    return read_ids(t, m, ids, NULL, args);
}

at_tensor *at_model_logits(at_tape *t, const at_model *m, at_tensor *ids, at_model_args args)
{
    at_tensor *x = head_input(t, m, ids, args);
    return x ? head_logits(t, m, x) : NULL;
}

at_tensor *at_model_cross_entropy(at_tape *t, const at_model *m, at_tensor *ids, at_tensor *target,
                                  at_model_args args, at_cross_entropy_args loss)
{
    at_tensor *x = head_input(t, m, ids, args);
    if (!x) return NULL;
    if (m->head.lora_A) return at_cross_entropy(t, head_logits(t, m, x), target, loss);
    at_tensor *W = m->config.untied ? m->head.W : m->E;
    return at_linear_cross_entropy(t, x, W, !m->config.untied, m->head.b, target, loss);
}

at_linear *at_model_linear(at_model *m, int i)
{
    for (int l = 0; m && i >= 0 && l < m->config.layers; l++) {
        at_block *b = &m->block[l];
        at_linear *layer[] = {&b->attention.q,    &b->attention.k, &b->attention.v, &b->attention.o,
                              &b->attention.gate, &b->ffn.gate,    &b->ffn.up,      &b->ffn.down};
        for (int k = 0; k < 8; k++)
            if (layer[k]->W && i-- == 0) return layer[k];
    }
    return m && m->head.W && i == 0 ? &m->head : NULL;
}

ptrdiff_t at_model_params(const at_model *m)
{
    return m ? m->params : 0;
}

double at_model_flop(const at_model *m, int T)
{
    if (!m) return 0;
    double C = m->config.dim, n = C * m->config.vocab;
    for (int l = 0; l < m->config.layers; l++) {
        const at_block *b = &m->block[l];
        const at_tensor *W[] = {b->attention.q.W, b->attention.k.W,    b->attention.v.W,
                                b->attention.o.W, b->attention.gate.W, b->ffn.up.W,
                                b->ffn.gate.W,    b->ffn.down.W};
        for (int i = 0; i < 8; i++) n += W[i] ? (double)at_count(W[i]->shape) : 0;
        const int w = b->attention.config.window; /* a row has (T + 1) / 2 keys, or w at most */
        n += C * (w && w < T ? w * (2 - (w - 1.0) / T) : T + 1.0);
    }
    return 2 * n;
}

at_model_cache at_model_cache_make(at_tape *t, const at_model *m, int B)
{
    return at_model_cache_make_as(t, m, B, ATTIC_REAL);
}

at_model_cache at_model_cache_make_as(at_tape *t, const at_model *m, int B, at_dtype dtype)
{
    at_model_cache c = {.model = m};
    if (at_ok(t) && !m) at_fail(t, ATTIC_USER_ERROR, "model: the model is NULL");
    c.layer = m ? at_step_alloc(t, (size_t)m->config.layers * sizeof *c.layer) : NULL;
    for (int i = 0; c.layer && i < m->config.layers; i++)
        c.layer[i] = at_cache_make_as(t, &m->block[i].attention, B, m->config.context, dtype);
    return c;
}

at_tensor *at_model_decode(at_tape *t, at_model_cache *cache, at_tensor *ids)
{
    AT_REQUIRE(t, cache && cache->model && cache->layer, "model: the cache is NULL or empty");
    int context = cache->model->config.context, p = cache->position;
    AT_INPUT(t, "model", ids, ATTIC_I32);
    AT_REQUIRE(t, p >= 0 && p <= context, "model: the position is %d, but must be in 0..%d", p,
               context);
    AT_REQUIRE(t, ids->shape.ndim == 2 && ids->shape.dim[1] <= context - p,
               "model: ids are %s, but must be [B,T] with T <= %d, for %d of %d positions are "
               "taken",
               at_text(ids), context - p, p, context);
    for (int i = 0; i < cache->model->config.layers; i++) cache->layer[i].position = p;
    at_tensor *x = read_ids(t, cache->model, ids, cache, (at_model_args){0});
    at_tensor *logits = x ? head_logits(t, cache->model, x) : NULL;
    if (logits) cache->position = p + ids->shape.dim[1];
    return logits;
}
