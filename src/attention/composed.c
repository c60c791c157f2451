/* composed.c -- attention from single ops, each with a backward of its own.
 *
 *     X = s scale(Q K^T, c)                   [B,G,H/G,T,D] [B,G,1,N,D]^T  ->  [B,H,T,N]
 *     U = cap tanh(X / cap)
 *     S = U + bias
 *     S = masked_fill(S, not kept, -inf)      and the sink behind it, [B,H,T,N+1]
 *     P = softmax(S)                          without the column of the sink
 *     A = dropout(P)
 *     O = A V                                 [B,G,H/G,T,N] [B,G,1,N,Dv]  ->  [B,G,H/G,T,Dv]
 *
 * As one would write it without at_sdpa, and with nothing of its derivation: so where the three
 * paths agree, it is not because they make the same mistake.  It keeps every [T,N] matrix along the
 * way, and multiplies what is masked by 0: a NaN there does come through.
 *
 * Groups: query heads are cut into G groups of H/G, and a matrix product broadcasts the one
 * key/value head of each.  So query head h reads key/value head h / (H/G), and its gradient is
 * summed over the group. */
#include "ops/op.h"
#include "attention/plan.h"

/* drop [B,H,T,N]: 1 where causal, window, key_len, keep or segments mask.  (A bias of -inf needs no
 * help here.)  An op, so that a replay reads these anew; nothing to differentiate. */
static void composed_drop_forward(at_node *n)
{
    const at_sdpa_plan *p = n->args;
    const void *in[4];
    for (int i = 0; i < 4; i++) in[i] = n->in[i] ? n->in[i]->data : NULL;
    const unsigned char *kept = in[0];
    const int32_t *key_len = in[1], *ids = in[2], *key_ids = in[3];
    unsigned char *drop = n->out[0]->data;
    for (int b = 0; b < p->B; b++)
        for (int h = 0; h < p->H; h++)
            for (int i = 0; i < p->T; i++, drop += p->N) {
                at_sdpa_range range = at_sdpa_range_of(p, key_len, b, i);
                for (int j = 0; j < p->N; j++)
                    drop[j] = j < range.lo || j >= range.hi ||
                              (kept && !kept[at_sdpa_cell(p->keep, b, h, i, j)]) ||
                              !at_sdpa_together(ids, key_ids, b * p->T + i, b * p->N + j);
            }
}

static const at_op composed_drop_op = {.name = "sdpa_drop",
                                       .forward = AT_EVERY_REAL(composed_drop_forward)};

static at_tensor *composed_mask(at_tape *t, at_tensor *S, const at_sdpa_args *a,
                                const at_sdpa_plan *p)
{
    bool any =
        a->causal || a->window_left || a->window_right || a->key_len || a->keep || a->segments;
    if (!any) return S;
    at_recipe r = {.shape = {at_shape_of(p->B, p->H, p->T, p->N)},
                   .dtype = {ATTIC_BOOL},
                   .args = p,
                   .args_size = sizeof *p};
    at_tensor *key_segments = a->key_segments ? a->key_segments : a->segments;
    const at_inputs in = AT_IN(a->keep, a->key_len, a->segments, key_segments);
    at_node *n = at_record_node(t, &composed_drop_op, in, r);
    return n ? at_masked_fill(t, S, n->out[0], -(double)INFINITY) : NULL;
}

/* Q, K or V in any layout -> [B,G,per group,rows,D] */
static at_tensor *composed_split(at_tape *t, at_tensor *x, bool packed, at_shape to)
{
    int B = to.dim[0], heads = to.dim[1] * to.dim[2], rows = to.dim[3], D = to.dim[4];
    if (packed) {
        x = at_reshape(t, x, at_shape_of(B, rows, heads, D));
        x = at_permute(t, x, at_shape_of(0, 2, 1, 3)); /* [B,heads,rows,D] */
    }
    return at_reshape(t, x, to);
}

