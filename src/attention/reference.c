/* reference.c -- scaled dot-product attention: the derivation, and the plain path, which is the
 * derivation row by row.
 *
 * One head (plan.h says where its rows are):
 *
 *     Q [T,D]   K [N,D]   V [N,Dv]   O [T,Dv]    R, X, U, S, P, z, A, bias [T,N]    m, l, delta [T]
 *
 * FORWARD, for row i, over the keys j that it keeps
 *
 *     1 scores    R_ij = Q_i . K_j
 *     2 scale     X_ij = c s R_ij                          s: the learned scale of the head, or 1
 *     3 softcap   U_ij = cap tanh(X_ij / cap)              (U = X without)
 *     4 bias      S_ij = U_ij + bias_ij
 *     5 mask      what is not kept is left out of all that follows: it is not read
 *     6 softmax   m_i = max_j S_ij,   l_i = sum_j exp(S_ij - m_i),   P_ij = exp(S_ij - m_i) / l_i
 *                 lse_i = m_i + log l_i = log sum_j exp(S_ij)
 *                 A sink s_h is one more score in each row of its head: in m_i and l_i, not in P.
 *     7 dropout   A_ij = z_ij P_ij                         z_ij is 0 or 1/(1-p)
 *     8 values    O_i = sum_j A_ij V_j
 *
 * Subtracting m_i changes nothing (it cancels) but keeps exp() from overflowing.
 *
 * BACKWARD, the same steps upwards.  dX is the derivative of the loss by X, its upstream gradient
 * (cotangent); a derivative of one step is written with d/d.  Given are the upstream gradients of
 * the outputs: dO; dW, of `weights`, which is A; dY, of `probs`, which is P; dlse.  Each is 0 if
 * nothing was computed from its output.
 *
 *     8   O_i is linear in both its factors, and A is read by dW too:
 *
 *             dV_j  = sum_i A_ij dO_i
 *             dA_ij = dO_i . V_j + dW_ij
 *
 *     7   z is a constant, and P is read by dY too:
 *
 *             dP_ij = z_ij dA_ij + dY_ij
 *
 *     6   Row i of P and lse_i depend on row i of S alone.  Their Jacobians are
 *
 *             d/dS_ik P_ij = P_ij (1[j=k] - P_ik)          d/dS_ik lse_i = P_ik
 *
 *         for: the numerator exp(S_ij - m_i) reacts to its own score only, the sum l_i to all.
 *         (m_i is no variable here: neither depends on it.)  With them
 *
 *             dS_ik = sum_j dP_ij P_ij (1[j=k] - P_ik)  +  dlse_i P_ik
 *                   = P_ik dP_ik - P_ik sum_j P_ij dP_ij  +  P_ik dlse_i
 *                   = P_ik (dP_ik - delta_i)               delta_i = sum_j P_ij dP_ij - dlse_i
 *
 *         So the Jacobian, N x N for every row, is never formed: one number per row stands for it.
 *         And that number needs no pass over the row either:
 *
 *             sum_j P_ij dP_ij = sum_j P_ij z_ij (dO_i . V_j + dW_ij)  +  sum_j P_ij dY_ij
 *                     = dO_i . (sum_j A_ij V_j)  +  sum_j A_ij dW_ij  +  sum_j P_ij dY_ij
 *                     = dO_i . O_i               +  sum_j A_ij dW_ij  +  sum_j P_ij dY_ij
 *
 *         The score of a sink reacts like any other.  Its weight p_i = exp(s_h - lse_i) multiplies
 *         nothing, so that its dP is 0, and over all rows of the head
 *
 *             ds_h = -sum_i p_i delta_i
 *
 *         With dropout too: z turned P into the A that made O, and is in O already.  (dO.O as in
 *         Dao, Fu, Ermon, Rudra, Re, "FlashAttention", 2022, appendix B.2.)
 *
 *     5   A masked P_ij is the constant 0, so dS_ij = 0: not computed, left out.
 *
 *     4   dU_ij = dS_ij, and dbias_ij = dS_ij, summed over every axis along which bias was repeated
 *
 *     3   d/dX U = 1 - tanh^2(X/cap) = 1 - (U/cap)^2:
 *
 *             dX_ij = dU_ij (1 - (U_ij/cap)^2)             (dX = dU without)
 *
 *     2   dR_ij = c s dX_ij
 *         ds    = sum_ij dX_ij c R_ij      over all batches, and over all heads if s is one number.
 *                 (It is sum_i Q_i . dQ_i / s, too, but that is 0/0 where s = 0.)
 *
 *     1   dQ_i = sum_j dR_ij K_j
 *         dK_j = sum_i dR_ij Q_i
 *
 *         Where several query heads read one key/value head, their dK and dV add up.
 *
 * SAVED: m_i and 1/l_i of each row, and a place for delta, for backward.  P is not
 * kept but made again, as exp(S - m) / l: T N numbers less, for one more product.  Not their
 * logarithm m + log l, though it is one number: where scores are large, S - (m + log l) rounds away
 * the log.
 *
 * ROWS WITH NOTHING KEPT have no distribution: O_i = 0, and no gradient comes from them.  They are
 * known by their count, not by m_i = -inf, so that kept scores of -inf give the NaN they deserve.
 * Saved: m = -inf or s_h, 1/l = 0.  A sink takes all of such a row, p_i = 1 and delta_i = -dlse_i.
 *
 * NaN.  A number is multiplied only for a kept cell, so a NaN goes where the equations above carry
 * it over kept cells and nowhere else.  A dropped cell is kept: there A is 0, and 0 times NaN is
 * NaN.
 *
 * THREE PATHS compute this.  The plain one, below, is these equations row by row.  fused.c does the
 * same on tiles; composed.c leaves it all to other ops.  Their agreement is tested. */
