/* sdpa_tiled.c -- attention on tiles: the fused path.
 *
 * sdpa.c derives what is computed; here is how, without ever holding T x S numbers.  A tile is a block of
 * rows against a block of keys; its scores live in scratch memory, are turned into what is wanted of them
 * while they are in cache, and are forgotten.
 *
 *              keys j0 .. j0+keys-1
 *            +---------+---------+----
 *     rows   |         |         |           s   [rows,keys]    scores, then P, then A
 *     i0 ..  |  tile   |         |           d   [rows,keys]    dP, then dS, then dx
 *            +---------+---------+----
 *            |         |         |           all products, Q K^T and the other four of backward, are
 *                                            matrix products of whole tiles
 *
 * FORWARD.  One task takes a block of rows and goes along the keys.  It cannot know a row's maximum before
 * the last tile, so it keeps a running one, and corrects what it has when a larger one turns up:
 *
 *     m' = max(m, max_j s_ij)
 *     l' = exp(m - m') l   + sum_j exp(s_ij - m')
 *     O' = exp(m - m') O_i + sum_j exp(s_ij - m') z_ij V_j          and O_i = O' / l' at the end
 *
 * (the online softmax: Milakov, Gimelshein 2018; in attention: Rabe, Staats 2021; Dao et al. 2022).  Tiles of
 * which nothing is kept are not visited, and a tile is narrowed to the keys that some row of it may keep.
 *
 * BACKWARD.  delta first, then one sweep over the tiles, each doing its share of everything:
 *
 *     s = c Q K^T            P = exp(s - m) / l           A = P z
 *     d = dO V^T + dW        dS = P (z d - delta)         dx = dS slope
 *     dV += A^T dO           dK += c dx^T Q               dQ += c dx K
 *
 * A tile adds to dQ of its rows and to dK, dV of its keys.  So that tasks need not wait for each other, nor
 * their order matter, the sweep is held like a tournament: in round n, key block k meets row block
 * (k + n) mod N.  Within a round no two tasks share a row block or a key block, and all rounds together
 * are all pairs.  Every sum then has one fixed order, whatever the number of threads.
 *
 *     N = 3        keys 0   1   2
 *     rows 0            0   2   1        the round in which they meet
 *          1            1   0   2
 *          2            2   1   0
 *
 * dbias breaks the separation where bias is repeated: along batches or heads, these become one task;
 * along rows and keys at once, so do the key blocks.  Likewise for inputs that are one and the same tensor.
 *
 * MASKED MEANS NOT READ, though a product of tiles multiplies every cell: where P or dx is masked it is made
 * exactly 0, which silences every finite number; and rows with a NaN or infinity are taken out of the
 * product (read as 0) and added by hand for the cells that are kept.  See tiled_product. */
#include "ops/op.h"
#include "ops/sdpa_check.h"
#include "ops/sdpa_plan.h"

#ifndef REAL /* ---------------------------------- the op ---------------------------------- */

enum {
    TILED_ROWS = 128,
    TILED_KEYS = 256,
    TILED_LINE = 64,     /* bytes */
    TILED_EXP = 16,      /* multiply-adds that an exponential costs, or so */
    TILED_WORK = 1 << 16 /* of them that are worth waking a thread for */
};

/* Scratch memory of one worker: where each array begins, in bytes. */
typedef struct {
    int rows, keys; /* the largest tile; keys is also the length of a row of s, d and slope */
    size_t s, d, slope, z, random, kept, clean, total;
} tiled_room;

static size_t tiled_take(size_t *total, size_t bytes)
{
    size_t at = *total;
    *total += (bytes + TILED_LINE - 1) / TILED_LINE * TILED_LINE;
    return at;
}

static tiled_room tiled_room_of(const at_sdpa_plan *p, size_t real)
{
    tiled_room r = {0};
    r.rows = p->T < TILED_ROWS ? p->T : TILED_ROWS;
    r.keys = p->S < TILED_KEYS ? (p->S + 15) / 16 * 16 : TILED_KEYS;
    size_t keys = (size_t)r.keys, tile = (size_t)r.rows * keys * real;
    int longest = r.rows > r.keys ? r.rows : r.keys, widest = p->D > p->Dv ? p->D : p->Dv;
    r.s = tiled_take(&r.total, tile);
    r.d = tiled_take(&r.total, tile);
    r.slope = tiled_take(&r.total, p->cap > 0 ? tile : 0);
    r.z = tiled_take(&r.total, keys * real);
    r.random = tiled_take(&r.total, keys * sizeof(uint32_t));
    r.kept = tiled_take(&r.total, keys);
    r.clean = tiled_take(&r.total, (size_t)longest * (size_t)widest * real);
    return r;
}

size_t at_sdpa_tiled_scratch(const at_sdpa_plan *p, size_t real)
{
    return tiled_room_of(p, real).total;
}

static int tiled_blocks(int n, int size)
{
    return n / size + (n % size != 0);
}

/* Runs many small pieces of equal work as fewer tasks. */
typedef struct {
    void (*run)(void *ctx, int piece, int worker);
    void *ctx;
    int pieces, per_task;
} tiled_pieces;

static void tiled_run_pieces(void *pieces, int task, int worker)
{
    const tiled_pieces *p = pieces;
    int from = task * p->per_task, to = from + p->per_task;
    if (to > p->pieces) to = p->pieces;
    for (int i = from; i < to; i++) p->run(p->ctx, i, worker);
}

