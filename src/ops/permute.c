/* permute.c -- the axes in another order; transpose: two of them exchanged.
 *
 *   y.dim[i] = x.dim[order[i]]        e.g. order 0,2,1,3:   x [B,T,H,D]  ->  y [B,H,T,D]
 *
 *   forward    y[j0,j1,...] = x[i0,i1,...]      with  i_order[k] = j_k
 *   backward   dx[i0,i1,...] = dy[j0,j1,...]    the same move, the other way
 *
 * The numbers really move: in memory, the last axis of y lies together.  How well that goes depends
 * on the last axis:
 *
 *   rows    it is also the last one of x, as when heads are split off: whole rows are copied
 *   plane   it is not, as in a transpose of a matrix: one axis lies together in x, another one in
 *           y, and whichever is followed, the other side is visited one number per cache line.
 *           So squares of 16 by 16 are read line by line, transposed, and written line by line.
 *
 * Axes of size 1, and axes that stay neighbours, are dropped or merged first: they make no
 * difference. */
#include "ops/op.h"

#include "kernels/real.h"

enum {
    PERMUTE_SQUARE = 16,
    PERMUTE_BAND = 64 /* rows of one unit of work */
};

/* A move as nested loops: some outer ones, then `rows` by `cols`.  Steps count elements. */
typedef struct {
    ptrdiff_t row, col, step[AT_MAX_DIMS];
} permute_side;

typedef struct {
    int loops;
    ptrdiff_t size[AT_MAX_DIMS], rows, cols;
    permute_side from, to; /* to.col = 1; from.col = 1 (rows) or from.row = 1 (plane) */
} permute_plan;

static permute_side permute_transposed(permute_side s)
{
    ptrdiff_t row = s.row;
    s.row = s.col;
    s.col = row;
    return s;
}

/* The same move, the other way.  Of a plane, what was a row is then a column. */
static permute_plan permute_back(permute_plan p)
{
    permute_plan back = p;
    back.from = p.to;
    back.to = p.from;
    if (p.from.col != 1) {
        back.rows = p.cols;
        back.cols = p.rows;
        back.from = permute_transposed(p.to);
        back.to = permute_transposed(p.from);
    }
    return back;
}

/* Moves the first `rows` rows of a plan; `size` is that of an element. */
typedef void permute_mover(const permute_plan *p, ptrdiff_t size, ptrdiff_t rows, const void *from,
                           void *to);

typedef struct {
    permute_plan plan;
    permute_mover *move;
    ptrdiff_t size;
    const char *from;
    char *to;
    ptrdiff_t bands; /* of rows, in the inner two loops: a unit of work is a band */
} permute_job;

static void permute_bands(void *job, ptrdiff_t unit, ptrdiff_t end, int slot)
{
    (void)slot;
    const permute_job *g = job;
    const permute_plan *p = &g->plan;
    for (; unit < end; unit++) {
        ptrdiff_t row = unit % g->bands * PERMUTE_BAND, rest = unit / g->bands;
        ptrdiff_t rows = p->rows - row < PERMUTE_BAND ? p->rows - row : PERMUTE_BAND;
        ptrdiff_t from = row * p->from.row, to = row * p->to.row;
        for (int l = p->loops - 1; l >= 0; l--) {
            ptrdiff_t i = rest % p->size[l];
            rest /= p->size[l];
            from += i * p->from.step[l];
            to += i * p->to.step[l];
        }
        g->move(p, g->size, rows, g->from + from * g->size, g->to + to * g->size);
    }
}

static void permute_run(permute_plan p, permute_mover *move, size_t size, const void *from,
                        void *to)
{
    ptrdiff_t bands = (p.rows + PERMUTE_BAND - 1) / PERMUTE_BAND, count = bands;
    for (int l = 0; l < p.loops; l++) count *= p.size[l];
    ptrdiff_t rows = p.rows < PERMUTE_BAND ? p.rows : PERMUTE_BAND;
    permute_job g = {p, move, (ptrdiff_t)size, from, to, bands};
    at_for(count, rows * p.cols / 4, 0, permute_bands, &g);
}

static ptrdiff_t permute_side_of_square(ptrdiff_t left)
{
    return left < PERMUTE_SQUARE ? left : PERMUTE_SQUARE;
}

/* square_ji = from_ji: m lines */
static void permute_fetch(ptrdiff_t size, ptrdiff_t m, ptrdiff_t n, const char *from,
                          ptrdiff_t step, char *square)
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

static void permute_copy(const permute_plan *p, ptrdiff_t size, ptrdiff_t rows, const void *from,
                         void *to)
{
    const char *x = from;
    char *y = to, square[PERMUTE_SQUARE * PERMUTE_SQUARE * 8];
    if (p->from.col == 1) {
        for (ptrdiff_t i = 0; i < rows; i++)
            memcpy(y + i * p->to.row * size, x + i * p->from.row * size, (size_t)(p->cols * size));
        return;
    }
    for (ptrdiff_t j = 0; j < p->cols; j += PERMUTE_SQUARE)
        for (ptrdiff_t i = 0; i < rows; i += PERMUTE_SQUARE) {
            ptrdiff_t m = permute_side_of_square(rows - i), n = permute_side_of_square(p->cols - j);
            char *corner = y + (i * p->to.row + j) * size;
            permute_fetch(size, m, n, x + (i + j * p->from.col) * size, p->from.col, square);
            if (size == 1) permute_transpose(1, m, n, square, corner, p->to.row);
            if (size == 4) permute_transpose(4, m, n, square, corner, p->to.row);
            if (size == 8) permute_transpose(8, m, n, square, corner, p->to.row);
        }
}

