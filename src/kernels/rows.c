/* rows.c -- what is done to one row of n contiguous numbers.
 *
 * A sum of n terms has an order, and C may not change it.  One long chain of additions keeps a
 * processor waiting and piles up rounding errors; so the order here is 32 chains side by side,
 *
 *   lane l = x_l + x_(l+32) + x_(l+64) + ...       l = 0 .. 31
 *
 * which a compiler turns into a few vectors, and then a tree: 32 lanes are added to 16, 16 to 8, ...
 * A row of more than 1024 is cut in two, and each half summed in this way, and so on.  So no term
 * passes through more than 32 + 5 + log2(n / 1024) additions: a million times 0.1f is right to 1e-6,
 * where one chain would be off by 1 percent.  The maximum takes the same path, uncut. */
#include "kernels/rows.h"
#include "kernels/vmath.h"

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

static REAL KERNEL(add_lanes)(REAL *lane)
{
    for (int half = ROW_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++) lane[l] += lane[l + half];
    return lane[0];
}

REAL AT_FOR_REAL(row_sum)(ptrdiff_t n, const REAL *x)
{
    if (n > ROW_PART) {
        ptrdiff_t m = row_middle(n);
        return AT_FOR_REAL(row_sum)(m, x) + AT_FOR_REAL(row_sum)(n - m, x + m);
    }
    REAL lane[ROW_LANES] = {0};
    for (; n >= ROW_LANES; n -= ROW_LANES, x += ROW_LANES)
        for (int l = 0; l < ROW_LANES; l++) lane[l] += x[l];
    for (int l = 0; l < n; l++) lane[l] += x[l];
    return KERNEL(add_lanes)(lane);
}

REAL AT_FOR_REAL(row_dot)(ptrdiff_t n, const REAL *x, const REAL *y)
{
    if (n > ROW_PART) {
        ptrdiff_t m = row_middle(n);
        return AT_FOR_REAL(row_dot)(m, x, y) + AT_FOR_REAL(row_dot)(n - m, x + m, y + m);
    }
    REAL lane[ROW_LANES] = {0};
    for (; n >= ROW_LANES; n -= ROW_LANES, x += ROW_LANES, y += ROW_LANES)
        for (int l = 0; l < ROW_LANES; l++) lane[l] += x[l] * y[l];
    for (int l = 0; l < n; l++) lane[l] += x[l] * y[l];
    return KERNEL(add_lanes)(lane);
}

/* A NaN is neither above nor below anything: it has to be asked for, and once m it stays. */
static inline REAL KERNEL(larger)(REAL m, REAL x)
{
    int is_nan = x != x, above = x > m;
    return (is_nan | above) ? x : m;
}

REAL AT_FOR_REAL(row_max)(ptrdiff_t n, const REAL *x)
{
    REAL lane[ROW_LANES];
    for (int l = 0; l < ROW_LANES; l++) lane[l] = -(REAL)INFINITY;
    for (; n >= ROW_LANES; n -= ROW_LANES, x += ROW_LANES)
        for (int l = 0; l < ROW_LANES; l++) lane[l] = KERNEL(larger)(lane[l], x[l]);
    for (int l = 0; l < n; l++) lane[l] = KERNEL(larger)(lane[l], x[l]);
    for (int half = ROW_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++) lane[l] = KERNEL(larger)(lane[l], lane[l + half]);
    return lane[0];
}

REAL AT_FOR_REAL(row_exp_sum)(ptrdiff_t n, const REAL *x, REAL m, REAL *y)
{
    for (ptrdiff_t j = 0; j < n; j++) y[j] = x[j] - m;
    AT_FOR_REAL(vexp)(n, y, y);
    return AT_FOR_REAL(row_sum)(n, y);
}

void AT_FOR_REAL(row_axpy)(ptrdiff_t n, REAL a, const REAL *x, REAL *y)
{
    for (ptrdiff_t j = 0; j < n; j++) y[j] += a * x[j];
}

void AT_FOR_REAL(row_scale)(ptrdiff_t n, REAL a, const REAL *x, REAL *y)
{
    for (ptrdiff_t j = 0; j < n; j++) y[j] = a * x[j];
}

#endif
