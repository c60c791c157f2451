/* map_op.h -- what stands on the loops of map.c.  Private to the library.
 *
 * An op that is its formulas, and nothing else:
 *
 *     y = f(in[0], in[1], ...)      d(in[i]) += sum g_i(in, y, dy)        as at_map, at_map_back
 *
 * And operands of several shapes, element by element, with the sums over what was repeated. */
#ifndef AT_OPS_MAP_OP_H
#define AT_OPS_MAP_OP_H
#include "kernels/real.h"
#include "ops/map.h"

#define AT_FORMULA(name) AT_EACH_REAL(void, name, (const at_chunk *k, void *values))

/* The kernels of `op` find f and g behind it.  Where g[i] has no formula, d(in[i]) += sum dy. */
typedef struct {
    at_op op; /* the first member */
    at_formula *f[ATTIC_NREALS], *g[AT_MAX_OPERANDS][ATTIC_NREALS];
} at_map_op;

/* {AT_MAP_OP("relu"), formulas of f, {formulas of g_0, ...}} */
#define AT_MAP_OP(text, ...)                                                                       \
    .op = {.name = text,                                                                           \
           .forward = AT_EVERY_REAL(at_map_forward),                                               \
           .backward = AT_EVERY_REAL(at_map_backward),                                             \
           __VA_ARGS__}

void at_map_forward(at_node *n);
void at_map_backward(at_node *n);

/* ------------------------------------------------------------------ sums over what was repeated */

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
    bool bools;    /* `to` holds bools, not reals: for at_map_each alone */
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
