/* running.h -- what the tests of runs share: a folder, what the run says, runs to their end. */
#ifndef ATTIC_TESTS_TRAIN_RUNNING_H
#define ATTIC_TESTS_TRAIN_RUNNING_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "train/little.h"

enum { STEPS = 20 };
static FILE *said; /* what the run wrote */

static inline at_run_args quick(int save_every)
{
    return (at_run_args){.steps = STEPS, .save_every = save_every, .quiet = true, .out = said};
}

static inline void begin_test(void)
{
    said = tmpfile();
    ck_assert_ptr_nonnull(little_folder());
}

static inline void end_test(void)
{
    little_remove();
    fclose(said);
}

/* All that was said so far. */
static inline const char *said_text(void)
{
    static char text[4096];
    rewind(said);
    text[fread(text, 1, sizeof text - 1, said)] = 0;
    return text;
}

static inline void assert_said(const char *part)
{
    const char *text = said_text();
    ck_assert_msg(strstr(text, part), "\"%s\" is not in what was said: \"%s\"", part, text);
}

/* The rest of the training, to its end; its hash. */
static inline uint64_t finish(at_dtype real, at_run_args args)
{
    at_tape *t = little_tape(real, 7);
    at_run *r = at_run_open(t, little_path(""), args);
    little_steps(t, r, STEPS + 1);
    ck_assert_msg(at_run_finished(r), "%s", at_error(t));
    uint64_t hash = little_hash(t);
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
    return hash;
}

/* `n` steps in this process, then one that is killed without a word: closed after a break. */
static inline void train_and_leave(at_dtype real, at_run_args args, int n)
{
    at_tape *t = little_tape(real, 7);
    at_run *r = at_run_open(t, little_path(""), args);
    ck_assert_int_eq(little_steps(t, r, n), n);
    ck_assert(!at_run_finished(r));
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
}

/* Opens the folder with this tape, expects a refusal, closes both. */
static inline void assert_refused(at_tape *t, at_run_args args, const char *part)
{
    at_run *r = at_run_open(t, little_path(""), args);
    ck_assert(!at_run_next(r) && !at_run_finished(r));
    ck_assert_msg(strstr(at_error(t), part), "\"%s\" is not in \"%s\"", part, at_error(t));
    bool user = at_error_kind_of(t) == ATTIC_USER_ERROR;
    ck_assert_int_eq(at_run_close(r), user ? 2 : 1);
    at_close(t);
}

/* The number in this line and column of the log. */
static inline double cell(int line, int column)
{
    const char *p = little_text("log.csv");
    while (line-- > 0) p = strchr(p, '\n') + 1;
    while (column-- > 0) p = strchr(p, ',') + 1;
    return strtod(p, NULL);
}

/* In a process of its own, whose exit status is the result.  It is forked while this one has no
 * other threads: with them, QEMU and ThreadSanitizer do not let the new one start any.  And it is
 * not inlined: there the new process, which ends here, might forget the caller's tapes, for
 * Valgrind a leak. */
__attribute__((noinline, unused)) static int status_of(int (*run)(void))
{
    const int threads = at_thread_count();
    int status = -1;
    fflush(NULL);
    at_threads(1);
    pid_t child = fork();
    at_threads(threads);
    if (child == 0) {
        status = run();
        fflush(NULL);
        end_fork(status);
    }
    ck_assert(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

#endif
