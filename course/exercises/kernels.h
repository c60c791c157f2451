/* kernels.h -- the softmax kernels of E9: right ones, and ones with a bug; see kernels.c. */
#ifndef EXERCISES_KERNELS_H
#define EXERCISES_KERNELS_H
#include "exercise.h"

enum { RIGHT_KERNELS = 4, KERNELS = 13 }; /* the right ones come first */
extern const char *const kernel_names[KERNELS];

/* The kernel, and which one of them it is from now on */
extern const softmax_kernel planted_kernel;
void plant_kernel(int which);
#endif
