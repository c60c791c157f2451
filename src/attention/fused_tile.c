/* fused_tile.c -- lays a tile of attention, finds what is kept of it, multiplies; see fused_tile.h.
 *
 * WHAT IS KEPT is found in three steps, from cheap to expensive.
 *
 *     1  Which keys do causal, window and key_len leave to any row?  Their bounds move to the right
 *        only, from row to row, so the first row and the last one answer for all.
 *     2  Which of these keys do `keep`, a bias of -inf, and ids that return (documents.h) leave to
 *        any row?  The tile is narrowed to them, and not computed if there are none.
 *     3  Is every cell kept that is left?  Then the tile needs no mask.
 *
 * MASKED MEANS NOT READ, though a product of tiles multiplies every cell: where P or dX is masked
 * it is made exactly 0, which silences every finite number; and rows with a NaN or infinity are
 * taken out of the product (read as 0) and added by hand for the cells that are kept. */
#include "attention/fused_tile.h"

#include "kernels/half.h"
#include "kernels/real.h"
#include "kernels/simd_transpose.h"

enum {
    TILE_LINE = 64,   /* bytes */
    TILE_COPIED = 64, /* columns that a product may copy at a time */
    TILE_COLUMNS = 8, /* of a product without the rows that are not finite, at a time */
};

/* `rows`, filled up to whole vectors of reals of this size */
static int tile_wide(int rows, size_t real)
{
    int lanes = VEC_BYTES / (int)real;
    return (rows + lanes - 1) / lanes * lanes;
}

/* The next `bytes` of `space`; NULL without a space, where they are only counted. */
static void *tile_take(void *space, size_t *total, size_t bytes)
{
    size_t at = at_sdpa_take(total, bytes);
    return at_sdpa_after(space, at);
}

/* Lays the arrays of a tile into `space`; returns the bytes that it must have. */
static size_t tile_lay(const at_sdpa_plan *p, void *space, sdpa_tile *x)
{
    const size_t ld = (size_t)tile_wide(p->T < p->tile ? p->T : p->tile, sizeof(REAL));
    const size_t keys = (size_t)(p->N < AT_SDPA_KEYS ? p->N : AT_SDPA_KEYS);
    const size_t rows = ld * sizeof(REAL), cells = rows * keys;
    size_t total = 0;
    x->Qt = tile_take(space, &total, rows * (size_t)p->D);
    x->s = tile_take(space, &total, cells);
    x->m = tile_take(space, &total, rows);
    x->l = tile_take(space, &total, rows);
    x->delta = tile_take(space, &total, rows);
    x->lo = tile_take(space, &total, rows);
    x->hi = tile_take(space, &total, rows);
    x->mask = tile_take(space, &total, ld * keys);
    x->z = p->dropout > 0 ? tile_take(space, &total, cells) : NULL;
    x->slope = p->cap > 0 ? tile_take(space, &total, cells) : NULL;
    x->d = tile_take(space, &total, cells);
    x->dOt = tile_take(space, &total, rows * (size_t)p->Dv);
    const size_t widest = (size_t)(p->D > p->Dv ? p->D : p->Dv) * sizeof(REAL);
    x->wide = at_is_half(p->stored) ? tile_take(space, &total, keys * widest) : NULL;
    if (p->tangents) {
        x->dot.Qt = tile_take(space, &total, rows * (size_t)p->D);
        x->dot.dOt = tile_take(space, &total, rows * (size_t)p->Dv);
        x->dot.s = tile_take(space, &total, cells);
        x->dot.d = tile_take(space, &total, cells);
        x->dot.bend = p->cap > 0 ? tile_take(space, &total, cells) : NULL;
        x->dot.r = tile_take(space, &total, 3 * rows);
        x->dot.ref = space ? x->dot.r + ld : NULL;
        x->dot.delta = space ? x->dot.ref + ld : NULL;
    }
    x->gemm = (at_workspace){tile_take(space, &total, p->gemm), p->gemm, 1};
    return total;
}

size_t AT_REAL(sdpa_tile_bytes)(const at_sdpa_plan *p)
{
    sdpa_tile x;
    return tile_lay(p, NULL, &x);
}

