/* op.h -- what every op file includes: how an op is written, and the kernels it is made of. */
#ifndef AT_OPS_OP_H
#define AT_OPS_OP_H
#include <math.h>
#include <string.h>

#include "autograd/op.h"
#include "kernels/gemm.h"
#include "kernels/parallel.h"
#include "kernels/rng.h"
#include "kernels/rows.h"
#include "ops/ops.h"

/* Backward of an op whose output is its input in another shape: dx = dy. */
void at_pass_back(at_node *n);

/* Is there such a reduction?  If not, an error. */
bool at_check_reduction(at_tape *t, const char *op, at_reduction r);

/* Cross-entropy with the targets q [...,N], a distribution for each row of logits. */
at_tensor *at_cross_probabilities(at_tape *t, at_tensor *logits, at_tensor *q,
                                  at_cross_entropy_args args);

#endif
