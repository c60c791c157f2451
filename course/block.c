/* block.c -- a whole attention block, forward and backward; see block.h.
 *
 *     X Y [T,C]   Q O [T,H D], [T,H Dv]   K V [T,G D], [T,G Dv]   R S P [H,T,T]   delta [H,T]
 *
 *     forward                               backward
 *     Q = X W_q                             dX_Q = dQ W_q^T,  dW_q = X^T dQ
 *     K = X W_k                             dX_K = dK W_k^T,  dW_k = X^T dK
 *     V = X W_v                             dX_V = dV W_v^T,  dW_v = X^T dV
 *     split into heads                      merge
 *     P_h, O_h: steps.h                     dV_h, dP_h, delta_h, dS_h, dR_h, dQ_h, dK_h: steps.h
 *     merge                                 split
 *     O W_o                                 dO = dY W_o^T,    dW_o = O^T dY
 *     Y = X + O W_o                         dX_res = dY
 *
 *     dX = dX_res + dX_Q + dX_K + dX_V
 *
 * To split and to merge moves numbers and changes none, so each undoes the other. */
#include "block.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ memory --------------------- */

/* What the heads hold; STEPS_COUNT: the block holds it itself. */
static steps_name name_in_heads(block_name what)
{
    switch (what) {
    case BLOCK_R: return STEPS_R;
    case BLOCK_S: return STEPS_S;
    case BLOCK_P: return STEPS_P;
    case BLOCK_DP: return STEPS_DP;
    case BLOCK_DELTA: return STEPS_DELTA;
    case BLOCK_DS: return STEPS_DS;
    case BLOCK_DR: return STEPS_DR;
    default: return STEPS_COUNT;
    }
}

/* Rows and columns of what the block holds itself */
static void set_dims(const block_problem *p, block_name what, int dim[3])
{
    int rows = p->T, columns = p->C;
    switch (what) {
    case BLOCK_WQ:
    case BLOCK_DWQ: rows = p->C, columns = p->H * p->D; break;
    case BLOCK_WK:
    case BLOCK_DWK: rows = p->C, columns = p->G * p->D; break;
    case BLOCK_WV:
    case BLOCK_DWV: rows = p->C, columns = p->G * p->Dv; break;
    case BLOCK_WO:
    case BLOCK_DWO: rows = p->H * p->Dv; break;
    case BLOCK_Q:
    case BLOCK_DQ: columns = p->H * p->D; break;
    case BLOCK_K:
    case BLOCK_DK: columns = p->G * p->D; break;
    case BLOCK_V:
    case BLOCK_DV: columns = p->G * p->Dv; break;
    case BLOCK_O:
    case BLOCK_DO: columns = p->H * p->Dv; break;
    default: break;
    }
    dim[0] = 1, dim[1] = rows, dim[2] = columns;
}

ptrdiff_t block_size(const block *b, block_name what)
{
    const int *dim = b->dim[what];
    return (ptrdiff_t)dim[0] * dim[1] * dim[2];
}

double *block_cell(const block *b, block_name what, int head, int row, int column)
{
    const int *dim = b->dim[what];
    return b->at[what] + ((ptrdiff_t)head * dim[1] + row) * dim[2] + column;
}

/* Where everything is; false: no memory. */
static bool place(block *b)
{
    ptrdiff_t total = 0;
    for (block_name k = 0; k < BLOCK_COUNT; k++) {
        const steps_name in = name_in_heads(k);
        if (in == STEPS_COUNT)
            set_dims(&b->p, k, b->dim[k]);
        else
            steps_dims(b->heads, in, b->dim[k]);
        total += in == STEPS_COUNT ? block_size(b, k) : 0;
    }
    double *all = calloc((size_t)total, sizeof *all);
    if (!all) return false;
    for (block_name k = 0; k < BLOCK_COUNT; k++) {
        const steps_name in = name_in_heads(k);
        b->at[k] = in == STEPS_COUNT ? all : b->heads->at[in];
        all += in == STEPS_COUNT ? block_size(b, k) : 0;
    }
    return true;
}

