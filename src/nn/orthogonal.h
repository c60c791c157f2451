/* orthogonal.h -- a matrix whose singular values are all near 1: a step of Muon (optim.h). */
#ifndef AT_NN_ORTHOGONAL_H
#define AT_NN_ORTHOGONAL_H
#include "kernels/gemm.h"
#include <stddef.h>

/* Elements of the memory that `orthogonal` needs. */
ptrdiff_t at_orthogonal_memory(int rows, int cols);
/* X [rows,cols], contiguous, in its place; memory: at_orthogonal_memory elements. */
AT_EACH_REAL(void, orthogonal,
             (int rows, int cols, int steps, void *X, void *memory, at_workspace w));

#endif
