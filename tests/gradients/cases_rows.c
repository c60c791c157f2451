/* cases_rows.c -- gradient cases of ops on rows: softmax, cross-entropy, norms, rotary embedding; see cases.h. */
#include "gradients/cases.h"

#include <math.h>

/* ------------------------------------------------------------------ softmax -------------------- */

static at_tensor *case_softmax(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_softmax(t, in[0]);
}

static at_tensor *case_softmax_over(at_tape *t, at_tensor **in, void *axis)
{
    return at_softmax_over(t, in[0], *(int *)axis);
}

static at_tensor *case_log_softmax(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_log_softmax(t, in[0]);
}

static at_tensor *case_log_softmax_over(at_tape *t, at_tensor **in, void *axis)
{
    return at_log_softmax_over(t, in[0], *(int *)axis);
}

/* The second op's backward finds the gradient of x begun by the first. */
static at_tensor *case_softmax_twice(at_tape *t, at_tensor **in, void *axis)
{
    return at_add(t, at_softmax(t, in[0]), at_softmax_over(t, in[0], *(int *)axis));
}

static at_tensor *case_log_softmax_twice(at_tape *t, at_tensor **in, void *axis)
{
    return at_add(t, at_log_softmax(t, in[0]), at_log_softmax_over(t, in[0], *(int *)axis));
}

/* x [4,4] with `fill` where a mask says so: in single cells, a whole row and a whole column */
static at_tensor *fill_masked(at_tape *t, at_tensor *x, double fill)
{
    static const bool mask[] = {0, 0, 1, 0, 1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 1, 0};
    return at_masked_fill(t, x, at_bools(t, at_shape_of(4, 4), mask), fill);
}

static at_tensor *case_softmax_masked(at_tape *t, at_tensor **in, void *axis)
{
    at_tensor *x = fill_masked(t, in[0], -(double)INFINITY);
    return at_softmax_over(t, x, *(int *)axis);
}

/* What is masked has log-probability -inf, which no difference can see: it is filled again. */
static at_tensor *case_log_softmax_masked(at_tape *t, at_tensor **in, void *axis)
{
    at_tensor *x = fill_masked(t, in[0], -(double)INFINITY);
    return fill_masked(t, at_log_softmax_over(t, x, *(int *)axis), 0);
}

static at_tensor *case_softmax_of_softmax(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_softmax(t, at_softmax(t, in[0]));
}

/* ------------------------------------------------------------------ cross_entropy -------------- */

typedef struct {
    at_reduction reduction;
    int ignored; /* every so many-th target is, 0: none */
    double smoothing;
    bool weights; /* of classes: 0 for one of them */
} entropy_options;

static at_tensor *case_class_weights(at_tape *t, const entropy_options *o, int N)
{
    at_tensor *w = o->weights ? at_const(t, at_shape_of(N), NULL) : NULL;
    for (int j = 0; w && j < N; j++) at_store(w->dtype, w->data, j, j == 1 ? 0 : 0.5 + 3 * j % 4);
    return w;
}

static at_tensor *case_targets(at_tape *t, at_shape s, int N, int ignored)
{
    at_tensor *target = at_ints(t, s, NULL);
    for (ptrdiff_t i = 0; target && i < at_count(s); i++)
        ((int32_t *)target->data)[i] =
            ignored && i % ignored == 0 ? -100 : (int32_t)((7 * i + 3) % N);
    return target;
}

static at_cross_entropy_args case_entropy_args(at_tape *t, const entropy_options *o, int N)
{
    return (at_cross_entropy_args){.reduction = o->reduction,
                                   .label_smoothing = o->smoothing,
                                   .ignore = o->ignored,
                                   .ignore_index = -100,
                                   .weights = case_class_weights(t, o, N)};
}

static at_tensor *case_cross_entropy(at_tape *t, at_tensor **in, void *ctx)
{
    const entropy_options *o = ctx;
    at_shape s = in[0]->shape;
    const int N = s.dim[--s.ndim];
    return at_cross_entropy(t, in[0], case_targets(t, s, N, o->ignored),
                            case_entropy_args(t, o, N));
}

/* in[1] holds probabilities, or what stands in their place: the formula asks for no more */
static at_tensor *case_cross_entropy_soft(at_tape *t, at_tensor **in, void *ctx)
{
    const entropy_options *o = ctx;
    at_cross_entropy_args args = {.reduction = o->reduction,
                                  .label_smoothing = o->smoothing,
                                  .weights = case_class_weights(t, o, at_last(in[0]->shape))};
    return at_cross_entropy(t, in[0], in[1], args);
}

/* The target comes from the logits themselves: the entropy of the prediction */
static at_tensor *case_cross_entropy_self(at_tape *t, at_tensor **in, void *ctx)
{
    return case_cross_entropy_soft(t, (at_tensor *[]){in[0], at_softmax(t, in[0])}, ctx);
}

/* Targets of 0, beside logits as they are and beside logits of -inf */
static at_tensor *case_cross_entropy_masked(at_tape *t, at_tensor **in, void *ctx)
{
    at_tensor *x = fill_masked(t, in[0], -(double)INFINITY), *target = fill_masked(t, in[1], 0);
    if (!x) return NULL;
    at_tensor *loss = case_cross_entropy_soft(t, (at_tensor *[]){in[0], target}, ctx);
    return at_add(t, loss, case_cross_entropy_soft(t, (at_tensor *[]){x, target}, ctx));
}

/* ------------------------------------------------------------------ logsumexp ------------------ */

static at_tensor *case_logsumexp(at_tape *t, at_tensor **in, void *axis)
{
    return at_logsumexp(t, in[0], *(int *)axis, false);
}

/* x - logsumexp(x): log_softmax */
static at_tensor *case_logsumexp_twice(at_tape *t, at_tensor **in, void *axis)
{
    return at_sub(t, in[0], at_logsumexp(t, in[0], *(int *)axis, true));
}

/* -inf is filled where nothing is left */
static at_tensor *case_logsumexp_masked(at_tape *t, at_tensor **in, void *axis)
{
    at_tensor *x = fill_masked(t, in[0], -(double)INFINITY);
    return at_exp(t, at_logsumexp(t, x, *(int *)axis, true));
}

