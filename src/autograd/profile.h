/* profile.h -- where the time and the memory of a program go.
 *
 *     ATTIC_PROFILE=1 ./program         the profile of each tape, on stderr, when it is closed
 *
 * or, of a part of a program:
 *
 *     at_profile(t, true);
 *     ...
 *     at_profile_print(t, stdout);
 *
 * A profile changes no bit of a result. */
#ifndef AT_AUTOGRAD_PROFILE_H
#define AT_AUTOGRAD_PROFILE_H
#include "autograd/tape.h"
AT_BEGIN_C

/* On: the ops of this tape are measured from here on; off: those that follow are not.  What was
 * measured stays until at_profile_reset.  Returns the setting before. */
AT_API bool at_profile(at_tape *t, bool on);
/* Forgets what was measured, say after the first steps, in which memory is obtained. */
AT_API void at_profile_reset(at_tape *t);

/* Prints what was measured, on a failed tape, too.  out = NULL is an error.  Three tables:
 *
 *     ops      a line for each op and direction, the longest time first
 *     scopes   the same for each scope (at_scope), if one was open in an op; not those inside of it
 *     memory   who holds it: parameters, their gradients and states, scratch memory, steps
 *
 *     calls        how often it ran; of a backward: how often a gradient passed through it
 *     time, share  of the time from the beginning of the first op to the end of the last.  A
 *                  forward includes making its outputs.  "outside of ops" is all between two ops:
 *                  the optimizer, data, files, the program itself.  The times add up to the total.
 *     GFLOP/s      10^9 multiplications and additions in a second, of ops that count those of their
 *                  matrix products (matmul, affine, attention)
 *     memory/call  step memory that a call takes: a forward for outputs and what backward needs, a
 *                  backward for gradients
 *     at peak      what the op holds of it when step memory is at its largest */
AT_API void at_profile_print(at_tape *t, FILE *out);

AT_END_C
#endif
