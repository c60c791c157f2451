/* schedule.c -- learning rates as functions of the step; see schedule.h. */
#include "nn/schedule.h"
#include "kernels/elementary.h"

#include <math.h>
#include <stdint.h>

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

/* From peak to low, u = 0 .. 1. */
static double half_cosine(double u, double peak, double low)
{
    const double pi = acos(-1);
    return low + (peak - low) * (1 + at_f64_cos(pi * u)) / 2;
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
    if (step < warmup) return peak * warmed_up(step, warmup);
    return half_cosine(gone_down(step, warmup, total), peak, low);
}

double at_one_cycle(int step, int up, int total, double peak, double first, double low)
{
    if (step < 0) step = 0;
    return step < up ? half_cosine(1 - (double)step / up, peak, first)
                     : half_cosine(gone_down(step, up, total), peak, low);
}

double at_cosine_restarts(int step, int length, int times, double peak, double low)
{
    int64_t at = step < 0 ? 0 : step, n = length < 1 ? 1 : length;
    if (times <= 1) at %= n;
    while (at >= n) at -= n, n *= times;
    return half_cosine((double)at / (double)n, peak, low);
}
