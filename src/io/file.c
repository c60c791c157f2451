/* file.c -- opening and closing files with errors on the tape; see file.h.
 *
 * What is written to out/loss.svg goes to out/.attic-0123456789abcdef.tmp, which the close renames:
 * a reader, a crash or a full disk finds the old file or the new one, never half of it.  The digits
 * are a hash of path, tape and process, so that the close computes the same name again and nothing
 * needs to be remembered in between. */
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autograd/op.h"

#ifdef _WIN32
#include <io.h>
enum { O_NONBLOCK = 0, O_NOCTTY = 0, O_CLOEXEC = 0 };
#define lstat stat
#define geteuid() 0
#define fchmod(file, mode) 0
#define fsync _commit
#define rename(from, to) (remove(to), rename(from, to))
#else
enum { O_BINARY = 0 };
#endif

enum { FILE_PATH = 4096 };

/* May a new file take the place of this one?  Not if it is a device, a pipe or a link, has a second
 * name or another owner, or must not be written.  *mode: the permissions that it has, -1 if there is
 * no such file. */
static bool may_be_replaced(const char *path, int *mode)
{
    struct stat about;
    *mode = -1;
    if (lstat(path, &about) != 0) return errno == ENOENT;
    *mode = about.st_mode & 0777;
    return S_ISREG(about.st_mode) && about.st_nlink == 1 && about.st_uid == geteuid() &&
           access(path, W_OK) == 0;
}

/* The temporary file beside path.  False if its name is too long. */
static bool temporary_path(const at_tape *t, const char *path, char temporary[FILE_PATH])
{
    uint64_t hash = 0xcbf29ce484222325 ^ (uintptr_t)t ^ (uint64_t)getpid() << 48; /* FNV-1a */
    const char *name = path;
    for (const char *p = path; *p; p++) {
        hash = (hash ^ (unsigned char)*p) * 0x100000001b3;
        if (*p == '/' || (O_BINARY && *p == '\\')) name = p + 1;
    }
    int n = snprintf(temporary, FILE_PATH, "%.*s.attic-%016" PRIx64 ".tmp", (int)(name - path),
                     path, hash);
    return n < FILE_PATH;
}

static bool is_open_at(FILE *f, const char *path)
{
    struct stat a, b;
    return fstat(fileno(f), &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* The temporary file, or -1 with errno EACCES if path is to be written directly */
static int open_temporary(const at_tape *t, const char *path)
{
    char temporary[FILE_PATH];
    int mode;
    if (!may_be_replaced(path, &mode) || !temporary_path(t, path, temporary))
        return errno = EACCES, -1;
    remove(temporary); /* left by a process that ended before its close */
    int file =
        open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_BINARY, mode < 0 ? 0666 : mode);
    if (file >= 0 && mode >= 0) (void)fchmod(file, (mode_t)mode); /* not cut by the umask */
    return file;
}

FILE *at_file_create(at_tape *t, const char *path)
{
    AT_REQUIRE(t, path, "file: the path is NULL");
    int file = open_temporary(t, path);
    if (file < 0 && errno == EACCES)
        file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_BINARY, 0666);
    FILE *f = file < 0 ? NULL : fdopen(file, "wb");
    if (f) return f;
    at_fail(t, ATTIC_FILE_ERROR, "cannot create %s: %s", path, strerror(errno));
    if (file >= 0) close(file);
    return NULL;
}

FILE *at_file_open(at_tape *t, const char *path, ptrdiff_t *size)
{
    AT_REQUIRE(t, path && size, "file: %s is NULL", path ? "size" : "the path");
    *size = 0;
    struct stat about = {0};
    const char *why = NULL;
    FILE *f = NULL;
    int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | O_BINARY);
    if (file < 0 || fstat(file, &about) != 0)
        why = strerror(errno);
    else if (!S_ISREG(about.st_mode))
        why = "it is not a regular file";
    else if (about.st_size > PTRDIFF_MAX / 16)
        why = "it is too large";
    else
        f = fdopen(file, "rb");
    if (f) {
        *size = (ptrdiff_t)about.st_size;
        return f;
    }
    at_fail(t, ATTIC_FILE_ERROR, "cannot open %s: %s", path, why ? why : strerror(errno));
    if (file >= 0) close(file);
    return NULL;
}

/* Everything in f is written; if it is a temporary file, to the disk itself.  0, or the reason. */
static int finish_writing(FILE *f, bool temporary)
{
    errno = 0;
    bool failed = ferror(f) || fflush(f) != 0 || (temporary && fsync(fileno(f)) != 0);
    int reason = errno;
    if (fclose(f) != 0 && !failed) {
        failed = true;
        reason = errno;
    }
    return !failed ? 0 : reason ? reason : -1;
}

bool at_file_close(at_tape *t, FILE *f, const char *path)
{
    if (!f) return false;
    char temporary[FILE_PATH];
    bool renamed = path && temporary_path(t, path, temporary) && is_open_at(f, temporary);
    bool known = renamed || (path && is_open_at(f, path));
    int reason = finish_writing(f, renamed);
    if (!known)
        at_fail(t, ATTIC_USER_ERROR, "file: what is closed as %s was not created as that",
                path ? path : "NULL");
    if (renamed && at_ok(t) && !reason && rename(temporary, path) != 0) reason = errno;
    if (reason)
        at_fail(t, ATTIC_FILE_ERROR, "cannot write %s: %s", path,
                reason > 0 ? strerror(reason) : "a write failed; is the disk full?");
    if (renamed && !at_ok(t)) remove(temporary);
    return at_ok(t);
}