#include "ops/op.h"

#include "attention/operands.h"
#include "kernels/real.h"

/* Row i of head h in batch b.  It keeps the keys key[0] .. key[n-1]; entry k of S, slope, P and z
 * is of key[k]: what is masked does not even have a place here. */
typedef struct {
    int b, h, i;
    int n, *key;
    REAL *S, *slope, *P, *z; /* slope = d/dX U */
    REAL m, one_over_l;
    sdpa_operands call;
} plain_row;

/* Row i of a tensor like Q or O, row j of one like K or V, cell (i,j) of one like bias, row i of
 * [T,N] */
static REAL *plain_q(const plain_row *r, REAL *Q)
{
    return Q + at_sdpa_row(r->call.p->q, r->b, r->h, r->i);
}
static REAL *plain_o(const plain_row *r, REAL *O)
{
    return O + at_sdpa_row(r->call.p->o, r->b, r->h, r->i);
}
static REAL *plain_k(const plain_row *r, REAL *K, int j)
{
    return K + at_sdpa_row(r->call.p->k, r->b, r->h / r->call.p->group, j);
}
static REAL *plain_v(const plain_row *r, REAL *V, int j)
{
    return V + at_sdpa_row(r->call.p->v, r->b, r->h / r->call.p->group, j);
}
static REAL *plain_bias(const plain_row *r, REAL *bias, int j)
{
    return bias + at_sdpa_cell(r->call.p->bias, r->b, r->h, r->i, j);
}
static REAL *plain_cells(const plain_row *r, REAL *cells)
{
    return cells + at_sdpa_cell_number(r->call.p, r->b, r->h, r->i);
}

/* 1, 2: X_ij = c s Q_i.K_j */
static REAL plain_scaled(const plain_row *r, int j)
{
    const REAL *Q = plain_q(r, r->call.Q), *K = plain_k(r, r->call.K, j);
    return sdpa_factor(&r->call, r->h) * row_dot(r->call.p->D, Q, K);
}

/* 3, 4: S_ij = cap tanh(X_ij/cap) + bias_ij */
static void plain_scores(plain_row *r)
{
    const REAL cap = (REAL)r->call.p->cap;
    for (int k = 0; k < r->n; k++) {
        REAL U = plain_scaled(r, r->key[k]);
        if (r->call.p->cap > 0) {
            REAL y = tanh(OVER(U, cap));
            U = cap * y;
            r->slope[k] = mul_add(-y, y, (REAL)1);
        }
        r->S[k] = r->call.bias ? U + *plain_bias(r, r->call.bias, r->key[k]) : U;
    }
}

