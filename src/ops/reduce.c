/* reduce.c -- the sum, the mean, the maximum over any axes.
 *
 *   x [axes that are kept, and axes that go, in any order]   y [axes that are kept]
 *
 *   sum        y = sum_r x_r                  dx_r = dy
 *   mean       y = 1/n sum_r x_r              dx_r = dy / n
 *   max        y = max_r x_r                  dx_r = dy / ties if x_r = y, else 0
 *
 * r runs over the n numbers that make one y, and ties of them equal the maximum.  Where there are
 * several the maximum has a kink: it rises with any of them and falls with none.  Equal shares are
 * the choice that does not depend on their order.  A NaN counts as larger than all else, and as
 * equal to another NaN.
 *
 * All three, and the count of ties, are one walk over x, with another step in its middle.
 * Neighbouring axes of a kind are merged; then the innermost one is either
 *
 *     a row      which goes:    its numbers become one,            or
 *     columns    which stay:    rows of them are added side by side,
 *
 * and the others are loops around it.  (Short rows are taken as columns too, side by side but not
 * next to each other.)  A sum is pairwise: that of the first half of the steps plus that of
 * the second half, so its rounding error grows with log n and not with n, and the order of the
 * additions depends on the shape alone.
 *
 *   size 0     the sum of nothing is 0, its mean NaN, its maximum an error. */
#include "ops/op.h"

#include <assert.h>

#include "kernels/real.h"

enum {
    REDUCE_COLUMNS = 256, /* as many at once */
    REDUCE_SHORT = 16,    /* shorter rows are taken as columns */
    REDUCE_ROW = 1 << 12, /* longer rows are several steps */
    REDUCE_RUN = 16,      /* so few steps are not halved any more */
    REDUCE_PARTS = 16     /* threads that work on one output, at most */
};

typedef enum { REDUCE_SUM, REDUCE_MAX, REDUCE_TIES } reduce_fold;

typedef struct { /* loops, one in another; step counts elements of x */
    int n;
    ptrdiff_t size[AT_MAX_DIMS], step[AT_MAX_DIMS], count;
} reduce_loops;

typedef struct {
    reduce_loops kept, gone;
    ptrdiff_t row;             /* the length of a row; 0: columns */
    ptrdiff_t columns, strips; /* columns, 1 for a row; cut into so many strips */
    ptrdiff_t next;            /* from a column to the next */
    ptrdiff_t steps;           /* rows, or pieces of rows, that make one output */
    ptrdiff_t parts;           /* of the steps, for several threads */
    ptrdiff_t outputs, n;      /* numbers in y; numbers that make one of them */
} reduce_args;

static ptrdiff_t reduce_offset(const reduce_loops *l, ptrdiff_t i)
{
    if (l->n == 1) return i * l->step[0];
    ptrdiff_t at = 0;
    for (int k = 0; k < l->n; k++) { /* the first is the innermost */
        at += i % l->size[k] * l->step[k];
        i /= l->size[k];
    }
    return at;
}

/* A unit of work: some steps of one strip, or of one row's output. */
typedef struct {
    ptrdiff_t x, y, w;  /* where it begins; columns */
    ptrdiff_t from, to; /* steps */
    ptrdiff_t part;
} reduce_unit;

static reduce_unit reduce_unit_at(const reduce_args *a, ptrdiff_t parts, ptrdiff_t unit)
{
    ptrdiff_t part = unit % parts, k = unit / parts / a->strips;
    ptrdiff_t j = unit / parts % a->strips * REDUCE_COLUMNS, left = a->columns - j;
    assert(left > 0); /* without columns there are no units */
    return (reduce_unit){.x = reduce_offset(&a->kept, k) + j * a->next,
                         .y = k * a->columns + j,
                         .w = left < REDUCE_COLUMNS ? left : REDUCE_COLUMNS,
                         .from = a->steps * part / parts,
                         .to = a->steps * (part + 1) / parts,
                         .part = part};
}

/* What step r of a unit reads: n numbers that lie together. */
typedef struct {
    ptrdiff_t x, n;
} reduce_piece;

static reduce_piece reduce_piece_at(const reduce_args *a, const reduce_unit *u, ptrdiff_t r)
{
    if (!a->row) return (reduce_piece){u->x + reduce_offset(&a->gone, r), u->w};
    ptrdiff_t pieces = (a->row + REDUCE_ROW - 1) / REDUCE_ROW, j = r % pieces * REDUCE_ROW;
    ptrdiff_t left = a->row - j;
    return (reduce_piece){u->x + reduce_offset(&a->gone, r / pieces) + j,
                          left < REDUCE_ROW ? left : REDUCE_ROW};
}

