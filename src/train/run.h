/* run.h -- a training that can be stopped at any time and goes on with the same bits.
 *
 *     at_run *r = at_run_open(t, "out/gpt", (at_run_args){.steps = 2000, .save_every = 200});
 *     at_mark mark = at_mark_here(t);
 *     while (at_run_next(r)) {
 *         at_tensor *loss = ...                            a batch of step at_run_step(r)
 *         at_backward(t, loss);
 *         at_run_log(r, "loss", at_item(loss));            between backward and optimizer
 *         at_adamw(t, at_warmup_cosine(at_run_step(r), 100, 2000, 1e-3, 1e-4), args);
 *         if (at_run_every(r, 100)) at_run_best(r, held_out_loss);
 *         at_rewind(t, mark);
 *     }
 *     int status = at_run_close(r);
 *     at_close(t);
 *     return status;
 *
 * The loop stays the caller's; a run knows its step, its log and its folder:
 *
 *     checkpoint.safetensors            all that is needed to go on (checkpoint.h)
 *     checkpoint.previous.safetensors   the one before, taken if the other is absent or damaged
 *     best.safetensors                  the parameters alone, of the lowest at_run_best so far
 *     log.csv                           a line for each step, or for some of them: at_run_log
 *     log.jsonl                         the same lines as JSON, with args.json_log
 *     run.lock                          in use by one process at a time
 *
 * Checkpoints are written beside their place and renamed, so whenever a process or a machine stops,
 * the folder holds the old checkpoint or the new one.  A checkpoint that cannot be written (the
 * disk is full) is a warning: the old one stays, the training goes on, and only the last one must
 * succeed.
 *
 * Bits.  Each step begins with at_draws_set(t, step, micro-batch), so that nothing drawn by an
 * evaluation, a log or a sample changes what the next step draws.  What a loop computes from the
 * step, from the tape's parameters and state and from data of train/data.h is the same, whether the
 * run was stopped or not.  So are the logs, but for their two columns of time.  What the loop keeps
 * elsewhere is not in a checkpoint.
 *
 * Without a folder (NULL) a run is the loop, its values, the progress line, signals and early
 * stopping, and nothing is written.
 *
 * Several processes (args.peers) run the same program, and each at_run function is called by all of
 * them.  Bits are those of one process with the same micros, whatever their count, so a run also
 * goes on with another one.  Rank 0 has the folder: it alone writes files, progress and messages,
 * and parameters, states and position are copied from it when the run is opened.  What all must
 * begin with is compared: version, arithmetic, dtype, seed, what at_describe said, parameters,
 * steps, micros, save_every, max_bad, patience; the first difference is named, with the rank.  An
 * error in one process, a signal, a stop and a loss that is not finite are told to all before
 * gradients are exchanged: all skip the same steps, end with the same status, and the message names
 * the rank.
 *
 * Signals.  The first SIGINT (^C) or SIGTERM ends the loop after the step, with a checkpoint; a
 * second one ends the process.  at_run_close restores the handlers that were there.  As these are
 * the process's, it can have one run at a time. */
#ifndef AT_TRAIN_RUN_H
#define AT_TRAIN_RUN_H
#include <stdio.h>

#include "autograd/tape.h"
AT_BEGIN_C

typedef struct at_run at_run;

/* The processes that share the micro-batches of a run; attic_mpi.h makes one on MPI.  `rank` is
 * this process, 0 .. count - 1; count is a power of two, at most 256.  The functions get `self`,
 * are called by all processes in the same order, return when all that they need has come, and
 * return false where that is impossible, which ends the run:
 *
 *     gather   all[i] = the `bytes` at mine of rank i       all: room for count times as many
 *     share    the `bytes` at data of rank `from`, for all
 *     swap     sends to one other rank, which calls swap as well, what it receives from this one */
typedef struct {
    int rank, count;
    void *self;
    bool (*gather)(void *self, const void *mine, size_t bytes, void *all);
    bool (*share)(void *self, int from, void *data, size_t bytes);
    bool (*swap)(void *self, int other, const void *send, size_t send_bytes, void *receive,
                 size_t receive_bytes);
} at_run_peers;

typedef struct {
    int steps;       /* in all, > 0 */
    int save_every;  /* steps from one checkpoint to the next; 0: one at the end or at a signal */
    int log_every;   /* steps from one line of log.csv to the next, 1 if 0; see at_run_log */
    int micros;      /* micro-batches in a step, 1 if 0; see at_run_next_micro */
    int max_bad;     /* how many steps in a row may have a loss that is not finite, 10 if 0 */
    int patience;    /* how many at_run_best in a row that are not the lowest so far end the run
                        early; 0: none do */
    double per_step; /* tokens, rows or whatever else a step learns from, of all its
                        micro-batches: log.csv has how many per second.  1 if 0: steps per second */
    bool json_log;   /* log.jsonl beside log.csv: see at_run_log */
    bool fresh;      /* begin anew: removes the checkpoints, the logs and the best of this folder */
    bool quiet;      /* no progress; warnings and the message of at_run_close only */
    FILE *out;       /* where progress and messages go, NULL: stderr */

    /* Go on with a checkpoint of a build of the other arithmetic (at_arithmetic), too: the run then
     * has the bits of neither. */
    bool other_arithmetic;

    /* Each of peers->count processes does micros / count micro-batches of every step
     * (at_run_next_micro). micros is a power of two then, and not below count.  NULL: this process
     * does all. */
    const at_run_peers *peers;
} at_run_args;