static void tiled_parallel(int pieces, double work_of_each, void (*run)(void *, int, int),
                           void *ctx)
{
    double per_task = 1 + TILED_WORK / (work_of_each + 1);
    tiled_pieces p = {run, ctx, pieces, per_task < pieces ? (int)per_task : pieces};
    if (pieces > 0) at_parallel(tiled_blocks(pieces, p.per_task), tiled_run_pieces, &p);
}

/* Items from .. to-1 of n are this task's: one if they are cut into tasks, else all. */
typedef struct {
    int from, to;
} tiled_part;

static tiled_part tiled_part_of(bool cut, int n, int *task)
{
    if (!cut) return (tiled_part){0, n};
    int mine = *task % n;
    *task /= n;
    return (tiled_part){mine, mine + 1};
}

#define AT_KERNELS "ops/sdpa_tiled.c"
#include "kernels/each_real.h"

const at_op at_sdpa_tiled_op = {"sdpa",
                                {tiled_forward_f32, tiled_forward_f64},
                                {tiled_backward_f32, tiled_backward_f64},
                                .makes_infinity = true}; /* the log-sum-exp of an empty row */

#else /* ------------------------------- its kernels ------------------------------- */

typedef struct {
    at_node *node;
    const at_sdpa_plan *p;
    REAL *Q, *K, *V, *bias, *O, *weights, *raw, *probs, *lse; /* NULL: not given, not asked for */
    REAL *dQ, *dK, *dV, *dbias, *dO, *dW;
    const unsigned char *keep;
    const at_tensor *key_len;
    REAL *saved; /* of each row: m; l, and 1/l in the end; kept or not, and delta in backward */
    at_sdpa_checks *checks; /* NULL: backward does not check itself */

    int round, rounds;        /* of the tournament */
    int key_blocks;           /* that meet in one round */
    bool cut_b, cut_g, cut_k; /* is each batch, head, key block a task of its own? */
} KERNEL(tiled_job);

/* Rows i0 .. i0+rows-1 of head h in batch b, against keys j0 .. j0+keys-1. */
typedef struct {
    const KERNEL(tiled_job) * job;
    const at_sdpa_plan *p;
    int b, h, i0, rows, j0, keys;
    ptrdiff_t ld;        /* length of a row of s, d and slope */
    REAL *s, *d, *slope; /* slope = du/dx, only with softcap */
    REAL *z, *clean;
    uint32_t *random;
    unsigned char *kept;
} KERNEL(tile);

static KERNEL(tile) KERNEL(tiled_tile)(const KERNEL(tiled_job) * job, int worker)
{
    tiled_room r = tiled_room_of(job->p, sizeof(REAL));
    void *room = at_scratch(job->node, worker);
    return (KERNEL(tile)){.job = job,
                          .p = job->p,
                          .ld = r.keys,
                          .s = at_sdpa_after(room, r.s),
                          .d = at_sdpa_after(room, r.d),
                          .slope = job->p->cap > 0 ? at_sdpa_after(room, r.slope) : NULL,
                          .z = at_sdpa_after(room, r.z),
                          .clean = at_sdpa_after(room, r.clean),
                          .random = at_sdpa_after(room, r.random),
                          .kept = at_sdpa_after(room, r.kept)};
}

/* Where the first row of the tile lies, in data or gradient. */
static REAL *KERNEL(tiled_q)(const KERNEL(tile) * x, REAL *Q)
{
    return Q + at_sdpa_row(x->p->q, x->b, x->h, x->i0);
}
static REAL *KERNEL(tiled_o)(const KERNEL(tile) * x, REAL *O)
{
    return O + at_sdpa_row(x->p->o, x->b, x->h, x->i0);
}
static REAL *KERNEL(tiled_o_row)(const KERNEL(tile) * x, int r, REAL *O)
{
    return KERNEL(tiled_o)(x, O) + r * x->p->o.row;
}
static REAL *KERNEL(tiled_k)(const KERNEL(tile) * x, REAL *K)
{
    return K + at_sdpa_row(x->p->k, x->b, x->h / x->p->group, x->j0);
}
static REAL *KERNEL(tiled_v)(const KERNEL(tile) * x, REAL *V)
{
    return V + at_sdpa_row(x->p->v, x->b, x->h / x->p->group, x->j0);
}
/* Where row r of the tile begins in a [B,H,T,S] tensor, and in what is saved. */
static REAL *KERNEL(tiled_cells)(const KERNEL(tile) * x, int r, REAL *cells)
{
    return cells + at_sdpa_cell_number(x->p, x->b, x->h, x->i0 + r) + x->j0;
}
static REAL *KERNEL(tiled_saved)(const KERNEL(tile) * x, int r)
{
    return x->job->saved + AT_SDPA_SAVED * at_sdpa_row_number(x->p, x->b, x->h, x->i0 + r);
}

/* ------------------------------------------------------------------ what is kept --------------- */

/* Keys of the tile that row r may keep, counted from j0. */
static at_sdpa_range KERNEL(tiled_span)(const KERNEL(tile) * x, int r)
{
    at_sdpa_range a = at_sdpa_range_of(x->p, x->job->key_len, x->b, x->i0 + r);
    int lo = a.lo - x->j0, hi = a.hi - x->j0;
    if (hi > x->keys) hi = x->keys;
    if (lo < 0) lo = 0;
    return lo < hi ? (at_sdpa_range){lo, hi} : (at_sdpa_range){0, 0};
}

/* Are there decisions cell by cell? */
static bool KERNEL(tiled_cellwise)(const KERNEL(tile) * x)
{
    return x->job->keep || x->job->bias;
}

