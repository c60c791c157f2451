/* cases_elementwise.c -- gradient cases of ops that treat every element alike, broadcasting among
 * them; see cases.h. */
#include "gradients/cases.h"

#include <math.h>

/* ------------------------------------------------------------------ one operand ---------------- */

typedef struct {
    at_tensor *(*f)(at_tape *, at_tensor *);
} case_of_one;

static at_tensor *case_unary(at_tape *t, at_tensor **in, void *ctx)
{
    return ((const case_of_one *)ctx)->f(t, in[0]);
}

/* f(x) + x f(x): two uses of y and of x */
static at_tensor *case_unary_reused(at_tape *t, at_tensor **in, void *ctx)
{
    at_tensor *y = ((const case_of_one *)ctx)->f(t, in[0]);
    return at_add(t, y, at_mul(t, in[0], y));
}

typedef struct {
    at_tensor *(*f)(at_tape *, at_tensor *, double);
    double c;
} case_of_constant;

static at_tensor *case_constant(at_tape *t, at_tensor **in, void *ctx)
{
    const case_of_constant *k = ctx;
    return k->f(t, in[0], k->c);
}

static at_tensor *case_clamp(at_tape *t, at_tensor **in, void *ctx)
{
    const double *ends = ctx;
    return at_clamp(t, in[0], ends[0], ends[1]);
}

/* The usual shapes; "..." are further fields. */
#define UNARY_ROWS(name, function, ...)                                                            \
    ROW(name, "[]", case_unary, .ctx = &(case_of_one){function}, __VA_ARGS__),                     \
        ROW(name, "[7]", case_unary, .ctx = &(case_of_one){function}, __VA_ARGS__),                \
        ROW(name, "[2,1,3,4]", case_unary, .ctx = &(case_of_one){function}, __VA_ARGS__),          \
        ROW(name, "[0,3]", case_unary, .ctx = &(case_of_one){function}, .expect = ATTIC_VACUOUS,   \
            __VA_ARGS__),                                                                          \
        ROW(name, "[3,2]", case_unary_reused, .ctx = &(case_of_one){function}, .note = "y + x y",  \
            __VA_ARGS__),                                                                          \
        ROW(name, "[3,700]", case_unary, .ctx = &(case_of_one){function}, .directions = 3,         \
            .note = "several pieces", __VA_ARGS__)

#define POW_ROW(p, ...)                                                                            \
    ROW("pow", "[2,5]", case_constant, .ctx = &(case_of_constant){at_pow, p}, .note = "p = " #p,   \
        __VA_ARGS__)

/* ------------------------------------------------------------------ two operands --------------- */

typedef struct {
    at_tensor *(*f)(at_tape *, at_tensor *, at_tensor *);
} case_of_two;

static at_tensor *case_binary(at_tape *t, at_tensor **in, void *ctx)
{
    return ((const case_of_two *)ctx)->f(t, in[0], in[1]);
}

static at_tensor *case_binary_aliased(at_tape *t, at_tensor **in, void *ctx)
{
    return ((const case_of_two *)ctx)->f(t, in[0], in[0]);
}

/* f(x, x') with x' [3,3], a line through x in each row: x arrives by two ways, once repeated */
static at_tensor *case_binary_both_ways(at_tape *t, at_tensor **in, void *ctx)
{
    at_tensor *column = at_const(t, at_shape_of(3, 1), (double[]){1, 2, 3});
    return ((const case_of_two *)ctx)->f(t, in[0], at_add(t, at_mul(t, column, in[0]), column));
}

static at_tensor *case_binary_one_wanted(at_tape *t, at_tensor **in, void *ctx)
{
    at_tensor *c = at_random(t, at_shape_of(4, 1), at_uniform(1));
    return ((const case_of_two *)ctx)->f(t, at_add_scalar(t, c, 2), in[0]);
}

#define BINARY_ROW(name, function, shapes, ...)                                                    \
    ROW(name, shapes, case_binary, .ctx = &(case_of_two){function}, .low = 0.4, .high = 2,         \
        __VA_ARGS__)

