/* norm.c -- layer norm and rms norm with their parameters; see norm.h. */
#include "nn/norm.h"

#include <math.h>

#include "autograd/op.h"
#include "ops/ops.h"

bool at_norm_check(at_tape *t, at_norm_kind kind, double eps)
{
    AT_REQUIRE(t, kind == ATTIC_LAYER_NORM || kind == ATTIC_RMS,
               "norm: kind %d is neither ATTIC_LAYER_NORM nor ATTIC_RMS", (int)kind);
    return at_check_eps(t, "norm", eps);
}

at_norm at_norm_make(at_tape *t, const char *name, int dim, at_norm_kind kind, bool bias,
                     double eps)
{
    at_norm norm = {.kind = kind, .eps = eps > 0 ? eps : 1e-5};
    if (!at_norm_check(t, kind, eps)) return norm;
    at_scope(t, name);
    norm.g = at_param(t, "g", at_shape_of(dim), at_ones());
    if (bias && kind == ATTIC_LAYER_NORM) norm.b = at_param(t, "b", at_shape_of(dim), at_zeros());
    at_scope_end(t);
    if (!at_ok(t)) norm.g = norm.b = NULL;
    return norm;
}

at_tensor *at_norm_apply(at_tape *t, at_norm norm, at_tensor *x)
{
    if (!at_check_input(t, "norm", "the norm's g", norm.g, ATTIC_REAL)) return NULL;
    return norm.kind == ATTIC_RMS ? at_rms_norm(t, x, norm.g, norm.eps)
                                  : at_layer_norm(t, x, norm.g, norm.b, norm.eps);
}
