/* turn.h -- the transpose of a square as large as a vector is long.
 *
 * Interleaving the first half of the rows with the second, log2(VEC_LANES) times, transposes: it is the
 * perfect shuffle of a deck of cards.
 *
 *     a0 a1       a0 b0       (two lanes, one shuffle)
 *     b0 b1       a1 b1 */
#ifndef AT_KERNELS_TURN_H
#define AT_KERNELS_TURN_H
#include "kernels/vector.h"

#ifdef __clang__
#define TURN_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TURN_UNROLL _Pragma("GCC unroll 16")
#endif

#define TURN_FUNCTIONS
#define AT_KERNELS "kernels/turn.h"
#include "kernels/each_real.h"
#undef TURN_FUNCTIONS

#elif defined(TURN_FUNCTIONS)

/* Half of the lanes of x and y, from lane `at` on: x_at y_at x_at+1 y_at+1 ... */
VEC_INLINE KERNEL(vec) KERNEL(turn_interleave)(KERNEL(vec) x, KERNEL(vec) y, const int at)
{
#ifdef __clang__
    KERNEL(vec) z = x;
    TURN_UNROLL
    for (int l = 0; l < VEC_LANES; l++) z[l] = l % 2 ? y[at + l / 2] : x[at + l / 2];
    return z;
#else
    KERNEL(vec_mask) from = {0};
    TURN_UNROLL
    for (int l = 0; l < VEC_LANES; l++) from[l] = l % 2 * VEC_LANES + at + l / 2;
    return __builtin_shuffle(x, y, from);
#endif
}

/* to_ij = from_ji for i, j < VEC_LANES, where only n rows of `from` exist, the others being 0 */
VEC_INLINE void KERNEL(vec_turn)(int n, const REAL *from, ptrdiff_t from_row, REAL *to,
                                 ptrdiff_t to_row)
{
    KERNEL(vec) x[VEC_LANES], y[VEC_LANES];
    const int half = VEC_LANES / 2;
    TURN_UNROLL
    for (int i = 0; i < VEC_LANES; i++)
        x[i] = i < n ? KERNEL(vec_load)(from + i * from_row) : (KERNEL(vec)){0};
    TURN_UNROLL
    for (int round = 1; round < VEC_LANES; round *= 2) {
        TURN_UNROLL
        for (int i = 0; i < half; i++) {
            y[2 * i] = KERNEL(turn_interleave)(x[i], x[i + half], 0);
            y[2 * i + 1] = KERNEL(turn_interleave)(x[i], x[i + half], half);
        }
        TURN_UNROLL
        for (int i = 0; i < VEC_LANES; i++) x[i] = y[i];
    }
    TURN_UNROLL
    for (int i = 0; i < VEC_LANES; i++) KERNEL(vec_store)(to + i * to_row, x[i]);
}

#endif
