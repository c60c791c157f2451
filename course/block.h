/* block.h -- a whole attention block on paper: from tokens to tokens, forward and backward.
 *
 *     Y = X + concat_h(P_h V_h) W_o        Q = X W_q,  K = X W_k,  V = X W_v
 *
 *     X Y [T,C]   W_q [C,H D]   W_k [C,G D]   W_v [C,G Dv]   W_o [H Dv,C]      L = sum dY o Y
 *
 * Columns h D to (h+1) D - 1 of Q belong to head h, columns g D to (g+1) D - 1 of K to key/value
 * head g; in O and V they are Dv columns each.  Head h reads g = h / (H/G).  Inside a head the block is an attention by its eight steps: steps.h.
 *
 *     block *b = block_open(&(block_problem){.T = 3, .C = 2, .H = 2, .G = 2, .D = 1, .Dv = 1});
 *     ... fill b->at[BLOCK_X], the four matrices and b->at[BLOCK_DY] ...
 *     block_forward(b, BLOCK_X_RES);
 *     block_backward(b);
 *     double x = *block_cell(b, BLOCK_DX, 0, t, c);
 *     block_close(b);
 *
 * X is read four times: by the residual, by Q, by K and by V.  So dX is a sum of four terms, and
 * each of them is the gradient of X as one of the four reads it. */
#ifndef EXAMPLES_BLOCK_H
#define EXAMPLES_BLOCK_H
#include "steps.h"

#include <stdint.h>

/* What there is, in the order in which it is computed. */
typedef enum {
    BLOCK_X,
    BLOCK_WQ,
    BLOCK_WK,
    BLOCK_WV,
    BLOCK_WO, /* up to here given */
    BLOCK_X_RES,
    BLOCK_X_Q,
    BLOCK_X_K,
    BLOCK_X_V, /* X, as the residual, Q, K and V read it */
    BLOCK_Q,
    BLOCK_K,
    BLOCK_V,
    BLOCK_R,
    BLOCK_S,
    BLOCK_P,
    BLOCK_O,
    BLOCK_OW,
    BLOCK_Y,
    BLOCK_DY, /* given */
    BLOCK_DO,
    BLOCK_DV,
    BLOCK_DP,
    BLOCK_DELTA,
    BLOCK_DS,
    BLOCK_DR,
    BLOCK_DQ,
    BLOCK_DK,
    BLOCK_DX_RES,
    BLOCK_DX_Q,
    BLOCK_DX_K,
    BLOCK_DX_V,
    BLOCK_DX,
    BLOCK_DWQ,
    BLOCK_DWK,
    BLOCK_DWV,
    BLOCK_DWO,
    BLOCK_COUNT
} block_name;

typedef struct {
    int T, C, H, G, D, Dv; /* each at least 1; G divides H */
    double scale;          /* 0: 1/sqrt(D) */
    double scale_log;      /* 3: the scale is ln 3, so that exp(scale R) = 3^R; 0: it is `scale` */
    bool causal;           /* token t reads the tokens 0 to t */
} block_problem;

typedef struct {
    block_problem p;
    steps *heads; /* Q, K, V, dO split into heads, and all that is computed there */
    double
        *at[BLOCK_COUNT]; /* row-major; R S P dP dS dR [H,T,T] and delta [H,T] are those of heads,
                              * O dO [T,H Dv], each gradient has the shape of its matrix */
    int dim[BLOCK_COUNT][3]; /* heads, rows, columns; 1 if there is no such axis */
} block;

/* What is known of each: see block_text.c. */
typedef struct {
    const char *name;       /* "dX_K" */
    const char *formula;    /* "dX_K = dK W_k^T" */
    const char *sentence;   /* what it says, for a learner */
    block_name gradient_of; /* of dX_K: BLOCK_X_K; BLOCK_COUNT for what is no gradient */
    const char *question;   /* about the sign of an element; NULL for what is given */
    const char *answer;     /* what decides the sign */
} block_text;
extern const block_text block_texts[BLOCK_COUNT];

block *block_open(const block_problem *p); /* all zero; NULL: no memory */
block *block_copy(const block *b);         /* NULL: no memory */
void block_close(block *b);                /* NULL: does nothing */
ptrdiff_t block_size(const block *b, block_name what);
double *block_cell(const block *b, block_name what, int head, int row, int column);

/* The example on paper: T = 3, C = 2, H = 2, D = Dv = 1, causal, scale ln 3; G is 2 or 1.  All that
 * is given is 0, 1 or 2.  Forward and backward are computed.  NULL: no memory. */
block *block_paper(int G);

/* A random block with this problem: X and dY from -1 to 1, the matrices from -1/2 to 1/2, nothing 0.
 * Forward and backward are computed.  NULL: no memory. */
block *block_draw(uint64_t seed, const block_problem *p);

void block_forward(block *b, block_name first); /* what comes before `first` stands */
void block_backward(block *b);
/* One step of the backward: BLOCK_DO .. BLOCK_DWO, from what it reads.  The backward is all of them,
 * in this order. */
void block_gradient(block *b, block_name what);
double block_loss(const block *b);

/* The columns of head h of a matrix [T,n width] as rows of their own: merged <-> [n,T,width]. */
void block_split(int n, int T, int width, const double *merged, double *heads);
void block_merge(int n, int T, int width, const double *heads, double *merged);

/* The numerical twin of element e of a gradient: the loss by five-point differences, everything after
 * what is moved computed again.  delta_i: row i of P times 1 + h.  The true value lies within
 * *unsure of it.  NaN: no memory. */
double block_difference(const block *b, block_name gradient, ptrdiff_t e, double *unsure);

/* As steps_terms: wherever b holds a sum, the copy returned holds the sum of the absolute terms.
 * After the forward of b.  NULL: no memory. */
block *block_terms(const block *b);
#endif
