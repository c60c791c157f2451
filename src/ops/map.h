/* map.h -- element by element, over operands of different shapes: the loops that scale, unary,
 * binary, logic, where, masked_fill and dropout share.
 *
 *     y  = f(in[0], in[1], ...)     at_map(n, f)           every input read as if it had y's shape
 *     dx = sum g(in, y, dy)         at_map_back(n, i, g)   x = in[i]; the sum is over the places
 *                                                          where one element of x was read
 *
 * f and g are formulas: they see a chunk of up to AT_CHUNK elements at a time, contiguous in every
 * operand, and write one value for each.  All else (which loops, which threads, who adds to what)
 * happens here, so an op is its formulas:
 *
 *     static void scale_y(const at_chunk *k, void *values)     y = c x
 *     {
 *         const REAL *x = k->in[0], c = ...;
 *         REAL *y = values;
 *         for (int i = 0; i < k->n; i++) y[i] = c * x[i];
 *     } */
#ifndef AT_OPS_MAP_H
#define AT_OPS_MAP_H
#include "autograd/op.h"
AT_BEGIN_C

/* The arrays of a chunk are in L1, and so are the arrays on the stack. */
enum { AT_CHUNK = 512, AT_MAX_OPERANDS = 3 };

typedef struct {
    int n;                           /* elements, 1 .. AT_CHUNK, or a whole row (map_rows.h) */
    ptrdiff_t of;                    /* elements in the whole output */
    ptrdiff_t at;                    /* the first one's position in the output, in memory order */
    const void *in[AT_MAX_OPERANDS]; /* of every input; one value n times where it is repeated */
    const void *y, *dy; /* of the output and its upstream gradient (cotangent): at_map_back */
    const void *args;   /* of the node */

    /* Row by row only (map_rows.h): */
    ptrdiff_t row;
    void *saved;  /* what forward keeps of this row for backward */
    void *space;  /* rows of working memory */
    void *sum[2]; /* rows to which the gradients of in[1] and in[2] are added; NULL: not wanted */
} at_chunk;

typedef void at_formula(const at_chunk *k, void *values);

/* at_record for an op whose backward calls at_map_back for inputs that are broadcast to y. */
AT_API at_tensor *at_record_map(at_tape *t, const at_op *op, at_inputs in, at_shape y,
                                const void *args, size_t args_size);

/* out[0] = f: every element once.  Inputs are real, i32 or bool, and broadcast to the output, which
 * is real or bool.  f = NULL writes nothing. */
AT_API void at_map(at_node *n, at_formula *f);

/* d(in[i]) += g, summed over the axes along which in[i] was repeated; nothing if nobody wants it.
 * g = NULL stands for dy itself.  The order of the sum depends on the shapes alone, and it is kept
 * in double: a bias that a million rows share loses no digits in f32. */
AT_API void at_map_back(at_node *n, int i, at_formula *g);

/* f(x), an op on rows, along another axis than the last: transposed, and back. */
AT_API at_tensor *at_along_axis(at_tape *t, at_tensor *x, int axis,
                                at_tensor *(*f)(at_tape *, at_tensor *));

/* Why two shapes do not broadcast: "dims 3 and 4 differ and neither is 1". */
AT_API const char *at_clash_text(at_shape a, at_shape b);

AT_END_C
#endif
