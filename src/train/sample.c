/* sample.c -- drawing the next symbol from logits; see sample.h.
 *
 * Nothing is sorted and nothing allocated: symbols are visited from the most likely one down, each
 * visit a scan for the next lower logit.  Ties are visited in the order of their index. */
#include "train/sample.h"

#include <math.h>

#include "autograd/op.h"
#include "kernels/elementary.h"

static bool sample_fits(at_tape *t, const at_tensor *logits, ptrdiff_t first, int n,
                        at_sample_args a)
{
    if (!at_check_input(t, "sample", "logits", logits, ATTIC_REAL)) return false;
    AT_REQUIRE(t, n >= 1, "sample: to draw one of %d elements of logits %s is not possible", n,
               at_text(logits));
    AT_REQUIRE(t, first >= 0 && n <= at_count(logits->shape) - first,
               "sample: logits is %s, which has no %d elements from %td on", at_text(logits), n,
               first);
    AT_REQUIRE(t, a.temperature >= 0 && isfinite(a.temperature),
               "sample: temperature is %g, but must be finite and >= 0", a.temperature);
    AT_REQUIRE(t, a.top_k >= 0, "sample: top_k is %d, but must be >= 0 (0 means off)", a.top_k);
    AT_REQUIRE(t, a.top_p >= 0 && a.top_p <= 1,
               "sample: top_p is %g, but must be in 0..1 (0 means off)", a.top_p);
    return true;
}

/* -1 after a sticky error */
static int most_likely(at_tape *t, const at_tensor *logits, ptrdiff_t first, int n)
{
    int best = 0;
    for (int i = 0; i < n; i++) {
        double x = at_element(logits, first + i);
        if (isnan(x)) return at_fail(t, ATTIC_USER_ERROR, "sample: logit %d is NaN", i), -1;
        if (x > at_element(logits, first + best)) best = i;
    }
    double max = at_element(logits, first + best);
    if (isfinite(max)) return best;
    at_fail(t, ATTIC_USER_ERROR, "sample: the largest logit, %d, is %g: there is no distribution",
            best, max);
    return -1;
}

/* The symbol after `last` in the order of falling logits, or -1. */
static int next_likely(const at_tensor *logits, ptrdiff_t first, int n, int last)
{
    double limit = at_element(logits, first + last), found = 0;
    int best = -1;
    for (int i = 0; i < n; i++) {
        double x = at_element(logits, first + i);
        if (x > limit || (x == limit && i <= last)) continue;
        if (best < 0 || x > found) best = i, found = x;
    }
    return best;
}

static int draw_symbol(at_tape *t, const at_tensor *logits, ptrdiff_t first, int n,
                       at_sample_args args, at_stream stream, uint64_t index)
{
    if (!sample_fits(t, logits, first, n, args)) return -1;
    int best = most_likely(t, logits, first, n);
    if (best < 0 || args.temperature == 0) return best;

    double max = at_element(logits, first + best), total = 0;
    for (int i = 0; i < n; i++)
        total += at_f64_exp((at_element(logits, first + i) - max) / args.temperature);

    /* the restriction keeps a run of the most likely symbols: find its length and its mass */
    double kept = 0;
    int left = args.top_k > 0 && args.top_k < n ? args.top_k : n;
    int visits = 0;
    for (int i = best; i >= 0 && left > 0; i = next_likely(logits, first, n, i), left--) {
        kept += at_f64_exp((at_element(logits, first + i) - max) / args.temperature);
        visits++;
        if (args.top_p > 0 && kept >= args.top_p * total) break;
    }

    double u = at_random_unit(stream, index) * kept;
    int i = best;
    while (visits-- > 1) {
        u -= at_f64_exp((at_element(logits, first + i) - max) / args.temperature);
        if (u < 0) break;
        i = next_likely(logits, first, n, i);
    }
    return i;
}

int at_sample(const at_tensor *logits, ptrdiff_t first, int n, at_sample_args args,
              at_stream stream, uint64_t index)
{
    if (!logits) return -1;
    at_profile_line *outer = at_profile_enter(logits->tape, "sample");
    const int symbol = draw_symbol(logits->tape, logits, first, n, args, stream, index);
    at_profile_leave(logits->tape, outer);
    return symbol;
}

int at_sample_row(const at_tensor *logits, ptrdiff_t row, at_sample_args args, at_stream stream,
                  uint64_t index)
{
    if (!logits || !at_check_input(logits->tape, "sample", "logits", logits, ATTIC_REAL)) return -1;
    const int V = at_last(logits->shape);
    const ptrdiff_t rows = at_rows(logits->shape), at = row < 0 ? row + rows : row;
    if (at >= 0 && at < rows) return at_sample(logits, at * V, V, args, stream, index);
    at_fail(logits->tape, ATTIC_USER_ERROR, "sample: logits is %s, which has no row %td",
            at_text(logits), row);
    return -1;
}
