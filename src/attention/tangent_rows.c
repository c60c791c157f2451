/* tangent_rows.c -- attention and its tangent row by row: tangent.c line by line. */
#include "attention/plain_row.h"
#include "kernels/real.h"

#include <string.h>

/* x.y, and y += a x; what is not given, or not wanted, is left out */
static REAL tangent_dot(int n, const REAL *x, const REAL *y)
{
    return x && y ? row_dot(n, x, y) : 0;
}
static void tangent_add(int n, REAL a, const REAL *x, REAL *y)
{
    if (x && y) row_axpy(n, a, x, y);
}
static REAL tangent_cell(const plain_row *r, REAL *cells, int j)
{
    return cells ? plain_cells(r, cells)[j] : 0;
}

/* What is saved of the row beside m and 1/l. */
static REAL *tangent_saved(const plain_row *r)
{
    return r->x.dot->saved + AT_SDPA_SAVED * at_sdpa_row_number(r->p, r->b, r->h, r->i);
}

/* 1 to 4: w_k = Sdot_ij, bend_k */
static void tangent_row_scores(plain_row *r)
{
    const sdpa_operands *x = &r->x, *dot = x->dot;
    const REAL c = (REAL)r->p->c, cap = (REAL)r->p->cap;
    const int D = r->p->D;
    for (int k = 0; k < r->n; k++) {
        const int j = r->key[k];
        REAL Sdot = c * (tangent_dot(D, plain_q(r, dot->Q), plain_k(r, x->K, j)) +
                         tangent_dot(D, plain_q(r, x->Q), plain_k(r, dot->K, j)));
        if (r->p->cap > 0) {
            Sdot *= r->slope[k];
            r->bend[k] = -2 * tanh(plain_scaled(r, j) / cap) * Sdot / cap;
        }
        r->w[k] = dot->bias ? Sdot + *plain_bias(r, dot->bias, j) : Sdot;
    }
}

/* 6: w = Sdot - ref - mu; saves mu and ref */
static void tangent_row_weights(plain_row *r)
{
    REAL ref = 0, mu = 0;
    for (int k = r->n - 1; k >= 0; k--)
        if (VALUE(r->S[k]) == VALUE(r->m)) ref = r->w[k]; /* the first one */
    for (int k = 0; k < r->n; k++) r->w[k] -= ref;
    for (int k = 0; k < r->n; k++) mu += r->P[k] * r->w[k];
    for (int k = 0; k < r->n; k++) r->w[k] -= mu;
    tangent_saved(r)[0] = mu;
    tangent_saved(r)[1] = ref;
}

static void tangent_row_forward(plain_row *r, REAL *saved)
{
    const int Dv = r->p->Dv;
    REAL *Odot = plain_o(r, r->x.dot->O);
    plain_row_forward(r, saved);
    plain_row_again(r, saved);
    tangent_row_scores(r);
    tangent_row_weights(r);
    memset(Odot, 0, (size_t)Dv * sizeof *Odot);
    for (int k = 0; k < r->n; k++) {
        const REAL A = r->P[k] * r->z[k];
        r->w[k] *= A; /* Adot */
        tangent_add(Dv, r->w[k], plain_v(r, r->x.V, r->key[k]), Odot);
        tangent_add(Dv, A, plain_v(r, r->x.dot->V, r->key[k]), Odot);
    }
    plain_spread(r, r->w, r->x.dot->weights);
}

/* delta_i and deltadot_i */
static void tangent_row_deltas(const plain_row *r, REAL *delta, REAL *deltadot)
{
    const sdpa_operands *x = &r->x, *dot = x->dot;
    const int Dv = r->p->Dv;
    *delta = tangent_dot(Dv, plain_o(r, x->dO), plain_o(r, x->O));
    *deltadot = tangent_dot(Dv, plain_o(r, dot->dO), plain_o(r, x->O)) +
                tangent_dot(Dv, plain_o(r, x->dO), plain_o(r, dot->O));
    for (int k = 0; k < r->n; k++) {
        const REAL A = r->P[k] * r->z[k], dW = tangent_cell(r, x->dW, r->key[k]);
        *delta += A * dW;
        *deltadot += A * r->w[k] * dW + A * tangent_cell(r, dot->dW, r->key[k]);
    }
}

