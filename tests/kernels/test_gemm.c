/* test_gemm.c -- the matrix product against three plain loops in long double, and against its plain
 * twin where NaN and infinity are among the numbers.
 *
 * Matrices lie in memory with gaps, and end with their last element.  The gaps of A and B hold NaN,
 * which would show in the result if they were read; the gaps of C hold a number that must still be
 * there afterwards. */
#include "kernels/real.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gemm.h"
#include "kernels/parallel.h"
#include "kernels/rng.h"
#include "test.h"

/* A random number generator with a state, for the choice of cases. */
static at_stream gemm_dice = {2024, 0};

static int gemm_pick(int n) /* 0 .. n-1 */
{
    static uint64_t index;
    return (int)(at_random_u32(gemm_dice, index++) % (uint32_t)n);
}

/* Some way to lay out a batch of [rows, cols] and the count of elements it spans. */
static at_strides gemm_layout(int batch, int rows, int cols, ptrdiff_t *span)
{
    int between = gemm_pick(2) ? 1 : 1 + gemm_pick(3), after = gemm_pick(2) ? 0 : gemm_pick(9);
    at_strides s = {(ptrdiff_t)cols * between + after, between, 0};
    ptrdiff_t size = rows * s.row;
    if (gemm_pick(2)) {
        s = (at_strides){between, (ptrdiff_t)rows * between + after, 0};
        size = cols * s.col;
    }
    s.batch = size + gemm_pick(5) + 1;
    bool empty = batch == 0 || rows == 0 || cols == 0;
    *span = empty ? 1 : (batch - 1) * s.batch + (rows - 1) * s.row + (cols - 1) * s.col + 1;
    return s;
}

/* Enough for any product on any number of threads. */
static alignas(64) char gemm_memory[AT_MAX_THREADS * AT_GEMM_WORKSPACE];

static const at_workspace gemm_space = {gemm_memory, AT_GEMM_WORKSPACE, AT_MAX_THREADS};

/* What a product of these sizes asks for and no more: gemm_check_space sees whether it took more. */
enum { GEMM_GUARD = 4096 };

static at_workspace gemm_exact_space(int M, int N, int K, size_t real)
{
    const int columns = gemm_pick(3) ? AT_GEMM_COLUMNS : 64;
    at_workspace w = {gemm_memory, at_gemm_workspace(M, N, K, columns, real), 1};
    memset(gemm_memory + w.size, 0x5A, GEMM_GUARD);
    return w;
}

static void gemm_check_space(at_workspace w)
{
    for (int i = 0; i < GEMM_GUARD; i++) ck_assert_int_eq(gemm_memory[w.size + (size_t)i], 0x5A);
}

AT_EACH_REAL(void, gemm_random_case, (int limit));
AT_EACH_REAL(void, gemm_twin_case, (int limit));
AT_EACH_REAL(void, gemm_part_case, (int limit));
AT_EACH_REAL(void, gemm_page_case, (int M, int N, int K, int factors));
AT_EACH_REAL(void, gemm_same_bits, (int batch, int M, int N, int K, bool shared));
AT_EACH_REAL(void, gemm_bias_case, (int most));

typedef struct {
    int batch, rows, cols;
    at_strides s;
    ptrdiff_t span;
    REAL *p;
} gemm_matrix;

static ptrdiff_t gemm_at(const gemm_matrix *m, int b, int i, int j)
{
    return b * m->s.batch + i * m->s.row + j * m->s.col;
}

static gemm_matrix gemm_new(int batch, int rows, int cols, bool shared, REAL gap)
{
    static uint64_t index;
    gemm_matrix m = {batch, rows, cols, {0}, 0, NULL};
    m.s = gemm_layout(batch, rows, cols, &m.span);
    if (shared) m.s.batch = 0;
    m.p = malloc((size_t)m.span * sizeof(REAL));
    ck_assert_ptr_nonnull(m.p);
    for (ptrdiff_t e = 0; e < m.span; e++) m.p[e] = gap;
    for (int b = 0; b < batch; b++)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < cols; j++)
                m.p[gemm_at(&m, b, i, j)] =
                    (REAL)(2 * at_random_unit((at_stream){7, 7}, index++) - 1);
    return m;
}

