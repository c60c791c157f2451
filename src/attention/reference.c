/* reference.c -- scaled dot-product attention: the derivation, and the plain path, which is the derivation row by
 * row.
 *
 * One head (problem.h says where its rows lie):
 *
 *     Q [T,D]   K [S,D]   V [S,Dv]   O [T,Dv]      x, s, P, z, A, bias [T,S]      m, l, delta [T]
 *
 * FORWARD, for row i, over the keys j that it keeps
 *
 *     1 scores    x_ij = Q_i . K_j
 *     2 scale     x_ij <- c x_ij
 *     3 softcap   u_ij = cap tanh(x_ij / cap)              (u = x without)
 *     4 bias      s_ij = u_ij + bias_ij
 *     5 mask      what is not kept is left out of all that follows: it is not read
 *     6 softmax   m_i = max_j s_ij,   l_i = sum_j exp(s_ij - m_i),   P_ij = exp(s_ij - m_i) / l_i
 *     7 dropout   A_ij = P_ij z_ij                         z_ij is 0 or 1/(1-p)
 *     8 values    O_i = sum_j A_ij V_j
 *
 * Subtracting m_i changes nothing (it cancels) but keeps exp() from overflowing.
 *
 * BACKWARD, the same steps upwards.  dO is the cotangent of O; dW that of the output `weights`, which
 * is A itself (0 if nothing was computed from it).
 *
 *     8   O_i is linear in both its factors, and A is read by dW too:
 *
 *             dV_j  = sum_i A_ij dO_i
 *             dA_ij = dO_i . V_j + dW_ij
 *
 *     7   z is a constant:
 *
 *             dP_ij = z_ij dA_ij
 *
 *     6   Row i of P depends on row i of s alone.  The Jacobian of the softmax is
 *
 *             dP_ij/ds_ik = P_ij (1[j=k] - P_ik)
 *
 *         for: the numerator exp(s_ij - m_i) reacts to its own score only, the sum l_i to every one.
 *         (m_i is no variable here: P does not depend on it.)  With it
 *
 *             dS_ik = sum_j dP_ij P_ij (1[j=k] - P_ik)
 *                   = P_ik dP_ik - P_ik sum_j P_ij dP_ij
 *                   = P_ik (dP_ik - delta_i)               delta_i = sum_j P_ij dP_ij
 *
 *         So the Jacobian, S x S for every row, is never formed: one number per row stands for it.
 *         And that number needs no pass over the row either:
 *
 *             delta_i = sum_j P_ij z_ij (dO_i . V_j + dW_ij)
 *                     = dO_i . (sum_j A_ij V_j)  +  sum_j A_ij dW_ij
 *                     = dO_i . O_i               +  sum_j A_ij dW_ij
 *
 *         With dropout too: z turned P into the A that made O, and is in O already.  (dO.O as Dao, Fu,
 *         Ermon, Rudra, Re, "FlashAttention", 2022, appendix B.2.)
 *
 *     5   A masked P_ij is the constant 0, so dS_ij = 0: not computed, left out.
 *
 *     4   dbias_ij = dS_ij, summed over every axis along which bias was repeated
 *
 *     3   du/dx = 1 - tanh^2(x/cap) = 1 - (u/cap)^2:
 *
 *             dx_ij = dS_ij (1 - (u_ij/cap)^2)             (dx = dS without)
 *
 *     1,2     dQ_i = c sum_j dx_ij K_j
 *             dK_j = c sum_i dx_ij Q_i
 *
 *         Where several query heads read one key/value head, their dK and dV add up.
 *
 * SAVED: m_i and 1/l_i, two numbers per row.  P is not kept but made again, as exp(s - m) / l: T S
 * numbers less, for one more product.  Not their logarithm m + log l, though it is one number: where
 * scores are large, s - (m + log l) rounds away the log.
 *
 * ROWS WITH NOTHING KEPT have no distribution: O_i = 0, and no gradient comes from them.  They are known
 * by their count, not by m_i = -inf, so that kept scores of -inf give the NaN they deserve.  Saved:
 * m = -inf, 1/l = 0.
 *
 * NaN.  A number is multiplied only for a kept cell, so a NaN goes where the equations above carry it
 * over kept cells and nowhere else.  A dropped cell is kept: there A is 0, and 0 times NaN is NaN.
 *
 * THREE PATHS compute this.  The plain one, below, is these equations row by row.  fused.c does the
 * same on tiles; composed.c leaves it all to other ops.  Their agreement is tested. */
