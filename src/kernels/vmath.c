/* vmath.c -- elementary functions over arrays: one vector after the other, and a partial one at the end.
 *
 * What becomes of a number does not depend on where it stands. */
#include "kernels/vmath.h"

#include "kernels/simd_math.h"

#ifndef REAL
#define AT_KERNELS "kernels/vmath.c"
#include "kernels/each_real.h"
#else

VEC_INLINE void KERNEL(vmath_each)(ptrdiff_t n, const REAL *x, REAL *y,
                                   KERNEL(vec) (*f)(KERNEL(vec)))
{
    for (; n >= VEC_LANES; n -= VEC_LANES, x += VEC_LANES, y += VEC_LANES)
        KERNEL(vec_store)(y, f(KERNEL(vec_load)(x)));
    if (n > 0) KERNEL(vec_store_first)(n, y, f(KERNEL(vec_load_first)(n, x)));
}

void AT_FOR_REAL(vexp)(ptrdiff_t n, const REAL *x, REAL *y)
{
    KERNEL(vmath_each)(n, x, y, KERNEL(vec_exp));
}

void AT_FOR_REAL(vlog)(ptrdiff_t n, const REAL *x, REAL *y)
{
    KERNEL(vmath_each)(n, x, y, KERNEL(vec_log));
}

void AT_FOR_REAL(vtanh)(ptrdiff_t n, const REAL *x, REAL *y)
{
    KERNEL(vmath_each)(n, x, y, KERNEL(vec_tanh));
}

void AT_FOR_REAL(vnormal)(ptrdiff_t n, const REAL *x, REAL *y)
{
    KERNEL(vmath_each)(n, x, y, KERNEL(vec_normal));
}

void AT_FOR_REAL(vsigmoid)(ptrdiff_t n, const REAL *x, REAL *y)
{
    KERNEL(vmath_each)(n, x, y, KERNEL(vec_sigmoid));
}

#endif
