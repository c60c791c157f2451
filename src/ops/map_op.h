/* map_op.h -- an op that is its formulas, and nothing else.  Private to the library.
 *
 *     y = f(in[0], in[1], ...)      d(in[i]) += sum g_i(in, y, dy)        as at_map, at_map_back */
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

#endif
