/* transformer.h -- a decoder-only transformer with pre-norm blocks.
 *
 *     x = dropout(E[ids] (+ P[0..T-1] if positions are learned))               [B,T,C]
 *     for every block
 *         x = x + dropout(attention(layer_norm(x)))                            causal
 *         x = x + dropout(W2 gelu(W1 layer_norm(x) + b1) + b2)                 [B,T,hidden] inside
 *     logits = layer_norm(x) E^T                                               [B,T,vocab]
 *
 * E is used twice, to read ids and to name them (Press, Wolf 2017), and its gradient is the sum of
 * both.  The arrangement is that of GPT-2 (Radford et al. 2019), with these choices: positions are
 * rotary unless learned ones are asked for, the projections of attention have no biases, gelu is
 * the exact one (erf).  Layer norms divide by sqrt(var + 1e-5). */
#ifndef AT_NN_TRANSFORMER_H
#define AT_NN_TRANSFORMER_H
#include "nn/attention_layer.h"
#include "nn/cache.h"
AT_BEGIN_C

#define AT_MAX_LAYERS 48

typedef struct {
    int vocab, context; /* ids are 0 .. vocab-1; context is the longest T */
    int layers, heads, dim;
    int kv_heads;           /* key/value heads, 0: as heads */
    int hidden;             /* of the feed-forward net; 0: 4 dim */
    bool learned_positions; /* instead of rotary ones */
    double dropout; /* wherever it says so above, and on the attention weights; 0 <= p < 1 */
} at_transformer_config;

typedef struct {
    at_tensor *norm1_g, *norm1_b, *norm2_g, *norm2_b; /* [C] */
    at_attention attention;
    at_linear up, down; /* W1 b1, W2 b2 */
} at_block;

typedef struct {
    at_transformer_config config; /* with hidden filled in */
    at_tensor *E, *P;             /* [vocab,C]; [context,C] or NULL */
    at_tensor *norm_g, *norm_b;   /* [C] */
    at_block block[AT_MAX_LAYERS];
} at_transformer;

/* Makes the parameters in the open scope, in this order:
 *
 *     E  P
 *     block0.norm1.g  block0.norm1.b  block0.attention.{q,k,v,o}.W
 *     block0.norm2.g  block0.norm2.b  block0.up.W  block0.up.b  block0.down.W  block0.down.b
 *     block1. ...
 *     norm.g  norm.b
 *
 * Matrices are Xavier-normal, those that end a branch (o.W, down.W) smaller by 1/sqrt(2 layers); E
 * and P are N(0, 0.02^2).  The model lives as long as its parameters, until at_close.  NULL after a
 * sticky error; a config that is not possible makes no parameter at all. */
AT_API at_transformer *at_transformer_make(at_tape *t, at_transformer_config config);

/* ids i32 [B,T] -> logits [B,T,vocab].  weights: NULL, or an array of a tensor per layer, the
 * weights of its attention, each [B,heads,T,T]; NULL where an error came first. */
AT_API at_tensor *at_transformer_logits(at_tape *t, const at_transformer *m, at_tensor *ids,
                                        at_tensor **weights);

/* The state of decoding: a cache (cache.h) for each layer. */
typedef struct {
    const at_transformer *model;
    int position; /* of the next id, <= context.  A lower one forgets what came after */
    at_cache layer[AT_MAX_LAYERS];
} at_transformer_cache;

/* Capacity for B texts of at most context ids, in step memory: take the mark to which each step
 * rewinds after this. */
AT_API at_transformer_cache at_transformer_cache_make(at_tape *t, const at_transformer *m, int B);

/* The logits of the next T ids of each text: ids [B,T] -> [B,T,vocab].  What at_transformer_logits
 * gives for them at the end of all that was read, up to the order of sums (see cache.h), in
 * evaluation mode and without gradients; in train mode, or where gradients are wanted, it is an
 * error.  After an error the cache is as before.
 *
 *     at_transformer_cache cache = at_transformer_cache_make(t, m, 1);
 *     at_mark step = at_mark_here(t);
 *     logits = at_transformer_decode(t, &cache, prompt);    [1,T] all of it at once
 *     ...                                                   sample the next id, at_rewind(t, step)
 *     logits = at_transformer_decode(t, &cache, next);      [1,1] then one at a time */
AT_API at_tensor *at_transformer_decode(at_tape *t, at_transformer_cache *cache, at_tensor *ids);

AT_END_C
#endif
