/* test_parallel.c -- the thread pool.  What a task finds out it writes down; only the test asserts. */
#define _GNU_SOURCE /* affinity */
#include "test.h"
#include "kernels/parallel.h"
#include "system/system.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What this was compiled with: gcc says so by macros, clang by features. */
#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
static const bool thread_sanitizer = true;
#else
static const bool thread_sanitizer = false;
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
static const bool address_sanitizer = true;
#else
static const bool address_sanitizer = false;
#endif

enum { MANY = 1000 };

static void nap(long microseconds)
{
    nanosleep(&(struct timespec){microseconds / 1000000, microseconds % 1000000 * 1000}, NULL);
}

static double clock_seconds(clockid_t which)
{
    struct timespec now;
    clock_gettime(which, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- tasks that count ---- */

typedef struct {
    atomic_int runs[MANY];              /* of each task */
    atomic_int at_work[AT_MAX_THREADS]; /* tasks that this worker has in hand */
    atomic_int clashes;                 /* tasks that found their worker at work already */
    atomic_int strangers;               /* tasks with a worker that should not be */
    int nap_us;
} tally;

static void count_task(void *ctx, int task, int worker)
{
    tally *t = ctx;
    t->runs[task]++;
    if (worker < 0 || worker >= at_thread_count()) {
        t->strangers++;
        return;
    }
    if (t->at_work[worker]++) t->clashes++;
    if (t->nap_us) nap(t->nap_us);
    t->at_work[worker]--;
}

static bool ran_once(tally *t, int tasks)
{
    for (int i = 0; i < MANY; i++)
        if (t->runs[i] != (i < tasks)) return false;
    return t->clashes == 0 && t->strangers == 0;
}

/* ---- tasks that wait for each other: they finish only if all are running at once ---- */

typedef struct {
    int expected;
    atomic_int arrived, gave_up;
} meeting;

static void meet_task(void *ctx, int task, int worker)
{
    (void)task, (void)worker;
    meeting *m = ctx;
    m->arrived++;
    for (int tries = 0; m->arrived < m->expected; tries++) {
        if (tries > 20000) {
            m->gave_up++;
            return;
        }
        nap(100);
    }
}

static bool all_met(int tasks)
{
    meeting m = {.expected = tasks};
    at_parallel(tasks, meet_task, &m);
    return m.arrived == tasks && m.gave_up == 0;
}

/* ---------------------------------------- tests ---------------------------------------- */

START_TEST(every_task_runs_exactly_once)
{
    static const int task_counts[] = {0, 1, 2, 3, 7, 64, 65, MANY}, threads[] = {1, 2, 3, 8, 64};
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
        for (size_t j = 0; j < sizeof task_counts / sizeof *task_counts; j++) {
            tally t = {.nap_us = 0};
            at_threads(threads[i]);
            at_parallel(task_counts[j], count_task, &t);
            ck_assert_msg(ran_once(&t, task_counts[j]), "%d threads, %d tasks", threads[i],
                          task_counts[j]);
        }
}
END_TEST

START_TEST(tasks_that_run_at_the_same_time_have_different_workers)
{
    tally t = {.nap_us = 300};
    at_threads(6);
    at_parallel(200, count_task, &t);
    ck_assert(ran_once(&t, 200));
}
END_TEST

START_TEST(as_many_tasks_as_there_are_threads_run_at_the_same_time)
{
    for (int n = 2; n <= 8; n++) {
        at_threads(n);
        ck_assert_msg(all_met(n), "%d tasks on %d threads", n, n);
    }
}
END_TEST

#ifdef __linux__
typedef struct {
    int threads;
    atomic_int arrived, cpus[AT_MAX_THREADS]; /* on which each worker may run */
} masks;

/* Waits for the other tasks, so that each has a worker of its own. */
static void look_at_mask(void *ctx, int task, int worker)
{
    (void)task;
    masks *m = ctx;
    cpu_set_t mask;
    for (m->arrived++; m->arrived < m->threads;) nap(100);
    if (sched_getaffinity(0, sizeof mask, &mask) == 0) m->cpus[worker] = CPU_COUNT(&mask);
}

/* Of so many threads, new ones, all but the caller keep off a CPU if the others are enough for them. */
static void expect_masks(int threads)
{
    masks m = {.threads = threads};
    at_threads(1);
    at_threads(threads);
    at_parallel(threads, look_at_mask, &m);
    ck_assert_int_ge(m.cpus[0], 1);
    for (int i = 1; i < threads; i++)
        ck_assert_int_eq(m.cpus[i], m.cpus[0] >= threads ? m.cpus[0] - 1 : m.cpus[0]);
}

START_TEST(helpers_keep_off_the_callers_cpu_if_the_others_are_enough)
{
    cpu_set_t mine;
    ck_assert_int_eq(sched_getaffinity(0, sizeof mine, &mine), 0);
    int cpus = CPU_COUNT(&mine) < AT_MAX_THREADS ? CPU_COUNT(&mine) : AT_MAX_THREADS - 1;
    for (int again = 0; again < 2; again++) expect_masks(2);
    if (cpus > 1) expect_masks(cpus);
    expect_masks(cpus + 1);
}
END_TEST
#else
START_TEST(helpers_keep_off_the_callers_cpu_if_the_others_are_enough)
{
    at_threads(2); /* where nobody says which CPU this is, helpers run anywhere */
    ck_assert(all_met(2));
}
END_TEST
#endif

START_TEST(a_long_row_of_small_jobs_loses_no_task)
{
    at_threads(4);
    for (int job = 0; job < 5000; job++) {
        tally t = {.nap_us = 0};
        int tasks = job % 6;
        at_parallel(tasks, count_task, &t);
        ck_assert_msg(ran_once(&t, tasks), "job %d of %d tasks", job, tasks);
        if (job % 500 == 0) nap(1000); /* long enough for helpers to fall asleep */
    }
}
END_TEST

typedef struct {
    int next;
    bool in_order, same_thread, worker_0;
    pthread_t thread;
} inline_log;

static void log_task(void *ctx, int task, int worker)
{
    inline_log *log = ctx;
    log->in_order &= task == log->next++;
    log->same_thread &= (bool)pthread_equal(log->thread, pthread_self());
    log->worker_0 &= worker == 0;
}

static bool runs_inline(int tasks)
{
    inline_log log = {0, true, true, true, pthread_self()};
    at_parallel(tasks, log_task, &log);
    return log.next == tasks && log.in_order && log.same_thread && log.worker_0;
}

static void nest_task(void *ctx, int task, int worker)
{
    (void)task, (void)worker;
    atomic_int *inline_runs = ctx;
    nap(200);
    *inline_runs += runs_inline(10);
}

START_TEST(a_call_within_a_task_runs_inline_in_order_on_its_own_thread)
{
    atomic_int inline_runs = 0;
    at_threads(4);
    at_parallel(40, nest_task, &inline_runs);
    ck_assert_int_eq(inline_runs, 40);
}
END_TEST

START_TEST(one_thread_runs_inline_in_order)
{
    at_threads(1);
    ck_assert(runs_inline(100));
}
END_TEST

static void meet_within(void *ctx, int task, int worker)
{
    (void)task, (void)worker;
    *(bool *)ctx = all_met(3);
}

START_TEST(a_single_task_may_use_the_pool)
{
    bool met = false;
    at_threads(3);
    at_parallel(1, meet_within, &met);
    ck_assert(met);
}
END_TEST

typedef struct {
    atomic_bool held, release;
} hold;

static void hold_task(void *ctx, int task, int worker)
{
    (void)task, (void)worker;
    hold *h = ctx;
    h->held = true;
    while (!h->release) nap(100);
}

static void *hold_pool(void *ctx)
{
    at_parallel(9, hold_task, ctx); /* more than there are threads: some stay untaken */
    return NULL;
}

START_TEST(a_second_user_thread_does_its_work_itself_while_the_pool_is_held)
{
    hold h = {false, false};
    pthread_t user;
    at_threads(3);
    ck_assert_int_eq(pthread_create(&user, NULL, hold_pool, &h), 0);
    while (!h.held) nap(100);
    bool inline_run = runs_inline(20);
    h.release = true;
    pthread_join(user, NULL);
    ck_assert(inline_run);
    ck_assert(all_met(3));
}
END_TEST

static void *run_jobs(void *ctx)
{
    bool *ok = ctx;
    *ok = true;
    for (int job = 0; job < 300; job++) {
        tally t = {.nap_us = 0};
        at_parallel(job % 50, count_task, &t);
        for (int i = 0; i < MANY; i++) *ok &= t.runs[i] == (i < job % 50);
    }
    return NULL;
}

START_TEST(user_threads_that_compute_at_the_same_time_each_get_all_their_tasks)
{
    pthread_t user[3];
    bool ok[3];
    at_threads(3);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&user[i], NULL, run_jobs, &ok[i]), 0);
    for (int i = 0; i < 3; i++) pthread_join(user[i], NULL);
    ck_assert(ok[0] && ok[1] && ok[2]);
}
END_TEST

