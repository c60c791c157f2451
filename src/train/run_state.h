/* run_state.h -- what a run is made of, and its folder.  Private to run.c and run_folder.c. */
#ifndef AT_TRAIN_RUN_STATE_H
#define AT_TRAIN_RUN_STATE_H
#include "terminal/progress.h"
#include "tensor/arena.h"
#include "train/csv.h"
#include "train/gradients.h"
#include "train/peers.h"
#include "train/position.h"

typedef enum {
    RUN_CHECKPOINT,
    RUN_PREVIOUS,
    RUN_NEW,
    RUN_BEST,
    RUN_LOG,
    RUN_NEW_LOG,
    RUN_JSON_LOG,
    RUN_LOCK,
    RUN_FILES
} run_file;

struct at_run {
    at_arena home;    /* r is in there, and its paths */
    at_tape *t;       /* NULL once it is closed */
    at_run **of_tape; /* r, for the tape to find it when it is closed; NULL once r is closed */
    at_run_args args;
    const char *folder, *path[RUN_FILES];
    bool has_folder;
    FILE *lock; /* NULL in a run without a folder, and where another process has it */
    at_position at;
    int opened_at;         /* the step at which this process opened it, */
    int64_t opened_ns;     /* the time, of at_now_ns, */
    double seconds_before; /* and the seconds that the run had taken until then */
    bool has_checkpoint;   /* the file of that name is whole */
    int saved;             /* the step of the last checkpoint; -1: none */
    int n_params;

    at_csv log;

    int64_t begun_ns; /* the first step, */
    bool exchange_said;
    bool in_step, is_bad, has_held, over, finished, diverged, unsaved, log_fails, save_fails;
    at_peers peers;
    int first, own;         /* the micro-batches of this process: the first of them, and how many */
    int micro;              /* the one of these; -1 before at_run_next_micro, */
    bool summed;            /* and all of them are done */
    at_gradients gradients; /* of a step with several */
    double held;
    at_progress progress;
};

/* A message of the run, in characters that can be seen. */
AT_PRINTF(2, 3) void at_run_say(at_run *r, const char *format, ...);
/* After a file error: says it, and goes on as if nothing had happened.  False on other errors. */
bool at_run_warn(at_run *r, const char *and);
/* That it has taken so far, all processes together. */
double at_run_seconds(const at_run *r);

/* The paths of its files.  False after a sticky error, here and below. */
bool at_folder_name(at_run *r, const char *folder);
/* Takes the folder and what it holds. */
bool at_folder_open(at_run *r);
/* Is the folder that was opened still the one of its name?  That run.lock alone was removed moves
 * nothing. */
bool at_folder_in_place(const at_run *r);
/* A checkpoint of this step, if there is none; and the parameters as the best so far. */
bool at_folder_save(at_run *r);
bool at_folder_best(at_run *r);

#endif