/* A block around these heads, which it owns; NULL: no memory, or there are no heads. */
static block *block_around(const block_problem *p, steps *heads)
{
    block *b = heads ? malloc(sizeof *b) : NULL;
    if (b) *b = (block){.p = *p, .heads = heads};
    if (b && place(b)) return b;
    steps_close(heads);
    free(b);
    return NULL;
}

block *block_open(const block_problem *p)
{
    steps *heads =
        steps_open(&(steps_problem){.H = p->H,
                                    .G = p->G,
                                    .T = p->T,
                                    .N = p->T,
                                    .D = p->D,
                                    .Dv = p->Dv,
                                    .scale = p->scale_log > 0 ? log(p->scale_log) : p->scale});
    for (int i = 0; heads && p->causal && i < p->T; i++)
        for (int j = i + 1; j < p->T; j++) *steps_cell(heads, STEPS_KEEP, 0, i, j) = 0;
    return block_around(p, heads);
}

static block *copy_around(const block *b, steps *heads)
{
    block *copy = block_around(&b->p, heads);
    for (block_name k = 0; copy && k < BLOCK_COUNT; k++)
        if (name_in_heads(k) == STEPS_COUNT)
            memcpy(copy->at[k], b->at[k], (size_t)block_size(b, k) * sizeof(double));
    return copy;
}

block *block_copy(const block *b)
{
    return copy_around(b, steps_copy(b->heads));
}

void block_close(block *b)
{
    if (!b) return;
    steps_close(b->heads);
    free(b->at[0]);
    free(b);
}

/* ------------------------------------------------------------------ heads ---------------------- */

/* merged [T,n width]:  column h width + d of row t  <->  element (h, t, d) of heads [n,T,width] */
void block_split(int n, int T, int width, const double *merged, double *heads)
{
    for (int h = 0; h < n; h++)
        for (int t = 0; t < T; t++)
            for (int d = 0; d < width; d++)
                heads[(h * T + t) * width + d] = merged[t * n * width + h * width + d];
}

void block_merge(int n, int T, int width, const double *heads, double *merged)
{
    for (int h = 0; h < n; h++)
        for (int t = 0; t < T; t++)
            for (int d = 0; d < width; d++)
                merged[t * n * width + h * width + d] = heads[(h * T + t) * width + d];
}

static void split(const block *b, block_name from, steps_name to)
{
    const int *dim = b->heads->dim[to];
    block_split(dim[0], dim[1], dim[2], b->at[from], b->heads->at[to]);
}

static void merge(const block *b, steps_name from, block_name to)
{
    const int *dim = b->heads->dim[from];
    block_merge(dim[0], dim[1], dim[2], b->heads->at[from], b->at[to]);
}

/* ------------------------------------------------------------------ products ------------------- */

/* Z = X W */
static void multiply(const block *b, block_name X, block_name W, block_name Z)
{
    for (int i = 0; i < b->dim[Z][1]; i++)
        for (int j = 0; j < b->dim[Z][2]; j++) {
            double sum = 0;
            for (int k = 0; k < b->dim[X][2]; k++)
                sum += *block_cell(b, X, 0, i, k) * *block_cell(b, W, 0, k, j);
            *block_cell(b, Z, 0, i, j) = sum;
        }
}

/* dX = dZ W^T */
static void multiply_right(const block *b, block_name dZ, block_name W, block_name dX)
{
    for (int i = 0; i < b->dim[dX][1]; i++)
        for (int k = 0; k < b->dim[dX][2]; k++) {
            double sum = 0;
            for (int j = 0; j < b->dim[dZ][2]; j++)
                sum += *block_cell(b, dZ, 0, i, j) * *block_cell(b, W, 0, k, j);
            *block_cell(b, dX, 0, i, k) = sum;
        }
}

/* dW = X^T dZ */
static void multiply_left(const block *b, block_name X, block_name dZ, block_name dW)
{
    for (int k = 0; k < b->dim[dW][1]; k++)
        for (int j = 0; j < b->dim[dW][2]; j++) {
            double sum = 0;
            for (int i = 0; i < b->dim[X][1]; i++)
                sum += *block_cell(b, X, 0, i, k) * *block_cell(b, dZ, 0, i, j);
            *block_cell(b, dW, 0, k, j) = sum;
        }
}

