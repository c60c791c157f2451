/* losses.h -- what the losses share.  Private to the library. */
#ifndef AT_OPS_LOSSES_H
#define AT_OPS_LOSSES_H
#include "ops/op.h"

/* Is there such a reduction?  If not, an error. */
bool at_check_reduction(at_tape *t, const char *op, at_reduction r);

/* Cross-entropy with the targets q [...,N], a distribution for each row of logits. */
at_tensor *at_cross_probabilities(at_tape *t, at_tensor *logits, at_tensor *q,
                                  at_cross_entropy_args args);

#endif
