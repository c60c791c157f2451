/* random.h -- random numbers: number `index` of the stream `draw` of a seed.
 *
 * No state: the same three give the same number, in any order, on any thread.  at_draw(t) is the
 * next stream of a tape, used nowhere else.  rng.h says how it is done. */
#ifndef AT_KERNELS_RANDOM_H
#define AT_KERNELS_RANDOM_H
#include <stdint.h>

#include "system/linkage.h"
AT_BEGIN_C

typedef struct {
    uint64_t seed, draw;
} at_stream; /* the name of one infinite random sequence */

/* uniform in (0,1), never 0, never 1: an odd multiple of 2^-53 */
AT_API double at_random_unit(at_stream s, uint64_t index);
/* N(0,1) by Box and Muller, at most 8.6 in magnitude */
AT_API double at_random_normal(at_stream s, uint64_t index);

AT_END_C
#endif
