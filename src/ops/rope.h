/* rope.h -- the frequencies of rotary positions, for at_rope and for what is configured with them.
 * Private to the library. */
#ifndef AT_OPS_ROPE_H
#define AT_OPS_ROPE_H
#include "ops/ops.h"

/* Is there a rope with this base (0: 10000) and scaling?  If not, an error of `op`. */
bool at_check_rope_scaling(at_tape *t, const char *op, double base, const at_rope_scaling *s);
/* theta_i of R/2 pairs: base^(-2i/R), scaled; see rope_scaling.c. */
double at_rope_frequency(const at_rope_scaling *s, double base, int R, int i);
/* m, which multiplies cosines and sines; 1 unless s is YaRN. */
double at_rope_factor(const at_rope_scaling *s);
bool at_same_rope_scaling(const at_rope_scaling *a, const at_rope_scaling *b);

#endif
