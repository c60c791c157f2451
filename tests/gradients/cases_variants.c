/* cases_variants.c -- gradient cases of variants of attention that are made of public ops: the recipes of docs/variants.md;
 * see cases.h. */
#include "gradients/cases.h"

#include <math.h>
#include <string.h>

/* y = f(in) by another function on the same tape. */
typedef struct {
    at_function *by_hand;
} case_of_variant;

static void variant_by_hand(at_tape *t, at_tensor **in, void *ctx, double *y)
{
    at_tensor *other = ((const case_of_variant *)ctx)->by_hand(t, in, ctx);
    for (ptrdiff_t i = 0; other && i < at_count(other->shape); i++) y[i] = at_element(other, i);
}

/* ------------------------------------------------------------------ a bias for each key -------- */

static at_tensor *case_alibi_row(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_alibi_row_bias(t, in[0], 4);
}

static at_tensor *attend_past(at_tape *t, at_tensor **in, at_tensor *bias)
{
    return at_sdpa(t, in[0], in[1], in[2], (at_sdpa_args){.bias = bias, .causal = true});
}

/* Q, K, V [B,H,T,D], slope [H] */
static at_tensor *case_alibi_attention(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return attend_past(t, in, at_alibi_row_bias(t, in[3], in[1]->shape.dim[2]));
}

static at_tensor *alibi_by_distance(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    const int T = in[0]->shape.dim[2];
    return attend_past(t, in, at_alibi_bias(t, in[3], T, T, 0));
}

/* Q, K, V [B,H,T,D], logits of the forget gates g [B,H,T] */
static at_tensor *case_forgetting(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    const at_shape s = in[3]->shape;
    at_tensor *F = at_cumsum(t, at_softplus(t, at_neg(t, in[3])), -1); /* -sum log sigmoid(g) */
    return attend_past(t, in, at_reshape(t, F, at_shape_of(s.dim[0], s.dim[1], 1, s.dim[2])));
}

/* bias_ij = log f_(j+1) + ... + log f_i, cell by cell */
static at_tensor *forgetting_by_cells(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    const at_shape s = in[3]->shape;
    const int T = s.dim[2];
    at_tensor *bias = at_const(t, at_shape_of(s.dim[0], s.dim[1], T, T), NULL);
    for (int m = 0; bias && m < s.dim[0] * s.dim[1]; m++)
        for (int i = 0; i < T; i++) {
            double sum = 0;
            for (int j = i; j >= 0; sum -= log1p(exp(-at_element(in[3], m * T + j--))))
                at_store(bias->dtype, bias->data, ((ptrdiff_t)m * T + i) * T + j, sum);
        }
    return attend_past(t, in, bias);
}

/* ------------------------------------------------------------------ layers --------------------- */

/* x [B,T,C], W of q, k, v, o and gate [C,C] */
static at_tensor *case_gated(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    const int C = at_last(in[0]->shape);
    at_attention a = {.config = {.dim = C, .heads = 2, .gate = true}};
    a.q.W = in[1], a.k.W = in[2], a.v.W = in[3], a.o.W = in[4], a.gate.W = in[5];
    return at_attention_apply(t, &a, in[0], NULL, (at_sdpa_args){.causal = true});
}

static at_tensor *gated_by_hand(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    at_tensor *Q = at_matmul(t, in[0], in[1]), *K = at_matmul(t, in[0], in[2]);
    at_tensor *V = at_matmul(t, in[0], in[3]), *g = at_sigmoid(t, at_matmul(t, in[0], in[5]));
    at_tensor *O = at_sdpa(t, Q, K, V, (at_sdpa_args){.causal = true, .heads = 2});
    return at_matmul(t, at_mul(t, O, g), in[4]);
}

