/* ops.h -- the differentiable ops.
 *
 * Every op takes its tape first, makes a new tensor that lives until at_rewind, and returns NULL
 * once the tape has an error.  x, y, A, B are real unless said otherwise; gradients flow to every
 * real input that wants one.  Shapes: [...] is any number of leading dims.  Broadcasting is as in
 * NumPy, and a gradient is summed over the axes along which its operand was repeated. */
#ifndef AT_OPS_OPS_H
#define AT_OPS_OPS_H
#include "tensor/tensor.h"
AT_BEGIN_C

/* ------------------------------------------------------------------ two operands, broadcast ---- */

AT_API at_tensor *at_add(at_tape *t, at_tensor *a, at_tensor *b); /* a + b */
AT_API at_tensor *at_sub(at_tape *t, at_tensor *a, at_tensor *b); /* a - b */
AT_API at_tensor *at_mul(at_tape *t, at_tensor *a, at_tensor *b); /* a b, element by element */
AT_API at_tensor *at_div(at_tape *t, at_tensor *a, at_tensor *b); /* a / b */
/* The smaller, or the larger, of a and b; NaN if either is.  Equal ones share the gradient. */
AT_API at_tensor *at_minimum(at_tape *t, at_tensor *a, at_tensor *b);
AT_API at_tensor *at_maximum(at_tape *t, at_tensor *a, at_tensor *b);
/* cond ? a : b    cond is bool; all three broadcast against each other.  What is not chosen is not
 * read: a NaN there reaches neither the output nor a gradient. */
AT_API at_tensor *at_where(at_tape *t, at_tensor *cond, at_tensor *a, at_tensor *b);
/* where ? value : x    where is bool and broadcasts to x; any value, -INFINITY among them */
AT_API at_tensor *at_masked_fill(at_tape *t, at_tensor *x, at_tensor *where, double value);

/* Masks for at_where, at_masked_fill and attention's keep: bool, without gradient.  a and b are
 * both real or both i32, and broadcast.  A comparison with NaN is false: at_not of at_equal(t, x,
 * x) is where x is NaN.  at_keep_count(m).kept says how many elements of m are 1.  a > b is
 * at_less(t, b, a), and a number is a tensor of shape []:
 *
 *     at_tensor *zero = at_const(t, at_shape_of(), NULL);
 *     at_tensor *positive = at_less(t, zero, x);
 *     at_tensor *padding = at_equal(t, ids, at_ints(t, at_shape_of(), (int32_t[]){0})); */
AT_API at_tensor *at_less(at_tape *t, at_tensor *a, at_tensor *b);       /* a < b */
AT_API at_tensor *at_less_equal(at_tape *t, at_tensor *a, at_tensor *b); /* a <= b */
AT_API at_tensor *at_equal(at_tape *t, at_tensor *a, at_tensor *b);      /* a = b */
/* Of bools, which broadcast; the result is bool, without gradient. */
AT_API at_tensor *at_and(at_tape *t, at_tensor *a, at_tensor *b);
AT_API at_tensor *at_or(at_tape *t, at_tensor *a, at_tensor *b);
AT_API at_tensor *at_not(at_tape *t, at_tensor *a);

/* ------------------------------------------------------------------ element by element --------- */

