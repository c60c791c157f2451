/* attention.h -- scaled dot-product attention, the first-class op (Vaswani et al. 2017).
 *
 *     O = dropout(softmax(mask(softcap(c Q K^T) + bias))) V
 *
 * in this order, always:
 *
 *     1 scores    R_ij = Q_i . K_j
 *     2 scale     X_ij = c s_h R_ij            c = (scale, or 1/sqrt(D)) / (temperature, or 1),
 *                                              s_h = head_scale of query head h, or 1
 *     3 softcap   U_ij = cap tanh(X_ij / cap)
 *     4 bias      S_ij = U_ij + bias_ij
 *     5 mask      row i attends to the keys that keep, causal, the window, key_len and segments all
 *                 allow
 *     6 softmax   P_ij = exp(S_ij) / (exp(sink_h) + sum_k exp(S_ik))   over these keys; 0 elsewhere
 *     7 dropout   A_ij = z_ij P_ij             z_ij = 0 with probability p, else 1/(1-p)
 *     8 values    O_i  = sum_j A_ij V_j
 *
 * Layouts.  Query head h reads key/value head h / (H/G).
 *
 *     Q            K            V            O            scores, bias, keep, weights  lse
 *     [T,D]        [N,D]        [N,Dv]       [T,Dv]       [T,N]                        [T]
 *     [B,T,D]      [B,N,D]      [B,N,Dv]     [B,T,Dv]     [B,T,N]                      [B,T]
 *     [B,H,T,D]    [B,G,N,D]    [B,G,N,Dv]   [B,H,T,Dv]   [B,H,T,N]                    [B,H,T]
 *     heads = H > 0: packed, no transposes
 *     [T,H*D]      [N,G*D]      [N,G*Dv]     [T,H*Dv]     [H,T,N]                      [H,T]
 *     [B,T,H*D]    [B,N,G*D]    [B,N,G*Dv]   [B,T,H*Dv]   [B,H,T,N]                    [B,H,T]
 *
 * bias and keep may be smaller: they are broadcast, as NumPy does, to that shape or to [B,H,T,N].
 * Beside scores of [B,H,T,N] one of three axes is an error, for [H,T,N] and [B,T,N] could not be
 * told apart: write [B,1,T,N] or [1,H,T,N].
 *
 * Masked means not read: what a row does not keep cannot reach its output, nor through it a
 * gradient, not even a NaN.  (The composed path cannot promise this: it multiplies by 0.)
 * A row that keeps nothing gives O = 0, weights of 0, lse = -inf, and gradients of exactly 0.
 *
 * Documents side by side in one row: query i attends to key j if both have the same id, segments_i
 * = key_segments_j >= 0.  What has a negative id, padding, keeps nothing and is kept by nobody.  On
 * the fused path each run of equal ids is a problem of its own: O, dQ, dK and dV have the bits of a
 * call on the document alone (without dropout, whose drops go by the place in the row), memory is
 * O(T), and pairs of different documents cost nothing.  Ids that return behind others are compared
 * cell by cell.  causal and the window count from the first row and key of the tensors.
 *
 * A sink is a learned logit that every row of its head attends to, whatever is masked, and that has
 * no value: it takes weight from the keys, 1 - sum_j P_ij of it (Xiao et al. 2023; as gpt-oss has
 * it, 2025).  Without one its term is not there.  A row that keeps no key has lse = sink_h.  The
 * "off-by-one" softmax, 1 + sum_k exp(S_ik) in the denominator, is a sink of 0, a constant.
 *
 * lse_i is the logarithm of that denominator.  With it two calls over parts of the keys are joined
 * to what one call over all of them gives, gradients too:
 *
 *     w = softmax over the parts of (lse_1i, lse_2i)       O_i = w_1 O_1i + w_2 O_2i
 *
 * also where a row keeps no key in one part, or in both: at_softmax of (-inf, -inf) is (0, 0).
 *
 * Backward can check itself: see at_check_attention.  (The composed path has no backward of its
 * own.)
 *
 * In other words.  What texts call a mask:
 *
 *     mask, 1 = attend       keep; the same as "0 = masked"
 *     mask, 1 = masked       keep = at_keep_from_drop(t, mask), see masks.h
 *     M of 0 and -inf        bias, whether it is added before or after the division by sqrt(D)
 *     (Q K^T + M) / sqrt(D)  with a finite M is not our bias M but M / sqrt(D)
 *     padding                key_len, or a keep of [B,1,1,N]
 *
 * and a temperature:  softmax(Q K^T / (tau sqrt(D))) is temperature = tau;  where sqrt(D) itself
 * goes by that name, softmax(Q K^T / tau) is scale = 1, temperature = tau.  A temperature that is
 * learned is head_scale = 1/tau; with scale = 1 it stands alone, not beside 1/sqrt(D).
 *
 * docs/attention.md tells why all of this is as it is; docs/attention_op.md is its manual. */
#ifndef AT_ATTENTION_ATTENTION_H
#define AT_ATTENTION_ATTENTION_H
#include "tensor/tensor.h"
AT_BEGIN_C

