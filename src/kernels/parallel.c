/* parallel.c -- the process-wide pool of threads.
 *
 * One job at a time: the thread that sets `owned` is its owner and works on it too, as worker 0;
 * helpers are workers 1, 2, ...  All take tasks from one counter:
 *
 *     left     tasks not yet taken.  mine = left--;  mine > 0 is a claim on task  tasks - mine
 *     done     tasks finished
 *
 * The order of writes is the whole proof:
 *
 *     owner     job = ...; done = 0; left = tasks    ...    wait until done = tasks     owned = 0
 *     helper                         mine = left--; read job; run; done++
 *
 * A helper reads `job` only after a claim, which is of the job that set `left`; and that job cannot
 * end, nor another replace it, before the claimed task is done.  So a helper may be late: it takes
 * part in whatever job is there, or finds left <= 0.
 *
 * A thread without work spins for a moment, since the next job often follows at once, and then
 * sleeps.  To sleep is to write `sleeping` and then read `left`; to wake is to write `left` and
 * then read `sleeping`.  All atomics here are sequentially consistent, so one of the two sees the
 * other, and at_sleep_while closes the gap between reading and sleeping.  The owner waits for
 * `done` likewise. */
#include "kernels/parallel.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "system/system.h"

enum { POOL_SPIN_NS = 30000, POOL_LINE = 64 };

typedef struct {
    int tasks;
    void (*run)(void *ctx, int task, int worker);
    void *ctx;
} pool_job;

static struct {
    alignas(POOL_LINE) atomic_int left; /* on cache lines of their own: all threads write them */
    alignas(POOL_LINE) atomic_int done;
    alignas(POOL_LINE) pool_job job;
    atomic_bool owned;   /* a thread runs a job, or changes what follows */
    atomic_int wanted;   /* at_thread_count(); 0: not asked yet */
    atomic_int kept;     /* helpers with a higher number end */
    atomic_int sleeping; /* helpers */
    atomic_bool waiting; /* the owner */
    int started;         /* helpers 1 .. started exist; the owner's, as is the next */
    int startable;       /* falls when the system has no more threads for us */
} pool = {.startable = AT_MAX_THREADS - 1};

static bool pool_has_work(void)
{
    return pool.left > 0;
}

static void pool_work(int worker)
{
    while (pool_has_work()) {
        int mine = atomic_fetch_sub(&pool.left, 1);
        if (mine <= 0) return;
        pool_job job = pool.job;
        job.run(job.ctx, job.tasks - mine, worker);
        if (atomic_fetch_add(&pool.done, 1) + 1 == job.tasks && pool.waiting)
            at_wake(AT_QUEUE_DONE, 1);
    }
}

/* Spins until left > 0 (tasks = 0) or done = tasks, but no longer than POOL_SPIN_NS. */
static void pool_spin(int tasks)
{
    for (int64_t end = at_now_ns() + POOL_SPIN_NS; at_now_ns() < end;)
        for (int i = 0; i < 32; i++) {
            if (tasks ? pool.done == tasks : pool_has_work()) return;
#if defined(__x86_64__) || defined(__i386__)
            __builtin_ia32_pause();
#endif
        }
}

static bool pool_has_none_for(int worker)
{
    return !pool_has_work() && worker <= pool.kept;
}

static void pool_helper(int worker)
{
    while (worker <= pool.kept) {
        pool_work(worker);
        pool_spin(0);
        if (pool_has_work()) continue;
        pool.sleeping++;
        at_sleep_while(pool_has_none_for, worker, AT_QUEUE_WORK);
        pool.sleeping--;
    }
}

/* In the child only the thread that forked exists: no helper, nor another thread's job. */
static void pool_after_fork(void)
{
    pool.left = 0;
    pool.sleeping = 0;
    pool.waiting = false;
    pool.started = 0;
    pool.owned = false;
}

/* Starts helpers, as far as the system allows.
 *
 * Linux wakes a thread where it slept or where it was woken from, and may leave it there for
 * milliseconds though another CPU is idle: then it waits for the owner, the owner waits for it, and
 * two threads are slower than one.  So helpers keep off the owner's CPU. */
static void pool_grow(int helpers)
{
    if (helpers > pool.startable) helpers = pool.startable;
    if (helpers > pool.started) pool.kept = helpers;
    while (pool.started < helpers) {
        if (at_thread_start(pool.started + 1, pool_helper, pool_after_fork))
            pool.started++;
        else
            helpers = pool.startable = pool.started;
    }
    at_threads_avoid_this_cpu(pool.started);
}

