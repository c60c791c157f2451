/* file.c -- opening and closing files with errors on the tape; see file.h.
 *
 * What is written to loss.svg goes to loss.svg.attic-0123456789abcdef.tmp, which the close renames:
 * a reader, a crash or a full disk finds the old file or the new one, never half of it.  The digits
 * are made of tape and process, so that the close computes the same name again and nothing needs to
 * be remembered in between. */
#include "autograd/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "autograd/op.h"
#include "system/system.h"

enum { FILE_PATH = 4096 };

/* The temporary file beside path.  False if the path is too long. */
static bool temporary_path(const at_tape *t, const char *path, char temporary[FILE_PATH])
{
    uint64_t digits = (uintptr_t)t ^ (uint64_t)at_process() << 48;
    int n = snprintf(temporary, FILE_PATH, "%s.attic-%016" PRIx64 ".tmp", path, digits);
    return n < FILE_PATH;
}

/* The temporary file; NULL with errno EACCES or ENAMETOOLONG if path is to be written directly */
static FILE *open_temporary(const at_tape *t, const char *path)
{
    char temporary[FILE_PATH];
    int mode;
    if (!at_may_replace(path, &mode) || !temporary_path(t, path, temporary))
        return errno = EACCES, NULL;
    remove(temporary); /* left by a process that ended before its close */
    return at_open_file(temporary, O_WRONLY | O_CREAT | O_EXCL, mode);
}

FILE *at_file_create(at_tape *t, const char *path)
{
    AT_REQUIRE(t, path && *path, "file: the path is %s", path ? "empty" : "NULL");
    FILE *f = open_temporary(t, path);
    if (!f && (errno == EACCES || errno == ENAMETOOLONG))
        f = at_open_file(path, O_WRONLY | O_CREAT | O_TRUNC, -1);
    if (!f) at_fail(t, ATTIC_FILE_ERROR, "cannot create %s: %s", path, strerror(errno));
    return f;
}

FILE *at_file_open(at_tape *t, const char *path, ptrdiff_t *size)
{
    AT_REQUIRE(t, path && size, "file: %s is NULL", path ? "size" : "the path");
    *size = 0;
    struct stat about = {0};
    const char *why = NULL;
    FILE *f = at_open_file(path, O_RDONLY, -1);
    if (!f || fstat(fileno(f), &about) != 0)
        why = strerror(errno);
    else if (!S_ISREG(about.st_mode))
        why = "it is not a regular file";
    else if (about.st_size > PTRDIFF_MAX / 16)
        why = "it is too large";
    if (!why) {
        *size = (ptrdiff_t)about.st_size;
        return f;
    }
    at_fail(t, ATTIC_FILE_ERROR, "cannot open %s: %s", path, why);
    if (f) fclose(f);
    return NULL;
}

typedef struct {
    void *p;
    size_t bytes;
} mapped_file;

static void unmap(void *file)
{
    at_unmap_file(((mapped_file *)file)->p, ((mapped_file *)file)->bytes);
}

void *at_file_map(at_tape *t, FILE *f, ptrdiff_t bytes, const char *path)
{
    const size_t n = (size_t)bytes;
    mapped_file *file = f ? at_permanent_alloc(t, sizeof *file) : NULL;
    if (!file) return NULL;
    *file = (mapped_file){n ? at_map_file(f, n) : NULL, n};
    if (file->p) return at_on_close(t, unmap, file) ? file->p : NULL;
    void *p = at_permanent_alloc(t, n);
    if (p && fread(p, 1, n, f) != n)
        return at_fail(t, ATTIC_FILE_ERROR, "cannot read %s: it ends early", path);
    return p;
}

void at_file_remove_leftovers(const char *folder, const char *begin)
{
    static const char mark[] = ".attic-", end[] = ".tmp";
    char path[FILE_PATH];
    DIR *names = opendir(folder);
    for (const struct dirent *e; names && (e = readdir(names));) {
        const char *digits = strstr(e->d_name, mark);
        if (!digits || strncmp(e->d_name, begin, strlen(begin)) != 0) continue;
        digits += strlen(mark);
        size_t n = strspn(digits, "0123456789abcdef");
        if (n == 16 && strcmp(digits + n, end) == 0 &&
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name) < FILE_PATH)
            remove(path);
    }
    if (names) closedir(names);
}

/* Everything in f is written; if it is a temporary file, to the disk itself.  0, or the reason. */
static int finish_writing(FILE *f, bool temporary)
{
    errno = 0;
    bool failed = ferror(f) || fflush(f) != 0 || (temporary && at_sync_file(f) != 0);
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
    bool renamed = path && temporary_path(t, path, temporary) && at_is_open_at(f, temporary);
    bool known = renamed || (path && at_is_open_at(f, path));
    int reason = finish_writing(f, renamed);
    if (!known)
        at_fail(t, ATTIC_USER_ERROR, "file: what is closed as %s was not created as that",
                path ? path : "NULL");
    if (renamed && at_ok(t) && !reason && at_rename_file(temporary, path) != 0) reason = errno;
    if (reason)
        at_fail(t, ATTIC_FILE_ERROR, "cannot write %s: %s", path,
                reason > 0 ? strerror(reason) : "a write failed; is the disk full?");
    if (renamed && !at_ok(t)) remove(temporary);
    return at_ok(t);
}