/* Every pattern of repeating: none, rows, columns, middle axes, everything, nothing at all. */
#define BINARY_ROWS(name, function)                                                                \
    BINARY_ROW(name, function, "[] []"), BINARY_ROW(name, function, "[6] [6]"),                    \
        BINARY_ROW(name, function, "[2,3,4] [2,3,4]"),                                             \
        BINARY_ROW(name, function, "[4,3] [3]", .note = "a row"),                                  \
        BINARY_ROW(name, function, "[3] [4,3]", .note = "a row on the left"),                      \
        BINARY_ROW(name, function, "[4,3] [4,1]", .note = "a column"),                             \
        BINARY_ROW(name, function, "[4,1] [1,3]", .note = "column and row"),                       \
        BINARY_ROW(name, function, "[] [2,3]", .note = "a scalar on the left"),                    \
        BINARY_ROW(name, function, "[2,3] [1,1]"),                                                 \
        BINARY_ROW(name, function, "[2,3,2,2] [2,1,2,2]", .note = "shared by heads"),              \
        BINARY_ROW(name, function, "[2,3,1,2] [1,4,1]", .note = "both repeated"),                  \
        BINARY_ROW(name, function, "[2,1,3,1,2] [1,2,3,2,1]", .note = "turn about"),               \
        BINARY_ROW(name, function, "[1,1,1] [1]"),                                                 \
        BINARY_ROW(name, function, "[0,3] [1,3]", .expect = ATTIC_VACUOUS),                        \
        BINARY_ROW(name, function, "[2,600] [600]", .directions = 3, .note = "several pieces"),    \
        BINARY_ROW(name, function, "[2,600] [2,1]", .directions = 3, .note = "several pieces"),    \
        ROW(name, "[3]", case_binary_both_ways, .ctx = &(case_of_two){function}, .low = 0.4,       \
            .high = 2, .note = "x by two ways"),                                                   \
        ROW(name, "[4,3]", case_binary_one_wanted, .ctx = &(case_of_two){function}, .low = 0.4,    \
            .high = 2, .note = "the other is constant")

#define ALIASED_ROW(name, function, ...)                                                           \
    ROW(name, "[2,3]", case_binary_aliased, .ctx = &(case_of_two){function}, .low = 0.4,           \
        .high = 2, .note = "x and x", __VA_ARGS__)

/* The same without the rows in which x and what it is compared with come from one tensor: away from
 * ties. */
#define APART_ROW(name, function, shapes, ...)                                                     \
    ROW(name, shapes, case_apart, .ctx = &(case_of_two){function}, .apart = true, __VA_ARGS__)
#define APART_ROWS(name, function)                                                                 \
    APART_ROW(name, function, "[] []"), APART_ROW(name, function, "[6] [6]"),                      \
        APART_ROW(name, function, "[4,3] [3]", .note = "a row"),                                   \
        APART_ROW(name, function, "[4,3] [4,1]", .note = "a column"),                              \
        APART_ROW(name, function, "[4,1] [1,3]", .note = "column and row"),                        \
        APART_ROW(name, function, "[] [2,3]", .note = "a scalar on the left"),                     \
        APART_ROW(name, function, "[2,3,1,2] [1,4,1]", .note = "both repeated"),                   \
        APART_ROW(name, function, "[0,3] [1,3]", .expect = ATTIC_VACUOUS),                         \
        APART_ROW(name, function, "[2,600] [600]", .directions = 3, .note = "several pieces")

/* f(a, b) with b moved a little, so that no element of a, evenly spaced as b is, equals one of b */
static at_tensor *case_apart(at_tape *t, at_tensor **in, void *ctx)
{
    return ((const case_of_two *)ctx)->f(t, in[0], at_add_scalar(t, in[1], 1e-4));
}

/* ------------------------------------------------------------------ losses --------------------- */

typedef struct {
    int name; /* mse, huber, bce, kl, kl of log-probabilities */
    at_reduction reduction;
    int positive, weights; /* of bce: axes of these, one too many; 0: absent */
} case_of_loss;

/* Positive constants, of the shape of the last axes of x. */
static at_tensor *case_weights(at_tape *t, at_shape x, int axes_and_1)
{
    at_shape s = {.ndim = axes_and_1 - 1};
    if (axes_and_1 == 0) return NULL;
    for (int d = 0; d < s.ndim; d++) s.dim[d] = x.dim[x.ndim - s.ndim + d];
    at_tensor *w = at_const(t, s, NULL);
    for (ptrdiff_t i = 0; w && i < at_count(s); i++)
        at_store(w->dtype, w->data, i, 0.25 + (double)(5 * i % 7) / 2);
    return w;
}