sdpa_tile sdpa_tile_in(const sdpa_operands *call, int slot)
{
    sdpa_tile x = {.call = call};
    tile_lay(call->p, at_scratch(call->node, slot), &x);
    return x;
}

/* ------------------------------------------------------------------ rows ----------------------- */

void sdpa_transpose(const sdpa_tile *x, bool values, const REAL *X, REAL *to)
{
    const at_sdpa_plan *p = x->call->p;
    const at_sdpa_layout layout = values ? p->o : p->q;
    const int width = values ? p->Dv : p->D;
    if (!X) return;
    X += at_sdpa_row(layout, x->b, x->h, x->i0);
    for (int r = 0; r < x->ld; r += VEC_LANES, X += VEC_LANES * layout.row)
        for (int n = 0; n < width; n += VEC_LANES)
            vec_transpose_upto(x->rows - r, width - n, X + n, layout.row, to + n * x->ld + r,
                               x->ld);
}

/* The keys' rows of K or V: row k is at p + k row. */
typedef struct {
    const REAL *p;
    ptrdiff_t row;
} tile_rows;

/* `width` numbers each: as they are stored, or widened to x->wide. */
static tile_rows tile_stored_rows(const sdpa_tile *x, const REAL *X, at_sdpa_layout layout,
                                  int width)
{
    const ptrdiff_t at = at_sdpa_row(layout, x->b, x->h / x->call->p->group, x->j0);
    if (!x->wide) return (tile_rows){X + at, layout.row};
    const uint16_t *half = (const uint16_t *)(const void *)X + at;
    for (ptrdiff_t k = 0; k < x->keys; k++)
        widen(width, x->call->p->stored == ATTIC_BF16, half + k * layout.row, x->wide + k * width);
    return (tile_rows){x->wide, width};
}

void sdpa_select_rows(sdpa_tile *x, int b, int h, int i0)
{
    x->b = b, x->h = h, x->i0 = i0;
    x->rows = x->call->p->T - i0 < x->call->p->tile ? x->call->p->T - i0 : x->call->p->tile;
    x->ld = tile_wide(x->rows, sizeof(REAL));
    x->c = sdpa_factor(x->call, h);
}

/* ------------------------------------------------------------------ what is kept --------------- */

/* kept[k] = 1 where `keep`, bias and segments leave key k to row r, else 0 */
static void tile_row(const sdpa_tile *x, int r, unsigned char *restrict kept)
{
    const at_sdpa_plan *p = x->call->p;
    const int n = x->keys, i = x->i0 + r;
    memset(kept, 1, (size_t)n);
    if (x->call->keep) {
        const unsigned char *keep = x->call->keep + at_sdpa_cell(p->keep, x->b, x->h, i, x->j0);
        if (p->keep.j)
            for (int k = 0; k < n; k++) kept[k] = keep[k] != 0;
        else
            memset(kept, keep[0] != 0, (size_t)n);
    }
    if (x->call->bias) {
        const REAL *bias = x->call->bias + at_sdpa_cell(p->bias, x->b, x->h, i, x->j0);
        if (p->bias.j)
            for (int k = 0; k < n; k++)
                kept[k] = (uint8_t)(kept[k] & (VALUE(bias[k]) != MINUS_INFINITY));
        else if (VALUE(bias[0]) == MINUS_INFINITY)
            memset(kept, 0, (size_t)n);
    }
    for (int k = 0; x->call->segments && k < n; k++)
        if (!at_sdpa_together(x->call->segments, x->call->key_segments, i, x->j0 + k)) kept[k] = 0;
}

/* any[k] |= is key k kept by row r, all[k] &= the same.  Where there is a mask alone its bytes are
 * taken as they are.  A kept cell may have any byte but 0, and 1 & 2 = 0: then all[k] is 0 though
 * every row keeps k, and the tile gets a mask that it does not need.  That costs time, no more. */
static void tile_look(const sdpa_tile *x, int r, unsigned char *restrict any,
                      unsigned char *restrict all)
{
    unsigned char row[AT_SDPA_KEYS];
    const unsigned char *restrict kept = row;
    if (x->call->keep && x->call->p->keep.j && !x->call->bias && !x->call->segments) {
        kept = x->call->keep + at_sdpa_cell(x->call->p->keep, x->b, x->h, x->i0 + r, x->j0);
        __builtin_prefetch(kept + AT_SDPA_KEYS); /* of the next tile */
        __builtin_prefetch(kept + AT_SDPA_KEYS + TILE_LINE);
    } else {
        tile_row(x, r, row);
    }
    for (int k = 0; k < x->keys; k++) any[k] |= kept[k], all[k] &= kept[k];
}

