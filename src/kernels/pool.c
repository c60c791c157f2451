/* pool.c -- the process-wide pool of threads. */
#include "kernels/pool.h"

static int pool_wanted = 1;

void at_threads(int n)
{
    pool_wanted = n < 1 ? 1 : n > AT_MAX_THREADS ? AT_MAX_THREADS : n;
}

int at_thread_count(void)
{
    return pool_wanted;
}

void at_parallel(int tasks, void (*run)(void *ctx, int task, int worker), void *ctx)
{
    for (int task = 0; task < tasks; task++) run(ctx, task, 0);
}
