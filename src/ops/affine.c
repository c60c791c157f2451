/* affine.c -- a matrix product and a row added to it: what a layer does before it bends.
 *
 *   X [...,K]   W [K,N]   b [N], or none   Y [...,N]       row i: any index into the leading dims
 *
 *   forward    Y_ij = b_j + sum_k X_ik W_kj                        Y = X W + b
 *
 * The sums of the product begin with b_j instead of 0, so b costs nothing.
 *
 *   backward   dX_ik = sum_j dY_ij W_kj                            dX = dY W^T
 *              dW_kj = sum_i X_ik dY_ij                            dW = X^T dY
 *
 * as derived in matmul.c.  And b_j is added to every number of column j, so
 *
 *              dY_ip/db_j = 1[p=j],      and      db_j = sum_i dY_ij
 *
 * That sum is over every row of a batch, so it is kept in double.  Each task takes a strip of columns,
 * and where there are many rows a share of them; the shares are added in their order.  Nothing is
 * saved.
 *
 *   size 0     K = 0: Y_ij = b_j.  Y empty: dX, dW and db are 0. */
#include "ops/op.h"

#include <limits.h>

#include "kernels/real.h"

enum {
    AFFINE_STRIP = 64, /* columns that are summed together */
    AFFINE_SHARES = 16 /* of the rows, at most */
};

typedef struct {
    int M, N, K;        /* rows of X, columns of W, columns of X */
    int strips, shares; /* of dY, for db */
} affine_args;

AT_KERNEL(affine_forward);
AT_KERNEL(affine_backward);

void AT_REAL(affine_forward)(at_node *n)
{
    const affine_args *a = n->args;
    const REAL *X = n->in[0]->data, *W = n->in[1]->data, *b = n->in[2] ? n->in[2]->data : NULL;
    gemm_bias(a->M, a->N, a->K, X, (at_strides){a->K, 1, 0}, W, (at_strides){a->N, 1, 0}, b,
              n->out[0]->data, (at_workspace){at_scratch(n, 0), n->scratch, n->slots});
}

typedef struct {
    const affine_args *a;
    const REAL *dY;
    WIDE *part; /* [shares, N] */
} affine_sums;

/* part_j = sum_i dY_ij over one share of the rows, for one strip of columns */
static void affine_sum(const affine_sums *s, int share, int j0)
{
    const int N = s->a->N;
    const int w = N - j0 < AFFINE_STRIP ? N - j0 : AFFINE_STRIP;
    ptrdiff_t i = (ptrdiff_t)s->a->M * share / s->a->shares;
    ptrdiff_t to = (ptrdiff_t)s->a->M * (share + 1) / s->a->shares;
    const REAL *y = s->dY + i * N + j0;
    WIDE sum[AFFINE_STRIP] = {0};

    for (; i + 2 <= to; i += 2, y += 2 * N)
        for (int j = 0; j < w; j++) sum[j] += (WIDE)y[j] + (WIDE)y[N + j];
    for (int j = 0; i < to && j < w; j++) sum[j] += (WIDE)y[j];
    memcpy(s->part + (ptrdiff_t)share * N + j0, sum, (size_t)w * sizeof *sum);
}

static void affine_sum_strips(void *sums, ptrdiff_t i, ptrdiff_t to, int slot)
{
    (void)slot;
    const affine_args *a = ((affine_sums *)sums)->a;
    for (; i < to; i++) affine_sum(sums, (int)(i / a->strips), (int)(i % a->strips) * AFFINE_STRIP);
}

/* db_j += sum_i dY_ij */
static void affine_sum_rows(const at_node *n, REAL *db)
{
    const affine_args *a = n->args;
    affine_sums s = {a, n->out[0]->grad, at_scratch(n, 0)};
    at_for((ptrdiff_t)a->strips * a->shares, (ptrdiff_t)a->M / a->shares * AFFINE_STRIP / 4, 0,
           affine_sum_strips, &s);
    for (int j = 0; j < a->N; j++) {
        WIDE sum = s.part[j];
        for (int share = 1; share < a->shares; share++) sum += s.part[(ptrdiff_t)share * a->N + j];
        db[j] += (REAL)sum;
    }
}

/* dX = dY W^T, dW = X^T dY */
void AT_REAL(affine_backward)(at_node *n)
{
    const affine_args *a = n->args;
    const REAL *X = n->in[0]->data, *W = n->in[1]->data, *dY = n->out[0]->grad;
    const at_strides x = {a->K, 1, 1}, xt = {1, a->K, 1}, wt = {1, a->N, 1};
    const at_strides w = {a->N, 1, 1}, y = {a->N, 1, 1};
    const at_workspace workspace = {at_scratch(n, 0), n->scratch, n->slots};

    at_fresh dX = at_grad_fresh(n, 0);
    if (dX.p) gemm(1, a->M, a->K, a->N, 1, dY, y, W, wt, (REAL)dX.beta, dX.p, x, workspace);
    at_fresh dW = at_grad_fresh(n, 1); /* after dX is written: X and W may be one tensor */
    if (dW.p) gemm(1, a->K, a->N, a->M, 1, X, xt, dY, y, (REAL)dW.beta, dW.p, w, workspace);
    REAL *db = n->in[2] ? at_grad(n, 2) : NULL;
    if (db) affine_sum_rows(n, db);
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op affine_op = {.name = "affine",
                                .forward = AT_KERNELS(affine_forward),
                                .backward = AT_KERNELS(affine_backward)};

static affine_args affine_args_of(ptrdiff_t rows, int N, int K)
{
    return (affine_args){
        .M = (int)rows,
        .N = N,
        .K = K,
        .strips = (N + AFFINE_STRIP - 1) / AFFINE_STRIP,
        .shares = at_parts(rows * (N < AFFINE_STRIP ? N : AFFINE_STRIP) / 4, AFFINE_SHARES)};
}

at_tensor *at_affine(at_tape *t, at_tensor *X, at_tensor *W, at_tensor *b)
{
    AT_INPUT(t, "affine", X, ATTIC_REAL);
    AT_INPUT(t, "affine", W, ATTIC_REAL);
    if (b) AT_INPUT(t, "affine", b, ATTIC_REAL);
    at_shape y = X->shape;
    AT_REQUIRE(t, W->shape.ndim == 2, "affine: W is %s but must have 2 dims", at_text(W));
    int K = W->shape.dim[0], N = W->shape.dim[1];
    AT_REQUIRE(t, y.ndim >= 1 && at_last(y) == K, "affine: X is %s but W is %s: X must end in %d",
               at_text(X), at_text(W), K);
    AT_REQUIRE(t, !b || at_same_shape(b->shape, at_shape_of(N)),
               "affine: W is %s but b is %s: it must be [%d]", at_text(W), at_text(b), N);
    ptrdiff_t rows = K > 0 || N > 0 ? at_rows(y) : 0; /* else there may be very many */
    AT_REQUIRE(t, rows <= INT_MAX, "affine: X is %s: %td rows are too many", at_text(X), rows);

    y.dim[y.ndim - 1] = N;
    affine_args a = affine_args_of(rows, N, K);
    at_recipe r = {.shape = {y}, .args = &a, .args_size = sizeof a};
    const size_t sums = b ? (size_t)a.shares * (size_t)N * AT_WIDEST : 0;
    r.scratch = at_gemm_workspace(a.M, N, K, AT_GEMM_COLUMNS, at_dtype_size(at_real(t)));
    if (r.scratch < sums) r.scratch = sums;
    at_node *n = at_record_node(t, &affine_op, AT_IN(X, W, b), r);
    return n ? n->out[0] : NULL;
}

#endif