/* Q, K [B,2H,T,D], those of both maps; V [B,H,T,2D]; four vectors [D]: lambda.  Before the norm. */
static at_tensor *case_differential(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    const int H = in[2]->shape.dim[1];
    at_sdpa_args causal = {.causal = true};
    at_tensor *Q[2], *K[2], *O[2];
    at_split_along(t, in[0], 1, Q, 2, (int[]){H, H});
    at_split_along(t, in[1], 1, K, 2, (int[]){H, H});
    for (int k = 0; k < 2; k++) O[k] = at_sdpa(t, Q[k], K[k], in[2], causal);
    at_tensor *one = at_exp(t, at_sum(t, at_mul(t, in[3], in[4])));
    at_tensor *two = at_exp(t, at_sum(t, at_mul(t, in[5], in[6])));
    at_tensor *lambda = at_add_scalar(t, at_sub(t, one, two), 0.8);
    at_tensor *y = at_rms_norm(t, at_sub(t, O[0], at_mul(t, lambda, O[1])), NULL, 1e-5);
    return at_scale(t, y, 1 - 0.8);
}

static at_tensor *differential_by_weights(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    const at_shape s = in[2]->shape;
    const int H = s.dim[1], T = s.dim[2];
    at_tensor *future = at_not(t, at_keep_causal(t, T, T, ATTIC_ALIGN_EQUAL, 0));
    at_tensor *S = at_matmul_t(t, in[0], false, in[1], true);
    S = at_scale(t, S, 1 / sqrt((double)at_last(in[0]->shape)));
    at_tensor *P = at_softmax(t, at_masked_fill(t, S, future, -(double)INFINITY));
    double dot[2] = {0};
    for (int i = 0; i < at_count(in[3]->shape); i++) {
        dot[0] += at_element(in[3], i) * at_element(in[4], i);
        dot[1] += at_element(in[5], i) * at_element(in[6], i);
    }
    const double lambda = exp(dot[0]) - exp(dot[1]) + 0.8;
    at_tensor *A =
        at_sub(t, at_slice(t, P, 1, 0, H), at_scale(t, at_slice(t, P, 1, H, 2 * H), lambda));
    return at_scale(t, at_rms_norm(t, at_matmul(t, A, in[2]), NULL, 1e-5), 1 - 0.8);
}

/* y [B,T,n*D] -> [B,T,n,D] */
static at_tensor *unpack_heads(at_tape *t, at_tensor *y, int n)
{
    if (!y) return NULL;
    const at_shape s = y->shape;
    return at_reshape(t, y, at_shape_of(s.dim[0], s.dim[1], n, s.dim[2] / n));
}

/* x [B,T,C]; Wq [C,H*(D+R)], of which R features of each head are rotated; down [C,L], and up to K [L,H*D], to V
 * [L,H*D]; Wr [C,R], the rotated part of the keys */
enum { LATENT_HEADS = 2, LATENT_D = 3, LATENT_R = 2 };

static at_tensor *case_latent(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    const int H = LATENT_HEADS, D = LATENT_D, R = LATENT_R;
    const int B = in[0]->shape.dim[0], T = in[0]->shape.dim[1];
    at_tensor *q[2], *Q = unpack_heads(t, at_matmul(t, in[0], in[1]), H);
    at_split_along(t, Q, -1, q, 2, (int[]){D, R});
    q[1] = at_reshape(t, q[1], at_shape_of(B, T, H * R));
    q[1] = unpack_heads(t, at_rope(t, q[1], (at_rope_args){.heads = H}), H);
    at_tensor *latent = at_matmul(t, in[0], in[2]);
    at_tensor *k[2] = {unpack_heads(t, at_matmul(t, latent, in[3]), H)};
    k[1] = at_rope(t, at_matmul(t, in[0], in[5]), (at_rope_args){0});
    k[1] = at_reshape(t, k[1], at_shape_of(B, T, 1, R));
    k[1] = at_expand(t, k[1], at_shape_of(B, T, H, R));
    Q = at_reshape(t, at_concat(t, q, 2, -1), at_shape_of(B, T, H * (D + R)));
    at_tensor *K = at_reshape(t, at_concat(t, k, 2, -1), at_shape_of(B, T, H * (D + R)));
    at_tensor *V = at_matmul(t, latent, in[4]);
    return at_sdpa(t, Q, K, V, (at_sdpa_args){.causal = true, .heads = H});
}

