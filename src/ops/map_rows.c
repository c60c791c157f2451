/* map_rows.c -- rows are shared out to the threads, and their sums added; see map_rows.h. */
#include "ops/map_rows.h"

#include "kernels/real.h"

AT_EACH_REAL(void, map_rows_add, (const at_row_job *job, const at_row_op *r, int i, void *dx));

/* dx += the sum of the shares, in their order */
void AT_REAL(map_rows_add)(const at_row_job *job, const at_row_op *r, int i, void *dx)
{
    const ptrdiff_t N = at_last(job->n->in[0]->shape);
    for (ptrdiff_t from = 0; from < N; from += AT_CHUNK) {
        const ptrdiff_t n = N - from < AT_CHUNK ? N - from : AT_CHUNK;
        const REAL *part = (const REAL *)job->parts + i * N + from;
        WIDE sum[AT_CHUNK] = {0};
        for (int k = 0; k < job->shares; k++, part += r->sums * N)
            for (ptrdiff_t j = 0; j < n; j++) sum[j] += (WIDE)part[j];
        for (ptrdiff_t j = 0; j < n; j++) ((REAL *)dx)[from + j] += (REAL)sum[j];
    }
}

#ifdef AT_ONCE

static int row_shares(const at_tensor *x)
{
    const ptrdiff_t rows = at_rows(x->shape);
    const int shares = at_parts(rows * at_last(x->shape), AT_ROW_SHARES);
    return shares < rows ? shares : rows ? (int)rows : 1;
}

at_tensor *at_record_rows(at_tape *t, const at_op *op, const at_row_op *r, at_inputs in, at_shape y,
                          const void *args, size_t args_size)
{
    const at_tensor *x = in.in[0];
    const size_t N = (size_t)at_last(x->shape), rows = (size_t)at_rows(x->shape);
    const size_t sums = (size_t)r->sums * N, size = at_dtype_size(x->dtype);
    const bool nothing = rows == 0 || (N == 0 && at_count(y) == 0) || !at_shape_valid(y);
    size_t parts = 0;
    for (int i = 1; i <= r->sums; i++)
        if (in.in[i] && in.in[i]->wants_grad) parts = (size_t)row_shares(x) * sums;
    at_recipe recipe = {.shape = {y},
                        .args = args,
                        .args_size = args_size,
                        .saved = ((nothing ? 0 : rows) * (size_t)r->saved + parts) * size};
    if (!nothing) recipe.scratch = sums * AT_WIDEST + ((size_t)(r->space + 1) * N + sums) * size;
    return at_output(at_record_node(t, op, in, recipe));
}

static void row_run(at_row_job *job, at_range_body *run)
{
    const at_tensor *x = job->n->in[0];
    job->rows = at_rows(x->shape);
    if (job->rows == 0) return;
    job->shares = row_shares(x);
    at_for(job->shares, job->rows * at_last(x->shape) / job->shares, job->n->slots, run, job);
}

void at_map_rows(at_node *n, const at_row_op *r, at_range_body *run)
{
    const bool each = r->saved && at_count(n->out[0]->shape) > 0; /* rows of nothing count, too */
    if (at_last(n->in[0]->shape) > 0 || each) row_run(&(at_row_job){.n = n}, run);
}

void at_map_rows_back(at_node *n, const at_row_op *r, at_range_body *run)
{
    at_row_job job = {.n = n, .dx = at_grad_overwrite(n, 0)};
    bool any = job.dx.p;
    for (int i = 0; i < r->sums; i++) {
        any |= job.wanted[i] = n->in[1 + i] && n->in[1 + i]->wants_grad;
        if (job.wanted[i] && n->saved)
            job.parts = (char *)n->saved + at_rows(n->in[0]->shape) * r->saved *
                                               (ptrdiff_t)at_dtype_size(n->in[0]->dtype);
    }
    if (!any) return;
    if (at_last(n->in[0]->shape) > 0) row_run(&job, run);
    for (int i = 0; i < r->sums; i++) {
        void *dx = job.wanted[i] ? at_grad(n, 1 + i) : NULL;
        if (dx) AT_OF_REAL(at_real(n->tape), map_rows_add)(&job, r, i, dx);
    }
}

bool at_check_norm(at_tape *t, const char *op, const at_tensor *x, double eps)
{
    if (!at_check_input(t, op, "x", x, ATTIC_REAL)) return false;
    AT_REQUIRE(t, x->shape.ndim >= 1, "%s: x is []; it needs an axis", op);
    return at_check_eps(t, op, eps);
}

bool at_check_columns(at_tape *t, const char *op, const at_tensor *x, const char *name,
                      const at_tensor *g)
{
    if (!g) return at_ok(t);
    if (!at_check_input(t, op, name, g, ATTIC_REAL)) return false;
    AT_REQUIRE(t, at_same_shape(g->shape, at_shape_of(at_last(x->shape))),
               "%s: x is %s but %s is %s: it must be [%d]", op, at_text(x), name, at_text(g),
               at_last(x->shape));
    return true;
}

at_tensor *at_over_axis(at_tape *t, const char *op, at_tensor *x, int axis,
                        at_tensor *(*f)(at_tape *, at_tensor *))
{
    AT_INPUT(t, op, x, ATTIC_REAL);
    int d = at_axis_of(x->shape, axis);
    AT_REQUIRE(t, d >= 0, "%s: there is no axis %d in x %s", op, axis, at_text(x));
    return d == x->shape.ndim - 1 ? f(t, x) : at_along_axis(t, x, d, f);
}

#endif