/* C_ij by three loops, and beside it the sum of all magnitudes that went in: rounding is to that. */
static void gemm_expected(const gemm_matrix *A, const gemm_matrix *B, long double alpha,
                          long double beta, REAL before, int b, int i, int j, bool sum,
                          long double *value, long double *size)
{
    *value = beta == 0 ? 0 : beta * (long double)before;
    *size = fabsl(*value);
    for (int n = sum ? 0 : b; n < (sum ? A->batch : b + 1); n++)
        for (int k = 0; k < A->cols; k++) {
            long double term = alpha * (long double)A->p[gemm_at(A, n, i, k)] *
                               (long double)B->p[gemm_at(B, n, k, j)];
            *value += term;
            *size += fabsl(term);
        }
}

static void gemm_check(const gemm_matrix *A, const gemm_matrix *B, REAL alpha, REAL beta,
                       const gemm_matrix *before, gemm_matrix *C, bool sum)
{
    for (int b = 0; b < (sum ? 1 : C->batch); b++)
        for (int i = 0; i < C->rows; i++)
            for (int j = 0; j < C->cols; j++) {
                ptrdiff_t e = gemm_at(C, b, i, j);
                long double value, size;
                gemm_expected(A, B, (long double)alpha, (long double)beta, before->p[e], b, i, j,
                              sum, &value, &size);
                if (!(fabsl((long double)C->p[e] - value) <=
                      2 * (long double)REAL_EPS * sqrtl(8 + A->cols) * size))
                    ck_abort_msg("C[%d][%d,%d] is %.9g, not %.9Lg; [%d,%d,%d] x %d", b, i, j,
                                 (double)C->p[e], value, C->rows, C->cols, A->cols, A->batch);
                C->p[e] = before->p[e];
            }
    /* with its elements put back, C is what it was: nothing else was written */
    ck_assert_mem_eq(C->p, before->p, (size_t)C->span * sizeof(REAL));
}

void AT_REAL(gemm_random_case)(int limit)
{
    static const REAL factors[] = {0, 1, (REAL)-0.75, (REAL)1.5};
    int batch = gemm_pick(4), M = gemm_pick(limit), N = gemm_pick(limit), K = gemm_pick(limit);
    if (gemm_pick(4) == 0) *(gemm_pick(2) ? &M : &N) = gemm_pick(4); /* skinny */
    REAL alpha = factors[1 + gemm_pick(3)], beta = factors[gemm_pick(4)];
    bool sum = gemm_pick(3) == 0;
    gemm_matrix A = gemm_new(batch, M, K, gemm_pick(4) == 0, (REAL)NAN);
    gemm_matrix B = gemm_new(batch, K, N, gemm_pick(4) == 0, (REAL)NAN);
    gemm_matrix C = gemm_new(sum ? 1 : batch, M, N, sum, 77);
    gemm_matrix before = C;
    before.p = malloc((size_t)C.span * sizeof(REAL));
    memcpy(before.p, C.p, (size_t)C.span * sizeof(REAL));

    at_workspace w = gemm_exact_space(M, K, N, sizeof(REAL));
    gemm(batch, M, N, K, alpha, A.p, A.s, B.p, B.s, beta, C.p, C.s, w);
    gemm_check_space(w);
    gemm_check(&A, &B, alpha, beta, &before, &C, sum);
    free(A.p), free(B.p), free(C.p), free(before.p);
}

/* A few of the elements become what arithmetic treats in its own way. */
static void gemm_poison(gemm_matrix *m)
{
    const REAL poison[] = {(REAL)NAN, (REAL)INFINITY, -(REAL)INFINITY, 0};
    if (m->batch == 0 || m->rows == 0 || m->cols == 0) return;
    for (int n = gemm_pick(4); n > 0; n--)
        m->p[gemm_at(m, gemm_pick(m->batch), gemm_pick(m->rows), gemm_pick(m->cols))] =
            poison[gemm_pick(4)];
}

