/* log_file.c -- a file of text that grows by whole lines; see log_file.h. */
#include "train/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "autograd/op.h"
#include "system/system.h"

bool at_log_file_fails(const at_log_file *f, const char *what)
{
    return at_fail(f->t, ATTIC_FILE_ERROR, "cannot %s %s: %s", what, f->path, strerror(errno));
}

bool at_log_file_open_end(at_log_file *f)
{
    f->file = at_open_file(f->path, O_WRONLY | O_CREAT, -1);
    if (!f->file) return at_log_file_fails(f, "open");
    setvbuf(f->file, NULL, _IONBF, 0); /* nothing waits in a buffer when the disk is full */
    if (at_truncate_file(f->file, f->bytes) == 0) return true;
    at_log_file_fails(f, "cut");
    at_log_file_close(f);
    return false;
}

bool at_log_file_open(at_log_file *f, bool (*keep)(void *ctx, const char *line), void *ctx)
{
    char line[AT_LOG_LINE];
    FILE *from = at_open_file(f->path, O_RDONLY, -1);
    if (!from && errno != ENOENT) return at_log_file_fails(f, "open");
    while (from && fgets(line, sizeof line, from) && strchr(line, '\n') && keep(ctx, line)) {
        f->bytes += (ptrdiff_t)strlen(line);
        f->lines++;
    }
    bool good = at_ok(f->t) && (!from || !ferror(from) || at_log_file_fails(f, "read"));
    if (from) fclose(from);
    return good && at_log_file_open_end(f);
}

void at_log_file_close(at_log_file *f)
{
    if (f->file) fclose(f->file);
    f->file = NULL;
}

bool at_log_file_write(at_log_file *f, const char *line)
{
    size_t n = strlen(line);
    errno = 0;
    if (fwrite(line, 1, n, f->file) != n) {
        at_log_file_fails(f, "write");
        (void)at_truncate_file(f->file, f->bytes);
        return false;
    }
    f->bytes += (ptrdiff_t)n;
    f->lines++;
    return true;
}
