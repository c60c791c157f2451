/* operands.c -- finds the tensors of one call; see operands.h. */
#include "attention/operands.h"

#include "attention/documents.h"
#include "kernels/real.h"
#include "ops/op.h"

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
        .scale = in[AT_SDPA_SCALE] ? in[AT_SDPA_SCALE]->data : NULL,
        .sink = in[AT_SDPA_SINK] ? in[AT_SDPA_SINK]->data : NULL,
        .O = out[0]->data,
        .weights = p->weights ? out[p->weights]->data : NULL,
        .raw = p->raw ? out[p->raw]->data : NULL,
        .probs = p->probs ? out[p->probs]->data : NULL,
        .lse = p->lse ? out[p->lse]->data : NULL,
        .dO = out[0]->grad,
        .dW = p->weights ? out[p->weights]->grad : NULL,
        .dY = p->probs ? out[p->probs]->grad : NULL,
        .dlse = p->lse ? out[p->lse]->grad : NULL,
        .keep = in[AT_SDPA_KEEP] ? in[AT_SDPA_KEEP]->data : NULL,
        .key_len = in[AT_SDPA_LEN] ? in[AT_SDPA_LEN]->data : NULL,
        .segments = in[AT_SDPA_SEGMENTS] ? in[AT_SDPA_SEGMENTS]->data : NULL,
        .key_segments = in[AT_SDPA_SEGMENTS] ? in[AT_SDPA_KEY_SEGMENTS]->data : NULL,
        .saved = n->saved,
    };
}

void sdpa_operands_back(at_node *n, sdpa_operands *call)
{
    call->dQ = at_sdpa_grad(n, AT_SDPA_Q);
    call->dK = at_sdpa_grad(n, AT_SDPA_K);
    call->dV = at_sdpa_grad(n, AT_SDPA_V);
    call->dbias = at_grad(n, AT_SDPA_BIAS);
    const ptrdiff_t rows = at_count(call->p->rows);
    call->ds = rows && at_grad(n, AT_SDPA_SCALE) ? call->saved + AT_SDPA_SAVED * rows : NULL;
    if (call->ds) memset(call->ds, 0, (size_t)rows * sizeof *call->ds);
}

/* ds_h = the sum over the rows of head h in all batches, in this order on any number of threads */
static void operands_add_scale(at_node *n, REAL *ds)
{
    const at_sdpa_plan *p = n->args;
    if (!ds || !n->saved) return;
    const REAL *rows = (REAL *)n->saved + AT_SDPA_SAVED * at_count(p->rows);
    for (int h = 0; h < p->H; h++) {
        WIDE sum = 0;
        for (int b = 0; b < p->B; b++)
            for (int i = 0; i < p->T; i++) sum += (WIDE)rows[at_sdpa_row_number(p, b, h, i)];
        ds[h * p->next_head] += (REAL)sum;
    }
}

/* ds_h = -sum_i p_i delta_i over the rows of head h: dS of a key whose dP is 0.  With tangents that
 * is the gradient of the sink's tangent, and the one of the sink -sum_i p_i (w_i delta_i +
 * deltadot_i), w_i = sinkdot - ref_i - mu_i: see tangent.c. */
static void operands_add_sink(at_node *n)
{
    enum { ROWS = 64 };
    REAL weight[ROWS];
    const sdpa_operands call = sdpa_operands_of(n);
    const at_sdpa_plan *p = call.p;
    REAL *ds = at_grad(n, p->tangents ? AT_SDPA_SINK_DOT : AT_SDPA_SINK);
    REAL *dsdot = p->tangents ? at_grad(n, AT_SDPA_SINK) : NULL;
    const at_tensor *tangent = p->tangents ? n->in[AT_SDPA_SINK_DOT] : NULL;
    for (int h = 0; (ds || dsdot) && h < p->H; h++) {
        const ptrdiff_t at = h * p->next_sink;
        const REAL sinkdot = tangent ? ((const REAL *)tangent->data)[at] : 0;
        WIDE sum = 0, sumdot = 0;
        if (VALUE(call.sink[at]) == MINUS_INFINITY) continue;
        for (int b = 0; b < p->B; b++)
            for (int i = 0; i < p->T; i++) {
                const REAL *row = call.saved + AT_SDPA_SAVED * at_sdpa_row_number(p, b, h, i);
                const int r = i % ROWS, rows = p->T - i < ROWS ? p->T - i : ROWS;
                if (r == 0) sdpa_sink_weights(call.sink[at], rows, row, weight);
                sum += (WIDE)(weight[r] * row[2]);
                if (!dsdot) continue;
                const REAL *dot = row + AT_SDPA_SAVED * at_count(p->rows);
                const REAL w = VALUE(row[1]) == 0 ? 0 : sinkdot - dot[1] - dot[0];
                sumdot += (WIDE)(weight[r] * mul_add(w, row[2], dot[2]));
            }
        if (ds) ds[at] -= (REAL)sum;
        if (dsdot) dsdot[at] -= (REAL)sumdot;
    }
}

void AT_REAL(sdpa_add_up)(at_node *n)
{
    const at_sdpa_plan *p = n->args;
    for (int i = 0; p->own && i < n->n_in; i++) {
        void *dx = p->own & 1u << i ? at_grad(n, i) : NULL;
        if (dx) add_rows(1, at_count(n->in[i]->shape), at_sdpa_copy(n, i), 0, dx, 0);
    }
    if (p->scaled) operands_add_scale(n, at_grad(n, AT_SDPA_SCALE));
    if (p->sinks) operands_add_sink(n);
}

#ifdef AT_ONCE

at_sdpa_space at_sdpa_space_of(const at_sdpa_plan *p, at_tensor *const *in)
{
    at_sdpa_space r = {0};
    const size_t rows = (size_t)at_count(p->rows) * at_dtype_size(in[0]->dtype);
    at_sdpa_take(&r.total, rows * AT_SDPA_SAVED * (p->tangents ? 2 : 1) + rows * p->scaled);
    for (int i = 0; (p->checked || p->own) && i < AT_SDPA_INPUTS; i++)
        if ((p->checked && i <= AT_SDPA_V) || p->own & 1u << i)
            r.copy[i] = at_sdpa_take(&r.total, at_bytes(in[i]));
    if (p->checked)
        r.heads = at_sdpa_take(&r.total, (size_t)p->B * (size_t)p->G * sizeof(at_sdpa_verdict));
    if (p->path == ATTIC_FUSED && in[AT_SDPA_SEGMENTS])
        r.documents = at_sdpa_take(&r.total, at_sdpa_documents_bytes(p));
    return r;
}

void *at_sdpa_copy(const at_node *n, int i)
{
    return at_sdpa_after(n->saved, at_sdpa_space_of(n->args, n->in).copy[i]);
}

void *at_sdpa_grad(at_node *n, int i)
{
    const at_sdpa_plan *p = n->args;
    if (!(p->own & 1u << i)) return at_grad(n, i);
    size_t bytes = at_bytes(n->in[i]);
    return bytes ? memset(at_sdpa_copy(n, i), 0, bytes) : NULL;
}

#endif