static int exit_status_of(pid_t child)
{
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ThreadSanitizer forbids threads after a fork, QEMU fails on a fork with threads. */
static bool may_fork_threads(void)
{
    return !thread_sanitizer && !getenv("EMULATED"); /* by QEMU or Valgrind */
}

START_TEST(parent_and_child_each_have_a_pool_after_fork)
{
    if (!may_fork_threads()) return;
    at_threads(3);
    ck_assert(all_met(3));
    for (int awake = 0; awake < 2; awake++) {
        if (!awake) nap(2000);
        pid_t child = fork();
        if (child == 0) _exit(all_met(3) && all_met(2) ? 42 : 1);
        ck_assert_int_eq(exit_status_of(child), 42);
        ck_assert(all_met(3));
    }
}
END_TEST

START_TEST(a_fork_while_another_thread_holds_the_pool_leaves_the_child_a_free_one)
{
    if (!may_fork_threads()) return;
    hold h = {false, false};
    pthread_t user;
    at_threads(3);
    ck_assert_int_eq(pthread_create(&user, NULL, hold_pool, &h), 0);
    while (!h.held) nap(100);
    pid_t child = fork();
    if (child == 0) _exit(all_met(3) ? 42 : 1);
    int status = exit_status_of(child);
    h.release = true;
    pthread_join(user, NULL);
    ck_assert_int_eq(status, 42);
}
END_TEST

START_TEST(without_new_threads_the_caller_does_all_the_work)
{
    if (thread_sanitizer || address_sanitizer || getenv("EMULATED"))
        return;           /* more address space than any limit */
    pid_t child = fork(); /* the limit is for good */
    if (child == 0) {
        static tally t;
        setrlimit(RLIMIT_AS, &(struct rlimit){1 << 20, 1 << 20});
        at_threads(4);
        at_parallel(100, count_task, &t);
        _exit(ran_once(&t, 100) && runs_inline(100) ? 42 : 1);
    }
    ck_assert_int_eq(exit_status_of(child), 42);
}
END_TEST

START_TEST(more_than_the_most_counts_as_the_most)
{
    at_threads(AT_MAX_THREADS + 1);
    ck_assert_int_eq(at_thread_count(), AT_MAX_THREADS);
    at_threads(5);
    ck_assert_int_eq(at_thread_count(), 5);
}
END_TEST

static void change_count(void *ctx, int task, int worker)
{
    (void)ctx, (void)worker;
    at_threads(1 + task % 5);
    nap(50);
}

START_TEST(the_count_may_change_within_a_task)
{
    at_threads(4);
    for (int i = 0; i < 20; i++) at_parallel(20, change_count, NULL);
    at_threads(4);
    ck_assert(all_met(4));
}
END_TEST

static void lower_count(void *ctx, int task, int worker)
{
    (void)ctx, (void)task, (void)worker;
    at_threads(2);
}

START_TEST(a_count_lowered_within_a_task_holds_from_the_next_call_on)
{
    tally t = {.nap_us = 300};
    at_threads(4);
    ck_assert(all_met(4));
    at_parallel(2, lower_count, NULL);
    at_parallel(100, count_task, &t);
    ck_assert(ran_once(&t, 100)); /* by workers 0 and 1 alone */
}
END_TEST

static int threads_alive(void)
{
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks) return -1;
    for (struct dirent *e = readdir(tasks); e; e = readdir(tasks)) n += e->d_name[0] != '.';
    closedir(tasks);
    return n;
}

