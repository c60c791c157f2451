/* rows.c -- kernels on contiguous rows: sums, maxima, elementary functions, copies.
 *
 * A sum of n terms has an order, and C may not change it.  One long chain of additions keeps a
 * processor waiting and piles up rounding errors; so the order here is 32 chains side by side,
 *
 *   lane l = x_l + x_(l+32) + x_(l+64) + ...       l = 0 .. 31
 *
 * in a few vectors (two of AVX-512, eight of SSE2), and then a tree: 32 lanes are added to 16, 16
 * to 8, ...  A longer row than 1024 is cut in two, and each half summed in this way.  So no term
 * passes through more than 32 + 5 + log2(n / 1024) additions: a million times 0.1f is right to
 * 1e-6, where one chain would be off by 1 percent.  The maximum has the same lanes, and its order
 * is free. */
#include "kernels/rows.h"

#include <stdbool.h>
#include <string.h>

#include "kernels/parallel.h"
#include "kernels/real.h"
#include "kernels/simd_math.h"

enum { ROW_LANES = 32, ROW_PART = 1024 };

/* Where a long row is cut: in the middle, but so that the first part fills its lanes. */
static ptrdiff_t row_middle(ptrdiff_t n)
{
    return n / 2 / ROW_LANES * ROW_LANES;
}

#define ROW_VECS (ROW_LANES / VEC_LANES) /* vector k holds the lanes from k * VEC_LANES on */
#ifdef __OPTIMIZE_SIZE__                 /* 16 exponentials, twice, are most of a small program */
#define ROW_UNROLL
#else
#define ROW_UNROLL VEC_UNROLL
#endif

VEC_INLINE REAL row_add_lanes(vec *lane)
{
    ROW_UNROLL
    for (int k = 0; k < ROW_VECS / 2; k++) lane[k] += lane[k + ROW_VECS / 2];
    ROW_UNROLL
    for (int k = 0; k < ROW_VECS / 4; k++) lane[k] += lane[k + ROW_VECS / 4];
    ROW_UNROLL
    for (int k = 0; k < ROW_VECS / 8; k++) lane[k] += lane[k + ROW_VECS / 8];
    ROW_UNROLL
    for (int k = 0; k < ROW_VECS / 16; k++) lane[k] += lane[k + ROW_VECS / 16];
    ROW_UNROLL
    for (int k = 0; k < ROW_VECS / 32; k++) lane[k] += lane[k + ROW_VECS / 32];
    return vec_sum(lane[0]);
}

REAL row_sum(ptrdiff_t n, const REAL *x)
{
    if (n > ROW_PART) {
        ptrdiff_t m = row_middle(n);
        return row_sum(m, x) + row_sum(n - m, x + m);
    }
    vec lane[ROW_VECS] = {VEC_ZERO};
    for (; n >= ROW_LANES; n -= ROW_LANES, x += ROW_LANES) {
        ROW_UNROLL
        for (int k = 0; k < ROW_VECS; k++) lane[k] += vec_load(x + k * VEC_LANES);
    }
    ROW_UNROLL
    for (int k = 0; (k < ROW_VECS) & (n > 0); k++, n -= VEC_LANES, x += VEC_LANES)
        lane[k] += vec_load_first(n, x);
    return row_add_lanes(lane);
}

REAL row_dot(ptrdiff_t n, const REAL *x, const REAL *y)
{
    if (n > ROW_PART) {
        ptrdiff_t m = row_middle(n);
        return row_dot(m, x, y) + row_dot(n - m, x + m, y + m);
    }
    vec lane[ROW_VECS] = {VEC_ZERO};
    for (; n >= ROW_LANES; n -= ROW_LANES, x += ROW_LANES, y += ROW_LANES) {
        ROW_UNROLL
        for (int k = 0; k < ROW_VECS; k++)
            lane[k] =
                vec_mul_add(vec_load(x + k * VEC_LANES), vec_load(y + k * VEC_LANES), lane[k]);
    }
    ROW_UNROLL
    for (int k = 0; (k < ROW_VECS) & (n > 0); k++, n -= VEC_LANES, x += VEC_LANES, y += VEC_LANES)
        lane[k] = vec_mul_add(vec_load_first(n, x), vec_load_first(n, y), lane[k]);
    return row_add_lanes(lane);
}

