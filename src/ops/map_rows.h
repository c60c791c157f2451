/* map_rows.h -- row by row, for rows of any length: the loops that softmax, log_softmax,
 * cross_entropy, the norms and rope share.  Private to the library. */
#ifndef AT_OPS_MAP_ROWS_H
#define AT_OPS_MAP_ROWS_H
#include <string.h>

#include "kernels/parallel.h"
#include "ops/map.h"

/* An op on the rows of in[0].  Its output has the same rows, or one element for each row, or one
 * element in all.  The formula sees a whole row of in[0], y and dy.  Of in[1] and in[2] it sees one
 * row [N], the same for all rows, or one element for each row. */
typedef struct {
    int saved; /* forward keeps this many values of the real type for each row */
    int space; /* backward needs this many rows of working memory */
    int sums;  /* in[1] .. in[sums] are the same row for all rows: their gradients are summed */
    bool each; /* in[1] has one element for each row */
} at_row_op;

/* at_record_node for such an op; out[0] has the shape y. */
at_tensor *at_record_rows(at_tape *t, const at_op *op, const at_row_op *r, at_inputs in, at_shape y,
                          const void *args, size_t args_size);
/* Has x rows, and are eps and 1 / eps numbers of its type, so that a norm can add eps or divide by
 * it?  Is g, gamma or beta, absent or an element for each of the N columns?  If not, an error. */
bool at_check_norm(at_tape *t, const char *op, const at_tensor *x, double eps);
bool at_check_columns(at_tape *t, const char *op, const at_tensor *x, const char *name,
                      const at_tensor *g);
/* f(x) along an axis; a negative axis counts from the end.  Along another axis than the last, x is
 * transposed before and after. */
at_tensor *at_over_axis(at_tape *t, const char *op, at_tensor *x, int axis,
                        at_tensor *(*f)(at_tape *, at_tensor *));

/* The kernels of such an op are one line each:
 *
 *     AT_MAP_ROWS(softmax_forward, softmax_rows, softmax_y)           out[0] = f, row by row
 *     AT_MAP_ROWS_BACK(softmax_backward, softmax_rows, softmax_dx)    d(in[0]) += g, and the sums
 *
 * An op with sums gets NULL for the values of g where d(in[0]) is not wanted.  Formulas say
 * `restrict` twice: clang heeds it on parameters, gcc, where it inlines them, on variables. */