#include "ops/op.h"

#include "attention/operands.h"
#include "kernels/real.h"

AT_KERNEL(sdpa_plain_forward);
AT_KERNEL(sdpa_plain_backward);

/* Row i of head h in batch b.  It keeps the keys key[0] .. key[n-1]; entry k of s, slope, P and z is of
 * key[k]: what is masked does not even have a place here. */
typedef struct {
    const at_sdpa_plan *p;
    int b, h, i;
    int n, *key;
    REAL *s, *slope, *P, *z; /* slope = du/dx */
    REAL m, one_over_l;
    sdpa_operands x;
} plain_row;

/* Row i of a tensor like Q or O, row j of one like K or V, cell (i,j) of one like bias, row i of [T,S] */
static REAL *plain_q(const plain_row *r, REAL *Q)
{
    return Q + at_sdpa_row(r->p->q, r->b, r->h, r->i);
}
static REAL *plain_o(const plain_row *r, REAL *O)
{
    return O + at_sdpa_row(r->p->o, r->b, r->h, r->i);
}
static REAL *plain_k(const plain_row *r, REAL *K, int j)
{
    return K + at_sdpa_row(r->p->k, r->b, r->h / r->p->group, j);
}
static REAL *plain_v(const plain_row *r, REAL *V, int j)
{
    return V + at_sdpa_row(r->p->v, r->b, r->h / r->p->group, j);
}
static REAL *plain_bias(const plain_row *r, REAL *bias, int j)
{
    return bias + at_sdpa_cell(r->p->bias, r->b, r->h, r->i, j);
}
static REAL *plain_cells(const plain_row *r, REAL *cells)
{
    return cells + at_sdpa_cell_number(r->p, r->b, r->h, r->i);
}

/* 1, 2: x_ij = c Q_i.K_j */
static REAL plain_x(const plain_row *r, int j)
{
    const REAL *Q = plain_q(r, r->x.Q), *K = plain_k(r, r->x.K, j);
    return (REAL)r->p->c * row_dot(r->p->D, Q, K);
}

/* 3, 4: s_ij = cap tanh(x_ij/cap) + bias_ij */
static void plain_scores(plain_row *r)
{
    const REAL cap = (REAL)r->p->cap;
    for (int k = 0; k < r->n; k++) {
        REAL u = plain_x(r, r->key[k]);
        if (r->p->cap > 0) {
            REAL y = tanh(u / cap);
            u = cap * y;
            r->slope[k] = 1 - y * y;
        }
        r->s[k] = r->x.bias ? u + *plain_bias(r, r->x.bias, r->key[k]) : u;
    }
}

/* 5: which keys does the row keep? */
static void plain_keys(plain_row *r)
{
    at_sdpa_range range = at_sdpa_range_of(r->p, r->x.key_len, r->b, r->i);
    r->n = 0;
    for (int j = range.lo; j < range.hi; j++) {
        if (r->x.keep && !r->x.keep[at_sdpa_cell(r->p->keep, r->b, r->h, r->i, j)]) continue;
        if (r->x.bias && VALUE(*plain_bias(r, r->x.bias, j)) == MINUS_INFINITY) continue;
        r->key[r->n++] = j;
    }
}

