/* variants.c -- additive and linear attention, composed of ops; see variants.h. */
#include "attention/variants.h"

#include <math.h>

#include "autograd/op.h"

at_additive at_additive_make(at_tape *t, int query_dim, int key_dim, int hidden)
{
    return (at_additive){
        .W = at_param(t, "W", at_shape_of(query_dim, hidden), at_xavier_normal(1)),
        .U = at_param(t, "U", at_shape_of(key_dim, hidden), at_xavier_normal(1)),
        .v = at_param(t, "v", at_shape_of(hidden, 1), at_xavier_normal(1)),
    };
}

at_tensor *at_additive_apply(at_tape *t, const at_additive *layer, at_tensor *q, at_tensor *k,
                             at_tensor *V, at_tensor *keep, at_tensor **weights)
{
    AT_REQUIRE(t, layer, "additive: the layer is NULL");
    if (!at_check_input(t, "additive", "the layer's W", layer->W, ATTIC_REAL)) return NULL;
    AT_INPUT(t, "additive", q, ATTIC_REAL);
    AT_INPUT(t, "additive", k, ATTIC_REAL);
    AT_REQUIRE(t, q->shape.ndim == 3 && k->shape.ndim == 3 && q->shape.dim[0] == k->shape.dim[0],
               "additive: q is %s and k is %s, but must be [B,T,Cq] and [B,N,Ck]", at_text(q),
               at_text(k));
    int B = q->shape.dim[0], T = q->shape.dim[1], N = k->shape.dim[1], M = at_last(layer->W->shape);

    at_tensor *Wq = at_reshape(t, at_matmul(t, q, layer->W), at_shape_of(B, T, 1, M));
    at_tensor *Uk = at_reshape(t, at_matmul(t, k, layer->U), at_shape_of(B, 1, N, M));
    at_tensor *hidden = at_tanh(t, at_add(t, Wq, Uk)); /* [B,T,N,M] */
    at_tensor *e = at_reshape(t, at_matmul(t, hidden, layer->v), at_shape_of(B, T, N));
    if (keep) e = at_where(t, keep, e, at_const(t, at_shape_of(), (double[]){-(double)INFINITY}));
    at_tensor *A = at_softmax(t, e);
    if (weights) *weights = A;
    return at_matmul(t, A, V); /* [B,T,N] [B,N,Dv] -> [B,T,Dv] */
}

/* exp(min(x, 0)) + max(x, 0).  At 0 the first slope counts as 1 and the second as 0: together 1. */
at_tensor *at_elu_plus_1(at_tape *t, at_tensor *x)
{
    at_tensor *below = at_exp(t, at_clamp(t, x, -(double)INFINITY, 0));
    return at_add(t, below, at_relu(t, x));
}

at_tensor *at_linear_attention(at_tape *t, at_tensor *Q, at_tensor *K, at_tensor *V, bool causal)
{
    AT_INPUT(t, "linear_attention", K, ATTIC_REAL);
    AT_REQUIRE(t, K->shape.ndim >= 2 && (causal || K->shape.dim[K->shape.ndim - 2] > 0),
               "linear_attention: K is %s, but must be [...,N,D] with at least one key",
               at_text(K));
    Q = at_elu_plus_1(t, Q), K = at_elu_plus_1(t, K);
    if (causal) return at_linear_attention_causal(t, Q, K, V);

    at_tensor *M = at_matmul_t(t, K, true, V, false);    /* [...,N,D]^T [...,N,Dv] -> [...,D,Dv] */
    at_tensor *z = at_sum_over(t, K, at_axes(-2), true); /* [...,1,D] */
    at_tensor *n = at_matmul(t, Q, M);                   /* [...,T,D] [...,D,Dv] -> [...,T,Dv] */
    at_tensor *d = at_matmul_t(t, Q, false, z, true);    /* [...,T,D] [...,1,D]^T -> [...,T,1] */
    return at_div(t, n, d);
}