/* A constant that is finite, but not in the real type of the tape (1e300 in f32), is an error. */
AT_API at_tensor *at_scale(at_tape *t, at_tensor *x, double c);      /* c x */
AT_API at_tensor *at_add_scalar(at_tape *t, at_tensor *x, double c); /* x + c */
AT_API at_tensor *at_neg(at_tape *t, at_tensor *x);                  /* -x */
AT_API at_tensor *at_exp(at_tape *t, at_tensor *x);
AT_API at_tensor *at_log(at_tape *t, at_tensor *x); /* natural */
AT_API at_tensor *at_sqrt(at_tape *t, at_tensor *x);
AT_API at_tensor *at_square(at_tape *t, at_tensor *x);
AT_API at_tensor *at_pow(at_tape *t, at_tensor *x, double p); /* x^p, p finite; 0^0 = 1 */
AT_API at_tensor *at_abs(at_tape *t, at_tensor *x);           /* |x|, with derivative 0 at 0 */
AT_API at_tensor *at_sin(at_tape *t, at_tensor *x);           /* of x in radians */
AT_API at_tensor *at_cos(at_tape *t, at_tensor *x);
AT_API at_tensor *at_tanh(at_tape *t, at_tensor *x);
AT_API at_tensor *at_sigmoid(at_tape *t, at_tensor *x); /* 1 / (1 + exp(-x)) */
AT_API at_tensor *at_relu(at_tape *t, at_tensor *x);    /* max(x, 0), with derivative 0 at 0 */
AT_API at_tensor *at_relu2(at_tape *t, at_tensor *x);   /* max(x, 0)^2 (So et al. 2021) */
/* x if x > 0, else slope x; the derivative at 0 is the slope */
AT_API at_tensor *at_leaky_relu(at_tape *t, at_tensor *x, double slope);
AT_API at_tensor *at_softplus(at_tape *t, at_tensor *x); /* ln(1 + exp(x)), which never overflows */
AT_API at_tensor *at_silu(at_tape *t, at_tensor *x);     /* x sigmoid(x) */
AT_API at_tensor *at_gelu(at_tape *t, at_tensor *x); /* x Phi(x) = x (1 + erf(x / sqrt 2)) / 2 */
/* x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2 */
AT_API at_tensor *at_gelu_tanh(at_tape *t, at_tensor *x);
/* min(max(x, low), high), with derivative 1 inside and at the ends, 0 outside */
AT_API at_tensor *at_clamp(at_tape *t, at_tensor *x, double low, double high);
/* Inverted dropout: each element is 0 with probability p, else x / (1 - p).  0 <= p < 1.  Outside
 * of train mode, or with p = 0, the result shares the data of x, and nothing is drawn from the
 * tape. */
AT_API at_tensor *at_dropout(at_tape *t, at_tensor *x, double p);

/* ------------------------------------------------------------------ products ------------------- */

/* B, W and the table of at_embedding may be stored as f16 or bf16 (at_cast), frozen weights for
 * instance: they want no gradient, and are widened in blocks as they are read, never as a whole.
 * The bits are as if all of it was widened first. */

/* C = A B    A [...,M,K]  B [...,K,N]  ->  C [...,M,N]    leading dims broadcast; at least 2
 * dims */
AT_API at_tensor *at_matmul(at_tape *t, at_tensor *A, at_tensor *B);
/* The same with A or B read transposed, without a copy: A [...,K,M] and/or B [...,N,K]. */
AT_API at_tensor *at_matmul_t(at_tape *t, at_tensor *A, bool transpose_a, at_tensor *B,
                              bool transpose_b);
/* Y = X W + b    X [...,K]  W [K,N]  b [N] or NULL  ->  [...,N]    b costs nothing, unlike
 * at_add */
AT_API at_tensor *at_affine(at_tape *t, at_tensor *X, at_tensor *W, at_tensor *b);

/* ------------------------------------------------------------------ reductions ----------------- */

/* A list of axes: at_axes(0, -1).  Negative ones count from the end; none twice. */
#define at_axes(...) at_shape_of(__VA_ARGS__)

AT_API at_tensor *at_sum(at_tape *t, at_tensor *x);  /* over everything -> [] */
AT_API at_tensor *at_mean(at_tape *t, at_tensor *x); /* the mean of nothing is NaN, as in NumPy */
AT_API at_tensor *at_max(at_tape *t, at_tensor *x);  /* equal maxima share the gradient equally */
AT_API at_tensor *at_min(at_tape *t, at_tensor *x);  /* and equal minima */
/* sum (x - mean)^2 / (n - correction)    correction 0: the biased variance of n elements, 1: the
 * unbiased one (Bessel).  If n <= correction it is NaN or infinite. */