/* ------------------------------------------------------------------ the forward ---------------- */

/* R, S, P and O are computed by the heads; `first` is the first of them that is. */
static void forward_heads(block *b, block_name first)
{
    split(b, BLOCK_Q, STEPS_Q), split(b, BLOCK_K, STEPS_K), split(b, BLOCK_V, STEPS_V);
    steps_forward(b->heads, first == BLOCK_S   ? STEPS_X
                            : first == BLOCK_P ? STEPS_P
                            : first == BLOCK_O ? STEPS_A
                                               : STEPS_R);
    merge(b, STEPS_O, BLOCK_O);
}

static void add_residual(block *b)
{
    for (ptrdiff_t e = 0; e < block_size(b, BLOCK_Y); e++)
        b->at[BLOCK_Y][e] = b->at[BLOCK_X_RES][e] + b->at[BLOCK_OW][e];
}

void block_forward(block *b, block_name first)
{
    for (block_name use = BLOCK_X_RES; use <= BLOCK_X_V; use++)
        if (first <= use)
            memcpy(b->at[use], b->at[BLOCK_X], (size_t)block_size(b, use) * sizeof(double));
    if (first <= BLOCK_Q) multiply(b, BLOCK_X_Q, BLOCK_WQ, BLOCK_Q);
    if (first <= BLOCK_K) multiply(b, BLOCK_X_K, BLOCK_WK, BLOCK_K);
    if (first <= BLOCK_V) multiply(b, BLOCK_X_V, BLOCK_WV, BLOCK_V);
    if (first <= BLOCK_O) forward_heads(b, first);
    if (first <= BLOCK_OW) multiply(b, BLOCK_O, BLOCK_WO, BLOCK_OW);
    if (first <= BLOCK_Y) add_residual(b);
}

double block_loss(const block *b)
{
    double sum = 0;
    for (ptrdiff_t e = 0; e < block_size(b, BLOCK_Y); e++)
        sum += b->at[BLOCK_DY][e] * b->at[BLOCK_Y][e];
    return sum;
}

/* ------------------------------------------------------------------ the backward --------------- */

static void add_terms(block *b)
{
    for (ptrdiff_t e = 0; e < block_size(b, BLOCK_DX); e++)
        b->at[BLOCK_DX][e] = b->at[BLOCK_DX_RES][e] + b->at[BLOCK_DX_Q][e] + b->at[BLOCK_DX_K][e] +
                             b->at[BLOCK_DX_V][e];
}

/* The steps of the heads up to `last`, from the one after `before` on */
static void gradients_of_heads(block *b, steps_name before, steps_name last)
{
    for (steps_name what = before + 1; what <= last; what++) steps_gradient(b->heads, what);
}

void block_gradient(block *b, block_name what)
{
    switch (what) {
    case BLOCK_DO: multiply_right(b, BLOCK_DY, BLOCK_WO, BLOCK_DO); break;
    case BLOCK_DV:
        split(b, BLOCK_DO, STEPS_DO);
        steps_gradient(b->heads, STEPS_DV);
        merge(b, STEPS_DV, BLOCK_DV);
        break;
    case BLOCK_DP: gradients_of_heads(b, STEPS_DV, STEPS_DP); break;
    case BLOCK_DELTA: steps_gradient(b->heads, STEPS_DELTA); break;
    case BLOCK_DS: steps_gradient(b->heads, STEPS_DS); break;
    case BLOCK_DR: gradients_of_heads(b, STEPS_DS, STEPS_DR); break;
    case BLOCK_DQ: steps_gradient(b->heads, STEPS_DQ), merge(b, STEPS_DQ, BLOCK_DQ); break;
    case BLOCK_DK: steps_gradient(b->heads, STEPS_DK), merge(b, STEPS_DK, BLOCK_DK); break;
    case BLOCK_DX_RES:
        memcpy(b->at[what], b->at[BLOCK_DY], (size_t)block_size(b, what) * sizeof(double));
        break;
    case BLOCK_DX_Q: multiply_right(b, BLOCK_DQ, BLOCK_WQ, what); break;
    case BLOCK_DX_K: multiply_right(b, BLOCK_DK, BLOCK_WK, what); break;
    case BLOCK_DX_V: multiply_right(b, BLOCK_DV, BLOCK_WV, what); break;
    case BLOCK_DX: add_terms(b); break;
    case BLOCK_DWQ: multiply_left(b, BLOCK_X, BLOCK_DQ, what); break;
    case BLOCK_DWK: multiply_left(b, BLOCK_X, BLOCK_DK, what); break;
    case BLOCK_DWV: multiply_left(b, BLOCK_X, BLOCK_DV, what); break;
    case BLOCK_DWO: multiply_left(b, BLOCK_O, BLOCK_DY, what); break;
    default: break;
    }
}