static at_tensor *case_cross_entropy_twice(at_tape *t, at_tensor **in, void *ctx)
{
    entropy_options other = {.reduction = ATTIC_SUM, .ignored = 3};
    if (((entropy_options *)ctx)->reduction == ATTIC_NONE) other.reduction = ATTIC_NONE;
    return at_add(t, case_cross_entropy(t, in, ctx), case_cross_entropy(t, in, &other));
}

/* dloss is not the seed but comes from a square */
static at_tensor *case_cross_entropy_squared(at_tape *t, at_tensor **in, void *ctx)
{
    at_tensor *loss = case_cross_entropy(t, in, ctx);
    return at_mul(t, loss, loss);
}

/* ------------------------------------------------------------------ linear_cross_entropy ------- */

typedef struct {
    entropy_options loss;
    bool flip;       /* W is [N,K] */
    at_dtype stored; /* of W, which is a constant then: see case_linear_entropy_half */
} linear_options;

static at_tensor *case_linear_entropy_of(at_tape *t, at_tensor *x, at_tensor *W, at_tensor *b,
                                         const linear_options *o)
{
    if (!W) return NULL;
    at_shape s = x->shape;
    s.ndim--;
    const int N = W->shape.dim[!o->flip];
    return at_linear_cross_entropy(t, x, W, o->flip, b, case_targets(t, s, N, o->loss.ignored),
                                   case_entropy_args(t, &o->loss, N));
}

static at_tensor *case_linear_entropy(at_tape *t, at_tensor **in, void *ctx)
{
    return case_linear_entropy_of(t, in[0], in[1], in[2], ctx);
}

static at_tensor *case_linear_entropy_without(at_tape *t, at_tensor **in, void *ctx)
{
    return case_linear_entropy_of(t, in[0], in[1], NULL, ctx);
}

/* One tensor is x and W, another one x and b */
static at_tensor *case_linear_entropy_self(at_tape *t, at_tensor **in, void *ctx)
{
    at_tensor *loss = case_linear_entropy_of(t, in[0], in[0], in[1], ctx);
    return at_add(t, loss, case_linear_entropy_of(t, in[1], in[0], in[1], ctx));
}

/* z = x x^T */
static at_tensor *case_linear_entropy_square(at_tape *t, at_tensor **in, void *ctx)
{
    return case_linear_entropy_of(t, in[0], in[0], NULL, ctx);
}

/* All three have a gradient already when the first adds its own; dloss is not the seed. */
static at_tensor *case_linear_entropy_twice(at_tape *t, at_tensor **in, void *ctx)
{
    const linear_options *o = ctx;
    linear_options other = {.loss = {.reduction = o->loss.reduction, .ignored = 2},
                            .flip = o->flip};
    at_tensor *loss = case_linear_entropy(t, in, ctx);
    return at_mul(t, loss, case_linear_entropy(t, in, &other));
}

static at_tensor *case_linear_entropy_half(at_tape *t, at_tensor **in, void *ctx)
{
    const linear_options *o = ctx;
    const int K = at_last(in[0]->shape), N = at_last(in[1]->shape);
    at_tensor *W = at_random(t, o->flip ? at_shape_of(N, K) : at_shape_of(K, N), at_normal(1));
    return case_linear_entropy_of(t, in[0], at_cast(t, W, o->stored), in[1], o);
}

/* Only the bias moves: backward has no product. */
static at_tensor *case_linear_entropy_bias(at_tape *t, at_tensor **in, void *ctx)
{
    at_tensor *x = at_random(t, at_shape_of(4, 3), at_normal(1));
    at_tensor *W = at_random(t, at_shape_of(3, at_last(in[0]->shape)), at_normal(1));
    return case_linear_entropy_of(t, x, W, in[0], ctx);
}

/* ------------------------------------------------------------------ norms ---------------------- */

typedef struct {
    double eps;
    int gamma, beta; /* which input each is; 0: absent */
} norm_options;

static at_tensor *case_layer_norm(at_tape *t, at_tensor **in, void *ctx)
{
    const norm_options *o = ctx;
    at_tensor *gamma = o->gamma ? in[o->gamma] : NULL, *beta = o->beta ? in[o->beta] : NULL;
    return at_layer_norm(t, in[0], gamma, beta, o->eps);
}

static at_tensor *case_layer_norm_all_one(at_tape *t, at_tensor **in, void *ctx)
{
    return at_layer_norm(t, in[0], in[0], in[0], ((norm_options *)ctx)->eps);
}

static at_tensor *case_layer_norm_twice(at_tape *t, at_tensor **in, void *ctx)
{
    at_tensor *once = case_layer_norm(t, in, ctx);
    return at_add(t, case_layer_norm(t, (at_tensor *[]){once, in[1], in[2]}, ctx), in[0]);
}

static at_tensor *case_layer_norm_constants(at_tape *t, at_tensor **in, void *ctx)
{
    at_tensor *c = at_const(t, at_shape_of(4), (double[]){1, -2, 0.5, 3});
    return case_layer_norm(t, (at_tensor *[]){in[0], c, c}, ctx);
}

static at_tensor *case_norms_of_constant(at_tape *t, at_tensor **in, void *ctx)
{
    const norm_options *o = ctx;
    at_tensor *x = at_random(t, at_shape_of(3, 4), at_normal(1));
    if (o->beta) return at_layer_norm(t, x, in[0], in[1], o->eps);
    return at_rms_norm(t, x, in[0], o->eps);
}

static at_tensor *case_rms_norm(at_tape *t, at_tensor **in, void *ctx)
{
    const norm_options *o = ctx;
    return at_rms_norm(t, in[0], o->gamma ? in[o->gamma] : NULL, o->eps);
}

static at_tensor *case_rms_norm_both(at_tape *t, at_tensor **in, void *ctx)
{
    return at_rms_norm(t, in[0], in[0], ((norm_options *)ctx)->eps);
}

