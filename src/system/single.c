/* single.c -- where there are no threads, signals and locks; see system.h.
 *
 * No thread starts, so the owner of the pool does all tasks itself and no thread sleeps. */
#ifdef __wasm__
#include "system/system.h"

#include <fcntl.h>

int at_cpus(void)
{
    return 1;
}

bool at_thread_start(int i, void (*run)(int i), void (*forked)(void))
{
    return (void)i, (void)run, (void)forked, false;
}

void at_thread_join(int i)
{
    (void)i;
}

void at_threads_avoid_this_cpu(int n)
{
    (void)n;
}

void at_sleep_while(bool (*idle)(int arg), int arg, at_queue queue)
{
    (void)idle, (void)arg, (void)queue;
}

void at_wake(at_queue queue, int n)
{
    (void)queue, (void)n;
}

FILE *at_lock_file(const char *path)
{
    return at_open_file(path, O_WRONLY | O_CREAT, -1);
}

void at_note_signals(bool on)
{
    (void)on;
}

int at_signal_noted(void)
{
    return 0;
}

#endif
