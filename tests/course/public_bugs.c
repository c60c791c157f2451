/* public_bugs.c -- wrong backwards that were reported in public; see public_bugs.h. */
#include "course/public_bugs.h"

#include <math.h>
#include <string.h>

enum {
    LIBND4J,
    TRITON_NEVER,
    TRITON_ALWAYS,
    FLAGGEMS,
    MSLK,
    ODYSSEY,
    FFPA,
    SPARSE,
    DIFFUSERS,
    FLAGATTENTION
};
const char *const public_bugs[PUBLIC_BUGS] = {
    "deeplearning4j/libnd4j#440",  "triton-lang/triton#7216",
    "triton-lang/triton#4541",     "flagos-ai/FlagGems#898",
    "meta-pytorch/MSLK#263",       "HomericIntelligence/Odyssey#2134",
    "xlite-dev/ffpa-attn#300",     "XunhaoLai/native-sparse-attention-triton#27",
    "huggingface/diffusers#14338", "flagos-ai/FlagAttention#1"};

enum { HEADS = 6, SIZE = 8 };

/* One attention and its wrong backward.  lse and O are those of the forward. */
typedef struct {
    int bug;
    steps *a;
    double P[HEADS][SIZE][SIZE], delta[HEADS][SIZE], lse[HEADS][SIZE];
} wrong_backward;

/* Which head and row of K and V the backward reads */
static const double *row_read(const wrong_backward *w, steps_name what, int h, int j)
{
    const int g = h / (w->a->p.H / w->a->p.G);
    return w->bug == DIFFUSERS ? steps_cell(w->a, what, j, g, 0) : steps_cell(w->a, what, g, j, 0);
}

static double score_read(const wrong_backward *w, int h, int i, int j)
{
    const double *Q = steps_cell(w->a, STEPS_Q, h, i, 0), *K = row_read(w, STEPS_K, h, j);
    double sum = 0;
    for (int d = 0; d < w->a->p.D; d++) sum += w->a->c * Q[d] * K[d];
    return sum;
}

static bool reads(const wrong_backward *w, int h, int i, int j)
{
    switch (w->bug) {
    case TRITON_NEVER: return true;
    case TRITON_ALWAYS:
    case FFPA: return j <= i;
    default: return steps_attends(w->a, h, i, j);
    }
}

static void compute_P(wrong_backward *w, int h, int i)
{
    double sum = 0;
    for (int j = 0; j < w->a->p.N; j++)
        if (steps_attends(w->a, h, i, j)) sum += exp(*steps_cell(w->a, STEPS_S, h, i, j));
    for (int j = 0; j < w->a->p.N; j++)
        w->P[h][i][j] = reads(w, h, i, j) ? exp(score_read(w, h, i, j)) / sum : 0;
}

/* dO.O of a row; of another row where memory is read in the wrong order */
static void compute_delta(wrong_backward *w, int h, int i)
{
    const int H = w->a->p.H, row = h * w->a->p.T + i;
    const bool moved = w->bug == FLAGATTENTION;
    const double *dO = steps_cell(w->a, STEPS_DO, moved ? row % H : h, moved ? row / H : i, 0);
    const double *O = steps_cell(w->a, STEPS_O, moved ? row % H : h, moved ? row / H : i, 0);
    w->delta[h][i] = 0;
    for (int d = 0; d < w->a->p.Dv; d++) w->delta[h][i] += dO[d] * O[d];
}

static double dP_of(const wrong_backward *w, int h, int i, int j, int elements)
{
    const double *dO = steps_cell(w->a, STEPS_DO, h, i, 0), *V = row_read(w, STEPS_V, h, j);
    double sum = 0;
    for (int d = 0; d < elements; d++) sum += dO[d] * V[d];
    return sum;
}

static double dR_of(const wrong_backward *w, int h, int i, int j, double dP)
{
    const double P = w->P[h][i][j];
    if (w->bug == LIBND4J) return w->a->c * P * (1 - P) * dP;
    return w->a->c * P * (dP - (w->bug == ODYSSEY ? 0 : w->delta[h][i]));
}

