/* attention_layer.c -- multi-head attention as a layer; see attention_layer.h. */
#include "nn/attention_layer.h"

#include <math.h>

#include "autograd/op.h"
#include "ops/ops.h"
#include "ops/rope.h"

static int key_heads(at_attention_config c)
{
    return c.kv_heads ? c.kv_heads : c.heads;
}

bool at_attention_check(at_tape *t, at_attention_config c)
{
    int G = key_heads(c);
    AT_REQUIRE(t, c.dim > 0 && c.heads > 0 && G > 0,
               "attention: dim %d, heads %d and kv_heads %d must be positive", c.dim, c.heads, G);
    AT_REQUIRE(t, c.dim % c.heads == 0, "attention: dim %d can't be cut into %d heads", c.dim,
               c.heads);
    AT_REQUIRE(t, c.heads % G == 0, "attention: %d heads can't share %d key/value heads evenly",
               c.heads, G);
    AT_REQUIRE(t, !c.rope || c.dim / c.heads % 2 == 0,
               "attention: rope rotates pairs of features, but a head has dim %d / heads %d = %d",
               c.dim, c.heads, c.dim / c.heads);
    AT_REQUIRE(t, c.rope_base >= 0 && isfinite(c.rope_base),
               "attention: rope_base is %g but must be positive, or 0 for 10000", c.rope_base);
    if (!at_check_rope_scaling(t, "attention", c.rope_base, &c.rope_scaling) ||
        !at_norm_check(t, ATTIC_RMS, c.norm_eps))
        return false;
    AT_REQUIRE(t, c.window >= 0, "attention: window is %d but must be positive, or 0 for none",
               c.window);
    AT_REQUIRE(t, c.dropout >= 0 && c.dropout < 1,
               "attention: dropout is %g but must be at least 0 and less than 1", c.dropout);
    return true;
}

static bool is_layer(at_tape *t, const at_attention *a)
{
    AT_REQUIRE(t, a, "attention: the layer is NULL");
    return at_attention_check(t, a->config);
}

at_attention at_attention_make(at_tape *t, at_attention_config config, double out_gain)
{
    at_attention a = {.config = config};
    if (!at_attention_check(t, config)) return a;
    int C = config.dim, D = C / config.heads, G = key_heads(config);
    a.q = at_linear_make(t, "q", C, C, config.bias, at_xavier_normal(1));
    a.k = at_linear_make(t, "k", C, G * D, config.bias, at_xavier_normal(1));
    a.v = at_linear_make(t, "v", C, G * D, config.bias, at_xavier_normal(1));
    a.o = at_linear_make(t, "o", C, C, config.bias, at_xavier_normal(out_gain));
    if (config.qk_norm) {
        a.q_norm = at_norm_make(t, "q_norm", D, ATTIC_RMS, false, config.norm_eps);
        a.k_norm = at_norm_make(t, "k_norm", D, ATTIC_RMS, false, config.norm_eps);
    }
    if (config.gate) a.gate = at_linear_make(t, "gate", C, C, config.bias, at_xavier_normal(1));
    if (config.sinks) a.sink = at_param(t, "sink", at_shape_of(config.heads), at_zeros());
    return at_ok(t) ? a : (at_attention){.config = config};
}

/* Each of n heads of y [...,n*D] normalised by itself. */
static at_tensor *norm_heads(at_tape *t, at_norm norm, at_tensor *y, int n)
{
    if (!y) return NULL;
    AT_REQUIRE(t, y->shape.ndim < AT_MAX_DIMS, "attention: x has %d axes, too many", y->shape.ndim);
    at_shape packed = y->shape, heads = packed;
    heads.dim[heads.ndim - 1] = n; /* [...,n*D] -> [...,n,D] */
    heads.dim[heads.ndim++] = at_last(packed) / n;
    return at_reshape(t, at_norm_apply(t, norm, at_reshape(t, y, heads)), packed);
}