static bool gemm_alike(REAL x, REAL y, REAL tolerance)
{
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    return x == y || fabs(x - y) <= tolerance;
}

void AT_REAL(gemm_twin_case)(int limit)
{
    static const REAL factors[] = {0, 1, (REAL)-0.75};
    int batch = gemm_pick(4), M = gemm_pick(limit), N = gemm_pick(limit), K = gemm_pick(limit);
    REAL alpha = factors[1 + gemm_pick(2)], beta = factors[gemm_pick(3)];
    bool sum = gemm_pick(3) == 0;
    gemm_matrix A = gemm_new(batch, M, K, gemm_pick(4) == 0, (REAL)NAN);
    gemm_matrix B = gemm_new(batch, K, N, gemm_pick(4) == 0, (REAL)NAN);
    gemm_matrix C = gemm_new(sum ? 1 : batch, M, N, sum, 77);
    gemm_poison(&A);
    gemm_poison(&B);
    gemm_poison(&C);
    REAL *plain = malloc((size_t)C.span * sizeof(REAL));
    memcpy(plain, C.p, (size_t)C.span * sizeof(REAL));

    gemm(batch, M, N, K, alpha, A.p, A.s, B.p, B.s, beta, C.p, C.s, gemm_space);
    gemm_plain(batch, M, N, K, alpha, A.p, A.s, B.p, B.s, beta, plain, C.s, gemm_space);
    const REAL tolerance = REAL_EPS * (REAL)(20 + 3 * K * (sum ? batch : 1));
    for (ptrdiff_t e = 0; e < C.span; e++)
        if (!gemm_alike(C.p[e], plain[e], tolerance))
            ck_abort_msg("%g, plainly %g; [%d,%d,%d] x %d", (double)C.p[e], (double)plain[e], M, N,
                         K, batch);
    free(A.p), free(B.p), free(C.p), free(plain);
}

/* Some rows of A and some columns of B, laid out anew, and the same block of C. */
void AT_REAL(gemm_part_case)(int limit)
{
    int M = 1 + gemm_pick(limit), N = 1 + gemm_pick(limit), K = gemm_pick(limit);
    int m = 1 + gemm_pick(M), n = 1 + gemm_pick(N), i0 = gemm_pick(M - m + 1),
        j0 = gemm_pick(N - n + 1);
    REAL alpha = gemm_pick(2) ? 1 : (REAL)-0.75, beta = (REAL)gemm_pick(3) / 2;
    gemm_matrix A = gemm_new(1, M, K, false, 0), a = gemm_new(1, m, K, false, 0);
    gemm_matrix B = gemm_new(1, K, N, false, 0), b = gemm_new(1, K, n, false, 0);
    gemm_matrix C = gemm_new(1, M, N, false, 0), c = gemm_new(1, m, n, false, 0);
    for (int k = 0; k < K; k++) {
        for (int i = 0; i < m; i++) a.p[gemm_at(&a, 0, i, k)] = A.p[gemm_at(&A, 0, i0 + i, k)];
        for (int j = 0; j < n; j++) b.p[gemm_at(&b, 0, k, j)] = B.p[gemm_at(&B, 0, k, j0 + j)];
    }
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) c.p[gemm_at(&c, 0, i, j)] = C.p[gemm_at(&C, 0, i0 + i, j0 + j)];

    gemm(1, M, N, K, alpha, A.p, A.s, B.p, B.s, beta, C.p, C.s, gemm_space);
    gemm(1, m, n, K, alpha, a.p, a.s, b.p, b.s, beta, c.p, c.s, gemm_space);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            ck_assert_mem_eq(&c.p[gemm_at(&c, 0, i, j)], &C.p[gemm_at(&C, 0, i0 + i, j0 + j)],
                             sizeof(REAL));
    free(A.p), free(B.p), free(C.p), free(a.p), free(b.p), free(c.p);
}

