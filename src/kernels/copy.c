/* copy.c -- moving rows from one place to another; see copy.h.
 *
 * Long rows are cut into pieces, and a task takes as many as are worth waking a thread for. */
#include "kernels/copy.h"

#ifndef REAL

#include "kernels/pool.h"
#include "kernels/rows.h"
#include <string.h>

enum {
    COPY_PIECE = 1 << 15, /* bytes or numbers */
    COPY_TASK = 1 << 17
};

typedef struct {
    ptrdiff_t n, x_step, y_step;
    const void *x;
    void *y;
    ptrdiff_t per_row, count, per_task; /* pieces */
} copy_job;

static copy_job copy_cut(ptrdiff_t rows, ptrdiff_t n, const void *x, ptrdiff_t x_step, void *y,
                         ptrdiff_t y_step)
{
    if (x_step == n && y_step == n) { /* one long row */
        n *= rows;
        rows = n > 0;
    }
    copy_job c = {n, x_step, y_step, x, y, (n + COPY_PIECE - 1) / COPY_PIECE, 0, 0};
    c.count = rows * c.per_row;
    c.per_task = COPY_TASK / (n < COPY_PIECE ? n + 1 : COPY_PIECE) + c.count / (1 << 20) + 1;
    return c;
}

static int copy_tasks(const copy_job *c)
{
    return (int)((c->count + c->per_task - 1) / c->per_task);
}

typedef struct {
    ptrdiff_t x, y, n; /* where a piece begins on both sides, and its length */
} copy_piece;

static copy_piece copy_piece_at(const copy_job *c, ptrdiff_t i)
{
    ptrdiff_t row = i / c->per_row, from = i % c->per_row * COPY_PIECE;
    ptrdiff_t left = c->n - from;
    return (copy_piece){row * c->x_step + from, row * c->y_step + from,
                        left < COPY_PIECE ? left : COPY_PIECE};
}

static ptrdiff_t copy_task_end(const copy_job *c, int task)
{
    ptrdiff_t end = (task + 1) * c->per_task;
    return end < c->count ? end : c->count;
}

static void copy_task(void *job, int task, int worker)
{
    (void)worker;
    const copy_job *c = job;
    for (ptrdiff_t i = task * c->per_task; i < copy_task_end(c, task); i++) {
        copy_piece p = copy_piece_at(c, i);
        memcpy((char *)c->y + p.y, (const char *)c->x + p.x, (size_t)p.n);
    }
}

void at_copy_rows(ptrdiff_t rows, ptrdiff_t n, const void *x, ptrdiff_t x_step, void *y,
                  ptrdiff_t y_step)
{
    copy_job c = copy_cut(rows, n, x, x_step, y, y_step);
    at_parallel(copy_tasks(&c), copy_task, &c);
}

#define AT_KERNELS "kernels/copy.c"
#include "kernels/each_real.h"

#else

static void KERNEL(copy_add_task)(void *job, int task, int worker)
{
    (void)worker;
    const copy_job *c = job;
    for (ptrdiff_t i = task * c->per_task; i < copy_task_end(c, task); i++) {
        copy_piece p = copy_piece_at(c, i);
        AT_FOR_REAL(row_axpy)(p.n, 1, (const REAL *)c->x + p.x, (REAL *)c->y + p.y);
    }
}

void AT_FOR_REAL(add_rows)(ptrdiff_t rows, ptrdiff_t n, const REAL *x, ptrdiff_t x_step, REAL *y,
                           ptrdiff_t y_step)
{
    copy_job c = copy_cut(rows, n, x, x_step, y, y_step);
    at_parallel(copy_tasks(&c), KERNEL(copy_add_task), &c);
}

#endif
