// expect derivative: wrong, h is too large
#include "exercise.h"

double derivative(double (*f)(double x), double x)
{
    double h = 0.1;
    return (f(x + h) - f(x - h)) / (2 * h);
}
