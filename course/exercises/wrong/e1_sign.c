// expect scale dx: wrong, sign
// expect c x + x: wrong
#include "exercise.h"

void scale_backward(int n, double c, const double *dy, double *dx)
{
    for (int i = 0; i < n; i++) dx[i] -= c * dy[i];
}

void add_backward(int n, const double *dy, double *da, double *db)
{
    for (int i = 0; i < n; i++) {
        da[i] += dy[i];
        db[i] += dy[i];
    }
}
