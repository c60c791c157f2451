/* correct_tally.h -- how many correct functions got which verdict.  See correct_functions.h. */
#ifndef ATTIC_CORRECT_TALLY_H
#define ATTIC_CORRECT_TALLY_H
#include "gradcheck/correct_functions.h"

enum { MOST_VERDICTS = 16 };

typedef struct {
    int drawn, verdicts[MOST_VERDICTS];
} correct_tally;

/* Numbers first to first + count - 1, of one family if `family` is not NULL.  With `out` it prints
 * how each verdict was given, the families with the smallest shares of PASS (all if `every`), and the
 * numbers of what was called WRONG or RACE, or not run. */
correct_tally at_tally_correct(uint64_t first, int count, const char *family, bool every,
                               FILE *out);

/* Is nothing WRONG or a RACE, and are 90 % PASS? */
bool at_tally_is_right(const correct_tally *t);

#endif
