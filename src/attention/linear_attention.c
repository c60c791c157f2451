/* linear_attention.c -- causal attention without a softmax, in one pass over the sequence.
 *
 *   Q, K [..., T, D]    features, >= 0: what attention/variants.h makes of queries and keys
 *   V, O [..., T, Dv]   every head (what the leading dims count) is by itself
 *
 *   forward    O_i = sum_{j<=i} (Q_i . K_j) V_j / sum_{j<=i} Q_i . K_j
 *
 * These are weights as a softmax gives them, >= 0 and with a sum of 1.  But Q_i . K_j, unlike
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
 * n_i = sum_{j<=i} (Q_i . K_j) V'_j is linear in each of Q_i, K_j and V'_j.  Q_i is multiplied with
 * the sum of the forward; K_j and V'_j are used by all i >= j, and so with a sum from the other
 * end:
 *
 *              R_j   = sum_{i>=j} Q_i dn_i^T                      [D,Dv+1]
 *
 *              dQ_i  = sum_{j<=i} K_j (V'_j . dn_i) = M_i dn_i
 *              dK_j  = sum_{i>=j} Q_i (V'_j . dn_i) = R_j V'_j
 *              dV'_j = sum_{i>=j} (Q_i . K_j) dn_i  = R_j^T K_j
 *
 * All four are one thing, a running sum of outer products that is read at every row:
 *
 *              Z += a b^T,  y = Z^T c          a    b    c    y       Z          rows
 *
 *                                    forward   K    V'   Q    n       M          up
 *                                              V'   K    dn   dQ      M^T        up
 *                                              dn   Q    V'   dK      R^T        down
 *                                              Q    dn   K    dV'     R          down
 *
 * Z is stored so that y is a sum of its rows, never a dot product with one.  The last element of
 * dV' belongs to the 1 and is dropped.  Saved: r, one number a row.
 *
 * Edge: where the denominator is 0 (all features are 0) there are no weights; r = 0 then, and O and
 * every gradient of that row are 0.  A NaN at j reaches rows i >= j only. */
#include "ops/op.h"

#include "attention/variants.h"
#include "kernels/real.h"

typedef struct {
    int heads, T, D, Dv;
} linear_attention_args;

/* One head: its rows, NULL for a gradient that nobody wants, and scratch memory. */
typedef struct {
    int T, D, Dv, W; /* W = Dv + 1 */
    const REAL *Q, *K, *V, *dO;
    REAL *O, *r, *dQ, *dK, *dV, *scratch;
} linear_attention_head;

typedef struct {
    at_node *n;
    const REAL *dO; /* NULL: forward */
    REAL *dQ, *dK, *dV;
} linear_attention_job;

AT_BOTH(linear_attention);

static linear_attention_head linear_attention_head_of(const linear_attention_job *job,
                                                      ptrdiff_t head, int slot)
{
    const at_node *n = job->n;
    const linear_attention_args *a = n->args;
    const ptrdiff_t r = head * a->T, q = r * a->D, v = r * a->Dv;
    return (linear_attention_head){.T = a->T,
                                   .D = a->D,
                                   .Dv = a->Dv,
                                   .W = a->Dv + 1,
                                   .Q = (const REAL *)n->in[0]->data + q,
                                   .K = (const REAL *)n->in[1]->data + q,
                                   .V = (const REAL *)n->in[2]->data + v,
                                   .dO = job->dO ? job->dO + v : NULL,
                                   .O = (REAL *)n->out[0]->data + v,
                                   .r = (REAL *)n->saved + r,
                                   .dQ = job->dQ ? job->dQ + q : NULL,
                                   .dK = job->dK ? job->dK + q : NULL,
                                   .dV = job->dV ? job->dV + v : NULL,
                                   .scratch = at_scratch(n, slot)};
}

/* Z += a b^T, y = Z^T c      Z [A,B]  a, c [A]  b, y [B] */
static void linear_attention_step(int A, int B, const REAL *restrict a, const REAL *restrict b,
                                  REAL *restrict Z, const REAL *restrict c, REAL *restrict y)
{
    for (int j = 0; j < B; j++) y[j] = 0;
    for (int i = 0; i < A; i++, Z += B)
        for (int j = 0; j < B; j++) {
            Z[j] = mul_add(a[i], b[j], Z[j]);
            y[j] = mul_add(c[i], Z[j], y[j]);
        }
}

/* v = V'_i */
static void linear_attention_value(const linear_attention_head *h, int i, REAL *v)
{
    memcpy(v, h->V + (ptrdiff_t)i * h->Dv, (size_t)h->Dv * sizeof *v);
    v[h->Dv] = 1;
}

/* dn = (r dO_i, -r (dO_i . O_i)) */
static void linear_attention_dn(const linear_attention_head *h, int i, REAL *dn)
{
    const REAL *dO = h->dO + (ptrdiff_t)i * h->Dv, *O = h->O + (ptrdiff_t)i * h->Dv;
    for (int e = 0; e < h->Dv; e++) dn[e] = h->r[i] * dO[e];
    dn[h->Dv] = -h->r[i] * row_dot(h->Dv, dO, O);
}