/* Where the diagonal of causal and window is: j = i + offset. */
typedef enum {
    ATTIC_ALIGN_EQUAL,        /* offset 0, and T == N or it is an error */
    ATTIC_ALIGN_TOP_LEFT,     /* offset 0 */
    ATTIC_ALIGN_BOTTOM_RIGHT, /* offset N - T: the last query sees every key */
    ATTIC_ALIGN_OFFSET /* offset as given: a cache holds that many keys before the first query */
} at_align;

typedef enum {
    ATTIC_TAPE_PATH, /* that of the tape: the fused one, or what at_attention_path chose */
    ATTIC_FUSED,     /* tiles, extra memory O(T): the fast one */
    ATTIC_PLAIN,     /* row by row, as one reads the equation */
    ATTIC_COMPOSED   /* from matmul, scale, masked_fill, softmax, dropout, matmul */
} at_sdpa_path;

typedef struct {
    /* scale / temperature, softcap and 1 / softcap must be finite, and in the tape's real type,
     * too */
    double scale;       /* 0: 1/sqrt(D), and 1 if D = 0 */
    double temperature; /* > 0 divides the scores; 0: 1 */
    double softcap;     /* > 0 bounds the scores to (-cap, cap); 0: off */

    at_tensor *head_scale; /* real, differentiable: s, [] or [H], one for each query head */
    at_tensor *bias;       /* real, differentiable; -INFINITY counts as masked */
    at_tensor *sink;       /* real, differentiable: [] or [H], one for each query head; not scaled,
                              capped or biased; -INFINITY is no sink */
    at_tensor *keep;       /* bool; 1 = attend */
    bool causal;           /* row i keeps j <= i + offset */
    at_align align;        /* of causal and window */
    int offset;            /* for ATTIC_ALIGN_OFFSET */
    int window_left,     /* 0: off; w keeps i + offset - w < j: 1 is nothing left of the diagonal */
        window_right;    /* 0: off; w keeps j < i + offset + w */
    at_tensor *key_len;  /* i32 [B]: batch b keeps its first key_len[b] keys alone */
    at_tensor *segments, /* i32 [B,T], or [T] where B = 1: the document's id of each query */
        *key_segments;   /* the same for each key, [B,N]; NULL: as segments, and T = N */

    int heads;      /* > 0: packed by heads */
    int kv_heads;   /* packed: G; 0: as heads.  4-D reads G from K */
    double dropout; /* 0 <= p < 1; only in train mode; one at_draw */
    at_sdpa_path path;

    at_tensor **weights; /* out: A, what was multiplied with V; differentiable */
    at_tensor **probs;   /* out: P, the weights before dropout; differentiable */
    at_tensor **scores;  /* out, detached: X, after step 2, of every cell, masked or not */
    at_tensor **lse;     /* out: log-sum-exp of the kept scores and the sink; -inf where none;
                            differentiable */

    /* of at_sdpa_jvp alone, see tangent.h */
    at_tensor *bias_tangent;     /* of bias: its shape; differentiable */
    at_tensor *sink_tangent;     /* of sink: its shape; differentiable */
    at_tensor **weights_tangent; /* out: the tangent of the weights; differentiable */
    at_tensor **lse_tangent;     /* out: the tangent of lse; differentiable */

    /* of the attention layer alone, see nn/attention_layer.h: i32 [T] or [B,T] */
    at_tensor *positions;     /* of the rows of x; NULL: 0, 1, 2 ... */
    at_tensor *key_positions; /* of the rows of m; NULL: 0, 1, 2 ..., or if m is x, `positions` */
} at_sdpa_args;

/* Everything zero is plain attention: at_sdpa(t, Q, K, V, (at_sdpa_args){0}).  Q, K and V may be
 * one and the same tensor.  After an error the tensors asked for are NULL.
 *
 * For inference K and V may both be f16, or both bf16 (at_cast): the fused path widens them a tile
 * at a time.  Then Q, bias and sink must want no gradient, and the raw scores can't be asked
 * for. */
AT_API at_tensor *at_sdpa(at_tape *t, at_tensor *Q, at_tensor *K, at_tensor *V, at_sdpa_args args);

/* From now on every at_sdpa on this tape that is not told its path takes this one; with
 * ATTIC_TAPE_PATH the fused one again.  What is recorded already stays as it is.  Returns the
 * setting before.  (at_sdpa_jvp has the fused path alone, whatever is set.) */
AT_API at_sdpa_path at_attention_path(at_tape *t, at_sdpa_path path);

/* From now on every at_sdpa on this tape, fused or plain, makes sure whenever its backward runs
 * that
 *
 *     <Q,dQ> = <K,dK>        <V,dV> = <O,dO>        sum_j dK_j = 0
 *
 * hold in every head, within 64 eps times a bound of the sum of the absolute terms; one that does
 * not is a sticky error with the head and both numbers.  The third is left out with a softcap; with
 * a sink, or a gradient of lse, its right side is another one.  Gradients keep their bits.  See
 * attention/identities.c.  Takes as much memory again as Q, K and V.  Returns the setting
 * before. */
AT_API bool at_check_attention(at_tape *t, bool on);

AT_END_C
#endif
