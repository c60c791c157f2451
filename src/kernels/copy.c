/* copy.c -- moving rows from one place to another; see copy.h.
 *
 * The rows, one after the other, are `count` things.  A task takes COPY_TASK of them, wherever rows
 * begin and end: that is worth waking a thread for. */
#include "kernels/copy.h"

#include <string.h>

#include "kernels/parallel.h"
#include "kernels/real.h"
#include "kernels/rows.h"

enum { COPY_TASK = 1 << 17 }; /* bytes or numbers */

typedef struct {
    ptrdiff_t n, x_step, y_step, count;
    const void *x;
    void *y;
} copy_job;

static copy_job copy_cut(ptrdiff_t rows, ptrdiff_t n, const void *x, ptrdiff_t x_step, void *y,
                         ptrdiff_t y_step)
{
    if (x_step == n && y_step == n) { /* one long row */
        n *= rows;
        rows = 1;
    }
    return (copy_job){n, x_step, y_step, rows * n, x, y};
}

static int copy_tasks(const copy_job *c)
{
    return (int)((c->count + COPY_TASK - 1) / COPY_TASK);
}

typedef struct {
    ptrdiff_t row, x, y, n; /* where in its row it begins on both sides, and its length */
    ptrdiff_t left;         /* in this task, these among them */
} copy_piece;

static copy_piece copy_piece_from(const copy_job *c, ptrdiff_t row, ptrdiff_t from, ptrdiff_t left)
{
    ptrdiff_t n = c->n - from < left ? c->n - from : left;
    return (copy_piece){row, row * c->x_step + from, row * c->y_step + from, n, left};
}

static copy_piece copy_first(const copy_job *c, int task)
{
    ptrdiff_t at = (ptrdiff_t)task * COPY_TASK, left = c->count - at;
    return copy_piece_from(c, at / c->n, at % c->n, left < COPY_TASK ? left : COPY_TASK);
}

static copy_piece copy_next(const copy_job *c, copy_piece p)
{
    return copy_piece_from(c, p.row + 1, 0, p.left - p.n);
}

static void copy_add_task(void *job, int task, int worker)
{
    (void)worker;
    const copy_job *c = job;
    for (copy_piece p = copy_first(c, task); p.left > 0; p = copy_next(c, p))
        row_axpy(p.n, 1, (const REAL *)c->x + p.x, (REAL *)c->y + p.y);
}

void add_rows(ptrdiff_t rows, ptrdiff_t n, const REAL *x, ptrdiff_t x_step, REAL *y,
              ptrdiff_t y_step)
{
    copy_job c = copy_cut(rows, n, x, x_step, y, y_step);
    at_parallel(copy_tasks(&c), copy_add_task, &c);
}

void AT_REAL(add_values)(ptrdiff_t n, const void *x, void *y)
{
    add_rows(1, n, x, 0, y, 0);
}

#ifdef AT_ONCE

static void copy_task(void *job, int task, int worker)
{
    (void)worker;
    const copy_job *c = job;
    for (copy_piece p = copy_first(c, task); p.left > 0; p = copy_next(c, p))
        memcpy((char *)c->y + p.y, (const char *)c->x + p.x, (size_t)p.n);
}

void at_copy_rows(ptrdiff_t rows, ptrdiff_t n, const void *x, ptrdiff_t x_step, void *y,
                  ptrdiff_t y_step)
{
    copy_job c = copy_cut(rows, n, x, x_step, y, y_step);
    at_parallel(copy_tasks(&c), copy_task, &c);
}

#endif
