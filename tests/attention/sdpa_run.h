/* sdpa_run.h -- runs the random attention problems of gradcheck/sdpa_problem.h, and compares. */
#ifndef ATTIC_TESTS_SDPA_RUN_H
#define ATTIC_TESTS_SDPA_RUN_H
#include "gradients/sdpa_problem.h"

/* How many random problems a test takes that takes n where all do 300: n ATTIC_PROBLEMS / 300, which is an
 * environment variable.  make check-long sets it to 10,000, sanitizers to less. */
int sdpa_some(int n);
/* The paths are compared on sdpa_some of these. */
enum { SDPA_SMALL_ONES = 234, SDPA_TILED_ONES = 80, SDPA_LARGE_ONES = 2 };

/* What a tape has handed out now, in bytes. */
static inline size_t handed_out(const at_tape *t)
{
    return at_memory_of(t).step + at_memory_of(t).permanent;
}

/* One problem on one tape. */
typedef struct {
    union {
        struct {
            at_tensor *Q, *K, *V, *bias, *head_scale, *sink; /* the last three may be NULL */
        };
        at_tensor *in[SDPA_REALS];
    };
    at_tensor *keep, *key_len, *segments, *key_segments; /* may be NULL */
    at_tensor *O, *weights, *scores, *probs, *lse;
    at_tensor *dO, *dW, *dY, *dL; /* the cotangents of O, weights, probs, lse; NULL if unused */
    double cells;                 /* B H T S */
} sdpa_run;

/* Makes the inputs, the same numbers in f32 and f64. */
sdpa_run sdpa_inputs(at_tape *t, const sdpa_problem *p);
/* The options that say what is kept. */
void sdpa_give_masks(at_sdpa_args *a, const sdpa_run *r);
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