/* S = q . k + rotated q . rotated k, head by head */
static at_tensor *latent_by_heads(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    const int H = LATENT_HEADS, D = LATENT_D, R = LATENT_R, T = in[0]->shape.dim[1];
    at_tensor *future = at_not(t, at_keep_causal(t, T, T, ATTIC_ALIGN_EQUAL, 0));
    at_tensor *Q = at_matmul(t, in[0], in[1]), *c = at_matmul(t, in[0], in[2]), *O[LATENT_HEADS];
    at_tensor *r = at_rope(t, at_matmul(t, in[0], in[5]), (at_rope_args){0});
    for (int h = 0; h < H; h++) {
        const int at = h * (D + R);
        at_tensor *q = at_slice(t, Q, -1, at, at + D), *p = at_slice(t, Q, -1, at + D, at + D + R);
        at_tensor *k = at_matmul(t, c, at_slice(t, in[3], -1, h * D, (h + 1) * D));
        at_tensor *v = at_matmul(t, c, at_slice(t, in[4], -1, h * D, (h + 1) * D));
        at_tensor *near = at_matmul_t(t, at_rope(t, p, (at_rope_args){0}), false, r, true);
        at_tensor *S = at_add(t, at_matmul_t(t, q, false, k, true), near);
        S = at_scale(t, S, 1 / sqrt(D + R));
        S = at_masked_fill(t, S, future, -(double)INFINITY);
        O[h] = at_matmul(t, at_softmax(t, S), v);
    }
    return at_concat(t, O, H, -1);
}

/* ------------------------------------------------------------------ masks ---------------------- */

/* Each node of a tree sees itself and its ancestors. */
static at_tensor *keep_ancestors(at_tape *t, const int *parent, int T)
{
    at_tensor *keep = at_bools(t, at_shape_of(T, T), NULL);
    for (int i = 0; keep && i < T; i++)
        for (int j = i; j >= 0; j = parent[j]) at_set(keep, 1, i, j);
    return keep;
}

static const int family[] = {-1, 0, 0, 1, 1, 2};

static at_tensor *case_tree(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    at_tensor *keep = keep_ancestors(t, family, in[0]->shape.dim[1]);
    return at_sdpa(t, in[0], in[1], in[2], (at_sdpa_args){.keep = keep});
}

/* Each path from the root is a causal sequence of its own; its last row is that of its node. */
static at_tensor *tree_by_paths(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    at_tensor *O[6];
    for (int i = 0; i < 6; i++) {
        at_tensor *k[6], *v[6], *q = at_slice(t, in[0], 1, i, i + 1);
        int n = 0;
        for (int j = i; j >= 0; j = family[j], n++) {
            k[n] = at_slice(t, in[1], 1, j, j + 1);
            v[n] = at_slice(t, in[2], 1, j, j + 1);
        }
        at_tensor *K = at_concat(t, k, n, 1), *V = at_concat(t, v, n, 1);
        O[i] = at_sdpa(t, q, K, V, (at_sdpa_args){0});
    }
    return at_concat(t, O, 6, 1);
}

static at_tensor *case_globals(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    const int T = in[0]->shape.dim[1];
    at_tensor *near = at_keep_window(t, T, T, 2, 2, ATTIC_ALIGN_EQUAL, 0);
    at_tensor *keep = at_or(t, near, at_keep_global(t, T, 1));
    return at_sdpa(t, in[0], in[1], in[2], (at_sdpa_args){.keep = keep});
}

/* ------------------------------------------------------------------ another softmax ------------ */

/* relu(e^x - 1) / sum |e^x - 1|, with both divided by e^m */
static at_tensor *case_softpick(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    at_tensor *zero = at_const(t, at_shape_of(), NULL);
    at_tensor *m = at_maximum(t, at_max_over(t, at_detach(t, in[0]), at_axes(-1), true), zero);
    at_tensor *e = at_exp(t, at_sub(t, in[0], m));
    at_tensor *d = at_sub(t, e, at_exp(t, at_neg(t, m)));
    at_tensor *sum = at_sum_over(t, at_abs(t, d), at_axes(-1), true);
    return at_div(t, at_relu(t, d), at_add_scalar(t, sum, 1e-30));
}