/* Narrows the tile to the keys that `keep` and bias leave to a row of it; false if there are
 * none. */
static bool tile_narrow(sdpa_tile *x)
{
    unsigned char any[AT_SDPA_KEYS] = {0}, all[AT_SDPA_KEYS];
    const at_sdpa_plan *p = x->call->p;
    bool alike = (!x->call->keep || p->keep.i == 0) && (!x->call->bias || p->bias.i == 0) &&
                 !x->call->segments;
    memset(all, 0xFF, sizeof all);
    for (int r = 0; r < (alike ? 1 : x->rows); r++) tile_look(x, r, any, all);
    int lo = 0, hi = x->keys;
    while (lo < hi && !any[lo]) lo++;
    while (lo < hi && !any[hi - 1]) hi--;
    for (int k = lo; k < hi; k++) x->by_cell |= !all[k];
    x->j0 += lo;
    x->keys = hi - lo;
    return lo < hi;
}

/* lo of row r if `at` is x->from, hi if it is x->to.  The rows from x->rows to ld are like the last
 * one. */
static int tile_bound(const sdpa_tile *x, int at, int r)
{
    const int key = at + (r < x->rows ? r : x->rows - 1);
    return key < 0 ? 0 : key > x->keys ? x->keys : key;
}

/* lo and hi of each row: at_sdpa_range_of, counted from j0, but computed in the vector unit. */
static void tile_spans(sdpa_tile *x)
{
    const at_sdpa_plan *p = x->call->p;
    const int64_t most = INT32_MAX / 2, diagonal = x->i0 + p->offset - x->j0;
    int64_t left = p->window_left ? diagonal - p->window_left + 1 : -most;
    int64_t right = p->window_right ? diagonal + p->window_right : most;
    if (p->causal && right > diagonal + 1) right = diagonal + 1;
    x->from = (int)(left < -most ? -most : left), x->to = (int)(right > most ? most : right);
    const sdpa_tile tile = *x; /* no store to lo or hi changes a copy: the loop becomes vectors */
    for (int r = 0; r < tile.ld; r++) {
        tile.lo[r] = (REAL)tile_bound(&tile, tile.from, r);
        tile.hi[r] = (REAL)tile_bound(&tile, tile.to, r);
    }
}

static void tile_mask(const sdpa_tile *x)
{
    unsigned char row[AT_SDPA_KEYS];
    for (int r = 0; r < x->rows; r++) {
        tile_row(x, r, row);
        for (int k = 0; k < x->keys; k++) x->mask[k * x->ld + r] = row[k];
    }
    for (int k = 0; k < x->keys; k++)
        for (int r = x->rows; r < x->ld; r++) x->mask[k * x->ld + r] = 0;
}

bool sdpa_select_keys(sdpa_tile *x, int j0, int end)
{
    at_sdpa_range first = at_sdpa_range_of(x->call->p, x->call->key_len, x->b, x->i0);
    at_sdpa_range last = at_sdpa_range_of(x->call->p, x->call->key_len, x->b, x->i0 + x->rows - 1);
    int lo = j0 > first.lo ? j0 : first.lo, hi = end < last.hi ? end : last.hi;
    if (lo >= hi) return false;
    x->j0 = lo;
    x->keys = hi - lo;
    x->by_cell = false;
    if ((x->call->keep || x->call->bias || x->call->segments) && !tile_narrow(x)) return false;
    x->some = x->by_cell || x->j0 < last.lo || x->j0 + x->keys > first.hi;
    if (x->some) tile_spans(x);
    if (x->by_cell) tile_mask(x);
    return true;
}

at_sdpa_range sdpa_key_range(const sdpa_tile *x, ptrdiff_t r)
{
    if (!x->some) return (at_sdpa_range){0, x->keys};
    int lo = tile_bound(x, x->from, (int)r), hi = tile_bound(x, x->to, (int)r + VEC_LANES - 1);
    return lo < hi ? (at_sdpa_range){lo, hi} : (at_sdpa_range){0, 0};
}