static at_tensor *case_loss(at_tape *t, at_tensor **in, void *ctx)
{
    const case_of_loss *c = ctx;
    at_tensor *x = in[0], *z = in[1];
    switch (c->name) {
    case 0: return at_mse(t, x, z, c->reduction);
    case 1: return at_huber(t, x, z, 0.7, c->reduction);
    case 2:
        return at_bce(t, x, z,
                      (at_bce_args){c->reduction, case_weights(t, x->shape, c->positive),
                                    case_weights(t, x->shape, c->weights)});
    default: return at_kl(t, x, z, c->name == 4, c->reduction);
    }
}

/* x and a target made of it, then x beside the loss: both gradients meet one that was begun */
static at_tensor *case_loss_reused(at_tape *t, at_tensor **in, void *ctx)
{
    at_tensor *target = at_scale(t, at_square(t, in[0]), 0.3);
    return at_mul(t, case_loss(t, (at_tensor *[]){in[0], target}, ctx), in[0]);
}

/* The other two elements of the target are constants too: differences can't leave 0 on both sides. */
static at_tensor *case_kl_zero(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    at_tensor *target = at_const(t, at_shape_of(3), (double[]){0.25, 0, 0.75});
    return at_kl(t, in[0], target, false, ATTIC_SUM);
}

#define LOSS_ROW(op, shapes, f, name, reduction, ...)                                              \
    ROW(op, shapes, f, .ctx = &(case_of_loss){name, reduction, 0, 0}, __VA_ARGS__)
#define BCE_ROW(shapes, f, reduction, positive, weights, ...)                                      \
    ROW("bce", shapes, f, .ctx = &(case_of_loss){2, reduction, positive, weights}, .low = -3,      \
        .high = 3, __VA_ARGS__)
#define LOSS_ROWS(op, how, name, ...)                                                              \
    LOSS_ROW(op, "[] []", case_loss, name, ATTIC_MEAN, .note = how "one", __VA_ARGS__),            \
        LOSS_ROW(op, "[2,3] [2,3]", case_loss, name, ATTIC_MEAN, .note = how "mean", __VA_ARGS__), \
        LOSS_ROW(op, "[2,3] [2,3]", case_loss, name, ATTIC_SUM, .note = how "sum", __VA_ARGS__),   \
        LOSS_ROW(op, "[2,3] [2,3]", case_loss, name, ATTIC_NONE, .note = how "none", __VA_ARGS__), \
        LOSS_ROW(op, "[2,600] [2,600]", case_loss, name, ATTIC_NONE, .directions = 4,              \
                 .note = how "several pieces", __VA_ARGS__),                                       \
        LOSS_ROW(op, "[5]", case_loss_reused, name, ATTIC_NONE, .note = how "x and x^2",           \
                 __VA_ARGS__),                                                                     \
        LOSS_ROW(op, "[0,3] [0,3]", case_loss, name, ATTIC_SUM, .note = how "nothing",             \
                 .expect = ATTIC_VACUOUS, __VA_ARGS__)

static at_tensor *case_expand(at_tape *t, at_tensor **in, void *shape)
{
    return at_expand(t, in[0], *(const at_shape *)shape);
}

/* ------------------------------------------------------------------ masks ---------------------- */

/* A bool tensor of this shape, about half of it set; at least one cell of each kind if it has two. */
static at_tensor *case_mask(at_tape *t, at_shape shape)
{
    at_tensor *m = at_bools(t, shape, NULL);
    unsigned char *set = m ? m->data : NULL;
    for (ptrdiff_t n = m ? at_count(shape) : 0, i = 0; i < n; i++)
        set[i] = i == 0 || (i > 1 && at_random_unit((at_stream){5, 5}, (uint64_t)i) < 0.5);
    return m;
}

static at_tensor *case_where(at_tape *t, at_tensor **in, void *cond)
{
    return at_where(t, case_mask(t, *(const at_shape *)cond), in[0], in[1]);
}

static at_tensor *case_where_aliased(at_tape *t, at_tensor **in, void *cond)
{
    return at_where(t, case_mask(t, *(const at_shape *)cond), in[0], in[0]);
}

