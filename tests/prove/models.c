/* models.c -- cases whose parameters are made within: layers, and a model with its loss. */
#include "gradients/cases.h"

extern const at_case at_cases_models[];

/* x [B,T,D] through a linear layer */
static at_tensor *case_linear(at_tape *t, at_tensor **in, void *ctx)
{
    const int n = at_last(in[0]->shape);
    return at_linear_apply(t, at_linear_make(t, "linear", n, *(int *)ctx, true, at_normal(1)),
                           in[0]);
}

const at_case at_cases_models[] = {ROW("linear", "[2,3,4]", case_linear, .ctx = &(int){5}), {0}};
