/* train.h -- example 05, trained a step at a time: for the page, run.c and train_twin.c. */
#ifndef PAGE_TRAIN_H
#define PAGE_TRAIN_H
#include "attic.h"

#include "page/export.h"

enum {
    TRAIN_LETTERS = 6,   /* of a word */
    TRAIN_STEPS = 300,   /* that the page trains */
    TRAIN_SEED = 999999, /* the largest one */
};

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
