/* fused_backward.c -- the backward of the fused path; fused.c has the equations and the
 * schedule. */
#include "attention/documents.h"
#include "attention/fused_tile.h"

#include "kernels/real.h"
#include "kernels/simd_transpose.h"

enum {
    BACKWARD_EXP = 16,  /* multiply-adds that an exponential costs, or so */
    BACKWARD_TILES = 4, /* along the keys, at most, in a block of them */
    BACKWARD_TASKS = 8  /* for which such blocks are made smaller */
};

/* Items from .. to-1 of n are this task's: one if they are cut into tasks, else all. */
typedef struct {
    int from, to;
} backward_part;

static backward_part backward_part_of(bool cut, int n, int *task)
{
    if (!cut) return (backward_part){0, n};
    int mine = *task % n;
    *task /= n;
    return (backward_part){mine, mine + 1};
}

/* Long blocks use what was made of their rows several times, short ones are more tasks. */
static int backward_keys(const at_sdpa_plan *p)
{
    int tiles = BACKWARD_TILES;
    while (tiles > 1 &&
           (double)p->B * p->G * at_sdpa_blocks(p->N, tiles * AT_SDPA_KEYS) < BACKWARD_TASKS)
        tiles /= 2;
    return tiles * AT_SDPA_KEYS;
}

typedef struct {
    const sdpa_operands *call;
    const sdpa_sweep *sweep;
    int step;                 /* the step that comes next */
    int steps;                /* the number of steps */
    int held;                 /* the number of steps that one task does */
    int keys;                 /* the number of keys in a block */
    int key_blocks;           /* the number of key blocks, which are all paired in each step */
    bool cut_b, cut_g, cut_k; /* is each batch, key/value head, key block a task of its own? */
} backward_schedule;

/* ------------------------------------------------------------------ delta ---------------------- */

/* Do `keep`, bias and segments leave key k to row r?  (causal, window and key_len:
 * at_sdpa_range_of) */
static bool sdpa_cell_kept(const sdpa_tile *x, int r, int k)
{
    const at_sdpa_plan *p = x->call->p;
    int i = x->i0 + r, j = x->j0 + k;
    if (x->call->keep && !x->call->keep[at_sdpa_cell(p->keep, x->b, x->h, i, j)]) return false;
    if (!at_sdpa_together(x->call->segments, x->call->key_segments, i, j)) return false;
    return !x->call->bias ||
           VALUE(x->call->bias[at_sdpa_cell(p->bias, x->b, x->h, i, j)]) != MINUS_INFINITY;
}

void sdpa_delta_of_weights(sdpa_tile *x, REAL *weights, REAL *upstream, REAL *delta)
{
    x->j0 = 0;
    for (int r = 0; upstream && r < x->rows; r++) {
        const REAL *A = sdpa_cells(x, r, weights), *dW = sdpa_cells(x, r, upstream);
        at_sdpa_range range = at_sdpa_range_of(x->call->p, x->call->key_len, x->b, x->i0 + r);
        REAL sum = 0;
        for (int j = range.lo; j < range.hi; j++)
            if (sdpa_cell_kept(x, r, j)) sum = mul_add(A[j], dW[j], sum);
        delta[r] += sum;
    }
}

/* Each is the chain of multiply-adds, n = 0, 1 ..., that the product dO V^T makes of dO_i.V_j:
 * where P_ij = 1, O_i is V_j and dP - delta exactly 0. */
void sdpa_delta_of_values(const sdpa_tile *x, const REAL *O, const REAL *dOt, REAL *restrict delta)
{
    REAL Ot[VEC_LANES * VEC_LANES];
    const ptrdiff_t row = x->call->p->o.row, ld = x->ld;
    for (int width = x->call->p->Dv; width > 0;
         width -= VEC_LANES, O += VEC_LANES, dOt += VEC_LANES * ld)
        for (int r = 0; r < ld; r += VEC_LANES) {
            vec sum = vec_load(delta + r), o[TRANSPOSE_LANES];
            if (x->rows - r >= VEC_LANES && width >= VEC_LANES) {
                for (int n = 0; n < VEC_LANES; n += TRANSPOSE_LANES) {
                    transpose_rows(O + r * row + n, row, o);
                    TRANSPOSE_UNROLL
                    for (int i = 0; i < TRANSPOSE_LANES; i++)
                        sum = vec_mul_add(o[i], vec_load(dOt + (n + i) * ld + r), sum);
                }
            } else {
                vec_transpose_upto(x->rows - r, width, O + r * row, row, Ot, VEC_LANES);
                for (int n = 0; n < width && n < VEC_LANES; n++)
                    sum =
                        vec_mul_add(vec_load(Ot + n * VEC_LANES), vec_load(dOt + n * ld + r), sum);
            }
            vec_store(delta + r, sum);
        }
}