/* x W + b, each of n heads normalised, then rotated by its rows' positions. */
static at_tensor *project_heads(at_tape *t, at_attention_config c, at_linear layer, at_norm norm,
                                at_tensor *x, int n, int position, at_tensor *positions)
{
    AT_REQUIRE(t, c.rope || !positions,
               "attention: positions are given, but the layer has no rope");
    at_tensor *y = at_linear_apply(t, layer, x);
    if (c.qk_norm) y = norm_heads(t, norm, y, n);
    at_rope_args args = {.base = c.rope_base,
                         .offset = position,
                         .half_split = c.rope_halves,
                         .heads = n,
                         .scaling = c.rope_scaling,
                         .positions = positions};
    return c.rope ? at_rope(t, y, args) : y;
}

at_tensor *at_attention_queries(at_tape *t, const at_attention *a, at_tensor *x, int position,
                                at_tensor *positions)
{
    if (!is_layer(t, a)) return NULL;
    const int H = a->config.heads;
    at_tensor *Q = project_heads(t, a->config, a->q, a->q_norm, x, H, position, positions);
    return at_label(Q, "Q");
}

at_tensor *at_attention_keys(at_tape *t, const at_attention *a, at_tensor *m, int position,
                             at_tensor *positions)
{
    if (!is_layer(t, a)) return NULL;
    const int G = key_heads(a->config);
    at_tensor *K = project_heads(t, a->config, a->k, a->k_norm, m, G, position, positions);
    return at_label(K, "K");
}

at_tensor *at_attention_values(at_tape *t, const at_attention *a, at_tensor *m)
{
    if (!is_layer(t, a)) return NULL;
    return at_label(at_linear_apply(t, a->v, m), "V");
}

/* O sigmoid(x Wg) */
static at_tensor *gate_heads(at_tape *t, const at_attention *a, at_tensor *x, at_tensor *O)
{
    at_tensor *g = at_label(at_sigmoid(t, at_linear_apply(t, a->gate, x)), "gate");
    if (!O || !g) return NULL;
    AT_REQUIRE(t, at_same_shape(g->shape, O->shape),
               "attention: x is %s, so its gate is %s, but the heads are %s", at_text(x),
               at_text(g), at_text(O));
    return at_mul(t, O, g);
}

at_tensor *at_attention_combine(at_tape *t, const at_attention *a, at_tensor *x, at_tensor *Q,
                                at_tensor *K, at_tensor *V, at_sdpa_args with)
{
    if (!is_layer(t, a)) return NULL;
    with.heads = a->config.heads;
    with.kv_heads = key_heads(a->config);
    with.dropout = a->config.dropout;
    if (a->config.sinks) with.sink = a->sink;
    if (a->config.window) with.window_left = a->config.window;
    with.positions = with.key_positions = NULL; /* Q and K are rotated */
    at_tensor *O = at_label(at_sdpa(t, Q, K, V, with), "heads");
    if (O && with.scores) at_label(*with.scores, "scores");
    if (O && with.probs) at_label(*with.probs, "probs");
    if (O && with.weights) at_label(*with.weights, "weights");
    if (a->config.gate) O = gate_heads(t, a, x, O);
    return at_label(at_linear_apply(t, a->o, O), "output");
}

at_tensor *at_attention_apply(at_tape *t, const at_attention *a, at_tensor *x, at_tensor *m,
                              at_sdpa_args with)
{
    at_tensor *P = with.positions, *key_P = m || with.key_positions ? with.key_positions : P;
    if (!m) m = x;
    at_tensor *Q = at_attention_queries(t, a, x, 0, P);  /* [B,T,C] -> [B,T,H*D] */
    at_tensor *K = at_attention_keys(t, a, m, 0, key_P); /* [B,N,C] -> [B,N,G*D] */
    at_tensor *V = at_attention_values(t, a, m);
    return at_attention_combine(t, a, x, Q, K, V, with);
}
