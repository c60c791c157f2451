/* masks.h -- masks: which keys each query attends to.
 *
 * A mask is a bool tensor in which 1 means attend.  Texts disagree about that, so every name here
 * says "keep"; what another text calls a mask is made into one by
 *
 *     1 = masked (torch's key_padding_mask)      at_keep_from_drop(t, drop)
 *     0 = masked                                 as it is
 *     added to the scores, 0 or -inf             no mask but a bias: args.bias = M
 *     added before they are divided by sqrt(D)   the same; (Q K^T + M) / sqrt(D) with a finite M is
 *                                                args.bias = at_scale(t, M, 1 / sqrt(D))
 *
 * A mask goes to at_sdpa as args.keep.  Its shape is [T,N], T queries by N keys, the same for all
 * batches and heads; or, where every batch has its own, [B,1,T,N] or [B,1,1,N].  Masks are
 * constants: no gradient flows through them, and what they were made from is read once.  They live
 * as all step memory does.
 *
 * Combining them intersects or unites the sets of keys, by the ops at_and, at_or and at_not, which
 * a replay runs again.  A decoder over padded sentences:
 *
 *     at_and(t, at_keep_causal(t, T, T, ATTIC_ALIGN_EQUAL, 0), at_keep_lengths(t, len, T))
 *
 * (at_sdpa does causal, window and lengths by itself, faster: a mask is for all else, and for
 * looking at.)
 *
 * In the drawings, queries go down, keys across, # is 1.  plot/grid.h prints a mask like this. */
#ifndef AT_ATTENTION_MASKS_H
#define AT_ATTENTION_MASKS_H
#include "attention/attention.h"
AT_BEGIN_C

/* The past: key j for query i when j <= i + offset.  align and offset as in attention.h; T != N
 * needs an alignment, or is an error.
 *
 *     #....      T = 3, N = 5:  #....     ###..
 *     ##...      top-left       ##...     ####.    bottom-right
 *     ###..                     ###..     #####
 *     ####.
 *     ##### */
AT_API at_tensor *at_keep_causal(at_tape *t, int T, int N, at_align align, int offset);

/* The neighbourhood: i + offset - left < j < i + offset + right.  1 is the diagonal alone, 0 no
 * limit on that side: window_left and window_right of at_sdpa.
 *
 *     ##...      #....      #....
 *     ###..      ##...      .#...
 *     .###.      ###..      ..#..
 *     ..###      .###.      ...#.
 *     ...##      ..###      ....#
 *     2, 2       3, 1       1, 1 */
AT_API at_tensor *at_keep_window(at_tape *t, int T, int N, int left, int right, at_align align,
                                 int offset);

/* Vertical: these n keys, for every query.  Horizontal: every key, for these n queries.  Global, in
 * self-attention: both, so that these tokens see all and are seen by all; the first n, or a list
 * (Longformer: Beltagy, Peters, Cohan 2020; BigBird: Zaheer et al. 2020).  Numbers outside of the
 * mask are an error, one given twice is not.
 *
 *     .#..#      .....      ##########
 *     .#..#      #####      ##########
 *     .#..#      .....      ##........
 *     .#..#      .....      ##........
 *     .#..#      .....      ##........
 *     keys 1, 4  query 1    the first 2 */
AT_API at_tensor *at_keep_vertical(at_tape *t, int T, int N, const int *key, int n);
AT_API at_tensor *at_keep_horizontal(at_tape *t, int T, int N, const int *query, int n);
AT_API at_tensor *at_keep_global(at_tape *t, int T, int n);
AT_API at_tensor *at_keep_global_at(at_tape *t, int T, const int *token, int n);

/* Block-diagonal: i and j are in the same stretch of `size` positions, i / size = j / size.
 *
 *     ##...
 *     ##...
 *     ..##.
 *     ..##.
 *     ....#     size 2 */
AT_API at_tensor *at_keep_blocks(at_tape *t, int T, int N, int size);

/* The same for stretches of any length, or scattered ones: query i keeps key j when they have the
 * same segment.  Several texts packed in one row: the segment is the number of the text.  q, k i32
 * [T] and [N] -> [T,N]; [B,T] and [B,N] -> [B,1,T,N]; k = q in self-attention.
 *
 *     0 ##..#
 *     0 ##..#
 *     1 ..##.
 *     1 ..##.
 *     0 ##..#
 *       00110 */
AT_API at_tensor *at_keep_segments(at_tape *t, at_tensor *q, at_tensor *k);

/* The first len_b of N keys, in batch b.    len i32 [B], 0 <= len_b <= N  ->  [B,1,1,N]
 *
 *     ###..
 *     #####     lengths 3, 5: one row for all queries of a batch */
AT_API at_tensor *at_keep_lengths(at_tape *t, at_tensor *len, int N);
/* All keys but those whose id is `pad`, wherever they are.  Beware of an id that is a
 * word as well.    id i32 [B,N] -> [B,1,1,N]; [N] -> [1,N] */
AT_API at_tensor *at_keep_unpadded(at_tape *t, at_tensor *id, int pad);

/* drop: 1 = masked.  It is at_not, said so that the polarity can't be mistaken.  The at_not of a
 * mask is also the `where` of at_masked_fill, which is 1 where something is filled. */
AT_API at_tensor *at_keep_from_drop(at_tape *t, at_tensor *drop);

typedef struct {
    ptrdiff_t cells, kept;
    ptrdiff_t rows, empty_rows; /* empty: nothing kept; there O = 0 */
    double fraction;            /* kept / cells; 0 of nothing */
} at_keep_tally;
/* Of the mask as it is, [...,N]: what broadcasting will repeat counts once.  All zero after an
 * error. */
AT_API at_keep_tally at_keep_count(const at_tensor *keep);

AT_END_C
#endif
