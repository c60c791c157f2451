/* linear.c -- y = x W + b; see linear.h. */
#include "nn/linear.h"

#include "autograd/op.h"

#include "ops/ops.h"

at_linear at_linear_make(at_tape *t, const char *name, int n_in, int n_out, bool bias, at_init init)
{
    at_scope(t, name);
    at_linear layer = {.W = at_param(t, "W", at_shape_of(n_in, n_out), init)};
    if (bias) layer.b = at_param(t, "b", at_shape_of(n_out), at_zeros());
    at_scope_end(t);
    return at_ok(t) ? layer : (at_linear){0};
}

at_tensor *at_linear_apply(at_tape *t, at_linear layer, at_tensor *x)
{
    at_tensor *y = at_affine(t, x, layer.W, layer.b); /* [...,n_in] [n_in,n_out] -> [...,n_out] */
    if (!y || !layer.lora_A) return y;
    if (!at_check_any(t, "linear", "lora_A", layer.lora_A) ||
        !at_check_any(t, "linear", "lora_alpha", layer.lora_alpha))
        return NULL;
    double scale = at_item(layer.lora_alpha) / at_last(layer.lora_A->shape);
    at_tensor *h = at_affine(t, x, layer.lora_A, NULL); /* [...,n_in] [n_in,r] -> [...,r] */
    h = at_affine(t, at_scale(t, h, scale), layer.lora_B, NULL);
    return at_add(t, y, h);
}
