/* ngram.h -- n-gram models: the baselines of a language model. */
#ifndef COMMON_NGRAM_H
#define COMMON_NGRAM_H
#include "attic.h"

/* The cross-entropy, in nats per symbol, of the held-out text under an n-gram model of order 1, 2 or
 * 3 counted on the training text, with add-k smoothing (Lidstone):
 *
 *     p(c | ab) = (count(abc) + k) / (count(ab) + k vocab)
 *
 * Averaged over the held-out symbols from the third on, whatever the order, so that orders can be
 * compared.  Symbols are 0 .. vocab-1, vocab <= 256, k > 0.  NAN after a sticky error. */
double ngram_nats(at_tape *t, int order, double k, int vocab, const unsigned char *train,
                  ptrdiff_t n_train, const unsigned char *held, ptrdiff_t n_held);

#endif