AT_API at_tensor *at_var(at_tape *t, at_tensor *x, int correction);
/* The same over some axes; keepdims leaves them with size 1.  No axes: x itself, element by
 * element.  The maximum or minimum over no elements is an error; a NaN is the maximum, and the
 * minimum, of what it is among. */
AT_API at_tensor *at_sum_over(at_tape *t, at_tensor *x, at_shape axes, bool keepdims);
AT_API at_tensor *at_mean_over(at_tape *t, at_tensor *x, at_shape axes, bool keepdims);
AT_API at_tensor *at_max_over(at_tape *t, at_tensor *x, at_shape axes, bool keepdims);
AT_API at_tensor *at_min_over(at_tape *t, at_tensor *x, at_shape axes, bool keepdims);
AT_API at_tensor *at_var_over(at_tape *t, at_tensor *x, at_shape axes, bool keepdims,
                              int correction);
/* log sum_k exp(x_k) along one axis.  Of nothing, or of -inf alone, it is -inf, with gradients of
 * 0. */
AT_API at_tensor *at_logsumexp(at_tape *t, at_tensor *x, int axis, bool keepdims);
/* y_j = x_0 + ... + x_j along one axis */
AT_API at_tensor *at_cumsum(at_tape *t, at_tensor *x, int axis);
/* The first index of the maximum along one axis, as i32; NaN counts as the maximum.  No
 * gradient. */
AT_API at_tensor *at_argmax(at_tape *t, at_tensor *x, int axis, bool keepdims);
/* The k largest elements along one axis, in descending order; equal ones in the order of their
 * indices, NaN before all others.  x [..,N,..] -> [..,k,..].  Their indices, i32 and without
 * gradient, go to *index unless that is NULL. */
AT_API at_tensor *at_topk(at_tape *t, at_tensor *x, int k, int axis, at_tensor **index);

/* ------------------------------------------------------------------ shape ---------------------- */

/* x of any dtype; gradients flow if it is real.  Axes count from the end if negative. */

/* One dim may be -1: whatever is left.  Shares the data. */
AT_API at_tensor *at_reshape(at_tape *t, at_tensor *x, at_shape shape);
/* y.dim[i] = x.dim[order.dim[i]] */
AT_API at_tensor *at_permute(at_tape *t, at_tensor *x, at_shape order);
AT_API at_tensor *at_transpose(at_tape *t, at_tensor *x, int a, int b); /* swaps two axes */
/* n >= 1 tensors of one dtype, equal in all dims but the dim of the axis; one may occur twice. */
AT_API at_tensor *at_concat(at_tape *t, at_tensor **x, int n, int axis);
/* The same along a new axis, of size n; -1 makes it the last of the result.  All shapes equal. */
AT_API at_tensor *at_stack(at_tape *t, at_tensor **x, int n, int axis);
/* from .. to-1 along the axis; -1 is its last index.  Unlike in Python a range that is not there,
 * or that ends before it begins, is an error; an empty one is not. */
AT_API at_tensor *at_slice(at_tape *t, at_tensor *x, int axis, int from, int to);
/* x_from, x_(from + step), ...: n elements along the axis, all of which must be there.  step != 0
 * may be negative: from = -1, step = -1 and n = the size of the axis reverse it. */
AT_API at_tensor *at_slice_step(at_tape *t, at_tensor *x, int axis, int from, int step, int n);
/* n >= 1 slices one after the other, of these sizes, or all of one size if size is NULL; they go to
 * part[0] .. part[n-1], which are NULL after an error.  The sizes must add up to the size of the
 * axis. */
AT_API bool at_split_along(at_tape *t, at_tensor *x, int axis, at_tensor **part, int n,
                           const int *size);
