/* simd.h -- one register of floats or doubles, as wide as the target has them.
 *
 *     vec      a  a  a  a ...  a      VEC_LANES = VEC_BYTES / sizeof(REAL) lanes;
 *                                     + - * / and comparisons work lane by lane, as in C
 *
 * These are the vector extensions of GCC and Clang: no assembly, and one source for every machine.
 * What they lack is a loop over the lanes here, in the form that both compilers make one
 * instruction of. */
#ifndef AT_KERNELS_SIMD_H
#define AT_KERNELS_SIMD_H
#include "kernels/real.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#define VEC_BYTES 64
#elif defined(__AVX__)
#define VEC_BYTES 32
#else
#define VEC_BYTES 16 /* SSE2, NEON, and whatever there may be */
#endif
#define VEC_LANES (VEC_BYTES / (int)sizeof(REAL))

/* What was not inlined would pass its vectors through memory. */
#define VEC_INLINE static inline __attribute__((always_inline))

/* What the compilers need to be told.  VEC_LANEWISE, before a loop over the lanes: gcc must not
 * unroll it, or it will not see the vector in it.  VEC_MASKED, if only the first few lanes are read
 * or written: where a target has loads and stores under a mask, such a loop is one of them.
 * VEC_UNROLL, before a short loop over an array of vectors: only so does the array stay in
 * registers.  (Its condition has no &&, which some targets make two branches of: gcc would ignore
 * the pragma.) */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* where registers are too few it stays a loop */
#define VEC_LANEWISE
#define VEC_UNROLL _Pragma("unroll")
#else
#define VEC_LANEWISE _Pragma("GCC unroll 1")
#define VEC_UNROLL _Pragma("GCC unroll 16")
#endif
#if defined(__clang__) && defined(__OPTIMIZE__) && defined(__AVX__)
#define VEC_MASKED _Pragma("clang loop unroll(disable) vectorize(enable)")
#elif defined(__AVX__)
#define VEC_MASKED _Pragma("GCC unroll 1") /* within another loop, gcc would unroll it first */
#else
#define VEC_MASKED VEC_LANEWISE
#endif

#ifndef AT_DUAL
#define VEC_ZERO                                                                                   \
    {                                                                                              \
        0                                                                                          \
    }

typedef REAL vec __attribute__((vector_size(VEC_BYTES)));
typedef __typeof__(_Generic((REAL)0, float : (int32_t)0, double : (int64_t)0)) vec_int;
typedef __typeof__(_Generic((REAL)0, float : (uint32_t)0, double : (uint64_t)0)) vec_word;
typedef vec_int vec_mask
    __attribute__((vector_size(VEC_BYTES))); /* of a comparison: -1 if true, or 0 */
typedef vec_word vec_bits __attribute__((vector_size(VEC_BYTES))); /* of the lanes */

