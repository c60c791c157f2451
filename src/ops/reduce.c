/* reduce.c -- the sum, the mean, the maximum, the minimum, the variance over any axes; expand, the
 * repeat that they undo.
 *
 *   x [axes that are kept, and axes that go, in any order]   y [axes that are kept]
 *
 *   sum        y = sum_r x_r                  dx_r = dy
 *   mean       y = 1/n sum_r x_r              dx_r = dy / n
 *   max, min   y = max_r x_r                  dx_r = dy / ties if x_r = y, else 0
 *   var        y = 1/f sum_r (x_r - m)^2      dx_r = 2 (x_r - m) dy / f
 *   expand     y_r = x                        dx = sum_r dy_r
 *
 * r runs over the n elements that make one y (expand: that one x makes), and ties of them equal the
 * maximum.  The minimum is -max(-x).  m is the mean, f = n - correction, but at least 0.  That m
 * depends on x_r too changes nothing: dy/dm = -2/f sum_r (x_r - m) = 0.  Only m is saved.
 *
 * Where several are equal the maximum has a kink: it rises with any of them and falls with none.
 * Equal shares are the choice that does not depend on their order.  In dual numbers its tangent is
 * the mean of theirs: the same shares.  A NaN counts as the maximum and
 * as the minimum of what it is among, and as equal to another NaN.
 *
 * A sum is what the gradient of a repeat is, and its gradient is a repeat.  So both are the map's
 * (map_op.h), with y read as if it had size 1 along the axes that go; and so are the maximum and
 * the count of ties.
 *
 *   size 0     the sum of nothing is 0, its mean and its variance are NaN, its maximum an error. */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/map_op.h"

typedef struct {
    at_shape y;  /* with the axes that go, of size 1 */
    ptrdiff_t n; /* elements that make one */
    double f;    /* of var: n - correction */
    bool max;
} reduce_args;

enum { REDUCE_X, REDUCE_Y, REDUCE_SHARE }; /* operands of the formulas */

AT_KERNEL(reduce_forward);
AT_KERNEL(sum_backward);
AT_BOTH(mean);
AT_KERNEL(max_backward);
AT_KERNEL(min_forward);
AT_BOTH(var);

/* dx = dy / ties where x = y, else 0 */
static void reduce_max_dx(const at_chunk *k, void *values)
{
    const REAL *x = k->in[REDUCE_X], *y = k->in[REDUCE_Y], *share = k->in[REDUCE_SHARE];
    REAL *restrict dx = values;
    for (int i = 0; i < k->n; i++) dx[i] = at_is_max(x[i], y[i]) ? share[i] : 0;
}

/* x where x = y, else 0 */
static void reduce_tied(const at_chunk *k, void *values)
{
    const REAL *x = k->in[REDUCE_X], *y = k->in[REDUCE_Y];
    REAL *restrict tied = values;
    for (int i = 0; i < k->n; i++) tied[i] = at_is_max(x[i], y[i]) ? x[i] : 0;
}

static void reduce_negated(const at_chunk *k, void *values)
{
    const REAL *x = k->in[REDUCE_X];
    REAL *restrict y = values;
    for (int i = 0; i < k->n; i++) y[i] = -x[i];
}

/* (x - m)^2; m has the place of y */
static void reduce_deviation(const at_chunk *k, void *values)
{
    const REAL *x = k->in[REDUCE_X], *m = k->in[REDUCE_Y];
    REAL *restrict y = values;
    for (int i = 0; i < k->n; i++) y[i] = (x[i] - m[i]) * (x[i] - m[i]);
}

/* dx = (x - m) 2 dy / f */
static void reduce_var_dx(const at_chunk *k, void *values)
{
    const REAL *x = k->in[REDUCE_X], *m = k->in[REDUCE_Y], *share = k->in[REDUCE_SHARE];
    REAL *restrict dx = values;
    for (int i = 0; i < k->n; i++) dx[i] = (x[i] - m[i]) * share[i];
}

