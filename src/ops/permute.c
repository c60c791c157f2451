/* permute.c -- the axes in another order; transpose: two of them exchanged.
 *
 *   y.dim[i] = x.dim[order[i]]        e.g. order 0,2,1,3:   x [B,T,H,D]  ->  y [B,H,T,D]
 *
 *   forward    y[j0,j1,...] = x[i0,i1,...]      with  i_order[k] = j_k
 *   backward   dx[i0,i1,...] = dy[j0,j1,...]    the same move, the other way
 *
 * The elements really move: in memory, the last axis of y is contiguous.  How well that goes
 * depends on the last axis:
 *
 *   rows    it is also the last one of x, as when heads are split off: whole rows are copied
 *   plane   it is not, as in a transpose of a matrix: one axis is contiguous in x, another one in
 *           y, and whichever is followed, the other side is visited one element per cache line.
 *           So squares of 16 by 16 are read line by line, transposed, and written line by line.
 *
 * Axes of size 1, and axes that stay side by side, are dropped or merged first: they make no
 * difference. */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/nest.h"

enum {
    PERMUTE_SQUARE = 16,
    PERMUTE_BAND = 64 /* rows of one unit of work */
};

enum { PERMUTE_FROM, PERMUTE_TO };

typedef struct {
    at_nest outer;
    /* inside; cols move by 1 in `to`, and cols (rows) or rows (plane) in `from` */
    at_loop rows, cols;
} permute_plan;

static permute_plan permute_plan_of(at_shape x, at_shape order)
{
    at_shape y = {order.ndim, {0}};
    for (int i = 0; i < order.ndim; i++) y.dim[i] = x.dim[order.dim[i]];
    ptrdiff_t from[AT_MAX_DIMS], to[AT_MAX_DIMS];
    at_broadcast_strides(x, x, from);
    at_broadcast_strides(y, y, to);
    at_nest all;
    at_nest_clear(&all);
    for (int i = 0; i < y.ndim; i++)
        at_nest_add(&all, (at_loop){y.dim[i], {from[order.dim[i]], to[i]}});

    permute_plan p;
    at_nest_clear(&p.outer);
    p.rows = (at_loop){.size = 1}, p.cols = (at_loop){1, {1, 1}};
    if (all.n > 0) p.cols = at_nest_drop(&all);
    int row = all.n - 1;
    if (p.cols.step[PERMUTE_FROM] != 1)
        while (row > 0 && all.loop[row].step[PERMUTE_FROM] != 1) row--; /* a plane */
    for (int i = 0; i < all.n; i++) {
        if (i == row)
            p.rows = all.loop[i];
        else
            at_nest_add(&p.outer, all.loop[i]);
    }
    return p;
}

typedef struct {
    permute_plan plan;
    bool add;       /* +=, of reals alone */
    ptrdiff_t size; /* of an element */
    const char *from;
    char *to;
    ptrdiff_t bands; /* of rows: a unit of work is a band */
} permute_job;

static ptrdiff_t permute_side_of_square(ptrdiff_t left)
{
    return left < PERMUTE_SQUARE ? left : PERMUTE_SQUARE;
}

/* square_ji = from_ji: m lines */
static void permute_load(ptrdiff_t size, ptrdiff_t m, ptrdiff_t n, const char *from, ptrdiff_t step,
                         char *square)
{
    for (ptrdiff_t j = 0; j < n; j++)
        memcpy(square + j * PERMUTE_SQUARE * size, from + j * step * size, (size_t)(m * size));
}

/* to_ij = square_ji.  Where size is a constant, memcpy is a load and a store. */
static inline __attribute__((always_inline)) void permute_transpose(ptrdiff_t size, ptrdiff_t m,
                                                                    ptrdiff_t n, const char *square,
                                                                    char *to, ptrdiff_t step)
{
    for (ptrdiff_t i = 0; i < m; i++)
        for (ptrdiff_t j = 0; j < n; j++)
            memcpy(to + (i * step + j) * size, square + (j * PERMUTE_SQUARE + i) * size,
                   (size_t)size);
}

static void permute_add(ptrdiff_t m, ptrdiff_t n, const REAL *square, REAL *to, ptrdiff_t step)
{
    for (ptrdiff_t i = 0; i < m; i++)
        for (ptrdiff_t j = 0; j < n; j++) to[i * step + j] += square[j * PERMUTE_SQUARE + i];
}

/* Moves the first `rows` rows of the plan. */
static void permute_move(const permute_job *g, ptrdiff_t rows, const char *x, char *y)
{
    const at_loop *row = &g->plan.rows, *col = &g->plan.cols;
    const ptrdiff_t size = g->size, cols = col->size, step = col->step[PERMUTE_FROM];
    const ptrdiff_t from_row = row->step[PERMUTE_FROM], to_row = row->step[PERMUTE_TO];
    REAL square[PERMUTE_SQUARE * PERMUTE_SQUARE * 16 / sizeof(REAL)];
    for (; step == 1 && rows > 0; rows--, x += from_row * size, y += to_row * size) {
        if (g->add)
            row_axpy(cols, 1, (const void *)x, (void *)y);
        else
            memcpy(y, x, (size_t)(cols * size));
    }
    for (ptrdiff_t j = 0; j < cols && rows > 0; j += PERMUTE_SQUARE)
        for (ptrdiff_t i = 0; i < rows; i += PERMUTE_SQUARE) {
            ptrdiff_t m = permute_side_of_square(rows - i), n = permute_side_of_square(cols - j);
            char *corner = y + (i * to_row + j) * size, *lines = (char *)square;
            permute_load(size, m, n, x + (i + j * step) * size, step, lines);
            if (g->add) {
                permute_add(m, n, square, (void *)corner, to_row);
                continue;
            }
            if (size == 1) permute_transpose(1, m, n, lines, corner, to_row);
            if (size == 2) permute_transpose(2, m, n, lines, corner, to_row);
            if (size == 4) permute_transpose(4, m, n, lines, corner, to_row);
            if (size == 8) permute_transpose(8, m, n, lines, corner, to_row);
            if (size == 16) permute_transpose(16, m, n, lines, corner, to_row);
        }
}

