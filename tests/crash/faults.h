/* faults.h -- mistakes of the disk, and a death of the process, at a call that is chosen.
 *
 * The program is linked so that the library's calls of fwrite, fflush, fclose, fsync, rename and
 * ftruncate come here first (--wrap).  They are counted while a fault is armed. */
#ifndef ATTIC_TESTS_CRASH_FAULTS_H
#define ATTIC_TESTS_CRASH_FAULTS_H
#include <stdbool.h>

typedef enum {
    NO_FAULT,
    KILLED,     /* the process ends instead of the n-th call */
    KILLED_MID, /* it ends when half of a write is on the disk, or just after another call */
    FAILS,      /* the n-th call fails: no space on the disk */
    FAILS_ON,   /* and all after it */
    FAULTS
} fault_kind;

void fault_at(fault_kind kind, int n);
int fault_calls(void); /* how many were counted */
/* Has a file ever got its name before it was written through to the disk, or is a name not written
 * through by now?  Then a machine that stops may lose what a process that stops does not. */
bool fault_unsynced(void);

#endif