/* 7: z_ij, the same whenever it is asked for */
static void plain_dropout(plain_row *r)
{
    uint64_t row = (uint64_t)at_sdpa_cell_number(r->p, r->b, r->h, r->i);
    for (int k = 0; k < r->n; k++)
        r->z[k] = (REAL)at_sdpa_drop_factor(r->p, row + (uint64_t)r->key[k]);
}

/* 8: O_i = sum_j A_ij V_j */
static void plain_values(const plain_row *r, const REAL *A)
{
    REAL *O = plain_o(r, r->x.O);
    memset(O, 0, (size_t)r->p->Dv * sizeof *O);
    for (int k = 0; k < r->n; k++) {
        const REAL *V = plain_v(r, r->x.V, r->key[k]);
        row_axpy(r->p->Dv, A[k], V, O);
    }
}

/* cells_ij = values[k] for key[k], and 0 where nothing is kept */
static void plain_spread(const plain_row *r, const REAL *values, REAL *cells)
{
    if (!cells) return;
    REAL *to = plain_cells(r, cells);
    memset(to, 0, (size_t)r->p->S * sizeof *to);
    for (int k = 0; k < r->n; k++) to[r->key[k]] = values[k];
}

static void plain_row_forward(plain_row *r, REAL *saved)
{
    plain_keys(r);
    plain_scores(r);
    r->m = row_max(r->n, r->s);
    REAL l = row_exp_sum(r->n, r->s, r->m, r->P);
    r->one_over_l = r->n ? 1 / l : 0;
    for (int k = 0; k < r->n; k++) r->P[k] *= r->one_over_l;
    plain_spread(r, r->P, r->x.probs);

    plain_dropout(r);
    REAL *A = r->P;
    for (int k = 0; k < r->n; k++) A[k] *= r->z[k];
    plain_spread(r, A, r->x.weights);
    plain_values(r, A);

    if (r->x.lse)
        r->x.lse[at_sdpa_row_number(r->p, r->b, r->h, r->i)] =
            r->n ? r->m + log(l) : -(REAL)INFINITY;
    for (int j = 0; r->x.raw && j < r->p->S; j++) plain_cells(r, r->x.raw)[j] = plain_x(r, j);
    saved[0] = r->m;
    saved[1] = r->one_over_l;
}

/* 8 to 6 upwards: delta_i = dO_i.O_i + sum_j A_ij dW_ij */
static REAL plain_delta(const plain_row *r)
{
    const REAL *O = plain_o(r, r->x.O);
    REAL delta = r->x.dO ? row_dot(r->p->Dv, plain_o(r, r->x.dO), O) : 0;
    for (int k = 0; r->x.dW && k < r->n; k++)
        delta += r->P[k] * r->z[k] * plain_cells(r, r->x.dW)[r->key[k]];
    return delta;
}

/* 8 upwards, cell (i,j): dV_j += A_ij dO_i; returns dA_ij = dO_i.V_j + dW_ij */
static REAL plain_values_backward(const plain_row *r, int j, REAL A)
{
    REAL dA = r->x.dW ? plain_cells(r, r->x.dW)[j] : 0;
    if (!r->x.dO) return dA;
    const REAL *dO = plain_o(r, r->x.dO);
    if (r->x.dV) row_axpy(r->p->Dv, A, dO, plain_v(r, r->x.dV, j));
    return dA + row_dot(r->p->Dv, dO, plain_v(r, r->x.V, j));
}

/* 2 and 1 upwards, cell (i,j): dQ_i += c dx_ij K_j, dK_j += c dx_ij Q_i */
static void plain_scores_backward(const plain_row *r, int j, REAL dx)
{
    const int D = r->p->D;
    const REAL *Q = plain_q(r, r->x.Q), *K = plain_k(r, r->x.K, j), c = (REAL)r->p->c;
    if (r->x.dQ) row_axpy(D, c * dx, K, plain_q(r, r->x.dQ));
    if (r->x.dK) row_axpy(D, c * dx, Q, plain_k(r, r->x.dK, j));
}

