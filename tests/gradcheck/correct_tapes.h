/* correct_tapes.h -- correct functions that are recorded on a tape, in double.  See
 * correct_functions.h. */
#ifndef ATTIC_CORRECT_TAPES_H
#define ATTIC_CORRECT_TAPES_H
#include "gradcheck/correct_functions.h"

int at_correct_tapes(void);
const char *at_correct_tape(int which);
/* Number p->on_tape of them */
void at_draw_correct_tape(correct_function *p);
at_gradcheck_report at_check_correct_tape(correct_function *p);

#endif
