/* golden_files.h -- the files of golden/tensors.inc: .safetensors and .npz, with what is in them. */
#ifndef IO_GOLDEN_FILES_H
#define IO_GOLDEN_FILES_H
#include "io/tensors.h"

typedef struct {
    const char *name, *stored; /* its dtype in the file */
    at_dtype dtype;            /* as loaded on an f64 tape */
    at_shape shape;
    int step; /* values holds every step-th element */
    const double *values;
} golden_tensor;

typedef struct {
    const char *name;
    int size;
    const char *bytes;
    int n; /* -1: must be refused */
    const golden_tensor *tensor;
    int n_metadata;
    const at_metadata *metadata;
} golden_file;

static const golden_file golden_files[] = {
#include "golden/tensors.inc"
};
enum { N_GOLDEN_FILES = sizeof golden_files / sizeof *golden_files };
#endif
