/* 01_training_loop.c -- the smallest training loop.
 *
 * The data follow a rule, y = 2 u - 3 v + 1, which the model does not contain.  W and b
 * begin at zero, and gradient descent fits them to eight examples:
 *
 *     loss(W, b) = mean((x W + b - y)^2)             forward: how large is the error?
 *     dW, db     = d(loss)/dW, d(loss)/db            backward: in which direction does it grow?
 *     W, b      -= 0.1 dW, 0.1 db                    step: a little in the other direction
 *
 * The loss falls from 9.6 to nearly 0, and W and b become 2, -3 and 1.
 *
 * Read on: 02_check_a_gradient.c shows how to check a gradient. */
#include "attic.h"

#include <math.h>

#include "common/options.h"

int main(int argc, char **argv)
{
    parse_options(argc, argv,
                  "usage: 01_training_loop\n"
                  "The smallest training loop.\n",
                  NULL, 0);
    const double inputs[] = {0, 0, 0, 1, 1, 0, 1, 1, 2, 0, 0, 2, 2, 1, 1, 2}; /* 8 pairs (u, v) */
    const double target[] = {1, -2, 3, 0, 5, -5, 2, -3};                      /* 2 u - 3 v + 1 */

    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(8, 2), inputs);
    at_tensor *y = at_const(t, at_shape_of(8, 1), target);
    at_tensor *W = at_param(t, "W", at_shape_of(2, 1), at_zeros());
    at_tensor *b = at_param(t, "b", at_shape_of(1), at_zeros());

    printf(
        "Can gradient descent find a rule from eight examples, y = 2 u - 3 v + 1?  The model is\n"
        "x W + b with x = (u, v); its loss is the mean of (x W + b - y)^2.  Look at W and b.\n\n");

    at_mark step = at_mark_here(t);
    for (int i = 0; i <= 200 && at_ok(t); i++) {
        at_tensor *guess = at_add(t, at_matmul(t, x, W), b);             /* [8,1] */
        at_tensor *loss = at_mean(t, at_square(t, at_sub(t, guess, y))); /* []    */
        at_backward(t, loss);
        if (i % 40 == 0)
            printf("step %3d   loss %9.6f   W = (%6.3f, %6.3f)   b = %6.3f\n", i, at_item(loss),
                   at_get(W, 0, 0), at_get(W, 1, 0), at_get(b, 0));
        at_sgd(t, 0.1);     /* moves W and b, clears their gradients */
        at_rewind(t, step); /* frees guess and loss; W and b stay    */
    }

    printf("the rule                    W = ( 2.000, -3.000)   b =  1.000\n");
    double off = fabs(at_get(W, 0, 0) - 2) + fabs(at_get(W, 1, 0) + 3) + fabs(at_get(b, 0) - 1);
    printf("\nSeen: W and b were 2, 3 and 1 away from the rule, and are %.3f away now, in sum:\n"
           "the rule was %s.\n",
           off, off < 0.01 ? "found" : "NOT found");

    if (!at_ok(t)) fprintf(stderr, "attic: %s\n", at_error(t)); /* one check for all of the above */
    int failed = !at_ok(t) || !(off < 0.01);
    at_close(t); /* the only free */
    return finish(failed);
}
