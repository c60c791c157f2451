/* axis.h -- a tensor as the lines along one of its axes.  Private to the library.
 *
 *   x [outer,N,inner]     line (o, i) holds x_o0i, x_o1i, ...: N elements that are `inner` apart */
#ifndef AT_OPS_AXIS_H
#define AT_OPS_AXIS_H
#include "ops/op.h"

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
