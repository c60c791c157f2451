/* sample.h -- drawing the next symbol from logits. */
#ifndef AT_TRAIN_SAMPLE_H
#define AT_TRAIN_SAMPLE_H
#include "autograd/tape.h"
AT_BEGIN_C

typedef struct {
    double temperature; /* divides the logits; 0: the most likely symbol, always */
    int top_k;          /* only the k most likely; 0: off */
    double top_p;       /* only the fewest most likely whose probabilities reach p; 0: off
                           (Holtzman, Buys, Du, Forbes, Choi 2020: nucleus sampling) */
} at_sample_args;

/* Draws from softmax(logits / temperature), restricted as asked, with the index-th number of the
 * stream.  The logits are elements first .. first + n - 1 of the tensor.  Returns the symbol,
 * 0 .. n-1; or -1 after a sticky error of the tensor's tape, which all but these are: n >= 1, no
 * logit NaN, the largest finite, temperature and top_k >= 0, top_p in 0 .. 1.  -1 also for NULL. */
AT_API int at_sample(const at_tensor *logits, ptrdiff_t first, int n, at_sample_args args,
                     at_stream stream, uint64_t index);

/* The same from one row of logits [..., V], of all its V elements: row 0, 1 ... in memory order, -1
 * the last, -2 the one before.  A row that is not there is a sticky error, too.
 *
 *     at_tensor *logits = at_model_logits(t, m, ids, (at_model_args){0});       [1,T,V]
 *     int next = at_sample_row(logits, -1, how, stream, 0);                     what follows all */
AT_API int at_sample_row(const at_tensor *logits, ptrdiff_t row, at_sample_args args,
                         at_stream stream, uint64_t index);

AT_END_C
#endif
