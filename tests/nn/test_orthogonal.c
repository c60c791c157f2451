/* test_orthogonal.c -- the polynomial of a matrix, against the same by plain loops. */
#include "nn/orthogonal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/rng.h"
#include "test.h"

/* Without the names that real.h gives to types: this file is one of double. */
static void one_step(int R, int C, double *X)
{
    double *G = calloc((size_t)R * R, sizeof *G), *Y = calloc((size_t)R * C, sizeof *Y);
    double *H = calloc((size_t)R * R, sizeof *H);
    for (int i = 0; i < R; i++)
        for (int j = 0; j < R; j++)
            for (int k = 0; k < C; k++) G[i * R + j] += X[i * C + k] * X[j * C + k];
    for (int i = 0; i < R; i++)
        for (int k = 0; k < R; k++)
            for (int j = 0; j < R; j++) H[i * R + j] += G[i * R + k] * G[k * R + j];
    for (int i = 0; i < R; i++)
        for (int k = 0; k < R; k++)
            for (int j = 0; j < C; j++)
                Y[i * C + j] += (-4.7750 * G[i * R + k] + 2.0315 * H[i * R + k]) * X[k * C + j];
    for (int i = 0; i < R * C; i++) X[i] = 3.4445 * X[i] + Y[i];
    free(G), free(H), free(Y);
}

static void check_shape(int R, int C)
{
    const size_t n = (size_t)R * (size_t)C;
    double *X = malloc(n * sizeof *X), *Y = malloc(n * sizeof *Y), sum = 0;
    double *memory = malloc((size_t)at_orthogonal_memory(R, C) * sizeof *memory);
    void *scratch = NULL;
    ck_assert_int_eq(posix_memalign(&scratch, 64, AT_GEMM_WORKSPACE), 0);
    for (size_t i = 0; i < n; i++)
        X[i] = at_random_normal((at_stream){1, 0}, i), sum += X[i] * X[i];
    memcpy(Y, X, n * sizeof *X);
    at_orthogonal_f64(R, C, 5, X, memory, (at_workspace){scratch, AT_GEMM_WORKSPACE, 1});
    for (size_t i = 0; i < n; i++) Y[i] /= sqrt(sum) + 1e-7;
    for (int k = 0; k < 5; k++) one_step(R, C, Y);
    for (size_t i = 0; i < n; i++) assert_close(X[i], Y[i], 1e-11);
    free(X), free(Y), free(memory), free(scratch);
}

START_TEST(wide_and_tall_matrices_on_both_sides_of_a_stripe_are_those_of_plain_loops)
{
    const int size[] = {1, 2, 63, 64, 65, 130};
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6; k++) check_shape(size[i], size[k]);
}
END_TEST

START_TEST(the_columns_of_a_large_matrix_come_out_nearly_orthogonal)
{
    enum { R = 200, C = 40 };
    float *X = malloc(sizeof(float) * R * C);
    float *memory = malloc((size_t)at_orthogonal_memory(R, C) * sizeof *memory);
    void *scratch = NULL;
    ck_assert_int_eq(posix_memalign(&scratch, 64, AT_GEMM_WORKSPACE), 0);
    for (int i = 0; i < R * C; i++)
        X[i] = (float)at_random_normal((at_stream){2, 0}, (uint64_t)i) * (i % C ? 1.0f : 30.0f);
    at_orthogonal_f32(R, C, 5, X, memory, (at_workspace){scratch, AT_GEMM_WORKSPACE, 1});
    for (int j = 0; j < C; j++) {
        double square = 0;
        for (int i = 0; i < R; i++) square += (double)X[i * C + j] * (double)X[i * C + j];
        ck_assert(square > 0.68 * 0.68 && square < 1.15 * 1.15);
    }
    free(X), free(memory), free(scratch);
}
END_TEST

SUITE(nn_orthogonal, wide_and_tall_matrices_on_both_sides_of_a_stripe_are_those_of_plain_loops,
      the_columns_of_a_large_matrix_come_out_nearly_orthogonal)