/* 5: which keys does the row keep? */
static void plain_keys(plain_row *r)
{
    at_sdpa_range range = at_sdpa_range_of(r->call.p, r->call.key_len, r->b, r->i);
    const int32_t *ids = r->call.segments, *key_ids = r->call.key_segments;
    if (ids) ids += (ptrdiff_t)r->b * r->call.p->T, key_ids += (ptrdiff_t)r->b * r->call.p->N;
    r->n = 0;
    for (int j = range.lo; j < range.hi; j++) {
        if (r->call.keep && !r->call.keep[at_sdpa_cell(r->call.p->keep, r->b, r->h, r->i, j)])
            continue;
        if (r->call.bias && VALUE(*plain_bias(r, r->call.bias, j)) == MINUS_INFINITY) continue;
        if (!at_sdpa_together(ids, key_ids, r->i, j)) continue;
        r->key[r->n++] = j;
    }
}

/* 7: z_ij, the same whenever it is asked for */
static void plain_dropout(plain_row *r)
{
    uint64_t row = (uint64_t)at_sdpa_cell_number(r->call.p, r->b, r->h, r->i);
    for (int k = 0; k < r->n; k++)
        r->z[k] = (REAL)at_sdpa_drop_factor(r->call.p, row + (uint64_t)r->key[k]);
}

/* 8: O_i = sum_j A_ij V_j */
static void plain_values(const plain_row *r, const REAL *A)
{
    REAL *O = plain_o(r, r->call.O);
    memset(O, 0, (size_t)r->call.p->Dv * sizeof *O);
    for (int k = 0; k < r->n; k++) {
        const REAL *V = plain_v(r, r->call.V, r->key[k]);
        row_axpy(r->call.p->Dv, A[k], V, O);
    }
}

/* cells_ij = values[k] for key[k], and 0 where nothing is kept */
static void plain_spread(const plain_row *r, const REAL *values, REAL *cells)
{
    if (!cells) return;
    REAL *to = plain_cells(r, cells);
    memset(to, 0, (size_t)r->call.p->N * sizeof *to);
    for (int k = 0; k < r->n; k++) to[r->key[k]] = values[k];
}

static void plain_row_forward(plain_row *r, REAL *saved)
{
    plain_keys(r);
    plain_scores(r);
    const REAL sink = sdpa_sink(&r->call, r->h);
    r->m = row_max(r->n, r->S);
    if (!(VALUE(sink) <= VALUE(r->m))) r->m = sink; /* a NaN, too */
    REAL l = row_exp_sum(r->n, r->S, r->m, r->P);
    if (VALUE(sink) != MINUS_INFINITY) l += exp(sink - r->m);
    r->one_over_l = r->n ? OVER((REAL)1, l) : 0;
    for (int k = 0; k < r->n; k++) r->P[k] *= r->one_over_l;
    plain_spread(r, r->P, r->call.probs);

    plain_dropout(r);
    REAL *A = r->P;
    for (int k = 0; k < r->n; k++) A[k] *= r->z[k];
    plain_spread(r, A, r->call.weights);
    plain_values(r, A);

    if (r->call.lse)
        r->call.lse[at_sdpa_row_number(r->call.p, r->b, r->h, r->i)] = r->n ? r->m + log(l) : sink;
    for (int j = 0; r->call.raw && j < r->call.p->N; j++)
        plain_cells(r, r->call.raw)[j] = plain_scaled(r, j);
    saved[0] = r->m;
    saved[1] = r->one_over_l;
}

/* 8 to 6 upwards: delta_i = dO_i.O_i + sum_j A_ij dW_ij + sum_j P_ij dY_ij - dlse_i */
static REAL plain_delta(const plain_row *r)
{
    const REAL *O = plain_o(r, r->call.O);
    REAL delta = r->call.dO && r->n ? row_dot(r->call.p->Dv, plain_o(r, r->call.dO), O) : 0;
    for (int k = 0; r->call.dW && k < r->n; k++)
        delta = mul_add(r->P[k] * r->z[k], plain_cells(r, r->call.dW)[r->key[k]], delta);
    for (int k = 0; r->call.dY && k < r->n; k++)
        delta = mul_add(r->P[k], plain_cells(r, r->call.dY)[r->key[k]], delta);
    if (r->call.dlse) delta -= r->call.dlse[at_sdpa_row_number(r->call.p, r->b, r->h, r->i)];
    return delta;
}

