/* optim.h -- moving parameters downhill, and how far.
 *
 *     at_backward(t, loss);
 *     at_clip_grad_norm(t, 1.0);
 *     at_adamw(t, 1e-3, (at_adamw_args){.weight_decay = 0.1});
 *
 * An optimizer moves every parameter of the tape that has a gradient, and clears the gradients of
 * those it moved.  A parameter that no gradient has reached stays as it is: it is not decayed, and
 * its momentum does not move it.
 *
 * The state of an optimizer is part of the tape's named state (at_param_state), "W:adam_m" for the
 * parameter "W": zeros at first, and nothing else has to be saved to go on later.
 *
 * Groups.  `only` and `except` choose parameters by name: patterns, separated by commas, in which *
 * stands for anything.  Two calls serve two groups:
 *
 *     at_adamw(t, 1e-3, (at_adamw_args){.weight_decay = 0.1, .only = "*.W"});
 *     at_adamw(t, 1e-3, (at_adamw_args){.except = "*.W"});
 *
 * A parameter is moved if it matches `only` (NULL: all do) and not `except` (NULL: none does).  An
 * `only` that matches nothing is an error: it is a misspelling.
 *
 * It is an error, of clipping as well, if no parameter of the tape has a gradient: at_backward was
 * forgotten, or its loss depends on no parameter that learns.  It is no error where gradients were
 * there since the last at_rewind and an optimizer has used them, or at_zero_grads has dropped them:
 * of two groups, the second may have none.  Nor is it one in a step that a run skips (train/run.h).
 *
 * lr >= 0 is the learning rate.  With lr = 0 no parameter moves, but the state of the optimizer
 * does.
 *
 * All return false after a sticky error, in which case nothing was moved.  The bits of a result do
 * not depend on the number of threads. */
#ifndef AT_NN_OPTIM_H
#define AT_NN_OPTIM_H
#include "autograd/tape.h"
AT_BEGIN_C

/* w <- w - lr dw */
AT_API bool at_sgd(at_tape *t, double lr);

typedef struct {
    double momentum;     /* mu, >= 0; 0: none */
    bool nesterov;       /* look ahead: step from where the momentum leads */
    double weight_decay; /* lambda, >= 0 */
    const char *only, *except;
} at_sgd_args;

/* g = dw + lambda w         m <- mu m + g         w <- w - lr m,  with nesterov  w - lr (g + mu m)
 *
 * Polyak 1964; Nesterov 1983 in the form of Sutskever, Martens, Dahl, Hinton 2013.  The first step
 * is that of plain descent. */
AT_API bool at_sgd_with(at_tape *t, double lr, at_sgd_args args);

typedef struct {
    double beta1;        /* how much of m stays, 0 < beta1 < 1; 0 stands for 0.9 */
    double beta2;        /* how much of v stays; 0.999 if 0 */
    double eps;          /* 1e-8 if 0 */
    double weight_decay; /* lambda, >= 0 */
    bool decay_matrices; /* lambda is for parameters of two dims or more: not biases, not gains */
    const char *only, *except;
} at_adamw_args;

/* m <- beta1 m + (1 - beta1) g           m' = m / (1 - beta1^k)        k = 1, 2, 3 ...
 * v <- beta2 v + (1 - beta2) g^2         v' = v / (1 - beta2^k)
 *
 *     w <- (1 - lr lambda) w - lr m' / (sqrt(v') + eps)                g = dw
 *
 * Kingma, Ba 2015, with the decoupled weight decay of Loshchilov, Hutter 2019.  m and v begin at 0
 * and would be too small at first; m' and v' make up for it.  k counts the steps of each parameter
 * by itself, so one that joins late is treated as well as the others. */
AT_API bool at_adamw(at_tape *t, double lr, at_adamw_args args);

/* The same with the weight decay of the original, as part of the gradient: g = dw + lambda w, and
 * w <- w - lr m' / (sqrt(v') + eps). */
AT_API bool at_adam(at_tape *t, double lr, at_adamw_args args);

typedef struct {
    double alpha;        /* how much of v stays, 0 < alpha < 1; 0 stands for 0.99 */
    double eps;          /* 1e-8 if 0 */
    double momentum;     /* mu, >= 0; 0: none */
    double weight_decay; /* lambda, >= 0 */
    const char *only, *except;
} at_rmsprop_args;

/* v <- alpha v + (1 - alpha) g^2         m <- mu m + g / (sqrt(v) + eps)         w <- w - lr m
 *
 * with g = dw + lambda w.  Tieleman, Hinton 2012; the momentum as in PyTorch.  v begins at 0, and
 * nothing makes up for it: without momentum an element moves by lr / sqrt(1 - alpha) in its first
 * step, 10 lr for alpha = 0.99.  The state is "W:rmsprop_v" and, if mu > 0, "W:rmsprop_m". */
AT_API bool at_rmsprop(at_tape *t, double lr, at_rmsprop_args args);

