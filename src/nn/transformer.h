/* transformer.h -- a decoder-only transformer with pre-norm blocks (as GPT-2, with rotary or learned
 * positions and tied embeddings).
 *
 *     x = E[ids] (+ P[0..T-1] if positions are learned)                        [B,T,C]
 *     for every block
 *         x = x + attention(layer_norm(x))                                     causal
 *         x = x + W2 gelu(W1 layer_norm(x) + b1) + b2
 *     logits = layer_norm(x) E^T                                               [B,T,vocab]  */
#ifndef AT_NN_TRANSFORMER_H
#define AT_NN_TRANSFORMER_H
#include "nn/attention.h"

#define AT_MAX_LAYERS 48

typedef struct {
    int vocab, context; /* context: the longest T, needed for learned positions */
    int layers, heads, dim;
    int hidden;             /* of the feed-forward net; 0: 4 dim */
    bool learned_positions; /* instead of rotary ones */
    double dropout;         /* on the attention weights and on both branches of a block */
} at_transformer_config;

typedef struct {
    at_tensor *norm1_g, *norm1_b, *norm2_g, *norm2_b;
    at_attention attention;
    at_linear up, down;
} at_block;

typedef struct {
    at_transformer_config config;
    at_tensor *E, *P; /* [vocab,C]; [context,C] or NULL */
    at_tensor *norm_g, *norm_b;
    at_block block[AT_MAX_LAYERS];
} at_transformer;

/* Makes the parameters; NULL after a sticky error.  The struct lies in the tape's step memory: make
 * it before the first at_mark_here. */
at_transformer *at_transformer_make(at_tape *t, at_transformer_config config);

/* ids i32 [B,T] -> logits [B,T,vocab].  weights: NULL, or room for one tensor per layer, each
 * [B,heads,T,T]. */
at_tensor *at_transformer_logits(at_tape *t, const at_transformer *m, at_tensor *ids,
                                 at_tensor **weights);

#endif
