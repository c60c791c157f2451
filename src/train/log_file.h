/* log_file.h -- a file of text that grows by whole lines.  Private to src/train.
 *
 * Whatever fails, the file has whole lines alone and keeps those that it had: what was written of
 * another one is cut off.  Functions that return bool return false after a sticky error of kind
 * ATTIC_FILE_ERROR. */
#ifndef AT_TRAIN_LOG_FILE_H
#define AT_TRAIN_LOG_FILE_H
#include <stdio.h>

#include "autograd/tape.h"

enum { AT_LOG_LINE = 1 << 12 }; /* more than a line has, with its 0 */

typedef struct {
    at_tape *t;
    const char *path;       /* NULL: a file that nobody asked for */
    FILE *file;             /* NULL: it is not open */
    ptrdiff_t lines, bytes; /* that it has */
} at_log_file;

/* Opens the file, which need not be there.  Its whole lines are given to keep, one after the other;
 * with the first that it refuses, all that follows is cut off.  If it leaves an error on the tape,
 * the file stays as it was. */
bool at_log_file_open(at_log_file *f, bool (*keep)(void *ctx, const char *line), void *ctx);
/* Opens it behind the f->bytes that it has, and cuts off the rest. */
bool at_log_file_open_end(at_log_file *f);
void at_log_file_close(at_log_file *f);
/* One more line, which ends in \n. */
bool at_log_file_write(at_log_file *f, const char *line);
/* False, and the error: cannot `what` the file, for the reason that errno has. */
bool at_log_file_fails(const at_log_file *f, const char *what);

#endif
