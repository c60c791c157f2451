// expect program: crashed
#include "exercise.h"

/* one element, then the rest: and when is the rest empty? */
void scale_backward(int n, double c, const double *dy, double *dx)
{
    double first = c;
    if (n != -1) scale_backward(n == 0 ? 0 : n - 1, first, dy, dx);
    if (n > 0) dx[n - 1] += first * dy[n - 1];
}

void add_backward(int n, const double *dy, double *da, double *db)
{
    for (int i = 0; i < n; i++) da[i] += dy[i], db[i] += dy[i];
}
