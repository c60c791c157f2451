/* The central difference; h = 1e-5, for x near 1, times the size of x where that is larger or smaller. */
#include "exercise.h"

double derivative(double (*f)(double x), double x)
{
    double h = 1e-5 * (fabs(x) > 1e-2 ? fabs(x) : 1e-2);
    return (f(x + h) - f(x - h)) / (2 * h);
}
