/* linear_attention.c -- causal attention without a softmax, in one pass over the sequence.
 *
 *   Q, K [..., T, D]    features, >= 0: what attention/variants.h makes of queries and keys
 *   V, O [..., T, Dv]   every head (what the leading dims count) is by itself
 *
 *   forward    O_i = sum_{j<=i} (Q_i . K_j) V_j / sum_{j<=i} Q_i . K_j
 *
 * These are weights like those of a softmax, >= 0 and with a sum of 1.  But Q_i . K_j, unlike
 * exp(Q_i . K_j), is a product of something of i and something of j, and i can be taken out of the
 * sums.  With a 1 behind every value, the denominator becomes one more column of the numerator:
 *
 *              V'_j = (V_j, 1)                                    [Dv+1]
 *              M_i  = sum_{j<=i} K_j V'_j^T                       [D,Dv+1]
 *              n_i  = M_i^T Q_i = (numerator, denominator)        [Dv+1]
 *              O_i  = n_i / denominator
 *
 * and M_i = M_{i-1} + K_i V'_i^T is a running sum: time O(T D Dv), where a softmax takes T^2.  M is
 * all that is remembered of the past, however long it was.  (Katharopoulos, Vyas, Pappas, Fleuret,
 * "Transformers are RNNs", 2020, section 3.3.)
 *
 *   backward   O = r (n without its last element), r = 1 / (the last element of n).  So, from dO,
 *
 *              dn_i = (r_i dO_i,  -r_i (dO_i . O_i))              [Dv+1]
 *
 * n_i = sum_{j<=i} (Q_i . K_j) V'_j is linear in each of Q_i, K_j and V'_j.  Q_i meets what the
 * forward summed; K_j and V'_j are used by all i >= j, and meet a sum that runs from the other end:
 *
 *              N_j   = sum_{i>=j} Q_i dn_i^T                      [D,Dv+1]
 *
 *              dQ_i  = sum_{j<=i} K_j (V'_j . dn_i) = M_i dn_i
 *              dK_j  = sum_{i>=j} Q_i (V'_j . dn_i) = N_j V'_j
 *              dV'_j = sum_{i>=j} (Q_i . K_j) dn_i  = N_j^T K_j
 *
 * All four are one thing, a running sum of outer products that is asked a question at every row:
 *
 *              R += a b^T,  y = R^T c          a    b    c    y       R          rows
 *
 *                                    forward   K    V'   Q    n       M          up
 *                                              V'   K    dn   dQ      M^T        up
 *                                              dn   Q    V'   dK      N^T        down
 *                                              Q    dn   K    dV'     N          down
 *
 * R lies so that y is a sum of its rows, never a dot product with one.  The last element of dV'
 * belongs to the 1 and is dropped.  Saved: r, one number a row.
 *
 * Edge: where the denominator is 0 (all features are 0) there are no weights; r = 0 then, and O and
 * every gradient of that row are 0.  A NaN at j reaches rows i >= j only.
 */
#include "ops/op.h"

#include "attention/variants.h"
#include "kernels/real.h"

typedef struct {
    int heads, T, D, Dv;
} linear_attention_args;

/* of a head in Q and K, in V and O, in r */
typedef struct {
    ptrdiff_t Q, V, r;
} linear_attention_place;

static linear_attention_place linear_attention_head(const linear_attention_args *a, int head)
{
    ptrdiff_t row = (ptrdiff_t)head * a->T;
    return (linear_attention_place){row * a->D, row * a->Dv, row};
}

typedef struct {
    at_node *n;
    void *dQ, *dK, *dV;
} linear_attention_job;

/* of a head: two multiply-adds, some 4 in a nanosecond, for each number of the matrix at each row */
static ptrdiff_t linear_attention_work(const linear_attention_args *a)
{
    return (ptrdiff_t)a->T * a->D * (a->Dv + 1) / 2;
}

AT_KERNEL(linear_attention_forward);
AT_KERNEL(linear_attention_backward);

