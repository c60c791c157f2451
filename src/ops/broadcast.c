/* broadcast.c -- few loops for operands of many shapes.
 *
 * An input that is broadcast is read with a step of 0 along the axes where it is repeated.  Axes of
 * size 1 are dropped, and neighbours that every operand walks as if they were one, become one:
 *
 *     scores [B,H,T,S]                         for b < B, for h < H, for r < T S
 *     bias   [B,1,T,S]   steps over [B,H,TS]:      T S        0          1
 *
 *     x [B,T,N] and gamma [N]                  for i < B T, for r < N
 *     two of the same shape, or a scalar       for r < all
 *
 * The innermost loop is the row.  Along it a step is 1 or 0, so a piece of a row is contiguous in
 * every operand, once a 0 has been spelt out as that many copies.
 *
 * The gradient of a repeat is a sum.  For an input x that was repeated, the loops along which x
 * moves are kept, and those along which it stands still are summed:
 *
 *     kept row (bias [N])          sum_j += g_j, for every summed index; then dx_j += sum_j
 *     summed row (one per row)     sum += g_1 + ... + g_n, for every summed index; then dx += sum
 *
 * Every element of dx belongs to one task, which adds in memory order: the bits depend on the
 * shapes alone. */
#include "ops/broadcast.h"

#include <stdio.h>
#include <string.h>

#include "kernels/pool.h"
#include "kernels/rows.h"

#ifndef REAL /* ---------------------------- loops and tasks ---------------------------- */

typedef struct {
    ptrdiff_t size, out, in[AT_MAX_OPERANDS]; /* steps in the output and in every input */
} map_loop;

typedef struct {
    ptrdiff_t out, in[AT_MAX_OPERANDS]; /* where we are in the output and in every input */
} map_place;

typedef struct map_job map_job;
struct map_job {
    const at_node *n;
    at_formula *f;
    void (*unit)(const map_job *job, ptrdiff_t unit);

    at_fresh dx; /* of input i, when going back */
    int i;
    bool repeated, row_summed;

    map_loop kept[AT_MAX_DIMS], summed[AT_MAX_DIMS], row; /* outermost first */
    int n_kept, n_summed;
    ptrdiff_t sums; /* how many indices the summed loops have together */

    ptrdiff_t pieces; /* units per row: a unit is one piece, or one row if it is summed */
    ptrdiff_t units, per_task;
};

/* Moves p to this index of the loops, counted with the innermost fastest. */
static void map_move(map_place *p, const map_loop *loop, int n, int n_in, ptrdiff_t index)
{
    for (int d = n - 1; d >= 0; d--) {
        ptrdiff_t i = d > 0 ? index % loop[d].size : index;
        if (d > 0) index /= loop[d].size;
        p->out += i * loop[d].out;
        for (int k = 0; k < n_in; k++) p->in[k] += i * loop[d].in[k];
    }
}

#define AT_KERNELS "ops/broadcast.c"
#include "kernels/each_real.h"

/* Can the loop `outer` swallow the one inside of it? */
static bool map_merges(const map_loop *outer, const map_loop *inner, int n_in)
{
    for (int k = 0; k < n_in; k++)
        if (outer->in[k] != inner->in[k] * inner->size) return false;
    return true;
}

/* The loops over y, as few as possible, outermost first; returns how many, at least one. */
static int map_loops(const at_node *n, map_loop loop[AT_MAX_DIMS])
{
    at_shape y = n->out[0]->shape;
    ptrdiff_t in[AT_MAX_OPERANDS][AT_MAX_DIMS], out[AT_MAX_DIMS];
    at_broadcast_strides(y, y, out);
    for (int k = 0; k < n->n_in; k++) at_broadcast_strides(n->in[k]->shape, y, in[k]);

    int loops = 0;
    for (int d = 0; d < y.ndim; d++) {
        if (y.dim[d] == 1) continue;
        map_loop next = {y.dim[d], out[d], {0}};
        for (int k = 0; k < n->n_in; k++) next.in[k] = in[k][d];
        if (loops > 0 && map_merges(&loop[loops - 1], &next, n->n_in))
            next.size *= loop[--loops].size;
        loop[loops++] = next;
    }
    if (loops == 0) loop[loops++] = (map_loop){.size = 1, .out = 1};
    return loops;
}

