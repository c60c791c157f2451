/* little.h -- a little training with dropout, and the folder it is kept in, for the tests of runs. */
#ifndef ATTIC_TESTS_TRAIN_LITTLE_H
#define ATTIC_TESTS_TRAIN_LITTLE_H
#include "attic_train.h"

/* A tape with two parameters and a description. */
at_tape *little_tape(at_dtype real, uint64_t seed);
/* A loss of data drawn for this step, scaled; its backward is done. */
at_tensor *little_loss(at_tape *t, double scale);
/* Steps until at_run_next says no, or `most` of them; how many there were. */
int little_steps(at_tape *t, at_run *r, int most);
/* The same step without a run: what the one of this number computes from draws set by hand. */
void little_plain_step(at_tape *t, int step);
/* Of all bits of all parameters and of the states of the optimizer. */
uint64_t little_hash(const at_tape *t);

/* A new empty folder, in memory where that is possible; removed with all files in it. */
const char *little_folder(void);
void little_remove(void);
/* A file in there; its whole text, at most 64 KiB, or NULL if there is none. */
const char *little_path(const char *name);
const char *little_text(const char *name);
/* The log without what differs from run to run: its columns seconds and per_second. */
const char *little_log(const char *name);
/* The same of log.jsonl. */
const char *little_json_log(const char *name);

#endif
