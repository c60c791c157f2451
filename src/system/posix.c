/* posix.c -- files, terminal and locale on POSIX and WASI; see system.h. */
#ifndef _WIN32
#include "system/system.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif
#ifdef __wasi__ /* one process, one user, no permissions, no memory shared with a file */
#define getpid() 0
#define geteuid() 0
#define fchmod(file, mode) 0
#define MAP_FAILED NULL
#define mmap(p, bytes, may, kind, file, from) ((void)(file), (void)(bytes), MAP_FAILED)
#define munmap(p, bytes) ((void)(p), (void)(bytes))
#else
#include <sys/mman.h>
#endif

FILE *at_open_file(const char *path, int flags, int mode)
{
    const bool write = flags & O_CREAT;
    flags |= O_CLOEXEC | (write ? 0 : O_NONBLOCK | O_NOCTTY);
    int file = open(path, flags, mode < 0 ? 0666 : mode);
    if (file < 0) return NULL;
    if (mode >= 0) (void)fchmod(file, (mode_t)mode); /* not cut by the umask */
    FILE *f = fdopen(file, write ? "wb" : "rb");
    if (!f) close(file);
    return f;
}

bool at_may_replace(const char *path, int *mode)
{
    struct stat about;
    *mode = -1;
    if (lstat(path, &about) != 0) return errno == ENOENT;
    *mode = about.st_mode & 0777;
    return S_ISREG(about.st_mode) && about.st_nlink == 1 && about.st_uid == (uid_t)geteuid() &&
           access(path, W_OK) == 0;
}

bool at_is_open_at(FILE *f, const char *path)
{
    struct stat a, b;
    return fstat(fileno(f), &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

int at_sync_file(FILE *f)
{
    return fsync(fileno(f));
}

int at_rename_file(const char *from, const char *to)
{
    return rename(from, to);
}

void *at_map_file(FILE *f, size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fileno(f), 0);
    return p == MAP_FAILED ? NULL : p;
}

void at_unmap_file(void *p, size_t bytes)
{
    munmap(p, bytes);
}

void at_prefer_large_pages(void *p, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t size = 2 << 20, from = ((uintptr_t)p + size - 1) & -size;
    const uintptr_t to = ((uintptr_t)p + bytes) & -size;
    if (from < to) (void)madvise((void *)from, to - from, MADV_HUGEPAGE); /* a wish */
#else
    (void)p, (void)bytes;
#endif
}

int at_make_folder(const char *path)
{
    return mkdir(path, 0777);
}

/* Some file systems have nothing to write through, and say EINVAL. */
int at_sync_folder(const char *path)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return -1;
    int failed = fsync(folder) != 0 && errno != EINVAL ? errno : 0;
    close(folder);
    if (failed) errno = failed;
    return failed ? -1 : 0;
}

int at_truncate_file(FILE *f, ptrdiff_t size)
{
    return fflush(f) != 0 || ftruncate(fileno(f), (off_t)size) != 0 ||
                   fseeko(f, (off_t)size, SEEK_SET) != 0
               ? -1
               : 0;
}

int at_process(void)
{
    return getpid();
}

int at_terminal_width(FILE *f)
{
    int file = fileno(f);
    if (file < 0 || !isatty(file)) return 0;
#ifdef TIOCGWINSZ
    struct winsize size;
    if (ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
#endif
    return 80;
}

void *at_point_begin(void)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* glibc and musl allocate nothing */
    return plain ? (void *)uselocale(plain) : NULL;
}

void at_point_end(void *before)
{
    if (before) freelocale(uselocale((locale_t)before));
}

#endif
