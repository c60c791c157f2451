/* fused_forward.c -- the forward of the fused path; fused.c has the equations.
 *
 * One task takes a block of rows and goes along the keys, tile by tile.  O_i is added up where it
 * will stay, m and l of the rows are kept beside the tile, and what is saved of them is written at
 * the end. */
#include "attention/documents.h"
#include "attention/fused_tile.h"

#include "kernels/real.h"

enum { FORWARD_EXP = 16 }; /* multiply-adds that an exponential costs, or so */

/* y, if x is NaN: that will show in l */
static inline REAL forward_max(REAL x, REAL y)
{
    return VALUE(x) > VALUE(y) ? x : y;
}

/* top_r = the largest cell of row r */
static void forward_top(const sdpa_tile *x, REAL *restrict top)
{
    const ptrdiff_t ld = x->ld;
    const REAL *s = x->s;
    int k = 0;
    for (int r = 0; r < ld; r++) top[r] = -(REAL)INFINITY;
    for (; k + 4 <= x->keys; k += 4, s += 4 * ld)
        for (int r = 0; r < ld; r++) {
            REAL a = forward_max(s[r], s[ld + r]);
            REAL b = forward_max(s[2 * ld + r], s[3 * ld + r]);
            top[r] = forward_max(forward_max(a, b), top[r]);
        }
    for (; k < x->keys; k++, s += ld)
        for (int r = 0; r < ld; r++) top[r] = forward_max(s[r], top[r]);
}

/* s becomes exp(s - m'); m and l become m' and l', and shrink is exp(m - m').  While all that a row
 * has kept is infinitely unlikely, m' is -inf, and 0 stands in for it. */
static void forward_online(const sdpa_tile *x, REAL *restrict shrink)
{
    REAL *restrict m = x->m, base[AT_SDPA_ROWS], sum[AT_SDPA_ROWS];
    const ptrdiff_t ld = x->ld;
    forward_top(x, shrink);
    for (int r = 0; r < ld; r++) {
        REAL old = m[r];
        m[r] = forward_max(shrink[r], old);
        base[r] = VALUE(m[r]) == MINUS_INFINITY ? 0 : m[r];
        shrink[r] = old - base[r];
    }
    for (ptrdiff_t r = 0; r < ld; r += VEC_LANES) {
        const at_sdpa_range range = sdpa_key_range(x, r);
        const vec m_r = vec_load(base + r);
        vec l = vec_of(0);
        REAL *s = x->s + range.lo * ld + r;
        for (int k = range.lo; k < range.hi; k++, s += ld) {
            vec e = vec_exp_weight(vec_load(s) - m_r);
            vec_store(s, e);
            l += e;
        }
        sdpa_fill(x, r, 0, x->s);
        vec_store(sum + r, l);
        vec_store(shrink + r, vec_exp_weight(vec_load(shrink + r)));
    }
    for (int r = 0; r < ld; r++) x->l[r] = mul_add(x->l[r], shrink[r], sum[r]);
}

static void forward_scale(int n, REAL a, REAL *O)
{
    int j = 0;
    for (; j + VEC_LANES <= n; j += VEC_LANES) vec_store(O + j, a * vec_load(O + j));
    for (; j < n; j++) O[j] *= a;
}

/* Remembers which rows have kept a cell. */
static void forward_note_kept(sdpa_tile *x)
{
    unsigned char *kept = x->kept;
    for (int r = 0; r < x->rows; r++)
        if (!x->by_cell) kept[r] |= !x->some || VALUE(x->lo[r]) < VALUE(x->hi[r]);
    for (int k = 0; x->by_cell && k < x->keys; k++) {
        const REAL j = (REAL)k;
        for (int r = 0; r < x->rows; r++)
            kept[r] |= x->mask[k * x->ld + r] & (VALUE(x->lo[r]) <= VALUE(j)) &
                       (VALUE(j) < VALUE(x->hi[r]));
    }
}

/* The first tile of its rows writes O, the others add to it. */
static void forward_tile(sdpa_tile *x, bool first)
{
    const at_sdpa_plan *p = x->call->p;
    REAL *shrink = x->delta;
    sdpa_scores(x);
    sdpa_mask_out(x, -(REAL)INFINITY, x->s);
    forward_online(x, shrink);
    for (int r = 0; !first && r < x->rows; r++)
        if (VALUE(shrink[r]) != 1) forward_scale(p->Dv, shrink[r], sdpa_o(x, r, x->call->O));
    sdpa_drops(x);
    sdpa_drop(x, x->s);
    sdpa_multiply(x, (sdpa_product){true, false, x->s, x->call->V, x->call->O, first ? 0 : 1});
}