#define AT_MAP_ROWS(kernel, rows, f)                                                               \
    AT_ROW_RANGE(f##_rows, rows, f, false) AT_ROW_KERNEL(kernel, at_map_rows, rows, f##_rows)
#define AT_MAP_ROWS_BACK(kernel, rows, g)                                                          \
    AT_ROW_RANGE(g##_rows, rows, g, true) AT_ROW_KERNEL(kernel, at_map_rows_back, rows, g##_rows)

/* A kernel is two functions: `run` computes some shares of the rows, `kernel` hands them out. */
#define AT_ROW_RANGE(run, rows, f, back)                                                           \
    static void AT_REAL(run)(void *job, ptrdiff_t share, ptrdiff_t to, int slot)                   \
    {                                                                                              \
        row_range(job, share, to, slot, &rows, f, back);                                           \
    }
#define AT_ROW_KERNEL(kernel, map, rows, run)                                                      \
    void AT_REAL(kernel)(at_node * n)                                                              \
    {                                                                                              \
        map(n, &rows, AT_REAL(run));                                                               \
    }
void at_map_rows(at_node *n, const at_row_op *r, at_range_body *run);
void at_map_rows_back(at_node *n, const at_row_op *r, at_range_body *run);

/* Rows are cut into shares, by their number and length alone.  A formula adds to a sum in the real
 * type for AT_ROW_RUN rows, which are a run; the sums of the runs are added in WIDE, and so are
 * the sums of the shares. */
enum { AT_ROW_SHARES = 64, AT_ROW_RUN = 64 };

typedef struct {
    const at_node *n;
    ptrdiff_t rows;    /* the number of rows of in[0] */
    int shares;        /* the rows are cut into this many shares */
    at_grad_buffer dx; /* the gradient of in[0]; without memory if it is not wanted */
    bool wanted[2];    /* whether the gradients of in[1] and in[2] are wanted */
    void *parts;       /* the sums of each share, [shares, sums, N]; NULL if no sum is wanted */
} at_row_job;

/* ------------------------------------------------------------------ the loop ------------------ */

#ifdef REAL
#define ROW_INLINE static inline __attribute__((always_inline))

/* sum_j += run_j, and the run begins anew */
static inline void row_add_run(ptrdiff_t n, REAL *restrict run, WIDE *restrict sum)
{
    for (ptrdiff_t j = 0; j < n; j++) sum[j] += (WIDE)run[j];
    memset(run, 0,
           (size_t)n * sizeof *run); /* in the loop above, clang 14 for wasm reads it too late */
}

/* How far it is from one row to the next. */
typedef struct {
    ptrdiff_t x;    /* elements of in[0] */
    ptrdiff_t y;    /* elements of the output; 0 if it has one in all */
    ptrdiff_t each; /* bytes of in[1], if it has one element for each row */
} row_steps;

ROW_INLINE row_steps row_steps_of(const at_row_job *job, const at_row_op *r)
{
    const at_node *n = job->n;
    const ptrdiff_t N = at_last(n->in[0]->shape), of = at_count(n->out[0]->shape);
    const ptrdiff_t y = of == 1 ? 0 : of == job->rows * N ? N : 1;
    return (row_steps){N, y, r->each ? (ptrdiff_t)at_dtype_size(n->in[1]->dtype) : 0};
}

/* What the formula sees of row number `first`. */
ROW_INLINE at_chunk row_first(const at_row_job *job, ptrdiff_t first, const at_row_op *r,
                              row_steps step, bool back)
{
    const at_node *n = job->n;
    const at_tensor *out = n->out[0];
    at_chunk k = {.n = (int)step.x,
                  .of = at_count(out->shape),
                  .at = first * step.x,
                  .in = {(const REAL *)n->in[0]->data + first * step.x},
                  .y = (const REAL *)out->data + first * step.y,
                  .args = n->args,
                  .row = first};
    if (r->saved) k.saved = (REAL *)n->saved + first * r->saved;
    if (r->each) k.in[1] = (const char *)n->in[1]->data + first * step.each;
    for (int i = 1 + r->each; i < n->n_in; i++)
        if (n->in[i]) k.in[i] = n->in[i]->data;
    if (back) k.dy = (const REAL *)out->grad + first * step.y;
    return k;
}

ROW_INLINE void row_next(at_chunk *k, const at_row_op *r, row_steps step, bool back)
{
    k->row++;
    k->at += step.x;
    k->in[0] = (const REAL *)k->in[0] + step.x;
    if (r->each) k->in[1] = (const char *)k->in[1] + step.each;
    if (back) k->y = (const REAL *)k->y + step.y, k->dy = (const REAL *)k->dy + step.y;
    if (r->saved) k->saved = (REAL *)k->saved + r->saved;
}

/* One share of the rows.  It is inlined together with its formula, which then costs no call.
 *
 * The slot's scratch holds, one behind the other: `sums` rows in WIDE, the sums; then rows of the
 * real type: one for values that are added to dx, r->space for the formula, `sums` for the runs. */
ROW_INLINE void row_share(const at_row_job *job, ptrdiff_t share, int slot, const at_row_op *r,
                          at_formula *f, bool back)
{
    if (back && !r->sums && !job->dx.p) return; /* nobody wants it */
    const ptrdiff_t first = job->rows * share / job->shares;
    const ptrdiff_t to = job->rows * (share + 1) / job->shares;
    const row_steps step = row_steps_of(job, r);
    const ptrdiff_t N = step.x, summed = r->sums * N;
    const bool dx = back && job->dx.p, add = dx && job->dx.beta;
    WIDE *sums = summed && job->parts ? at_scratch(job->n, slot) : NULL;
    REAL *space = sums ? (REAL *)(sums + summed) : back ? at_scratch(job->n, slot) : NULL;
    REAL *runs = sums ? space + (1 + r->space) * N : NULL;
    REAL *values = !back ? (REAL *)job->n->out[0]->data + first * step.y
                   : dx  ? (REAL *)job->dx.p + first * N
                         : NULL;

    at_chunk k = row_first(job, first, r, step, back);
    if (back) k.space = space + N;
    for (int i = 0; i < r->sums && sums; i++)
        if (job->wanted[i]) k.sum[i] = runs + i * N;
    for (ptrdiff_t j = 0; sums && j < summed; j++) sums[j] = 0, runs[j] = 0;
    while (k.row < to) {
        const ptrdiff_t end = sums && to - k.row > AT_ROW_RUN ? k.row + AT_ROW_RUN : to;
        for (; k.row < end; row_next(&k, r, step, back)) {
            f(&k, add ? space : values);
            for (ptrdiff_t j = 0; add && j < N; j++) values[j] += space[j];
            if (!back || dx) values += back ? N : step.y;
        }
        if (sums) row_add_run(summed, runs, sums);
    }
    REAL *part = sums ? (REAL *)job->parts + share * summed : NULL;
    for (ptrdiff_t j = 0; sums && j < summed; j++) part[j] = (REAL)sums[j];
}

ROW_INLINE void row_range(const at_row_job *job, ptrdiff_t share, ptrdiff_t to, int slot,
                          const at_row_op *r, at_formula *f, bool back)
{
    for (; share < to; share++) row_share(job, share, slot, r, f, back);
}
#endif

#endif