REAL row_spread(ptrdiff_t n, const REAL *x, REAL mu)
{
    if (n > ROW_PART) {
        ptrdiff_t m = row_middle(n);
        return row_spread(m, x, mu) + row_spread(n - m, x + m, mu);
    }
    vec lane[ROW_VECS] = {VEC_ZERO};
    for (; n >= ROW_LANES; n -= ROW_LANES, x += ROW_LANES) {
        ROW_UNROLL
        for (int k = 0; k < ROW_VECS; k++) {
            vec d = vec_load(x + k * VEC_LANES) - mu;
            lane[k] = vec_mul_add(d, d, lane[k]);
        }
    }
    ROW_UNROLL
    for (int k = 0; (k < ROW_VECS) & (n > 0); k++, n -= VEC_LANES, x += VEC_LANES) {
        vec d = vec_load_first(n, x) - mu;
        d = vec_pick(vec_first(n), d, vec_of(0));
        lane[k] = vec_mul_add(d, d, lane[k]);
    }
    return row_add_lanes(lane);
}

/* A NaN compares with nothing: it alone is not <= inf.  `bad` keeps it, or is 0. */
VEC_INLINE void row_larger(vec x, vec *m, vec *bad)
{
    *m = vec_pick(VALUE(x) > VALUE(*m), x, *m);
    *bad = vec_pick(VALUE(x) <= VALUE((REAL)INFINITY), *bad, x);
}

REAL row_max(ptrdiff_t n, const REAL *x)
{
    const vec nothing = vec_of(-(REAL)INFINITY);
    vec m[ROW_VECS], bad[ROW_VECS];
    ROW_UNROLL
    for (int k = 0; k < ROW_VECS; k++) m[k] = nothing, bad[k] = vec_of(0);
    for (; n >= ROW_LANES; n -= ROW_LANES, x += ROW_LANES) {
        ROW_UNROLL
        for (int k = 0; k < ROW_VECS; k++) row_larger(vec_load(x + k * VEC_LANES), &m[k], &bad[k]);
    }
    ROW_UNROLL
    for (int k = 0; (k < ROW_VECS) & (n > 0); k++, n -= VEC_LANES, x += VEC_LANES) {
        vec last = vec_load_first(n, x);
        last = vec_pick(vec_first(n), last, nothing);
        row_larger(last, &m[k], &bad[k]);
    }
    ROW_UNROLL
    for (int k = 1; k < ROW_VECS; k++) {
        row_larger(m[k], &m[0], &bad[0]);
        bad[0] += bad[k];
    }
    REAL nan = vec_sum(bad[0]);
    return VALUE(nan) == 0 ? vec_max(m[0]) : nan;
}

/* The sum of exp(x_j - m), which go to y_j if they are to be kept */
VEC_INLINE REAL row_exp_part(ptrdiff_t n, const REAL *x, REAL m, const bool keep, REAL *y)
{
    vec lane[ROW_VECS] = {VEC_ZERO};
    ptrdiff_t i = 0;
    for (; i + ROW_LANES <= n; i += ROW_LANES) {
        ROW_UNROLL
        for (int k = 0; k < ROW_VECS; k++) {
            vec e = vec_exp_weight(vec_load(x + i + k * VEC_LANES) - m);
            if (keep) vec_store(y + i + k * VEC_LANES, e);
            lane[k] += e;
        }
    }
    ROW_UNROLL
    for (int k = 0; (k < ROW_VECS) & (i < n); k++, i += VEC_LANES) {
        vec e = vec_exp_weight(vec_load_first(n - i, x + i) - m);
        if (keep) vec_store_first(n - i, y + i, e);
        lane[k] += vec_pick(vec_first(n - i), e, vec_of(0));
    }
    return row_add_lanes(lane);
}

REAL row_exp_sum(ptrdiff_t n, const REAL *x, REAL m, REAL *y)
{
    if (n > ROW_PART) {
        ptrdiff_t h = row_middle(n);
        REAL sum = row_exp_sum(h, x, m, y);
        return sum + row_exp_sum(n - h, x + h, m, y ? y + h : NULL);
    }
    return y ? row_exp_part(n, x, m, true, y) : row_exp_part(n, x, m, false, NULL);
}

