/* schedule.c -- learning rates as functions of the step; see schedule.h. */
#include "nn/schedule.h"
#include "kernels/elementary.h"

#include <math.h>

/* How far the warm-up has come: 1 when it is over. */
static double warmed_up(int step, int warmup)
{
    if (step < 0) step = 0;
    return step < warmup ? (step + 1.0) / warmup : 1;
}

/* How far from the end of the warm-up to the end of all, 0 .. 1. */
static double gone_down(int step, int warmup, int total)
{
    if (warmup < 0) warmup = 0;
    if (step < warmup) return 0;
    if (step >= total) return 1;
    return ((double)step - warmup) / ((double)total - warmup);
}

double at_warmup_constant(int step, int warmup, double peak)
{
    return peak * warmed_up(step, warmup);
}

double at_warmup_linear(int step, int warmup, int total, double peak, double low)
{
    if (step < warmup) return peak * warmed_up(step, warmup);
    return low + (peak - low) * (1 - gone_down(step, warmup, total));
}

double at_warmup_cosine(int step, int warmup, int total, double peak, double low)
{
    const double pi = acos(-1);
    if (step < warmup) return peak * warmed_up(step, warmup);
    return low + (peak - low) * (1 + at_f64_cos(pi * gone_down(step, warmup, total))) / 2;
}
