/* optim_moves.h -- the list of moves that every optimizer is.  Private to src/nn.
 *
 * An optimizer is a list of moves, one per parameter: where its elements are, and the few constants
 * of this step.  The list is made first, with all the memory that it needs; then nothing can fail,
 * and all parameters are moved in one go, each cut into blocks, small ones beside large ones:
 *
 *     task      0    1    2    3    4    5    6
 *     move     |W1, 3 blocks |b1  |W2, 2 blocks |b2  |
 *
 * Every element is read and written once, whatever the optimizer. */
#ifndef AT_NN_OPTIM_MOVES_H
#define AT_NN_OPTIM_MOVES_H
#include "autograd/op.h"
#include "kernels/real.h"

typedef struct {
    enum { OPTIM_HAS_GRAD, OPTIM_IS_MATRIX, OPTIM_LEARNS, OPTIM_HAS_MEAN } group; /* who is moved */
    at_tensor *x;
    at_tensor *m, *v, *k; /* state, as far as this optimizer has any; m: the mean of at_ema */
    ptrdiff_t first;      /* its first task */

    double lr;
    double l2;           /* g = dw + l2 w */
    double keep;         /* w <- keep w - ... */
    double beta1, beta2; /* what stays of m and v; mu for descent */
    double unbias_m, unbias_root_v;
    double eps;
    bool nesterov;
} optim_move;

/* Elements from .. to-1 of a move.  sum and factor are for clipping alone. */
typedef struct {
    const optim_move *move;
    ptrdiff_t from, to;
    double *sum, factor;
} optim_block;

typedef struct {
    const char *op;
    at_names which;
    optim_move like;       /* what all moves have; its l2 is the weight decay lambda */
    bool decoupled;        /* lambda shortens w, and is no part of g */
    bool decay_matrices;   /* lambda is not for vectors */
    const char *m, *v, *k; /* names of the state that each has; k is a count */
    int steps;             /* of at_muon */

    optim_move *move;
    int n;
    ptrdiff_t tasks, elements;
    void (*run)(const optim_block *b);
    double *sum, factor, norm; /* of clipping: a sum for each task */
} optim_job;

/* call(t, job), which the line of job->op in a profile measures */
bool at_optim_measured(at_tape *t, optim_job *job, bool (*call)(at_tape *t, optim_job *job));

/* Is what stays of a mean, such as beta1, in 0 .. 1?  False after a sticky error. */
bool at_optim_share(at_tape *t, const char *op, const char *name, double share);
/* The moves of all parameters of the group, with their state.  False after a sticky error; the
 * learning rate, the decay, the momentum and eps may be one. */
bool at_optim_gather(at_tape *t, optim_job *job);
/* Counts this step, and returns the count. */
double at_optim_count(const optim_move *m);
/* job->run for every block of every move */
void at_optim_run(optim_job *job);
/* The same, and then the gradients are used. */
void at_optim_move(at_tape *t, optim_job *job);

AT_EACH_REAL(void, sgd_block, (const optim_block *b));

#endif
