/* file.c -- opening and closing files with errors on the tape; see file.h. */
#include "io/file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "autograd/op.h"

FILE *at_file_create(at_tape *t, const char *path)
{
    AT_REQUIRE(t, path, "file: the path is NULL");
    FILE *f = fopen(path, "wb");
    if (!f) at_fail(t, ATTIC_FILE_ERROR, "cannot create %s: %s", path, strerror(errno));
    return f;
}

FILE *at_file_open(at_tape *t, const char *path, ptrdiff_t *size)
{
    *size = 0;
    AT_REQUIRE(t, path, "file: the path is NULL");
    struct stat about = {0};
    const char *why = NULL;
    FILE *f = fopen(path, "rb");
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
    if (f) fclose(f);
    return at_fail(t, ATTIC_FILE_ERROR, "cannot open %s: %s", path, why);
}

bool at_file_close(at_tape *t, FILE *f, const char *path)
{
    if (!f) return false;
    errno = 0;
    bool failed = ferror(f) || fflush(f) != 0 || ferror(f);
    int reason = errno;
    if (fclose(f) != 0 && !failed) {
        failed = true;
        reason = errno;
    }
    if (failed)
        at_fail(t, ATTIC_FILE_ERROR, "cannot write %s: %s", path,
                reason ? strerror(reason) : "a write failed; is the disk full?");
    return !failed && at_ok(t);
}
