/* fused_tile.h -- one tile of attention: some rows of one head against some keys.
 *
 * An array of cells is stored by keys, so that neighbouring numbers belong to neighbouring rows: a
 * vector holds one key's cells of some rows, and each row stays in its own lane.
 *
 *                   rows i0 .. i0+rows-1   filled up to ld, a multiple of the vector
 *                 +----------------------+
 *     keys  j0 .. |                      |      cell (row r, key k) at [k*ld + r]
 *                 +----------------------+
 *
 * fused_tile.c lays a tile out, finds what is kept of it, and multiplies; fused_forward.c and
 * fused_backward.c make attention of it. */
#ifndef AT_ATTENTION_FUSED_TILE_H
#define AT_ATTENTION_FUSED_TILE_H
#include "kernels/simd_math.h"
#include "ops/op.h"
#include "attention/operands.h"

enum {
    AT_SDPA_ROWS = 128, /* rows of the largest tile; a call has plan->tile */
    AT_SDPA_KEYS = 128  /* keys of the largest tile */
};

/* Scratch memory of one tile, in bytes. */
AT_EACH_REAL(size_t, sdpa_tile_bytes, (const at_sdpa_plan *p));
/* What p->gemm should be: enough for the products of a tile, and for the raw scores of all keys. */
size_t at_sdpa_gemm_of(const at_sdpa_plan *p, size_t real);

/* The work of multiply-adds, for at_for: 64 of them take a nanosecond or so. */
static inline ptrdiff_t at_sdpa_work(double multiply_adds)
{
    return multiply_adds < 0x1p33 ? (ptrdiff_t)(multiply_adds / 64) : 1 << 30;
}

static inline int at_sdpa_blocks(int n, int size)
{
    return n / size + (n % size != 0);
}

typedef struct {
    const sdpa_operands *call;
    int b, h;     /* the batch and the query head */
    int i0, rows; /* rows i0 .. i0+rows-1 */
    int j0, keys; /* keys j0 .. j0+keys-1 */
    ptrdiff_t ld; /* rows, filled up to a multiple of the vector */
    REAL c;       /* the scores of this head are multiplied with it */
    bool some;    /* row r keeps keys lo[r] <= k < hi[r] at most; false: every cell is kept */
    bool by_cell; /* a row keeps only keys whose mask is 1, too; implies `some` */
    int from, to; /* with `some`: lo[r] is from + r and hi[r] is to + r, within 0 .. keys */

    REAL *wide;          /* rows of K or V, widened from 16 bits; NULL where they are real */
    REAL *Qt;            /* [D,ld] Q^T, 0 beyond the rows */
    REAL *dOt;           /* [Dv,ld] dO^T, 0 beyond the rows */
    REAL *s;             /* cells: scores, then P, then A */
    REAL *d;             /* cells: dP, then dS, then dX */
    REAL *slope;         /* cells: d/dX U; NULL without softcap */
    REAL *z;             /* cells: the factors of dropout; NULL without */
    REAL *m, *l, *delta; /* [ld] one number for each row, as in reference.c */
    REAL *lo, *hi;       /* [ld] the first key that each row may keep, and one past the last */
    unsigned char *mask; /* cells: 1 = kept */
    unsigned char kept[AT_SDPA_ROWS]; /* has row r kept a cell of the tiles so far? */
    at_workspace gemm;                /* memory for the matrix products */
    struct {
        REAL *Qt, *dOt, *s, *d, *bend, *r, *ref, *delta;
    } dot; /* of at_sdpa_jvp alone: see tangent_tiles.c */
} sdpa_tile;

/* C += W X, or C += W^T X if `across`; beta = 0: C = ..., and what C held is not read.
 *
 * W are cells, 0 where masked.  Of X and C one is of the rows, the other one of the keys: O, V and
 * their like if `values`; else Q, K and their like, and the product is multiplied with p->c. */
typedef struct {
    bool values, across;
    const REAL *W, *X;
    REAL *C, beta;
} sdpa_product;

