/* simd_half.h -- f16 and bf16 to reals: one value, and a vector of them. */
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

/* The VEC_LANES halves from p. */
VEC_INLINE vec half_load(const bool bf16, const uint16_t *p)
{
#if defined(__AVX512F__) && defined(AT_ONCE)
    const __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)p);
    return bf16 ? (vec)_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16) : (vec)_mm512_cvtph_ps(x);
#elif defined(__F16C__) && defined(__AVX2__) && defined(AT_ONCE)
    const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
    return bf16 ? (vec)_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16) : (vec)_mm256_cvtph_ps(x);
#else
    REAL lane[VEC_LANES];
    for (int l = 0; l < VEC_LANES; l++) lane[l] = (REAL)half_to_float(bf16, p[l]);
    return vec_load(lane);
#endif
}

#endif
