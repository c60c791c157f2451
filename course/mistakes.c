/* mistakes.c -- the table of mistakes, and the backward with one of them in it; see mistakes.h.
 *
 * A mistake is one change, or two: in the step that computes `in`, every element of `of` becomes
 * rule(element).  If `of` is what the step reads, it is changed for that step alone; if it is `in`
 * itself, the result is changed, and the steps after it read that.
 *
 *     dV from P      in dV, of A:         A_ij is replaced by P_ij, then dV_j = sum_i A_ij dO_i
 *     no delta       in delta, of delta:  delta_i is replaced by 0
 *
 * Three kinds do not fit: another mask or another P in the whole backward, and heads that read other
 * keys.
 *
 * Every rule is a sum of products in which a difference is written steps_minus.  So the same table
 * computes the sums of absolute terms of a wrong answer: see steps_terms. */
#include "mistakes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One element of a->at[of], at (h,i,j) of [H,T,N], or of what shape it has. */
typedef struct {
    const steps *a;
    steps_name of;
    int h, i, j;
} element;

typedef double element_rule(element e);

typedef struct {
    steps_name in, of;
    element_rule *rule; /* NULL: no change */
} mistake_change;

static double value(element e, steps_name what)
{
    return *steps_cell(e.a, what, e.h, e.i, e.j);
}

static double unchanged(element e)
{
    return value(e, e.of);
}

static bool attended(element e)
{
    return steps_attends(e.a, e.h, e.i, e.j);
}

/* sum_k x_ik y_ik over the keys k that row i attends to */
static double row_sum(element e, steps_name x, steps_name y)
{
    double sum = 0;
    for (e.j = 0; e.j < e.a->p.N; e.j++)
        if (attended(e)) sum += value(e, x) * value(e, y);
    return sum;
}

/* dO_i . V_j */
static double dO_dot_V(element e)
{
    const double *dO = steps_cell(e.a, STEPS_DO, e.h, e.i, 0);
    const double *V = steps_cell(e.a, STEPS_V, e.a->reads[e.h], e.j, 0);
    double sum = 0;
    for (int d = 0; d < e.a->p.Dv; d++) sum += dO[d] * V[d];
    return sum;
}

/* ------------------------------------------------------------------ rules of several steps ----- */

static double rule_zero(element e)
{
    (void)e;
    return 0;
}

/* The memory of [T,N] read as if it were that of [N,T]. */
static double rule_transpose(element e)
{
    return *(steps_cell(e.a, e.of, e.h, 0, 0) + (ptrdiff_t)e.j * e.a->p.T + e.i);
}

static double rule_own_position(element e)
{
    return e.i == e.j ? unchanged(e) : 0;
}

/* '=' in place of '+=' in a loop leaves the last term of a sum: over the keys of a row ... */
static double rule_last_key(element e)
{
    element later = e;
    for (later.j++; later.j < e.a->p.N; later.j++)
        if (attended(later)) return 0;
    return unchanged(e);
}

/* ... over the rows of a head ... */
static double rule_last_row(element e)
{
    element later = e;
    for (later.i++; later.i < e.a->p.T; later.i++)
        if (attended(later)) return 0;
    return unchanged(e);
}

/* ... over the heads, ... */
static double rule_last_of_heads(element e)
{
    element later = e;
    for (later.h++; later.h < e.a->p.H; later.h++)
        if (attended(later)) return 0;
    return unchanged(e);
}

/* ... and over the rows of all heads that read one key. */
static double rule_last_query(element e)
{
    element later = e;
    for (later.h++; later.h < e.a->p.H; later.h++)
        for (later.i = 0; later.i < e.a->p.T; later.i++)
            if (e.a->reads[later.h] == e.a->reads[e.h] && attended(later)) return 0;
    return rule_last_row(e);
}

static double rule_first_head(element e)
{
    return e.h % (e.a->p.H / e.a->p.G) == 0 ? unchanged(e) : 0;
}

static double rule_last_head(element e)
{
    return (e.h + 1) % (e.a->p.H / e.a->p.G) == 0 ? unchanged(e) : 0;
}

/* ------------------------------------------------------------------ 8 values, 7 dropout -------- */

static double rule_P(element e)
{
    return value(e, STEPS_P);
}

static double rule_P_not_dropped(element e)
{
    return value(e, STEPS_Z) > 0 ? value(e, STEPS_P) : 0;
}

/* dA with the memory of dO [T,Dv] read as if it were that of [Dv,T] */
static double rule_dO_transposed(element e)
{
    if (!attended(e)) return 0;
    const double *dO = steps_cell(e.a, STEPS_DO, e.h, 0, 0);
    const double *V = steps_cell(e.a, STEPS_V, e.a->reads[e.h], e.j, 0);
    double sum = e.a->p.weights ? value(e, STEPS_DW) : 0;
    for (int d = 0; d < e.a->p.Dv; d++) sum += dO[(ptrdiff_t)d * e.a->p.T + e.i] * V[d];
    return sum;
}

static double rule_dA_of_inputs(element e)
{
    return dO_dot_V(e) + (e.a->p.weights ? value(e, STEPS_DW) : 0);
}

static double rule_dA_without_dW(element e)
{
    return attended(e) ? dO_dot_V(e) : 0;
}

static double rule_dA(element e)
{
    return value(e, STEPS_DA);
}

static double rule_dA_not_dropped(element e)
{
    return value(e, STEPS_Z) > 0 ? value(e, STEPS_DA) : 0;
}

static double rule_dA_twice_dropped(element e)
{
    return value(e, STEPS_Z) * value(e, STEPS_Z) * value(e, STEPS_DA);
}

