/* arrays.h -- named arrays from files of NumPy, PyTorch, JAX or anything else.
 *
 *     at_tape *t = at_open(ATTIC_F64, 1);
 *     arrays all = {.n = 0};
 *     if (!arrays_read(t, "x.npz", &all)) fprintf(stderr, "%s\n", at_error(t));
 *     const array *Q = arrays_find(&all, "Q");
 *
 * What a file is, its first bytes say:
 *
 *     .npz, .safetensors    its tensors (io/tensors.h)
 *     .npy                  one array, named as the file is: dQ.npy holds dQ (io/npy.h)
 *     .json                 {"Q": [[1, 2.5], [0, -Infinity]], "causal": true, "scale": 0.5}
 *
 * Numbers are read as doubles.  NumPy has no bf16: u16 and i16 are taken for the bits of bf16, which
 * x.view(torch.uint16).numpy() gives.  Nothing is executed: pickled objects are refused.  Files and
 * arrays of more than 64 MB are, too.
 *
 * Ownership and errors are those of the tape: all is in its step memory, and a message names the
 * file, the array, and where there is one the byte. */
#ifndef COURSE_ARRAYS_H
#define COURSE_ARRAYS_H
#include "attic_train.h"

enum {
    ARRAYS_MAX = 64, /* in all files together */
    ARRAYS_MB = 64,  /* a file, and all arrays as they were before compression */
    ARRAYS_BYTES = ARRAYS_MB << 20
};

typedef struct {
    const char *name;
    const char *dtype;  /* as it was stored: "f32", "bf16" ... (at_tensors_dtype); of JSON "json" */
    const at_tensor *x; /* its elements: at_element */
} array;

typedef struct {
    array of[ARRAYS_MAX];
    int n;
    ptrdiff_t bytes;
} arrays;

/* Adds the arrays of a file.  t is a tape of f64.  False after a sticky error. */
bool arrays_read(at_tape *t, const char *path, arrays *all);
/* By name, where upper and lower case are the same; NULL: there is none. */
const array *arrays_find(const arrays *all, const char *name);

#endif
