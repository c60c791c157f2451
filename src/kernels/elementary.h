/* elementary.h -- exp, log, pow, sin, cos, tanh, erfc ...: of doubles, with the same bits on every
 * machine, compiler and C library, and less than one unit in the last place from the true value.
 *
 * Private to the library.  Kernels write exp(x), and real.h makes the function of their type of it.
 * Those of floats are off by half a unit and a hundredth at most; their bits are those of the
 * arithmetic. */
#ifndef AT_KERNELS_ELEMENTARY_H
#define AT_KERNELS_ELEMENTARY_H
#include <stdbool.h>

double at_f64_exp(double x);
double at_f64_exp2(double x);
double at_f64_log(double x);
double at_f64_log1p(double x);
double at_f64_log10(double x);
double at_f64_pow(double x, double y);
double at_f64_sin(double x);
double at_f64_cos(double x);
double at_f64_tanh(double x);
double at_f64_erfc(double x);

float at_f32_exp(float x);
float at_f32_log(float x);
float at_f32_log1p(float x);
float at_f32_pow(float x, float y);
float at_f32_sin(float x);
float at_f32_cos(float x);
static inline float at_f32_tanh(float x)
{
    return (float)at_f64_tanh((double)x);
}
static inline float at_f32_erfc(float x)
{
    return (float)at_f64_erfc((double)x);
}

#endif
