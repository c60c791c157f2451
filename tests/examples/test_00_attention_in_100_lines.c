/* test_00_attention_in_100_lines.c -- the example that stands alone agrees with at_sdpa. */
#include "tensors.h"

#include <math.h>
#include <string.h>

#define main attention_main
int attention_main(void);
#include "00_attention_in_100_lines.c"
#undef main

/* Fills its inputs with normal random elements, gradients with 0, and runs it. */
static void run_random(int seed)
{
    at_stream stream = {.seed = (uint64_t)seed};
    double *inputs[] = {Q[0], K[0], V[0], dO[0]};
    const int elements[] = {T * D, N * D, N * Dv, T * Dv};
    uint64_t drawn = 0;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < elements[i]; k++) inputs[i][k] = at_random_normal(stream, drawn++);
    memset(dQ, 0, sizeof dQ);
    memset(dK, 0, sizeof dK);
    memset(dV, 0, sizeof dV);
    forward();
    backward();
}

static void assert_the_same_as_sdpa(void)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *q = at_variable(t, at_shape_of(T, D), Q[0]);
    at_tensor *k = at_variable(t, at_shape_of(N, D), K[0]);
    at_tensor *v = at_variable(t, at_shape_of(N, Dv), V[0]);
    at_sdpa_args args = {.causal = causal, .align = ATTIC_ALIGN_BOTTOM_RIGHT};
    at_tensor *o = at_sdpa(t, q, k, v, args);
    ck_assert(pull(t, o, dO[0]));
    assert_values(o, O[0], 1e-12);
    assert_grads(q, dQ[0], 1e-12);
    assert_grads(k, dK[0], 1e-12);
    assert_grads(v, dV[0], 1e-12);
    at_close(t);
}

START_TEST(output_and_gradients_of_100_lines_are_those_of_sdpa)
{
    for (int seed = 1; seed <= 20; seed++)
        for (causal = 0; causal <= 1; causal++) {
            run_random(seed);
            assert_the_same_as_sdpa();
        }
}
END_TEST

SUITE(examples_00_attention_in_100_lines, output_and_gradients_of_100_lines_are_those_of_sdpa)
