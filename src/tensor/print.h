/* print.h -- a tensor as text, in NumPy's layout. */
#ifndef AT_TENSOR_PRINT_H
#define AT_TENSOR_PRINT_H
#include <stdio.h>

#include "tensor/tensor.h"
AT_BEGIN_C

/* Prints values of x's dtype and shape, its own or its gradient's, as print() of NumPy would, to
 * the byte, and a newline.  For a tensor as a whole there is at_print (autograd/tape.h).
 *
 *     [[ 1.    -0.5    nan]        brackets nested by dimension, lines of 75 columns
 *      [10.     0.125  inf]]       one common format, with as many digits as are needed to tell
 *                                  an element from all others of its dtype, down to 10^-8
 *     [1.0e-05 2.5e+03]            exponents when the largest is >= 1e8, the smallest < 1e-4, or
 *                                  they are more than a factor of 1000 apart
 *     [0. 1. 2. ... 1998. 1999. 2000.]     of more than 1000 elements the first and last 3 per axis
 *
 * It is laid out as by NumPy 1.14 to 1.26, whatever the locale.  Of NULL nothing is printed. */
AT_API void at_print_values(FILE *out, const at_tensor *x, const void *data);

AT_END_C
#endif