static void add_cell(wrong_backward *w, int h, int i, int j)
{
    const steps_problem *p = &w->a->p;
    const int g = h / (p->H / p->G), few = w->bug == SPARSE ? p->D : p->Dv;
    const double dR = dR_of(w, h, i, j, dP_of(w, h, i, j, p->Dv));
    const double dR_of_dQ = dR_of(w, h, i, j, dP_of(w, h, i, j, few));
    double *dQ = steps_cell(w->a, STEPS_DQ, h, i, 0), *dK = steps_cell(w->a, STEPS_DK, g, j, 0);
    double *dV = steps_cell(w->a, STEPS_DV, g, j, 0);
    const double *Q = steps_cell(w->a, STEPS_Q, h, i, 0), *K = row_read(w, STEPS_K, h, j);
    const double *dO = steps_cell(w->a, STEPS_DO, h, i, 0);
    for (int d = 0; d < p->D; d++) dQ[d] += dR_of_dQ * K[d], dK[d] += dR * Q[d];
    for (int d = 0; d < p->Dv; d++) dV[d] += w->P[h][i][j] * dO[d];
}

/* Blocks of 4 keys: of 6, two padded rows of 0 fall upon the first two of the next head. */
static void store_padded(steps *a)
{
    const int padded = (4 - a->p.N % 4) % 4;
    for (int g = 1; g < a->p.G; g++)
        memset(steps_cell(a, STEPS_DV, g, 0, 0), 0,
               (size_t)padded * (size_t)a->p.Dv * sizeof(double));
}

static void break_backward(int bug, steps *a)
{
    static wrong_backward w;
    w.bug = bug, w.a = a;
    for (steps_name k = STEPS_DV; k <= STEPS_DK; k++)
        if (k == STEPS_DV || k == STEPS_DQ || k == STEPS_DK)
            memset(a->at[k], 0, (size_t)steps_size(a, k) * sizeof(double));
    for (int h = 0; h < a->p.H; h++)
        for (int i = 0; i < a->p.T; i++) {
            compute_P(&w, h, i);
            compute_delta(&w, h, i);
            for (int j = 0; j < a->p.N; j++)
                if (reads(&w, h, i, j)) add_cell(&w, h, i, j);
        }
    if (bug == FLAGGEMS) store_padded(a);
}

/* Keys from i - 1 on up to i */
static void set_window(steps *a)
{
    for (int i = 0; i < a->p.T; i++)
        for (int j = 0; j < a->p.N; j++) *steps_cell(a, STEPS_KEEP, 0, i, j) = j <= i && j >= i - 1;
}

given *public_bug(int bug, uint64_t seed)
{
    const steps_problem square = {.H = 4, .G = 4, .T = 6, .N = 6, .D = 3, .Dv = 3},
                        longer = {.H = 4, .G = 2, .T = 5, .N = 7, .D = 3, .Dv = 5},
                        heads = {.H = 5, .G = 5, .T = 5, .N = 5, .D = 3, .Dv = 4};
    const bool is_longer = bug == FFPA || bug == SPARSE;
    given *g = given_open(seed, 2, is_longer ? &longer : bug == DIFFUSERS ? &heads : &square);
    if (bug == TRITON_NEVER) given_causal(g, 0);
    if (bug == FFPA) given_causal(g, 2);
    for (int b = 0; b < g->B; b++) {
        steps *a = g->a[b], *full = steps_copy(a);
        if (bug != MSLK) break_backward(bug, a);
        if (bug == MSLK) set_window(a), steps_forward(a, STEPS_R), steps_backward(a);
        for (int k = GRADIENTS_DQ; bug == MSLK && k <= GRADIENTS_DV; k++)
            memcpy(a->at[gradients_names[k]], full->at[gradients_names[k]],
                   (size_t)steps_size(a, gradients_names[k]) * sizeof(double));
        steps_close(full);
    }
    given_round(g, 24);
    given_write(g);
    if (bug == MSLK) given_mask(g);
    if (bug == TRITON_NEVER || bug == FFPA) given_number(g, "causal", 1);
    return g;
}
