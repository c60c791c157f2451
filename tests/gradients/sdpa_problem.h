/* sdpa_problem.h -- random attention problems: any options, any shapes, decided by a seed.
 *
 * The tests run them on all paths and compare; some are rows of the gradient table.  Every field of
 * at_sdpa_args, and every kind of shape, is an aspect with a few values, so that a test can count which
 * pairs of values have met. */
#ifndef ATTIC_TESTS_SDPA_PROBLEM_H
#define ATTIC_TESTS_SDPA_PROBLEM_H
#include "attic_op.h"

typedef enum {
    SDPA_TINY,  /* sizes of 0 to 4: for numerical differences */
    SDPA_SMALL, /* sizes of 0 to 6 */
    SDPA_TILES, /* 63 to 321 rows and keys, many about a multiple of 64 */
    SDPA_LARGE  /* 100 to 600 rows and keys */
} sdpa_size;

typedef enum { SDPA_ALL_DIFFER, SDPA_K_IS_V, SDPA_Q_IS_K, SDPA_ALL_SAME } sdpa_same;

/* What becomes of the weights, of probs and of lse: not asked for, not looked at, looked at beside O, looked
 * at while O is not. */
typedef enum { SDPA_NO_WEIGHTS, SDPA_UNUSED, SDPA_BESIDE_O, SDPA_ALONE } sdpa_weights;

/* Ids of documents: none, one document, runs of ids (some of them negative), ids that return. */
typedef enum { SDPA_NO_IDS, SDPA_ONE_ID, SDPA_RUNS, SDPA_RETURNS } sdpa_segments;

/* The real inputs of a call, by number. */
enum { SDPA_Q, SDPA_K, SDPA_V, SDPA_BIAS, SDPA_SCALE, SDPA_SINK, SDPA_REALS };

/* Everything about one call but the numbers, which follow from seed. */
typedef struct {
    int seed;
    sdpa_size size;
    int B, H, G, T, S, D, Dv;
    at_sdpa_args args;                              /* without tensors */
    at_shape Q, K, V, bias, keep, head_scale, sink; /* the last four: if there is one */
    bool has_bias, infinities, has_keep, has_key_len, has_scale, has_sink;
    int block; /* keep, and -INFINITY in bias, cell by cell if 0, else by blocks of this size */
    sdpa_segments segments, key_segments;
    bool scores; /* asked for? */
    sdpa_weights weights, probs, lse;
    sdpa_same same;
    bool constant[SDPA_REALS]; /* nobody wants its gradient */
} sdpa_problem;

/* Problem number `seed` of that size. */
sdpa_problem sdpa_draw(int seed, sdpa_size size);
const char *sdpa_problem_text(const sdpa_problem *p); /* for messages */

/* Is O looked at? */
bool sdpa_sees_O(const sdpa_problem *p);
/* Where row i of head h of batch b begins in a tensor of this shape, like Q or O, or K or V: `heads` of them. */
ptrdiff_t sdpa_row(const sdpa_problem *p, at_shape s, int heads, int b, int h, int i);
/* The tensors of one call; bias, head_scale and sink may be NULL.  `drops` is the stream of the dropout. */
typedef struct {
    union {
        struct {
            at_tensor *Q, *K, *V, *bias, *head_scale, *sink;
        };
        at_tensor *in[SDPA_REALS];
    };
    at_stream drops;
} sdpa_call;

/* ------------------------------------------------------------------ inputs --------------------- */

/* Whoever makes inputs and gives them to at_sdpa does it by number, and need not know which there are. */
const char *sdpa_input_name(int i);
at_shape sdpa_input_shape(const sdpa_problem *p, int i);
/* Is there an input i, and is it none of those before it? */
bool sdpa_has_input(const sdpa_problem *p, int i);
/* Sets those of Q, K and V that are one tensor with another. */
void sdpa_share_inputs(const sdpa_problem *p, at_tensor **in);
/* Those that at_sdpa takes in its options. */
void sdpa_give_inputs(at_sdpa_args *a, at_tensor *const *in);
/* Leaves out what at_sdpa_jvp refuses. */
void sdpa_for_tangents(sdpa_problem *p);

/* O [as Q, but Dv], A and P [B,H,T,N], lse [B,H,T], the definition cell by cell, in double. */
void sdpa_reference(const sdpa_problem *p, const sdpa_call *call, double *O, double *A, double *P,
                    double *lse);

/* ------------------------------------------------------------------ masks ---------------------- */

/* What stands in element i of keep, bias, key_len. */
bool sdpa_keep_at(const sdpa_problem *p, ptrdiff_t i);
bool sdpa_infinite_at(const sdpa_problem *p, ptrdiff_t i);
int sdpa_key_len_at(const sdpa_problem *p, int b);
/* The id of row i, or key i, of batch b. */
int sdpa_id_at(const sdpa_problem *p, bool key, int b, int i);
/* [B,T] or [B,N]; NULL where there is none. */
at_tensor *sdpa_ids(at_tape *t, const sdpa_problem *p, bool keys);

/* Which element of a bias or keep of this shape cell (i,j) of head h in batch b reads. */
ptrdiff_t sdpa_cell(const sdpa_problem *p, at_shape s, int b, int h, int i, int j);
/* Does row i keep key j?  Read off the header of at_sdpa, cell by cell. */
bool sdpa_keeps(const sdpa_problem *p, int b, int h, int i, int j);
/* What gradients there can be: exactly 0, 0 but for rounding, or others.  `drops` is the stream of the
 * dropout. */
typedef enum { SDPA_ZERO, SDPA_ROUNDING, SDPA_MOVES } sdpa_effect;
sdpa_effect sdpa_effect_of(const sdpa_problem *p, at_stream drops);

/* ------------------------------------------------------------------ aspects -------------------- */

enum { SDPA_ASPECTS = 37, SDPA_OPTIONS = 9, SDPA_VALUES = 5 }; /* options: aspects from there on */

/* Which value, from 0 on, each aspect has in p. */
void sdpa_aspects(const sdpa_problem *p, int value[SDPA_ASPECTS]);
int sdpa_aspect_values(int a);                 /* how many it can have */
const char *sdpa_value_text(int a, int value); /* "softcap: given" */
/* Can value v of aspect a meet value w of aspect b?  Where not, the header of at_sdpa or logic forbids it. */
bool sdpa_can_meet(int a, int v, int b, int w);
/* Do both use the same options?  Their sizes and numbers may differ. */
bool sdpa_same_options(const sdpa_problem *p, const sdpa_problem *q);

/* How often values of two aspects a < b have met. */
typedef struct {
    int met[SDPA_ASPECTS][SDPA_VALUES][SDPA_ASPECTS][SDPA_VALUES];
} sdpa_pairs;

int sdpa_pairs_new(const sdpa_pairs *pairs, const sdpa_problem *p); /* how many p would add */
void sdpa_pairs_count(sdpa_pairs *pairs, const sdpa_problem *p);
/* Of a few problems from *seed on the one that adds the most, counted; *seed moves behind them. */
sdpa_problem sdpa_draw_new(int *seed, sdpa_size size, sdpa_pairs *pairs);

#endif