/* Of the vector of rows at r and these keys, cells outside of lo and hi of their row become
 * `value`. */
static void tile_mask_out_spans(const sdpa_tile *x, ptrdiff_t r, at_sdpa_range keys, REAL value,
                                REAL *cells)
{
    const vec lo = vec_load(x->lo + r), hi = vec_load(x->hi + r);
    for (int j = keys.lo; j < keys.hi; j++) {
        const vec k = vec_of((REAL)j), y = vec_of(value);
        REAL *cell = cells + j * x->ld + r;
        vec_mask kept = (VALUE(lo) <= VALUE(k)) & (VALUE(k) < VALUE(hi));
        vec_store(cell, vec_pick(kept, vec_load(cell), y));
    }
}

void sdpa_fill(const sdpa_tile *x, ptrdiff_t r, REAL value, REAL *cells)
{
    const at_sdpa_range range = sdpa_key_range(x, r);
    const vec y = vec_of(value);
    for (int k = 0; k < range.lo; k++) vec_store(cells + k * x->ld + r, y);
    for (int k = range.hi; k < x->keys; k++) vec_store(cells + k * x->ld + r, y);
}

void sdpa_mask_out(const sdpa_tile *x, REAL value, REAL *restrict cells)
{
    const unsigned char *restrict mask = x->mask;
    const ptrdiff_t n = x->some ? x->keys * x->ld : 0;
    for (ptrdiff_t r = 0; x->some && r < x->ld; r += VEC_LANES) {
        at_sdpa_range range = sdpa_key_range(x, r);
        /* between lo and hi, all are kept */
        int lo = tile_bound(x, x->from, (int)r + VEC_LANES - 1), hi = tile_bound(x, x->to, (int)r);
        if (lo > hi) lo = hi = range.hi;
        if (lo < range.lo) lo = range.lo;
        tile_mask_out_spans(x, r, (at_sdpa_range){range.lo, lo}, value, cells);
        tile_mask_out_spans(x, r, (at_sdpa_range){hi, range.hi}, value, cells);
        sdpa_fill(x, r, value, cells);
    }
    for (ptrdiff_t i = 0; x->by_cell && i < n; i++) cells[i] = mask[i] ? cells[i] : value;
}

/* ------------------------------------------------------------------ scores --------------------- */

/* u = cap tanh(x/cap), and its slope */
static void tile_softcap(const sdpa_tile *x)
{
    const REAL cap = (REAL)x->call->p->cap;
    const ptrdiff_t n = x->keys * x->ld;
    REAL *restrict s = x->s, *restrict slope = x->slope;
    for (ptrdiff_t i = 0; i < n; i++) s[i] = OVER(s[i], cap);
    vtanh(n, s, s);
    for (ptrdiff_t i = 0; i < n; i++) {
        slope[i] = mul_add(-s[i], s[i], (REAL)1);
        s[i] *= cap;
    }
}

void sdpa_add_bias(const sdpa_tile *x, const REAL *bias, REAL *cells)
{
    const at_sdpa_cells at = x->call->p->bias;
    for (int r = 0; bias && r < x->rows; r++) {
        const REAL *row = bias + at_sdpa_cell(at, x->b, x->h, x->i0 + r, x->j0);
        for (int k = 0; k < x->keys; k++) cells[k * x->ld + r] += row[k * at.j];
    }
}

void sdpa_cell_products(const sdpa_tile *x, bool values, REAL alpha, const REAL *Y, const REAL *Xt,
                        REAL beta, REAL *cells)
{
    const at_sdpa_plan *p = x->call->p;
    const int width = !Y || !Xt ? 0 : values ? p->Dv : p->D;
    const at_strides at = {x->ld, 1, 0};
    tile_rows y = {x->Qt, 0};
    if (width == 0 && VALUE(beta) == 1) return;
    if (width > 0) y = tile_stored_rows(x, Y, values ? p->v : p->k, width);
    gemm(1, x->keys, (int)x->ld, width, alpha, y.p, (at_strides){y.row, 1, 0}, width ? Xt : x->Qt,
         at, beta, cells, at, x->gemm);
}

