/* correct_tally.h -- how many correct functions got which verdict.  See correct_functions.h. */
#ifndef ATTIC_CORRECT_TALLY_H
#define ATTIC_CORRECT_TALLY_H
#include "gradcheck/correct_functions.h"

enum { MOST_VERDICTS = 16 };

typedef struct {
    int drawn, verdicts[MOST_VERDICTS];
    int passed_off; /* planted mistakes called PASS, with a resolution below them */
} correct_tally;

typedef struct {
    uint64_t first;
    int count;
    const char *family; /* NULL: all */
    double wrong_by;    /* plants a mistake (correct_functions.h) in what is checked by elements */
    int bits;           /* 8: computed in bf16; 11: in f16; 0: in float or double as drawn */
    bool with_twin;     /* in double: of functions in float or less */
    bool every;         /* prints all families, not the worst alone */
} correct_choice;

/* With `out` it prints how often each verdict was given, the families where the right verdict is
 * rarest, and each function that was called what it is not. */
correct_tally at_tally_correct(correct_choice c, FILE *out);

/* Is nothing WRONG or a RACE, and are 90 % PASS? */
bool at_tally_is_right(const correct_tally *t);
/* Of planted mistakes: is none passed off, and are 90 % WRONG? */
bool at_tally_is_found(const correct_tally *t);

#endif