/* sqrt would be NaN where it is not chosen, and so would its slope */
static at_tensor *case_where_safe(at_tape *t, at_tensor **in, void *ctx)
{
    at_tensor *positive = at_bools(t, in[0]->shape, NULL), *one = at_const(t, at_shape_of(), NULL);
    (void)ctx;
    at_set(one, 1);
    for (ptrdiff_t i = 0; positive && i < at_count(in[0]->shape); i++)
        ((unsigned char *)positive->data)[i] = at_element(in[0], i) > 0;
    return at_where(t, positive, at_sqrt(t, at_where(t, positive, in[0], one)), in[0]);
}

/* What compares chooses between a^2 and b: ops of two operands, as binary ones are. */
static at_tensor *case_less(at_tape *t, at_tensor *a, at_tensor *b)
{
    return at_where(t, at_less(t, a, b), at_square(t, a), b);
}

static at_tensor *case_less_equal(at_tape *t, at_tensor *a, at_tensor *b)
{
    return at_where(t, at_less_equal(t, a, b), at_square(t, a), b);
}

/* b is made a where a mask says so, of the shape of b. */
static at_tensor *case_equal(at_tape *t, at_tensor *a, at_tensor *b)
{
    at_tensor *some = b ? at_where(t, case_mask(t, b->shape), a, b) : NULL;
    return at_where(t, at_equal(t, a, some), at_square(t, a), b);
}

/* The smaller one: with a kink, but no jump, where both are equal */
static at_tensor *case_smaller(at_tape *t, at_tensor *a, at_tensor *b)
{
    return at_where(t, at_less(t, a, b), a, b);
}

static at_tensor *case_and(at_tape *t, at_tensor *a, at_tensor *b)
{
    at_tensor *both = at_and(t, case_mask(t, a->shape), at_less(t, a, b));
    return at_where(t, both, at_square(t, a), b);
}

static at_tensor *case_or(at_tape *t, at_tensor *a, at_tensor *b)
{
    at_tensor *either = b ? at_or(t, case_mask(t, b->shape), at_less(t, b, a)) : NULL;
    return at_where(t, either, at_square(t, a), b);
}

static at_tensor *case_not(at_tape *t, at_tensor *a, at_tensor *b)
{
    return at_where(t, at_not(t, at_less(t, a, b)), at_square(t, a), b);
}

/* Ids: in[0] on the diagonal, in[1] beside it */
static at_tensor *case_equal_ids(at_tape *t, at_tensor **in, void *ctx)
{
    at_tensor *column = at_ints(t, at_shape_of(3, 1), (int32_t[]){0, 1, 2});
    at_tensor *row = at_ints(t, at_shape_of(4), (int32_t[]){0, 1, 2, 3});
    (void)ctx;
    return at_where(t, at_equal(t, column, row), in[0], in[1]);
}

