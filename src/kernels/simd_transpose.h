/* simd_transpose.h -- the transpose of a square as large as a vector is long.
 *
 * A vector is put together from quads of 16 bytes, each of another row, where they are to end up:
 *
 *     a0 a1 a2 a3 | e0 e1 e2 e3 | ...        rows 0, 4, ...
 *     b0 b1 b2 b3 | f0 f1 f2 f3 | ...             1, 5, ...
 *     c0 c1 c2 c3 | g0 g1 g2 g3 | ...             2, 6, ...
 *     d0 d1 d2 d3 | h0 h1 h2 h3 | ...             3, 7, ...
 *
 * What is left to transpose are small squares, side by side.  Interleaving the first half of the
 * rows with the second, log2(rows) times, does it, like the perfect shuffle of a deck of cards:
 *
 *     a0 c0 a1 c1        a0 b0 c0 d0
 *     a2 c2 a3 c3        a1 b1 c1 d1
 *     b0 d0 b1 d1        a2 b2 c2 d2
 *     b2 d2 b3 d3        a3 b3 c3 d3
 *
 * So 16 floats x 16 take 32 shuffles and not 64: a quad on its way from memory needs none. */
#ifndef AT_KERNELS_SIMD_TRANSPOSE_H
#define AT_KERNELS_SIMD_TRANSPOSE_H
#include "kernels/real.h"
#include "kernels/simd.h"

#ifdef AT_DUAL /* one lane is its own transpose */
#define TRANSPOSE_LANES ((int)sizeof(REAL) / 16)
#define TRANSPOSE_UNROLL

VEC_INLINE void transpose_rows(const REAL *from, ptrdiff_t row, vec x[TRANSPOSE_LANES])
{
    (void)row;
    *x = *from;
}

VEC_INLINE void vec_transpose_upto(int m, int n, const REAL *from, ptrdiff_t from_row, REAL *to,
                                   ptrdiff_t to_row)
{
    (void)from_row, (void)to_row;
    if (n > 0) *to = m > 0 ? *from : 0;
}

#else
enum { TRANSPOSE_BYTES = 16, TRANSPOSE_QUADS = VEC_BYTES / TRANSPOSE_BYTES };
#define TRANSPOSE_LANES (TRANSPOSE_BYTES / (int)sizeof(REAL)) /* of a quad */

#ifdef __clang__
#define TRANSPOSE_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TRANSPOSE_UNROLL _Pragma("GCC unroll 16")
#endif

/* gcc makes loads of quads only of such a vector, clang only of an array. */
#if defined(__SIZEOF_INT128__) && !defined(__clang__)
#define TRANSPOSE_WITHOUT_ARRAY
__extension__ typedef __int128 transpose_quad;
typedef transpose_quad transpose_quads __attribute__((vector_size(VEC_BYTES)));

VEC_INLINE transpose_quad transpose_load(const void *p)
{
    transpose_quad x;
    memcpy(&x, p, sizeof x);
    return x;
}

#if VEC_BYTES == 64
#define TRANSPOSE_LOADS(p)                                                                         \
    transpose_load(p[0]), transpose_load(p[1]), transpose_load(p[2]), transpose_load(p[3])
#elif VEC_BYTES == 32
#define TRANSPOSE_LOADS(p) transpose_load(p[0]), transpose_load(p[1])
#else
#define TRANSPOSE_LOADS(p) transpose_load(p[0])
#endif
#endif

/* A vector of the quads at p[0], p[1], ... */
VEC_INLINE vec transpose_gather(const REAL *const *p)
{
    vec x;
#ifdef TRANSPOSE_WITHOUT_ARRAY
    const transpose_quads all = {TRANSPOSE_LOADS(p)};
#else
    REAL all[VEC_LANES];
    TRANSPOSE_UNROLL
    for (int q = 0; q < TRANSPOSE_QUADS; q++)
        memcpy(all + q * TRANSPOSE_LANES, p[q], TRANSPOSE_BYTES);
#endif
    memcpy(&x, &all, sizeof x);
    return x;
}