/* R += a b^T, y = R^T c      R [A,B]  a, c [A]  b, y [B] */
static void linear_attention_step(int A, int B, const REAL *restrict a, const REAL *restrict b,
                                  REAL *restrict R, const REAL *restrict c, REAL *restrict y)
{
    for (int j = 0; j < B; j++) y[j] = 0;
    for (int i = 0; i < A; i++, R += B)
        for (int j = 0; j < B; j++) {
            R[j] += a[i] * b[j];
            y[j] += c[i] * R[j];
        }
}

static void linear_attention_forward_head(const at_node *node, ptrdiff_t head, int slot)
{
    const linear_attention_args *a = node->args;
    linear_attention_place at = linear_attention_head(a, (int)head);
    const REAL *Q = node->in[0]->data, *K = node->in[1]->data, *V = node->in[2]->data;
    REAL *O = node->out[0]->data, *r = node->saved;
    int D = a->D, Dv = a->Dv, W = Dv + 1;
    REAL *n = at_scratch(node, slot), *v = n + W, *M = v + W;

    Q += at.Q, K += at.Q, V += at.V, O += at.V, r += at.r;
    memset(M, 0, (size_t)D * (size_t)W * sizeof *M);
    v[Dv] = 1;
    for (int i = 0; i < a->T; i++, Q += D, K += D, V += Dv, O += Dv) {
        memcpy(v, V, (size_t)Dv * sizeof *v);
        linear_attention_step(D, W, K, v, M, Q, n);
        r[i] = VALUE(n[Dv]) == 0 ? 0 : 1 / n[Dv];
        for (int e = 0; e < Dv; e++) O[e] = n[e] * r[i];
    }
}

static void linear_attention_forward_heads(void *n, ptrdiff_t head, ptrdiff_t to, int slot)
{
    for (; head < to; head++) linear_attention_forward_head(n, head, slot);
}

void AT_REAL(linear_attention_forward)(at_node *n)
{
    const linear_attention_args *a = n->args;
    at_for(a->heads, linear_attention_work(a), n->slots, linear_attention_forward_heads, n);
}

/* dn = (r dO, -r (dO . O)) */
static void linear_attention_dn(int Dv, REAL r, const REAL *O, const REAL *dO, REAL *dn)
{
    for (int e = 0; e < Dv; e++) dn[e] = r * dO[e];
    dn[Dv] = -r * row_dot(Dv, dO, O);
}

/* Up, for dQ */
static void linear_attention_up(const linear_attention_job *job, int head, REAL *scratch)
{
    const at_node *node = job->n;
    const linear_attention_args *a = node->args;
    linear_attention_place at = linear_attention_head(a, head);
    const REAL *K = node->in[1]->data, *V = node->in[2]->data, *r = node->saved;
    const REAL *O = node->out[0]->data, *dO = node->out[0]->grad;
    REAL *dQ = job->dQ;
    int D = a->D, Dv = a->Dv, W = Dv + 1;
    REAL *dn = scratch, *v = dn + W, *dq = v + W, *Mt = dq + D;

    K += at.Q, V += at.V, O += at.V, dO += at.V, r += at.r, dQ += at.Q;
    memset(Mt, 0, (size_t)W * (size_t)D * sizeof *Mt);
    v[Dv] = 1;
    for (int i = 0; i < a->T; i++, K += D, V += Dv, O += Dv, dO += Dv, dQ += D) {
        memcpy(v, V, (size_t)Dv * sizeof *v);
        linear_attention_dn(Dv, r[i], O, dO, dn);
        linear_attention_step(W, D, v, K, Mt, dn, dq);
        for (int d = 0; d < D; d++) dQ[d] += dq[d];
    }
}

