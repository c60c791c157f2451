/* plan.h -- one call of at_sdpa, checked and brought to one form for all three paths.
 *
 * Whatever the layout, the paths see B batches of H query heads and G key/value heads:
 *
 *     row i of head h in batch b of Q   is at   Q + b q.batch + h q.head + i q.row   (D elements)
 *     bias_ij of head h in batch b      is at   bias + b bias.b + h bias.h + i bias.i + j bias.j
 *
 *     layout                 q.batch   q.head   q.row
 *     [T,D]                  -         -        D
 *     [B,T,D]                T D       -        D
 *     [B,H,T,D]              H T D     T D      D
 *     [B,T,H*D], heads       T H D     D        H D
 *
 * A stride of 0 means repeated, so a broadcast mask or bias needs no case of its own.
 *
 * Which keys a row keeps is the intersection of an interval and of what is decided cell by cell:
 *
 *     lo <= j < hi     causal, window and key_len
 *     keep_ij = 1      and bias_ij > -inf, and row and key are of one document (segments)
 *
 * Cell (b,h,i,j) has the number ((b H + h) T + i) N + j.  Dropout decides by it, so that every
 * path, tile and layout drops the same cells. */
#ifndef AT_ATTENTION_PLAN_H
#define AT_ATTENTION_PLAN_H
#include "autograd/op.h"
#include "kernels/rng.h"
#include "attention/attention.h"

typedef struct {
    ptrdiff_t batch, head, row;
} at_sdpa_layout;

typedef struct {
    ptrdiff_t b, h, i, j; /* j is 0 or 1 */
} at_sdpa_cells;

typedef struct {
    int B, H, G, T, N, D, Dv;
    int all_T, all_N; /* T and N of the tensors; with T and N of one document: see documents.h */
    int group;        /* H / G query heads read one key/value head */
    at_sdpa_layout q, k, v, o;
    at_sdpa_cells bias, keep;
    at_shape O;      /* the shape of O */
    at_shape scores; /* the shape of the scores: [T,N], [B,T,N], [B,H,T,N] or [H,T,N] */
    at_shape rows;   /* the shape of one number per row: scores without N */

    double c;      /* scale / temperature: the scores are multiplied with it */
    bool scaled;   /* the scores are multiplied with a learned scale, too */
    int next_head; /* the learned scale of head h is number h next_head: 0 or 1 */
    bool sinks;    /* there is a sink */
    int next_sink; /* the sink of head h is number h next_sink: 0 or 1 */
    double cap;    /* the softcap; 0: none */
    bool sums;     /* sum_j dX_ij is known in every row: not with a softcap, see identities.c */

    bool causal;
    int64_t offset; /* the diagonal is j = i + offset */
    int window_left, window_right;

    double dropout;       /* the probability of a drop; 0 when not training */
    at_stream drops;      /* the random numbers of the drops, frozen when the op is recorded */
    ptrdiff_t first_cell; /* the number of cell (0,0,0,0): not 0 in a document */

    at_dtype stored; /* the type of K and V: real, or f16 or bf16, widened a tile at a time */

    at_sdpa_path path; /* never ATTIC_TAPE_PATH */
    int tile;          /* the number of rows of a tile */
    int slots;         /* the number of slots of scratch memory: as many threads work at once */
    size_t gemm;       /* bytes of a slot that the matrix products use */
    bool checked;      /* backward checks itself: see operands.h */
    unsigned own; /* bit i: in[i] has another role as well, and its gradient is collected apart */
    int weights, probs, lse, raw; /* the number of each output of the node; 0: not asked for */
    bool tangents; /* of at_sdpa_jvp: Odot is output 1, the weights' tangent output weights + 1,
                      the tangent of lse output lse + 1 */
} at_sdpa_plan;

/* The inputs of a node; those from Q_DOT on are the tangents of at_sdpa_jvp. */
enum { AT_SDPA_Q, AT_SDPA_K, AT_SDPA_V, AT_SDPA_BIAS, AT_SDPA_KEEP, AT_SDPA_LEN, AT_SDPA_SCALE };
enum { AT_SDPA_SINK = AT_SDPA_SCALE + 1, AT_SDPA_SEGMENTS, AT_SDPA_KEY_SEGMENTS };
enum { AT_SDPA_Q_DOT = AT_SDPA_KEY_SEGMENTS + 1, AT_SDPA_K_DOT, AT_SDPA_V_DOT, AT_SDPA_BIAS_DOT };
enum { AT_SDPA_SINK_DOT = AT_SDPA_BIAS_DOT + 1, AT_SDPA_INPUTS };

/* False after a sticky error: one for each fact about shapes and options that does not hold.
 * tangents: for at_sdpa_jvp, which has not all options of at_sdpa. */
bool at_sdpa_plan_of(at_tape *t, const at_tensor *Q, const at_tensor *K, const at_tensor *V,
                     const at_sdpa_args *a, bool tangents, at_sdpa_plan *p);

