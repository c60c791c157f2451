/* test.h -- what every test file includes.
 *
 * tests/ops/test_softmax.c holds the tests of src/ops/softmax.c.  Its tests are sentences, and its
 * last line names them:
 *
 *     START_TEST(every_row_sums_to_one)
 *     {
 *         ...
 *     }
 *     END_TEST
 *
 *     SUITE(ops_softmax, every_row_sums_to_one, ...)
 *
 * The name is the path: folder, underscore, file without "test_".  There is nothing to register:
 * the Makefile finds the file and puts its suite into the runner.
 *
 *     make test SUITE=ops_softmax
 *     make test SUITE=ops_softmax CASE=every_row_sums_to_one */
#ifndef ATTIC_TEST_H
#define ATTIC_TEST_H
#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

/* Where a test was when it crashed is known because each assertion that holds writes its line to the
 * process that watches.  In a loop over elements that takes longer than all else: here a line is
 * written once. */
static inline void mark_line(const char *file, int line)
{
    static bool marked[4096];
    if (line < 4096 && __atomic_load_n(&marked[line], __ATOMIC_RELAXED)) return;
    if (line < 4096) __atomic_store_n(&marked[line], true, __ATOMIC_RELAXED);
    _mark_point(file, line);
}
#define _mark_point(file, line) mark_line(file, line)

/* _exit, for a process that was forked: what it has reached counts, too (make coverage). */
__attribute__((noreturn)) static inline void end_fork(int status)
{
#ifdef ATTIC_COVERAGE
    void __gcov_dump(void);
    __gcov_dump();
#endif
    _exit(status);
}

/* Defines Suite *name_suite(void), each test a case of its own. */
#define SUITE(name, ...)                                                                           \
    Suite *name##_suite(void);                                                                     \
    Suite *name##_suite(void)                                                                      \
    {                                                                                              \
        return suite_of(#name, (const TTest *[]){__VA_ARGS__, NULL});                              \
    }
Suite *suite_of(const char *name, const TTest *const tests[]);

/* |a - b| <= tol, or a = b (infinities too), or both NaN.  Check's own _tol is a strict <. */
#define assert_close(a, b, tol)                                                                    \
    assert_close_at(__FILE__, __LINE__, #a, #b, (double)(a), (double)(b), tol)
/* a[i] and b[i] are close, for each i < n; the message names the worst i */
#define assert_all_close(n, a, b, tol)                                                             \
    _Generic((a)[0], float                                                                         \
             : assert_all_close_f32, default                                                       \
             : assert_all_close_f64)(__FILE__, __LINE__, #a, #b, n, a, b, tol)

void assert_close_at(const char *file, int line, const char *A, const char *B, double a, double b,
                     double tol);
void assert_all_close_f32(const char *file, int line, const char *A, const char *B, ptrdiff_t n,
                          const float *a, const float *b, double tol);
void assert_all_close_f64(const char *file, int line, const char *A, const char *B, ptrdiff_t n,
                          const double *a, const double *b, double tol);

/* From here on LC_NUMERIC writes 0,5: in a locale of this system, or in one made for it by localedef.
 * The test fails where there is neither; it ends with setlocale(LC_NUMERIC, "C"). */
void use_decimal_comma(void);

#endif
