/* float_problems.h -- functions that compute in float, as one finds them in programs, with their
 * backward: drawn at random by the thousand for the gradient checker to judge. */
#ifndef ATTIC_FLOAT_PROBLEMS_H
#define ATTIC_FLOAT_PROBLEMS_H
#include "gradcheck/gradcheck.h"

enum { FAMILIES = 9, PROBLEM_MOST = 256 };

typedef struct float_problem float_problem;
struct float_problem {
    int family;
    int B, N, D; /* sizes; which means what depends on the family */
    ptrdiff_t n, m;
    uint64_t seed;
    bool in_double; /* by callbacks on doubles, which nobody tells that they compute in float */
    float temperature;
    float x[PROBLEM_MOST];
    float dx[PROBLEM_MOST]; /* as backward said first */
    bool asked;             /* whether it has been */
    enum { RIGHT, ALL_WRONG, ONE_WRONG } mistake;
    ptrdiff_t wrong; /* this element of dx, by 1 %, if one */
};

const char *at_float_family(int family);
float_problem at_draw_float_problem(uint64_t number);
at_gradcheck_report at_check_float_problem(float_problem *p);

/* An element of dx that is no smaller than a hundredth of the largest, or -1 */
ptrdiff_t at_element_to_spoil(const float_problem *p);

#endif