/* 8 upwards, cell (i,j): dA and dAdot */
static void tangent_row_values(const plain_row *r, int k, REAL *dA, REAL *dAdot)
{
    const sdpa_operands *x = &r->x, *dot = x->dot;
    const int Dv = r->p->Dv, j = r->key[k];
    const REAL *dO = plain_o(r, x->dO), *dOdot = plain_o(r, dot->dO), A = r->P[k] * r->z[k];
    const REAL *V = plain_v(r, x->V, j);
    *dA = tangent_dot(Dv, dO, V) + tangent_cell(r, x->dW, j);
    *dAdot = tangent_dot(Dv, dOdot, V) + tangent_dot(Dv, dO, plain_v(r, dot->V, j)) +
             tangent_cell(r, dot->dW, j);
    tangent_add(Dv, A, dO, plain_v(r, x->dV, j));
    tangent_add(Dv, A * r->w[k], dO, plain_v(r, dot->dV, j));
    tangent_add(Dv, A, dOdot, plain_v(r, dot->dV, j));
}

/* 2 and 1 upwards, cell (i,j), c included in dX and dXdot */
static void tangent_row_keys(const plain_row *r, int j, REAL dX, REAL dXdot)
{
    const sdpa_operands *x = &r->x, *dot = x->dot;
    const int D = r->p->D;
    const REAL *Q = plain_q(r, x->Q), *K = plain_k(r, x->K, j);
    tangent_add(D, dX, K, plain_q(r, x->dQ));
    tangent_add(D, dX, Q, plain_k(r, x->dK, j));
    tangent_add(D, dXdot, K, plain_q(r, dot->dQ));
    tangent_add(D, dX, plain_k(r, dot->K, j), plain_q(r, dot->dQ));
    tangent_add(D, dXdot, Q, plain_k(r, dot->dK, j));
    tangent_add(D, dX, plain_q(r, dot->Q), plain_k(r, dot->dK, j));
}

static void tangent_row_backward(plain_row *r, REAL *saved)
{
    const sdpa_operands *x = &r->x, *dot = x->dot;
    const REAL c = (REAL)r->p->c;
    REAL delta, deltadot, dA, dAdot;
    plain_row_again(r, saved);
    tangent_row_scores(r);
    tangent_row_weights(r);
    tangent_row_deltas(r, &delta, &deltadot);
    for (int k = 0; k < r->n; k++) {
        const REAL P = r->P[k], z = r->z[k];
        tangent_row_values(r, k, &dA, &dAdot);
        const REAL t = z * dA - delta, tdot = z * dAdot - deltadot;
        REAL dS = P * t, dSdot = P * (r->w[k] * t + tdot);
        if (x->dbias) *plain_bias(r, x->dbias, r->key[k]) += dS;
        if (dot->dbias) *plain_bias(r, dot->dbias, r->key[k]) += dSdot;
        if (r->p->cap > 0) dSdot = dSdot * r->slope[k] + dS * r->bend[k], dS *= r->slope[k];
        tangent_row_keys(r, r->key[k], c * dS, c * dSdot);
    }
}

/* w and bend lie before key, whose elements are smaller. */
static plain_row tangent_rows_of(at_node *n)
{
    plain_row r = plain_rows_of(n);
    r.w = r.z + r.p->N;
    r.bend = r.w + r.p->N;
    r.key = at_sdpa_after(r.bend, (size_t)r.p->N * sizeof(REAL));
    return r;
}

void AT_REAL(tangent_rows_forward)(at_node *n)
{
    sdpa_operands dot;
    plain_row r = tangent_rows_of(n);
    sdpa_tangents_of(n, &r.x, &dot);
    plain_each(&r, tangent_row_forward);
}

void AT_REAL(tangent_rows_backward)(at_node *n)
{
    sdpa_operands dot;
    plain_row r = tangent_rows_of(n);
    sdpa_tangents_back(n, &r.x, &dot);
    plain_each(&r, tangent_row_backward);
}
