/* results.h -- results.json, in Gradescope's format: a test for each quantity of what is
 * assigned.  The same as a text for a person, if one is opened, in lines of at most 100 columns. */
#ifndef EXERCISES_RESULTS_H
#define EXERCISES_RESULTS_H
#include "submission.h"

#include <stdio.h>

typedef struct {
    FILE *file, *text; /* NULL: it is not written */
    const char *path, *text_path;
    assignment of;
    bool any; /* is there a test already? */
} results;

/* If it cannot be written, the program ends with status 1.  path: NULL writes nothing.  output: about all
 * of it. */
void open_results(results *r, const char *path, const assignment *of, const char *output);
/* The text begins with whose it is, and what all of it is about. */
void open_text(results *r, const char *path, const char *whose, const char *about);
/* Above the quantities of an exercise, in the text alone */
void write_title(results *r, int which, double points, const char *state);
void write_submission(results *r, const submission *x);
void write_missing(results *r, int which, const char *why); /* there is no file */
/* points: of all exercises */
bool close_results(results *r, double points);
#endif
