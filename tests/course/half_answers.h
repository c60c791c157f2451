/* half_answers.h -- right backwards of attention as they are computed in f16 and bf16. */
#ifndef ATTIC_TESTS_HALF_ANSWERS_H
#define ATTIC_TESTS_HALF_ANSWERS_H
#include "steps.h"

/* O, dQ, dK and dV of `to`, after its forward, with so many binary digits: 11 or 8.  composed: every
 * matrix is rounded, as by one op after the other.  Else as fused kernels do: P and dS are rounded
 * where they are multiplied, and delta is dO.O of the rounded O.  Sums are not rounded on the way. */
void half_answer(steps *to, int digits, bool composed);
#endif
