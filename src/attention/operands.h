/* operands.h -- the tensors of one call of at_sdpa, as the plain and the fused path read them. */
#ifndef AT_ATTENTION_OPERANDS_H
#define AT_ATTENTION_OPERANDS_H
#include "attention/identities.h"
#include "attention/plan.h"
#include "autograd/op.h"
#include "kernels/real.h"

/* NULL: not given, not asked for, or no upstream gradient has arrived. */
typedef struct sdpa_operands {
    at_node *node;
    const at_sdpa_plan *p;
    REAL *Q, *K, *V, *bias, *scale, *O, *weights, *raw, *probs, *lse;
    REAL *dQ, *dK, *dV, *dbias, *ds, *dO, *dW, *dY; /* dW, dY: of the outputs weights and probs */
    const unsigned char *keep;
    const at_tensor *key_len;
    REAL *saved; /* of each row m, 1/l, delta; then of each row its share of ds */
    const struct sdpa_operands *dot; /* of at_sdpa_jvp, the tangents of all this: see tangent.c */
} sdpa_operands;

#define sdpa_operands_of(...) AT_REAL(sdpa_operands_of)(__VA_ARGS__)
#define sdpa_operands_back(...) AT_REAL(sdpa_operands_back)(__VA_ARGS__)
sdpa_operands sdpa_operands_of(at_node *n);               /* all but the gradients of the inputs */
void sdpa_operands_back(at_node *n, sdpa_operands *call); /* these, and ds, set to 0 */

/* The same with tangents: x has dQ = d(loss)/dQdot, and *dot has dQdot = d(loss)/dQ; see
 * tangent.c.  _back: the gradients of the inputs, too. */
#define sdpa_tangents_of(...) AT_REAL(sdpa_tangents_of)(__VA_ARGS__)
#define sdpa_tangents_back(...) AT_REAL(sdpa_tangents_back)(__VA_ARGS__)
void sdpa_tangents_of(at_node *n, sdpa_operands *call, sdpa_operands *dot);
void sdpa_tangents_back(at_node *n, sdpa_operands *call, sdpa_operands *dot);

/* c s_h: what the scores of head h are multiplied with. */
static inline REAL sdpa_factor(const sdpa_operands *call, int h)
{
    const REAL c = (REAL)call->p->c;
    return call->scale ? c * call->scale[h * call->p->next_head] : c;
}

/* Bytes of n->saved: of each row m, 1/l, delta and, with a learned scale, ds; a copy of Q's, K's or
 * V's gradient, or one of their tangents', where one is needed; and what a check finds. */
size_t at_sdpa_saved(const at_sdpa_plan *p, at_tensor *const *in);
/* The gradient of in[i], not of a bias, by itself if in[i] has another role as well; or as it was,
 * if backward is checked. */
void *at_sdpa_copy(const at_node *n, int i);
at_sdpa_verdict *at_sdpa_verdicts(const at_node *n);
/* Where a path adds up the gradient of in[i]: at_grad(n, i), or at_sdpa_copy(n, i), set to 0.
 * NULL: not wanted. */
void *at_sdpa_grad(at_node *n, int i);
AT_KERNEL(sdpa_plain_forward);
AT_KERNEL(sdpa_plain_backward);
AT_KERNEL(sdpa_fused_forward);
AT_KERNEL(sdpa_fused_backward);
AT_KERNEL(tangent_tiles_forward);
AT_KERNEL(tangent_tiles_backward);
/* For a profile: each row and key that it may attend take so many multiply-adds in the products. */
void at_sdpa_count(const at_node *n, double products);
/* At the end: gradients collected by themselves are added to those of their tensors. */
AT_KERNEL(sdpa_add_copies);

#endif