/* 8 upwards, cell (i,j): dV_j += A_ij dO_i; returns dA_ij = dO_i.V_j + dW_ij */
static REAL plain_values_backward(const plain_row *r, int j, REAL A)
{
    REAL dA = r->call.dW ? plain_cells(r, r->call.dW)[j] : 0;
    if (!r->call.dO) return dA;
    const REAL *dO = plain_o(r, r->call.dO);
    if (r->call.dV) row_axpy(r->call.p->Dv, A, dO, plain_v(r, r->call.dV, j));
    return dA + row_dot(r->call.p->Dv, dO, plain_v(r, r->call.V, j));
}

/* 2 and 1 upwards, cell (i,j): dQ_i += dR_ij K_j, dK_j += dR_ij Q_i, dR_ij = c s dX_ij; and ds, of
 * this row */
static void plain_scores_backward(const plain_row *r, int j, REAL dX)
{
    const int D = r->call.p->D;
    const REAL *Q = plain_q(r, r->call.Q), *K = plain_k(r, r->call.K, j);
    const REAL c = sdpa_factor(&r->call, r->h);
    if (r->call.dQ) row_axpy(D, c * dX, K, plain_q(r, r->call.dQ));
    if (r->call.dK) row_axpy(D, c * dX, Q, plain_k(r, r->call.dK, j));
    if (r->call.ds)
        r->call.ds[at_sdpa_row_number(r->call.p, r->b, r->h, r->i)] +=
            dX * ((REAL)r->call.p->c * row_dot(D, Q, K));
}

static void plain_row_again(plain_row *r, const REAL *saved)
{
    r->m = saved[0];
    r->one_over_l = saved[1];
    plain_keys(r);
    plain_scores(r);
    plain_dropout(r);
    row_exp_sum(r->n, r->S, r->m, r->P);
    for (int k = 0; k < r->n; k++) r->P[k] *= r->one_over_l;
}

static void plain_row_backward(plain_row *r, REAL *saved)
{
    plain_row_again(r, saved);
    const REAL delta = saved[2] = plain_delta(r);
    for (int k = 0; k < r->n; k++) {
        int j = r->key[k];
        REAL A = r->P[k] * r->z[k];
        REAL dA = plain_values_backward(r, j, A);
        REAL dP = r->z[k] * dA;
        if (r->call.dY) dP += plain_cells(r, r->call.dY)[j];
        REAL dS = r->P[k] * (dP - delta);
        if (r->call.dbias) *plain_bias(r, r->call.dbias, j) += dS;
        REAL dX = r->call.p->cap > 0 ? dS * r->slope[k] : dS;
        plain_scores_backward(r, j, dX);
    }
}

/* The tensors of the node, and workspace for one row at a time. */
static plain_row plain_rows_of(at_node *n)
{
    const sdpa_operands call = sdpa_operands_of(n);
    REAL *space = at_scratch(n, 0);
    const ptrdiff_t N = call.p->N;
    if (!space) return (plain_row){.call = call}; /* there is no row */
    return (plain_row){.key = at_sdpa_after(space, 4 * (size_t)N * sizeof(REAL)),
                       .S = space,
                       .slope = space + N,
                       .P = space + 2 * N,
                       .z = space + 3 * N,
                       .call = call};
}

/* Does one thing to every row.  noinline: so the code of a row stays by itself, and its products
 * and sums are rounded in one way. */
__attribute__((noinline)) static void plain_each(plain_row *r,
                                                 void (*row)(plain_row *r, REAL *saved))
{
    REAL *saved = r->call.saved;
    for (r->b = 0; r->b < r->call.p->B; r->b++)
        for (r->h = 0; r->h < r->call.p->H; r->h++)
            for (r->i = 0; r->i < r->call.p->T; r->i++, saved += AT_SDPA_SAVED) row(r, saved);
}

void AT_REAL(sdpa_plain_forward)(at_node *n)
{
    plain_row r = plain_rows_of(n);
    plain_each(&r, plain_row_forward);
}

void AT_REAL(sdpa_plain_backward)(at_node *n)
{
    plain_row r = plain_rows_of(n);
    sdpa_operands_back(n, &r.call);
    plain_each(&r, plain_row_backward);
}
