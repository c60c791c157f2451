/* scratch.h -- where tests write: in the folder TMPDIR, which the runner (main.c) makes for them and removes
 * at its end.  Nowhere else, which scripts/lint-words.sh checks. */
#ifndef ATTIC_TESTS_SCRATCH_H
#define ATTIC_TESTS_SCRATCH_H
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SCRATCH_PATH = 400 };

/* Without TMPDIR a folder in memory, where fsync is quick, if there is one. */
static inline const char *scratch_root(void)
{
    const char *root = getenv("TMPDIR");
    if (root && *root) return root;
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

/* A path for a file that this process writes, of its own for each name; lives for some calls. */
static inline char *scratch_file(const char *name)
{
    static char path[8][SCRATCH_PATH];
    static int next;
    next = (next + 1) % 8;
    snprintf(path[next], SCRATCH_PATH, "%s/%d-%s", scratch_root(), (int)getpid(), name);
    return path[next];
}

/* A new folder with nothing in it; NULL: it cannot be made. */
static inline const char *scratch_folder(char path[SCRATCH_PATH])
{
    snprintf(path, SCRATCH_PATH, "%s/attic-test-XXXXXX", scratch_root());
    return mkdtemp(path);
}

/* Removes it, and what is in it. */
static inline void scratch_remove(const char *folder)
{
    char command[SCRATCH_PATH + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) fprintf(stderr, "%s failed\n", command);
}

#endif