/* An operand with the elements of y, read as if it had the axes of x. */
static at_operand reduce_kept(const at_node *n, const REAL *data)
{
    return (at_operand){((const reduce_args *)n->args)->y, n->out[0]->dtype, data};
}

/* to = the sum of x, or what else the job says.  `beside`, unless it is NULL, is read by f: it has
 * an element for each of y's. */
static void reduce_to(const at_node *n, at_map_job job, const REAL *beside, REAL *to)
{
    const at_tensor *x = n->in[0];
    job.over = x->shape, job.real = x->dtype;
    job.n_in = beside ? 2 : 1;
    job.in[0] = (at_operand){x->shape, x->dtype, x->data};
    job.in[1] = reduce_kept(n, beside);
    job.to_shape = job.in[1].shape, job.to.p = to;
    job.scratch = at_scratch(n, 0);
    at_sum_rows(&job);
}

static void reduce_mean(const at_node *n, REAL *y)
{
    const reduce_args *a = n->args;
    const ptrdiff_t outputs = at_count(a->y);
    reduce_to(n, (at_map_job){0}, NULL, y);
    for (ptrdiff_t i = 0; i < outputs; i++) y[i] = OVER(y[i], (REAL)a->n);
}

/* An element for each of y's, behind the working memory of the sums. */
static REAL *reduce_space(const at_node *n)
{
    char *space = at_scratch(n, 0);
    return space ? (REAL *)(space + at_sum_scratch(at_count(n->in[0]->shape))) : NULL;
}

/* Where several are the maximum, or the minimum, its tangent is the mean of theirs. */
static void reduce_share(const at_node *n)
{
    if (!HAS_TANGENT || at_count(n->out[0]->shape) == 0) return;
    const ptrdiff_t outputs = at_count(n->out[0]->shape);
    REAL *y = n->out[0]->data, *ties = reduce_space(n), *sum = ties + outputs;
    reduce_to(n, (at_map_job){.ties = true}, y, ties);
    reduce_to(n, (at_map_job){.f = reduce_tied}, y, sum);
    for (ptrdiff_t i = 0; i < outputs; i++) y[i] = SHARED(y[i], sum[i], ties[i]);
}

/* The sum, or the maximum. */
void AT_REAL(reduce_forward)(at_node *n)
{
    const reduce_args *a = n->args;
    reduce_to(n, (at_map_job){.max = a->max}, NULL, n->out[0]->data);
    if (a->max) reduce_share(n);
}

void AT_REAL(mean_forward)(at_node *n)
{
    reduce_mean(n, n->out[0]->data);
}

void AT_REAL(min_forward)(at_node *n)
{
    const ptrdiff_t outputs = at_count(n->out[0]->shape);
    REAL *y = n->out[0]->data;
    reduce_to(n, (at_map_job){.f = reduce_negated, .max = true}, NULL, y);
    for (ptrdiff_t i = 0; i < outputs; i++) y[i] = -y[i];
    reduce_share(n);
}

void AT_REAL(var_forward)(at_node *n)
{
    const ptrdiff_t outputs = at_count(n->out[0]->shape);
    REAL *y = n->out[0]->data, f = (REAL)((const reduce_args *)n->args)->f;
    reduce_mean(n, n->saved);
    reduce_to(n, (at_map_job){.f = reduce_deviation}, n->saved, y);
    for (ptrdiff_t i = 0; i < outputs; i++) y[i] = OVER(y[i], f);
}

/* dx += the share of dy that an element gets: all that made an element of y get one, or f says who,
 * from x, `beside` and the share */
static void reduce_back(at_node *n, at_formula *f, const REAL *beside, const REAL *share)
{
    const at_tensor *x = n->in[0];
    const at_operand in = {x->shape, x->dtype, x->data}, given = reduce_kept(n, share);
    at_map_job job = {.over = x->shape,
                      .real = x->dtype,
                      .f = f,
                      .n_in = f ? 3 : 1,
                      .in = {f ? in : given, reduce_kept(n, beside), given},
                      .to_shape = x->shape,
                      .to = at_grad_overwrite(n, 0)};
    if (job.to.p) at_map_each(&job);
}

