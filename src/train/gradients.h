/* gradients.h -- the gradients of the micro-batches of a step, added up in one fixed tree.  Private
 * to src/train.
 *
 * Micro-batch m has the gradient g_m.  Each is received apart, from zero, and what is added is
 * decided by the numbers alone:
 *
 *     M = 8     ((g0 + g1) + (g2 + g3)) + ((g4 + g5) + (g6 + g7))
 *     M = 6     ((g0 + g1) + (g2 + g3)) + (g4 + g5)
 *     M = 7     ((g0 + g1) + (g2 + g3)) + ((g4 + g5) + g6)
 *
 * Two sums of as many micro-batches, side by side, become one as soon as both are there, as a
 * binary counter carries; what is left at the end is merged from the smallest up.  So the bits of
 * the sum follow from M, and a block of 2^k micro-batches that begins at a multiple of 2^k is a
 * part of the tree: another process can compute it (run.h, at_run_peers).
 *
 * Sums that wait are as many as m has ones in binary; with the one that receives, there are at most
 * floor(log2 M) + 1 buffers of all gradients. */
#ifndef AT_TRAIN_GRADIENTS_H
#define AT_TRAIN_GRADIENTS_H
#include "autograd/tape.h"
#include "tensor/arena.h"

typedef struct {
    at_tape *t;
    int n;         /* parameters */
    int received;  /* micro-batches that are in a sum */
    int waiting;   /* sums: 0 .. waiting - 1, the earliest micro-batches first */
    void **memory; /* of sum s, of parameter i: [s n + i]; NULL until it is first needed */
    bool *has;     /* has parameter i a gradient there? */
} at_gradients;

/* For the parameters that t has now and at most `micros` micro-batches in a step; lists of pointers
 * are taken from a, memory of gradients from t at first need.  False after a sticky error. */
bool at_gradients_open(at_gradients *g, at_tape *t, at_arena *a, int micros);
/* A step begins: no sum waits, and the first micro-batch adds to what the parameters have. */
void at_gradients_begin(at_gradients *g);
/* A micro-batch is complete: its gradient becomes a sum, which is merged with those that are ready
 * for it, and the parameters have none.  False after a sticky error, here and below. */
bool at_gradients_take(at_gradients *g);
/* All are taken: the parameters have the sum of all. */
bool at_gradients_give(at_gradients *g);

#endif
