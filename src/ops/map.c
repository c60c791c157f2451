/* map.c -- few loops for operands of many shapes.
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
 * Most operands have one shape.  Then there are no loops at all, and a task is a range of elements of
 * each.
 *
 * The innermost loop is the row.  Along it a step is 1 or 0, so a piece of a row is contiguous in
 * every operand, once a 0 has been spelt out as that many copies.  Cutting the row into pieces turns
 * it into one more loop, over pieces:
 *
 *     for i < B T, for piece < N / 512         each piece of y is a unit of work
 *
 * The gradient of a repeat is a sum.  For an input x that was repeated, the loops along which x
 * moves are kept, and those along which it stands still are summed:
 *
 *     gamma [N]       kept: pieces of N       summed: B T             sum_j += g_j
 *     one [B,T,1]     kept: B T               summed: pieces of N     sum   += g_1 + g_2 + ...
 *
 * A unit then is one index of the kept loops, and its sum goes over all indices of the summed ones,
 * in memory order.  Where there are few units with long sums, as for a bias, the sum is shared:
 * each share adds up its part, and the parts are added in order.  All of this is decided by the
 * shapes alone, and so are the bits. */
#include "ops/map.h"
#include "ops/map_rows.h"

#include <stdio.h>
#include <string.h>

#include "kernels/parallel.h"
#include "kernels/real.h"
#include "kernels/rows.h"
#include "ops/ops.h"

enum { MAP_SHARES = 16 }; /* of one sum, at most */

typedef struct { /* operands of one shape */
    const at_node *n;
    at_formula *f;
    at_fresh dx; /* when going back */
    ptrdiff_t count;
} map_even_job;

typedef struct {
    ptrdiff_t size, out, in[AT_MAX_OPERANDS]; /* steps in the output and in every input */
} map_loop;

typedef struct {
    ptrdiff_t count;            /* how many indices they have together */
    int n;                      /* loops */
    map_loop loop[AT_MAX_DIMS]; /* outermost first */
} map_nest;

typedef struct {
    ptrdiff_t out, in[AT_MAX_OPERANDS]; /* where we are in the output and in every input */
} map_place;

typedef struct map_job map_job;

struct map_job {
    const at_node *n;
    at_formula *f;
    at_fresh dx; /* of input i, when going back */
    int i;
    bool repeated, row_summed;
    map_loop row;
    ptrdiff_t pieces; /* in a row */
    map_nest kept, summed;
    void (*unit)(const map_job *job, ptrdiff_t unit); /* does one index of `kept` */
};

/* Moves p to this index of the nest, counted with the innermost loop fastest. */
static void map_move(map_place *p, const map_nest *nest, int n_in, ptrdiff_t index)
{
    for (int d = nest->n - 1; d >= 0; d--) {
        const map_loop *l = &nest->loop[d];
        ptrdiff_t i = d > 0 ? index % l->size : index;
        if (d > 0) index /= l->size;
        p->out += i * l->out;
        for (int k = 0; k < n_in; k++) p->in[k] += i * l->in[k];
    }
}

/* The elements in a piece: AT_CHUNK, but for the last one of a row.  The loop over pieces is an
 * innermost one, so `index` of its nest tells which it is. */
static int map_length(const map_job *job, ptrdiff_t index)
{
    ptrdiff_t left = job->row.size - index % job->pieces * AT_CHUNK;
    return left < AT_CHUNK ? (int)left : AT_CHUNK;
}

/* How many elements of dx a unit is about. */
static int map_width(const map_job *job, ptrdiff_t unit)
{
    return job->row_summed ? 1 : map_length(job, unit);
}

static map_place map_start(const map_job *job, ptrdiff_t unit)
{
    map_place p = {0};
    map_move(&p, &job->kept, job->n->n_in, unit);
    return p;
}