static void linear_attention_up(const linear_attention_head *h)
{
    const int D = h->D, Dv = h->Dv, W = h->W;
    REAL *n = h->scratch, *v = n + W, *M = v + W;
    memset(M, 0, (size_t)D * (size_t)W * sizeof *M);
    for (int i = 0; i < h->T; i++) {
        const ptrdiff_t q = (ptrdiff_t)i * D;
        linear_attention_value(h, i, v);
        linear_attention_step(D, W, h->K + q, v, M, h->Q + q, n);
        h->r[i] = VALUE(n[Dv]) == 0 ? 0 : OVER((REAL)1, n[Dv]);
        for (int e = 0; e < Dv; e++) h->O[(ptrdiff_t)i * Dv + e] = n[e] * h->r[i];
    }
}

static void linear_attention_up_for_dQ(const linear_attention_head *h)
{
    const int D = h->D, W = h->W;
    REAL *dn = h->scratch, *v = dn + W, *dq = v + W, *Mt = dq + D;
    memset(Mt, 0, (size_t)W * (size_t)D * sizeof *Mt);
    for (int i = 0; i < h->T; i++) {
        const ptrdiff_t q = (ptrdiff_t)i * D;
        linear_attention_value(h, i, v);
        linear_attention_dn(h, i, dn);
        linear_attention_step(W, D, v, h->K + q, Mt, dn, dq);
        for (int d = 0; d < D; d++) h->dQ[q + d] += dq[d];
    }
}

static void linear_attention_down_for_dK_and_dV(const linear_attention_head *h)
{
    const int D = h->D, Dv = h->Dv, W = h->W;
    REAL *dn = h->scratch, *v = dn + W, *dv = v + W, *dk = dv + W, *Rt = dk + D;
    REAL *R = Rt + (ptrdiff_t)W * D;
    memset(Rt, 0, 2 * (size_t)W * (size_t)D * sizeof *Rt); /* and R */
    for (int j = h->T - 1; j >= 0; j--) {
        const ptrdiff_t q = (ptrdiff_t)j * D, p = (ptrdiff_t)j * Dv;
        linear_attention_value(h, j, v);
        linear_attention_dn(h, j, dn);
        if (h->dK) linear_attention_step(W, D, dn, h->Q + q, Rt, v, dk);
        if (h->dV) linear_attention_step(D, W, h->Q + q, dn, R, h->K + q, dv);
        for (int d = 0; h->dK && d < D; d++) h->dK[q + d] += dk[d];
        for (int e = 0; h->dV && e < Dv; e++) h->dV[p + e] += dv[e];
    }
}

static void linear_attention_each(void *job, ptrdiff_t head, ptrdiff_t to, int slot)
{
    for (; head < to; head++) {
        const linear_attention_head h = linear_attention_head_of(job, head, slot);
        if (!h.dO) {
            linear_attention_up(&h);
            continue;
        }
        if (h.dQ) linear_attention_up_for_dQ(&h);
        if (h.dK || h.dV) linear_attention_down_for_dK_and_dV(&h);
    }
}

/* Of a head: two multiply-adds, some 4 in a nanosecond, for each element of the matrix at each
 * row. */
static void linear_attention_heads(linear_attention_job *job, int matrices)
{
    const linear_attention_args *a = job->n->args;
    at_count_flops(job->n, 4.0 * matrices * a->heads * a->T * a->D * (a->Dv + 1.0));
    at_for(a->heads, (ptrdiff_t)a->T * a->D * (a->Dv + 1) / 2 * matrices, job->n->slots,
           linear_attention_each, job);
}

void AT_REAL(linear_attention_forward)(at_node *n)
{
    linear_attention_heads(&(linear_attention_job){.n = n}, 1);
}

void AT_REAL(linear_attention_backward)(at_node *n)
{
    linear_attention_job job = {n, n->out[0]->grad, at_grad(n, 0), at_grad(n, 1), at_grad(n, 2)};
    linear_attention_heads(&job, 2);
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op linear_attention_op = {.name = "linear_attention_causal",
                                          AT_BOTH_KERNELS(linear_attention)};

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
    at_shape s = Q->shape, values = s;
    values.dim[s.ndim - 1] = at_last(V->shape);
    AT_REQUIRE(t, at_same_shape(values, V->shape),
               "linear_attention_causal: K is %s but V is %s: all dims but the last must be alike",
               at_text(K), at_text(V));

    linear_attention_args a = {.T = s.dim[s.ndim - 2], .D = at_last(s), .Dv = at_last(V->shape)};
    ptrdiff_t heads = at_count_between(s, 0, s.ndim - 2);
    AT_REQUIRE(t,
               (heads <= INT32_MAX || !at_count(V->shape)) && a.Dv < INT32_MAX &&
                   at_shape_valid(at_shape_of(a.D, a.Dv)),
               "linear_attention_causal: Q is %s and V is %s: too large", at_text(Q), at_text(V));
    a.heads = at_count(V->shape) ? (int)heads : 0; /* without values there is nothing to do */
    size_t W = (size_t)a.Dv + 1, size = at_dtype_size(at_real(t));
    at_recipe r = {.shape = {V->shape},
                   .args = &a,
                   .args_size = sizeof a,
                   .saved = a.heads ? (size_t)at_rows(V->shape) * size : 0,
                   .scratch = a.heads ? ((2 * (size_t)a.D + 3) * W + (size_t)a.D) * size : 0};
    return at_output(at_record_node(t, &linear_attention_op, AT_IN(Q, K, V), r));
}

#endif