/* A row with nothing kept has O = 0; one with only scores of -inf has l = 0, unless there is a
 * sink, and gets NaN. */
static void forward_end_rows(const sdpa_tile *x)
{
    const unsigned char *kept = x->kept;
    const at_sdpa_plan *p = x->call->p;
    REAL *saved = sdpa_saved(x, 0), *O = sdpa_o(x, 0, x->call->O);
    REAL *restrict l = x->l, *restrict inverse = x->delta;
    for (int r = 0; r < x->ld; r++) {
        l[r] = VALUE(l[r]) == 0 ? (REAL)NAN : l[r];
        inverse[r] = OVER((REAL)1, l[r]);
    }
    for (int r = 0; r < x->rows; r++, saved += AT_SDPA_SAVED, O += p->o.row) {
        saved[0] = x->m[r];
        saved[1] = kept[r] ? inverse[r] : 0;
        saved[2] = 0;
        if (kept[r])
            forward_scale(p->Dv, inverse[r], O);
        else
            memset(O, 0, (size_t)p->Dv * sizeof *O);
    }
    if (!x->call->lse) return;
    REAL *lse = x->call->lse + at_sdpa_row_number(p, x->b, x->h, x->i0);
    vlog(x->rows, l, lse);
    for (int r = 0; r < x->rows; r++)
        lse[r] = kept[r] ? x->m[r] + lse[r] : sdpa_sink(x->call, x->h);
}

static void forward_transpose(sdpa_tile *x)
{
    sdpa_transpose(x, false, x->call->Q, x->Qt);
}

/* The scores of all keys, kept or not. */
static void forward_raw(sdpa_tile *x)
{
    const at_sdpa_plan *p = x->call->p;
    at_strides q = {p->q.row, 1, 0}, k = {1, p->k.row, 0}, s = {p->N, 1, 0};
    x->j0 = 0;
    const REAL *Q = x->call->Q + at_sdpa_row(p->q, x->b, x->h, x->i0);
    const REAL *K = x->call->K + at_sdpa_row(p->k, x->b, x->h / p->group, 0);
    gemm(1, x->rows, p->N, p->D, x->c, Q, q, K, k, 0, sdpa_cells(x, 0, x->call->raw), s, x->gemm);
}

/* Writes P and A of the tile, m and l being final. */
static void forward_show(sdpa_tile *x)
{
    sdpa_scores(x);
    sdpa_probs(x);
    sdpa_drops(x);
    for (int r = 0; r < x->rows; r++) {
        REAL *P = x->call->probs ? sdpa_cells(x, r, x->call->probs) : NULL;
        REAL *A = x->call->weights ? sdpa_cells(x, r, x->call->weights) : NULL;
        for (ptrdiff_t k = 0, cell = r; k < x->keys; k++, cell += x->ld) {
            if (P) P[k] = x->s[cell];
            if (A) A[k] = x->z ? x->s[cell] * x->z[cell] : x->s[cell];
        }
    }
}

static void forward_shown(sdpa_tile *x)
{
    sdpa_clear_cells(x, x->call->weights);
    sdpa_clear_cells(x, x->call->probs);
    forward_transpose(x);
    sdpa_load_statistics(x);
    for (int j0 = 0; j0 < x->call->p->N; j0 += AT_SDPA_KEYS)
        if (sdpa_select_keys(x, j0, j0 + AT_SDPA_KEYS)) forward_show(x);
}

static void forward_end(sdpa_tile *x)
{
    if (x->call->weights || x->call->probs) forward_shown(x);
}

/* ------------------------------------------------------------------ blocks --------------------- */

typedef struct {
    const sdpa_operands *call;
    const sdpa_forward_steps *steps;
    const at_sdpa_documents *documents; /* NULL: none */
} forward_job;

/* A sink is a key that comes first and has the value 0. */
static void forward_rows(sdpa_tile *x, const sdpa_forward_steps *steps)
{
    bool first = true;
    const REAL sink = sdpa_sink(x->call, x->h), one = VALUE(sink) == MINUS_INFINITY ? 0 : 1;
    const sdpa_operands *dot = x->call->dot;
    const bool moves = dot && dot->sink && VALUE(one) == 1;
    const REAL sinkdot = moves ? dot->sink[x->h * x->call->p->next_sink] : 0;
    memset(x->kept, 0, sizeof x->kept);
    for (int r = 0; r < x->ld; r++) x->m[r] = sink, x->l[r] = one;
    for (int r = 0; x->dot.r && r < x->ld; r++) x->dot.r[r] = 0, x->dot.ref[r] = sinkdot;
    for (int j0 = 0; j0 < x->call->p->N; j0 += AT_SDPA_KEYS) {
        if (!sdpa_select_keys(x, j0, j0 + AT_SDPA_KEYS)) continue;
        if (first) steps->rows(x);
        steps->tile(x, first);
        forward_note_kept(x);
        first = false;
    }
    forward_end_rows(x);
    steps->end(x);
}

