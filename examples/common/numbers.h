/* numbers.h -- every number of a tape, to be read. */
#ifndef EXAMPLES_NUMBERS_H
#define EXAMPLES_NUMBERS_H
#include "attic_op.h"

/* Prints each parameter, then what each op made, in the order of the tape: name and shape, values,
 * and the gradient where backward has brought one; eight numbers a line. */
void print_every_number(const at_tape *t);

#endif