AT_EACH_REAL(void, map_add_parts, (const at_row_job *job, int i, void *dx));
AT_EACH_REAL(void, map_forward, (const map_job *job, ptrdiff_t unit));
AT_EACH_REAL(void, map_back, (const map_job *job, ptrdiff_t unit));
AT_EACH_REAL(void, map_even, (void *ctx, ptrdiff_t at, ptrdiff_t to, int slot));
AT_EACH_REAL(void, map_sum,
             (const map_job *job, ptrdiff_t unit, ptrdiff_t from, ptrdiff_t to, void *sums,
              int share));
AT_EACH_REAL(void, map_add, (const map_job *job, ptrdiff_t unit, void *sums, int shares));

/* n elements of input k from `at` on: themselves, or one of them n times. */
static const void *map_input(const map_job *job, int k, ptrdiff_t at, int n, REAL *space)
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
static void map_values(const map_job *job, const map_place *p, int n, REAL *values)
{
    REAL space[AT_MAX_OPERANDS][AT_CHUNK];
    const at_tensor *y = job->n->out[0];
    at_chunk k = {.n = n,
                  .of = at_count(y->shape),
                  .at = p->out,
                  .y = (const REAL *)y->data + p->out,
                  .args = job->n->args};
    if (job->dx.p) k.dy = (const REAL *)y->grad + p->out;
    for (int i = 0; i < job->n->n_in; i++) k.in[i] = map_input(job, i, p->in[i], n, space[i]);
    job->f(&k, values);
}

/* The same in `space`, or where they are already: without a formula they are dy. */
static const REAL *map_find(const map_job *job, const map_place *p, int n, REAL *space)
{
    if (!job->f) return (const REAL *)job->n->out[0]->grad + p->out;
    map_values(job, p, n, space);
    return space;
}

void AT_REAL(map_forward)(const map_job *job, ptrdiff_t unit)
{
    map_place p = map_start(job, unit);
    REAL *y = (REAL *)job->n->out[0]->data + p.out;
    map_values(job, &p, map_length(job, unit), y);
}

/* dx_j += g_j, or dx_j = g_j where there is nothing to add to */
void AT_REAL(map_back)(const map_job *job, ptrdiff_t unit)
{
    map_place p = map_start(job, unit);
    int n = map_length(job, unit);
    REAL *dx = (REAL *)job->dx.p + p.out, space[AT_CHUNK];
    const bool add = job->dx.beta;
    map_values(job, &p, n, add ? space : dx);
    if (add)
        for (int j = 0; j < n; j++) dx[j] += space[j];
}

/* All of it for operands of one shape. */
void AT_REAL(map_even)(void *ctx, ptrdiff_t at, ptrdiff_t to, int slot)
{
    (void)slot;
    const map_even_job *job = ctx;
    const at_node *n = job->n;
    REAL *y = n->out[0]->data, *dy = n->out[0]->grad, *dx = job->dx.p, space[AT_CHUNK];
    const bool add = dx && job->dx.beta;

    for (at_chunk k = {.of = job->count, .args = n->args}; at < to; at += AT_CHUNK) {
        k.n = to - at < AT_CHUNK ? (int)(to - at) : AT_CHUNK;
        k.at = at;
        k.y = y + at;
        k.dy = !dx ? NULL : dx != dy ? dy + at : memcpy(space, dy + at, (size_t)k.n * sizeof *dy);
        for (int i = 0; i < n->n_in; i++)
            k.in[i] = (const char *)n->in[i]->data +
                      at * (n->in[i]->dtype == ATTIC_BOOL ? 1 : (ptrdiff_t)sizeof(REAL));
        job->f(&k, !dx ? y + at : add ? space : dx + at);
        if (add)
            for (int j = 0; j < k.n; j++) dx[at + j] += space[j];
    }
}

