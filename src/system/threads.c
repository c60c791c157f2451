/* threads.c -- POSIX threads, and the CPUs that they may use; see system.h.
 *
 * A container sees every CPU of its host, but a quota stops its threads once they have used, in
 * each period, the time they were given together.  With more threads than quota / period all of
 * them are stopped halfway through, and the thread that waits for the last task waits a whole
 * period.
 *
 *   cgroup v2    GROUP/cpu.max              "quota period", or "max period" for no limit
 *   cgroup v1    GROUP/cpu.cfs_quota_us     quota, -1 for no limit
 *                GROUP/cpu.cfs_period_us    period
 *
 * GROUP is mount + path, the path from a line of /proc/self/cgroup:
 *
 *   v2    0::/path                          under mount, or mount/unified beside v1
 *   v1    4:cpu,cpuacct:/path               under mount/cpu,cpuacct or mount/cpu
 *
 * A quota on any group above holds as well, so the smallest on the way up to the root counts.
 * There, at the root, a container finds its own limit also where it sees only its own part of the
 * tree. */
#if !defined _WIN32 && !defined __wasm__
#define _GNU_SOURCE /* affinity */
#include "system/system.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "system/thread_count.h"

static struct {
    pthread_mutex_t lock;
    pthread_cond_t queue[AT_QUEUES];
    pthread_t thread[AT_MAX_THREADS];
    void (*run)(int i); /* NULL before the first thread */
    void (*forked)(void);
    int avoiding, cpu; /* threads 1 .. avoiding keep off this CPU */
} posix = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .queue = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER}};

void at_sleep_while(bool (*idle)(int arg), int arg, at_queue queue)
{
    pthread_mutex_lock(&posix.lock);
    while (idle(arg)) pthread_cond_wait(&posix.queue[queue], &posix.lock);
    pthread_mutex_unlock(&posix.lock);
}

void at_wake(at_queue queue, int n)
{
    pthread_mutex_lock(&posix.lock);
    if (n >= AT_MAX_THREADS)
        pthread_cond_broadcast(&posix.queue[queue]);
    else
        while (n-- > 0) pthread_cond_signal(&posix.queue[queue]);
    pthread_mutex_unlock(&posix.lock);
}

/* The thread that held the lock may be gone. */
static void posix_after_fork(void)
{
    posix.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    for (int i = 0; i < AT_QUEUES; i++) posix.queue[i] = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    posix.forked();
}

static void *posix_thread(void *i)
{
    posix.run((int)(intptr_t)i);
    return NULL;
}

bool at_thread_start(int i, void (*run)(int i), void (*forked)(void))
{
    pthread_attr_t attr;
    if (!posix.run) { /* the first one */
        if (pthread_atfork(NULL, NULL, posix_after_fork)) return false;
        posix.forked = forked;
        posix.run = run;
    }
    posix.avoiding = 0;
    if (pthread_attr_init(&attr)) return false;
    pthread_attr_setstacksize(&attr, AT_THREAD_STACK);

    sigset_t all, before; /* signals are for the threads of the user */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&posix.thread[i], &attr, posix_thread, (void *)(intptr_t)i);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return !error;
}

void at_thread_join(int i)
{
    pthread_join(posix.thread[i], NULL);
}

void at_threads_avoid_this_cpu(int n)
{
#ifdef __linux__
    cpu_set_t mask;
    const int cpu = sched_getcpu();
    if (cpu == posix.cpu && n == posix.avoiding) return;
    posix.cpu = cpu;
    posix.avoiding = n;
    if (cpu < 0 || sched_getaffinity(0, sizeof mask, &mask) != 0) return;
    CPU_CLR((size_t)cpu, &mask);
    for (int i = 1; CPU_COUNT(&mask) >= n && i <= n; i++)
        pthread_setaffinity_np(posix.thread[i], sizeof mask, &mask);
#else
    (void)n;
#endif
}

enum { CPUS_PATH = 1024, CPUS_TEXT = 4096 };

/* The first size-1 bytes of file folder/name, or folder, as a string; stdio would call malloc. */
static bool cpus_read(const char *folder, const char *name, char *text, size_t size)
{
    char path[CPUS_PATH];
    int length = snprintf(path, sizeof path, "%s%s", folder, name);
    int file = length < (int)sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t n = file < 0 ? -1 : read(file, text, size - 1);
    if (file >= 0) close(file);
    text[n > 0 ? n : 0] = 0;
    return n > 0;
}

/* ceil(quota / period); INT_MAX if there is no limit */
static int cpus_of_group(const char *group)
{
    char text[64], *rest = text;
    long long quota = -1, period = -1;
    if (cpus_read(group, "/cpu.max", text, sizeof text)) {
        quota = strtoll(text, &rest, 10); /* "max" reads as 0: no limit */
        period = strtoll(rest, NULL, 10);
    } else if (cpus_read(group, "/cpu.cfs_quota_us", text, sizeof text)) {
        quota = strtoll(text, NULL, 10);
        if (cpus_read(group, "/cpu.cfs_period_us", text, sizeof text))
            period = strtoll(text, NULL, 10);
    }
    if (quota <= 0 || period <= 0) return INT_MAX;
    long long cpus = quota / period + (quota % period != 0);
    return cpus < INT_MAX ? (int)cpus : INT_MAX;
}

/* The smallest limit of root/path and of every group above it, root included; at most `least`. */
static int cpus_of_groups_up(int least, const char *mount, const char *hierarchy, const char *path)
{
    char group[CPUS_PATH];
    int root = snprintf(group, sizeof group, "%s%s%s", mount, *hierarchy ? "/" : "", hierarchy);
    if (root < 0 || (size_t)root + strlen(path) >= sizeof group) return least;
    strcpy(group + root, path);
    for (;;) {
        int cpus = cpus_of_group(group);
        if (cpus < least) least = cpus;
        char *last = strrchr(group + root, '/');
        if (!last) return least;
        *last = 0;
    }
}

static bool cpus_lists_cpu(const char *controllers)
{
    for (const char *c = controllers; c; c = strchr(c, ',') ? strchr(c, ',') + 1 : NULL)
        if (strncmp(c, "cpu", 3) == 0 && (c[3] == 0 || c[3] == ',')) return true;
    return false;
}

int at_cpus_of_quota(const char *groups, const char *mount)
{
    char text[CPUS_TEXT];
    int least = INT_MAX;
    if (!cpus_read(groups, "", text, sizeof text)) return 0;

    for (char *line = text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) continue;
        *controllers++ = 0, *path++ = 0;

        bool v2 = *controllers == 0;
        if (!v2 && !cpus_lists_cpu(controllers)) continue;
        least = cpus_of_groups_up(least, mount, controllers, path);
        least = cpus_of_groups_up(least, mount, v2 ? "unified" : "cpu", path);
    }
    return least == INT_MAX ? 0 : least;
}

int at_cpus(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __linux__
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof mask, &mask) == 0) cpus = CPU_COUNT(&mask);
    int quota = at_cpus_of_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    if (quota > 0 && quota < cpus) cpus = quota;
#endif
    return cpus < 1 ? 1 : cpus > INT_MAX ? INT_MAX : (int)cpus;
}

#endif
