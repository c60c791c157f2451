/* map.h -- element by element, over operands of different shapes: the loops that scale, unary,
 * binary, where, masked_fill and dropout share.
 *
 *     y  = f(in[0], in[1], ...)     at_map(n, f)           every input read as if it had y's shape
 *     dx = sum g(in, y, dy)         at_map_back(n, i, g)   x = in[i]; the sum is over the places
 *                                                          where one element of x was read
 *
 * f and g are formulas: they see a piece of up to AT_CHUNK elements at a time, contiguous in every
 * operand, and write one number for each.  All else (which loops, which threads, who adds to what)
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
#include <string.h>

#include "autograd/op.h"
#include "ops/blocks.h"

/* The arrays of a piece lie in L1, those on the stack among them. */
enum { AT_CHUNK = 512, AT_MAX_OPERANDS = 3 };

typedef struct {
    int n;                           /* elements, 1 .. AT_CHUNK */
    ptrdiff_t of;                    /* elements in the whole output */
    ptrdiff_t at;                    /* the first one's position in the output, in memory order */
    const void *in[AT_MAX_OPERANDS]; /* of every input; one value n times where it is repeated */
    const void *y, *dy;              /* of the output and its cotangent: at_map_back only */
    const void *args;                /* of the node */

    /* Row by row only: */
    ptrdiff_t row;
    void *saved;  /* what forward keeps of this row for backward; the table if that is nothing */
    void *space;  /* rows of working memory */
    void *sum[2]; /* rows to which the gradients of in[1] and in[2] are added; NULL: not wanted */
} at_chunk;

typedef void at_formula(const at_chunk *k, void *values);

/* at_record for an op whose backward calls at_map_back for inputs that are broadcast to y. */
at_tensor *at_record_map(at_tape *t, const at_op *op, at_inputs in, at_shape y, const void *args,
                         size_t args_size);

/* out[0] = f: every element once.  Inputs are real or bool, and broadcast to the output. */
void at_map(at_node *n, at_formula *f);

/* d(in[i]) += g, summed over the axes along which in[i] was repeated; nothing if nobody wants it.
 * g = NULL stands for dy itself.  The order of the sum depends on the shapes alone, and it is kept
 * in double: a bias that a million rows share loses no digits in f32. */
void at_map_back(at_node *n, int i, at_formula *g);

/* Row by row, for rows of any length: an op whose output has the rows of in[0], or one element in all.
 * The formula sees a whole row of in[0], y and dy; in[1] and in[2] as a row that is the same for all of
 * them, [N], or as one element for each row. */
typedef struct {
    int saved; /* values of the real type that forward keeps of each row */
    int space; /* rows of working memory that backward needs */
    int sums;  /* in[1] .. in[sums] are such rows as are the same for all: gradients are summed */
    bool each; /* in[1] has one element for each row */
    size_t table; /* values of n->saved, where nothing is kept of rows */
} at_row_op;

/* at_record_node for such an op; out[0] has the shape y. */
at_tensor *at_record_rows(at_tape *t, const at_op *op, const at_row_op *r, at_inputs in, at_shape y,
                          const void *args, size_t args_size);
/* The kernels of such an op:
 *
 *     AT_MAP_ROWS(softmax_forward, softmax_rows, softmax_y)           out[0] = f, row by row
 *     AT_MAP_ROWS_BACK(softmax_backward, softmax_rows, softmax_dx)    d(in[0]) += g, whose values are NULL
 *                                                                     if nobody wants them; and the sums */
#define AT_ROW_BLOCK(run, f, back)                                                                 \
    static void AT_REAL(run)(void *job, int block, int slot)                                       \
    {                                                                                              \
        row_block(job, block, slot, f, back);                                                      \
    }
