/* gradcheck_float.h -- floats as the gradient checker sees them; gradcheck_float.c explains.
 * Internal. */
#ifndef AT_AUTOGRAD_GRADCHECK_FLOAT_H
#define AT_AUTOGRAD_GRADCHECK_FLOAT_H
#include "autograd/gradcheck.h"

enum { ATTIC_SHORT_BITS = 20 };

/* x rounded to 20 bits and to a float: as is what lies a few multiples of 2^-20 scale beside it */
double at_short_float(double x);

/* The power of two with scale/2 <= |x| < scale; 1 for x = 0. */
double at_float_scale(double x);

/* Does some y_k compute in float, near x0?  Works in x [n] and y[0..3] [m]. */
bool at_computes_in_float(at_forward_fn *forward, void *ctx, ptrdiff_t n, ptrdiff_t m,
                          const double *x0, uint64_t seed, double *x, double *const y[4]);

#endif
