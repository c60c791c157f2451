/* trace.c -- one small attention, or a whole block, printed step by step, forward and then backward.
 *
 *     trace                                   3 queries, 4 keys, of size 2
 *     trace --paper                           numbers that can be checked with a pencil
 *     trace --causal --dropout 0.25           see --help
 *     trace --Q 1,0/0,1 --K k.npy             matrices row by row, or files
 *     trace --self --Q 1/2/3                  Q = K = V: three tokens of size 1
 *     trace --cell q0,k2                      works out that cell in every step
 *     trace --paper --quiz                    asks first, then shows
 *     trace --mistake no-delta                a backward with this mistake in it: what notices?
 *     trace --block --paper --cell dX:1,1     from tokens to tokens: X, four matrices, two heads
 *     trace --json                            the same for programs
 *
 * The steps have the numbers of attention/attention.h, forward 1 to 8, then backward 8 to 1; one
 * that is off says so.  Every step shows its formula, its shapes, the whole matrix, and one cell
 * worked out with the numbers put in.  In the backward, each gradient stands beside its numerical
 * value: how much the loss changes when that one element is moved a little (five-point differences,
 * everything after it computed again; the step width is chosen for each element).  What disagrees
 * is marked DIFFERS, and the exit status is 1.  With --mistake it is the other way round: the exit status
 * is 1 if nothing differs, so that nobody could notice it here.  The arithmetic is that of course/steps.c, in loops
 * that read like the formulas; at_sdpa, which does all of it in one op, is compared at the end. */
#include "common/options.h"
#include "trace.h"

static trace t;

int main(int argc, char **argv)
{
    int status = trace_run(&t, argc, argv);
    trace_close(&t);
    return finish(status);
}
