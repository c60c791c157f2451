/* faults.c -- calls that fail or end the process; see faults.h. */
#include "crash/faults.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

size_t __real_fwrite(const void *p, size_t size, size_t n, FILE *f);
int __real_fflush(FILE *f);
int __real_fclose(FILE *f);
int __real_fsync(int file);
int __real_rename(const char *from, const char *to);
int __real_ftruncate(int file, off_t size);
size_t __wrap_fwrite(const void *p, size_t size, size_t n, FILE *f);
int __wrap_fflush(FILE *f);
int __wrap_fclose(FILE *f);
int __wrap_fsync(int file);
int __wrap_rename(const char *from, const char *to);
int __wrap_ftruncate(int file, off_t size);

static struct {
    fault_kind kind;
    int n, calls;
    bool written, renamed, too_early; /* since the last fsync; a rename before one */
} fault;

void fault_at(fault_kind kind, int n)
{
    fault.kind = kind;
    fault.n = n;
    fault.calls = 0;
}

int fault_calls(void)
{
    return fault.calls;
}

bool fault_unsynced(void)
{
    return fault.too_early || fault.renamed;
}

static void end_process(void)
{
    kill(getpid(), SIGKILL);
}

/* Counts a call; does it fail?  This may not return. */
static bool call_fails(void)
{
    if (fault.kind == NO_FAULT) return false;
    fault.calls++;
    if (fault.kind == KILLED && fault.calls == fault.n) end_process();
    return fault.kind == FAILS_ON ? fault.calls >= fault.n
                                  : fault.kind == FAILS && fault.calls == fault.n;
}

static void call_done(void)
{
    if (fault.kind == KILLED_MID && fault.calls == fault.n) end_process();
}

/* While this lasts, what f writes meets a full disk: stdio itself finds it. */
static int fill_disk(FILE *f)
{
    int before = dup(fileno(f)), full = open("/dev/full", O_WRONLY);
    dup2(full, fileno(f));
    close(full);
    return before;
}

static void free_disk(FILE *f, int before)
{
    int reason = errno;
    dup2(before, fileno(f));
    close(before);
    errno = reason;
}

size_t __wrap_fwrite(const void *p, size_t size, size_t n, FILE *f)
{
    fault.written = true;
    if (call_fails()) { /* half of it finds space */
        size_t half = size * n / 2;
        __real_fwrite(p, 1, half, f);
        __real_fflush(f);
        int before = fill_disk(f);
        __real_fwrite((const char *)p + half, 1, size * n - half, f);
        __real_fflush(f);
        free_disk(f, before);
        return 0;
    }
    if (fault.kind == KILLED_MID && fault.calls == fault.n) {
        __real_fwrite(p, 1, size * n / 2, f);
        __real_fflush(f);
        end_process();
    }
    return __real_fwrite(p, size, n, f);
}

int __wrap_fflush(FILE *f)
{
    if (!f || !call_fails()) {
        int result = __real_fflush(f);
        call_done();
        return result;
    }
    int before = fill_disk(f), result = __real_fflush(f);
    free_disk(f, before);
    return result;
}

int __wrap_fclose(FILE *f)
{
    if (call_fails()) {
        __real_fclose(f);
        errno = ENOSPC;
        return EOF;
    }
    int result = __real_fclose(f);
    call_done();
    return result;
}

/* -1 with errno if it fails, else the result of the call. */
#define OR_FAIL(call)                                                                              \
    if (call_fails()) return errno = ENOSPC, -1;                                                   \
    int result = call;                                                                             \
    call_done();                                                                                   \
    return result

int __wrap_fsync(int file)
{
    fault.written = fault.renamed = false;
    OR_FAIL(__real_fsync(file));
}

int __wrap_rename(const char *from, const char *to)
{
    fault.too_early = fault.too_early || fault.written;
    fault.renamed = true;
    OR_FAIL(__real_rename(from, to));
}

int __wrap_ftruncate(int file, off_t size)
{
    OR_FAIL(__real_ftruncate(file, size));
}