/* dR of the right backward: dV is computed before it. */
static double rule_dR(element e)
{
    double delta = 0;
    element k = e;
    if (!attended(e)) return 0;
    for (k.j = 0; k.j < e.a->p.N; k.j++)
        if (attended(k)) delta += value(k, STEPS_P) * value(k, STEPS_Z) * rule_dA_of_inputs(k);
    const double dP = value(e, STEPS_Z) * rule_dA_of_inputs(e);
    const double dS = value(e, STEPS_P) * steps_minus(e.a, dP, delta);
    return e.a->c * dS * steps_slope(e.a, value(e, STEPS_U));
}

/* ------------------------------------------------------------------ 6 softmax ------------------ */

static double rule_sum_P(element e)
{
    double sum = 0;
    for (e.j = 0; e.j < e.a->p.N; e.j++)
        if (attended(e)) sum += value(e, STEPS_P);
    return sum;
}

static double rule_sum_dP(element e)
{
    double sum = 0;
    for (e.j = 0; e.j < e.a->p.N; e.j++)
        if (attended(e)) sum += value(e, STEPS_DP);
    return sum;
}

static double rule_mean_dP(element e)
{
    int keys = 0;
    for (e.j = 0; e.j < e.a->p.N; e.j++) keys += attended(e);
    return keys ? rule_sum_dP(e) / keys : 0;
}

static double rule_row_before(element e)
{
    e.i = (e.i + e.a->p.T - 1) % e.a->p.T;
    return value(e, STEPS_DELTA);
}

static double rule_row_after(element e)
{
    e.i = (e.i + 1) % e.a->p.T;
    return value(e, STEPS_DELTA);
}

static double rule_first_row(element e)
{
    e.i = 0;
    return value(e, STEPS_DELTA);
}

static double rule_delta_from_A(element e)
{
    return row_sum(e, STEPS_A, STEPS_DP);
}

static double rule_delta_from_dA(element e)
{
    return row_sum(e, STEPS_P, STEPS_DA);
}

static double rule_A_dot_dW(element e)
{
    return e.a->p.weights ? row_sum(e, STEPS_A, STEPS_DW) : 0;
}

static double rule_dO_dot_O(element e)
{
    const double *dO = steps_cell(e.a, STEPS_DO, e.h, e.i, 0);
    const double *O = steps_cell(e.a, STEPS_O, e.h, e.i, 0);
    double sum = 0;
    for (int d = 0; d < e.a->p.Dv; d++) sum += dO[d] * O[d];
    return sum;
}

/* No mistake: delta as FlashAttention computes it. */
static double rule_delta_from_output(element e)
{
    return rule_dO_dot_O(e) + rule_A_dot_dW(e);
}

static double rule_dO_dot_own_V(element e)
{
    e.j = e.i;
    return (e.i < e.a->p.N ? dO_dot_V(e) : rule_dO_dot_O(e)) + rule_A_dot_dW(e);
}

static double rule_sum_dO(element e)
{
    const double *dO = steps_cell(e.a, STEPS_DO, e.h, e.i, 0);
    double sum = 0;
    for (int d = 0; d < e.a->p.Dv; d++) sum += dO[d];
    return sum;
}

static double rule_diagonal(element e)
{
    double P = value(e, STEPS_P);
    return P * steps_minus(e.a, 1, P) * value(e, STEPS_DP);
}

static double rule_dS_without_P(element e)
{
    return steps_minus(e.a, value(e, STEPS_DP), value(e, STEPS_DELTA));
}

static double rule_sign(element e)
{
    return steps_minus(e.a, 0, value(e, STEPS_DS));
}

static double rule_delta_added(element e)
{
    return value(e, STEPS_P) * (value(e, STEPS_DP) + value(e, STEPS_DELTA));
}

static double rule_delta_so_far(element e)
{
    double delta = 0;
    for (element to = e; to.j >= 0; to.j--)
        if (attended(to)) delta += value(to, STEPS_P) * value(to, STEPS_DP);
    return value(e, STEPS_P) * steps_minus(e.a, value(e, STEPS_DP), delta);
}

static double rule_delta_of_column(element e)
{
    double delta = 0;
    element row = e;
    for (row.i = 0; row.i < e.a->p.T; row.i++)
        if (attended(row)) delta += value(row, STEPS_P) * value(row, STEPS_DP);
    return value(e, STEPS_P) * steps_minus(e.a, value(e, STEPS_DP), delta);
}

static double rule_dS_from_A(element e)
{
    return value(e, STEPS_A) * rule_dS_without_P(e);
}

static double rule_dS_dropped(element e)
{
    return value(e, STEPS_A) * steps_minus(e.a, value(e, STEPS_DA), value(e, STEPS_DELTA));
}

static double rule_not_where_dropped(element e)
{
    return value(e, STEPS_Z) > 0 ? unchanged(e) : 0;
}

static double rule_dropout_last(element e)
{
    return value(e, STEPS_A) * steps_minus(e.a, value(e, STEPS_DA), rule_delta_from_dA(e));
}

/* ------------------------------------------------------------------ 4 bias, 3 softcap, 2 scale -- */

/* The last term over every axis along which the bias is broadcast. */
static double rule_last_of_bias(element e)
{
    const steps_problem *p = &e.a->p;
    element x = e;
    for (x.h = p->bias_H > 1 ? e.h : 0; x.h < (p->bias_H > 1 ? e.h + 1 : p->H); x.h++)
        for (x.i = p->bias_T > 1 ? e.i : 0; x.i < (p->bias_T > 1 ? e.i + 1 : p->T); x.i++)
            for (x.j = p->bias_N > 1 ? e.j : 0; x.j < (p->bias_N > 1 ? e.j + 1 : p->N); x.j++) {
                bool later = x.h != e.h ? x.h > e.h : x.i != e.i ? x.i > e.i : x.j > e.j;
                if (later && attended(x)) return 0;
            }
    return unchanged(e);
}

static double rule_bias_of_heads(element e)
{
    return e.a->p.bias_H == 1 ? rule_last_of_heads(e) : unchanged(e);
}

