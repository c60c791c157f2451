/* correct_functions.h -- functions whose backward is right, for the gradient checker to judge.
 *
 * They are drawn by number: in float, in double and on a tape, with kinks at every distance,
 * saturated, tiny, large, with few elements and with 100,000.
 *
 * A verdict of WRONG or RACE on any of them is a mistake of the checker.  Left out, and why:
 *     chaotic functions (the logistic map)  differences say nothing of a derivative of 1e10
 *     quantised functions (rounding)        differences see another function than backward */
#ifndef ATTIC_CORRECT_FUNCTIONS_H
#define ATTIC_CORRECT_FUNCTIONS_H
#include "gradcheck/gradcheck.h"

enum { CONSTANTS = 4 };

/* A function with everything that its kernels read. */
typedef struct {
    uint64_t number;
    int family;
    int on_tape; /* which function made of ops it is, or -1 */
    at_dtype real;
    bool unseen; /* in float, but by callbacks on doubles, which nobody tells */
    ptrdiff_t n, m;
    int B, H, G, T, N, D, Dv; /* sizes: each family says what they are */
    bool causal, with_bias;   /* of attention */
    double constant[CONSTANTS];
    double *x; /* [n]; floats if real is ATTIC_F32 */
    at_gradcheck_options options;
    int bits;       /* 8: each y, and all that it is made of, is rounded to bf16; 11: to f16 */
    bool with_twin; /* in double */
    uint64_t drawn; /* random numbers so far */

    /* A planted mistake: dx[wrong_at] is 1 + wrong_by times what it should be.  The first run of
     * backward chooses an element that is at least a tenth of the largest; until then it is -1. */
    double wrong_by;
    ptrdiff_t wrong_at;
    bool is_planted; /* was it in what backward said last?  Beside a kink this element may be 0 */
} correct_function;

int at_correct_families(void);
const char *at_correct_family(int family);

/* The same number is the same function on every machine. */
correct_function at_draw_correct(uint64_t number);
void at_forget_correct(correct_function *p); /* frees x */
at_gradcheck_report at_check_correct(correct_function *p);

float at_correct_rounded(float x, int bits); /* 8: to bf16, 11: to f16 */

const char *at_correct_type(const correct_function *p); /* "float", "double" ... */
/* One line: family, type, sizes */
void at_print_correct(const correct_function *p, FILE *out);

#endif
