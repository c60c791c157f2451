/* mirror.h -- ops that are recorded on a tape, run again on a tape of dual numbers.  Internal.
 *
 * For y of a tape of f32 or f64 all that it was computed from gets a twin: leaves first, with
 * tangents of 0; at_mirror_run makes the twins of the ops. */
#ifndef AT_AUTOGRAD_MIRROR_H
#define AT_AUTOGRAD_MIRROR_H
#include "autograd/state.h"

typedef struct {
    at_tensor *y;
    at_tape *dual;
    uint64_t start; /* what was made before mark number `start` counts as a leaf */
    bool *needed;   /* is y computed from this node? by index */
} at_mirror;

/* False if y can't be mirrored: m->dual says why, NULL if there is no memory for it.  Call
 * at_mirror_close in any case. */
bool at_mirror_open(at_mirror *m, at_tensor *y, uint64_t start);
/* The first time records the twins of all ops, from then on runs them again. */
bool at_mirror_run(at_mirror *m);
void at_mirror_close(at_mirror *m);

#endif
