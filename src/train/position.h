/* position.h -- where a run stands, and the checkpoint that holds it.  Private to src/train. */
#ifndef AT_TRAIN_POSITION_H
#define AT_TRAIN_POSITION_H
#include "autograd/tape.h"

enum { AT_MAX_COLUMNS = 32, AT_COLUMN_NAME = 24 };

typedef struct {
    int step;         /* how many steps are done */
    int micros;       /* micro-batches in each */
    int skipped, bad; /* steps whose loss was not finite: all of them, and in a row, up to now */
    double best;      /* the lowest value of at_run_best so far; infinity: there was none */
    ptrdiff_t log_length; /* of log.csv, in bytes */
    int columns;          /* of log.csv, without step and held */
    char column[AT_MAX_COLUMNS][AT_COLUMN_NAME];
} at_position;

/* All parameters, all states, and what a run needs to go on.  False after a sticky error. */
bool at_checkpoint_save(at_tape *t, const char *path, const at_position *p);
/* Back into a tape of the same parameters, seed, type and descriptions, and a position of the same
 * micros; else a user error that names the first difference, before anything was changed.  A file
 * that is damaged or cannot be read is an error of kind ATTIC_FILE_ERROR. */
bool at_checkpoint_load(at_tape *t, const char *path, at_position *p);

#endif