static void reduce_run(const reduce_args *a, ptrdiff_t parts, at_range_body *body, void *job)
{
    ptrdiff_t w = a->columns < REDUCE_COLUMNS ? a->columns : REDUCE_COLUMNS;
    at_for(a->kept.count * a->strips * parts, a->n * w / parts / 4, 0, body, job);
}

AT_KERNEL(sum_forward);
AT_KERNEL(mean_forward);
AT_KERNEL(max_forward);
AT_KERNEL(sum_backward);
AT_KERNEL(mean_backward);
AT_KERNEL(max_backward);

static bool reduce_is(REAL x, REAL y)
{
    return (VALUE(x) == VALUE(y)) | ((VALUE(x) != VALUE(x)) & (VALUE(y) != VALUE(y)));
}

static REAL reduce_larger(REAL m, REAL x)
{
    return VALUE(x) > VALUE(m) || VALUE(x) != VALUE(x) ? x : m;
}

/* total_j <- total_j (+) other_j */
static void reduce_join(reduce_fold fold, ptrdiff_t w, const REAL *other, REAL *total)
{
    if (fold == REDUCE_MAX)
        for (ptrdiff_t j = 0; j < w; j++) total[j] = reduce_larger(total[j], other[j]);
    else
        row_axpy(w, 1, other, total);
}

/* A row: total <- total (+) its n numbers */
static void reduce_row(reduce_fold fold, ptrdiff_t n, const REAL *x, const REAL *y, REAL *total)
{
    int ties = 0;
    switch (fold) {
    case REDUCE_SUM: *total += row_sum(n, x); break;
    case REDUCE_MAX: *total = reduce_larger(*total, row_max(n, x)); break;
    case REDUCE_TIES:
        for (ptrdiff_t j = 0; j < n; j++) ties += reduce_is(x[j], *y);
        *total += (REAL)ties;
    }
}

/* Columns: total_j <- total_j (+) x_j */
static void reduce_columns(reduce_fold fold, ptrdiff_t w, const REAL *x, ptrdiff_t next,
                           const REAL *y, REAL *total)
{
    if (fold == REDUCE_TIES)
        for (ptrdiff_t j = 0; j < w; j++) total[j] += reduce_is(x[j * next], y[j]);
    else if (next == 1)
        reduce_join(fold, w, x, total);
    else if (fold == REDUCE_SUM)
        for (ptrdiff_t j = 0; j < w; j++) total[j] += x[j * next];
    else
        for (ptrdiff_t j = 0; j < w; j++) total[j] = reduce_larger(total[j], x[j * next]);
}

/* total_j = (+) of all that steps from .. to-1 of a unit read */
static void reduce_steps(const reduce_args *a, reduce_fold fold, const reduce_unit *u,
                         ptrdiff_t from, ptrdiff_t to, const REAL *x, const REAL *y, REAL *total)
{
    if (to - from > REDUCE_RUN) {
        REAL other[REDUCE_COLUMNS];
        ptrdiff_t half = from + (to - from) / 2;
        reduce_steps(a, fold, u, from, half, x, y, total);
        reduce_steps(a, fold, u, half, to, x, y, other);
        reduce_join(fold, u->w, other, total);
        return;
    }
    total[0] = fold == REDUCE_MAX ? -(REAL)INFINITY : 0;
    for (ptrdiff_t j = 1; j < u->w; j++) total[j] = total[0];
    for (ptrdiff_t r = from; r < to; r++) {
        reduce_piece p = reduce_piece_at(a, u, r);
        if (a->row)
            reduce_row(fold, p.n, x + p.x, y + u->y, total);
        else
            reduce_columns(fold, p.n, x + p.x, a->next, y + u->y, total);
    }
}

/* ---- forward ---- */

typedef struct {
    const reduce_args *a;
    reduce_fold fold;
    const REAL *x;
    REAL *y; /* [parts, outputs] */
} reduce_forward_job;

static void reduce_forward_units(void *job, ptrdiff_t i, ptrdiff_t to, int slot)
{
    (void)slot;
    const reduce_forward_job *g = job;
    const reduce_args *a = g->a;
    for (; i < to; i++) {
        reduce_unit u = reduce_unit_at(a, a->parts, i);
        reduce_steps(a, g->fold, &u, u.from, u.to, g->x, NULL, g->y + u.part * a->outputs + u.y);
    }
}

static void reduce_forward(at_node *n, reduce_fold fold)
{
    const reduce_args *a = n->args;
    REAL *y = n->out[0]->data, *part = a->parts > 1 ? at_scratch(n, 0) : y;
    reduce_forward_job g = {a, fold, n->in[0]->data, part};
    reduce_run(a, a->parts, reduce_forward_units, &g);
    if (a->parts == 1) return;
    memcpy(y, part, (size_t)a->outputs * sizeof *y);
    for (ptrdiff_t p = 1; p < a->parts; p++)
        reduce_join(fold, a->outputs, part + p * a->outputs, y);
}

