/* ways.c -- mistakes of the exercises that the table of course/mistakes.c does not have.
 *
 * A way changes one quantity, and what follows is computed from that; or it is a sum of its own in
 * place of dQ, dK or dV, of rows X with weights w:
 *
 *     K without j        dQ_i = sum_j dR_ij K_0, and K_0 sum_j dR_ij = 0
 *     dO without P       dV_j = sum_i dO_i */
#include "grading.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { E3 = 1 << 3, E5 = 1 << 5, E6 = 1 << 6, E7 = 1 << 7 };

typedef struct {
    const char *name, *sentence, *hint;
    int exercises;
    steps_name what; /* the quantity that is changed */
    /* P_ij, dP_ij or dS_ij; NULL: row `to` of `what` is the sum of w_ij times row `row` of X */
    double (*rule)(const steps *a, int i, int j);
    steps_name w, X; /* w: STEPS_COUNT is 1 */
    char to, row;    /* 'i', 'j', or 0 for row 0 */
    bool by_columns; /* X is read as if it were its transpose */
} way;

/* ------------------------------------------------------------------ rules --------------------- */

static double cell(const steps *a, steps_name what, int i, int j)
{
    return *steps_cell(a, what, 0, i, j);
}

static double lse_of(const steps *a, int i)
{
    return cell(a, STEPS_S, i, 0) - log(cell(a, STEPS_P, i, 0));
}

static double way_exp_S(const steps *a, int i, int j)
{
    return exp(cell(a, STEPS_S, i, j));
}

static double way_exp_R(const steps *a, int i, int j)
{
    return exp(cell(a, STEPS_R, i, j) - lse_of(a, i));
}

static double way_lse_added(const steps *a, int i, int j)
{
    return exp(cell(a, STEPS_S, i, j) + lse_of(a, i));
}

static double way_by_lse(const steps *a, int i, int j)
{
    return exp(cell(a, STEPS_S, i, j)) / lse_of(a, i);
}

static double way_no_exp(const steps *a, int i, int j)
{
    return cell(a, STEPS_S, i, j) - lse_of(a, i);
}

static double way_lse_of_key(const steps *a, int i, int j)
{
    return exp(cell(a, STEPS_S, i, j) - lse_of(a, j % a->p.T));
}

static double way_lse_of_first_row(const steps *a, int i, int j)
{
    return exp(cell(a, STEPS_S, i, j) - lse_of(a, 0));
}

static double way_c_on_lse(const steps *a, int i, int j)
{
    return exp(cell(a, STEPS_S, i, j) - a->c * lse_of(a, i));
}

/* dO_i . V_j, with V_jd at V[j * row + d * column]; no program gets outside of V. */
static double strided(const steps *a, int i, int j, int row, int column)
{
    double sum = 0;
    for (int d = 0; d < a->p.Dv; d++) {
        const int at = j * row + d * column;
        if (at < steps_size(a, STEPS_V)) sum += cell(a, STEPS_DO, i, d) * a->at[STEPS_V][at];
    }
    return sum;
}

static double way_V_transposed(const steps *a, int i, int j)
{
    return strided(a, i, j, 1, a->p.N);
}

static double way_V_as_K(const steps *a, int i, int j)
{
    return strided(a, i, j, a->p.D, 1);
}

static double way_P_dP_alone(const steps *a, int i, int j)
{
    return cell(a, STEPS_P, i, j) * cell(a, STEPS_DP, i, j) - cell(a, STEPS_DELTA, i, 0);
}

static double way_P_delta_alone(const steps *a, int i, int j)
{
    return cell(a, STEPS_DP, i, j) - cell(a, STEPS_P, i, j) * cell(a, STEPS_DELTA, i, 0);
}

static double way_exchanged(const steps *a, int i, int j)
{
    return cell(a, STEPS_DP, i, j) * (cell(a, STEPS_P, i, j) - cell(a, STEPS_DELTA, i, 0));
}

static double way_P_twice(const steps *a, int i, int j)
{
    const double P = cell(a, STEPS_P, i, j);
    return P * (P * cell(a, STEPS_DP, i, j) - cell(a, STEPS_DELTA, i, 0));
}

static double way_one_minus_delta(const steps *a, int i, int j)
{
    return cell(a, STEPS_P, i, j) * cell(a, STEPS_DP, i, j) * (1 - cell(a, STEPS_DELTA, i, 0));
}

