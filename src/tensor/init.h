/* init.h -- what a new tensor is filled with. */
#ifndef AT_TENSOR_INIT_H
#define AT_TENSOR_INIT_H
#include "kernels/random.h"
#include "tensor/tensor.h"
AT_BEGIN_C

typedef struct {
    enum { ATTIC_INIT_CONSTANT, ATTIC_INIT_UNIFORM, ATTIC_INIT_NORMAL, ATTIC_INIT_VALUES } kind;
    enum { ATTIC_FAN_NONE, ATTIC_FAN_IN, ATTIC_FAN_BOTH } fan;
    double scale;         /* the constant; half the width; the standard deviation */
    const double *values; /* for ATTIC_INIT_VALUES */
} at_init;

/* A width (a, sigma, gain) must be finite and >= 0, what is filled in must not become infinite in
 * f32, and values must not be NULL: errors of the tape, once a tensor is made with them. */
AT_API at_init at_zeros(void);
AT_API at_init at_ones(void);
AT_API at_init at_fill(double value);
AT_API at_init at_values(const double *values); /* copied, in memory order */
AT_API at_init at_uniform(double a);            /* U(-a, a)     variance a^2 / 3 */
AT_API at_init at_normal(double sigma);         /* N(0, sigma^2) */

/* Weights of shape [..., fan_in, fan_out], as in y = x W.  One dim n counts as fan_in = fan_out =
 * n.
 *
 * Xavier (Glorot, Bengio 2010): variance gain^2 * 2 / (fan_in + fan_out), which keeps the variance
 * of both activations and gradients through a linear layer with fan_in = fan_out.  He (He, Zhang,
 * Ren, Sun 2015): variance gain^2 / fan_in, with gain sqrt(2) for relu. */
AT_API at_init at_xavier_uniform(double gain);
AT_API at_init at_xavier_normal(double gain);
AT_API at_init at_he_uniform(double gain);
AT_API at_init at_he_normal(double gain);

/* Fills x, if it is not NULL.  Values are drawn in double and rounded, so an f32 and an f64 tensor
 * made from the same stream hold the same values. */
AT_API void at_init_fill(at_tensor *x, at_init init, at_stream stream);

AT_END_C
#endif
