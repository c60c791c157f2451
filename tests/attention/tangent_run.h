/* tangent_run.h -- runs random problems of at_sdpa_jvp, by itself and by dual numbers, and compares. */
#ifndef ATTIC_TESTS_TANGENT_RUN_H
#define ATTIC_TESTS_TANGENT_RUN_H
#include "attention/sdpa_run.h"

/* What moves; the outputs that may be looked at. */
enum { MOVES_Q, MOVES_K, MOVES_V, MOVES_BIAS, MOVES_SINK, MOVERS };
enum { SEEN_O, SEEN_ODOT, SEEN_W, SEEN_WDOT, SEEN_L, SEEN_LDOT, SEEN }; /* L: lse */

/* An attention problem without what at_sdpa_jvp refuses, and what it has besides. */
typedef struct {
    sdpa_problem p;
    bool moves[MOVERS]; /* has a tangent */
    bool still[MOVERS]; /* whose gradient nobody wants */
    bool shares;        /* Qdot is Q, and Vdot is Kdot where shapes allow */
    bool wants_W, wants_Wdot, wants_L, wants_Ldot, seen[SEEN];
} tangent_problem;

typedef struct {
    sdpa_run of; /* Q, K, V, bias, sink, masks */
    at_tensor *dot[MOVERS], *out[SEEN], *upstream[SEEN];
} tangent_run;

/* The inputs of r that may move. */
#define TANGENT_INPUTS(r)                                                                          \
    {                                                                                              \
        (r).of.Q, (r).of.K, (r).of.V, (r).of.bias, (r).of.sink                                     \
    }

tangent_problem tangent_draw(int seed, sdpa_size size);
/* Inputs of variance 1, the same numbers in f32 and f64; random upstream gradients. */
tangent_run tangent_inputs(at_tape *t, const tangent_problem *p);
bool tangent_forward(at_tape *t, const tangent_problem *p, tangent_run *r);
bool tangent_backward(at_tape *t, const tangent_run *r);
/* All three; fails the test if one fails. */
tangent_run tangent_run_on(at_tape *t, const tangent_problem *p);

/* The same outputs and gradients by dual numbers: the plain path of at_sdpa on a tape of its own.
 * t: f64, for the results.  change(p, r), or NULL: what is done to inputs and upstream gradients
 * before. */
tangent_run tangent_twin(at_tape *t, const tangent_problem *p,
                         void (*change)(const tangent_problem *p, tangent_run *r));

/* sdpa_difference over all outputs and gradients. */
double tangent_difference(const tangent_run *x, const tangent_run *y, const char **where);

#endif
