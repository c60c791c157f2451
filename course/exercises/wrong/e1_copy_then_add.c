// expect x + x: wrong
#include "exercise.h"

void scale_backward(int n, double c, const double *dy, double *dx)
{
    for (int i = 0; i < n; i++) dx[i] += c * dy[i];
}

/* reads both before it writes: right, unless a and b are one */
void add_backward(int n, const double *dy, double *da, double *db)
{
    for (int i = 0; i < n; i++) {
        double a = da[i], b = db[i];
        da[i] = a + dy[i];
        db[i] = b + dy[i];
    }
}
