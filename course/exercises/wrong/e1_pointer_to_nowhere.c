// expect program: crashed
#include "exercise.h"

void scale_backward(int n, double c, const double *dy, double *dx)
{
    double *volatile factor = NULL; /* forgot to let it point to c */
    for (int i = 0; i < n; i++) dx[i] += *factor * dy[i];
    (void)c;
}

void add_backward(int n, const double *dy, double *da, double *db)
{
    for (int i = 0; i < n; i++) da[i] += dy[i], db[i] += dy[i];
}
