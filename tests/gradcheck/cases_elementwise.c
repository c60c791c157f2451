/* cases_elementwise.c -- gradient cases of ops that treat every element alike, broadcasting among
 * them; see cases.h. */
#include "gradcheck/cases.h"

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
    ALIASED_ROW("add", at_add, .seed = 0),
    ALIASED_ROW("sub", at_sub, .expect = ATTIC_VACUOUS),
    ALIASED_ROW("mul", at_mul, .seed = 0),
    ALIASED_ROW("div", at_div, .expect = ATTIC_VACUOUS),

    WHERE_ROW((), "[] []"),
    WHERE_ROW((6), "[6] [6]"),
    WHERE_ROW((4), "[2,1,4] [3,1]"),
    WHERE_ROW((2, 1, 2, 2), "[2,3,2,2] [2,3,2,2]"),
    WHERE_ROW((3, 1), "[] [3,4]"),
    WHERE_ROW((3, 4), "[3,4] []"),
    WHERE_ROW((3, 4), "[] []"),
    WHERE_ROW((3, 4), "[4] [3,1]"),
    WHERE_ROW((2, 600), "[600] [2,600]", .directions = 4),
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