static bool KERNEL(tiled_keeps)(const KERNEL(tile) * x, int r, int k)
{
    const at_sdpa_plan *p = x->p;
    at_sdpa_range span = KERNEL(tiled_span)(x, r);
    int i = x->i0 + r, j = x->j0 + k;
    if (k < span.lo || k >= span.hi) return false;
    if (x->job->keep && !x->job->keep[at_sdpa_cell(p->keep, x->b, x->h, i, j)]) return false;
    return !x->job->bias ||
           x->job->bias[at_sdpa_cell(p->bias, x->b, x->h, i, j)] != -(REAL)INFINITY;
}

/* kept[k] = 1 where row r keeps key k of its span, else 0; false if there is none */
static bool KERNEL(tiled_kept_row)(const KERNEL(tile) * x, int r, at_sdpa_range span)
{
    const at_sdpa_plan *p = x->p;
    unsigned char *kept = x->kept, any = 0;
    if (x->job->keep) {
        const unsigned char *keep =
            x->job->keep + at_sdpa_cell(p->keep, x->b, x->h, x->i0 + r, x->j0);
        for (int k = span.lo; k < span.hi; k++) kept[k] = keep[p->keep.j ? k : 0] != 0;
    } else {
        memset(kept, 1, (size_t)x->keys);
    }
    if (x->job->bias) {
        const REAL *bias = x->job->bias + at_sdpa_cell(p->bias, x->b, x->h, x->i0 + r, x->j0);
        for (int k = span.lo; k < span.hi; k++)
            kept[k] &= bias[p->bias.j ? k : 0] != -(REAL)INFINITY;
    }
    for (int k = span.lo; k < span.hi; k++) any |= kept[k];
    return any;
}

/* Narrows the tile to the keys that one of its rows may keep; false if nothing of it is kept. */
static bool KERNEL(tiled_narrow)(KERNEL(tile) * x)
{
    int lo = x->keys, hi = 0;
    for (int r = 0; r < x->rows; r++) {
        at_sdpa_range span = KERNEL(tiled_span)(x, r);
        if (span.lo >= span.hi) continue;
        if (lo > span.lo) lo = span.lo;
        if (hi < span.hi) hi = span.hi;
    }
    if (lo >= hi) return false;
    x->j0 += lo;
    x->keys = hi - lo;
    if (!KERNEL(tiled_cellwise)(x)) return true;
    for (int r = 0; r < x->rows; r++)
        if (KERNEL(tiled_kept_row)(x, r, KERNEL(tiled_span)(x, r))) return true;
    return false;
}

/* ------------------------------------------------------------------ products ------------------- */

static bool KERNEL(tiled_finite)(int n, const REAL *x)
{
    bool bad = false;
    for (int j = 0; j < n; j++) bad |= x[j] - x[j] != 0; /* inf - inf is NaN */
    return !bad;
}

/* C_rk = alpha A_r . B_k, rows of N numbers against rows of N numbers    C [rows,keys] */
typedef struct {
    REAL alpha;
    const REAL *A, *B;
    REAL *C;
    int N, keys;
    ptrdiff_t A_row, B_row, C_row;
} KERNEL(tiled_dots);

static void KERNEL(tiled_dot_rows)(const KERNEL(tile) * x, const KERNEL(tiled_dots) * o)
{
    at_strides a = {o->A_row, 1, 0}, b = {1, o->B_row, 0}, c = {o->C_row, 1, 0};
    AT_FOR_REAL(gemm)(1, x->rows, o->keys, o->N, o->alpha, o->A, a, o->B, b, 0, o->C, c);
}

/* s = c Q K^T */
static void KERNEL(tiled_scores)(const KERNEL(tile) * x)
{
    const at_sdpa_plan *p = x->p;
    KERNEL(tiled_dots) QK = {.alpha = (REAL)p->c, .N = p->D, .keys = x->keys};
    QK.A = KERNEL(tiled_q)(x, x->job->Q), QK.A_row = p->q.row;
    QK.B = KERNEL(tiled_k)(x, x->job->K), QK.B_row = p->k.row;
    QK.C = x->s, QK.C_row = x->ld;
    KERNEL(tiled_dot_rows)(x, &QK);
}

/* d = dO V^T */
static void KERNEL(tiled_dP)(const KERNEL(tile) * x)
{
    const at_sdpa_plan *p = x->p;
    if (!x->job->dO) {
        memset(x->d, 0, (size_t)x->rows * (size_t)x->ld * sizeof *x->d);
        return;
    }
    KERNEL(tiled_dots) dOV = {.alpha = 1, .N = p->Dv, .keys = x->keys};
    dOV.A = KERNEL(tiled_o)(x, x->job->dO), dOV.A_row = p->o.row;
    dOV.B = KERNEL(tiled_v)(x, x->job->V), dOV.B_row = p->v.row;
    dOV.C = x->d, dOV.C_row = x->ld;
    KERNEL(tiled_dot_rows)(x, &dOV);
}

/* The scores of all keys, kept or not, as asked for. */
static void KERNEL(tiled_all_scores)(KERNEL(tile) x)
{
    const at_sdpa_plan *p = x.p;
    x.j0 = 0;
    KERNEL(tiled_dots) QK = {.alpha = (REAL)p->c, .N = p->D, .keys = p->S};
    QK.A = KERNEL(tiled_q)(&x, x.job->Q), QK.A_row = p->q.row;
    QK.B = KERNEL(tiled_k)(&x, x.job->K), QK.B_row = p->k.row;
    QK.C = KERNEL(tiled_cells)(&x, 0, x.job->raw), QK.C_row = p->S;
    KERNEL(tiled_dot_rows)(&x, &QK);
}