/* delta_i = dO_i.O_i + sum_j A_ij dW_ij + sum_j P_ij dY_ij - dlse_i for the rows of the tile; on
 * the way dOt is made. */
static void backward_delta(sdpa_tile *x)
{
    const sdpa_operands *call = x->call;
    memset(x->delta, 0, (size_t)x->ld * sizeof *x->delta);
    if (call->dO) {
        sdpa_transpose(x, true, call->dO, x->dOt);
        sdpa_delta_of_values(x, sdpa_o(x, 0, call->O), x->dOt, x->delta);
    }
    sdpa_delta_of_weights(x, call->weights, call->dW, x->delta);
    sdpa_delta_of_weights(x, call->probs, call->dY, x->delta);
    sdpa_delta_of_lse(x, call->dlse, x->delta);
    for (int r = 0; r < x->rows; r++) sdpa_saved(x, r)[2] = x->delta[r];
}

/* ------------------------------------------------------------------ cells ---------------------- */

/* d = dP = z (dO V^T + dW) + dY */
static void backward_dP(const sdpa_tile *x)
{
    sdpa_cell_products(x, true, 1, x->call->V, x->call->dO ? x->dOt : NULL, 0, x->d);
    sdpa_add_upstream(x, x->call->dW, x->d);
    sdpa_drops(x);
    sdpa_drop(x, x->d);
    sdpa_add_upstream(x, x->call->dY, x->d);
}

/* d = dP -> dS */
static void backward_softmax(const sdpa_tile *x)
{
    for (int k = 0; k < x->keys; k++) {
        const REAL *P = x->s + k * x->ld, *delta = x->delta;
        REAL *restrict d = x->d + k * x->ld;
        for (int r = 0; r < x->ld; r++) d[r] = P[r] * (d[r] - delta[r]);
    }
}

/* Where a row goes into one number it is summed in double: whole rows sum to 0, so that rounding
 * errors would be all there is. */
void sdpa_add_to_bias(const sdpa_tile *x, REAL *dbias, const REAL *dS)
{
    const at_sdpa_cells at = x->call->p->bias;
    for (int r = 0; dbias && r < x->rows; r++, dS++) {
        REAL *row = dbias + at_sdpa_cell(at, x->b, x->h, x->i0 + r, x->j0);
        WIDE sum = 0;
        for (int k = 0; k < x->keys && at.j; k++) row[k] += dS[k * x->ld];
        for (int k = 0; k < x->keys && !at.j; k++) sum += (WIDE)dS[k * x->ld];
        if (!at.j) row[0] += (REAL)sum;
    }
}

/* The share of the tile's rows in the gradient of the learned scale, sum_j dX_ij c R_ij.  A is used
 * up, and c R takes its place: made again and not taken from X = s c R, which is 0 where s is. */
static void backward_scale(const sdpa_tile *x)
{
    const at_sdpa_plan *p = x->call->p;
    REAL *ds = x->call->ds + at_sdpa_row_number(p, x->b, x->h, x->i0), sum[AT_SDPA_ROWS] = {0};
    sdpa_cell_products(x, false, (REAL)p->c, x->call->K, x->Qt, 0, x->s);
    sdpa_mask_out(x, 0, x->s);
    for (int k = 0; k < x->keys; k++) {
        const REAL *R = x->s + k * x->ld, *dX = x->d + k * x->ld;
        for (int r = 0; r < x->ld; r++) sum[r] = mul_add(dX[r], R[r], sum[r]);
    }
    for (int r = 0; r < x->rows; r++) ds[r] += sum[r];
}

/* d = dX -> s dX, still 0 where masked, whatever s is */
static void backward_scaled(const sdpa_tile *x)
{
    const REAL s = x->call->scale[x->h * x->call->p->next_head];
    if (x->call->ds) backward_scale(x);
    for (ptrdiff_t i = 0; i < x->keys * x->ld; i++) x->d[i] *= s;
    sdpa_mask_out(x, 0, x->d);
}

/* ------------------------------------------------------------------ one tile ------------------- */

/* s = A,  d = dX */
static void backward_cells(sdpa_tile *x)
{
    sdpa_scores(x);
    backward_dP(x);
    sdpa_probs(x);
    backward_softmax(x);
    sdpa_drop(x, x->s);
    sdpa_mask_out(x, 0, x->d);
    if (x->slope) sdpa_mask_out(x, 0, x->slope);
    sdpa_add_to_bias(x, x->call->dbias, x->d);
    for (ptrdiff_t i = 0; x->slope && i < x->keys * x->ld; i++) x->d[i] *= x->slope[i];
}

