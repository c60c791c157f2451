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
 * as derived in matmul.c.  And b_j is added to every element of column j, so
 *
 *              dY_ip/db_j = 1[p=j],      and      db_j = sum_i dY_ij
 *
 * the sum that the map has for every operand that is repeated (map.h).  Nothing is saved.
 *
 * W may be stored as f16 or bf16, as B in matmul.c; Y is then filled with b before the product.
 *
 *   size 0     K = 0: Y_ij = b_j.  Y empty: dX, dW and db are 0. */
#include "ops/op.h"

#include <limits.h>

#include "kernels/real.h"
#include "ops/map_op.h"
#include "ops/product.h"

typedef struct {
    int M, N, K; /* rows of X, columns of W, columns of X */
} affine_args;

AT_BOTH(affine);

void AT_REAL(affine_forward)(at_node *n)
{
    const affine_args *a = n->args;
    const REAL *X = n->in[0]->data, *b = n->in[2] ? n->in[2]->data : NULL;
    const at_strides x = {a->K, 1, 0}, w = {a->N, 1, 0};
    const at_workspace workspace = {at_scratch(n, 0), n->scratch, n->slots};
    at_count_flops(n, 2.0 * a->M * a->N * a->K);
    product_bias(a->M, a->N, a->K, X, x, n->in[1], 0, w, b, n->out[0]->data, workspace);
}

/* dX = dY W^T, dW = X^T dY */
void AT_REAL(affine_backward)(at_node *n)
{
    const affine_args *a = n->args;
    const REAL *X = n->in[0]->data, *dY = n->out[0]->grad;
    const at_tensor *W = n->in[1];
    /* w: of W and dW, and of dY, whose rows are as long */
    const at_strides x = {a->K, 1, 1}, xt = {1, a->K, 1}, w = {a->N, 1, 1}, wt = {1, a->N, 1};
    const at_workspace workspace = {at_scratch(n, 0), n->scratch, n->slots};

    at_grad_buffer dX = at_grad_overwrite(n, 0);
    if (dX.p)
        stored_product(1, a->M, a->K, a->N, dY, w, W->data, W->dtype, 0, wt, dX.beta, dX.p, x,
                       workspace);
    /* after dX is written: X and W may be one tensor */
    at_grad_buffer dW = at_grad_overwrite(n, 1);
    at_count_flops(n, 2.0 * a->M * a->N * a->K * ((dX.p != NULL) + (dW.p != NULL)));
    if (dW.p) gemm(1, a->K, a->N, a->M, 1, X, xt, dY, w, (REAL)dW.beta, dW.p, w, workspace);
    if (n->in[2]) at_map_back(n, 2, NULL); /* db: as if b had been repeated for every row of Y */
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op affine_op = {.name = "affine", AT_BOTH_KERNELS(affine)};

at_tensor *at_affine(at_tape *t, at_tensor *X, at_tensor *W, at_tensor *b)
{
    AT_INPUT(t, "affine", X, ATTIC_REAL);
    if (!at_check_stored(t, "affine", "W", W)) return NULL;
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
    affine_args a = {(int)rows, N, K};
    at_recipe r = {.shape = {y}, .args = &a, .args_size = sizeof a};
    const size_t sums = b ? at_sum_scratch(rows * N) : 0;
    const size_t real = at_dtype_size(at_real(t));
    r.scratch = product_workspace(a.M, N, K, W->dtype, real);
    if (r.scratch < sums) r.scratch = sums;
    return at_output(at_record_node(t, &affine_op, AT_IN(X, W, b), r));
}

#endif