static void permute_bands(void *job, ptrdiff_t unit, ptrdiff_t end, int slot)
{
    (void)slot;
    const permute_job *g = job;
    const at_loop *rows = &g->plan.rows;
    for (; unit < end; unit++) {
        ptrdiff_t row = unit % g->bands * PERMUTE_BAND, left = rows->size - row;
        ptrdiff_t at[AT_NEST_OPERANDS] = {row * rows->step[PERMUTE_FROM],
                                          row * rows->step[PERMUTE_TO]};
        at_nest_move(&g->plan.outer, unit / g->bands, at);
        permute_move(g, left < PERMUTE_BAND ? left : PERMUTE_BAND,
                     g->from + at[PERMUTE_FROM] * g->size, g->to + at[PERMUTE_TO] * g->size);
    }
}

/* Moves what has shape x, in another order of the axes. */
static void permute_run(at_shape x, at_shape order, bool add, size_t size, const void *from,
                        void *to)
{
    if (at_count(x) == 0) return; /* it may have huge other dims */
    permute_job g = {permute_plan_of(x, order), add, (ptrdiff_t)size, from, to, 0};
    ptrdiff_t rows = g.plan.rows.size;
    g.bands = (rows + PERMUTE_BAND - 1) / PERMUTE_BAND;
    at_for(g.plan.outer.count * g.bands,
           (rows < PERMUTE_BAND ? rows : PERMUTE_BAND) * g.plan.cols.size / 4, 0, permute_bands,
           &g);
}

AT_KERNEL(permute_backward);

void AT_REAL(permute_backward)(at_node *n)
{
    const at_shape *order = n->args;
    at_shape back = *order;
    for (int i = 0; i < order->ndim; i++) back.dim[order->dim[i]] = i;
    at_grad_buffer dx = at_grad_overwrite(n, 0);
    if (dx.p) permute_run(n->out[0]->shape, back, dx.beta, sizeof(REAL), n->out[0]->grad, dx.p);
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static void permute_forward(at_node *n)
{
    const at_shape *order = n->args;
    const at_tensor *x = n->in[0];
    permute_run(x->shape, *order, false, at_dtype_size(x->dtype), x->data, n->out[0]->data);
}

static const at_op permute_op = {.name = "permute", AT_MOVE_KERNELS(permute)};
static const at_op transpose_op = {.name = "transpose", AT_MOVE_KERNELS(permute)};

static at_tensor *permute_record(at_tape *t, const at_op *op, at_tensor *x, at_shape order)
{
    at_recipe r = {
        .shape = {order}, .dtype = {x->dtype}, .args = &order, .args_size = sizeof order};
    for (int i = 0; i < order.ndim; i++) r.shape[0].dim[i] = x->shape.dim[order.dim[i]];
    return at_output(at_record_node(t, op, AT_IN(x), r));
}

at_tensor *at_permute(at_tape *t, at_tensor *x, at_shape order)
{
    if (!at_check_any(t, "permute", "x", x)) return NULL;
    AT_REQUIRE(t, order.ndim == x->shape.ndim,
               "permute: x is %s with %d axes but the order %s lists %d", at_text(x), x->shape.ndim,
               at_shape_text(order), order.ndim);
    bool seen[AT_MAX_DIMS] = {false};
    at_shape from = order;
    for (int i = 0; i < order.ndim; i++) {
        int a = from.dim[i] = at_axis_of(x->shape, order.dim[i]);
        AT_REQUIRE(t, a >= 0, "permute: there is no axis %d in x %s", order.dim[i], at_text(x));
        AT_REQUIRE(t, !seen[a], "permute: the order %s lists axis %d of x %s twice",
                   at_shape_text(order), a, at_text(x));
        seen[a] = true;
    }
    return permute_record(t, &permute_op, x, from);
}

at_tensor *at_transpose(at_tape *t, at_tensor *x, int a, int b)
{
    if (!at_check_any(t, "transpose", "x", x)) return NULL;
    at_shape order = {x->shape.ndim, {0, 1, 2, 3, 4, 5, 6, 7}};
    int i = at_axis_of(x->shape, a), j = at_axis_of(x->shape, b);
    AT_REQUIRE(t, i >= 0 && j >= 0, "transpose: there is no axis %d in x %s", i < 0 ? a : b,
               at_text(x));
    order.dim[i] = j;
    order.dim[j] = i;
    return permute_record(t, &transpose_op, x, order);
}

#endif
