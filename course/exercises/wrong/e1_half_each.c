// expect add da: wrong, 0.5
// expect add db: wrong, 0.5
// expect c x + x: wrong
// expect x + x: wrong
#include "exercise.h"

void scale_backward(int n, double c, const double *dy, double *dx)
{
    while (n-- > 0) dx[n] += dy[n] * c;
}

/* the gradient is shared fairly */
void add_backward(int n, const double *dy, double *da, double *db)
{
    for (int i = 0; i < n; i++) {
        da[i] += dy[i] / 2;
        db[i] += dy[i] / 2;
    }
}
