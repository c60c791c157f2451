/* blocks.c -- a stack of blocks; see blocks.h. */
#include "nn/blocks.h"

#include <math.h>

#include "autograd/op.h"

at_blocks at_blocks_make_with(at_tape *t, at_block_config c, int layers, int full_every,
                              bool zero_outputs)
{
    at_blocks b = {0};
    if (layers < 1 || layers > AT_MAX_LAYERS)
        at_fail(t, ATTIC_USER_ERROR, "blocks: %d layers, but 1 to %d are possible", layers,
                AT_MAX_LAYERS);
    if (!at_block_check(t, c)) return b;
    const double branches = (1.0 + c.cross + !c.no_ffn) * layers;
    const int window = c.window;
    b.block = at_permanent_alloc(t, (size_t)layers * sizeof *b.block);
    b.layers = b.block ? layers : 0;
    for (int i = 0; i < b.layers; i++) {
        c.window = full_every && (i + 1) % full_every == 0 ? 0 : window;
        at_scopef(t, "block%d", i);
        b.block[i] = at_block_make(t, c, zero_outputs ? 0 : 1 / sqrt(branches));
        at_scope_end(t);
    }
    if (!c.post_norm)
        b.norm = at_norm_make(t, "norm", c.dim, c.norm, c.bias != ATTIC_BIAS_NONE, c.norm_eps);
    return b;
}

at_blocks at_blocks_make(at_tape *t, at_block_config config, int layers)
{
    return at_blocks_make_with(t, config, layers, 0, false);
}

/* For block i the arrays begin at their element i, which is NULL until there is a tensor. */
static void taps_from(at_sdpa_args *a, int i)
{
    at_tensor ***tap[] = {&a->weights, &a->probs, &a->scores, &a->lse};
    for (int k = 0; k < 4; k++)
        if (*tap[k]) *(*tap[k] += i) = NULL;
}

static at_block_args args_from(at_block_args args, int i)
{
    taps_from(&args.attention, i);
    taps_from(&args.cross, i);
    if (args.cache) args.cache += i;
    if (args.cross_cache) args.cross_cache += i;
    return args;
}

at_tensor *at_blocks_read(at_tape *t, const at_blocks *b, at_tensor *x, at_tensor *memory,
                          at_block_args args, at_tensor **hidden)
{
    for (int i = 0; b && i < b->layers; i++) args_from(args, i);
    AT_REQUIRE(t, b && b->block, "blocks: the blocks are NULL");
    for (int i = 0; i < b->layers; i++) {
        if (hidden) hidden[i] = x;
        at_scopef(t, "block%d", i);
        x = at_block_apply(t, &b->block[i], x, memory, args_from(args, i));
        at_scope_end(t);
    }
    if (hidden) hidden[b->layers] = x;
    return b->block->config.post_norm ? x : at_label(at_norm_apply(t, b->norm, x), "norm");
}

at_tensor *at_blocks_apply(at_tape *t, const at_blocks *b, at_tensor *x, at_tensor *memory,
                           at_block_args args)
{
    return at_blocks_read(t, b, x, memory, args, NULL);
}
