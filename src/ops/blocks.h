/* blocks.h -- how rows are cut into blocks for the threads.
 *
 * By size alone, so that whatever is summed per block has the same bits at any number of threads. */
#ifndef AT_OPS_BLOCKS_H
#define AT_OPS_BLOCKS_H
#include "tensor/shape.h"

/* A block has whole rows, and at least AT_BLOCK_COST elements if there are so many: less is not
 * worth waking a thread for.  There are at most AT_MAX_BLOCKS, so one partial sum per block is
 * little memory, however many rows there are. */
enum { AT_BLOCK_COST = 8192, AT_MAX_BLOCKS = 64 };

typedef struct {
    ptrdiff_t rows, per_block;
    int n; /* of blocks; 0 if there are no rows */
} at_blocks;

/* `cost` is the number of elements in one row. */
static inline at_blocks at_blocks_of(ptrdiff_t rows, ptrdiff_t cost)
{
    ptrdiff_t worth = cost > 0 ? (AT_BLOCK_COST + cost - 1) / cost : AT_BLOCK_COST;
    ptrdiff_t share = (rows + AT_MAX_BLOCKS - 1) / AT_MAX_BLOCKS;
    ptrdiff_t per_block = worth > share ? worth : share;
    return (at_blocks){rows, per_block, (int)((rows + per_block - 1) / per_block)};
}

/* Block b holds the rows at_block_from .. at_block_to - 1. */
static inline ptrdiff_t at_block_from(at_blocks cut, int b)
{
    return b * cut.per_block;
}

static inline ptrdiff_t at_block_to(at_blocks cut, int b)
{
    ptrdiff_t to = (b + 1) * cut.per_block;
    return to < cut.rows ? to : cut.rows;
}

#endif