void block_backward(block *b)
{
    for (block_name what = BLOCK_DO; what < BLOCK_COUNT; what++) block_gradient(b, what);
}

/* ------------------------------------------------------------------ the example, drawn ones ---- */

block *block_paper(int G)
{
    static const double X[] = {0, 1, 2, 0, 1, 0}, W_q[] = {1, 1, 0, 1}, W_k[] = {1, 0, 1, 1},
                        W_v[] = {0, 2, 1, 0}, W_k_shared[] = {1, 1}, W_v_shared[] = {2, 0},
                        W_o[] = {1, 1, 2, 0}, dY[] = {0, 1, 2, 1, 1, 0};
    block *b = block_open(&(block_problem){
        .T = 3, .C = 2, .H = 2, .G = G, .D = 1, .Dv = 1, .scale_log = 3, .causal = true});
    const struct {
        block_name what;
        const double *values;
    } given[] = {{BLOCK_X, X},
                 {BLOCK_WQ, W_q},
                 {BLOCK_WK, G == 1 ? W_k_shared : W_k},
                 {BLOCK_WV, G == 1 ? W_v_shared : W_v},
                 {BLOCK_WO, W_o},
                 {BLOCK_DY, dY}};
    if (!b) return NULL;
    for (size_t k = 0; k < sizeof given / sizeof *given; k++)
        memcpy(b->at[given[k].what], given[k].values,
               (size_t)block_size(b, given[k].what) * sizeof(double));
    block_forward(b, BLOCK_X_RES);
    block_backward(b);
    return b;
}

/* splitmix64 (Steele, Lea, Flood 2014); a multiple of 1/8 that is not 0, from -1 to 1 */
static double draw_eighth(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    const int n = (int)((x ^ (x >> 31)) % 16) - 8;
    return (n < 0 ? n : n + 1) / 8.0;
}

/* The matrices are half as large as the tokens: else the scores are so large that a softmax chooses
 * one token, and hides what is wrong. */
block *block_draw(uint64_t seed, const block_problem *p)
{
    static const block_name drawn[] = {BLOCK_X, BLOCK_WQ, BLOCK_WK, BLOCK_WV, BLOCK_WO, BLOCK_DY};
    block *b = block_open(p);
    if (!b) return NULL;
    for (size_t k = 0; k < sizeof drawn / sizeof *drawn; k++)
        for (ptrdiff_t e = 0; e < block_size(b, drawn[k]); e++)
            b->at[drawn[k]][e] =
                draw_eighth(&seed) / (drawn[k] == BLOCK_X || drawn[k] == BLOCK_DY ? 1 : 2);
    block_forward(b, BLOCK_X_RES);
    block_backward(b);
    return b;
}

/* ------------------------------------------------------------------ differences ---------------- */

/* What is computed first from each that has a gradient. */
static block_name first_that_reads(block_name what)
{
    switch (what) {
    case BLOCK_X: return BLOCK_X_RES;
    case BLOCK_X_RES: return BLOCK_Y;
    case BLOCK_WQ:
    case BLOCK_X_Q: return BLOCK_Q;
    case BLOCK_WK:
    case BLOCK_X_K: return BLOCK_K;
    case BLOCK_WV:
    case BLOCK_X_V: return BLOCK_V;
    case BLOCK_Q:
    case BLOCK_K: return BLOCK_R;
    case BLOCK_V: return BLOCK_O;
    case BLOCK_WO: return BLOCK_OW;
    default: return what + 1;
    }
}

