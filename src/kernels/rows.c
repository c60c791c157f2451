/* rows.c -- what is done to one row of n contiguous numbers.
 *
 * A sum of n terms has an order, and C may not change it.  One long chain of additions keeps a
 * processor waiting and piles up rounding errors; so the order here is 32 chains side by side,
 *
 *   lane l = x_l + x_(l+32) + x_(l+64) + ...       l = 0 .. 31
 *
 * in a few vectors (two of AVX-512, eight of SSE2), and then a tree: 32 lanes are added to 16, 16 to
 * 8, ...  A row of more than 1024 is cut in two, and each half summed in this way, and so on.  So no
 * term passes through more than 32 + 5 + log2(n / 1024) additions: a million times 0.1f is right to
 * 1e-6, where one chain would be off by 1 percent.  The maximum takes the same path, uncut. */
#include "kernels/rows.h"

#include <stdbool.h>

#include "kernels/simd_math.h"

#ifndef REAL

enum { ROW_LANES = 32, ROW_PART = 1024 };

/* Where a long row is cut: in the middle, but so that the first part fills its lanes. */
static ptrdiff_t row_middle(ptrdiff_t n)
{
    return n / 2 / ROW_LANES * ROW_LANES;
}

#define AT_KERNELS "kernels/rows.c"
#include "kernels/each_real.h"

#else

#define ROW_VECS (ROW_LANES / VEC_LANES) /* vector k holds the lanes from k * VEC_LANES on */

VEC_INLINE REAL KERNEL(row_add_lanes)(KERNEL(vec) * lane)
{
    VEC_UNROLL
    for (int k = 0; k < ROW_VECS / 2; k++) lane[k] += lane[k + ROW_VECS / 2];
    VEC_UNROLL
    for (int k = 0; k < ROW_VECS / 4; k++) lane[k] += lane[k + ROW_VECS / 4];
    VEC_UNROLL
    for (int k = 0; k < ROW_VECS / 8; k++) lane[k] += lane[k + ROW_VECS / 8];
    VEC_UNROLL
    for (int k = 0; k < ROW_VECS / 16; k++) lane[k] += lane[k + ROW_VECS / 16];
    return KERNEL(vec_sum)(lane[0]);
}

REAL AT_FOR_REAL(row_sum)(ptrdiff_t n, const REAL *x)
{
    if (n > ROW_PART) {
        ptrdiff_t m = row_middle(n);
        return AT_FOR_REAL(row_sum)(m, x) + AT_FOR_REAL(row_sum)(n - m, x + m);
    }
    KERNEL(vec) lane[ROW_VECS];
    VEC_UNROLL
    for (int k = 0; k < ROW_VECS; k++) lane[k] = (KERNEL(vec)){0};
    for (; n >= ROW_LANES; n -= ROW_LANES, x += ROW_LANES) {
        VEC_UNROLL
        for (int k = 0; k < ROW_VECS; k++) lane[k] += KERNEL(vec_load)(x + k * VEC_LANES);
    }
    VEC_UNROLL
    for (int k = 0; (k < ROW_VECS) & (n > 0); k++, n -= VEC_LANES, x += VEC_LANES)
        lane[k] += KERNEL(vec_load_first)(n, x);
    return KERNEL(row_add_lanes)(lane);
}

REAL AT_FOR_REAL(row_dot)(ptrdiff_t n, const REAL *x, const REAL *y)
{
    if (n > ROW_PART) {
        ptrdiff_t m = row_middle(n);
        return AT_FOR_REAL(row_dot)(m, x, y) + AT_FOR_REAL(row_dot)(n - m, x + m, y + m);
    }
    KERNEL(vec) lane[ROW_VECS];
    VEC_UNROLL
    for (int k = 0; k < ROW_VECS; k++) lane[k] = (KERNEL(vec)){0};
    for (; n >= ROW_LANES; n -= ROW_LANES, x += ROW_LANES, y += ROW_LANES) {
        VEC_UNROLL
        for (int k = 0; k < ROW_VECS; k++)
            lane[k] += KERNEL(vec_load)(x + k * VEC_LANES) * KERNEL(vec_load)(y + k * VEC_LANES);
    }
    VEC_UNROLL
    for (int k = 0; (k < ROW_VECS) & (n > 0); k++, n -= VEC_LANES, x += VEC_LANES, y += VEC_LANES)
        lane[k] += KERNEL(vec_load_first)(n, x) * KERNEL(vec_load_first)(n, y);
    return KERNEL(row_add_lanes)(lane);
}

