/* ffn.h -- the feed-forward net of a transformer's block: two products with a function between.
 *
 *     y = f(x Wup + bup) Wdown + bdown                               f: gelu, relu, tanh ...
 *     y = (silu(x Wgate + bgate) (x Wup + bup)) Wdown + bdown        SwiGLU (Shazeer 2020)
 *
 * In the second line the product in brackets is taken element by element. */
#ifndef AT_NN_FFN_H
#define AT_NN_FFN_H
#include "nn/linear.h"
AT_BEGIN_C

typedef enum {
    ATTIC_GELU,
    ATTIC_GELU_TANH,
    ATTIC_RELU,
    ATTIC_SILU,
    ATTIC_SWIGLU,
    ATTIC_RELU2,
    ATTIC_TANH
} at_activation;

typedef struct {
    int dim;    /* width of x and y */
    int hidden; /* width between the products.  0: 4 dim; SwiGLU, which has three matrices and
                 * not two: 8/3 dim, rounded up to a multiple of 8 */
    at_activation act;
    bool bias; /* in every product */
} at_ffn_config;

typedef struct {
    at_ffn_config config; /* with hidden filled in */
    at_linear up, gate, down;
} at_ffn;

/* Can a net be made like this?  A sticky error if not; at_ffn_make asks this first. */
AT_API bool at_ffn_check(at_tape *t, at_ffn_config config);

/* Parameters gate.W (SwiGLU alone), up.W, down.W (and .b) in the open scope, Xavier-normal; down is
 * drawn smaller by out_gain, as in at_attention_make.  After a sticky error the net holds NULLs,
 * and what it is applied to becomes NULL. */
AT_API at_ffn at_ffn_make(at_tape *t, at_ffn_config config, double out_gain);
/* x [..., dim] -> [..., dim] */
AT_API at_tensor *at_ffn_apply(at_tape *t, const at_ffn *f, at_tensor *x);

/* f(x), silu(x) for SwiGLU; and is there such a function?  A sticky error of `what` if not. */
at_tensor *at_activate(at_tape *t, at_activation act, at_tensor *x);
bool at_activation_check(at_tape *t, const char *what, at_activation act);

AT_END_C
#endif