/* C_m += alpha sum_k W_mk X_k      W: cells of the tile, 0 where masked      X, C: rows of N numbers
 *
 * W has M x L cells: the rows of the tile by its keys or, if `across`, its keys by its rows. */
typedef struct {
    bool across;
    REAL alpha;
    const REAL *W;
    const REAL *X;
    REAL *C;
    int N;
    ptrdiff_t X_row, C_row;
} KERNEL(tiled_sum);

static void KERNEL(tiled_gemm)(const KERNEL(tile) * x, const KERNEL(tiled_sum) * a, const REAL *X,
                               ptrdiff_t X_row)
{
    int M = a->across ? x->keys : x->rows, L = a->across ? x->rows : x->keys;
    at_strides w = a->across ? (at_strides){1, x->ld, 0} : (at_strides){x->ld, 1, 0};
    at_strides by_row = {X_row, 1, 0}, c = {a->C_row, 1, 0};
    AT_FOR_REAL(gemm)(1, M, a->N, L, a->alpha, a->W, w, X, by_row, 1, a->C, c);
}

/* X_k, which is not finite, for the cells that are kept. */
static void KERNEL(tiled_patch)(const KERNEL(tile) * x, const KERNEL(tiled_sum) * a, int k)
{
    for (int m = 0; m < (a->across ? x->keys : x->rows); m++) {
        int row = a->across ? k : m, key = a->across ? m : k;
        if (!KERNEL(tiled_keeps)(x, row, key)) continue;
        REAL W = a->alpha * a->W[row * x->ld + key];
        AT_FOR_REAL(row_axpy)(a->N, W, a->X + k * a->X_row, a->C + m * a->C_row);
    }
}

static void KERNEL(tiled_product)(const KERNEL(tile) * x, const KERNEL(tiled_sum) * a)
{
    int L = a->across ? x->rows : x->keys, bad = 0;
    for (int k = 0; k < L; k++) bad += !KERNEL(tiled_finite)(a->N, a->X + k * a->X_row);
    if (!bad) {
        KERNEL(tiled_gemm)(x, a, a->X, a->X_row);
        return;
    }
    for (int k = 0; k < L; k++) {
        const REAL *from = a->X + k * a->X_row;
        bool finite = KERNEL(tiled_finite)(a->N, from);
        for (int j = 0; j < a->N; j++) x->clean[k * (ptrdiff_t)a->N + j] = finite ? from[j] : 0;
    }
    KERNEL(tiled_gemm)(x, a, x->clean, a->N);
    for (int k = 0; k < L; k++)
        if (!KERNEL(tiled_finite)(a->N, a->X + k * a->X_row)) KERNEL(tiled_patch)(x, a, k);
}

/* ------------------------------------------------------------------ rows of a tile ------------- */

static void KERNEL(tiled_zero_outside)(const KERNEL(tile) * x, REAL *row, at_sdpa_range span)
{
    for (int k = 0; k < span.lo; k++) row[k] = 0;
    for (int k = span.hi; k < x->keys; k++) row[k] = 0;
}

/* 0 where kept is 0; a product would not do, 0 times NaN is NaN */
static void KERNEL(tiled_silence)(const KERNEL(tile) * x, REAL *row, at_sdpa_range span)
{
    for (int k = span.lo; k < span.hi; k++) row[k] = x->kept[k] ? row[k] : 0;
}

/* Row r of s, within its span: x -> s = cap tanh(x/cap) + bias, and the slope of the tanh. */
static void KERNEL(tiled_finish_scores)(const KERNEL(tile) * x, int r, at_sdpa_range span)
{
    const at_sdpa_plan *p = x->p;
    const int n = span.hi - span.lo;
    REAL *s = x->s + r * x->ld + span.lo;
    if (p->cap > 0) {
        const REAL cap = (REAL)p->cap;
        REAL *slope = x->slope + r * x->ld + span.lo;
        for (int k = 0; k < n; k++) s[k] /= cap;
        AT_FOR_REAL(vtanh)(n, s, s);
        for (int k = 0; k < n; k++) {
            slope[k] = 1 - s[k] * s[k];
            s[k] *= cap;
        }
    }
    if (x->job->bias) {
        const REAL *bias =
            x->job->bias + at_sdpa_cell(p->bias, x->b, x->h, x->i0 + r, x->j0 + span.lo);
        if (p->bias.j)
            for (int k = 0; k < n; k++) s[k] += bias[k];
        else
            for (int k = 0; k < n; k++) s[k] += bias[0];
    }
}

/* z of row r, within its span */
static const REAL *KERNEL(tiled_dropout)(const KERNEL(tile) * x, int r, at_sdpa_range span)
{
    const at_sdpa_plan *p = x->p;
    const double below = at_sdpa_drop_below(p);
    const REAL scale = (REAL)(1 / (1 - p->dropout));
    uint64_t cell = (uint64_t)at_sdpa_cell_number(p, x->b, x->h, x->i0 + r) + (uint64_t)x->j0;
    at_random_u32s(p->drops, cell + (uint64_t)span.lo, span.hi - span.lo, x->random);
    for (int k = span.lo; k < span.hi; k++) x->z[k] = x->random[k - span.lo] >= below ? scale : 0;
    return x->z;
}

/* ------------------------------------------------------------------ forward -------------------- */