static void forward_block_range(void *ctx, ptrdiff_t block, ptrdiff_t to, int slot)
{
    const forward_job *job = ctx;
    sdpa_tile x = sdpa_tile_in(job->call, slot);
    for (; block < to; block++) {
        at_sdpa_select_block(&x, (int)block);
        forward_rows(&x, job->steps);
    }
}

/* The number of the document that block is of */
static int forward_document(const at_sdpa_documents *d, ptrdiff_t block)
{
    int lo = 0, hi = d->n;
    while (hi - lo > 1) {
        const int mid = (lo + hi) / 2;
        *(d->document[mid].first <= block ? &lo : &hi) = mid;
    }
    return lo;
}

/* The same, where each document has blocks of its own. */
static void forward_document_range(void *ctx, ptrdiff_t block, ptrdiff_t to, int slot)
{
    const forward_job *job = ctx;
    const at_sdpa_documents *d = job->documents;
    for (int k = forward_document(d, block); block < to; k++) {
        sdpa_document_call of;
        sdpa_tile x = sdpa_tile_in(sdpa_document_of(job->call, d->document + k, &of), slot);
        const ptrdiff_t end = k + 1 < d->n ? d->document[k + 1].first : d->blocks;
        for (; block < to && block < end; block++) {
            at_sdpa_select_block(&x, (int)block - d->document[k].first);
            forward_rows(&x, job->steps);
        }
    }
}

/* Outside of its documents a tensor of cells is 0. */
static void forward_clear(const at_sdpa_plan *p, REAL *cells)
{
    if (cells) memset(cells, 0, (size_t)at_count(p->scores) * sizeof *cells);
}

static void forward_documents(const sdpa_operands *call, const sdpa_forward_steps *steps)
{
    const at_sdpa_plan *p = call->p;
    at_sdpa_documents *d = at_sdpa_documents_of(call);
    at_sdpa_find_documents(p, call->segments, call->key_segments, d);
    forward_clear(p, call->weights), forward_clear(p, call->probs);
    if (call->dot) forward_clear(p, call->dot->weights);
    double cells = 0;
    for (int k = 0; k < d->n; k++) cells += (double)d->document[k].T * d->document[k].N * p->H;
    const double work = cells / (d->blocks + 1) * (steps->products + FORWARD_EXP);
    at_for(d->blocks, at_sdpa_work(work), p->slots, forward_document_range,
           &(forward_job){call, steps, d});
}

void sdpa_forward_blocks(const sdpa_operands *call, const sdpa_forward_steps *steps)
{
    const at_sdpa_plan *p = call->p;
    if (call->segments) {
        forward_documents(call, steps);
        return;
    }
    const int rows = p->T < p->tile ? p->T : p->tile;
    const double work = (double)rows * p->N * (steps->products + FORWARD_EXP);
    at_for((ptrdiff_t)p->B * p->H * at_sdpa_blocks(p->T, p->tile), at_sdpa_work(work), p->slots,
           forward_block_range, &(forward_job){call, steps, NULL});
}

static void forward_raw_range(void *ctx, ptrdiff_t block, ptrdiff_t to, int slot)
{
    sdpa_tile x = sdpa_tile_in(ctx, slot);
    for (; block < to; block++) {
        at_sdpa_select_block(&x, (int)block);
        forward_raw(&x);
    }
}

void AT_REAL(sdpa_fused_forward)(at_node *n)
{
    sdpa_operands call = sdpa_operands_of(n);
    const at_sdpa_plan *p = call.p;
    if (call.raw)
        at_for((ptrdiff_t)p->B * p->H * at_sdpa_blocks(p->T, p->tile),
               at_sdpa_work((double)p->tile * p->N * p->D), p->slots, forward_raw_range, &call);
    sdpa_forward_blocks(&call, &(sdpa_forward_steps){.rows = forward_transpose,
                                                     .tile = forward_tile,
                                                     .end = forward_end,
                                                     .products = (double)call.p->D + call.p->Dv});
}
