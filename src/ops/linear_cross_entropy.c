/* linear_cross_entropy.c -- the last layer of a classifier and its loss, with logits never held.
 *
 *   x [...,K]    W [K,N], or [N,K] read transposed    b [N], or none    c [...]  the targets
 *   z [rows,N]   logits: one tile of them exists at a time
 *   loss []      or [...] without a reduction
 *
 *   forward    z_ij = b_j + sum_k x_ik W_kj                           as in affine.c
 *              loss of z and c                                       as in cross_entropy.c
 *
 * With 50,000 classes a row of logits is a hundred times as long as the row of x that it comes
 * from, and the two ops hold it twice: z and dz.  The loss needs neither as a whole.  Of a row of z
 * it needs the maximum m, the sum l of exp(z_j - m), and the logit of the target; label smoothing
 * needs the sum of w_j (z_j - m), too.  So z is computed in tiles: classes in the outer loop, rows
 * in the inner one, so that a tile of W stays in cache for all rows.
 *
 *                  classes j0 .. j0+n-1
 *                +---------+---------+----
 *     rows i0    |    1    |    3    |          z, in backward dz
 *                +---------+---------+----
 *                |    2    |    4    |          1, 2, 3 ...: the order of the tiles
 *                +---------+---------+----
 *
 * The maximum of a row is not known before its last tile.  So a running maximum is kept, and the
 * sum is corrected when a larger one turns up, as in attention/fused.c:
 *
 *              m' = max(m, max_j z_ij)
 *              l' = exp(m - m') l + sum_j exp(z_ij - m')
 *
 * and so is the sum o of w_j (z_j - m), which loses no digits where all logits are large:
 *
 *              o' = o + (m - m') sum_(j before the tile) w_j + sum_(j of the tile) w_j (z_ij - m')
 *
 *   backward   computes each tile of z again, and makes dz of it:
 *
 *              p_ij  = exp(z_ij - m_i) / l_i
 *              dz_ij = (V_i p_ij - w_j q_ij) dloss / count           as in cross_entropy.c
 *
 *              dx_ik += sum_j dz_ij W_kj
 *              dW_kj += sum_i x_ik dz_ij
 *              db_j  += sum_i dz_ij
 *
 * That is four products in place of the three of two ops.  Each sum goes on where the tile before
 * has left it, in the order of j or i, as in a product of whole matrices; threads share the product
 * of one tile.  So the bits do not depend on threads (kernels/gemm.h), and with up to 384 classes
 * all values, dx and dW have the bits of the two ops.  db is summed in WIDE.
 *
 * Saved are a few numbers for each row.  A tile has at most 256 x 384 elements; it is in slots of
 * scratch memory, before the slots of the products.
 *
 * W may be stored as f16 or bf16, as in affine.c.
 *
 * Edges: as in the two ops.  K = 0: z = b.  Ignored rows add nothing and have dz = 0.  A row of all
 * -inf has the loss +inf, and dz = 0.  If x and W are one tensor, its gradient begins with 0, and
 * both are added to it. */
#include "kernels/real.h"
#include "ops/cross_entropy.h"
#include "ops/product.h"

enum { ENTROPY_ROWS = 256, ENTROPY_CLASSES = AT_GEMM_COLUMNS }; /* of a tile, at most */
enum { ENTROPY_SAVED = 12 };                                    /* reals of a row, at most */

typedef struct {
    cross_entropy_args loss;
    int K;
    at_strides w;   /* of W as [K,N] */
    int tile_slots; /* which the tile takes */
} linear_cross_entropy_args;

AT_BOTH(linear_cross_entropy);

/* A row, of which backward reads m, p and V. */
typedef struct {
    WIDE sum;    /* of exp(z_j - m) */
    WIDE others; /* sum_j w_j (z_j - m) */
    WIDE loss;
    REAL m, hit; /* the maximum so far, the target's logit */
    REAL V;      /* 0: the row counts for nothing */
    REAL p;      /* 1 / sum; 0: no gradient */
} entropy_row;

/* Rows i0 .. i0+rows-1, classes j0 .. j0+n-1, and where they are. */
typedef struct {
    at_node *node;
    const linear_cross_entropy_args *a;
    const REAL *w; /* weights of the classes */
    const int32_t *target;
    entropy_row *row;
    WIDE *sum;   /* of dz, by classes */
    WIDE before; /* the sum of the weights of the classes before j0 */
    REAL *z;
    ptrdiff_t i0, j0;
    int rows, n;
    at_workspace gemm;
    at_grad_buffer dx, dW;
    REAL *db;
} entropy_tile;

