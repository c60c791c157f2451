/* main.c -- runs every suite and says how it went, one line each.
 *
 * To add tests, add a file: see test.h.  Check's environment works as usual: CK_RUN_SUITE and
 * CK_RUN_CASE choose (make test SUITE=... CASE=...), CK_FORK=no keeps all in one process. */
#include "test.h"
#include "suites.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/options.h"

Suite *suite_of(const char *name, const TTest *const tests[])
{
    Suite *suite = suite_create(name);
    for (int i = 0; tests[i]; i++) {
        TCase *alone = tcase_create(tests[i]->name);
        tcase_add_test(alone, tests[i]);
        suite_add_tcase(suite, alone);
    }
    return suite;
}

static bool close_enough(double a, double b, double tol)
{
    return a == b || fabs(a - b) <= tol || (isnan(a) && isnan(b));
}

void assert_close_at(const char *file, int line, const char *A, const char *B, double a, double b,
                     double tol)
{
    if (close_enough(a, b, tol))
        mark_point();
    else
        _ck_assert_failed(file, line, "Not close", "%s = %.17g but %s = %.17g: off by %.3g > %.3g",
                          A, a, B, b, fabs(a - b), tol);
}

void assert_all_close_f64(const char *file, int line, const char *A, const char *B, ptrdiff_t n,
                          const double *a, const double *b, double tol)
{
    ptrdiff_t worst = -1;
    for (ptrdiff_t i = 0; i < n; i++) {
        if (close_enough(a[i], b[i], tol)) continue;
        if (worst < 0 || !(fabs(a[i] - b[i]) <= fabs(a[worst] - b[worst]))) worst = i;
    }
    if (worst < 0)
        mark_point();
    else
        _ck_assert_failed(file, line, "Not close",
                          "%s[%td] = %.17g but %s[%td] = %.17g: off by %.3g > %.3g", A, worst,
                          a[worst], B, worst, b[worst], fabs(a[worst] - b[worst]), tol);
}

void assert_all_close_f32(const char *file, int line, const char *A, const char *B, ptrdiff_t n,
                          const float *a, const float *b, double tol)
{
    double *wide = malloc(2 * (size_t)n * sizeof *wide + 1);
    ck_assert_ptr_nonnull(wide);
    for (ptrdiff_t i = 0; i < n; i++) wide[i] = (double)a[i], wide[n + i] = (double)b[i];
    assert_all_close_f64(file, line, A, B, n, wide, wide + n, tol);
    free(wide);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    parse_options(argc, argv, "usage: run\nCK_RUN_SUITE and CK_RUN_CASE choose.\n", NULL, 0);
    int passed = 0, failed = 0;
    double start = seconds();

    setenv("CK_DEFAULT_TIMEOUT", "120", 0);
    for (int i = 0; every_suite[i].make; i++) {
        double began = seconds();
        SRunner *runner = srunner_create(every_suite[i].make());
        srunner_run_all(runner, CK_SILENT);
        int ran = srunner_ntests_run(runner), bad = srunner_ntests_failed(runner);
        if (ran > 0)
            printf("%-28s %4d passed %4d failed %7.1f s\n", every_suite[i].name, ran - bad, bad,
                   seconds() - began);
        if (bad > 0) srunner_print(runner, CK_NORMAL);
        fflush(stdout);
        srunner_free(runner);
        passed += ran - bad;
        failed += bad;
    }

    printf("%d passed, %d failed (%.1f s)\n", passed, failed, seconds() - start);
    if (passed + failed == 0) printf("no such suite or case\n");
    return finish(failed || !passed);
}
