/* right_answers.h -- the backward of attention by four algorithms that share nothing with steps.c but
 * its problem, in float and in double. */
#ifndef ATTIC_TESTS_RIGHT_ANSWERS_H
#define ATTIC_TESTS_RIGHT_ANSWERS_H
#include "steps.h"
#include "kernels/real.h"

typedef enum {
    RIGHT_JACOBIAN, /* dS_k = sum_j dP_j P_j (1[j=k] - P_k), written out */
    RIGHT_MATRICES, /* one matrix after the other, sums from the last term to the first */
    RIGHT_COLUMNS,  /* delta = dO.O, the loop over the keys outside */
    RIGHT_TILES,    /* online softmax over tiles of keys; P computed again from m and l */
    RIGHT_ALGORITHMS
} right_algorithm;

/* delta, dS, dQ, dK, dV and dbias of `to`, from the inputs of the same; sizes of at most 8, and at
 * most 6 heads. */
AT_EACH_REAL(void, right_answer, (steps * to, right_algorithm by));
#endif
