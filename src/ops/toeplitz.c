/* toeplitz.c -- a matrix that is constant along its diagonals, from one element for each of them.
 *
 *   x [...,M]   y [...,T,N]        M = T + N - 1 diagonals; 0 if T = N = 0
 *
 *   forward    y_ij = x_(T-1-i+j)
 *
 *                                        d e f g        T = 4, N = 4: x is the last row of y and
 *       x = a b c d e f g           y =  c d e f        the rest of the first one; row i of y is
 *                                        b c d e        the stretch of x that begins at T-1-i
 *                                        a b c d
 *
 *   backward   dx_k = sum of dy_ij over T-1-i+j = k     down the diagonals
 *
 * Whatever depends only on how far key j is from query i, as a relative position bias does, is one
 * element for each distance j - i; this spreads it over the scores, each row a copy.
 *
 * Nothing is saved.  A thread sums a span of diagonals, in the order of i, in double: on a long
 * sequence a diagonal has many cells. */
#include "ops/op.h"

#include "kernels/real.h"

typedef struct {
    int T, N, M;
    ptrdiff_t matrices;
} toeplitz_args;

enum { TOEPLITZ_SPAN = 256 }; /* diagonals */

static ptrdiff_t toeplitz_spans(const toeplitz_args *a)
{
    return (a->M + TOEPLITZ_SPAN - 1) / TOEPLITZ_SPAN;
}

AT_BOTH(toeplitz);

static void toeplitz_spread(void *node, ptrdiff_t row, ptrdiff_t to, int slot)
{
    (void)slot;
    const at_node *n = node;
    const toeplitz_args *a = n->args;
    REAL *y = n->out[0]->data;
    for (; row < to; row++) {
        const REAL *x = (const REAL *)n->in[0]->data + row / a->T * a->M;
        ptrdiff_t i = row % a->T;
        memcpy(y + row * a->N, x + (a->T - 1 - i), (size_t)a->N * sizeof *x);
    }
}

void AT_REAL(toeplitz_forward)(at_node *n)
{
    const toeplitz_args *a = n->args;
    if (a->N > 0) at_for(a->matrices * a->T, a->N, 0, toeplitz_spread, n);
}

/* dx_k += sum_i dy_(i, k-(T-1-i))     for k = first .. first+width-1 */
static void toeplitz_down(const toeplitz_args *a, const REAL *dy, REAL *dx, int first, int width)
{
    WIDE sum[TOEPLITZ_SPAN] = {0};
    for (int i = 0; i < a->T; i++, dy += a->N) {
        int begins = a->T - 1 - i - first; /* row i covers N diagonals from here on */
        int lo = begins > 0 ? begins : 0;
        int64_t ends = (int64_t)begins + a->N;
        int hi = ends < width ? (int)ends : width;
        for (int k = lo; k < hi; k++) sum[k] += (WIDE)dy[k - begins];
    }
    for (int k = 0; k < width; k++) dx[first + k] += (REAL)sum[k];
}

static void toeplitz_gather(void *node, ptrdiff_t u, ptrdiff_t to, int slot)
{
    (void)slot;
    const at_node *n = node;
    const toeplitz_args *a = n->args;
    const REAL *dy = n->out[0]->grad;
    REAL *dx = n->in[0]->grad;
    ptrdiff_t spans = toeplitz_spans(a);
    for (; u < to; u++) {
        ptrdiff_t m = u / spans;
        int first = (int)(u % spans) * TOEPLITZ_SPAN, left = a->M - first;
        toeplitz_down(a, dy + m * a->T * a->N, dx + m * a->M, first,
                      left < TOEPLITZ_SPAN ? left : TOEPLITZ_SPAN);
    }
}

void AT_REAL(toeplitz_backward)(at_node *n)
{
    const toeplitz_args *a = n->args;
    if (!at_grad(n, 0) || a->T == 0 || a->N == 0) return; /* dx is in[0]->grad from here on */
    ptrdiff_t shortest = a->T < a->N ? a->T : a->N;
    at_for(a->matrices * toeplitz_spans(a), shortest * TOEPLITZ_SPAN, 0, toeplitz_gather, n);
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op toeplitz_op = {.name = "toeplitz", AT_BOTH_KERNELS(toeplitz)};

at_tensor *at_toeplitz(at_tape *t, at_tensor *x, int T, int N)
{
    AT_INPUT(t, "toeplitz", x, ATTIC_REAL);
    AT_REQUIRE(t, T >= 0 && N >= 0, "toeplitz: a matrix of %d x %d, but neither can be negative", T,
               N);
    at_shape y = x->shape;
    int64_t M = T || N ? (int64_t)T + N - 1 : 0;
    AT_REQUIRE(t, y.ndim < AT_MAX_DIMS, "toeplitz: x is %s and there can be no dim more",
               at_text(x));
    AT_REQUIRE(t, y.ndim >= 1 && at_last(y) == M,
               "toeplitz: x is %s, but must be [...,%lld]: one number for each diagonal of %d x %d",
               at_text(x), (long long)M, T, N);
    toeplitz_args a = {T, N, (int)M, at_rows(y)};
    y.dim[y.ndim - 1] = T;
    y.dim[y.ndim++] = N;
    return at_record(t, &toeplitz_op, AT_IN(x), y, &a, sizeof a);
}

#endif
