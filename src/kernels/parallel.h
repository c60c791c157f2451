/* parallel.h -- the process-wide pool of threads.
 *
 * Work is cut into tasks by the shape of the problem, never by the number of threads, and a task
 * writes only what is its own: so the bits of a result do not depend on how many threads ran it. */
#ifndef AT_KERNELS_PARALLEL_H
#define AT_KERNELS_PARALLEL_H

#include <stddef.h>

#include "system/linkage.h"
#include "system/thread_count.h"
AT_BEGIN_C

/* Runs run(ctx, task, worker) once for every task in 0 .. tasks-1, in any order, and returns when
 * all are done.  worker, in 0 .. at_thread_count()-1 (as it was when the call began), is the same
 * for no two tasks that run at the same time within one call: index scratch memory by it.
 *
 * Runs inline, in order, with worker 0 when nested in another task, when another thread holds the
 * pool, or when there is one thread or one task.  (A single task is no nest: what it calls may use
 * the pool.)  Cannot fail: the share of a thread that could not be started falls to the others.
 *
 * Idle threads spin for some 30 microseconds, then sleep.  They take no signals.  Safe after fork:
 * the child starts a pool of its own; only a task itself must not fork and go on.  run = NULL is no
 * work, as are no tasks; so it is with body, below. */
AT_API void at_parallel(int tasks, void (*run)(void *ctx, int task, int worker), void *ctx);

/* Runs body(ctx, from, to, slot) for ranges of items that together are 0 .. n-1, each in one
 * thread.  `work` is that of an item, in elements of an elementwise function, about a nanosecond
 * each: a range has at least so much of it that waking a thread pays.  Ranges depend on n and work
 * alone.  At most `slots` of them run at the same time, each in a slot 0 .. slots-1 of its own,
 * whatever at_threads says meanwhile: so scratch memory for `slots` is enough.  slots = 0: the slot
 * is the worker of at_parallel. */
typedef void at_range_body(void *ctx, ptrdiff_t from, ptrdiff_t to, int slot);
AT_API void at_for(ptrdiff_t n, ptrdiff_t work, int slots, at_range_body *body, void *ctx);
/* Into how many parts a sum of so much work is split: 1 .. most, and no more than pay. */
AT_API int at_parts(ptrdiff_t work, int most);

AT_END_C
#endif
