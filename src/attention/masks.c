/* masks.c -- builders of masks; see masks.h.
 *
 * Every pattern is a rule for which j the row i keeps, written row by row.  Nothing is recorded: a
 * mask is a leaf, as if the caller had filled it.  Only what combines masks is made of ops. */
#include "attention/masks.h"

#include <string.h>

#include "attention/plan.h"
#include "ops/map.h"
#include "ops/ops.h"

/* [T,N] of zeros, to be filled */
static at_tensor *keep_none(at_tape *t, const char *name, int T, int N)
{
    AT_REQUIRE(t, T >= 0 && N >= 0, "%s: %d queries and %d keys, but neither can be negative", name,
               T, N);
    at_tensor *keep = at_blank(t, ATTIC_BOOL, at_shape_of(T, N));
    if (keep) memset(keep->data, 0, at_bytes(keep));
    return keep;
}

static unsigned char *keep_row(at_tensor *keep, ptrdiff_t i)
{
    return (unsigned char *)keep->data + i * at_last(keep->shape);
}

/* T; 0 of a mask without cells, whose rows need not be passed. */
static int keep_rows(const at_tensor *keep)
{
    return keep && at_last(keep->shape) ? keep->shape.dim[0] : 0;
}

/* Row i keeps i + offset - left < j < i + offset + right; 0: no limit. */
static at_tensor *keep_band(at_tape *t, const char *name, int T, int N, int left, int right,
                            at_align align, int offset)
{
    int64_t diagonal;
    if (!at_sdpa_diagonal(t, name, left || right, align, offset, T, N, &diagonal)) return NULL;
    at_tensor *keep = keep_none(t, name, T, N);
    at_sdpa_plan p = {.N = N, .offset = diagonal, .window_left = left, .window_right = right};
    for (int i = 0; i < keep_rows(keep); i++) {
        at_sdpa_range range = at_sdpa_range_of(&p, NULL, 0, i);
        memset(keep_row(keep, i) + range.lo, 1, (size_t)(range.hi - range.lo));
    }
    return keep;
}

at_tensor *at_keep_causal(at_tape *t, int T, int N, at_align align, int offset)
{
    return keep_band(t, "keep_causal", T, N, 0, 1, align, offset);
}

at_tensor *at_keep_window(at_tape *t, int T, int N, int left, int right, at_align align, int offset)
{
    AT_REQUIRE(t, left >= 0 && right >= 0,
               "keep_window: %d keys to the left and %d to the right, but neither can be negative "
               "(0 means no limit, 1 the diagonal alone)",
               left, right);
    return keep_band(t, "keep_window", T, N, left, right, align, offset);
}

/* Every query keeps the keys of the list, the queries of the list keep every key: one of the two,
 * or both. */
static at_tensor *keep_stripes(at_tape *t, const char *name, int T, int N, const char *what,
                               const int *list, int n, bool keys, bool queries)
{
    at_tensor *keep = keep_none(t, name, T, N);
    const int size = keys ? N : T;
    AT_REQUIRE(t, n >= 0, "%s: a list of n = %d, but n can't be negative", name, n);
    AT_REQUIRE(t, list || n == 0, "%s: %s is NULL, but n = %d", name, what, n);
    for (int k = 0; k < n; k++) {
        AT_REQUIRE(t, list[k] >= 0 && list[k] < size, "%s: %s[%d] is %d, but must be in 0..%d",
                   name, what, k, list[k], size - 1);
        for (int i = 0; keys && i < T; i++) keep_row(keep, i)[list[k]] = 1;
        if (queries) memset(keep_row(keep, list[k]), 1, (size_t)N);
    }
    return keep;
}

at_tensor *at_keep_vertical(at_tape *t, int T, int N, const int *key, int n)
{
    return keep_stripes(t, "keep_vertical", T, N, "key", key, n, true, false);
}

at_tensor *at_keep_horizontal(at_tape *t, int T, int N, const int *query, int n)
{
    return keep_stripes(t, "keep_horizontal", T, N, "query", query, n, false, true);
}

at_tensor *at_keep_global_at(at_tape *t, int T, const int *token, int n)
{
    return keep_stripes(t, "keep_global_at", T, T, "token", token, n, true, true);
}

at_tensor *at_keep_global(at_tape *t, int T, int n)
{
    at_tensor *keep = keep_none(t, "keep_global", T, T);
    AT_REQUIRE(t, n >= 0 && n <= T, "keep_global: the first %d of %d tokens", n, T);
    for (int i = 0; keep && i < T; i++) memset(keep_row(keep, i), 1, (size_t)(i < n ? T : n));
    return keep;
}

