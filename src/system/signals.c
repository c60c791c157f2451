/* signals.c -- signals that ask a process to end, and locks that end with it, on POSIX; see
 * system.h. */
#if !defined _WIN32 && !defined __wasm__
#include "system/system.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

/* A lock of flock belongs to the open file: another open of the same path, also in this process,
 * meets it.  Locks of fcntl would go with the first close of any file of that path. */
FILE *at_lock_file(const char *path)
{
    FILE *f = at_open_file(path, O_WRONLY | O_CREAT, -1);
    if (!f || flock(fileno(f), LOCK_EX | LOCK_NB) == 0) return f;
    int reason = errno;
    fclose(f);
    errno = reason;
    return NULL;
}

enum { N_ENDING = 2 };
static const int ending_signal[N_ENDING] = {SIGINT, SIGTERM};
static struct sigaction ending_before[N_ENDING];
static volatile sig_atomic_t ending_noted;

static void note_ending(int signal)
{
    ending_noted = signal;
}

void at_note_signals(bool on)
{
    /* SA_RESETHAND: the next one finds the default action, which ends the process */
    struct sigaction note = {.sa_handler = note_ending, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigemptyset(&note.sa_mask);
    if (on) ending_noted = 0;
    for (int i = 0; i < N_ENDING; i++) {
        struct sigaction *before = &ending_before[i];
        sigaction(ending_signal[i], on ? NULL : before, on ? before : NULL);
        if (on && before->sa_handler != SIG_IGN) sigaction(ending_signal[i], &note, NULL);
    }
}

int at_signal_noted(void)
{
    return ending_noted;
}

#endif
