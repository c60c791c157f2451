/* parallel.c -- the process-wide pool of threads.
 *
 * The pool runs one job at a time.  The thread that sets `owned` is the job's owner, and works on
 * it as worker 0; helpers are workers 1, 2, ...  All of them take tasks from one queue, the owner
 * from its front and helpers from its back:
 *
 *     left     tasks not yet taken.  mine = left--;  mine > 0 is a claim on a task
 *     front    the claims of the owner are on tasks 0, 1, ...
 *     back     the claims of helpers are on tasks tasks-1, tasks-2, ...
 *     done     tasks finished
 *
 * There are no more claims than tasks, so that front and back never pass each other.  Two ends keep
 * data in place: where task i of each job works on the same rows, the owner has the first rows of
 * all jobs in the cache of its core, and a helper the last ones.
 *
 * The order of writes is the whole proof:
 *
 *     owner     job = ...; done = 0; left = tasks    ...    wait until done = tasks     owned = 0
 *     helper                     mine = left--; back--; read job; run; done++
 *
 * A helper reads `job` only after a claim.  The claim is on a task of the job that set `left`, and
 * that job cannot end before the task is done, nor can another job replace it.  So a helper may be
 * late: it takes part in the job that is there, or finds left <= 0.
 *
 * A helper without work spins for a moment, since the next job often follows at once, and then
 * sleeps.  A helper that goes to sleep writes `sleeping` and then reads `left`; an owner that wakes
 * helpers writes `left` and then reads `sleeping`.  All atomics here are sequentially consistent:
 * so the helper sees the owner's write, or the owner the helper's.  at_sleep_while closes the gap
 * between reading and sleeping.  The owner waits for `done` in the same way, with `waiting`.
 *
 * To wake a helper takes some microseconds, and where other programs want its CPU, milliseconds.
 * So a job of at_for with little work wakes none: helpers that are awake take part. */
#include "kernels/parallel.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "system/system.h"

enum {
    POOL_IDLE_NS = 100000, /* a helper without work spins this long before it sleeps */
    POOL_WAIT_NS = 30000,  /* so does an owner that waits for the last tasks */
    POOL_LINE = 64
};

typedef void pool_task(void *ctx, int task, int worker);

typedef struct { /* the arguments of at_parallel */
    int tasks;
    pool_task *run;
    void *ctx;
} pool_job;

typedef struct {
    atomic_int left, back;
    alignas(POOL_LINE) int front; /* of one thread alone */
} pool_queue;

static struct {
    /* All threads write the queue and `done`: each has a cache line of its own. */
    alignas(POOL_LINE) pool_queue queue;
    pool_job job;
    alignas(POOL_LINE) atomic_int done;
    atomic_bool owned;   /* is there an owner?  It runs a job, or changes the number of helpers */
    atomic_int wanted;   /* how many threads at_thread_count() says; 0 until it is first called */
    atomic_int kept;     /* helpers 1 .. kept go on, the others end */
    atomic_int sleeping; /* how many helpers sleep */
    atomic_int wakes;    /* how often a sleeping helper was woken */
    atomic_bool waiting; /* does the owner sleep until all tasks are done? */
    int started;         /* helpers 1 .. started exist; the owner alone reads and writes it */
    int startable;       /* helpers 1 .. startable can exist; the owner alone reads and writes it */
} pool = {.startable = AT_MAX_THREADS - 1};

static void pool_fill(pool_queue *q, int tasks)
{
    q->front = 0;
    atomic_store_explicit(&q->back, tasks, memory_order_relaxed);
    q->left = tasks;
}

/* A task that nobody has taken, the first or the last one; -1: there is none. */
static int pool_next(pool_queue *q, bool first)
{
    if (q->left <= 0 || atomic_fetch_sub(&q->left, 1) <= 0) return -1;
    return first ? q->front++ : atomic_fetch_sub(&q->back, 1) - 1;
}

static bool pool_has_work(void)
{
    return pool.queue.left > 0;
}

static void pool_work(int worker)
{
    for (int task; (task = pool_next(&pool.queue, worker == 0)) >= 0;) {
        pool_job job = pool.job;
        job.run(job.ctx, task, worker);
        if (atomic_fetch_add(&pool.done, 1) + 1 == job.tasks && pool.waiting)
            at_wake(AT_QUEUE_DONE, 1);
    }
}