void row_axpy(ptrdiff_t n, REAL a, const REAL *x, REAL *y)
{
    for (ptrdiff_t j = 0; j < n; j++) y[j] = mul_add(a, x[j], y[j]);
}

void row_scale(ptrdiff_t n, REAL a, const REAL *x, REAL *y)
{
#ifdef __clang__ /* where x and y are one, it would else take a loop without vectors */
#pragma clang loop vectorize(assume_safety)
#endif
    for (ptrdiff_t j = 0; j < n; j++) y[j] = a * x[j];
}

/* One vector after the other, a partial one at the end: f(x_j) does not depend on j. */
VEC_INLINE void vmath_each(ptrdiff_t n, const REAL *x, REAL *y, vec (*f)(vec))
{
    for (; n >= VEC_LANES; n -= VEC_LANES, x += VEC_LANES, y += VEC_LANES)
        vec_store(y, f(vec_load(x)));
    if (n > 0) vec_store_first(n, y, f(vec_load_first(n, x)));
}

void vexp(ptrdiff_t n, const REAL *x, REAL *y)
{
    vmath_each(n, x, y, vec_exp);
}

void vlog(ptrdiff_t n, const REAL *x, REAL *y)
{
    vmath_each(n, x, y, vec_log);
}

void vtanh(ptrdiff_t n, const REAL *x, REAL *y)
{
    vmath_each(n, x, y, vec_tanh);
}

void vnormal(ptrdiff_t n, const REAL *x, REAL *y)
{
    vmath_each(n, x, y, vec_normal);
}

void vsigmoid(ptrdiff_t n, const REAL *x, REAL *y)
{
    vmath_each(n, x, y, vec_sigmoid);
}

enum { COPY_LINE = 1024, COPY_WORK = 64 }; /* bytes; the work of a line for at_for */

/* Sizes in bytes; count is the size of all rows. */
typedef struct {
    ptrdiff_t n, x_step, y_step, count;
    const char *x;
    char *y;
    bool add; /* elements of type REAL, else copy bytes */
} copy_job;

/* Lines at .. to-1 of all rows, one after the other, wherever rows begin and end. */
static void copy_lines(void *job, ptrdiff_t at, ptrdiff_t to, int slot)
{
    (void)slot;
    const copy_job *c = job;
    ptrdiff_t row = at * COPY_LINE / c->n, from = at * COPY_LINE % c->n, n;
    ptrdiff_t left = (to * COPY_LINE < c->count ? to * COPY_LINE : c->count) - at * COPY_LINE;
    for (; left > 0; left -= n, row++, from = 0) {
        const char *x = c->x + row * c->x_step + from;
        char *y = c->y + row * c->y_step + from;
        n = c->n - from < left ? c->n - from : left;
        if (c->add)
            row_axpy(n / (ptrdiff_t)sizeof(REAL), 1, (const REAL *)x, (REAL *)y);
        else
            memcpy(y, x, (size_t)n);
    }
}

static void copy_run(ptrdiff_t rows, ptrdiff_t size, copy_job c)
{
    if (c.x_step == c.n && c.y_step == c.n) c.n *= rows, rows = 1; /* one long row */
    c.n *= size, c.x_step *= size, c.y_step *= size;
    c.count = rows * c.n;
    at_for((c.count + COPY_LINE - 1) / COPY_LINE, COPY_WORK / size, 0, copy_lines, &c);
}

void add_rows(ptrdiff_t rows, ptrdiff_t n, const void *x, ptrdiff_t x_step, void *y,
              ptrdiff_t y_step)
{
    copy_run(rows, sizeof(REAL), (copy_job){n, x_step, y_step, 0, x, y, true});
}

#ifdef AT_ONCE
const char *at_arithmetic(void)
{
#ifdef AT_MUL_ADD_IS_ONE
    return "fused";
#else
    return "portable";
#endif
}

void at_copy_rows(ptrdiff_t rows, ptrdiff_t n, const void *x, ptrdiff_t x_step, void *y,
                  ptrdiff_t y_step)
{
    copy_run(rows, 1, (copy_job){n, x_step, y_step, 0, x, y, false});
}
#endif
