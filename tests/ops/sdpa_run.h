/* sdpa_run.h -- runs the random attention problems of gradcheck/sdpa_problem.h, and compares. */
#ifndef ATTIC_TESTS_SDPA_RUN_H
#define ATTIC_TESTS_SDPA_RUN_H
#include "gradcheck/sdpa_problem.h"

/* How many problems the paths are compared on, beginning with number 0. */
enum { SDPA_SMALL_ONES = 2400, SDPA_TILED_ONES = 400 };

/* Sanitizers and the like take all of them 20 times as long, and are content with a share. */
#ifdef ATTIC_SLOW_MODE
enum { SDPA_EVERY = 7 };
#else
enum { SDPA_EVERY = 1 };
#endif

/* One problem on one tape. */
typedef struct {
    at_tensor *Q, *K, *V, *bias, *keep, *key_len; /* bias ... may be NULL */
    at_tensor *O, *weights, *scores, *probs, *lse;
    at_tensor *dO, *dW; /* the cotangents, NULL if unused */
    double bias_cells;  /* that read one element of the bias */
} sdpa_run;

/* Makes the inputs, the same numbers in f32 and f64. */
sdpa_run sdpa_inputs(at_tape *t, const sdpa_problem *p);
/* Forward on a path; makes the cotangents too, which may be changed before backward. */
bool sdpa_forward(at_tape *t, const sdpa_problem *p, sdpa_run *r, at_sdpa_path path);
bool sdpa_backward(at_tape *t, const sdpa_run *r);
/* All three; fails the test if one fails. */
sdpa_run sdpa_run_on(at_tape *t, const sdpa_problem *p, at_sdpa_path path);

/* The largest |x_i - y_i| / max(1, max|y|) over outputs and gradients; *where says of which.  A NaN or
 * infinity in only one of the two is an infinite difference.  An element of dbias is a sum over n cells
 * that may cancel, as dS does over a row; rounding then leaves some sqrt(n) eps, and 1 gives way to
 * sqrt(n) / 16, which lets less pass than a lost cell would change. */
double sdpa_difference(const sdpa_run *x, const sdpa_run *y, const char **where);

#endif
