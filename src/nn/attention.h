/* attention.h -- multi-head attention as a layer: projections around at_sdpa.
 *
 *     Q = x Wq      K = m Wk      V = m Wv         m = x: self-attention; another: cross attention
 *     y = at_sdpa(rope(Q), rope(K), V) Wo
 *
 * Heads stay packed in the last axis, [B,T,heads*D], so nothing is transposed in memory. */
#ifndef AT_NN_ATTENTION_H
#define AT_NN_ATTENTION_H
#include "nn/linear.h"
#include "ops/ops.h"

typedef struct {
    int dim;      /* width of x and y; dim % heads == 0 */
    int heads;    /* query heads */
    int kv_heads; /* key/value heads, 0: as heads */
    bool bias;    /* in the four projections */
    bool rope;    /* rotary positions on Q and K, not on V */
    double dropout;
} at_attention_config;

typedef struct {
    at_attention_config config;
    at_linear q, k, v, o;
} at_attention;

/* Parameters q.W, k.W, v.W, o.W (and .b) in the open scope, Xavier-normal.  o is drawn smaller by
 * out_gain: 1, or 1/sqrt(2 layers) to keep the variance of a residual stream. */
at_attention at_attention_make(at_tape *t, at_attention_config config, double out_gain);

/* x [B,T,dim], m [B,S,dim] or NULL for x  ->  [B,T,dim].  `with` holds what else at_sdpa should do
 * (causal, masks, taps ...); heads, kv_heads and dropout are filled in from the layer. */
at_tensor *at_attention_apply(at_tape *t, const at_attention *layer, at_tensor *x, at_tensor *m,
                              at_sdpa_args with);

#endif
