/* half.c -- f16 and bf16 to and from floats and doubles; see half.h.
 *
 *     x = f 2^e with 1 <= f < 2 is kept as round(f 2^p) 2^(e-p), with p bits of fraction
 *
 * Below the least normal number, 2^least, e stays `least`: f < 1 then has no leading 1.  With
 * n = round(f 2^p), which has that 1 as bit p, the bits are
 *
 *     n + (e - least) 2^p
 *
 * in all cases: the leading 1 adds one to the exponent, which is 0 without it; an n rounded up to
 * 2^(p+1) adds another; and behind the largest number comes infinity.
 *
 * F16C, where the target has it, does the same 8 values at a time, or 16.  The instructions for
 * bf16 are not used: they flush what is below 2^-126 to 0. */
#include "kernels/half.h"

#include <string.h>

#include "kernels/real.h"
#include "kernels/simd_half.h"

void widen(ptrdiff_t n, bool bf16, const uint16_t *x, void *reals)
{
    REAL *y = reals;
    ptrdiff_t i = 0;
    for (; bf16 && i + VEC_LANES <= n; i += VEC_LANES) vec_store(y + i, half_load(true, x + i));
    for (; i + VEC_LANES <= n; i += VEC_LANES) vec_store(y + i, half_load(false, x + i));
    for (; i < n; i++) y[i] = (REAL)half_to_float(bf16, x[i]);
}

void narrow(ptrdiff_t n, bool bf16, const void *reals, uint16_t *y)
{
    const REAL *x = reals;
    ptrdiff_t i = 0;
#if defined(__F16C__) && defined(AT_ONCE)
    for (; !bf16 && i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(y + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), 0));
#endif
#ifdef AT_ONCE
    for (; bf16 && i < n; i++) { /* the lower half, rounded, carries into the upper one */
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        const uint32_t odd = bits >> 16 & 1, rounded = (bits + 0x7fff + odd) >> 16;
        y[i] = (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : rounded);
    }
#endif
    for (; i < n; i++) y[i] = at_half_narrow(bf16, (double)VALUE(x[i]));
}

#ifdef AT_ONCE

double at_half_widen(bool bf16, uint16_t half)
{
    return (double)half_to_float(bf16, half);
}

uint16_t at_half_narrow(bool bf16, double x)
{
    const int p = bf16 ? 7 : 10, least = bf16 ? -126 : -14, most = bf16 ? 127 : 15;
    const double size = fabs(x);
    const int e = size >= ldexp(1.0, least) ? ilogb(size) : least;
    int n = (most + 1 - least + 1) << p; /* infinity */
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (isnan(x))
        n |= (int)(bits >> (52 - p) & ((1u << p) - 1)) | 1 << (p - 1); /* quiet */
    else if (e <= most)
        n = (int)rint(ldexp(size, p - e)) + ((e - least) << p);
    return (uint16_t)(n | (signbit(x) ? 0x8000 : 0));
}

#endif