static entropy_tile entropy_tile_of(at_node *n)
{
    const linear_cross_entropy_args *a = n->args;
    WIDE *sum = at_scratch(n, 0);
    return (entropy_tile){
        .node = n,
        .a = a,
        .w = n->in[4] ? n->in[4]->data : NULL,
        .target = n->in[3]->data,
        .row = n->saved,
        .sum = sum,
        .z = (REAL *)(sum + ENTROPY_CLASSES),
        .gemm = {at_scratch(n, a->tile_slots), n->scratch, n->slots - a->tile_slots}};
}

static void entropy_logits(const entropy_tile *x)
{
    const at_tensor *W = x->node->in[1], *b = x->node->in[2];
    const int K = x->a->K;
    const REAL *X = (const REAL *)x->node->in[0]->data + x->i0 * K;
    at_count_flops(x->node, 2.0 * x->rows * x->n * K);
    product_bias(x->rows, x->n, K, X, (at_strides){K, 1, 0}, W, x->j0 * x->a->w.col, x->a->w,
                 b ? (const REAL *)b->data + x->j0 : NULL, x->z, x->gemm);
}

/* All tiles, in their order; `work` is done to each row of one while its logits are in cache, then
 * `end`, if there is one, to the tile. */
static void entropy_sweep(entropy_tile *x, at_range_body *work, void (*end)(entropy_tile *))
{
    const cross_entropy_args *a = &x->a->loss;
    for (x->j0 = 0; x->j0 < a->N && a->rows > 0; x->j0 += ENTROPY_CLASSES) {
        for (x->i0 = 0; x->i0 < a->rows; x->i0 += ENTROPY_ROWS) {
            const ptrdiff_t n = a->N - x->j0, rows = a->rows - x->i0;
            x->n = n < ENTROPY_CLASSES ? (int)n : ENTROPY_CLASSES;
            x->rows = rows < ENTROPY_ROWS ? (int)rows : ENTROPY_ROWS;
            entropy_logits(x);
            at_for(x->rows, x->n, 0, work, x);
            if (end) end(x);
        }
        x->before += x->w ? (WIDE)row_sum(x->n, x->w + x->j0) : (WIDE)x->n;
    }
}

/* ------------------------------------------------------------------ forward -------------------- */

static void entropy_begin(const entropy_tile *x, entropy_row *r, int32_t target)
{
    const cross_entropy_args *a = &x->a->loss;
    *r = (entropy_row){.m = -(REAL)INFINITY, .V = 1};
    if (is_ignored(a, target))
        r->V = 0;
    else if (!is_class(a, target))
        r->V = (REAL)NAN;
    else if (x->w)
        r->V = cross_entropy_weight(a, x->w, target);
}

static void entropy_read(const entropy_tile *x, entropy_row *r, const REAL *z, ptrdiff_t target)
{
    const REAL *w = x->w ? x->w + x->j0 : NULL, top = row_max(x->n, z);
    const REAL m = VALUE(top) <= VALUE(r->m) ? r->m : top; /* NaN, if top is */
    if (target >= 0 && target < x->n) r->hit = z[target];
    const bool first = VALUE(r->m) == MINUS_INFINITY, none = VALUE(m) == MINUS_INFINITY;
    if (x->a->loss.user.label_smoothing > 0) {
        if (!first && VALUE(x->before) != 0) r->others += ((WIDE)r->m - (WIDE)m) * x->before;
        r->others += cross_entropy_others(x->n, z, w, none ? 0 : m);
    }
    if (none) return;
    const REAL sum = row_exp_sum(x->n, z, m, NULL);
    r->sum = first ? (WIDE)sum : r->sum * (WIDE)exp(r->m - m) + (WIDE)sum;
    r->m = m;
}

static void entropy_read_rows(void *tile, ptrdiff_t i, ptrdiff_t to, int slot)
{
    (void)slot;
    const entropy_tile *x = tile;
    for (; i < to; i++) {
        entropy_row *r = x->row + x->i0 + i;
        if (VALUE(r->V) != 0) entropy_read(x, r, x->z + i * x->n, x->target[x->i0 + i] - x->j0);
    }
}

