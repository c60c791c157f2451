/* binary.c -- two operands, element by element, broadcast against each other: a table.
 *
 *   a, b   shapes that broadcast (NumPy's rule: aligned at the right, dims equal or one of them 1)
 *   y      the shape of both together
 *
 *   name      y = f(a, b)   da               db
 *   add       a + b         dy               dy
 *   sub       a - b         dy               -dy
 *   mul       a b           dy b             dy a
 *   div       a / b         dy / b           -dy a / b^2 = -dy y / b
 *   minimum   min(a, b)     dy if a < b      dy if b < a      dy / 2 each if a = b
 *   maximum   max(a, b)     dy if a > b      dy if b > a      dy / 2 each if a = b
 *
 * Where an element of a was repeated to meet several of b, the loss depends on it through each of
 * those places, and the chain rule adds them up:  da_i = sum over the places of i.  at_map_back
 * does that.  a and b may be one tensor: both shares are added to the one gradient.
 *
 * Nothing is saved.  Edges: division by 0 gives inf or NaN, as IEEE has it, in y and in da.  Where
 * a or b is NaN, so are their minimum and maximum, and both receive dy.  Where both are equal, the
 * tangent of y, in dual numbers, is the mean of theirs: the shares of dy.
 */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/map_op.h"

enum { BINARY_SPAN = 256, BINARY_SMALL = 1 << 15 }; /* elements */

typedef enum {
    BINARY_ADD,
    BINARY_SUB,
    BINARY_MUL,
    BINARY_DIV,
    BINARY_MINIMUM,
    BINARY_MAXIMUM
} binary_name;

AT_FORMULA(binary_y);
AT_FORMULA(binary_da);
AT_FORMULA(binary_db);

static binary_name binary_which(const void *args)
{
    return *(const binary_name *)args;
}

/* Where the span that begins at `from` ends.  A small result often goes to memory that is in the
 * second cache: the span after this one is prefetched.  (A large one does not stay there, and the
 * processor prefetches it by itself.) */
static inline int binary_span(const at_chunk *k, int from, const REAL *values)
{
    if (k->n - from < BINARY_SPAN || k->of > BINARY_SMALL) return k->n;
    const char *next = (const char *)(values + from + BINARY_SPAN);
    for (int i = 0; i < BINARY_SPAN * (int)sizeof(REAL); i += 64) __builtin_prefetch(next + i, 1);
    return from + BINARY_SPAN;
}

static inline bool binary_is_nan(REAL x)
{
    return VALUE(x) != VALUE(x);
}

/* The larger of a and b, or the smaller */
static inline REAL binary_chosen(REAL a, REAL b, bool largest)
{
    if ((largest ? VALUE(a) > VALUE(b) : VALUE(a) < VALUE(b)) || binary_is_nan(a)) return a;
    return VALUE(a) == VALUE(b) ? SHARED(b, a + b, (REAL)2) : b;
}

/* What x receives of dy beside z: all of it if it was chosen, half of it if they are equal. */
static inline REAL binary_share(REAL x, REAL z, REAL dy, bool largest)
{
    if (VALUE(x) == VALUE(z)) return OVER(dy, (REAL)2);
    return (largest ? VALUE(x) < VALUE(z) : VALUE(x) > VALUE(z)) ? 0 : dy;
}

/* One loop per cell of the table, so that each vectorises. */
#define EACH(formula)                                                                              \
    for (int from = 0, to; from < k->n; from = to) {                                               \
        to = binary_span(k, from, values);                                                         \
        for (int i = from; i < to; i++) formula;                                                   \
    }

void AT_REAL(binary_y)(const at_chunk *k, void *values)
{
    const REAL *a = k->in[0], *b = k->in[1];
    REAL *y = values;

    switch (binary_which(k->args)) {
    case BINARY_ADD: EACH(y[i] = a[i] + b[i]); break;
    case BINARY_SUB: EACH(y[i] = a[i] - b[i]); break;
    case BINARY_MUL: EACH(y[i] = a[i] * b[i]); break;
    case BINARY_DIV: EACH(y[i] = OVER(a[i], b[i])); break;
    case BINARY_MINIMUM: EACH(y[i] = binary_chosen(a[i], b[i], false)); break;
    case BINARY_MAXIMUM: EACH(y[i] = binary_chosen(a[i], b[i], true)); break;
    }
}