/* Down, for dK and dV */
static void linear_attention_down(const linear_attention_job *job, int head, REAL *scratch)
{
    const at_node *node = job->n;
    const linear_attention_args *a = node->args;
    linear_attention_place at = linear_attention_head(a, head);
    const REAL *Q = node->in[0]->data, *K = node->in[1]->data, *V = node->in[2]->data;
    const REAL *O = node->out[0]->data, *dO = node->out[0]->grad, *r = node->saved;
    REAL *dK = job->dK, *dV = job->dV;
    int D = a->D, Dv = a->Dv, W = Dv + 1;
    REAL *dn = scratch, *v = dn + W, *dv = v + W, *dk = dv + W, *Nt = dk + D;
    REAL *N = Nt + (ptrdiff_t)W * D;

    memset(Nt, 0, 2 * (size_t)W * (size_t)D * sizeof *Nt); /* and N */
    v[Dv] = 1;
    for (int j = a->T - 1; j >= 0; j--) {
        ptrdiff_t q = at.Q + (ptrdiff_t)j * D, p = at.V + (ptrdiff_t)j * Dv;
        memcpy(v, V + p, (size_t)Dv * sizeof *v);
        linear_attention_dn(Dv, r[at.r + j], O + p, dO + p, dn);
        if (dK) linear_attention_step(W, D, dn, Q + q, Nt, v, dk);
        if (dV) linear_attention_step(D, W, Q + q, dn, N, K + q, dv);
        for (int d = 0; dK && d < D; d++) dK[q + d] += dk[d];
        for (int e = 0; dV && e < Dv; e++) dV[p + e] += dv[e];
    }
}

static void linear_attention_backward_heads(void *ctx, ptrdiff_t head, ptrdiff_t to, int slot)
{
    const linear_attention_job *job = ctx;
    REAL *scratch = at_scratch(job->n, slot);
    for (; head < to; head++) {
        if (job->dQ) linear_attention_up(job, (int)head, scratch);
        if (job->dK || job->dV) linear_attention_down(job, (int)head, scratch);
    }
}

void AT_REAL(linear_attention_backward)(at_node *n)
{
    const linear_attention_args *a = n->args;
    linear_attention_job job = {n, at_grad(n, 0), at_grad(n, 1), at_grad(n, 2)};
    at_for(a->heads, 2 * linear_attention_work(a), n->slots, linear_attention_backward_heads, &job);
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op linear_attention_op = {.name = "linear_attention_causal",
                                          .forward = AT_KERNELS(linear_attention_forward),
                                          .backward = AT_KERNELS(linear_attention_backward)};

/* all dims but the last `but` */
static bool linear_attention_leads_alike(at_shape a, at_shape b, int but)
{
    if (a.ndim != b.ndim || a.ndim < but) return false;
    a.ndim = b.ndim = a.ndim - but;
    return at_same_shape(a, b);
}

at_tensor *at_linear_attention_causal(at_tape *t, at_tensor *Q, at_tensor *K, at_tensor *V)
{
    AT_INPUT(t, "linear_attention_causal", Q, ATTIC_REAL);
    AT_INPUT(t, "linear_attention_causal", K, ATTIC_REAL);
    AT_INPUT(t, "linear_attention_causal", V, ATTIC_REAL);
    AT_REQUIRE(t, Q->shape.ndim >= 2, "linear_attention_causal: Q is %s but must be [...,T,D]",
               at_text(Q));
    AT_REQUIRE(t, at_same_shape(Q->shape, K->shape),
               "linear_attention_causal: Q is %s but K is %s: they must be alike", at_text(Q),
               at_text(K));
    AT_REQUIRE(t, linear_attention_leads_alike(Q->shape, V->shape, 1),
               "linear_attention_causal: K is %s but V is %s: all dims but the last must be alike",
               at_text(K), at_text(V));

    at_shape s = Q->shape;
    linear_attention_args a = {.T = s.dim[s.ndim - 2], .D = at_last(s), .Dv = at_last(V->shape)};
    ptrdiff_t heads = at_count_between(s, 0, s.ndim - 2);
    AT_REQUIRE(t, heads <= INT32_MAX && a.Dv < INT32_MAX && at_shape_valid(at_shape_of(a.D, a.Dv)),
               "linear_attention_causal: Q is %s and V is %s: too large", at_text(Q), at_text(V));
    a.heads = (int)heads;
    size_t W = (size_t)a.Dv + 1, size = at_dtype_size(at_real(t));
    at_recipe r = {.shape = {V->shape},
                   .args = &a,
                   .args_size = sizeof a,
                   .saved = (size_t)at_rows(V->shape) * size,
                   .scratch = (2 * (size_t)a.D + 3) * W * size + (size_t)a.D * size};
    at_node *n = at_record_node(t, &linear_attention_op, AT_IN(Q, K, V), r);
    return n ? n->out[0] : NULL;
}

#endif
