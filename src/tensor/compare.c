/* compare.c -- are two tensors the same, and if not, by how much?  See compare.h. */
#include "tensor/compare.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "system/system.h"
#include "tensor/layout.h"

static double closeness_of(at_dtype d)
{
    return d == ATTIC_F32    ? sqrt((double)FLT_EPSILON)
           : d == ATTIC_F16  ? sqrt(0x1p-10)
           : d == ATTIC_BF16 ? sqrt(0x1p-7)
           : at_is_real(d)   ? sqrt(DBL_EPSILON)
                             : 0;
}

static double largest_element(const at_tensor *x)
{
    double largest = 0;
    for (ptrdiff_t n = at_count(x->shape), i = 0; i < n; i++)
        if (isfinite(at_element(x, i))) largest = fmax(largest, fabs(at_element(x, i)));
    return largest;
}

/* |a - b| beside the size of both; infinite where only one is finite. */
static double relative_error(double a, double b, double floor)
{
    if (a == b || (isnan(a) && isnan(b))) return 0;
    if (!isfinite(a) || !isfinite(b)) return (double)INFINITY;
    return fabs(a - b) / fmax(fmax(fabs(a), fabs(b)), floor);
}

/* Is a = factor b wherever b is not tiny? */
static bool differs_by_factor(const at_tensor *a, const at_tensor *b, double largest,
                              double *factor)
{
    double low = (double)INFINITY, high = -(double)INFINITY;
    for (ptrdiff_t n = at_count(a->shape), i = 0; i < n; i++) {
        if (fabs(at_element(b, i)) < 0.01 * largest) continue;
        double ratio = at_element(a, i) / at_element(b, i);
        if (!isfinite(ratio)) return false;
        low = fmin(low, ratio);
        high = fmax(high, ratio);
    }
    *factor = (low + high) / 2;
    return high - low <= 1e-3 * fabs(*factor);
}

static void put_in_words(at_comparison *c, const at_tensor *a, const at_tensor *b, double largest)
{
    ptrdiff_t n = at_count(a->shape);
    double factor;
    if (c->similarity == ATTIC_EXACT) snprintf(c->text, sizeof c->text, "exact");
    if (c->similarity == ATTIC_CLOSE)
        snprintf(c->text, sizeof c->text, "close: off by %.1e of its size at most", c->error);
    if (c->similarity != ATTIC_DIFFERENT) return;
    int used =
        snprintf(c->text, sizeof c->text, "wrong: %.6g instead of %.6g at %s; %td of %td differ",
                 c->a, c->b, at_shape_text(c->index), c->differing, n);
    if (c->differing > 1 && used < (int)sizeof c->text && differs_by_factor(a, b, largest, &factor))
        snprintf(c->text + used, sizeof c->text - (size_t)used, ", by a factor %.6g", factor);
}

at_comparison at_compare(const at_tensor *a, const at_tensor *b)
{
    at_comparison c = {.similarity = ATTIC_DIFFERENT};
    if (!a || !b || !at_same_shape(a->shape, b->shape)) {
        snprintf(c.text, sizeof c.text, "wrong: %s instead of %s", at_text(a), at_text(b));
        return c;
    }
    if (!at_has_data(a) || !at_has_data(b)) {
        snprintf(c.text, sizeof c.text, "wrong: the memory of %s was reused by a backward",
                 at_text(at_has_data(a) ? b : a));
        return c;
    }
    double tolerance = fmax(closeness_of(a->dtype), closeness_of(b->dtype));
    double largest = largest_element(b);
    for (ptrdiff_t n = at_count(a->shape), i = 0; i < n; i++) {
        double error = relative_error(at_element(a, i), at_element(b, i), largest / 1000);
        c.differing += error > tolerance;
        if (i > 0 && error <= c.error) continue;
        c.error = error;
        c.a = at_element(a, i);
        c.b = at_element(b, i);
        c.index = at_index_of(a->shape, i);
    }
    c.similarity = c.differing ? ATTIC_DIFFERENT : c.error > 0 ? ATTIC_CLOSE : ATTIC_EXACT;
    void *locale = at_point_begin();
    put_in_words(&c, a, b, largest);
    at_point_end(locale);
    return c;
}
