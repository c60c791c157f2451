/* map.c -- few loops for operands of many shapes.
 *
 * Most operands have one shape.  Then there are no loops at all, and a task is a range of elements
 * of each.  Else nest.h makes the loops: an operand that is repeated has a step of 0 there.
 *
 * The innermost loop is the row.  It is cut into chunks, which turns it into one more loop; a chunk
 * is made contiguous for the formula, by a copy where an operand is repeated along the row:
 *
 *     for i < B T, for chunk < N / 512         each chunk of y is a unit of work
 *
 * (Where the innermost loop is very short, the one around it is taken for the row: its elements are
 * not contiguous, and are copied too.)
 *
 * The gradient of a repeat is a sum.  For an input x that was repeated, the loops along which x
 * moves are kept, and those along which it stands still are summed:
 *
 *     gamma [N]       kept: chunks of N       summed: B T             sum_j += g_j
 *     one [B,T,1]     kept: B T               summed: chunks of N     sum   += g_1 + g_2 + ...
 *
 * A unit then is one index of the kept loops, and its sum goes over all indices of the summed ones,
 * in memory order.  Where there are few units with long sums, as for a bias, a sum is shared: each
 * share adds up its part, and the parts are added in order.  All of this is decided by the shapes
 * alone, and so are the bits. */
#include "ops/map.h"

#include "kernels/real.h"
#include "ops/map_op.h"
#include "ops/nest.h"
#include "ops/op.h"

enum {
    MAP_SHORT = 16,  /* a loop that is shorter is no row, if the one around it is longer */
    MAP_APART = 128, /* elements of a chunk of the latter, which are not contiguous */
    MAP_ROW = 4096,  /* elements that are summed at once where there is no formula */
    MAP_RUN = 16,    /* rows that are added in the real type, then in WIDE */
    MAP_SHARES = 16  /* sums that are computed at the same time */
};
enum { MAP_TO, MAP_OVER, MAP_IN }; /* operands of the loops */

typedef struct { /* operands of one shape */
    const at_node *n;
    at_formula *f;
    at_grad_buffer dx; /* when going back */
    ptrdiff_t count;
} map_even_job;

typedef struct {
    const at_map_job *job;
    ptrdiff_t count; /* elements of job->over */
    at_loop row;
    ptrdiff_t chunks; /* of a row */
    int chunk;        /* elements of one, but for the last of a row */
    bool row_summed;
    at_nest kept, summed;
    int shares;
} map_plan;

AT_EACH_REAL(void, map_even, (void *ctx, ptrdiff_t at, ptrdiff_t to, int slot));
AT_EACH_REAL(void, map_each, (void *plan, ptrdiff_t unit, ptrdiff_t to, int slot));
AT_EACH_REAL(void, map_sums, (void *plan, ptrdiff_t task, ptrdiff_t to, int slot));
AT_EACH_REAL(void, map_add_shares, (const map_plan *m));

/* Where element `at` of an array is. */
static const void *map_element(at_dtype dtype, const void *data, ptrdiff_t at)
{
    const size_t size = dtype == ATTIC_BOOL  ? 1
                        : dtype == ATTIC_I32 ? sizeof(int32_t)
                                             : sizeof(REAL);
    return (const char *)data + at * (ptrdiff_t)size;
}

/* All of it for operands of one shape. */
void AT_REAL(map_even)(void *ctx, ptrdiff_t at, ptrdiff_t to, int slot)
{
    (void)slot;
    const map_even_job *job = ctx;
    const at_node *n = job->n;
    const at_tensor *out = n->out[0];
    REAL *dy = out->grad, *dx = job->dx.p, space[AT_CHUNK];
    const bool add = dx && job->dx.beta;

    at_chunk k; /* not zeroed: that costs more than a small formula */
    k.of = job->count, k.args = n->args;
    for (; at < to; at += AT_CHUNK) {
        k.n = to - at < AT_CHUNK ? (int)(to - at) : AT_CHUNK;
        k.at = at;
        k.y = map_element(out->dtype, out->data, at);
        k.dy = !dx ? NULL : dx != dy ? dy + at : memcpy(space, dy + at, (size_t)k.n * sizeof *dy);
        for (int i = 0; i < n->n_in; i++)
            k.in[i] = map_element(n->in[i]->dtype, n->in[i]->data, at);
        job->f(&k, !dx ? (void *)k.y : add ? space : dx + at);
        if (add)
            for (int j = 0; j < k.n; j++) dx[at + j] += space[j];
    }
}