/* Row r of s becomes exp(s - m) z, m being the largest score so far; O_i and l follow a change of m. */
static void KERNEL(tiled_online_row)(const KERNEL(tile) * x, int r)
{
    REAL *s = x->s + r * x->ld, *m = KERNEL(tiled_saved)(x, r), *l = m + 1, *kept = m + 2;
    at_sdpa_range span = KERNEL(tiled_span)(x, r);
    const int n = span.hi - span.lo;
    bool cellwise = KERNEL(tiled_cellwise)(x);
    if (n && cellwise && !KERNEL(tiled_kept_row)(x, r, span)) span.hi = span.lo = 0;
    KERNEL(tiled_zero_outside)(x, s, span);
    if (span.lo == span.hi) return;
    *kept = 1;

    KERNEL(tiled_finish_scores)(x, r, span);
    for (int k = span.lo; cellwise && k < span.hi; k++) s[k] = x->kept[k] ? s[k] : -(REAL)INFINITY;
    REAL top = AT_FOR_REAL(row_max)(n, s + span.lo);
    if (top == -(REAL)INFINITY) { /* kept, but infinitely unlikely beside any finite score */
        memset(s, 0, (size_t)x->keys * sizeof *s);
        return;
    }
    if (!(top <= *m)) { /* or NaN */
        REAL shrink = exp(*m - top), *O = KERNEL(tiled_o_row)(x, r, x->job->O);
        AT_FOR_REAL(row_scale)(x->p->Dv, shrink, O, O);
        *l *= shrink;
        *m = top;
    }
    *l += AT_FOR_REAL(row_exp_sum)(n, s + span.lo, *m, s + span.lo);
    if (x->p->dropout > 0) {
        const REAL *z = KERNEL(tiled_dropout)(x, r, span);
        for (int k = span.lo; k < span.hi; k++) s[k] *= z[k];
    }
}

/* O += A V, with what A is so far */
static void KERNEL(tiled_values)(const KERNEL(tile) * x)
{
    const at_sdpa_plan *p = x->p;
    KERNEL(tiled_sum) AV = {.alpha = 1, .W = x->s, .N = p->Dv};
    AV.X = KERNEL(tiled_v)(x, x->job->V), AV.X_row = p->v.row;
    AV.C = KERNEL(tiled_o)(x, x->job->O), AV.C_row = p->o.row;
    KERNEL(tiled_product)(x, &AV);
}

static void KERNEL(tiled_begin_rows)(const KERNEL(tile) * x)
{
    for (int r = 0; r < x->rows; r++) {
        REAL *m = KERNEL(tiled_saved)(x, r), *O = KERNEL(tiled_o_row)(x, r, x->job->O);
        m[0] = -(REAL)INFINITY;
        m[1] = m[2] = 0;
        memset(O, 0, (size_t)x->p->Dv * sizeof *O);
    }
}

/* O_i / l_i.  A row with nothing kept has O = 0; one with only scores of -inf has l = 0, and gets NaN. */
static void KERNEL(tiled_end_rows)(const KERNEL(tile) * x)
{
    for (int r = 0; r < x->rows; r++) {
        REAL *m = KERNEL(tiled_saved)(x, r), *O = KERNEL(tiled_o_row)(x, r, x->job->O);
        REAL l = m[1];
        bool kept = m[2] != 0;
        if (kept && l == 0) l = (REAL)NAN;
        if (x->job->lse)
            x->job->lse[at_sdpa_row_number(x->p, x->b, x->h, x->i0 + r)] =
                kept ? m[0] + log(l) : -(REAL)INFINITY;
        m[1] = kept ? 1 / l : 0;
        if (kept) AT_FOR_REAL(row_scale)(x->p->Dv, m[1], O, O);
    }
}

/* Row r of s becomes P, exactly 0 where masked; false if that is all of the tile's row. */
static bool KERNEL(tiled_probs_row)(const KERNEL(tile) * x, int r, at_sdpa_range span)
{
    REAL *s = x->s + r * x->ld, *m = KERNEL(tiled_saved)(x, r);
    bool cellwise = KERNEL(tiled_cellwise)(x), any = m[1] != 0 && span.lo < span.hi;
    if (any && cellwise) any = KERNEL(tiled_kept_row)(x, r, span);
    if (!any) {
        memset(s, 0, (size_t)x->keys * sizeof *s);
        return false;
    }
    KERNEL(tiled_finish_scores)(x, r, span);
    AT_FOR_REAL(row_exp_sum)(span.hi - span.lo, s + span.lo, m[0], s + span.lo);
    AT_FOR_REAL(row_scale)(span.hi - span.lo, m[1], s + span.lo, s + span.lo);
    if (cellwise) KERNEL(tiled_silence)(x, s, span);
    if (cellwise && x->slope) KERNEL(tiled_silence)(x, x->slope + r * x->ld, span);
    KERNEL(tiled_zero_outside)(x, s, span);
    return true;
}

/* Writes P and A of the tile, m and l being final. */
static void KERNEL(tiled_show)(const KERNEL(tile) * x)
{
    KERNEL(tiled_scores)(x);
    for (int r = 0; r < x->rows; r++) {
        at_sdpa_range span = KERNEL(tiled_span)(x, r);
        const REAL *P = x->s + r * x->ld;
        if (!KERNEL(tiled_probs_row)(x, r, span)) continue;
        if (x->job->probs)
            memcpy(KERNEL(tiled_cells)(x, r, x->job->probs), P, (size_t)x->keys * sizeof *P);
        if (!x->job->weights) continue;
        const REAL *z = x->p->dropout > 0 ? KERNEL(tiled_dropout)(x, r, span) : NULL;
        REAL *A = KERNEL(tiled_cells)(x, r, x->job->weights);
        for (int k = span.lo; k < span.hi; k++) A[k] = z ? P[k] * z[k] : P[k];
    }
}

