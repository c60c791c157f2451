/* steps.c -- one small attention by its eight steps; see steps.h.
 *
 *     Q [H,T,D]   K [G,N,D]   V [G,N,Dv]   O [H,T,Dv]   R, X, U, S, P, z, A [H,T,N]   delta [H,T]
 *
 *                  forward                              backward
 *     1 scores     R = Q K^T                            dQ = dR K,   dK = dR^T Q
 *     2 scale      X = c R                              dR = c dX
 *     3 softcap    U = cap tanh(X / cap)                dX = dU (1 - (U/cap)^2)
 *     4 bias       S = U + bias                         dU = dS,   dbias = dS, summed
 *     5 mask       keys that a row attends to           what is masked is not read: no term
 *     6 softmax    P_ij = exp(S_ij) / sum_k exp(S_ik)   dS = P (dP - delta)
 *                                                       delta_i = sum_j P_ij dP_ij
 *     7 dropout    A = z P                              dP = z dA
 *     8 values     O = A V                              dV = A^T dO,   dA = dO V^T (+ dW)
 *
 * attention/reference.c derives them.  Every loop of the backward runs over the cells (h,i,j) where
 * row i of head h attends to key j. */
#include "steps.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ memory --------------------- */

static void set_dims(const steps_problem *p, steps_name what, int dim[3])
{
    int heads = p->H, rows = p->T, columns = p->N;
    switch (what) {
    case STEPS_Q:
    case STEPS_DQ: columns = p->D; break;
    case STEPS_K:
    case STEPS_DK: heads = p->G, rows = p->N, columns = p->D; break;
    case STEPS_V:
    case STEPS_DV: heads = p->G, rows = p->N, columns = p->Dv; break;
    case STEPS_O:
    case STEPS_DO: columns = p->Dv; break;
    case STEPS_BIAS:
    case STEPS_DBIAS: heads = p->bias_H, rows = p->bias_T, columns = p->bias_N; break;
    case STEPS_KEEP: heads = 1; break;
    case STEPS_DELTA: columns = 1; break;
    default: break;
    }
    dim[0] = heads, dim[1] = rows, dim[2] = columns;
}

void steps_dims(const steps *a, steps_name what, int dim[3])
{
    memcpy(dim, a->dim[what], sizeof a->dim[what]);
}

ptrdiff_t steps_size(const steps *a, steps_name what)
{
    const int *dim = a->dim[what];
    return (ptrdiff_t)dim[0] * dim[1] * dim[2];
}

double *steps_cell(const steps *a, steps_name what, int head, int row, int column)
{
    const int *dim = a->dim[what];
    ptrdiff_t h = dim[0] == 1 ? 0 : head, i = dim[1] == 1 ? 0 : row, j = dim[2] == 1 ? 0 : column;
    return a->at[what] + (h * dim[1] + i) * dim[2] + j;
}

static double scale_in_use(const steps_problem *p)
{
    double scale = p->scale == 0 ? 1 / sqrt(p->D) : p->scale;
    return p->temperature > 0 ? scale / p->temperature : scale;
}

steps *steps_open(const steps_problem *p)
{
    steps *a = malloc(sizeof *a);
    if (!a) return NULL;
    *a = (steps){.p = *p, .c = scale_in_use(p)};
    ptrdiff_t total = 0;
    for (int k = 0; k < STEPS_COUNT; k++) {
        set_dims(p, (steps_name)k, a->dim[k]);
        total += steps_size(a, (steps_name)k);
    }
    double *all = calloc((size_t)total, sizeof *all);
    a->reads = calloc((size_t)p->H, sizeof *a->reads);
    for (int k = 0; k < STEPS_COUNT; k++) {
        a->at[k] = all;
        if (all) all += steps_size(a, (steps_name)k);
    }
    if (!a->at[0] || !a->reads) {
        steps_close(a);
        return NULL;
    }
    for (int h = 0; h < p->H; h++) a->reads[h] = h / (p->H / p->G);
    for (ptrdiff_t k = 0; k < steps_size(a, STEPS_KEEP); k++) a->at[STEPS_KEEP][k] = 1;
    for (ptrdiff_t k = 0; k < steps_size(a, STEPS_Z); k++) a->at[STEPS_Z][k] = 1;
    return a;
}

