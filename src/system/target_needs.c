/* target_needs.c -- what this build needs; see target.h.  Data only, compiled for ARCH like the
 * rest.
 *
 * The compiler defines a macro as 1 for everything that -march lets it use.  As a string, such a
 * macro is "1", two bytes with the 0 at the end, and an undefined one is its own name. */
#include "system/target.h"

#define SPELLED(macro) #macro
#define NEED(name, macro) (sizeof SPELLED(macro) == 2 ? (name) : "")

const char *const at_target_needs[] = {
    /* x86 */
    NEED("sse3", __SSE3__), NEED("ssse3", __SSSE3__), NEED("sse4.1", __SSE4_1__),
    NEED("sse4.2", __SSE4_2__), NEED("popcnt", __POPCNT__), NEED("avx", __AVX__),
    NEED("f16c", __F16C__), NEED("avx2", __AVX2__), NEED("fma", __FMA__), NEED("bmi", __BMI__),
    NEED("bmi2", __BMI2__), NEED("lzcnt", __LZCNT__), NEED("movbe", __MOVBE__),
    NEED("fma4", __FMA4__), NEED("xop", __XOP__), NEED("gfni", __GFNI__),
    NEED("avxvnni", __AVXVNNI__), NEED("avx512f", __AVX512F__), NEED("avx512cd", __AVX512CD__),
    NEED("avx512dq", __AVX512DQ__), NEED("avx512bw", __AVX512BW__), NEED("avx512vl", __AVX512VL__),
    NEED("avx512ifma", __AVX512IFMA__), NEED("avx512vbmi", __AVX512VBMI__),
    NEED("avx512vbmi2", __AVX512VBMI2__), NEED("avx512vnni", __AVX512VNNI__),
    NEED("avx512bitalg", __AVX512BITALG__), NEED("avx512vpopcntdq", __AVX512VPOPCNTDQ__),
    NEED("avx512bf16", __AVX512BF16__), NEED("avx512fp16", __AVX512FP16__),
    /* AArch64 */
    NEED("crc", __ARM_FEATURE_CRC32), NEED("lse", __ARM_FEATURE_ATOMICS),
    NEED("rdma", __ARM_FEATURE_QRDMX), NEED("fp16", __ARM_FEATURE_FP16_VECTOR_ARITHMETIC),
    NEED("dotprod", __ARM_FEATURE_DOTPROD), NEED("sve", __ARM_FEATURE_SVE),
    NEED("bf16", __ARM_FEATURE_BF16), NEED("i8mm", __ARM_FEATURE_MATMUL_INT8),
    NEED("sve2", __ARM_FEATURE_SVE2), NULL};
