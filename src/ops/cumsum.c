/* cumsum.c -- running sums along an axis.
 *
 *   x, y [outer,N,inner]
 *
 *   forward    y_j = x_0 + x_1 + ... + x_j                along each line
 *   backward   dx_k = sum_j dy_j 1[k <= j] = dy_k + dy_(k+1) + ... + dy_(N-1)
 *
 * x_k is part of every sum from the k-th on, so its gradient is a running sum from the other end.
 * Both are kept in double: in f32 a long line of 0.1 would go astray.  Nothing is saved. */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/nest.h"

AT_BOTH(cumsum);

typedef struct {
    const at_lines *lines;
    const REAL *x;
    REAL *y;
    bool add, from_end;
} cumsum_job;

static void cumsum_lines(void *job, ptrdiff_t line, ptrdiff_t to, int slot)
{
    (void)slot;
    const cumsum_job *g = job;
    const int N = g->lines->N;
    const ptrdiff_t step = g->from_end ? -g->lines->inner : g->lines->inner;
    for (; line < to; line++) {
        ptrdiff_t at = at_line(g->lines, line, N);
        if (g->from_end) at += (N - 1) * g->lines->inner;
        WIDE sum = 0;
        for (int j = 0; j < N; j++, at += step) {
            sum += (WIDE)g->x[at];
            g->y[at] = (g->add ? g->y[at] : 0) + (REAL)sum;
        }
    }
}

void AT_REAL(cumsum_forward)(at_node *n)
{
    const at_lines *a = n->args;
    cumsum_job g = {a, n->in[0]->data, n->out[0]->data, false, false};
    at_for(a->lines, a->N, 0, cumsum_lines, &g);
}

void AT_REAL(cumsum_backward)(at_node *n)
{
    const at_lines *a = n->args;
    at_grad_buffer dx = at_grad_overwrite(n, 0);
    cumsum_job g = {a, n->out[0]->grad, dx.p, dx.beta, true};
    if (dx.p) at_for(a->lines, a->N, 0, cumsum_lines, &g);
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op cumsum_op = {.name = "cumsum", AT_BOTH_KERNELS(cumsum)};

at_tensor *at_cumsum(at_tape *t, at_tensor *x, int axis)
{
    AT_INPUT(t, "cumsum", x, ATTIC_REAL);
    const int a = at_axis_of(x->shape, axis);
    AT_REQUIRE(t, a >= 0, "cumsum: there is no axis %d in x %s", axis, at_text(x));
    const at_lines lines = at_lines_of(x->shape, a, x->shape.dim[a]);
    return at_record(t, &cumsum_op, AT_IN(x), x->shape, &lines, sizeof lines);
}

#endif