void AT_REAL(sum_backward)(at_node *n)
{
    reduce_back(n, NULL, NULL, n->out[0]->grad);
}

void AT_REAL(mean_backward)(at_node *n)
{
    const reduce_args *a = n->args;
    const ptrdiff_t outputs = at_count(a->y);
    const REAL *dy = n->out[0]->grad;
    REAL *share = reduce_space(n);
    for (ptrdiff_t i = 0; i < outputs; i++) share[i] = OVER(dy[i], (REAL)a->n);
    reduce_back(n, NULL, NULL, share);
}

void AT_REAL(max_backward)(at_node *n)
{
    const ptrdiff_t outputs = at_count(n->out[0]->shape);
    const REAL *dy = n->out[0]->grad;
    REAL *share = reduce_space(n); /* so far, the ties */
    reduce_to(n, (at_map_job){.ties = true}, n->out[0]->data, share);
    for (ptrdiff_t i = 0; i < outputs; i++) share[i] = OVER(dy[i], share[i]);
    reduce_back(n, reduce_max_dx, n->out[0]->data, share);
}

void AT_REAL(var_backward)(at_node *n)
{
    const reduce_args *a = n->args;
    const ptrdiff_t outputs = at_count(a->y);
    const REAL *dy = n->out[0]->grad;
    REAL *share = reduce_space(n);
    for (ptrdiff_t i = 0; i < outputs; i++) share[i] = OVER(2 * dy[i], (REAL)a->f);
    reduce_back(n, reduce_var_dx, n->saved, share);
}