steps *steps_copy(const steps *a)
{
    steps *b = steps_open(&a->p);
    for (int k = 0; b && k < STEPS_COUNT; k++) {
        size_t bytes = (size_t)steps_size(a, (steps_name)k) * sizeof(double);
        if (bytes) memcpy(b->at[k], a->at[k], bytes);
    }
    if (b) b->c = a->c, b->terms_of = a->terms_of;
    return b;
}

void steps_close(steps *a)
{
    if (!a) return;
    free(a->at[0]);
    free(a->reads);
    free(a);
}

/* ------------------------------------------------------------------ the forward ---------------- */

bool steps_attends(const steps *a, int h, int i, int j)
{
    if (*steps_cell(a, STEPS_KEEP, 0, i, j) == 0) return false;
    return a->p.bias_H == 0 || *steps_cell(a, STEPS_BIAS, h, i, j) != -(double)INFINITY;
}

static double dot_product(int n, const double *x, const double *y)
{
    double sum = 0;
    for (int d = 0; d < n; d++) sum += x[d] * y[d];
    return sum;
}

/* to += factor x */
static void add_times(int n, double factor, const double *x, double *to)
{
    for (int d = 0; d < n; d++) to[d] += factor * x[d];
}

/* 1 to 5, one cell; S = -INFINITY where it is masked */
static double forward_cell(const steps *a, steps_name what, int h, int i, int j)
{
    const double cap = a->p.softcap;
    switch (what) {
    case STEPS_R:
        return dot_product(a->p.D, steps_cell(a, STEPS_Q, h, i, 0),
                           steps_cell(a, STEPS_K, a->reads[h], j, 0));
    case STEPS_X: return a->c * *steps_cell(a, STEPS_R, h, i, j);
    case STEPS_U: {
        double X = *steps_cell(a, STEPS_X, h, i, j);
        return cap > 0 ? cap * tanh(X / cap) : X;
    }
    case STEPS_S: {
        double U = *steps_cell(a, STEPS_U, h, i, j);
        if (!steps_attends(a, h, i, j)) return -(double)INFINITY;
        return a->p.bias_H > 0 ? U + *steps_cell(a, STEPS_BIAS, h, i, j) : U;
    }
    case STEPS_A: return *steps_cell(a, STEPS_Z, h, i, j) * *steps_cell(a, STEPS_P, h, i, j);
    default: return 0;
    }
}

/* 6: P_ij = exp(S_ij - m) / l,  m = max_j S_ij,  l = sum_j exp(S_ij - m) */
static void forward_softmax(const steps *a, int h, int i)
{
    const double *S = steps_cell(a, STEPS_S, h, i, 0);
    double *P = steps_cell(a, STEPS_P, h, i, 0), m = -(double)INFINITY, l = 0;
    for (int j = 0; j < a->p.N; j++)
        if (steps_attends(a, h, i, j)) m = fmax(m, S[j]);
    for (int j = 0; j < a->p.N; j++) {
        P[j] = steps_attends(a, h, i, j) ? exp(S[j] - m) : 0;
        l += P[j];
    }
    for (int j = 0; j < a->p.N; j++)
        if (steps_attends(a, h, i, j)) P[j] /= l;
}

/* 8: O_i = sum_j A_ij V_j */
static void forward_values(const steps *a, int h, int i)
{
    double *O = steps_cell(a, STEPS_O, h, i, 0);
    memset(O, 0, (size_t)a->p.Dv * sizeof *O);
    for (int j = 0; j < a->p.N; j++)
        if (steps_attends(a, h, i, j))
            add_times(a->p.Dv, *steps_cell(a, STEPS_A, h, i, j),
                      steps_cell(a, STEPS_V, a->reads[h], j, 0), O);
}

