/* sdpa_draw.h -- random attention problems: any options, any shapes, and what comes of them. */
#ifndef ATTIC_TESTS_SDPA_DRAW_H
#define ATTIC_TESTS_SDPA_DRAW_H
#include "attic.h"

/* Which option a problem uses, as a bit. */
enum {
    USES_SCALE = 1,
    USES_TEMPERATURE = 2,
    USES_SOFTCAP = 4,
    USES_BIAS = 8,
    USES_INFINITE_BIAS = 16,
    USES_KEEP = 32,
    USES_CAUSAL = 64,
    USES_WINDOW = 128,
    USES_KEY_LEN = 256,
    USES_GROUPS = 512,
    USES_DROPOUT = 1024,
    USES_WEIGHTS = 2048, /* with a cotangent of their own */
    USES_PACKED = 4096,
    USES_ALL = 8191
};

/* Everything about one call but the numbers, which follow from seed. */
typedef struct {
    int seed, uses;
    int B, H, G, T, S, D, Dv;
    at_sdpa_args args; /* without tensors */
    at_shape Q, K, V, bias, keep;
    bool O_unused; /* only the weights have a cotangent */
    bool same;     /* Q, K and V are one tensor */
} sdpa_problem;

/* Problem number `seed`.  `large` reaches beyond a tile, otherwise all sizes are 0 to 6 or so. */
sdpa_problem sdpa_draw(int seed, bool large);
const char *sdpa_problem_text(const sdpa_problem *p); /* for messages */

/* The same problem on a tape. */
typedef struct {
    at_tensor *Q, *K, *V, *bias, *keep, *key_len; /* bias ... may be NULL */
    at_tensor *O, *weights, *scores, *probs, *lse;
    at_tensor *dO, *dW; /* the cotangents, NULL if unused */
} sdpa_run;

/* Makes the inputs, a new stream of drops among them. */
sdpa_run sdpa_inputs(at_tape *t, const sdpa_problem *p);
/* Forward on a path; makes the cotangents too, which may be changed before backward. */
bool sdpa_forward(at_tape *t, const sdpa_problem *p, sdpa_run *r, at_sdpa_path path);
bool sdpa_backward(at_tape *t, const sdpa_run *r);

/* Does row i keep key j?  Read off the header of at_sdpa, cell by cell. */
bool sdpa_keeps(const sdpa_problem *p, const sdpa_run *r, int b, int h, int i, int j);
/* Where row i of head h of batch b begins in a tensor like Q or O, or K or V: `heads` of them. */
ptrdiff_t sdpa_row(const sdpa_problem *p, const at_tensor *x, int heads, int b, int h, int i);
/* Where cell (i,j) lies in the bias or keep. */
ptrdiff_t sdpa_cell(const sdpa_problem *p, const at_tensor *x, int b, int h, int i, int j);

/* The largest |x_i - y_i| / max(1, max|y|) over outputs and gradients; *where says of which.  A NaN or
 * infinity in only one of the two is an infinite difference. */
double sdpa_difference(const sdpa_run *x, const sdpa_run *y, const char **where);

/* Fails the test unless this path and the plain one give the same outputs and gradients for the problem: to
 * 1e-11 in f64, 2e-5 in f32. */
void sdpa_expect_plain(int seed, bool large, at_dtype real, at_sdpa_path path);

#endif
