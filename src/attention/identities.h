/* identities.h -- the backward of attention checks itself: what its paths do for it.
 *
 * A path takes its gradients from at_sdpa_grad and ends with sdpa_checks_end.  If at_check(t,
 * ATTIC_CHECK_ATTENTION) has set plan->checked, it adds to the sums of a row what it comes across: it computes
 * the same bits as without. */
#ifndef AT_ATTENTION_IDENTITIES_H
#define AT_ATTENTION_IDENTITIES_H
#include "kernels/real.h"
#include "attention/problem.h"

/* Of one row, in double: the sum that must be 0, and for each identity the absolute terms. */
typedef struct {
    double dS;      /* sum_j dS_ij */
    double S_terms, /* 2 sum_j (A_ij + tiny) (|dO_i| |V_j| + |dW_ij|) */
        V_terms,    /* sum_j (A_ij + tiny) |dO_i| |V_j| */
        Q_terms;    /* sum_j |c dx_ij| |Q_i| |K_j| */
} at_sdpa_sums;

/* What one backward collects.  Lies in n->saved, behind what is saved of each row. */
typedef struct {
    const void *grad[3]; /* dQ, dK, dV with what this call contributes to them; NULL: not wanted */
    const void *before[3]; /* what they held before it; NULL: nothing */
    void *length[4];       /* |Q_i|, |K_j|, |V_j|, |dO_i|, in the real type; 0 if not finite */
    at_sdpa_sums *rows;    /* by at_sdpa_row_number */
    double
        tiny; /* what counts as a term for a weight A_ij, beside A_ij: z times the smallest normal */
} at_sdpa_checks;

enum { AT_SDPA_DO = 3 }; /* its place among the lengths */

/* Bytes of n->saved that a call on these Q, K and V needs. */
size_t at_sdpa_saved(const at_sdpa_plan *p, at_tensor *const in[3]);

/* Where the gradient of Q, K or V is to be added up: at_grad(n, i), or memory of zeros for a tensor that has
 * another role as well.  NULL if nobody wants it. */
void *at_sdpa_grad(at_node *n, int i);
/* After at_sdpa_grad for all three: measures the lengths and sets the sums to 0.  NULL if the call is not
 * checked. */
AT_EACH_REAL(at_sdpa_checks *, sdpa_checks_begin, (at_node * n));
/* The first head in which an identity does not hold is a sticky error, if the call is checked.  Then adds what
 * was collected apart to its gradient. */
AT_KERNEL(sdpa_checks_end);

/* Of the cells of one row, in double: their dS_ij, and their terms but for |c|, |Q_i| and |dO_i|. */
typedef struct {
    double dS, A_V, dx_K; /* sum_j dS_ij, sum_j A_ij |V_j|, sum_j |dx_ij| |K_j| */
} at_sdpa_cell_sums;

/* Of each row of a tile: A, dS and slope of (row r, key k) lie at [k*ld + r], and ld is a multiple of
 * AT_SDPA_CHECK_STEP: what lies beyond the rows is read.  V and K: lengths.  slope = NULL: 1. */
enum { AT_SDPA_CHECK_STEP = 8 };
void AT_REAL(sdpa_sum_cells)(int rows, int keys, ptrdiff_t ld, const REAL *A, const REAL *V,
                             const REAL *dS, const REAL *slope, const REAL *K,
                             at_sdpa_cell_sums *sums);

/* Where the lengths of key j are, for query head h in batch b.  (Those of row i: at_sdpa_row_number.) */
static inline ptrdiff_t at_sdpa_key_number(const at_sdpa_plan *p, int b, int h, int j)
{
    return ((ptrdiff_t)b * p->G + h / p->group) * p->S + j;
}

#endif