void steps_forward(steps *a, steps_name first)
{
    for (steps_name what = first < STEPS_R ? STEPS_R : first; what <= STEPS_O; what++)
        for (int h = 0; h < a->p.H; h++)
            for (int i = 0; i < a->p.T; i++) {
                if (what == STEPS_P) forward_softmax(a, h, i);
                if (what == STEPS_O) forward_values(a, h, i);
                if (what == STEPS_P || what == STEPS_O) continue;
                for (int j = 0; j < a->p.N; j++)
                    *steps_cell(a, what, h, i, j) = forward_cell(a, what, h, i, j);
            }
}

double steps_loss(const steps *a)
{
    double sum = dot_product((int)steps_size(a, STEPS_O), a->at[STEPS_DO], a->at[STEPS_O]);
    for (int h = 0; a->p.weights && h < a->p.H; h++)
        for (int i = 0; i < a->p.T; i++)
            for (int j = 0; j < a->p.N; j++)
                if (steps_attends(a, h, i, j))
                    sum += *steps_cell(a, STEPS_DW, h, i, j) * *steps_cell(a, STEPS_A, h, i, j);
    return sum;
}

/* ------------------------------------------------------------------ the backward --------------- */

double steps_slope(const steps *a, double U)
{
    const double cap = a->p.softcap;
    return cap > 0 ? steps_minus(a, 1, (U / cap) * (U / cap)) : 1;
}

/* What cell (h,i,j) contributes to one quantity. */
static void gradient_of_cell(steps *a, steps_name what, int h, int i, int j)
{
    const int D = a->p.D, Dv = a->p.Dv, g = a->reads[h];
#define AT(name) (*steps_cell(a, STEPS_##name, h, i, j))
#define ROW(name, head, row) steps_cell(a, STEPS_##name, head, row, 0)
    switch (what) {
    case STEPS_DV: add_times(Dv, AT(A), ROW(DO, h, i), ROW(DV, g, j)); break;
    case STEPS_DA:
        AT(DA) = dot_product(Dv, ROW(DO, h, i), ROW(V, g, j));
        if (a->p.weights) AT(DA) += AT(DW);
        break;
    case STEPS_DP: AT(DP) = AT(Z) * AT(DA); break;
    case STEPS_DELTA: AT(DELTA) += AT(P) * AT(DP); break;
    case STEPS_DS: AT(DS) = AT(P) * steps_minus(a, AT(DP), AT(DELTA)); break;
    case STEPS_DBIAS:
        if (a->p.bias_H > 0) AT(DBIAS) += AT(DS);
        break;
    case STEPS_DU: AT(DU) = AT(DS); break;
    case STEPS_DX: AT(DX) = AT(DU) * steps_slope(a, AT(U)); break;
    case STEPS_DR: AT(DR) = a->c * AT(DX); break;
    case STEPS_DQ: add_times(D, AT(DR), ROW(K, g, j), ROW(DQ, h, i)); break;
    case STEPS_DK: add_times(D, AT(DR), ROW(Q, h, i), ROW(DK, g, j)); break;
    default: break;
    }
#undef AT
#undef ROW
}

void steps_gradient(steps *a, steps_name what)
{
    size_t bytes = (size_t)steps_size(a, what) * sizeof(double);
    if (bytes) memset(a->at[what], 0, bytes);
    for (int h = 0; h < a->p.H; h++)
        for (int i = 0; i < a->p.T; i++)
            for (int j = 0; j < a->p.N; j++)
                if (steps_attends(a, h, i, j)) gradient_of_cell(a, what, h, i, j);
}

void steps_backward(steps *a)
{
    for (steps_name what = STEPS_DV; what <= STEPS_DK; what++) steps_gradient(a, what);
}

/* ------------------------------------------------------------------ differences ---------------- */

/* What is computed first from each that has a gradient. */
static steps_name first_that_reads(steps_name what)
{
    switch (what) {
    case STEPS_Q:
    case STEPS_K: return STEPS_R;
    case STEPS_V: return STEPS_O;
    case STEPS_BIAS: return STEPS_S;
    case STEPS_Z: return STEPS_A;
    default: return what + 1;
    }
}

