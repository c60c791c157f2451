/* block.h -- one block of a transformer: attention, then a feed-forward net, each added to x.
 *
 *     pre-norm (GPT-2)                          post-norm (Vaswani et al. 2017)
 *     x = x + drop(attention(norm1(x)))         x = norm1(x + drop(attention(x)))
 *     x = x + drop(cross(cross_norm(x), m))     x = cross_norm(x + drop(cross(x, m)))
 *     x = x + drop(ffn(norm2(x)))               x = norm2(x + drop(ffn(x)))
 *
 * The middle line is there with cross attention: m is a memory, the output of an encoder.  So one
 * kind of block makes encoders, decoders and both together:
 *
 *     encoder    {.attention = {.key_len = lengths}}
 *     decoder    {.attention = {.causal = true}}, and .cross = {.key_len = lengths} where its block
 *                has cross attention */
#ifndef AT_NN_BLOCK_H
#define AT_NN_BLOCK_H
#include "nn/attention_layer.h"
#include "nn/cache.h"
#include "nn/ffn.h"
AT_BEGIN_C

typedef enum {
    ATTIC_BIAS_FFN, /* in the feed-forward net; and layer norms have their b */
    ATTIC_BIAS_ALL, /* in the projections of attention, too (GPT-2) */
    ATTIC_BIAS_NONE /* nowhere; layer norms have no b, either (Llama) */
} at_bias;

typedef struct {
    int dim, heads; /* heads, kv_heads, rope ... gate: see at_attention_config */
    int kv_heads;
    bool rope; /* in self-attention; cross attention has no positions */
    double rope_base;
    bool rope_halves, qk_norm;
    at_rope_scaling rope_scaling;
    bool gate, sinks; /* of self-attention and of cross attention */
    int window;       /* of self-attention */
    int hidden;       /* see at_ffn_config, as for act */
    at_activation act;
    at_norm_kind norm;
    double norm_eps; /* of every norm, 1e-5 if 0 */
    at_bias bias;
    bool post_norm;
    bool cross;     /* with cross attention */
    bool no_ffn;    /* attention alone: without the last line, and without norm2 */
    double dropout; /* on each branch (drop above) and on the attention weights; 0 <= p < 1 */
} at_block_config;

typedef struct {
    at_block_config config;
    at_norm norm1, cross_norm, norm2;
    at_attention attention, cross;
    at_ffn ffn;
} at_block; /* what the config leaves out is zero */

/* Can a block be made like this?  A sticky error if not; at_block_make asks this first. */
AT_API bool at_block_check(at_tape *t, at_block_config config);

/* Parameters in the open scope, in this order (.b where the config has biases):
 *
 *     norm1.g  norm1.b  attention.{q,k,v,o}.W  attention.{q_norm,k_norm}.g  attention.gate.W
 *     cross_norm.g  cross_norm.b  cross.{q,k,v,o}.W  cross.{q_norm,k_norm}.g  cross.gate.W
 *     norm2.g  norm2.b  gate.W  up.W  up.b  down.W  down.b
 *
 * out_gain as in at_attention_make, for the last matrix of each branch.  After a sticky error the
 * block holds NULLs, and what it is applied to becomes NULL. */
AT_API at_block at_block_make(at_tape *t, at_block_config config, double out_gain);

typedef struct {
    at_sdpa_args attention; /* causal, masks, positions, weights ... of self-attention */
    at_sdpa_args cross;     /* and of cross attention: key_len, keep, weights ... */
    at_cache *cache;        /* NULL, or the cache of at_cache_make with the rows before x */
    at_cache *cross_cache;  /* NULL, or the cache of at_cache_of, in place of a memory */
} at_block_args;

/* x [B,T,dim] -> [B,T,dim].  memory [B,N,dim] for a block with cross attention, else NULL.
 *
 * What is computed on the way has a name behind the names of the open scopes, for at_find:
 *
 *     output                          the result
 *     attention.norm                  what the branch reads: norm1(x), unless post-norm
 *     attention.{Q,K,V}               [B,T,heads*D], normalised and rotated, as at_sdpa takes them
 *     attention.{scores,probs,weights}    where the args of at_sdpa asked for them
 *     attention.heads                 O of at_sdpa [B,T,dim]
 *     attention.gate                  sigmoid(x Wg) [B,T,dim], if there is a gate
 *     attention.output                O Wo, or (O * gate) Wo: what the branch adds, before dropout
 *     cross. ...                      the same of cross attention
 *     feed_forward.norm, feed_forward.hidden [B,T,hidden], feed_forward.output */
AT_API at_tensor *at_block_apply(at_tape *t, const at_block *b, at_tensor *x, at_tensor *memory,
                                 at_block_args args);

AT_END_C
#endif
