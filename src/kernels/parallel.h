/* parallel.h -- the process-wide pool of threads.
 *
 * Work is cut into tasks by the shape of the problem, never by the number of threads, and no two
 * tasks write the same memory: so the bits of a result do not depend on how many threads ran it. */
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
 * pool, or when there is one thread or one task.  (A task that is the only one of its call does not
 * hold the pool: what it calls may use it.)  Cannot fail: if a thread cannot be started, the others
 * do its work.
 *
 * Wakes threads that sleep; idle ones spin for some 100 microseconds, then sleep.  They take no
 * signals.  Safe after fork: the child starts a pool of its own; only a task itself must not fork
 * and go on.  Nothing is done if run is NULL or there are no tasks; so it is for body and n of
 * at_for. */
AT_API void at_parallel(int tasks, void (*run)(void *ctx, int task, int worker), void *ctx);

/* Runs body(ctx, from, to, slot) for ranges of items that together are 0 .. n-1, each range in one
 * thread.  `work` is the work of an item, counted in elements of an elementwise function, which
 * take about a nanosecond each.  A range is long enough for a thread that is awake to take it;
 * ranges depend on n and work alone.  If there is work for less than 100 microseconds in all, no
 * thread is woken: those that are awake take part.  At most `slots` ranges run at the same time,
 * each in a slot 0 .. slots-1 of its own, even if at_threads is called meanwhile: so scratch memory
 * for `slots` ranges is enough.
 * slots = 0: the slot is the worker of at_parallel. */
typedef void at_range_body(void *ctx, ptrdiff_t from, ptrdiff_t to, int slot);
AT_API void at_for(ptrdiff_t n, ptrdiff_t work, int slots, at_range_body *body, void *ctx);
/* Into how many parts a sum with this work is split: 1 .. most, and no more than pay. */
AT_API int at_parts(ptrdiff_t work, int most);
/* How often threads that slept were woken for work since the process began. */
AT_API int at_wake_ups(void);

AT_END_C
#endif