/* x, which is real, repeated to a shape that it broadcasts to; the gradient is summed. */
AT_API at_tensor *at_expand(at_tape *t, at_tensor *x, at_shape shape);
/* y_k = x_(index_k) along one axis: y_ik = x_i(index_ik) along the last of two.  x real [..,N,..],
 * index i32 [..,K,..] -> [..,K,..], the other dims equal.  An index that occurs twice receives both
 * gradients.  Indices outside 0..N-1 are an error; written there afterwards, a replay reads NaN. */
AT_API at_tensor *at_gather(at_tape *t, at_tensor *x, at_tensor *index, int axis);
/* y = x, then y_(index_k) += src_k along one axis, in the order of k: the transpose of at_gather.
 * x real [..,N,..], index i32 and src real [..,K,..] -> [..,N,..], the other dims equal.  An index
 * that occurs twice adds both.  Indices outside 0..N-1 are an error; written there afterwards, a
 * replay makes their line along the axis NaN. */
AT_API at_tensor *at_scatter_add(at_tape *t, at_tensor *x, at_tensor *index, at_tensor *src,
                                 int axis);
/* y_ij = x_(T-1-i+j): one element per diagonal, from the lower left corner to the upper right one.
 * x [...,T+N-1] -> [...,T,N].  A bias that depends on j - i alone is made of this:
 * attention/position.h */
AT_API at_tensor *at_toeplitz(at_tape *t, at_tensor *x, int T, int N);

/* ------------------------------------------------------------------ probabilities, losses ------ */

/* y_j = exp(x_j) / sum_k exp(x_k), along an axis (at_softmax: the last).  A row of -inf gives 0. */
AT_API at_tensor *at_softmax(at_tape *t, at_tensor *x);
AT_API at_tensor *at_softmax_over(at_tape *t, at_tensor *x, int axis);
/* y_j = x_j - log sum_k exp(x_k).  A row of -inf gives -inf, and gradients of 0. */
AT_API at_tensor *at_log_softmax(at_tape *t, at_tensor *x);
AT_API at_tensor *at_log_softmax_over(at_tape *t, at_tensor *x, int axis);

/* What becomes of the single losses: their mean, their sum, or nothing. */
typedef enum { ATTIC_MEAN, ATTIC_SUM, ATTIC_NONE } at_reduction;
typedef struct {
    at_reduction reduction; /* over the targets that are not ignored */
    double label_smoothing; /* e in 0..1: the target is (1 - e) target + e / N */
    bool ignore;            /* skip targets equal to ignore_index */
    int ignore_index;       /* e.g. -1 */
    at_tensor *weights;     /* w [N], of the classes: constants >= 0; NULL: all are 1 */
} at_cross_entropy_args;
/* loss = mean_i -log softmax(logits_i)[target_i]    logits [...,N]  target i32 [...]  ->  []
 * In nats; without a reduction -> [...].  All ignored (or no rows) gives 0, and gradients of 0.
 * Targets outside 0..N-1 are an error unless ignored; written there afterwards, a replay makes
 * their rows NaN.
 * A real target [...,N] holds probabilities:
 * loss = mean_i -sum_j target_ij log softmax(logits_i)_j, the mean over rows, differentiable in the
 * target too.  Its rows need not add up to 1.
 *
 * Weights multiply the terms of the classes, those of label smoothing among them.  With q = one_hot
 * of the target, or the real target, and e = label_smoothing:
 *
 *     loss_i = -sum_j w_j ((1 - e) q_ij + e / N) log softmax(logits_i)_j
 *     mean   = sum_i loss_i / sum_i w_(target_i)     over the targets that are not ignored; for a
 *                                                    real target sum_i loss_i / rows
 *
 * as torch.nn.functional.cross_entropy has it.  The mean is 0, and so are its gradients, where the
 * weights of all targets are 0. */
AT_API at_tensor *at_cross_entropy(at_tape *t, at_tensor *logits, at_tensor *target,
                                   at_cross_entropy_args args);

