/* convert.h -- arrays of elements, from any dtype to any other.  Internal. */
#ifndef AT_TENSOR_CONVERT_H
#define AT_TENSOR_CONVERT_H
#include "tensor/layout.h"

/* y_i = x_i for n elements: as at_store(to, y, i, at_fetch(from, x, i)), several times faster.  The
 * two arrays must not overlap. */
void at_convert(at_dtype to, void *y, at_dtype from, const void *x, ptrdiff_t n);

#endif
