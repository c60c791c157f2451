/* persist.h -- what a training keeps beside its parameters: state, descriptions, draws.
 *
 * A checkpoint (train/run.h) writes all of it, so that a training goes on with the same bits. */
#ifndef AT_AUTOGRAD_PERSIST_H
#define AT_AUTOGRAD_PERSIST_H
#include "autograd/tape.h"
AT_BEGIN_C

/* State that belongs to a parameter, e.g. a momentum: a tensor of its shape, made of zeros at the
 * first call and found again at the next; named "W:momentum". */
AT_API at_tensor *at_param_state(at_tape *t, at_tensor *param, const char *what);
/* The same with a shape of its own, e.g. at_shape_of() for a count of steps. */
AT_API at_tensor *at_param_state_of(at_tape *t, at_tensor *param, const char *what, at_shape shape);
/* The same, but NULL where there is none yet. */
AT_API at_tensor *at_find_state(const at_tape *t, const at_tensor *param, const char *what);
AT_API int at_state_count(const at_tape *t);
AT_API at_tensor *at_state_at(const at_tape *t, int i); /* in the order of creation */

/* What a tape was made for, in words that a checkpoint keeps, and compares when it is resumed:
 * at_describe(t, "model", "layers 4, heads 4, dim 128").  A second text of the same key is put
 * behind the first, on a line of its own.  Both are copied.  The key "tape" is the tape's name in a
 * profile (profile.h). */
AT_API bool at_describe(at_tape *t, const char *key, const char *text);
AT_API int at_described_count(const at_tape *t);
AT_API const char *at_described_key(const at_tape *t, int i);       /* in the order of creation */
AT_API const char *at_described(const at_tape *t, const char *key); /* NULL if there is none */

/* Sets the count to a number made of step and micro alone, 0 <= step < 2^31, 0 <= micro < 4096, for
 * the micro-batch `micro` of a training step (train/run.h calls it).  Whatever was drawn before,
 * say for an evaluation, changes no draw after it.  Up to 2^20 draws stay clear of the draws of
 * every other step, and of the draws of a tape on which this function was never called. */
AT_API bool at_draws_set(at_tape *t, int64_t step, int micro);

/* Parameters of two dims or more that are made from now on are stored as ATTIC_F16 or ATTIC_BF16,
 * as for at_cast: the weights of a model that is only read, in half of the memory of f32.  They
 * want no gradient, take no memory for one, and optimizers leave them out.  ATTIC_REAL: as real
 * numbers again.  Returns the setting before.
 *
 *     at_store_params(t, ATTIC_BF16);
 *     at_model *m = at_model_open(t, "best.safetensors"); */
AT_API at_dtype at_store_params(at_tape *t, at_dtype dtype);

AT_END_C
#endif
