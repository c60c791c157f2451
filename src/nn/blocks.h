/* blocks.h -- a stack of blocks without a vocabulary: an encoder, a decoder, the inside of models.
 *
 *     x = block0(x),  x = block1(x) ...        see block.h
 *     y = norm(x)                              post-norm: y = x
 *
 * x [B,T,dim] may be any rows of numbers: patches of an image, measurements, the points of a set.
 *
 *     at_blocks b = at_blocks_make(t, (at_block_config){.dim = 32, .heads = 4}, 2);
 *     at_tensor *y = at_blocks_apply(t, &b, x, NULL, (at_block_args){0}); */
#ifndef AT_NN_BLOCKS_H
#define AT_NN_BLOCKS_H
#include "nn/block.h"
AT_BEGIN_C

#define AT_MAX_LAYERS 48

typedef struct {
    at_block *block; /* `layers` of them */
    int layers;
    at_norm norm; /* zero if the blocks are post-norm */
} at_blocks;

/* Parameters in the open scope, in this order (block.h lists the ones of a block):
 *
 *     block0. ...  block1. ...  norm.g  norm.b
 *
 * so two stacks need two scopes: at_scope(t, "encoder") ... at_scope_end(t).
 *
 * Every branch adds its variance to x: the matrices that end one (o.W, down.W) are drawn smaller by
 * 1/sqrt(branches of all blocks), which keeps the variance of the sum near one (Radford et al.
 * 2019, section 2.3).  layers is 1 to AT_MAX_LAYERS.  The array lives as long as the parameters,
 * until at_close.  After a sticky error `block` is NULL or holds NULLs, and what it is applied to
 * becomes NULL; a config that is not possible makes no parameter at all. */
AT_API at_blocks at_blocks_make(at_tape *t, at_block_config config, int layers);

/* x [B,T,dim] -> [B,T,dim].  Each block gets the same memory, NULL without cross attention, and the
 * same args; but cache, cross_cache, and of attention and cross the tensors that are asked for
 * (weights, probs, scores, lse) are arrays with an element for each block:
 *
 *     at_tensor *weights[2];
 *     at_blocks_apply(t, &b, x, NULL, (at_block_args){.attention.weights = weights});
 *
 * For at_find: "block0.output", x behind block 0; "norm", the result, unless post-norm. */
AT_API at_tensor *at_blocks_apply(at_tape *t, const at_blocks *b, at_tensor *x, at_tensor *memory,
                                  at_block_args args);

/* Private to the library, for models (train/model.h says what these options are).  hidden: NULL, or
 * an array of layers + 1, which gets x before the first block and behind each. */
at_blocks at_blocks_make_with(at_tape *t, at_block_config config, int layers, int full_every,
                              bool zero_outputs);
at_tensor *at_blocks_read(at_tape *t, const at_blocks *b, at_tensor *x, at_tensor *memory,
                          at_block_args args, at_tensor **hidden);

AT_END_C
#endif