/* A as it lies densely, and with its rows, or its columns, 4 KiB apart: what the kernel then copies. */
void AT_REAL(gemm_page_case)(int M, int N, int K, int factors)
{
    const REAL alpha = factors % 2 ? (REAL)-0.75 : 1, beta = factors / 2 ? (REAL)0.5 : 0;
    const ptrdiff_t page = 4096 / sizeof(REAL);
    const at_strides dense = {K, 1, 0}, c = {N, 1, 0}, far[2] = {{page, 1, 0}, {1, page, 0}};
    gemm_matrix B = gemm_new(1, K, N, false, 0);
    const size_t size = (size_t)M * (size_t)N * sizeof(REAL);
    REAL *A = malloc((size_t)M * (size_t)K * sizeof(REAL)), *one = malloc(size),
         *two = malloc(size);
    for (int e = 0; e < M * K; e++)
        A[e] = (REAL)(2 * at_random_unit((at_stream){8, 8}, (uint64_t)e) - 1);
    for (int e = 0; e < M * N; e++) one[e] = (REAL)gemm_pick(9) / 3;
    for (int transposed = 0; transposed < 2; transposed++) {
        const at_strides s = far[transposed];
        REAL *apart = malloc((size_t)(page * (transposed ? K : M)) * sizeof(REAL));
        for (int i = 0; i < M; i++)
            for (int k = 0; k < K; k++) apart[i * s.row + k * s.col] = A[i * K + k];
        memcpy(two, one, size);
        gemm(1, M, N, K, alpha, A, dense, B.p, B.s, beta, one, c, gemm_space);
        gemm(1, M, N, K, alpha, apart, s, B.p, B.s, beta, two, c, gemm_space);
        ck_assert_mem_eq(one, two, size);
        free(apart);
    }
    free(A), free(B.p), free(one), free(two);
}

void AT_REAL(gemm_same_bits)(int batch, int M, int N, int K, bool shared)
{
    gemm_matrix A = gemm_new(batch, M, K, false, 0);
    gemm_matrix B = gemm_new(batch, K, N, false, 0);
    at_strides c = {N, 1, shared ? 0 : (ptrdiff_t)M * N};
    size_t size = (size_t)batch * (size_t)M * (size_t)N * sizeof(REAL);
    REAL *one = calloc(size, 1), *more = calloc(size, 1);

    at_threads(1);
    gemm(batch, M, N, K, 1, A.p, A.s, B.p, B.s, 0, one, c, gemm_space);
    for (int threads = 2; threads < 8; threads += 2) {
        at_threads(threads);
        gemm(batch, M, N, K, 1, A.p, A.s, B.p, B.s, 0, more, c, gemm_space);
        ck_assert_mem_eq(one, more, size);
    }
    free(A.p), free(B.p), free(one), free(more);
}

/* the same bits, and not a number read behind the end of the row */
void AT_REAL(gemm_bias_case)(int most)
{
    int M = gemm_pick(most), N = gemm_pick(most), K = gemm_pick(most);
    gemm_matrix A = gemm_new(1, M, K, false, 0);
    gemm_matrix B = gemm_new(1, K, N, false, 0);
    size_t row = (size_t)N * sizeof(REAL);
    REAL *z = malloc(row), *C = malloc((size_t)M * row), *rows = malloc((size_t)M * row);
    for (int j = 0; j < N; j++) z[j] = (REAL)gemm_pick(9) / 3;
    for (int i = 0; i < M; i++) memcpy(rows + i * N, z, row);
    gemm(1, M, N, K, 1, A.p, A.s, B.p, B.s, 1, rows, (at_strides){N, 1, (ptrdiff_t)M * N},
         gemm_space);
    gemm_bias(M, N, K, A.p, A.s, B.p, B.s, z, C, gemm_space);
    ck_assert_mem_eq(C, rows, (size_t)M * row);
    free(A.p), free(B.p), free(z), free(C), free(rows);
}

