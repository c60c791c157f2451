/* attic.h -- ATTention In C: tensors, a tape, gradients, attention.  Includes every public header.
 *
 * In reading order: tensor.h and shape.h (what a tensor is), tape.h (what remembers, owns and
 * reports), ops.h (what can be computed), attention.h (attention), op.h (how to write an op),
 * gradcheck.h (is its gradient right?). */
#ifndef ATTIC_H
#define ATTIC_H
#ifdef __FAST_MATH__
#error "attic needs infinities and NaNs: do not compile with -ffast-math or -Ofast"
#endif

#include "version.h"

#include "kernels/parallel.h"
#include "kernels/rng.h"

#include "tensor/decimal.h"
#include "tensor/compare.h"
#include "tensor/init.h"
#include "tensor/print.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

#include "autograd/gradcheck.h"
#include "autograd/op.h"
#include "autograd/tape.h"

#include "ops/ops.h"

#include "attention/attention.h"
#include "attention/masks.h"
#include "attention/position.h"
#include "attention/variants.h"

#include "nn/attention_layer.h"
#include "nn/cache.h"
#include "nn/linear.h"
#include "nn/optim.h"
#include "nn/sample.h"
#include "nn/schedule.h"
#include "nn/statistics.h"
#include "nn/transformer.h"

#include "io/corpus.h"
#include "io/file.h"
#include "io/npy.h"

#include "plot/graph.h"
#include "plot/grid.h"
#include "plot/picture.h"
#include "plot/progress.h"
#include "plot/svg.h"
#include "plot/term.h"

#endif
