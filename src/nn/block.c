/* block.c -- one block of a transformer; see block.h. */
#include "nn/block.h"

#include "autograd/op.h"
#include "ops/ops.h"

static at_attention_config attention_part(at_block_config c, bool cross)
{
    return (at_attention_config){.dim = c.dim,
                                 .heads = c.heads,
                                 .kv_heads = c.kv_heads,
                                 .bias = c.bias == ATTIC_BIAS_ALL,
                                 .rope = c.rope && !cross,
                                 .rope_base = c.rope_base,
                                 .rope_halves = c.rope_halves,
                                 .rope_scaling = c.rope_scaling,
                                 .qk_norm = c.qk_norm,
                                 .norm_eps = c.norm_eps,
                                 .gate = c.gate,
                                 .sinks = c.sinks,
                                 .window = cross ? 0 : c.window,
                                 .dropout = c.dropout};
}

static at_ffn_config ffn_part(at_block_config c)
{
    return (at_ffn_config){
        .dim = c.dim, .hidden = c.hidden, .act = c.act, .bias = c.bias != ATTIC_BIAS_NONE};
}

bool at_block_check(at_tape *t, at_block_config c)
{
    AT_REQUIRE(t, c.bias >= ATTIC_BIAS_FFN && c.bias <= ATTIC_BIAS_NONE,
               "block: there is no bias %d, only %d to %d (at_bias)", (int)c.bias,
               (int)ATTIC_BIAS_FFN, (int)ATTIC_BIAS_NONE);
    return at_attention_check(t, attention_part(c, false)) &&
           at_norm_check(t, c.norm, c.norm_eps) && at_ffn_check(t, ffn_part(c));
}

static at_attention make_attention(at_tape *t, at_block_config c, bool cross, double out_gain)
{
    at_scope(t, cross ? "cross" : "attention");
    at_attention a = at_attention_make(t, attention_part(c, cross), out_gain);
    at_scope_end(t);
    return a;
}

at_block at_block_make(at_tape *t, at_block_config c, double out_gain)
{
    at_block b = {.config = c};
    if (!at_block_check(t, c)) return b;
    bool bias = c.bias != ATTIC_BIAS_NONE;
    b.norm1 = at_norm_make(t, "norm1", c.dim, c.norm, bias, c.norm_eps);
    b.attention = make_attention(t, c, false, out_gain);
    if (c.cross) {
        b.cross_norm = at_norm_make(t, "cross_norm", c.dim, c.norm, bias, c.norm_eps);
        b.cross = make_attention(t, c, true, out_gain);
    }
    if (c.no_ffn) return b;
    b.norm2 = at_norm_make(t, "norm2", c.dim, c.norm, bias, c.norm_eps);
    b.ffn = at_ffn_make(t, ffn_part(c), out_gain);
    return b;
}

/* What a branch reads, and x with what the branch made of it. */
static at_tensor *branch_input(at_tape *t, const at_block *b, at_norm norm, at_tensor *x)
{
    return b->config.post_norm ? x : at_label(at_norm_apply(t, norm, x), "norm");
}

static at_tensor *add_branch(at_tape *t, const at_block *b, at_norm norm, at_tensor *x,
                             at_tensor *branch)
{
    x = at_add(t, x, at_dropout(t, branch, b->config.dropout));
    return at_label(b->config.post_norm ? at_norm_apply(t, norm, x) : x, "output");
}

static bool has_same_adapters(const at_attention *a, const at_attention *b)
{
    return a->q.lora_A == b->q.lora_A && a->k.lora_A == b->k.lora_A && a->v.lora_A == b->v.lora_A &&
           a->o.lora_A == b->o.lora_A && a->gate.lora_A == b->gate.lora_A;
}

/* at_attention_apply, or at_attention_decode where there is a cache */
static at_tensor *attend(at_tape *t, const at_attention *a, at_cache *cache, at_tensor *x,
                         at_tensor *memory, at_sdpa_args with)
{
    if (!cache) return at_attention_apply(t, a, x, memory, with);
    AT_REQUIRE(t, cache->layer.k.W == a->k.W, "block: the cache is that of another layer");
    AT_REQUIRE(t, has_same_adapters(&cache->layer, a),
               "block: the cache was made before the layer's adapters were: make it again");
    return at_attention_decode(t, cache, x, with);
}

at_tensor *at_block_apply(at_tape *t, const at_block *b, at_tensor *x, at_tensor *memory,
                          at_block_args args)
{
    AT_REQUIRE(t, b, "block: the block is NULL");
    bool given = memory || args.cross_cache;
    AT_REQUIRE(t, given == b->config.cross,
               given ? "block: a memory is given, but the block has no cross attention"
                     : "block: cross attention needs a memory, or cross_cache");
    AT_REQUIRE(t, !memory || !args.cross_cache,
               "block: a memory and cross_cache are given, but one of them is read");
    at_scope(t, "attention");
    at_tensor *y = branch_input(t, b, b->norm1, x);
    y = attend(t, &b->attention, args.cache, y, NULL, args.attention);
    at_scope_end(t);
    x = add_branch(t, b, b->norm1, x, y);
    if (b->config.cross) {
        at_scope(t, "cross");
        y = branch_input(t, b, b->cross_norm, x);
        y = attend(t, &b->cross, args.cross_cache, y, memory, args.cross);
        at_scope_end(t);
        x = add_branch(t, b, b->cross_norm, x, y);
    }
    if (b->config.no_ffn) return x;
    at_scope(t, "feed_forward");
    y = at_ffn_apply(t, &b->ffn, branch_input(t, b, b->norm2, x));
    at_scope_end(t);
    return add_branch(t, b, b->norm2, x, y);
}
