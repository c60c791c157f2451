/* mlp.h -- a multilayer perceptron: linear layers with a function between.
 *
 *     h = f(x W0 + b0),  h = f(h W1 + b1) ...  y = h Wn + bn       f: tanh, relu, gelu ... */
#ifndef AT_NN_MLP_H
#define AT_NN_MLP_H
#include "nn/ffn.h"
AT_BEGIN_C

typedef struct {
    at_linear *layer; /* `layers` of them */
    int layers;
    at_activation act;
} at_mlp;

/* n widths, from that of x to that of y: {2, 64, 64, 1} makes three layers.  Parameters in the open
 * scope: 0.W 0.b 1.W 1.b ...; so two nets need two scopes (at_scope).  W is Xavier-normal, before a
 * relu He-normal with gain sqrt(2), and b is 0.  act is any but ATTIC_SWIGLU, which takes two
 * products.  The array lives as long as the parameters, until at_close.  After a sticky error
 * `layer` is NULL or holds NULLs, and what it is applied to becomes NULL. */
AT_API at_mlp at_mlp_make(at_tape *t, const int *width, int n, at_activation act);
/* x [..., width[0]] -> [..., width[n-1]] */
AT_API at_tensor *at_mlp_apply(at_tape *t, const at_mlp *m, at_tensor *x);

AT_END_C
#endif