/* An element of a copy that moves; or `n` of them, each times 1 + h. */
typedef struct {
    block *moved;
    const block *b;
    block_name what; /* what is moved */
    ptrdiff_t e;
    int n; /* 0: one element, and h is added */
} moved_block;

static void move(const moved_block *m, double h)
{
    const double *x = m->b->at[m->what] + m->e;
    double *to = m->moved->at[m->what] + m->e;
    if (m->n == 0) *to = *x + h;
    for (int k = 0; k < m->n; k++) to[k] = x[k] * (1 + h);
    block_forward(m->moved, first_that_reads(m->what));
}

static double loss_of_moved(void *ctx, double h)
{
    const moved_block *m = ctx;
    move(m, h);
    return block_loss(m->moved);
}

/* The first h: 1/32 of the size of the element, but no score moves by more than 1: beyond, the softmax
 * is flat, and a loss that has stopped to move looks like one that never did. */
static double first_h(const moved_block *m)
{
    const double size = fmax(1, fabs(m->b->at[m->what][m->e]));
    for (double h = exp2(ceil(log2(size)) - 5);; h /= 2) {
        double most = 0;
        for (int side = -1; side <= 1; side += 2) {
            move(m, side * 2 * h);
            for (ptrdiff_t e = 0; e < block_size(m->b, BLOCK_R); e++)
                most = fmax(
                    most, fabs(m->b->heads->c * (m->moved->at[BLOCK_R][e] - m->b->at[BLOCK_R][e])));
        }
        if (most <= 1 || !isfinite(most)) return h;
    }
}

/* By how much the loss may be rounded: 1e-16 of the terms that it is a sum of. */
static double rounding_of(const block *b)
{
    block *t = block_terms(b);
    double sum = t ? block_loss(t) : (double)NAN;
    block_close(t);
    return DBL_EPSILON * sum;
}

double block_difference(const block *b, block_name gradient, ptrdiff_t e, double *unsure)
{
    const bool delta = gradient == BLOCK_DELTA;
    const block_name what = delta ? BLOCK_P : block_texts[gradient].gradient_of;
    moved_block m = {.moved = block_copy(b), .b = b, .what = what, .e = e};
    double best = (double)NAN;
    if (delta) m.e = e * b->p.T, m.n = b->p.T;
    *unsure = (double)INFINITY;
    if (b->at[m.what][m.e] == -(double)INFINITY) {
        best = *unsure = 0; /* masked: not read */
    } else if (m.moved) {
        best = steps_derivative(loss_of_moved, &m, first_h(&m), rounding_of(b), unsure);
    }
    block_close(m.moved);
    return best;
}

/* ------------------------------------------------------------------ absolute terms ------------- */

/* The heads of b with the sums of absolute terms in place of Q, K and V: P is the right one. */
static steps *terms_of_heads(const block *b, const block *sums)
{
    steps *a = steps_copy(b->heads), *t = NULL;
    block with = *sums;
    with.heads = a;
    if (a) {
        split(&with, BLOCK_Q, STEPS_Q), split(&with, BLOCK_K, STEPS_K);
        split(&with, BLOCK_V, STEPS_V);
        t = steps_terms(a);
    }
    if (t) t->terms_of = b->heads;
    steps_close(a);
    return t;
}

block *block_terms(const block *b)
{
    block *sums = block_copy(b);
    for (block_name k = 0; sums && k < BLOCK_COUNT; k++)
        for (ptrdiff_t e = 0; k != BLOCK_S && e < block_size(b, k); e++)
            sums->at[k][e] = fabs(sums->at[k][e]);
    if (!sums) return NULL;
    block_forward(sums, BLOCK_X_RES);
    block *t = copy_around(sums, terms_of_heads(b, sums));
    block_close(sums);
    if (!t) return NULL;
    merge(t, STEPS_O, BLOCK_O);
    block_forward(t, BLOCK_OW);
    block_backward(t);
    return t;
}