void AT_REAL(map_sum)(const map_job *job, ptrdiff_t unit, ptrdiff_t from, ptrdiff_t to, void *sums,
                      int share)
{
    WIDE *sum = (WIDE *)sums + (ptrdiff_t)share * AT_CHUNK;
    const map_place start = map_start(job, unit);
    REAL space[AT_CHUNK];

    for (int j = 0; j < map_width(job, unit); j++) sum[j] = 0;
    for (ptrdiff_t s = from; s < to; s++) {
        map_place p = start;
        map_move(&p, &job->summed, job->n->n_in, s);
        int n = map_length(job, job->row_summed ? s : unit);
        const REAL *g = map_find(job, &p, n, space);
        if (job->row_summed)
            *sum += (WIDE)row_sum(n, g);
        else
            for (int j = 0; j < n; j++) sum[j] += (WIDE)g[j];
    }
}

/* dx += the sum of so many shares, in their order */
void AT_REAL(map_add)(const map_job *job, ptrdiff_t unit, void *sums, int shares)
{
    REAL *dx = (REAL *)job->dx.p + map_start(job, unit).in[job->i];
    WIDE(*share)[AT_CHUNK] = sums;
    for (int k = 1; k < shares; k++)
        for (int j = 0; j < map_width(job, unit); j++) share[0][j] += share[k][j];
    for (int j = 0; j < map_width(job, unit); j++) dx[j] += (REAL)share[0][j];
}

/* dx += the sum of the parts, which are used up.  A tree, because its rounding errors grow with the logarithm
 * of their number:
 *
 *     part    0   1   2   3   4   5   6
 *             0+1     2+3     4+5     6
 *             0..3            4..6
 *             0..6                            */
void AT_REAL(map_add_parts)(const at_row_job *job, int i, void *dx)
{
    const ptrdiff_t N = at_last(job->n->in[0]->shape), step = job->r->sums * N;
    const int blocks = job->cut.n;
    REAL *part = (REAL *)job->parts + i * N;
    for (int apart = 1; apart < blocks; apart *= 2)
        for (int b = 0; b + apart < blocks; b += 2 * apart)
            row_axpy(N, 1, part + (b + apart) * step, part + b * step);
    if (blocks > 0) row_axpy(N, 1, part, dx);
}

#ifdef AT_ONCE /* ---------------------------- loops ---------------------------- */

static void map_add_loop(map_nest *nest, map_loop loop)
{
    nest->loop[nest->n++] = loop;
    nest->count *= loop.size;
}

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

static void map_plan(map_job *job)
{
    map_loop loop[AT_MAX_DIMS];
    int loops = map_loops(job->n, loop);
    job->row = loop[loops - 1];
    job->row_summed = job->repeated && job->row.in[job->i] == 0;
    job->pieces = (job->row.size + AT_CHUNK - 1) / AT_CHUNK;

    map_loop *over_pieces = &loop[loops - 1];
    over_pieces->size = job->pieces;
    over_pieces->out *= AT_CHUNK;
    for (int k = 0; k < job->n->n_in; k++) over_pieces->in[k] *= AT_CHUNK;

    job->kept.count = job->summed.count = 1;
    for (int d = 0; d < loops; d++) {
        bool stands_still = d < loops - 1 ? loop[d].in[job->i] == 0 : job->row_summed;
        map_add_loop(job->repeated && stands_still ? &job->summed : &job->kept, loop[d]);
    }
}

/* ------------------------------------------------------------------ tasks ---------------------- */

static ptrdiff_t map_cost(const map_job *job)
{
    return job->summed.count * map_length(job, 0);
}

static void map_units(void *ctx, ptrdiff_t unit, ptrdiff_t to, int slot)
{
    (void)slot;
    const map_job *job = ctx;
    for (; unit < to; unit++) job->unit(job, unit);
}

static void map_run(map_job *job)
{
    at_for(job->kept.count, map_cost(job), 0, map_units, job);
}

static at_dtype map_real(const at_node *n)
{
    return n->out[0]->dtype;
}

