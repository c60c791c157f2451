/* right_answers.c -- four right backwards of attention; see right_answers.h. */
#include "course/right_answers.h"
#include "kernels/real.h"

#include <stdbool.h>

enum { HEADS = 6, SIZE = 8, TILE = 3 };

/* One problem with its inputs in REAL.  Heads of K and V are those of the group. */
typedef struct {
    int H, G, T, N, D, Dv;
    REAL c, cap;
    REAL Q[HEADS][SIZE][SIZE], K[HEADS][SIZE][SIZE], V[HEADS][SIZE][SIZE], dO[HEADS][SIZE][SIZE];
    REAL dW[HEADS][SIZE][SIZE], bias[HEADS][SIZE][SIZE], z[HEADS][SIZE][SIZE];
    bool keep[HEADS][SIZE][SIZE];
    REAL dQ[HEADS][SIZE][SIZE], dK[HEADS][SIZE][SIZE], dV[HEADS][SIZE][SIZE];
    REAL dS[HEADS][SIZE][SIZE], delta[HEADS][SIZE];
} right_case;

static void right_load(const steps *a, steps_name what, REAL to[HEADS][SIZE][SIZE])
{
    int dim[3];
    steps_dims(a, what, dim);
    for (int h = 0; h < dim[0]; h++)
        for (int i = 0; i < dim[1]; i++)
            for (int j = 0; j < dim[2]; j++) to[h][i][j] = (REAL)*steps_cell(a, what, h, i, j);
}

static void right_store(REAL from[HEADS][SIZE][SIZE], steps *a, steps_name what)
{
    int dim[3];
    steps_dims(a, what, dim);
    for (int h = 0; h < dim[0]; h++)
        for (int i = 0; i < dim[1]; i++)
            for (int j = 0; j < dim[2]; j++) *steps_cell(a, what, h, i, j) = (double)from[h][i][j];
}

static void right_open(right_case *x, const steps *a)
{
    const steps_problem *p = &a->p;
    *x = (right_case){.H = p->H, .G = p->G, .T = p->T, .N = p->N, .D = p->D, .Dv = p->Dv};
    REAL root = p->scale == 0 ? 1 / sqrt((REAL)p->D) : (REAL)p->scale;
    x->c = p->temperature > 0 ? root / (REAL)p->temperature : root;
    x->cap = (REAL)p->softcap;
    right_load(a, STEPS_Q, x->Q);
    right_load(a, STEPS_K, x->K);
    right_load(a, STEPS_V, x->V);
    right_load(a, STEPS_DO, x->dO);
    right_load(a, STEPS_Z, x->z);
    if (p->weights) right_load(a, STEPS_DW, x->dW);
    for (int h = 0; h < p->H; h++)
        for (int i = 0; i < p->T; i++)
            for (int j = 0; j < p->N; j++) {
                double bias = p->bias_H ? *steps_cell(a, STEPS_BIAS, h, i, j) : 0;
                x->keep[h][i][j] =
                    *steps_cell(a, STEPS_KEEP, 0, i, j) != 0 && bias > -(double)INFINITY;
                x->bias[h][i][j] = x->keep[h][i][j] ? (REAL)bias : 0;
            }
}

/* S_ij; the slope of the softcap, times c, is what turns dS into dR. */
static REAL right_score(const right_case *x, int h, int i, int j, REAL *slope)
{
    int g = h * x->G / x->H;
    REAL r = 0;
    for (int d = x->D - 1; d >= 0; d--) r += x->c * x->Q[h][i][d] * x->K[g][j][d];
    *slope = x->c;
    if (x->cap > 0) {
        REAL y = tanh(r / x->cap);
        *slope *= (1 - y) * (1 + y);
        r = x->cap * y;
    }
    return r + x->bias[h][i][j];
}

static REAL right_dP(const right_case *x, int h, int i, int j)
{
    int g = h * x->G / x->H;
    REAL dA = x->dW[h][i][j];
    for (int d = 0; d < x->Dv; d++) dA += x->V[g][j][d] * x->dO[h][i][d];
    return x->z[h][i][j] * dA;
}