/* The functions of fused_tile.c, for this type. */
#define sdpa_tile_in(...) AT_REAL(sdpa_tile_in)(__VA_ARGS__)
#define sdpa_transpose(...) AT_REAL(sdpa_transpose)(__VA_ARGS__)
#define sdpa_select_rows(...) AT_REAL(sdpa_select_rows)(__VA_ARGS__)
#define sdpa_select_keys(...) AT_REAL(sdpa_select_keys)(__VA_ARGS__)
#define sdpa_capped(...) AT_REAL(sdpa_capped)(__VA_ARGS__)
#define sdpa_add_bias(...) AT_REAL(sdpa_add_bias)(__VA_ARGS__)
#define sdpa_key_range(...) AT_REAL(sdpa_key_range)(__VA_ARGS__)
#define sdpa_fill(...) AT_REAL(sdpa_fill)(__VA_ARGS__)
#define sdpa_mask_out(...) AT_REAL(sdpa_mask_out)(__VA_ARGS__)
#define sdpa_load_statistics(...) AT_REAL(sdpa_load_statistics)(__VA_ARGS__)
#define sdpa_probs(...) AT_REAL(sdpa_probs)(__VA_ARGS__)
#define sdpa_drops(...) AT_REAL(sdpa_drops)(__VA_ARGS__)
#define sdpa_multiply(...) AT_REAL(sdpa_multiply)(__VA_ARGS__)
#define sdpa_cell_products(...) AT_REAL(sdpa_cell_products)(__VA_ARGS__)

/* The functions of fused_forward.c and fused_backward.c that tangents need, too. */
#define sdpa_forward_blocks(...) AT_REAL(sdpa_forward_blocks)(__VA_ARGS__)
#define sdpa_delta_of_weights(...) AT_REAL(sdpa_delta_of_weights)(__VA_ARGS__)
#define sdpa_delta_of_values(...) AT_REAL(sdpa_delta_of_values)(__VA_ARGS__)
#define sdpa_add_to_bias(...) AT_REAL(sdpa_add_to_bias)(__VA_ARGS__)
#define sdpa_sweep_tiles(...) AT_REAL(sdpa_sweep_tiles)(__VA_ARGS__)

/* A tile without rows and keys, in this slot of the scratch memory. */
sdpa_tile sdpa_tile_in(const sdpa_operands *call, int slot);
/* to [width,ld] = the transpose of the rows of the tile, 0 beyond them: rows of O or the like if
 * `values`, else of Q or the like.  Nothing is done if X is NULL. */
void sdpa_transpose(const sdpa_tile *x, bool values, const REAL *X, REAL *to);
/* Takes the rows of head h in batch b that begin at i0. */
void sdpa_select_rows(sdpa_tile *x, int b, int h, int i0);
/* Takes the keys j0 .. end-1, without those at both ends that no row keeps; false if no key is
 * left. */
bool sdpa_select_keys(sdpa_tile *x, int j0, int end);
/* s = U, and slope.  Masked cells are computed like any other. */
void sdpa_capped(sdpa_tile *x);
/* cells += bias; NULL: 0 */
void sdpa_add_bias(const sdpa_tile *x, const REAL *bias, REAL *cells);
/* s = S, and slope: both of these steps. */
static inline void sdpa_scores(sdpa_tile *x)
{
    sdpa_capped(x);
    sdpa_add_bias(x, x->call->bias, x->s);
}
/* The keys that a row of the vector at r may keep. */
at_sdpa_range sdpa_key_range(const sdpa_tile *x, ptrdiff_t r);
/* The cells of the vector at r become `value` outside of sdpa_key_range. */
void sdpa_fill(const sdpa_tile *x, ptrdiff_t r, REAL value, REAL *cells);
/* Masked cells become `value`, whatever they are. */
void sdpa_mask_out(const sdpa_tile *x, REAL value, REAL *cells);
/* m, l = 1/sum and delta of the rows, as saved; but m = 0 where -inf is saved, which could not be
 * subtracted. */
void sdpa_load_statistics(const sdpa_tile *x);
/* s = P = exp(S - m) l, exactly 0 where masked */
void sdpa_probs(const sdpa_tile *x);
/* z of every cell, if there is dropout */
void sdpa_drops(const sdpa_tile *x);
/* Nothing is done if X or C is NULL. */
void sdpa_multiply(const sdpa_tile *x, sdpa_product a);
/* cells = alpha Y Xt + beta cells, with Y the keys' rows of V or the like if `values`, else of K or
 * the like, and Xt [width,ld] of the tile; the product is 0 if Y or Xt is NULL. */
void sdpa_cell_products(const sdpa_tile *x, bool values, REAL alpha, const REAL *Y, const REAL *Xt,
                        REAL beta, REAL *cells);

/* The forward of all blocks of rows, which goes along the keys.
 *
 *     rows(x)                prepares the rows for their tiles, if there are any
 *     tile(x, first)         the share of one tile: the first one of its rows writes O, not adds
 *     end(x)                 when O, m and 1/l are final */
