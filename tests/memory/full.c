/* full.c -- a tape takes memory until there is none, where that is soon: with 32-bit addresses.
 *
 * First 1.25 GiB at once: there can be no chunk of twice that.  Then four numbers, then 64 MiB again
 * and again until the tape reports that memory is out: not before two thirds of 3 GiB are used, the
 * least that a process has.  Nothing is written there, so little memory is really taken. */
#include <stdint.h>
#include <stdio.h>

#include "attic_op.h"

#if UINTPTR_MAX > UINT32_MAX
#error "64-bit addresses have no end"
#endif

int main(void)
{
    const double MiB = 1 << 20;
    at_tape *t = at_open(ATTIC_F32, 1);
    at_step_alloc(t, 1280u << 20);
    at_sum(t, at_const(t, at_shape_of(4), NULL));
    if (!at_ok(t)) printf("after 1.25 GiB: %s\n", at_error(t));
    while (at_ok(t)) at_step_alloc(t, 64u << 20);
    const double used = (double)at_memory_of(t).step / MiB;
    printf("%.0f MiB, then: %s\n", used, at_error(t));
    const bool good = used > 2048 && at_error_kind_of(t) == ATTIC_MEMORY_ERROR;
    at_close(t);
    return good ? 0 : 1;
}
