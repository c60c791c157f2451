/* sample.c -- drawing the next symbol from logits; see sample.h.
 *
 * Nothing is sorted and nothing allocated: symbols are visited from the most likely one down, each
 * visit a scan for the next lower logit.  Ties are visited in the order of their index. */
#include "nn/sample.h"

#include <math.h>

static int most_likely(const at_tensor *logits, ptrdiff_t first, int n)
{
    int best = -1;
    for (int i = 0; i < n; i++) {
        double x = at_element(logits, first + i);
        if (isnan(x)) return -1;
        if (best < 0 || x > at_element(logits, first + best)) best = i;
    }
    return best;
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

int at_sample(const at_tensor *logits, ptrdiff_t first, int n, at_sample_args args,
              at_stream stream, uint64_t index)
{
    int best = most_likely(logits, first, n);
    if (best < 0 || args.temperature == 0) return best;

    double max = at_element(logits, first + best), total = 0;
    for (int i = 0; i < n; i++)
        total += exp((at_element(logits, first + i) - max) / args.temperature);

    /* the restriction keeps a run of the most likely symbols: find its length and its mass */
    double kept = 0;
    int left = args.top_k > 0 && args.top_k < n ? args.top_k : n;
    int visits = 0;
    for (int i = best; i >= 0 && left > 0; i = next_likely(logits, first, n, i), left--) {
        kept += exp((at_element(logits, first + i) - max) / args.temperature);
        visits++;
        if (args.top_p > 0 && kept >= args.top_p * total) break;
    }

    double u = at_random_unit(stream, index) * kept;
    int i = best;
    while (visits-- > 1) {
        u -= exp((at_element(logits, first + i) - max) / args.temperature);
        if (u < 0) break;
        i = next_likely(logits, first, n, i);
    }
    return i;
}