/* dV, dQ and dK get their share of one cell. */
static void right_add_cell(right_case *x, int h, int i, int j, REAL P, REAL dS, REAL slope)
{
    int g = h * x->G / x->H;
    x->dS[h][i][j] = dS;
    for (int d = 0; d < x->Dv; d++) x->dV[g][j][d] += P * x->z[h][i][j] * x->dO[h][i][d];
    for (int d = 0; d < x->D; d++) x->dQ[h][i][d] += slope * dS * x->K[g][j][d];
    for (int d = 0; d < x->D; d++) x->dK[g][j][d] += slope * dS * x->Q[h][i][d];
}

/* P and the slopes of row i, with the maximum subtracted; false: it attends to no key. */
static bool right_row(const right_case *x, int h, int i, REAL P[SIZE], REAL slope[SIZE])
{
    REAL m = -(REAL)INFINITY, l = 0;
    for (int j = 0; j < x->N; j++) {
        P[j] = x->keep[h][i][j] ? right_score(x, h, i, j, &slope[j]) : -(REAL)INFINITY;
        m = P[j] > m ? P[j] : m;
    }
    if (m == -(REAL)INFINITY) return false;
    for (int j = 0; j < x->N; j++) l += P[j] = exp(P[j] - m);
    for (int j = 0; j < x->N; j++) P[j] /= l;
    return true;
}

static void right_jacobian(right_case *x, int h, int i)
{
    REAL P[SIZE], slope[SIZE];
    if (!right_row(x, h, i, P, slope)) return;
    for (int k = 0; k < x->N; k++) {
        REAL dS = 0;
        for (int j = 0; j < x->N && x->keep[h][i][k]; j++)
            if (x->keep[h][i][j]) dS += right_dP(x, h, i, j) * (P[j] * ((REAL)(j == k) - P[k]));
        if (x->keep[h][i][k]) right_add_cell(x, h, i, k, P[k], dS, slope[k]);
        if (x->keep[h][i][k]) x->delta[h][i] += P[k] * right_dP(x, h, i, k);
    }
}

static void right_matrices(right_case *x, int h)
{
    static REAL P[SIZE][SIZE], slope[SIZE][SIZE], dP[SIZE][SIZE], dR[SIZE][SIZE];
    bool some[SIZE];
    int g = h * x->G / x->H;
    for (int i = 0; i < x->T; i++) some[i] = right_row(x, h, i, P[i], slope[i]);
    for (int i = 0; i < x->T; i++)
        for (int j = x->N - 1; j >= 0; j--) {
            bool kept = x->keep[h][i][j] && some[i];
            dP[i][j] = kept ? right_dP(x, h, i, j) : 0;
            P[i][j] = kept ? P[i][j] : 0;
            slope[i][j] = kept ? slope[i][j] : 0;
            x->delta[h][i] += P[i][j] * dP[i][j];
        }
    for (int i = 0; i < x->T; i++)
        for (int j = 0; j < x->N; j++) {
            x->dS[h][i][j] = P[i][j] * (dP[i][j] - x->delta[h][i]);
            dR[i][j] = x->dS[h][i][j] * slope[i][j];
        }
    for (int i = x->T - 1; i >= 0; i--)
        for (int j = x->N - 1; j >= 0; j--) {
            for (int d = 0; d < x->Dv; d++)
                x->dV[g][j][d] += x->z[h][i][j] * P[i][j] * x->dO[h][i][d];
            for (int d = 0; d < x->D; d++) x->dQ[h][i][d] += dR[i][j] * x->K[g][j][d];
            for (int d = 0; d < x->D; d++) x->dK[g][j][d] += dR[i][j] * x->Q[h][i][d];
        }
}

static void right_columns(right_case *x, int h)
{
    static REAL P[SIZE][SIZE], slope[SIZE][SIZE];
    int g = h * x->G / x->H;
    bool some[SIZE];
    for (int i = 0; i < x->T; i++) {
        some[i] = right_row(x, h, i, P[i], slope[i]);
        for (int d = 0; d < x->Dv && some[i]; d++) {
            REAL O = 0;
            for (int j = 0; j < x->N; j++) O += P[i][j] * x->z[h][i][j] * x->V[g][j][d];
            x->delta[h][i] += x->dO[h][i][d] * O;
        }
        for (int j = 0; j < x->N && some[i]; j++)
            x->delta[h][i] += P[i][j] * x->z[h][i][j] * x->dW[h][i][j];
    }
    for (int j = 0; j < x->N; j++)
        for (int i = 0; i < x->T; i++) {
            if (!x->keep[h][i][j]) continue;
            REAL dS = P[i][j] * (right_dP(x, h, i, j) - x->delta[h][i]);
            right_add_cell(x, h, i, j, P[i][j], dS, slope[i][j]);
        }
}