static at_tensor *case_rms_norm_twice(at_tape *t, at_tensor **in, void *ctx)
{
    at_tensor *once = case_rms_norm(t, in, ctx);
    return at_add(t, case_rms_norm(t, (at_tensor *[]){once, in[1]}, ctx), in[0]);
}

static at_tensor *case_normalize(at_tape *t, at_tensor **in, void *ctx)
{
    return at_normalize(t, in[0], ((norm_options *)ctx)->eps);
}

/* The cosines of the angles between rows, and x: its gradient is begun when that of y arrives */
static at_tensor *case_normalize_cosines(at_tape *t, at_tensor **in, void *ctx)
{
    at_tensor *y = case_normalize(t, in, ctx);
    return at_affine(t, at_matmul_t(t, y, false, y, true), in[0], NULL);
}

/* gamma's gradient finds x's begun when x is the same row */
static at_tensor *case_rms_norm_by_softmax(at_tape *t, at_tensor **in, void *ctx)
{
    return at_rms_norm(t, in[0], at_softmax(t, in[0]), ((norm_options *)ctx)->eps);
}

/* ------------------------------------------------------------------ rope ----------------------- */

static at_tensor *case_rope(at_tape *t, at_tensor **in, void *args)
{
    return at_rope(t, in[0], *(at_rope_args *)args);
}

static at_tensor *case_rope_twice(at_tape *t, at_tensor **in, void *args)
{
    at_rope_args other = {.offset = 9, .half_split = true};
    at_tensor *y = at_rope(t, in[0], *(at_rope_args *)args);
    return at_mul(t, y, at_rope(t, in[0], other));
}

/* At positions [B,T] between -2 and 4. */
static at_tensor *case_rope_placed(at_tape *t, at_tensor **in, void *args)
{
    const at_shape x = in[0]->shape;
    at_rope_args placed = *(at_rope_args *)args;
    placed.positions = at_ints(t, at_shape_of(x.dim[0], x.dim[x.ndim - 2]), NULL);
    for (ptrdiff_t i = 0; placed.positions && i < at_count(placed.positions->shape); i++)
        ((int32_t *)placed.positions->data)[i] = (int32_t)(i * i % 7) - 2;
    return at_rope(t, in[0], placed);
}

static at_tensor *case_rope_given(at_tape *t, at_tensor **in, void *args)
{
    const at_shape x = in[0]->shape;
    at_rope_args given = *(at_rope_args *)args;
    given.positions = at_ints(t, at_shape_of(x.dim[x.ndim - 2]), (int32_t[]){5, -3, 16});
    given.frequencies = at_const(t, at_shape_of(2), (double[]){0.7, -0.2});
    return at_mul(t, in[0], at_rope(t, in[0], given));
}

static at_tensor *case_rope_frequencies(at_tape *t, at_tensor **in, void *args)
{
    at_rope_args given = *(at_rope_args *)args;
    given.frequencies = at_const(t, at_shape_of(2), (double[]){0.7, -0.2});
    return at_rope(t, in[0], given);
}

/* ------------------------------------------------------------------ the table ------------------ */

/* clang-format off */
#define AXIS(n) .ctx = &(int){n}, .note = "axis " #n
#define LINEAR(...) .ctx = &(linear_options){__VA_ARGS__}
#define ENTROPY(...) .ctx = &(entropy_options){__VA_ARGS__}
#define NORM(...) .ctx = &(norm_options){__VA_ARGS__}
#define ROPE(...) .ctx = &(at_rope_args){__VA_ARGS__}
#define SCALED(...) .ctx = &(at_rope_args){.offset = 3, .base = 50, .scaling = {__VA_ARGS__}}
/* clang-format on */

