/* mlp.c -- linear layers with a function between; see mlp.h. */
#include "nn/mlp.h"

#include <math.h>

#include "autograd/op.h"

static bool mlp_is_possible(at_tape *t, const int *width, int n, at_activation act)
{
    AT_REQUIRE(t, width && n >= 2, "mlp: %d widths%s, but at least 2 are needed", n,
               width ? "" : " at NULL");
    for (int i = 0; i < n; i++)
        AT_REQUIRE(t, width[i] > 0, "mlp: width %d is %d, but must be positive", i, width[i]);
    AT_REQUIRE(t, act != ATTIC_SWIGLU, "mlp: SwiGLU takes two products of x: see at_ffn_make");
    return at_activation_check(t, "mlp", act);
}

at_mlp at_mlp_make(at_tape *t, const int *width, int n, at_activation act)
{
    at_mlp m = {.act = act};
    if (!mlp_is_possible(t, width, n, act)) return m;
    m.layer = at_permanent_alloc(t, (size_t)(n - 1) * sizeof *m.layer);
    m.layers = m.layer ? n - 1 : 0;
    for (int i = 0; i < m.layers; i++) {
        const bool bends = act == ATTIC_RELU && i + 1 < m.layers;
        char name[12];
        snprintf(name, sizeof name, "%d", i);
        m.layer[i] = at_linear_make(t, name, width[i], width[i + 1], true,
                                    bends ? at_he_normal(sqrt(2)) : at_xavier_normal(1));
    }
    return m;
}

at_tensor *at_mlp_apply(at_tape *t, const at_mlp *m, at_tensor *x)
{
    AT_REQUIRE(t, m && m->layer, "mlp: the net is NULL");
    for (int i = 0; i < m->layers; i++) {
        x = at_linear_apply(t, m->layer[i], x); /* [...,width[i]] -> [...,width[i+1]] */
        if (i + 1 < m->layers) x = at_activate(t, m->act, x);
    }
    return x;
}