#ifdef AT_ONCE

START_TEST(every_shape_stride_and_factor_agrees_with_three_loops_f32)
{
    for (int i = 0; i < 400; i++) at_gemm_random_case_f32(71);
}
END_TEST

START_TEST(every_shape_stride_and_factor_agrees_with_three_loops_f64)
{
    for (int i = 0; i < 400; i++) at_gemm_random_case_f64(71);
}
END_TEST

START_TEST(matrices_larger_than_a_tile_agree_with_three_loops)
{
    for (int i = 0; i < 6; i++) at_gemm_random_case_f32(300), at_gemm_random_case_f64(200);
}
END_TEST

START_TEST(the_plain_twin_has_NaN_and_infinity_in_the_same_places)
{
    for (int i = 0; i < 150; i++) at_gemm_twin_case_f32(201), at_gemm_twin_case_f64(201);
    for (int i = 0; i < 4; i++) at_gemm_twin_case_f32(600), at_gemm_twin_case_f64(400);
}
END_TEST

START_TEST(no_bit_of_an_element_depends_on_shape_place_or_strides)
{
    for (int i = 0; i < 100; i++) at_gemm_part_case_f32(120), at_gemm_part_case_f64(120);
    for (int i = 0; i < 6; i++) at_gemm_part_case_f32(600), at_gemm_part_case_f64(400);
}
END_TEST

START_TEST(a_product_that_begins_with_a_row_is_one_that_is_added_to_such_rows)
{
    for (int i = 0; i < 200; i++) at_gemm_bias_case_f32(100), at_gemm_bias_case_f64(100);
    for (int i = 0; i < 4; i++) at_gemm_bias_case_f32(400), at_gemm_bias_case_f64(300);
}
END_TEST

START_TEST(no_bit_depends_on_whether_rows_or_columns_lie_a_page_apart)
{
    for (int factors = 0; factors < 4; factors++) {
        at_gemm_page_case_f32(70, 300, 800, factors), at_gemm_page_case_f64(70, 300, 400, factors);
        at_gemm_page_case_f32(29, 40, 800, factors), at_gemm_page_case_f64(29, 40, 400, factors);
    }
}
END_TEST

START_TEST(two_by_two_can_be_checked_by_hand)
{
    const float A[] = {1, 2, 3, 4}, B[] = {5, 6, 7, 8}, C[] = {19, 22, 43, 50};
    const float AtB[] = {26, 30, 38, 44}, ABt[] = {17, 23, 39, 53};
    const at_strides plain = {2, 1, 0}, transposed = {1, 2, 0};
    float out[4];
    gemm(1, 2, 2, 2, 1, A, plain, B, plain, 0, out, plain, gemm_space);
    assert_all_close(4, out, C, 0);
    gemm(1, 2, 2, 2, 1, A, transposed, B, plain, 0, out, plain, gemm_space);
    assert_all_close(4, out, AtB, 0);
    gemm(1, 2, 2, 2, 1, A, plain, B, transposed, 0, out, plain, gemm_space);
    assert_all_close(4, out, ABt, 0);
}
END_TEST

START_TEST(a_product_begins_with_what_it_is_added_to)
{
    const float ones[] = {1, 1};
    float C = 0x1p24f, D = 0x1p24f;
    gemm(1, 1, 1, 2, 1, ones, (at_strides){2, 1, 0}, ones, (at_strides){1, 1, 0}, 1, &C,
         (at_strides){1, 1, 0}, gemm_space);
    gemm_plain(1, 1, 1, 2, 1, ones, (at_strides){2, 1, 0}, ones, (at_strides){1, 1, 0}, 1, &D,
               (at_strides){1, 1, 0}, gemm_space);
    ck_assert(C == 0x1p24f && D == 0x1p24f); /* not 2^24 + 2 */
}
END_TEST

