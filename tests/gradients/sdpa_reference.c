/* sdpa_reference.c -- attention as its header defines it, cell by cell: what at_sdpa must give.
 *
 * Nothing here is fast, and nothing is taken from src/: where the three paths agree with each other and are
 * wrong alike, they disagree with this. */
#include "gradients/sdpa_problem.h"

#include <math.h>

/* Steps 1 to 4: s_ij = softcap(c s_h Q_i . K_j) + bias_ij */
static double reference_score(const sdpa_problem *p, const sdpa_call *c, int b, int h, int i, int j)
{
    const double cap = p->args.softcap;
    ptrdiff_t Q = sdpa_row(p, p->Q, p->H, b, h, i);
    ptrdiff_t K = sdpa_row(p, p->K, p->G, b, h / (p->H / p->G), j);
    double s = 0;
    for (int d = 0; d < p->D; d++) s += at_element(c->Q, Q + d) * at_element(c->K, K + d);
    s *= p->args.scale != 0 ? p->args.scale : p->D ? 1 / sqrt(p->D) : 1;
    if (p->args.temperature > 0) s /= p->args.temperature;
    if (c->head_scale) s *= at_element(c->head_scale, p->head_scale.ndim ? h : 0);
    if (cap > 0) s = cap * tanh(s / cap);
    return c->bias ? s + at_element(c->bias, sdpa_cell(p, p->bias, b, h, i, j)) : s;
}

/* Steps 5 to 7: row i of the weights before dropout, P [S], and after it, A [S]; its log-sum-exp */
static double reference_weights(const sdpa_problem *p, const sdpa_call *c, int b, int h, int i,
                                double *P, double *A)
{
    const double dropout = p->args.dropout;
    uint64_t cell = (uint64_t)(((ptrdiff_t)b * p->H + h) * p->T + i) * (uint64_t)p->S;
    const double sink = c->sink ? at_element(c->sink, p->sink.ndim ? h : 0) : -(double)INFINITY;
    double m = sink, l;
    for (int j = 0; j < p->S; j++) {
        A[j] = sdpa_keeps(p, b, h, i, j) ? reference_score(p, c, b, h, i, j) : -(double)INFINITY;
        m = fmax(m, A[j]);
    }
    l = sink > -(double)INFINITY ? exp(sink - m) : 0;
    for (int j = 0; j < p->S; j++) l += A[j] = A[j] > -(double)INFINITY ? exp(A[j] - m) : 0;
    for (int j = 0; j < p->S; j++) {
        bool dropped = at_random_u32(c->drops, cell + (uint64_t)j) < dropout * 0x1p32;
        P[j] = A[j] == 0 ? 0 : A[j] / l;
        A[j] = dropped ? 0 : P[j] / (1 - dropout);
    }
    return m > -(double)INFINITY ? m + log(l) : m;
}

/* Step 8: O_i = sum_j A_ij V_j */
static void reference_values(const sdpa_problem *p, const sdpa_call *c, int b, int h,
                             const double *A, double *O)
{
    for (int d = 0; d < p->Dv; d++) O[d] = 0;
    for (int j = 0; j < p->S; j++) {
        ptrdiff_t V = sdpa_row(p, p->V, p->G, b, h / (p->H / p->G), j);
        for (int d = 0; d < p->Dv; d++) O[d] += A[j] * at_element(c->V, V + d);
    }
}

void sdpa_reference(const sdpa_problem *p, const sdpa_call *c, double *O, double *A, double *P,
                    double *lse)
{
    at_shape of_O = p->Q;
    of_O.dim[of_O.ndim - 1] = p->args.heads ? p->H * p->Dv : p->Dv;
    for (int b = 0; b < p->B; b++)
        for (int h = 0; h < p->H; h++)
            for (int i = 0; i < p->T; i++, A += p->S, P += p->S) {
                *lse++ = reference_weights(p, c, b, h, i, P, A);
                reference_values(p, c, b, h, A, O + sdpa_row(p, of_O, p->H, b, h, i));
            }
}