/* at_cross_entropy of the logits x W + b, which are never held: they are computed in tiles, and in
 * backward once more.  That is 4 products of matrices in place of 3, and memory for some numbers a
 * row in place of twice the logits: for many classes.
 *
 *     x [...,K]   W [K,N], or with transpose_w [N,K]   b [N] or NULL   target i32 [...]  ->  []
 *
 * The args are those of at_cross_entropy, and so is the loss, up to rounding; the target holds
 * classes, never probabilities.  W may be stored as f16 or bf16 (at_store_params). */
AT_API at_tensor *at_linear_cross_entropy(at_tape *t, at_tensor *x, at_tensor *W, bool transpose_w,
                                          at_tensor *b, at_tensor *target,
                                          at_cross_entropy_args args);

/* Losses between real tensors of one shape, element by element, then reduced: to [], or not at all.
 * The mean of nothing is NaN.  Gradients flow to x and to the target. */

/* (x - target)^2 */
AT_API at_tensor *at_mse(at_tape *t, at_tensor *x, at_tensor *target, at_reduction reduction);
/* With d = x - target: d^2 / 2 if |d| <= delta, else delta (|d| - delta / 2).  delta > 0. */
AT_API at_tensor *at_huber(at_tape *t, at_tensor *x, at_tensor *target, double delta,
                           at_reduction reduction);
/* Binary cross-entropy, in nats, of p = sigmoid(x): -target log p - (1 - target) log(1 - p).
 * x: logits.  The target is a probability, 0..1; 0 and 1 for classes.  With weights
 *
 *     loss = weights (-positive target log p - (1 - target) log(1 - p))
 *
 * A mean divides by the number of elements, whatever they weigh, as PyTorch's
 * binary_cross_entropy_with_logits does.  The weights are constants that broadcast to x. */
typedef struct {
    at_reduction reduction;
    at_tensor *positive; /* [] or [N], one for each class of x [...,N]; > 1 finds more positives */
    at_tensor *weights;  /* of elements; NULL, here and above: 1 */
} at_bce_args;
AT_API at_tensor *at_bce(at_tape *t, at_tensor *x, at_tensor *target, at_bce_args args);
/* Kullback-Leibler divergence, in nats, of log-probabilities x from a target distribution:
 * target (log target - x), where the target holds probabilities; or, with log_target, which says
 * that it holds their logarithms, exp(target) (target - x).  Where the target's probability is 0,
 * the term and its gradients are 0.  The mean is over all elements, as in PyTorch; the divergence
 * averaged over rows is the sum divided by the number of rows. */
AT_API at_tensor *at_kl(at_tape *t, at_tensor *x, at_tensor *target, bool log_target,
                        at_reduction reduction);

/* ------------------------------------------------------------------ layers' ops ---------------- */

/* y = (x - mean) / sqrt(var + eps) gamma + beta, over the last axis; var is the biased variance.
 * x [...,N]  gamma, beta [N] or NULL */
AT_API at_tensor *at_layer_norm(at_tape *t, at_tensor *x, at_tensor *gamma, at_tensor *beta,
                                double eps);
/* y = x / sqrt(mean(x^2) + eps) gamma (Zhang, Sennrich 2019)    gamma [N] or NULL */
AT_API at_tensor *at_rms_norm(at_tape *t, at_tensor *x, at_tensor *gamma, double eps);
/* y = x / max(|x|, eps), |x| = sqrt(sum x^2), over the last axis: rows of length 1.  x [...,N]
 * PyTorch's eps is 1e-12.  Where |x| < eps the divisor is a constant, and dx = dy / eps.  A NaN
 * makes its row NaN.  Where |x| is infinite, in f64 from 1e154 on, finite elements give 0; and in
 * f64 squares vanish from 1e-154 down, so eps is to be larger than that. */
AT_API at_tensor *at_normalize(at_tape *t, at_tensor *x, double eps);
/* y[...,:] = table[id[...],:]    table [V,D], real or of 16 bits  id i32 [...]  ->  [...,D]
 * Ids outside 0..V-1 are an error; written there afterwards, a replay makes their rows NaN. */