/* Spins until there is work (tasks = 0) or done = tasks, but not for long. */
static void pool_spin(int tasks)
{
    for (int64_t end = at_now_ns() + (tasks ? POOL_WAIT_NS : POOL_IDLE_NS); at_now_ns() < end;)
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

/* In the child of a fork there is one thread: no helper, and no owner of a job. */
static void pool_after_fork(void)
{
    pool.queue.left = 0;
    pool.sleeping = 0;
    pool.waiting = false;
    pool.started = 0;
    pool.owned = false;
}

/* Starts helpers until there are this many, or until the system has no more threads.
 *
 * Linux wakes a thread on the CPU on which it slept or on the CPU of the thread that wakes it, and
 * may leave it there for milliseconds though another CPU is idle.  On the owner's CPU the helper
 * then waits for the owner to pause, the owner waits for the helper's task, and two threads are
 * slower than one.  So helpers keep off the owner's CPU. */
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

/* Is there somebody to share this with?  If so, the caller is the owner now. */
static bool pool_open(int tasks, bool wake)
{
    const int threads = tasks < 2 ? 1 : at_thread_count();
    if (threads < 2 || !pool_take()) return false;
    pool_shrink(threads - 1);
    if (wake) pool_grow((threads < tasks ? threads : tasks) - 1);
    if (wake || pool.sleeping < pool.started) return true;
    pool.owned = false;
    return false;
}

static void pool_wake(int helpers)
{
    const int sleeping = pool.sleeping;
    if (sleeping < 1) return;
    if (helpers > sleeping) helpers = sleeping;
    pool.wakes += helpers;
    at_wake(AT_QUEUE_WORK, helpers < sleeping ? helpers : AT_MAX_THREADS);
}

static void pool_run(int tasks, bool wake, pool_task *run, void *ctx)
{
    if (!pool_open(tasks, wake)) {
        for (int task = 0; task < tasks; task++) run(ctx, task, 0);
        return;
    }
    pool.job = (pool_job){tasks, run, ctx};
    atomic_store_explicit(&pool.done, 0, memory_order_relaxed);
    pool_fill(&pool.queue, tasks);
    if (wake) pool_wake(tasks - 1);
    pool_work(0);
    pool_wait(tasks);
    pool.owned = false;
}

void at_parallel(int tasks, void (*run)(void *ctx, int task, int worker), void *ctx)
{
    if (run) pool_run(tasks, true, run, ctx);
}

int at_wake_ups(void)
{
    return pool.wakes;
}

enum {
    FOR_WORK = 8192,   /* a range has at least this much work */
    FOR_WAKE = 100000, /* for this much work in all, helpers are woken */
    FOR_MOST = 1 << 20 /* there are about this many ranges at most */
};

typedef struct {
    ptrdiff_t n;         /* the number of items */
    ptrdiff_t per_range; /* the items of a range; the last range may have fewer */
    at_range_body *body;
    void *ctx;
    int ranges;
    pool_queue queue; /* of ranges, for slots */
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
    for (int range; (range = pool_next(&j->queue, slot == 0)) >= 0;) for_range(j, range, slot);
}

void at_for(ptrdiff_t n, ptrdiff_t work, int slots, at_range_body *body, void *ctx)
{
    ptrdiff_t all;
    if (n <= 0 || !body) return;
    if (work < 1) work = 1;
    if (__builtin_mul_overflow(n, work, &all)) all = PTRDIFF_MAX;
    if (all <= FOR_WORK) {
        body(ctx, 0, n, 0); /* there is one range: no division is needed to find that */
        return;
    }
    for_job j = {n, (work < FOR_WORK ? FOR_WORK / work : 1) + n / FOR_MOST, body, ctx, 0, {0}};
    j.ranges = (int)((n - 1) / j.per_range + 1);
    pool_fill(&j.queue, j.ranges);
    const bool wake = all >= FOR_WAKE;
    if (slots)
        pool_run(slots < j.ranges ? slots : j.ranges, wake, for_slot, &j);
    else
        pool_run(j.ranges, wake, for_range, &j);
}

int at_parts(ptrdiff_t work, int most)
{
    ptrdiff_t parts = work / FOR_WORK;
    return parts < 1 ? 1 : parts < most ? (int)parts : most;
}
