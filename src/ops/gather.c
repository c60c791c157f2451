/* gather.c -- elements picked along an axis by their indices; scatter_add: the way back; topk: the
 * largest ones.
 *
 *   x [outer,N,inner]   index [outer,K,inner], i32 in 0..N-1   y [outer,K,inner]
 *
 *   forward    y_k = x_(index_k)                        along each line
 *   backward   dx_j = sum_k 1[index_k = j] dy_k
 *
 *              for k = 0, 1, ...:   dx_(index_k) += dy_k
 *
 * An element that was picked twice gets both.  A line belongs to one thread, so the order of the
 * sums is fixed.
 *
 * scatter_add is the transpose: what is backward there is forward here.
 *
 *   x, y [outer,N,inner]   index, src [outer,K,inner]
 *
 *   forward    y_j = x_j + sum_k 1[index_k = j] src_k
 *
 *              y = x,   for k = 0, 1, ...:   y_(index_k) += src_k
 *
 *   backward   dx_j = dy_j            dsrc_k = dy_(index_k)
 *
 * As in embedding.c, an index that is written later and is none gives NaN, and no gradient: in
 * gather y_k is NaN; in scatter_add the whole line, as nobody knows where src_k belongs.
 *
 * topk finds the indices, and gather does the rest: moving x a little does not change which ones
 * are the largest, so the indices have no gradient, and the values have the gradient of gather.
 *
 * The order is total: larger elements first, NaN before all others, and of equal ones that with the
 * lower index.  The K first so far are a heap whose root is the last of them; every further element
 * that comes before the root takes its place: at most N log K steps.  Then the roots are taken away
 * one by one, the last element first, and leave the heap sorted (heapsort: Williams 1964). */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/nest.h"

AT_BOTH(gather);
AT_BOTH(scatter_add);
AT_KERNEL(topk_forward);

typedef struct {
    const at_lines *a;
    const int32_t *index; /* [outer,K,inner] */
    const REAL *from;
    REAL *to;
    REAL none; /* for an index that is none: NaN forward, 0 backward */
    bool add;  /* to what is there: gather_read alone, the other adds always */
} gather_job;

static bool gather_has(const at_lines *a, int32_t index)
{
    return index >= 0 && index < a->N;
}

/* to_k = from_(index_k) */
static void gather_read(void *job, ptrdiff_t line, ptrdiff_t end, int slot)
{
    (void)slot;
    const gather_job *g = job;
    const at_lines *a = g->a;
    for (; line < end; line++) {
        const int32_t *index = g->index + at_line(a, line, a->K);
        const REAL *from = g->from + at_line(a, line, a->N);
        REAL *to = g->to + at_line(a, line, a->K);
        for (ptrdiff_t k = 0; k < a->K * a->inner; k += a->inner) {
            const REAL v = gather_has(a, index[k]) ? from[index[k] * a->inner] : g->none;
            to[k] = g->add ? to[k] + v : v;
        }
    }
}

/* to_(index_k) += from_k */
static void gather_add(void *job, ptrdiff_t line, ptrdiff_t end, int slot)
{
    (void)slot;
    const gather_job *g = job;
    const at_lines *a = g->a;
    for (; line < end; line++) {
        const int32_t *index = g->index + at_line(a, line, a->K);
        const REAL *from = g->from + at_line(a, line, a->K);
        REAL *to = g->to + at_line(a, line, a->N);
        for (ptrdiff_t k = 0; k < a->K * a->inner; k += a->inner)
            if (gather_has(a, index[k]))
                to[index[k] * a->inner] += from[k];
            else
                for (ptrdiff_t j = 0; j < a->N * a->inner; j += a->inner) to[j] += g->none;
    }
}

void AT_REAL(gather_forward)(at_node *n)
{
    const at_lines *a = n->args;
    gather_job g = {a, n->in[1]->data, n->in[0]->data, n->out[0]->data, (REAL)NAN, false};
    at_for(a->lines, a->K, 0, gather_read, &g);
}

void AT_REAL(gather_backward)(at_node *n)
{
    const at_lines *a = n->args;
    gather_job g = {a, n->in[1]->data, n->out[0]->grad, at_grad(n, 0), 0, true};
    if (g.to) at_for(a->lines, a->K, 0, gather_add, &g);
}

void AT_REAL(scatter_add_forward)(at_node *n)
{
    const at_lines *a = n->args;
    const at_tensor *x = n->in[0];
    REAL *y = n->out[0]->data;
    gather_job g = {a, n->in[1]->data, n->in[2]->data, y, (REAL)NAN, true};
    at_copy_rows(1, (ptrdiff_t)at_bytes(x), x->data, 0, y, 0);
    at_for(a->lines, a->K, 0, gather_add, &g);
}

void AT_REAL(scatter_add_backward)(at_node *n)
{
    const at_lines *a = n->args;
    at_grad_buffer dsrc = at_grad_overwrite(n, 2);
    gather_job g = {a, n->in[1]->data, n->out[0]->grad, dsrc.p, 0, dsrc.beta};
    if (dsrc.p) at_for(a->lines, a->K, 0, gather_read, &g);
    at_grad_pass(n, 0);
}

/* ------------------------------------------------------------------ topk ----------------------- */

/* Does x_a come before x_b? */
static bool topk_before(const REAL *x, ptrdiff_t inner, int32_t a, int32_t b)
{
    const REAL u = x[a * inner], v = x[b * inner];
    const bool u_nan = VALUE(u) != VALUE(u), v_nan = VALUE(v) != VALUE(v);
    if (u_nan || v_nan) return u_nan && v_nan ? a < b : u_nan;
    return VALUE(u) == VALUE(v) ? a < b : VALUE(u) > VALUE(v);
}