const at_case at_cases_rows[] = {
    ROW("softmax", "[5]", case_softmax),
    ROW("softmax", "[2]", case_softmax, .values = (double[]){3, 3}, .note = "equal scores"),
    ROW("softmax", "[1]", case_softmax, .expect = ATTIC_VACUOUS, .note = "always 1"),
    ROW("softmax", "[3,1]", case_softmax, .expect = ATTIC_VACUOUS, .note = "always 1"),
    ROW("softmax", "[0]", case_softmax, .expect = ATTIC_VACUOUS),
    ROW("softmax", "[3,0]", case_softmax, .expect = ATTIC_VACUOUS),
    ROW("softmax", "[0,3]", case_softmax, .expect = ATTIC_VACUOUS),
    ROW("softmax", "[3,4]", case_softmax),
    ROW("softmax", "[1,4]", case_softmax),
    ROW("softmax", "[2,3,4]", case_softmax),
    ROW("softmax", "[2,2,3,4]", case_softmax),
    ROW("softmax", "[1,1,1,2]", case_softmax),
    ROW("softmax", "[2,33]", case_softmax),
    ROW("softmax", "[3,300]", case_softmax, .directions = 6),
    ROW("softmax", "[1,1100]", case_softmax, .directions = 4, .note = "a long row"),
    ROW("softmax", "[200,50]", case_softmax, .directions = 4, .note = "several blocks"),
    ROW("softmax", "[3,4]", case_softmax, .low = -8, .high = 8, .note = "nearly one-hot"),
    ROW("softmax", "[3,4]", case_softmax, .low = 500, .high = 504, .note = "far from 0"),
    ROW("softmax", "[4,4]", case_softmax_masked, AXIS(1) ", cells and a row masked"),
    ROW("softmax", "[3,4]", case_softmax_of_softmax, .note = "of softmax"),
    ROW("softmax", "[3,4]", case_softmax_twice, AXIS(-1) " twice"),

    ROW("softmax_over", "[5]", case_softmax_over, AXIS(0)),
    ROW("softmax_over", "[3,4]", case_softmax_over, AXIS(0)),
    ROW("softmax_over", "[3,4]", case_softmax_over, AXIS(1)),
    ROW("softmax_over", "[3,4]", case_softmax_over, AXIS(-2)),
    ROW("softmax_over", "[2,3,4]", case_softmax_over, AXIS(0)),
    ROW("softmax_over", "[2,3,4]", case_softmax_over, AXIS(1)),
    ROW("softmax_over", "[2,3,4]", case_softmax_over, AXIS(2)),
    ROW("softmax_over", "[4,1]", case_softmax_over, AXIS(0)),
    ROW("softmax_over", "[1,4]", case_softmax_over, AXIS(0), .expect = ATTIC_VACUOUS),
    ROW("softmax_over", "[0,4]", case_softmax_over, AXIS(0), .expect = ATTIC_VACUOUS),
    ROW("softmax_over", "[4,0]", case_softmax_over, AXIS(0), .expect = ATTIC_VACUOUS),
    ROW("softmax_over", "[3,65]", case_softmax_over, AXIS(0)),
    ROW("softmax_over", "[2,40,130]", case_softmax_over, AXIS(1), .directions = 4),
    ROW("softmax_over", "[2,1,3,2]", case_softmax_over, AXIS(2)),
    ROW("softmax_over", "[4,4]", case_softmax_masked, AXIS(0) ", cells and a column masked"),
    ROW("softmax_over", "[2,3,4]", case_softmax_twice, AXIS(1) " and 2"),
    ROW("softmax_over", "[2,3,4]", case_softmax_twice, AXIS(0) " and 2"),

    ROW("log_softmax", "[5]", case_log_softmax),
    ROW("log_softmax", "[2]", case_log_softmax, .values = (double[]){3, 3}, .note = "equal"),
    ROW("log_softmax", "[1]", case_log_softmax, .expect = ATTIC_VACUOUS, .note = "always 0"),
    ROW("log_softmax", "[3,0]", case_log_softmax, .expect = ATTIC_VACUOUS),
    ROW("log_softmax", "[3,4]", case_log_softmax),
    ROW("log_softmax", "[2,3,4]", case_log_softmax),
    ROW("log_softmax", "[2,2,1,4]", case_log_softmax),
    ROW("log_softmax", "[2,300]", case_log_softmax, .directions = 6, .note = "two chunks"),
    ROW("log_softmax", "[200,50]", case_log_softmax, .directions = 4, .note = "several blocks"),
    ROW("log_softmax", "[3,4]", case_log_softmax, .low = -30, .high = 30, .note = "nearly sure"),
    ROW("log_softmax", "[3,4]", case_log_softmax, .low = -504, .high = -500, .note = "far from 0"),
    ROW("log_softmax", "[4,4]", case_log_softmax_masked, AXIS(1) ", cells and a row masked"),
    ROW("log_softmax", "[3,4]", case_log_softmax_twice, AXIS(-1) " twice"),

    ROW("log_softmax_over", "[5]", case_log_softmax_over, AXIS(0)),
    ROW("log_softmax_over", "[3,4]", case_log_softmax_over, AXIS(0)),
    ROW("log_softmax_over", "[3,4]", case_log_softmax_over, AXIS(-1)),
    ROW("log_softmax_over", "[2,3,4]", case_log_softmax_over, AXIS(0)),
    ROW("log_softmax_over", "[2,3,4]", case_log_softmax_over, AXIS(1)),
    ROW("log_softmax_over", "[2,3,4]", case_log_softmax_over, AXIS(2)),
    ROW("log_softmax_over", "[1,4]", case_log_softmax_over, AXIS(0), .expect = ATTIC_VACUOUS),
    ROW("log_softmax_over", "[0,4]", case_log_softmax_over, AXIS(0), .expect = ATTIC_VACUOUS),
    ROW("log_softmax_over", "[3,65]", case_log_softmax_over, AXIS(0)),
    ROW("log_softmax_over", "[2,40,130]", case_log_softmax_over, AXIS(1), .directions = 4),
    ROW("log_softmax_over", "[4,4]", case_log_softmax_masked,
        AXIS(0) ", cells and a column masked"),
    ROW("log_softmax_over", "[2,3,4]", case_log_softmax_twice, AXIS(1) " and 2"),

    ROW("logsumexp", "[5]", case_logsumexp, AXIS(0)),
    ROW("logsumexp", "[3,4]", case_logsumexp, AXIS(-1)),
    ROW("logsumexp", "[3,4]", case_logsumexp, AXIS(0)),
    ROW("logsumexp", "[2,3,4]", case_logsumexp, AXIS(1)),
    ROW("logsumexp", "[3,1]", case_logsumexp, AXIS(1)),
    ROW("logsumexp", "[1,4]", case_logsumexp, AXIS(1)),
    ROW("logsumexp", "[0,4]", case_logsumexp, AXIS(1), .expect = ATTIC_VACUOUS),
    ROW("logsumexp", "[3,4]", case_logsumexp, AXIS(1) ", far from 0", .low = 900, .high = 904),
    ROW("logsumexp", "[200,50]", case_logsumexp, AXIS(1) ", several blocks", .directions = 4),
    ROW("logsumexp", "[3,4]", case_logsumexp_twice, AXIS(0) ", x - y"),
    ROW("logsumexp", "[3,4]", case_logsumexp_twice, AXIS(1) ", x - y"),
    ROW("logsumexp", "[4,4]", case_logsumexp_masked, AXIS(1) ", cells and a row masked"),

    ROW("cross_entropy", "[5]", case_cross_entropy, ENTROPY(0), .note = "one row"),
    ROW("cross_entropy", "[4,5]", case_cross_entropy, ENTROPY(0)),
    ROW("cross_entropy", "[4,5]", case_cross_entropy, ENTROPY(.reduction = ATTIC_SUM),
        .note = "sum"),
    ROW("cross_entropy", "[4,5]", case_cross_entropy, ENTROPY(.ignored = 3), .note = "ignored"),
    ROW("cross_entropy", "[4,5]", case_cross_entropy, ENTROPY(.reduction = ATTIC_SUM, .ignored = 2),
        .note = "sum, ignored"),
    ROW("cross_entropy", "[4,5]", case_cross_entropy, ENTROPY(.ignored = 1),
        .expect = ATTIC_VACUOUS, .note = "all ignored"),
    ROW("cross_entropy", "[2,3,4]", case_cross_entropy, ENTROPY(.ignored = 4)),
    ROW("cross_entropy", "[2,2,3,4]", case_cross_entropy, ENTROPY(0)),
    ROW("cross_entropy", "[1,2]", case_cross_entropy, ENTROPY(0), .note = "two classes"),
    ROW("cross_entropy", "[4,1]", case_cross_entropy, ENTROPY(0), .expect = ATTIC_VACUOUS,
        .note = "one class"),
    ROW("cross_entropy", "[0,3]", case_cross_entropy, ENTROPY(0), .expect = ATTIC_VACUOUS),
    ROW("cross_entropy", "[3,300]", case_cross_entropy, ENTROPY(0), .directions = 6,
        .note = "two chunks"),
    ROW("cross_entropy", "[1,1100]", case_cross_entropy, ENTROPY(0), .directions = 4,
        .note = "a long row"),
    ROW("cross_entropy", "[300,65]", case_cross_entropy, ENTROPY(.ignored = 7), .directions = 4,
        .note = "several blocks"),
    ROW("cross_entropy", "[4,5]", case_cross_entropy, ENTROPY(0), .low = 900, .high = 904,
        .note = "far from 0"),
    ROW("cross_entropy", "[4,5]", case_cross_entropy, ENTROPY(0), .low = -12, .high = 12,
        .note = "nearly sure"),
    ROW("cross_entropy", "[4,5]", case_cross_entropy_twice, ENTROPY(0), .note = "twice"),
    ROW("cross_entropy", "[4,5]", case_cross_entropy, ENTROPY(.reduction = ATTIC_NONE),
        .note = "none"),
    ROW("cross_entropy", "[2,3,4]", case_cross_entropy,
        ENTROPY(.reduction = ATTIC_NONE, .ignored = 2), .note = "none, ignored"),
    ROW("cross_entropy", "[4,5]", case_cross_entropy_twice, ENTROPY(.reduction = ATTIC_NONE),
        .note = "none, twice"),
    ROW("cross_entropy", "[1,5]", case_cross_entropy, ENTROPY(.reduction = ATTIC_NONE),
        .note = "none, a row"),
    ROW("cross_entropy", "[300,65]", case_cross_entropy,
        ENTROPY(.reduction = ATTIC_NONE, .ignored = 7), .directions = 4,
        .note = "none, several blocks"),
    ROW("cross_entropy", "[4,5]", case_cross_entropy, ENTROPY(.smoothing = 0.1),
        .note = "smoothing"),
    ROW("cross_entropy", "[4,300]", case_cross_entropy,
        ENTROPY(.reduction = ATTIC_NONE, .ignored = 3, .smoothing = 0.4), .directions = 6,
        .note = "smoothing, none, ignored"),
    ROW("cross_entropy", "[2,3,4]", case_cross_entropy,
        ENTROPY(.reduction = ATTIC_SUM, .ignored = 0, .smoothing = 1),
        .note = "smoothing of 1, sum"),
    ROW("cross_entropy", "[4,5] [4,5]", case_cross_entropy_soft, ENTROPY(0), .low = 0.1, .high = 1,
        .note = "probabilities"),
    ROW("cross_entropy", "[2,3,4] [2,3,4]", case_cross_entropy_soft,
        ENTROPY(.reduction = ATTIC_SUM), .note = "probabilities, sum"),
    ROW("cross_entropy", "[4,5] [4,5]", case_cross_entropy_soft,
        ENTROPY(.reduction = ATTIC_NONE, .ignored = 0, .smoothing = 0.2),
        .note = "probabilities, smoothing, none"),
    ROW("cross_entropy", "[5] [5]", case_cross_entropy_soft, ENTROPY(0), .note = "probabilities"),
    ROW("cross_entropy", "[2] [2]", case_cross_entropy_soft, ENTROPY(0),
        .values = (double[]){1, 2, 1, 0}, .note = "probabilities 1 and 0"),
    ROW("cross_entropy", "[0,3] [0,3]", case_cross_entropy_soft, ENTROPY(0),
        .expect = ATTIC_VACUOUS, .note = "probabilities"),
    ROW("cross_entropy", "[4,4] [4,4]", case_cross_entropy_masked, ENTROPY(0), .low = 0.1,
        .high = 1, .note = "probabilities of 0, logits of -inf"),
    ROW("cross_entropy", "[4,4] [4,4]", case_cross_entropy_masked,
        ENTROPY(.weights = true, .reduction = ATTIC_SUM), .low = 0.1, .high = 1,
        .note = "weights, probabilities of 0, logits of -inf"),
    ROW("cross_entropy", "[3,4]", case_cross_entropy_self, ENTROPY(0), .note = "its own softmax"),
    ROW("cross_entropy", "[5]", case_cross_entropy, ENTROPY(.weights = true),
        .note = "weights, one row"),
    ROW("cross_entropy", "[4,5]", case_cross_entropy, ENTROPY(.weights = true), .note = "weights"),
    ROW("cross_entropy", "[4,5]", case_cross_entropy,
        ENTROPY(.weights = true, .reduction = ATTIC_SUM, .ignored = 3),
        .note = "weights, sum, ignored"),
    ROW("cross_entropy", "[2,3,4]", case_cross_entropy,
        ENTROPY(.weights = true, .reduction = ATTIC_NONE, .ignored = 4),
        .note = "weights, none, ignored"),
    ROW("cross_entropy", "[4,5]", case_cross_entropy,
        ENTROPY(.weights = true, .smoothing = 0.3, .ignored = 3),
        .note = "weights, smoothing, ignored"),
    ROW("cross_entropy", "[4,300]", case_cross_entropy,
        ENTROPY(.weights = true, .smoothing = 0.1, .reduction = ATTIC_NONE), .directions = 6,
        .note = "weights, smoothing, none"),
    ROW("cross_entropy", "[3,4]", case_cross_entropy,
        ENTROPY(.weights = true, .smoothing = 1, .reduction = ATTIC_SUM),
        .note = "weights, smoothing of 1, sum"),
    ROW("cross_entropy", "[1,2]", case_cross_entropy, ENTROPY(.weights = true),
        .expect = ATTIC_VACUOUS, .note = "weights: the target has none"),
    ROW("cross_entropy", "[4,5]", case_cross_entropy_squared,
        ENTROPY(.weights = true, .smoothing = 0.2), .note = "weights, squared"),
    ROW("cross_entropy", "[4,5]", case_cross_entropy_twice, ENTROPY(.weights = true),
        .note = "weights, twice"),
    ROW("cross_entropy", "[4,5] [4,5]", case_cross_entropy_soft, ENTROPY(.weights = true),
        .low = 0.1, .high = 1, .note = "weights, probabilities"),
    ROW("cross_entropy", "[2,3,4] [2,3,4]", case_cross_entropy_soft,
        ENTROPY(.weights = true, .smoothing = 0.2, .reduction = ATTIC_SUM),
        .note = "weights, probabilities, smoothing, sum"),
    ROW("cross_entropy", "[4,5] [4,5]", case_cross_entropy_soft,
        ENTROPY(.weights = true, .smoothing = 0.2, .reduction = ATTIC_NONE),
        .note = "weights, probabilities, smoothing, none"),
    ROW("cross_entropy", "[4,5]", case_cross_entropy_squared, ENTROPY(0), .note = "squared"),

    ROW("linear_cross_entropy", "[3] [3,5] [5]", case_linear_entropy, LINEAR(.flip = false),
        .note = "one row"),
    ROW("linear_cross_entropy", "[4,3] [3,5] [5]", case_linear_entropy, LINEAR(.flip = false)),
    ROW("linear_cross_entropy", "[4,3] [5,3] [5]", case_linear_entropy, LINEAR(.flip = true),
        .note = "W transposed"),
    ROW("linear_cross_entropy", "[4,3] [3,5]", case_linear_entropy_without, LINEAR(.flip = false),
        .note = "no bias"),
    ROW("linear_cross_entropy", "[4,3] [5,3]", case_linear_entropy_without, LINEAR(.flip = true),
        .note = "no bias, W transposed"),
    ROW("linear_cross_entropy", "[2,3,4] [4,5] [5]", case_linear_entropy,
        LINEAR(.loss.reduction = ATTIC_SUM), .note = "sum"),
    ROW("linear_cross_entropy", "[2,3,4] [4,5] [5]", case_linear_entropy,
        LINEAR(.loss.reduction = ATTIC_NONE), .note = "none"),
    ROW("linear_cross_entropy", "[4,3] [3,5] [5]", case_linear_entropy, LINEAR(.loss.ignored = 3),
        .note = "ignored"),
    ROW("linear_cross_entropy", "[4,3] [3,5] [5]", case_linear_entropy, LINEAR(.loss.ignored = 1),
        .expect = ATTIC_VACUOUS, .note = "all ignored"),
    ROW("linear_cross_entropy", "[4,3] [3,5] [5]", case_linear_entropy,
        LINEAR(.loss.smoothing = 0.2), .note = "smoothing"),
    ROW("linear_cross_entropy", "[4,3] [3,5] [5]", case_linear_entropy,
        LINEAR(.loss.weights = true), .note = "weights"),
    ROW("linear_cross_entropy", "[4,3] [3,5] [5]", case_linear_entropy,
        LINEAR(.loss = {ATTIC_NONE, 3, 0.2, true}), .note = "weights, smoothing, ignored, none"),
    ROW("linear_cross_entropy", "[4,3] [5,3] [5]", case_linear_entropy,
        LINEAR(.loss = {ATTIC_SUM, 3, 0.2, true}, .flip = true),
        .note = "weights, smoothing, ignored, sum, W transposed"),
    ROW("linear_cross_entropy", "[4,3] [3,5] [5]", case_linear_entropy, LINEAR(.flip = false),
        .low = 30, .high = 31, .note = "far from 0"),
    ROW("linear_cross_entropy", "[5,5] [5]", case_linear_entropy_self, LINEAR(.flip = false),
        .note = "x x and b"),
    ROW("linear_cross_entropy", "[5,5] [5]", case_linear_entropy_self, LINEAR(.flip = true),
        .note = "x x^T and b"),
    ROW("linear_cross_entropy", "[4,3] [3,5] [5]", case_linear_entropy_twice, LINEAR(.flip = false),
        .note = "twice"),
    ROW("linear_cross_entropy", "[4,3] [5,3] [5]", case_linear_entropy_twice,
        LINEAR(.flip = true, .loss = {ATTIC_NONE, 0, 0.2, true}), .note = "twice, W transposed"),
    ROW("linear_cross_entropy", "[3,2] [2,800] [800]", case_linear_entropy,
        LINEAR(.loss = {ATTIC_MEAN, 0, 0.2, true}), .directions = 2,
        .note = "three tiles of classes"),
    ROW("linear_cross_entropy", "[3,2] [800,2] [800]", case_linear_entropy, LINEAR(.flip = true),
        .directions = 2, .note = "three tiles of classes, W transposed"),
    ROW("linear_cross_entropy", "[300,2] [2,5] [5]", case_linear_entropy, LINEAR(.loss.ignored = 7),
        .directions = 4, .note = "two blocks of rows"),
    ROW("linear_cross_entropy", "[300,2] [2,390]", case_linear_entropy_without,
        LINEAR(.loss.reduction = ATTIC_NONE), .directions = 2, .note = "four tiles, none"),
    ROW("linear_cross_entropy", "[300,2]", case_linear_entropy_square, LINEAR(.flip = true),
        .directions = 2, .note = "x x^T, two blocks of rows"),
    ROW("linear_cross_entropy", "[4,3] [5]", case_linear_entropy_half, LINEAR(.stored = ATTIC_F16),
        .note = "W f16"),
    ROW("linear_cross_entropy", "[4,3] [5]", case_linear_entropy_half,
        LINEAR(.stored = ATTIC_BF16, .flip = true), .note = "W bf16, transposed"),
    ROW("linear_cross_entropy", "[3,2] [800]", case_linear_entropy_half,
        LINEAR(.stored = ATTIC_BF16), .directions = 2, .note = "W bf16, three tiles"),
    ROW("linear_cross_entropy", "[5]", case_linear_entropy_bias, LINEAR(.flip = false),
        .note = "b alone"),
    ROW("linear_cross_entropy", "[3,0] [0,5] [5]", case_linear_entropy, LINEAR(.flip = false),
        .note = "K = 0"),
    ROW("linear_cross_entropy", "[4,3] [3,1] [1]", case_linear_entropy, LINEAR(.flip = false),
        .expect = ATTIC_VACUOUS, .note = "one class"),
    ROW("linear_cross_entropy", "[4,3] [3,0]", case_linear_entropy_without,
        LINEAR(.loss.ignored = 1), .expect = ATTIC_VACUOUS, .note = "no classes"),
    ROW("linear_cross_entropy", "[0,3] [3,5] [5]", case_linear_entropy, LINEAR(.flip = false),
        .expect = ATTIC_VACUOUS),

    ROW("layer_norm", "[5]", case_layer_norm, NORM(1e-5, 0, 0)),
    ROW("layer_norm", "[3,4]", case_layer_norm, NORM(1e-5, 0, 0)),
    ROW("layer_norm", "[3,4] [4] [4]", case_layer_norm, NORM(1e-5, 1, 2)),
    ROW("layer_norm", "[3,4] [4]", case_layer_norm, NORM(1e-5, 1, 0), .note = "no beta"),
    ROW("layer_norm", "[3,4] [4]", case_layer_norm, NORM(1e-5, 0, 1), .note = "no gamma"),
    ROW("layer_norm", "[3,4] [4]", case_layer_norm, NORM(1e-5, 1, 1), .note = "gamma is beta"),
    ROW("layer_norm", "[3,4]", case_layer_norm_constants, NORM(1e-5, 1, 2),
        .note = "constant gamma, beta"),
    ROW("layer_norm", "[4] [4]", case_norms_of_constant, NORM(1e-5, 1, 2), .note = "constant x"),
    ROW("layer_norm", "[1,1100] [1100]", case_layer_norm, NORM(1e-5, 1, 0), .directions = 4,
        .note = "a long row"),
    ROW("layer_norm", "[4]", case_layer_norm_all_one, NORM(1e-2, 0, 0),
        .note = "x is gamma is beta"),
    ROW("layer_norm", "[2,3,4] [4] [4]", case_layer_norm, NORM(1e-5, 1, 2)),
    ROW("layer_norm", "[2,1,2,4] [4] [4]", case_layer_norm, NORM(1e-5, 1, 2)),
    ROW("layer_norm", "[3,4] [4] [4]", case_layer_norm, NORM(1, 1, 2), .note = "eps 1"),
    ROW("layer_norm", "[3,4] [4] [4]", case_layer_norm, NORM(0, 1, 2), .note = "eps 0"),
    ROW("layer_norm", "[3,4] [4] [4]", case_layer_norm, NORM(1e-5, 1, 2), .low = 20, .high = 22,
        .note = "far from 0"),
    ROW("layer_norm", "[1,2] [2] [2]", case_layer_norm, NORM(0.1, 1, 2)),
    ROW("layer_norm", "[3,1]", case_layer_norm, NORM(1e-5, 0, 0), .expect = ATTIC_VACUOUS,
        .note = "always 0"),
    ROW("layer_norm", "[3,1] [1] [1]", case_layer_norm, NORM(1e-5, 1, 2), .note = "only beta"),
    ROW("layer_norm", "[0,3] [3] [3]", case_layer_norm, NORM(1e-5, 1, 2), .expect = ATTIC_VACUOUS),
    ROW("layer_norm", "[3,0] [0] [0]", case_layer_norm, NORM(1e-5, 1, 2), .expect = ATTIC_VACUOUS),
    ROW("layer_norm", "[300,65] [65] [65]", case_layer_norm, NORM(1e-5, 1, 2), .directions = 6,
        .note = "several blocks"),
    ROW("layer_norm", "[3,4] [4] [4]", case_layer_norm_twice, NORM(1e-5, 1, 2), .note = "twice"),

    ROW("rms_norm", "[5]", case_rms_norm, NORM(1e-5, 0, 0)),
    ROW("rms_norm", "[3,4]", case_rms_norm, NORM(1e-5, 0, 0)),
    ROW("rms_norm", "[3,4] [4]", case_rms_norm, NORM(1e-5, 1, 0)),
    ROW("rms_norm", "[4]", case_norms_of_constant, NORM(1e-5, 1, 0), .note = "constant x"),
    ROW("rms_norm", "[4]", case_rms_norm_both, NORM(1e-5, 0, 0), .note = "x is gamma"),
    ROW("rms_norm", "[4]", case_rms_norm_by_softmax, NORM(1e-5, 0, 0),
        .note = "gamma is softmax(x)"),
    ROW("rms_norm", "[2,3,4] [4]", case_rms_norm, NORM(1e-5, 1, 0)),
    ROW("rms_norm", "[2,1,2,4] [4]", case_rms_norm, NORM(1e-5, 1, 0)),
    ROW("rms_norm", "[3,4] [4]", case_rms_norm, NORM(1, 1, 0), .note = "eps 1"),
    ROW("rms_norm", "[3,4] [4]", case_rms_norm, NORM(0, 1, 0), .note = "eps 0"),
    ROW("rms_norm", "[3,4] [4]", case_rms_norm, NORM(1e-5, 1, 0), .low = 20, .high = 22,
        .note = "far from 0"),
    ROW("rms_norm", "[3,1] [1]", case_rms_norm, NORM(0.1, 1, 0)),
    ROW("rms_norm", "[2]", case_rms_norm, NORM(0.1, 0, 0), .values = (double[]){0, 0},
        .note = "a row of zeros"),
    ROW("rms_norm", "[0,3] [3]", case_rms_norm, NORM(1e-5, 1, 0), .expect = ATTIC_VACUOUS),
    ROW("rms_norm", "[3,0] [0]", case_rms_norm, NORM(1e-5, 1, 0), .expect = ATTIC_VACUOUS),
    ROW("rms_norm", "[300,65] [65]", case_rms_norm, NORM(1e-5, 1, 0), .directions = 6,
        .note = "several blocks"),
    ROW("rms_norm", "[3,4] [4]", case_rms_norm_twice, NORM(1e-5, 1, 0), .note = "twice"),

    ROW("normalize", "[5]", case_normalize, NORM(1e-12, 0, 0)),
    ROW("normalize", "[3,4]", case_normalize, NORM(1e-12, 0, 0)),
    ROW("normalize", "[2,3,4]", case_normalize, NORM(1e-12, 0, 0)),
    ROW("normalize", "[2,1,2,40]", case_normalize, NORM(1e-12, 0, 0), .directions = 6),
    ROW("normalize", "[3,4]", case_normalize, NORM(1e-12, 0, 0), .low = 20, .high = 22,
        .note = "far from 0"),
    ROW("normalize", "[3,4]", case_normalize, NORM(10, 0, 0), .note = "rows shorter than eps"),
    ROW("normalize", "[4,2]", case_normalize, NORM(1, 0, 0),
        .values = (double[]){3, 4, 0.25, 0.5, -2, 1, 0.125, -0.5},
        .note = "every second row shorter than eps"),
    ROW("normalize", "[2]", case_normalize, NORM(5, 0, 0), .values = (double[]){3, 4},
        .expect = ATTIC_NON_SMOOTH, .note = "as long as eps: a kink"),
    ROW("normalize", "[2]", case_normalize, NORM(0.1, 0, 0), .values = (double[]){0, 0},
        .note = "a row of zeros"),
    ROW("normalize", "[0,3]", case_normalize, NORM(1e-12, 0, 0), .expect = ATTIC_VACUOUS),
    ROW("normalize", "[3,0]", case_normalize, NORM(1e-12, 0, 0), .expect = ATTIC_VACUOUS),
    ROW("normalize", "[300,65]", case_normalize, NORM(1e-12, 0, 0), .directions = 6,
        .note = "several blocks"),
    ROW("normalize", "[3,4]", case_normalize_cosines, NORM(1e-12, 0, 0),
        .note = "cosines, times x"),

    ROW("rope", "[3,4]", case_rope, ROPE(0), .note = "pairs"),
    ROW("rope", "[3,4]", case_rope, ROPE(.half_split = true), .note = "halves"),
    ROW("rope", "[2,3,4]", case_rope, ROPE(.offset = 5), .note = "from 5 on"),
    ROW("rope", "[2,3,4]", case_rope, ROPE(.offset = -5, .half_split = true),
        .note = "from -5 on, halves"),
    ROW("rope", "[2,2,3,6]", case_rope, ROPE(.base = 50), .note = "base 50"),
    ROW("rope", "[2,2,3,6]", case_rope, ROPE(.base = 50, .half_split = true),
        .note = "base 50, halves"),
    ROW("rope", "[3,6]", case_rope, ROPE(.rotate = 4, .offset = 1), .note = "4 of 6"),
    ROW("rope", "[3,6]", case_rope, ROPE(.rotate = 4, .offset = 1, .half_split = true),
        .note = "4 of 6, halves"),
    ROW("rope", "[3,5]", case_rope, ROPE(.rotate = 2, .offset = 1), .note = "2 of 5"),
    ROW("rope", "[2,3,8]", case_rope, ROPE(.heads = 2, .offset = 3), .note = "packed"),
    ROW("rope", "[2,3,8]", case_rope, ROPE(.heads = 2, .half_split = true, .offset = 3),
        .note = "packed, halves"),
    ROW("rope", "[3,12]", case_rope, ROPE(.heads = 3, .rotate = 2, .offset = 3),
        .note = "packed, 2 of 4"),
    ROW("rope", "[1,2]", case_rope, ROPE(.offset = 1000)),
    ROW("rope", "[40,4]", case_rope, ROPE(.offset = 10)),
    ROW("rope", "[3,50,96]", case_rope, ROPE(.heads = 3), .directions = 4,
        .note = "several blocks"),
    ROW("rope", "[0,4]", case_rope, ROPE(0), .expect = ATTIC_VACUOUS),
    ROW("rope", "[3,0]", case_rope, ROPE(0), .expect = ATTIC_VACUOUS),
    ROW("rope", "[3,4]", case_rope_twice, ROPE(.offset = 2), .note = "times another"),
    ROW("rope", "[3,4]", case_rope_twice, ROPE(.offset = 9, .half_split = true), .note = "squared"),
    ROW("rope", "[2,3,4]", case_rope_placed, ROPE(0), .note = "positions"),
    ROW("rope", "[2,3,8]", case_rope_placed, ROPE(.heads = 2, .half_split = true),
        .note = "positions, packed, halves"),
    ROW("rope", "[2,2,3,6]", case_rope_placed, ROPE(.rotate = 4), .note = "positions, 4 of 6"),
    ROW("rope", "[0,3,4]", case_rope_placed, ROPE(0), .expect = ATTIC_VACUOUS, .note = "positions"),
    ROW("rope", "[2,3,4]", case_rope_given, ROPE(0), .note = "frequencies, times x"),
    ROW("rope", "[2,3,4]", case_rope_frequencies, ROPE(.offset = 2), .note = "frequencies"),
    ROW("rope", "[3,8]", case_rope, SCALED(ATTIC_ROPE_LINEAR, .factor = 4), .note = "linear"),
    ROW("rope", "[3,8]", case_rope,
        SCALED(ATTIC_ROPE_LLAMA3, 16, 8, .low_freq_factor = 0.5, .high_freq_factor = 2),
        .note = "llama3"),
    ROW("rope", "[3,8]", case_rope,
        SCALED(ATTIC_ROPE_YARN, 16, 4, .beta_fast = 2, .beta_slow = 0.1), .note = "yarn"),
    ROW("rope", "[2,3,6]", case_rope_placed,
        ROPE(.rotate = 4, .scaling = {ATTIC_ROPE_YARN, 16, 4, .mscale = 2, .mscale_all_dim = 1}),
        .note = "positions, yarn, 4 of 6"),
    {0}};