static bool map_is_even(const at_node *n)
{
    const at_shape *y =
        &n->out[0]->shape; /* not copied: this is asked for every op, however small */
    bool even = true;
    for (int k = 0; even && k < n->n_in; k++) {
        const at_shape *x = &n->in[k]->shape;
        even = x->ndim == y->ndim;
        for (int d = 0; even && d < y->ndim; d++) even = x->dim[d] == y->dim[d];
    }
    return even;
}

static void map_run_even(at_node *n, at_formula *f, at_fresh dx)
{
    map_even_job job = {n, f, dx, at_count(n->out[0]->shape)};
    at_for(job.count, 1, 0, AT_OF_REAL(map_real(n), map_even), &job);
}

/* For operands of several shapes. */
static void map_run_loops(at_node *n, at_formula *f)
{
    map_job job = {.n = n, .f = f};
    job.unit = AT_OF_REAL(map_real(n), map_forward);
    map_plan(&job);
    map_run(&job);
}

void at_map(at_node *n, at_formula *f)
{
    if (map_is_even(n))
        map_run_even(n, f, (at_fresh){0});
    else if (at_count(n->out[0]->shape) > 0)
        map_run_loops(n, f);
}

/* ------------------------------------------------------------------ sums ----------------------- */

at_tensor *at_record_map(at_tape *t, const at_op *op, at_inputs in, at_shape y, const void *args,
                         size_t args_size)
{
    const ptrdiff_t count = at_count(y);
    bool shared = false; /* might map_run_shared be called? */
    for (int k = 0; at_parts(count, 2) > 1 && k < in.n; k++)
        shared |= at_count(in.in[k]->shape) < count;
    if (!shared) return at_record(t, op, in, y, args, args_size);

    at_recipe r = {.shape = {y},
                   .args = args,
                   .args_size = args_size,
                   .scratch = MAP_SHARES * AT_CHUNK * AT_WIDEST,
                   .slots = 1};
    at_node *n = at_record_node(t, op, in, r);
    return n ? n->out[0] : NULL;
}

static void map_sum_unit(const map_job *job, ptrdiff_t unit)
{
    char sum[AT_CHUNK * AT_WIDEST] __attribute__((aligned(AT_WIDEST)));
    AT_OF_REAL(map_real(job->n), map_sum)(job, unit, 0, job->summed.count, sum, 0);
    AT_OF_REAL(map_real(job->n), map_add)(job, unit, sum, 1);
}

typedef struct {
    const map_job *job;
    ptrdiff_t unit;
    int shares;
    char *sums; /* [shares][AT_CHUNK] */
} map_shared_sum;

static void map_share(void *ctx, int share, int worker)
{
    (void)worker;
    map_shared_sum *s = ctx;
    const ptrdiff_t n = s->job->summed.count, from = n * share / s->shares;
    AT_OF_REAL(map_real(s->job->n), map_sum)
    (s->job, s->unit, from, n * (share + 1) / s->shares, s->sums, share);
}

static void map_run_shared(const map_job *job, int shares)
{
    map_shared_sum s = {.job = job, .shares = shares, .sums = at_scratch(job->n, 0)};
    for (s.unit = 0; s.unit < job->kept.count; s.unit++) {
        at_parallel(shares, map_share, &s);
        AT_OF_REAL(map_real(job->n), map_add)(job, s.unit, s.sums, shares);
    }
}

static int map_shares(const map_job *job)
{
    if (job->kept.count >= MAP_SHARES) return 1;
    int shares = at_parts(map_cost(job), MAP_SHARES);
    return shares < job->summed.count ? shares : (int)job->summed.count;
}

static void map_run_loops_back(at_node *n, int i, at_formula *g, at_fresh dx, bool repeated)
{
    map_job job = {.n = n, .f = g, .dx = dx, .i = i, .repeated = repeated};
    map_plan(&job);
    int shares = repeated ? map_shares(&job) : 1;
    if (repeated)
        job.unit = map_sum_unit;
    else
        job.unit = AT_OF_REAL(map_real(n), map_back);

    if (shares > 1)
        map_run_shared(&job, shares);
    else
        map_run(&job);
}