/* r->loss and r->p, from what all tiles have left */
static void entropy_end(const entropy_tile *x, entropy_row *r, int32_t target)
{
    const cross_entropy_args *a = &x->a->loss;
    if (VALUE(r->V) == 0) return;
    if (!is_class(a, target)) {
        r->loss = (WIDE)NAN, r->p = (REAL)NAN;
    } else if (VALUE(r->m) == MINUS_INFINITY) {
        r->loss = (WIDE)INFINITY;
    } else {
        r->loss =
            cross_entropy_loss_of(a, x->w, target, r->V, r->m, (REAL)r->sum, r->hit, r->others);
        r->p = OVER((REAL)1, (REAL)r->sum);
    }
}

void AT_REAL(linear_cross_entropy_forward)(at_node *n)
{
    entropy_tile x = entropy_tile_of(n);
    const cross_entropy_args *a = &x.a->loss;
    const bool each = a->user.reduction == ATTIC_NONE;
    REAL *y = n->out[0]->data;
    WIDE sum = 0;
    for (ptrdiff_t i = 0; i < a->rows; i++) entropy_begin(&x, &x.row[i], x.target[i]);
    entropy_sweep(&x, entropy_read_rows, NULL);
    for (ptrdiff_t i = 0; i < a->rows; i++) {
        entropy_end(&x, &x.row[i], x.target[i]);
        sum += x.row[i].loss;
        if (each) y[i] = (REAL)x.row[i].loss;
    }
    if (!each) *y = (REAL)cross_entropy_over(a, x.target, x.w, sum);
}

/* ------------------------------------------------------------------ backward ------------------- */

/* z becomes dz */
static void entropy_dz_rows(void *tile, ptrdiff_t i, ptrdiff_t to, int slot)
{
    (void)slot;
    const entropy_tile *x = tile;
    const cross_entropy_args *a = &x->a->loss;
    const bool each = a->user.reduction == ATTIC_NONE;
    const REAL *dloss = x->node->out[0]->grad, *w = x->w ? x->w + x->j0 : NULL;
    for (; i < to; i++) {
        const entropy_row *r = x->row + x->i0 + i;
        REAL *z = x->z + i * x->n;
        if (VALUE(r->p) == 0) {
            memset(z, 0, (size_t)x->n * sizeof *z);
            continue;
        }
        const REAL g = each ? dloss[x->i0 + i] : (REAL) * (const WIDE *)a->g;
        cross_entropy_slopes(a, x->n, z, w, x->target[x->i0 + i] - x->j0, g, r->V, r->m, r->p, z);
    }
}

/* sum_j += sum_i dz_ij, class by class, in the order of i */
static void entropy_sum_classes(void *tile, ptrdiff_t from, ptrdiff_t to, int slot)
{
    (void)slot;
    const entropy_tile *x = tile;
    for (ptrdiff_t j = from; j < to && x->i0 == 0; j++) x->sum[j] = 0;
    for (int i = 0; i < x->rows; i++)
        for (ptrdiff_t j = from; j < to; j++) x->sum[j] += (WIDE)x->z[i * (ptrdiff_t)x->n + j];
    for (ptrdiff_t j = from; j < to && x->i0 + x->rows == x->a->loss.rows; j++)
        x->db[x->j0 + j] += (REAL)x->sum[j];
}

/* dx += dz W^T, dW += x^T dz, db += the sum of dz */
static void entropy_add(entropy_tile *x)
{
    const at_tensor *W = x->node->in[1];
    const int K = x->a->K;
    const at_strides w = x->a->w, wt = {w.col, w.row, 0}, dz = {x->n, 1, 0}, rows = {K, 1, 0},
                     xt = {1, K, 0};
    const ptrdiff_t first = x->j0 * w.col;
    const REAL *X = (const REAL *)x->node->in[0]->data + x->i0 * K;
    at_count_flops(x->node, 2.0 * x->rows * x->n * K * ((x->dx.p != NULL) + (x->dW.p != NULL)));
    if (x->dx.p)
        stored_product(1, x->rows, K, x->n, x->z, dz, W->data, W->dtype, first, wt,
                       x->dx.beta || x->j0 > 0, (REAL *)x->dx.p + x->i0 * K, rows, x->gemm);
    if (x->dW.p)
        gemm(1, K, x->n, x->rows, 1, X, xt, x->z, dz, (REAL)(x->dW.beta || x->i0 > 0),
             (REAL *)x->dW.p + first, w, x->gemm);
    if (x->db) at_for(x->n, x->rows, 0, entropy_sum_classes, x);
}

