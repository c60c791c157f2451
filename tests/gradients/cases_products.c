/* cases_products.c -- gradient cases of products, reductions, changes of shape, embedding; see
 * cases.h. */
#include "gradients/cases.h"

/* at_shape_of as an initialiser, which must be a constant. */
#define LIST(...)                                                                                  \
    {                                                                                              \
        (int)(sizeof((int[]){0, ##__VA_ARGS__}) / sizeof(int)) - 1,                                \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

/* ------------------------------------------------------------------ products ------------------- */

typedef struct {
    bool a, b;
} case_flips;

static at_tensor *case_matmul(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_matmul(t, in[0], in[1]);
}

static at_tensor *case_matmul_t(at_tape *t, at_tensor **in, void *ctx)
{
    const case_flips *flip = ctx;
    return at_matmul_t(t, in[0], flip->a, in[1], flip->b);
}

/* One tensor on both sides. */
static at_tensor *case_matmul_self(at_tape *t, at_tensor **in, void *ctx)
{
    const case_flips *flip = ctx;
    return at_matmul_t(t, in[0], flip->a, in[0], flip->b);
}

/* x x x: x is A once and B twice, and its gradient grows by three products. */
static at_tensor *case_matmul_cube(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_matmul(t, at_matmul(t, in[0], in[0]), in[0]);
}

/* A B + A B': A has a gradient already when the first product adds its own. */
static at_tensor *case_matmul_reused(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    at_tensor *first = at_matmul(t, in[0], in[1]);
    return at_add(t, first, at_matmul_t(t, in[0], false, in[1], true));
}

static at_tensor *case_affine(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_affine(t, in[0], in[1], in[2]);
}

static at_tensor *case_affine_without(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_affine(t, in[0], in[1], NULL);
}

/* Two layers with the same W and b: both have a gradient already when the first adds its own. */
static at_tensor *case_affine_twice(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_affine(t, at_affine(t, in[0], in[1], in[2]), in[1], in[2]);
}

/* x x + x, for an x with one row */
static at_tensor *case_affine_self(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_affine(t, in[0], in[0], at_reshape(t, in[0], at_shape_of(1)));
}

/* A constant that is stored in 16 bits: B, W or a table. */
typedef struct {
    at_dtype stored;
    at_shape shape;
    bool flip;    /* read transposed */
    double scale; /* of its elements */
} case_of_half;

static at_tensor *case_half(at_tape *t, const case_of_half *c)
{
    return at_cast(t, at_random(t, c->shape, at_normal(c->scale)), c->stored);
}

static at_tensor *case_matmul_half(at_tape *t, at_tensor **in, void *ctx)
{
    const case_of_half *c = ctx;
    return at_matmul_t(t, in[0], false, case_half(t, c), c->flip);
}

static at_tensor *case_affine_half(at_tape *t, at_tensor **in, void *ctx)
{
    return at_affine(t, in[0], case_half(t, ctx), in[1]);
}

static at_tensor *case_affine_half_without(at_tape *t, at_tensor **in, void *ctx)
{
    return at_affine(t, in[0], case_half(t, ctx), NULL);
}

/* Nothing is asked of the gradient of X. */
static at_tensor *case_affine_half_bias(at_tape *t, at_tensor **in, void *ctx)
{
    const case_of_half *c = ctx;
    at_tensor *X = at_random(t, at_shape_of(3, c->shape.dim[0]), at_normal(1));
    return at_affine(t, X, case_half(t, c), in[0]);
}

/* Rows of a table of 16 bits, times x */
static at_tensor *case_embedding_half(at_tape *t, at_tensor **in, void *ctx)
{
    at_tensor *id = at_ints(t, at_shape_of(3), (int32_t[]){3, 0, 3});
    return at_mul(t, at_embedding(t, case_half(t, ctx), id), in[0]);
}

#define FLIP_ROW(in_, a_, b_, note_)                                                               \
    ROW("matmul_t", in_, case_matmul_t, .ctx = &(case_flips){a_, b_}, .note = note_)
#define HALF_ROW(op_, in_, f_, stored_, shape_, flip_, ...)                                        \
    ROW(op_, in_, f_, .ctx = (&(case_of_half){stored_, shape_, flip_, 1}), __VA_ARGS__)

/* ------------------------------------------------------------------ reductions ----------------- */

typedef struct {
    at_tensor *(*f)(at_tape *, at_tensor *, at_shape, bool);
    at_shape axes;
    bool keepdims;
} case_of_axes;

static at_tensor *case_over(at_tape *t, at_tensor **in, void *ctx)
{
    const case_of_axes *c = ctx;
    return c->f(t, in[0], c->axes, c->keepdims);
}

typedef struct {
    at_tensor *(*f)(at_tape *, at_tensor *);
} case_of_all;

static at_tensor *case_all(at_tape *t, at_tensor **in, void *ctx)
{
    return ((const case_of_all *)ctx)->f(t, in[0]);
}

/* x - f(x): x has a gradient already when f adds its own. */
static at_tensor *case_centred(at_tape *t, at_tensor **in, void *ctx)
{
    const case_of_axes *c = ctx;
    return at_sub(t, in[0], c->f(t, in[0], c->axes, true));
}

#define OVER(...)                                                                                  \
    &(case_of_axes)                                                                                \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* The usual ways to reduce, for a name and its functions over all and over some axes. */
#define REDUCE_ROWS(name, all, over)                                                               \
    ROW(name, "[]", case_all, .ctx = &(case_of_all){all}, .apart = true),                          \
        ROW(name, "[5]", case_all, .ctx = &(case_of_all){all}, .apart = true),                     \
        ROW(name, "[2,3,2]", case_all, .ctx = &(case_of_all){all}, .apart = true),                 \
        ROW(name, "[3,1,1]", case_all, .ctx = &(case_of_all){all}, .apart = true),                 \
        ROW(name, "[9000]", case_all, .ctx = &(case_of_all){all}, .apart = true, .directions = 2,  \
            .note = "a row in pieces"),                                                            \
        ROW(name "_over", "[4]", case_over, .ctx = OVER(over, LIST(0), false), .apart = true,      \
            .note = "axis 0"),                                                                     \
        ROW(name "_over", "[2,3,4]", case_over, .ctx = OVER(over, LIST(0), false), .apart = true,  \
            .note = "axis 0"),                                                                     \
        ROW(name "_over", "[2,3,4]", case_over, .ctx = OVER(over, LIST(1), true), .apart = true,   \
            .note = "axis 1, keepdims"),                                                           \
        ROW(name "_over", "[2,3,4]", case_over, .ctx = OVER(over, LIST(-1), false), .apart = true, \
            .note = "axis -1"),                                                                    \
        ROW(name "_over", "[2,3,4]", case_over, .ctx = OVER(over, LIST(-1, 0), false),             \
            .apart = true, .note = "axes -1, 0"),                                                  \
        ROW(name "_over", "[2,3,2,3,2]", case_over, .ctx = OVER(over, LIST(1, 3), true),           \
            .apart = true, .note = "axes 1, 3, keepdims"),                                         \
        ROW(name "_over", "[2,3,2,3,2]", case_over, .ctx = OVER(over, LIST(0, 2, 4), false),       \
            .apart = true, .note = "axes 0, 2, 4"),                                                \
        ROW(name "_over", "[2,1,3]", case_over, .ctx = OVER(over, LIST(1), false), .apart = true,  \
            .note = "axis 1 of size 1"),                                                           \
        ROW(name "_over", "[2,3]", case_over, .ctx = OVER(over, LIST(), false), .apart = true,     \
            .note = "no axes"),                                                                    \
        ROW(name "_over", "[40,70]", case_over, .ctx = OVER(over, LIST(0), false), .apart = true,  \
            .directions = 2, .note = "columns in strips"),                                         \
        ROW(name "_over", "[0,3]", case_over, .ctx = OVER(over, LIST(1), false),                   \
            .expect = ATTIC_VACUOUS, .note = "axis 1"),                                            \
        ROW(name "_over", "[3,4]", case_centred, .ctx = OVER(over, LIST(1), true), .apart = true,  \
            .note = "x - y")

static at_tensor *case_biased_var(at_tape *t, at_tensor *x)
{
    return at_var(t, x, 0);
}

/* With a correction of 1 where it can be.  The mean is added because a single element has a variance of 0. */
static at_tensor *case_all_var(at_tape *t, at_tensor *x)
{
    return at_add(t, at_var(t, x, at_count(x->shape) > 1), at_mean(t, x));
}

static at_tensor *case_var_over(at_tape *t, at_tensor *x, at_shape axes, bool keepdims)
{
    ptrdiff_t n = 1; /* elements for each variance */
    for (int i = 0; i < axes.ndim; i++) n *= x->shape.dim[at_axis_of(x->shape, axes.dim[i])];
    at_tensor *mean = at_mean_over(t, x, axes, keepdims);
    return at_add(t, at_var_over(t, x, axes, keepdims, n > 1), mean);
}

/* The larger of x and x: a tie everywhere, and smooth all the same. */
static at_tensor *case_always_tied(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    at_tensor *both = at_stack(t, (at_tensor *[]){in[0], in[0]}, 2, 0);
    return at_max_over(t, both, at_axes(0), false);
}

/* Rows of a table chosen by argmax: the gradient of x is 0, that of the table is not. */
static at_tensor *case_argmax(at_tape *t, at_tensor **in, void *axis)
{
    return at_embedding(t, in[1], at_argmax(t, in[0], *(int *)axis, false));
}

/* ------------------------------------------------------------------ shape ---------------------- */

static at_tensor *case_reshape(at_tape *t, at_tensor **in, void *shape)
{
    return at_reshape(t, in[0], *(at_shape *)shape);
}

/* x and its own data, differently: gradients are not shared. */
static at_tensor *case_reshape_square(at_tape *t, at_tensor **in, void *shape)
{
    at_tensor *y = at_reshape(t, in[0], *(at_shape *)shape);
    return at_mul(t, y, at_reshape(t, in[0], *(at_shape *)shape));
}

static at_tensor *case_permute(at_tape *t, at_tensor **in, void *order)
{
    return at_permute(t, in[0], *(at_shape *)order);
}

/* x + permuted x, for a permutation that leaves the shape as it is */
static at_tensor *case_permute_reused(at_tape *t, at_tensor **in, void *order)
{
    return at_add(t, in[0], at_permute(t, in[0], *(at_shape *)order));
}

static at_tensor *case_transpose(at_tape *t, at_tensor **in, void *axes)
{
    const at_shape *a = axes;
    return at_transpose(t, in[0], a->dim[0], a->dim[1]);
}

typedef struct {
    int n, axis;
} case_of_several;

static at_tensor *case_concat(at_tape *t, at_tensor **in, void *ctx)
{
    const case_of_several *c = ctx;
    return at_concat(t, in, c->n, c->axis);
}

static at_tensor *case_stack(at_tape *t, at_tensor **in, void *ctx)
{
    const case_of_several *c = ctx;
    return at_stack(t, in, c->n, c->axis);
}

/* The first one once more at the end. */
static at_tensor *case_concat_twice(at_tape *t, at_tensor **in, void *ctx)
{
    const case_of_several *c = ctx;
    at_tensor *x[AT_MAX_CASE_INPUTS + 1];
    for (int i = 0; i < c->n; i++) x[i] = in[i];
    x[c->n] = in[0];
    return at_concat(t, x, c->n + 1, c->axis);
}

static at_tensor *case_stack_twice(at_tape *t, at_tensor **in, void *axis)
{
    return at_stack(t, (at_tensor *[]){in[0], in[0]}, 2, *(int *)axis);
}

typedef struct {
    int axis, from, to;
} case_of_range;

static at_tensor *case_slice(at_tape *t, at_tensor **in, void *ctx)
{
    const case_of_range *c = ctx;
    return at_slice(t, in[0], c->axis, c->from, c->to);
}

static at_tensor *case_toeplitz(at_tape *t, at_tensor **in, void *rows)
{
    int T = *(int *)rows, S = at_last(in[0]->shape) + 1 - T;
    return at_toeplitz(t, in[0], T, S);
}

typedef struct {
    int axis, from, step, n;
} case_of_steps;

static at_tensor *case_slice_step(at_tape *t, at_tensor **in, void *ctx)
{
    const case_of_steps *c = ctx;
    return at_slice_step(t, in[0], c->axis, c->from, c->step, c->n);
}

/* x and itself reversed: two uses */
static at_tensor *case_reversed(at_tape *t, at_tensor **in, void *axis)
{
    const int a = *(int *)axis;
    return at_mul(t, in[0], at_slice_step(t, in[0], a, -1, -1, in[0]->shape.dim[a]));
}

typedef struct {
    int axis, n;
    const int *size;
} case_of_parts;

/* part[0] + 2 part[1] + 3 part[2] ..., each summed along the axis where they differ */
static at_tensor *case_split(at_tape *t, at_tensor **in, void *ctx)
{
    const case_of_parts *c = ctx;
    at_tensor *part[AT_MAX_CASE_INPUTS], *y = NULL;
    at_split_along(t, in[0], c->axis, part, c->n, c->size);
    for (int k = 0; k < c->n; k++) {
        at_tensor *sum = at_sum_over(t, at_square(t, part[k]), at_axes(c->axis), false);
        y = y ? at_add(t, y, at_scale(t, sum, k + 1)) : sum;
    }
    return y;
}

static at_tensor *case_cumsum(at_tape *t, at_tensor **in, void *axis)
{
    return at_cumsum(t, in[0], *(int *)axis);
}

static at_tensor *case_cumsum_twice(at_tape *t, at_tensor **in, void *axis)
{
    return at_mul(t, in[0], at_cumsum(t, at_cumsum(t, in[0], *(int *)axis), *(int *)axis));
}

typedef struct {
    int axis, k;
} case_of_k;

static at_tensor *case_topk(at_tape *t, at_tensor **in, void *ctx)
{
    const case_of_k *c = ctx;
    return at_topk(t, in[0], c->k, c->axis, NULL);
}

/* The largest of x and x, each of which is there twice: ties, and smooth all the same */
static at_tensor *case_topk_tied(at_tape *t, at_tensor **in, void *k)
{
    at_tensor *both = at_concat(t, (at_tensor *[]){in[0], in[0]}, 2, 0);
    return at_topk(t, both, *(int *)k, 0, NULL);
}

/* The largest and where they are: the values of in[1] there */
static at_tensor *case_topk_gather(at_tape *t, at_tensor **in, void *ctx)
{
    const case_of_k *c = ctx;
    at_tensor *index, *y = at_topk(t, in[0], c->k, c->axis, &index);
    return at_mul(t, y, at_gather(t, in[1], index, c->axis));
}

/* Two pieces that overlap. */
static at_tensor *case_slice_twice(at_tape *t, at_tensor **in, void *axis)
{
    int a = *(int *)axis;
    return at_mul(t, at_slice(t, in[0], a, 0, -1), at_slice(t, in[0], a, 1, in[0]->shape.dim[a]));
}

#define SHAPE(...) &(at_shape)LIST(__VA_ARGS__)
#define SEVERAL(...)                                                                               \
    &(case_of_several)                                                                             \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define RANGE(...)                                                                                 \
    &(case_of_range)                                                                               \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define AXIS(axis)                                                                                 \
    &(int)                                                                                         \
    {                                                                                              \
        axis                                                                                       \
    }

/* ------------------------------------------------------------------ embedding ------------------ */

typedef struct {
    at_shape shape;
    const int32_t *id;
} case_of_ids;

static at_tensor *case_embedding(at_tape *t, at_tensor **in, void *ctx)
{
    const case_of_ids *c = ctx;
    return at_embedding(t, in[0], at_ints(t, c->shape, c->id));
}

typedef struct {
    int axis;
    at_shape shape;
    const int32_t *index;
} case_of_index;

static at_tensor *case_gather(at_tape *t, at_tensor **in, void *ctx)
{
    const case_of_index *c = ctx;
    return at_gather(t, in[0], at_ints(t, c->shape, c->index), c->axis);
}

static at_tensor *case_gather_reused(at_tape *t, at_tensor **in, void *ctx)
{
    at_tensor *y = case_gather(t, in, ctx);
    return at_mul(t, y, in[0]);
}

static at_tensor *case_scatter_add(at_tape *t, at_tensor **in, void *ctx)
{
    const case_of_index *c = ctx;
    return at_scatter_add(t, in[0], at_ints(t, c->shape, c->index), in[1], c->axis);
}

/* x is what is added to, too; both find a gradient that was begun */
static at_tensor *case_scatter_add_itself(at_tape *t, at_tensor **in, void *ctx)
{
    at_tensor *y = case_scatter_add(t, (at_tensor *[]){in[0], in[0]}, ctx);
    return at_mul(t, y, in[0]);
}

static at_tensor *case_scatter_add_to_constants(at_tape *t, at_tensor **in, void *ctx)
{
    at_tensor *x = at_random(t, at_shape_of(3), at_normal(1));
    return case_scatter_add(t, (at_tensor *[]){x, in[0]}, ctx);
}

static at_tensor *case_scatter_add_constants(at_tape *t, at_tensor **in, void *ctx)
{
    at_tensor *src = at_random(t, ((const case_of_index *)ctx)->shape, at_normal(1));
    return at_square(t, case_scatter_add(t, (at_tensor *[]){in[0], src}, ctx));
}

/* The embedding, by the product that it stands for. */
static at_tensor *case_one_hot(at_tape *t, at_tensor **in, void *ctx)
{
    const case_of_ids *c = ctx;
    at_tensor *rows = at_one_hot(t, at_ints(t, c->shape, c->id), in[0]->shape.dim[0]);
    return at_matmul(t, rows, in[0]);
}

static at_tensor *case_embedding_tied(at_tape *t, at_tensor **in, void *ctx)
{
    return at_matmul_t(t, case_embedding(t, in, ctx), false, in[0], true);
}

#define IDS(shape, ...)                                                                            \
    &(case_of_ids)                                                                                 \
    {                                                                                              \
        shape, (const int32_t[])                                                                   \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

/* clang-format off */
#define STEPS(...) &(case_of_steps){__VA_ARGS__}
#define PARTS(...) &(case_of_parts){__VA_ARGS__}
#define K(...) &(case_of_k){__VA_ARGS__}
#define INDEX(axis, shape, ...) &(case_of_index){axis, shape, (const int32_t[]){__VA_ARGS__}}
/* clang-format on */

const at_case at_cases_products[] = {
    ROW("matmul", "[2,3] [3,4]", case_matmul),
    ROW("matmul", "[1,1] [1,1]", case_matmul),
    ROW("matmul", "[1,5] [5,1]", case_matmul, .note = "a dot product"),
    ROW("matmul", "[5,1] [1,4]", case_matmul, .note = "an outer product"),
    ROW("matmul", "[1,3] [3,4]", case_matmul),
    ROW("matmul", "[7,2] [2,1]", case_matmul),
    ROW("matmul", "[2,0] [0,3]", case_matmul, .expect = ATTIC_VACUOUS),
    ROW("matmul", "[0,3] [3,2]", case_matmul, .expect = ATTIC_VACUOUS),
    ROW("matmul", "[2,3] [3,0]", case_matmul, .expect = ATTIC_VACUOUS),
    ROW("matmul", "[0,2,3] [3,2]", case_matmul, .expect = ATTIC_VACUOUS),
    ROW("matmul", "[2,3,4] [2,4,5]", case_matmul),
    ROW("matmul", "[2,3,2,4] [2,3,4,2]", case_matmul),
    ROW("matmul", "[2,1,2,1,3,2] [2,1,2,1,2,3]", case_matmul),
    ROW("matmul", "[2,3,4] [4,2]", case_matmul, .note = "weights"),
    ROW("matmul", "[2,2,3,4] [4,2]", case_matmul, .note = "weights"),
    ROW("matmul", "[2,2,3,4] [1,1,4,2]", case_matmul, .note = "weights"),
    ROW("matmul", "[2,1,4] [4,3]", case_matmul, .note = "weights"),
    ROW("matmul", "[3,4] [2,4,2]", case_matmul, .note = "A broadcast"),
    ROW("matmul", "[3,4] [2,2,4,2]", case_matmul, .note = "A broadcast"),
    ROW("matmul", "[1,3,4] [3,4,2]", case_matmul, .note = "A broadcast"),
    ROW("matmul", "[3,2,4] [1,4,2]", case_matmul, .note = "B broadcast"),
    ROW("matmul", "[2,3,2,2] [2,1,2,3]", case_matmul, .note = "B broadcast inside"),
    ROW("matmul", "[2,3,2,2] [3,2,3]", case_matmul, .note = "B broadcast outside"),
    ROW("matmul", "[2,1,2,3] [1,3,3,2]", case_matmul, .note = "both broadcast"),
    ROW("matmul", "[2,1,2,2] [3,2,2]", case_matmul, .note = "both broadcast"),
    ROW("matmul", "[2,1,2,1,2,2] [3,1,2,2,2]", case_matmul, .note = "both broadcast"),
    ROW("affine", "[2,3] [3,4] [4]", case_affine),
    ROW("affine", "[3] [3,2] [2]", case_affine),
    ROW("affine", "[2,2,3] [3,5] [5]", case_affine),
    ROW("affine", "[1,1] [1,1] [1]", case_affine),
    ROW("affine", "[3,0] [0,2] [2]", case_affine, .note = "K = 0"),
    ROW("affine", "[0,3] [3,2] [2]", case_affine, .expect = ATTIC_VACUOUS),
    ROW("affine", "[2,3] [3,4]", case_affine_without, .note = "no bias"),
    ROW("affine", "[2,3] [3,3] [3]", case_affine_twice, .note = "two layers, one W and b"),
    ROW("affine", "[1,1]", case_affine_self, .note = "x x + x"),
    ROW("affine", "[1101,2] [2,66] [66]", case_affine, .directions = 8,
        .note = "strips and shares"),
    ROW("matmul", "[3,3]", case_matmul_self, .ctx = &(case_flips){0}, .note = "x x"),
    ROW("matmul", "[1,1]", case_matmul_self, .ctx = &(case_flips){0}, .note = "x x"),
    ROW("matmul", "[2,3,3]", case_matmul_self, .ctx = &(case_flips){0}, .note = "x x"),
    ROW("matmul", "[3,3]", case_matmul_cube, .note = "x x x"),
    ROW("matmul", "[3,3] [3,3]", case_matmul_reused, .note = "A B + A B^T"),
    ROW("matmul", "[2,3,3] [3,3]", case_matmul_reused, .note = "A B + A B^T"),
    ROW("matmul", "[3,3] [2,3,3]", case_matmul_reused, .note = "A B + A B^T"),
    ROW("matmul", "[70,65] [65,40]", case_matmul, .directions = 2, .note = "several tiles"),
    ROW("matmul", "[3,33,20] [20,70]", case_matmul, .directions = 2, .note = "several tiles"),
    FLIP_ROW("[3,2] [3,4]", true, false, "A transposed"),
    FLIP_ROW("[2,3] [4,3]", false, true, "B transposed"),
    FLIP_ROW("[3,2] [4,3]", true, true, "both transposed"),
    FLIP_ROW("[2,3] [3,4]", false, false, "neither transposed"),
    FLIP_ROW("[1,4] [1,4]", true, false, "A transposed"),
    FLIP_ROW("[4,1] [1,4]", true, true, "both transposed"),
    FLIP_ROW("[2,4,3] [2,4,5]", true, false, "A transposed"),
    FLIP_ROW("[2,3,4] [2,5,4]", false, true, "B transposed"),
    FLIP_ROW("[2,4,3] [2,5,4]", true, true, "both transposed"),
    FLIP_ROW("[2,3,4] [5,4]", false, true, "B transposed, weights"),
    FLIP_ROW("[2,4,3] [4,5]", true, false, "A transposed, weights"),
    FLIP_ROW("[2,1,3] [1,2]", true, false, "A transposed, K = 1"),
    FLIP_ROW("[3,2] [2,3,4]", true, false, "A transposed, broadcast"),
    FLIP_ROW("[2,1,3,2] [2,4,3]", true, true, "both transposed, broadcast"),
    ROW("matmul_t", "[0,2] [0,3]", case_matmul_t, .ctx = &(case_flips){true, false},
        .expect = ATTIC_VACUOUS, .note = "A transposed"),
    ROW("matmul_t", "[3,4]", case_matmul_self, .ctx = &(case_flips){false, true}, .note = "x x^T"),
    ROW("matmul_t", "[3,4]", case_matmul_self, .ctx = &(case_flips){true, false}, .note = "x^T x"),
    ROW("matmul_t", "[2,3,2]", case_matmul_self, .ctx = &(case_flips){true, false},
        .note = "x^T x"),
    ROW("matmul_t", "[3,3]", case_matmul_self, .ctx = &(case_flips){true, true}, .note = "x^T x^T"),
    ROW("matmul_t", "[65,70] [40,65]", case_matmul_t, .ctx = &(case_flips){true, true},
        .directions = 2, .note = "several tiles"),

    HALF_ROW("matmul", "[3,5]", case_matmul_half, ATTIC_F16, LIST(5, 4), false, .note = "B f16"),
    HALF_ROW("matmul", "[2,3,5]", case_matmul_half, ATTIC_BF16, LIST(5, 4), false,
             .note = "B bf16, weights"),
    HALF_ROW("matmul", "[1,5]", case_matmul_half, ATTIC_F16, LIST(5, 19), false,
             .note = "B f16, one row"),
    HALF_ROW("matmul", "[1,5]", case_matmul_half, ATTIC_BF16, LIST(5, 19), false,
             .note = "B bf16, one row"),
    HALF_ROW("matmul_t", "[3,5]", case_matmul_half, ATTIC_F16, LIST(4, 5), true,
             .note = "B f16, transposed"),
    HALF_ROW("matmul_t", "[1,5]", case_matmul_half, ATTIC_BF16, LIST(40, 5), true,
             .note = "B bf16, transposed, one row"),
    HALF_ROW("matmul_t", "[1,5]", case_matmul_half, ATTIC_F16, LIST(2, 4, 5), true,
             .note = "B f16, transposed, one row broadcast"),
    ROW("matmul", "[3,5]", case_matmul_half,
        .ctx = (&(case_of_half){ATTIC_F16, LIST(5, 4), false, 1e-6}), .note = "B f16, subnormal"),
    HALF_ROW("matmul", "[2,140]", case_matmul_half, ATTIC_F16, LIST(140, 3), false, .directions = 3,
             .note = "B f16, two blocks"),
    HALF_ROW("matmul", "[3,5]", case_matmul_half, ATTIC_F16, LIST(2, 5, 4), false,
             .note = "B f16, A broadcast"),
    HALF_ROW("matmul", "[3,5]", case_matmul_half, ATTIC_F16, LIST(0, 5, 4), false,
             .expect = ATTIC_VACUOUS, .note = "B f16, no products"),
    HALF_ROW("matmul", "[3,0]", case_matmul_half, ATTIC_F16, LIST(0, 4), false,
             .expect = ATTIC_VACUOUS, .note = "B f16, K = 0"),
    HALF_ROW("affine", "[3,5] [4]", case_affine_half, ATTIC_F16, LIST(5, 4), false,
             .note = "W f16"),
    HALF_ROW("affine", "[3,5]", case_affine_half_without, ATTIC_BF16, LIST(5, 4), false,
             .note = "W bf16, no bias"),
    HALF_ROW("affine", "[2,5] [3]", case_affine_half, ATTIC_BF16, LIST(5, 3), false,
             .note = "W bf16"),
    HALF_ROW("affine", "[4]", case_affine_half_bias, ATTIC_F16, LIST(5, 4), false,
             .note = "W f16, X constant"),
    HALF_ROW("affine", "[0,5] [4]", case_affine_half, ATTIC_F16, LIST(5, 4), false,
             .expect = ATTIC_VACUOUS, .note = "W f16, no rows"),
    HALF_ROW("affine", "[3,0] [4]", case_affine_half, ATTIC_F16, LIST(0, 4), false,
             .note = "W f16, K = 0"),
    HALF_ROW("affine", "[3,5]", case_affine_half_without, ATTIC_F16, LIST(5, 0), false,
             .expect = ATTIC_VACUOUS, .note = "W f16, N = 0"),

    REDUCE_ROWS("sum", at_sum, at_sum_over),
    REDUCE_ROWS("mean", at_mean, at_mean_over),
    REDUCE_ROWS("max", at_max, at_max_over),
    REDUCE_ROWS("min", at_min, at_min_over),
    REDUCE_ROWS("var", case_all_var, case_var_over),
    ROW("var", "[4]", case_all, .ctx = &(case_of_all){case_biased_var}, .note = "correction 0"),
    ROW("var", "[5]", case_all, .ctx = &(case_of_all){case_biased_var}, .low = 1e3, .high = 1e3 + 1,
        .note = "correction 0, far from 0"),
    ROW("sum_over", "[3,0]", case_over, .ctx = OVER(at_sum_over, LIST(1), false),
        .expect = ATTIC_VACUOUS, .note = "axis 1: sums of nothing"),
    ROW("max", "[4]", case_all, .ctx = &(case_of_all){at_max}, .values = (double[]){1, 3, 2, 3},
        .expect = ATTIC_NON_SMOOTH, .note = "a tie"),
    ROW("max_over", "[2,2]", case_over, .ctx = OVER(at_max_over, LIST(0), false),
        .values = (double[]){1, 5, 1, 6}, .expect = ATTIC_NON_SMOOTH, .note = "axis 0, a tie"),
    ROW("max_over", "[5]", case_always_tied, .note = "x and x"),
    ROW("min", "[20000]", case_all, .ctx = &(case_of_all){at_min}, .apart = true, .directions = 2,
        .note = "in shares"),
    ROW("argmax", "[3,4] [4,2]", case_argmax, .ctx = AXIS(-1), .apart = true,
        .note = "rows chosen by it"),
    ROW("argmax", "[40,20] [20,2]", case_argmax, .ctx = AXIS(-1), .apart = true, .directions = 4,
        .note = "of rows"),
    ROW("argmax", "[4,200] [200,2]", case_argmax, .ctx = AXIS(-1), .apart = true, .directions = 4,
        .note = "of long rows"),
    ROW("argmax", "[2,3,4] [3,2]", case_argmax, .ctx = AXIS(1), .apart = true,
        .note = "rows chosen by it"),

    ROW("reshape", "[2,3]", case_reshape, .ctx = SHAPE(3, 2)),
    ROW("reshape", "[2,3,4]", case_reshape, .ctx = SHAPE(-1), .note = "to [-1]"),
    ROW("reshape", "[6]", case_reshape, .ctx = SHAPE(2, -1, 1), .note = "to [2,-1,1]"),
    ROW("reshape", "[]", case_reshape, .ctx = SHAPE(1, 1)),
    ROW("reshape", "[1]", case_reshape, .ctx = SHAPE()),
    ROW("reshape", "[0,3]", case_reshape, .ctx = SHAPE(5, 0), .expect = ATTIC_VACUOUS),
    ROW("reshape", "[2,3]", case_reshape_square, .ctx = SHAPE(6), .note = "y y"),

    ROW("permute", "[2,3]", case_permute, .ctx = SHAPE(1, 0), .note = "1,0"),
    ROW("permute", "[2,3]", case_permute, .ctx = SHAPE(0, 1), .note = "0,1"),
    ROW("permute", "[]", case_permute, .ctx = SHAPE()),
    ROW("permute", "[2,3,4]", case_permute, .ctx = SHAPE(2, 0, 1), .note = "2,0,1"),
    ROW("permute", "[2,3,4]", case_permute, .ctx = SHAPE(1, 2, 0), .note = "1,2,0"),
    ROW("permute", "[2,3,4]", case_permute, .ctx = SHAPE(-1, 1, 0), .note = "-1,1,0"),
    ROW("permute", "[2,3,2,4]", case_permute, .ctx = SHAPE(0, 2, 1, 3), .note = "heads apart"),
    ROW("permute", "[2,3,2,4]", case_permute, .ctx = SHAPE(2, 0, 3, 1), .note = "2,0,3,1"),
    ROW("permute", "[2,1,3,1]", case_permute, .ctx = SHAPE(3, 2, 1, 0), .note = "3,2,1,0"),
    ROW("permute", "[2,2,2,2,2]", case_permute, .ctx = SHAPE(4, 1, 3, 0, 2), .note = "4,1,3,0,2"),
    ROW("permute", "[0,3]", case_permute, .ctx = SHAPE(1, 0), .expect = ATTIC_VACUOUS),
    ROW("permute", "[3,3]", case_permute_reused, .ctx = SHAPE(1, 0), .note = "x + x^T"),
    ROW("permute", "[2,3,3,2]", case_permute_reused, .ctx = SHAPE(0, 2, 1, 3), .note = "x + y"),
    ROW("permute", "[70,130]", case_permute, .ctx = SHAPE(1, 0), .directions = 2,
        .note = "several bands"),
    ROW("transpose", "[2,3]", case_transpose, .ctx = SHAPE(0, 1), .note = "0,1"),
    ROW("transpose", "[2,3,4]", case_transpose, .ctx = SHAPE(-1, -2), .note = "-1,-2"),
    ROW("transpose", "[2,3,4]", case_transpose, .ctx = SHAPE(0, 2), .note = "0,2"),
    ROW("transpose", "[2,3,4]", case_transpose, .ctx = SHAPE(1, 1), .note = "1,1"),

    ROW("concat", "[2,3] [2,3]", case_concat, .ctx = SEVERAL(2, 0), .note = "axis 0"),
    ROW("concat", "[2,3] [2,1]", case_concat, .ctx = SEVERAL(2, 1), .note = "axis 1"),
    ROW("concat", "[2,1,3] [2,2,3] [2,4,3]", case_concat, .ctx = SEVERAL(3, -2), .note = "axis -2"),
    ROW("concat", "[2,0] [2,3]", case_concat, .ctx = SEVERAL(2, 1), .note = "axis 1"),
    ROW("concat", "[4]", case_concat, .ctx = SEVERAL(1, 0), .note = "axis 0"),
    ROW("concat", "[0,2] [0,3]", case_concat, .ctx = SEVERAL(2, 1), .expect = ATTIC_VACUOUS,
        .note = "axis 1"),
    ROW("concat", "[2,3]", case_concat_twice, .ctx = SEVERAL(1, 0), .note = "x x, axis 0"),
    ROW("concat", "[2,3] [2,2]", case_concat_twice, .ctx = SEVERAL(2, 1), .note = "x y x, axis 1"),
    ROW("stack", "[2,3] [2,3]", case_stack, .ctx = SEVERAL(2, 0), .note = "axis 0"),
    ROW("stack", "[2,3] [2,3]", case_stack, .ctx = SEVERAL(2, 1), .note = "axis 1"),
    ROW("stack", "[2,3] [2,3] [2,3]", case_stack, .ctx = SEVERAL(3, -1), .note = "axis -1"),
    ROW("stack", "[] []", case_stack, .ctx = SEVERAL(2, 0), .note = "axis 0"),
    ROW("stack", "[4]", case_stack, .ctx = SEVERAL(1, 0), .note = "axis 0"),
    ROW("stack", "[0] [0]", case_stack, .ctx = SEVERAL(2, 0), .expect = ATTIC_VACUOUS,
        .note = "axis 0"),
    ROW("stack", "[2,3]", case_stack_twice, .ctx = AXIS(1), .note = "x x, axis 1"),

    ROW("slice", "[5]", case_slice, .ctx = RANGE(0, 1, 4), .note = "1..4"),
    ROW("slice", "[4,3]", case_slice, .ctx = RANGE(0, 2, 4), .note = "axis 0, 2..4"),
    ROW("slice", "[2,5,3]", case_slice, .ctx = RANGE(1, 1, 3), .note = "axis 1, 1..3"),
    ROW("slice", "[2,3,4]", case_slice, .ctx = RANGE(-1, -3, -1), .note = "axis -1, -3..-1"),
    ROW("slice", "[2,3]", case_slice, .ctx = RANGE(1, 0, 3), .note = "axis 1, all"),
    ROW("slice", "[2,3]", case_slice, .ctx = RANGE(1, 2, 2), .expect = ATTIC_VACUOUS,
        .note = "axis 1, nothing"),
    ROW("slice", "[0,3]", case_slice, .ctx = RANGE(1, 0, 2), .expect = ATTIC_VACUOUS,
        .note = "axis 1, 0..2"),
    ROW("slice", "[2,4]", case_slice_twice, .ctx = AXIS(1), .note = "two that overlap"),
    ROW("slice", "[4,2]", case_slice_twice, .ctx = AXIS(0), .note = "two that overlap"),

    ROW("slice_step", "[7]", case_slice_step, .ctx = STEPS(0, 0, 2, 4), .note = "each second"),
    ROW("slice_step", "[7,2]", case_slice_step, .ctx = STEPS(0, 1, 3, 2), .note = "from 1 by 3"),
    ROW("slice_step", "[2,5]", case_slice_step, .ctx = STEPS(1, -1, -1, 5), .note = "reversed"),
    ROW("slice_step", "[2,6,3]", case_slice_step, .ctx = STEPS(1, 5, -2, 3), .note = "back by 2"),
    ROW("slice_step", "[2,4,3]", case_slice_step, .ctx = STEPS(1, 1, 1, 2), .note = "by 1"),
    ROW("slice_step", "[4]", case_slice_step, .ctx = STEPS(0, 3, -9, 1), .note = "one element"),
    ROW("slice_step", "[4]", case_slice_step, .ctx = STEPS(0, 9, 2, 0), .expect = ATTIC_VACUOUS,
        .note = "nothing"),
    ROW("slice_step", "[3,4]", case_reversed, .ctx = AXIS(0), .note = "axis 0 reversed, times x"),
    ROW("slice_step", "[3,4]", case_reversed, .ctx = AXIS(1), .note = "axis 1 reversed, times x"),
    ROW("split_along", "[6]", case_split, .ctx = PARTS(0, 3, NULL), .note = "3 equal"),
    ROW("split_along", "[2,5,2]", case_split, .ctx = PARTS(1, 3, ((const int[]){2, 0, 3})),
        .note = "2, 0, 3"),
    ROW("split_along", "[3,4]", case_split, .ctx = PARTS(-1, 1, NULL), .note = "one part"),

    ROW("cumsum", "[5]", case_cumsum, .ctx = AXIS(0)),
    ROW("cumsum", "[2,3,4]", case_cumsum, .ctx = AXIS(0), .note = "axis 0"),
    ROW("cumsum", "[2,3,4]", case_cumsum, .ctx = AXIS(1), .note = "axis 1"),
    ROW("cumsum", "[2,3,4]", case_cumsum, .ctx = AXIS(-1), .note = "axis -1"),
    ROW("cumsum", "[3,700]", case_cumsum, .ctx = AXIS(1), .directions = 3, .note = "long"),
    ROW("cumsum", "[0,3]", case_cumsum, .ctx = AXIS(0), .expect = ATTIC_VACUOUS),
    ROW("cumsum", "[3,4]", case_cumsum_twice, .ctx = AXIS(1), .note = "twice, times x"),

    ROW("topk", "[7]", case_topk, .ctx = K(0, 3), .apart = true, .note = "3 of 7"),
    ROW("topk", "[7]", case_topk, .ctx = K(0, 7), .apart = true, .note = "all: sorted"),
    ROW("topk", "[2,6,3]", case_topk, .ctx = K(1, 2), .apart = true, .note = "axis 1, 2 of 6"),
    ROW("topk", "[3,40]", case_topk, .ctx = K(-1, 9), .apart = true, .note = "axis -1, 9 of 40"),
    ROW("topk", "[4]", case_topk, .ctx = K(0, 0), .expect = ATTIC_VACUOUS, .note = "0 of 4"),
    ROW("topk", "[4]", case_topk, .ctx = K(0, 2), .values = (double[]){1, 3, 2, 2},
        .expect = ATTIC_NON_SMOOTH, .note = "a tie"),
    ROW("topk", "[4]", case_topk_tied, .ctx = &(int){6}, .apart = true, .note = "x and x, 6 of 8"),
    ROW("topk", "[3,5] [3,5]", case_topk_gather, .ctx = K(1, 2), .apart = true,
        .note = "gathered by its indices"),

    ROW("gather", "[5]", case_gather, .ctx = INDEX(0, LIST(4), 2, 0, 4, 2), .note = "2 twice"),
    ROW("gather", "[2,3]", case_gather, .ctx = INDEX(1, LIST(2, 2), 2, 0, 1, 1), .note = "axis 1"),
    ROW("gather", "[2,3]", case_gather, .ctx = INDEX(0, LIST(1, 3), 1, 0, 1), .note = "axis 0"),
    ROW("gather", "[2,2,2]", case_gather,
        .ctx = INDEX(1, LIST(2, 3, 2), 0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 1, 0), .note = "axis 1"),
    ROW("gather", "[3]", case_gather_reused, .ctx = INDEX(0, LIST(3), 2, 2, 0), .note = "times x"),
    ROW("gather", "[3,2]", case_gather, .ctx = INDEX(0, LIST(0, 2), 0), .expect = ATTIC_VACUOUS,
        .note = "nothing"),
    ROW("gather", "[0,2]", case_gather, .ctx = INDEX(0, LIST(0, 2), 0), .expect = ATTIC_VACUOUS,
        .note = "nothing of nothing"),

    ROW("scatter_add", "[5] [4]", case_scatter_add, .ctx = INDEX(0, LIST(4), 2, 0, 4, 2),
        .note = "2 twice"),
    ROW("scatter_add", "[2,3] [2,2]", case_scatter_add, .ctx = INDEX(1, LIST(2, 2), 2, 0, 1, 1),
        .note = "axis 1"),
    ROW("scatter_add", "[2,3] [1,3]", case_scatter_add, .ctx = INDEX(0, LIST(1, 3), 1, 0, 1),
        .note = "axis 0"),
    ROW("scatter_add", "[2,2,2] [2,3,2]", case_scatter_add,
        .ctx = INDEX(1, LIST(2, 3, 2), 0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 1, 0), .note = "axis 1"),
    ROW("scatter_add", "[3]", case_scatter_add_itself, .ctx = INDEX(0, LIST(3), 2, 2, 0),
        .note = "x to x, times x"),
    ROW("scatter_add", "[4]", case_scatter_add_to_constants, .ctx = INDEX(0, LIST(4), 1, 1, 0, 1),
        .note = "to constants"),
    ROW("scatter_add", "[3]", case_scatter_add_constants, .ctx = INDEX(0, LIST(2), 1, 1),
        .note = "of constants, squared"),
    ROW("scatter_add", "[3,2] [0,2]", case_scatter_add, .ctx = INDEX(0, LIST(0, 2), 0),
        .note = "nothing"),
    ROW("scatter_add", "[0,2] [0,2]", case_scatter_add, .ctx = INDEX(0, LIST(0, 2), 0),
        .expect = ATTIC_VACUOUS, .note = "nothing to nothing"),

    ROW("one_hot", "[5,3]", case_one_hot, .ctx = IDS(LIST(4), 2, 0, 4, 2), .note = "times x"),
    ROW("one_hot", "[4,2]", case_one_hot, .ctx = IDS(LIST(2, 3), 3, 0, 3, 2, 0, 3),
        .note = "id [2,3], times x"),

    ROW("toeplitz", "[7]", case_toeplitz, .ctx = &(int){4}, .note = "4 x 4"),
    ROW("toeplitz", "[6]", case_toeplitz, .ctx = &(int){2}, .note = "2 x 5"),
    ROW("toeplitz", "[6]", case_toeplitz, .ctx = &(int){5}, .note = "5 x 2"),
    ROW("toeplitz", "[3,4]", case_toeplitz, .ctx = &(int){1}, .note = "3 of 1 x 4"),
    ROW("toeplitz", "[2,3,4]", case_toeplitz, .ctx = &(int){4}, .note = "2 x 3 of 4 x 1"),
    ROW("toeplitz", "[1]", case_toeplitz, .ctx = &(int){1}, .note = "1 x 1"),
    ROW("toeplitz", "[2,300]", case_toeplitz, .ctx = &(int){31}, .directions = 6,
        .note = "2 of 31 x 270, two spans"),
    ROW("toeplitz", "[2,3]", case_toeplitz, .ctx = &(int){4}, .expect = ATTIC_VACUOUS,
        .note = "4 x 0"),
    ROW("toeplitz", "[2,3]", case_toeplitz, .ctx = &(int){0}, .expect = ATTIC_VACUOUS,
        .note = "0 x 4"),
    ROW("toeplitz", "[0,3]", case_toeplitz, .ctx = &(int){2}, .expect = ATTIC_VACUOUS,
        .note = "no matrix of 2 x 2"),

    ROW("embedding", "[5,3]", case_embedding, .ctx = IDS(LIST(4), 2, 0, 4, 1)),
    ROW("embedding", "[5,3]", case_embedding, .ctx = IDS(LIST(4), 1, 1, 3, 1),
        .note = "id 1 three times"),
    ROW("embedding", "[4,2]", case_embedding, .ctx = IDS(LIST(2, 3), 3, 0, 3, 2, 0, 3),
        .note = "id [2,3]"),
    ROW("embedding", "[4,2]", case_embedding, .ctx = IDS(LIST(), 3), .note = "id []"),
    ROW("embedding", "[1,1]", case_embedding, .ctx = IDS(LIST(3), 0, 0, 0)),
    ROW("embedding", "[3,2]", case_embedding, .ctx = IDS(LIST(0), 0), .expect = ATTIC_VACUOUS,
        .note = "id [0]"),
    ROW("embedding", "[3,0]", case_embedding, .ctx = IDS(LIST(2), 1, 2), .expect = ATTIC_VACUOUS),
    ROW("embedding", "[5,130]", case_embedding, .ctx = IDS(LIST(4), 2, 0, 2, 1), .directions = 2,
        .note = "a wide table"),
    HALF_ROW("embedding", "[3,5]", case_embedding_half, ATTIC_F16, LIST(4, 5), false,
             .note = "a table of f16, times x"),
    HALF_ROW("embedding", "[3,5]", case_embedding_half, ATTIC_BF16, LIST(4, 5), false,
             .note = "a table of bf16, times x"),
    ROW("embedding", "[4,3]", case_embedding_tied, .ctx = IDS(LIST(3), 2, 0, 2),
        .note = "tied with the output"),
    {0}};
