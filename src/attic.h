/* attic.h -- ATTention In C: tensors, a tape, gradients, attention, training.
 *
 * In reading order: tensor.h and shape.h (what a tensor is), tape.h (what remembers, owns and
 * reports), ops.h (what can be computed), attention.h (attention), gradcheck.h (is a gradient
 * right?), then layers, optimizers and files; and data, tokenizers, text, runs and their
 * checkpoints (train/).
 *
 * Two more faces stand beside this one: attic_op.h, to write ops and to look inside, and
 * attic_plot.h, to draw pictures.  What none of them includes is private to the library. */
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

#include "gradcheck/gradcheck.h"
#include "autograd/profile.h"
#include "autograd/tangent.h"
#include "autograd/tape.h"

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
#include "train/model.h"
#include "train/lora.h"
#include "nn/norm.h"
#include "nn/optim.h"
#include "train/sample.h"
#include "nn/schedule.h"
#include "nn/statistics.h"

#include "io/file.h"
#include "io/npy.h"
#include "io/tensors.h"

#include "train/tokenizer.h"
#include "train/data.h"
#include "train/run.h"
#include "train/checkpoint.h"
#include "train/generate.h"
#include "train/import.h"

#endif
