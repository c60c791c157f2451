// expect derivative: wrong, sign
#include "exercise.h"

double derivative(double (*f)(double x), double x)
{
    double h = 1e-5 * fmax(fabs(x), 1e-2);
    return (f(x - h) - f(x + h)) / (2 * h);
}
