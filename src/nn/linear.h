/* linear.h -- y = x W + b, and with a low-rank adapter (lora.h) y = x W + b + (alpha/r) (x A) B. */
#ifndef AT_NN_LINEAR_H
#define AT_NN_LINEAR_H
#include "autograd/tape.h"
AT_BEGIN_C

typedef struct {
    at_tensor *W;                            /* [n_in, n_out] */
    at_tensor *b;                            /* [n_out], or NULL */
    at_tensor *lora_A, *lora_B, *lora_alpha; /* [n_in, r], [r, n_out], []; NULL: no adapter */
} at_linear;

/* Parameters "name.W", drawn from `init`, and "name.b", zeros, if there is to be a bias.  After a
 * sticky error the layer holds NULLs, and at_linear_apply returns NULL. */
AT_API at_linear at_linear_make(at_tape *t, const char *name, int n_in, int n_out, bool bias,
                                at_init init);
/* x [..., n_in] -> [..., n_out] */
AT_API at_tensor *at_linear_apply(at_tape *t, at_linear layer, at_tensor *x);

AT_END_C
#endif