/* Calls visit for every tile of these rows that keeps anything, from left to right. */
static void KERNEL(tiled_along)(KERNEL(tile) x, void (*visit)(const KERNEL(tile) *))
{
    int S = x.p->S;
    for (int j0 = 0; j0 < S; j0 += TILED_KEYS) {
        x.j0 = j0;
        x.keys = S - j0 < TILED_KEYS ? S - j0 : TILED_KEYS;
        if (KERNEL(tiled_narrow)(&x)) visit(&x);
    }
}

static void KERNEL(tiled_forward_tile)(const KERNEL(tile) * x)
{
    KERNEL(tiled_scores)(x);
    for (int r = 0; r < x->rows; r++) KERNEL(tiled_online_row)(x, r);
    KERNEL(tiled_values)(x);
}

/* The tile of no keys that begins at this block of rows. */
static KERNEL(tile) KERNEL(tiled_rows_of)(const KERNEL(tiled_job) * job, int task, int worker)
{
    const at_sdpa_plan *p = job->p;
    KERNEL(tile) x = KERNEL(tiled_tile)(job, worker);
    int blocks = tiled_blocks(p->T, TILED_ROWS), head = task / blocks;
    x.i0 = task % blocks * TILED_ROWS;
    x.rows = p->T - x.i0 < TILED_ROWS ? p->T - x.i0 : TILED_ROWS;
    x.h = head % p->H;
    x.b = head / p->H;
    return x;
}

static void KERNEL(tiled_forward_rows)(void *ctx, int task, int worker)
{
    const KERNEL(tiled_job) *job = ctx;
    KERNEL(tile) x = KERNEL(tiled_rows_of)(job, task, worker);
    size_t cells = (size_t)x.rows * (size_t)x.p->S * sizeof(REAL);

    KERNEL(tiled_begin_rows)(&x);
    KERNEL(tiled_along)(x, KERNEL(tiled_forward_tile));
    KERNEL(tiled_end_rows)(&x);
    if (job->raw) KERNEL(tiled_all_scores)(x);
    if (job->weights) memset(KERNEL(tiled_cells)(&x, 0, job->weights), 0, cells);
    if (job->probs) memset(KERNEL(tiled_cells)(&x, 0, job->probs), 0, cells);
    if (job->weights || job->probs) KERNEL(tiled_along)(x, KERNEL(tiled_show));
}

static KERNEL(tiled_job) KERNEL(tiled_job_of)(at_node *n)
{
    const at_sdpa_plan *p = n->args;
    at_tensor **in = n->in, **out = n->out;
    return (KERNEL(tiled_job)){
        .node = n,
        .p = p,
        .Q = in[AT_SDPA_Q]->data,
        .K = in[AT_SDPA_K]->data,
        .V = in[AT_SDPA_V]->data,
        .bias = in[AT_SDPA_BIAS] ? in[AT_SDPA_BIAS]->data : NULL,
        .keep = in[AT_SDPA_KEEP] ? in[AT_SDPA_KEEP]->data : NULL,
        .key_len = in[AT_SDPA_KEY_LEN],
        .O = out[0]->data,
        .weights = p->weights ? out[p->weights]->data : NULL,
        .raw = p->raw ? out[p->raw]->data : NULL,
        .probs = p->probs ? out[p->probs]->data : NULL,
        .lse = p->lse ? out[p->lse]->data : NULL,
        .saved = n->saved,
    };
}

static void KERNEL(tiled_forward)(at_node *n)
{
    KERNEL(tiled_job) job = KERNEL(tiled_job_of)(n);
    const at_sdpa_plan *p = job.p;
    int rows = p->T < TILED_ROWS ? p->T : TILED_ROWS, blocks = tiled_blocks(p->T, TILED_ROWS);
    double work = (double)rows * p->S * (p->D + p->Dv + TILED_EXP);
    tiled_parallel(p->B * p->H * blocks, work, KERNEL(tiled_forward_rows), &job);
}

/* ------------------------------------------------------------------ backward ------------------- */

/* sum_j A_ij dW_ij, over the kept j */
static REAL KERNEL(tiled_delta_of_weights)(KERNEL(tile) x, int r)
{
    REAL sum = 0;
    for (int j0 = 0; j0 < x.p->S; j0 += TILED_KEYS) {
        x.j0 = j0;
        x.keys = x.p->S - j0 < TILED_KEYS ? x.p->S - j0 : TILED_KEYS;
        at_sdpa_range span = KERNEL(tiled_span)(&x, r);
        KERNEL(tiled_kept_row)(&x, r, span);
        const REAL *A = KERNEL(tiled_cells)(&x, r, x.job->weights);
        const REAL *dW = KERNEL(tiled_cells)(&x, r, x.job->dW);
        for (int k = span.lo; k < span.hi; k++)
            if (x.kept[k]) sum += A[k] * dW[k];
    }
    return sum;
}