/* Forward: m, l and O of a row, from tiles of keys, made smaller when a larger score turns up. */
static void right_online(const right_case *x, int h, int i, REAL *m, REAL *l, REAL *dO_dot_O)
{
    int g = h * x->G / x->H;
    *m = -(REAL)INFINITY, *l = 0, *dO_dot_O = 0;
    for (int j0 = 0; j0 < x->N; j0 += TILE) {
        REAL S[TILE], slope, most = *m;
        int n = j0 + TILE < x->N ? TILE : x->N - j0;
        for (int k = 0; k < n; k++) {
            S[k] = x->keep[h][i][j0 + k] ? right_score(x, h, i, j0 + k, &slope) : -(REAL)INFINITY;
            most = S[k] > most ? S[k] : most;
        }
        if (most == -(REAL)INFINITY) continue;
        REAL shrink = exp(*m - most);
        *l *= shrink, *dO_dot_O *= shrink, *m = most;
        for (int k = 0; k < n; k++) {
            REAL w = exp(S[k] - most), A = w * x->z[h][i][j0 + k], dA = x->dW[h][i][j0 + k];
            *l += w;
            for (int d = 0; d < x->Dv; d++) dA += x->V[g][j0 + k][d] * x->dO[h][i][d];
            if (x->keep[h][i][j0 + k]) *dO_dot_O += A * dA;
        }
    }
}

static void right_tiles(right_case *x, int h)
{
    REAL m[SIZE], l[SIZE];
    for (int i = 0; i < x->T; i++) {
        right_online(x, h, i, &m[i], &l[i], &x->delta[h][i]);
        x->delta[h][i] = l[i] > 0 ? x->delta[h][i] / l[i] : 0;
    }
    for (int j0 = 0; j0 < x->N; j0 += TILE)
        for (int i0 = 0; i0 < x->T; i0 += TILE)
            for (int j = j0; j < j0 + TILE && j < x->N; j++)
                for (int i = i0; i < i0 + TILE && i < x->T; i++) {
                    REAL slope;
                    if (!x->keep[h][i][j]) continue;
                    REAL P = exp(right_score(x, h, i, j, &slope) - m[i]) * (1 / l[i]);
                    REAL dS = P * (right_dP(x, h, i, j) - x->delta[h][i]);
                    right_add_cell(x, h, i, j, P, dS, slope);
                }
}

/* dbias: dS summed where the bias was broadcast, in REAL */
static void right_bias(const right_case *x, steps *to)
{
    REAL sum[HEADS][SIZE][SIZE] = {{{0}}};
    const steps_problem *p = &to->p;
    for (int h = 0; h < x->H; h++)
        for (int i = 0; i < x->T; i++)
            for (int j = 0; j < x->N; j++)
                sum[p->bias_H > 1 ? h : 0][p->bias_T > 1 ? i : 0][p->bias_N > 1 ? j : 0] +=
                    x->dS[h][i][j];
    right_store(sum, to, STEPS_DBIAS);
}

void AT_REAL(right_answer)(steps *to, right_algorithm by)
{
    static right_case x;
    right_open(&x, to);
    for (int h = 0; h < x.H; h++) {
        for (int i = 0; by == RIGHT_JACOBIAN && i < x.T; i++) right_jacobian(&x, h, i);
        if (by == RIGHT_MATRICES) right_matrices(&x, h);
        if (by == RIGHT_COLUMNS) right_columns(&x, h);
        if (by == RIGHT_TILES) right_tiles(&x, h);
    }
    right_store(x.dQ, to, STEPS_DQ);
    right_store(x.dK, to, STEPS_DK);
    right_store(x.dV, to, STEPS_DV);
    right_store(x.dS, to, STEPS_DS);
    right_bias(&x, to);
    for (int h = 0; h < x.H; h++)
        for (int i = 0; i < x.T; i++) *steps_cell(to, STEPS_DELTA, h, i, 0) = (double)x.delta[h][i];
}
