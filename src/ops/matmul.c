/* matmul.c -- the matrix product, and its two gradients, which are matrix products again.
 *
 *   A [...,M,K]   B [...,K,N]   C [...,M,N]
 *
 *   forward    C_ij = sum_k A_ik B_kj                              C = A B
 *
 * For the gradient of A_ik, ask which elements of C it touches: those of row i, and C_ij with the
 * factor B_kj.
 *
 *              dC_pj/dA_ik = 1[p=i] B_kj
 *
 *   backward   dA_ik = sum_pj dC_pj 1[p=i] B_kj
 *                    = sum_j dC_ij B_kj                            dA = dC B^T
 *
 * In the same way B_kj touches column j of C, C_ij with the factor A_ik:
 *
 *              dB_kj = sum_i A_ik dC_ij                            dB = A^T dC
 *
 * The shapes alone would tell: [M,N] and [K,N] can make [M,K] in one way only.  Nothing is saved, A
 * and B themselves are needed.
 *
 * Transposes cost nothing.  Element (i, k) of A lies at A[i*row + k*col]; reading A transposed
 * exchanges row and col, in the forward, in A^T above, and where dA is written.
 *
 * Batches.  The leading dims are loops around all this, with a step for each of A, B and C; an
 * operand that is repeated along a dim has step 0 there.  Its gradient then gets one product per
 * repetition, all to the same place: their sum, which is what the chain rule asks for.
 *
 * Where B is the same for the whole batch, as the weights of a layer are, and the rows of all A
 * follow each other, the batch is nothing but more rows: [B,T,K] [K,N] is the one product
 * [B*T,K] [K,N], and the sum in dB runs inside of it.
 *
 *   size 0     K = 0: C is 0.  C empty: dA and dB are 0. */
#include "ops/op.h"

#include <limits.h>

#include "kernels/real.h"

/* Element (i, j) of the matrix in round (l0, l1, ...) lies at i*row + j*col + l0*step[0] + ... */
typedef struct {
    ptrdiff_t row, col, step[AT_MAX_DIMS];
} matmul_layout;

typedef struct {
    int M, N, K;
    int loops, size[AT_MAX_DIMS]; /* the leading dims; at least one, so the last is gemm's batch */
    matmul_layout A, B, C;        /* dA, dB, dC lie like these */
} matmul_args;

static matmul_layout matmul_transposed(matmul_layout x)
{
    ptrdiff_t row = x.row;
    x.row = x.col;
    x.col = row;
    return x;
}

AT_KERNEL(matmul_forward);
AT_KERNEL(matmul_backward);

/* Z = X Y + beta Z in every round of the loops, X [m,k], Y [k,n], Z [m,n].  The last loop is the
 * batch of at_gemm, which sums if Z has step 0 there; along the others, Z with step 0 is begun in
 * the first round and added to in the rest. */
static void matmul_rounds(const at_node *node, int m, int n, int k, const REAL *X, matmul_layout x,
                          const REAL *Y, matmul_layout y, int beta, REAL *Z, matmul_layout z)
{
    const matmul_args *a = node->args;
    const at_workspace w = {at_scratch(node, 0), node->scratch, node->slots};
    int last = a->loops - 1;
    at_strides xs = {x.row, x.col, x.step[last]}, ys = {y.row, y.col, y.step[last]};
    at_strides zs = {z.row, z.col, z.step[last]};
    ptrdiff_t rounds = 1;
    for (int l = 0; l < last; l++) rounds *= a->size[l];

    for (ptrdiff_t round = 0; round < rounds; round++) {
        ptrdiff_t x0 = 0, y0 = 0, z0 = 0, rest = round;
        bool begun = beta;
        for (int l = last - 1; l >= 0; l--) {
            ptrdiff_t i = rest % a->size[l];
            rest /= a->size[l];
            x0 += i * x.step[l];
            y0 += i * y.step[l];
            z0 += i * z.step[l];
            if (i > 0 && z.step[l] == 0) begun = true;
        }
        gemm(a->size[last], m, n, k, 1, X + x0, xs, Y + y0, ys, begun, Z + z0, zs, w);
    }
}

/* C = A B */
void AT_REAL(matmul_forward)(at_node *n)
{
    const matmul_args *a = n->args;
    const REAL *A = n->in[0]->data, *B = n->in[1]->data;
    if (at_count(n->out[0]->shape) == 0) return;
    matmul_rounds(n, a->M, a->N, a->K, A, a->A, B, a->B, 0, n->out[0]->data, a->C);
}