void AT_REAL(sum_forward)(at_node *n)
{
    reduce_forward(n, REDUCE_SUM);
}

void AT_REAL(mean_forward)(at_node *n)
{
    const reduce_args *a = n->args;
    REAL *y = n->out[0]->data;
    reduce_forward(n, REDUCE_SUM);
    for (ptrdiff_t i = 0; i < a->outputs; i++) y[i] /= (REAL)a->n;
}

void AT_REAL(max_forward)(at_node *n)
{
    reduce_forward(n, REDUCE_MAX);
}

/* ---- backward ---- */

typedef struct {
    const reduce_args *a;
    ptrdiff_t parts;
    REAL divisor; /* sum: 1, mean: n */
    bool max;
    const REAL *x, *y, *dy;
    REAL *dx;
} reduce_backward_job;

/* dx_r += share, for each number of a step; of a maximum, only where x_r = y */
static void reduce_share(const reduce_backward_job *g, reduce_piece p, const REAL *y,
                         const REAL *share)
{
    const REAL *x = g->x + p.x;
    REAL *dx = g->dx + p.x;
    ptrdiff_t next = g->a->next;
    if (g->a->row && !g->max)
        for (ptrdiff_t j = 0; j < p.n; j++) dx[j] += *share;
    else if (g->a->row)
        for (ptrdiff_t j = 0; j < p.n; j++) dx[j] += reduce_is(x[j], *y) ? *share : 0;
    else if (!g->max)
        for (ptrdiff_t j = 0; j < p.n; j++) dx[j * next] += share[j];
    else
        for (ptrdiff_t j = 0; j < p.n; j++)
            dx[j * next] += reduce_is(x[j * next], y[j]) ? share[j] : 0;
}

static void reduce_backward_units(void *job, ptrdiff_t i, ptrdiff_t to, int slot)
{
    (void)slot;
    const reduce_backward_job *g = job;
    const reduce_args *a = g->a;
    for (; i < to; i++) {
        reduce_unit u = reduce_unit_at(a, g->parts, i);
        const REAL *y = g->y + u.y, *dy = g->dy + u.y;
        REAL share[REDUCE_COLUMNS];
        if (g->max) reduce_steps(a, REDUCE_TIES, &u, u.from, u.to, g->x, g->y, share);
        ptrdiff_t j = 0;
        do share[j] = dy[j] / (g->max ? share[j] : g->divisor);
        while (++j < u.w);
        for (ptrdiff_t r = u.from; r < u.to; r++)
            reduce_share(g, reduce_piece_at(a, &u, r), y, share);
    }
}

static void reduce_backward(at_node *n, REAL divisor, bool max)
{
    const reduce_args *a = n->args;
    ptrdiff_t parts = max ? 1 : a->parts; /* ties are counted over all steps */
    reduce_backward_job g = {
        a, parts, divisor, max, n->in[0]->data, n->out[0]->data, n->out[0]->grad, at_grad(n, 0)};
    if (g.dx) reduce_run(a, parts, reduce_backward_units, &g);
}

void AT_REAL(sum_backward)(at_node *n)
{
    reduce_backward(n, 1, false);
}

void AT_REAL(mean_backward)(at_node *n)
{
    const reduce_args *a = n->args;
    reduce_backward(n, (REAL)a->n, false);
}