/* Moves heap_i down until nothing below it comes after it. */
static void topk_sift(const REAL *x, ptrdiff_t inner, int32_t *heap, int n, int i)
{
    const int32_t moved = heap[i * inner];
    for (int below; (below = 2 * i + 1) < n; i = below) {
        if (below + 1 < n && topk_before(x, inner, heap[below * inner], heap[(below + 1) * inner]))
            below++;
        if (!topk_before(x, inner, moved, heap[below * inner])) break;
        heap[i * inner] = heap[below * inner];
    }
    heap[i * inner] = moved;
}

static void topk_lines(void *node, ptrdiff_t line, ptrdiff_t to, int slot)
{
    (void)slot;
    const at_node *n = node;
    const at_lines *a = n->args;
    const ptrdiff_t inner = a->inner;
    for (; line < to; line++) {
        const REAL *x = (const REAL *)n->in[0]->data + at_line(a, line, a->N);
        int32_t *heap = (int32_t *)n->out[0]->data + at_line(a, line, a->K);
        for (int k = 0; k < a->K; k++) heap[k * inner] = k;
        for (int k = a->K / 2; k-- > 0;) topk_sift(x, inner, heap, a->K, k);
        for (int j = a->K; j < a->N && a->K > 0; j++) {
            if (!topk_before(x, inner, j, heap[0])) continue;
            heap[0] = j;
            topk_sift(x, inner, heap, a->K, 0);
        }
        for (int k = a->K - 1; k > 0; k--) {
            const int32_t last = heap[0];
            heap[0] = heap[k * inner], heap[k * inner] = last;
            topk_sift(x, inner, heap, k, 0);
        }
    }
}

void AT_REAL(topk_forward)(at_node *n)
{
    const at_lines *a = n->args;
    at_for(a->lines, 4 * a->N, 0, topk_lines, n);
}

#ifdef AT_ONCE /* ---------------------------- the ops ---------------------------- */

static const at_op gather_op = {.name = "gather", AT_BOTH_KERNELS(gather)};
static const at_op scatter_add_op = {.name = "scatter_add", AT_BOTH_KERNELS(scatter_add)};
static const at_op topk_op = {.name = "topk", .forward = AT_KERNELS(topk_forward)};

/* The lines of x, and of what the index picks from them; false after an error. */
static bool gather_lines(at_tape *t, const char *op, const at_tensor *x, const at_tensor *index,
                         int axis, at_lines *lines)
{
    AT_INPUT(t, op, x, ATTIC_REAL);
    AT_INPUT(t, op, index, ATTIC_I32);
    const int a = at_axis_of(x->shape, axis);
    AT_REQUIRE(t, a >= 0, "%s: there is no axis %d in x %s", op, axis, at_text(x));
    at_shape y = x->shape;
    if (index->shape.ndim == y.ndim) y.dim[a] = index->shape.dim[a];
    AT_REQUIRE(t, at_same_shape(y, index->shape),
               "%s: x is %s but index is %s: they may differ along axis %d alone", op, at_text(x),
               at_text(index), axis);
    const int N = x->shape.dim[a];
    const int32_t *j = index->data;
    for (ptrdiff_t i = 0; i < at_count(y); i++)
        AT_REQUIRE(t, j[i] >= 0 && j[i] < N,
                   "%s: index is %d at %s but x is %s: axis %d has size %d", op, j[i],
                   at_shape_text(at_index_of(y, i)), at_text(x), axis, N);
    *lines = at_lines_of(x->shape, a, y.dim[a]);
    return true;
}

at_tensor *at_gather(at_tape *t, at_tensor *x, at_tensor *index, int axis)
{
    at_lines lines;
    if (!gather_lines(t, "gather", x, index, axis, &lines)) return NULL;
    return at_record(t, &gather_op, AT_IN(x, index), index->shape, &lines, sizeof lines);
}

at_tensor *at_scatter_add(at_tape *t, at_tensor *x, at_tensor *index, at_tensor *src, int axis)
{
    at_lines lines;
    if (!gather_lines(t, "scatter_add", x, index, axis, &lines)) return NULL;
    AT_INPUT(t, "scatter_add", src, ATTIC_REAL);
    AT_REQUIRE(t, at_same_shape(src->shape, index->shape),
               "scatter_add: src is %s but index is %s: each element needs an index", at_text(src),
               at_text(index));
    return at_record(t, &scatter_add_op, AT_IN(x, index, src), x->shape, &lines, sizeof lines);
}

at_tensor *at_topk(at_tape *t, at_tensor *x, int k, int axis, at_tensor **index)
{
    if (index) *index = NULL;
    AT_INPUT(t, "topk", x, ATTIC_REAL);
    const int a = at_axis_of(x->shape, axis);
    AT_REQUIRE(t, a >= 0, "topk: there is no axis %d in x %s", axis, at_text(x));
    AT_REQUIRE(t, k >= 0 && k <= x->shape.dim[a], "topk: k is %d but x is %s: axis %d has size %d",
               k, at_text(x), axis, x->shape.dim[a]);
    const at_lines lines = at_lines_of(x->shape, a, k);
    at_recipe r = {.shape = {x->shape}, .dtype = {ATTIC_I32}, .args = &lines};
    r.args_size = sizeof lines;
    r.shape[0].dim[a] = k;
    at_node *n = at_record_node(t, &topk_op, AT_IN(x), r);
    if (!n) return NULL;
    if (index) *index = n->out[0];
    return at_gather(t, x, n->out[0], axis);
}

#endif
