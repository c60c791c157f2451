/* position.h -- biases that tell attention how far a key is from its query.
 *
 *     d = j - (i + offset)        negative: key j is before query i
 *
 *     learned     bias_hij = table_(clip(d, -n, n) + n) h        (Shaw et al. 2018, as a bias)
 *     T5          bias_hij = table_(bucket(d)) h                 (Raffel et al. 2020)
 *     ALiBi       bias_hij = -slope_h |d|                        (Press et al. 2022)
 *     its row     bias_hj  = slope_h j                           under a causal mask the same
 *
 * Each is a tensor [1,H,T,N] to be given to at_sdpa as args.bias, for all three layouts of Q and K;
 * with 2-D or 3-D inputs, which have one head, H = 1.  Gradients flow back to the table and to the
 * slopes.  offset means what it does in at_sdpa: the number of keys before the first query, as when
 * a cache holds them.
 *
 *     at_tensor *table = at_param(t, "relative", at_shape_of(2 * 16 + 1, H), at_normal(0.02));
 *     at_tensor *bias = at_relative_bias(t, table, T, T, 0);
 *     at_tensor *O = at_sdpa(t, Q, K, V, (at_sdpa_args){.bias = bias, .causal = true});
 *
 * (Rotary positions are no bias: at_rope, and `rope` of the attention layer.) */
#ifndef AT_ATTENTION_POSITION_H
#define AT_ATTENTION_POSITION_H
#include "ops/ops.h"
AT_BEGIN_C

/* table [2n+1,H]: one number per head for each distance -n .. n; keys farther away than n count as
 * n away.  n = 0 is one number for all. */
AT_API at_tensor *at_relative_bias(at_tape *t, at_tensor *table, int T, int N, int offset);

typedef struct {
    bool causal;      /* keys ahead all share bucket 0; else half of the buckets are for them */
    int max_distance; /* keys at least so far away share the last bucket; 128 if 0 */
    int offset;
} at_t5_args;

/* The bucket of distance d, for one direction with M buckets (M = buckets, or half of them for
 * either direction), n = |d| and m = M/2: exact near by, logarithmic farther away.
 *
 *     n                                                  n < m
 *     m + floor(log(n/m) / log(max_distance/m) (M-m))    n >= m, but at most M-1
 *
 * M = 16, max_distance = 128:
 *
 *     n       0 1 2 3 4 5 6 7  8-11  12-15  16-22  23-31  32-45  46-63  64-90  91-...
 *     bucket  0 1 2 3 4 5 6 7   8      9      10     11     12     13     14     15
 *
 * Without `causal`, keys ahead (d > 0) have M + that.  With it they have 0: they are masked, or see
 * no difference.  buckets >= 2 with `causal`, else even and >= 4; max_distance > m.  -1 if these do
 * not hold. */
AT_API int at_t5_bucket(int d, int buckets, at_t5_args args);

/* table [buckets,H], as T5 keeps it.  One of them usually serves all layers. */
AT_API at_tensor *at_t5_bias(at_tape *t, at_tensor *table, int T, int N, at_t5_args args);

/* A constant [H]:  slope_h = 2^(-8 (h+1) / H)  if H is a power of two.  Else the slopes of P heads,
 * P being the power of two below, and then the 1st, 3rd, 5th ... slope of 2 P heads:
 *
 *     H = 8    1/2  1/4  1/8  1/16  1/32  1/64  1/128  1/256
 *     H = 3    1/16  1/256  and  1/4 */
AT_API at_tensor *at_alibi_slopes(at_tape *t, int H);

/* slope [H]: those above, or learned ones.  Nothing else is there to learn.  Without a causal mask,
 * keys ahead are as far as keys behind. */
AT_API at_tensor *at_alibi_bias(at_tape *t, at_tensor *slope, int T, int N, int offset);

/* slope [H] -> bias [1,H,1,N], bias_hj = slope_h j: ALiBi under a causal mask, in memory O(H N).
 *
 *     -slope (i - j) = slope j - slope i        for j <= i, and a softmax does not see what all
 *                                               scores of its row i share
 *
 * So weights, output and gradients are those of at_alibi_bias, for any number of queries and any
 * offset; but not the scores themselves, and so neither lse nor what a sink takes: not for args.lse
 * and args.sink, and not for attention to keys ahead.
 *
 * Error: the bias grows to slope N and is rounded there, so a weight is wrong by up to some
 * slope N eps of itself, at most three times as much where it was measured (eps = 6e-8 in f32;
 * slope 1/2: 3e-6 for N = 128, 1e-4 for 4096).  docs/variants.md has a table. */
AT_API at_tensor *at_alibi_row_bias(at_tape *t, at_tensor *slope, int N);

AT_END_C
#endif
