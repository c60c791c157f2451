/* slice.c -- part of a tensor along one axis: from .. to-1, or every step-th element.
 *
 *   x [outer,N,inner]   y [outer,n,inner]         slice: n = to - from, step = 1
 *
 *   forward    y_oji = x_o(from + step j)i
 *   backward   dx_o(from + step j)i = dy_oji, and dx = 0 outside of the slice
 *
 *            <------ N*inner ------>
 *      x     [....|yyyyyyyyy|......]      one row per o:  with step 1 it is contiguous;
 *      x     [....|yyyyyyyyy|......]      else it consists of n rows of `inner` elements
 *      x     [....|yyyyyyyyy|......] */
#include "ops/op.h"

#include "kernels/real.h"

typedef struct {
    ptrdiff_t outer, row, first, length; /* elements of a row of x; the slice of it */
    ptrdiff_t rows, step;                /* in each; elements of x from one to the next */
} slice_args;

AT_KERNEL(slice_backward);

void AT_REAL(slice_backward)(at_node *n)
{
    const slice_args *s = n->args;
    REAL *dx = at_grad(n, 0);
    if (!dx) return;
    const REAL *dy = n->out[0]->grad;
    if (s->rows == 1) add_rows(s->outer, s->length, dy, s->length, dx + s->first, s->row);
    for (ptrdiff_t o = 0; s->rows > 1 && o < s->outer; o++, dx += s->row, dy += s->rows * s->length)
        add_rows(s->rows, s->length, dy, s->length, dx + s->first, s->step);
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static void slice_forward(at_node *n)
{
    const slice_args *s = n->args;
    ptrdiff_t size = (ptrdiff_t)at_dtype_size(n->in[0]->dtype);
    const ptrdiff_t length = s->length * size;
    const char *x = (const char *)n->in[0]->data + s->first * size;
    char *y = n->out[0]->data;
    if (s->rows == 1) at_copy_rows(s->outer, length, x, s->row * size, y, length);
    for (ptrdiff_t o = 0; s->rows > 1 && o < s->outer; o++, y += s->rows * length)
        at_copy_rows(s->rows, length, x + o * s->row * size, s->step * size, y, length);
}

static const at_op slice_op = {.name = "slice", AT_MOVE_KERNELS(slice)};

/* n elements of axis a, which exist. */
static at_tensor *slice_record(at_tape *t, at_tensor *x, int a, int first, int step, int n)
{
    slice_args s = {0};
    if (at_count(x->shape) > 0) { /* an empty x may have huge other dims */
        const ptrdiff_t inner = at_count_between(x->shape, a + 1, x->shape.ndim);
        const bool together = step == 1 || n <= 1;
        s = (slice_args){.outer = at_count_between(x->shape, 0, a),
                         .row = x->shape.dim[a] * inner,
                         .first = first * inner,
                         .length = together ? n * inner : inner,
                         .rows = together ? 1 : n,
                         .step = step * inner};
    }
    at_recipe r = {.shape = {x->shape}, .dtype = {x->dtype}, .args = &s, .args_size = sizeof s};
    r.shape[0].dim[a] = n;
    return at_output(at_record_node(t, &slice_op, AT_IN(x), r));
}

at_tensor *at_slice(at_tape *t, at_tensor *x, int axis, int from, int to)
{
    if (!at_check_any(t, "slice", "x", x)) return NULL;
    int a = at_axis_of(x->shape, axis);
    AT_REQUIRE(t, a >= 0, "slice: there is no axis %d in x %s", axis, at_text(x));
    int N = x->shape.dim[a], first = from < 0 ? from + N : from, end = to < 0 ? to + N : to;
    AT_REQUIRE(t, first >= 0 && first <= N && end >= 0 && end <= N,
               "slice: x is %s: %d..%d is outside of axis %d of size %d", at_text(x), from, to,
               axis, N);
    AT_REQUIRE(t, first <= end, "slice: x is %s: %d..%d of axis %d ends before it begins",
               at_text(x), from, to, axis);
    return slice_record(t, x, a, first, 1, end - first);
}

at_tensor *at_slice_step(at_tape *t, at_tensor *x, int axis, int from, int step, int n)
{
    if (!at_check_any(t, "slice_step", "x", x)) return NULL;
    int a = at_axis_of(x->shape, axis);
    AT_REQUIRE(t, a >= 0, "slice_step: there is no axis %d in x %s", axis, at_text(x));
    AT_REQUIRE(t, step != 0 && n >= 0,
               "slice_step: step is %d and n is %d, but step != 0 and n >= 0 must hold", step, n);
    const int N = x->shape.dim[a], first = from < 0 ? from + N : from;
    const int64_t last = first + (int64_t)step * (n - 1);
    AT_REQUIRE(t, n == 0 || (first >= 0 && first < N && last >= 0 && last < N),
               "slice_step: x is %s: from = %d, step = %d, n = %d leaves axis %d of size %d",
               at_text(x), from, step, n, axis, N);
    return slice_record(t, x, a, n ? first : 0, step, n);
}

bool at_split_along(at_tape *t, at_tensor *x, int axis, at_tensor **part, int n, const int *size)
{
    for (int k = 0; part && k < n; k++) part[k] = NULL; /* so they stay after an error */
    if (!at_check_any(t, "split_along", "x", x)) return false;
    const int a = at_axis_of(x->shape, axis);
    AT_REQUIRE(t, part && n > 0, "split_along: %s",
               part ? "there must be at least one part" : "part is NULL");
    AT_REQUIRE(t, a >= 0, "split_along: there is no axis %d in x %s", axis, at_text(x));
    const int N = x->shape.dim[a];
    AT_REQUIRE(t, size || N % n == 0,
               "split_along: x is %s: axis %d of size %d has no %d equal parts", at_text(x), axis,
               N, n);
    int64_t sum = 0;
    for (int k = 0; size && k < n; sum += size[k++])
        AT_REQUIRE(t, size[k] >= 0, "split_along: size %d is %d, but must be >= 0", k, size[k]);
    AT_REQUIRE(t, !size || sum == N,
               "split_along: x is %s: the sizes add up to %lld, but axis %d has %d", at_text(x),
               (long long)sum, axis, N);
    for (int k = 0, from = 0; k < n && at_ok(t); from += size ? size[k] : N / n, k++)
        part[k] = slice_record(t, x, a, from, 1, size ? size[k] : N / n);
    return at_ok(t);
}

#endif
