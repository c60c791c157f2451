/* given.h -- a batch of attentions with their gradients, as the arrays of a file. */
#ifndef ATTIC_TESTS_GIVEN_H
#define ATTIC_TESTS_GIVEN_H
#include "gradients.h"

enum { GIVEN_BATCH = 3 };

typedef struct {
    at_tape *t;
    int B, axes; /* 2, 3 or 4 */
    gradients_layout layout;
    steps *a[GIVEN_BATCH]; /* forward and right backward; what is changed in them is in the file */
    arrays file;
} given;

/* Inputs are multiples of 1/16 from -2 to 2, which every dtype holds. */
given *given_open(uint64_t seed, int B, const steps_problem *p);
void given_close(given *g);
/* Row i attends to keys up to i + shift; computes all again. */
void given_causal(given *g, int shift);
/* Rounds the gradients to so many binary digits. */
void given_round(given *g, int digits);
/* Q, K, V, O, dO, dQ, dK, dV as they are now, in place of what the file held */
void given_write(given *g);
/* Adds an array; values: in memory order. */
void given_add(given *g, const char *name, at_shape shape, const double *values);
void given_number(given *g, const char *name, double x);
/* The mask as bools, [B,1,T,N] */
void given_mask(given *g);
#endif