/* The elements in a chunk.  The loop over chunks is an innermost one, so `index` of its nest tells
 * which it is. */
static int map_length(const map_plan *m, ptrdiff_t index)
{
    ptrdiff_t left = m->row.size - (m->chunks > 1 ? index % m->chunks * m->chunk : 0);
    return left < m->chunk ? (int)left : m->chunk;
}

/* n elements of operand k from `at` on, side by side: where they are, or copied to `space`. */
static const void *map_read(const map_plan *m, int k, at_dtype dtype, const void *data,
                            const ptrdiff_t *at, int n, REAL *space)
{
    const ptrdiff_t step = n > 1 ? m->row.step[k] : 1;
    const void *from = map_element(dtype, data, at[k]);
    if (step == 1) return from;
    if (dtype == ATTIC_BOOL) {
        const unsigned char *x = from;
        if (step == 0) return memset(space, *x, (size_t)n);
        for (int j = 0; j < n; j++) ((unsigned char *)space)[j] = x[j * step];
        return space;
    }
    if (dtype == ATTIC_I32) {
        const int32_t *x = from;
        for (int j = 0; j < n; j++) ((int32_t *)space)[j] = x[j * step];
        return space;
    }
    const REAL *x = from, one = *x;
    if (step == 0)
#pragma GCC unroll 8 /* else the loop costs more than the stores */
        for (int j = 0; j < n; j++) space[j] = one;
    else
        for (int j = 0; j < n; j++) space[j] = x[j * step];
    return space;
}

/* Not inlined: its arrays would make one large frame with the arrays of its callers. */
static __attribute__((noinline)) void map_formula(const map_plan *m, const ptrdiff_t *at, int n,
                                                  void *values)
{
    const at_map_job *job = m->job;
    REAL space[AT_MAX_OPERANDS][AT_CHUNK], y[MAP_APART], dy[MAP_APART];
    at_chunk c;
    c.n = n, c.of = m->count, c.at = at[MAP_OVER], c.args = job->args, c.y = c.dy = NULL;
    if (job->y) c.y = map_read(m, MAP_OVER, job->real, job->y, at, n, y);
    if (job->dy) c.dy = map_read(m, MAP_OVER, job->real, job->dy, at, n, dy);
    for (int i = 0; i < job->n_in; i++)
        c.in[i] = map_read(m, MAP_IN + i, job->in[i].dtype, job->in[i].data, at, n, space[i]);
    job->f(&c, values);
}

void AT_REAL(map_each)(void *plan, ptrdiff_t unit, ptrdiff_t to, int slot)
{
    (void)slot;
    const map_plan *m = plan;
    const ptrdiff_t step = m->row.step[MAP_TO];
    const bool add = m->job->to.beta;
    for (; unit < to; unit++) {
        ptrdiff_t at[AT_NEST_OPERANDS] = {0};
        at_nest_move(&m->kept, unit, at);
        const int n = map_length(m, unit);
        if (m->job->bools) {
            map_formula(m, at, n, (unsigned char *)m->job->to.p + at[MAP_TO]);
            continue;
        }
        REAL *y = (REAL *)m->job->to.p + at[MAP_TO], space[AT_CHUNK];
        const REAL *values = step == 1 && !add ? y : space;
        if (m->job->f)
            map_formula(m, at, n, (REAL *)values);
        else
            values = map_read(m, MAP_IN, m->job->real, m->job->in[0].data, at, n, (REAL *)values);
        if (add)
            for (int j = 0; j < n; j++) y[j * step] += values[j];
        else if (values != y)
            for (int j = 0; j < n; j++) y[j * step] = values[j];
    }
}

