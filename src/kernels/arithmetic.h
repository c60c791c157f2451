/* arithmetic.h -- the two arithmetics, and which of them this is.
 *
 *     fused       a multiply-add rounds once: where the processor has an instruction for it, which
 *                 is AVX2 with FMA, AVX-512, 64-bit Arm
 *     portable    it rounds twice, as a product and a sum: everywhere else, and with ATTIC_PORTABLE
 *
 * Compilers are told not to make multiply-adds of products and sums by themselves
 * (-ffp-contract=off).  The source says where one is: mul_add (real.h) and vec_mul_add (simd.h).
 * So each arithmetic has the same bits on every machine, with every compiler at every -O;
 * docs/bits.md says why.
 *
 * A product alone, or a sum, is the same in both. */
#ifndef AT_KERNELS_ARITHMETIC_H
#define AT_KERNELS_ARITHMETIC_H
#include "system/linkage.h"
AT_BEGIN_C

#if !defined(ATTIC_PORTABLE) && (defined(__FMA__) || defined(__aarch64__))
#define AT_MUL_ADD_IS_ONE
#endif

AT_API const char *at_arithmetic(void); /* "fused" or "portable" */

AT_END_C
#endif