/* Most operands have one shape: then there is no need to look for loops. */
static int map_loops_quickly(const at_node *n, map_loop loop[AT_MAX_DIMS])
{
    for (int k = 0; k < n->n_in; k++)
        if (!at_same_shape(n->in[k]->shape, n->out[0]->shape)) return map_loops(n, loop);
    loop[0] = (map_loop){at_count(n->out[0]->shape), 1, {1, 1, 1}};
    return 1;
}

static void map_task(void *ctx, int task, int worker)
{
    (void)worker;
    const map_job *job = ctx;
    ptrdiff_t from = task * job->per_task, to = from + job->per_task;
    if (to > job->units) to = job->units;
    for (ptrdiff_t unit = from; unit < to; unit++) job->unit(job, unit);
}

/* Fewer elements than this are not worth waking a thread for. */
enum { MAP_TASK = 32768 };

static void map_run(map_job *job)
{
    map_loop loop[AT_MAX_DIMS];
    int loops = map_loops_quickly(job->n, loop);
    ptrdiff_t outer = 1, cost;

    job->row = loop[loops - 1];
    job->row_summed = job->repeated && job->row.in[job->i] == 0;
    job->pieces = job->row_summed ? 1 : (job->row.size + AT_PIECE - 1) / AT_PIECE;
    job->sums = 1;
    for (int d = 0; d < loops - 1; d++) {
        if (job->repeated && loop[d].in[job->i] == 0)
            job->summed[job->n_summed++] = loop[d], job->sums *= loop[d].size;
        else
            job->kept[job->n_kept++] = loop[d], outer *= loop[d].size;
    }
    job->units = outer * job->pieces;
    cost = job->sums * (job->row.size + job->pieces - 1) / job->pieces;
    job->per_task = cost < MAP_TASK ? MAP_TASK / cost : 1;
    at_parallel((int)((job->units + job->per_task - 1) / job->per_task), map_task, job);
}

static bool map_is_f64(const at_node *n)
{
    return n->out[0]->dtype == ATTIC_F64;
}

void at_map(at_node *n, at_formula *f)
{
    if (at_count(n->out[0]->shape) == 0) return;
    map_job job = {.n = n, .f = f, .unit = map_is_f64(n) ? map_forward_f64 : map_forward_f32};
    map_run(&job);
}

void at_map_back(at_node *n, int i, at_formula *g)
{
    ptrdiff_t count = at_count(n->out[0]->shape);
    bool repeated = count != at_count(n->in[i]->shape), f64 = map_is_f64(n);
    at_fresh dx = repeated ? (at_fresh){at_grad(n, i), 1} : at_grad_fresh(n, i);
    if (!dx.p || count == 0) return;

    map_job job = {.n = n, .f = g, .dx = dx, .i = i, .repeated = repeated};
    if (repeated)
        job.unit = f64 ? map_back_sum_f64 : map_back_sum_f32;
    else
        job.unit = f64 ? map_back_each_f64 : map_back_each_f32;
    map_run(&job);
}

const char *at_clash_text(at_shape a, at_shape b)
{
    char *text = at_text_buffer();
    *text = 0;
    for (int i = 1; i <= a.ndim && i <= b.ndim; i++) {
        int m = a.dim[a.ndim - i], n = b.dim[b.ndim - i];
        if (m == n || m == 1 || n == 1) continue;
        snprintf(text, AT_TEXT_SIZE, "dims %d and %d differ and neither is 1", m, n);
        break;
    }
    return text;
}

#else /* ------------------------------- pieces ------------------------------- */

/* n elements of input k from `at` on: themselves, or one of them n times. */
static const void *KERNEL(map_input)(const map_job *job, int k, ptrdiff_t at, int n, REAL *space)
{
    const at_tensor *x = job->n->in[k];
    bool repeat = job->row.in[k] == 0 && n > 1;
    if (x->dtype == ATTIC_BOOL) {
        const unsigned char *p = (const unsigned char *)x->data + at;
        return repeat ? memset(space, *p, (size_t)n) : p;
    }
    const REAL *p = (const REAL *)x->data + at;
    if (!repeat) return p;
    for (int i = 0; i < n; i++) space[i] = *p;
    return space;
}

