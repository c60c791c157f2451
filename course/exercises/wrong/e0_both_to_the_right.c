// expect derivative: wrong, one-sided
#include "exercise.h"

double derivative(double (*f)(double x), double x)
{
    double h = 1e-6 * fabs(x);
    return (f(x + 2 * h) - f(x + h)) / h;
}