static void pool_shrink(int helpers)
{
    if (pool.started <= helpers) return;
    pool.kept = helpers;
    at_wake(AT_QUEUE_WORK, AT_MAX_THREADS);
    while (pool.started > helpers) at_thread_join(pool.started--);
}

static bool pool_take(void)
{
    return !pool.owned && !atomic_exchange(&pool.owned, true);
}

static int pool_default_threads(void)
{
    const char *text = getenv("ATTIC_THREADS");
    char *end = NULL;
    long n = text ? strtol(text, &end, 10) : 0; /* out of range reads as LONG_MAX */
    if (!text || end == text || *end || n < 1) n = at_cpus();
    return n < AT_MAX_THREADS ? (int)n : AT_MAX_THREADS;
}

void at_threads(int n)
{
    if (n < 1) n = pool_default_threads();
    if (n > AT_MAX_THREADS) n = AT_MAX_THREADS;
    pool.wanted = n;
    if (!pool_take()) return;
    pool_shrink(n - 1);
    pool.startable = AT_MAX_THREADS - 1; /* try again */
    pool.owned = false;
}

int at_thread_count(void)
{
    int unknown = 0;
    if (pool.wanted == unknown)
        atomic_compare_exchange_strong(&pool.wanted, &unknown, pool_default_threads());
    return pool.wanted;
}

static bool pool_is_unfinished(int tasks)
{
    return pool.done != tasks;
}

static void pool_wait(int tasks)
{
    pool_spin(tasks);
    if (pool.done == tasks) return;
    pool.waiting = true;
    at_sleep_while(pool_is_unfinished, tasks, AT_QUEUE_DONE);
    pool.waiting = false;
}

void at_parallel(int tasks, void (*run)(void *ctx, int task, int worker), void *ctx)
{
    if (!run) return;
    int threads = tasks < 2 ? 1 : at_thread_count();
    if (threads < 2 || !pool_take()) {
        for (int task = 0; task < tasks; task++) run(ctx, task, 0);
        return;
    }
    pool_shrink(threads - 1);
    pool_grow((threads < tasks ? threads : tasks) - 1);

    pool.job = (pool_job){tasks, run, ctx};
    pool.done = 0;
    pool.left = tasks;
    if (pool.sleeping) at_wake(AT_QUEUE_WORK, tasks <= pool.sleeping ? tasks - 1 : AT_MAX_THREADS);
    pool_work(0);
    pool_wait(tasks);
    pool.owned = false;
}

enum { FOR_WORK = 8192, FOR_MOST = 1 << 20 }; /* at least of a range; ranges at most, or so */

typedef struct {
    ptrdiff_t n, per_range;
    at_range_body *body;
    void *ctx;
    int ranges;
    atomic_int next;
} for_job;

static void for_range(void *job, int range, int slot)
{
    const for_job *j = job;
    ptrdiff_t from = range * j->per_range, left = j->n - from;
    j->body(j->ctx, from, from + (left < j->per_range ? left : j->per_range), slot);
}

/* A slot is a task of at_parallel that takes one range after the other. */
static void for_slot(void *job, int slot, int worker)
{
    (void)worker;
    for_job *j = job;
    for (int range; (range = atomic_fetch_add(&j->next, 1)) < j->ranges;) for_range(j, range, slot);
}

void at_for(ptrdiff_t n, ptrdiff_t work, int slots, at_range_body *body, void *ctx)
{
    ptrdiff_t all;
    if (n <= 0 || !body) return;
    if (work < 1) work = 1;
    if (!__builtin_mul_overflow(n, work, &all) && all <= FOR_WORK) {
        body(ctx, 0, n, 0); /* the one range, found without a division */
        return;
    }
    for_job j = {n, (work < FOR_WORK ? FOR_WORK / work : 1) + n / FOR_MOST, body, ctx, 0, 0};
    j.ranges = (int)((n - 1) / j.per_range + 1);
    if (slots)
        at_parallel(slots < j.ranges ? slots : j.ranges, for_slot, &j);
    else
        at_parallel(j.ranges, for_range, &j);
}

int at_parts(ptrdiff_t work, int most)
{
    ptrdiff_t parts = work / FOR_WORK;
    return parts < 1 ? 1 : parts < most ? (int)parts : most;
}
