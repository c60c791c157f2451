// expect program: does not compile
#include "exercise.h"

double derivative(double (*f)(double x), double x)
{
    double h = 1e-5 * fabs(x);
    double slope = (f(x + h) - f(x - h)) / (2 * h);
}