START_TEST(threads_start_with_the_first_work_and_end_when_no_longer_wanted)
{
    at_threads(2);
    ck_assert(all_met(2)); /* a sanitizer's own thread starts with the first */
    at_threads(1);
    nap(20000); /* a joined thread may take a moment to leave /proc */
    int before = threads_alive();
    if (before < 0) return; /* no /proc here */
    at_threads(4);
    ck_assert_int_eq(threads_alive(), before);
    ck_assert(all_met(4));
    ck_assert_int_eq(threads_alive(), before + 3);
    at_threads(2);
    nap(20000);
    ck_assert_int_eq(threads_alive(), before + 1);
    at_threads(1);
    nap(20000);
    ck_assert_int_eq(threads_alive(), before);
}
END_TEST

START_TEST(idle_threads_sleep)
{
    at_threads(4);
    ck_assert(all_met(4));
    nap(5000);
    double before = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
    nap(200000);
    ck_assert_double_lt(clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - before, 0.02);
}
END_TEST

static int count_with(const char *value)
{
    if (value)
        setenv("ATTIC_THREADS", value, 1);
    else
        unsetenv("ATTIC_THREADS");
    at_threads(0);
    return at_thread_count();
}

/* What runs at the same time: how many, and which slots. */
typedef struct {
    atomic_int busy[4], running, most;
} slot_watch;