/* Opens the folder, which is made with those above it, after all parameters were made.  If it holds
 * a checkpoint, all of parameters, state, step and log become what they were, and the run goes on.
 * steps, save_every, log_every, json_log, max_bad, patience, per_step, the number of threads and
 * all paths may differ from before.  It is an error if anything else does, and the message names
 * the first difference: arithmetic, seed, dtype, micros, what at_describe said, names and shapes of
 * parameters, the format of a checkpoint of another version of attic (its parameters can be read by
 * at_load).  If the folder is another process's, or holds a log or a best without a checkpoint,
 * that is an error, too.  Warnings in the description of the data (at_data_description) are
 * printed.
 *
 * folder NULL: a run without one; save_every, log_every, json_log and fresh are errors then, as
 * there is nothing to save, to log to or to remove.
 *
 * What is returned must be closed, after an error as well, and before the tape: at_run_close has
 * the message and the status.  NULL when out of memory, which all functions here accept. */
AT_API at_run *at_run_open(at_tape *t, const char *folder, at_run_args args);
/* Ends a step, with its line of the log and, if it is due, its checkpoint; and begins the next one.
 * False at the end, be it early, after a signal, after an error of the tape, and after max_bad
 * steps in a row that were skipped. */
AT_API bool at_run_next(at_run *r);
/* The step that was begun, counted from 0; outside of the loop how many are done. */
AT_API int at_run_step(const at_run *r);
/* Is this the n-th step, the 2n-th, ... or the last one of args.steps? */
AT_API bool at_run_every(const at_run *r, int n);

/* The micro-batches of a step, whose gradients add up:
 *
 *     while (at_run_next_micro(r)) {
 *         ...                                       batch at_run_micro(r) of args.micros
 *         at_tensor *share = at_scale(t, loss, batch.share);
 *         at_backward(t, share);
 *         at_run_log(r, "loss", micros * at_item(share));   the mean of all of them is logged
 *     }
 *
 * (batch.share: data.h; 1 / micros where all have as many targets.)  Each micro-batch is received
 * from zero, and their gradients are added in a binary tree over their numbers: of 8
 *
 *     ((g0 + g1) + (g2 + g3)) + ((g4 + g5) + (g6 + g7))
 *
 * and where micros is no power of two, 6 say, two sums of as many side by side become one as soon
 * as both are there, and what is left is added from the smallest up: ((g0 + g1) + (g2 + g3)) +
 * (g4 + g5).  So the bits of the sum follow from micros alone.  The sum is there, as the gradients
 * of the parameters, when at_run_next_micro has returned false; to leave the loop before is an
 * error of at_run_next.  floor(log2 micros) + 1 buffers of all gradients are held.
 *
 * Only needed where args.micros > 1. */
AT_API bool at_run_next_micro(at_run *r);
AT_API int at_run_micro(const at_run *r); /* 0 .. micros - 1 */

/* A column of log.csv and a part of the progress line: the mean of the values that one step gives
 * to this name.  A name may come in any step, and need not come in each: cells without a value are
 * empty.  The header is "step", the names of the first step, then
 *
 *     held          what at_run_best was given
 *     seconds       that the run has taken so far, the time between its processes left out
 *     per_second    args.per_step per second, since the line before
 *
 * and names that came later (log.csv is written anew for such a column).  seconds and per_second
 * are measured: they alone differ when the same training is run again.
 *
 * The first step has a line, the last one, and each log_every-th; and so has a step with a value in
 * a column that is empty in the line before.  So what is logged now and then is not lost between
 * two lines.  A line has the values of its own step alone.
 *
 * log.jsonl has each of these lines as an object, with the columns that have a value in it:
 *
 *     {"step":1,"loss":4.61512089,"norm":1.32,"seconds":0.051,"per_second":20080}
 *
 * A value that is not finite, nan or inf in log.csv, is null.  What a checkpoint does not know is
 * cut off when the run is resumed, from both: here the lines behind its step.
 *
 * "loss" and "norm" are looked at: if one is not finite, the step is skipped.  Its gradients are
 * dropped, so that the optimizer that comes next moves nothing (and does not take it for an error,
 * see nn/optim.h), and the rest of its micro-batches is left out.  Hence the loss is logged behind
 * at_backward and before the optimizer; that no parameter has a gradient then is an error, as is a
 * call outside of a step.  False if the step is skipped, or after an error. */
AT_API bool at_run_log(at_run *r, const char *name, double value);
/* The loss on held-out data: the column "held".  If it is the lowest so far, the parameters are
 * written to best.safetensors, and the result is true.  Only a finite value can be the lowest.  An
 * error outside of a step. */
AT_API bool at_run_best(at_run *r, double value);
/* The lowest value so far, infinity if there is none; and its step as log.csv counts them, from 1
 * on, 0 if there is none. */
AT_API double at_run_best_value(const at_run *r);
AT_API int at_run_best_step(const at_run *r);

/* Ends the run early: after this step, as if it were the last one.  An error outside of a step.
 *
 * A run that ended early, by this function or by args.patience, is finished: its checkpoint says
 * so, and who opens it again gets no more steps.  What patience ended goes on with more patience (0
 * is the most), with the bits of a run that had as much from the beginning; what at_run_stop ended
 * goes on with more steps than it was to have then. */
AT_API void at_run_stop(at_run *r);

/* Are all steps done, or did the run end early, and is the last checkpoint written? */
AT_API bool at_run_finished(const at_run *r);
/* Closes files, restores signal handlers, frees r; says on args.out why the run ended before its
 * end, if it did (on stderr for r = NULL: there was no memory for a run).  What a program should
 * return:
 *
 *     0     all is well: finished, be it early, or left by break (then steps since the checkpoint
 *           are lost)
 *     1     out of memory, a file, or a loss that is not finite in max_bad steps in a row or in
 *           all of them
 *     2     wrong use: an error of kind ATTIC_USER_ERROR
 *     130   SIGINT      143   SIGTERM, before the end */
AT_API int at_run_close(at_run *r);

AT_END_C
#endif
