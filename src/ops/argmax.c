/* argmax.c -- where the maximum is: its first index along one axis.
 *
 *   x [outer,N,inner]   y [outer,inner], or [outer,1,inner] with keepdims; i32
 *
 *   forward    y_oi = min { j : x_oji = max_k x_oki }
 *
 * A NaN counts as larger than all else, as in at_max: the first one is where the trouble is.
 *
 *   backward   none: y moves in jumps, its derivative is 0 wherever there is one. */
#include "ops/op.h"

#include "kernels/real.h"

enum { ARGMAX_COLUMNS = 64, ARGMAX_SHORT = 16 };

/* x as `outer` blocks of N rows of columns: element (j, i) of block o is at
 * o*block + j*step + i*next.  Short rows side by side are columns too, of a single block. */
typedef struct {
    int N;
    ptrdiff_t columns, step, next, block;
    ptrdiff_t spans, count; /* spans of a block; in all */
} argmax_args;

AT_KERNEL(argmax_forward);

/* x = m, or both NaN */
static bool argmax_is(REAL x, REAL m)
{
    return (VALUE(x) == VALUE(m)) | ((VALUE(x) != VALUE(x)) & (VALUE(m) != VALUE(m)));
}

/* One row: what the maximum is, then where.  A block without it is passed over as a whole. */
static int argmax_row(int N, const REAL *x)
{
    REAL m = row_max(N, x);
    int j = 0, found = 0;
    for (; j + ARGMAX_COLUMNS < N; j += ARGMAX_COLUMNS) {
        for (int k = 0; k < ARGMAX_COLUMNS; k++) found |= argmax_is(x[j + k], m);
        if (found) break;
    }
    while (j < N - 1 && !argmax_is(x[j], m)) j++;
    return j;
}

/* w columns side by side */
static void argmax_columns(const argmax_args *a, ptrdiff_t w, const REAL *x, int32_t *y)
{
    REAL m[ARGMAX_COLUMNS];
    for (ptrdiff_t i = 0; i < w; i++) m[i] = x[i * a->next], y[i] = 0;
    for (int j = 1; j < a->N; j++) {
        x += a->step;
        for (ptrdiff_t i = 0; i < w; i++) {
            REAL v = x[i * a->next];
            /* larger, or the first NaN */
            bool better = VALUE(m[i]) == VALUE(m[i]) && !(VALUE(v) <= VALUE(m[i]));
            m[i] = better ? v : m[i];
            y[i] = better ? j : y[i];
        }
    }
}

static void argmax_spans(void *node, ptrdiff_t s, ptrdiff_t to, int slot)
{
    (void)slot;
    const at_node *n = node;
    const argmax_args *a = n->args;
    for (; s < to; s++) {
        ptrdiff_t o = s / a->spans, i = s % a->spans * ARGMAX_COLUMNS, left = a->columns - i;
        const REAL *x = (const REAL *)n->in[0]->data + o * a->block + i * a->next;
        int32_t *y = (int32_t *)n->out[0]->data + o * a->columns + i;
        if (a->columns == 1)
            *y = argmax_row(a->N, x);
        else
            argmax_columns(a, left < ARGMAX_COLUMNS ? left : ARGMAX_COLUMNS, x, y);
    }
}

void AT_REAL(argmax_forward)(at_node *n)
{
    const argmax_args *a = n->args;
    ptrdiff_t width = a->columns < ARGMAX_COLUMNS ? a->columns : ARGMAX_COLUMNS;
    at_for(a->count, a->N * width / 4, 0, argmax_spans, n);
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op argmax_op = {.name = "argmax", .forward = AT_KERNELS(argmax_forward)};

static argmax_args argmax_args_of(at_shape x, int axis)
{
    argmax_args a = {.N = x.dim[axis], .next = 1};
    if (at_count(x) == 0) return a; /* an empty x may have huge other dims */
    ptrdiff_t outer = at_count_between(x, 0, axis);
    a.columns = a.step = at_count_between(x, axis + 1, x.ndim);
    if (a.columns == 1 && a.N < ARGMAX_SHORT) {
        a.columns = outer;
        a.next = a.N;
        outer = 1;
    }
    a.block = a.N * a.columns;
    a.spans = (a.columns + ARGMAX_COLUMNS - 1) / ARGMAX_COLUMNS;
    a.count = outer * a.spans;
    return a;
}

at_tensor *at_argmax(at_tape *t, at_tensor *x, int axis, bool keepdims)
{
    AT_INPUT(t, "argmax", x, ATTIC_REAL);
    int a = at_axis_of(x->shape, axis);
    AT_REQUIRE(t, a >= 0, "argmax: there is no axis %d in x %s", axis, at_text(x));

    at_shape y = {x->shape.ndim - !keepdims, {0}};
    for (int d = 0, i = 0; d < x->shape.ndim; d++) {
        if (d != a)
            y.dim[i++] = x->shape.dim[d];
        else if (keepdims)
            y.dim[i++] = 1;
    }
    int N = x->shape.dim[a];
    AT_REQUIRE(t, N > 0 || !at_shape_valid(y) || at_count(y) == 0,
               "argmax: x is %s: there is no maximum along axis %d of size 0", at_text(x), axis);
    argmax_args args = argmax_args_of(x->shape, a);
    at_recipe r = {.shape = {y}, .dtype = {ATTIC_I32}, .args = &args, .args_size = sizeof args};
    return at_output(at_record_node(t, &argmax_op, AT_IN(x), r));
}

#endif