static void take_slot(void *ctx, ptrdiff_t task, ptrdiff_t to, int slot)
{
    ck_assert_int_eq(to, task + 1);
    slot_watch *w = ctx;
    ck_assert_int_lt(slot, 4);
    ck_assert_int_eq(atomic_fetch_add(&w->busy[slot], 1), 0);
    int running = atomic_fetch_add(&w->running, 1) + 1;
    if (running > w->most) w->most = running;
    at_threads(1 + (int)task % 16);
    usleep(200);
    atomic_fetch_sub(&w->running, 1);
    atomic_fetch_sub(&w->busy[slot], 1);
}

START_TEST(there_are_never_more_slots_than_asked_for_whatever_the_count_becomes)
{
    for (int round = 0; round < 20; round++) {
        slot_watch w = {0};
        at_threads(16);
        at_for(40, 1 << 20, 4, take_slot, &w);
        ck_assert_int_le(w.most, 4);
    }
}
END_TEST

static void no_work(void *ctx, ptrdiff_t from, ptrdiff_t to, int slot)
{
    (void)ctx, (void)from, (void)to, (void)slot;
}

/* Does a region of 10 items with this work wake a thread, within 100 trials in which all slept? */
static bool wakes(ptrdiff_t work, int slots)
{
    for (int i = 0; i < 100; i++) {
        nap(2000);
        const int before = at_wake_ups();
        at_for(10, work, slots, no_work, NULL);
        if (at_wake_ups() > before) return true;
    }
    return false;
}

