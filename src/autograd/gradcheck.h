/* gradcheck.h -- is this gradient right?  An answer with a verdict and a resolution.
 *
 * A gradient check compares what backward says with what the forward does: move one input a little,
 * see how the output moves.  gradcheck.c explains how little, and how well one can see.
 *
 *     at_tape *t = at_open(ATTIC_F64, 1);
 *     at_tensor *x = at_variable(t, at_shape_of(3), (double[]){1, 2, 3});
 *     at_gradcheck_report r = at_gradcheck(t, f, &x, 1, NULL, (at_gradcheck_options){0});
 *     at_gradcheck_print(&r, stdout);
 *
 * Any pair of C functions on plain doubles can be checked just the same: see at_gradcheck_fn. */
#ifndef AT_AUTOGRAD_GRADCHECK_H
#define AT_AUTOGRAD_GRADCHECK_H
#include <stdio.h>

#include "tensor/tensor.h"

/* ------------------------------------------------------------------ the verdict ---------------- */

typedef enum {
    ATTIC_NOT_RUN,       /* there was nothing to compare: the reason says why */
    ATTIC_PASS,          /* every comparison agrees, and the resolution says how much that means */
    ATTIC_WRONG,         /* the gradient is not the derivative, or a rule of backward is broken */
    ATTIC_NOISE_LIMITED, /* no step shows the derivative to 4 digits: rounding drowns it */
    ATTIC_NON_SMOOTH,    /* a kink or jump at this point: there is no derivative to compare with */
    ATTIC_VACUOUS        /* nothing could have failed: no elements, or every derivative is 0 */
} at_verdict;

const char *at_verdict_text(at_verdict v); /* "PASS", "NOISE-LIMITED", ... */

/* All zero is a good choice. */
typedef struct {
    int directions;   /* 0: every element; k > 0: only k random directions, for large inputs */
    double tolerance; /* relative; 0: 1e-7 */
    unsigned long long seed; /* of the cotangent and the directions */
} at_gradcheck_options;

typedef struct {
    at_verdict verdict;
    char reason[240];  /* a sentence */
    ptrdiff_t checked; /* comparisons made: elements, or directions */
    ptrdiff_t failed;  /* how many of them did not agree */
    double error;      /* the largest |a - n| / max(|a|, |n|, 1e-3 max|n|) */
    double resolution; /* the smallest such error that would have been caught, wherever it was */

    /* the worst comparison */
    char where[96];           /* "input 1 [4,5] at [0,2]" */
    int input;                /* which input, -1 for a parameter or a direction */
    ptrdiff_t element;        /* which element of it, in memory order */
    double analytic, numeric; /* a: what backward says; n: what differences of the forward say */
    double bound;             /* of n's rounding error, measured */
    double step;              /* h of the differences */
    unsigned long long seed;
} at_gradcheck_report;

/* ------------------------------------------------------------------ a function on a tape ------- */

/* y = f(in...), built from ops of this tape: constants, masks and further leaves may be made within
 * f.  The ops run again many times; f itself is called once. */
typedef at_tensor *at_function(at_tape *t, at_tensor **in, void *ctx);

/* Checks d(y)/d(in) and d(y)/d(parameter) for every input and every parameter used by f that wants
 * a gradient; the other inputs are constants.  Inputs must be leaves (at_variable, at_param).  The
 * tape must be f64.  It is left as it was found: data, gradients of leaves, and what f recorded is
 * rewound. */
at_gradcheck_report at_gradcheck(at_tape *t, at_function *f, at_tensor **in, int n, void *ctx,
                                 at_gradcheck_options options);

/* ------------------------------------------------------------------ a function in plain C ------ */

typedef void at_forward_fn(const double *x, double *y, void *ctx);                /* y = f(x) */
typedef void at_vjp_fn(const double *x, const double *dy, double *dx, void *ctx); /* dx = J^T dy */

/* Checks dx_i = sum_k dy_k dy_k/dx_i of y = f(x), x with n elements, y with m. */
at_gradcheck_report at_gradcheck_fn(at_forward_fn *forward, at_vjp_fn *vjp, ptrdiff_t n,
                                    ptrdiff_t m, const double *x, void *ctx,
                                    at_gradcheck_options options);

/* What was compared, how it went, and the worst element, in a few lines. */
void at_gradcheck_print(const at_gradcheck_report *r, FILE *out);

#endif
