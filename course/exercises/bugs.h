/* bugs.h -- the arrays of E8's problem, in the order in which grader and runner speak of them. */
#ifndef EXERCISES_BUGS_H
#define EXERCISES_BUGS_H
#include "steps.h"
#include "protocol.h"

static const steps_name bug_arrays[BUG_ARRAYS] = {
    STEPS_Q, STEPS_K,  STEPS_V,  STEPS_DO,    STEPS_KEEP, STEPS_Z,  STEPS_S,  STEPS_P, STEPS_A,
    STEPS_O, STEPS_DV, STEPS_DP, STEPS_DELTA, STEPS_DS,   STEPS_DR, STEPS_DQ, STEPS_DK};
#endif
