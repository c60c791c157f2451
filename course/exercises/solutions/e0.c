/* The central difference; h = 1e-5 times the size of x, but not below 1e-7. */
#include "exercise.h"

double derivative(double (*f)(double x), double x)
{
    double h = 1e-5 * (fabs(x) > 1e-2 ? fabs(x) : 1e-2);
    return (f(x + h) - f(x - h)) / (2 * h);
}
