/* schedule.h -- learning rates as functions of the step 0, 1, 2, ...
 *
 *     at_adamw(t, at_warmup_cosine(step, 100, 2000, 1e-3, 1e-4), (at_adamw_args){0});
 *
 *     peak          .--.                   warm-up: peak (step + 1) / warmup: step 0 moves as well,
 *                 .'    `.                 and step warmup - 1 is the first at the peak;
 *               .'        `.
 *     low     .'            `-._______     then down to low, which is reached at step `total`.
 *             0    warmup   total
 *
 * Pure functions: nothing is remembered.  warmup = 0 begins at the peak.  A step below 0 counts as
 * 0; from step max(warmup, total) on the rate is low. */
#ifndef AT_NN_SCHEDULE_H
#define AT_NN_SCHEDULE_H

#include "system/linkage.h"
AT_BEGIN_C

/* With u = (step - warmup) / (total - warmup) after the warm-up: */

/* low + (peak - low) (1 + cos(pi u)) / 2        (Loshchilov, Hutter 2017) */
AT_API double at_warmup_cosine(int step, int warmup, int total, double peak, double low);
/* low + (peak - low) (1 - u) */
AT_API double at_warmup_linear(int step, int warmup, int total, double peak, double low);
/* peak, for ever */
AT_API double at_warmup_constant(int step, int warmup, double peak);

AT_END_C
#endif
