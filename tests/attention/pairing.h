/* pairing.h -- one loss for several outputs, with a cotangent for each. */
#ifndef ATTIC_TESTS_PAIRING_H
#define ATTIC_TESTS_PAIRING_H
#include "attic_op.h"

/* loss = sum_k <x_k, c_k>, so that backward gives x_k the cotangent c_k.    k < n <= 4 */
at_tensor *pairing(at_tape *t, int n, at_tensor *const *x, at_tensor *const *c);

#endif