typedef struct {
    void (*rows)(sdpa_tile *x), (*tile)(sdpa_tile *x, bool first), (*end)(sdpa_tile *x);
    double products; /* multiply-adds of a cell */
} sdpa_forward_steps;
void sdpa_forward_blocks(const sdpa_operands *call, const sdpa_forward_steps *steps);

/* delta_i += sum_j A_ij dW_ij over the kept j, for the rows of the tile: A is an output, dW its
 * upstream gradient, NULL for 0. */
void sdpa_delta_of_weights(sdpa_tile *x, REAL *weights, REAL *upstream, REAL *delta);
/* delta_i += dO_i.O_i */
void sdpa_delta_of_values(const sdpa_tile *x, const REAL *O, const REAL *dOt, REAL *delta);
/* dbias += dS of the tile's cells, if dbias is not NULL */
void sdpa_add_to_bias(const sdpa_tile *x, REAL *dbias, const REAL *dS);

/* A sweep of the backward over all tiles of all heads, in the order that fused.c draws.
 *
 *     delta(x)               saves delta of the rows of a block
 *     rows(x, after_delta)   prepares the rows for their tiles; after_delta: dO^T is there
 *     tile(x)                adds the share of one tile to all gradients */
typedef struct {
    void (*delta)(sdpa_tile *x), (*rows)(sdpa_tile *x, bool after_delta), (*tile)(sdpa_tile *x);
    double products; /* multiply-adds of a cell */
} sdpa_sweep;
void sdpa_sweep_tiles(const sdpa_operands *call, const sdpa_sweep *sweep);

/* cells *= z, if there is dropout */
static inline void sdpa_drop(const sdpa_tile *x, REAL *restrict cells)
{
    const ptrdiff_t n = x->z ? x->keys * x->ld : 0;
    for (ptrdiff_t i = 0; i < n; i++) cells[i] *= x->z[i];
}

/* The rows of block `block` of all heads. */
static inline void at_sdpa_select_block(sdpa_tile *x, int block)
{
    int blocks = at_sdpa_blocks(x->call->p->T, x->call->p->tile), head = block / blocks;
    sdpa_select_rows(x, head / x->call->p->H, head % x->call->p->H,
                     block % blocks * x->call->p->tile);
}

/* Row r of the tile in a tensor like O; */
static inline REAL *sdpa_o(const sdpa_tile *x, int r, REAL *O)
{
    return O + at_sdpa_row(x->call->p->o, x->b, x->h, x->i0 + r);
}
/* row r from key j0 on in a tensor [B,H,T,N]; and what is saved of row r. */
static inline REAL *sdpa_cells(const sdpa_tile *x, int r, REAL *cells)
{
    return cells + at_sdpa_cell_number(x->call->p, x->b, x->h, x->i0 + r) + x->j0;
}
/* Cells of the rows become 0, for all keys; NULL: none */
static inline void sdpa_clear_cells(sdpa_tile *x, REAL *cells)
{
    x->j0 = 0;
    for (int r = 0; cells && r < x->rows; r++)
        memset(sdpa_cells(x, r, cells), 0, (size_t)x->call->p->N * sizeof *cells);
}
static inline REAL *sdpa_saved(const sdpa_tile *x, int r)
{
    return x->call->saved + AT_SDPA_SAVED * at_sdpa_row_number(x->call->p, x->b, x->h, x->i0 + r);
}

/* delta_i -= dlse_i; NULL: 0.  A row that keeps nothing has nothing else in delta, not even 0 times
 * a NaN. */
static inline void sdpa_delta_of_lse(const sdpa_tile *x, const REAL *dlse, REAL *delta)
{
    if (dlse) dlse += at_sdpa_row_number(x->call->p, x->b, x->h, x->i0);
    for (int r = 0; r < x->rows; r++) {
        if (VALUE(sdpa_saved(x, r)[1]) == 0) delta[r] = 0;
        if (dlse) delta[r] -= dlse[r];
    }
}

/* cells += the upstream gradient of an output [B,H,T,N]; NULL: 0 */
static inline void sdpa_add_upstream(const sdpa_tile *x, REAL *upstream, REAL *cells)
{
    for (int r = 0; upstream && r < x->rows; r++) {
        const REAL *dW = sdpa_cells(x, r, upstream);
        for (int k = 0; k < x->keys; k++) cells[k * x->ld + r] += dW[k];
    }
}

#endif
