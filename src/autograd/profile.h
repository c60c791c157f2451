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
 * A profile changes no bit of a result, and while it is off it costs nothing.
 *
 * Tapes are numbered in the order in which they were first measured.  A name, for a program with
 * several of them: at_describe(t, "tape", "teacher"). */
#ifndef AT_AUTOGRAD_PROFILE_H
#define AT_AUTOGRAD_PROFILE_H
#include "autograd/tape.h"
AT_BEGIN_C

/* On: what this tape does is measured from here on; off: what follows is not.  What was
 * measured stays until at_profile_reset.  Returns the setting before.
 *
 * Measuring a forward and its backward costs some 45 ns on x86 and twice that elsewhere: on one
 * core, 3.5 % of the time of a model of one layer that is 16 wide and reads 16 tokens, whose ops
 * take 1 us; 1 to 2 % if it is 32 wide and reads 32. */
AT_API bool at_profile(at_tape *t, bool on);
/* Forgets what was measured, say after the first steps, in which memory is obtained. */
AT_API void at_profile_reset(at_tape *t);

/* Prints what was measured, on a failed tape, too.  out = NULL is an error.  Three tables
 * and a line:
 *
 *     op       a line for each op and direction, the longest time first.  Lines without a
 *              direction are regions: what functions of these names take, less the ops in them:
 *              sgd, adam, adamw, rmsprop, lion, muon, clip_grad_norm, clip_grad_value, ema,
 *              ema_swap; data_batch; rewind; jvp, hvp; cast; sample; head_statistics; run_next;
 *              tensors_load and tensors_save, which at_load, at_save and checkpoints call; and
 *              "leaves": parameters, variables and constants are filled
 *     scope    the same for each scope (at_scope), if an op ran in one, without the regions.
 *              What ran in an inner scope is in the line of that one alone.
 *     memory   what the tape holds: parameters, their gradients and states; scratch memory; steps
 *     wake-ups how often work woke a sleeping thread, in all and per at_rewind, that is per step.
 *              A wake-up takes some microseconds; ops with less than 100 of work cause none
 *
 *     calls      how often the op ran; backward: how often a gradient passed through it
 *     time ms    milliseconds; a forward includes making its outputs.  "all else" is the time that
 *                is in no line: the program itself, what it computes from elements (at_element,
 *                at_read_f32), the checks of an op's arguments, tokenizers, pictures, ops of tapes
 *                that are not profiled.  So the times add up to that from the first op or region to
 *                the end of the last, less the time of other profiled tapes of the same thread:
 *                that is in their tables.
 *     share      of that time
 *     us/call    microseconds of a call
 *     GFLOP/s    10^9 multiplications and additions per second, of the matrix products in matmul,
 *                affine and attention; "-": the op does not count (at_count_flops)
 *     KiB/call   step memory that a call takes: a forward for its outputs and what backward needs,
 *                a backward for gradients
 *     MiB held   step memory that the op held when steps held most; "all else" held the rest, e.g.
 *                data */
AT_API void at_profile_print(at_tape *t, FILE *out);

AT_END_C
#endif