static void backward_tile(sdpa_tile *x)
{
    const sdpa_operands *call = x->call;
    backward_cells(x);
    sdpa_multiply(x, (sdpa_product){true, true, x->s, call->dO, call->dV, 1}); /* dV += A^T dO */
    if (call->p->scaled) backward_scaled(x);
    sdpa_multiply(x, (sdpa_product){false, true, x->d, call->Q, call->dK, 1});  /* dK += c dX^T Q */
    sdpa_multiply(x, (sdpa_product){false, false, x->d, call->K, call->dQ, 1}); /* dQ += c dX K */
}

/* Q^T, dO^T unless delta has just made it, and what is saved of the rows. */
static void backward_rows(sdpa_tile *x, bool after_delta)
{
    sdpa_transpose(x, false, x->call->Q, x->Qt);
    if (!after_delta) sdpa_transpose(x, true, x->call->dO, x->dOt);
    sdpa_load_statistics(x);
}

/* ------------------------------------------------------------------ the schedule ---------------  */

static void backward_delta_blocks(void *ctx, ptrdiff_t block, ptrdiff_t to, int slot)
{
    const backward_schedule *schedule = ctx;
    sdpa_tile x = sdpa_tile_in(schedule->call, slot);
    for (; block < to; block++) {
        at_sdpa_select_block(&x, (int)block);
        schedule->sweep->delta(&x);
    }
}

/* Key block k of head h in batch b and the row block it is paired with in this step. */
static void backward_pair(const backward_schedule *schedule, sdpa_tile *x, int b, int h, int k,
                          int step)
{
    const at_sdpa_plan *p = schedule->call->p;
    int i = (k + step) % schedule->steps, end = k * schedule->keys + schedule->keys;
    if (i >= at_sdpa_blocks(p->T, p->tile)) return;
    if (end > p->N) end = p->N;
    sdpa_select_rows(x, b, h, i * p->tile);
    const bool first = k == 0 && schedule->held == schedule->steps;
    if (first) schedule->sweep->delta(x);
    bool ready = false;
    for (int j0 = k * schedule->keys; j0 < end; j0 += AT_SDPA_KEYS) {
        if (!sdpa_select_keys(x, j0, j0 + AT_SDPA_KEYS)) continue;
        if (!ready) schedule->sweep->rows(x, first);
        ready = true;
        schedule->sweep->tile(x);
    }
}

static void backward_task(const backward_schedule *schedule, sdpa_tile *x, int task)
{
    const at_sdpa_plan *p = schedule->call->p;
    backward_part k = backward_part_of(schedule->cut_k, schedule->key_blocks, &task);
    backward_part g = backward_part_of(schedule->cut_g, p->G, &task);
    backward_part b = backward_part_of(schedule->cut_b, p->B, &task);

    for (int batch = b.from; batch < b.to; batch++)
        for (int h = g.from * p->group; h < g.to * p->group; h++) {
            for (int block = k.from; block < k.to; block++)
                for (int step = schedule->step; step < schedule->step + schedule->held; step++)
                    backward_pair(schedule, x, batch, h, block, step);
        }
}

static void backward_tasks(void *ctx, ptrdiff_t task, ptrdiff_t to, int slot)
{
    const backward_schedule *schedule = ctx;
    sdpa_tile x = sdpa_tile_in(schedule->call, slot);
    for (; task < to; task++) backward_task(schedule, &x, (int)task);
}

/* What can be a task of its own, given which sums dbias shares.  Where there are heads enough, a
 * head's whole schedule is one task: all that it reads and adds to is in cache. */
static void backward_cut(backward_schedule *schedule)
{
    const at_sdpa_plan *p = schedule->call->p;
    const bool dbias = schedule->call->dbias || (schedule->call->dot && schedule->call->dot->dbias);
    schedule->cut_b = !dbias || p->bias.b;
    schedule->cut_g = !dbias || p->bias.h;
    schedule->cut_k = !dbias || p->bias.i || p->bias.j;
    double heads = (double)(schedule->cut_b ? p->B : 1) * (schedule->cut_g ? p->G : 1);
    if (heads >= BACKWARD_TASKS || schedule->steps == 1) schedule->cut_k = false;
    schedule->held = schedule->cut_k ? 1 : schedule->steps;
}

