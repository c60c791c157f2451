/* cases_linear_attention.c -- gradient cases of causal linear attention; see cases.h. */
#include "gradients/cases.h"

static at_tensor *case_linear_attention(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_linear_attention_causal(t, in[0], in[1], in[2]);
}

/* ctx says which inputs are one: "001" makes K the same as Q, and V in[1]. */
static at_tensor *case_linear_attention_aliased(at_tape *t, at_tensor **in, void *ctx)
{
    const char *which = ctx;
    return at_linear_attention_causal(t, in[which[0] - '0'], in[which[1] - '0'],
                                      in[which[2] - '0']);
}

/* Another op has begun the gradient of every input. */
static at_tensor *case_linear_attention_reused(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    at_tensor *O = at_linear_attention_causal(t, in[0], in[1], in[2]);
    return at_add(t, at_mul(t, O, in[2]), at_mul(t, in[0], in[1]));
}

/* Only input *which of Q, K and V has a gradient. */
static at_tensor *case_linear_attention_of(at_tape *t, at_tensor **in, void *which)
{
    at_tensor *x[3];
    for (int i = 0; i < 3; i++)
        x[i] = at_add_scalar(t, at_random(t, in[0]->shape, at_uniform(0.5)), 1);
    x[*(int *)which] = in[0];
    return at_linear_attention_causal(t, x[0], x[1], x[2]);
}

/* Features are positive; values are not. */
static at_tensor *case_linear_attention_signed(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_linear_attention_causal(t, in[0], in[1], at_add_scalar(t, in[2], -1));
}

#define LINEAR(in_, ...)                                                                           \
    ROW("linear_attention_causal", in_, case_linear_attention, .low = 0.1, .high = 2, __VA_ARGS__)
#define ALIASED(in_, which_, note_)                                                                \
    ROW("linear_attention_causal", in_, case_linear_attention_aliased, .ctx = which_, .low = 0.1,  \
        .high = 2, .note = note_)
#define ONE_OF(which_, note_)                                                                      \
    ROW("linear_attention_causal", "[4,3]", case_linear_attention_of, .ctx = &(int){which_},       \
        .low = 0.1, .high = 2, .note = note_)

const at_case at_cases_linear_attention[] = {
    LINEAR("[3,2] [3,2] [3,2]", .seed = 1),
    LINEAR("[5,3] [5,3] [5,4]", .seed = 2),
    LINEAR("[2,4,3] [2,4,3] [2,4,2]", .seed = 3),
    LINEAR("[2,3,4,2] [2,3,4,2] [2,3,4,5]", .seed = 4),
    LINEAR("[4,3] [4,3] [4,1]", .note = "one value"),
    LINEAR("[4,1] [4,1] [4,3]", .note = "one feature: a running mean"),
    LINEAR("[1,3] [1,3] [1,2]", .note = "one row: O = V"),
    LINEAR("[1,1,1,1] [1,1,1,1] [1,1,1,1]", .note = "all sizes 1"),
    LINEAR("[2,70,17] [2,70,17] [2,70,33]", .directions = 2),
    LINEAR("[4,3] [4,3] [4,0]", .expect = ATTIC_VACUOUS, .note = "no values"),
    LINEAR("[4,0] [4,0] [4,2]", .expect = ATTIC_VACUOUS, .note = "no features"),
    LINEAR("[0,3] [0,3] [0,2]", .expect = ATTIC_VACUOUS, .note = "no rows"),
    LINEAR("[2,0,3] [2,0,3] [2,0,2]", .expect = ATTIC_VACUOUS),
    LINEAR("[0,2,3] [0,2,3] [0,2,2]", .expect = ATTIC_VACUOUS, .note = "no heads"),
    ALIASED("[4,3] [4,2]", "001", "K is Q"),
    ALIASED("[4,3] [4,3]", "010", "V is Q"),
    ALIASED("[4,3] [4,3]", "011", "V is K"),
    ALIASED("[2,4,3]", "000", "all are one"),
    ONE_OF(0, "only Q"),
    ONE_OF(1, "only K"),
    ONE_OF(2, "only V"),
    ROW("linear_attention_causal", "[4,3] [4,3] [4,3]", case_linear_attention_reused, .low = 0.1,
        .high = 2, .note = "inputs used twice"),
    ROW("linear_attention_causal", "[2,4,3] [2,4,3] [2,4,2]", case_linear_attention_signed,
        .low = 0.1, .high = 2, .note = "values of both signs"),
    {0}};
