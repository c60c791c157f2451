/* gradcheck.h -- is this gradient right?  An answer with a verdict and a resolution.
 *
 * A gradient check compares what backward says with what forward does when one input moves a
 * little.  gradcheck.c explains how little, and how well one can see.
 *
 *     at_tape *t = at_open(ATTIC_F64, 1);
 *     at_tensor *x = at_variable(t, at_shape_of(3), (double[]){1, 2, 3});
 *     at_gradcheck_report r = at_gradcheck(t, f, &x, 1, NULL, (at_gradcheck_options){0});
 *     at_gradcheck_print(&r, stdout);
 *
 * Any pair of C functions on plain doubles can be checked just the same: see at_gradcheck_fn. */
#ifndef AT_GRADCHECK_GRADCHECK_H
#define AT_GRADCHECK_GRADCHECK_H
#include <stdio.h>

#include "autograd/tape.h"
AT_BEGIN_C

/* ------------------------------------------------------------------ the report ----------------- */

typedef enum {
    ATTIC_NOT_RUN,       /* there was nothing to compare with; the reason says why */
    ATTIC_PASS,          /* no comparison disagrees; the resolution says how much that means */
    ATTIC_WRONG,         /* backward is not the derivative, or breaks one of the rules below */
    ATTIC_NOISE_LIMITED, /* rounding drowns the differences, of elements and along directions */
    ATTIC_NON_SMOOTH,    /* a kink or a jump at this very point: there is no derivative */
    ATTIC_VACUOUS,       /* nothing could have failed: no elements, or every derivative is 0 */
    ATTIC_RACE,          /* the same call gives other values, by more than rounding */
    ATTIC_PARTLY_KNOWN,  /* what can be compared agrees, but of more than 1 % of the elements, or of
                          * a whole input, rounding leaves only what directions show */
    ATTIC_MISMATCH       /* options.twin does not compute what forward does: nothing was compared */
} at_verdict;

AT_API const char *at_verdict_text(at_verdict v); /* "PASS", "NOISE-LIMITED", ... */

/* The exit status of a program that checks: 0 PASS, 1 WRONG, 2 undecided (NOISE_LIMITED,
 * PARTLY_KNOWN, NON_SMOOTH, VACUOUS), 3 NOT_RUN and MISMATCH, 4 RACE. */
AT_API int at_verdict_status(at_verdict v);

enum { ATTIC_DIAGNOSIS = 401 };

/* a: what backward says.  Two witnesses stand beside it.
 *
 * n, DIFFERENCES of forward, known up to `bound`.  They agree when
 *
 *     |a - n| <= tolerance max(|a|, |n|, max|n| / 1000) + bound
 *
 * where max|n| is the largest of all: an element that is tiny beside the others need not be right
 * to 7 digits of its own.  PASS needs n to be known to 4 digits.
 *
 * e, the EXACT derivative: the tangent of forward in dual numbers (tangent.h), without a step and
 * its error.  It agrees up to the same, with 1e-10 in place of the tolerance and the rounding of
 * forward and backward, as measured, for the bound.  Where there is no e, for plain C functions,
 * for ops that have no kernels for dual numbers, for tangents above 1e38 and for an a below 1e-120,
 * n alone decides.  As e comes from the same source code as a, n stays a witness of its own: if
 * either disagrees with a, a is WRONG.
 *
 * A function that computes in float is noticed and compared as far as float allows: at x rounded to
 * floats of 20 bits, max|n| / 10 takes the place of max|n| / 1000, 2 digits the place of 4, and
 * the rounding of a, measured as well, is added to the bound.  The resolution is then often 1e-3.
 * Outputs in f16 or bf16 are recognised where 32 distinct ones that are no integers show 11 or 8
 * bits; x is rounded to these, and the resolution is some percent.  What forward leaves unseen, a
 * twin in double shows: options.twin.
 *
 * Beside the elements, sum_i a_i v_i is compared along 4 random directions v.  What is not known
 * well enough is unknown; up to 1 % of the elements may be, in a PASS, but not a whole input, or
 * all that has one index of one of its axes.  What is unknown for a kink near by is moved away from
 * it, and compared there; the note says so.
 *
 * Steps are 2^-36 (1.5e-11) to 2^-5 times max(1, |x|), and of |x| where that is below 1e-6.  So
 * differences do not reach an x that is nearer than about 1e-9 to a pole or a kink elsewhere than
 * at 0: scale such a function. */
