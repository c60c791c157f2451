/* attic_op.h -- to write an op, and to look inside a tape.
 *
 * In reading order: op.h (how an op is written and recorded, and how it adds gradients), layout.h
 * (axes, broadcasting, values of any dtype), map.h (ops that are formulas over elements),
 * persist.h (state of parameters), parallel.h (threads), rng.h (random bits), print.h. */
#ifndef ATTIC_OP_H
#define ATTIC_OP_H
#include "attic.h"

#include "kernels/parallel.h"
#include "kernels/rng.h"

#include "tensor/layout.h"
#include "tensor/print.h"

#include "autograd/op.h"
#include "autograd/persist.h"

#include "ops/map.h"

#endif