void sdpa_capped(sdpa_tile *x)
{
    sdpa_cell_products(x, false, x->c, x->call->K, x->Qt, 0, x->s);
    if (x->call->p->cap > 0) tile_softcap(x);
}

void sdpa_load_statistics(const sdpa_tile *x)
{
    const REAL *saved = sdpa_saved(x, 0);
    for (int r = 0; r < x->ld; r++, saved += AT_SDPA_SAVED) {
        bool is_row = r < x->rows;
        x->m[r] = is_row && VALUE(saved[0]) != MINUS_INFINITY ? saved[0] : 0;
        x->l[r] = is_row ? saved[1] : 0;
        x->delta[r] = is_row ? saved[2] : 0;
    }
}

void sdpa_probs(const sdpa_tile *x)
{
    const ptrdiff_t ld = x->ld;
    for (ptrdiff_t r = 0; r < ld; r += VEC_LANES) {
        const vec m = vec_load(x->m + r), l = vec_load(x->l + r);
        const at_sdpa_range range = sdpa_key_range(x, r);
        REAL *s = x->s + range.lo * ld + r;
        for (int k = range.lo; k < range.hi; k++, s += ld)
            vec_store(s, vec_exp_weight(vec_load(s) - m) * l);
    }
    sdpa_mask_out(x, 0, x->s);
}

void sdpa_drops(const sdpa_tile *x)
{
    const at_sdpa_plan *p = x->call->p;
    if (p->dropout == 0) return;
    const double below = at_sdpa_drop_below(p);
    const REAL scale = (REAL)(1 / (1 - p->dropout));
    uint32_t random[AT_SDPA_KEYS];
    if (x->rows < x->ld) memset(x->z, 0, (size_t)(x->keys * x->ld) * sizeof *x->z);
    for (int r = 0; r < x->rows; r++) {
        uint64_t cell = (uint64_t)(p->first_cell + at_sdpa_cell_number(p, x->b, x->h, x->i0 + r));
        cell += (uint64_t)x->j0;
        at_random_u32s(p->drops, cell, x->keys, random);
        for (int k = 0; k < x->keys; k++) x->z[k * x->ld + r] = random[k] >= below ? scale : 0;
    }
}

/* ------------------------------------------------------------------ sums ----------------------- */

/* Are `rows` rows of `width` numbers free of NaN and infinity?  0 times one of these is NaN. */
static bool tile_finite(int rows, int width, const REAL *X, ptrdiff_t row)
{
    vec zero[2] = {VEC_ZERO, VEC_ZERO};
    for (int k = 0; k < rows; k++, X += row) {
        int n = 0;
        for (; n + 2 * VEC_LANES <= width; n += 2 * VEC_LANES) {
            zero[0] = vec_mul_add(vec_of(0), vec_load(X + n), zero[0]);
            zero[1] = vec_mul_add(vec_of(0), vec_load(X + n + VEC_LANES), zero[1]);
        }
        for (; n + VEC_LANES <= width; n += VEC_LANES)
            zero[0] = vec_mul_add(vec_of(0), vec_load(X + n), zero[0]);
        if (n < width) zero[1] = vec_mul_add(vec_of(0), vec_load_first(width - n, X + n), zero[1]);
    }
    return VALUE(vec_sum(zero[0] + zero[1])) == 0;
}

/* C_m = beta C_m + alpha sum_k W_mk X_k
 *
 * m is a row and k a key; or, if `across`, m is a key and k a row. */
typedef struct {
    bool across;
    REAL alpha, beta;
    const REAL *W;
    const REAL *X; /* X_k, width numbers, is at X + k X_row */
    REAL *C;       /* C_m, width numbers, is at C + m C_row */
    int width;
    ptrdiff_t X_row, C_row;
} tile_sum;

/* The product for `width` columns from n0 on, of this X. */
static void tile_product(const sdpa_tile *x, const tile_sum *a, int n0, int width, const REAL *X,
                         ptrdiff_t X_row)
{
    int M = a->across ? x->keys : x->rows, L = a->across ? x->rows : x->keys;
    at_strides by_row = {1, x->ld, 0}, by_key = {x->ld, 1, 0}, n = {X_row, 1, 0};
    gemm(1, M, width, L, a->alpha, a->W, a->across ? by_key : by_row, X, n, a->beta, a->C + n0,
         (at_strides){a->C_row, 1, 1}, x->gemm);
}