static REAL map_larger(REAL x, REAL m)
{
    return ((VALUE(x) > VALUE(m)) | (VALUE(x) != VALUE(x))) ? x : m;
}

/* How many sums a unit has. */
static int map_width(const map_plan *m, ptrdiff_t unit)
{
    return m->row_summed ? 1 : map_length(m, unit);
}

/* n values of a unit that begins at `start`, at one of its steps. */
static inline const REAL *map_step(const map_plan *m, const ptrdiff_t *start, ptrdiff_t step, int n,
                                   REAL *space)
{
    const at_map_job *job = m->job;
    if (!job->f)
        return (const REAL *)job->in[0].data + start[MAP_IN] +
               at_nest_offset(&m->summed, MAP_IN, step);
    ptrdiff_t at[AT_NEST_OPERANDS];
    memcpy(at, start, sizeof at);
    at_nest_move(&m->summed, step, at);
    map_formula(m, at, n, space);
    return space;
}

/* sum_j x_j, in 16 chains of WIDE */
static WIDE map_wide_sum(int n, const REAL *x)
{
    enum { CHAINS = 16 };
    WIDE sum[CHAINS] = {0};
    int j = 0;
    for (; j + CHAINS <= n; j += CHAINS)
        for (int k = 0; k < CHAINS; k++) sum[k] += (WIDE)x[j + k];
    for (int k = 0; j + k < n; k++) sum[k] += (WIDE)x[j + k];
    for (int k = 1; k < CHAINS; k++) sum[0] += sum[k];
    return sum[0];
}

/* How many of x are m. */
static int map_ties(int n, const REAL *x, REAL m)
{
    int ties = 0;
    for (int j = 0; j < n; j++) ties += at_is_max(x[j], m);
    return ties;
}

/* The sum, or the maximum, of a unit's values at steps from .. to-1, where a step is part of a
 * row. */
static WIDE map_sum_row(const map_plan *m, const ptrdiff_t *start, ptrdiff_t from, ptrdiff_t to)
{
    const at_map_job *job = m->job;
    REAL space[AT_CHUNK], largest = -(REAL)INFINITY;
    WIDE sum = 0;
    for (; from < to; from++) {
        const int n = map_length(m, from);
        const REAL *x = map_step(m, start, from, n, space);
        if (job->ties)
            sum += map_ties(n, x, *((const REAL *)job->in[1].data + start[MAP_IN + 1]));
        else if (job->max)
            largest = map_larger(row_max(n, x), largest);
        else
            sum += job->wide ? map_wide_sum(n, x) : (WIDE)row_sum(n, x);
    }
    return job->max ? (WIDE)largest : sum;
}

/* The same for n columns side by side. */
static void map_sum_columns(const map_plan *m, const ptrdiff_t *start, ptrdiff_t from, ptrdiff_t to,
                            int n, WIDE *sum)
{
    const bool max = m->job->max, ties = m->job->ties;
    const ptrdiff_t apart = m->job->f ? 1 : m->row.step[MAP_IN];
    REAL space[AT_CHUNK], run[AT_CHUNK];
    const REAL *y = space;
    if (ties) y = map_read(m, MAP_IN + 1, m->job->real, m->job->in[1].data, start, n, space);
    for (int j = 0; j < n; j++) sum[j] = max ? -(WIDE)INFINITY : 0;
    while (from < to) {
        const REAL *x = map_step(m, start, from++, n, space);
        if (m->job->wide) {
            for (int j = 0; j < n; j++) sum[j] += (WIDE)x[j * apart];
            continue;
        }
        if (ties)
            for (int j = 0; j < n; j++) run[j] = at_is_max(x[j * apart], y[j]) ? 1 : 0;
        else
            for (int j = 0; j < n; j++) run[j] = x[j * apart];
        for (int k = 1; k < MAP_RUN && from < to; k++) {
            x = map_step(m, start, from++, n, space);
            if (max)
                for (int j = 0; j < n; j++) run[j] = map_larger(x[j * apart], run[j]);
            else if (ties)
                for (int j = 0; j < n; j++) run[j] += at_is_max(x[j * apart], y[j]) ? 1 : 0;
            else
                for (int j = 0; j < n; j++) run[j] += x[j * apart];
        }
        for (int j = 0; j < n; j++)
            sum[j] = max ? (WIDE)map_larger(run[j], (REAL)sum[j]) : sum[j] + (WIDE)run[j];
    }
}