AT_FORMULA(expand_y);
void AT_REAL(expand_y)(const at_chunk *k, void *values)
{
    memcpy(values, k->in[0], (size_t)k->n * sizeof(REAL));
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op reduce_sum_op = {
    .name = "sum", .forward = AT_KERNELS(reduce_forward), .backward = AT_KERNELS(sum_backward)};
static const at_op reduce_mean_op = {.name = "mean", AT_BOTH_KERNELS(mean)};
static const at_op reduce_max_op = {
    .name = "max", .forward = AT_KERNELS(reduce_forward), .backward = AT_KERNELS(max_backward)};
static const at_op reduce_min_op = {
    .name = "min", .forward = AT_KERNELS(min_forward), .backward = AT_KERNELS(max_backward)};
static const at_op reduce_var_op = {.name = "var", AT_BOTH_KERNELS(var)};
/* dx = dy, summed where x was repeated */
static const at_map_op expand_op = {AT_MAP_OP("expand"), AT_KERNELS(expand_y), {{0}}};

static at_tensor *reduce_record(at_tape *t, const at_op *op, at_tensor *x, at_shape axes,
                                bool keepdims, int correction)
{
    AT_INPUT(t, op->name, x, ATTIC_REAL);
    AT_REQUIRE(t, correction >= 0, "%s: correction is %d, but must be >= 0", op->name, correction);
    AT_REQUIRE(t, axes.ndim >= 0 && axes.ndim <= AT_MAX_DIMS,
               "%s: %d axes were given, at most %d are possible", op->name, axes.ndim, AT_MAX_DIMS);
    at_shape y = {0}, kept = x->shape;
    bool goes[AT_MAX_DIMS] = {false}, from_nothing = false;
    for (int i = 0; i < axes.ndim; i++) {
        int axis = at_axis_of(x->shape, axes.dim[i]);
        AT_REQUIRE(t, axis >= 0, "%s: there is no axis %d in x %s", op->name, axes.dim[i],
                   at_text(x));
        AT_REQUIRE(t, !goes[axis], "%s: the axes %s list axis %d of x %s twice", op->name,
                   at_shape_text(axes), axis, at_text(x));
        goes[axis] = true;
        kept.dim[axis] = 1;
        if (x->shape.dim[axis] == 0) from_nothing = true;
    }
    for (int d = 0; d < x->shape.ndim; d++)
        if (!goes[d] || keepdims) y.dim[y.ndim++] = goes[d] ? 1 : x->shape.dim[d];
    AT_REQUIRE(t, at_shape_valid(y), "%s: a result of shape %s is not possible", op->name,
               at_shape_text(y));
    ptrdiff_t outputs = at_count(y);
    const bool extremum = op == &reduce_max_op || op == &reduce_min_op;
    AT_REQUIRE(t, !extremum || !from_nothing || outputs == 0,
               "%s: x is %s: there is no %simum over no elements", op->name, at_text(x), op->name);

    const ptrdiff_t count = at_count(x->shape);
    reduce_args a = {.y = kept, .n = outputs > 0 ? count / outputs : 0};
    a.f = fmax(0, (double)a.n - correction), a.max = op == &reduce_max_op;
    at_recipe r = {.shape = {y}, .args = &a, .args_size = sizeof a, .slots = 1};
    r.scratch = at_sum_scratch(count);
    const size_t spaces = extremum ? 2 : 1; /* reduce_share, of the node's copy in dual numbers */
    if (op != &reduce_sum_op) r.scratch += spaces * (size_t)outputs * at_dtype_size(x->dtype);
    if (op == &reduce_var_op) r.saved = (size_t)outputs * at_dtype_size(x->dtype);
    return at_output(at_record_node(t, op, AT_IN(x), r));
}

at_tensor *at_sum_over(at_tape *t, at_tensor *x, at_shape axes, bool keepdims)
{
    return reduce_record(t, &reduce_sum_op, x, axes, keepdims, 0);
}

at_tensor *at_mean_over(at_tape *t, at_tensor *x, at_shape axes, bool keepdims)
{
    return reduce_record(t, &reduce_mean_op, x, axes, keepdims, 0);
}

at_tensor *at_max_over(at_tape *t, at_tensor *x, at_shape axes, bool keepdims)
{
    return reduce_record(t, &reduce_max_op, x, axes, keepdims, 0);
}

at_tensor *at_min_over(at_tape *t, at_tensor *x, at_shape axes, bool keepdims)
{
    return reduce_record(t, &reduce_min_op, x, axes, keepdims, 0);
}

at_tensor *at_var_over(at_tape *t, at_tensor *x, at_shape axes, bool keepdims, int correction)
{
    return reduce_record(t, &reduce_var_op, x, axes, keepdims, correction);
}

static at_tensor *reduce_all(at_tape *t, const at_op *op, at_tensor *x, int correction)
{
    AT_INPUT(t, op->name, x, ATTIC_REAL);
    const at_shape all = {x->shape.ndim, {0, 1, 2, 3, 4, 5, 6, 7}};
    return reduce_record(t, op, x, all, false, correction);
}

at_tensor *at_sum(at_tape *t, at_tensor *x)
{
    return reduce_all(t, &reduce_sum_op, x, 0);
}

at_tensor *at_mean(at_tape *t, at_tensor *x)
{
    return reduce_all(t, &reduce_mean_op, x, 0);
}

at_tensor *at_max(at_tape *t, at_tensor *x)
{
    return reduce_all(t, &reduce_max_op, x, 0);
}

at_tensor *at_min(at_tape *t, at_tensor *x)
{
    return reduce_all(t, &reduce_min_op, x, 0);
}

at_tensor *at_var(at_tape *t, at_tensor *x, int correction)
{
    return reduce_all(t, &reduce_var_op, x, correction);
}

at_tensor *at_expand(at_tape *t, at_tensor *x, at_shape shape)
{
    AT_INPUT(t, "expand", x, ATTIC_REAL);
    AT_REQUIRE(t, at_shape_valid(shape) && at_broadcasts_to(x->shape, shape),
               "expand: x is %s, which does not broadcast to %s", at_text(x), at_shape_text(shape));
    return at_record_map(t, &expand_op.op, AT_IN(x), shape, NULL, 0);
}

#endif
