/* nest.h -- loops over the elements of several operands at once, as few as possible.
 *
 * An operand that is repeated along an axis has a step of 0 there.  Axes of size 1 are dropped, and
 * adjacent axes that every operand walks as if they were one, become one:
 *
 *     scores [B,H,T,N]                         for b < B, for h < H, for r < T N
 *     bias   [B,1,T,N]   steps over [B,H,TN]:      T N        0          1
 *
 *     x [B,T,D] and gamma [D]                  for i < B T, for r < D
 *     two of the same shape, or a scalar       for r < all */
#ifndef AT_OPS_NEST_H
#define AT_OPS_NEST_H
#include <limits.h>

#include "tensor/layout.h"

enum { AT_NEST_OPERANDS = 5 };

typedef struct {
    ptrdiff_t size, step[AT_NEST_OPERANDS]; /* steps count elements of each operand */
} at_loop;

typedef struct {
    int n;                     /* loops */
    ptrdiff_t count;           /* indices they have together; 1 if there is no loop */
    at_loop loop[AT_MAX_DIMS]; /* outermost first */
} at_nest;

/* No loop.  (The room for loops is not zeroed: it is large, and this is done for every op.) */
static inline void at_nest_clear(at_nest *nest)
{
    nest->n = 0;
    nest->count = 1;
}

/* Adds a loop inside of the others, or makes the innermost of them longer: up to an int. */
static inline void at_nest_add(at_nest *nest, at_loop inner)
{
    if (inner.size == 1) return;
    const at_loop *outer = nest->loop + (nest->n > 0 ? nest->n - 1 : 0);
    bool joins = nest->n > 0 && outer->size * inner.size <= INT_MAX;
    for (int k = 0; joins && k < AT_NEST_OPERANDS; k++)
        joins = outer->step[k] == inner.step[k] * inner.size;
    nest->count *= inner.size;
    if (joins)
        inner.size *= outer->size;
    else
        nest->n++;
    nest->loop[nest->n - 1] = inner;
}

/* Removes the innermost loop and returns it. */
static inline at_loop at_nest_drop(at_nest *nest)
{
    at_loop inner = nest->loop[--nest->n];
    nest->count /= inner.size;
    return inner;
}

/* The loops over a shape that is not empty, for operands that broadcast to it. */
static inline at_nest at_nest_of(at_shape over, int operands, const at_shape *shape)
{
    ptrdiff_t step[AT_NEST_OPERANDS][AT_MAX_DIMS];
    at_nest nest;
    at_nest_clear(&nest);
    at_loop all = {.size = at_count(over)};
    bool one = all.size <= INT_MAX; /* loop, as of a sum of everything: found without the strides */
    for (int k = 0; k < operands; k++) {
        const ptrdiff_t count = at_count(shape[k]);
        all.step[k] = count > 1;
        one = one && (count == 1 || count == all.size);
    }
    if (one) at_nest_add(&nest, all);
    for (int k = 0; !one && k < operands; k++) at_broadcast_strides(shape[k], over, step[k]);
    for (int d = 0; !one && d < over.ndim; d++) {
        at_loop loop = {.size = over.dim[d]};
        for (int k = 0; k < operands; k++) loop.step[k] = step[k][d];
        at_nest_add(&nest, loop);
    }
    return nest;
}

/* The loops along which one operand moves, and those along which it is repeated: what is summed if
 * the operand is a gradient. */
static inline void at_nest_split(const at_nest *nest, int operand, at_nest *kept, at_nest *summed)
{
    at_nest_clear(kept);
    at_nest_clear(summed);
    for (int d = 0; d < nest->n; d++)
        at_nest_add(nest->loop[d].step[operand] ? kept : summed, nest->loop[d]);
}

/* Moves every operand's position to this index of the nest, counted with the innermost loop
 * fastest. */
static inline void at_nest_move(const at_nest *nest, ptrdiff_t index,
                                ptrdiff_t at[AT_NEST_OPERANDS])
{
    for (int d = nest->n - 1; d >= 0; d--) {
        const at_loop *l = &nest->loop[d];
        ptrdiff_t i = d > 0 ? index % l->size : index;
        if (d > 0) index /= l->size;
        for (int k = 0; k < AT_NEST_OPERANDS; k++) at[k] += i * l->step[k];
    }
}

/* The same for one operand alone. */
static inline ptrdiff_t at_nest_offset(const at_nest *nest, int operand, ptrdiff_t index)
{
    ptrdiff_t at = 0;
    for (int d = nest->n - 1; d > 0; d--) {
        at += index % nest->loop[d].size * nest->loop[d].step[operand];
        index /= nest->loop[d].size;
    }
    return nest->n > 0 ? at + index * nest->loop[0].step[operand] : 0;
}

/* ------------------------------------------------------------------ along one axis ------------- */

/* A tensor as the lines along one of its axes: x [outer,N,inner], where line (o, i) holds x_o0i,
 * x_o1i, ...: N elements that are `inner` apart. */
typedef struct {
    int N, K;               /* elements of a line of the input, and of the output */
    ptrdiff_t lines, inner; /* outer * inner lines */
} at_lines;

static inline at_lines at_lines_of(at_shape x, int axis, int K)
{
    if (at_count(x) == 0) return (at_lines){0}; /* the other dims may be huge */
    const ptrdiff_t inner = at_count_between(x, axis + 1, x.ndim);
    return (at_lines){x.dim[axis], K, at_count_between(x, 0, axis) * inner, inner};
}

/* Where a line of n elements begins. */
static inline ptrdiff_t at_line(const at_lines *a, ptrdiff_t line, int n)
{
    return line / a->inner * n * a->inner + line % a->inner;
}

#endif
