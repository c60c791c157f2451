/* train.h -- example 05, trained a step at a time: for the page, run.c and train_twin.c. */
#ifndef PAGE_TRAIN_H
#define PAGE_TRAIN_H
#include "attic.h"

#include "page/export.h"

enum {
    TRAIN_LETTERS = 6,   /* of a word */
    TRAIN_WIDEST = 128,  /* of what a map reads or gives, at a position */
    TRAIN_STEPS = 300,   /* that the page trains */
    TRAIN_SEED = 999999, /* the largest one */
};

/* The maps with parameters, in the order in which they are applied.  E is there twice: its rows are
 * read, and they are compared with what the model says, to predict. */
typedef enum {
    TRAIN_E_READ,
    TRAIN_G1,
    TRAIN_WQ,
    TRAIN_WK,
    TRAIN_WV,
    TRAIN_WO,
    TRAIN_G2,
    TRAIN_W1,
    TRAIN_W2,
    TRAIN_G3,
    TRAIN_E_PREDICTED,
    TRAIN_MAPS
} train_map;

/* Begins anew.  1; 0: no memory, or the tape has another error. */
PAGE_EXPORT(train_open) int train_open(int seed);
/* The loss of a new batch, before the step that it leads to; NaN: the tape has an error.  Then the
 * share of the letters of that batch that were predicted right. */
PAGE_EXPORT(train_step) double train_step(void);
PAGE_EXPORT(train_right) double train_right(void);
/* "word|drow", 0 for a; the word is for the caller to write. */
PAGE_EXPORT(train_text) int *train_text(void);
/* Reads the word: its loss, and P and dS, both [T,T]. */
PAGE_EXPORT(train_look) double train_look(void);
PAGE_EXPORT(train_P) double *train_P(void);
PAGE_EXPORT(train_dS) double *train_dS(void);
/* The gradient of the word's loss with respect to a weight, before it is clipped, is a sum of votes,
 * one of each position t:
 *
 *     dW[c,e] = sum_t x[t,c] dy[t,e]          y = x W: x is what the map read
 *     dg[e]   = sum_t x^[t,e] dy[t,e]         y = g x^, x^ = x / sqrt(mean(x^2) + 1e-6); c is 0
 *     dE[c,e] = sum_t dy[t,e] where x[t] = c, and sum_t dy[t,c] x[t,e] of the rows that predict
 *
 * A product of two floats is exact in double; page/votes.js computes the same bits.  Of the word that
 * train_look has looked at: x and dy [T, width] of a map, f32, and the shape of its W. */
double train_vote(int map, int t, int c, int e);
PAGE_EXPORT(train_x) float *train_x(int map);
PAGE_EXPORT(train_dy) float *train_dy(int map);
PAGE_EXPORT(train_rows) int train_rows(int map);
PAGE_EXPORT(train_columns) int train_columns(int map);
/* Looks at the word: by how much the sums differ from the gradients of the library, at most, in units
 * of 2^-24 of the sum of the sizes of the votes. */
double train_votes_off(void);
/* Reads the word and writes the letters after the bar, the most probable one each time, into the
 * text.  1; 0: the tape has an error. */
PAGE_EXPORT(train_write) int train_write(void);

/* train_save writes checkpoint.safetensors to the working folder, from which a run (train/run.h)
 * goes on; train_load goes on from such a file.  1; 0: train_error has the reason, and the training
 * is what it was. */
PAGE_EXPORT(train_save) int train_save(void);
PAGE_EXPORT(train_load) int train_load(void);
PAGE_EXPORT(train_error) const char *train_error(void);
PAGE_EXPORT(train_done) int train_done(void); /* how many steps are done */
PAGE_EXPORT(train_seed) int train_seed(void);

/* For a run: train_step is train_gradients, which has the loss, and train_update. */
at_tape *train_tape(void);
double train_gradients(void);
bool train_update(void);

#endif