static double rule_bias_of_rows(element e)
{
    return e.a->p.bias_T == 1 ? rule_last_row(e) : unchanged(e);
}

static double rule_bias_of_keys(element e)
{
    return e.a->p.bias_N == 1 ? rule_last_key(e) : unchanged(e);
}

static double rule_dS_scaled(element e)
{
    return e.a->c * value(e, STEPS_DS);
}

static double rule_dS_sloped(element e)
{
    return value(e, STEPS_DS) * steps_slope(e.a, value(e, STEPS_U));
}

static double rule_dU(element e)
{
    return value(e, STEPS_DU);
}

static double rule_slope_unsquared(element e)
{
    double cap = e.a->p.softcap, y = cap > 0 ? value(e, STEPS_U) / cap : 0;
    return value(e, STEPS_DU) * steps_minus(e.a, 1, y);
}

static double rule_slope_uncapped(element e)
{
    double U = e.a->p.softcap > 0 ? value(e, STEPS_U) : 0;
    return value(e, STEPS_DU) * steps_minus(e.a, 1, U * U);
}

static double rule_dX(element e)
{
    return value(e, STEPS_DX);
}

static double rule_scaled_twice(element e)
{
    return e.a->c * e.a->c * value(e, STEPS_DX);
}

static double rule_no_temperature(element e)
{
    double tau = e.a->p.temperature;
    return e.a->c * (tau > 0 ? tau : 1) * value(e, STEPS_DX);
}

/* dR = slope P (c dP - delta) */
static double rule_scale_on_dP(element e)
{
    const double slope = steps_slope(e.a, value(e, STEPS_U));
    return slope * value(e, STEPS_P) *
           steps_minus(e.a, e.a->c * value(e, STEPS_DP), value(e, STEPS_DELTA));
}

/* ------------------------------------------------------------------ 5 mask --------------------- */

/* The last key that row i keeps; -1: none */
static int last_key_kept(element e)
{
    int last = -1;
    for (e.j = 0; e.j < e.a->p.N; e.j++)
        if (value(e, STEPS_KEEP) != 0) last = e.j;
    return last;
}

/* keep of a row that keeps nothing stays as it is: it has no m and l to compute a P with. */
static double rule_keep_all(element e)
{
    return last_key_kept(e) >= 0;
}

static double rule_keep_one_fewer(element e)
{
    return e.j == last_key_kept(e) ? 0 : unchanged(e);
}

static double rule_keep_one_more(element e)
{
    int last = last_key_kept(e);
    return last >= 0 && e.j == last + 1 ? 1 : unchanged(e);
}

static double rule_keep_not_last_key(element e)
{
    return e.j == e.a->p.N - 1 ? 0 : unchanged(e);
}

static double rule_keep_not_last_row(element e)
{
    return e.i == e.a->p.T - 1 ? 0 : unchanged(e);
}

/* The largest P of the row in the forward */
static element largest_P(element e)
{
    element best = {e.a->terms_of ? e.a->terms_of : e.a, STEPS_P, e.h, e.i, 0}, x = best;
    for (x.j = 0; x.j < best.a->p.N; x.j++)
        if (unchanged(x) > unchanged(best)) best = x;
    return best;
}

/* P = exp(S - m) / l of a cell that the forward did not read: with the m and l that it had, which
 * are those of its largest P. */
static double P_by_forward(element e, element best)
{
    e.a = best.a;
    if (unchanged(best) <= 0) return 0; /* an empty row */
    double S = value(e, STEPS_U) + (e.a->p.bias_H > 0 ? value(e, STEPS_BIAS) : 0);
    return unchanged(best) * exp(S - value(best, STEPS_S));
}

static double rule_P_unmasked(element e)
{
    if (attended(e)) return unchanged(e);
    const double P = P_by_forward(e, largest_P(e));
    if (!e.a->terms_of || P == 0) return P;
    double most = 0;
    for (e.j = 0; e.j < e.a->p.N; e.j++) most = fmax(most, value(e, STEPS_S));
    return P * (1 + most / 2);
}

/* P = exp(S - m) / l, where l is summed over all keys, those that are masked as well */
static double rule_P_not_renormalised(element e)
{
    double sum = 0;
    const element best = largest_P(e);
    element k = best;
    for (k.j = 0; k.j < k.a->p.N; k.j++) sum += attended(k) ? unchanged(k) : P_by_forward(k, best);
    return sum > 0 ? unchanged(e) / sum : unchanged(e);
}

static double rule_zP(element e)
{
    return value(e, STEPS_Z) * value(e, STEPS_P);
}

/* ------------------------------------------------------------------ the table ------------------ */

