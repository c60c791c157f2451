// expect derivative: wrong, h is too small
#include "exercise.h"

double derivative(double (*f)(double x), double x)
{
    const double h = 1e-13;
    double up = f(x + h), down = f(x - h);
    return (up - down) / (2 * h);
}
