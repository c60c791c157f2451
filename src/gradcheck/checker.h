/* checker.h -- what the files of the gradient checker share.  Internal. */
#ifndef AT_GRADCHECK_CHECKER_H
#define AT_GRADCHECK_CHECKER_H
#include "gradcheck/gradcheck.h"
#include "tensor/arena.h"

typedef struct { /* what can be expected of a function that computes in this type */
    double tolerance;
    double coarse;      /* n known to less is not known well */
    double floor_share; /* of the largest n: smaller ones are measured by this */
    double usual_noise; /* of n s, by the size of y */
    int largest_step;   /* a power of two, in units of s */
} at_precision;

typedef struct { /* what differences with step h say; the bounds are of rounding alone */
    double h, n, bound;
    double three;     /* n by three points */
    double low, high; /* every choice between the one-sided derivatives, output by output */
    double jump;      /* high - low */
    double jump_bound;
    double squares;                      /* sum_k (u_k y_k)^2, of those that move */
    double size;                         /* sum_k |u_k y_k|, of those that move, at their largest */
    double right1, left1, right2, left2; /* L(h) - L(0), and so on for -h, 2h, -2h */
} at_slope;

typedef struct { /* one comparison: along an element, or along a direction */
    at_verdict verdict;
    bool along; /* a direction */
    double a, a_noise, n, bound;
    double a_hidden;   /* rounding of terms of a that have cancelled */
    double e, e_bound; /* NaN: there is none */
    double unit;       /* s: what its steps are measured in */
    at_slope s;        /* at the step that n is from */
    bool swept, at_kink;
    int kink_side; /* +1: a kink is near, at x + kink, -1: at x - kink; 0: none */
    double kink;
} at_probe;

typedef struct { /* pairs of runs at the same x */
    ptrdiff_t pairs, differ;
    double worst; /* the largest difference beyond rounding, in units of the largest value; or 0 */
    ptrdiff_t at; /* which element it is of, */
    double once, again;
} at_repeats;

/* dy = J v at x, exactly; false if that can't be had. */
typedef bool at_exact_fn(const double *x, const double *v, double *dy, void *ctx);

typedef struct {
    at_forward_fn *forward;
    at_vjp_fn *vjp;
    at_exact_fn *exact; /* NULL: there is none */
    void *ctx;
    ptrdiff_t n, m;
    ptrdiff_t elements, directions; /* probes: of every element, then along directions, and */
    ptrdiff_t on_unknown, probes;   /* from this one on, along unknown elements alone; all */
    at_gradcheck_options options;
    int bits;      /* of what forward and vjp compute in: 53, in float 24, in f16 11, in bf16 8 */
    bool is_float; /* differences are taken of something with fewer than 53 bits */
    at_precision precision;
    double exact_tolerance;
    const double *x0;
    double *moved_x;   /* [n] x0 in these bits, or away from kinks */
    double *x, *v;     /* [n] where forward is evaluated: x = x0 + h v */
    double *a, *again; /* [n] the gradient by vjp */
    double *ra;        /* [n] its noise; of doubles only where a and n disagree: */
    bool backward_measured;
    double *u, *u_kept;  /* [m] the upstream gradient (cotangent) */
    double *w;           /* [m] how it moves while the noise of a is measured */
    double *forward0;    /* [m] y at x0 by forward: y0, or a vector of its own, */
    double *y0, *r;      /* [m] y at x0 by what differences are taken of, and its noise */
    double *y[4];        /* [m], or n if that is more: y at h, -h, 2h, -2h */
    double *largest;     /* [m] |y_k| at most, at any step of this probe */
    double *jump;        /* [m] of the slope of y_k, at the step before */
    double *moves;       /* [m] 1 if y_k depends on what this probe steps along, else 0 */
    double x_size;       /* |x| of the element that this probe steps along */
    double max_n;        /* the largest |n| of an element, */
    double max_along;    /* and along a direction */
    double y_size;       /* sum_k |u_k y_k| */
    double hidden_noise; /* of a, s times: of terms that have cancelled */
    double size;         /* as given to at_gradcheck_exact */
    double y_noise;      /* of every y_k, at least */
    at_probe *probe;     /* [probes] */
    at_arena *memory;
    char outside[160]; /* what was written outside of a vector, or "" */
    at_gradcheck_report report;
} at_checker;

/* at_gradcheck_fn with an exact witness beside the differences.  Rounding errors of eps size may
 * hide in any a: for order 2, size is taken from what the gradient is a gradient of. */
at_gradcheck_report at_gradcheck_exact(at_forward_fn *forward, at_vjp_fn *vjp, at_exact_fn *exact,
                                       ptrdiff_t n, ptrdiff_t m, const double *x, double size,
                                       void *ctx, at_gradcheck_options options);
/* A rule is broken: the report says so.  Returns true. */
bool at_break_rule(at_gradcheck_report *r, const char *reason, double is, double should);

/* "x[109]", or, if it is in a part that has a name, "\"weight\" at [3]": the report's `where`. */
void at_name_element(at_checker *c, const char *vector, ptrdiff_t i);

/* ------------------------------------------------------------------ calls.c -------------------- */

enum { ATTIC_GUARD = 16 }; /* elements before and behind each vector that nobody may write to */
void at_guard(double *v, ptrdiff_t n);
/* y = forward(x); the same by its twin; dx = backward(x, u), where it adds on 0.  All of them look
 * at what is around. */