static const struct {
    mistake_change change[2];
    element_rule *keep; /* not NULL: the mask of the whole backward */
    element_rule *P;    /* not NULL: its P */
} changes[MISTAKES] = {
    [MISTAKE_DV_FROM_P] = {.change = {{STEPS_DV, STEPS_A, rule_P}}},
    [MISTAKE_DV_UNSCALED] = {.change = {{STEPS_DV, STEPS_A, rule_P_not_dropped}}},
    [MISTAKE_DV_LAST] = {.change = {{STEPS_DV, STEPS_A, rule_last_query}}},
    [MISTAKE_DV_OWN] = {.change = {{STEPS_DV, STEPS_A, rule_own_position}}},
    [MISTAKE_DV_NOT_TRANSPOSED] = {.change = {{STEPS_DV, STEPS_A, rule_transpose}}},
    [MISTAKE_DV_FROM_DR] = {.change = {{STEPS_DV, STEPS_A, rule_dR}}},
    [MISTAKE_DO_TRANSPOSED] = {.change = {{STEPS_DA, STEPS_DA, rule_dO_transposed}}},
    [MISTAKE_DW_LEFT_OUT] = {.change = {{STEPS_DA, STEPS_DA, rule_dA_without_dW}}},
    [MISTAKE_GROUP_FIRST] = {.change = {{STEPS_DV, STEPS_A, rule_first_head},
                                        {STEPS_DK, STEPS_DR, rule_first_head}}},
    [MISTAKE_GROUP_LAST] = {.change = {{STEPS_DV, STEPS_A, rule_last_head},
                                       {STEPS_DK, STEPS_DR, rule_last_head}}},
    [MISTAKE_DROPOUT_FORGOTTEN] = {.change = {{STEPS_DP, STEPS_DP, rule_dA}}},
    [MISTAKE_DROPOUT_UNSCALED] = {.change = {{STEPS_DP, STEPS_DP, rule_dA_not_dropped}}},
    [MISTAKE_DROPOUT_TWICE] = {.change = {{STEPS_DP, STEPS_DP, rule_dA_twice_dropped}}},
    [MISTAKE_DROPOUT_LAST] = {.change = {{STEPS_DS, STEPS_DS, rule_dropout_last}}},
    [MISTAKE_NO_DELTA] = {.change = {{STEPS_DELTA, STEPS_DELTA, rule_zero}}},
    [MISTAKE_DELTA_OF_ONES] = {.change = {{STEPS_DELTA, STEPS_DELTA, rule_sum_P}}},
    [MISTAKE_DELTA_UNWEIGHTED] = {.change = {{STEPS_DELTA, STEPS_DELTA, rule_sum_dP}}},
    [MISTAKE_DELTA_MEAN] = {.change = {{STEPS_DELTA, STEPS_DELTA, rule_mean_dP}}},
    [MISTAKE_DELTA_ROW_BEFORE] = {.change = {{STEPS_DS, STEPS_DELTA, rule_row_before}}},
    [MISTAKE_DELTA_ROW_AFTER] = {.change = {{STEPS_DS, STEPS_DELTA, rule_row_after}}},
    [MISTAKE_DELTA_FIRST_ROW] = {.change = {{STEPS_DS, STEPS_DELTA, rule_first_row}}},
    [MISTAKE_DELTA_FROM_A] = {.change = {{STEPS_DELTA, STEPS_DELTA, rule_delta_from_A}}},
    [MISTAKE_DELTA_FROM_DA] = {.change = {{STEPS_DELTA, STEPS_DELTA, rule_delta_from_dA}}},
    [MISTAKE_DELTA_NO_DW] = {.change = {{STEPS_DELTA, STEPS_DELTA, rule_dO_dot_O}}},
    [MISTAKE_DELTA_NO_DO] = {.change = {{STEPS_DELTA, STEPS_DELTA, rule_A_dot_dW}}},
    [MISTAKE_DELTA_OWN_VALUE] = {.change = {{STEPS_DELTA, STEPS_DELTA, rule_dO_dot_own_V}}},
    [MISTAKE_DELTA_OF_DO] = {.change = {{STEPS_DELTA, STEPS_DELTA, rule_sum_dO}}},
    [MISTAKE_DELTA_NOT_COMPLETE] = {.change = {{STEPS_DS, STEPS_DS, rule_delta_so_far}}},
    [MISTAKE_DIAGONAL] = {.change = {{STEPS_DS, STEPS_DS, rule_diagonal}}},
    [MISTAKE_NO_P] = {.change = {{STEPS_DS, STEPS_DS, rule_dS_without_P}}},
    [MISTAKE_SIGN] = {.change = {{STEPS_DS, STEPS_DS, rule_sign}}},
    [MISTAKE_DELTA_ADDED] = {.change = {{STEPS_DS, STEPS_DS, rule_delta_added}}},
    [MISTAKE_DELTA_OF_COLUMN] = {.change = {{STEPS_DS, STEPS_DS, rule_delta_of_column}}},
    [MISTAKE_DS_FROM_A] = {.change = {{STEPS_DS, STEPS_DS, rule_dS_from_A}}},
    [MISTAKE_DS_DROPPED] = {.change = {{STEPS_DS, STEPS_DS, rule_dS_dropped}}},
    [MISTAKE_DROPPED_IS_MASKED] = {.change = {{STEPS_DS, STEPS_DS, rule_not_where_dropped}}},
    [MISTAKE_P_TRANSPOSED] = {.change = {{STEPS_DV, STEPS_A, rule_transpose},
                                         {STEPS_DS, STEPS_P, rule_transpose}}},
    [MISTAKE_MASK_FORGOTTEN] = {.keep = rule_keep_all},
    [MISTAKE_KEY_FEWER] = {.keep = rule_keep_one_fewer},
    [MISTAKE_KEY_MORE] = {.keep = rule_keep_one_more},
    [MISTAKE_LAST_KEY] = {.keep = rule_keep_not_last_key},
    [MISTAKE_LAST_ROW] = {.keep = rule_keep_not_last_row},
    [MISTAKE_NOT_RENORMALISED] = {.P = rule_P_not_renormalised},
    [MISTAKE_BIAS_HEADS] = {.change = {{STEPS_DBIAS, STEPS_DS, rule_bias_of_heads}}},
    [MISTAKE_BIAS_ROWS] = {.change = {{STEPS_DBIAS, STEPS_DS, rule_bias_of_rows}}},
    [MISTAKE_BIAS_KEYS] = {.change = {{STEPS_DBIAS, STEPS_DS, rule_bias_of_keys}}},
    [MISTAKE_BIAS_LAST] = {.change = {{STEPS_DBIAS, STEPS_DS, rule_last_of_bias}}},
    [MISTAKE_BIAS_SCALED] = {.change = {{STEPS_DBIAS, STEPS_DS, rule_dS_scaled}}},
    [MISTAKE_BIAS_BELOW_SOFTCAP] = {.change = {{STEPS_DBIAS, STEPS_DS, rule_dS_sloped}}},
    [MISTAKE_NO_SLOPE] = {.change = {{STEPS_DX, STEPS_DX, rule_dU}}},
    [MISTAKE_SLOPE_UNSQUARED] = {.change = {{STEPS_DX, STEPS_DX, rule_slope_unsquared}}},
    [MISTAKE_SLOPE_UNCAPPED] = {.change = {{STEPS_DX, STEPS_DX, rule_slope_uncapped}}},
    [MISTAKE_NO_SCALE] = {.change = {{STEPS_DR, STEPS_DR, rule_dX}}},
    [MISTAKE_NO_SCALE_DQ] = {.change = {{STEPS_DQ, STEPS_DR, rule_dX}}},
    [MISTAKE_NO_SCALE_DK] = {.change = {{STEPS_DK, STEPS_DR, rule_dX}}},
    [MISTAKE_SCALE_TWICE] = {.change = {{STEPS_DR, STEPS_DR, rule_scaled_twice}}},
    [MISTAKE_SCALE_TWICE_DQ] = {.change = {{STEPS_DQ, STEPS_DR, rule_scaled_twice}}},
    [MISTAKE_SCALE_TWICE_DK] = {.change = {{STEPS_DK, STEPS_DR, rule_scaled_twice}}},
    [MISTAKE_NO_TEMPERATURE] = {.change = {{STEPS_DR, STEPS_DR, rule_no_temperature}}},
    [MISTAKE_SCALE_ON_DP] = {.change = {{STEPS_DR, STEPS_DR, rule_scale_on_dP}}},
    [MISTAKE_DQ_LAST] = {.change = {{STEPS_DQ, STEPS_DR, rule_last_key}}},
    [MISTAKE_DQ_OWN] = {.change = {{STEPS_DQ, STEPS_DR, rule_own_position}}},
    [MISTAKE_DQ_TRANSPOSED] = {.change = {{STEPS_DQ, STEPS_DR, rule_transpose}}},
    [MISTAKE_DK_LAST] = {.change = {{STEPS_DK, STEPS_DR, rule_last_query}}},
    [MISTAKE_DK_OWN] = {.change = {{STEPS_DK, STEPS_DR, rule_own_position}}},
    [MISTAKE_DK_NOT_TRANSPOSED] = {.change = {{STEPS_DK, STEPS_DR, rule_transpose}}},
    [MISTAKE_DR_TRANSPOSED] = {.change = {{STEPS_DQ, STEPS_DR, rule_transpose},
                                          {STEPS_DK, STEPS_DR, rule_transpose}}},
};

