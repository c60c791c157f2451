/* npy.h -- tensors as .npy files, the format of NumPy's np.save and np.load. */
#ifndef AT_IO_NPY_H
#define AT_IO_NPY_H
#include "autograd/tape.h"
AT_BEGIN_C

/* Writes x as np.save would: version 1.0, C order, little-endian, the header padded to 64 bytes,
 * and f32, f64, i32, bool as <f4, <f8, <i4, |b1.  An error of x's tape, and false, if the file
 * can't be written; an older file of that name then stays as it was (autograd/file.h). */
AT_API bool at_npy_save(const at_tensor *x, const char *path);

/* Reads a file of version 1 to 3, C or Fortran order, either byte order, into a new constant in
 * step memory:
 *
 *     f2 f4 f8                      the real type of the tape
 *     i1 i2 i4 i8 u1 u2 u4 u8       i32
 *     b1                            bool
 *
 * NULL after a sticky error.  A file is taken for what it may be, damaged or hostile: no more than
 * 8 times its size is allocated, nothing is executed (pickled objects are refused), and a file that
 * is too short or too long for its shape is an error, as is an element that its new type cannot
 * hold (3000000000 as i32, 1e300 as f32).  Only a regular file is opened: a pipe is refused at
 * once. */
AT_API at_tensor *at_npy_load(at_tape *t, const char *path);

/* The same into a leaf that exists, e.g. a parameter: its shape and kind of dtype must be those of
 * the file.  After an error that was found while reading, x may be partly written. */
AT_API bool at_npy_load_into(at_tensor *x, const char *path);

AT_END_C
#endif