at_tensor *at_keep_blocks(at_tape *t, int T, int N, int size)
{
    AT_REQUIRE(t, size >= 1, "keep_blocks: blocks of %d, but there must be something in them",
               size);
    at_tensor *keep = keep_none(t, "keep_blocks", T, N);
    for (int i = 0; i < keep_rows(keep); i++) {
        int lo = i / size * size, hi = N - lo < size ? N : lo + size;
        if (lo < hi) memset(keep_row(keep, i) + lo, 1, (size_t)(hi - lo));
    }
    return keep;
}

at_tensor *at_keep_segments(at_tape *t, at_tensor *q, at_tensor *k)
{
    AT_INPUT(t, "keep_segments", q, ATTIC_I32);
    AT_INPUT(t, "keep_segments", k, ATTIC_I32);
    at_shape Q = q->shape, K = k->shape;
    AT_REQUIRE(t, (Q.ndim == 1 || Q.ndim == 2) && K.ndim == Q.ndim,
               "keep_segments: q is %s and k is %s, but they must be [T] and [N], or [B,T] and "
               "[B,N]",
               at_text(q), at_text(k));
    AT_REQUIRE(t, Q.ndim == 1 || Q.dim[0] == K.dim[0],
               "keep_segments: q is %s but k is %s: the batches, %d and %d, differ", at_text(q),
               at_text(k), Q.dim[0], K.dim[0]);
    int T = at_last(Q), N = at_last(K), B = Q.ndim == 2 ? Q.dim[0] : 1;
    at_tensor *keep =
        at_blank(t, ATTIC_BOOL, Q.ndim == 2 ? at_shape_of(B, 1, T, N) : at_shape_of(T, N));
    if (!keep) return NULL;
    for (ptrdiff_t i = 0; i < (ptrdiff_t)B * T; i++) {
        const int32_t mine = ((const int32_t *)q->data)[i];
        const int32_t *key = (const int32_t *)k->data + i / T * N;
        for (int j = 0; j < N; j++) keep_row(keep, i)[j] = key[j] == mine;
    }
    return keep;
}

at_tensor *at_keep_lengths(at_tape *t, at_tensor *len, int N)
{
    AT_INPUT(t, "keep_lengths", len, ATTIC_I32);
    AT_REQUIRE(t, len->shape.ndim == 1, "keep_lengths: len is %s, but must be [B]", at_text(len));
    const int B = len->shape.dim[0], *n = len->data;
    for (int b = 0; b < B; b++)
        AT_REQUIRE(t, n[b] >= 0 && n[b] <= N, "keep_lengths: len[%d] is %d, but there are %d keys",
                   b, n[b], N);
    at_tensor *keep = at_blank(t, ATTIC_BOOL, at_shape_of(B, 1, 1, N));
    for (int b = 0; keep && b < B; b++)
        for (int j = 0; j < N; j++) keep_row(keep, b)[j] = j < n[b];
    return keep;
}

at_tensor *at_keep_unpadded(at_tape *t, at_tensor *id, int pad)
{
    AT_INPUT(t, "keep_unpadded", id, ATTIC_I32);
    at_shape s = id->shape;
    AT_REQUIRE(t, s.ndim == 1 || s.ndim == 2, "keep_unpadded: id is %s, but must be [N] or [B,N]",
               at_text(id));
    at_tensor *keep =
        at_blank(t, ATTIC_BOOL,
                 s.ndim == 1 ? at_shape_of(1, s.dim[0]) : at_shape_of(s.dim[0], 1, 1, s.dim[1]));
    if (!keep) return NULL;
    unsigned char *y = keep->data;
    for (ptrdiff_t n = at_count(s), i = 0; i < n; i++) y[i] = ((const int32_t *)id->data)[i] != pad;
    return keep;
}

at_tensor *at_keep_from_drop(at_tape *t, at_tensor *drop)
{
    AT_INPUT(t, "keep_from_drop", drop, ATTIC_BOOL);
    return at_not(t, drop);
}

at_keep_tally at_keep_count(const at_tensor *keep)
{
    at_keep_tally n = {0};
    if (!keep || !at_check_input(keep->tape, "keep_count", "keep", keep, ATTIC_BOOL)) return n;
    n.cells = at_count(keep->shape);
    n.rows = at_rows(keep->shape);
    const unsigned char *row = keep->data;
    const ptrdiff_t N = at_last(keep->shape);
    for (ptrdiff_t r = 0; r < n.rows; r++, row += N) {
        ptrdiff_t kept = 0;
        for (ptrdiff_t j = 0; j < N; j++) kept += row[j] != 0;
        n.kept += kept;
        n.empty_rows += kept == 0;
    }
    if (n.cells) n.fraction = (double)n.kept / (double)n.cells;
    return n;
}
