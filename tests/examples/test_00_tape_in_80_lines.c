/* test_00_tape_in_80_lines.c -- the example that stands alone agrees with attic's tape. */
#include "tensors.h"

#include <math.h>

#define main tape_main
int tape_main(void);
#include "00_tape_in_80_lines.c"
#undef main

/* Parameters are values 0 .. PARAMS-1 of their tape, and p[0] .. p[PARAMS-1] of ours. */
static at_tape *open_both(int seed, at_tensor *p[PARAMS])
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_stream stream = {.seed = (uint64_t)seed};
    for (int i = 0; i < PARAMS; i++) {
        x[i] = at_random_normal(stream, (uint64_t)i);
        p[i] = at_variable(t, at_shape_of(), &x[i]);
    }
    x[ZERO] = 0, x[ONE] = 1, x[MINUS_ONE] = -1;
    return t;
}

static void assert_the_same_gradients(at_tape *t, at_tensor *L, int their_L, at_tensor *p[PARAMS])
{
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    at_backward(t, L);
    backward(their_L);
    assert_close(x[their_L], at_item(L), 1e-12);
    for (int i = 0; i < PARAMS; i++) assert_close(dx[i], at_grad_element(p[i], 0), 1e-12);
    at_close(t);
}

/* The same network on attic's tape. */
static at_tensor *network_of_attic(at_tape *t, at_tensor *p[PARAMS])
{
    at_tensor *L = at_const(t, at_shape_of(), NULL);
    for (int c = 0; c < 4; c++) {
        double a = c % 2 ? 1 : -1, b = c / 2 ? 1 : -1;
        at_tensor *y = p[0];
        for (int w = 1; w < PARAMS; w += 4) {
            at_tensor *z = at_add(t, at_scale(t, p[w + 1], a), at_scale(t, p[w + 2], b));
            z = at_add(t, p[w], z);
            z = at_log(t, at_add_scalar(t, at_exp(t, z), 1));
            y = at_add(t, y, at_mul(t, p[w + 3], z));
        }
        L = at_add(t, L, at_square(t, at_add_scalar(t, y, a * b)));
    }
    return L;
}

START_TEST(gradients_of_the_network_are_those_of_attic)
{
    for (int seed = 1; seed <= 20; seed++) {
        at_tensor *p[PARAMS];
        double f[4];
        at_tape *t = open_both(seed, p);
        assert_the_same_gradients(t, network_of_attic(t, p), network(f), p);
    }
}
END_TEST

/* L = log(exp(p0) + ... + exp(p12)) p1 p1: each op, and values that are used several times */
START_TEST(gradients_of_an_expression_with_every_op_are_those_of_attic)
{
    at_tensor *p[PARAMS];
    at_tape *t = open_both(21, p);
    n = GIVEN;
    int sum = ZERO;
    at_tensor *our_sum = at_const(t, at_shape_of(), NULL);
    for (int i = 0; i < PARAMS; i++) {
        sum = op(PLUS, sum, op(EXP, i, ZERO));
        our_sum = at_add(t, our_sum, at_exp(t, p[i]));
    }
    int L = op(TIMES, op(LOG, sum, ZERO), op(TIMES, 1, 1));
    at_tensor *our_L = at_mul(t, at_log(t, our_sum), at_mul(t, p[1], p[1]));
    assert_the_same_gradients(t, our_L, L, p);
}
END_TEST

SUITE(examples_00_tape_in_80_lines, gradients_of_the_network_are_those_of_attic,
      gradients_of_an_expression_with_every_op_are_those_of_attic)
