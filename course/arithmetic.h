/* arithmetic.h -- one element of an attention, worked out with its numbers.
 *
 *     arithmetic w;
 *     arithmetic_of(&(arithmetic_style){.a = a}, STEPS_DS, 0, i, j, &w);
 *     puts(w.text);                          dS[q0,k1] = 0.2 * (6 - 4.9) = 0.22
 *     for (int k = 0; k < w.n; k++) ... w.from[k] ...         P[q0,k1], dP[q0,k1], delta[q0]
 *
 * The right side is the formula of the right backward, with the numbers that it reads.  Where the
 * element is another number, because a mistake is in the backward, both are given: "dS[q0,k1] = 1.2;
 * the formula gives 0.2 * (6 - 4.9) = 0.22".
 *
 * Where a step is off, matrices are equal: without bias, softcap and scale R = X = U = S, without
 * dropout A = P and dP = dA.  A picture shows one of them; with `shown` the formula reads that one. */
#ifndef EXAMPLES_ARITHMETIC_H
#define EXAMPLES_ARITHMETIC_H
#include "steps.h"

/* How it is written, and what a steps does not say. */
typedef struct {
    const steps *a;
    int digits;    /* of a number, as by %.4g; 0: 4 */
    bool decimals; /* but for the factors in a sum of products: that many decimals, as by %.4f */
    bool plain;    /* without zeros at the end: 0.22, not 0.2200 */
    bool attended; /* leaves out the terms of a sum that a mask makes 0 */
    int most;      /* terms of a sum that are written; 0: all */
    const bool *shown; /* [STEPS_COUNT]: the matrices that a reader sees; NULL: all */
    bool tokens;       /* Q, K and V are one matrix, whose rows are t0, t1 ... */
    double (*log_of)(const void *context, steps_name what, int row, int column); /* of ln 7: 7; else
                                                                                  * 0; may be NULL */
    const char *(*hidden)(const void *context, int i,
                          int j); /* why a cell is masked; may be NULL */
    const void *context;
} arithmetic_style;

enum { ARITHMETIC_FROM = 128 };

typedef struct {
    steps_name what;
    int head, row, column;
} arithmetic_cell;

typedef struct {
    char text[4000];
    char note[400];                        /* what surprises in it; mostly empty */
    arithmetic_cell from[ARITHMETIC_FROM]; /* the elements that the formula reads, each once */
    int n;                                 /* with many heads, no more than fit */
} arithmetic;

void arithmetic_of(const arithmetic_style *style, steps_name what, int head, int row, int column,
                   arithmetic *w);

/* Of the Jacobian of row `row` of P: J[k1,k2] = P_1 (1[1=2] - P_2) */
void arithmetic_of_jacobian(const arithmetic_style *style, int head, int row, int j, int k,
                            arithmetic *w);

/* "dS[q0,k1]"; with several heads "dS[h1,q0,k1]".  An axis of a bias that is broadcast is "all". */
void arithmetic_name(const arithmetic_style *style, steps_name what, int head, int row, int column,
                     char text[60]);
/* 'q', 'k', 'd' or 't': what the rows, or the columns, of a matrix are. */
char arithmetic_letter(const arithmetic_style *style, steps_name what, bool columns);
#endif
