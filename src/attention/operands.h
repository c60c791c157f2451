/* operands.h -- the tensors of one call of at_sdpa, as the plain and the fused path read them. */
#ifndef AT_ATTENTION_OPERANDS_H
#define AT_ATTENTION_OPERANDS_H
#include "kernels/real.h"

#include "attention/identities.h"
#include "attention/problem.h"
#include "autograd/op.h"

/* NULL: not given, not asked for, or no upstream gradient has arrived. */
typedef struct {
    at_node *node;
    const at_sdpa_plan *p;
    REAL *Q, *K, *V, *bias, *O, *weights, *raw, *probs, *lse;
    REAL *dQ, *dK, *dV, *dbias, *dO, *dW;
    const unsigned char *keep;
    const at_tensor *key_len;
    REAL *saved;            /* of each row: m, 1/l, delta */
    at_sdpa_checks *checks; /* NULL: backward does not check itself */
} sdpa_operands;

#define sdpa_operands_of(...) AT_REAL(sdpa_operands_of)(__VA_ARGS__)
#define sdpa_operands_back(...) AT_REAL(sdpa_operands_back)(__VA_ARGS__)
sdpa_operands sdpa_operands_of(at_node *n);            /* what forward reads and writes */
void sdpa_operands_back(at_node *n, sdpa_operands *x); /* the gradients as well; begins a check */

#endif
