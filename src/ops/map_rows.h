/* map_rows.h -- row by row, for rows of any length: the loops that softmax, log_softmax,
 * cross_entropy, the norms and rope share.  Private to the library. */
#ifndef AT_OPS_MAP_ROWS_H
#define AT_OPS_MAP_ROWS_H
#include <string.h>

#include "kernels/parallel.h"
#include "ops/map.h"

/* An op whose output has the rows of in[0], or one element for each row, or one in all.  The
 * formula sees a whole row of in[0], y and dy; in[1] and in[2] as a row that is the same for all of
 * them, [N], or as one element for each row. */
typedef struct {
    int saved; /* values of the real type that forward keeps of each row */
    int space; /* rows of working memory that backward needs */
    int sums;  /* in[1] .. in[sums] are such rows as are the same for all: gradients are summed */
    bool each; /* in[1] has one element for each row */
} at_row_op;

/* at_record_node for such an op; out[0] has the shape y. */
at_tensor *at_record_rows(at_tape *t, const at_op *op, const at_row_op *r, at_inputs in, at_shape y,
                          const void *args, size_t args_size);
/* f(x) along an axis that counts from the end if it is negative; another than the last is
 * transposed. */
at_tensor *at_over_axis(at_tape *t, const char *op, at_tensor *x, int axis,
                        at_tensor *(*f)(at_tape *, at_tensor *));

/* The kernels of such an op:
 *
 *     AT_MAP_ROWS(softmax_forward, softmax_rows, softmax_y)           out[0] = f, row by row
 *     AT_MAP_ROWS_BACK(softmax_backward, softmax_rows, softmax_dx)    d(in[0]) += g, and the sums;
 *                                      with sums, values are NULL if d(in[0]) is not wanted
 * Formulas say `restrict` twice: clang heeds it of parameters, gcc, once inlined, of variables. */
#define AT_ROW_RANGE(run, rows, f, back)                                                           \
    static void AT_REAL(run)(void *job, ptrdiff_t share, ptrdiff_t to, int slot)                   \
    {                                                                                              \
        for (; share < to; share++) row_share(job, share, slot, &rows, f, back);                   \
    }
#define AT_MAP_ROWS(kernel, rows, f)                                                               \
    AT_ROW_RANGE(f##_rows, rows, f, false)                                                         \
    void AT_REAL(kernel)(at_node * n)                                                              \
    {                                                                                              \
        at_map_rows(n, &rows, AT_REAL(f##_rows));                                                  \
    }
#define AT_MAP_ROWS_BACK(kernel, rows, g)                                                          \
    AT_ROW_RANGE(g##_rows, rows, g, true)                                                          \
    void AT_REAL(kernel)(at_node * n)                                                              \
    {                                                                                              \
        at_map_rows_back(n, &rows, AT_REAL(g##_rows));                                             \
    }

/* ------------------------------------------------------------------ how rows are run ----------- */

/* Rows are cut into shares, by their number and length alone.  A formula adds to a sum in the real
 * type, a few rows at a time; these runs are added in WIDE, and so are the sums of the shares. */
enum { AT_ROW_SHARES = 64, AT_ROW_RUN = 64 };

typedef struct {
    const at_node *n;
    ptrdiff_t rows;
    int shares;
    at_grad_buffer dx;
    bool wanted[2]; /* the sums */
    void *parts;    /* the sums of each share, [shares, r->sums, N]; NULL: none is wanted */
} at_row_job;

void at_map_rows(at_node *n, const at_row_op *r, at_range_body *run);
void at_map_rows_back(at_node *n, const at_row_op *r, at_range_body *run);

#ifdef REAL
/* sum_j += run_j, and the run begins anew */
static inline void row_add_run(ptrdiff_t n, REAL *restrict run, WIDE *restrict sum)
{
    for (ptrdiff_t j = 0; j < n; j++) sum[j] += (WIDE)run[j], run[j] = 0;
}

/* One share of the rows.  Inlined with its formula, which then costs no call. */
static inline __attribute__((always_inline)) void row_share(const at_row_job *job, ptrdiff_t share,
                                                            int slot, const at_row_op *r,
                                                            at_formula *f, bool back)
{
    const at_node *n = job->n;
    const at_tensor *out = n->out[0];
    if (back && !r->sums && !job->dx.p) return; /* nobody wants it */
    const ptrdiff_t first = job->rows * share / job->shares;
    const ptrdiff_t to = job->rows * (share + 1) / job->shares;
    const ptrdiff_t N = at_last(n->in[0]->shape), of = at_count(out->shape);
    const ptrdiff_t y_step = of == 1 ? 0 : of == job->rows * N ? N : 1;
    const ptrdiff_t step = r->each ? (ptrdiff_t)at_dtype_size(n->in[1]->dtype) : 0;
    WIDE *sums = r->sums && job->parts ? at_scratch(n, slot) : NULL;
    REAL *space = sums ? (REAL *)(sums + r->sums * N) : back ? at_scratch(n, slot) : NULL;
    REAL *values = !back       ? (REAL *)out->data + first * y_step
                   : job->dx.p ? (REAL *)job->dx.p + first * N
                               : NULL;
    const ptrdiff_t values_step = !back ? y_step : job->dx.p ? N : 0;
    const bool add = back && job->dx.p && job->dx.beta;

    at_chunk k = {.n = (int)N,
                  .of = of,
                  .at = first * N,
                  .in = {(const REAL *)n->in[0]->data + first * N},
                  .y = (const REAL *)out->data + first * y_step,
                  .args = n->args,
                  .row = first,
                  .saved = (REAL *)n->saved + first * r->saved,
                  .space = space + N};
    if (r->each) k.in[1] = (const char *)n->in[1]->data + first * step;
    for (int i = 1 + r->each; i < n->n_in; i++)
        if (n->in[i]) k.in[i] = n->in[i]->data;
    if (back) k.dy = (const REAL *)out->grad + first * y_step;
    REAL *runs = sums ? space + (1 + r->space) * N : NULL;
    for (int i = 0; i < r->sums && sums; i++)
        if (job->wanted[i]) k.sum[i] = runs + i * N;
    for (ptrdiff_t j = 0; sums && j < r->sums * N; j++) sums[j] = 0, runs[j] = 0;

    while (k.row < to) {
        const ptrdiff_t end = sums && to - k.row > AT_ROW_RUN ? k.row + AT_ROW_RUN : to;
        for (; k.row < end; k.row++) {
            f(&k, add ? space : values);
            for (ptrdiff_t j = 0; add && j < N; j++) values[j] += space[j];
            values += values_step;
            k.at += N;
            k.in[0] = (const REAL *)k.in[0] + N;
            if (r->each) k.in[1] = (const char *)k.in[1] + step;
            if (back) k.y = (const REAL *)k.y + y_step, k.dy = (const REAL *)k.dy + y_step;
            k.saved = (REAL *)k.saved + r->saved;
        }
        if (sums) row_add_run(r->sums * N, runs, sums);
    }
    REAL *part = sums ? (REAL *)job->parts + share * r->sums * N : NULL;
    for (ptrdiff_t j = 0; sums && j < r->sums * N; j++) part[j] = (REAL)sums[j];
}
#endif

#endif
