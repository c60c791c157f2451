// expect derivative: wrong, 2 times
#include "exercise.h"

double derivative(double (*f)(double x), double x)
{
    double h = 1e-5 * fmax(fabs(x), 1e-2);
    return (f(x + h) - f(x - h)) / h;
}
