// expect derivative: wrong, the same h
#include "exercise.h"

double derivative(double (*f)(double x), double x)
{
    return (f(x + 1e-5) - f(x - 1e-5)) / 2e-5; /* fine near 1 */
}
