// expect derivative: wrong, one-sided
#include "exercise.h"

double derivative(double (*f)(double x), double x)
{
    double h = 1e-8;
    return (f(x + h) - f(x)) / h;
}
