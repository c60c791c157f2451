/* trace_identities.c -- what must be equal in every right backward of an attention; see trace.h.
 *
 * They need no second forward, so they cost less than numerical values; but a wrong backward can
 * satisfy some of them.  Where they come from:
 *
 *     a row of S moved by one number     P stays as it is, and so does the loss:  sum_j dS_ij = 0
 *     the softmax, by its Jacobian       dS_i = J dP_i  with  J_jk = P_ij (1[j=k] - P_ik)
 *     the output, which holds delta      sum_j P_ij dP_ij = dO_i . O_i
 *     Q and K in one product, R = Q K^T  sum Q dQ = sum dR R = sum K dK
 *     the loss is linear in V            sum V dV = loss
 *     V moved by one number u_d          row i of O moves by sum_j A_ij times that:
 *                                        sum_j dV_jd = sum_i (sum_j A_ij) dO_id
 *     K moved by one vector              a row of X moves by one number; so without a softcap
 *                                        sum_j dK_j = 0
 *     the bias moved by one number       as S:  sum dbias = 0
 *
 * Each side is a sum; `terms` is the sum of its absolute terms, which says how far it is rounded. */
#include "trace.h"

#include <math.h>

typedef struct {
    double left, right, terms;
} sides;

static double at_cell(const steps *a, steps_name what, int i, int j)
{
    return *steps_cell(a, what, 0, i, j);
}

/* sum over all elements of x y */
static double inner_product(const steps *a, steps_name x, steps_name y)
{
    double sum = 0;
    for (ptrdiff_t e = 0; e < steps_size(a, x); e++) sum += a->at[x][e] * a->at[y][e];
    return sum;
}

static sides row_of_dS(const trace *t, int i)
{
    sides s = {0, 0, 0};
    for (int j = 0; j < t->a->p.N; j++) {
        s.left += at_cell(t->a, STEPS_DS, i, j);
        s.terms += at_cell(t->terms, STEPS_DS, i, j);
    }
    return s;
}

static sides jacobian_times_dP(const trace *t, int j)
{
    return (sides){at_cell(t->a, STEPS_DS, t->i, j), t->product[j],
                   at_cell(t->terms, STEPS_DS, t->i, j)};
}

static sides delta_from_output(const trace *t, int i)
{
    sides s = {at_cell(t->a, STEPS_DELTA, i, 0), 0, at_cell(t->terms, STEPS_DELTA, i, 0)};
    for (int d = 0; d < t->a->p.Dv; d++)
        s.right += at_cell(t->a, STEPS_DO, i, d) * at_cell(t->a, STEPS_O, i, d);
    return s;
}

static sides queries_and_keys(const trace *t, int none)
{
    (void)none;
    return (sides){inner_product(t->a, STEPS_Q, STEPS_DQ), inner_product(t->a, STEPS_K, STEPS_DK),
                   inner_product(t->terms, STEPS_Q, STEPS_DQ)};
}

static sides values_and_loss(const trace *t, int none)
{
    (void)none;
    return (sides){inner_product(t->a, STEPS_V, STEPS_DV), steps_loss(t->a),
                   inner_product(t->terms, STEPS_V, STEPS_DV)};
}

static sides column_of_dV(const trace *t, int d)
{
    sides s = {0, 0, 0};
    for (int j = 0; j < t->a->p.N; j++) {
        s.left += at_cell(t->a, STEPS_DV, j, d);
        s.terms += at_cell(t->terms, STEPS_DV, j, d);
        for (int i = 0; i < t->a->p.T; i++)
            s.right += at_cell(t->a, STEPS_A, i, j) * at_cell(t->a, STEPS_DO, i, d);
    }
    return s;
}

static sides column_of_dK(const trace *t, int d)
{
    sides s = {0, 0, 0};
    for (int j = 0; j < t->a->p.N; j++) {
        s.left += at_cell(t->a, STEPS_DK, j, d);
        s.terms += at_cell(t->terms, STEPS_DK, j, d);
    }
    return s;
}

static sides all_of_dbias(const trace *t, int none)
{
    (void)none;
    sides s = {0, 0, 0};
    for (ptrdiff_t e = 0; e < steps_size(t->a, STEPS_DBIAS); e++) {
        s.left += t->a->at[STEPS_DBIAS][e];
        s.terms += t->terms->at[STEPS_DBIAS][e];
    }
    return s;
}

/* Does each row of A sum to 1?  Not after a dropout, nor where a row attends to no key. */
static bool rows_sum_to_1(const trace *t)
{
    for (int i = 0; i < t->a->p.T; i++) {
        bool empty = true;
        for (int j = 0; j < t->a->p.N; j++) empty = empty && !steps_attends(t->a, 0, i, j);
        if (empty) return false;
    }
    return t->a->p.dropout == 0;
}

/* Each is one pair of sides, or one for each row, key or element: then the first is shown that are not
 * equal, or else the one of the cell that is worked out. */
static void add_identity(trace *t, trace_identity x, int count, sides (*of)(const trace *t, int k))
{
    int shown = x.letter == 'q' ? t->i : x.letter == 'k' ? t->j : 0;
    x.holds = true;
    for (int k = 0; k < count && x.holds; k++) {
        sides s = of(t, k);
        x.holds = fabs(s.left - s.right) <= trace_rounding(s.terms);
        if (!x.holds || k == shown) x.at = k, x.left = s.left, x.right = s.right;
    }
    t->count.differ += !x.holds;
    t->identity[t->identities++] = x;
}

void trace_identities(trace *t)
{
    const steps_problem *p = &t->a->p;
#define ADD(letter, count, of, name, formula)                                                      \
    add_identity(t, (trace_identity){name, formula, letter, 0, 0, 0, true}, count, of)
    ADD('q', p->T, row_of_dS, "rows of dS", "sum_j dS_ij = 0");
    ADD('k', p->N, jacobian_times_dP, "the Jacobian", "dS_i = J dP_i");
    ADD('q', p->T, delta_from_output, "delta", "delta_i = dO_i . O_i");
    ADD(' ', 1, queries_and_keys, "Q and K", "sum_id Q_id dQ_id = sum_jd K_jd dK_jd");
    ADD(' ', 1, values_and_loss, "V and the loss", "sum_jd V_jd dV_jd = loss");
    ADD('d', p->Dv, column_of_dV, "columns of dV",
        rows_sum_to_1(t) ? "sum_j dV_jd = sum_i dO_id" : "sum_j dV_jd = sum_i (sum_j A_ij) dO_id");
    if (p->softcap == 0) ADD('d', p->D, column_of_dK, "columns of dK", "sum_j dK_jd = 0");
    if (p->bias_N) ADD(' ', 1, all_of_dbias, "dbias", "sum dbias = 0");
#undef ADD
}