/* |c| sum_d |Q_id K_jd| + |bias_ij|: an S_ij that is computed from it may be rounded by 1e-16 of it. */
static double score_terms(const steps *a, int h, int i, int j)
{
    const double *Q = steps_cell(a, STEPS_Q, h, i, 0);
    const double *K = steps_cell(a, STEPS_K, a->reads[h], j, 0);
    double sum = a->p.bias_H > 0 ? fabs(*steps_cell(a, STEPS_BIAS, h, i, j)) : 0;
    for (int d = 0; d < a->p.D; d++) sum += fabs(a->c * Q[d] * K[d]);
    return sum;
}

/* By how much the loss may be rounded: 1e-16 of the terms that it is a sum of; and P_ij is known
 * only as well as the scores of its row, as steps_terms says. */
double steps_rounding(const steps *a)
{
    double sum = 0;
    for (int h = 0; h < a->p.H; h++)
        for (int i = 0; i < a->p.T; i++) {
            double row = 0, score = 0;
            for (int j = 0; j < a->p.N; j++) {
                if (!steps_attends(a, h, i, j)) continue;
                double A = fabs(*steps_cell(a, STEPS_A, h, i, j));
                const double *dO = steps_cell(a, STEPS_DO, h, i, 0);
                const double *V = steps_cell(a, STEPS_V, a->reads[h], j, 0);
                for (int d = 0; d < a->p.Dv; d++) row += fabs(dO[d] * A * V[d]);
                if (a->p.weights) row += fabs(*steps_cell(a, STEPS_DW, h, i, j)) * A;
                score = fmax(score, score_terms(a, h, i, j));
            }
            sum += row * (1 + 2 * score);
        }
    return DBL_EPSILON * sum;
}

/* The slope (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h is wrong by O(h^4) for a large h, and by
 * rounding / h for a small one.  How large is large depends on the element: the loss as a function
 * of a score that is multiplied by 100 is bent 100 times as soon.  So h is halved, 31 times or until
 * the rounding alone is too much, and the slope is taken that agrees best with the one before and
 * the one after it (gradcheck/gradcheck.c does the same); *unsure is what is left of their
 * disagreement. */
double steps_derivative(double (*f)(void *ctx, double h), void *ctx, double h, double rounding,
                        double *unsure)
{
    enum { HALVINGS = 32 };
    double n[HALVINGS], best = (double)NAN, outer = f(ctx, 2 * h) - f(ctx, -2 * h);
    *unsure = (double)INFINITY;
    for (int j = 0; j < HALVINGS && rounding / (2 * h) <= *unsure; j++, h /= 2) {
        double inner = f(ctx, h) - f(ctx, -h);
        n[j] = (8 * inner - outer) / (12 * h);
        outer = inner;
        if (j < 2) continue;
        double apart = fmax(fabs(n[j - 2] - n[j - 1]), fabs(n[j - 1] - n[j]));
        double u = 4 * apart + rounding / (2 * h);
        if (u < *unsure) *unsure = u, best = n[j - 1];
    }
    return best;
}

static double largest_of(const steps *a, steps_name what)
{
    double most = 0;
    for (ptrdiff_t e = 0; e < steps_size(a, what); e++) most = fmax(most, fabs(a->at[what][e]));
    return most;
}

/* 1/32 of the size of the element; but S moves by no more than 1, and X by no more than the cap:
 * beyond, the softmax and tanh are flat, and a loss that has stopped to move looks like one that
 * never did. */
double steps_first_step(const steps *a, steps_name what, ptrdiff_t element)
{
    double x = a->at[what][element], h = exp2(ceil(log2(fmax(1, fabs(x)))) - 5), move = 1, most = 1;
    if (what == STEPS_Q) move = fabs(a->c) * largest_of(a, STEPS_K);
    if (what == STEPS_K) move = fabs(a->c) * largest_of(a, STEPS_Q);
    if (what == STEPS_R) move = fabs(a->c);
    if (what == STEPS_V || what == STEPS_P || what == STEPS_A || what == STEPS_O) return h;
    if (what != STEPS_S && what != STEPS_U && what != STEPS_BIAS && a->p.softcap > 0)
        most = fmin(1, a->p.softcap);
    return move * h > most ? exp2(floor(log2(most / move))) : h;
}