/* delta_i = dO_i.O_i + sum_j A_ij dW_ij for a block of rows */
static void KERNEL(tiled_delta_rows)(void *ctx, int task, int worker)
{
    const KERNEL(tiled_job) *job = ctx;
    KERNEL(tile) x = KERNEL(tiled_rows_of)(job, task, worker);
    for (int r = 0; r < x.rows; r++) {
        REAL *delta = KERNEL(tiled_saved)(&x, r) + 2;
        const REAL *O = KERNEL(tiled_o_row)(&x, r, job->O);
        *delta = 0;
        if (job->dO) *delta = AT_FOR_REAL(row_dot)(x.p->Dv, KERNEL(tiled_o_row)(&x, r, job->dO), O);
        if (job->dW) *delta += KERNEL(tiled_delta_of_weights)(x, r);
    }
}

/* Adds row r of dS to dbias. */
static void KERNEL(tiled_dbias_row)(const KERNEL(tile) * x, int r, at_sdpa_range span)
{
    const REAL *dS = x->d + r * x->ld + span.lo;
    const int n = span.hi - span.lo;
    REAL *dbias = x->job->dbias + at_sdpa_cell(x->p->bias, x->b, x->h, x->i0 + r, x->j0 + span.lo);
    if (x->p->bias.j)
        AT_FOR_REAL(row_axpy)(n, 1, dS, dbias);
    else
        *dbias += AT_FOR_REAL(row_sum)(n, dS);
}

/* sum_j A_ij |dW_ij| over what is kept */
static double KERNEL(tiled_dW_terms)(const KERNEL(tile) * x, int r, at_sdpa_range span)
{
    if (!x->job->dW) return 0;
    const REAL *A = x->s + r * x->ld, *dW = KERNEL(tiled_cells)(x, r, x->job->dW);
    double sum = 0;
    for (int k = span.lo; k < span.hi; k++)
        if (A[k] != 0) sum += (double)A[k] * fabs((double)dW[k]);
    return sum;
}

/* Row r, when s is A and d is dS: what sdpa_check.c wants to know of it, in whole steps. */
static void KERNEL(tiled_check_row)(const KERNEL(tile) * x, int r, at_sdpa_range span)
{
    const at_sdpa_checks *checks = x->job->checks;
    const REAL *dO_length = checks->length[AT_SDPA_DO], *V_length = checks->length[AT_SDPA_V];
    const REAL *Q_length = checks->length[AT_SDPA_Q], *K_length = checks->length[AT_SDPA_K];
    const int step = AT_SDPA_CHECK_STEP, lo = span.lo / step * step;
    const int hi = (span.hi + step - 1) / step * step;
    REAL *A = x->s + r * x->ld, *dS = x->d + r * x->ld;
    REAL *slope = x->slope ? x->slope + r * x->ld : NULL;
    for (int k = x->keys; k < hi; k++) A[k] = dS[k] = 0;
    for (int k = lo; slope && k < hi; k++) slope[k] = dS[k] == 0 ? 0 : slope[k];
    ptrdiff_t row = at_sdpa_row_number(x->p, x->b, x->h, x->i0 + r);
    ptrdiff_t key = at_sdpa_key_number(x->p, x->b, x->h, x->j0 + lo);

    at_sdpa_cell_sums sum = AT_FOR_REAL(sdpa_sum_cells)(hi - lo, A + lo, V_length + key, dS + lo,
                                                        slope ? slope + lo : NULL, K_length + key);
    double V = (double)dO_length[row] * sum.A_V;
    checks->rows[row].dS += sum.dS;
    checks->rows[row].S_terms += 2 * (V + KERNEL(tiled_dW_terms)(x, r, span));
    checks->rows[row].V_terms += V;
    checks->rows[row].Q_terms += fabs(x->p->c) * (double)Q_length[row] * sum.dx_K;
}

/* Row r: s -> P -> A,  d -> dP -> dS -> dx */
static void KERNEL(tiled_backward_row)(const KERNEL(tile) * x, int r)
{
    REAL *s = x->s + r * x->ld, *d = x->d + r * x->ld, delta = KERNEL(tiled_saved)(x, r)[2];
    at_sdpa_range span = KERNEL(tiled_span)(x, r);
    if (!KERNEL(tiled_probs_row)(x, r, span)) {
        memset(d, 0, (size_t)x->keys * sizeof *d);
        return;
    }
    if (x->job->dW) {
        const REAL *dW = KERNEL(tiled_cells)(x, r, x->job->dW);
        for (int k = span.lo; k < span.hi; k++) d[k] += dW[k];
    }
    if (x->p->dropout > 0) {
        const REAL *z = KERNEL(tiled_dropout)(x, r, span);
        for (int k = span.lo; k < span.hi; k++) {
            REAL P = s[k];
            d[k] = P * (z[k] * d[k] - delta);
            s[k] = P * z[k];
        }
    } else {
        for (int k = span.lo; k < span.hi; k++) d[k] = s[k] * (d[k] - delta);
    }
    if (KERNEL(tiled_cellwise)(x)) KERNEL(tiled_silence)(x, d, span);
    KERNEL(tiled_zero_outside)(x, d, span);
    if (x->job->dbias) KERNEL(tiled_dbias_row)(x, r, span);
    if (x->job->checks) KERNEL(tiled_check_row)(x, r, span);
    for (int k = span.lo; x->slope && k < span.hi; k++) d[k] *= x->slope[r * x->ld + k];
}