const mistake_text mistakes_texts[MISTAKES] = {
    [MISTAKE_NONE] = {"right", "Nothing: this is the right backward.", ""},
    [MISTAKE_DV_FROM_P] = {"dV from P", "dV was computed from P, the weights before dropout.",
                           "Step 8: which matrix was multiplied with V in the forward?"},
    [MISTAKE_DV_UNSCALED] = {"dV without 1/(1-p)",
                             "dV leaves out what was dropped, but not the factor 1/(1-p).",
                             "Step 8: by what did dropout multiply the weights that it kept?"},
    [MISTAKE_DV_LAST] = {"dV of the last query",
                         "dV_j holds the term of the last query alone: = in place of +=.",
                         "Step 8: dV_j is a sum over every query that reads key j."},
    [MISTAKE_DV_OWN] = {"dV of the own position",
                        "Value j learns from query j alone, the one at its own position.",
                        "Step 8: dV_j is a sum over i; which A_ij belong to it?"},
    [MISTAKE_DV_NOT_TRANSPOSED] = {"dV without the transpose",
                                   "dV is A dO in place of A^T dO: it reads A by columns, as if it "
                                   "were [N,T] and not [T,N].",
                                   "Step 8: which index of A is the query, which one the key?"},
    [MISTAKE_DV_FROM_DR] = {"dV from dR", "dV is dR^T dO in place of A^T dO.",
                            "Step 8: which matrix was multiplied with V in the forward?"},
    [MISTAKE_DO_TRANSPOSED] = {"dO transposed",
                               "dA reads dO by columns, as if it were [Dv,T] and not [T,Dv].",
                               "Step 8: where in memory does row i of dO begin?"},
    [MISTAKE_DW_LEFT_OUT] = {"dW left out", "dA leaves out dW: the weights are an output, too.",
                             "Step 8: what else reads A, besides O?"},
    [MISTAKE_GROUP_FIRST] = {"group not summed, first head",
                             "dK and dV are those of the first head of each group.",
                             "Steps 1 and 8: how many query heads read one key/value head?"},
    [MISTAKE_GROUP_LAST] = {"group not summed, last head",
                            "dK and dV are those of the last head of each group: = in place of +=.",
                            "Steps 1 and 8: how many query heads read one key/value head?"},
    [MISTAKE_GROUPS_IN_TURN] = {"heads in turn",
                                "Head h reads key/value head h % G in place of h / (H/G).",
                                "Which key/value head belongs to query head 1?"},
    [MISTAKE_DROPOUT_FORGOTTEN] = {"dropout forgotten",
                                   "dP is dA: the dropout of the forward is not repeated.",
                                   "Step 7: what is the derivative of z P by P?"},
    [MISTAKE_DROPOUT_UNSCALED] = {"dropout without 1/(1-p)",
                                  "dP leaves out what was dropped, but not the factor 1/(1-p).",
                                  "Step 7: which values does z have?"},
    [MISTAKE_DROPOUT_TWICE] = {"dropout twice", "dP is multiplied by the dropout factor z twice.",
                               "Step 7: how often does z stand in A = z P?"},
    [MISTAKE_DROPOUT_LAST] = {"dropout on dS",
                              "dS = z P (dA - sum_k P_ik dA_ik): z multiplies dS in place of dA.",
                              "Steps 7 and 6: which one comes first on the way back?"},
    [MISTAKE_NO_DELTA] = {"no delta",
                          "delta is 0: dS = P dP, as if the sum in the softmax were constant.",
                          "Step 6: if one score rises, what happens to the other weights?"},
    [MISTAKE_DELTA_OF_ONES] = {"delta of ones",
                               "delta_i is sum_j P_ij = 1, as if dP were 1 everywhere.",
                               "Step 6: delta_i is the mean of dP_ij under P."},
    [MISTAKE_DELTA_UNWEIGHTED] = {"delta without P", "delta_i is sum_j dP_ij, without P.",
                                  "Step 6: by what is each dP_ij multiplied in delta_i?"},
    [MISTAKE_DELTA_MEAN] = {"delta as plain mean",
                            "delta_i is the plain mean of the row of dP, not the mean under P.",
                            "Step 6: by what is each dP_ij multiplied in delta_i?"},
    [MISTAKE_DELTA_ROW_BEFORE] = {"delta of the row before", "dS_i uses the delta of row i - 1.",
                                  "Step 6: which index does delta have?"},
    [MISTAKE_DELTA_ROW_AFTER] = {"delta of the row after", "dS_i uses the delta of row i + 1.",
                                 "Step 6: which index does delta have?"},
    [MISTAKE_DELTA_FIRST_ROW] = {"delta of the first row",
                                 "Every row uses the delta of the first row of its head.",
                                 "Step 6: which index does delta have?"},
    [MISTAKE_DELTA_FROM_A] =
        {"delta from A", "delta_i is sum_j A_ij dP_ij, with A in place of P.",
         "Step 6: dropout comes after the softmax, and dP has z in it already."},
    [MISTAKE_DELTA_FROM_DA] = {"delta from dA", "delta_i is sum_j P_ij dA_ij, without dropout.",
                               "Step 6: which gradient arrives at P, dA or dP?"},
    [MISTAKE_DELTA_NO_DW] = {"delta without dW",
                             "delta_i is dO_i . O_i alone, without sum_j A_ij dW_ij.",
                             "Step 6: put dA = dO V^T + dW into delta_i = sum_j P_ij dP_ij."},
    [MISTAKE_DELTA_NO_DO] = {"delta of dW alone",
                             "delta_i is sum_j A_ij dW_ij alone, without dO_i . O_i.",
                             "Step 6: put dA = dO V^T + dW into delta_i = sum_j P_ij dP_ij."},
    [MISTAKE_DELTA_OWN_VALUE] = {"delta from dO.V",
                                 "delta_i is dO_i . V_i, with the value at the row's own position.",
                                 "Step 6: delta_i is dO_i . O_i; is O_i one value?"},
    [MISTAKE_DELTA_OF_DO] = {"delta as sum of dO", "delta_i is the sum of dO_i, without O_i.",
                             "Step 6: delta_i is dO_i . O_i, a sum of products."},
    [MISTAKE_DELTA_NOT_COMPLETE] =
        {"delta not complete",
         "dS_ij uses the sum of P_ik dP_ik over k up to j, and not over all k.",
         "Step 6: delta_i must be complete before the first dS_ij is computed."},
    [MISTAKE_DIAGONAL] = {"diagonal alone",
                          "dS = P (1 - P) dP: the diagonal of the Jacobian without the rest.",
                          "Step 6: P_ij depends on every score of its row."},
    [MISTAKE_NO_P] = {"no P in front", "dS = dP - delta, without the factor P.",
                      "Step 6: the Jacobian is P_ij (1[j=k] - P_ik)."},
    [MISTAKE_SIGN] = {"sign", "dS = P (delta - dP): the sign is wrong.",
                      "Step 6: does P_ij rise or fall with its own score?"},
    [MISTAKE_DELTA_ADDED] = {"delta added", "dS = P (dP + delta): delta is added, not subtracted.",
                             "Step 6: which sign do the terms off the diagonal of J have?"},
    [MISTAKE_DELTA_OF_COLUMN] =
        {"delta of the column", "delta is summed over the queries, along a column of P dP.",
         "Step 6: the softmax normalizes rows; over which index is delta summed?"},
    [MISTAKE_DS_FROM_A] = {"dS from A", "dS = A (dP - delta), with A in place of P in front.",
                           "Step 6: the softmax gave P; A is P after dropout."},
    [MISTAKE_DS_DROPPED] = {"delta dropped, too",
                            "dS = A (dA - delta): dropout multiplies delta as well.",
                            "Step 6: a dropped weight still takes part in the sum of the softmax."},
    [MISTAKE_DROPPED_IS_MASKED] =
        {"dropped taken for masked", "dS is 0 where dropout made A 0, as if the key were masked.",
         "Steps 6 and 7: a dropped weight still takes part in the sum of the softmax."},
    [MISTAKE_P_TRANSPOSED] =
        {"P transposed",
         "The backward reads P and A by columns, as if they were [N,T] and not "
         "[T,N].",
         "Step 6: which index of P is the query, which one the key?"},
    [MISTAKE_MASK_FORGOTTEN] = {"mask forgotten",
                                "The backward reads every key, those that are masked as well.",
                                "Step 5: where is the mask applied when P is computed again?"},
    [MISTAKE_KEY_FEWER] = {"one key too few",
                           "The backward leaves out the last key that each row attends to.",
                           "Step 5: is the condition < or <=?"},
    [MISTAKE_KEY_MORE] = {"one key too many",
                          "The backward also reads the key after the last one of each row.",
                          "Step 5: is the condition < or <=?"},
    [MISTAKE_LAST_KEY] = {"last key left out", "The backward never reads the last key, N - 1.",
                          "Where does the loop over the keys end?"},
    [MISTAKE_LAST_ROW] = {"last row left out", "The backward never reads the last query, T - 1.",
                          "Where does the loop over the queries end?"},
    [MISTAKE_NOT_RENORMALISED] =
        {"P not renormalised",
         "P is divided by the sum over all keys, those that are masked as well.",
         "Step 5: over which keys does the sum of the softmax run?"},
    [MISTAKE_BIAS_HEADS] = {"dbias not summed over heads",
                            "dbias is that of the last head: = in place of +=.",
                            "Step 4: to how many heads was one element of the bias added?"},
    [MISTAKE_BIAS_ROWS] = {"dbias not summed over queries",
                           "dbias is that of the last query: = in place of +=.",
                           "Step 4: to how many rows was one element of the bias added?"},
    [MISTAKE_BIAS_KEYS] = {"dbias not summed over keys",
                           "dbias is that of the last key of each row: = in place of +=.",
                           "Step 4: to how many keys was one element of the bias added?"},
    [MISTAKE_BIAS_LAST] = {"dbias of the last score",
                           "dbias holds the last term alone of every sum: = in place of +=.",
                           "Step 4: to how many scores was one element of the bias added?"},
    [MISTAKE_BIAS_SCALED] = {"dbias scaled", "dbias is multiplied by the scale c.",
                             "Step 4: the bias is added after the scale."},
    [MISTAKE_BIAS_BELOW_SOFTCAP] = {"dbias below the softcap",
                                    "dbias is multiplied by the slope of the softcap.",
                                    "Step 4: the bias is added after the softcap."},
    [MISTAKE_NO_SLOPE] = {"no slope of the softcap", "dX is dU: the softcap is left out.",
                          "Step 3: what is the derivative of tanh?"},
    [MISTAKE_SLOPE_UNSQUARED] = {"slope without the square",
                                 "The slope of the softcap is 1 - U/cap, without the square.",
                                 "Step 3: the derivative of tanh is 1 - tanh^2."},
    [MISTAKE_SLOPE_UNCAPPED] = {"slope without cap", "The slope of the softcap is 1 - U^2.",
                                "Step 3: tanh(X/cap) is U/cap, not U."},
    [MISTAKE_NO_SCALE] = {"no scale", "dR is dX: dQ and dK lack the scale c.",
                          "Step 2: X = c R; what is dR?"},
    [MISTAKE_NO_SCALE_DQ] = {"no scale in dQ", "dQ lacks the scale c; dK has it.",
                             "Steps 1 and 2: dQ = dR K, and dR = c dX."},
    [MISTAKE_NO_SCALE_DK] = {"no scale in dK", "dK lacks the scale c; dQ has it.",
                             "Steps 1 and 2: dK = dR^T Q, and dR = c dX."},
    [MISTAKE_SCALE_TWICE] = {"scale twice", "dQ and dK are multiplied by the scale c twice.",
                             "Step 2: how often does c stand in X = c R?"},
    [MISTAKE_SCALE_TWICE_DQ] = {"scale twice in dQ",
                                "dQ is multiplied by the scale c twice; dK is not.",
                                "Steps 1 and 2: dQ = dR K, and dR = c dX."},
    [MISTAKE_SCALE_TWICE_DK] = {"scale twice in dK",
                                "dK is multiplied by the scale c twice; dQ is not.",
                                "Steps 1 and 2: dK = dR^T Q, and dR = c dX."},
    [MISTAKE_NO_TEMPERATURE] = {"no temperature", "The scale of dR lacks the temperature.",
                                "Step 2: c = scale / temperature."},
    [MISTAKE_SCALE_ON_DP] = {"scale on dP alone",
                             "dR is P (c dP - delta): delta lacks the scale c.",
                             "Step 2: dR = c dS, and dS is a difference."},
    [MISTAKE_DQ_LAST] = {"dQ of the last key",
                         "dQ_i holds the term of the last key alone: = in place of +=.",
                         "Step 1: dQ_i is a sum over all keys that are attended to."},
    [MISTAKE_DQ_OWN] = {"dQ of the own position",
                        "Query i learns from key i alone, the one at its own position.",
                        "Step 1: dQ_i is a sum over j; which dR_ij belong to it?"},
    [MISTAKE_DQ_TRANSPOSED] = {"dQ with a transpose",
                               "dQ is dR^T K in place of dR K: it reads dR by columns, as if it "
                               "were [N,T] and not [T,N].",
                               "Step 1: which index of dR is the query, which one the key?"},
    [MISTAKE_DK_LAST] = {"dK of the last query",
                         "dK_j holds the term of the last query alone: = in place of +=.",
                         "Step 1: dK_j is a sum over every query that reads key j."},
    [MISTAKE_DK_OWN] = {"dK of the own position",
                        "Key j learns from query j alone, the one at its own position.",
                        "Step 1: dK_j is a sum over i; which dR_ij belong to it?"},
    [MISTAKE_DK_NOT_TRANSPOSED] = {"dK without the transpose",
                                   "dK is dR Q in place of dR^T Q: it reads dR by columns, as if "
                                   "it were [N,T] and not [T,N].",
                                   "Step 1: which index of dR is the query, which one the key?"},
    [MISTAKE_DR_TRANSPOSED] = {"dR transposed",
                               "dQ and dK read dR by columns, as if it were [N,T] and not [T,N].",
                               "Step 1: which index of dR is the query, which one the key?"},
    [MISTAKE_OVERWRITTEN] = {"overwritten",
                             "The gradient replaces what was there before, and is not added to it.",
                             "A tensor that is used twice has two gradients: = or +=?"},
};

