/* main.c -- runs every suite and says how it went, one line each.
 *
 * To add tests, add a file: see test.h.  Check's environment works as usual: CK_RUN_SUITE and
 * CK_RUN_CASE choose (make test SUITE=... CASE=...), CK_FORK=no forks for no test.  With --jobs 2
 * two processes take the suites, each the next one when it is done.  What tests write lies in a folder
 * of its own (scratch.h), which goes at the end, also if tests fail or crash, or at ^C. */
#include "test.h"
#include "suites.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/options.h"
#include "scratch.h"

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

/* Shared by the processes. */
static struct tally {
    atomic_int next, passed, failed;
} * tally;

static void run_suites(void)
{
    for (int i; (i = tally->next++) < (int)(sizeof every_suite / sizeof *every_suite);) {
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
        tally->passed += ran - bad;
        tally->failed += bad;
    }
}

/* ---- the folder in which tests write ---------------------------------------------------------- */

enum { MOST_JOBS = 64 };
static pid_t job[MOST_JOBS];
static int n_jobs;

/* What would end this process ends the jobs (at SIGTERM Check ends its tests as well); then it goes on,
 * and removes the folder. */
static void end_jobs(int signal_number)
{
    (void)signal_number;
    for (int i = 0; i < n_jobs; i++) kill(job[i], SIGTERM);
}

/* TMPDIR is that folder, for the tests and for programs that they start. */
static bool make_scratch(char folder[SCRATCH_PATH])
{
    if (!scratch_folder(folder) || setenv("TMPDIR", folder, 1) != 0) return false;
    signal(SIGINT, SIG_IGN); /* which a terminal sends to the jobs as well */
    signal(SIGTERM, end_jobs);
    signal(SIGHUP, end_jobs);
    return true;
}

/* Each job takes suites; this process only waits, so that it lives whatever they do. */
static bool start_jobs(int jobs)
{
    for (; n_jobs < jobs; n_jobs++) {
        job[n_jobs] = fork();
        if (job[n_jobs] < 0) return perror("fork"), false;
        if (job[n_jobs] > 0) continue;
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        signal(SIGHUP, SIG_DFL);
        run_suites();
        exit(0);
    }
    return true;
}

int main(int argc, char **argv)
{
    static int jobs = 1;
    static char folder[SCRATCH_PATH];
    static const option table[] = {{"jobs", &jobs, NULL, NULL, 1, MOST_JOBS, "processes"}, {0}};
    parse_options(argc, argv, "usage: run\nCK_RUN_SUITE and CK_RUN_CASE choose.\n", table, 0);
    setenv("CK_DEFAULT_TIMEOUT", "120", 0);
    setvbuf(stdout, NULL, _IOFBF, 1 << 16); /* a suite's lines stay together */
    tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (tally == MAP_FAILED) return perror("mmap"), 1;
    if (!make_scratch(folder)) return perror(folder), 1;

    double start = seconds();
    bool died = !start_jobs(jobs);
    for (int status = 0; wait(&status) > 0 || errno == EINTR;)
        if (status != 0) died = true; /* of a crash, or a leak that was found at its end */
    scratch_remove(folder);

    const int passed = tally->passed, failed = tally->failed;
    printf("%d passed, %d failed (%.1f s)\n", passed, failed, seconds() - start);
    if (passed + failed == 0) printf("no such suite or case\n");
    if (died) printf("a process of the tests ended badly\n");
    return finish(failed || !passed || died);
}