typedef struct {
    at_verdict verdict;
    char reason[240]; /* one sentence */
    at_dtype real;    /* what forward computes in, so far as one can see: ATTIC_F64 or ATTIC_F32, */
    int bits;         /* and the bits of its numbers: 53, 24, or 11 (f16), 8 (bf16) */
    ptrdiff_t checked;  /* comparisons made: elements, or directions */
    ptrdiff_t failed;   /* how many of them do not agree, or are unknown */
    ptrdiff_t unknown;  /* in how many n has too few digits, or a kink is near */
    double error;       /* the largest |a - n| / max(|a|, |n|, max|n| / 1000) */
    double exact_error; /* the largest |a - e| / max(|a|, |e|, max|n| / 1000); NaN: there is no e */
    double resolution; /* an error larger than this, in any one comparison that is known, would have
                         * been seen */
    double hidden;     /* in one that is unknown: an error of up to this share of the largest |n| */

    /* Beside the elements: along random directions, how many are known and agree, of 4; or 0. */
    int directions;
    double along_error, along_resolution; /* as error and resolution, of these */
    char diagnosis[ATTIC_DIAGNOSIS]; /* what the wrong elements say together, line by line: which
                                      * inputs are wrong, by which factor, where; or "" */
    char note[240]; /* "x[1] = -1.1e-05 is 1.1e-05 from a kink: ...": what was moved, or "" */

    ptrdiff_t pairs;  /* of runs at the same x that were compared, bit by bit */
    ptrdiff_t differ; /* how many of them do: RACE if by more than rounding; sums in the order in */
    double ulps;      /* which threads are done may, by this many units in the last place of the
                       * largest value */

    /* The worst comparison: the largest error among those with the most severe verdict. */
    char where[120];   /* "input 1 [4,5] at [0,2]", "x[7]", "\"weight\" at [3]", "direction 3" */
    int input;         /* which input, -1 for anything else */
    ptrdiff_t element; /* which element of it, in memory order */
    double analytic;   /* a */
    double exact;      /* e; NaN where there is none */
    double numeric;    /* n, at its best step: it may be closer to a than `error` says */
    double bound;      /* of the error of n: measured rounding, not yet converged steps */
    double step;       /* h */
    uint64_t seed;     /* of the upstream gradient (cotangent) and the directions */
    int order;         /* as in the options */
} at_gradcheck_report;

/* A part of x that has a name: count elements, after the elements of the parts before it. */
typedef struct {
    const char *name;
    ptrdiff_t count;
    at_shape shape; /* for words like "axis 1 is 8"; without dims: [count] */
} at_gradcheck_part;

/* A number that forward uses, like {"D", 5} or {"p", 0.25}: a wrong factor is named by it. */
typedef struct {
    const char *name;
    double value;
} at_gradcheck_size;

/* One comparison, for who wants to see all of them. */
typedef struct {
    ptrdiff_t i;        /* element of x, */
    const char *where;  /* and its name, as in the report */
    at_verdict verdict; /* PASS, WRONG, or unknown: NOISE_LIMITED, NON_SMOOTH */
    double a, n, e;     /* e is NaN where there is none */
    double bound;       /* of a - n, if a is right */
} at_gradcheck_element;
typedef void at_gradcheck_each_fn(const at_gradcheck_element *e, void *ctx);

typedef void at_forward_fn(const double *x, double *y, void *ctx);
typedef void at_vjp_fn(const double *x, const double *dy, double *dx, void *ctx);

/* All zero is a good choice.  directions = 0 checks every element by 4 forwards each, in float by
 * about 50, and 4 random directions beside them; k > 0 checks k random directions alone. */