/* Is cell (r,k) kept? */
static bool tile_kept(const sdpa_tile *x, int r, int k)
{
    if (!x->some) return true;
    const REAL j = (REAL)k;
    return VALUE(x->lo[r]) <= VALUE(j) && VALUE(j) < VALUE(x->hi[r]) &&
           (!x->by_cell || x->mask[k * x->ld + r]);
}

/* X_k, which is not finite, for the cells that are kept. */
static void tile_patch(const sdpa_tile *x, const tile_sum *a, int k)
{
    for (int m = 0; m < (a->across ? x->keys : x->rows); m++) {
        int row = a->across ? k : m, key = a->across ? m : k;
        if (!tile_kept(x, row, key)) continue;
        REAL W = a->alpha * a->W[key * x->ld + row];
        row_axpy(a->width, W, a->X + k * a->X_row, a->C + m * a->C_row);
    }
}

/* Rows that are not finite are read as 0, and patched in. */
static void tile_sum_finite(const sdpa_tile *x, const tile_sum *a)
{
    REAL clean[AT_SDPA_KEYS * TILE_COLUMNS];
    bool finite[AT_SDPA_KEYS];
    int L = a->across ? x->rows : x->keys;
    for (int k = 0; k < L; k++) finite[k] = tile_finite(1, a->width, a->X + k * a->X_row, a->X_row);
    for (int n0 = 0; n0 < a->width; n0 += TILE_COLUMNS) {
        int width = a->width - n0 < TILE_COLUMNS ? a->width - n0 : TILE_COLUMNS;
        for (int k = 0; k < L; k++)
            for (int n = 0; n < width; n++)
                clean[k * TILE_COLUMNS + n] = finite[k] ? a->X[k * a->X_row + n0 + n] : 0;
        tile_product(x, a, n0, width, clean, TILE_COLUMNS);
    }
    for (int k = 0; k < L; k++)
        if (!finite[k]) tile_patch(x, a, k);
}

/* The first of the rows of X that some row of the product must not read: the keys before it are
 * kept by all rows. */
static int tile_first_unread(const sdpa_tile *x, bool across)
{
    const bool from_begin = across || x->by_cell || tile_bound(x, x->from, x->rows - 1) > 0;
    return from_begin ? 0 : tile_bound(x, x->to, 0);
}

void sdpa_multiply(const sdpa_tile *x, sdpa_product a)
{
    const at_sdpa_plan *p = x->call->p;
    if (!a.X || !a.C) return;
    const at_sdpa_layout rows = a.values ? p->o : p->q, keys = a.values ? p->v : p->k;
    const ptrdiff_t row = at_sdpa_row(rows, x->b, x->h, x->i0);
    tile_sum s = {.across = a.across, .beta = a.beta, .W = a.W};
    s.alpha = a.values ? 1 : (REAL)p->c, s.width = a.values ? p->Dv : p->D;
    if (a.across) {
        s.X = a.X + row, s.X_row = rows.row;
        s.C = a.C + at_sdpa_row(keys, x->b, x->h / p->group, x->j0), s.C_row = keys.row;
    } else {
        const tile_rows X = tile_stored_rows(x, a.X, keys, s.width);
        s.X = X.p, s.X_row = X.row;
        s.C = a.C + row, s.C_row = rows.row;
    }
    const int n = a.across ? x->rows : x->keys;
    const int first = x->some ? tile_first_unread(x, a.across) : n;
    if (tile_finite(n - first, s.width, s.X + first * s.X_row, s.X_row))
        tile_product(x, &s, 0, s.width, s.X, s.X_row);
    else
        tile_sum_finite(x, &s);
}

#ifdef AT_ONCE

size_t at_sdpa_gemm_of(const at_sdpa_plan *p, size_t real)
{
    const int keys = p->raw || p->N < AT_SDPA_KEYS ? p->N : AT_SDPA_KEYS;
    const int rows = tile_wide(p->T < p->tile ? p->T : p->tile, real);
    return at_gemm_workspace(rows, keys, p->D > p->Dv ? p->D : p->Dv, TILE_COPIED, real);
}

#endif