/* One element of a copy, which moves. */
typedef struct {
    steps *moved;
    double *element, x;
    steps_name first; /* what is computed again */
} moved_element;

static double loss_after_move(void *ctx, double h)
{
    const moved_element *m = ctx;
    *m->element = m->x + h;
    steps_forward(m->moved, m->first);
    return steps_loss(m->moved);
}

double steps_difference(const steps *a, steps_name what, ptrdiff_t element, double *unsure)
{
    double x = a->at[what][element], best = (double)NAN;
    *unsure = (double)INFINITY;
    if (x == -(double)INFINITY && (what == STEPS_S || what == STEPS_BIAS)) {
        *unsure = 0; /* masked: not read */
        return 0;
    }
    steps *moved = steps_copy(a);
    if (moved) {
        moved_element m = {moved, &moved->at[what][element], x, first_that_reads(what)};
        best = steps_derivative(loss_after_move, &m, steps_first_step(a, what, element),
                                steps_rounding(a), unsure);
    }
    steps_close(moved);
    return best;
}

/* ------------------------------------------------------------------ absolute terms ------------- */

/* dP_ij = P_ij (dS_ij - sum_k P_ik dS_ik): where every S_ik is wrong by e, P_ij is by at most
 * 2 e P_ij, and that only if they have the most unfortunate signs.  The sum S_ik, of about D terms
 * that are t_ik in all, is wrong by a fraction of u t_ik, for the errors of D roundings have all
 * signs.  So u t_ik / 4 is counted, which makes 1/2 of the 2. */
static void terms_of_softmax(steps *t, int h, int i)
{
    double most = 0;
    for (int j = 0; j < t->p.N; j++)
        if (steps_attends(t, h, i, j)) most = fmax(most, *steps_cell(t, STEPS_S, h, i, j));
    for (int j = 0; j < t->p.N; j++) *steps_cell(t, STEPS_P, h, i, j) *= 1 + most / 2;
}

/* Of U = cap y, y = tanh(X / cap), only (U/cap)^2 is read in the backward.  An error of t u in X is
 * one of 2 |y| (1 - y^2) t/cap u in y^2. */
static double terms_of_softcap(const steps *t, double U, double X)
{
    double cap = t->p.softcap, y = fabs(U) / cap;
    return cap * sqrt(y * y + 2 * y * (1 - y * y) * X / cap);
}

static void terms_of_scores(steps *t, int h, int i, int j)
{
    double R = dot_product(t->p.D, steps_cell(t, STEPS_Q, h, i, 0),
                           steps_cell(t, STEPS_K, t->reads[h], j, 0));
    double X = t->c * R, *U = steps_cell(t, STEPS_U, h, i, j);
    double bias = t->p.bias_H > 0 ? *steps_cell(t, STEPS_BIAS, h, i, j) : 0;
    *steps_cell(t, STEPS_R, h, i, j) = R;
    *steps_cell(t, STEPS_X, h, i, j) = X;
    *steps_cell(t, STEPS_S, h, i, j) = (t->p.softcap > 0 ? fabs(*U) + X : X) + fabs(bias);
    *U = t->p.softcap > 0 ? terms_of_softcap(t, *U, X) : X;
}

steps *steps_terms(const steps *a)
{
    steps *t = steps_copy(a);
    if (!t) return NULL;
    t->terms_of = a;
    t->c = fabs(a->c);
    for (int k = 0; k < STEPS_COUNT; k++)
        for (ptrdiff_t e = 0; k != STEPS_BIAS && e < steps_size(a, (steps_name)k); e++)
            t->at[k][e] = fabs(t->at[k][e]);
    for (int h = 0; h < a->p.H; h++)
        for (int i = 0; i < a->p.T; i++) {
            for (int j = 0; j < a->p.N; j++) terms_of_scores(t, h, i, j);
            terms_of_softmax(t, h, i);
        }
    steps_forward(t, STEPS_A);
    steps_backward(t);
    return t;
}
