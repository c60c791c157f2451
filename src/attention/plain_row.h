/* plain_row.h -- one row of attention, computed as reference.c derives it. */
#ifndef AT_ATTENTION_PLAIN_ROW_H
#define AT_ATTENTION_PLAIN_ROW_H
#include "attention/operands.h"
#include "kernels/real.h"
#include "kernels/rows.h"

/* Row i of head h in batch b.  It keeps the keys key[0] .. key[n-1]; entry k of S, slope, P and z
 * is of key[k]: what is masked does not even have a place here. */
typedef struct {
    const at_sdpa_plan *p;
    int b, h, i;
    int n, *key;
    REAL *S, *slope, *P, *z; /* slope = d/dX U */
    REAL m, one_over_l;
    REAL *w, *bend; /* with tangents: see tangent_rows.c */
    sdpa_operands x;
} plain_row;

/* Row i of a tensor like Q or O, row j of one like K or V, cell (i,j) of one like bias, row i of
 * [T,N]; NULL stays NULL */
static inline REAL *plain_q(const plain_row *r, REAL *Q)
{
    return Q ? Q + at_sdpa_row(r->p->q, r->b, r->h, r->i) : NULL;
}
static inline REAL *plain_o(const plain_row *r, REAL *O)
{
    return O ? O + at_sdpa_row(r->p->o, r->b, r->h, r->i) : NULL;
}
static inline REAL *plain_k(const plain_row *r, REAL *K, int j)
{
    return K ? K + at_sdpa_row(r->p->k, r->b, r->h / r->p->group, j) : NULL;
}
static inline REAL *plain_v(const plain_row *r, REAL *V, int j)
{
    return V ? V + at_sdpa_row(r->p->v, r->b, r->h / r->p->group, j) : NULL;
}
static inline REAL *plain_bias(const plain_row *r, REAL *bias, int j)
{
    return bias ? bias + at_sdpa_cell(r->p->bias, r->b, r->h, r->i, j) : NULL;
}
static inline REAL *plain_cells(const plain_row *r, REAL *cells)
{
    return cells ? cells + at_sdpa_cell_number(r->p, r->b, r->h, r->i) : NULL;
}

/* 1, 2: X_ij = c s Q_i.K_j */
static inline REAL plain_scaled(const plain_row *r, int j)
{
    const REAL *Q = plain_q(r, r->x.Q), *K = plain_k(r, r->x.K, j);
    return sdpa_factor(&r->x, r->h) * row_dot(r->p->D, Q, K);
}

#define plain_rows_of(...) AT_REAL(plain_rows_of)(__VA_ARGS__)
#define plain_each(...) AT_REAL(plain_each)(__VA_ARGS__)
#define plain_row_forward AT_REAL(plain_row_forward) /* for plain_each, without arguments */
#define plain_row_again(...) AT_REAL(plain_row_again)(__VA_ARGS__)
#define plain_spread(...) AT_REAL(plain_spread)(__VA_ARGS__)

/* The tensors of the node, and workspace for one row at a time. */
plain_row plain_rows_of(at_node *n);
/* Does one thing to every row. */
void plain_each(plain_row *r, void (*row)(plain_row *r, REAL *saved));
/* O, the outputs that are asked for, and what is saved of the row. */
void plain_row_forward(plain_row *r, REAL *saved);
/* key, S, slope, z and P again, from what is saved. */
void plain_row_again(plain_row *r, const REAL *saved);
/* cells_ij = values[k] for key[k], and 0 where nothing is kept */
void plain_spread(const plain_row *r, const REAL *values, REAL *cells);

#endif
