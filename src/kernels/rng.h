/* rng.h -- counter-based random bits, of which random.h makes numbers: Philox4x32-10 (Salmon,
 * Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011).  Any element can be
 * made again later, in any order, on any thread: dropout stores nothing but (seed, draw). */
#ifndef AT_KERNELS_RNG_H
#define AT_KERNELS_RNG_H
#include <stddef.h>
#include <stdint.h>

#include "kernels/random.h"
AT_BEGIN_C

AT_API void at_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

AT_API uint32_t at_random_u32(at_stream s, uint64_t index);
/* out[i] = at_random_u32(s, first + i), four at a time where that is possible.  Both write nothing
 * where a pointer is NULL. */
AT_API void at_random_u32s(at_stream s, uint64_t first, ptrdiff_t n, uint32_t *out);

AT_END_C
#endif
