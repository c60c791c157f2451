/* attention_layer.h -- multi-head attention as a layer: projections around at_sdpa.
 *
 *     Q = x Wq      K = m Wk      V = m Wv         m = x: self-attention; another: cross attention
 *     O = at_sdpa(rope(norm(Q)), rope(norm(K)), V)            rope and norm where asked for
 *     y = O Wo                      or, with a gate,  (O * sigmoid(x Wg)) Wo
 *
 * Heads stay packed in the last axis, [B,T,heads*D] with D = dim / heads, so nothing is transposed
 * in memory.  Grouped heads (Ainslie et al. 2023; one for all: Shazeer 2019) have kv_heads < heads,
 * and Wk and Wv are narrower: [dim, kv_heads*D].  Rotary positions count from 0, in x and in m,
 * unless they are given.  norm is an rms norm of each head over its D features, with one gain g [D]
 * for all heads (Henry et al. 2020): then g alone decides how large scores can become.  The gate
 * lets a query take less of what its heads bring, each feature by itself: without one, a softmax
 * must attend to something (Qiu et al. 2025). */
#ifndef AT_NN_ATTENTION_LAYER_H
#define AT_NN_ATTENTION_LAYER_H
#include "attention/attention.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "ops/ops.h"
AT_BEGIN_C

typedef struct {
    int dim;          /* width of x and y, a multiple of heads */
    int heads;        /* query heads, a multiple of kv_heads */
    int kv_heads;     /* key/value heads, 0: as heads */
    bool bias;        /* in the projections; k's has no effect, unless rope rotates it */
    bool rope;        /* rotary positions on Q and K, not on V; D is even */
    double rope_base; /* 10000 if 0 */
    bool rope_halves; /* rotate features (i, i + D/2), not the pairs (2i, 2i + 1): see at_rope */
    at_rope_scaling rope_scaling; /* of the frequencies: see at_rope */
    bool qk_norm;                 /* rms norm of each head of Q and K, before they are rotated */
    double norm_eps;              /* of qk_norm; 1e-5 if 0 */
    bool gate;                    /* the heads' output times sigmoid(x Wg) */
    bool sinks;                   /* a learned sink for each head: see at_sdpa */
    int window;                   /* > 0: window_left of at_sdpa, for queries and keys of one x */
    double dropout;               /* on the attention weights, 0 <= p < 1; only in train mode */
} at_attention_config;

typedef struct {
    at_attention_config config;
    at_linear q, k, v, o;
    at_norm q_norm, k_norm; /* g [D]; NULL without qk_norm */
    at_tensor *sink;        /* [heads]; NULL without sinks */
    at_linear gate;         /* Wg [dim,dim]; NULL without a gate */
} at_attention;

/* Can a layer be made like this?  A sticky error if not; at_attention_make asks this first. */
AT_API bool at_attention_check(at_tape *t, at_attention_config config);

/* Parameters q.W, k.W, v.W, o.W (and .b) in the open scope, Xavier-normal, then q_norm.g, k_norm.g,
 * ones, then gate.W (and .b), Xavier-normal.  o is drawn smaller by out_gain: 1, or
 * 1/sqrt(2 layers) to keep the variance of a residual stream.  After a sticky error the layer holds
 * NULLs, and what it is applied to becomes NULL. */
AT_API at_attention at_attention_make(at_tape *t, at_attention_config config, double out_gain);

/* x [B,T,dim], m [B,N,dim] or NULL for x  ->  [B,T,dim]; or all without B.  `with` holds what else
 * at_sdpa should do (causal, masks, path, weights ...); heads, kv_heads and dropout are those of
 * the layer.  Its positions [T] or [B,T] are those of the rows of x, for rope, and key_positions
 * [N] or [B,N] those of m; without an m the former are those of the keys, too, unless both are
 * given.  A layer without rope refuses them. */
AT_API at_tensor *at_attention_apply(at_tape *t, const at_attention *a, at_tensor *x, at_tensor *m,
                                     at_sdpa_args with);

/* The parts of at_attention_apply, for a cache of K and V.  For rope, row 0 is at `position` and
 * the others follow; or position is 0, and `positions`, [T] or [B,T], has each of them. */
AT_API at_tensor *at_attention_queries(at_tape *t, const at_attention *a, at_tensor *x,
                                       int position, at_tensor *positions);
AT_API at_tensor *at_attention_keys(at_tape *t, const at_attention *a, at_tensor *m, int position,
                                    at_tensor *positions);
AT_API at_tensor *at_attention_values(at_tape *t, const at_attention *a, at_tensor *m);
/* y of Q, K and V.  x is what Q was made of: a gate reads it, nothing else does. */
AT_API at_tensor *at_attention_combine(at_tape *t, const at_attention *a, at_tensor *x,
                                       at_tensor *Q, at_tensor *K, at_tensor *V, at_sdpa_args with);

AT_END_C
#endif
