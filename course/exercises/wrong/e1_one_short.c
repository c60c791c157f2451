// expect scale dx: wrong, the last
// expect c x + x: wrong, the last
#include "exercise.h"

void scale_backward(int n, double c, const double *dy, double *dx)
{
    for (int i = 0; i < n - 1; i++) dx[i] += c * dy[i];
}

void add_backward(int n, const double *dy, double *da, double *db)
{
    for (int i = 0; i < n; i++) {
        da[i] += dy[i];
        db[i] += dy[i];
    }
}
