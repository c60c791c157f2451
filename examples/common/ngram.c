/* ngram.c -- n-gram models; see ngram.h.
 *
 * A context of order-1 symbols is read as a number in base `vocab`; its counts are one row of a
 * table [vocab^(order-1), vocab], and the row's sum is the count of the context. */
#include "common/ngram.h"

#include <math.h>
#include <string.h>

#include "attic.h"
#include "attic_op.h"

/* The row of the context before text[i]. */
static size_t context_at(const unsigned char *text, ptrdiff_t i, int order, int vocab)
{
    size_t row = 0;
    for (ptrdiff_t j = i - (order - 1); j < i; j++) row = row * (size_t)vocab + text[j];
    return row;
}

/* Symbols index the tables, so each must be one. */
static bool symbols_fit(at_tape *t, const char *what, const unsigned char *text, ptrdiff_t n,
                        int vocab)
{
    AT_REQUIRE(t, text || n <= 0, "ngram: the %s text is NULL", what);
    for (ptrdiff_t i = 0; i < n; i++)
        AT_REQUIRE(t, text[i] < vocab, "ngram: symbol %td of the %s text is %d, but vocab is %d", i,
                   what, text[i], vocab);
    return true;
}

static bool ngram_fits(at_tape *t, int order, double k, int vocab, ptrdiff_t n_held)
{
    AT_REQUIRE(t, order >= 1 && order <= 3, "ngram: order is %d, but must be 1, 2 or 3", order);
    AT_REQUIRE(t, k > 0 && isfinite(k), "ngram: k is %g, but must be positive", k);
    AT_REQUIRE(t, vocab >= 1 && vocab <= 256, "ngram: vocab is %d, but must be 1 to 256", vocab);
    AT_REQUIRE(t, n_held > 2, "ngram: %td held-out symbols, but at least 3 are needed", n_held);
    return true;
}

double ngram_nats(at_tape *t, int order, double k, int vocab, const unsigned char *train,
                  ptrdiff_t n_train, const unsigned char *held, ptrdiff_t n_held)
{
    if (!ngram_fits(t, order, k, vocab, n_held) ||
        !symbols_fit(t, "training", train, n_train, vocab) ||
        !symbols_fit(t, "held-out", held, n_held, vocab))
        return (double)NAN;
    size_t V = (size_t)vocab, rows = 1;
    for (int i = 1; i < order; i++) rows *= V;

    at_mark here = at_mark_here(t);
    uint32_t *count = at_step_alloc(t, rows * V * sizeof *count);
    uint32_t *total = at_step_alloc(t, rows * sizeof *total);
    if (!at_ok(t)) return (double)NAN;
    memset(count, 0, rows * V * sizeof *count);
    memset(total, 0, rows * sizeof *total);
    for (ptrdiff_t i = order - 1; i < n_train; i++) {
        size_t row = context_at(train, i, order, vocab);
        count[row * V + train[i]]++;
        total[row]++;
    }

    double nats = 0;
    for (ptrdiff_t i = 2; i < n_held; i++) {
        size_t row = context_at(held, i, order, vocab);
        nats -= log((count[row * V + held[i]] + k) / (total[row] + k * vocab));
    }
    at_rewind(t, here);
    return nats / (double)(n_held - 2);
}
