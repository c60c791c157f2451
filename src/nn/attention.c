/* attention.c -- multi-head attention as a layer; see attention.h. */
#include "nn/attention.h"

#include "autograd/op.h"

/* Not through AT_REQUIRE: a layer is returned by value, and an unusable one holds NULLs. */
static bool config_fits(at_tape *t, at_attention_config c)
{
    int G = c.kv_heads ? c.kv_heads : c.heads;
    if (c.dim > 0 && c.heads > 0 && G > 0 && c.dim % c.heads == 0 && c.heads % G == 0) return true;
    return at_fail(t, ATTIC_USER_ERROR,
                   "attention: dim %d must be a multiple of heads %d, and heads of kv_heads %d",
                   c.dim, c.heads, G);
}

at_attention at_attention_make(at_tape *t, at_attention_config config, double out_gain)
{
    at_attention a = {.config = config};
    if (!at_ok(t) || !config_fits(t, config)) return a;
    int C = config.dim, D = C / config.heads;
    int G = config.kv_heads ? config.kv_heads : config.heads;
    a.q = at_linear_make(t, "q", C, C, config.bias, at_xavier_normal(1));
    a.k = at_linear_make(t, "k", C, G * D, config.bias, at_xavier_normal(1));
    a.v = at_linear_make(t, "v", C, G * D, config.bias, at_xavier_normal(1));
    a.o = at_linear_make(t, "o", C, C, config.bias, at_xavier_normal(out_gain));
    return a;
}

at_tensor *at_attention_apply(at_tape *t, const at_attention *a, at_tensor *x, at_tensor *m,
                              at_sdpa_args with)
{
    with.heads = a->config.heads;
    with.kv_heads = a->config.kv_heads;
    with.dropout = a->config.dropout;
    if (!m) m = x;
    at_tensor *Q = at_linear_apply(t, a->q, x); /* [B,T,C] -> [B,T,H*D] */
    at_tensor *K = at_linear_apply(t, a->k, m); /* [B,S,C] -> [B,S,G*D] */
    at_tensor *V = at_linear_apply(t, a->v, m);
    if (a->config.rope) {
        int G = with.kv_heads ? with.kv_heads : with.heads;
        Q = at_rope(t, Q, (at_rope_args){.heads = with.heads});
        K = at_rope(t, K, (at_rope_args){.heads = G});
    }
    return at_linear_apply(t, a->o, at_sdpa(t, Q, K, V, with));
}