/* sum_j = the sum, or the maximum, of a unit's values at steps from .. to-1; returns where they
 * go */
static ptrdiff_t map_sum(const map_plan *m, ptrdiff_t unit, ptrdiff_t from, ptrdiff_t to, WIDE *sum)
{
    ptrdiff_t start[AT_NEST_OPERANDS] = {0};
    at_nest_move(&m->kept, unit, start);
    if (m->row_summed)
        *sum = map_sum_row(m, start, from, to);
    else
        map_sum_columns(m, start, from, to, map_length(m, unit), sum);
    return start[MAP_TO];
}

static void map_store(const map_plan *m, ptrdiff_t unit, ptrdiff_t at, const WIDE *sum)
{
    REAL *y = (REAL *)m->job->to.p + at;
    const ptrdiff_t step = m->row.step[MAP_TO];
    const int width = map_width(m, unit);
    const bool add = m->job->to.beta;
    for (int j = 0; j < width; j++) y[j * step] = (add ? y[j * step] : 0) + (REAL)sum[j];
}

void AT_REAL(map_sums)(void *plan, ptrdiff_t task, ptrdiff_t to, int slot)
{
    (void)slot;
    const map_plan *m = plan;
    const ptrdiff_t steps = m->summed.count;
    WIDE alone[AT_CHUNK];
    for (; task < to; task++) {
        if (m->shares == 1) {
            map_store(m, task, map_sum(m, task, 0, steps, alone), alone);
            continue;
        }
        const ptrdiff_t share = task % m->shares;
        map_sum(m, task / m->shares, steps * share / m->shares, steps * (share + 1) / m->shares,
                (WIDE *)m->job->scratch + task * AT_CHUNK);
    }
}

/* y = the sum of the shares, in their order */
void AT_REAL(map_add_shares)(const map_plan *m)
{
    WIDE *sum = m->job->scratch;
    for (ptrdiff_t unit = 0; unit < m->kept.count; unit++, sum += m->shares * AT_CHUNK) {
        const int width = map_width(m, unit);
        for (int k = 1; k < m->shares; k++)
            for (int j = 0; j < width; j++) {
                const WIDE x = sum[k * AT_CHUNK + j];
                sum[j] = m->job->max ? (WIDE)map_larger((REAL)x, (REAL)sum[j]) : sum[j] + x;
            }
        map_store(m, unit, at_nest_offset(&m->kept, MAP_TO, unit), sum);
    }
}

#ifdef AT_ONCE /* ---------------------------- loops ---------------------------- */

