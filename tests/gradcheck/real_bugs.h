/* real_bugs.h -- mistakes of published backwards, rebuilt as small kernels in float.
 *
 * Each stands in a kernel of our own: of the published one, only what is wrong is taken. */
#ifndef ATTIC_REAL_BUGS_H
#define ATTIC_REAL_BUGS_H
#include "gradcheck/gradcheck.h"

typedef struct {
    const char *name;   /* what is wrong */
    const char *thread; /* where it was reported or found */
    bool found;         /* WRONG, or a RACE */
    bool named;         /* and the first line of the report has the input, factor or cause */
    at_gradcheck_report report;
} real_bug_verdict;

int at_real_bugs(void);
/* The kernel with its mistake; `repaired`: without it. */
real_bug_verdict at_check_real_bug(int which, bool repaired);

#endif
