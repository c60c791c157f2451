/* wrong_answers.h -- the backward of attention as somebody would write it who makes a mistake. */
#ifndef ATTIC_TESTS_WRONG_ANSWERS_H
#define ATTIC_TESTS_WRONG_ANSWERS_H
#include "mistakes.h"

/* dQ, dK, dV and dbias of `to`, from the inputs of the same, with this mistake; sizes of at most 8,
 * and at most 6 heads.  Shares nothing with mistakes.c but the names. */
void wrong_answer(steps *to, mistake m);
#endif