#define WHERE_ROW(cond, shapes, ...)                                                               \
    ROW("where", shapes, case_where, .ctx = &at_shape_of cond, .note = "cond " #cond, __VA_ARGS__)

typedef struct {
    const at_shape *where;
    double value;
} case_of_fill;

static at_tensor *case_masked_fill(at_tape *t, at_tensor **in, void *ctx)
{
    const case_of_fill *k = ctx;
    return at_masked_fill(t, in[0], case_mask(t, *k->where), k->value);
}

/* differences of -inf would be NaN; exp makes 0 of it, as softmax does */
static at_tensor *case_masked_exp(at_tape *t, at_tensor **in, void *ctx)
{
    return at_exp(t, case_masked_fill(t, in, ctx));
}

/* Some elements of the target are constants: 0, or log 0. */
static at_tensor *case_kl_masked(at_tape *t, at_tensor **in, void *ctx)
{
    const double nothing = ((const case_of_loss *)ctx)->name == 4 ? -(double)INFINITY : 0;
    at_tensor *z = at_masked_fill(t, in[1], case_mask(t, at_shape_of(4)), nothing);
    return case_loss(t, (at_tensor *[]){in[0], z}, ctx);
}

#define FILL_ROW(f, shapes, where, value, ...)                                                     \
    ROW("masked_fill", shapes, f, .ctx = &(case_of_fill){&at_shape_of where, value},               \
        .note = "where " #where ", " #value, __VA_ARGS__)

static at_tensor *case_dropout(at_tape *t, at_tensor **in, void *p)
{
    return at_dropout(t, in[0], *(const double *)p);
}

static at_tensor *case_dropout_twice(at_tape *t, at_tensor **in, void *p)
{
    at_tensor *y = case_dropout(t, in, p);
    return at_mul(t, y, at_add_scalar(t, case_dropout(t, in, p), 1));
}

static at_tensor *case_dropout_off(at_tape *t, at_tensor **in, void *p)
{
    bool before = at_train(t, false);
    at_tensor *y = case_dropout(t, in, p);
    at_train(t, before);
    return at_mul(t, y, in[0]);
}

#define DROPOUT_ROW(f, shapes, p, ...)                                                             \
    ROW("dropout", shapes, f, .ctx = &(double){p}, .note = "p = " #p __VA_ARGS__)

const at_case at_cases_elementwise[] = {
    UNARY_ROWS("neg", at_neg, .seed = 0),
    UNARY_ROWS("exp", at_exp, .low = -3, .high = 2),
    UNARY_ROWS("log", at_log, .low = 0.2, .high = 4),
    UNARY_ROWS("sqrt", at_sqrt, .low = 0.2, .high = 4),
    UNARY_ROWS("square", at_square, .low = -2, .high = 2, .gap = 0.1),
    UNARY_ROWS("tanh", at_tanh, .low = -3, .high = 3),
    UNARY_ROWS("sigmoid", at_sigmoid, .low = -5, .high = 5),
    UNARY_ROWS("relu", at_relu, .gap = 0.1),
    UNARY_ROWS("relu2", at_relu2, .low = -2, .high = 2, .gap = 0.1),
    UNARY_ROWS("silu", at_silu, .low = -4, .high = 4),
    UNARY_ROWS("gelu", at_gelu, .low = -3, .high = 3),
    UNARY_ROWS("gelu_tanh", at_gelu_tanh, .low = -3, .high = 3),
    ROW("relu", "[3]", case_unary, .ctx = &(case_of_one){at_relu}, .values = (double[]){-1, 0, 2},
        .note = "a kink at 0", .expect = ATTIC_NON_SMOOTH),
    ROW("square", "[3]", case_unary, .ctx = &(case_of_one){at_square},
        .values = (double[]){-1, 0, 2}, .note = "flat at 0"),
    ROW("gelu", "[4]", case_unary, .ctx = &(case_of_one){at_gelu},
        .values = (double[]){-9, 0, 9, 40}, .note = "far out"),
    ROW("silu", "[4]", case_unary, .ctx = &(case_of_one){at_silu},
        .values = (double[]){-9, 0, 9, 700}, .note = "far out"),
    UNARY_ROWS("abs", at_abs, .gap = 0.1),
    UNARY_ROWS("sin", at_sin, .low = -4, .high = 4),
    UNARY_ROWS("cos", at_cos, .low = -4, .high = 4),
    UNARY_ROWS("softplus", at_softplus, .low = -5, .high = 5),
    ROW("abs", "[3]", case_unary, .ctx = &(case_of_one){at_abs}, .values = (double[]){-1, 0, 2},
        .note = "a kink at 0", .expect = ATTIC_NON_SMOOTH),
    ROW("softplus", "[4]", case_unary, .ctx = &(case_of_one){at_softplus},
        .values = (double[]){-30, 0, 30, 700}, .note = "far out"),

    POW_ROW(0, .expect = ATTIC_VACUOUS),
    POW_ROW(1, .low = -2, .high = 2),
    POW_ROW(2, .low = -2, .high = 2, .gap = 0.1),
    POW_ROW(3, .low = -2, .high = 2, .gap = 0.1),
    POW_ROW(8, .low = 0.5, .high = 1.5),
    POW_ROW(9, .low = -1.5, .high = -0.5),
    POW_ROW(-1, .gap = 0.5),
    POW_ROW(-2, .gap = 0.5),
    POW_ROW(-10, .low = -1.5, .high = -0.5),
    POW_ROW(0.5, .low = 0.2, .high = 3),
    POW_ROW(-0.5, .low = 0.2, .high = 3),
    POW_ROW(2.7, .low = 0.2, .high = 3),
    ROW("pow", "[]", case_constant, .ctx = &(case_of_constant){at_pow, 3}, .note = "p = 3"),
    ROW("pow", "[4]", case_constant, .ctx = &(case_of_constant){at_pow, 1},
        .values = (double[]){0, -1, 0, 2}, .note = "p = 1, x = 0"),
    ROW("pow", "[0]", case_constant, .ctx = &(case_of_constant){at_pow, 3},
        .expect = ATTIC_VACUOUS),

    ROW("clamp", "[]", case_clamp, .ctx = &(double[]){-1, 1}, .low = -0.9, .high = 0.9),
    ROW("clamp", "[2,10]", case_clamp, .ctx = &(double[]){-0.5, 0.5}, .gap = 0.1, .low = -1.5,
        .high = 1.5, .seed = 3),
    ROW("clamp", "[4]", case_clamp, .ctx = &(double[]){-1, 1},
        .values = (double[]){-3, -0.5, 0.5, 3}),
    ROW("clamp", "[3]", case_clamp, .ctx = &(double[]){-1, (double)INFINITY}, .note = "one end"),
    ROW("clamp", "[3]", case_clamp, .ctx = &(double[]){-1, 1}, .values = (double[]){-1, 0, 1},
        .note = "kinks at the ends", .expect = ATTIC_NON_SMOOTH),
    ROW("clamp", "[3]", case_clamp, .ctx = &(double[]){5, 6}, .note = "all outside",
        .expect = ATTIC_VACUOUS),

#define CONSTANT_ROW(name, function, shapes, c, ...)                                               \
    ROW(name, shapes, case_constant, .ctx = &(case_of_constant){function, c}, .note = "c = " #c,   \
        __VA_ARGS__)
    CONSTANT_ROW("leaky_relu", at_leaky_relu, "[]", 0.1, .gap = 0.1),
    CONSTANT_ROW("leaky_relu", at_leaky_relu, "[2,3,1,4]", 0.01, .gap = 0.1),
    CONSTANT_ROW("leaky_relu", at_leaky_relu, "[2,5]", -2, .gap = 0.1),
    CONSTANT_ROW("leaky_relu", at_leaky_relu, "[3,700]", 0.3, .gap = 0.1, .directions = 3),
    CONSTANT_ROW("leaky_relu", at_leaky_relu, "[2,0]", 2, .expect = ATTIC_VACUOUS),
    ROW("leaky_relu", "[3]", case_constant, .ctx = &(case_of_constant){at_leaky_relu, 0.1},
        .values = (double[]){-1, 0, 2}, .note = "a kink at 0", .expect = ATTIC_NON_SMOOTH),
    CONSTANT_ROW("scale", at_scale, "[]", 3),
    CONSTANT_ROW("scale", at_scale, "[7]", -0.125),
    CONSTANT_ROW("scale", at_scale, "[2,3,1,4]", 1e3),
    CONSTANT_ROW("scale", at_scale, "[3,700]", 0.3, .directions = 3),
    CONSTANT_ROW("scale", at_scale, "[3]", 0, .expect = ATTIC_VACUOUS),
    CONSTANT_ROW("scale", at_scale, "[2,0]", 2, .expect = ATTIC_VACUOUS),
    CONSTANT_ROW("add_scalar", at_add_scalar, "[]", 3),
    CONSTANT_ROW("add_scalar", at_add_scalar, "[2,3,1,4]", -7),
    CONSTANT_ROW("add_scalar", at_add_scalar, "[3,700]", 0.3, .directions = 3),
    CONSTANT_ROW("add_scalar", at_add_scalar, "[2,0]", 2, .expect = ATTIC_VACUOUS),

    BINARY_ROWS("add", at_add),
    BINARY_ROWS("sub", at_sub),
    BINARY_ROWS("mul", at_mul),
    BINARY_ROWS("div", at_div),
    APART_ROWS("minimum", at_minimum),
    APART_ROWS("maximum", at_maximum),
    ALIASED_ROW("minimum", at_minimum, .seed = 0),
    ALIASED_ROW("maximum", at_maximum, .seed = 0),
    BINARY_ROW("minimum", at_minimum, "[6,5] [5]", .note = "apart by chance"),
    BINARY_ROW("maximum", at_maximum, "[6,5] [5]", .note = "apart by chance"),
    ROW("minimum", "[3] [3]", case_binary, .ctx = &(case_of_two){at_minimum},
        .values = (double[]){1, 2, 3, 4, 2, 0}, .expect = ATTIC_NON_SMOOTH, .note = "a tie"),
    ROW("maximum", "[3] [3]", case_binary, .ctx = &(case_of_two){at_maximum},
        .values = (double[]){1, 2, 3, 4, 2, 0}, .expect = ATTIC_NON_SMOOTH, .note = "a tie"),
    LOSS_ROWS("mse", "", 0, .seed = 0),
    LOSS_ROWS("huber", "", 1, .low = -2, .high = 2),
    LOSS_ROWS("bce", "", 2, .low = -3, .high = 3),
    LOSS_ROWS("kl", "", 3, .low = 0.1, .high = 2),
    LOSS_ROWS("kl", "log_target, ", 4, .low = -3, .high = 0),
    ROW("bce", "[4] [4]", case_loss, .ctx = &(case_of_loss){2, ATTIC_NONE, 0, 0},
        .values = (double[]){-30, 0, 30, 700, 0.5, 0, 1, 0.25}, .note = "far out"),
    BCE_ROW("[2,3] [2,3]", case_loss, ATTIC_MEAN, 1, 0, .note = "one positive weight"),
    BCE_ROW("[2,3] [2,3]", case_loss, ATTIC_SUM, 2, 0, .note = "positive weights, sum"),
    BCE_ROW("[2,3] [2,3]", case_loss, ATTIC_NONE, 2, 3, .note = "both weights, none"),
    BCE_ROW("[2,3] [2,3]", case_loss, ATTIC_MEAN, 0, 3, .note = "weights"),
    BCE_ROW("[2,3,4] [2,3,4]", case_loss, ATTIC_SUM, 2, 2, .note = "both weights, sum"),
    BCE_ROW("[2,600] [2,600]", case_loss, ATTIC_NONE, 2, 0, .directions = 4,
            .note = "positive weights, several pieces"),
    BCE_ROW("[5]", case_loss_reused, ATTIC_NONE, 2, 2, .note = "both weights, x and x^2"),
    BCE_ROW("[0,3] [0,3]", case_loss, ATTIC_SUM, 2, 3, .expect = ATTIC_VACUOUS,
            .note = "both weights"),
    ROW("bce", "[4] [4]", case_loss, .ctx = &(case_of_loss){2, ATTIC_NONE, 2, 0},
        .values = (double[]){-30, 0.125, 30, 700, 0.5, 0, 1, 0.25},
        .note = "positive weights, far out"),
    ROW("bce", "[3] [3]", case_loss, .ctx = &(case_of_loss){2, ATTIC_NONE, 2, 0},
        .values = (double[]){0, -1, 0, 0.5, 0.25, 1}, .note = "positive weights, x = 0"),
    ROW("huber", "[2] [2]", case_loss, .ctx = &(case_of_loss){1, ATTIC_NONE, 0, 0},
        .values = (double[]){9, -9, 0, 0}, .note = "far out"),
    ROW("kl", "[3]", case_kl_zero, .low = -3, .high = -1, .note = "a target of 0"),
    LOSS_ROW("kl", "[3,4] [3,4]", case_kl_masked, 3, ATTIC_SUM, .low = 0.1, .high = 2,
             .note = "targets of 0"),
    LOSS_ROW("kl", "[3,4] [3,4]", case_kl_masked, 4, ATTIC_SUM, .note = "log_target, of -inf"),
    ROW("expand", "[]", case_expand, .ctx = &at_shape_of(2, 3), .note = "to [2,3]"),
    ROW("expand", "[3]", case_expand, .ctx = &at_shape_of(3), .note = "to [3]"),
    ROW("expand", "[4,1]", case_expand, .ctx = &at_shape_of(2, 4, 3), .note = "to [2,4,3]"),
    ROW("expand", "[2,1,3,1]", case_expand, .ctx = &at_shape_of(2, 4, 3, 5),
        .note = "to [2,4,3,5]"),
    ROW("expand", "[1,700]", case_expand, .ctx = &at_shape_of(9, 700), .directions = 3,
        .note = "to [9,700]"),
    ROW("expand", "[1,3]", case_expand, .ctx = &at_shape_of(0, 3), .expect = ATTIC_VACUOUS,
        .note = "to [0,3]"),
    BINARY_ROW("add", at_add, "[33000] [33000]", .directions = 2, .note = "not in the cache"),
    BINARY_ROW("mul", at_mul, "[20000] []", .directions = 3, .note = "a sum in shares"),
    ALIASED_ROW("add", at_add, .seed = 0),
    ALIASED_ROW("sub", at_sub, .expect = ATTIC_VACUOUS),
    ALIASED_ROW("mul", at_mul, .seed = 0),
    ALIASED_ROW("div", at_div, .expect = ATTIC_VACUOUS),

    APART_ROWS("less", case_less),
    APART_ROWS("less_equal", case_less_equal),
    APART_ROWS("equal", case_equal),
    APART_ROWS("and", case_and),
    APART_ROWS("or", case_or),
    APART_ROWS("not", case_not),
    ROW("less", "[3] [3]", case_binary, .ctx = &(case_of_two){case_smaller},
        .values = (double[]){1, 2, 3, 4, 2, 0}, .expect = ATTIC_NON_SMOOTH, .note = "a tie"),
    ROW("equal", "[4] [3,1]", case_equal_ids, .note = "of ids"),
    WHERE_ROW((), "[] []"),
    WHERE_ROW((6), "[6] [6]"),
    WHERE_ROW((4), "[2,1,4] [3,1]"),
    WHERE_ROW((2, 1, 2, 2), "[2,3,2,2] [2,3,2,2]"),
    WHERE_ROW((3, 1), "[] [3,4]"),
    WHERE_ROW((3, 4), "[3,4] []"),
    WHERE_ROW((3, 4), "[] []"),
    WHERE_ROW((3, 4), "[4] [3,1]"),
    WHERE_ROW((2, 600), "[600] [2,600]", .directions = 4),
    WHERE_ROW((3, 1), "[3,40] [3,40]"),
    WHERE_ROW((40, 3), "[40,3] [3]"),
    WHERE_ROW((0, 3), "[3] [1,3]", .expect = ATTIC_VACUOUS),
    ROW("where", "[5]", case_where_aliased, .ctx = &at_shape_of(5), .note = "x or x"),
    ROW("where", "[6]", case_where_safe, .gap = 0.3, .note = "sqrt x if x > 0, else x"),

    FILL_ROW(case_masked_fill, "[5]", (5), 0),
    FILL_ROW(case_masked_fill, "[2,3,4]", (2, 3, 4), -7),
    FILL_ROW(case_masked_fill, "[2,3,2,4]", (2, 1, 2, 4), 1e9),
    FILL_ROW(case_masked_fill, "[2,3,2,4]", (2, 4), -1e9),
    FILL_ROW(case_masked_fill, "[3,4]", (3, 1), 1),
    FILL_ROW(case_masked_fill, "[3,1]", (1, 1), 1, .expect = ATTIC_VACUOUS),
    FILL_ROW(case_masked_fill, "[3]", (), 1, .expect = ATTIC_VACUOUS),
    FILL_ROW(case_masked_fill, "[2,0]", (1, 1), 1, .expect = ATTIC_VACUOUS),
    FILL_ROW(case_masked_fill, "[2,600]", (600), 2, .directions = 3),
    FILL_ROW(case_masked_exp, "[2,3,4]", (3, 4), -(double)INFINITY),
    FILL_ROW(case_masked_exp, "[3,4]", (4), -1e9),

    DROPOUT_ROW(case_dropout, "[12]", 0.5),
    DROPOUT_ROW(case_dropout, "[2,3,4]", 0.1),
    DROPOUT_ROW(case_dropout, "[4,1,5]", 0.9),
    DROPOUT_ROW(case_dropout, "[2,3]", 0, ", off"),
    DROPOUT_ROW(case_dropout, "[3,700]", 0.3, ", several pieces", .directions = 4),
    DROPOUT_ROW(case_dropout, "[]", 0.001),
    DROPOUT_ROW(case_dropout, "[0,2]", 0.5, , .expect = ATTIC_VACUOUS),
    DROPOUT_ROW(case_dropout_twice, "[3,4]", 0.4, ", two draws"),
    DROPOUT_ROW(case_dropout_off, "[3,4]", 0.4, ", not training"),
    {0}};
