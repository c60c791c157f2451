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
 * 0; from step max(warmup, total) on the rate is low.  (So at_warmup_cosine and at_warmup_linear;
 * the others have formulas of their own.) */
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

/* One cycle (Smith 2018): from `first` at step 0 to the peak at step `up`, and down to low at step
 * `total`, by half a cosine each:
 *
 *     first + (peak - first) (1 - cos(pi step / up)) / 2
 *     low + (peak - low) (1 + cos(pi u)) / 2                     u = (step - up) / (total - up)
 *
 * PyTorch's OneCycleLR of n steps, n a multiple of 10, has first = peak / 25, low = first / 10^4,
 * up = 0.3 n - 1 and total = n - 1.  From step max(up, total) on the rate is low. */
AT_API double at_one_cycle(int step, int up, int total, double peak, double first, double low);

/* Restarts (Loshchilov, Hutter 2017):
 *
 *     low + (peak - low) (1 + cos(pi u)) / 2
 *
 * in rounds of `length` steps, then length * times, then length * times^2 ...: u = k / n in step
 * k = 0 .. n - 1 of a round of n, so each begins at the peak, and low itself is not reached.  With
 * times = 1 all are alike.  A length or times below 1 counts as 1. */
AT_API double at_cosine_restarts(int step, int length, int times, double peak, double low);

AT_END_C
#endif