#define AT_MAP_ROWS(kernel, rows, f)                                                               \
    AT_ROW_BLOCK(f##_block, f, false)                                                              \
    void AT_REAL(kernel)(at_node * n)                                                              \
    {                                                                                              \
        at_map_rows(n, &rows, AT_REAL(f##_block));                                                 \
    }
#define AT_MAP_ROWS_BACK(kernel, rows, g)                                                          \
    AT_ROW_BLOCK(g##_block, g, true)                                                               \
    void AT_REAL(kernel)(at_node * n)                                                              \
    {                                                                                              \
        at_map_rows_back(n, &rows, AT_REAL(g##_block));                                            \
    }

/* f(x), an op on rows, along another axis than the last: transposed, and back. */
at_tensor *at_along_axis(at_tape *t, at_tensor *x, int axis,
                         at_tensor *(*f)(at_tape *, at_tensor *));

/* Why two shapes do not broadcast: "dims 3 and 4 differ and neither is 1". */
const char *at_clash_text(at_shape a, at_shape b);

/* ------------------------------------------------------------------ how rows are run ----------- */

typedef struct {
    const at_node *n;
    const at_row_op *r;
    at_blocks cut;
    at_fresh dx;
    bool wanted[2]; /* the sums */
    char *parts;    /* of the sums: [blocks, sums, N] */
} at_row_job;

typedef void at_row_block(void *job, int block, int slot);
void at_map_rows(at_node *n, const at_row_op *r, at_row_block *run);
void at_map_rows_back(at_node *n, const at_row_op *r, at_row_block *run);

#ifdef REAL
/* One block of rows.  Inlined with its formula, which then costs no call. */
static inline __attribute__((always_inline)) void row_block(const at_row_job *job, int block,
                                                            int slot, at_formula *f, bool back)
{
    const at_node *n = job->n;
    const at_row_op *r = job->r;
    const at_tensor *out = n->out[0];
    const ptrdiff_t first = at_block_from(job->cut, block), to = at_block_to(job->cut, block);
    const ptrdiff_t N = at_last(n->in[0]->shape), y_step = at_count(out->shape) == 1 ? 0 : N;
    const ptrdiff_t step = r->each ? (ptrdiff_t)at_dtype_size(n->in[1]->dtype) : 0;
    REAL *space = back ? at_scratch(n, slot) : NULL;
    REAL *values = !back       ? (REAL *)out->data + first * y_step
                   : job->dx.p ? (REAL *)job->dx.p + first * N
                               : NULL;
    const ptrdiff_t values_step = !back ? y_step : job->dx.p ? N : 0;
    const bool add = job->dx.p && job->dx.beta;

    at_chunk k = {.n = (int)N,
                  .of = at_count(out->shape),
                  .at = first * N,
                  .in = {(const REAL *)n->in[0]->data + first * N},
                  .y = (const REAL *)out->data + first * y_step,
                  .args = n->args,
                  .row = first,
                  .saved = (REAL *)n->saved + first * r->saved,
                  .space = space + N};
    for (int i = 1; i < n->n_in; i++)
        if (n->in[i]) k.in[i] = (const char *)n->in[i]->data + (i == 1 ? first * step : 0);
    if (back) k.dy = (const REAL *)out->grad + first * y_step;
    REAL *part = (REAL *)job->parts + block * r->sums * N;
    for (int i = 0; i < r->sums && job->parts; i++)
        k.sum[i] = job->wanted[i] ? memset(part + i * N, 0, (size_t)N * sizeof *part) : NULL;

    for (; k.row < to; k.row++) {
        f(&k, add ? space : values);
        for (ptrdiff_t j = 0; add && j < N; j++) values[j] += space[j];
        values += values_step;
        k.at += N;
        k.in[0] = (const REAL *)k.in[0] + N;
        k.in[1] = (const char *)k.in[1] + step;
        k.y = (const REAL *)k.y + y_step;
        k.dy = (const REAL *)k.dy + y_step;
        k.saved = (REAL *)k.saved + r->saved;
    }
}
#endif

#endif
