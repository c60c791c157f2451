/* test_calls.c -- no call of a public function crashes, runs for ever or asks for all memory,
 * whatever its arguments: NULL, extreme numbers, tensors that are of no use, structs of nothing or
 * of extremes.
 *
 * scripts/misuse.awk writes the calls from the public headers, so a new function is called, too.  A
 * child process makes one call after the other; where it ends before the last one, the next child
 * begins behind the call that ended it.  Which that was is read from memory that both share. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "test.h"

#include "misuse/pickers.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define THREAD_SANITIZER true
#else
#define THREAD_SANITIZER false
#endif

typedef struct {
    const char *name;
    void (*call)(void);
    bool fails; /* leaves an error on its tape, whatever the arguments */
} misused;

/* Shared by parent and child. */
typedef struct {
    int function, variant; /* the call that is next, or that ended the child */
    int calls;
    char what[600], error[400]; /* its arguments; what is wrong with it, if it came back */
} progress;
static progress *now;

/* Two arguments at once, this often; so long may a call take. */
static int pairs_of_function = 100, seconds_of_call = 3;

static void called(void)
{
    if (world.failing) at_fail((at_tape *)(uintptr_t)world.failing, ATTIC_USER_ERROR, "failed");
}

/* ------------------------------------------------------------------ results -------------------- */

/* What was computed can be differentiated. */
static void used_at_tensor_p(at_tensor *y)
{
    at_tape *t = y ? y->tape : NULL;
    if (t && at_ok(t) && y->wants_grad && at_has_data(y) && y->dtype == at_real(t))
        at_backward(t, at_sum(t, y));
}

static void used_char_p(const char *text)
{
    volatile size_t n = text ? strlen(text) : 0; /* a text has an end */
    (void)n;
}

static void used_at_tape_p(at_tape *t)
{
    at_close(t);
}

static void used_at_run_p(at_run *r)
{
    world.run = r;
}

static void used_FILE_p(FILE *f)
{
    if (f) fclose(f);
}

#include "misuse.inc"
enum { CALLS = (int)(sizeof every_call / sizeof *every_call) };

/* ------------------------------------------------------------------ calls ---------------------- */

enum { BASE, NULLS, FILLED, EMPTY = FILLED + FILLS, SINGLES = EMPTY + 3 * EMPTY_TENSORS };

/* Variant v of a function: the base; all pointers NULL; all arguments extreme; tensors without
 * elements, and no others; one argument that is absurd; two. */
static void choose(int v, int values)
{
    choice.chosen[0] = choice.chosen[1] = choice.fill = NOTHING;
    choice.nulls = v == NULLS;
    choice.empty_alone = true;
    choice.seen = choice.empty = choice.has_tape = 0;
    *choice.outer = 0;
    if (v >= FILLED && v < EMPTY) choice.fill = v - FILLED;
    if (v >= EMPTY && v < SINGLES) {
        choice.empty = (v - EMPTY) / 3 + 1;
        choice.which = (v - EMPTY) % 3;
    }
    if (v >= SINGLES) choice.chosen[0] = v - SINGLES;
    for (int i = 0; i < 2 && v >= SINGLES + values; i++)
        choice.chosen[i] = (int)(at_random_unit((at_stream){(uint64_t)v, 0}, (uint64_t)i) * values);
}

static void check_result(const misused *m, int variant)
{
    const char *error = at_error(world.t);
    if (variant == BASE && !m->fails && *error)
        snprintf(now->error, sizeof now->error, "its base fails: %.300s", error);
    if (choice.empty_alone && at_error_kind_of(world.t) == ATTIC_MEMORY_ERROR)
        snprintf(now->error, sizeof now->error, "memory for nothing: %.300s", error);
}

/* Returns how many values its arguments have. */
static int make_call(const misused *m, int v, int values)
{
    *now->what = *now->error = 0;
    choose(v, values);
    choice.text = now->what, choice.text_size = sizeof now->what;
    open_world(v % 2);
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = seconds_of_call}, NULL);
    m->call();
    at_threads(1);
    check_result(m, v);
    close_world();
    now->calls++;
    return choice.seen;
}

/* The calls from the one that is next, to the end or to one that is wrong. */
static void make_calls(const misused *m, int n)
{
    if (chdir(path("inner/here")) != 0) abort();
    for (; now->function < n; now->function++, now->variant = 0) {
        const misused *f = &m[now->function];
        const int values = make_call(f, BASE, 0);
        const int variants = SINGLES + values + (values > 1 ? pairs_of_function : 0);
        if (now->variant == BASE && !*now->error) now->variant++;
        for (; !*now->error && now->variant < variants; now->variant += !*now->error)
            make_call(f, now->variant, values);
        if (*now->error) return;
    }
}

/* ------------------------------------------------------------------ children ------------------- */