START_TEST(with_beta_0_a_NaN_in_C_is_not_read)
{
    const float a = 2, b = 3;
    float c = NAN;
    gemm(1, 1, 1, 1, 1, &a, (at_strides){1, 1, 1}, &b, (at_strides){1, 1, 1}, 0, &c,
         (at_strides){1, 1, 1}, gemm_space);
    assert_close(c, 6, 0);
    c = NAN;
    gemm(1, 1, 1, 0, 1, NULL, (at_strides){0, 1, 0}, NULL, (at_strides){1, 1, 0}, 0, &c,
         (at_strides){1, 1, 1}, gemm_space);
    assert_close(c, 0, 0);
}
END_TEST

START_TEST(a_NaN_in_A_reaches_its_row_and_no_other)
{
    float A[9] = {1, 1, 1, 1, NAN, 1, 1, 1, 1}, B[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, C[9];
    const at_strides s = {3, 1, 0};
    gemm(1, 3, 3, 3, 1, A, s, B, s, 0, C, s, gemm_space);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            assert_close(C[3 * i + j], i == 1 ? (double)NAN : 12.0 + 3 * j, 0);
}
END_TEST

START_TEST(an_empty_batch_leaves_beta_C_of_a_shared_C)
{
    float C[2] = {4, 6};
    const at_strides shared = {2, 1, 0};
    gemm(0, 1, 2, 3, 1, NULL, shared, NULL, shared, 0.5, C, shared, gemm_space);
    assert_all_close(2, C, ((float[]){2, 3}), 0);
    gemm(0, 1, 2, 3, 1, NULL, shared, NULL, shared, 0, C, shared, gemm_space);
    assert_all_close(2, C, ((float[]){0, 0}), 0);
}
END_TEST

START_TEST(sizes_of_zero_touch_nothing)
{
    const at_strides s = {1, 1, 1};
    gemm(1, 0, 3, 3, 1, NULL, s, NULL, s, 0, NULL, s, gemm_space);
    gemm(1, 3, 0, 3, 1, NULL, s, NULL, s, 0, NULL, s, gemm_space);
    gemm(0, 3, 3, 3, 1, NULL, s, NULL, s, 0, NULL, s, gemm_space);
    gemm(0, 0, 0, 0, 1, NULL, s, NULL, s, 1, NULL, s, gemm_space);
}
END_TEST

START_TEST(any_number_of_threads_gives_the_same_bits)
{
    static const int shapes[][4] = {{1, 200, 300, 90}, {7, 33, 20, 200}, {300, 8, 8, 8},
                                    {2, 500, 3, 70},   {1, 3, 700, 99},  {40, 64, 16, 64},
                                    {1, 60, 70, 700}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int shared = 0; shared < 2; shared++) {
            const int *s = shapes[i];
            at_gemm_same_bits_f32(s[0], s[1], s[2], s[3], shared);
            at_gemm_same_bits_f64(s[0], s[1], s[2], s[3], shared);
        }
}
END_TEST

SUITE(kernels_gemm, a_product_begins_with_what_it_is_added_to,
      a_product_that_begins_with_a_row_is_one_that_is_added_to_such_rows,
      every_shape_stride_and_factor_agrees_with_three_loops_f32,
      every_shape_stride_and_factor_agrees_with_three_loops_f64,
      matrices_larger_than_a_tile_agree_with_three_loops,
      the_plain_twin_has_NaN_and_infinity_in_the_same_places,
      no_bit_of_an_element_depends_on_shape_place_or_strides,
      no_bit_depends_on_whether_rows_or_columns_lie_a_page_apart, two_by_two_can_be_checked_by_hand,
      with_beta_0_a_NaN_in_C_is_not_read, a_NaN_in_A_reaches_its_row_and_no_other,
      an_empty_batch_leaves_beta_C_of_a_shared_C, sizes_of_zero_touch_nothing,
      any_number_of_threads_gives_the_same_bits)

#endif