VEC_INLINE vec vec_load(const REAL *p)
{
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

VEC_INLINE void vec_store(REAL *p, vec v)
{
    memcpy(p, &v, sizeof v);
}

/* The first n lanes from p, 0 in the others; no more than p[0 .. n-1] is read. */
VEC_INLINE vec vec_load_first(ptrdiff_t n, const REAL *p)
{
    REAL lane[VEC_LANES];
    const vec_int count = (vec_int)n;
    VEC_MASKED
    for (vec_int l = 0; l < VEC_LANES; l++) lane[l] = l < count ? p[l] : 0;
    return vec_load(lane);
}

/* Only p[0 .. n-1] is written. */
VEC_INLINE void vec_store_first(ptrdiff_t n, REAL *p, vec v)
{
    REAL lane[VEC_LANES];
    const vec_int count = (vec_int)n;
    vec_store(lane, v);
    VEC_MASKED
    for (vec_int l = 0; l < VEC_LANES; l++)
        if (l < count) p[l] = lane[l];
}

/* The same where most vectors are full: n may be larger than the vector has lanes. */
VEC_INLINE vec vec_load_upto(ptrdiff_t n, const REAL *p)
{
    return n >= VEC_LANES ? vec_load(p) : vec_load_first(n, p);
}

VEC_INLINE void vec_store_upto(ptrdiff_t n, REAL *p, vec v)
{
    if (n >= VEC_LANES)
        vec_store(p, v);
    else
        vec_store_first(n, p, v);
}

/* a in every lane */
VEC_INLINE vec vec_of(REAL a)
{
    return a - (vec){0};
}

/* a b + c in every lane: mul_add */
VEC_INLINE vec vec_mul_add(vec a, vec b, vec c)
{
#ifdef AT_MUL_ADD_IS_ONE
    VEC_LANEWISE
    for (int l = 0; l < VEC_LANES; l++) c[l] = mul_add(a[l], b[l], c[l]);
    return c;
#else
    return a * b + c;
#endif
}

/* lane by lane: yes where the condition holds, no elsewhere */
VEC_INLINE vec vec_pick(vec_mask holds, vec yes, vec no)
{
    VEC_LANEWISE
    for (int l = 0; l < VEC_LANES; l++) no[l] = holds[l] ? yes[l] : no[l];
    return no;
}

/* The lanes from 0 to n-1. */
VEC_INLINE vec_mask vec_first(ptrdiff_t n)
{
    vec_mask lane = {0};
    for (int l = 0; l < VEC_LANES; l++) lane[l] = l;
    return lane < (vec_int)n;
}

/* The sum of the lanes: the halves of v are added, then the halves of that, and so on. */
VEC_INLINE REAL vec_sum(vec v)
{
    for (int l = 0; l < VEC_LANES / 2; l++) v[l] += v[l + VEC_LANES / 2];
    for (int l = 0; l < VEC_LANES / 4; l++) v[l] += v[l + VEC_LANES / 4];
    for (int l = 0; l < VEC_LANES / 8; l++) v[l] += v[l + VEC_LANES / 8];
    for (int l = 0; l < VEC_LANES / 16; l++) v[l] += v[l + VEC_LANES / 16];
    return v[0];
}

/* The largest lane; one that is NaN is passed over. */
VEC_INLINE REAL vec_max(vec v)
{
    const int half = VEC_LANES / 2, quarter = VEC_LANES / 4, eighth = VEC_LANES / 8;
    for (int l = 0; l < half; l++) v[l] = v[l + half] > v[l] ? v[l + half] : v[l];
    for (int l = 0; l < quarter; l++) v[l] = v[l + quarter] > v[l] ? v[l + quarter] : v[l];
    for (int l = 0; l < eighth; l++) v[l] = v[l + eighth] > v[l] ? v[l + eighth] : v[l];
    return VEC_LANES / 16 && v[1] > v[0] ? v[1] : v[0];
}
#else /* a type without vectors: one lane */
#undef VEC_LANES
#define VEC_LANES 1
#define VEC_ZERO 0
typedef REAL vec;
typedef ptrdiff_t vec_int;
typedef bool vec_mask;

VEC_INLINE vec vec_load(const REAL *p)
{
    return *p;
}

VEC_INLINE void vec_store(REAL *p, vec v)
{
    *p = v;
}

VEC_INLINE vec vec_pick(vec_mask holds, vec yes, vec no)
{
    return holds ? yes : no;
}

VEC_INLINE vec_mask vec_first(ptrdiff_t n)
{
    return n > 0;
}

VEC_INLINE vec vec_load_first(ptrdiff_t n, const REAL *p)
{
    return n > 0 ? *p : 0;
}

VEC_INLINE void vec_store_first(ptrdiff_t n, REAL *p, vec v)
{
    if (n > 0) *p = v;
}

VEC_INLINE vec vec_load_upto(ptrdiff_t n, const REAL *p)
{
    return vec_load_first(n, p);
}

VEC_INLINE void vec_store_upto(ptrdiff_t n, REAL *p, vec v)
{
    vec_store_first(n, p, v);
}

VEC_INLINE vec vec_of(REAL a)
{
    return a;
}

VEC_INLINE vec vec_mul_add(vec a, vec b, vec c)
{
    return a * b + c;
}

VEC_INLINE REAL vec_sum(vec v)
{
    return v;
}

VEC_INLINE REAL vec_max(vec v)
{
    return v;
}
#endif

#endif