enum { MEMORY_MIB = 1024, PATIENCE = 120 /* seconds without a call */ };

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
/* It takes more address space than any limit, and has a limit of its own. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=1024";
}
static void limit_memory(void)
{
}
#else
static void limit_memory(void)
{
    const rlim_t limit = (rlim_t)MEMORY_MIB << 20;
    setrlimit(RLIMIT_AS, &(struct rlimit){limit, limit});
}
#endif

/* How a child ended, in words; "" if it ended by itself. */
static const char *end_of(pid_t child)
{
    static char text[80];
    int status = 0, calls = -1;
    double quiet = 0;
    for (; waitpid(child, &status, WNOHANG) == 0; nanosleep(&(struct timespec){0, 2000000}, NULL)) {
        quiet = now->calls == calls ? quiet + 0.002 : 0;
        calls = now->calls;
        if (quiet > PATIENCE) kill(child, SIGKILL);
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF) return "does not end";
    if (WIFSIGNALED(status)) return strsignal(WTERMSIG(status));
    snprintf(text, sizeof text, "the process ends with status %d", WEXITSTATUS(status));
    return WEXITSTATUS(status) ? text : "";
}

/* What a sanitizer has said: the first lines of it. */
static void copy_reasons(FILE *report)
{
    char line[300];
    FILE *f = fopen(path("stderr"), "r");
    for (int i = 0; f && i < 6 && fgets(line, sizeof line, f);) {
        if (!strstr(line, "rror: ") && !strstr(line, "ERROR: ") && !(i && strstr(line, " #")))
            continue;
        fprintf(report, "    %s", line);
        i++;
    }
    if (f) fclose(f);
}

/* Makes all calls; how many of them went wrong, each in a line of `report`. */
static int misuse(const misused *m, int n, FILE *report)
{
    int wrong = 0;
    at_threads(1); /* a process with threads must not fork and go on */
    make_files();
    now = mmap(NULL, sizeof *now, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(now != MAP_FAILED);
    while (now->function < n) {
        fflush(NULL);
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0) {
            if (!freopen(path("stderr"), "w", stderr)) abort();
            limit_memory();
            make_calls(m, n);
            _exit(0);
        }
        const char *end = end_of(child);
        if (now->function >= n) break;
        fprintf(report, "%s(%s): %s%s\n", m[now->function].name,
                *now->what ? now->what : "its base", *now->error ? "" : end, now->error);
        copy_reasons(report);
        wrong++;
        now->variant == BASE ? now->function++ : now->variant++;
    }
    remove_files();
    return wrong;
}

/* The text of what was reported, as far as there is place for it. */
static const char *misuse_text(const misused *m, int n, int *wrong)
{
    static char text[10000];
    FILE *report = tmpfile();
    ck_assert_ptr_nonnull(report);
    *wrong = misuse(m, n, report);
    rewind(report);
    text[fread(text, 1, sizeof text - 1, report)] = 0;
    fclose(report);
    return text;
}

/* There neither the address space can be limited nor a fork be trusted. */
static bool can_be_limited(void)
{
    return !THREAD_SANITIZER && !getenv("EMULATED"); /* by QEMU or Valgrind */
}

START_TEST(no_arguments_crash_a_public_function)
{
    if (!can_be_limited()) return;
    int wrong;
    const char *pairs = getenv("ATTIC_PAIRS");
    pairs_of_function = pairs ? (int)strtol(pairs, NULL, 10) : 100;
#ifdef ATTIC_SLOW_MODE
    seconds_of_call = 20;
#endif
    const char *text = misuse_text(every_call, CALLS, &wrong);
    ck_assert_msg(wrong == 0, "%d calls went wrong:\n%.3500s", wrong, text);
    ck_assert_int_gt(now->calls, 100 * CALLS);
}
END_TEST

/* ------------------------------------------------------------------ is it noticed? ------------- */

static void call_crashing(void)
{
    int *p = any_int_p("p", numbers.i);
    called();
    *(volatile int *)p = 1;
}

static void call_endless(void)
{
    volatile int n = any_int("n", 1);
    called();
    while (n == INT_MAX) continue;
}

static void call_gigantic(void)
{
    at_tensor *x = any_at_tensor_p("x", R(2, 3));
    called();
    if (x && at_count(x->shape) == 0) at_step_alloc(world.t, (size_t)1 << 35);
}

static void call_ending(void)
{
    double x = any_double("x", 1);
    called();
    if (x == 5e-324) _exit(7);
}

static void call_failing(void)
{
    at_fail(world.t, ATTIC_USER_ERROR, "no such base");
}

START_TEST(what_goes_wrong_is_noticed_and_the_arguments_are_named)
{
    if (!can_be_limited()) return;
    static const misused wrong_ones[] = {{"crashing", call_crashing, false},
                                         {"endless", call_endless, false},
                                         {"gigantic", call_gigantic, false},
                                         {"ending", call_ending, false},
                                         {"failing", call_failing, false}};
    int wrong;
    pairs_of_function = 0, seconds_of_call = 1;
    const char *text = misuse_text(wrong_ones, 5, &wrong);
    ck_assert_int_gt(wrong, 5); /* the next child goes on behind it */
    ck_assert_msg(strstr(text, "crashing(p = NULL): "), "%s", text);
    ck_assert_msg(strstr(text, "endless(n = 2147483647): does not end\n"), "%s", text);
    ck_assert_msg(strstr(text, "gigantic(x = [2^31-1,2^31-2,0]): memory for nothing: "), "%s",
                  text);
    ck_assert_msg(strstr(text, "ending(x = 4.94066e-324): the process ends with status 7\n"), "%s",
                  text);
    ck_assert_msg(strstr(text, "failing(its base): its base fails: no such base\n"), "%s", text);
}
END_TEST

SUITE(misuse_calls, no_arguments_crash_a_public_function,
      what_goes_wrong_is_noticed_and_the_arguments_are_named)
