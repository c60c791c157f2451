/* pool.h -- the process-wide pool of threads.
 *
 * Work is cut into tasks by the shape of the problem, never by the number of threads, and a task
 * writes only what is its own: so the bits of a result do not depend on how many threads ran it. */
#ifndef AT_KERNELS_POOL_H
#define AT_KERNELS_POOL_H

#define AT_MAX_THREADS 64

/* How many threads may work at once, the caller included.  The default is ATTIC_THREADS, or else
 * the CPUs this process may use (affinity mask and cgroup quota).  n < 1 asks for that default. */
void at_threads(int n);
int at_thread_count(void);

/* Runs run(ctx, task, worker) once for every task in 0 .. tasks-1, in any order, and returns when
 * all are done.  worker, in 0 .. AT_MAX_THREADS-1, is the same for no two tasks that run at the same
 * time within one call: index scratch memory by it.  Runs inline, in order, with worker 0 when
 * nested in another task, when another thread holds the pool, or when there is one thread or one
 * task.  Safe after fork: the child starts a pool of its own.  Cannot fail: a thread that could not
 * be started leaves its share to the others. */
void at_parallel(int tasks, void (*run)(void *ctx, int task, int worker), void *ctx);

#endif
