/* norm.h -- a normalisation with its parameters.
 *
 *     layer norm    y = (x - mean) / sqrt(var + eps) g + b         Ba, Kiros, Hinton 2016
 *     rms norm      y = x / sqrt(mean(x^2) + eps) g                Zhang, Sennrich 2019
 *
 * over the last axis. */
#ifndef AT_NN_NORM_H
#define AT_NN_NORM_H
#include "autograd/tape.h"
AT_BEGIN_C

typedef enum { ATTIC_LAYER_NORM, ATTIC_RMS } at_norm_kind;

typedef struct {
    at_norm_kind kind;
    double eps;
    at_tensor *g; /* [dim] */
    at_tensor *b; /* [dim], or NULL */
} at_norm;

/* Parameters "name.g", ones, and "name.b", zeros; an rms norm has no b.  eps: 0 for 1e-5.  After a
 * sticky error the norm holds NULLs, and at_norm_apply returns NULL. */
AT_API at_norm at_norm_make(at_tape *t, const char *name, int dim, at_norm_kind kind, bool bias,
                            double eps);
/* x [..., dim] -> [..., dim] */
AT_API at_tensor *at_norm_apply(at_tape *t, at_norm norm, at_tensor *x);

/* Is there such a norm?  A sticky error if not; at_norm_make asks this first. */
AT_API bool at_norm_check(at_tape *t, at_norm_kind kind, double eps);

AT_END_C
#endif