typedef struct {
    int directions;
    int order; /* 2: checks the gradient of the gradient, see at_gradcheck; 0 and 1: the gradient */
    double tolerance; /* 0: 1e-7, in float 1e-4; and 1e-10 for e */
    bool adds;        /* backward adds its gradient to dx, as kernels that accumulate do */
    int runs; /* of forward and of backward at the same x, which must be alike, at each of 8 points:
               * at most 1000.  0 is 12: if 5 % of the runs are wrong, 99 of 100 checks see it. */
    uint64_t seed;
    at_dtype real; /* what forward computes in: ATTIC_F32, ATTIC_F64; 0 finds out */

    /* forward once more, in double, with the same ctx: n is taken of this one, by 4 calls for each
     * element and with all digits.  It must be forward up to rounding, at x and on both sides of
     * it along every element: else MISMATCH.  For at_gradcheck_fn and _f32 only. */
    at_forward_fn *twin;
    const at_gradcheck_part
        *parts; /* names for the elements of x; ends with {0}.  For at_gradcheck_fn
                                     * only: leaves have names of their own */
    const at_gradcheck_size *sizes; /* names of numbers, for the diagnosis; ends with {0} */
    at_gradcheck_each_fn *each;     /* is called with every element; NULL: nothing is */
    void *each_ctx;
} at_gradcheck_options;

/* What was checked, how it went and the worst comparison, in a few lines. */
AT_API void at_gradcheck_print(const at_gradcheck_report *r, FILE *out);

/* ------------------------------------------------------------------ a function on a tape ------- */

/* Checks dy/dx of y = f(in...) (at_function) for every x among the inputs, and every other leaf
 * (parameter) that f uses, if it wants a gradient; the rest is constant.  What was computed before
 * f counts as a leaf.  The tape must be f64; at_copy_params brings the parameters of an f32 tape
 * there.  y may have any shape: a random upstream gradient (cotangent) makes it a scalar.
 *
 * order = 2 checks the second derivatives that at_hvp gives, by which attention and every other
 * op are differentiated twice: a = H w with the Hessian H of <u,y> and a random w, n the
 * differences of the gradients that backward gives, e = w' H v along the same elements or
 * directions: equal, as H is symmetric.
 *
 * Besides the differences, these rules are checked in every call, and breaking one is WRONG:
 *     forward and backward change no input;
 *     an upstream gradient of 0 gives gradients of 0;
 *     gradients of leaves add up: a second backward doubles them.
 *
 * Running forward, or backward, again on the same inputs gives the same values (dropout replays):
 * else it is a RACE.
 *
 * Afterwards the tape is as before: data and gradients are the same bits and what f recorded is
 * rewound, so the y of f is gone.  A sticky error (an f32 tape, a failed f) gives NOT_RUN. */
AT_API at_gradcheck_report at_gradcheck(at_tape *t, at_function *f, at_tensor **in, int n,
                                        void *ctx, at_gradcheck_options options);

/* ------------------------------------------------------------------ a function in plain C ------ */

/* The same for any y = forward(x), with n elements in x and m in y, and
 *
 *     dx_i = sum_k dy_k d(y_k)/d(x_i)          a vector-Jacobian product
 *
 * Both write every element of their result (with options.adds, backward adds to it), and nothing
 * else: what they write up to 16 elements before or behind x, y, dy and dx is WRONG.  Needs no
 * tape; its own memory is freed on return. */
AT_API at_gradcheck_report at_gradcheck_fn(at_forward_fn *forward, at_vjp_fn *vjp, ptrdiff_t n,
                                           ptrdiff_t m, const double *x, void *ctx,
                                           at_gradcheck_options options);

typedef void at_forward_fn_f32(const float *x, float *y, void *ctx);
typedef void at_vjp_fn_f32(const float *x, const float *dy, float *dx, void *ctx);

/* The same for functions of floats: options.real is ATTIC_F32, whatever it was. */
AT_API at_gradcheck_report at_gradcheck_fn_f32(at_forward_fn_f32 *forward, at_vjp_fn_f32 *vjp,
                                               ptrdiff_t n, ptrdiff_t m, const float *x, void *ctx,
                                               at_gradcheck_options options);

AT_END_C

#endif