/* The formula's values for the n elements at place p. */
static void KERNEL(map_values)(const map_job *job, const map_place *p, int n, REAL *values)
{
    REAL space[AT_MAX_OPERANDS][AT_PIECE];
    const at_tensor *y = job->n->out[0];
    at_piece k = {.n = n, .at = p->out, .y = (const REAL *)y->data + p->out, .args = job->n->args};
    if (job->dx.p) k.dy = (const REAL *)y->grad + p->out;
    for (int i = 0; i < job->n->n_in; i++)
        k.in[i] = KERNEL(map_input)(job, i, p->in[i], n, space[i]);
    job->f(&k, values);
}

/* The same in `space`, or where they are already: without a formula they are dy. */
static const REAL *KERNEL(map_find)(const map_job *job, const map_place *p, int n, REAL *space)
{
    if (!job->f) return (const REAL *)job->n->out[0]->grad + p->out;
    KERNEL(map_values)(job, p, n, space);
    return space;
}

/* Where a unit begins, and how many elements of its row it has. */
static int KERNEL(map_unit)(const map_job *job, ptrdiff_t unit, map_place *p)
{
    ptrdiff_t from = unit % job->pieces * AT_PIECE, n = job->row.size - from;
    *p = (map_place){0};
    map_move(p, job->kept, job->n_kept, job->n->n_in, unit / job->pieces);
    map_move(p, &job->row, 1, job->n->n_in, from);
    return n < AT_PIECE ? (int)n : AT_PIECE;
}

static void KERNEL(map_forward)(const map_job *job, ptrdiff_t unit)
{
    map_place p;
    int n = KERNEL(map_unit)(job, unit, &p);
    KERNEL(map_values)(job, &p, n, (REAL *)job->n->out[0]->data + p.out);
}

/* dx_j += g_j, or dx_j = g_j where there is nothing to add to */
static void KERNEL(map_back_each)(const map_job *job, ptrdiff_t unit)
{
    map_place p;
    int n = KERNEL(map_unit)(job, unit, &p);
    REAL *dx = (REAL *)job->dx.p + p.out, space[AT_PIECE];
    const REAL *g = KERNEL(map_find)(job, &p, n, job->dx.beta ? space : dx);

    if (job->dx.beta)
        for (int j = 0; j < n; j++) dx[j] += g[j];
    else if (g != dx)
        memcpy(dx, g, (size_t)n * sizeof *dx);
}

/* dx_j += the sum of g_j */
static void KERNEL(map_back_columns)(const map_job *job, const map_place *start, int n)
{
    REAL *dx = (REAL *)job->dx.p + start->in[job->i], space[AT_PIECE];
    double sum[AT_PIECE];

    for (int j = 0; j < n; j++) sum[j] = 0;
    for (ptrdiff_t s = 0; s < job->sums; s++) {
        map_place p = *start;
        map_move(&p, job->summed, job->n_summed, job->n->n_in, s);
        const REAL *g = KERNEL(map_find)(job, &p, n, space);
        for (int j = 0; j < n; j++) sum[j] += (double)g[j];
    }
    for (int j = 0; j < n; j++) dx[j] += (REAL)sum[j];
}

/* dx += the sum of all g in these rows */
static void KERNEL(map_back_row)(const map_job *job, const map_place *start)
{
    REAL *dx = (REAL *)job->dx.p + start->in[job->i], space[AT_PIECE];
    double sum = 0;

    for (ptrdiff_t s = 0; s < job->sums; s++)
        for (ptrdiff_t from = 0; from < job->row.size; from += AT_PIECE) {
            ptrdiff_t left = job->row.size - from, n = left < AT_PIECE ? left : AT_PIECE;
            map_place p = *start;
            map_move(&p, job->summed, job->n_summed, job->n->n_in, s);
            map_move(&p, &job->row, 1, job->n->n_in, from);
            const REAL *g = KERNEL(map_find)(job, &p, (int)n, space);
            sum += (double)AT_FOR_REAL(row_sum)(n, g);
        }
    *dx += (REAL)sum;
}

static void KERNEL(map_back_sum)(const map_job *job, ptrdiff_t unit)
{
    map_place p;
    int n = KERNEL(map_unit)(job, unit, &p);
    if (job->row_summed)
        KERNEL(map_back_row)(job, &p);
    else
        KERNEL(map_back_columns)(job, &p, n);
}

#endif
