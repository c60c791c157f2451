/* print.h -- a tensor as text, in NumPy's layout. */
#ifndef AT_TENSOR_PRINT_H
#define AT_TENSOR_PRINT_H
#include <stdio.h>

#include "tensor/tensor.h"

/* Prints x as NumPy's print would: brackets nested by dimension, columns aligned to one common
 * format of 8 significant digits at most; more than 1000 elements are summarised by the first and
 * last 3 along every axis.  Ends with a newline.  NULL prints as NULL. */
void at_print(const at_tensor *x, FILE *out);
/* The same for its gradient. */
void at_print_grad(const at_tensor *x, FILE *out);

#endif
