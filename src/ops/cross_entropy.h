/* cross_entropy.h -- what cross_entropy.c and linear_cross_entropy.c share: the loss of a row of
 * logits, its slopes, and what is asked of the arguments.  cross_entropy.c has the equations.
 * Private to the library. */
#ifndef AT_OPS_CROSS_ENTROPY_H
#define AT_OPS_CROSS_ENTROPY_H
#include "ops/op.h"

typedef struct {
    ptrdiff_t rows;
    int N;
    at_cross_entropy_args user;
    double g[AT_WIDEST / 8]; /* dloss / count, a WIDE; set by backward */
} cross_entropy_args;

static inline bool is_ignored(const cross_entropy_args *a, int32_t target)
{
    return a->user.ignore && target == a->user.ignore_index;
}

static inline bool is_class(const cross_entropy_args *a, int32_t target)
{
    return target >= 0 && target < a->N;
}

/* Are the args possible, and are the targets classes, or ignored?  x has the N classes; messages
 * call it `name`.  False after a sticky error. */
bool at_check_entropy(at_tape *t, const char *op, const char *name, const at_tensor *x, int N,
                      at_cross_entropy_args args);
bool at_check_targets(at_tape *t, const char *op, const char *name, const at_tensor *x,
                      const at_tensor *target, const cross_entropy_args *a);

#ifdef REAL /* ---------------------------- one row ---------------------------- */

enum { CROSS_ENTROPY_CHUNK = 256 }; /* of exp(x - m) on the stack at a time */

/* What the sum of the losses is divided by; 0 if the targets weigh nothing. */
static inline WIDE cross_entropy_count(const cross_entropy_args *a, const int32_t *target,
                                       const REAL *w)
{
    ptrdiff_t count = 0;
    WIDE weight = 0;
    if (a->user.reduction == ATTIC_SUM) return 1;
    for (ptrdiff_t i = 0; i < a->rows && !w; i++) count += !is_ignored(a, target[i]);
    for (ptrdiff_t i = 0; i < a->rows && w; i++)
        if (!is_ignored(a, target[i]))
            weight += is_class(a, target[i]) ? (WIDE)w[target[i]] : (WIDE)NAN;
    return w ? weight : (WIDE)count;
}

/* sum / count; the mean of what weighs nothing is 0 */
static inline WIDE cross_entropy_over(const cross_entropy_args *a, const int32_t *target,
                                      const REAL *w, WIDE sum)
{
    const WIDE count = cross_entropy_count(a, target, w);
    return VALUE(count) == 0 ? 0 : OVER(sum, count);
}

/* V = sum_j w_j q_j of the row's target, which is a class */
static inline REAL cross_entropy_weight(const cross_entropy_args *a, const REAL *w, int32_t target)
{
    const WIDE e = (WIDE)a->user.label_smoothing;
    const REAL V = (REAL)(1 - e) * w[target], even = (REAL)OVER(e, (WIDE)a->N);
    return VALUE(e) > 0 ? V + even * row_sum(a->N, w) : V;
}

/* sum_j w_j (x_j - m)     What weighs nothing adds nothing, even if its x_j is -inf. */
static inline WIDE cross_entropy_others(int n, const REAL *x, const REAL *w, REAL m)
{
    WIDE sum = 0;
    for (int j = 0; j < n && !w; j++) sum += (WIDE)x[j] - (WIDE)m;
    for (int j = 0; j < n && w; j++)
        if (VALUE(w[j]) != 0) sum += (WIDE)w[j] * ((WIDE)x[j] - (WIDE)m);
    return sum;
}

/* The loss of a row with the maximum m and sum = sum_j exp(x_j - m).  x is the target's logit.
 * others is sum_j w_j (x_j - m), and only read with label smoothing.  V is 1 without weights. */
static inline WIDE cross_entropy_loss_of(const cross_entropy_args *a, const REAL *w, int32_t target,
                                         REAL V, REAL m, REAL sum, REAL x, WIDE others)
{
    const WIDE e = (WIDE)a->user.label_smoothing, hit = (WIDE)x - (WIDE)m;
    WIDE loss = w ? (WIDE)V * (WIDE)log(sum) : (WIDE)log(sum);
    if (!w)
        loss -= (1 - e) * hit;
    else if (VALUE(w[target]) != 0)
        loss -= (1 - e) * (WIDE)w[target] * hit;
    return VALUE(e) > 0 ? loss - OVER(e, (WIDE)a->N) * others : loss;
}

/* dx_j = (V p_j - w_j q_j) g for n classes of a row, of which `target` may be one.  inverse is
 * 1 / sum, g is dloss / count; dx may be x. */
static inline void cross_entropy_slopes(const cross_entropy_args *a, int n, const REAL *x,
                                        const REAL *w, ptrdiff_t target, REAL g, REAL V, REAL m,
                                        REAL inverse, REAL *dx)
{
    const REAL e = (REAL)a->user.label_smoothing, even = OVER(g * e, (REAL)a->N);
    const REAL scale = inverse * (g * V), hit = g * (1 - e);
    for (int from = 0; from < n; from += CROSS_ENTROPY_CHUNK) {
        int count = n - from < CROSS_ENTROPY_CHUNK ? n - from : CROSS_ENTROPY_CHUNK;
        row_exp_sum(count, x + from, m, dx + from);
        row_scale(count, scale, dx + from, dx + from);
    }
    for (int j = 0; j < n && a->user.label_smoothing > 0; j++) dx[j] -= w ? even * w[j] : even;
    if (target >= 0 && target < n) dx[target] -= w ? hit * w[target] : hit;
}
#endif

#endif
