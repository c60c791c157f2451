/* test_copy.c -- rows are moved whole, and nothing beside them is touched. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/rows.h"
#include "kernels/parallel.h"
#include "kernels/real.h"

AT_EACH_REAL(void, check_add, (int rows, int n, int x_gap, int y_gap));

/* y += x, in rows of n values that lie x_gap and y_gap apart, and in whole numbers so that it is exact. */
void AT_REAL(check_add)(int rows, int n, int x_gap, int y_gap)
{
    ptrdiff_t x_step = n + x_gap, y_step = n + y_gap, count = rows * y_step;
    REAL *x = calloc((size_t)(rows * x_step) + 1, sizeof *x);
    REAL *y = calloc((size_t)count + 1, sizeof *y);
    for (ptrdiff_t i = 0; i < rows * x_step; i++) x[i] = (REAL)(i % 101);
    for (ptrdiff_t i = 0; i < count; i++) y[i] = 1000;
    add_rows(rows, n, x, x_step, y, y_step);
    int wrong = 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        ptrdiff_t r = i / y_step, j = i % y_step;
        wrong += y[i] != (j < n ? 1000 + x[r * x_step + j] : 1000);
    }
    ck_assert_int_eq(wrong, 0);
    free(x), free(y);
}

#ifdef AT_ONCE

/* Rows of n bytes, x_gap and y_gap apart; what lies between must stay as it is. */
static void check_copy(int rows, int n, int x_gap, int y_gap)
{
    ptrdiff_t x_step = n + x_gap, y_step = n + y_gap;
    char *x = malloc((size_t)(rows * x_step) + 1), *y = malloc((size_t)(rows * y_step) + 1);
    for (ptrdiff_t i = 0; i < rows * x_step; i++) x[i] = (char)(i * 7 % 101);
    memset(y, 120, (size_t)(rows * y_step));
    at_copy_rows(rows, n, x, x_step, y, y_step);
    int wrong = 0;
    for (ptrdiff_t r = 0; r < rows; r++) {
        wrong += memcmp(y + r * y_step, x + r * x_step, (size_t)n) != 0;
        for (ptrdiff_t i = n; i < y_step; i++) wrong += y[r * y_step + i] != 120;
    }
    ck_assert_int_eq(wrong, 0);
    free(x);
    free(y);
}

START_TEST(small_and_large_rows_arrive)
{
    const struct {
        int rows, n;
    } sizes[] = {{0, 5}, {5, 0}, {1, 1}, {3, 7}, {1, 100000}, {3, 70001}, {50000, 3}, {1, 1 << 15}};
    for (int threads = 1; threads <= 3; threads += 2) {
        at_threads(threads);
        for (int i = 0; i < 8; i++)
            for (int gaps = 0; gaps < 4; gaps++) {
                check_copy(sizes[i].rows, sizes[i].n, gaps & 1 ? 3 : 0, gaps & 2 ? 5 : 0);
                at_check_add_f32(sizes[i].rows, sizes[i].n, gaps & 1 ? 3 : 0, gaps & 2 ? 5 : 0);
                at_check_add_f64(sizes[i].rows, sizes[i].n, gaps & 1 ? 3 : 0, gaps & 2 ? 5 : 0);
            }
    }
    at_threads(0);
}
END_TEST

SUITE(kernels_copy, small_and_large_rows_arrive)

#endif