void AT_REAL(binary_da)(const at_chunk *k, void *values)
{
    const REAL *a = k->in[0], *b = k->in[1], *dy = k->dy;
    REAL *da = values;

    switch (binary_which(k->args)) {
    case BINARY_ADD:
    case BINARY_SUB: break; /* da = dy needs no formula */
    case BINARY_MUL: EACH(da[i] = dy[i] * b[i]); break;
    case BINARY_DIV: EACH(da[i] = OVER(dy[i], b[i])); break;
    case BINARY_MINIMUM: EACH(da[i] = binary_share(a[i], b[i], dy[i], false)); break;
    case BINARY_MAXIMUM: EACH(da[i] = binary_share(a[i], b[i], dy[i], true)); break;
    }
}

void AT_REAL(binary_db)(const at_chunk *k, void *values)
{
    const REAL *a = k->in[0], *b = k->in[1], *y = k->y, *dy = k->dy;
    REAL *db = values;

    switch (binary_which(k->args)) {
    case BINARY_ADD: break; /* db = dy */
    case BINARY_SUB: EACH(db[i] = -dy[i]); break;
    case BINARY_MUL: EACH(db[i] = dy[i] * a[i]); break;
    case BINARY_DIV: EACH(db[i] = OVER(-dy[i] * y[i], b[i])); break;
    case BINARY_MINIMUM: EACH(db[i] = binary_share(b[i], a[i], dy[i], false)); break;
    case BINARY_MAXIMUM: EACH(db[i] = binary_share(b[i], a[i], dy[i], true)); break;
    }
}

#ifdef AT_ONCE /* ---------------------------- the ops ---------------------------- */

#define BINARY(text, da, db) AT_MAP_OP(text), .f = AT_KERNELS(binary_y), .g = {da, db}
#define BINARY_DA AT_KERNELS(binary_da)
#define BINARY_DB AT_KERNELS(binary_db)
static const at_map_op binary_op[] = {[BINARY_ADD] = {BINARY("add", {0}, {0})},
                                      [BINARY_SUB] = {BINARY("sub", {0}, BINARY_DB)},
                                      [BINARY_MUL] = {BINARY("mul", BINARY_DA, BINARY_DB)},
                                      [BINARY_DIV] = {BINARY("div", BINARY_DA, BINARY_DB)},
                                      [BINARY_MINIMUM] = {BINARY("minimum", BINARY_DA, BINARY_DB)},
                                      [BINARY_MAXIMUM] = {BINARY("maximum", BINARY_DA, BINARY_DB)}};

static at_tensor *binary(at_tape *t, at_tensor *a, at_tensor *b, binary_name name)
{
    const at_op *op = &binary_op[name].op;
    at_shape y;
    AT_INPUT(t, op->name, a, ATTIC_REAL);
    AT_INPUT(t, op->name, b, ATTIC_REAL);
    AT_REQUIRE(t, at_broadcast(a->shape, b->shape, &y), "%s: a is %s but b is %s: %s", op->name,
               at_text(a), at_text(b), at_clash_text(a->shape, b->shape));
    return at_record_map(t, op, AT_IN(a, b), y, &name, sizeof name);
}

at_tensor *at_add(at_tape *t, at_tensor *a, at_tensor *b)
{
    return binary(t, a, b, BINARY_ADD);
}

at_tensor *at_sub(at_tape *t, at_tensor *a, at_tensor *b)
{
    return binary(t, a, b, BINARY_SUB);
}

at_tensor *at_mul(at_tape *t, at_tensor *a, at_tensor *b)
{
    return binary(t, a, b, BINARY_MUL);
}

at_tensor *at_div(at_tape *t, at_tensor *a, at_tensor *b)
{
    return binary(t, a, b, BINARY_DIV);
}

at_tensor *at_minimum(at_tape *t, at_tensor *a, at_tensor *b)
{
    return binary(t, a, b, BINARY_MINIMUM);
}

at_tensor *at_maximum(at_tape *t, at_tensor *a, at_tensor *b)
{
    return binary(t, a, b, BINARY_MAXIMUM);
}

#endif
