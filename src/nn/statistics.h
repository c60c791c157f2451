/* statistics.h -- statistics of attention, and a monitor that notices when heads collapse.
 *
 * Heads can stop working while the loss still looks fine.  Two ways are known: all weight of a row
 * on one key, so that no gradient passes the softmax (entropy collapse: Zhai et al. 2023), and the
 * same row for every query, so that all outputs are one vector (rank collapse: Dong, Cordonnier,
 * Loukas 2021).  The statistics of a head with weights P [B,T,N], whose row i keeps n_i keys, are
 *
 *     entropy    mean_i -sum_j P_ij ln P_ij          in nats: 0 is one key; exp(entropy) keys count
 *     most       mean_i ln n_i                       its largest value: equal weights
 *     largest    mean_i max_j P_ij
 *     similarity mean_i sum_j min(P_ij, P'_j)        of rows: 1 if all are the same;
 *                                                    P'_j = mean_i P_ij, the average row of a batch
 *     kept       sum_i n_i / (T N)
 *
 * over all rows with n_i >= 2 (kept: over all).  n_i comes from the mask and not from the weights
 * above 0, for in f32 a collapsed head has few of those.
 *
 *     at_monitor *w = at_monitor_make(t, layers, heads, (at_monitor_args){.hook = warn});
 *     ...                                    now and then, in evaluation mode: a forward that
 *     for (int l = 0; l < layers; l++) at_monitor_update(t, w, l, weights[l], causal);
 *     at_monitor_print(w, 0, stdout);        leaves weights[l], those of layer l
 *
 * P is what at_sdpa gives as `probs`, or as `weights` where nothing is dropped. */
#ifndef AT_NN_STATISTICS_H
#define AT_NN_STATISTICS_H
#include <stdio.h>

#include "autograd/tape.h"
AT_BEGIN_C

typedef struct {
    double entropy, most, largest, similarity, kept;
    ptrdiff_t rows; /* with n_i >= 2; if there are none, all but kept is 0 */
} at_head_statistics;

/* Head h of `heads`.  P [T,N], [B,T,N], [B,H,T,N], or with heads > 1 also [H,T,N].  keep: bool, 1 =
 * attend, as for at_sdpa: broadcast to P's shape or to [B,H,T,N]; NULL: every key is kept.  What is
 * not kept is not read.  similarity is 0 where no sequence has two rows with n_i >= 2.  All 0 after
 * an error. */
AT_API at_head_statistics at_head_statistics_of(at_tape *t, const at_tensor *P,
                                                const at_tensor *keep, int heads, int h);

typedef enum {
    ATTIC_HEAD_FINE,
    ATTIC_HEAD_LOW_ENTROPY, /* low entropy, every row has one key: entropy < low_entropy * most */
    ATTIC_HEAD_ONE_KEY,     /* low entropy and similar rows: one key for all of them */
    ATTIC_HEAD_UNIFORM,     /* no key is preferred: entropy > uniform * most */
    ATTIC_HEAD_SIMILAR, /* similar rows, whatever the query: similarity > the limit of that name */
    ATTIC_HEAD_NAN      /* there are NaNs among the kept weights */
} at_head_state;
AT_API const char *at_head_text(at_head_state s); /* "low-entropy" */

typedef struct at_monitored at_monitored;
typedef void at_monitor_hook(void *ctx, int layer, int head, const at_monitored *h);

/* The limits are conventions.  What they mean:
 *
 *     low_entropy  a row counts less than n^0.02 keys: 1.09 of 64, 1.15 of 1000.  So does a head
 *                  that copies: where a task wants that, lower the limit
 *     uniform      KL(P, equal weights) is < 0.01 ln n, hence (Pinsker) the weight that would have
 *                  to be moved < sqrt(0.005 ln n): 0.14 of 64 keys.  Most heads begin like that
 *     similarity   a row differs from the average row by 0.05 of its weight, hence an output from
 *                  the average one by at most 0.1 times the longest value
 *
 * A limit that nothing can pass switches it off: low_entropy = -1, uniform = 2, similarity = 2. */
typedef struct {
    double low_entropy, uniform, similarity; /* 0.02, 0.99, 0.95 if 0 */
    int patience;          /* equal verdicts in a row that become the state; 3 if 0 */
    at_monitor_hook *hook; /* called at every change of a state, to the worse and back; or NULL */
    void *ctx;             /* for the hook */
} at_monitor_args;

/* Statistics without rows are fine. */
AT_API at_head_state at_head_verdict(at_head_statistics stats, at_monitor_args limits);

struct at_monitored {
    at_head_statistics statistics; /* the last one */
    at_head_state verdict,
        state;    /* the last one; the last that was given `patience` times in a row */
    int in_a_row; /* times that this verdict was given */
};

typedef struct {
    at_monitor_args args;
    int layers, heads;
    at_monitored *head; /* of head h of layer l: head[l * heads + h] */
} at_monitor;

/* Every head begins fine.  Lives until at_close.  NULL after a sticky error. */
AT_API at_monitor *at_monitor_make(at_tape *t, int layers, int heads, at_monitor_args args);

/* Takes the statistics of all heads of a layer, judges them, and calls the hook for each head whose
 * state has changed: after `patience` equal verdicts, but for NaNs at once.  False after a sticky
 * error. */
AT_API bool at_monitor_update(at_tape *t, at_monitor *w, int layer, const at_tensor *P,
                              const at_tensor *keep);

/* The layer's last statistics in one line, without a newline: the statistics of head 0, 1, ...
 *
 *     entropy 2.61 2.55 2.71 2.60 of 3.23   largest 0.21 0.22 0.19 0.20   kept 0.51 */
AT_API void at_monitor_print(const at_monitor *w, int layer, FILE *out);

/* For a hook: "block 0 head 2 is low-entropy (3 in a row): entropy 0.04 of 3.23, largest 0.99,
 * similarity 0.20".  Lives as long as at_shape_text's. */
AT_API const char *at_monitor_text(int layer, int head, const at_monitored *h);

AT_END_C
#endif
