/* windows.c -- threads, files and terminal on Windows, with mingw-w64; see system.h.
 *
 * There is no fork, and there are no signals to block.  Permissions are one: may it be written? */
#ifdef _WIN32
#include "system/system.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <share.h>
#include <signal.h>
#include <sys/stat.h>
#include <windows.h>

#include "system/thread_count.h"

static struct {
    void (*run)(int i);
    HANDLE handle[AT_MAX_THREADS];
} windows_threads;

static SRWLOCK windows_lock = SRWLOCK_INIT;
static CONDITION_VARIABLE windows_queue[AT_QUEUES]; /* all zero is CONDITION_VARIABLE_INIT */

int at_cpus(void)
{
    DWORD cpus = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    return cpus < 1 ? 1 : (int)cpus;
}

static unsigned __stdcall windows_thread(void *i)
{
    windows_threads.run((int)(intptr_t)i);
    return 0;
}

bool at_thread_start(int i, void (*run)(int i), void (*forked)(void))
{
    (void)forked;
    if (!windows_threads.run) windows_threads.run = run;
    uintptr_t handle = _beginthreadex(NULL, AT_THREAD_STACK, windows_thread, (void *)(intptr_t)i,
                                      STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    windows_threads.handle[i] = (HANDLE)handle;
    return handle != 0;
}

void at_thread_join(int i)
{
    WaitForSingleObject(windows_threads.handle[i], INFINITE);
    CloseHandle(windows_threads.handle[i]);
}

void at_threads_avoid_this_cpu(int n)
{
    (void)n; /* the scheduler wakes a thread on an idle CPU */
}

void at_sleep_while(bool (*idle)(int arg), int arg, at_queue queue)
{
    AcquireSRWLockExclusive(&windows_lock);
    while (idle(arg)) SleepConditionVariableSRW(&windows_queue[queue], &windows_lock, INFINITE, 0);
    ReleaseSRWLockExclusive(&windows_lock);
}

void at_wake(at_queue queue, int n)
{
    AcquireSRWLockExclusive(&windows_lock);
    if (n >= AT_MAX_THREADS)
        WakeAllConditionVariable(&windows_queue[queue]);
    else
        while (n-- > 0) WakeConditionVariable(&windows_queue[queue]);
    ReleaseSRWLockExclusive(&windows_lock);
}

FILE *at_open_file(const char *path, int flags, int mode)
{
    int file = open(path, flags | O_BINARY | O_NOINHERIT, mode < 0 ? 0666 : mode);
    FILE *f = file < 0 ? NULL : fdopen(file, flags & O_CREAT ? "wb" : "rb");
    if (!f && file >= 0) close(file);
    return f;
}

bool at_may_replace(const char *path, int *mode)
{
    struct stat about;
    *mode = -1;
    if (stat(path, &about) != 0) return errno == ENOENT;
    *mode = about.st_mode & 0777;
    return S_ISREG(about.st_mode) && access(path, W_OK) == 0;
}

/* stat and fstat number neither files nor, in the same way, drives. */
bool at_is_open_at(FILE *f, const char *path)
{
    BY_HANDLE_FILE_INFORMATION a, b;
    const DWORD all = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    HANDLE other = CreateFileA(path, 0, all, NULL, OPEN_EXISTING, 0, NULL);
    bool same = GetFileInformationByHandle((HANDLE)_get_osfhandle(fileno(f)), &a) &&
                GetFileInformationByHandle(other, &b) &&
                a.dwVolumeSerialNumber == b.dwVolumeSerialNumber &&
                a.nFileIndexHigh == b.nFileIndexHigh && a.nFileIndexLow == b.nFileIndexLow;
    if (other != INVALID_HANDLE_VALUE) CloseHandle(other);
    return same;
}

int at_sync_file(FILE *f)
{
    return _commit(fileno(f));
}

int at_rename_file(const char *from, const char *to)
{
    if (MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING)) return 0;
    return errno = EACCES, -1;
}

void *at_map_file(FILE *f, size_t bytes)
{
    HANDLE file = (HANDLE)_get_osfhandle(fileno(f));
    HANDLE mapping = CreateFileMappingA(file, NULL, PAGE_READONLY, 0, 0, NULL);
    if (!mapping) return NULL;
    void *p = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, bytes);
    CloseHandle(mapping); /* the view keeps it */
    return p;
}

void at_prefer_large_pages(void *p, size_t bytes)
{
    (void)p, (void)bytes;
}

void at_unmap_file(void *p, size_t bytes)
{
    (void)bytes;
    UnmapViewOfFile(p);
}

int at_make_folder(const char *path)
{
    return mkdir(path);
}

int at_sync_folder(const char *path)
{
    (void)path; /* folders cannot be opened; MoveFileEx writes through what it can */
    return 0;
}

int at_truncate_file(FILE *f, ptrdiff_t size)
{
    if (fflush(f) != 0) return -1;
    int reason = _chsize_s(fileno(f), size);
    if (reason) return errno = reason, -1;
    return fseeko64(f, size, SEEK_SET);
}

/* Opened without sharing: a second open fails with EACCES. */
FILE *at_lock_file(const char *path)
{
    int file;
    errno_t reason = _sopen_s(&file, path, O_WRONLY | O_CREAT | O_BINARY | O_NOINHERIT, _SH_DENYRW,
                              _S_IREAD | _S_IWRITE);
    if (reason) return errno = reason == EACCES ? EWOULDBLOCK : reason, NULL;
    return fdopen(file, "wb");
}

static const int windows_ending[] = {SIGINT, SIGTERM};
static void (*windows_before[2])(int);
static volatile sig_atomic_t windows_noted;

/* Windows has set the default action before it calls this. */
static void windows_note(int signal)
{
    windows_noted = signal;
}

void at_note_signals(bool on)
{
    if (on) windows_noted = 0;
    for (int i = 0; i < 2; i++) {
        void (*before)(int) = signal(windows_ending[i], on ? windows_note : windows_before[i]);
        if (on && before == SIG_IGN) signal(windows_ending[i], SIG_IGN);
        if (on) windows_before[i] = before;
    }
}

int at_signal_noted(void)
{
    return windows_noted;
}

int at_process(void)
{
    return getpid();
}

int at_terminal_width(FILE *f)
{
    int file = fileno(f);
    return file >= 0 && isatty(file) ? 80 : 0;
}

void *at_point_begin(void)
{
    return NULL;
}

void at_point_end(void *before)
{
    (void)before;
}

#endif