mistake mistakes_find(const char *name)
{
    mistake m = MISTAKE_NONE;
    while (m < MISTAKES && strcmp(name, mistakes_texts[m].name) != 0) m++;
    return m;
}

/* ------------------------------------------------------------------ the backward --------------- */

mistake_set mistakes_only(mistake m)
{
    mistake_set set = {.delta_from_output = false};
    set.has[m] = m != MISTAKE_NONE;
    return set;
}

mistake_set mistakes_join(mistake_set x, mistake_set y)
{
    for (int m = 0; m < MISTAKES; m++) x.has[m] |= y.has[m];
    x.delta_from_output |= y.delta_from_output;
    return x;
}

mistake_set mistakes_common(mistake_set x, mistake_set y)
{
    for (int m = 0; m < MISTAKES; m++) x.has[m] &= y.has[m];
    x.delta_from_output &= y.delta_from_output;
    return x;
}

mistake_set mistakes_without(mistake_set x, mistake_set y)
{
    for (int m = 0; m < MISTAKES; m++) x.has[m] &= !y.has[m];
    x.delta_from_output &= !y.delta_from_output;
    return x;
}

bool mistakes_any(mistake_set x)
{
    for (int m = 0; m < MISTAKES; m++)
        if (x.has[m]) return true;
    return false;
}