typedef void at_call_fn(at_checker *c, double *y);
void at_call_forward(at_checker *c, double *y);
void at_call_twin(at_checker *c, double *y);
void at_call_smooth(at_checker *c, double *y); /* what n is of: the twin, if there is one */
void at_call_backward(at_checker *c, double *dx);
/* Has any of them written there?  Then the report says so. */
bool at_writes_outside(at_checker *c);
/* Is all of y, or of dx, written, or added where it should be?  Works in y[0] and y[1]. */
bool at_breaks_rules_of_writing(at_checker *c, bool backward);

/* ------------------------------------------------------------------ the same again: repeats.c ---- */

enum { ATTIC_MOST_RUNS = 1000 };
/* Do forward, or backward, give other values when they run again, by more than rounding?  The
 * report says so then. */
bool at_forward_races(at_checker *c);
bool at_backward_races(at_checker *c);
/* The same at the end of the check, beside y0 and a. */
bool at_has_changed(at_checker *c);

/* ------------------------------------------------------------------ n and its bound: differences.c */

/* The largest |x_i| that is finite. */
double at_largest(const double *x, ptrdiff_t n);
/* The noise of y and, in fewer than 53 bits, of a. */
void at_measure_noise(at_checker *c);
/* r = that of forward beside its twin */
void at_measure_noise_of_forward(at_checker *c);
/* x = x0 + h v, rounded to so many bits */
void at_step_aside(at_checker *c, double h, int bits);
/* That of a along probe p, where forward does not show it: of doubles, which at first have none. */
void at_measure_noise_of_a(at_checker *c, ptrdiff_t p, at_probe *f);
/* What n of direction p must be by the n of the elements, and how well that is known. */
double at_n_by_elements(at_checker *c, ptrdiff_t p, double *bound);
/* a and n of probe p; n by one step of usual size or, in float, where none is usual, by the
 * best. */
void at_measure_probe(at_checker *c, ptrdiff_t p);
/* n by the best of many steps. */
void at_sweep_steps(at_checker *c, ptrdiff_t p, at_probe *f);
/* n by the best of three steps around the usual one or, where these disagree, of many. */
void at_refine_probe(at_checker *c, ptrdiff_t p, at_probe *f, double tolerance);

/* ------------------------------------------------------------------ kinks.c -------------------- */

/* Notes in f where the nearest kink is, if one is in view. */
void at_look_for_kink(const at_checker *c, at_probe *f, const at_slope *s, int count);
/* Moves the elements that are not known, with a kink near by, away from it, in each round further.
 * How many? */
ptrdiff_t at_move_from_kinks(at_checker *c, int round);

/* ------------------------------------------------------------------ verdict.c ------------------ */

/* The size that an error of this probe is measured by. */
double at_scale_of(const at_checker *c, const at_probe *f);
/* The verdict of one comparison. */
void at_judge(at_checker *c, ptrdiff_t p, at_probe *f);
/* One step is enough for n, unless a and n disagree, n is not known well, or its sides differ. */
bool at_is_clear(const at_checker *c, const at_probe *f);
double at_bound_of(const at_checker *c, const at_probe *f); /* of a - n, if a is right */
/* Is there an input, or an index of one of its axes, of which nothing is known?  Its name. */
bool at_names_unknown(const at_checker *c, char *name, size_t size);
/* The verdict of all of them, for the report. */
void at_conclude(at_checker *c);

/* ------------------------------------------------------------------ report.c ------------------- */

/* The reason of the report's verdict; by_element: an element is contradicted, not a direction. */
void at_write_reason(at_checker *c, bool by_element);
void at_report_worst(at_checker *c, ptrdiff_t p);
/* To the callback of the options, and what they say together. */
void at_tell_elements(at_checker *c);

/* ------------------------------------------------------------------ floats: gradcheck_float.c --- */

/* Of a float 20, so that a few multiples of 2^-20 scale beside it are floats, too; else all. */
int at_short_bits(int bits);
double at_short(double x, int bits); /* rounded to them */
double at_rounded(double x, int bits);
/* The power of two with scale/2 <= |x| < scale; 1 for x = 0. */
double at_float_scale(double x);
/* Does some y_k compute in float, near x0?  Works in x and y. */
bool at_computes_in_float(at_checker *c);
int at_bits_of(double y); /* from the first that is set to the last one; 0 has none */
/* Of some outputs of this call, over wide steps: 8, rounded to bf16; 11, to f16; 24, to float; or
 * more than `most`.  Works in y[0] and y[1]. */
int at_bits_of_outputs(at_checker *c, at_call_fn *call, int most);

/* ------------------------------------------------------------------ the twin: twin.c ----------- */

/* Does the twin break a rule, or differ from forward by more than rounding?  Then the report says
 * so.  x0 and u are rounded to fewer bits if forward turns out to have no more. */
bool at_twin_differs(at_checker *c);
/* From here on forward has so many bits. */
void at_round_to(at_checker *c, int bits);

/* ------------------------------------------------------------------ all together: diagnosis.c --- */

typedef struct { /* of every element of x */
    ptrdiff_t count;
    const double *x; /* NULL: not known */
    const double *a, *n, *bound;
    const double *a_of_first;  /* a, had each dy been dy[0]; NULL: not known, or there is one y */
    const bool *wrong, *known; /* known: n is known well enough to call a right */
    const at_gradcheck_part *parts; /* NULL: one, "x" */
    const at_gradcheck_size *sizes; /* NULL: none; ends with {0} */
} at_elements;

/* What the wrong elements say together, one line or several without '\n' at the end:
 *
 *     q, k are wrong, v is right: 1/sqrt(D) = 0.4472 times the derivative
 *
 * Lines after the first are of one input each, or of those that it holds for.  Empty if none is
 * wrong. */
void at_diagnose(const at_elements *all, char text[ATTIC_DIAGNOSIS]);

#endif
