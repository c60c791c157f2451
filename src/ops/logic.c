/* logic.c -- masks from numbers by comparing them, and the logic of masks: a table.
 *
 *   a, b   shapes that broadcast        y  bool, the shape of both together
 *
 *   name         y         a, b
 *   less         a < b     real, or both i32
 *   less_equal   a <= b    real, or both i32
 *   equal        a = b     real, or both i32
 *   and          a and b   bool
 *   or           a or b    bool
 *   not          not a     bool
 *
 *   backward   none: y moves in jumps, its derivative is 0 wherever there is one.  What a mask
 *              chooses has a gradient: where.c, masked_fill.c.
 *
 * The operands are read anew in a replay, so a mask follows the numbers that it was made from.
 *
 * Edges: with a NaN each comparison is false, so `not a < b` is more than `b <= a`.  Of a dual
 * number the value is compared.  Any byte that is not 0 counts as 1, and y holds 0 and 1 alone.
 */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/map_op.h"

typedef enum {
    LOGIC_LESS,
    LOGIC_LESS_EQUAL,
    LOGIC_EQUAL,
    LOGIC_AND,
    LOGIC_OR,
    LOGIC_NOT
} logic_name;

AT_FORMULA(logic_reals);

static logic_name logic_which(const void *args)
{
    return *(const logic_name *)args;
}

#define EACH(condition)                                                                            \
    for (int i = 0; i < k->n; i++) y[i] = condition

void AT_REAL(logic_reals)(const at_chunk *k, void *values)
{
    const REAL *a = k->in[0], *b = k->in[1];
    unsigned char *y = values;

    switch (logic_which(k->args)) {
    case LOGIC_LESS: EACH(VALUE(a[i]) < VALUE(b[i])); break;
    case LOGIC_LESS_EQUAL: EACH(VALUE(a[i]) <= VALUE(b[i])); break;
    default: EACH(VALUE(a[i]) == VALUE(b[i]));
    }
}

#ifdef AT_ONCE /* ---------------------------- the ops ---------------------------- */

static void logic_ints(const at_chunk *k, void *values)
{
    const int32_t *a = k->in[0], *b = k->in[1];
    unsigned char *y = values;

    switch (logic_which(k->args)) {
    case LOGIC_LESS: EACH(a[i] < b[i]); break;
    case LOGIC_LESS_EQUAL: EACH(a[i] <= b[i]); break;
    default: EACH(a[i] == b[i]);
    }
}

static void logic_bools(const at_chunk *k, void *values)
{
    const unsigned char *a = k->in[0], *b = k->in[1];
    unsigned char *y = values;

    if (logic_which(k->args) == LOGIC_AND)
        EACH((a[i] != 0) & (b[i] != 0));
    else
        EACH((a[i] | b[i]) != 0);
}

static void logic_bool(const at_chunk *k, void *values)
{
    const unsigned char *a = k->in[0];
    unsigned char *y = values;
    EACH(a[i] == 0);
}

#define LOGIC(text, formula)                                                                       \
    {                                                                                              \
        .op = {.name = text, .forward = AT_EVERY_REAL(at_map_forward)}, .f = formula               \
    }
#define LOGIC_OF_NUMBERS(text)                                                                     \
    {                                                                                              \
        LOGIC(text, AT_KERNELS(logic_reals)), LOGIC(text, AT_EVERY_REAL(logic_ints))               \
    }
/* Of reals or bools; of ints. */
static const at_map_op logic_op[][2] = {[LOGIC_LESS] = LOGIC_OF_NUMBERS("less"),
                                        [LOGIC_LESS_EQUAL] = LOGIC_OF_NUMBERS("less_equal"),
                                        [LOGIC_EQUAL] = LOGIC_OF_NUMBERS("equal"),
                                        [LOGIC_AND] = {LOGIC("and", AT_EVERY_REAL(logic_bools))},
                                        [LOGIC_OR] = {LOGIC("or", AT_EVERY_REAL(logic_bools))},
                                        [LOGIC_NOT] = {LOGIC("not", AT_EVERY_REAL(logic_bool))}};

static at_tensor *logic(at_tape *t, at_inputs in, at_shape y, logic_name name, bool ints)
{
    const at_recipe r = {
        .shape = {y}, .dtype = {ATTIC_BOOL}, .args = &name, .args_size = sizeof name};
    return at_output(at_record_node(t, &logic_op[name][ints].op, in, r));
}

static at_tensor *logic_of_two(at_tape *t, at_tensor *a, at_tensor *b, logic_name name)
{
    const char *op = logic_op[name][0].op.name;
    at_shape y;
    if (!at_check_any(t, op, "a", a)) return NULL;
    const bool ints = name < LOGIC_AND && a->dtype == ATTIC_I32;
    const at_dtype dtype = name >= LOGIC_AND ? ATTIC_BOOL : ints ? ATTIC_I32 : ATTIC_REAL;
    AT_INPUT(t, op, a, dtype);
    AT_INPUT(t, op, b, dtype);
    AT_REQUIRE(t, at_broadcast(a->shape, b->shape, &y), "%s: a is %s but b is %s: %s", op,
               at_text(a), at_text(b), at_clash_text(a->shape, b->shape));
    return logic(t, AT_IN(a, b), y, name, ints);
}

at_tensor *at_less(at_tape *t, at_tensor *a, at_tensor *b)
{
    return logic_of_two(t, a, b, LOGIC_LESS);
}

at_tensor *at_less_equal(at_tape *t, at_tensor *a, at_tensor *b)
{
    return logic_of_two(t, a, b, LOGIC_LESS_EQUAL);
}

at_tensor *at_equal(at_tape *t, at_tensor *a, at_tensor *b)
{
    return logic_of_two(t, a, b, LOGIC_EQUAL);
}

at_tensor *at_and(at_tape *t, at_tensor *a, at_tensor *b)
{
    return logic_of_two(t, a, b, LOGIC_AND);
}

at_tensor *at_or(at_tape *t, at_tensor *a, at_tensor *b)
{
    return logic_of_two(t, a, b, LOGIC_OR);
}

at_tensor *at_not(at_tape *t, at_tensor *a)
{
    AT_INPUT(t, "not", a, ATTIC_BOOL);
    return logic(t, AT_IN(a), a->shape, LOGIC_NOT, false);
}

#endif
