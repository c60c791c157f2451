/* matmul.c -- the matrix product, and its two gradients, which are matrix products again.
 *
 *   A [...,M,K]   B [...,K,N]   C [...,M,N]
 *
 *   forward    C_ij = sum_k A_ik B_kj                              C = A B
 *
 * For the gradient of A_ik, ask which elements of C it touches: the elements of row i, and C_ij
 * with the factor B_kj.
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
 * Transposes cost nothing.  Element (i, k) of A is at A[i*row + k*col]; reading A transposed
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
 * B may be stored as f16 or bf16, and wants no gradient then: it is widened block by block as it is
 * multiplied (kernels/gemm_half.c), here and in dA.
 *
 *   size 0     K = 0: C is 0.  C empty: dA and dB are 0. */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/nest.h"
#include "ops/product.h"

enum { MATMUL_A, MATMUL_B, MATMUL_C };

typedef struct { /* the layout of A, B or C in memory, and of dA, dB or dC */
    at_strides s;
    int operand; /* of the outer loops */
} matmul_layout;

typedef struct {
    int M, N, K, batch; /* the batch of gemm: the innermost of the leading dims */
    matmul_layout A, B, C;
    at_nest outer; /* the leading dims around it */
} matmul_args;

static matmul_layout matmul_transposed(matmul_layout x)
{
    return (matmul_layout){{x.s.col, x.s.row, x.s.batch}, x.operand};
}

AT_BOTH(matmul);

/* Z = X Y + beta Z for every matrix of the batch, X [m,k], Y [k,n], Z [m,n].  Y is real, or of a
 * dtype of 16 bits.  Where Z is repeated, the products are summed: along the batch by gemm, along
 * the outer loops here. */
static void matmul_batch(const at_node *node, int m, int n, int k, const REAL *X, matmul_layout x,
                         const void *Y, at_dtype dtype, matmul_layout y, int beta, REAL *Z,
                         matmul_layout z)
{
    const matmul_args *a = node->args;
    const at_workspace w = {at_scratch(node, 0), node->scratch, node->slots};
    at_nest kept, summed;
    at_nest_split(&a->outer, z.operand, &kept, &summed);
    at_count_flops(node, 2.0 * m * n * k * a->batch * (double)(kept.count * summed.count));
    for (ptrdiff_t i = 0; i < kept.count; i++)
        for (ptrdiff_t s = 0; s < summed.count; s++) {
            ptrdiff_t at[AT_NEST_OPERANDS] = {0};
            at_nest_move(&kept, i, at);
            at_nest_move(&summed, s, at);
            stored_product(a->batch, m, n, k, X + at[x.operand], x.s, Y, dtype, at[y.operand], y.s,
                           beta || s > 0, Z + at[z.operand], z.s, w);
        }
}

/* C = A B */
void AT_REAL(matmul_forward)(at_node *n)
{
    const matmul_args *a = n->args;
    const at_tensor *B = n->in[1];
    if (at_count(n->out[0]->shape) == 0) return;
    matmul_batch(n, a->M, a->N, a->K, n->in[0]->data, a->A, B->data, B->dtype, a->B, 0,
                 n->out[0]->data, a->C);
}

/* dA = dC B^T, dB = A^T dC */
void AT_REAL(matmul_backward)(at_node *n)
{
    const matmul_args *a = n->args;
    const REAL *A = n->in[0]->data, *dC = n->out[0]->grad;
    const at_tensor *B = n->in[1];
    if (at_count(n->out[0]->shape) == 0) {
        at_grad(n, 0);
        at_grad(n, 1);
        return;
    }
    matmul_layout At = matmul_transposed(a->A), Bt = matmul_transposed(a->B);
    at_grad_buffer dA = at_grad_overwrite(n, 0);
    if (dA.p)
        matmul_batch(n, a->M, a->K, a->N, dC, a->C, B->data, B->dtype, Bt, dA.beta, dA.p, a->A);
    /* after dA is written: for A = B it is the same buffer */
    at_grad_buffer dB = at_grad_overwrite(n, 1);
    if (dB.p) matmul_batch(n, a->K, a->N, a->M, A, At, dC, ATTIC_REAL, a->C, dB.beta, dB.p, a->B);
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op matmul_op = {.name = "matmul", AT_BOTH_KERNELS(matmul)};

static at_shape matmul_leading(at_shape s)
{
    s.ndim -= 2;
    return s;
}

/* A matrix of shape s, read transposed or not. */
static matmul_layout matmul_layout_of(at_shape s, bool transposed, int operand)
{
    matmul_layout x = {{at_last(s), 1, 0}, operand};
    return transposed ? matmul_transposed(x) : x;
}

/* The leading dims become more rows, the batch of gemm and outer loops.  C is not empty. */
static void matmul_loops(matmul_args *m, at_shape a, at_shape b, at_shape c)
{
    at_nest *outer = &m->outer;
    *outer = at_nest_of(c, 3, (at_shape[]){a, b, c});
    m->batch = 1;
    for (int d = 0; d < outer->n; d++) {
        outer->loop[d].step[MATMUL_A] *= (ptrdiff_t)m->M * m->K;
        outer->loop[d].step[MATMUL_B] *= (ptrdiff_t)m->K * m->N;
        outer->loop[d].step[MATMUL_C] *= (ptrdiff_t)m->M * m->N;
    }
    if (outer->n == 0) return;
    at_loop last = at_nest_drop(outer);
    /* [B,T,K] [K,N]: if B is the same and the rows of A and C go on, the last loop is more rows */
    if (last.step[MATMUL_B] == 0 && last.step[MATMUL_A] == m->M * m->A.s.row &&
        last.step[MATMUL_C] == m->M * m->C.s.row && last.size <= INT_MAX / m->M) {
        m->M *= (int)last.size;
        if (outer->n == 0) return;
        last = at_nest_drop(outer);
    }
    m->batch = (int)last.size;
    m->A.s.batch = last.step[MATMUL_A];
    m->B.s.batch = last.step[MATMUL_B];
    m->C.s.batch = last.step[MATMUL_C];
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
    if (!at_check_stored(t, "matmul", "B", B)) return NULL;
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
    matmul_args m = {.M = M,
                     .N = N,
                     .K = K,
                     .A = matmul_layout_of(a, transpose_a, MATMUL_A),
                     .B = matmul_layout_of(b, transpose_b, MATMUL_B),
                     .C = matmul_layout_of(c, false, MATMUL_C)};
    if (at_shape_valid(c) && at_count(c) > 0) /* an empty C may have huge other dims */
        matmul_loops(&m, matmul_leading(a), matmul_leading(b), leading);
    at_recipe r = {.shape = {c}, .args = &m, .args_size = sizeof m};
    r.scratch = product_workspace(m.M, m.N, m.K, B->dtype, at_dtype_size(at_real(t)));
    return at_output(at_record_node(t, &matmul_op, AT_IN(A, B), r));
}

at_tensor *at_matmul(at_tape *t, at_tensor *A, at_tensor *B)
{
    return at_matmul_t(t, A, false, B, false);
}

#endif
