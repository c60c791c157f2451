/* file.h -- files opened and closed so that whatever goes wrong is an error of the tape.
 *
 *     FILE *f = at_file_create(t, "out/W.txt");
 *     at_print(W, f);
 *     at_file_close(t, f, "out/W.txt");
 *
 * Like everything on a tape this needs one check at its end: f may be NULL, in all functions of
 * these and in src/io, and a disk that is full is found at the close.  Errors are of the kind
 * ATTIC_FILE_ERROR and name the path and the reason. */
#ifndef AT_AUTOGRAD_FILE_H
#define AT_AUTOGRAD_FILE_H
#include "autograd/tape.h"
AT_BEGIN_C

/* For writing.  A file, new or old, is written beside its place, with .attic-<digits>.tmp behind
 * its name, and takes it at the close, with the permissions that it had or that fopen would give.
 * So a reader finds the old or the new one, and the old one stays if anything goes wrong.  Written
 * in place are a device, a pipe (which waits for its reader), what a symbolic link leads to, a file
 * with a second name or another owner, and any file in a folder where none can be made.  NULL after
 * a sticky error. */
AT_API FILE *at_file_create(at_tape *t, const char *path);
/* For reading.  Only a regular file has a size that can be trusted, so anything else is an error,
 * and none that waits: a pipe without a writer would. */
AT_API FILE *at_file_open(at_tape *t, const char *path, ptrdiff_t *size);
/* Closes f, always; tape and path are what at_file_create was given.  False if anything ever went
 * wrong with f or the tape. */
AT_API bool at_file_close(at_tape *t, FILE *f, const char *path);

/* The first `bytes` of f, just opened, as memory that is only read, until at_close: mapped where
 * the system can, so that processes share it and it may be larger than memory; else read.  A file
 * that is mapped must not be written before at_close: what is read then is of either state, and
 * where it was cut the process ends by SIGBUS.  A new file may take its name (on Windows not before
 * at_close), and changes nothing here.  NULL after a sticky error.  Private to the library. */
void *at_file_map(at_tape *t, FILE *f, ptrdiff_t bytes, const char *path);

/* Removes from a folder the temporary files whose names begin with `begin`, left there by processes
 * that ended before their close.  Only for who knows that no other process writes such files there.
 * Private to the library. */
void at_file_remove_leftovers(const char *folder, const char *begin);

AT_END_C
#endif