/* Cell (i,j): what identities.c wants to know of it. */
static void plain_check(const plain_row *r, int j, REAL A, REAL dS, REAL dx)
{
    if (!r->x.checks) return;
    REAL *const *length = (REAL *const *)r->x.checks->length;
    ptrdiff_t row = at_sdpa_row_number(r->p, r->b, r->h, r->i);
    ptrdiff_t key = at_sdpa_key_number(r->p, r->b, r->h, j);
    at_sdpa_sums *sums = r->x.checks->rows + row;
    double dO_V = (double)length[AT_SDPA_DO][row] * (double)length[AT_SDPA_V][key];
    double Q_K = (double)length[AT_SDPA_Q][row] * (double)length[AT_SDPA_K][key];
    double dW = r->x.dW ? fabs((double)plain_cells(r, r->x.dW)[j]) : 0;

    sums->dS += (double)dS;
    sums->S_terms += 2 * ((double)A + r->x.checks->tiny) * (dO_V + dW);
    sums->V_terms += ((double)A + r->x.checks->tiny) * dO_V;
    sums->Q_terms += fabs(r->p->c * (double)dx) * Q_K;
}

static void plain_row_backward(plain_row *r, REAL *saved)
{
    r->m = saved[0];
    r->one_over_l = saved[1];
    plain_keys(r);
    plain_scores(r);
    plain_dropout(r);
    row_exp_sum(r->n, r->s, r->m, r->P);
    for (int k = 0; k < r->n; k++) r->P[k] *= r->one_over_l;

    REAL delta = plain_delta(r);
    for (int k = 0; k < r->n; k++) {
        int j = r->key[k];
        REAL A = r->P[k] * r->z[k];
        REAL dA = plain_values_backward(r, j, A);
        REAL dP = r->z[k] * dA;
        REAL dS = r->P[k] * (dP - delta);
        if (r->x.dbias) *plain_bias(r, r->x.dbias, j) += dS;
        REAL dx = r->p->cap > 0 ? dS * r->slope[k] : dS;
        plain_scores_backward(r, j, dx);
        plain_check(r, j, A, dS, dx);
    }
}

/* The tensors of the node, and workspace for one row at a time. */
static plain_row plain_rows_of(at_node *n)
{
    const at_sdpa_plan *p = n->args;
    REAL *space = at_scratch(n, 0);
    const ptrdiff_t S = p->S;
    return (plain_row){.p = p,
                       .x = sdpa_operands_of(n),
                       .s = space,
                       .slope = space + S,
                       .P = space + 2 * S,
                       .z = space + 3 * S,
                       .key = at_sdpa_after(space, 4 * (size_t)S * sizeof(REAL))};
}

/* Does one thing to every row. */
static void plain_each(plain_row *r, void (*row)(plain_row *r, REAL *saved))
{
    REAL *saved = r->x.saved;
    for (r->b = 0; r->b < r->p->B; r->b++)
        for (r->h = 0; r->h < r->p->H; r->h++)
            for (r->i = 0; r->i < r->p->T; r->i++, saved += AT_SDPA_SAVED) row(r, saved);
}

void AT_REAL(sdpa_plain_forward)(at_node *n)
{
    plain_row r = plain_rows_of(n);
    plain_each(&r, plain_row_forward);
}

void AT_REAL(sdpa_plain_backward)(at_node *n)
{
    plain_row r = plain_rows_of(n);
    sdpa_operands_back(n, &r.x);
    plain_each(&r, plain_row_backward);
    AT_REAL(sdpa_checks_end)(n);
}

#ifdef AT_ONCE

/* makes_infinity: the log-sum-exp of a row with nothing kept is -inf, and rightly so */
const at_op at_sdpa_plain_op = {"sdpa", AT_KERNELS(sdpa_plain_forward),
                                AT_KERNELS(sdpa_plain_backward), .makes_infinity = true};

#endif
