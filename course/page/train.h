/* train.h -- example 05, trained a step at a time: what the page calls in train.c, and train_twin.c. */
#ifndef PAGE_TRAIN_H
#define PAGE_TRAIN_H
#include "page/export.h"

enum { TRAIN_LETTERS = 6 }; /* of a word */

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

#endif
