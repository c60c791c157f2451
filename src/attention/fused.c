/* fused.c -- attention on tiles: the fused path.
 *
 * reference.c derives what is computed; here is how, without ever holding T x N numbers.  A tile is
 * a block of rows against a block of keys; its scores live in scratch memory, are made into what is
 * wanted of them while they are in cache, and are forgotten.
 *
 *              keys j0 .. j0+keys-1
 *            +---------+---------+----
 *     rows   |         |         |           s   scores, then P, then A
 *     i0 ..  |  tile   |         |           d   dP, then dS, then dX
 *            +---------+---------+----
 *            |         |         |           all products, Q K^T and the four of backward, are
 *                                            matrix products of whole tiles
 *
 * It is stored transposed, as K Q^T: then a vector holds one key's scores of neighbouring
 * rows, a row's maximum and sum stay in its own lane, and K and V can be read where they are.
 *
 * FORWARD (fused_forward.c).  One task takes a block of rows and goes along the keys.  It cannot
 * know a row's maximum before the last tile, so it keeps a running one, and corrects what it has
 * when a larger one turns up:
 *
 *     m' = max(m, max_j S_ij)
 *     l' = exp(m - m') l   + sum_j exp(S_ij - m')
 *     O' = exp(m - m') O   + sum_j exp(S_ij - m') z_ij V_j          and O_i = O / l at the end
 *
 * (the online softmax: Milakov, Gimelshein 2018; in attention: Rabe, Staats 2021; Dao et al. 2022).
 * Tiles of which nothing is kept are not visited, and a tile is narrowed to the keys that some row
 * of it keeps.
 *
 * Scores are finished, c included, before the maximum is taken and subtracted: so no exponent is
 * above 0.  (A fused multiply-add c s - m does not round c s as m was rounded: exponents could
 * reach 512 for floats around 1e10.)
 *
 * BACKWARD (fused_backward.c).  delta first, then one sweep over the tiles, each doing its share of
 * everything:
 *
 *     X = c s Q K^T          P = exp(S - m) / l           A = P z
 *     d = z (dO V^T + dW) + dY        dS = P (d - delta)  dX = dS slope
 *     dV += A^T dO           dK += c s dX^T Q             dQ += c s dX K
 *     ds_i += sum_j dX_ij c R_ij, if the scale s is learned; summed over the rows i at the end
 *
 * A tile adds to dQ of its rows and to dK, dV of its keys.  So that tasks need not wait for each
 * other, nor their order matter, the sweep follows a round-robin schedule: in a step, key block k
 * (some tiles long) is paired with row block (k + step) mod n.  Within a step no two tasks share a
 * row block or a key block, and all steps together are all pairs.  Every sum then has one fixed
 * order, whatever the number of threads.
 *
 *     n = 3        keys 0   1   2
 *     rows 0            0   2   1        the step in which they are paired
 *          1            1   0   2
 *          2            2   1   0
 *
 * Where there are heads enough to keep all threads busy, a head's whole schedule is one task, and
 * one key block is paired with all its row blocks before the next begins: its K, V, dK and dV stay
 * in cache.
 *
 * dbias breaks the separation where bias is repeated: along batches or heads, these become one
 * task; along rows and keys at once, so do the key blocks.  (A tensor in several roles is no such
 * case: operands.h.)
 *
 * MEMORY.  A tile needs 150 to 250 KB, and 64 threads are not to need 64 times that for one long
 * head.  So there are slots: as many as fit into a bound that the size of O sets, and no more than
 * threads.  Who works takes a slot, and does one block after the other; the blocks follow from the
 * shapes alone. */
#include "ops/op.h"
#include "attention/fused_tile.h"

enum {
    FUSED_SHORT = 512,
    FUSED_LONG = 1024,
    FUSED_SCRATCH = 768 << 10 /* bytes for all slots, or an eighth of O, but at least one slot */
};

/* The diagonal cuts through a large part of the tiles of a short sequence; the lower they are, the
 * less of them is computed in vain.  Of a long one, K and V come from beyond the second-level cache
 * for every block of rows; the higher those are, the less often. */
static int fused_rows(const at_sdpa_plan *p)
{
    bool band = p->causal || p->window_left || p->window_right;
    if (band && p->T <= FUSED_SHORT) return AT_SDPA_ROWS / 4;
    return p->T <= FUSED_LONG ? AT_SDPA_ROWS / 2 : AT_SDPA_ROWS;
}

void at_sdpa_choose_tile(at_sdpa_plan *p, size_t real)
{
    p->tile = fused_rows(p);
    p->gemm = at_sdpa_gemm_of(p, real);
}

/* Documents are no larger than all, and want no larger tiles: what is enough here is for them. */
size_t at_sdpa_scratch(at_sdpa_plan *p, at_dtype real)
{
    const size_t size = at_dtype_size(real);
    at_sdpa_choose_tile(p, size);
    p->slots = 1;
    if (at_count(p->rows) == 0) return 0;
    if (p->path != ATTIC_FUSED) return AT_SDPA_PLAIN_ARRAYS * size * (size_t)p->N;
    size_t threads = (size_t)at_thread_count(), space = AT_OF_REAL(real, sdpa_tile_bytes)(p);
    size_t bound = (size_t)at_count(p->O) * size / 8;
    size_t slots = (bound > FUSED_SCRATCH ? bound : FUSED_SCRATCH) / (space + 1);
    if (slots > threads) slots = threads;
    p->slots = slots > 0 ? (int)slots : 1;
    return space;
}