AT_API at_tensor *at_embedding(at_tape *t, at_tensor *table, at_tensor *id);
/* y_ij = 1 if id_i = j, else 0    id i32 [...], in 0..N-1 as above  ->  real [...,N] */
AT_API at_tensor *at_one_hot(at_tape *t, at_tensor *id, int N);

/* Published ways to make rotary positions reach farther than the texts of training, by the names
 * that `rope_scaling` has in a model's config.json: linear divides every frequency by factor, the
 * others only low ones, see ops/rope_scaling.c for the formulas.  Fields that the type does not
 * name are not read. */
typedef enum {
    ATTIC_ROPE_DEFAULT, /* not scaled: all fields are 0 */
    ATTIC_ROPE_LINEAR,  /* factor (Chen et al. 2023) */
    ATTIC_ROPE_LLAMA3,  /* factor, original_..., low_freq_factor, high_freq_factor: Llama 3.1's */
    ATTIC_ROPE_YARN     /* factor, original_... and the rest (Peng et al. 2023) */
} at_rope_type;
typedef struct {
    at_rope_type type;
    int original_max_position_embeddings; /* the context before it was extended */
    double factor;                        /* >= 1: how much longer texts are */
    double low_freq_factor,               /* pairs that turn less often in the original context */
        high_freq_factor;                 /* are divided, those that turn more often are kept */
    double beta_fast, beta_slow;          /* likewise, kept and divided; 32 and 1 if 0 */
    double attention_factor;              /* times cosines and sines; 0: 0.1 ln(factor) + 1, or */
    double mscale, mscale_all_dim; /* (0.1 mscale ln(factor) + 1) / (the same of mscale_all_dim) */
    bool no_truncate; /* the pairs at beta_fast and beta_slow are no whole numbers: `truncate` is
                         false */
} at_rope_scaling;

typedef struct {
    double base;             /* 10000 if 0 */
    int offset;              /* position of the first row */
    bool half_split;         /* rotate (i, i + rotate/2) as in GPT-NeoX, not (2i, 2i + 1) */
    int rotate;              /* how many of the D dims, from the first on; even; 0: all */
    int heads;               /* > 0: x is packed by heads, [...,T,heads*D]; 0: one head */
    at_rope_scaling scaling; /* of the frequencies */
    at_tensor *positions;    /* i32 [T] or [B,T], in place of offset + row number */
    at_tensor *frequencies;  /* real [rotate/2], in place of base and scaling */
} at_rope_args;
/* Rotary position embedding (Su et al. 2021): pair i of row p is rotated by the angle
 *
 *     (p + offset) base^(-2i/rotate)      x [...,T,D]; row p is position p on the axis before the
 *                                         last
 *
 * positions [B,T] has a row for each index of the leading axis of x: x [B,T,D], packed
 * [B,T,heads*D], or [B,heads,T,D], where all heads of one of B are rotated alike; [T] is the same
 * for all.  A row at a position gets the same bits with positions as without.  Any number of 32
 * bits is a position: a negative one rotates backwards, as the formula says.  frequencies has
 * theta_i in place of base^(-2i/rotate), and is a constant: one that wants a gradient is an error,
 * and a tangent of it is not read.  A replay reads both anew.  Angles are computed in double, from
 * frequencies in double; frequencies given to a tape of f32 are rounded to that first.
 *
 * Published code computes frequencies and angles in f32.  With the parameters of published models
 * of up to 131,072 positions, frequencies are so up to 3e-7 of themselves off, and angles by up to
 * 6e-5 below position 1,024, 5e-4 below 8,192 and 8e-3 below 131,072.  The logits of the small
 * models of tests/golden/scaled.py, which measures this, differ by up to 2e-7 of the largest at
 * positions 0 to 6, 3e-5 from 1,000 on, 2e-4 from 8,000 and 4e-3 from 131,000 on. */
AT_API at_tensor *at_rope(at_tape *t, at_tensor *x, at_rope_args args);

AT_END_C
#endif