void at_map_back(at_node *n, int i, at_formula *g)
{
    const at_tensor *x = n->in[i], *y = n->out[0];
    bool even = map_is_even(n), repeated = !even && at_count(x->shape) != at_count(y->shape);
    if (!repeated && !g) {
        at_grad_pass(n, i);
        return;
    }
    at_fresh dx = repeated               ? (at_fresh){at_grad(n, i), 1}
                  : even && n->n_in == 1 ? at_grad_over(n, i)
                                         : at_grad_fresh(n, i);
    if (!dx.p) return;
    if (even)
        map_run_even(n, g, dx);
    else if (at_count(y->shape) > 0)
        map_run_loops_back(n, i, g, dx, repeated);
}

/* ------------------------------------------------------------------ rows ----------------------- */

static at_blocks map_blocks(const at_tensor *x)
{
    return at_blocks_of(at_rows(x->shape), at_last(x->shape));
}

at_tensor *at_record_rows(at_tape *t, const at_op *op, const at_row_op *r, at_inputs in, at_shape y,
                          const void *args, size_t args_size)
{
    const at_tensor *x = in.in[0];
    const size_t N = (size_t)at_last(x->shape), rows = (size_t)at_rows(x->shape);
    size_t parts = 0;
    for (int i = 1; i <= r->sums; i++)
        if (in.in[i] && in.in[i]->wants_grad) parts = (size_t)map_blocks(x).n * (size_t)r->sums * N;
    const size_t size = at_dtype_size(at_real(t));
    at_recipe recipe = {.shape = {y},
                        .args = args,
                        .args_size = args_size,
                        .saved = (r->table + rows * (size_t)r->saved + parts) * size,
                        .scratch = (size_t)(r->space + 1) * N * size};
    at_node *n = at_record_node(t, op, in, recipe);
    return n ? n->out[0] : NULL;
}

void at_map_rows(at_node *n, const at_row_op *r, at_row_block *run)
{
    at_row_job job = {.n = n, .r = r, .cut = map_blocks(n->in[0])};
    if (at_last(n->in[0]->shape) == 0 && !r->saved) return; /* rows of nothing */
    at_parallel_slots(n->slots, job.cut.n, run, &job);
}

void at_map_rows_back(at_node *n, const at_row_op *r, at_row_block *run)
{
    const at_tensor *x = n->in[0];
    at_row_job job = {.n = n, .r = r, .cut = map_blocks(x), .dx = at_grad_fresh(n, 0)};
    for (int i = 0; i < r->sums; i++) {
        job.wanted[i] = n->in[1 + i] && n->in[1 + i]->wants_grad;
        if (job.wanted[i])
            job.parts = (char *)n->saved +
                        at_rows(x->shape) * r->saved * (ptrdiff_t)at_dtype_size(map_real(n));
    }
    if (!job.dx.p && !job.parts) return;
    if (at_last(x->shape) > 0) at_parallel_slots(n->slots, job.cut.n, run, &job);
    for (int i = 0; i < r->sums; i++) {
        void *dx = job.wanted[i] ? at_grad(n, 1 + i) : NULL;
        if (dx) AT_OF_REAL(map_real(n), map_add_parts)(&job, i, dx);
    }
}

at_tensor *at_along_axis(at_tape *t, at_tensor *x, int axis,
                         at_tensor *(*f)(at_tape *, at_tensor *))
{
    at_shape order = {.ndim = x->shape.ndim}, back = order;
    for (int d = 0, i = 0; d < order.ndim; d++)
        if (d != axis) order.dim[i++] = d;
    order.dim[order.ndim - 1] = axis;
    for (int i = 0; i < order.ndim; i++) back.dim[order.dim[i]] = i;
    return at_permute(t, f(t, at_permute(t, x, order)), back);
}

/* ------------------------------------------------------------------ a message ------------------ */

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

#endif
