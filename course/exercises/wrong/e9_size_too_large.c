// expect sizes: wrong, sizes[5] is 65
#include "exercise.h"

#include "attic.h"

typedef struct {
    softmax_kernel k;
    int n;
} row;

static void forward(const float *x, float *y, void *ctx)
{
    const row *r = ctx;
    r->k.forward(r->n, x, y);
}

static void vjp(const float *x, const float *dy, float *dx, void *ctx)
{
    const row *r = ctx;
    float y[64];
    r->k.forward(r->n, x, y);
    r->k.backward(r->n, y, dy, dx);
}

const int sizes[MOST_SIZES] = {5, 7, 8, 15, 16, 65};

double check_kernel(softmax_kernel k, int n)
{
    float x[64];
    row r = {k, n};
    for (int i = 0; i < n; i++) x[i] = sinf((float)(3 * i + 1));
    at_gradcheck_report report =
        at_gradcheck_fn_f32(forward, vjp, n, n, x, &r, (at_gradcheck_options){0});
    return report.verdict == ATTIC_WRONG ? (double)report.element : -1;
}

void softmax_backward_f32(int n, const float *y, const float *dy, float *dx)
{
    float lane[8] = {0}, dot = 0;
    int i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++) lane[k] += y[i + k] * dy[i + k];
    for (int k = 0; k < 8; k++) dot += lane[k];
    for (; i < n; i++) dot += y[i] * dy[i];

    for (i = 0; i < n; i++) dx[i] = y[i] * (dy[i] - dot);
}
