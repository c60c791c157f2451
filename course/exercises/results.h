/* results.h -- results.json, in Gradescope's format: a test for each quantity of what is
 * assigned. */
#ifndef EXERCISES_RESULTS_H
#define EXERCISES_RESULTS_H
#include "submission.h"

#include <stdio.h>

typedef struct {
    FILE *file; /* NULL: nothing is written */
    const char *path;
    assignment of;
    bool any; /* is there a test already? */
} results;

/* If it cannot be written, the program ends with status 1.  path: NULL writes nothing.  output: about all
 * of it. */
void open_results(results *r, const char *path, const assignment *of, const char *output);
void write_submission(results *r, const submission *x);
void write_missing(results *r, int which, const char *why); /* there is no file */
bool close_results(results *r);
#endif
