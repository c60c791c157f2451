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

#endif
