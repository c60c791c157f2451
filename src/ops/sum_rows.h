/* sum_rows.h -- operands of several shapes, element by element, and the sums over what was
 * repeated.  Private to the library; map.c has the loops. */
#ifndef AT_OPS_SUM_ROWS_H
#define AT_OPS_SUM_ROWS_H
#include "ops/map.h"

typedef struct {
    at_shape shape;
    at_dtype dtype;
    const void *data;
} at_operand;

/* to = values of f, or to += them.  All operands broadcast to the shape `over`. */
typedef struct {
    at_shape over;
    at_dtype real;
    at_formula *f; /* NULL: the values are in[0] */
    const void *args;
    int n_in;
    at_operand in[AT_MAX_OPERANDS];
    const void *y, *dy; /* for f, of the shape `over`; NULL where f needs none */
    at_shape to_shape;
    at_grad_buffer to;
    bool wide;     /* every value is added in double; else a few at a time in the real type first */
    bool max;      /* the maximum in place of the sum; a NaN counts as larger than all else */
    bool ties;     /* how many of in[0] are the maximum, in[1], of the shape of `to`; f is NULL */
    void *scratch; /* at_sum_scratch bytes; at_sum_rows alone needs it */
} at_map_job;

/* `to` has as many elements as `over`. */
void at_map_each(const at_map_job *job);

/* The values are summed over the axes along which `to` is repeated, the sums are kept in double.
 * Their order depends on the shapes alone. */
void at_sum_rows(const at_map_job *job);

/* What at_sum_rows needs for `count` values. */
size_t at_sum_scratch(ptrdiff_t count);

#ifdef REAL
/* Is x, one of those that m is the maximum of, m itself?  (If one is NaN, so is m.) */
static inline bool at_is_max(REAL x, REAL m)
{
    return (VALUE(x) == VALUE(m)) | (VALUE(x) != VALUE(x));
}
#endif

#endif