/* Within each quad, half of the lanes of x and y, from lane `at` on: x_at y_at x_at+1 y_at+1 ... */
VEC_INLINE vec transpose_interleave(vec x, vec y, const int at)
{
#ifdef __clang__
    vec z = x;
    TRANSPOSE_UNROLL
    for (int l = 0; l < VEC_LANES; l++) {
        const int from = l / TRANSPOSE_LANES * TRANSPOSE_LANES + at + l % TRANSPOSE_LANES / 2;
        z[l] = l % 2 ? y[from] : x[from];
    }
    return z;
#else
    vec_mask from = {0};
    TRANSPOSE_UNROLL
    for (int l = 0; l < VEC_LANES; l++)
        from[l] = l % 2 * VEC_LANES + l / TRANSPOSE_LANES * TRANSPOSE_LANES + at +
                  l % TRANSPOSE_LANES / 2;
    return __builtin_shuffle(x, y, from);
#endif
}

/* The squares of x transposed. */
VEC_INLINE void transpose_squares(vec x[TRANSPOSE_LANES])
{
    const int half = TRANSPOSE_LANES / 2;
    vec y[TRANSPOSE_LANES];
    TRANSPOSE_UNROLL
    for (int round = 1; round < TRANSPOSE_LANES; round *= 2) {
        TRANSPOSE_UNROLL
        for (int i = 0; i < half; i++) {
            y[2 * i] = transpose_interleave(x[i], x[i + half], 0);
            y[2 * i + 1] = transpose_interleave(x[i], x[i + half], half);
        }
        TRANSPOSE_UNROLL
        for (int i = 0; i < TRANSPOSE_LANES; i++) x[i] = y[i];
    }
}

/* x_kj = from_jk for k < TRANSPOSE_LANES; rows of `from` are `row` apart. */
VEC_INLINE void transpose_rows(const REAL *from, ptrdiff_t row, vec x[TRANSPOSE_LANES])
{
    TRANSPOSE_UNROLL
    for (int i = 0; i < TRANSPOSE_LANES; i++) {
        const REAL *p[TRANSPOSE_QUADS];
        TRANSPOSE_UNROLL
        for (int q = 0; q < TRANSPOSE_QUADS; q++) p[q] = from + (i + q * TRANSPOSE_LANES) * row;
        x[i] = transpose_gather(p);
    }
    transpose_squares(x);
}

/* to_ij = from_ji for i, j < VEC_LANES */
static __attribute__((noinline)) void vec_transpose(const REAL *from, ptrdiff_t from_row, REAL *to,
                                                    ptrdiff_t to_row)
{
    vec x[TRANSPOSE_LANES];
    TRANSPOSE_UNROLL
    for (int at = 0; at < VEC_LANES; at += TRANSPOSE_LANES) {
        transpose_rows(from + at, from_row, x);
        TRANSPOSE_UNROLL
        for (int i = 0; i < TRANSPOSE_LANES; i++) vec_store(to + (at + i) * to_row, x[i]);
    }
}

/* The same where `from` has m rows, the others being 0, and n columns: n rows are written. */
static __attribute__((noinline)) void
vec_transpose_part(int m, int n, const REAL *from, ptrdiff_t from_row, REAL *to, ptrdiff_t to_row)
{
    static const REAL none[VEC_LANES];
    const REAL *p[VEC_LANES];
    vec x[TRANSPOSE_LANES];
    int at = 0;
    for (int j = 0; j < VEC_LANES; j++) p[j] = j < m ? from + j * from_row : none;
    for (; at + TRANSPOSE_LANES <= n; at += TRANSPOSE_LANES) {
        TRANSPOSE_UNROLL
        for (int i = 0; i < TRANSPOSE_LANES; i++) {
            const REAL *quad[TRANSPOSE_QUADS];
            TRANSPOSE_UNROLL
            for (int q = 0; q < TRANSPOSE_QUADS; q++) quad[q] = p[q * TRANSPOSE_LANES + i] + at;
            x[i] = transpose_gather(quad);
        }
        transpose_squares(x);
        TRANSPOSE_UNROLL
        for (int i = 0; i < TRANSPOSE_LANES; i++) vec_store(to + (at + i) * to_row, x[i]);
    }
    for (; at < n; at++)
        for (int j = 0; j < VEC_LANES; j++) to[at * to_row + j] = p[j][at];
}

VEC_INLINE void vec_transpose_upto(int m, int n, const REAL *from, ptrdiff_t from_row, REAL *to,
                                   ptrdiff_t to_row)
{
    if (m >= VEC_LANES && n >= VEC_LANES)
        vec_transpose(from, from_row, to, to_row);
    else
        vec_transpose_part(m < VEC_LANES ? m : VEC_LANES, n < VEC_LANES ? n : VEC_LANES, from,
                           from_row, to, to_row);
}
#endif

#endif
