/* blocks.c -- what the blocks have summed up comes together; see blocks.h.
 *
 *     part    0   1   2   3   4   5   6
 *             0+1     2+3     4+5     6
 *             0..3            4..6
 *             0..6
 *
 * A tree, because its rounding errors grow with the logarithm of n. */
#include "ops/blocks.h"

#include "kernels/real.h"
#include "kernels/rows.h"

void sum_blocks(int n, ptrdiff_t N, ptrdiff_t stride, REAL *part, REAL *y)
{
    for (int apart = 1; apart < n; apart *= 2)
        for (int b = 0; b + apart < n; b += 2 * apart)
            row_axpy(N, 1, part + (b + apart) * stride, part + b * stride);
    if (n > 0 && y) row_axpy(N, 1, part, y); /* NULL: there was no memory for it */
}
