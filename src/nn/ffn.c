/* ffn.c -- the feed-forward net of a transformer's block; see ffn.h. */
#include "nn/ffn.h"

#include <limits.h>

#include "autograd/op.h"
#include "ops/ops.h"

bool at_activation_check(at_tape *t, const char *what, at_activation act)
{
    AT_REQUIRE(t, act >= ATTIC_GELU && act <= ATTIC_TANH,
               "%s: there is no activation %d, only %d to %d (at_activation)", what, (int)act,
               (int)ATTIC_GELU, (int)ATTIC_TANH);
    return true;
}

bool at_ffn_check(at_tape *t, at_ffn_config c)
{
    if (!at_activation_check(t, "feed-forward", c.act)) return false;
    AT_REQUIRE(t, c.dim > 0 && c.dim <= INT_MAX / 4, "feed-forward: dim is %d but must be 1 to %d",
               c.dim, INT_MAX / 4);
    AT_REQUIRE(t, c.hidden >= 0, "feed-forward: hidden is %d but must be positive, or 0 for %s",
               c.hidden, c.act == ATTIC_SWIGLU ? "8/3 dim" : "4 dim");
    return true;
}

static int default_hidden(at_ffn_config c)
{
    return c.act == ATTIC_SWIGLU ? 8 * ((c.dim + 2) / 3) : 4 * c.dim;
}

at_ffn at_ffn_make(at_tape *t, at_ffn_config c, double out_gain)
{
    at_ffn f = {.config = c};
    if (!at_ffn_check(t, c)) return f;
    if (!c.hidden) f.config.hidden = c.hidden = default_hidden(c);
    at_init draw = at_xavier_normal(1);
    if (c.act == ATTIC_SWIGLU) f.gate = at_linear_make(t, "gate", c.dim, c.hidden, c.bias, draw);
    f.up = at_linear_make(t, "up", c.dim, c.hidden, c.bias, draw);
    f.down = at_linear_make(t, "down", c.hidden, c.dim, c.bias, at_xavier_normal(out_gain));
    return f;
}

at_tensor *at_activate(at_tape *t, at_activation act, at_tensor *x)
{
    switch (act) {
    case ATTIC_GELU_TANH: return at_gelu_tanh(t, x);
    case ATTIC_RELU: return at_relu(t, x);
    case ATTIC_RELU2: return at_relu2(t, x);
    case ATTIC_TANH: return at_tanh(t, x);
    case ATTIC_SILU:
    case ATTIC_SWIGLU: return at_silu(t, x);
    default: return at_gelu(t, x);
    }
}

at_tensor *at_ffn_apply(at_tape *t, const at_ffn *f, at_tensor *x)
{
    AT_REQUIRE(t, f, "feed-forward: the net is NULL");
    bool gated = f->config.act == ATTIC_SWIGLU;
    at_tensor *h = at_linear_apply(t, gated ? f->gate : f->up, x); /* [...,dim] -> [...,hidden] */
    h = at_activate(t, f->config.act, h);
    if (gated) h = at_mul(t, h, at_linear_apply(t, f->up, x));
    at_label(h, "hidden");
    return at_label(at_linear_apply(t, f->down, h), "output"); /* [...,hidden] -> [...,dim] */
}