/* dA = dC B^T, dB = A^T dC */
void AT_REAL(matmul_backward)(at_node *n)
{
    const matmul_args *a = n->args;
    const REAL *A = n->in[0]->data, *B = n->in[1]->data, *dC = n->out[0]->grad;
    if (at_count(n->out[0]->shape) == 0) {
        at_grad(n, 0);
        at_grad(n, 1);
        return;
    }
    matmul_layout At = matmul_transposed(a->A), Bt = matmul_transposed(a->B);
    at_fresh dA = at_grad_fresh(n, 0);
    if (dA.p) matmul_rounds(n, a->M, a->K, a->N, dC, a->C, B, Bt, dA.beta, dA.p, a->A);
    at_fresh dB = at_grad_fresh(n, 1); /* after dA is written: for A = B it is the same buffer */
    if (dB.p) matmul_rounds(n, a->K, a->N, a->M, A, At, dC, a->C, dB.beta, dB.p, a->B);
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op matmul_op = {.name = "matmul",
                                .forward = AT_KERNELS(matmul_forward),
                                .backward = AT_KERNELS(matmul_backward)};

static at_shape matmul_leading(at_shape s)
{
    s.ndim -= 2;
    return s;
}

/* The rows and columns of a matrix of shape s, read transposed or not, repeated over `leading`. */
static matmul_layout matmul_layout_of(at_shape s, bool transposed, at_shape leading)
{
    ptrdiff_t rows = s.dim[s.ndim - 2], cols = s.dim[s.ndim - 1];
    matmul_layout x = {.row = transposed ? 1 : cols, .col = transposed ? cols : 1};
    at_broadcast_strides(matmul_leading(s), leading, x.step);
    for (int l = 0; l < leading.ndim; l++) x.step[l] *= rows * cols;
    return x;
}

/* Are loops l and m, one inside the other, a single longer loop for x? */
static bool matmul_follows(const matmul_layout *x, int l, int m, int size_m)
{
    return x->step[l] == x->step[m] * size_m;
}

/* Fewer, longer loops: [2,3,M,K] [2,3,K,N] is a batch of 6.  C is not empty. */
static void matmul_merge_loops(matmul_args *m, at_shape leading)
{
    matmul_layout *x[] = {&m->A, &m->B, &m->C};
    int n = 0;
    m->size[0] = 1;
    for (int l = 0; l < leading.ndim; l++) {
        int size = leading.dim[l];
        if (size == 1) continue;
        bool longer = n > 0 && m->size[n - 1] <= INT_MAX / size;
        for (int i = 0; i < 3; i++) longer = longer && matmul_follows(x[i], n - 1, l, size);
        if (!longer) m->size[n++] = 1;
        m->size[n - 1] *= size;
        for (int i = 0; i < 3; i++) x[i]->step[n - 1] = x[i]->step[l];
    }
    m->loops = n ? n : 1;
}

/* [B,T,K] [K,N]: if B is the same and the rows of A and C go on, the last loop is more rows. */
static void matmul_batch_to_rows(matmul_args *m)
{
    int l = m->loops - 1, size = m->size[l];
    if (m->B.step[l] != 0 || m->A.step[l] != m->M * m->A.row || m->C.step[l] != m->M * m->C.row ||
        size > INT_MAX / m->M)
        return;
    m->M *= size;
    if (l > 0)
        m->loops--;
    else
        m->size[0] = 1;
}

static const char *matmul_text(const at_tensor *x, bool transposed)
{
    char *text = at_text_buffer();
    snprintf(text, AT_TEXT_SIZE, "%s%s", at_text(x), transposed ? " transposed" : "");
    return text;
}

at_tensor *at_matmul_t(at_tape *t, at_tensor *A, bool transpose_a, at_tensor *B, bool transpose_b)
{
    AT_INPUT(t, "matmul", A, ATTIC_REAL);
    AT_INPUT(t, "matmul", B, ATTIC_REAL);
    at_shape a = A->shape, b = B->shape, leading;
    const char *hint = "needs at least 2 dims; at_reshape makes a vector [1,N] or [N,1]";
    AT_REQUIRE(t, a.ndim >= 2, "matmul: A is %s but %s", at_text(A), hint);
    AT_REQUIRE(t, b.ndim >= 2, "matmul: B is %s but %s", at_text(B), hint);

    int M = a.dim[a.ndim - (transpose_a ? 1 : 2)], K = a.dim[a.ndim - (transpose_a ? 2 : 1)];
    int N = b.dim[b.ndim - (transpose_b ? 2 : 1)], Kb = b.dim[b.ndim - (transpose_b ? 1 : 2)];
    AT_REQUIRE(t, K == Kb, "matmul: A is %s but B is %s: inner dimensions %d and %d differ",
               matmul_text(A, transpose_a), matmul_text(B, transpose_b), K, Kb);
    AT_REQUIRE(t, at_broadcast(matmul_leading(a), matmul_leading(b), &leading),
               "matmul: A is %s but B is %s: leading dims %s and %s do not broadcast",
               matmul_text(A, transpose_a), matmul_text(B, transpose_b),
               at_shape_text(matmul_leading(a)), at_shape_text(matmul_leading(b)));

    at_shape c = leading;
    c.dim[c.ndim++] = M;
    c.dim[c.ndim++] = N;
    matmul_args m = {.M = M, .N = N, .K = K, .loops = 1};
    if (at_shape_valid(c) && at_count(c) > 0) { /* an empty C may have huge other dims */
        m.A = matmul_layout_of(a, transpose_a, leading);
        m.B = matmul_layout_of(b, transpose_b, leading);
        m.C = matmul_layout_of(c, false, leading);
        matmul_merge_loops(&m, leading);
        matmul_batch_to_rows(&m);
    }
    at_recipe r = {.shape = {c}, .args = &m, .args_size = sizeof m};
    r.scratch = at_gemm_workspace(m.M, m.N, m.K, AT_GEMM_COLUMNS, at_dtype_size(at_real(t)));
    at_node *n = at_record_node(t, &matmul_op, AT_IN(A, B), r);
    return n ? n->out[0] : NULL;
}

at_tensor *at_matmul(at_tape *t, at_tensor *A, at_tensor *B)
{
    return at_matmul_t(t, A, false, B, false);
}

#endif