static map_plan map_plan_of(const at_map_job *job)
{
    at_shape shape[AT_NEST_OPERANDS];
    shape[MAP_TO] = job->to_shape, shape[MAP_OVER] = job->over;
    for (int i = 0; i < job->n_in; i++) shape[MAP_IN + i] = job->in[i].shape;
    at_nest all = at_nest_of(job->over, MAP_IN + job->n_in, shape);
    map_plan m;
    m.job = job, m.count = all.count, m.row = (at_loop){.size = 1};
    m.chunk = AT_CHUNK, m.shares = 1;
    if (all.n > 0) m.row = at_nest_drop(&all);
    at_loop *outer = &all.loop[all.n > 0 ? all.n - 1 : 0];
    if (all.n > 0 && m.row.size < MAP_SHORT && m.row.size < outer->size && outer->step[MAP_TO] &&
        !job->bools) {
        at_loop inner = m.row;
        m.row = *outer;
        *outer = inner;
        if (job->f) m.chunk = MAP_APART;
    }
    at_nest_split(&all, MAP_TO, &m.kept, &m.summed);
    m.row_summed = m.row.size > 1 && m.row.step[MAP_TO] == 0;
    if (m.row_summed && !job->f && m.row.step[MAP_IN] == 1) m.chunk = MAP_ROW;
    m.chunks = m.row.size > m.chunk ? (m.row.size + m.chunk - 1) / m.chunk : 1;
    at_loop over_chunks = m.row;
    over_chunks.size = m.chunks;
    for (int k = 0; k < AT_NEST_OPERANDS; k++) over_chunks.step[k] *= m.chunk;
    at_nest_add(m.row_summed ? &m.summed : &m.kept, over_chunks);
    return m;
}

/* The work of `count` values: a sum without a formula is little. */
static ptrdiff_t map_work(const at_map_job *job, ptrdiff_t count)
{
    return job->f ? count : count / 8;
}

void at_map_each(const at_map_job *job)
{
    if (at_count(job->over) == 0) return;
    map_plan m = map_plan_of(job);
    at_for(m.kept.count, map_work(job, m.count / m.kept.count), 0, AT_OF_REAL(job->real, map_each),
           &m);
}

void at_sum_rows(const at_map_job *job)
{
    if (at_count(job->over) == 0) {
        size_t bytes = (size_t)at_count(job->to_shape) * at_dtype_size(job->real);
        if (!job->to.beta && bytes > 0) memset(job->to.p, 0, bytes);
        return;
    }
    map_plan m = map_plan_of(job);
    const ptrdiff_t units = m.kept.count, work = map_work(job, m.count);
    if (job->scratch && units < MAP_SHARES) m.shares = at_parts(work, MAP_SHARES / (int)units);
    if (m.shares > m.summed.count) m.shares = (int)m.summed.count;
    at_for(units * m.shares, work / units / m.shares, 0, AT_OF_REAL(job->real, map_sums), &m);
    if (m.shares > 1) AT_OF_REAL(job->real, map_add_shares)(&m);
}

size_t at_sum_scratch(ptrdiff_t count)
{
    return at_parts(count, 2) > 1 ? MAP_SHARES * AT_CHUNK * AT_WIDEST : 0;
}

/* ------------------------------------------------------------------ of a node ------------------ */

static bool map_is_even(const at_node *n)
{
    const at_shape *y = &n->out[0]->shape; /* not copied: asked for every op, however small */
    bool even = true;
    for (int k = 0; even && k < n->n_in; k++) {
        const at_shape *x = &n->in[k]->shape;
        even = x->ndim == y->ndim;
        for (int d = 0; even && d < y->ndim; d++) even = x->dim[d] == y->dim[d];
    }
    return even;
}

static void map_run_even(at_node *n, at_formula *f, at_grad_buffer dx)
{
    map_even_job job = {n, f, dx, at_count(n->out[0]->shape)};
    at_for(job.count, 1, 0, AT_OF_REAL(at_real(n->tape), map_even), &job);
}

/* Without a formula only the shape of y counts. */
static at_map_job map_job_of(const at_node *n, at_formula *f)
{
    const at_tensor *y = n->out[0];
    at_map_job job = {.over = y->shape,
                      .real = at_real(n->tape),
                      .f = f,
                      .args = n->args,
                      .bools = y->dtype == ATTIC_BOOL};
    for (int i = 0; f && i < n->n_in; i++)
        job.in[job.n_in++] = (at_operand){n->in[i]->shape, n->in[i]->dtype, n->in[i]->data};
    return job;
}

