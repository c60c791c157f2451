/* each_real.h -- one source, two types: f32 for training, f64 for checking.
 *
 * A file defines AT_KERNELS as its own name and includes this header.  The header then includes
 * that file twice more, once with REAL = float and once with REAL = double.  Within those passes
 *
 *     KERNEL(dot)      is dot_f32 or dot_f64      (a static function of that file)
 *     AT_FOR_REAL(dot) is at_dot_f32 or at_dot_f64  (a kernel of src/kernels)
 *     REAL_EPS         is the distance from 1 to the next number
 *
 * and <tgmath.h> picks expf or exp by the type of the argument.  Write (REAL)0.5, not 0.5: a plain
 * constant is a double and would drag the whole expression along.  The letter I is taken: it is a macro of
 * <complex.h>, which comes along, and musl's <tgmath.h> needs it.
 *
 * This header has no include guard: being included again is what it is for. */
#ifndef AT_KERNELS
#error "define AT_KERNELS as the file to be included once per type"
#endif

#include <float.h>
#include <tgmath.h>

/* Every operation rounds to its own type: error bounds, tests for equality and gradients rely on it.  The x87
 * unit keeps 80 bits instead.  (16 is harmless: it speaks of _Float16 alone.) */
#if FLT_EVAL_METHOD % 16 || (defined(__i386__) && !defined(__SSE2_MATH__))
#error "attic must not compute in 80 bits (x87): on 32-bit x86, compile with -msse2 -mfpmath=sse"
#endif

#define REAL float
#define REAL_EPS FLT_EPSILON
#define KERNEL(name) name##_f32
#define AT_FOR_REAL(name) at_##name##_f32
#include AT_KERNELS
#undef REAL
#undef REAL_EPS
#undef KERNEL
#undef AT_FOR_REAL

#define REAL double
#define REAL_EPS DBL_EPSILON
#define KERNEL(name) name##_f64
#define AT_FOR_REAL(name) at_##name##_f64
#include AT_KERNELS
#undef REAL
#undef REAL_EPS
#undef KERNEL
#undef AT_FOR_REAL

#undef AT_KERNELS