/* O [B,G,H/G,T,Dv] -> in the layout of Q */
static at_tensor *composed_join(at_tape *t, at_tensor *O, bool packed, const at_sdpa_plan *p)
{
    if (packed) {
        O = at_reshape(t, O, at_shape_of(p->B, p->H, p->T, p->Dv));
        O = at_permute(t, O, at_shape_of(0, 2, 1, 3)); /* [B,T,H,Dv] */
    }
    return at_reshape(t, O, p->O);
}

/* 1 to 4: S [B,H,T,N]; *X are the scaled scores */
static at_tensor *composed_scores(at_tape *t, at_tensor *Q, at_tensor *K, const at_sdpa_args *a,
                                  const at_sdpa_plan *p, at_tensor **X)
{
    at_tensor *S = at_scale(t, at_matmul_t(t, Q, false, K, true), p->c), *s = a->head_scale;
    S = at_reshape(t, S, at_shape_of(p->B, p->H, p->T, p->N));
    if (s) S = at_mul(t, S, at_reshape(t, s, at_shape_of(s->shape.ndim ? p->H : 1, 1, 1)));
    *X = S;
    if (p->cap > 0) S = at_scale(t, at_tanh(t, at_scale(t, S, 1 / p->cap)), p->cap);
    at_tensor *bias = a->bias;
    if (bias && bias->shape.ndim == 3 && !a->heads) /* [B,T,N]: there are no heads, so one */
        bias = at_reshape(
            t, bias, at_shape_of(bias->shape.dim[0], 1, bias->shape.dim[1], bias->shape.dim[2]));
    return bias ? at_add(t, S, bias) : S;
}

/* S -> [B,H,T,N+1]: the sink is one key more, which no mask has seen. */
static at_tensor *composed_sink(at_tape *t, at_tensor *S, at_tensor *sink, const at_sdpa_plan *p)
{
    if (!sink) return S;
    at_tensor *column = at_const(t, at_shape_of(p->B, p->H, p->T, 1), NULL);
    sink = at_reshape(t, sink, at_shape_of(sink->shape.ndim ? p->H : 1, 1, 1));
    column = at_add(t, column, sink);
    return at_concat(t, (at_tensor *[]){S, column}, 2, 3);
}

static at_tensor *composed_lse(at_tape *t, at_tensor *S, const at_sdpa_plan *p)
{
    bool anomaly = at_anomaly(t, false); /* -inf is meant */
    at_tensor *lse = at_reshape(t, at_logsumexp(t, S, -1, false), p->rows);
    at_anomaly(t, anomaly);
    return lse;
}

at_tensor *at_sdpa_composed(at_tape *t, at_tensor *Q, at_tensor *K, at_tensor *V,
                            const at_sdpa_args *a, const at_sdpa_plan *p)
{
    bool packed = a->heads > 0;
    Q = composed_split(t, Q, packed, at_shape_of(p->B, p->G, p->group, p->T, p->D));
    K = composed_split(t, K, packed, at_shape_of(p->B, p->G, 1, p->N, p->D));
    V = composed_split(t, V, packed, at_shape_of(p->B, p->G, 1, p->N, p->Dv));

    at_tensor *X, *S = composed_scores(t, Q, K, a, p, &X);
    S = composed_sink(t, composed_mask(t, S, a, p), a->sink, p);
    at_tensor *P = at_softmax(t, S);
    if (a->sink) P = at_slice(t, P, 3, 0, p->N);
    at_tensor *A = at_dropout(t, P, a->dropout);
    at_tensor *groups = at_reshape(t, A, at_shape_of(p->B, p->G, p->group, p->T, p->N));
    at_tensor *O = composed_join(t, at_matmul(t, groups, V), packed, p);

    if (a->weights) *a->weights = at_reshape(t, A, p->scores);
    if (a->scores) *a->scores = at_detach(t, at_reshape(t, X, p->scores));
    if (a->probs) *a->probs = at_reshape(t, P, p->scores);
    if (a->lse) *a->lse = composed_lse(t, S, p);
    return at_ok(t) ? O : NULL;
}