typedef struct {
    double beta1;        /* how much of m counts in a step, 0 < beta1 < 1; 0 stands for 0.9 */
    double beta2;        /* how much of m stays; 0.99 if 0 */
    double weight_decay; /* lambda, >= 0 */
    bool decay_matrices; /* as in at_adamw_args */
    const char *only, *except;
} at_lion_args;

/* w <- (1 - lr lambda) w - lr sign(beta1 m + (1 - beta1) dw)       m <- beta2 m + (1 - beta2) dw
 *
 * Chen et al. 2023.  Every element moves by lr, unless the argument of the sign is 0.  So lr is 3
 * to 10 times smaller than for at_adamw, and lambda as many times larger.  The state is "W:lion_m",
 * half of what Adam keeps. */
AT_API bool at_lion(at_tape *t, double lr, at_lion_args args);

typedef struct {
    double momentum;     /* mu, 0 < mu < 1; 0.95 if 0 */
    double weight_decay; /* lambda, >= 0 */
    int steps;           /* of Newton and Schulz; 5 if 0 */
    const char *only, *except;
} at_muon_args;

/* Muon, for the matrices W [rows,cols] between layers:
 *
 *     m <- mu m + dW           U = dW + mu m                      (Nesterov, as in at_sgd_with)
 *     W <- (1 - lr lambda) W - lr sqrt(max(1, cols / rows)) O(U)
 *
 * O(U) is U with all of its singular values brought near 1 (0.68 to 1.14), by five steps of
 *
 *     X <- a X + b (X X^T) X + c (X X^T)^2 X,     a = 3.4445, b = -4.7750, c = 2.0315
 *
 * from X = U / (|U| + 1e-7) on, where |U| is the root of the sum of all squares.  So a step is as
 * long in the rare directions of a gradient as in the frequent ones.  lr, about 0.02, is its
 * length, and the factor with cols / rows keeps the change of y = x W at that length in every
 * shape.  (Jordan et al. 2024; Newton, Schulz.)
 *
 * It takes parameters of two dims alone; and, as a table of embeddings and the head of a model are
 * matrices whose rows or columns are used one at a time, not those: except = NULL stands for
 * "E,*.E,P,*.P,head.*,*.head.*", "" for none.  What it does not move keeps its gradient, for
 * another optimizer to use:
 *
 *     at_clip_grad_norm(t, 1.0);
 *     at_muon(t, 0.02, (at_muon_args){0});
 *     at_adamw(t, 1e-3, (at_adamw_args){0});       the rest: embeddings, head, norms, biases
 *
 * It is an error if no parameter that is meant is a matrix.  The momentum is named state,
 * "W:muon_m". */
AT_API bool at_muon(at_tape *t, double lr, at_muon_args args);

/* An exponential moving average of each parameter, one step further: after k calls the average of
 * what w was at each of them, the latest counting most (Polyak, Juditsky 1992 average evenly),
 *
 *     a_k = sum_i decay^(k-i) w_i / sum_i decay^(k-i)           i = 1 .. k
 *         = a_(k-1) + c_k (w_k - a_(k-1)),                      c_k = (1 - decay) / (1 - decay^k)
 *
 * so a_1 = w_1, and nothing has to be corrected for a beginning at 0 (Adam's m' is this average of
 * g).  0 < decay < 1; 0.999 averages over about the last 1000 calls.  Call it after the optimizer.
 *
 * The average is named state, "W:ema", beside its count k, "W:ema_k": checkpoints hold both.  Of
 * the parameters that are meant, frozen ones are left out.  Two groups take two calls. */
AT_API bool at_ema(at_tape *t, double decay, at_names which);

/* Exchanges every parameter that has an average with it; a second call exchanges them back, bit for
 * bit.  Between the two the tape evaluates, samples and saves with the averages:
 *
 *     at_ema_swap(t);
 *     double held_out = ...                     a loss with the averages
 *     at_ema_swap(t);
 *
 * It counts as writing them (at_written).  at_ema in between is an error; that no parameter has an
 * average is one, too.  Do not train in between: an optimizer would move the averages. */
AT_API bool at_ema_swap(at_tape *t);

/* Scales all gradients of parameters by one factor so that the norm of all of them together is at
 * most max_norm (> 0; INFINITY only measures), and returns what the norm was.  The factor is
 * max_norm / norm; PyTorch's max_norm / (norm + 1e-6) ends a little lower.  The norm is summed in
 * double, in a fixed order.  A norm that is not finite is returned as it is and the gradients stay
 * as they are: at_zero_grads skips such a step, at_grad_report tells where it came from.  NAN after
 * a sticky error. */
AT_API double at_clip_grad_norm(at_tape *t, double max_norm);

/* Brings each element of each gradient of a parameter into -max .. max (max > 0; INFINITY changes
 * nothing).  So the direction of the gradient changes, which at_clip_grad_norm keeps.  NaN stays
 * NaN. */
AT_API bool at_clip_grad_value(at_tape *t, double max);

AT_END_C
#endif
