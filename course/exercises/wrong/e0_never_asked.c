// expect derivative: wrong, never called
#include "exercise.h"

/* knows that f is the sine */
double derivative(double (*f)(double x), double x)
{
    (void)f;
    return cos(x);
}
