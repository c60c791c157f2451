/* blocks.h -- how rows are cut into blocks for the threads, and columns into strips.
 *
 * By size alone, so that whatever is summed per block has the same bits at any number of threads. */
#ifndef AT_OPS_BLOCKS_H
#define AT_OPS_BLOCKS_H
#include "kernels/real.h"
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

#define sum_blocks(...) AT_REAL(sum_blocks)(__VA_ARGS__)
/* y_j += sum_b part[b * stride + j], j = 0 .. N-1: what each of n blocks has summed up.  Pairs of
 * neighbours first, then pairs of pairs, and so on; part is used up. */
void sum_blocks(int n, ptrdiff_t N, ptrdiff_t stride, REAL *part, REAL *y);

/* What is done to rows along any axis of x is done along the middle one of x [outer, N, inner].
 *
 * inner = 1: the rows are contiguous.  Else a row is a column of one of `outer` matrices,
 *
 *     x[o, 0, i]  x[o, 1, i] ... x[o, N-1, i]         `inner` elements apart,
 *
 * and neighbouring columns lie side by side.  So a strip of up to AT_STRIP of them is walked
 * together: every step reads contiguous memory, and a number per column fits on the stack. */
enum { AT_STRIP = 64 };

typedef struct {
    ptrdiff_t outer, inner;
    int N;
} at_columns;

static inline at_columns at_columns_of(at_shape s, int axis)
{
    return (at_columns){.outer = at_count_between(s, 0, axis),
                        .inner = at_count_between(s, axis + 1, s.ndim),
                        .N = s.dim[axis]};
}

/* Blocks of strips. */
static inline at_blocks at_strip_blocks(at_columns c)
{
    ptrdiff_t width = c.inner < AT_STRIP ? c.inner : AT_STRIP;
    return at_blocks_of(c.outer * ((c.inner + AT_STRIP - 1) / AT_STRIP), width * c.N);
}

typedef struct {
    ptrdiff_t at; /* the index of its first element */
    int width;
} at_strip;

static inline at_strip at_strip_of(at_columns c, ptrdiff_t i)
{
    if (c.inner == 1) return (at_strip){i * c.N, 1}; /* a row */
    ptrdiff_t strips = (c.inner + AT_STRIP - 1) / AT_STRIP, first = i % strips * AT_STRIP;
    ptrdiff_t width = c.inner - first < AT_STRIP ? c.inner - first : AT_STRIP;
    return (at_strip){i / strips * c.N * c.inner + first, (int)width};
}

#endif
