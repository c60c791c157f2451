/* position.h -- where a run stands, and the checkpoint that holds it.  Private to src/train. */
#ifndef AT_TRAIN_POSITION_H
#define AT_TRAIN_POSITION_H
#include "autograd/tape.h"

typedef struct {
    int step;            /* how many steps are done */
    int micros;          /* micro-batches in each */
    bool any_arithmetic; /* a checkpoint of the other arithmetic is loaded as well */
    int skipped, bad;    /* steps whose loss was not finite: all of them, and in a row, up to now */
    double best;         /* the lowest value of at_run_best so far; infinity: there was none */
    int best_step;       /* how many steps were done with that one; 0: there was none */
    int worse;           /* values of at_run_best in a row that were not the lowest, up to now */
    int stopped;         /* the args.steps of the run that at_run_stop ended; 0: it did not */
    double seconds;      /* that the run has taken so far */
    ptrdiff_t log_lines; /* of log.csv, with its header */
} at_position;

/* All parameters, all states, and what a run needs to go on.  False after a sticky error. */
bool at_checkpoint_save(at_tape *t, const char *path, const at_position *p);
/* Back into a tape of the same parameters, seed, type and descriptions, a build of the same
 * arithmetic unless any will do, and a position of the same micros; else a user error that names
 * the first difference, before anything was changed.  A file that is damaged or cannot be read is
 * an error of kind ATTIC_FILE_ERROR. */
bool at_checkpoint_load(at_tape *t, const char *path, at_position *p);

/* The state of this name, "W:adam_m", made of zeros if there is none yet.  NULL after a sticky
 * error or if no parameter is named so. */
at_tensor *at_state_of_name(at_tape *t, const char *name, at_shape shape);
/* Are two descriptions the same?  If not, *a and *b are the items of `there` and of `here` that
 * differ.  NULL: absent. */
bool at_same_text(const char *there, const char *here, const char **a, const char **b);

#endif