static double way_delta_of_last_row(const steps *a, int i, int j)
{
    const double delta = cell(a, STEPS_DELTA, a->p.T - 1, 0);
    return cell(a, STEPS_P, i, j) * (cell(a, STEPS_DP, i, j) - delta);
}

static double way_cP_dP_alone(const steps *a, int i, int j)
{
    return a->c * cell(a, STEPS_P, i, j) * cell(a, STEPS_DP, i, j) - cell(a, STEPS_DELTA, i, 0);
}

static double way_no_softmax(const steps *a, int i, int j)
{
    return cell(a, STEPS_DP, i, j);
}

static double way_delta_of_key(const steps *a, int i, int j)
{
    return cell(a, STEPS_P, i, j) * (cell(a, STEPS_DP, i, j) - cell(a, STEPS_DELTA, j % a->p.T, 0));
}

/* ------------------------------------------------------------------ the table ----------------- */

static const char V_has_Dv[] = "A row of V has Dv elements.",
                  sums_to_0[] = "What was added sums to 0, for sum_j dR_ij = 0: does K lack its j?",
                  dV_terms[] = "O_i = sum_j P_ij V_j: which factor does V_j have there?",
                  dK_terms[] = "R_ij = Q_i . K_j: what is its derivative by K_j?";

static const way ways[] = {
    {"P without lse", "P_ij is exp(S_ij), without lse_i: its rows do not sum to 1.",
     "What is P_ij = exp(S_ij) / sum_k exp(S_ik) in terms of lse_i?", E7, STEPS_P,
     .rule = way_exp_S},
    {"P without c", "P_ij is exp(Q_i . K_j - lse_i), without the scale c.",
     "S_ij is not Q_i . K_j alone.", E7, STEPS_P, .rule = way_exp_R},
    {"P with lse added", "P_ij is exp(S_ij + lse_i).", "Divided by exp(lse_i), not multiplied.", E7,
     STEPS_P, .rule = way_lse_added},
    {"P divided by lse", "P_ij is exp(S_ij) / lse_i.", "lse_i is the logarithm of the sum.", E7,
     STEPS_P, .rule = way_by_lse},
    {"S in place of P", "P_ij is S_ij - lse_i, without exp.", "S_ij - lse_i is log(P_ij).", E7,
     STEPS_P, .rule = way_no_exp},
    {"lse of the key", "P_ij is exp(S_ij - lse_j), with the lse of row j in place of row i.",
     "lse has one element for each query.", E7, STEPS_P, .rule = way_lse_of_key},
    {"lse without i", "P_ij is exp(S_ij - lse_0): every row has the lse of the first one.",
     "lse has one element for each query.", E7, STEPS_P, .rule = way_lse_of_first_row},
    {"c on lse as well", "P_ij is exp(c (Q_i . K_j - lse_i)), but c has no part in lse_i.",
     "lse_i was made of S_ij, and c is in S_ij already.", E7, STEPS_P, .rule = way_c_on_lse},
    {"V transposed", "In dP, V_jd was read at V[d * N + j], but it lies at V[j * Dv + d].",
     V_has_Dv, E6 | E7, STEPS_DP, .rule = way_V_transposed},
    {"V with the stride of K",
     "In dP, V_jd was read at V[j * D + d], but it lies at V[j * Dv + d].", V_has_Dv, E6 | E7,
     STEPS_DP, .rule = way_V_as_K},
    {"P in front of dP alone", "dS_ij is P_ij dP_ij - delta_i: P_ij multiplies delta_i as well.",
     "P_ij stands in front of the difference of dP_ij and delta_i.", E3 | E5 | E6 | E7, STEPS_DS,
     .rule = way_P_dP_alone},
    {"P in front of delta alone", "dS_ij is dP_ij - P_ij delta_i: P_ij multiplies dP_ij as well.",
     "P_ij stands in front of the difference of dP_ij and delta_i.", E3 | E5 | E6 | E7, STEPS_DS,
     .rule = way_P_delta_alone},
    {"P and dP exchanged",
     "dS_ij is dP_ij (P_ij - delta_i): delta_i is taken from dP_ij, not P_ij.",
     "delta_i is a mean of dP_ij: from which of the two is it subtracted?", E3 | E5 | E6 | E7,
     STEPS_DS, .rule = way_exchanged},
    {"P twice", "dS_ij is P_ij (P_ij dP_ij - delta_i): P_ij multiplies dP_ij twice.",
     "P_ij stands in front of the difference of dP_ij and delta_i.", E3 | E5 | E6 | E7, STEPS_DS,
     .rule = way_P_twice},
    {"1 - delta", "dS_ij is P_ij dP_ij (1 - delta_i): delta_i is taken from 1, not from dP_ij.",
     "delta_i is a mean of dP_ij: from what is it subtracted?", E3 | E5 | E6 | E7, STEPS_DS,
     .rule = way_one_minus_delta},
    {"delta of the last row", "Every row uses the delta of the last row.",
     "delta has one element for each query.", E6 | E7, STEPS_DS, .rule = way_delta_of_last_row},
    {"c P in front of dP alone",
     "dR_ij is c P_ij dP_ij - delta_i: c P_ij multiplies delta_i as well.",
     "c P_ij stands in front of the difference of dP_ij and delta_i.", E5 | E6 | E7, STEPS_DR,
     .rule = way_cP_dP_alone},
    {"dP in place of dS", "dP_ij was used where dS_ij belongs: the softmax is left out.",
     "dS_ij = P_ij (dP_ij - delta_i).", E3 | E5 | E6 | E7, STEPS_DS, .rule = way_no_softmax},
    {"delta of the key", "dS_ij uses delta_j, but delta belongs to the query: delta_i.",
     "delta has one element for each query.", E6 | E7, STEPS_DS, .rule = way_delta_of_key},
    {"K without j", sums_to_0, "dQ_i is the sum over j of dR_ij K_j, element d at K[j * D + d].",
     E5 | E6 | E7, STEPS_DQ, .w = STEPS_DR, .X = STEPS_K, .to = 'i', .row = 0},
    {"Q in place of K", sums_to_0,
     "dQ_i is the sum over j of dR_ij K_j, element d at K[j * D + d].", E5 | E6 | E7, STEPS_DQ,
     .w = STEPS_DR, .X = STEPS_Q, .to = 'i', .row = 'i'},
    {"K transposed", "In dQ, K_jd was read at K[d * N + j], but it lies at K[j * D + d].",
     "A row of K has D elements.", E5 | E6 | E7, STEPS_DQ, .w = STEPS_DR, .X = STEPS_K, .to = 'i',
     .row = 'j', .by_columns = true},
    {"Q transposed", "In dK, Q_id was read at Q[d * T + i], but it lies at Q[i * D + d].",
     "A row of Q has D elements.", E6 | E7, STEPS_DK, .w = STEPS_DR, .X = STEPS_Q, .to = 'j',
     .row = 'i', .by_columns = true},
    {"dK without j", "What was added sums to 0, for sum_j dR_ij = 0: does dK lack its j?",
     "dK_j is another row for each key, element d at dK[j * D + d].", E5 | E6 | E7, STEPS_DK,
     .w = STEPS_DR, .X = STEPS_Q, .to = 0, .row = 'i'},
    {"K in place of Q", "dK_j is dR_ij times K_j, but the other factor of R_ij is Q_i.", dK_terms,
     E5 | E6 | E7, STEPS_DK, .w = STEPS_DR, .X = STEPS_K, .to = 'j', .row = 'j'},
    {"Q without i", "In dK, every query was read as the first one: does Q lack its i?", dK_terms,
     E6 | E7, STEPS_DK, .w = STEPS_DR, .X = STEPS_Q, .to = 'j', .row = 0},
    {"dO without P", "dV_j is dO_i, without the factor P_ij.", dV_terms, E5 | E6 | E7, STEPS_DV,
     .w = STEPS_COUNT, .X = STEPS_DO, .to = 'j', .row = 'i'},
    {"V in place of dO",
     "dV_j is P_ij times V_j, without dO_i: the gradient from above is left out.", dV_terms,
     E5 | E6 | E7, STEPS_DV, .w = STEPS_P, .X = STEPS_V, .to = 'j', .row = 'j'},
    {"dS in place of P", "dV_j is dS_ij dO_i, but dS has no part in dV.", dV_terms, E5 | E6 | E7,
     STEPS_DV, .w = STEPS_DS, .X = STEPS_DO, .to = 'j', .row = 'i'},
    {"dP in place of P", "dV_j is dP_ij dO_i, but dP has no part in dV.", dV_terms, E5 | E6 | E7,
     STEPS_DV, .w = STEPS_DP, .X = STEPS_DO, .to = 'j', .row = 'i'},
    {"dV without j", "Every term was added to the first row of dV: does dV lack its j?",
     "dV_j is another row for each key, element d at dV[j * Dv + d].", E5 | E6 | E7, STEPS_DV,
     .w = STEPS_P, .X = STEPS_DO, .to = 0, .row = 'i'},
    {"dO without i", "In dV, every dO_i was read as the first one: does dO lack its i?", dV_terms,
     E6 | E7, STEPS_DV, .w = STEPS_P, .X = STEPS_DO, .to = 'j', .row = 0},
};
enum { WAYS = sizeof ways / sizeof *ways };