/* To add to: where the gradients of x and W are one, or no tile would write them. */
static at_grad_buffer entropy_grad(at_node *n, int i, bool add)
{
    return add ? (at_grad_buffer){at_grad(n, i), 1} : at_grad_overwrite(n, i);
}

void AT_REAL(linear_cross_entropy_backward)(at_node *n)
{
    entropy_tile x = entropy_tile_of(n);
    cross_entropy_args *a = &((linear_cross_entropy_args *)n->args)->loss;
    const bool add = n->in[0] == n->in[1] || a->rows == 0 || a->N == 0;
    if (a->user.reduction != ATTIC_NONE)
        *(WIDE *)a->g = cross_entropy_over(a, x.target, x.w, (WIDE) * (REAL *)n->out[0]->grad);
    x.dx = entropy_grad(n, 0, add);
    x.dW = entropy_grad(n, 1, add);
    x.db = at_grad(n, 2);
    entropy_sweep(&x, entropy_dz_rows, entropy_add);
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op linear_cross_entropy_op = {.name = "linear_cross_entropy",
                                              AT_BOTH_KERNELS(linear_cross_entropy)};

/* Scratch: the tile, with a sum for each of its classes, then what the products need. */
static void entropy_scratch(at_recipe *r, linear_cross_entropy_args *a, at_dtype w, size_t real)
{
    const int rows = a->loss.rows < ENTROPY_ROWS ? (int)a->loss.rows : ENTROPY_ROWS;
    const int n = gemm_least(a->loss.N, ENTROPY_CLASSES);
    const size_t tile = ENTROPY_CLASSES * AT_WIDEST + (size_t)rows * (size_t)n * real;
    const size_t gemm = product_workspace(rows, n, a->K, w, real);
    r->scratch = (gemm + 64) / 64 * 64;
    a->tile_slots = (int)((tile + r->scratch - 1) / r->scratch);
    r->slots = a->tile_slots + at_thread_count();
}

at_tensor *at_linear_cross_entropy(at_tape *t, at_tensor *x, at_tensor *W, bool transpose_w,
                                   at_tensor *b, at_tensor *target, at_cross_entropy_args args)
{
    const char *op = "linear_cross_entropy", *flip = transpose_w ? " transposed" : "";
    AT_INPUT(t, op, x, ATTIC_REAL);
    if (!at_check_stored(t, op, "W", W)) return NULL;
    if (b) AT_INPUT(t, op, b, ATTIC_REAL);
    AT_INPUT(t, op, target, ATTIC_I32);
    AT_REQUIRE(t, W->shape.ndim == 2, "%s: W is %s but must have 2 dims", op, at_text(W));
    const int K = W->shape.dim[transpose_w], N = W->shape.dim[!transpose_w];
    at_shape s = x->shape;
    AT_REQUIRE(t, s.ndim >= 1 && at_last(s) == K, "%s: x is %s but W is %s%s: x must end in %d", op,
               at_text(x), at_text(W), flip, K);
    AT_REQUIRE(t, !b || at_same_shape(b->shape, at_shape_of(N)),
               "%s: W is %s%s but b is %s: it must be [%d]", op, at_text(W), flip, at_text(b), N);
    if (!at_check_entropy(t, op, "W", W, N, args)) return NULL;
    s.ndim--;
    AT_REQUIRE(t, at_same_shape(s, target->shape),
               "%s: x is %s but target is %s: one target per row must be %s", op, at_text(x),
               at_text(target), at_shape_text(s));

    linear_cross_entropy_args a = {{at_count(s), N, args, {0}}, K, {N, 1, 0}, 0};
    if (transpose_w) a.w = (at_strides){1, K, 0};
    if (!at_check_targets(t, op, "W", W, target, &a.loss)) return NULL;
    at_recipe r = {.args = &a, .args_size = sizeof a};
    if (args.reduction == ATTIC_NONE) r.shape[0] = s;
    const size_t real = at_dtype_size(at_real(t));
    r.saved = (size_t)a.loss.rows * ENTROPY_SAVED * real;
    entropy_scratch(&r, &a, W->dtype, real);
    at_inputs in = AT_IN(x, W, b, target, args.weights);
    return at_output(at_record_node(t, &linear_cross_entropy_op, in, r));
}

#endif