/* to[e] = rule(a->at[of][e]) for every element */
static void apply_rule(const steps *a, steps_name of, element_rule *rule, double *to)
{
    int dim[3];
    steps_dims(a, of, dim);
    element e = {.a = a, .of = of};
    for (e.h = 0; e.h < dim[0]; e.h++)
        for (e.i = 0; e.i < dim[1]; e.i++)
            for (e.j = 0; e.j < dim[2]; e.j++) *to++ = rule(e);
}

/* Lets a read the changed elements, in one of two workspaces. */
static void change_input(steps *a, steps_name of, element_rule *rule, steps *const work[2])
{
    double *to = work[a->at[of] == work[0]->at[of]]->at[of];
    apply_rule(a, of, rule, to);
    a->at[of] = to;
}

static void change_result(const steps *a, steps_name of, element_rule *rule, steps *work)
{
    apply_rule(a, of, rule, work->at[of]);
    memcpy(a->at[of], work->at[of], (size_t)steps_size(a, of) * sizeof(double));
}

/* One step, with the changes that are made in it. */
static void mistaken_step(const steps *a, steps_name what, mistake_set set, steps *const work[2])
{
    steps reader = *a; /* writes where a does, but may read something else */
    for (int m = 1; m < MISTAKES; m++)
        for (int k = 0; k < 2 && set.has[m]; k++) {
            const mistake_change *c = &changes[m].change[k];
            if (c->rule && c->in == what && c->of != what)
                change_input(&reader, c->of, c->rule, work);
        }
    steps_gradient(&reader, what);
    if (what == STEPS_DELTA && set.delta_from_output)
        change_result(a, what, rule_delta_from_output, work[0]);
    for (int m = 1; m < MISTAKES; m++) {
        const mistake_change *c = &changes[m].change[0];
        if (set.has[m] && c->rule && c->in == what && c->of == what)
            change_result(a, what, c->rule, work[0]);
    }
}