START_TEST(a_region_of_less_than_100_microseconds_wakes_nobody)
{
    at_threads(3);
    ck_assert(all_met(3)); /* there are helpers to wake */
    for (int slots = 0; slots <= 2; slots += 2) {
        ck_assert(!wakes(1, slots));
        ck_assert(!wakes(9999, slots));
        ck_assert(wakes(10000, slots));
        ck_assert(wakes(PTRDIFF_MAX / 2, slots)); /* 10 times that is no ptrdiff_t */
    }
    at_threads(1);
    ck_assert(!wakes(1000000, 0));
}
END_TEST

static void note_helper(void *ctx, ptrdiff_t from, ptrdiff_t to, int slot)
{
    (void)from, (void)to;
    nap(100);
    if (slot > 0) *(atomic_int *)ctx = 1;
}

static void note_worker(void *ctx, int task, int worker)
{
    ((int *)ctx)[task] = worker;
    nap(200);
}

START_TEST(helpers_that_are_awake_take_part_in_small_regions)
{
    atomic_int helped = 0;
    at_threads(2);
    for (int i = 0; i < 10000 && !helped; i++) {
        ck_assert(all_met(2)); /* the helper has just been at work */
        at_for(2, 8192, 0, note_helper, &helped);
    }
    ck_assert(helped);
}
END_TEST

START_TEST(the_caller_takes_the_first_tasks_and_helpers_the_last)
{
    int worker[8];
    at_threads(2);
    at_parallel(8, note_worker, worker);
    for (int i = 1; i < 8; i++) ck_assert_int_ge(worker[i], worker[i - 1]);
}
END_TEST

START_TEST(ATTIC_THREADS_sets_the_default)
{
    ck_assert_int_eq(count_with("1"), 1);
    ck_assert_int_eq(count_with("3"), 3);
    ck_assert_int_eq(count_with(" 12"), 12);
    ck_assert_int_eq(count_with("64"), 64);
    ck_assert_int_eq(count_with("65"), AT_MAX_THREADS);
    ck_assert_int_eq(count_with("99999999999999999999"), AT_MAX_THREADS);
}
END_TEST

START_TEST(an_ATTIC_THREADS_that_is_no_count_is_ignored)
{
    static const char *const bad[] = {"", " ", "0", "-1", "two", "2x", "2 ", "1.5", "0x"};
    int cpus = at_cpus() < AT_MAX_THREADS ? at_cpus() : AT_MAX_THREADS;
    ck_assert_int_eq(count_with(NULL), cpus);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(count_with(bad[i]) == cpus, "ATTIC_THREADS=\"%s\"", bad[i]);
}
END_TEST

SUITE(kernels_parallel, every_task_runs_exactly_once,
      tasks_that_run_at_the_same_time_have_different_workers,
      as_many_tasks_as_there_are_threads_run_at_the_same_time,
      helpers_keep_off_the_callers_cpu_if_the_others_are_enough,
      a_long_row_of_small_jobs_loses_no_task,
      a_call_within_a_task_runs_inline_in_order_on_its_own_thread, one_thread_runs_inline_in_order,
      a_single_task_may_use_the_pool,
      a_second_user_thread_does_its_work_itself_while_the_pool_is_held,
      user_threads_that_compute_at_the_same_time_each_get_all_their_tasks,
      parent_and_child_each_have_a_pool_after_fork,
      a_fork_while_another_thread_holds_the_pool_leaves_the_child_a_free_one,
      without_new_threads_the_caller_does_all_the_work, more_than_the_most_counts_as_the_most,
      the_count_may_change_within_a_task, a_count_lowered_within_a_task_holds_from_the_next_call_on,
      threads_start_with_the_first_work_and_end_when_no_longer_wanted, idle_threads_sleep,
      a_region_of_less_than_100_microseconds_wakes_nobody,
      helpers_that_are_awake_take_part_in_small_regions,
      the_caller_takes_the_first_tasks_and_helpers_the_last,
      there_are_never_more_slots_than_asked_for_whatever_the_count_becomes,
      ATTIC_THREADS_sets_the_default, an_ATTIC_THREADS_that_is_no_count_is_ignored)
