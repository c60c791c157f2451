/* cache.h -- a cache of keys and values for decoding step by step.
 *
 * Under a causal mask no row depends on what comes after it, so the K and V of earlier rows stay
 * what they were when a text grows at its end.  Row p needs
 *
 *     Q_p = rope_p(x_p Wq)      K_p = rope_p(x_p Wk)      V_p = x_p Wv
 *     y_p = at_sdpa(Q_p, K_0..p, V_0..p) Wo
 *
 * and the cache has K and V of all rows before it:
 *
 *               0                 position    position + T        context
 *     K, V      | kept            | of x [B,T,dim] | unused         |
 *
 * T new rows cost O(T (position + T)), whatever context is: they are written behind those that are
 * kept, and key_len masks the keys behind them, so nothing is moved and nothing unused is read.
 *
 * The values are as by at_attention_apply on the whole text, up to the order of sums, which is the
 * order of the products in kernels/: at most 1e-6 apart in f32 and 1e-14 in f64, for elements
 * around 1. */
#ifndef AT_NN_CACHE_H
#define AT_NN_CACHE_H
#include "nn/attention_layer.h"
AT_BEGIN_C

typedef struct {
    at_attention layer; /* whose keys and values these are */
    at_tensor *K, *V;   /* [B,context,kv_heads*D]; or of all of m, for cross attention */
    int position;       /* of the next row.  A lower one forgets what came after, 0 starts again */
    bool cross;         /* K and V are those of m, and stay */
    unsigned written;   /* how often the weights had been written when this was filled */
} at_cache;

/* For self-attention: capacity for `context` rows of each of B texts that grow in step.  Allocated
 * once, in step memory: take the mark to which each step rewinds after this.  (Texts that are not
 * equally long are padded on the left, with `keep` [B,1,1,context] 0 there; rope depends on
 * distances alone.) */
AT_API at_cache at_cache_make(at_tape *t, const at_attention *layer, int B, int context);
/* The same, with K and V stored as dtype says: ATTIC_F16 or ATTIC_BF16 takes half of the memory of
 * f32.  New rows are rounded as by at_cast, and widened a tile at a time as attention reads them;
 * the raw scores can't be tapped then.  (K and V beyond 65504 become infinite in f16.) */
AT_API at_cache at_cache_make_as(at_tape *t, const at_attention *layer, int B, int context,
                                 at_dtype dtype);
/* For cross attention: K and V of m [B,N,dim], computed here once.  Gradients flow through them. */
AT_API at_cache at_cache_of(at_tape *t, const at_attention *layer, at_tensor *m);

/* The next T rows, x [B,T,dim] -> [B,T,dim]: many at once for a prompt, then one by one.  `with` as
 * in at_attention_apply, but for align and offset: causal masks and windows see each row at its
 * position.  bias and keep are of the new rows, against `context` (or N) keys; likewise weights,
 * probs, scores and lse.
 * positions are of the new rows, for rope alone, in place of `position` and those that follow.
 *
 * A cache that grows is for inference: an error in train mode, and where a gradient is wanted
 * (at_no_grad); it is written without being recorded, so at_replay does not fill it again.  Other
 * errors: no capacity left; another B; weights that were written since the cache was filled.  After
 * an error the cache is as before. */
AT_API at_tensor *at_attention_decode(at_tape *t, at_cache *cache, at_tensor *x, at_sdpa_args with);

AT_END_C
#endif