static void KERNEL(tiled_backward_tile)(const KERNEL(tile) * x)
{
    const KERNEL(tiled_job) *job = x->job;
    const at_sdpa_plan *p = x->p;
    KERNEL(tiled_scores)(x);
    KERNEL(tiled_dP)(x);
    for (int r = 0; r < x->rows; r++) KERNEL(tiled_backward_row)(x, r);

    if (job->dV && job->dO) { /* dV += A^T dO */
        KERNEL(tiled_sum) dV = {.across = true, .alpha = 1, .W = x->s, .N = p->Dv};
        dV.X = KERNEL(tiled_o)(x, job->dO), dV.X_row = p->o.row;
        dV.C = KERNEL(tiled_v)(x, job->dV), dV.C_row = p->v.row;
        KERNEL(tiled_product)(x, &dV);
    }
    if (job->dK) { /* dK += c dx^T Q */
        KERNEL(tiled_sum) dK = {.across = true, .alpha = (REAL)p->c, .W = x->d, .N = p->D};
        dK.X = KERNEL(tiled_q)(x, job->Q), dK.X_row = p->q.row;
        dK.C = KERNEL(tiled_k)(x, job->dK), dK.C_row = p->k.row;
        KERNEL(tiled_product)(x, &dK);
    }
    if (job->dQ) { /* dQ += c dx K */
        KERNEL(tiled_sum) dQ = {.alpha = (REAL)p->c, .W = x->d, .N = p->D};
        dQ.X = KERNEL(tiled_k)(x, job->K), dQ.X_row = p->k.row;
        dQ.C = KERNEL(tiled_q)(x, job->dQ), dQ.C_row = p->q.row;
        KERNEL(tiled_product)(x, &dQ);
    }
}

/* Key block k of head h in batch b and the row block it meets in this round. */
static void KERNEL(tiled_meet)(KERNEL(tile) x, int k)
{
    const at_sdpa_plan *p = x.p;
    int i = (k + x.job->round) % x.job->rounds;
    if (i >= tiled_blocks(p->T, TILED_ROWS)) return;
    x.i0 = i * TILED_ROWS;
    x.rows = p->T - x.i0 < TILED_ROWS ? p->T - x.i0 : TILED_ROWS;
    x.j0 = k * TILED_KEYS;
    x.keys = p->S - x.j0 < TILED_KEYS ? p->S - x.j0 : TILED_KEYS;
    if (KERNEL(tiled_narrow)(&x)) KERNEL(tiled_backward_tile)(&x);
}

static void KERNEL(tiled_backward_task)(void *ctx, int task, int worker)
{
    const KERNEL(tiled_job) *job = ctx;
    const at_sdpa_plan *p = job->p;
    KERNEL(tile) x = KERNEL(tiled_tile)(job, worker);
    tiled_part k = tiled_part_of(job->cut_k, job->key_blocks, &task);
    tiled_part g = tiled_part_of(job->cut_g, p->G, &task);
    tiled_part b = tiled_part_of(job->cut_b, p->B, &task);

    for (x.b = b.from; x.b < b.to; x.b++)
        for (x.h = g.from * p->group; x.h < g.to * p->group; x.h++)
            for (int block = k.from; block < k.to; block++) KERNEL(tiled_meet)(x, block);
}

/* What can be a task of its own, given which sums are shared. */
static void KERNEL(tiled_cut)(KERNEL(tiled_job) * job)
{
    const at_sdpa_plan *p = job->p;
    REAL *d[] = {job->dQ, job->dK, job->dV, job->dbias};
    bool same = false, same_bias = false;
    for (int i = 0; i < 4; i++)
        for (int j = i + 1; j < 4; j++) {
            same |= d[i] && d[i] == d[j];
            same_bias |= j == 3 && d[i] && d[i] == d[j];
        }
    job->cut_b = !same_bias && (!job->dbias || p->bias.b);
    job->cut_g = !same_bias && (!job->dbias || p->bias.h);
    job->cut_k = !same && (!job->dbias || p->bias.i || p->bias.j);
}

static void KERNEL(tiled_backward)(at_node *n)
{
    KERNEL(tiled_job) job = KERNEL(tiled_job_of)(n);
    const at_sdpa_plan *p = job.p;
    job.dQ = at_sdpa_grad(n, AT_SDPA_Q);
    job.dK = at_sdpa_grad(n, AT_SDPA_K);
    job.dV = at_sdpa_grad(n, AT_SDPA_V);
    job.dbias = at_grad(n, AT_SDPA_BIAS);
    job.dO = n->out[0]->grad;
    job.dW = p->weights ? n->out[p->weights]->grad : NULL;
    job.checks = AT_FOR_REAL(sdpa_checks_begin)(n);
    if (p->T == 0 || p->S == 0) return;

    int row_blocks = tiled_blocks(p->T, TILED_ROWS);
    job.key_blocks = tiled_blocks(p->S, TILED_KEYS);
    job.rounds = row_blocks > job.key_blocks ? row_blocks : job.key_blocks;
    KERNEL(tiled_cut)(&job);
    int tasks = (job.cut_b ? p->B : 1) * (job.cut_g ? p->G : 1) * (job.cut_k ? job.key_blocks : 1);

    int rows = p->T < TILED_ROWS ? p->T : TILED_ROWS, keys = p->S < TILED_KEYS ? p->S : TILED_KEYS;
    tiled_parallel(p->B * p->H * row_blocks, (double)rows * p->Dv, KERNEL(tiled_delta_rows), &job);
    double work = (double)rows * keys * p->group * (3.0 * p->D + 2.0 * p->Dv + TILED_EXP);
    for (job.round = 0; job.round < job.rounds; job.round++)
        tiled_parallel(tasks, work, KERNEL(tiled_backward_task), &job);
    AT_FOR_REAL(sdpa_checks_end)(n);
}

#endif
