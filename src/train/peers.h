/* peers.h -- a run of several processes: where they meet, and what they tell each other.
 * Private to src/train.
 *
 * Every process runs the same program.  They meet at a few places of a run (at_place), all of them
 * at each one, and there each says a word: where it is, its error, its signal.  So an error, a stop
 * or a loss that is not finite in one of them is known to all before anything else is exchanged,
 * and no process waits for one that has left:
 *
 *     rank 0    micros 0 1    word      values    gradients    word    step 0 is saved    word
 *     rank 1    micros 2 3    word      values    gradients    word                       word
 *                             MICROS                           NEXT                       SAVED
 *
 * The words are all that can tell of a failure.  Whatever needs memory is done before a word, and
 * what stands between two words cannot fail in one process alone.  After the first failure each
 * process goes apart: its tape has the error, and it meets nobody any more.
 *
 * The sum of the gradients: a process has that of its own micro-batches, a part of the tree of
 * gradients.h.  Above it, in the step of distance d = 1, 2, 4 ..., the ranks r and r ^ d halve what
 * they both have a sum of; each sends the half that it does not keep, and adds
 *
 *     the sum of the lower ranks + the sum of the higher ranks.
 *
 * Then the way back collects the halves.  With P processes every element crosses the wire
 * 2 (P - 1) / P times for each of them, in 2 log2 P messages (Rabenseifner 2004, without its
 * freedom of order). */
#ifndef AT_TRAIN_PEERS_H
#define AT_TRAIN_PEERS_H
#include "train/csv.h"
#include "train/position.h"
#include "train/run.h"
#include "tensor/arena.h"

enum { AT_MAX_PEERS = 256 };

typedef enum {
    AT_AT_OPEN,
    AT_AT_COMPARED,
    AT_AT_FILES,
    AT_AT_STATES,
    AT_AT_MICROS,
    AT_AT_GRADIENTS,
    AT_AT_NEXT,
    AT_AT_SAVED,
    AT_AT_BEST,
    AT_AT_CLOSE
} at_place;

/* What a process says where all meet, and what all have said together. */
typedef struct {
    int place, error;     /* an at_place; an at_error_kind */
    int signal, stopped;  /* that it has noted; of its at_position.  Together: the highest */
    int values;           /* how many it has logged in its micro-batches.  Together: the most */
    int bad;              /* is this step's loss not finite?  Together: in how many processes */
    uint64_t hash, draws; /* of what must be alike; at_draw_count.  Together: the draws of the last
                             process that computed, which is the first bad one if there is one */
    uint64_t bytes;       /* of that text.  Together: of rank 0's */
} at_word;

typedef struct {
    char name[AT_CSV_NAME];
    double value;
} at_logged;

typedef struct {
    at_run_peers with; /* count 1: alone */
    at_tape *t;
    int n;            /* parameters */
    bool together;    /* there are others, and none has failed */
    at_word heard;    /* what was said where they met last */
    int first_bad;    /* the first process with a bad step there, count if none */
    int64_t spent_ns; /* exchanging gradients so far */
    int logged, most_logged;
    at_logged *own, *all; /* values of this step's micro-batches, of this process and of each */
    unsigned char *has, *all_has;
    char *bucket, *other; /* gradients side by side, and what comes from another process */
    ptrdiff_t room;       /* elements of each */
} at_peers;

/* Memory for all that is exchanged in a step of so many micro-batches.  False after a sticky error,
 * as for all functions here. */
bool at_peers_reserve(at_peers *p, at_tape *t, at_arena *a, int micros);
/* All processes meet.  False if one of them has an error, or is elsewhere: then each has that
 * error. t NULL: this process has no tape, and word.error says why. */
bool at_peers_meet(at_peers *p, at_tape *t, at_word word);
/* Are version, arithmetic, seed, dtype, parameters, what at_describe said and what steers the run
 * the same everywhere?  The first difference is named. */
bool at_peers_compare(at_peers *p, at_tape *t, const at_run_args *args, bool has_folder);
/* What rank 0 has at data, for all. */
bool at_peers_share(at_peers *p, void *data, size_t bytes);
/* Position, draws, parameters and states of rank 0, for all. */
bool at_peers_share_state(at_peers *p, at_tape *t, at_position *at);

/* One value of a micro-batch of this process; and all of them, in the order of the micro-batches,
 * given to the log, up to the first that is bad. */
bool at_peers_log(at_peers *p, const char *name, double value);
bool at_peers_give(at_peers *p, at_csv *log);
/* The gradients of the parameters become their sums over all processes. */
bool at_peers_sum(at_peers *p);

#endif
