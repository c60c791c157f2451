/* E0 -- what a derivative is, in numbers.
 *
 * You get a function f, which you can only call, and a point x.  Return f'(x) as well as
 * differences can tell it.
 *
 *     one-sided    (f(x + h) - f(x)) / h             wrong by about  h f''(x) / 2
 *     central      (f(x + h) - f(x - h)) / 2h        wrong by about  h^2 f'''(x) / 6
 *
 * A smaller h makes these errors smaller, and another one larger: f(x + h) and f(x - h) are
 * rounded to 16 digits, about 1e-16 |f(x)|, and the rounding is divided by h as well.  So there is
 * a best h.  For the central difference, where h^2 and 1e-16 / h are about equal: which power of
 * ten is that?  And x may be 0.001 or 1000: should h be the same for both?
 *
 * Wanted: a relative error below 1e-8, for functions as smooth as sin, exp and 1/x, at any of
 * these x.
 *
 * Try: return the one-sided difference first, and look at the verdict. */
#include "exercise.h"

double derivative(double (*f)(double x), double x)
{
    double h = BLANK(1);
    double slope = BLANK(2); /* in terms of f, x and h */
    (void)f, (void)x, (void)h;
    return slope;
}