REAL AT_FOR_REAL(row_spread)(ptrdiff_t n, const REAL *x, REAL mu)
{
    if (n > ROW_PART) {
        ptrdiff_t m = row_middle(n);
        return AT_FOR_REAL(row_spread)(m, x, mu) + AT_FOR_REAL(row_spread)(n - m, x + m, mu);
    }
    KERNEL(vec) lane[ROW_VECS];
    VEC_UNROLL
    for (int k = 0; k < ROW_VECS; k++) lane[k] = (KERNEL(vec)){0};
    for (; n >= ROW_LANES; n -= ROW_LANES, x += ROW_LANES) {
        VEC_UNROLL
        for (int k = 0; k < ROW_VECS; k++) {
            KERNEL(vec) d = KERNEL(vec_load)(x + k * VEC_LANES) - mu;
            lane[k] += d * d;
        }
    }
    VEC_UNROLL
    for (int k = 0; (k < ROW_VECS) & (n > 0); k++, n -= VEC_LANES, x += VEC_LANES) {
        KERNEL(vec) d = KERNEL(vec_load_first)(n, x) - mu;
        lane[k] += KERNEL(vec_pick)(KERNEL(vec_first)(n), d * d, KERNEL(vec_of)(0));
    }
    return KERNEL(row_add_lanes)(lane);
}

/* A NaN is neither above nor below anything, and so the only number that is not <= inf.  `bad` keeps it,
 * and is 0 where there was none. */
VEC_INLINE void KERNEL(row_larger)(KERNEL(vec) x, KERNEL(vec) * m, KERNEL(vec) * bad)
{
    *m = KERNEL(vec_pick)(x > *m, x, *m);
    *bad = KERNEL(vec_pick)(x <= (REAL)INFINITY, *bad, x);
}

REAL AT_FOR_REAL(row_max)(ptrdiff_t n, const REAL *x)
{
    const KERNEL(vec) nothing = KERNEL(vec_of)(-(REAL)INFINITY);
    KERNEL(vec) m[ROW_VECS], bad[ROW_VECS];
    VEC_UNROLL
    for (int k = 0; k < ROW_VECS; k++) m[k] = nothing, bad[k] = KERNEL(vec_of)(0);
    for (; n >= ROW_LANES; n -= ROW_LANES, x += ROW_LANES) {
        VEC_UNROLL
        for (int k = 0; k < ROW_VECS; k++)
            KERNEL(row_larger)(KERNEL(vec_load)(x + k * VEC_LANES), &m[k], &bad[k]);
    }
    VEC_UNROLL
    for (int k = 0; (k < ROW_VECS) & (n > 0); k++, n -= VEC_LANES, x += VEC_LANES) {
        KERNEL(vec) last = KERNEL(vec_load_first)(n, x);
        last = KERNEL(vec_pick)(KERNEL(vec_first)(n), last, nothing);
        KERNEL(row_larger)(last, &m[k], &bad[k]);
    }
    VEC_UNROLL
    for (int k = 1; k < ROW_VECS; k++) {
        KERNEL(row_larger)(m[k], &m[0], &bad[0]);
        bad[0] += bad[k];
    }
    REAL nan = KERNEL(vec_sum)(bad[0]);
    return nan == 0 ? KERNEL(vec_max)(m[0]) : nan;
}

/* The sum of exp(x_j - m), which go to y_j if they are to be kept */
VEC_INLINE REAL KERNEL(row_exp_part)(ptrdiff_t n, const REAL *x, REAL m, const bool keep, REAL *y)
{
    KERNEL(vec) lane[ROW_VECS];
    ptrdiff_t i = 0;
    VEC_UNROLL
    for (int k = 0; k < ROW_VECS; k++) lane[k] = (KERNEL(vec)){0};
    for (; i + ROW_LANES <= n; i += ROW_LANES) {
        VEC_UNROLL
        for (int k = 0; k < ROW_VECS; k++) {
            KERNEL(vec) e = KERNEL(vec_exp_weight)(KERNEL(vec_load)(x + i + k * VEC_LANES) - m);
            if (keep) KERNEL(vec_store)(y + i + k * VEC_LANES, e);
            lane[k] += e;
        }
    }
    VEC_UNROLL
    for (int k = 0; (k < ROW_VECS) & (i < n); k++, i += VEC_LANES) {
        KERNEL(vec) e = KERNEL(vec_exp_weight)(KERNEL(vec_load_first)(n - i, x + i) - m);
        if (keep) KERNEL(vec_store_first)(n - i, y + i, e);
        lane[k] += KERNEL(vec_pick)(KERNEL(vec_first)(n - i), e, KERNEL(vec_of)(0));
    }
    return KERNEL(row_add_lanes)(lane);
}

REAL AT_FOR_REAL(row_exp_sum)(ptrdiff_t n, const REAL *x, REAL m, REAL *y)
{
    if (n > ROW_PART) {
        ptrdiff_t h = row_middle(n);
        REAL sum = AT_FOR_REAL(row_exp_sum)(h, x, m, y);
        return sum + AT_FOR_REAL(row_exp_sum)(n - h, x + h, m, y ? y + h : NULL);
    }
    return y ? KERNEL(row_exp_part)(n, x, m, true, y) : KERNEL(row_exp_part)(n, x, m, false, NULL);
}

void AT_FOR_REAL(row_axpy)(ptrdiff_t n, REAL a, const REAL *x, REAL *y)
{
    for (ptrdiff_t j = 0; j < n; j++) y[j] += a * x[j];
}

void AT_FOR_REAL(row_scale)(ptrdiff_t n, REAL a, const REAL *x, REAL *y)
{
    for (ptrdiff_t j = 0; j < n; j++) y[j] = a * x[j];
}

#undef ROW_VECS
#endif