void AT_REAL(max_backward)(at_node *n)
{
    reduce_backward(n, 0, true);
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op reduce_sum_op = {
    .name = "sum", .forward = AT_KERNELS(sum_forward), .backward = AT_KERNELS(sum_backward)};
static const at_op reduce_mean_op = {
    .name = "mean", .forward = AT_KERNELS(mean_forward), .backward = AT_KERNELS(mean_backward)};
static const at_op reduce_max_op = {
    .name = "max", .forward = AT_KERNELS(max_forward), .backward = AT_KERNELS(max_backward)};

static void reduce_add_loop(reduce_loops *l, ptrdiff_t size, ptrdiff_t step)
{
    l->size[l->n] = size;
    l->step[l->n++] = step;
    l->count *= size;
}

/* Removes the innermost loop and returns its size. */
static ptrdiff_t reduce_take_loop(reduce_loops *l)
{
    ptrdiff_t size = l->size[0];
    l->count /= size;
    l->n--;
    for (int k = 0; k < l->n; k++) l->size[k] = l->size[k + 1], l->step[k] = l->step[k + 1];
    return size;
}

/* How the elements of x, of which there are some, make those of y. */
static reduce_args reduce_args_of(at_shape x, const bool goes[AT_MAX_DIMS], ptrdiff_t outputs)
{
    reduce_args a = {.kept.count = 1, .gone.count = 1, .columns = 1, .next = 1, .outputs = outputs};
    ptrdiff_t step = 1;
    for (int d = x.ndim - 1; d >= 0;) {
        bool going = goes[d];
        ptrdiff_t size = 1;
        for (; d >= 0 && (x.dim[d] == 1 || goes[d] == going); d--) size *= x.dim[d];
        if (size > 1) reduce_add_loop(going ? &a.gone : &a.kept, size, step);
        step *= size;
    }
    a.n = a.gone.count;
    if (a.gone.n && a.gone.step[0] == 1 && (a.gone.size[0] >= REDUCE_SHORT || !a.kept.n)) {
        a.row = reduce_take_loop(&a.gone);
    } else if (a.kept.n) {
        a.next = a.kept.step[0];
        a.columns = reduce_take_loop(&a.kept);
    }
    a.strips = (a.columns + REDUCE_COLUMNS - 1) / REDUCE_COLUMNS;
    a.steps = a.gone.count * (a.row ? (a.row + REDUCE_ROW - 1) / REDUCE_ROW : 1);

    a.parts =
        at_parts(outputs * a.n / 16, REDUCE_PARTS); /* few outputs, made of very many numbers? */
    if (a.parts > a.steps) a.parts = a.steps;
    if (a.parts < 1 || a.kept.count * a.strips > REDUCE_PARTS) a.parts = 1;
    return a;
}

static at_tensor *reduce_record(at_tape *t, const at_op *op, at_tensor *x, at_shape axes,
                                bool keepdims)
{
    AT_INPUT(t, op->name, x, ATTIC_REAL);
    AT_REQUIRE(t, axes.ndim >= 0 && axes.ndim <= AT_MAX_DIMS,
               "%s: %d axes were given, at most %d are possible", op->name, axes.ndim, AT_MAX_DIMS);
    at_shape y = {0};
    bool goes[AT_MAX_DIMS] = {false}, from_nothing = false;
    for (int i = 0; i < axes.ndim; i++) {
        int axis = at_axis_of(x->shape, axes.dim[i]);
        AT_REQUIRE(t, axis >= 0, "%s: there is no axis %d in x %s", op->name, axes.dim[i],
                   at_text(x));
        AT_REQUIRE(t, !goes[axis], "%s: the axes %s list axis %d of x %s twice", op->name,
                   at_shape_text(axes), axis, at_text(x));
        goes[axis] = true;
        if (x->shape.dim[axis] == 0) from_nothing = true;
    }
    for (int d = 0; d < x->shape.ndim; d++)
        if (!goes[d] || keepdims) y.dim[y.ndim++] = goes[d] ? 1 : x->shape.dim[d];
    AT_REQUIRE(t, at_shape_valid(y), "%s: a result of shape %s is not possible", op->name,
               at_shape_text(y));
    ptrdiff_t outputs = at_count(y);
    AT_REQUIRE(t, op != &reduce_max_op || !from_nothing || outputs == 0,
               "max: x is %s: there is no maximum over no elements", at_text(x));

    /* an empty x may have huge other dims, so they are not multiplied */
    reduce_args a = {
        .kept.count = outputs, .columns = 1, .strips = 1, .parts = 1, .outputs = outputs};
    if (at_count(x->shape) > 0) a = reduce_args_of(x->shape, goes, outputs);
    at_recipe r = {.shape = {y}, .args = &a, .args_size = sizeof a};
    if (a.parts > 1) r.slots = 1, r.scratch = (size_t)(a.parts * outputs) * at_dtype_size(x->dtype);
    at_node *n = at_record_node(t, op, AT_IN(x), r);
    return n ? n->out[0] : NULL;
}

at_tensor *at_sum_over(at_tape *t, at_tensor *x, at_shape axes, bool keepdims)
{
    return reduce_record(t, &reduce_sum_op, x, axes, keepdims);
}

at_tensor *at_mean_over(at_tape *t, at_tensor *x, at_shape axes, bool keepdims)
{
    return reduce_record(t, &reduce_mean_op, x, axes, keepdims);
}

at_tensor *at_max_over(at_tape *t, at_tensor *x, at_shape axes, bool keepdims)
{
    return reduce_record(t, &reduce_max_op, x, axes, keepdims);
}

static at_tensor *reduce_all(at_tape *t, const at_op *op, at_tensor *x)
{
    AT_INPUT(t, op->name, x, ATTIC_REAL);
    return reduce_record(t, op, x, (at_shape){x->shape.ndim, {0, 1, 2, 3, 4, 5, 6, 7}}, false);
}

at_tensor *at_sum(at_tape *t, at_tensor *x)
{
    return reduce_all(t, &reduce_sum_op, x);
}

at_tensor *at_mean(at_tape *t, at_tensor *x)
{
    return reduce_all(t, &reduce_mean_op, x);
}

at_tensor *at_max(at_tape *t, at_tensor *x)
{
    return reduce_all(t, &reduce_max_op, x);
}

#endif
