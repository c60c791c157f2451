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

/* What becomes of the weights: not asked for, not looked at, looked at beside O, looked at alone. */
typedef enum { SDPA_NO_WEIGHTS, SDPA_UNUSED, SDPA_BESIDE_O, SDPA_ALONE } sdpa_weights;

/* Everything about one call but the numbers, which follow from seed. */
typedef struct {
    int seed;
    sdpa_size size;
    int B, H, G, T, S, D, Dv;
    at_sdpa_args args;            /* without tensors */
    at_shape Q, K, V, bias, keep; /* bias and keep: if there is one */
    bool has_bias, infinities, has_keep, has_key_len;
    int block; /* keep, and -INFINITY in bias, cell by cell if 0, else by blocks of this size */
    bool scores, probs, lse; /* asked for? */
    sdpa_weights weights;
    sdpa_same same;
    bool constant[4]; /* Q, K, V, bias: nobody wants its gradient */
} sdpa_problem;

/* Problem number `seed` of that size. */
sdpa_problem sdpa_draw(int seed, sdpa_size size);
const char *sdpa_problem_text(const sdpa_problem *p); /* for messages */

/* Where row i of head h of batch b begins in a tensor of this shape, like Q or O, or K or V: `heads` of them. */
ptrdiff_t sdpa_row(const sdpa_problem *p, at_shape s, int heads, int b, int h, int i);
/* O [as Q, but Dv] and A [B,H,T,N], the definition cell by cell, in double.  `drops` is the stream of the
 * dropout. */
void sdpa_reference(const sdpa_problem *p, const at_tensor *Q, const at_tensor *K,
                    const at_tensor *V, const at_tensor *bias, at_stream drops, double *O,
                    double *A);

/* ------------------------------------------------------------------ masks ---------------------- */

/* What stands in element i of keep, bias, key_len. */
bool sdpa_keep_at(const sdpa_problem *p, ptrdiff_t i);
bool sdpa_infinite_at(const sdpa_problem *p, ptrdiff_t i);
int sdpa_key_len_at(const sdpa_problem *p, int b);

/* Which element of a bias or keep of this shape cell (i,j) of head h in batch b reads. */
ptrdiff_t sdpa_cell(const sdpa_problem *p, at_shape s, int b, int h, int i, int j);
/* Does row i keep key j?  Read off the header of at_sdpa, cell by cell. */
bool sdpa_keeps(const sdpa_problem *p, int b, int h, int i, int j);
/* What gradients there can be: exactly 0, 0 but for rounding, or others.  `drops` is the stream of the
 * dropout. */
typedef enum { SDPA_ZERO, SDPA_ROUNDING, SDPA_MOVES } sdpa_effect;
sdpa_effect sdpa_effect_of(const sdpa_problem *p, at_stream drops);

/* ------------------------------------------------------------------ aspects -------------------- */

enum { SDPA_ASPECTS = 31, SDPA_OPTIONS = 9, SDPA_VALUES = 5 }; /* options: aspects from there on */

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