/* The inputs of the node, in `in`; with tangents Qdot, Kdot and Vdot are yet to be set. */
at_inputs at_sdpa_inputs(at_tensor *in[AT_SDPA_INPUTS], at_tensor *Q, at_tensor *K, at_tensor *V,
                         const at_sdpa_args *a, const at_sdpa_plan *p);

/* Which of Q, K, V and their tangents has another role as well, and a gradient that two would add
 * to?  Bit i: in[i], whose gradient is at_sdpa_copy until sdpa_add_up. */
unsigned at_sdpa_several_roles(at_inputs in);

/* Is there such a path, ATTIC_TAPE_PATH among them?  Else an error. */
bool at_sdpa_is_path(at_tape *t, at_sdpa_path path);

/* Sets *diagonal: the diagonal is j = i + *diagonal.  False after an error, which calls the caller
 * `name`.  needed: something depends on it, so that ATTIC_ALIGN_EQUAL requires T = N. */
bool at_sdpa_diagonal(at_tape *t, const char *name, bool needed, at_align align, int offset, int T,
                      int N, int64_t *diagonal);

/* Numbers of each row in n->saved: the maximum m, 1/sum, and a place for delta of the
 * backward.  With tangents, all rows are followed by as many numbers of each row again: see
 * tangent.c. */
enum { AT_SDPA_SAVED = 3 };

/* A row of the plain path needs N numbers for each of S, slope, P, z and key. */
enum { AT_SDPA_PLAIN_ARRAYS = 5 };
/* Bytes of scratch memory of one slot, 0 if there are no rows.  Sets p->slots, p->tile, p->gemm. */
size_t at_sdpa_scratch(at_sdpa_plan *p, at_dtype real);
/* Sets p->tile and p->gemm for reals of this size, by p->T and p->N. */
void at_sdpa_choose_tile(at_sdpa_plan *p, size_t real);
at_tensor *at_sdpa_composed(at_tape *t, at_tensor *Q, at_tensor *K, at_tensor *V,
                            const at_sdpa_args *a, const at_sdpa_plan *p);

/* Adds `bytes`, rounded up to whole cache lines, to *total; returns *total before. */
static inline size_t at_sdpa_take(size_t *total, size_t bytes)
{
    size_t at = *total;
    *total += (bytes + 63) / 64 * 64;
    return at;
}

/* Memory `bytes` further on; NULL if there is none. */
static inline void *at_sdpa_after(void *space, size_t bytes)
{
    return space ? (char *)space + bytes : NULL;
}

static inline ptrdiff_t at_sdpa_row(at_sdpa_layout l, int b, int h, int i)
{
    return b * l.batch + h * l.head + i * l.row;
}

static inline ptrdiff_t at_sdpa_cell(at_sdpa_cells c, int b, int h, int i, int j)
{
    return b * c.b + h * c.h + i * c.i + j * c.j;
}

/* The number of row (b,h,i); also the place of the row in lse and in what is saved. */
static inline ptrdiff_t at_sdpa_row_number(const at_sdpa_plan *p, int b, int h, int i)
{
    return ((ptrdiff_t)b * p->H + h) * p->all_T + i;
}

/* The number of cell (b,h,i,0); also the place of row i in weights and scores. */
static inline ptrdiff_t at_sdpa_cell_number(const at_sdpa_plan *p, int b, int h, int i)
{
    return at_sdpa_row_number(p, b, h, i) * p->all_N;
}

typedef struct {
    int lo, hi; /* keys lo .. hi-1; lo <= hi */
} at_sdpa_range;

/* What causal, window and key_len leave to row i of batch b. */
static inline at_sdpa_range at_sdpa_range_of(const at_sdpa_plan *p, const int32_t *key_len, int b,
                                             int i)
{
    int64_t diagonal = i + p->offset, lo = 0, hi = p->N;
    if (p->window_left && lo < diagonal - p->window_left + 1) lo = diagonal - p->window_left + 1;
    if (p->window_right && hi > diagonal + p->window_right) hi = diagonal + p->window_right;
    if (p->causal && hi > diagonal + 1) hi = diagonal + 1;
    if (key_len && hi > key_len[b]) hi = key_len[b];
    if (hi < 0) hi = 0;
    if (lo > hi) lo = hi;
    return (at_sdpa_range){(int)lo, (int)hi};
}

/* Are row i and key j of one document, ids being those of a batch?  Without segments all are. */
static inline bool at_sdpa_together(const int32_t *segments, const int32_t *key_segments, int i,
                                    int j)
{
    return !segments || (segments[i] >= 0 && segments[i] == key_segments[j]);
}

/* A cell is kept if its random u32 is at least this. */
static inline double at_sdpa_drop_below(const at_sdpa_plan *p)
{
    return p->dropout * 4294967296.0;
}

/* z of the cell with this number: 0 with probability p, else 1/(1-p). */
static inline double at_sdpa_drop_factor(const at_sdpa_plan *p, uint64_t cell)
{
    if (p->dropout == 0) return 1;
    return at_random_u32(p->drops, cell) >= at_sdpa_drop_below(p) ? 1 / (1 - p->dropout) : 0;
}

#endif