AT_KERNEL(permute_backward);

/* permute_copy with += */
static void permute_add(const permute_plan *p, ptrdiff_t size, ptrdiff_t rows, const void *from,
                        void *to)
{
    const REAL *dy = from;
    REAL *dx = to, square[PERMUTE_SQUARE * PERMUTE_SQUARE];
    if (p->from.col == 1) {
        for (ptrdiff_t i = 0; i < rows; i++)
            row_axpy(p->cols, 1, dy + i * p->from.row, dx + i * p->to.row);
        return;
    }
    for (ptrdiff_t j = 0; j < p->cols; j += PERMUTE_SQUARE)
        for (ptrdiff_t i = 0; i < rows; i += PERMUTE_SQUARE) {
            ptrdiff_t m = permute_side_of_square(rows - i), n = permute_side_of_square(p->cols - j);
            permute_fetch(size, m, n, (const char *)(dy + i + j * p->from.col), p->from.col,
                          (char *)square);
            for (ptrdiff_t k = 0; k < m; k++)
                for (ptrdiff_t l = 0; l < n; l++)
                    dx[(i + k) * p->to.row + j + l] += square[l * PERMUTE_SQUARE + k];
        }
}

void AT_REAL(permute_backward)(at_node *n)
{
    at_fresh dx = at_grad_fresh(n, 0);
    permute_plan back = permute_back(*(const permute_plan *)n->args);
    if (dx.p)
        permute_run(back, dx.beta ? permute_add : permute_copy, sizeof(REAL), n->out[0]->grad,
                    dx.p);
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static void permute_forward(at_node *n)
{
    const permute_plan *p = n->args;
    permute_run(*p, permute_copy, at_dtype_size(n->in[0]->dtype), n->in[0]->data, n->out[0]->data);
}

static const at_op permute_op = {.name = "permute",
                                 .forward = {permute_forward, permute_forward},
                                 .backward = AT_KERNELS(permute_backward)};
static const at_op transpose_op = {.name = "transpose",
                                   .forward = {permute_forward, permute_forward},
                                   .backward = AT_KERNELS(permute_backward)};

/* The axes of y, outermost first, each with its step in x; neighbours that were neighbours in x are
 * one.  Returns how many there are. */
static int permute_axes(at_shape x, at_shape order, ptrdiff_t size[AT_MAX_DIMS],
                        ptrdiff_t step[AT_MAX_DIMS])
{
    ptrdiff_t x_step[AT_MAX_DIMS];
    int n = 0;
    at_broadcast_strides(x, x, x_step);
    for (int i = 0; i < order.ndim; i++) {
        ptrdiff_t d = x.dim[order.dim[i]], s = x_step[order.dim[i]];
        if (d == 1) continue;
        bool joins = n > 0 && step[n - 1] == d * s;
        if (!joins) size[n++] = 1;
        size[n - 1] *= d;
        step[n - 1] = s;
    }
    return n;
}

static permute_plan permute_plan_of(at_shape x, at_shape order)
{
    ptrdiff_t size[AT_MAX_DIMS], from[AT_MAX_DIMS], to[AT_MAX_DIMS], step = 1;
    int n = permute_axes(x, order, size, from);
    for (int i = n - 1; i >= 0; step *= size[i--]) to[i] = step;

    int col = n - 1, row = n - 2; /* -1, -2: none, as for a scalar */
    if (n > 0 && from[col] != 1)
        while (row > 0 && from[row] != 1) row--; /* a plane */

    permute_plan p = {.rows = 1, .cols = 1, .from = {.col = 1}, .to = {.col = 1}};
    for (int i = 0; i < n; i++) {
        if (i == row) {
            p.rows = size[i], p.from.row = from[i], p.to.row = to[i];
        } else if (i == col) {
            p.cols = size[i], p.from.col = from[i];
        } else {
            p.size[p.loops] = size[i], p.from.step[p.loops] = from[i];
            p.to.step[p.loops++] = to[i];
        }
    }
    return p;
}

static at_tensor *permute_record(at_tape *t, const at_op *op, at_tensor *x, at_shape order)
{
    permute_plan p = {0};
    if (at_count(x->shape) > 0) /* an empty x may have huge other dims */
        p = permute_plan_of(x->shape, order);
    at_recipe r = {.shape = {order}, .dtype = {x->dtype}, .args = &p, .args_size = sizeof p};
    for (int i = 0; i < order.ndim; i++) r.shape[0].dim[i] = x->shape.dim[order.dim[i]];
    at_node *n = at_record_node(t, op, AT_IN(x), r);
    return n ? n->out[0] : NULL;
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
