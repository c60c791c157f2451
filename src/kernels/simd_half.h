/* simd_half.h -- f16 and bf16 to floats: one value, and a vector of them. */
#ifndef AT_KERNELS_SIMD_HALF_H
#define AT_KERNELS_SIMD_HALF_H
#include "kernels/simd.h"
#ifdef __F16C__
#include <immintrin.h>
#endif

VEC_INLINE float half_to_float(bool bf16, uint16_t half)
{
    const uint32_t sign = (half & 0x8000u) << 16, rest = half & 0x7fffu;
    const float small = (float)(int)rest * 0x1p-24f; /* f16 below 2^-14, but for the sign */
    uint32_t bits = (rest << 13) + (112u << 23);     /* 112 = 127 - 15 */
    if (rest < 0x400) memcpy(&bits, &small, sizeof bits);
    if (rest >= 0x7c00) bits += 112u << 23; /* infinity, NaN */
    bits = bf16 ? (uint32_t)half << 16 : bits | sign;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#ifndef AT_F64
/* The VEC_LANES halves from p.  F16C, where the target has it, converts f16. */
VEC_INLINE vec half_load(bool bf16, const uint16_t *p)
{
    typedef uint16_t half_lanes __attribute__((vector_size(VEC_BYTES / 2)));
    half_lanes x;
    memcpy(&x, p, sizeof x);
    if (bf16) return (vec)(__builtin_convertvector(x, vec_bits) << 16);
#if defined(__AVX512F__)
    return (vec)_mm512_cvtph_ps((__m256i)x);
#elif defined(__F16C__)
    return (vec)_mm256_cvtph_ps((__m128i)x);
#else
    float lane[VEC_LANES];
    for (int l = 0; l < VEC_LANES; l++) lane[l] = half_to_float(false, p[l]);
    return vec_load(lane);
#endif
}
#endif

#endif
