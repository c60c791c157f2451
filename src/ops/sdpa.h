/* sdpa.h -- scaled dot-product attention, the first-class op (Vaswani et al. 2017).
 *
 *     O = dropout(softmax(mask(softcap(c Q K^T) + bias))) V
 *
 * in this order, always:
 *
 *     1 scores    s_ij = Q_i . K_j
 *     2 scale     s_ij <- c s_ij               c = (scale, or 1/sqrt(D)) / (temperature, or 1)
 *     3 softcap   s_ij <- cap tanh(s_ij / cap)
 *     4 bias      s_ij <- s_ij + bias_ij
 *     5 mask      row i keeps the keys that keep, causal, the window and key_len all allow
 *     6 softmax   P_ij = exp(s_ij) / sum_k exp(s_ik)      over the kept keys; 0 elsewhere
 *     7 dropout   A_ij = P_ij z_ij             z_ij = 0 with probability p, else 1/(1-p)
 *     8 values    O_i  = sum_j A_ij V_j
 *
 * Shapes: Q [B,H,T,D]  K [B,G,S,D]  V [B,G,S,Dv]  ->  O [B,H,T,Dv]; leading dims may be absent
 * ([T,D] and [B,T,D], one head).  Packed by heads (args.heads = H > 0), without transposes:
 * Q [B,T,H*D]  K [B,S,G*D]  V [B,S,G*Dv]  ->  O [B,T,H*Dv], or without B.
 * Query head h reads key/value head h / (H/G).
 *
 * Masked means not read: what a row does not keep cannot reach its output, nor through it a
 * gradient, not even a NaN.  A row that keeps nothing gives O = 0 and gradients of exactly 0. */
#ifndef AT_OPS_SDPA_H
#define AT_OPS_SDPA_H
#include "tensor/tensor.h"

/* Key j is on or below the diagonal of row i when j <= i + offset. */
typedef enum {
    ATTIC_ALIGN_EQUAL,        /* offset 0, and T == S or it is an error */
    ATTIC_ALIGN_TOP_LEFT,     /* offset 0 */
    ATTIC_ALIGN_BOTTOM_RIGHT, /* offset S - T: the last query sees every key */
    ATTIC_ALIGN_OFFSET /* offset as given: a cache holds that many keys before the first query */
} at_align;

typedef enum {
    ATTIC_FUSED,   /* tiles, extra memory O(T): the fast one */
    ATTIC_PLAIN,   /* row by row, as one reads the equation */
    ATTIC_COMPOSED /* from matmul, scale, masked_fill, softmax, dropout, matmul */
} at_sdpa_path;

typedef struct {
    double scale;       /* 0: 1/sqrt(D) */
    double temperature; /* > 0 divides the scores; 0: 1 */
    double softcap;     /* > 0 bounds the scores to (-cap, cap); 0: off */
    at_tensor
        *bias; /* real, broadcastable to [B,H,T,S]; differentiable; -INFINITY counts as masked */
    at_tensor *keep; /* bool, broadcastable to [B,H,T,S]; 1 = attend */
    bool causal;
    at_align align; /* of causal and window */
    int offset;     /* for ATTIC_ALIGN_OFFSET */
    int window_left,
        window_right;   /* 0: off; w keeps i+offset-w < j, j < i+offset+w: 1 is the diagonal */
    at_tensor *key_len; /* i32 [B]: only the first so many keys of each batch are kept */
    int heads;          /* > 0: packed by heads */
    int kv_heads;       /* packed: G; 0: as heads.  4-D reads G from K */
    double dropout;     /* 0 <= p < 1; only in train mode */
    at_sdpa_path path;

    at_tensor **weights; /* out: A [B,H,T,S], what was multiplied with V; differentiable */
    at_tensor **scores;  /* out, detached: c Q K^T, after step 2, of every cell [B,H,T,S] */
    at_tensor **probs;   /* out, detached: P [B,H,T,S] */
    at_tensor **lse; /* out, detached: log-sum-exp of the kept scores [B,H,T]; -inf where none */
} at_sdpa_args;

at_tensor *at_sdpa(at_tape *t, at_tensor *Q, at_tensor *K, at_tensor *V, at_sdpa_args args);

#endif
