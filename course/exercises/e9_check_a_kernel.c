/* E9 -- check a kernel: softmax in float, in blocks of 8 and a tail.
 *
 *     y_i = exp(x_i - m) / sum_k exp(x_k - m),   m = max_k x_k
 *     dx_i = y_i (dy_i - dot),                   dot = sum_k y_k dy_k
 *
 * softmax_backward_f32 below is written for speed: the sum has 8 lanes, so that a compiler can keep it
 * in one register, and what is left after the blocks of 8, the tail, is added in pairs.  There is a bug
 * in it.
 *
 * a) Let attic's gradient check find such bugs.  check_kernel(k, n) is given a kernel, a forward and a
 *    backward, and returns -1 if its gradient is right for rows of n elements, else the index of the
 *    element that is off most.  at_gradcheck_fn_f32 (src/gradcheck/gradcheck.h, and example 02, part 3)
 *    wants a function y = forward(x) and its vector-Jacobian product, which is given x, not y.
 *
 *    Which verdict means that the gradient is wrong?  at_gradcheck_print(&report, stdout) shows what the
 *    check saw.  Its tolerance needs no care: it measures the rounding of what it compares.
 *
 * b) Which sizes?  At most six; fewer are allowed, then the last ones are left out.  The verdict
 *    tries your check on right kernels, which it must let pass, and on kernels with other bugs: in
 *    the tail, in rows that have no block, no tail, several blocks.  "elements" asks whether dx is
 *    really wrong at each element that your check names.  check_kernel is called for 13 kernels at
 *    every size, and the first 100 lines of what is printed are shown: print for one size, or only
 *    if the verdict is ATTIC_WRONG.
 *
 * c) Mend softmax_backward_f32.
 *
 * This file is linked to attic. */
#include "exercise.h"

#include "attic.h"

/* What the check hands on to forward and vjp */
typedef struct {
    softmax_kernel k;
    int n;
} row;

static void forward(const float *x, float *y, void *ctx)
{
    const row *r = ctx;
    r->k.forward(r->n, x, y);
}

/* dx from x and dy */
static void vjp(const float *x, const float *dy, float *dx, void *ctx)
{
    const row *r = ctx;
    for (int i = 0; i < r->n; i++) dx[i] = (float)BLANK(1); /* some lines in place of this one */
    (void)x, (void)dy;
}

const int sizes[MOST_SIZES] = {8, 16, 24, 32, 40, 64}; /* 2: choose better ones, from 1 to 64 */

double check_kernel(softmax_kernel k, int n)
{
    float x[64];
    row r = {k, n};
    for (int i = 0; i < n; i++) x[i] = sinf((float)(3 * i + 1));
    at_gradcheck_report report =
        at_gradcheck_fn_f32(forward, vjp, n, n, x, &r, (at_gradcheck_options){0});
    (void)report;
    return BLANK(3);
}

void softmax_backward_f32(int n, const float *y, const float *dy, float *dx)
{
    float lane[8] = {0}, dot = 0;
    int i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++) lane[k] += y[i + k] * dy[i + k];
    for (int k = 0; k < 8; k++) dot += lane[k];
    for (; i + 2 <= n; i += 2) dot += y[i] * dy[i] + y[i + 1] * dy[i + 1];

    for (i = 0; i < n; i++) dx[i] = y[i] * (dy[i] - dot);
}
