/* system.h -- what the library needs of the system, beyond the C library and clock_gettime.
 *
 *     posix.c       files, terminal, locale: POSIX, and WASI, which has these from it
 *     threads.c     threads and CPUs: POSIX
 *     signals.c     signals and locks: POSIX
 *     single.c      no threads, signals, locks: WebAssembly
 *     windows.c     all of it: Windows (mingw-w64)
 *
 * All are compiled everywhere; each is empty where it does not apply.  Private to the library. */
#ifndef AT_SYSTEM_SYSTEM_H
#define AT_SYSTEM_SYSTEM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* Nanoseconds from any origin; 0 where there is no clock. */
static inline int64_t at_now_ns(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return 0;
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A counter that costs a third of at_now_ns to read: the one of an x86 processor, elsewhere
 * at_now_ns itself.  If it is even, it goes on by the same number in every nanosecond: to be
 * measured. */
#if defined __x86_64__ || defined __i386__
#include <cpuid.h>
static inline int64_t at_cycles(void)
{
    return (int64_t)__builtin_ia32_rdtsc();
}
static inline bool at_cycles_are_even(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
}
#else
#define at_cycles at_now_ns
#define at_cycles_are_even() true
#endif

/* How many CPUs this process may use, at least 1.  On Linux the smaller of the affinity mask
 * (taskset, cpusets) and the CPU quota of the control group (containers); elsewhere the CPUs that
 * are online; 1 where there are no threads. */
int at_cpus(void);
/* The quota alone, rounded up to whole CPUs; 0 if there is none.  groups is the list of this
 * process' control groups (/proc/self/cgroup), mount where their files are (/sys/fs/cgroup).  POSIX
 * only. */
int at_cpus_of_quota(const char *groups, const char *mount);

/* Starts thread i, 1 .. AT_MAX_THREADS-1, which calls run(i) and takes no signals; false if the
 * system has no more threads for us.  forked() is called in the child of a fork, in which none of
 * these threads exists.  All calls name the same run and forked.  One thread at a time calls this
 * function and the next two. */
enum { AT_THREAD_STACK = 2 << 20 };
bool at_thread_start(int i, void (*run)(int i), void (*forked)(void));
void at_thread_join(int i);
/* Threads 1 .. n run wherever the caller may, except on the CPU that it runs on now, if that leaves
 * a CPU for each of them.  Does nothing where the system does not say which CPU that is. */
void at_threads_avoid_this_cpu(int n);

/* Sleeps while idle(arg) is true, which is asked before sleeping and after each at_wake on the same
 * queue: what was written before at_wake is not missed.  at_wake wakes n sleepers of a queue; all
 * if n is AT_MAX_THREADS or more. */
typedef enum { AT_QUEUE_WORK, AT_QUEUE_DONE, AT_QUEUES } at_queue;
void at_sleep_while(bool (*idle)(int arg), int arg, at_queue queue);
void at_wake(at_queue queue, int n);

/* A file of bytes, with the flags of open(2): O_RDONLY; or O_WRONLY | O_CREAT with O_EXCL or
 * O_TRUNC, and the permissions `mode`, -1 for those that this process gives to new files.  Reading
 * never waits for the writer of a pipe; child processes do not inherit the file.  NULL with errno
 * set. */
FILE *at_open_file(const char *path, int flags, int mode);
/* May a new file take the place of this one?  Not if it is a device, a pipe or a link, has a second
 * name or another owner, or must not be written.  *mode: its permissions, -1 if there is no such
 * file. */
bool at_may_replace(const char *path, int *mode);
/* Is f the file of this path? */
bool at_is_open_at(FILE *f, const char *path);
/* Writes f through to the disk.  Renames a file; `to` may exist.  0, or -1 with errno. */
int at_sync_file(FILE *f);
int at_rename_file(const char *from, const char *to);
/* The first `bytes` of f, which is open for reading, to be read as memory until at_unmap_file; they
 * stay readable when f is closed.  NULL where the system cannot, or for 0 bytes: then f is to be
 * read. */
void *at_map_file(FILE *f, size_t bytes);
void at_unmap_file(void *p, size_t bytes);
/* Linux: asks that this memory, not used yet, have pages of 2 MiB where it holds whole ones.  A
 * processor finds an address without a look into tables in memory only if it is on one of the
 * pages used last, which are a few thousand.  Elsewhere it does nothing. */
void at_prefer_large_pages(void *p, size_t bytes);
/* Makes a folder, of which all but the last name exist; writes a folder's list of names through to
 * the disk; cuts f, open for writing, to `size` bytes and goes there.  0, or -1 with errno. */
int at_make_folder(const char *path);
int at_sync_folder(const char *path);
int at_truncate_file(FILE *f, ptrdiff_t size);
/* The file, made if there is none, for this process alone: until f is closed or the process ends,
 * however it ends.  NULL with errno, EWOULDBLOCK if another process has it (or this one, by another
 * call).  WASI has no locks. */
FILE *at_lock_file(const char *path);
/* The number of this process; 0 if it is the only one. */
int at_process(void);

/* On: a SIGINT or SIGTERM that comes is noted, and a second one of the same kind ends the process;
 * one that was ignored stays ignored.  Off: each does what it did before.  at_signal_noted: which
 * one came, or 0.  WASI has none. */
enum { AT_SIGINT = 2, AT_SIGTERM = 15 };
void at_note_signals(bool on);
int at_signal_noted(void);

/* Columns of the terminal that f leads to, 80 if it does not say; 0 if f leads to none. */
int at_terminal_width(FILE *f);

/* Between the two, printf and its relatives write a decimal point in this thread, whatever the
 * locale.  On Windows they do nothing. */
void *at_point_begin(void);
void at_point_end(void *before);

#endif