static void softpick_plainly(at_tape *t, at_tensor **in, void *ctx, double *y)
{
    (void)t, (void)ctx;
    const int N = at_last(in[0]->shape);
    for (ptrdiff_t i = 0; i < at_rows(in[0]->shape); i++) {
        double sum = 0;
        for (int j = 0; j < N; j++) sum += fabs(expm1(at_element(in[0], i * N + j)));
        for (int j = 0; j < N; j++)
            y[i * N + j] = fmax(expm1(at_element(in[0], i * N + j)), 0) / sum;
    }
}

/* Q, K, V [B,T,D], causal: a score of 0 takes no part */
static at_tensor *case_softpick_attention(at_tape *t, at_tensor **in, void *ctx)
{
    const int T = in[0]->shape.dim[1];
    at_tensor *future = at_not(t, at_keep_causal(t, T, T, ATTIC_ALIGN_EQUAL, 0));
    at_tensor *S = at_masked_fill(t, at_matmul_t(t, in[0], false, in[1], true), future, 0);
    return at_matmul(t, case_softpick(t, &S, ctx), in[2]);
}

#define VARIANT(name, shapes, f, hand, ...)                                                        \
    ROW(name, shapes, f, .ctx = &(case_of_variant){hand}, .reference = variant_by_hand, __VA_ARGS__)

const at_case at_cases_variants[] = {
    ROW("alibi_row_bias", "[3]", case_alibi_row),
    ROW("alibi_row_bias", "[0]", case_alibi_row, .expect = ATTIC_VACUOUS),
    VARIANT("alibi_row_bias", "[2,2,3,2] [2,2,3,2] [2,2,3,2] [2]", case_alibi_attention,
            alibi_by_distance, .note = "causal attention"),
    VARIANT("sdpa", "[2,2,4,2] [2,2,4,2] [2,2,4,2] [2,2,4]", case_forgetting, forgetting_by_cells,
            .note = "forget gates"),
    VARIANT("sdpa", "[1,1,3,2] [1,1,3,2] [1,1,3,2] [1,1,3]", case_forgetting, forgetting_by_cells,
            .low = 4, .high = 9, .note = "forget gates that hardly forget"),
    VARIANT("sdpa", "[2,3,4] [4,4] [4,4] [4,4] [4,4] [4,4]", case_gated, gated_by_hand,
            .note = "gated layer"),
    VARIANT("sdpa", "[1,4,3,2] [1,4,3,2] [1,2,3,4] [2] [2] [2] [2]", case_differential,
            differential_by_weights, .note = "differential"),
    VARIANT("sdpa", "[2,3,5] [5,10] [5,4] [4,6] [4,6] [5,2]", case_latent, latent_by_heads,
            .note = "latent keys and values"),
    VARIANT("sdpa", "[1,6,2] [1,6,2] [1,6,2]", case_tree, tree_by_paths, .note = "a tree"),
    ROW("sdpa", "[1,6,2] [1,6,2] [1,6,2]", case_globals, .note = "a window and a global token"),
    ROW("div", "[3,5]", case_softpick, .reference = softpick_plainly, .low = -2, .high = 2,
        .gap = 0.1, .note = "softpick"),
    ROW("div", "[2,3]", case_softpick, .reference = softpick_plainly, .low = -9, .high = -8,
        .expect = ATTIC_VACUOUS, .note = "softpick, nothing picked"),
    ROW("div", "[2,3]", case_softpick, .reference = softpick_plainly, .low = 300, .high = 301,
        .note = "softpick, far out"),
    ROW("matmul", "[1,3,2] [1,3,2] [1,3,2]", case_softpick_attention, .low = 0.2, .high = 1,
        .note = "softpick, causal"),
    {0}};