void at_map(at_node *n, at_formula *f)
{
    if (!n || !f) return;
    if (map_is_even(n)) {
        map_run_even(n, f, (at_grad_buffer){0});
        return;
    }
    at_map_job job = map_job_of(n, f);
    job.to_shape = job.over;
    job.to.p = n->out[0]->data;
    at_map_each(&job);
}

void at_map_back(at_node *n, int i, at_formula *g)
{
    if (!n || i < 0 || i >= n->n_in) return;
    const at_tensor *x = n->in[i], *y = n->out[0];
    bool even = map_is_even(n), repeated = !even && at_count(x->shape) != at_count(y->shape);
    if (!repeated && !g) {
        at_grad_pass(n, i);
        return;
    }
    at_grad_buffer dx = repeated               ? (at_grad_buffer){at_grad(n, i), 1}
                        : even && n->n_in == 1 ? at_grad_in_place(n, i)
                                               : at_grad_overwrite(n, i);
    if (!dx.p) return;
    if (even) {
        map_run_even(n, g, dx);
        return;
    }
    at_map_job job = map_job_of(n, g);
    job.y = y->data, job.dy = y->grad;
    if (!g) job.in[job.n_in++] = (at_operand){y->shape, y->dtype, y->grad};
    job.to_shape = x->shape, job.to = dx;
    if (repeated) {
        job.wide = true;
        job.scratch = at_scratch(n, 0);
        at_sum_rows(&job);
    } else {
        at_map_each(&job);
    }
}

/* Of a formula that was compiled for each real type, the one for this node. */
static at_formula *map_formula_for(const at_node *n, at_formula *const *each)
{
    const at_dtype real = at_real(n->tape);
    return each[real == ATTIC_F32 ? 0 : real == ATTIC_F64 ? 1 : 2];
}

void at_map_forward(at_node *n)
{
    at_map(n, map_formula_for(n, ((const at_map_op *)n->op)->f));
}

void at_map_backward(at_node *n)
{
    const at_map_op *op = (const at_map_op *)n->op;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i]->wants_grad) at_map_back(n, i, map_formula_for(n, op->g[i]));
}

at_tensor *at_record_map(at_tape *t, const at_op *op, at_inputs in, at_shape y, const void *args,
                         size_t args_size)
{
    const ptrdiff_t count = at_count(y);
    const size_t scratch = at_sum_scratch(count);
    bool sums = false;
    for (int k = 0; scratch && in.in && k < in.n; k++)
        sums |= in.in[k] && at_count(in.in[k]->shape) < count;
    if (!sums) return at_record(t, op, in, y, args, args_size);
    at_recipe r = {
        .shape = {y}, .args = args, .args_size = args_size, .scratch = scratch, .slots = 1};
    return at_output(at_record_node(t, op, in, r));
}

at_tensor *at_along_axis(at_tape *t, at_tensor *x, int axis,
                         at_tensor *(*f)(at_tape *, at_tensor *))
{
    if (!at_check_any(t, "along_axis", "x", x)) return NULL;
    AT_REQUIRE(t, f && axis >= 0 && axis < x->shape.ndim,
               "along_axis: there is no function, or no axis %d in x %s", axis, at_text(x));
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
    at_shape both;
    const bool clash = !at_broadcast(a, b, &both) && a.ndim <= AT_MAX_DIMS && b.ndim <= AT_MAX_DIMS;
    for (int i = 1; clash && i <= a.ndim && i <= b.ndim; i++) {
        int m = a.dim[a.ndim - i], n = b.dim[b.ndim - i];
        if (m == n || m == 1 || n == 1) continue;
        snprintf(text, AT_TEXT_SIZE, "dims %d and %d differ and neither is 1", m, n);
        break;
    }
    return text;
}

#endif