/* ------------------------------------------------------------------ naming -------------------- */

static int row_of(char which, int i, int j)
{
    return which == 'i' ? i : which == 'j' ? j : 0;
}

static void add_rows(const steps *a, const way *w, int i, int j)
{
    const double weight = w->w == STEPS_COUNT ? 1 : cell(a, w->w, i, j);
    const int row = row_of(w->row, i, j), rows = a->dim[w->X][1], columns = a->dim[w->X][2];
    double *to = steps_cell(a, w->what, 0, row_of(w->to, i, j), 0);
    for (int d = 0; d < a->dim[w->what][2]; d++)
        to[d] += weight * a->at[w->X][w->by_columns ? d * rows + row : row * columns + d];
}

/* The backward in this way; delta is given in E6 and E7. */
static steps *backward_in_way(const steps *a, const way *w)
{
    steps *b = need(steps_copy(a));
    if (!w->rule) memset(b->at[w->what], 0, (size_t)steps_size(b, w->what) * sizeof(double));
    for (int i = 0; i < a->p.T; i++)
        for (int j = 0; j < a->p.N; j++) {
            if (!w->rule)
                add_rows(b, w, i, j);
            else
                *steps_cell(b, w->what, 0, i, j) = w->rule(a, i, j);
            if (w->what == STEPS_P)
                *steps_cell(b, STEPS_A, 0, i, j) = *steps_cell(b, STEPS_P, 0, i, j);
        }
    steps_name next = w->what == STEPS_P ? STEPS_DV : w->what + 1;
    for (; w->rule && next <= STEPS_DK; next++)
        if (next != STEPS_DELTA) steps_gradient(b, next);
    return b;
}