static backward_schedule backward_schedule_of(const sdpa_operands *call, const sdpa_sweep *sweep)
{
    const at_sdpa_plan *p = call->p;
    backward_schedule schedule = {.call = call, .sweep = sweep, .keys = backward_keys(p)};
    const int row_blocks = at_sdpa_blocks(p->T, p->tile);
    schedule.key_blocks = at_sdpa_blocks(p->N, schedule.keys);
    schedule.steps = row_blocks > schedule.key_blocks ? row_blocks : schedule.key_blocks;
    backward_cut(&schedule);
    return schedule;
}

static void backward_sweep(backward_schedule schedule)
{
    const at_sdpa_plan *p = schedule.call->p;
    if (p->T == 0) return;
    const int rows = p->T < p->tile ? p->T : p->tile, row_blocks = at_sdpa_blocks(p->T, p->tile);
    const int keys = p->N < schedule.keys ? p->N : schedule.keys;
    int tasks = (schedule.cut_b ? p->B : 1) * (schedule.cut_g ? p->G : 1);
    double work = (double)rows * keys * p->group * (schedule.sweep->products + BACKWARD_EXP);
    if (schedule.cut_k) tasks *= schedule.key_blocks;
    if (schedule.held < schedule.steps || p->N == 0)
        at_for((ptrdiff_t)p->B * p->H * row_blocks, at_sdpa_work((double)rows * p->Dv), p->slots,
               backward_delta_blocks, &schedule);
    for (schedule.step = 0; schedule.step < schedule.steps; schedule.step += schedule.held)
        at_for(tasks, at_sdpa_work(work * schedule.held), p->slots, backward_tasks, &schedule);
}

/* ------------------------------------------------------------------ documents ------------------ */

typedef struct {
    const sdpa_operands *call;
    const sdpa_sweep *sweep;
    const at_sdpa_documents *documents;
} backward_documents;

/* Item (document, key/value head): all of it, unless the document is cut into more tasks. */
static void backward_document_range(void *ctx, ptrdiff_t item, ptrdiff_t to, int slot)
{
    const backward_documents *all = ctx;
    const int G = all->call->p->G;
    for (; item < to; item++) {
        sdpa_document_call of;
        const sdpa_operands *call =
            sdpa_document_of(all->call, all->documents->document + item / G, &of);
        const backward_schedule schedule = backward_schedule_of(call, all->sweep);
        if (schedule.cut_k) continue;
        sdpa_tile x = sdpa_tile_in(call, slot);
        const int blocks = of.p.H * at_sdpa_blocks(of.p.T, of.p.tile);
        for (int block = 0; of.p.N == 0 && item % G == 0 && block < blocks; block++) {
            at_sdpa_select_block(&x, block);
            all->sweep->delta(&x);
        }
        backward_task(&schedule, &x, (int)(item % G));
    }
}

/* Documents share no gradient but that of a bias: with one it is one document after the other.
 * Else first all those side by side whose heads are a task each; then those that are long enough to
 * be cut. */
static void backward_each_document(const sdpa_operands *call, const sdpa_sweep *sweep)
{
    const at_sdpa_documents *documents = at_sdpa_documents_of(call);
    const at_sdpa_plan *p = call->p;
    const bool dbias = call->dbias || (call->dot && call->dot->dbias);
    double work = 0;
    for (int k = 0; k < documents->n; k++)
        work += (double)documents->document[k].T * documents->document[k].N * p->group;
    work *= (sweep->products + BACKWARD_EXP) / (documents->n + 1);
    if (!dbias)
        at_for((ptrdiff_t)documents->n * p->G, at_sdpa_work(work), p->slots,
               backward_document_range, &(backward_documents){call, sweep, documents});
    for (int k = 0; k < documents->n; k++) {
        sdpa_document_call of;
        const sdpa_operands *one = sdpa_document_of(call, documents->document + k, &of);
        const backward_schedule schedule = backward_schedule_of(one, sweep);
        if (dbias || schedule.cut_k) backward_sweep(schedule);
    }
}

void sdpa_sweep_tiles(const sdpa_operands *call, const sdpa_sweep *sweep)
{
    if (call->segments)
        backward_each_document(call, sweep);
    else
        backward_sweep(backward_schedule_of(call, sweep));
}

void AT_REAL(sdpa_fused_backward)(at_node *n)
{
    sdpa_operands call = sdpa_operands_of(n);
    sdpa_operands_back(n, &call);
    sdpa_sweep_tiles(&call, &(sdpa_sweep){.delta = backward_delta,
                                          .rows = backward_rows,
                                          .tile = backward_tile,
                                          .products = 3.0 * call.p->D + 2.0 * call.p->Dv});
}
