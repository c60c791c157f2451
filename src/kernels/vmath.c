/* vmath.c -- elementary functions over arrays: one vector after the other, and a partial one at the end.
 *
 * What becomes of a number does not depend on where it stands. */
#include "kernels/vmath.h"

#include "kernels/real.h"
#include "kernels/simd_math.h"

VEC_INLINE void vmath_each(ptrdiff_t n, const REAL *x, REAL *y, vec (*f)(vec))
{
    for (; n >= VEC_LANES; n -= VEC_LANES, x += VEC_LANES, y += VEC_LANES)
        vec_store(y, f(vec_load(x)));
    if (n > 0) vec_store_first(n, y, f(vec_load_first(n, x)));
}

void vexp(ptrdiff_t n, const REAL *x, REAL *y)
{
    vmath_each(n, x, y, vec_exp);
}

void vlog(ptrdiff_t n, const REAL *x, REAL *y)
{
    vmath_each(n, x, y, vec_log);
}

void vtanh(ptrdiff_t n, const REAL *x, REAL *y)
{
    vmath_each(n, x, y, vec_tanh);
}

void vnormal(ptrdiff_t n, const REAL *x, REAL *y)
{
    vmath_each(n, x, y, vec_normal);
}

void vsigmoid(ptrdiff_t n, const REAL *x, REAL *y)
{
    vmath_each(n, x, y, vec_sigmoid);
}