/* Does this way add 0 but for rounding, and has not a bit of what was there changed? */
static bool adds_nothing(const steps *b, const step_answer *x, const double *got)
{
    const ptrdiff_t n = steps_size(b, x->what);
    double most = 0;
    for (ptrdiff_t e = 0; e < n; e++) most = fmax(most, fabs(b->at[x->what][e]));
    return x->before && most < 1e-9 && memcmp(got, x->before, (size_t)n * sizeof *got) == 0;
}

/* One more name for what was wrong */
static void add_name(const steps *a, grade *q, const way *w, bool perhaps)
{
    char sentence[300];
    own_notation(a, w->sentence, sizeof sentence, sentence);
    const char *why = strchr(sentence, ',');
    if (perhaps && why)
        snprintf(q->text, sizeof q->text, "nothing was added, or what was added sums to 0%s", why);
    else if (q->text[0] != '"')
        snprintf(q->text, sizeof q->text, "\"%s\".  %s", w->name, sentence);
    else { /* "one".  Sentence  ->  "other" or "one".  Sentence */
        char said[sizeof q->text];
        memcpy(said, q->text, sizeof said);
        snprintf(q->text, sizeof q->text, "\"%s\" or %.700s", w->name, said);
    }
    own_notation(a, w->hint, sizeof q->mistake, q->mistake);
}

void name_way(const grading *g, const script *s, const steps *a, const step_answer *x, grade *q)
{
    const double *got = s->buffer[x->b].data;
    if (q->kind != VERDICT_WRONG || q->text[0] == '"') return;
    for (const way *w = ways; w < ways + WAYS; w++) {
        if (!(w->exercises >> g->which & 1)) continue;
        steps *b = backward_in_way(a, w);
        if (same_numbers(steps_size(b, x->what), got, x->before, b->at[x->what]))
            add_name(a, q, w, adds_nothing(b, x, got));
        steps_close(b);
    }
}
