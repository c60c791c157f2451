/* variants.h -- relatives of scaled dot-product attention: additive and linear attention.
 *
 * All of them mix values with weights that are >= 0 and sum to 1; they differ in how the weight of
 * key j for query i is found.
 *
 *     dot product     exp(c Q_i . K_j)                     at_sdpa
 *     additive        exp(v . tanh(W q_i + U k_j))         at_additive_apply
 *     linear          phi(Q_i) . phi(K_j)                  at_linear_attention
 *
 * each divided by its sum over j.  Multi-query and grouped attention, windows and sparse patterns
 * are settings of at_sdpa.  examples/13_attention_variants.c measures them all; docs/variants.md
 * says when to use which. */
#ifndef AT_ATTENTION_VARIANTS_H
#define AT_ATTENTION_VARIANTS_H
#include "ops/ops.h"
AT_BEGIN_C

/* e_ij = v . tanh(W q_i + U k_j)    (Bahdanau, Cho, Bengio 2015)
 *
 * A small network compares a query with a key, so that they need not be of one width.  Memory and
 * time O(T N M): every pair has a hidden layer of its own. */
typedef struct {
    at_tensor *W; /* [Cq,M] */
    at_tensor *U; /* [Ck,M] */
    at_tensor *v; /* [M,1] */
} at_additive;

/* Parameters W, U, v in the open scope, Xavier-normal; M is the width of the hidden layer. */
AT_API at_additive at_additive_make(at_tape *t, int query_dim, int key_dim, int hidden);

/* q [B,T,Cq]  k [B,N,Ck]  V [B,N,Dv]  ->  O [B,T,Dv].  keep: bool, broadcastable to [B,T,N], 1 =
 * attend, or NULL; a row that keeps nothing gives 0.  *weights, if asked for, becomes [B,T,N].  A
 * composition of ops: what is masked is multiplied by 0, so a NaN there does come through. */
AT_API at_tensor *at_additive_apply(at_tape *t, const at_additive *layer, at_tensor *q,
                                    at_tensor *k, at_tensor *V, at_tensor *keep,
                                    at_tensor **weights);

/* phi(x) = elu(x) + 1 = x + 1 if x > 0, else exp(x): > 0, with a derivative everywhere */
AT_API at_tensor *at_elu_plus_1(at_tape *t, at_tensor *x);

/* O_i = sum_j (phi(Q_i) . phi(K_j)) V_j / sum_j phi(Q_i) . phi(K_j)    (Katharopoulos et al. 2020)
 *
 * Q [...,T,D]  K [...,N,D]  V [...,N,Dv]  ->  [...,T,Dv]; causal: over j <= i, and N = T.  The past
 * is one matrix [D,Dv], so time is O(T D Dv) and there are no weights to look at, mask or drop. */
AT_API at_tensor *at_linear_attention(at_tape *t, at_tensor *Q, at_tensor *K, at_tensor *V,
                                      bool causal);

/* O_i = sum_{j<=i} (Q_i . K_j) V_j / sum_{j<=i} Q_i . K_j    Q, K [...,T,D]  V [...,T,Dv] ->
 * [...,T,Dv] Causal linear attention (Katharopoulos et al. 2020), in time O(T D Dv).  Q and K are
 * features >= 0, for instance at_elu_plus_1.  A denominator of 0 gives 0. */
AT_API at_tensor *at_linear_attention_causal(at_tape *t, at_tensor *Q, at_tensor *K, at_tensor *V);

AT_END_C
#endif
