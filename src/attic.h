/* attic.h -- ATTention In C, the engine: tensors, a tape, gradients, attention, layers, optimizers.
 *
 * In reading order: tensor.h and shape.h (what a tensor is), tape.h (what remembers, owns and
 * reports), ops.h (what can be computed), attention.h (attention), gradcheck.h (is a gradient
 * right?), then layers and optimizers.
 *
 * Three more faces stand beside this one, and each includes it: attic_train.h (models, data,
 * tokenizers, runs, files of tensors), attic_plot.h (pictures) and attic_op.h (to write ops and to
 * look inside).  What none of them includes is private to the library. */
#ifndef ATTIC_H
#define ATTIC_H
#ifdef __FAST_MATH__
#error "attic needs infinities and NaNs: do not compile with -ffast-math or -Ofast"
#endif

#include "version.h"

#include "kernels/random.h"
#include "system/thread_count.h"

#include "tensor/compare.h"
#include "tensor/init.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

#include "autograd/file.h"
#include "autograd/profile.h"
#include "autograd/tangent.h"
#include "autograd/tape.h"

#include "gradcheck/gradcheck.h"

#include "ops/ops.h"

#include "attention/attention.h"
#include "attention/masks.h"
#include "attention/position.h"
#include "attention/tangent.h"
#include "attention/variants.h"

#include "nn/attention_layer.h"
#include "nn/block.h"
#include "nn/cache.h"
#include "nn/ffn.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "nn/optim.h"
#include "nn/schedule.h"
#include "nn/statistics.h"

#endif
