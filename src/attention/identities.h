/* identities.h -- the backward of attention checks itself, whichever path it takes. */
#ifndef AT_ATTENTION_IDENTITIES_H
#define AT_ATTENTION_IDENTITIES_H
#include "attention/plan.h"
#include "kernels/real.h"

/* The two sides of an identity, and how much they may differ by. */
typedef struct {
    double left, right, tolerance;
} at_sdpa_sides;

/* Of one key/value head: <Q,dQ> and <K,dK>, <V,dV> and <O,dO>, sum_j dK_j and 0. */
typedef struct {
    at_sdpa_sides Q, V, K;
} at_sdpa_verdict;

/* Runs `backward` and makes sure that the identities hold for what it added to the gradients; the
 * first head in which one does not is a sticky error. */
AT_EACH_REAL(void, sdpa_checked, (at_node * n, void (*backward)(at_node *)));
void at_sdpa_judge(const at_node *n, int b, int g, at_sdpa_verdict head);

#endif