/* The whole backward reads another P, and the A that follows from it. */
static void change_P(steps *a, element_rule *rule, const steps *mask)
{
    apply_rule(a, STEPS_P, rule, mask->at[STEPS_P]);
    a->at[STEPS_P] = mask->at[STEPS_P];
    apply_rule(a, STEPS_A, rule_zP, mask->at[STEPS_A]);
    a->at[STEPS_A] = mask->at[STEPS_A];
}

/* The whole backward reads another mask, and the P and A of the cells that it lets in. */
static void change_mask(steps *a, mistake_set set, const steps *mask, steps *const work[2])
{
    bool changed = false;
    steps b = *a;
    for (int m = 1; m < MISTAKES; m++)
        if (set.has[m] && changes[m].keep) {
            change_input(&b, STEPS_KEEP, changes[m].keep, work);
            changed = true;
        }
    for (int m = 1; m < MISTAKES; m++)
        if (set.has[m] && changes[m].P) change_P(a, changes[m].P, mask);
    if (!changed) return;
    memcpy(mask->at[STEPS_KEEP], b.at[STEPS_KEEP],
           (size_t)steps_size(a, STEPS_KEEP) * sizeof(double));
    change_P(a, rule_P_unmasked, mask);
    a->at[STEPS_KEEP] = mask->at[STEPS_KEEP];
}

steps_name mistakes_first(mistake_set set)
{
    steps_name first = set.delta_from_output ? STEPS_DELTA : STEPS_COUNT;
    for (int m = 1; m < MISTAKES; m++) {
        if (!set.has[m]) continue;
        if (changes[m].keep || changes[m].P || m == MISTAKE_GROUPS_IN_TURN) return STEPS_DV;
        for (int k = 0; k < 2; k++) {
            const mistake_change *c = &changes[m].change[k];
            if (c->rule && c->in < first) first = c->in;
        }
    }
    return first;
}

void mistakes_run(const steps *a, mistake_set set, const steps *right, steps *const work[3])
{
    steps b = *a; /* writes where a does */
    const steps_name first = mistakes_first(set);
    change_mask(&b, set, work[2], work);
    if (set.has[MISTAKE_GROUPS_IN_TURN]) {
        b.reads = work[2]->reads;
        for (int h = 0; h < a->p.H; h++) b.reads[h] = h % a->p.G;
    }
    for (steps_name what = STEPS_DV; what <= STEPS_DK; what++) {
        size_t bytes = (size_t)steps_size(a, what) * sizeof(double);
        if (!right || what >= first)
            mistaken_step(&b, what, set, work);
        else if (bytes)
            memcpy(a->at[what], right->at[what], bytes);
    }
}

bool mistakes_open_work(const steps *a, steps *work[3])
{
    for (int k = 0; k < 3; k++) work[k] = steps_open(&a->p);
    if (work[0] && work[1] && work[2]) return true;
    mistakes_close_work(work);
    for (int k = 0; k < 3; k++) work[k] = NULL;
    return false;
}

void mistakes_close_work(steps *const work[3])
{
    for (int k = 0; k < 3; k++) steps_close(work[k]);
}

bool mistakes_backward_set(steps *a, mistake_set set)
{
    steps *work[3];
    if (!mistakes_open_work(a, work)) return false;
    mistakes_run(a, set, NULL, work);
    mistakes_close_work(work);
    return true;
}

bool mistakes_backward(steps *a, mistake m)
{
    return mistakes_backward_set(a, mistakes_only(m));
}
