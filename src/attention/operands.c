/* operands.c -- finds the tensors of one call; see operands.h. */
#include "attention/operands.h"

#include "kernels/real.h"

sdpa_operands sdpa_operands_of(at_node *n)
{
    const at_sdpa_plan *p = n->args;
    at_tensor **in = n->in, **out = n->out;
    return (sdpa_operands){
        .node = n,
        .p = p,
        .Q = in[AT_SDPA_Q]->data,
        .K = in[AT_SDPA_K]->data,
        .V = in[AT_SDPA_V]->data,
        .bias = in[AT_SDPA_BIAS] ? in[AT_SDPA_BIAS]->data : NULL,
        .keep = in[AT_SDPA_KEEP] ? in[AT_SDPA_KEEP]->data : NULL,
        .key_len = in[AT_SDPA_KEY_LEN],
        .O = out[0]->data,
        .weights = p->weights ? out[p->weights]->data : NULL,
        .raw = p->raw ? out[p->raw]->data : NULL,
        .probs = p->probs ? out[p->probs]->data : NULL,
        .lse = p->lse ? out[p->lse]->data : NULL,
        .saved = n->saved,
    };
}

void sdpa_operands_back(at_node *n, sdpa_operands *x)
{
    x->dQ = at_sdpa_grad(n, AT_SDPA_Q);
    x->dK = at_sdpa_grad(n, AT_SDPA_K);
    x->dV = at_sdpa_grad(n, AT_SDPA_V);
    x->dbias = at_grad(n, AT_SDPA_BIAS);
    x->dO = n->out[0]->grad;
    x->dW = x->p->weights ? n->out[x->p->weights]->grad : NULL;
    x->checks = AT_REAL(sdpa_checks_begin)(n);
}
